//! What registers and locations of the lifter's own hold at the start. It does not know the text.

use std::collections::BTreeSet;
use std::sync::Arc;

use litmake_base::diag::Span;
use litmake_base::failure::Failure;
use litmake_litmus::{InitItem, InitValue, Place as Where, Type, Value};

use super::{Constant, Object, Slot, Writer};

impl Writer<'_> {
    /// The parameters that somebody says are numbers, where the text has their registers.
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
                // What a register of 64 bits is called, is typed so that all of them count.
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

    /// What a constant is in a test, whose first number is the lowest.
    fn constant_value(&self, Constant { at, size, unit }: Constant) -> u128 {
        let numbers = 0..u64::from(size.checked_div(unit).unwrap_or(0));
        let read = |n| self.world.image.read(at + n * u64::from(unit), unit).unwrap_or(0);
        numbers.fold(0, |all, n| all | read(n) << (8 * u64::from(unit) * n))
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
        let mut register = |name: &str, location: String, offset: i64| -> Result<(), Failure> {
            // An address is that of an element, or has no name.
            let element = i64::try_from((self.given.unit)(&location)).unwrap_or(0);
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
        // What registers hold where the code is entered.
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
                    register(name, self.name_of(&Object::Location(loc)), off)?;
                    done.insert(name.clone());
                }
            }
        }
        for ((object, offset), reg) in &self.pointers {
            if done.contains(reg) {
                continue;
            }
            register(reg, self.name_of(object), *offset)?;
        }
        out.extend(self.numbers());
        Ok(out)
    }
}
