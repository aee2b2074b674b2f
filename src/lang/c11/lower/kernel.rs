//! The annotated primitives: `__load{once}(*x)` and its kin, as the macro files of the Linux kernel
//! model write them.
//!
//! A read-modify-write is a read and a write here, and locks are events of their own, as models
//! of that kind expect. What annotations there are, a [`Dialect`] says.

use super::Lower;
use super::build::Value;
use super::expr::Place;
use litmake_base::diag::{Diag, Result, Span, nearest};
use litmake_litmus::Type;
use litmake_litmus::c::ast::{Annotated, BinaryOp, Change, Expr, ExprKind, Primitive};
use litmake_litmus::c::macros::Macros;
use litmake_litmus::c::types::ValueType;
use litmake_ops::{Annotations, BinOp, Op, Port, Tags, Temp, UnOp, Val, tag};

/// The additions of a model to C11.
#[derive(Clone, Debug, Default)]
pub struct Dialect {
    /// Macros that stand for annotated primitives.
    pub macros: Macros,
    /// Tests are of the kernel's style: variables have no types (see `untyped`), and what depends
    /// on a branch by control ends where the branch does.
    pub kernel: bool,
    /// The annotations of the model's bell file.
    pub annotations: Annotations,
    /// As models of the first version expect: operations with `mb` stand between fences, and
    /// the others have `once` where the annotation is not for that part of them.
    pub fenced: bool,
}

/// Every object of kernel-style tests is an `int`, as in herd.
const SIZE: u8 = 4;
const WIDTH: u8 = 32;

/// The annotations of the parts of a read-modify-write.
struct Parts {
    read: Tags,
    write: Tags,
    /// The annotations of a read without a write after it.
    alone: Tags,
    /// The annotations of the fences before and after, if there are any.
    fence: Option<Tags>,
}

/// The memory that an operation works on, and the instruction that it is.
#[derive(Clone, Copy)]
struct At {
    inst: usize,
    addr: Temp,
}

impl Lower<'_> {
    /// The type of a primitive's value.
    pub(super) fn annotated_type(&self, a: &Annotated) -> ValueType {
        match a.primitive {
            Primitive::Store
            | Primitive::Fence
            | Primitive::Op
            | Primitive::Srcu
            | Primitive::Lock
            | Primitive::Unlock => ValueType::Void,
            _ => ValueType::INT,
        }
    }

    pub(super) fn annotated(&mut self, a: &Annotated, span: Span) -> Result<Value> {
        let tags = self.annotations(&a.tags, span)?;
        let args = &a.args[..];
        match a.primitive {
            Primitive::Load => {
                let (addr, ty) = self.shared(&args[0])?;
                self.load(&addr, &ty, tags, span)
            }
            Primitive::Store => {
                let (addr, ty) = self.shared(&args[0])?;
                let value = self.expr(&args[1])?;
                self.store(&addr, &ty, &value, tags, span)?;
                Ok(self.b.void())
            }
            Primitive::Fence => {
                self.b.fence(tags)?;
                Ok(self.b.void())
            }
            Primitive::Exchange => {
                let addr = self.address_of(&args[0])?;
                let new = self.int(&args[1])?;
                let parts = self.parts(a, tags);
                let (old, _) = self.change(&addr, &parts, &new, |_, _, new| Ok(new.clone()))?;
                Ok(old)
            }
            Primitive::Op | Primitive::OpReturn | Primitive::FetchOp => {
                let addr = self.address_of(&args[0])?;
                let operand = self.int(&args[1])?;
                let parts = self.parts(a, tags);
                let change = a.op.unwrap_or(Change::Op(BinaryOp::Add));
                let (old, new) =
                    self.change(&addr, &parts, &operand, |l, old, operand| match change {
                        Change::Op(op) => l.binary(op, old, operand, span),
                        Change::Clear => {
                            let kept = l.b.un(UnOp::Not, operand, ValueType::INT, WIDTH)?;
                            l.binary(BinaryOp::And, old, &kept, span)
                        }
                    })?;
                Ok(match a.primitive {
                    Primitive::OpReturn => new,
                    Primitive::FetchOp => old,
                    _ => self.b.void(),
                })
            }
            Primitive::CompareExchange => {
                let addr = self.address_of(&args[0])?;
                let (want, new) = (self.int(&args[1])?, self.int(&args[2])?);
                let parts = self.parts(a, tags);
                self.choice(&addr, &parts, &want, &new, false)
            }
            Primitive::AddUnless => {
                let addr = self.address_of(&args[0])?;
                let (add, unless) = (self.int(&args[1])?, self.int(&args[2])?);
                let parts = self.parts(a, tags);
                self.choice(&addr, &parts, &unless, &add, true)
            }
            Primitive::Srcu => {
                let addr = self.address_of(&args[0])?;
                for e in &args[1..] {
                    self.expr(e)?;
                }
                let at = self.at(&addr, &[])?;
                self.touch(at, tags);
                Ok(self.b.void())
            }
            Primitive::Lock => {
                let at = self.at_object(&args[0])?;
                self.take(at)?;
                Ok(self.b.void())
            }
            Primitive::Unlock => {
                let at = self.at_object(&args[0])?;
                self.touch(at, tag::C_UL);
                Ok(self.b.void())
            }
            Primitive::TryLock => {
                let at = self.at_object(&args[0])?;
                self.either_way(
                    at,
                    |l, out| {
                        l.take(at)?;
                        l.b.emit(at.inst, Op::Const { dst: out, val: Val::Int(1) });
                        Ok(())
                    },
                    |l, out| l.look(at, tag::C_LF, 0, out),
                )
            }
            Primitive::IsLocked => {
                let at = self.at_object(&args[0])?;
                self.either_way(
                    at,
                    |l, out| l.look(at, tag::C_RL, 1, out),
                    |l, out| l.look(at, tag::C_RU, 0, out),
                )
            }
        }
    }

    /// The annotations of these names.
    fn annotations(&self, names: &[String], span: Span) -> Result<Tags> {
        let Some(dialect) = self.dialect.filter(|d| d.kernel || !names.is_empty()) else {
            return Err(self
                .error(
                    span,
                    "annotated primitives mean something under a model with a bell file only",
                )
                .help(KERNEL_HELP));
        };
        let mut tags = Tags::NONE;
        for name in names {
            let Some(tag) = dialect.annotations.get(name) else {
                if dialect.annotations.is_empty() {
                    let message = format!("the annotation `{name}` needs a bell file");
                    let help = "name the one of the model with `--bell FILE`";
                    return Err(self.error(span, message).help(help));
                }
                let message = format!("the bell file declares no annotation `{name}`");
                let diag = self.error(span, message);
                return Err(match nearest(name, dialect.annotations.names()) {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => {
                        let all: Vec<&str> = dialect.annotations.names().collect();
                        diag.help(format!("it declares {}", all.join(", ")))
                    }
                });
            };
            tags = tags | tag;
        }
        Ok(tags)
    }

    /// An annotation that the primitive implies; models without it do not see it.
    fn implied(&self, name: &str) -> Tags {
        self.dialect.and_then(|d| d.annotations.get(name)).unwrap_or(Tags::NONE)
    }

    fn parts(&self, a: &Annotated, tags: Tags) -> Parts {
        if !self.dialect.is_some_and(|d| d.fenced) {
            return Parts { read: tags, write: tags, alone: tags, fence: None };
        }
        let is = |name: &str| a.tags.iter().any(|t| t == name);
        let once = self.implied("once");
        if a.primitive == Primitive::Op {
            let read = self.implied("noreturn");
            return Parts { read, write: once, alone: read, fence: None };
        }
        let fenced = is("mb") || a.primitive == Primitive::AddUnless;
        Parts {
            read: if is("acquire") { tags } else { once },
            write: if is("release") { tags } else { once },
            alone: once,
            fence: fenced.then(|| self.implied("mb")),
        }
    }

    /// The shared location that `*x` names.
    fn shared(&mut self, e: &Expr) -> Result<(Value, std::sync::Arc<Type>)> {
        if !matches!(e.kind, ExprKind::Unary(..) | ExprKind::Index(..)) {
            return Err(self
                .error(e.span, "expected what a pointer points to")
                .help("write `*x`, as in `READ_ONCE(*x)`"));
        }
        match self.place(e)? {
            Place::Memory { addr, ty } => Ok((addr, ty)),
            Place::Local(_) => Err(self.is_local(e.span)),
        }
    }

    fn is_local(&self, span: Span) -> Box<Diag> {
        self.error(span, "this is a local variable")
            .help("use a shared location, which is a parameter of the function")
    }

    /// An address that is an argument.
    fn address_of(&mut self, e: &Expr) -> Result<Value> {
        let value = self.expr(e)?;
        match self.pointed(&value, e.span)? {
            Place::Memory { addr, .. } => Ok(addr),
            Place::Local(_) => Err(self.is_local(e.span)),
        }
    }

    fn int(&mut self, e: &Expr) -> Result<Value> {
        let value = self.expr(e)?;
        self.convert(&value, &ValueType::INT)
    }

    /// The instruction of an operation at an address that needs these values.
    fn at(&mut self, addr: &Value, operands: &[&Value]) -> Result<At> {
        let mut needed = operands.to_vec();
        needed.push(addr);
        let inst = self.b.access_home(&needed);
        Ok(At { inst, addr: self.b.use_in(addr, inst, Port::Addr)? })
    }

    /// The instruction of an operation that needs nothing but the address that is its argument.
    fn at_object(&mut self, e: &Expr) -> Result<At> {
        let addr = self.address_of(e)?;
        self.at(&addr, &[])
    }

    fn read_part(&mut self, at: At, tags: Tags, dst: Temp) {
        let tags = tags | tag::X | tag::C_PART;
        self.b.emit(at.inst, Op::Load { dst, addr: at.addr, size: SIZE, tags });
    }

    fn write_part(&mut self, at: At, tags: Tags, src: Temp) {
        let tags = tags | tag::X | tag::C_PART;
        self.b.emit(at.inst, Op::Store { addr: at.addr, src, size: SIZE, tags });
    }

    fn fence_part(&mut self, at: At, fence: Option<Tags>) {
        if let Some(tags) = fence {
            self.b.emit(at.inst, Op::Fence { tags: tags | tag::C_PART });
        }
    }

    fn touch(&mut self, at: At, tags: Tags) {
        let tags = tags | tag::C_PART;
        self.b.emit(at.inst, Op::Touch { addr: at.addr, size: SIZE, tags });
    }

    /// A read-modify-write that always writes: the old value and the new one.
    fn change(
        &mut self,
        addr: &Value,
        parts: &Parts,
        operand: &Value,
        f: impl FnOnce(&mut Self, &Value, &Value) -> Result<Value>,
    ) -> Result<(Value, Value)> {
        let at = self.at(addr, &[operand])?;
        // What is computed with has to be there before the events.
        self.b.use_in(operand, at.inst, Port::Data)?;
        let dst = self.b.temp(at.inst)?;
        self.fence_part(at, parts.fence);
        self.read_part(at, parts.read, dst);
        let old = self.b.result(ValueType::INT, at.inst, dst, false);
        let new = f(self, &old, operand)?;
        let mut new = self.convert(&new, &ValueType::INT)?;
        let src = self.b.use_in(&new, at.inst, Port::Data)?;
        self.write_part(at, parts.write, src);
        self.fence_part(at, parts.fence);
        new.after = new.after.max(at.inst + 1);
        Ok((self.b.result(ValueType::INT, at.inst, dst, true), new))
    }

    /// An operation that writes if the value that it reads is the given one (`cmpxchg`), or if it is not
    /// (`unless`). Its result is the value that it reads, or else whether it wrote.
    fn choice(
        &mut self,
        addr: &Value,
        parts: &Parts,
        value: &Value,
        operand: &Value,
        unless: bool,
    ) -> Result<Value> {
        let at = self.at(addr, &[value, operand])?;
        let want = self.b.use_in(value, at.inst, Port::None)?;
        let operand = self.b.use_in(operand, at.inst, Port::Data)?;
        let (old, writes) = (self.b.temp(at.inst)?, self.b.temp(at.inst)?);
        let (other, sum) = (self.b.temp(at.inst)?, self.b.temp(at.inst)?);
        let op = if unless { BinOp::Ne } else { BinOp::Eq };
        let test = Op::Bin { dst: writes, op, a: old, b: want, width: WIDTH };
        let chosen = self.b.temp(at.inst)?;

        let outer = self.b.start_list(at.inst);
        self.fence_part(at, parts.fence);
        self.read_part(at, parts.read, old);
        self.b.emit(at.inst, test.clone());
        self.b.emit(at.inst, Op::Assume { cond: writes });
        let new = match unless {
            true => {
                let add = Op::Bin { dst: sum, op: BinOp::Add, a: old, b: operand, width: WIDTH };
                self.b.emit(at.inst, add);
                sum
            }
            false => operand,
        };
        self.write_part(at, parts.write, new);
        self.fence_part(at, parts.fence);
        let yes = self.b.end_list(outer);

        let outer = self.b.start_list(at.inst);
        self.read_part(at, parts.alone, old);
        self.b.emit(at.inst, test);
        self.b.emit(at.inst, Op::Un { dst: other, op: UnOp::IsZero, a: writes, width: WIDTH });
        self.b.emit(at.inst, Op::Assume { cond: other });
        let no = self.b.end_list(outer);

        self.b.emit(at.inst, Op::Choose { dst: chosen });
        self.b.emit(at.inst, Op::If { cond: chosen, yes, no });
        let result = if unless { writes } else { old };
        Ok(self.b.result(ValueType::INT, at.inst, result, true))
    }

    /// Takes a lock.
    fn take(&mut self, at: At) -> Result<()> {
        self.touch(at, tag::C_LKR);
        let one = self.b.temp(at.inst)?;
        self.b.emit(at.inst, Op::Const { dst: one, val: Val::Int(1) });
        let tags = tag::C_LKW | tag::C_PART;
        self.b.emit(at.inst, Op::Store { addr: at.addr, src: one, size: SIZE, tags });
        Ok(())
    }

    /// Reads a lock. The value is known, and still depends on the read.
    fn look(&mut self, at: At, tags: Tags, found: u128, out: Temp) -> Result<()> {
        let (dst, none, value) =
            (self.b.temp(at.inst)?, self.b.temp(at.inst)?, self.b.temp(at.inst)?);
        let zero = self.b.temp(at.inst)?;
        let constant = |dst, v| Op::Const { dst, val: Val::Int(v) };
        self.b.emit(at.inst, Op::Load { dst, addr: at.addr, size: SIZE, tags });
        self.b.emit(at.inst, constant(zero, 0));
        let nothing = Op::Bin { dst: none, op: BinOp::And, a: dst, b: zero, width: WIDTH };
        self.b.emit(at.inst, nothing);
        self.b.emit(at.inst, constant(value, found));
        let known = Op::Bin { dst: out, op: BinOp::Or, a: none, b: value, width: WIDTH };
        self.b.emit(at.inst, known);
        Ok(())
    }

    /// Takes one of two ways; each has a value.
    fn either_way(
        &mut self,
        at: At,
        yes: impl FnOnce(&mut Self, Temp) -> Result<()>,
        no: impl FnOnce(&mut Self, Temp) -> Result<()>,
    ) -> Result<Value> {
        let (out, chosen) = (self.b.temp(at.inst)?, self.b.temp(at.inst)?);
        let outer = self.b.start_list(at.inst);
        let first = yes(self, out);
        let yes = self.b.end_list(outer);
        let outer = self.b.start_list(at.inst);
        let second = no(self, out);
        let no = self.b.end_list(outer);
        first.and(second)?;
        self.b.emit(at.inst, Op::Choose { dst: chosen });
        self.b.emit(at.inst, Op::If { cond: chosen, yes, no });
        Ok(self.b.result(ValueType::INT, at.inst, out, true))
    }
}

/// Which options make primitives of the kernel known.
pub(super) const KERNEL_HELP: &str = "simulate it under the kernel's own model: `--model \
    linux-kernel.cat --bell linux-kernel.bell --macros linux-kernel.def`, or `--conf \
    linux-kernel.cfg`, with `-I` and the folder that holds them; in `check` and in pipelines name \
    the path of `linux-kernel.cfg` as the model of the source";
