//! Expressions: values, conversions, plain accesses.

use std::sync::Arc;

use super::build::{Src, Value};
use super::{Home, Lower, PlainAtomic};
use litmake_base::diag::{Result, Span, nearest};
use litmake_litmus::Type;
use litmake_litmus::c::ast::{BinaryOp, Expr, ExprKind, FloatLit, IntLit, UnaryOp};
use litmake_litmus::c::print_type;
use litmake_litmus::c::structs::Struct;
use litmake_litmus::c::types::{ValueType, qualify, size_of};
use litmake_ops::{BinOp, Op, Port, Tags, UnOp, Undefined, tag};

/// An expression that can be read and assigned.
pub(super) enum Place {
    Local(usize),
    Memory { addr: Value, ty: Arc<Type> },
}

impl Lower<'_> {
    pub(super) fn expr(&mut self, e: &Expr) -> Result<Value> {
        match &e.kind {
            ExprKind::Int(lit) => Ok(self.b.constant(literal_type(lit), lit.value)),
            ExprKind::Float(lit) => Ok(self.b.constant(float_type(lit), lit.bits.into())),
            ExprKind::Name(_)
            | ExprKind::Index(..)
            | ExprKind::Member { .. }
            | ExprKind::Unary(UnaryOp::Deref, _) => {
                let place = self.place(e)?;
                self.read(&place, e.span)
            }
            ExprKind::Unary(UnaryOp::Addr, target) => self.address(target),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                self.unary(*op, &a, e.span)
            }
            ExprKind::Step { up, prefix, target } => {
                let op = if *up { BinaryOp::Add } else { BinaryOp::Sub };
                let place = self.place(target)?;
                let one = self.b.constant(ValueType::INT, 1);
                let (old, new) = self.update(&place, op, &one, e.span)?;
                Ok(if *prefix { new } else { old })
            }
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) => {
                self.logical(e, *op, a, b)
            }
            ExprKind::Binary(op, a, b) => {
                let a = self.expr(a)?;
                let b = self.expr(b)?;
                self.binary(*op, &a, &b, e.span)
            }
            ExprKind::Assign(None, target, value)
                if self.object_type(target).is_ok_and(|ty| structure(&ty).is_some()) =>
            {
                let place = self.place(target)?;
                self.copy_structure(&place, value, e.span)?;
                Ok(self.b.void())
            }
            ExprKind::Assign(op, target, value) => {
                let place = self.place(target)?;
                let value = self.expr(value)?;
                match op {
                    None => self.assign(&place, &value, e.span),
                    Some(op) => Ok(self.update(&place, *op, &value, e.span)?.1),
                }
            }
            ExprKind::Cond(cond, yes, no) => self.conditional(cond, yes, no),
            ExprKind::Comma(a, b) => {
                self.expr(a)?;
                self.b.flush();
                self.expr(b)
            }
            ExprKind::Cast(ty, a) => {
                let a = self.expr(a)?;
                let ty = self.value_type(ty, e.span)?;
                self.convert(&a, &ty)
            }
            ExprKind::SizeofType(ty) => self.size(ty, e.span),
            ExprKind::SizeofExpr(a) => {
                let ty = self.object_type(a)?;
                self.size(&ty, e.span)
            }
            ExprKind::Call(name, args) => match self.helper(name) {
                Some(_) => self.inline(name, args, e.span),
                None => self.builtin(name, args, e.span),
            },
            ExprKind::Annotated(a) => self.annotated(a, e.span),
            ExprKind::List(_) => {
                Err(self.error(e.span, "a list in braces can only initialise a variable"))
            }
        }
    }

    // Structures.

    /// A member of a structure: where it begins, and its type with the qualifiers of both.
    fn find_member(&self, object: &Type, name: &str, span: Span) -> Result<(u64, Type)> {
        let Some(of) = structure(object) else {
            return Err(self
                .error(span, format!("`{}` has no members that are known here", print_type(object)))
                .help("define a structure before the functions: `struct s { int a; char b; };`"));
        };
        let Some((at, ty)) = of.member(name) else {
            let names = of.members.iter().map(|m| m.name.as_str());
            let message = format!("`{}` has no member `{name}`", of.name());
            let diag = self.error(span, message);
            return Err(match nearest(name, names.clone()) {
                Some(near) => diag.help(format!("did you mean `{near}`?")),
                None => diag.help(format!("members are {}", names.collect::<Vec<_>>().join(", "))),
            });
        };
        let ty = match ty.bare() {
            Type::Array(..) => ty.clone(),
            _ => qualify(ty.clone(), object.is_const(), object.is_volatile(), false),
        };
        Ok((at, ty))
    }

    fn member(&mut self, base: &Expr, arrow: bool, name: &str, span: Span) -> Result<Place> {
        let object = match arrow {
            true => {
                let pointer = self.expr(base)?;
                self.pointed(&pointer, span)?
            }
            false => self.place(base)?,
        };
        match object {
            Place::Memory { addr, ty } => {
                let (at, member) = self.find_member(&ty, name, span)?;
                Ok(self.part(&addr, at, member)?)
            }
            Place::Local(id) => {
                let ty = self.local_type(id);
                let (at, member) = self.find_member(&ty, name, span)?;
                let values = structure(&ty).map(|s| s.values()).unwrap_or_default();
                let number =
                    values.iter().position(|(o, t, _)| *o == at && t.bare() == member.bare());
                match (self.vars[id].home, number) {
                    (Home::Values(first), Some(n)) => Ok(Place::Local(first + n)),
                    _ => Err(self
                        .error(span, "arrays and structures inside of locals are not supported")
                        .help("keep the structure in shared memory")),
                }
            }
        }
    }

    /// A part of an object in memory.
    fn part(&mut self, addr: &Value, at: u64, ty: Type) -> Result<Place> {
        let pointer = ValueType::Pointer(Arc::new(ty.clone()));
        let mut addr = addr.clone();
        if at > 0 {
            let by = self.b.constant(ValueType::SIZE, at.into());
            addr = self.b.bin(BinOp::Add, &addr, &by, pointer.clone(), 64)?;
        }
        addr.ty = pointer;
        Ok(Place::Memory { addr, ty: Arc::new(ty) })
    }

    /// The type of a local variable.
    fn local_type(&self, id: usize) -> Type {
        let var = &self.vars[id];
        var.structure.clone().unwrap_or_else(|| value_as_type(&var.value_type))
    }

    /// Copies a structure: each of its values is read and written by a plain access.
    pub(super) fn copy_structure(&mut self, to: &Place, from: &Expr, span: Span) -> Result<()> {
        let ty = self.place_object(to);
        let other = self.object_type(from)?;
        let (Some(of), true) = (structure(&ty), ty.bare() == other.bare()) else {
            let message =
                format!("a `{}` is made of a `{}` here", print_type(&ty), print_type(&other));
            return Err(self.error(span, message).help("structures are copied from the same type"));
        };
        if of.is_union || of.any(&|ty| ty.is_atomic() || is_union(ty)) {
            return Err(self
                .error(span, format!("a copy of `{}` is not supported", of.name()))
                .help("copy structures of plain members; copy the members of others one by one"));
        }
        let from = self.place(from)?;
        let sources = self.values_in(&from, &other, 0, span)?;
        let targets = self.values_in(to, &ty, 0, span)?;
        for ((source, _), (target, _)) in sources.into_iter().zip(targets) {
            let value = self.read(&source, span)?;
            self.assign(&target, &value, span)?;
        }
        Ok(())
    }

    /// The values in an object that lies so many bytes behind a place, each with its type.
    pub(super) fn values_in(
        &mut self,
        place: &Place,
        object: &Type,
        behind: u64,
        span: Span,
    ) -> Result<Vec<(Place, Type)>> {
        let Some(of) = structure(object) else {
            let part = match place {
                Place::Local(id) => Place::Local(*id),
                Place::Memory { addr, .. } => self.part(addr, behind, object.clone())?,
            };
            return Ok(vec![(part, object.clone())]);
        };
        let mut out = Vec::new();
        for (n, (at, ty, _)) in of.values().into_iter().enumerate() {
            let ty = qualify(ty, object.is_const(), object.is_volatile(), false);
            let part = match place {
                Place::Local(id) => match self.vars[*id].home {
                    Home::Values(first) => Place::Local(first + n),
                    _ => return Err(self.error(span, "this is no structure")),
                },
                Place::Memory { addr, .. } => self.part(addr, behind + at, ty.clone())?,
            };
            out.push((part, ty));
        }
        Ok(out)
    }

    /// The type of the object at a place.
    pub(super) fn place_object(&self, place: &Place) -> Type {
        match place {
            Place::Local(id) => self.local_type(*id),
            Place::Memory { ty, .. } => (**ty).clone(),
        }
    }

    fn size(&self, ty: &Type, span: Span) -> Result<Value> {
        match size_of(ty) {
            Some(n) => Ok(self.b.constant(ValueType::SIZE, u128::from(n))),
            None => Err(self.error(span, format!("the size of `{}` is not known", print_type(ty)))),
        }
    }

    pub(super) fn value_type(&self, ty: &Type, span: Span) -> Result<ValueType> {
        ValueType::of(ty).ok_or_else(|| {
            self.error(span, format!("values of type `{}` are not supported", print_type(ty)))
                .help("litmus tests compute with integers, `float`, `double` and pointers")
        })
    }

    // Places.

    pub(super) fn place(&mut self, e: &Expr) -> Result<Place> {
        match &e.kind {
            ExprKind::Name(name) => {
                let id = self.variable(name, e.span)?;
                let var = &self.vars[id];
                match (var.home, &var.structure) {
                    (Home::Memory(reg), Some(ty)) => {
                        let addr = self.b.register(var.value_type.clone(), reg);
                        Ok(Place::Memory { addr, ty: Arc::new(ty.clone()) })
                    }
                    _ => Ok(Place::Local(id)),
                }
            }
            ExprKind::Unary(UnaryOp::Deref, p) => {
                let p = self.expr(p)?;
                self.pointed(&p, e.span)
            }
            ExprKind::Index(a, i) => {
                let a = self.expr(a)?;
                let i = self.expr(i)?;
                let p = self.binary(BinaryOp::Add, &a, &i, e.span)?;
                self.pointed(&p, e.span)
            }
            ExprKind::Member { base, arrow, name } => self.member(base, *arrow, name, e.span),
            _ => Err(self
                .error(e.span, "this is no place in memory")
                .help("expected a variable, `*p`, `p[i]`, `s.a` or `p->a`")),
        }
    }

    /// The object that a pointer points to.
    pub(super) fn pointed(&mut self, p: &Value, span: Span) -> Result<Place> {
        match (&p.src, &p.ty) {
            (Src::Local(id), _) => Ok(Place::Local(*id)),
            (_, ValueType::Pointer(ty)) => Ok(Place::Memory { addr: p.clone(), ty: ty.clone() }),
            // Kernel-style tests keep addresses in integers.
            (_, ValueType::Int { .. }) if self.is_kernel() => {
                Ok(Place::Memory { addr: p.clone(), ty: Arc::new(Type::INT) })
            }
            _ => Err(self
                .error(span, "this is no pointer")
                .help("declare it as one, such as `int* p`")),
        }
    }

    fn address(&mut self, target: &Expr) -> Result<Value> {
        match self.place(target)? {
            Place::Local(id) => {
                let ty = self.local_type(id);
                Ok(self.b.local(ValueType::Pointer(Arc::new(ty)), id))
            }
            Place::Memory { addr, .. } => Ok(addr),
        }
    }

    pub(super) fn place_type(&self, place: &Place, span: Span) -> Result<ValueType> {
        match place {
            Place::Local(id) => match &self.vars[*id].structure {
                Some(ty) => self.value_type(ty, span),
                None => Ok(self.vars[*id].value_type.clone()),
            },
            Place::Memory { ty, .. } => match self.value_type(ty, span)? {
                ValueType::Void => Err(self
                    .error(span, "what a `void*` points to has no value")
                    .help("cast it to a pointer to an integer")),
                t => Ok(t),
            },
        }
    }

    pub(super) fn read(&mut self, place: &Place, span: Span) -> Result<Value> {
        let ty = self.place_type(place, span)?;
        match place {
            Place::Local(id) => match self.vars[*id].home {
                Home::AddressOf(target) => Ok(self.b.local(ty, target)),
                Home::Register(reg) if self.vars[*id].stable => Ok(self.b.register(ty, reg)),
                Home::Register(reg) => self.b.read(ty, reg),
                Home::Values(_) | Home::Memory(_) => {
                    Err(self.error(span, "a structure has no value of its own"))
                }
            },
            Place::Memory { addr, ty: object } => match object.bare() {
                Type::Array(..) => {
                    let mut addr = addr.clone();
                    addr.ty = ty;
                    Ok(addr)
                }
                _ => self.load(addr, object, self.plain_tags(object), span),
            },
        }
    }

    /// The annotations of a plain access to an object.
    pub(super) fn plain_tags(&self, object: &Type) -> Tags {
        if object.is_atomic()
            && let Some(met) = self.options.met
        {
            met.set(true);
        }
        let atomic = object.is_atomic() && self.options.plain_atomic == PlainAtomic::SeqCst;
        let tags = if atomic { tag::C_A | tag::C_SC } else { tag::C_NA };
        volatile(object, tags)
    }

    pub(super) fn load(
        &mut self,
        addr: &Value,
        object: &Type,
        tags: Tags,
        span: Span,
    ) -> Result<Value> {
        let ty = self.access_type(object, span)?;
        let inst = self.b.access_home(&[addr]);
        let addr = self.b.use_in(addr, inst, Port::Addr)?;
        let dst = self.b.temp(inst)?;
        let size = ty.bits() / 8;
        self.b.emit(inst, Op::Load { dst, addr, size, tags });
        Ok(self.b.result(ty, inst, dst, true))
    }

    /// Stores a value; gives it back as stored.
    pub(super) fn store(
        &mut self,
        addr: &Value,
        object: &Type,
        value: &Value,
        tags: Tags,
        span: Span,
    ) -> Result<Value> {
        let ty = self.access_type(object, span)?;
        let mut value = self.convert(value, &ty)?;
        let inst = self.b.access_home(&[addr, &value]);
        let addr = self.b.use_in(addr, inst, Port::Addr)?;
        let src = self.b.use_in(&value, inst, Port::Data)?;
        let size = ty.bits() / 8;
        self.b.emit(inst, Op::Store { addr, src, size, tags });
        value.after = inst + 1;
        Ok(value)
    }

    /// The type of the value in an object that is accessed as a whole.
    pub(super) fn access_type(&self, object: &Type, span: Span) -> Result<ValueType> {
        match object.bare() {
            Type::Array(..) => Err(self.error(span, "an array is not accessed as a whole")),
            _ => match self.value_type(object, span)? {
                ValueType::Void => Err(self
                    .error(span, "what a `void*` points to has no value")
                    .help("cast it to a pointer to an integer")),
                t => Ok(t),
            },
        }
    }

    pub(super) fn assign(&mut self, place: &Place, value: &Value, span: Span) -> Result<Value> {
        match place {
            Place::Local(id) => {
                let value = self.convert(value, &self.vars[*id].value_type.clone())?;
                match self.vars[*id].home {
                    Home::Register(reg) => {
                        self.b.write(&value, reg)?;
                        Ok(value)
                    }
                    Home::Values(_) | Home::Memory(_) => {
                        Err(self.error(span, "a structure has no value of its own"))
                    }
                    Home::AddressOf(_) => Err(self.error(
                        span,
                        "a pointer to a local variable cannot be assigned through a pointer",
                    )),
                }
            }
            Place::Memory { addr, ty } => self.store(addr, ty, value, self.plain_tags(ty), span),
        }
    }

    /// `place op= value`; gives the old value and the new one. On an atomic object it is one
    /// read-modify-write.
    fn update(
        &mut self,
        place: &Place,
        op: BinaryOp,
        value: &Value,
        span: Span,
    ) -> Result<(Value, Value)> {
        if let Place::Memory { addr, ty } = place
            && ty.is_atomic()
        {
            let tags = volatile(ty, tag::C_A | tag::C_SC);
            let old = self.rmw(addr, ty, tags, &[value], span, &mut |l, old| {
                let new = l.binary(op, old, value, span)?;
                l.convert(&new, &old.ty)
            })?;
            let new = self.binary(op, &old, value, span)?;
            let new = self.convert(&new, &old.ty)?;
            return Ok((old, new));
        }
        let old = self.read(place, span)?;
        let new = self.binary(op, &old, value, span)?;
        let new = self.assign(place, &new, span)?;
        let mut old = old;
        old.after = old.after.max(new.after);
        Ok((old, new))
    }

    /// One event that reads an object and writes what `f` makes of the old value. `operands` are
    /// what `f` computes with.
    pub(super) fn rmw(
        &mut self,
        addr: &Value,
        object: &Type,
        tags: Tags,
        operands: &[&Value],
        span: Span,
        f: &mut dyn FnMut(&mut Self, &Value) -> Result<Value>,
    ) -> Result<Value> {
        let ty = self.access_type(object, span)?;
        let mut needed = operands.to_vec();
        needed.push(addr);
        let inst = self.b.access_home(&needed);
        // What the body computes with has to be there before it.
        for v in operands {
            self.b.use_in(v, inst, Port::None)?;
        }
        let addr = self.b.use_in(addr, inst, Port::Addr)?;
        let dst = self.b.temp(inst)?;
        let outer = self.b.start_list(inst);
        let old = self.b.result(ty.clone(), inst, dst, false);
        let new = f(self, &old).and_then(|v| {
            let v = self.convert(&v, &ty)?;
            self.b.use_in(&v, inst, Port::None)
        });
        let body = self.b.end_list(outer);
        let new = new?;
        let size = ty.bits() / 8;
        self.b.emit(inst, Op::Rmw { dst, addr, size, tags, body, new });
        Ok(self.b.result(ty, inst, dst, true))
    }

    // Values.

    /// The value converted as by assignment.
    pub(super) fn convert(&mut self, v: &Value, to: &ValueType) -> Result<Value> {
        let mut out = v.clone();
        if v.ty == *to {
            return Ok(out);
        }
        match to {
            ValueType::Void => return Ok(self.b.void()),
            ValueType::Bool => return self.truth(v, ValueType::Bool),
            _ => {}
        }
        if (v.ty.is_float() || to.is_float()) && !matches!(v.src, Src::Void) {
            return self.convert_float(v, to);
        }
        let (from_bits, to_bits) = (v.ty.bits(), to.bits());
        // An address of a local, and nothing at all, are not computed with.
        if !matches!(v.src, Src::Local(_) | Src::Void) && from_bits != to_bits {
            if from_bits > to_bits {
                let op = UnOp::ZeroExt { from: to_bits };
                out = self.b.un(op, v, to.clone(), from_bits)?;
            } else if v.ty.signed() {
                let op = UnOp::SignExt { from: from_bits };
                out = self.b.un(op, v, to.clone(), to_bits)?;
            }
        } else if matches!(v.src, Src::Local(_)) && !matches!(to, ValueType::Pointer(_)) {
            // Gives the error that says so.
            self.b.use_in(v, self.b.here(), Port::None)?;
        }
        out.ty = to.clone();
        Ok(out)
    }

    /// To, from or between types of floating point: by value.
    fn convert_float(&mut self, v: &Value, to: &ValueType) -> Result<Value> {
        let (from, width) = (v.ty.bits(), to.bits());
        let op = match (&v.ty, to) {
            (ValueType::Float { .. }, ValueType::Float { .. }) => UnOp::FloatResize { from },
            (ValueType::Float { .. }, ValueType::Int { .. }) if width <= 64 => {
                self.in_range(v, to)?;
                UnOp::FloatToInt { from, signed: to.signed() }
            }
            (ValueType::Int { .. } | ValueType::Bool, ValueType::Float { .. }) if from <= 64 => {
                UnOp::FloatFromInt { from, signed: v.ty.signed() }
            }
            (from, to) => {
                let [from, to] = [from, to].map(|t| print_type(&value_as_type(t)));
                let message = format!("a conversion from `{from}` to `{to}` is not supported");
                return Err(self.b.refuse(message).help(
                    "`float` and `double` are converted to and from integers of up to 64 bits",
                ));
            }
        };
        self.b.un(op, v, to.clone(), width)
    }

    /// 1 where the value is not zero, else 0.
    pub(super) fn truth(&mut self, v: &Value, ty: ValueType) -> Result<Value> {
        let zero = self.b.constant(v.ty.clone(), 0);
        if v.ty.is_float() {
            let none = self.b.bin(BinOp::FloatEq, v, &zero, ValueType::INT, v.ty.bits())?;
            return self.b.un(UnOp::IsZero, &none, ty, 32);
        }
        self.b.bin(BinOp::Ne, v, &zero, ty, v.ty.bits())
    }

    /// A condition as a value whose bits are 0 exactly where it is false.
    pub(super) fn decided(&mut self, v: Value) -> Result<Value> {
        if v.ty.is_float() { self.truth(&v, ValueType::INT) } else { Ok(v) }
    }

    fn unary(&mut self, op: UnaryOp, a: &Value, span: Span) -> Result<Value> {
        if op == UnaryOp::LogicalNot {
            if a.ty.is_float() {
                let zero = self.b.constant(a.ty.clone(), 0);
                return self.b.bin(BinOp::FloatEq, a, &zero, ValueType::INT, a.ty.bits());
            }
            return self.b.un(UnOp::IsZero, a, ValueType::INT, a.ty.bits());
        }
        if !a.ty.is_arithmetic() {
            return Err(self.error(span, "this operator takes an integer"));
        }
        let ty = a.ty.promoted();
        let a = self.convert(a, &ty)?;
        let width = ty.bits();
        match op {
            // The sign is a bit, of what is no number, too.
            UnaryOp::Neg if ty.is_float() => {
                let sign = self.b.constant(ty.clone(), 1 << (width - 1));
                self.b.bin(BinOp::Xor, &a, &sign, ty, width)
            }
            UnaryOp::Not if ty.is_float() => {
                Err(self.error(span, "this operator takes an integer"))
            }
            UnaryOp::Neg => {
                let zero = self.b.constant(ty.clone(), 0);
                self.no_overflow(BinOp::SubOverflows, &zero, &a)?;
                self.b.un(UnOp::Neg, &a, ty, width)
            }
            UnaryOp::Not => self.b.un(UnOp::Not, &a, ty, width),
            _ => Ok(a),
        }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Result<Value> {
        if matches!(a.ty, ValueType::Pointer(_)) || matches!(b.ty, ValueType::Pointer(_)) {
            return self.pointer_binary(op, a, b, span);
        }
        if !a.ty.is_arithmetic() || !b.ty.is_arithmetic() {
            return Err(self.error(span, format!("`{}` takes two values", op.text())));
        }
        if a.ty.is_float() || b.ty.is_float() {
            return self.float_binary(op, a, b, span);
        }
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let ty = a.ty.promoted();
            let a = self.convert(a, &ty)?;
            let count = b;
            let b = self.convert(b, &ty)?;
            self.counts(count, ty.bits())?;
            if op == BinaryOp::Shl {
                self.no_overflow(BinOp::ShlOverflows, &a, &b)?;
            }
            let op = match (op, ty.signed()) {
                (BinaryOp::Shl, _) => BinOp::Shl,
                (_, true) => BinOp::Sar,
                (_, false) => BinOp::Shr,
            };
            let width = ty.bits();
            return self.b.bin(op, &a, &b, ty, width);
        }
        let ty = a.ty.common(&b.ty);
        let a = self.convert(a, &ty)?;
        let b = self.convert(b, &ty)?;
        let (width, signed) = (ty.bits(), ty.signed());
        if let Some((op, swap)) = comparison(op, signed) {
            let (a, b) = if swap { (&b, &a) } else { (&a, &b) };
            return self.b.bin(op, a, b, ValueType::INT, width);
        }
        let op = match op {
            BinaryOp::Mul => BinOp::Mul,
            BinaryOp::Add => BinOp::Add,
            BinaryOp::Sub => BinOp::Sub,
            BinaryOp::And => BinOp::And,
            BinaryOp::Or => BinOp::Or,
            BinaryOp::Xor => BinOp::Xor,
            BinaryOp::Div if signed => BinOp::DivS,
            BinaryOp::Div => BinOp::DivU,
            BinaryOp::Rem if signed => BinOp::RemS,
            BinaryOp::Rem => BinOp::RemU,
            _ => return Err(self.error(span, format!("`{}` is no arithmetic", op.text()))),
        };
        match op {
            BinOp::Add => self.no_overflow(BinOp::AddOverflows, &a, &b)?,
            BinOp::Sub => self.no_overflow(BinOp::SubOverflows, &a, &b)?,
            BinOp::Mul => self.no_overflow(BinOp::MulOverflows, &a, &b)?,
            _ => {}
        }
        match op {
            BinOp::DivS | BinOp::DivU | BinOp::RemS | BinOp::RemU => self.divide(op, &a, &b),
            _ => self.b.bin(op, &a, &b, ty, width),
        }
    }

    fn float_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Result<Value> {
        let ty = a.ty.common(&b.ty);
        let width = ty.bits();
        let arithmetic = match op {
            BinaryOp::Add => Some(BinOp::FloatAdd),
            BinaryOp::Sub => Some(BinOp::FloatSub),
            BinaryOp::Mul => Some(BinOp::FloatMul),
            BinaryOp::Div => Some(BinOp::FloatDiv),
            _ => None,
        };
        let compare = match op {
            BinaryOp::Eq | BinaryOp::Ne => Some((BinOp::FloatEq, false)),
            BinaryOp::Lt => Some((BinOp::FloatLt, false)),
            BinaryOp::Le => Some((BinOp::FloatLe, false)),
            BinaryOp::Gt => Some((BinOp::FloatLt, true)),
            BinaryOp::Ge => Some((BinOp::FloatLe, true)),
            _ => None,
        };
        if arithmetic.is_none() && compare.is_none() {
            return Err(self.error(span, format!("`{}` takes integers", op.text())));
        }
        let a = self.convert(a, &ty)?;
        let b = self.convert(b, &ty)?;
        if let Some((compare, swap)) = compare {
            let (a, b) = if swap { (&b, &a) } else { (&a, &b) };
            let holds = self.b.bin(compare, a, b, ValueType::INT, width)?;
            return match op {
                BinaryOp::Ne => self.b.un(UnOp::IsZero, &holds, ValueType::INT, 32),
                _ => Ok(holds),
            };
        }
        match arithmetic {
            Some(op) => self.b.bin(op, &a, &b, ty, width),
            None => Ok(a),
        }
    }

    // Operations that C leaves undefined.

    /// Lowers with arithmetic that wraps around by definition.
    pub(super) fn wrapping<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.wraps, true);
        let out = f(self);
        self.wraps = before;
        out
    }

    /// Lowers code that is evaluated only where the value is true (`when`), or only where it is false.
    fn guarded<T>(
        &mut self,
        value: &Value,
        when: bool,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.guards.push((value.clone(), when));
        let out = f(self);
        self.guards.pop();
        out
    }

    /// The behaviour is undefined where the value is not 0, if it gets there.
    fn undefined(&mut self, cond: Value, what: Undefined) -> Result<()> {
        let mut all = cond;
        for (guard, when) in self.guards.clone() {
            if matches!(all.src, Src::Const(0)) {
                return Ok(());
            }
            let guard = match when {
                true => self.truth(&guard, ValueType::INT)?,
                false => self.b.un(UnOp::IsZero, &guard, ValueType::INT, guard.ty.bits())?,
            };
            all = match guard.src {
                Src::Const(0) => return Ok(()),
                Src::Const(_) => all,
                _ => self.b.bin(BinOp::And, &all, &guard, ValueType::INT, 32)?,
            };
        }
        match all.src {
            Src::Const(0) => Ok(()),
            _ => self.b.undefined(&all, what),
        }
    }

    /// Whether all arithmetic is defined here: a read-modify-write wraps around, too.
    fn defined(&self) -> bool {
        self.wraps || self.b.in_list()
    }

    fn no_overflow(&mut self, op: BinOp, a: &Value, b: &Value) -> Result<()> {
        if self.defined() || !a.ty.signed() {
            return Ok(());
        }
        let what = match op {
            BinOp::ShlOverflows => Undefined::Shift,
            _ => Undefined::Overflow,
        };
        let cond = self.b.bin(op, a, b, ValueType::INT, a.ty.bits())?;
        self.undefined(cond, what)
    }

    /// Makes a shift by the width or more undefined.
    fn counts(&mut self, count: &Value, width: u8) -> Result<()> {
        if self.defined() {
            return Ok(());
        }
        let ty = count.ty.promoted();
        let count = self.convert(count, &ty)?;
        let width = self.b.constant(ty.clone(), width.into());
        let cond = self.b.bin(BinOp::LeU, &width, &count, ValueType::INT, ty.bits())?;
        self.undefined(cond, Undefined::Shift)
    }

    /// Makes the conversion of a floating-point number to an integer undefined where the number without its
    /// fraction is out of range.
    fn in_range(&mut self, v: &Value, to: &ValueType) -> Result<()> {
        if self.defined() {
            return Ok(());
        }
        let (width, digits) = (v.ty.bits(), if v.ty.bits() == 32 { 24 } else { 53 });
        let number = |n: f64| match width {
            32 => u128::from((n as f32).to_bits()),
            _ => u128::from(n.to_bits()),
        };
        let bits = to.bits() - u8::from(to.signed());
        let end = self.b.constant(v.ty.clone(), number(2f64.powi(bits.into())));
        let below = self.b.bin(BinOp::FloatLt, v, &end, ValueType::INT, width)?;
        // The first number that is too small, or the least where that has no digits of its own.
        let (least, is_in) = match to.signed() {
            false => (-1.0, BinOp::FloatLt),
            true if bits < digits => (-2f64.powi(bits.into()) - 1.0, BinOp::FloatLt),
            true => (-2f64.powi(bits.into()), BinOp::FloatLe),
        };
        let least = self.b.constant(v.ty.clone(), number(least));
        let above = self.b.bin(is_in, &least, v, ValueType::INT, width)?;
        let within = self.b.bin(BinOp::And, &above, &below, ValueType::INT, 32)?;
        let outside = self.b.un(UnOp::IsZero, &within, ValueType::INT, 32)?;
        self.undefined(outside, Undefined::Conversion)
    }

    /// Makes a division by 0, or one whose quotient does not fit, undefined.
    fn divides(&mut self, a: &Value, b: &Value) -> Result<()> {
        if self.defined() {
            return Ok(());
        }
        let width = a.ty.bits();
        let none = self.b.un(UnOp::IsZero, b, ValueType::INT, width)?;
        self.undefined(none, Undefined::Division)?;
        if !a.ty.signed() {
            return Ok(());
        }
        let least = self.b.constant(a.ty.clone(), 1 << (width - 1));
        let minus_one = self.b.constant(a.ty.clone(), u128::MAX);
        let least = self.b.bin(BinOp::Eq, a, &least, ValueType::INT, width)?;
        let minus_one = self.b.bin(BinOp::Eq, b, &minus_one, ValueType::INT, width)?;
        if [&least, &minus_one].iter().any(|v| matches!(v.src, Src::Const(0))) {
            return Ok(());
        }
        let both = self.b.bin(BinOp::And, &least, &minus_one, ValueType::INT, 32)?;
        self.undefined(both, Undefined::Overflow)
    }

    /// Division that never divides by zero: then the quotient is 0, and the remainder all.
    fn divide(&mut self, op: BinOp, a: &Value, b: &Value) -> Result<Value> {
        let (ty, width) = (a.ty.clone(), a.ty.bits());
        self.divides(a, b)?;
        if matches!(b.src, Src::Const(c) if c != 0) {
            return self.b.bin(op, a, b, ty, width);
        }
        let one = self.b.constant(ty.clone(), 1);
        let zero = self.b.constant(ty.clone(), 0);
        let none = self.b.un(UnOp::IsZero, b, ValueType::INT, width)?;
        let divisor = self.b.select(&none, &one, b)?;
        let out = self.b.bin(op, a, &divisor, ty, width)?;
        let undefined = match op {
            BinOp::DivS | BinOp::DivU => &zero,
            _ => a,
        };
        self.b.select(&none, undefined, &out)
    }

    fn pointer_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Result<Value> {
        if let Some((op, swap)) = comparison(op, false) {
            let ty = match &a.ty {
                ValueType::Pointer(_) => a.ty.clone(),
                _ => b.ty.clone(),
            };
            let a = self.convert(a, &ty)?;
            let b = self.convert(b, &ty)?;
            let (a, b) = if swap { (&b, &a) } else { (&a, &b) };
            return self.b.bin(op, a, b, ValueType::INT, 64);
        }
        let index = ValueType::Int { bytes: 8, signed: true };
        let sized = |l: &Self, ty: &Type| -> Result<Value> {
            match size_of(ty) {
                Some(n) if n > 0 => Ok(l.b.constant(index.clone(), u128::from(n))),
                _ => Err(l.error(
                    span,
                    format!("arithmetic on pointers to `{}` is not supported", print_type(ty)),
                )),
            }
        };
        match (op, &a.ty, &b.ty) {
            (BinaryOp::Sub, ValueType::Pointer(ty), ValueType::Pointer(_)) => {
                let size = sized(self, ty)?;
                let bytes = self.b.bin(BinOp::Sub, a, b, index.clone(), 64)?;
                self.b.bin(BinOp::DivS, &bytes, &size, index.clone(), 64)
            }
            (BinaryOp::Add | BinaryOp::Sub, ValueType::Pointer(ty), t)
                if t.is_arithmetic() && !t.is_float() =>
            {
                let size = sized(self, ty)?;
                if matches!(a.src, Src::Local(_)) {
                    // Only a local itself has an address.
                    self.b.use_in(a, self.b.here(), Port::None)?;
                }
                let n = self.convert(b, &index)?;
                let n = self.b.bin(BinOp::Mul, &n, &size, index.clone(), 64)?;
                if matches!(n.src, Src::Const(0)) {
                    return Ok(a.clone());
                }
                let op = match op {
                    BinaryOp::Add => BinOp::Add,
                    _ => BinOp::Sub,
                };
                self.b.bin(op, a, &n, a.ty.clone(), 64)
            }
            (BinaryOp::Add, t, ValueType::Pointer(_)) if t.is_arithmetic() => {
                self.pointer_binary(op, b, a, span)
            }
            // Dependencies that tests fabricate: `x + (p ^ p)` and the like.
            (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Sub, _, _)
                if !matches!(a.src, Src::Local(_) | Src::Void)
                    && !matches!(b.src, Src::Local(_) | Src::Void) =>
            {
                let a = self.convert(a, &index)?;
                let b = self.convert(b, &index)?;
                self.binary(op, &a, &b, span)
            }
            _ => Err(self
                .error(span, format!("`{}` does not take pointers", op.text()))
                .help("a pointer can be compared, or moved by an integer")),
        }
    }

    fn logical(&mut self, e: &Expr, op: BinaryOp, a: &Expr, b: &Expr) -> Result<Value> {
        if self.is_pure(b) {
            let a = self.expr(a)?;
            let a = self.truth(&a, ValueType::INT)?;
            let b = self.guarded(&a, op == BinaryOp::LogicalAnd, |l| l.expr(b))?;
            let b = self.truth(&b, ValueType::INT)?;
            let op = match op {
                BinaryOp::LogicalAnd => BinOp::And,
                _ => BinOp::Or,
            };
            return self.b.bin(op, &a, &b, ValueType::INT, 32);
        }
        let (no, end) = (self.b.label(), self.b.label());
        let reg = self.b.scratch(32);
        self.jump_if(e, no, false)?;
        let one = self.b.constant(ValueType::INT, 1);
        self.b.write(&one, reg)?;
        self.b.jump(end)?;
        self.b.place(no);
        let zero = self.b.constant(ValueType::INT, 0);
        self.b.write(&zero, reg)?;
        self.b.place(end);
        Ok(self.b.register(ValueType::INT, reg))
    }

    fn conditional(&mut self, cond: &Expr, yes: &Expr, no: &Expr) -> Result<Value> {
        let ty = self.type_of(yes)?;
        let ty = match (&ty, self.type_of(no)?) {
            (ValueType::Void, _) | (_, ValueType::Void) => ValueType::Void,
            (a, b) if *a == b => b,
            (a, b) => a.common(&b),
        };
        if self.is_pure(yes) && self.is_pure(no) && ty != ValueType::Void {
            let cond = self.expr(cond)?;
            let cond = self.decided(cond)?;
            let yes = self.guarded(&cond, true, |l| l.expr(yes))?;
            let yes = self.convert(&yes, &ty)?;
            let no = self.guarded(&cond, false, |l| l.expr(no))?;
            let no = self.convert(&no, &ty)?;
            return self.b.select(&cond, &yes, &no);
        }
        let (other, end) = (self.b.label(), self.b.label());
        let reg = match ty {
            ValueType::Void => None,
            _ => Some(self.b.scratch(ty.bits())),
        };
        self.jump_if(cond, other, false)?;
        self.put_in(yes, &ty, reg)?;
        self.b.jump(end)?;
        self.b.place(other);
        self.put_in(no, &ty, reg)?;
        self.b.place(end);
        Ok(match reg {
            Some(reg) => self.b.register(ty, reg),
            None => self.b.void(),
        })
    }

    fn put_in(&mut self, e: &Expr, ty: &ValueType, reg: Option<litmake_ops::Reg>) -> Result<()> {
        let v = self.expr(e)?;
        match reg {
            Some(reg) => {
                let v = self.convert(&v, ty)?;
                self.b.write(&v, reg)
            }
            None => Ok(()),
        }
    }

    // Types without code.

    /// The type of an expression's value.
    pub(super) fn type_of(&self, e: &Expr) -> Result<ValueType> {
        Ok(match &e.kind {
            ExprKind::Int(lit) => literal_type(lit),
            ExprKind::Float(lit) => float_type(lit),
            ExprKind::Name(_)
            | ExprKind::Index(..)
            | ExprKind::Member { .. }
            | ExprKind::Unary(UnaryOp::Deref, _) => {
                let ty = self.object_type(e)?;
                self.value_type(&ty, e.span)?
            }
            ExprKind::Unary(UnaryOp::Addr, a) => ValueType::Pointer(Arc::new(self.object_type(a)?)),
            ExprKind::Unary(UnaryOp::LogicalNot, _) => ValueType::INT,
            ExprKind::Unary(_, a) => self.type_of(a)?.promoted(),
            ExprKind::Step { target: a, .. } | ExprKind::Assign(_, a, _) => self.type_of(a)?,
            ExprKind::Binary(op, a, b) => {
                let a = self.type_of(a)?;
                match op {
                    BinaryOp::LogicalAnd | BinaryOp::LogicalOr => ValueType::INT,
                    BinaryOp::Shl | BinaryOp::Shr => a.promoted(),
                    op if comparison(*op, false).is_some() => ValueType::INT,
                    op => {
                        let b = self.type_of(b)?;
                        let pointers = [&a, &b].map(|t| matches!(t, ValueType::Pointer(_)));
                        let sum = matches!(op, BinaryOp::Add) && pointers != [true, true]
                            || matches!(op, BinaryOp::Sub) && pointers == [true, false];
                        match pointers {
                            [false, false] => a.common(&b),
                            [true, _] if sum => a,
                            [_, true] if sum => b,
                            _ => ValueType::Int { bytes: 8, signed: true },
                        }
                    }
                }
            }
            ExprKind::Cond(_, a, b) => {
                let (a, b) = (self.type_of(a)?, self.type_of(b)?);
                if a == b { a } else { a.common(&b) }
            }
            ExprKind::Comma(_, b) => self.type_of(b)?,
            ExprKind::Cast(ty, _) => self.value_type(ty, e.span)?,
            ExprKind::SizeofType(_) | ExprKind::SizeofExpr(_) => ValueType::SIZE,
            ExprKind::Call(name, args) => match self.helper(name) {
                Some(f) => self.value_type(&f.ret, e.span)?,
                None => self.builtin_type(name, args, e.span)?,
            },
            ExprKind::Annotated(a) => self.annotated_type(a),
            ExprKind::List(_) => ValueType::Void,
        })
    }

    /// The type of what an expression stands for, before it is read.
    fn object_type(&self, e: &Expr) -> Result<Type> {
        Ok(match &e.kind {
            ExprKind::Name(n) => self.local_type(self.variable(n, e.span)?),
            ExprKind::Member { base, arrow, name } => {
                let object = match arrow {
                    true => match self.type_of(base)? {
                        ValueType::Pointer(t) => (*t).clone(),
                        _ => return Err(self.error(e.span, "this is no pointer")),
                    },
                    false => self.object_type(base)?,
                };
                self.find_member(&object, name, e.span)?.1
            }
            ExprKind::Unary(UnaryOp::Deref, p) | ExprKind::Index(p, _) => match self.type_of(p)? {
                ValueType::Pointer(t) => (*t).clone(),
                ValueType::Int { .. } if self.is_kernel() => Type::INT,
                _ => return Err(self.error(e.span, "this is no pointer")),
            },
            _ => value_as_type(&self.type_of(e)?),
        })
    }
}

/// The structure that an object is.
fn structure(ty: &Type) -> Option<&Struct> {
    match ty.bare() {
        Type::Struct(s) => Some(s),
        _ => None,
    }
}

fn is_union(ty: &Type) -> bool {
    structure(ty).is_some_and(|s| s.is_union)
}

fn value_as_type(ty: &ValueType) -> Type {
    match ty {
        ValueType::Float { bytes } => Type::Float { bytes: *bytes },
        ValueType::Int { bytes, signed } => Type::Int { bytes: *bytes, signed: *signed },
        ValueType::Bool => Type::Named(litmake_litmus::c::types::BOOL.to_string()),
        ValueType::Pointer(t) => Type::Pointer(t.clone()),
        ValueType::Void => Type::Void,
    }
}

pub(super) fn volatile(object: &Type, tags: Tags) -> Tags {
    if object.is_volatile() { tags | tag::C_VOLATILE } else { tags }
}

/// The comparison of an operator, and whether its operands are swapped.
fn comparison(op: BinaryOp, signed: bool) -> Option<(BinOp, bool)> {
    let (lt, le) = if signed { (BinOp::LtS, BinOp::LeS) } else { (BinOp::LtU, BinOp::LeU) };
    Some(match op {
        BinaryOp::Eq => (BinOp::Eq, false),
        BinaryOp::Ne => (BinOp::Ne, false),
        BinaryOp::Lt => (lt, false),
        BinaryOp::Le => (le, false),
        BinaryOp::Gt => (lt, true),
        BinaryOp::Ge => (le, true),
        _ => return None,
    })
}

fn float_type(lit: &FloatLit) -> ValueType {
    ValueType::Float { bytes: lit.bytes }
}

/// The first of int, long and the 128-bit types, as the constant's spelling allows, that holds
/// it.
pub(crate) fn literal_type(lit: &IntLit) -> ValueType {
    let candidates: [(u8, bool); 6] =
        [(4, true), (4, false), (8, true), (8, false), (16, true), (16, false)];
    for (bytes, signed) in candidates {
        if (lit.unsigned && signed) || (lit.decimal && !lit.unsigned && !signed && bytes < 16) {
            continue;
        }
        if lit.long && bytes < 8 {
            continue;
        }
        let bits = u32::from(bytes) * 8 - u32::from(signed);
        if bits == 128 || lit.value >> bits == 0 {
            return ValueType::Int { bytes, signed };
        }
    }
    ValueType::Int { bytes: 16, signed: false }
}
