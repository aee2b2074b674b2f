//! Relations over at most sixteen events, which are enough for most tests: sixteen rows of sixteen bits.
//!
//! The size is fixed and operations hardly branch, so each is a few vector instructions. Their meaning
//! is that of [`litmake_base::rel::rows`], which takes any size. Nothing here knows what an event is.

/// The most events that fit.
pub(super) const MOST: usize = 16;

/// Row `a` holds the bit of every `b` with `(a, b)` in the relation; rows past the last event
/// are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(16))]
pub(super) struct Small([u16; MOST]);

/// The bit of each event.
const BIT: [u16; MOST] = {
    let mut bits = [0; MOST];
    let mut i = 0;
    while i < MOST {
        bits[i] = 1 << i;
        i += 1;
    }
    bits
};

/// All ones if a bit is set, else 0.
#[inline(always)]
fn spread(set: u16, bit: u16) -> u16 {
    u16::from(set & bit == bit).wrapping_neg()
}

#[expect(
    clippy::needless_range_loop,
    reason = "loops over all rows become a few wide instructions"
)]
impl Small {
    pub(super) const EMPTY: Small = Small([0; MOST]);

    #[inline(always)]
    fn by_row(f: impl Fn(usize) -> u16) -> Small {
        let mut out = [0; MOST];
        for i in 0..MOST {
            out[i] = f(i);
        }
        Small(out)
    }

    /// Makes it from rows of one word each.
    #[inline]
    pub(super) fn of(rows: &[u64]) -> Small {
        let mut out = [0; MOST];
        for (out, row) in out.iter_mut().zip(rows) {
            *out = *row as u16;
        }
        Small(out)
    }

    /// Whether all of its pairs are in `other`.
    pub(super) fn is_within(&self, other: &Small) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    #[inline(always)]
    pub(super) fn union(&self, b: &Small) -> Small {
        Small::by_row(|i| self.0[i] | b.0[i])
    }

    #[inline(always)]
    pub(super) fn inter(&self, b: &Small) -> Small {
        Small::by_row(|i| self.0[i] & b.0[i])
    }

    #[inline(always)]
    pub(super) fn diff(&self, b: &Small) -> Small {
        Small::by_row(|i| self.0[i] & !b.0[i])
    }

    /// The pairs of events of a set that are not in it.
    pub(super) fn complement(&self, all: u16) -> Small {
        Small::cross(all, all).diff(self)
    }

    #[inline(always)]
    pub(super) fn restrict_domain(&self, set: u16) -> Small {
        Small::by_row(|i| self.0[i] & spread(set, BIT[i]))
    }

    #[inline(always)]
    pub(super) fn restrict_range(&self, set: u16) -> Small {
        Small::by_row(|i| self.0[i] & set)
    }

    pub(super) fn cross(a: u16, b: u16) -> Small {
        Small::by_row(|i| b & spread(a, BIT[i]))
    }

    pub(super) fn identity_on(set: u16) -> Small {
        Small::by_row(|i| set & BIT[i])
    }

    /// The events with a successor.
    pub(super) fn domain(&self) -> u16 {
        let mut all = 0;
        for i in 0..MOST {
            all |= BIT[i] & !u16::from(self.0[i] == 0).wrapping_neg();
        }
        all
    }

    /// The events with a predecessor.
    #[inline(always)]
    pub(super) fn range(&self) -> u16 {
        let mut all = 0;
        for row in self.0 {
            all |= row;
        }
        all
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.range() == 0
    }

    #[inline]
    pub(super) fn seq(&self, b: &Small) -> Small {
        let mut out = [0; MOST];
        let mut through = self.range();
        while through != 0 {
            let k = through.trailing_zeros() as usize % MOST;
            through &= through - 1;
            let row = b.0[k];
            for i in 0..MOST {
                out[i] |= row & spread(self.0[i], BIT[k]);
            }
        }
        Small(out)
    }

    #[inline]
    pub(super) fn inverse(&self) -> Small {
        let mut out = [0; MOST];
        for i in 0..MOST {
            let row = self.0[i];
            if row != 0 {
                for j in 0..MOST {
                    out[j] |= spread(row, BIT[j]) & BIT[i];
                }
            }
        }
        Small(out)
    }

    /// Its transitive closure.
    #[inline]
    pub(super) fn close(&self) -> Small {
        let mut out = self.0;
        // An event that nothing reaches adds nothing.
        let mut through = self.range();
        while through != 0 {
            let k = through.trailing_zeros() as usize % MOST;
            through &= through - 1;
            let row = out[k];
            if row == 0 {
                continue;
            }
            for i in 0..MOST {
                out[i] |= row & spread(out[i], BIT[k]);
            }
        }
        Small(out)
    }

    #[inline(always)]
    pub(super) fn is_irreflexive(&self) -> bool {
        let mut all = 0;
        for i in 0..MOST {
            all |= self.0[i] & BIT[i];
        }
        all == 0
    }

    pub(super) fn is_acyclic(&self) -> bool {
        self.close().is_irreflexive()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Small};
    use litmake_base::rel::rows;
    use proptest::prelude::*;

    fn relation(n: usize) -> impl Strategy<Value = Vec<u64>> {
        let row = prop_oneof![Just(0), 0..1u64 << n, (0..n).prop_map(|b| 1 << b)];
        proptest::collection::vec(row, n)
    }

    fn two() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, u64, u64)> {
        (1..=MOST).prop_flat_map(|n| (relation(n), relation(n), 0..1u64 << n, 0..1u64 << n))
    }

    proptest! {
        /// Each operation gives the same as the one for any size.
        #[test]
        fn small_relations_are_relations((a, b, s, t) in two()) {
            let n = a.len();
            let (x, y) = (Small::of(&a), Small::of(&b));
            let rows = |f: &dyn Fn(&mut [u64])| {
                let mut out = vec![0; n];
                f(&mut out);
                Small::of(&out)
            };
            let all = (1u64 << n) - 1;
            prop_assert_eq!(x.union(&y), rows(&|o| rows::zip(o, &a, &b, |a, b| a | b)));
            prop_assert_eq!(x.inter(&y), rows(&|o| rows::zip(o, &a, &b, |a, b| a & b)));
            prop_assert_eq!(x.diff(&y), rows(&|o| rows::zip(o, &a, &b, |a, b| a & !b)));
            prop_assert_eq!(x.complement(all as u16), rows(&|o| rows::complement(o, &a, n, 1)));
            prop_assert_eq!(x.seq(&y), rows(&|o| rows::seq(o, &a, &b, 1)));
            prop_assert_eq!(x.inverse(), rows(&|o| rows::inverse(o, &a, 1)));
            let closed = |o: &mut [u64]| {
                o.copy_from_slice(&a);
                rows::close(o, 1);
            };
            prop_assert_eq!(x.close(), rows(&closed));
            prop_assert_eq!(
                x.restrict_domain(s as u16),
                rows(&|o| rows::restrict_domain(o, &a, &[s]))
            );
            prop_assert_eq!(
                x.restrict_range(s as u16),
                rows(&|o| rows::restrict_range(o, &a, &[s]))
            );
            prop_assert_eq!(
                Small::cross(s as u16, t as u16),
                rows(&|o| rows::cross(o, &[s], &[t]))
            );
            prop_assert_eq!(Small::identity_on(s as u16), rows(&|o| rows::identity_on(o, &[s])));
            let mut set = [0u64];
            rows::domain(&mut set, &a);
            prop_assert_eq!(u64::from(x.domain()), set[0]);
            rows::range(&mut set, &a);
            prop_assert_eq!(u64::from(x.range()), set[0]);
            prop_assert_eq!(x.is_empty(), a.iter().all(|r| *r == 0));
            prop_assert_eq!(x.is_irreflexive(), rows::is_irreflexive(&a, 1));
            prop_assert_eq!(x.is_acyclic(), rows::is_acyclic(&a, 1));
        }
    }
}
