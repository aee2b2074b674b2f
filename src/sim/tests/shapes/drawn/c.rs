//! Moves as statements of C.

use super::facts::POINTER;
use super::{Addr, Base, Column, Move, Op, Operand, Order, Reg, SLOT, Status, UpdateOp};
use std::fmt::Write;

fn order(order: Order) -> &'static str {
    match order {
        Order::Plain => "memory_order_relaxed",
        Order::Acquire => "memory_order_acquire",
        Order::Release => "memory_order_release",
        Order::AcquirePc => "memory_order_acq_rel",
        Order::Both => "memory_order_seq_cst",
    }
}

/// The order of the load in an operation that may also store.
fn of_load(o: Order) -> &'static str {
    match o {
        Order::Plain | Order::Release => order(Order::Plain),
        Order::AcquirePc => order(Order::Acquire),
        o => order(o),
    }
}

fn reg(r: Reg) -> String {
    if r >= POINTER { "p".to_string() } else { format!("r{r}") }
}

fn value(v: Operand) -> String {
    match v {
        Operand::Reg(r) => reg(r),
        Operand::Const(v) => v.to_string(),
    }
}

/// Whether accesses to a base are atomic, and their address, with a star or without.
fn place(c: &Column, at: &Addr) -> (bool, String) {
    let (atomic, base, elem) = match at.base {
        Base::Place(p) => (c.drawn.places[p].atomic, c.name(p), i64::from(c.drawn.places[p].elem)),
        Base::Slot => (false, c.name(SLOT), i64::from(c.drawn.slot)),
        Base::Pointer(_) => {
            let ty = c.facts.int(c.drawn.places[0].elem);
            (true, format!("(_Atomic {ty}*)p"), 1)
        }
    };
    // The offset of a table counts elements already.
    let off = if at.base == Base::Place(2) { at.off } else { at.off / elem };
    let address = match (at.index, off) {
        (None, 0) => base,
        (None, off) => format!("({base} + {off})"),
        (Some(r), 0) => format!("({base} + {})", reg(r)),
        (Some(r), off) => format!("({base} + {off} + {})", reg(r)),
    };
    (atomic, address)
}

pub fn print(c: &mut Column, m: &Move) {
    match m {
        Move::Set { to, value } => c.push(format!("{} = {value};", reg(*to))),
        Move::Compute { op, to, a, b } => {
            let op = match op {
                Op::Add => '+',
                Op::Sub => '-',
                Op::And => '&',
                Op::Or => '|',
                Op::Xor => '^',
            };
            c.push(format!("{} = {} {op} {};", reg(*to), reg(*a), value(*b)));
        }
        Move::Take { place, .. } => {
            let (name, ty) = (c.name(*place), if c.drawn.tagged { "long" } else { "int*" });
            c.push(format!("p = ({ty}){name};"));
        }
        Move::Load { to, at, order: o, .. } => {
            let (to, (atomic, at)) = (reg(*to), place(c, at));
            c.push(match atomic {
                true => format!("{to} = atomic_load_explicit({at}, {});", order(*o)),
                false => format!("{to} = *{at};"),
            });
        }
        Move::Store { from, at, order: o, .. } => {
            let (from, (atomic, at)) = (value(*from), place(c, at));
            c.push(match atomic {
                true => format!("atomic_store_explicit({at}, {from}, {});", order(*o)),
                false => format!("*{at} = {from};"),
            });
        }
        Move::Fence(name) => c.push(format!("atomic_thread_fence(memory_order_{name});")),
        Move::Update { op, to, from, at, order: o, .. } => {
            let name = match op {
                UpdateOp::Swap => "exchange",
                UpdateOp::Add => "fetch_add",
                UpdateOp::Or => "fetch_or",
                UpdateOp::Xor => "fetch_xor",
            };
            let (_, at) = place(c, at);
            let (to, from, o) = (reg(*to), value(*from), order(*o));
            c.push(format!("{to} = atomic_{name}_explicit({at}, {from}, {o});"));
        }
        Move::Compare { expected, new, at, order: o, .. } => {
            let (_, at) = place(c, at);
            c.push(format!(
                "atomic_compare_exchange_strong_explicit({at}, &{}, {}, {}, {});",
                reg(*expected),
                value(*new),
                order(*o),
                of_load(*o)
            ));
        }
        Move::Pair { to, from, at, order: o, status, .. } => {
            let (_, at) = place(c, at);
            let call = format!(
                "atomic_compare_exchange_weak_explicit({at}, &{}, {}, {}, {})",
                reg(*to),
                value(*from),
                order(*o),
                of_load(*o)
            );
            match status {
                Status::Ignored => c.push(format!("{call};")),
                Status::Kept(r) => c.push(format!("{} = {call};", reg(*r))),
                Status::Done(then) => {
                    c.push(format!("if ({call}) {{"));
                    c.moves(then);
                    c.push("}");
                }
                Status::Again => c.push(format!("while (!{call}) {{ }}")),
            }
        }
        Move::If { on, is, then } => {
            c.push(format!("if ({} == {is}) {{", reg(*on)));
            c.moves(then);
            c.push("}");
        }
        Move::Select { to, on, is, other } => {
            let (to, on, other) = (reg(*to), reg(*on), reg(*other));
            c.push(format!("{to} = {on} == {is} ? {other} : {to};"));
        }
        Move::Retry { to, counter, at, order: o, .. } => {
            let (to, (_, at)) = (reg(*to), place(c, at));
            let load = format!("{to} = atomic_load_explicit({at}, {});", order(*o));
            match counter {
                Some(n) => {
                    let n = reg(*n);
                    c.push(format!(
                        "{n} = 1; {load} while ({to} == 0) {{ {n} = {n} + 1; {load} }}"
                    ));
                }
                None => c.push(format!("{load} while ({to} == 0) {{ {load} }}")),
            }
        }
    }
}

/// A thread as a function of the places that it uses.
pub fn function(c: &Column, text: &mut String) {
    let moves = &c.drawn.threads[c.thread];
    let mut numbers = Vec::new();
    super::each_base(moves, &mut |b| numbers.extend(Column::number(b)));
    numbers.sort_unstable();
    numbers.dedup();
    let parameter = |number: &usize| match *number {
        SLOT => format!("{}* {}", c.facts.int(c.drawn.slot), c.name(SLOT)),
        place => {
            let ty = match c.facts.plain {
                true => "atomic_int".to_string(),
                false => c.facts.type_of(&c.drawn.places[place], c.drawn.tagged),
            };
            let star = if ty.ends_with('*') { " _Atomic*" } else { "*" };
            format!("{ty}{star} {}", c.name(place))
        }
    };
    let parameters: Vec<String> = numbers.iter().map(parameter).collect();
    let _ = writeln!(text, "P{} ({}) {{", c.thread, parameters.join(", "));
    let body = c.lines.join("\n");
    let used = |name: &str| body.split(|x: char| !x.is_alphanumeric()).any(|w| w == name);
    for r in (0..6).map(reg).filter(|r| used(r)) {
        let _ = writeln!(text, "  int {r} = 0;");
    }
    if used("p") {
        let ty = if c.drawn.tagged { "long" } else { "int*" };
        let _ = writeln!(text, "  {ty} p = 0;");
    }
    for line in &c.lines {
        let _ = writeln!(text, "  {line}");
    }
    text.push_str("}\n");
}
