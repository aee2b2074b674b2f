//! RISC-V: loads and stores, loops of LR and SC, and AMOSWAP.

use super::super::cycle::{Event, Refused};
use super::super::dialect::{Dialect, Registers, SIZES, dep, fences};
use super::super::edge::{Atom, DepKind, Order, Rmw};
use super::linked::{First, Linked, SumIn, Words};
use super::{Asm, From, Written, threads, through_address};
use litmake_litmus::Arch;

pub static DIALECT: Dialect = Dialect {
    arch: Arch::RiscV,
    plain: "P",
    atoms: &[
        ("Aq", Atom::Order(Order::Acq)),
        ("Rl", Atom::Order(Order::Rel)),
        ("AR", Atom::Order(Order::AcqRel)),
        ("X", Atom::Loop(Order::Plain, Order::Plain)),
        ("XPAq", Atom::Loop(Order::Plain, Order::Acq)),
        ("XPRl", Atom::Loop(Order::Plain, Order::Rel)),
        ("XPAR", Atom::Loop(Order::Plain, Order::AcqRel)),
        ("XAqP", Atom::Loop(Order::Acq, Order::Plain)),
        ("XAqAq", Atom::Loop(Order::Acq, Order::Acq)),
        ("XAqRl", Atom::Loop(Order::Acq, Order::Rel)),
        ("XAqAR", Atom::Loop(Order::Acq, Order::AcqRel)),
        ("XRlP", Atom::Loop(Order::Rel, Order::Plain)),
        ("XRlAq", Atom::Loop(Order::Rel, Order::Acq)),
        ("XRlRl", Atom::Loop(Order::Rel, Order::Rel)),
        ("XRlAR", Atom::Loop(Order::Rel, Order::AcqRel)),
        ("XARP", Atom::Loop(Order::AcqRel, Order::Plain)),
        ("XARAq", Atom::Loop(Order::AcqRel, Order::Acq)),
        ("XARRl", Atom::Loop(Order::AcqRel, Order::Rel)),
        ("XARAR", Atom::Loop(Order::AcqRel, Order::AcqRel)),
    ],
    sizes: SIZES,
    fences: fences![
        "Fence.rw.rw" "fence.rw.rw" "fence rw,rw",
        "Fence.r.r" "fence.r.r" "fence r,r",
        "Fence.r.w" "fence.r.w" "fence r,w",
        "Fence.r.rw" "fence.r.rw" "fence r,rw",
        "Fence.w.r" "fence.w.r" "fence w,r",
        "Fence.w.w" "fence.w.w" "fence w,w",
        "Fence.w.rw" "fence.w.rw" "fence w,rw",
        "Fence.rw.r" "fence.rw.r" "fence rw,r",
        "Fence.rw.w" "fence.rw.w" "fence rw,w",
        "Fence.tso" "fence.tso" "fence.tso",
        "Fence.i" "fence.i" "fence.i",
        "Fence.iorw.iorw" "fence.iorw.iorw" "fence iorw,iorw",
    ],
    strong: Some(11),
    deps: &[
        ("Addr", dep(DepKind::Addr)),
        ("Data", dep(DepKind::Data)),
        ("Ctrl", dep(DepKind::Ctrl)),
        ("CtrlFenceI", dep(DepKind::CtrlIsb)),
    ],
    default_dep: Some([DepKind::Addr, DepKind::Data, DepKind::CtrlIsb, DepKind::Ctrl]),
    rmws: &[("Exch", Rmw::Exch)],
    rmw: Rmw::Exch,
    orders: |_, r, w| {
        let clash = [(Order::Rel, Order::Rel), (Order::Rel, Order::Acq), (Order::Acq, Order::Acq)];
        r.zip(w).is_some_and(|pair| !clash.contains(&pair))
    },
    registers: Registers { prefix: "x", names: &[], first: 5, count: 27 },
    write: threads::<RiscV>,
};

pub struct RiscV;

fn suffix(order: Order) -> &'static str {
    match order {
        Order::Acq => ".aq",
        Order::Rel => ".rl",
        Order::AcqRel => ".aqrl",
        _ => "",
    }
}

fn swap_order(read: Option<Atom>, write: Option<Atom>) -> Result<Order, Refused> {
    let one = |a: Option<Atom>| match a {
        None => Ok(Order::Plain),
        Some(Atom::Order(o)) => Ok(o),
        Some(_) => Err("this annotation does not fit a read-modify-write"),
    };
    Ok(match (one(read)?, one(write)?) {
        (Order::Plain, o) | (o, Order::Plain) => o,
        _ => Order::AcqRel,
    })
}

impl Linked for RiscV {
    const WORDS: Words = Words {
        constant: "ori x{to},x0,{value}",
        too_large: 1 << 11,
        zero: "xor x{to},x{from},x{from}",
        add: "ori x{to},x{to},{value}",
        add_held: "or x{to},x{to},x{from}",
        sum: "add x{to},x{base},x{index}",
        sum_in: SumIn::New,
        branch: &["bne x{from},x0,"],
        isb: "fence.i",
        load: "l{size}{order} x{to},{offset}(x{base})",
        store: "s{size}{order} x{value},{offset}(x{base})",
        link: "lr.w{read} x{to},0(x{base})",
        store_back: &["sc.w{write} x{status},x{value},0(x{base})", "bne x{status},x0,"],
        order: suffix,
        sizes: ["h", "w"],
        first: First { write: true, write_indexed: true, ..First::VALUES },
        ..Words::NONE
    };

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        if rmw != Rmw::Exch {
            return Err("RISC-V tests have exchanges only");
        }
        let (words, order) = (&Self::WORDS, swap_order(read.atom, write.atom)?);
        let through = through_address(asm, from, |asm, from| words.control(asm, from))?;
        let (to, value, base);
        match words.index(asm, through)? {
            Some(index) => {
                let plain = asm.address(read.loc)?;
                // The sum goes into the register that is given away last.
                value = asm.alloc()?;
                to = asm.alloc()?;
                base = asm.alloc()?;
                words.sum(asm, base, plain, index);
                words.set(asm, value, write.value);
            }
            None => {
                base = asm.address(read.loc)?;
                to = asm.alloc()?;
                value = words.constant(asm, write.value)?;
            }
        }
        line!(asm, "amoswap.w", suffix(order), " x", to, ",x", value, ",(x", base, ")");
        Ok(Some(to))
    }
}
