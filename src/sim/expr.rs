//! Values as expressions over the results of an execution's reads.
//!
//! Arithmetic is folded as far as constants allow, so that an address such as `x + (r ^ r)` is
//! known before any read has its source. Nothing here knows events or models.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use litmake_ops::eval::{ALIGN, eval_bin, eval_un, is_full};
use litmake_ops::{BinOp, UnOp, Val, mask};

pub type ExprId = u32;

/// The value returned by the `access`-th memory read of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var {
    pub thread: u16,
    pub access: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    Const(Val),
    /// A read, and its width in bits, from which the value is zero-extended.
    Var(Var, u8),
    Un(UnOp, ExprId, u8),
    Bin(BinOp, ExprId, ExprId, u8),
    /// An expression that has this value on the path at hand, since the path has assumed it. In an execution the
    /// expression itself is computed, so that an assumption does not bear itself out.
    Assumed(ExprId, Val),
}

/// Hash-consed expressions of one program.
#[derive(Default)]
pub struct Exprs {
    nodes: Vec<Expr>,
    index: FxHashMap<Expr, ExprId>,
}

impl Exprs {
    /// A condition without the negations around it, and whether it was negated. So a condition and
    /// its negation are recognised as one question.
    pub fn question(&self, mut e: ExprId) -> (ExprId, bool) {
        let mut negated = false;
        while let Expr::Un(UnOp::IsZero, inner, width) = self.get(e)
            && self.bits_of(inner) <= width
        {
            e = inner;
            negated = !negated;
        }
        (e, negated)
    }

    pub fn clear(&mut self) {
        self.nodes.clear();
        self.index.clear();
    }

    pub fn get(&self, id: ExprId) -> Expr {
        self.nodes[id as usize]
    }

    fn add(&mut self, e: Expr) -> ExprId {
        if let Some(id) = self.index.get(&e) {
            return *id;
        }
        let id = self.nodes.len() as ExprId;
        self.nodes.push(e);
        self.index.insert(e, id);
        id
    }

    pub fn constant(&mut self, v: Val) -> ExprId {
        self.add(Expr::Const(v))
    }

    pub fn int(&mut self, v: u128) -> ExprId {
        self.constant(Val::Int(v))
    }

    pub fn var(&mut self, v: Var, bits: u8) -> ExprId {
        self.add(Expr::Var(v, bits))
    }

    /// The value, where it is the same in every execution of the path.
    pub fn as_const(&self, id: ExprId) -> Option<Val> {
        match self.get(id) {
            Expr::Const(v) | Expr::Assumed(_, v) => Some(v),
            _ => None,
        }
    }

    /// The value of a constant, which nothing has assumed.
    fn literal(&self, id: ExprId) -> Option<Val> {
        match self.get(id) {
            Expr::Const(v) => Some(v),
            _ => None,
        }
    }

    /// The expression behind an assumption; an expression that is no assumption stays as it is.
    fn behind(&self, id: ExprId) -> ExprId {
        match self.get(id) {
            Expr::Assumed(of, _) => of,
            _ => id,
        }
    }

    /// An expression with the value that the path assumes for it.
    fn assumed(&mut self, of: ExprId, val: Val) -> ExprId {
        match self.get(of) {
            Expr::Const(_) => of,
            _ => self.add(Expr::Assumed(of, val)),
        }
    }

    pub fn un(&mut self, op: UnOp, a: ExprId, width: u8) -> ExprId {
        if let Some(v) = self.as_const(a)
            && let Some(r) = eval_un(op, v, width)
        {
            if self.literal(a).is_some() {
                return self.constant(r);
            }
            let of = self.un(op, self.behind(a), width);
            return self.assumed(of, r);
        }
        if let UnOp::ZeroExt { from } = op
            && self.bits_of(a) <= from.min(width)
        {
            return a;
        }
        self.add(Expr::Un(op, a, width))
    }

    /// Assumes that `open` has a value, in `open` itself and in sums of `open` and a number.
    pub fn with(&mut self, id: ExprId, open: ExprId, val: Val) -> ExprId {
        let known = self.assumed(open, val);
        if id == open {
            return known;
        }
        match self.get(id) {
            Expr::Bin(op @ (BinOp::Add | BinOp::Sub), a, b, w)
                if a == open && self.literal(b).is_some() =>
            {
                self.bin(op, known, b, w)
            }
            Expr::Bin(BinOp::Add, a, b, w) if b == open && self.literal(a).is_some() => {
                self.bin(BinOp::Add, a, known, w)
            }
            _ => id,
        }
    }

    /// Assumes that a read returned a value.
    pub fn assign(&mut self, id: ExprId, var: Var, val: Val) -> ExprId {
        let mut done = FxHashMap::default();
        self.assign_once(id, var, val, &mut done)
    }

    fn assign_once(
        &mut self,
        id: ExprId,
        var: Var,
        val: Val,
        done: &mut FxHashMap<ExprId, ExprId>,
    ) -> ExprId {
        if let Some(known) = done.get(&id) {
            return *known;
        }
        let new = match self.get(id) {
            Expr::Const(_) | Expr::Assumed(..) => id,
            Expr::Var(v, _) => match v == var {
                true => self.assumed(id, val),
                false => id,
            },
            Expr::Un(op, a, w) => match self.assign_once(a, var, val, done) {
                same if same == a => id,
                new => self.un(op, new, w),
            },
            Expr::Bin(op, a, b, w) => {
                let new =
                    (self.assign_once(a, var, val, done), self.assign_once(b, var, val, done));
                if new == (a, b) { id } else { self.bin(op, new.0, new.1, w) }
            }
        };
        done.insert(id, new);
        new
    }

    /// The reads that a value depends on, each once.
    pub fn vars(&self, id: ExprId) -> SmallVec<[Var; 4]> {
        let mut vars = SmallVec::new();
        self.each_var(id, &mut |v| {
            if !vars.contains(&v) {
                vars.push(v);
            }
        });
        vars
    }

    /// Whether the bits of a value that are known are those of another.
    pub fn may_be(&self, id: ExprId, val: Val, width: u8) -> bool {
        let (known, other) = (self.known_bits(id, width, &|_| None, DEPTH), KnownBits::of(val));
        let both = known.bits & other.bits & mask(width);
        known.value & both == other.value & both
    }

    /// An upper bound on the significant bits of a value.
    fn bits_of(&self, id: ExprId) -> u8 {
        match self.get(id) {
            Expr::Const(Val::Int(v)) | Expr::Assumed(_, Val::Int(v)) => {
                (128 - v.leading_zeros()) as u8
            }
            Expr::Const(_) | Expr::Assumed(..) => 64,
            Expr::Var(_, bits) => bits,
            Expr::Un(UnOp::IsZero, ..) => 1,
            Expr::Un(UnOp::ZeroExt { from }, _, w) => from.min(w),
            Expr::Un(_, _, w) => w,
            Expr::Bin(
                BinOp::Eq | BinOp::Ne | BinOp::LtU | BinOp::LeU | BinOp::LtS | BinOp::LeS,
                ..,
            ) => 1,
            Expr::Bin(BinOp::And, a, b, w) => self.shallow_bits(a).min(self.shallow_bits(b)).min(w),
            Expr::Bin(_, _, _, w) => w,
        }
    }

    fn shallow_bits(&self, id: ExprId) -> u8 {
        match self.get(id) {
            Expr::Const(Val::Int(v)) => (128 - v.leading_zeros()) as u8,
            Expr::Var(_, bits) => bits,
            Expr::Un(_, _, w) | Expr::Bin(_, _, _, w) => w,
            _ => 128,
        }
    }

    pub fn bin(&mut self, op: BinOp, a: ExprId, b: ExprId, width: u8) -> ExprId {
        let (ca, cb) = (self.literal(a), self.literal(b));
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b))
            && let Some(r) = eval_bin(op, x, y, width)
        {
            if ca.is_some() && cb.is_some() {
                return self.constant(r);
            }
            let of = self.bin(op, self.behind(a), self.behind(b), width);
            return self.assumed(of, r);
        }
        if a == b {
            match op {
                BinOp::Xor | BinOp::Sub | BinOp::Ne | BinOp::LtU | BinOp::LtS => {
                    return self.int(0);
                }
                BinOp::Eq | BinOp::LeU | BinOp::LeS => return self.int(1),
                BinOp::And | BinOp::Or if self.bits_of(a) <= width => return a,
                _ => {}
            }
        }
        let zero = Some(Val::ZERO);
        let fits = |s: &Exprs, e| s.bits_of(e) <= width;
        match op {
            BinOp::Add | BinOp::Or | BinOp::Xor if cb == zero && fits(self, a) => return a,
            BinOp::Add | BinOp::Or | BinOp::Xor if ca == zero && fits(self, b) => return b,
            BinOp::Sub | BinOp::Shl | BinOp::Shr | BinOp::Sar if cb == zero && fits(self, a) => {
                return a;
            }
            BinOp::And | BinOp::Mul if ca == zero || cb == zero => return self.int(0),
            BinOp::Or if is_full(ca, width) || is_full(cb, width) => return self.int(mask(width)),
            BinOp::And => {
                // A mask that keeps every bit that the other side can have.
                for (c, e) in [(ca, b), (cb, a)] {
                    if let Some(Val::Int(m)) = c {
                        let bits = self.bits_of(e);
                        if bits <= width && m & mask(bits) == mask(bits) {
                            return e;
                        }
                        if let Some(v) =
                            self.known_bits(e, width, &|_| None, DEPTH).under(m & mask(width))
                        {
                            return self.int(v);
                        }
                    }
                }
            }
            _ => {}
        }
        // x + c1 + c2, so that stepped addresses fold.
        if let (BinOp::Add | BinOp::Sub, Some(Val::Int(c2))) = (op, cb)
            && let Expr::Bin(BinOp::Add, inner, c1, w) = self.get(a)
            && w == width
            && let Some(Val::Int(c1)) = self.as_const(c1)
        {
            let sum = if op == BinOp::Add { c1.wrapping_add(c2) } else { c1.wrapping_sub(c2) };
            let sum = self.int(sum & mask(width));
            return self.bin(BinOp::Add, inner, sum, width);
        }
        self.add(Expr::Bin(op, a, b, width))
    }

    /// The value, if the reads that it needs are known. `None` if one is not, or if the
    /// arithmetic has no meaning (a product of addresses).
    pub fn eval(&self, id: ExprId, vars: &dyn Fn(Var) -> Option<Val>) -> Option<Val> {
        match self.get(id) {
            Expr::Const(v) => Some(v),
            Expr::Assumed(of, _) => self.eval(of, vars),
            Expr::Var(v, _) => vars(v),
            Expr::Un(op, a, w) => eval_un(op, self.eval(a, vars)?, w),
            Expr::Bin(op, a, b, w) => {
                let x = self.eval(a, vars);
                if let (BinOp::And | BinOp::Mul, Some(Val::ZERO)) = (op, x) {
                    return Some(Val::ZERO);
                }
                if op == BinOp::Or && is_full(x, w) {
                    return Some(Val::Int(mask(w)));
                }
                if x.is_none() && !matches!(op, BinOp::And | BinOp::Or) {
                    return None;
                }
                match (x, self.eval(b, vars)) {
                    (Some(x), Some(y)) => eval_bin(op, x, y, w),
                    (None, y) if op == BinOp::Or && is_full(y, w) => Some(Val::Int(mask(w))),
                    // Some bits of an operand that has no value as a whole.
                    (None, Some(Val::Int(m))) if op == BinOp::And => {
                        self.known_bits(a, w, vars, DEPTH).under(m & mask(w)).map(Val::Int)
                    }
                    (Some(Val::Int(m)), None) if op == BinOp::And => {
                        self.known_bits(b, w, vars, DEPTH).under(m & mask(w)).map(Val::Int)
                    }
                    _ => None,
                }
            }
        }
    }

    /// The bits of a value, modulo 2^`width`, that are known even if the whole value is not.
    fn known_bits(
        &self,
        id: ExprId,
        width: u8,
        vars: &dyn Fn(Var) -> Option<Val>,
        depth: u8,
    ) -> KnownBits {
        let Some(depth) = depth.checked_sub(1) else {
            return KnownBits::NOTHING;
        };
        let of = |e, w| self.known_bits(e, w, vars, depth);
        let constant = |e| match self.literal(e) {
            Some(Val::Int(v)) => u32::try_from(v).ok(),
            _ => None,
        };
        let known = match self.get(id) {
            Expr::Const(v) => KnownBits::of(v),
            Expr::Assumed(e, _) => of(e, width),
            Expr::Var(v, _) => vars(v).map_or(KnownBits::NOTHING, KnownBits::of),
            Expr::Un(UnOp::ZeroExt { from }, a, w) => of(a, w).low(from.min(w)),
            Expr::Un(UnOp::SignExt { from }, a, w) => {
                let a = of(a, w);
                KnownBits { bits: a.bits & mask(from.min(w)), ..a }
            }
            Expr::Bin(BinOp::Shl, a, count, w) => match constant(count) {
                Some(c) if c < u32::from(w) => {
                    let a = of(a, w);
                    KnownBits { bits: (a.bits << c) | ((1 << c) - 1), value: a.value << c }.low(w)
                }
                _ => KnownBits::NOTHING,
            },
            Expr::Bin(BinOp::Shr, a, count, w) => match constant(count) {
                Some(c) if c < u32::from(w) => {
                    let a = of(a, w).low(w);
                    KnownBits { bits: a.bits >> c, value: a.value >> c }
                }
                _ => KnownBits::NOTHING,
            },
            Expr::Bin(op @ (BinOp::And | BinOp::Or | BinOp::Xor), a, b, w) => {
                let (a, b) = (of(a, w).low(w), of(b, w).low(w));
                let both = a.bits & b.bits;
                match op {
                    BinOp::And => KnownBits {
                        bits: both | a.bits & !a.value | b.bits & !b.value,
                        value: a.value & b.value,
                    },
                    BinOp::Or => KnownBits {
                        bits: both | a.bits & a.value | b.bits & b.value,
                        value: a.value | b.value,
                    },
                    _ => KnownBits { bits: both, value: a.value ^ b.value },
                }
            }
            // A sum is known below the first unknown bit of its operands.
            Expr::Bin(op @ (BinOp::Add | BinOp::Sub), a, b, w) => {
                let (a, b) = (of(a, w), of(b, w));
                let sum = match op {
                    BinOp::Add => a.value.wrapping_add(b.value),
                    _ => a.value.wrapping_sub(b.value),
                };
                let count = (a.bits & b.bits).trailing_ones().min(u32::from(w));
                KnownBits { bits: mask(count as u8), value: sum }
            }
            _ => KnownBits::NOTHING,
        };
        let bits = known.bits & mask(width);
        KnownBits { bits, value: known.value & bits }
    }

    /// Calls `f` on each constant in an expression.
    pub fn each_const(&self, id: ExprId, f: &mut dyn FnMut(Val)) {
        match self.get(id) {
            Expr::Const(v) => f(v),
            Expr::Var(..) => {}
            Expr::Un(_, a, _) | Expr::Assumed(a, _) => self.each_const(a, f),
            Expr::Bin(_, a, b, _) => {
                self.each_const(a, f);
                self.each_const(b, f);
            }
        }
    }

    /// Whether a value is exactly what a read returned.
    pub fn is_var(&self, mut id: ExprId, var: Var) -> bool {
        id = self.behind(id);
        while let Expr::Un(UnOp::ZeroExt { from }, inner, _) = self.get(id)
            && self.bits_of(inner) <= from
        {
            id = inner;
        }
        matches!(self.get(id), Expr::Var(v, _) if v == var)
    }

    /// A read that a value depends on and of which nothing is assumed.
    pub fn open_var(&self, id: ExprId) -> Option<Var> {
        match self.get(id) {
            Expr::Const(_) | Expr::Assumed(..) => None,
            Expr::Var(v, _) => Some(v),
            Expr::Un(_, a, _) => self.open_var(a),
            Expr::Bin(_, a, b, _) => self.open_var(a).or_else(|| self.open_var(b)),
        }
    }

    /// Calls `f` on each read that a value depends on.
    pub fn each_var(&self, id: ExprId, f: &mut dyn FnMut(Var)) {
        match self.get(id) {
            Expr::Const(_) => {}
            Expr::Var(v, _) => f(v),
            Expr::Un(_, a, _) | Expr::Assumed(a, _) => self.each_var(a, f),
            Expr::Bin(_, a, b, _) => {
                self.each_var(a, f);
                self.each_var(b, f);
            }
        }
    }
}

/// How deep [`Exprs::known_bits`] looks into an expression.
const DEPTH: u8 = 8;

/// A mask of known bits, and their values (0 where unknown).
#[derive(Clone, Copy)]
struct KnownBits {
    bits: u128,
    value: u128,
}

impl KnownBits {
    const NOTHING: KnownBits = KnownBits { bits: 0, value: 0 };

    fn of(v: Val) -> KnownBits {
        match v {
            Val::Int(value) => KnownBits { bits: u128::MAX, value },
            // Locations are aligned.
            Val::Ptr { off, .. } => KnownBits { bits: ALIGN - 1, value: off as u128 & (ALIGN - 1) },
            Val::Code(_) => KnownBits::NOTHING,
        }
    }

    /// The same after all but the low bits are cleared.
    fn low(self, bits: u8) -> KnownBits {
        KnownBits { bits: self.bits | !mask(bits), value: self.value & mask(bits) }
    }

    /// The value under a mask, if all bits of the mask are known.
    fn under(self, m: u128) -> Option<u128> {
        (self.bits & m == m).then_some(self.value & m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Tree {
        Address,
        Int(u128),
        Un(UnOp, Box<Tree>),
        Bin(BinOp, Box<Tree>, Box<Tree>),
        Shift(BinOp, Box<Tree>, u8),
    }

    const VAR: Var = Var { thread: 0, access: 0 };

    fn tree() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            2 => Just(Tree::Address),
            1 => (0..300u128).prop_map(Tree::Int),
            1 => Just(Tree::Int(u128::from(u64::MAX) - 3)),
        ];
        leaf.prop_recursive(4, 16, 2, |t| {
            let un = prop_oneof![
                Just(UnOp::ZeroExt { from: 8 }),
                Just(UnOp::ZeroExt { from: 32 }),
                Just(UnOp::SignExt { from: 32 }),
            ];
            let bin = prop_oneof![
                Just(BinOp::And),
                Just(BinOp::Or),
                Just(BinOp::Xor),
                Just(BinOp::Add),
                Just(BinOp::Sub),
            ];
            let shift = prop_oneof![Just(BinOp::Shl), Just(BinOp::Shr)];
            prop_oneof![
                (un, t.clone()).prop_map(|(op, a)| Tree::Un(op, a.into())),
                (bin, t.clone(), t.clone()).prop_map(|(op, a, b)| Tree::Bin(
                    op,
                    a.into(),
                    b.into()
                )),
                (shift, t, 0..70u8).prop_map(|(op, a, n)| Tree::Shift(op, a.into(), n)),
            ]
        })
    }

    fn build(exprs: &mut Exprs, tree: &Tree) -> ExprId {
        match tree {
            Tree::Address => exprs.var(VAR, 64),
            Tree::Int(v) => exprs.int(*v),
            Tree::Un(op, a) => {
                let a = build(exprs, a);
                exprs.un(*op, a, 64)
            }
            Tree::Bin(op, a, b) => {
                let (a, b) = (build(exprs, a), build(exprs, b));
                exprs.bin(*op, a, b, 64)
            }
            Tree::Shift(op, a, n) => {
                let a = build(exprs, a);
                let n = exprs.int(u128::from(*n));
                exprs.bin(*op, a, n, 64)
            }
        }
    }

    proptest! {
        /// The known bits of a value that is computed from an address are right wherever the address lies.
        #[test]
        fn known_bits_are_those_of_any_address(
            tree in tree(),
            off in 0..16i64,
            base in 1..1u128 << 26,
            m in prop_oneof![0..64u128, Just(0xff), Just(0x18), 0..1u128 << 12],
        ) {
            let mut exprs = Exprs::default();
            let value = build(&mut exprs, &tree);
            let number = Val::Int(base * ALIGN + off as u128);
            let symbol = Val::Ptr { loc: 0, off };
            let real = exprs.eval(value, &|_| Some(number));
            let known = exprs.known_bits(value, 64, &|_| Some(symbol), DEPTH);
            if let Some(Val::Int(real)) = real {
                prop_assert_eq!(real & known.bits & mask(64), known.value);
            }
            let m = exprs.int(m);
            let masked = exprs.bin(BinOp::And, value, m, 64);
            let real = exprs.eval(masked, &|_| Some(number));
            if let Some(Val::Int(v)) = exprs.eval(masked, &|_| Some(symbol)) {
                prop_assert_eq!(real, Some(Val::Int(v)));
            }
        }
    }
}
