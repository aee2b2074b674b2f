//! Random litmus tests with the shapes that compiled code has: tables, stack slots, tagged pointers,
//! retry loops, store-conditionals and their status, accesses of mixed sizes, fences of every kind.
//!
//! A test is drawn as a list of [`Move`]s for each thread (`draw`), which each dialect prints in its own
//! way. A seed gives a test. Nothing here knows what a test means.

mod aarch64;
mod arm;
mod bpf;
mod c;
mod draw;
mod facts;
mod loongarch;
mod mips;
pub mod models;
mod ppc;
mod riscv;
mod x86;

use crate::exec::Rng;
use facts::{Facts, POINTER, SLOT};
use litmake::litmus::Arch;
use std::fmt::Write;

/// A register of a thread: values first, from [`POINTER`] on addresses.
type Reg = u8;

/// One step of a thread, which is one instruction or a few.
#[derive(Clone, Debug)]
enum Move {
    Set {
        to: Reg,
        value: i64,
    },
    Compute {
        op: Op,
        to: Reg,
        a: Reg,
        b: Operand,
    },
    /// Puts the address of a place into a register.
    Take {
        to: Reg,
        place: usize,
    },
    Load {
        to: Reg,
        at: Addr,
        size: u8,
        order: Order,
        form: Form,
    },
    Store {
        from: Operand,
        at: Addr,
        size: u8,
        order: Order,
        reversed: bool,
    },
    Fence(&'static str),
    /// A read-modify-write in one instruction; `to` gets the old value.
    Update {
        op: UpdateOp,
        to: Reg,
        from: Operand,
        at: Addr,
        size: u8,
        order: Order,
    },
    /// A compare-and-swap; `expected` gets the old value.
    Compare {
        expected: Reg,
        new: Operand,
        at: Addr,
        size: u8,
        order: Order,
    },
    /// A load-linked and a store-conditional.
    Pair {
        to: Reg,
        from: Operand,
        at: Addr,
        size: u8,
        order: Order,
        status: Status,
    },
    /// Moves that run only if a register has a value.
    If {
        on: Reg,
        is: i64,
        then: Vec<Move>,
    },
    /// `to = on == is ? other : to`
    Select {
        to: Reg,
        on: Reg,
        is: i64,
        other: Reg,
    },
    /// Loads until the value is not 0, and counts the tries where there is a counter.
    Retry {
        to: Reg,
        counter: Option<Reg>,
        at: Addr,
        size: u8,
        order: Order,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdateOp {
    Swap,
    Add,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug)]
enum Operand {
    Reg(Reg),
    Const(i64),
}

/// The form in which a register gets the value of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Unsigned,
    Signed,
    /// The bytes in the other order, as in code of the other byte order.
    Reversed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Plain,
    Acquire,
    /// The acquire load of AArch64 that a release before it may follow.
    AcquirePc,
    Release,
    Both,
}

impl Order {
    fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquirePc | Order::Both)
    }

    fn releases(self) -> bool {
        matches!(self, Order::Release | Order::Both)
    }
}

/// The use that is made of the status of a store-conditional.
#[derive(Clone, Debug)]
enum Status {
    Ignored,
    Kept(Reg),
    /// Moves that run if the store was done.
    Done(Vec<Move>),
    /// The pair is tried again.
    Again,
}

#[derive(Clone, Copy, Debug)]
struct Addr {
    base: Base,
    /// A register with a number of bytes (in C of elements) from the base.
    index: Option<Reg>,
    off: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Place(usize),
    /// The stack slot of the thread.
    Slot,
    Pointer(Reg),
}

/// A location, or an array.
#[derive(Clone, Debug)]
struct DrawnPlace {
    name: String,
    /// Bytes of an element.
    elem: u8,
    init: Vec<Initial>,
    /// In C, whether accesses to it are atomic.
    atomic: bool,
}

#[derive(Clone, Debug)]
enum Initial {
    Int(i64),
    /// The address of a place.
    At(usize),
}

struct Drawn {
    places: Vec<DrawnPlace>,
    threads: Vec<Vec<Move>>,
    /// Bytes of the stack slots.
    slot: u8,
    /// The final values of these are observed: a place, and an element of it.
    seen: Vec<(usize, usize)>,
    /// Registers by thread.
    registers: Vec<Vec<Reg>>,
    /// C: pointers have a tag in their lowest bit, and are integers in memory.
    tagged: bool,
    /// Whether an access is to a part of a location, or to two.
    parts: bool,
}

/// A test. With `plain` it holds only what herd7 reads.
pub fn test(rng: &mut Rng, arch: Arch, plain: bool) -> String {
    let facts = facts::of(arch, plain);
    let drawn = loop {
        // Most tests have few executions, since the reference goes through every one.
        let drawn = draw::test(rng, &facts);
        if drawn.weight() <= facts.most {
            break drawn;
        }
    };
    text(rng, &facts, &drawn)
}

/// One thread while it is printed.
struct Column<'d> {
    facts: &'d Facts,
    drawn: &'d Drawn,
    thread: usize,
    lines: Vec<String>,
    labels: usize,
}

impl Column<'_> {
    fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}{}", self.thread, self.labels)
    }

    /// The label for a pair: before it, where the pair is tried again, and behind it otherwise.
    fn pair(&mut self, status: &Status) -> String {
        let label = self.label();
        if matches!(status, Status::Again) {
            self.push(format!("{label}:"));
        }
        label
    }

    /// Uses the status of a pair; `failed` branches to the label where the store was not done.
    fn paired(&mut self, status: &Status, label: &str, failed: impl FnOnce(&mut Self)) {
        match status {
            Status::Ignored | Status::Kept(_) => {}
            Status::Done(then) => {
                failed(self);
                self.moves(then);
                self.push(format!("{label}:"));
            }
            Status::Again => failed(self),
        }
    }

    /// A loop that loads, but for its branch; returns the label that it goes back to.
    fn retry(&mut self, to: Reg, counter: Option<Reg>, at: Addr, size: u8, order: Order) -> String {
        counter.iter().for_each(|n| self.moves(&[Move::Set { to: *n, value: 0 }]));
        let again = self.label();
        self.push(format!("{again}:"));
        let (op, b) = (Op::Add, Operand::Const(1));
        counter.iter().for_each(|n| self.moves(&[Move::Compute { op, to: *n, a: *n, b }]));
        self.moves(&[Move::Load { to, at, size, order, form: Form::Unsigned }]);
        again
    }

    /// Which of the registers for addresses of places a base is in, where it is a place.
    fn number(base: Base) -> Option<usize> {
        match base {
            Base::Place(place) => Some(place),
            Base::Slot => Some(SLOT),
            Base::Pointer(_) => None,
        }
    }

    fn name(&self, number: usize) -> String {
        match number {
            SLOT => format!("s{}", self.thread),
            place => self.drawn.places[place].name.clone(),
        }
    }

    fn moves(&mut self, moves: &[Move]) {
        for m in moves {
            match self.facts.arch {
                Arch::AArch64 => aarch64::print(self, m),
                Arch::Arm => arm::print(self, m),
                Arch::X86_64 | Arch::X86 => x86::print(self, m),
                Arch::RiscV => riscv::print(self, m),
                Arch::Ppc => ppc::print(self, m),
                Arch::Mips => mips::print(self, m),
                Arch::LoongArch => loongarch::print(self, m),
                Arch::Bpf => bpf::print(self, m),
                _ => c::print(self, m),
            }
        }
    }
}

fn text(rng: &mut Rng, facts: &Facts, drawn: &Drawn) -> String {
    let column = |(thread, moves): (usize, &Vec<Move>)| {
        let mut column = Column { facts, drawn, thread, lines: Vec::new(), labels: 0 };
        column.moves(moves);
        column
    };
    let columns: Vec<Column> = drawn.threads.iter().enumerate().map(column).collect();
    let mut text = format!("{} shape\n", facts.arch.name());
    // herd7 wants to be told.
    if drawn.parts {
        text.push_str("Accesses=parts\n");
    }
    text.push_str("{\n");
    for place in &drawn.places {
        let one = |i: &Initial| match i {
            Initial::Int(v) => v.to_string(),
            Initial::At(place) => drawn.places[*place].name.clone(),
        };
        let values: Vec<String> = place.init.iter().map(one).collect();
        let ty = facts.type_of(place, drawn.tagged);
        let _ = match &values[..] {
            [one] => write!(text, "{ty} {}={one}; ", place.name),
            all => write!(text, "{ty} {}[{}]={{{}}}; ", place.name, all.len(), all.join(",")),
        };
    }
    for (thread, moves) in drawn.threads.iter().enumerate() {
        let mut bases = Vec::new();
        each_base(moves, &mut |b| bases.push(b));
        let mut numbers: Vec<usize> = bases.into_iter().filter_map(Column::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.contains(&SLOT) {
            let _ = write!(text, "{} s{thread}=0; ", facts.int(drawn.slot));
        }
        for number in numbers {
            if let Some(reg) = facts.base(number, drawn) {
                let _ = write!(text, "{thread}:{reg}={}; ", columns[thread].name(number));
            }
        }
    }
    text.push_str("\n}\n");
    match facts.arch {
        Arch::C => columns.iter().for_each(|column| c::function(column, &mut text)),
        _ => table(&columns, &mut text),
    }
    let mut seen: Vec<String> = Vec::new();
    for (place, element) in &drawn.seen {
        let place = &drawn.places[*place];
        seen.push(match place.init.len() {
            1 => place.name.clone(),
            _ => format!("{}[{element}]", place.name),
        });
    }
    for (thread, registers) in drawn.registers.iter().enumerate() {
        seen.extend(registers.iter().map(|r| format!("{thread}:{}", facts.shown(*r))));
    }
    let _ = writeln!(text, "locations [{};]", seen.join("; "));
    let _ = writeln!(text, "exists ({}={})", seen[rng.below(seen.len())], rng.below(3));
    text
}

fn table(columns: &[Column], text: &mut String) {
    let heads: Vec<String> = columns.iter().map(|c| format!("P{}", c.thread)).collect();
    let _ = writeln!(text, " {} ;", heads.join(" | "));
    for row in 0..columns.iter().map(|c| c.lines.len()).max().unwrap_or(0) {
        let cell = |c: &Column| c.lines.get(row).cloned().unwrap_or_default();
        let cells: Vec<String> = columns.iter().map(cell).collect();
        let _ = writeln!(text, " {} ;", cells.join(" | "));
    }
}

/// Every base that moves use.
fn each_base(moves: &[Move], f: &mut dyn FnMut(Base)) {
    for m in moves {
        match m {
            Move::Take { place, .. } => f(Base::Place(*place)),
            Move::Load { at, .. }
            | Move::Store { at, .. }
            | Move::Update { at, .. }
            | Move::Compare { at, .. }
            | Move::Retry { at, .. } => f(at.base),
            Move::Pair { at, status, .. } => {
                f(at.base);
                if let Status::Done(then) = status {
                    each_base(then, f);
                }
            }
            Move::If { then, .. } => each_base(then, f),
            Move::Set { .. } | Move::Compute { .. } | Move::Fence(_) | Move::Select { .. } => {}
        }
    }
}
