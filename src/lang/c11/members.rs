//! The members of locations that are structures, or arrays of bytes: which bytes a test accesses as
//! one value, as in `*(uint32_t *)(s + 8)`. And what pointers that lie in memory can point to.
//!
//! A structure's definition says it. For the others it goes by what is written, in all threads at once. A location that goes anywhere but into an
//! access, that is accessed where nothing tells, or whose bytes belong to two values, has none.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::shared_locations;
use litmake_litmus::c::ast::{BinaryOp, Expr, ExprKind, Function, UnaryOp};
use litmake_litmus::c::types::size_of;
use litmake_litmus::{Body, Test, Type, Value};

/// An address with more possible places than this counts as unknown.
const MAX_PLACES: usize = 16;

/// Where each member begins and how many bytes it has, in order, by location.
pub type Members = BTreeMap<String, Vec<(u64, u64)>>;

/// The members of a test's locations, where they are arrays.
pub fn members(test: &Test) -> Members {
    let arrays = shared_locations(test)
        .into_iter()
        .filter(|(_, ty)| matches!(ty.bare(), Type::Array(..)))
        .filter_map(|(name, ty)| Some((name, size_of(&ty)?)));
    let apart = |list: &Vec<(u64, u64)>| list.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0);
    // Those of a structure are known from its definition.
    let defined = shared_locations(test).into_iter().filter_map(|(name, ty)| match ty.bare() {
        Type::Struct(s) => {
            let values = s.values();
            Some((
                name,
                values.iter().filter_map(|(at, ty, _)| Some((*at, size_of(ty)?))).collect(),
            ))
        }
        _ => None,
    });
    let mut out: Members = defined.filter(|(_, list)| apart(list)).collect();
    let mut looked = Look { sizes: arrays.collect(), ..Look::default() };
    if looked.sizes.is_empty() {
        return out;
    }
    looked.test(test);
    let Look { sizes, found, anywhere } = looked;
    let found = sizes
        .into_keys()
        .filter(|name| !anywhere.contains(name))
        .filter_map(|name| Some((name.clone(), found.get(&name)?.iter().copied().collect())))
        .filter(|(_, list)| apart(list));
    out.extend(found);
    out
}

/// The location that pointers in memory point to, if there is only one, and no other location of its size
/// with which a compiler could combine it in one access.
pub fn published(test: &Test) -> Option<String> {
    let mut looked = Look::default();
    looked.test(test);
    let mut names = looked.anywhere;
    for item in &test.init {
        names.extend(item.values().iter().filter_map(|v| match v {
            Value::Addr { name, .. } => Some(name.clone()),
            _ => None,
        }));
    }
    let shared = shared_locations(test);
    let mut pointed = shared.iter().filter(|(name, _)| names.contains(name));
    let (name, ty) = pointed.next()?;
    let size = size_of(ty)?;
    let alike = shared.iter().filter(|(_, other)| size_of(other).is_none_or(|s| s == size));
    (pointed.next().is_none() && alike.count() == 1).then(|| name.clone())
}

#[derive(Default)]
struct Look {
    /// Bytes of each array.
    sizes: BTreeMap<String, u64>,
    found: BTreeMap<String, BTreeSet<(u64, u64)>>,
    /// The arrays that may be accessed at any place.
    anywhere: BTreeSet<String>,
}

/// An address in a location: how far into it, as one of several, and the type that it points to.
struct Address {
    name: String,
    places: Vec<i64>,
    to: Type,
}

impl Look {
    fn test(&mut self, test: &Test) {
        test.helpers.iter().for_each(|f| self.function(f));
        for f in test.threads.iter().filter_map(Body::function) {
            self.function(f);
        }
    }

    fn function(&mut self, f: &Function) {
        let params: BTreeMap<&str, &Type> =
            f.params.iter().map(|p| (p.name.as_str(), &p.ty)).collect();
        f.each_expr(&mut |e| self.expr(e, &params));
    }

    fn expr(&mut self, e: &Expr, params: &BTreeMap<&str, &Type>) {
        match &e.kind {
            ExprKind::Unary(UnaryOp::Deref, inner) => self.access(inner, params),
            ExprKind::Index(base, index) => match address(e, params, true) {
                Some(at) => {
                    self.accessed(at);
                    self.expr(index, params);
                }
                None => [base, index].into_iter().for_each(|e| self.expr(e, params)),
            },
            ExprKind::Call(name, args) if name.starts_with("atomic_") => {
                if let Some((first, rest)) = args.split_first() {
                    self.access(first, params);
                    rest.iter().for_each(|e| self.expr(e, params));
                }
            }
            // A copy is a read and a write of what its pointers point to.
            ExprKind::Call(name, args)
                if matches!(name.as_str(), "memcpy" | "__builtin_memcpy") =>
            {
                let (pointers, size) = args.split_at(args.len().min(2));
                pointers.iter().for_each(|e| self.access(e, params));
                size.iter().for_each(|e| self.expr(e, params));
            }
            ExprKind::Name(name) => {
                self.anywhere.insert(name.clone());
            }
            // Its operand is not evaluated.
            ExprKind::SizeofExpr(_) => {}
            _ => e.children().into_iter().for_each(|e| self.expr(e, params)),
        }
    }

    /// An access to what a pointer points to.
    fn access(&mut self, pointer: &Expr, params: &BTreeMap<&str, &Type>) {
        match address(pointer, params, false) {
            Some(at) => self.accessed(at),
            None => self.expr(pointer, params),
        }
    }

    fn accessed(&mut self, at: Address) {
        let Some(all) = self.sizes.get(&at.name) else { return };
        let member = size_of(&at.to).filter(|size| *size > 0);
        let inside = |size: u64| {
            let place = |p: &i64| u64::try_from(*p).ok().filter(|p| p.saturating_add(size) <= *all);
            at.places.iter().filter_map(place).map(|p| (p, size)).collect::<Vec<_>>()
        };
        match member.map(inside) {
            // Accesses beyond the end are of no test.
            Some(found) => self.found.entry(at.name).or_default().extend(found),
            None => drop(self.anywhere.insert(at.name)),
        }
    }
}

/// The object that an expression points to; with `place`, the object that the expression is.
fn address(e: &Expr, params: &BTreeMap<&str, &Type>, place: bool) -> Option<Address> {
    match &e.kind {
        ExprKind::Name(name) if !place => {
            let Type::Pointer(to) = params.get(name.as_str())?.bare() else { return None };
            let element = match to.bare() {
                Type::Array(of, _) => of.bare(),
                to => to,
            };
            Some(Address { name: name.clone(), places: vec![0], to: element.clone() })
        }
        ExprKind::Cast(ty, inner) if !place => {
            let Type::Pointer(to) = ty.bare() else { return None };
            Some(Address { to: to.bare().clone(), ..address(inner, params, false)? })
        }
        ExprKind::Unary(UnaryOp::Addr, inner) if !place => address(inner, params, true),
        ExprKind::Unary(UnaryOp::Deref, inner) if place => address(inner, params, false),
        ExprKind::Index(base, index) if place => moved(address(base, params, false)?, index, 1),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) if !place => {
            let by = if *op == BinaryOp::Add { 1 } else { -1 };
            match address(a, params, false) {
                Some(at) => moved(at, b, by),
                None if *op == BinaryOp::Add => moved(address(b, params, false)?, a, 1),
                None => None,
            }
        }
        _ => None,
    }
}

fn moved(at: Address, by: &Expr, sign: i64) -> Option<Address> {
    let size = i64::try_from(size_of(&at.to)?).ok()?;
    let by = numbers(by)?;
    let sums = at.places.iter().flat_map(|p| {
        by.iter().map(move |n| p.checked_add(n.checked_mul(size)?.checked_mul(sign)?))
    });
    let places: BTreeSet<i64> = sums.collect::<Option<_>>()?;
    (places.len() <= MAX_PLACES).then(|| Address { places: places.into_iter().collect(), ..at })
}

/// The numbers that an expression may be.
fn numbers(e: &Expr) -> Option<Vec<i64>> {
    let list = match &e.kind {
        ExprKind::Int(n) => vec![i64::try_from(n.value).ok()?],
        ExprKind::Binary(BinaryOp::Xor | BinaryOp::Sub, a, b) if a == b => vec![0],
        ExprKind::Binary(BinaryOp::And, a, b) => {
            let (a, b) = (numbers(a), numbers(b));
            let ((Some(one), None) | (None, Some(one))) = (&a, &b) else { return None };
            let [mask] = one.as_slice() else { return None };
            parts_of(*mask)?
        }
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Mul | BinaryOp::Shl), a, b) => {
            let (a, b) = (numbers(a)?, numbers(b)?);
            let result = |x: i64, y: i64| match op {
                BinaryOp::Add => x.checked_add(y),
                BinaryOp::Mul => x.checked_mul(y),
                _ => x.checked_mul(1i64.checked_shl(u32::try_from(y).ok()?)?),
            };
            let all = a.iter().flat_map(|x| b.iter().map(move |y| result(*x, *y)));
            all.collect::<Option<BTreeSet<i64>>>()?.into_iter().collect()
        }
        ExprKind::Cast(_, inner) => numbers(inner)?,
        _ => return None,
    };
    (list.len() <= MAX_PLACES).then_some(list)
}

/// The numbers that have no bits but those of a mask.
fn parts_of(mask: i64) -> Option<Vec<i64>> {
    if mask < 0 || 1usize << mask.count_ones().min(8) > MAX_PLACES {
        return None;
    }
    let mut out = vec![0];
    let mut part = mask;
    while part > 0 {
        out.push(part);
        part = (part - 1) & mask;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{members, published};
    use litmake_base::diag::Source;

    fn of(body: &str) -> Option<Vec<(u64, u64)>> {
        let text = format!(
            "C t
{{ uint8_t s[16]; }}
P0(uint8_t *s, int *y) {{ {body} }}
exists (true)
"
        );
        members(&litmake_litmus::read(&Source::new("t", text)).unwrap()).get("s").cloned()
    }

    #[test]
    fn members_are_what_is_accessed() {
        let atomic = "atomic_store_explicit((_Atomic uint16_t *)(s + 8), 1, memory_order_relaxed);";
        assert_eq!(of(&format!("*(uint32_t *)s = 1; {atomic}")), Some(vec![(0, 4), (8, 2)]));
        assert_eq!(of("int r = *y; int a = *(int *)(s + (4 + (r & 128)));"), Some(vec![(4, 4)]));
        assert_eq!(of("int r = *y; int a = *(int *)(s + (r ^ r));"), Some(vec![(0, 4)]));
        assert_eq!(of("s[3] = 1; *(s + 4) = 2;"), Some(vec![(3, 1), (4, 1)]));
    }

    #[test]
    fn pointers_in_memory_point_to_what_is_stored_there() {
        let of = |init: &str, body: &str| {
            let params = "atomic_ullong **p, atomic_ullong *x, atomic_ullong *z, int *y";
            let text = format!(
                "C t
{{ {init} }}
P0({params}) {{ {body} }}
exists (true)
"
            );
            published(&litmake_litmus::read(&Source::new("t", text)).unwrap())
        };
        // Two of a size could be one access.
        assert_eq!(of("int x[3];", "*p = x;"), Some("x".to_string()));
        assert_eq!(of("int x[3]; p = x;", "*y = 1;"), Some("x".to_string()));
        assert_eq!(of("", "*p = x;"), None);
        assert_eq!(of("int x[3];", "*y = 1;"), None);
    }

    #[test]
    fn a_location_that_is_accessed_in_two_ways_has_none() {
        assert_eq!(of("*(uint32_t *)s = 1; s[2] = 1;"), None);
        assert_eq!(of("*(uint32_t *)s = 1; int a = *(uint16_t *)s;"), None);
        assert_eq!(of("*(uint32_t *)s = 1; int r = *y; s[8 + r] = 1;"), None);
        assert_eq!(of("*(uint32_t *)s = 1; uint8_t *p = s;"), None);
    }
}
