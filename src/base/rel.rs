//! Sets of events and relations between events, as bit matrices.
//!
//! All code uses this one type for sets and this one for relations. A row is one machine word for
//! up to 64 events, and more words beyond that. Operations named `set_*` write into an existing
//! value, so that hot loops allocate nothing; the others return a new value. Nothing here knows
//! what an event is.

use std::fmt;

/// A subset of the events `0..n`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Set {
    n: u32,
    bits: Vec<u64>,
}

/// A relation on the events `0..n`: row `a` has bit `b` set for every pair `(a, b)`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rel {
    n: u32,
    words: u32,
    bits: Vec<u64>,
}

fn words_for(n: usize) -> usize {
    n.div_ceil(64).max(1)
}

/// The bits of word `w` that stand for events below `n`.
fn mask(n: usize, w: usize) -> u64 {
    let left = n.saturating_sub(w * 64);
    if left >= 64 { !0 } else { (1u64 << left) - 1 }
}

/// The positions of the bits of some words, ascending.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let i = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(w * 64 + i)
        })
    })
}

/// The operations on rows of bits: `n` rows of `words` words each. [`Rel`] uses them, and so does
/// code that keeps many relations in one allocation.
pub mod rows {
    use super::{mask, ones};

    /// Whether `a` is a subset of `b`.
    pub fn within(a: &[u64], b: &[u64]) -> bool {
        a.iter().zip(b).all(|(a, b)| a & !b == 0)
    }

    /// Combines `a` and `b` word by word. Plain indices are fast however the crate is split for
    /// compilation.
    #[inline(always)]
    pub fn zip(out: &mut [u64], a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) {
        let n = out.len();
        let (a, b) = (&a[..n], &b[..n]);
        for i in 0..n {
            out[i] = f(a[i], b[i]);
        }
    }

    /// `a; b`.
    pub fn seq(out: &mut [u64], a: &[u64], b: &[u64], words: usize) {
        if words == 1 {
            for i in 0..out.len() {
                let mut rest = a[i];
                let mut row = 0;
                while rest != 0 {
                    row |= b[rest.trailing_zeros() as usize];
                    rest &= rest - 1;
                }
                out[i] = row;
            }
            return;
        }
        // Most tests of over 64 events need two words.
        match words {
            2 => seq_pairs(out, a, b),
            _ => seq_rows(out, a, b, words),
        }
    }

    fn seq_pairs(out: &mut [u64], a: &[u64], b: &[u64]) {
        let ((out, _), (a, _), (b, _)) =
            (out.as_chunks_mut::<2>(), a.as_chunks::<2>(), b.as_chunks::<2>());
        for (out, a) in out.iter_mut().zip(a) {
            let mut sum = [0; 2];
            for (at, word) in [0, 64].into_iter().zip(a) {
                let mut rest = *word;
                while rest != 0 {
                    let row = &b[at + rest.trailing_zeros() as usize];
                    rest &= rest - 1;
                    sum = [sum[0] | row[0], sum[1] | row[1]];
                }
            }
            *out = sum;
        }
    }

    fn seq_rows(out: &mut [u64], a: &[u64], b: &[u64], words: usize) {
        out.fill(0);
        for (out, a) in out.chunks_exact_mut(words).zip(a.chunks_exact(words)) {
            for (w, &word) in a.iter().enumerate() {
                let mut rest = word;
                while rest != 0 {
                    let j = w * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    let row = &b[j * words..][..words];
                    for k in 0..words {
                        out[k] |= row[k];
                    }
                }
            }
        }
    }

    /// `a^-1`.
    pub fn inverse(out: &mut [u64], a: &[u64], words: usize) {
        out.fill(0);
        if words == 1 {
            for (i, a) in a.iter().enumerate() {
                let mut rest = *a;
                while rest != 0 {
                    out[rest.trailing_zeros() as usize] |= 1 << i;
                    rest &= rest - 1;
                }
            }
            return;
        }
        for (i, row) in a.chunks_exact(words).enumerate() {
            for j in ones(row) {
                out[j * words + i / 64] |= 1 << (i % 64);
            }
        }
    }

    /// Makes a relation transitive.
    pub fn close(bits: &mut [u64], words: usize) {
        if words == 1 {
            // Only events with a predecessor can extend another row.
            let mut through = bits.iter().fold(0, |all, row| all | row);
            while through != 0 {
                let k = through.trailing_zeros() as usize;
                through &= through - 1;
                let row = bits[k];
                if row == 0 {
                    continue;
                }
                for r in bits.iter_mut() {
                    // All ones where the row reaches k.
                    let reaches = (*r >> k & 1).wrapping_neg();
                    *r |= row & reaches;
                }
            }
            return;
        }
        match words {
            2 => close_pairs(bits),
            _ => close_rows(bits, words),
        }
    }

    fn close_pairs(bits: &mut [u64]) {
        let (bits, _) = bits.as_chunks_mut::<2>();
        // Only events with a predecessor can extend another row.
        let through = bits.iter().fold([0; 2], |all, row| [all[0] | row[0], all[1] | row[1]]);
        for k in super::ones(&through) {
            let row = bits[k];
            if row == [0; 2] {
                continue;
            }
            for r in bits.iter_mut() {
                // All ones where the row reaches k.
                let reaches = (r[k / 64] >> (k % 64) & 1).wrapping_neg();
                *r = [r[0] | row[0] & reaches, r[1] | row[1] & reaches];
            }
        }
    }

    fn close_rows(bits: &mut [u64], words: usize) {
        let n = bits.len() / words;
        let mut row = vec![0; words];
        for k in 0..n {
            row.copy_from_slice(&bits[k * words..][..words]);
            if row.iter().all(|w| *w == 0) {
                continue;
            }
            for r in bits.chunks_exact_mut(words) {
                if r[k / 64] >> (k % 64) & 1 != 0 {
                    for w in 0..words {
                        r[w] |= row[w];
                    }
                }
            }
        }
    }

    /// `~a`, among `n` events.
    pub fn complement(out: &mut [u64], a: &[u64], n: usize, words: usize) {
        for (i, (out, a)) in out.iter_mut().zip(a).enumerate() {
            *out = !a & mask(n, i % words);
        }
    }

    /// `a * b` of two sets.
    pub fn cross(out: &mut [u64], a: &[u64], b: &[u64]) {
        out.fill(0);
        for i in ones(a) {
            out[i * b.len()..(i + 1) * b.len()].copy_from_slice(b);
        }
    }

    /// `[s]`, the identity on a set.
    pub fn identity_on(out: &mut [u64], set: &[u64]) {
        out.fill(0);
        for e in ones(set) {
            out[e * set.len() + e / 64] |= 1 << (e % 64);
        }
    }

    /// `[s]; a`.
    pub fn restrict_domain(out: &mut [u64], a: &[u64], set: &[u64]) {
        let words = set.len();
        if words == 1 {
            for i in 0..out.len() {
                out[i] = a[i] & (set[0] >> i & 1).wrapping_neg();
            }
            return;
        }
        out.fill(0);
        for e in ones(set) {
            let row = e * words..(e + 1) * words;
            out[row.clone()].copy_from_slice(&a[row]);
        }
    }

    /// `a; [s]`.
    pub fn restrict_range(out: &mut [u64], a: &[u64], set: &[u64]) {
        if let [s] = set {
            for i in 0..out.len() {
                out[i] = a[i] & s;
            }
            return;
        }
        if let [s, t] = set {
            let (out, a) = (out.as_chunks_mut::<2>().0, a.as_chunks::<2>().0);
            for (out, a) in out.iter_mut().zip(a) {
                *out = [a[0] & s, a[1] & t];
            }
            return;
        }
        for (out, a) in out.chunks_exact_mut(set.len()).zip(a.chunks_exact(set.len())) {
            for (out, (a, s)) in out.iter_mut().zip(a.iter().zip(set)) {
                *out = a & s;
            }
        }
    }

    /// The events with a successor.
    pub fn domain(out: &mut [u64], a: &[u64]) {
        let words = out.len();
        out.fill(0);
        for (e, row) in a.chunks_exact(words).enumerate() {
            let any = row.iter().any(|w| *w != 0);
            out[e / 64] |= u64::from(any) << (e % 64);
        }
    }

    /// The events with a predecessor.
    pub fn range(out: &mut [u64], a: &[u64]) {
        let words = out.len();
        out.fill(0);
        for row in a.chunks_exact(words) {
            for (out, w) in out.iter_mut().zip(row) {
                *out |= w;
            }
        }
    }

    /// Whether no event is related to itself.
    pub fn is_irreflexive(bits: &[u64], words: usize) -> bool {
        bits.chunks_exact(words).enumerate().all(|(e, row)| row[e / 64] >> (e % 64) & 1 == 0)
    }

    /// Whether there is no cycle. Removes events without successors until none is left, later events
    /// first: program order leads to them.
    pub fn is_acyclic(bits: &[u64], words: usize) -> bool {
        let n = bits.len() / words;
        if words == 1 {
            let mut left = mask(n, 0);
            loop {
                let mut keep = 0;
                let mut rest = left;
                while rest != 0 {
                    let e = rest.ilog2();
                    // Pairs that this pass has taken away count at once, which saves passes.
                    keep |= u64::from(bits[e as usize] & (rest | keep) != 0) << e;
                    rest &= !(1 << e);
                }
                if keep == left {
                    return left == 0;
                }
                if keep == 0 {
                    return true;
                }
                left = keep;
            }
        }
        if words == 2 {
            return is_acyclic_pairs(bits, [mask(n, 0), mask(n, 1)]);
        }
        let mut left: Vec<u64> = (0..words).map(|w| mask(n, w)).collect();
        loop {
            let mut gone = false;
            for w in (0..words).rev() {
                let mut rest = left[w];
                while rest != 0 {
                    let e = w * 64 + rest.ilog2() as usize;
                    rest &= !(1 << (e % 64));
                    let row = &bits[e * words..][..words];
                    // Pairs that this pass has taken away count at once, which saves passes.
                    if row.iter().zip(&left).all(|(a, b)| a & b == 0) {
                        left[w] &= !(1 << (e % 64));
                        gone = true;
                    }
                }
            }
            if !gone {
                return left.iter().all(|w| *w == 0);
            }
        }
    }

    fn is_acyclic_pairs(bits: &[u64], mut left: [u64; 2]) -> bool {
        let (bits, _) = bits.as_chunks::<2>();
        loop {
            let before = left;
            for w in [1, 0] {
                let mut rest = left[w];
                while rest != 0 {
                    let e = rest.ilog2() as usize;
                    rest &= !(1 << e);
                    let row = &bits[w * 64 + e];
                    let gone = (row[0] & left[0]) | (row[1] & left[1]) == 0;
                    left[w] &= !(u64::from(gone) << e);
                }
            }
            if left == before {
                return left == [0; 2];
            }
        }
    }
}

impl Set {
    /// A set over no events, a placeholder while another is moved out.
    pub fn hollow() -> Set {
        Set { n: 0, bits: Vec::new() }
    }

    /// The empty set over `n` events.
    pub fn empty(n: usize) -> Set {
        Set { n: n as u32, bits: vec![0; words_for(n)] }
    }

    /// The set of all `n` events.
    pub fn full(n: usize) -> Set {
        Set { n: n as u32, bits: (0..words_for(n)).map(|w| mask(n, w)).collect() }
    }

    /// The set of the given events, of `n`.
    pub fn of(n: usize, events: impl IntoIterator<Item = usize>) -> Set {
        let mut set = Set::empty(n);
        for e in events {
            set.insert(e);
        }
        set
    }

    /// The number `n` of events, in the set or not.
    pub fn universe(&self) -> usize {
        self.n as usize
    }

    /// Adds an event.
    pub fn insert(&mut self, e: usize) {
        debug_assert!(e < self.n as usize);
        self.bits[e / 64] |= 1 << (e % 64);
    }

    /// Removes an event.
    pub fn remove(&mut self, e: usize) {
        self.bits[e / 64] &= !(1 << (e % 64));
    }

    /// Whether the set has the event.
    pub fn contains(&self, e: usize) -> bool {
        self.bits[e / 64] >> (e % 64) & 1 != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|w| *w == 0)
    }

    /// Whether the other set has all its events.
    pub fn subset_of(&self, other: &Set) -> bool {
        rows::within(&self.bits, &other.bits)
    }

    /// The number of events in the set.
    pub fn len(&self) -> usize {
        self.bits.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The events in the set, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        ones(&self.bits)
    }

    /// The bits: event `e` is bit `e % 64` of word `e / 64`.
    pub fn words(&self) -> &[u64] {
        &self.bits
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// Becomes a copy of a set over as many events, without an allocation.
    pub fn copy_from(&mut self, other: &Set) {
        self.bits.copy_from_slice(&other.bits);
    }

    /// `a | b`.
    pub fn union(&self, other: &Set) -> Set {
        self.zip(other, |a, b| a | b)
    }

    /// `a & b`.
    pub fn inter(&self, other: &Set) -> Set {
        self.zip(other, |a, b| a & b)
    }

    /// `a \ b`.
    pub fn diff(&self, other: &Set) -> Set {
        self.zip(other, |a, b| a & !b)
    }

    /// `~a`.
    pub fn complement(&self) -> Set {
        Set::full(self.n as usize).diff(self)
    }

    fn zip(&self, other: &Set, f: impl Fn(u64, u64) -> u64) -> Set {
        let mut out = self.clone();
        out.set_zip(self, other, f);
        out
    }

    /// Becomes `a | b`.
    pub fn set_union(&mut self, a: &Set, b: &Set) {
        self.set_zip(a, b, |a, b| a | b);
    }

    /// Becomes `a & b`.
    pub fn set_inter(&mut self, a: &Set, b: &Set) {
        self.set_zip(a, b, |a, b| a & b);
    }

    /// Becomes `a \ b`.
    pub fn set_diff(&mut self, a: &Set, b: &Set) {
        self.set_zip(a, b, |a, b| a & !b);
    }

    fn set_zip(&mut self, a: &Set, b: &Set, f: impl Fn(u64, u64) -> u64) {
        for ((out, a), b) in self.bits.iter_mut().zip(&a.bits).zip(&b.bits) {
            *out = f(*a, *b);
        }
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Rel {
    /// A relation over no events, a placeholder while another is moved out.
    pub fn hollow() -> Rel {
        Rel { n: 0, words: 1, bits: Vec::new() }
    }

    /// The empty relation on `n` events.
    pub fn empty(n: usize) -> Rel {
        let words = words_for(n);
        Rel { n: n as u32, words: words as u32, bits: vec![0; words * n] }
    }

    /// Relates each of `n` events to every event.
    pub fn full(n: usize) -> Rel {
        let mut rel = Rel::empty(n);
        rel.set_cross(&Set::full(n), &Set::full(n));
        rel
    }

    /// Relates each of `n` events to itself.
    pub fn identity(n: usize) -> Rel {
        Rel::of(n, (0..n).map(|e| (e, e)))
    }

    /// The relation of the given pairs of `n` events.
    pub fn of(n: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Rel {
        let mut rel = Rel::empty(n);
        for (a, b) in pairs {
            rel.insert(a, b);
        }
        rel
    }

    /// The number `n` of events, related or not.
    pub fn universe(&self) -> usize {
        self.n as usize
    }

    /// All rows, one after the other.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// The number of words in a row.
    pub fn width(&self) -> usize {
        self.words as usize
    }

    /// The successors of an event, as the words of a set.
    #[inline]
    pub fn row(&self, a: usize) -> &[u64] {
        let w = self.words as usize;
        &self.bits[a * w..(a + 1) * w]
    }

    /// See [`Rel::row`]. No bit above the last event may be set.
    #[inline]
    pub fn row_mut(&mut self, a: usize) -> &mut [u64] {
        let w = self.words as usize;
        &mut self.bits[a * w..(a + 1) * w]
    }

    /// Relates `a` to `b`.
    #[inline]
    pub fn insert(&mut self, a: usize, b: usize) {
        debug_assert!(b < self.n as usize);
        self.row_mut(a)[b / 64] |= 1 << (b % 64);
    }

    /// Removes the pair of `a` and `b`.
    #[inline]
    pub fn remove(&mut self, a: usize, b: usize) {
        self.row_mut(a)[b / 64] &= !(1 << (b % 64));
    }

    /// Relates `a` to every event of a range.
    pub fn insert_range(&mut self, a: usize, range: std::ops::Range<usize>) {
        let n = self.n as usize;
        for (w, out) in self.row_mut(a).iter_mut().enumerate() {
            *out |= mask(range.end.min(n), w) & !mask(range.start, w);
        }
    }

    /// Removes the pairs of `a` with the events of a range.
    pub fn remove_range(&mut self, a: usize, range: std::ops::Range<usize>) {
        for (w, out) in self.row_mut(a).iter_mut().enumerate() {
            *out &= !(mask(range.end, w) & !mask(range.start, w));
        }
    }

    /// Whether `a` is related to `b`.
    #[inline]
    pub fn contains(&self, a: usize, b: usize) -> bool {
        self.row(a)[b / 64] >> (b % 64) & 1 != 0
    }

    /// Whether nothing is related.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|w| *w == 0)
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.bits.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The successors of an event, in ascending order.
    pub fn successors(&self, a: usize) -> impl Iterator<Item = usize> + '_ {
        ones(self.row(a))
    }

    /// All pairs, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.n as usize).flat_map(move |a| self.successors(a).map(move |b| (a, b)))
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    /// Becomes a copy of a relation over as many events, without an allocation.
    pub fn copy_from(&mut self, other: &Rel) {
        self.bits.copy_from_slice(&other.bits);
    }

    /// Whether the other relation has all its pairs.
    pub fn subset_of(&self, other: &Rel) -> bool {
        rows::within(&self.bits, &other.bits)
    }

    /// Becomes `a | b`.
    pub fn set_union(&mut self, a: &Rel, b: &Rel) {
        self.set_zip(a, b, |a, b| a | b);
    }

    /// Becomes `a & b`.
    pub fn set_inter(&mut self, a: &Rel, b: &Rel) {
        self.set_zip(a, b, |a, b| a & b);
    }

    /// Becomes `a \ b`.
    pub fn set_diff(&mut self, a: &Rel, b: &Rel) {
        self.set_zip(a, b, |a, b| a & !b);
    }

    fn set_zip(&mut self, a: &Rel, b: &Rel, f: impl Fn(u64, u64) -> u64) {
        for ((out, a), b) in self.bits.iter_mut().zip(&a.bits).zip(&b.bits) {
            *out = f(*a, *b);
        }
    }

    /// Becomes `a | b`, this relation being `a`.
    pub fn add(&mut self, other: &Rel) {
        for (out, b) in self.bits.iter_mut().zip(&other.bits) {
            *out |= b;
        }
    }

    /// `a; b`.
    pub fn set_seq(&mut self, a: &Rel, b: &Rel) {
        rows::seq(&mut self.bits, &a.bits, &b.bits, self.words as usize);
    }

    /// Becomes `a^-1`.
    pub fn set_inverse(&mut self, a: &Rel) {
        rows::inverse(&mut self.bits, &a.bits, self.words as usize);
    }

    /// Makes the relation transitive.
    pub fn close(&mut self) {
        rows::close(&mut self.bits, self.words as usize);
    }

    /// Adds each event's pair with itself.
    pub fn add_identity(&mut self) {
        for e in 0..self.n as usize {
            self.insert(e, e);
        }
    }

    /// Removes each event's pair with itself.
    pub fn remove_identity(&mut self) {
        for e in 0..self.n as usize {
            self.remove(e, e);
        }
    }

    /// Becomes `~a`.
    pub fn set_complement(&mut self, a: &Rel) {
        rows::complement(&mut self.bits, &a.bits, self.n as usize, self.words as usize);
    }

    /// Becomes `a * b` of two sets.
    pub fn set_cross(&mut self, a: &Set, b: &Set) {
        rows::cross(&mut self.bits, &a.bits, &b.bits);
    }

    /// `[s]`, the identity on a set.
    pub fn set_identity_on(&mut self, s: &Set) {
        rows::identity_on(&mut self.bits, &s.bits);
    }

    /// `[s]; a`.
    pub fn set_restrict_domain(&mut self, a: &Rel, s: &Set) {
        rows::restrict_domain(&mut self.bits, &a.bits, &s.bits);
    }

    /// `a; [s]`.
    pub fn set_restrict_range(&mut self, a: &Rel, s: &Set) {
        rows::restrict_range(&mut self.bits, &a.bits, &s.bits);
    }

    /// The events with a successor.
    pub fn domain(&self) -> Set {
        let mut set = Set::empty(self.n as usize);
        rows::domain(&mut set.bits, &self.bits);
        set
    }

    /// The events with a predecessor.
    pub fn range(&self) -> Set {
        let mut set = Set::empty(self.n as usize);
        rows::range(&mut set.bits, &self.bits);
        set
    }

    /// Whether no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        rows::is_irreflexive(&self.bits, self.words as usize)
    }

    /// Whether there is no cycle.
    pub fn is_acyclic(&self) -> bool {
        rows::is_acyclic(&self.bits, self.words as usize)
    }

    /// `a | b`.
    pub fn union(&self, b: &Rel) -> Rel {
        self.binary(b, Rel::set_union)
    }

    /// `a & b`.
    pub fn inter(&self, b: &Rel) -> Rel {
        self.binary(b, Rel::set_inter)
    }

    /// `a \ b`.
    pub fn diff(&self, b: &Rel) -> Rel {
        self.binary(b, Rel::set_diff)
    }

    /// `a; b`.
    pub fn seq(&self, b: &Rel) -> Rel {
        self.binary(b, Rel::set_seq)
    }

    fn binary(&self, b: &Rel, f: impl Fn(&mut Rel, &Rel, &Rel)) -> Rel {
        let mut out = Rel::empty(self.n as usize);
        f(&mut out, self, b);
        out
    }

    /// `a^-1`.
    pub fn inverse(&self) -> Rel {
        let mut out = Rel::empty(self.n as usize);
        out.set_inverse(self);
        out
    }

    /// `~a`.
    pub fn complement(&self) -> Rel {
        let mut out = Rel::empty(self.n as usize);
        out.set_complement(self);
        out
    }

    /// `a+`.
    pub fn closure(&self) -> Rel {
        let mut out = self.clone();
        out.close();
        out
    }

    /// `a * b` of two sets.
    pub fn cross(a: &Set, b: &Set) -> Rel {
        let mut out = Rel::empty(a.universe());
        out.set_cross(a, b);
        out
    }

    /// `[s]`, the identity on a set.
    pub fn identity_on(s: &Set) -> Rel {
        let mut out = Rel::empty(s.universe());
        out.set_identity_on(s);
        out
    }
}

impl fmt::Debug for Rel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relations of every width, sparse and dense, against the definitions.
    #[test]
    fn rows_of_every_width_are_computed_alike() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        let mut circles = 0;
        for n in [1, 2, 17, 63, 64, 65, 90, 128, 129, 200] {
            for round in 0..40 {
                let pairs = [n / 4, n / 2, n, 3 * n][round % 4];
                let mut draw = |upwards: bool| {
                    let pairs = (0..pairs).map(|_| (below(n), below(n)));
                    let pairs = pairs.filter(|(a, b)| !upwards || a < b);
                    pairs.fold(Rel::empty(n), |mut r, (a, b)| {
                        r.insert(a, b);
                        r
                    })
                };
                let (a, b) = (draw(round % 3 == 0), draw(false));
                let words = a.width();
                let mut out = Rel::empty(n);
                rows::seq(&mut out.bits, &a.bits, &b.bits, words);
                let through = |x, y| a.successors(x).any(|z| b.contains(z, y));
                let each = || (0..n).flat_map(|x| (0..n).map(move |y| (x, y)));
                assert!(each().all(|(x, y)| out.contains(x, y) == through(x, y)), "{n}");
                let mut closed = a.clone();
                rows::close(&mut closed.bits, words);
                // What is reached from each event, by walking.
                for x in 0..n {
                    let mut reached: Vec<usize> = a.successors(x).collect();
                    let mut at = 0;
                    while let Some(y) = reached.get(at).copied() {
                        at += 1;
                        let new = a.successors(y).filter(|z| !reached.contains(z));
                        let new: Vec<usize> = new.collect();
                        reached.extend(new);
                    }
                    reached.sort_unstable();
                    assert!(closed.successors(x).eq(reached), "{n}");
                }
                let circle = (0..n).any(|x| closed.contains(x, x));
                circles += usize::from(circle);
                assert_eq!(rows::is_acyclic(&a.bits, words), !circle, "{n}");
                let even = Set::of(n, (0..n).step_by(2));
                rows::restrict_range(&mut out.bits, &a.bits, even.words());
                assert!(
                    each().all(|(x, y)| out.contains(x, y) == (a.contains(x, y) && y % 2 == 0))
                );
            }
        }
        assert!((50..350).contains(&circles), "{circles} of 400 relations with circles");
    }
}
