//! The initial contents of registers and of the lifter's own locations. It does not know the text.

use std::collections::BTreeSet;
use std::sync::Arc;

use litmake_base::diag::Span;
use litmake_base::failure::Failure;
use litmake_litmus::{InitItem, InitValue, Place as Where, Type, Value};

use super::super::values::{Access, Known, Place};
use super::{Constant, Object, Slot, Table, Writer};
use litmake_ops::Val;

impl Writer<'_> {
    /// The parameters that the user says are numbers, where the text has their registers.
    fn numbers(&self) -> Vec<InitItem> {
        let thread = self.given.thread;
        let live = |name: &str| {
            let reg = self.register(name)?;
            (self.plan.start.regs.get(reg).copied().unwrap_or(0) != 0).then_some(reg)
        };
        let numbers = self.given.foreign.iter().flat_map(|f| &f.numbers);
        numbers
            .filter_map(|(i, number)| {
                let reg = live(self.target.params.get(*i)?)?;
                let name = self.flat.code.regs[reg].name.clone();
                // A parameter of a register of 64 bits is typed so that all of them count.
                let wide = *number > u64::from(u32::MAX) >> 1;
                Some(InitItem {
                    place: Where::Reg { thread, name },
                    ty: wide.then_some(Type::Int { bytes: 8, signed: true }),
                    value: Some(InitValue::One(Value::Int(i128::from(*number as i64)))),
                    span: Span::default(),
                })
            })
            .collect()
    }

    /// The value of a constant in a test, with the constant's first number in the lowest bits.
    fn constant_value(&self, Constant { at, size, unit }: Constant) -> u128 {
        let numbers = 0..u64::from(size.checked_div(unit).unwrap_or(0));
        let read = |n| self.world.image.read(at + n * u64::from(unit), unit).unwrap_or(0);
        numbers.fold(0, |all, n| all | read(n) << (8 * u64::from(unit) * n))
    }

    /// The constant objects that are locations, with their elements.
    fn tables(&self) -> Result<Vec<InitItem>, Failure> {
        let accessed: BTreeSet<u16> = self
            .kept_accesses()
            .filter_map(|a| match a.place {
                Place::Location(loc, _) => Some(loc),
                _ => a.near.map(|(loc, _)| loc),
            })
            .collect();
        let pointed =
            |loc| self.pointers.keys().any(|(object, _)| *object == Object::Location(loc));
        let tables = self.named.tables.iter().zip(self.named.shared..);
        tables
            .filter(|(_, n)| accessed.contains(&(*n as u16)) || pointed(*n as u16))
            .map(|(table, n)| self.table(table, &self.named.locations[n]))
            .collect()
    }

    fn table(&self, table: &Table, name: &str) -> Result<InitItem, Failure> {
        let image = self.world.image;
        let unit = u8::try_from(table.unit).unwrap_or(1);
        let shift = 128 - 8 * u32::from(unit.clamp(1, 16));
        let element = |at: u64| {
            let value = image.read(at, unit).unwrap_or(0);
            if !(at..at + table.unit).any(|place| image.holds_address(place)) {
                return Ok(Value::Int((value << shift) as i128 >> shift));
            }
            let address = self.world.location(Known::Val(Val::Int(value)));
            let named = address.filter(|_| unit == self.target.word).and_then(|(loc, off)| {
                let name =
                    self.named.locations.get(usize::from(loc)).filter(|_| !self.is_own(loc))?;
                let element = (self.given.unit)(name);
                let off =
                    u64::try_from(off).ok().filter(|off| off.is_multiple_of(element.max(1)))?;
                Some(Value::Addr { name: name.clone(), index: off / element.max(1) })
            });
            named.ok_or_else(|| {
                Failure::unsupported("a table of constants has an address that is no location's")
            })
        };
        let places = (0..table.size / table.unit).map(|n| table.at + n * table.unit);
        let elements: Result<Vec<Value>, Failure> = places.map(element).collect();
        let ty = Type::Int { bytes: unit, signed: true };
        Ok(InitItem {
            place: Where::Mem { name: name.to_string(), index: None },
            ty: Some(Type::Array(Arc::new(ty), table.size / table.unit)),
            value: Some(InitValue::Array(elements?)),
            span: Span::default(),
        })
    }

    /// The frame, if it is a location, with the size of its elements: registers hold addresses of
    /// elements, and most accesses are of one.
    fn frame(&self) -> Option<(u64, InitItem)> {
        let frame = self.world.frame?;
        let on_stack = |a: &&Access| matches!(a.place, Place::Stack(_) | Place::Frame);
        let sizes = self.kept_accesses().filter(on_stack).map(|a| u64::from(a.size));
        let pointers =
            self.pointers.keys().filter(|(object, _)| *object == Object::Location(frame.loc));
        let offsets = pointers.map(|(_, offset)| offset.unsigned_abs());
        let mut unit = sizes.min().unwrap_or(1).min(8);
        for offset in offsets.chain([frame.from.unsigned_abs()]) {
            while unit > 1 && !offset.is_multiple_of(unit) {
                unit /= 2;
            }
        }
        let size = (frame.end - frame.from).unsigned_abs();
        let ty = Type::Int { bytes: unit as u8, signed: true };
        let item = InitItem {
            place: Where::Mem { name: self.name_of(&Object::Location(frame.loc)), index: None },
            ty: Some(Type::Array(Arc::new(ty), size.div_ceil(unit) + 1)),
            value: None,
            span: Span::default(),
        };
        Some((unit, item))
    }

    pub(super) fn init(&self) -> Result<Vec<InitItem>, Failure> {
        let mut out = Vec::new();
        let private = |name: String, size: u32| InitItem {
            place: Where::Mem { name, index: None },
            ty: Some(match size {
                1 | 2 | 4 | 8 | 16 => Type::Int { bytes: size as u8, signed: true },
                n => Type::Array(
                    Arc::new(Type::Int { bytes: 8, signed: true }),
                    n.div_ceil(8).into(),
                ),
            }),
            value: None,
            span: Span::default(),
        };
        for (_, _, slot) in &self.groups {
            if let Slot::Private(from, size) = slot
                && !self.pool.has(*from)
            {
                out.push(private(self.private_name(*from), *size));
            }
        }
        out.extend(self.pool_init());
        for loc in &self.locks {
            out.push(private(self.name_of(&Object::Lock(*loc)), 4));
        }
        if self.fence != 0 {
            out.push(private(format!("P{}_fence", self.given.thread), self.fence.into()));
        }
        for constant in &self.constants {
            let mut item = private(self.constant_name(*constant), u32::from(constant.size));
            let value = self.constant_value(*constant);
            let shift = 128 - 8 * u32::from(constant.size.clamp(1, 16));
            let value = (value << shift) as i128 >> shift;
            item.value = Some(InitValue::One(Value::Int(value)));
            out.push(item);
        }
        out.extend(self.tables()?);
        let frame = self.frame();
        let unit = frame.as_ref().map_or(1, |(unit, _)| *unit);
        out.extend(frame.map(|(_, item)| item));
        let mut register = |name: &str, object: &Object, offset: i64| -> Result<(), Failure> {
            let location = self.name_of(object);
            // An address is that of an element, or has no name.
            let element = match object {
                Object::Location(loc) if self.is_own(*loc) => {
                    let table = self.named.tables.get(usize::from(*loc) - self.named.shared);
                    table.map_or(unit, |table| table.unit)
                }
                _ => (self.given.unit)(&location),
            };
            let element = i64::try_from(element).unwrap_or(0);
            let index = match offset {
                0 => 0,
                n if element > 0 && n > 0 && n % element == 0 => (n / element) as u64,
                n => {
                    return Err(Failure::unsupported(format!(
                        "the address {n} bytes past `{location}` in a register"
                    )));
                }
            };
            let value = Value::Addr { name: location, index };
            out.push(InitItem {
                place: Where::Reg { thread: self.given.thread, name: name.to_string() },
                ty: None,
                value: Some(InitValue::One(value)),
                span: Span::default(),
            });
            Ok(())
        };
        // The values of registers where the code is entered.
        let mut done = BTreeSet::new();
        if let Some(Some(state)) = self.analysis.states.first() {
            for (r, bits) in self.plan.start.regs.iter().enumerate() {
                if *bits == 0 {
                    continue;
                }
                if let Some(Some(known)) = state.regs.get(r)
                    && let Some((loc, off)) = self.world.location(*known)
                {
                    let name = &self.flat.code.regs[r].name;
                    register(name, &Object::Location(loc), off)?;
                    done.insert(name.clone());
                }
            }
        }
        for ((object, offset), reg) in &self.pointers {
            if done.contains(reg) {
                continue;
            }
            register(reg, object, *offset)?;
        }
        out.extend(self.numbers());
        Ok(out)
    }
}
