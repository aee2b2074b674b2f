//! Writes accesses for machines with linked loads and conditional stores: which registers an access is given, and
//! which lines it takes.
//!
//! A machine's rows (`Words`) say how its lines are written. Registers are given away in the order in which diy
//! gives them, so that a cycle gives the same code; this order differs between machines. Nothing here knows the name of
//! an instruction.

use super::super::cycle::{Event, Refused};
use super::super::edge::{Atom, DepKind, Order, Rmw, Size};
use super::{Asm, From, P, Scratch, Writer, Written, access_in_parts, through_address};

/// A line of a machine, in which parts in braces are replaced.
pub type Row = &'static str;

/// The lines of a machine. Registers are `{to}`, `{from}`, `{base}`, `{index}`, `{status}`; `{value}` is a
/// constant where the row sets a register, and else the register with the value. A row that jumps ends where its label
/// stands.
pub struct Words {
    /// Puts a constant into `{to}`.
    pub constant: Row,
    /// Constants from here on are in a register from the start.
    pub too_large: i32,
    /// Puts a zero into `{to}` that depends on `{from}`.
    pub zero: Row,
    /// The same by a conditional selection, where the machine has one.
    pub select: &'static [Row],
    /// Adds a constant to `{to}`.
    pub add: Row,
    /// Adds a constant that is in the register `{from}`.
    pub add_held: Row,
    /// Adds `{index}` to `{base}`.
    pub sum: Row,
    /// The register that takes this sum.
    pub sum_in: SumIn,
    /// The number of the register from which scratch registers are chosen downwards; 0 where they are
    /// given away like others.
    pub last: u8,
    /// Branches to the next line if `{from}` has a value, whichever it is.
    pub branch: &'static [Row],
    /// Follows a branch that holds back later reads.
    pub isb: Row,
    /// A load into `{to}`. `{order}` is the order's word, and `{size}` that of a half or a whole word.
    pub load: Row,
    /// A plain load from the sum of a base and an index, if there is one.
    pub load_indexed: Option<Row>,
    /// A store of `{value}`.
    pub store: Row,
    /// A plain store to the sum of a base and an index, if there is one.
    pub store_indexed: Option<Row>,
    /// A linked load, with the order `{read}`.
    pub link: Row,
    /// A conditional store of `{value}`, with the order `{write}`, and a jump back if it fails.
    pub store_back: &'static [Row],
    /// Whether these two take an index, which is 0 if there is none.
    pub link_indexed: bool,
    /// The word for an order.
    pub order: fn(Order) -> &'static str,
    /// The words for a half and for a whole word.
    pub sizes: [&'static str; 2],
    /// Which registers are given away first.
    pub first: First,
}

impl Words {
    /// A machine without any of these; each names those that it has.
    pub const NONE: Words = Words {
        constant: "",
        too_large: i32::MAX,
        zero: "",
        select: &[],
        add: "",
        add_held: "",
        sum: "",
        sum_in: SumIn::Scratch,
        last: 0,
        branch: &[],
        isb: "",
        load: "",
        load_indexed: None,
        store: "",
        store_indexed: None,
        link: "",
        store_back: &[],
        link_indexed: false,
        order: |_| "",
        sizes: [""; 2],
        first: First::VALUES,
    };
}

/// The register that takes the sum of a base and an index.
#[derive(Clone, Copy, PartialEq)]
pub enum SumIn {
    /// The scratch register for addresses.
    Scratch,
    /// A new one.
    New,
}

/// Where the register of an address is given away before that of a value, and the like.
pub struct First {
    /// In a read by one instruction, without an index.
    pub read: bool,
    /// In a linked load, without an index.
    pub link: bool,
    /// In a write by a loop, without an index.
    pub write: bool,
    /// In a write by a loop, with an index.
    pub write_indexed: bool,
    /// Whether a read-modify-write's new value has its register before the old one.
    pub new_value: bool,
    /// Whether the zero in a read-modify-write's address comes last, in the register of the sum.
    pub late_index: bool,
}

impl First {
    /// Values come first everywhere.
    pub const VALUES: First = First {
        read: false,
        link: false,
        write: false,
        write_indexed: false,
        new_value: false,
        late_index: false,
    };
    /// The address comes first in linked loads, and in loops with an index.
    pub const LINKS: First = First { link: true, write_indexed: true, ..First::VALUES };
}

/// How an access is made.
#[derive(Clone, Copy)]
enum Access {
    /// By one instruction.
    Once(Order, Size),
    /// By a linked load alone.
    Link,
    /// By a loop of a linked load and a conditional store.
    Loop(Order, Order),
}

/// A machine whose cycles are written by rows.
pub trait Linked {
    const WORDS: Words;

    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        Self::WORDS.access(asm, event, from)
    }

    fn rmw(asm: &mut Asm, _: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        Self::WORDS.rmw(asm, read, write, from)
    }
}

impl<L: Linked> Writer for L {
    fn access(asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        L::access(asm, event, from)
    }

    fn rmw(asm: &mut Asm, rmw: Rmw, read: &Event, write: &Event, from: Option<From>) -> Written {
        L::rmw(asm, rmw, read, write, from)
    }

    fn load(asm: &mut Asm, loc: u8) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        let base = asm.address(loc)?;
        L::WORDS.at(asm, L::WORDS.load, (Order::Plain, Size::WORD), to, base, 0);
        Ok(to)
    }
}

fn access_of(event: &Event) -> Result<Access, Refused> {
    match event.atom {
        None => Ok(Access::Once(Order::Plain, Size::WORD)),
        Some(Atom::Order(order)) => Ok(Access::Once(order, Size::WORD)),
        Some(Atom::Sized(order, size)) => Ok(Access::Once(order, size)),
        Some(Atom::Reserve) => Ok(Access::Link),
        Some(Atom::Loop(read, write)) => Ok(Access::Loop(read, write)),
        Some(_) => Err("this annotation is none of this machine"),
    }
}

/// The base of an access, an index that the access takes itself, and one that is to be added with the register
/// that takes the sum.
pub struct Place {
    base: u8,
    index: Option<u8>,
    sum: Option<(u8, u8)>,
}

impl Place {
    pub fn at(base: u8) -> Place {
        Place { base, index: None, sum: None }
    }
}

impl Words {
    // Single lines.

    pub fn set(&self, asm: &mut Asm, to: u8, value: i32) {
        asm.row(self.constant, &[("to", P::of(to)), ("value", P::I(value))], 0);
    }

    /// A register with a constant.
    pub fn constant(&self, asm: &mut Asm, value: i32) -> Result<u8, Refused> {
        if value >= self.too_large {
            return asm.constant(value);
        }
        let to = asm.alloc()?;
        self.set(asm, to, value);
        Ok(to)
    }

    /// Puts into a register a zero that depends on another.
    pub fn zero(&self, asm: &mut Asm, from: From, to: u8) {
        let rows = if from.dep.csel { self.select } else { &[self.zero] };
        for row in rows {
            asm.row(row, &[("to", P::of(to)), ("from", P::of(from.reg))], 0);
        }
    }

    /// A zero in a new register, which depends on another.
    pub fn index(&self, asm: &mut Asm, from: Option<From>) -> Result<Option<u8>, Refused> {
        let Some(from) = from else { return Ok(None) };
        let to = asm.alloc()?;
        self.zero(asm, from, to);
        Ok(Some(to))
    }

    /// A constant in a new register, which depends on another.
    pub fn computed(&self, asm: &mut Asm, from: From, value: i32) -> Result<u8, Refused> {
        let to = asm.alloc()?;
        self.zero(asm, from, to);
        if value < self.too_large || self.add_held.is_empty() {
            asm.row(self.add, &[("to", P::of(to)), ("value", P::I(value))], 0);
        } else {
            let held = asm.constant(value)?;
            asm.row(self.add_held, &[("to", P::of(to)), ("from", P::of(held))], 0);
        }
        Ok(to)
    }

    pub fn sum(&self, asm: &mut Asm, to: u8, base: u8, index: u8) {
        asm.row(self.sum, &[("to", P::of(to)), ("base", P::of(base)), ("index", P::of(index))], 0);
    }

    /// The scratch register for one use.
    fn scratch(&self, asm: &mut Asm, which: Scratch) -> Result<u8, Refused> {
        match self.last {
            0 => asm.scratch(which),
            last => Ok(asm.symbol(which, last)),
        }
    }

    /// The branch of a control dependency, and the barrier behind it.
    pub fn control(&self, asm: &mut Asm, mut from: From) -> Result<(), Refused> {
        if from.dep.csel {
            let to = asm.alloc()?;
            self.zero(asm, from, to);
            from.reg = to;
        }
        let label = asm.label();
        asm.jump(self.branch, &[("from", P::of(from.reg))], label);
        asm.place(label);
        if from.dep.kind == DepKind::CtrlIsb {
            asm.row(self.isb, &[], 0);
        }
        Ok(())
    }

    /// A load or store; the register is the one that takes or has the value.
    fn at(&self, asm: &mut Asm, row: Row, (order, size): (Order, Size), r: u8, base: u8, i: u8) {
        let parts = [
            ("to", P::of(r)),
            ("value", P::of(r)),
            ("base", P::of(base)),
            ("index", P::of(i)),
            ("offset", P::of(size.offset)),
            ("order", P::T((self.order)(order))),
            ("size", P::T(self.sizes[usize::from(size.bytes != 2)])),
        ];
        asm.row(row, &parts, 0);
    }

    fn link(&self, asm: &mut Asm, order: Order, to: u8, place: &Place) {
        let index = ("index", P::of(place.index.unwrap_or(0)));
        let read = ("read", P::T((self.order)(order)));
        asm.row(self.link, &[("to", P::of(to)), ("base", P::of(place.base)), index, read], 0);
    }

    /// A loop of a linked load and a conditional store that ends when the store succeeds.
    pub fn repeat(
        &self,
        asm: &mut Asm,
        (read, write): (Order, Order),
        (to, value): (u8, u8),
        place: &Place,
    ) -> Result<(), Refused> {
        // A machine that says by a flag whether the store succeeded needs no register for it.
        let has_status = self.store_back.iter().any(|row| row.contains("{status}"));
        let status = if has_status { self.scratch(asm, Scratch::Status)? } else { 0 };
        let label = asm.here();
        self.link(asm, read, to, place);
        let parts = [
            ("status", P::of(status)),
            ("value", P::of(value)),
            ("base", P::of(place.base)),
            ("index", P::of(place.index.unwrap_or(0))),
            ("write", P::T((self.order)(write))),
        ];
        asm.jump(self.store_back, &parts, label);
        Ok(())
    }

    // Accesses.

    /// Gives away the registers of an address.
    fn place(
        &self,
        asm: &mut Asm,
        loc: u8,
        index: Option<u8>,
        takes_index: bool,
    ) -> Result<Place, Refused> {
        let base = asm.address(loc)?;
        let Some(index) = index.filter(|_| !takes_index) else {
            return Ok(Place { base, index, sum: None });
        };
        let to = match self.sum_in {
            SumIn::New => asm.alloc()?,
            SumIn::Scratch => self.scratch(asm, Scratch::Address)?,
        };
        Ok(Place { base, index: None, sum: Some((to, index)) })
    }

    /// Writes the sum of a base and an index that the access does not take itself.
    fn summed(&self, asm: &mut Asm, place: Place) -> Place {
        let Some((to, index)) = place.sum else { return place };
        self.sum(asm, to, place.base, index);
        Place::at(to)
    }

    pub fn access(&self, asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        let control = |asm: &mut Asm, from| self.control(asm, from);
        let read = |asm: &mut Asm, event: &Event, from| self.read(asm, event, from);
        let write = |asm: &mut Asm, event: &Event, from| self.write(asm, event, from);
        access_in_parts(asm, event, from, control, read, write)
    }

    fn takes_index(&self, access: Access, indexed: Option<Row>) -> bool {
        match access {
            Access::Once(order, _) => order == Order::Plain && indexed.is_some(),
            Access::Link | Access::Loop(..) => self.link_indexed,
        }
    }

    fn read(&self, asm: &mut Asm, event: &Event, from: Option<From>) -> Result<u8, Refused> {
        let access = access_of(event)?;
        let index = self.index(asm, from)?;
        let takes_index = self.takes_index(access, self.load_indexed);
        let base_first = match access {
            Access::Loop(..) => true,
            Access::Once(..) => index.is_none() && self.first.read,
            Access::Link => index.is_none() && self.first.link,
        };
        let (to, place);
        if base_first {
            place = self.place(asm, event.loc, index, takes_index)?;
            to = asm.alloc()?;
        } else {
            to = asm.alloc()?;
            place = self.place(asm, event.loc, index, takes_index)?;
        }
        let place = self.summed(asm, place);
        match access {
            Access::Once(order, size) => match (place.index, self.load_indexed) {
                (Some(i), Some(row)) => self.at(asm, row, (order, size), to, place.base, i),
                _ => self.at(asm, self.load, (order, size), to, place.base, 0),
            },
            Access::Link => self.link(asm, Order::Plain, to, &place),
            Access::Loop(read, write) => self.repeat(asm, (read, write), (to, to), &place)?,
        }
        Ok(to)
    }

    fn write(&self, asm: &mut Asm, event: &Event, from: Option<From>) -> Written {
        let access = access_of(event)?;
        let (mut index, mut value) = (None, None);
        match from {
            Some(f) if f.dep.kind == DepKind::Data => {
                value = Some(self.computed(asm, f, event.value)?);
            }
            _ => index = self.index(asm, from)?,
        }
        let takes_index = self.takes_index(access, self.store_indexed);
        let is_loop = matches!(access, Access::Loop(..));
        let is_first = if index.is_some() { self.first.write_indexed } else { self.first.write };
        let mut place = None;
        if is_loop && is_first {
            place = Some(self.place(asm, event.loc, index, takes_index)?);
        }
        let value = value.map_or_else(|| self.constant(asm, event.value), Ok)?;
        let place = match place {
            Some(place) => place,
            None => self.place(asm, event.loc, index, takes_index)?,
        };
        let place = self.summed(asm, place);
        match access {
            Access::Once(order, size) => match (place.index, self.store_indexed) {
                (Some(i), Some(row)) => self.at(asm, row, (order, size), value, place.base, i),
                _ => self.at(asm, self.store, (order, size), value, place.base, 0),
            },
            Access::Link => return Err("there is no linked store"),
            Access::Loop(read, write) => {
                let to = asm.alloc()?;
                self.repeat(asm, (read, write), (to, value), &place)?;
                return Ok(Some(to));
            }
        }
        Ok(None)
    }

    /// A read-modify-write by a loop.
    fn rmw(&self, asm: &mut Asm, read: &Event, write: &Event, from: Option<From>) -> Written {
        let through = through_address(asm, from, |asm, from| self.control(asm, from))?;
        let early = through.filter(|_| !self.first.late_index);
        let index = self.index(asm, early)?;
        let mut place = self.place(asm, read.loc, index, self.link_indexed)?;
        let (to, value);
        if self.first.new_value {
            value = self.constant(asm, write.value)?;
            to = asm.alloc()?;
        } else {
            to = asm.alloc()?;
            value = self.constant(asm, write.value)?;
        }
        if let Some(from) = through.filter(|_| self.first.late_index) {
            let zero = self.scratch(asm, Scratch::Address)?;
            self.zero(asm, from, zero);
            // The location is the index here.
            place = Place { base: zero, index: None, sum: Some((zero, place.base)) };
        }
        let place = self.summed(asm, place);
        self.repeat(asm, (Order::Plain, Order::Plain), (to, value), &place)?;
        Ok(Some(to))
    }
}
