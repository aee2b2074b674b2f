//! Calls: of intrinsics, of `libatomic`, and assembly between instructions. Functions of the module are not among them, for
//! their code stands in their place. It does not know memory, nor what targets have for atomic instructions.

use super::super::types::{self, Float, Type};
use super::{Lower, Read, compute, float, lane};
use crate::microcode::mask;
use litmake_ops::{BinOp, Op, Temp, UnOp, tag};

/// Words that are no attributes of an argument but its value.
const VALUES: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "undef",
    "poison",
    "zeroinitializer",
    "getelementptr",
    "bitcast",
    "ptrtoint",
    "inttoptr",
    "addrspacecast",
];

/// The intrinsics that compute each lane of a vector from the same lane of the arguments.
const LANE_BY_LANE: &[&str] = &[
    "llvm.umax",
    "llvm.umin",
    "llvm.smax",
    "llvm.smin",
    "llvm.ctpop",
    "llvm.bswap",
    "llvm.bitreverse",
    "llvm.ctlz",
    "llvm.fabs",
    "llvm.abs",
    "llvm.fmuladd",
    "llvm.maxnum",
    "llvm.minnum",
    "llvm.maximum",
    "llvm.minimum",
    "llvm.experimental.constrained.fadd",
    "llvm.experimental.constrained.fsub",
    "llvm.experimental.constrained.fmul",
    "llvm.experimental.constrained.fdiv",
];

/// Intrinsics that do nothing that other threads could see.
const SILENT: &[&str] = &[
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.experimental.noalias.scope.decl",
    "llvm.donothing",
    "llvm.invariant.",
    "llvm.var.annotation",
    "llvm.prefetch",
    "llvm.fake.use",
    "llvm.stackrestore",
    "llvm.sideeffect",
    "llvm.pseudoprobe",
];

impl Lower<'_> {
    pub(super) fn call(&mut self) -> Read<Vec<Temp>> {
        // Calling conventions and attributes of what is returned.
        while !types::begins(self.peek()) {
            match self.take() {
                "" => return Err("expected a function".into()),
                "(" => {
                    self.pos -= 1;
                    self.parenthesis()?;
                }
                _ => {}
            }
        }
        let ty = self.ty()?;
        if self.peek() == "(" {
            self.parenthesis()?;
        }
        let name = self.take();
        if name == "asm" {
            return self.asm();
        }
        let Some(name) = name.strip_prefix('@') else {
            return Err("unsupported: a call through a pointer".into());
        };
        if SILENT.iter().any(|silent| name.starts_with(silent)) {
            self.parenthesis()?;
            while self.peek().starts_with('#') || self.peek() == "[" {
                match self.peek() {
                    "[" => self.parenthesis()?,
                    _ => self.pos += 1,
                }
            }
            return Ok(Vec::new());
        }
        self.expect("(")?;
        let mut args: Vec<(Type, Vec<Temp>)> = Vec::new();
        let mut literals: Vec<&str> = Vec::new();
        while !self.eat(")") {
            // How numbers are rounded, and whether someone looks at the flags: nobody does.
            if self.eat("metadata") {
                while !matches!(self.peek(), "," | ")" | "") {
                    self.pos += 1;
                }
                self.eat(",");
                continue;
            }
            let ty = self.ty()?;
            self.attributes()?;
            literals.push(self.peek());
            let value = self.value(&ty)?;
            args.push((ty, value));
            if !self.eat(",") && self.peek() != ")" {
                return Err(format!("expected `,` or `)`, found {}", self.found()));
            }
        }
        self.intrinsic(name, &ty, &args, &literals)
    }

    /// Attributes between the type and the value of an argument.
    fn attributes(&mut self) -> Read<()> {
        loop {
            let token = self.peek();
            let word = token.starts_with(|c: char| c.is_ascii_alphabetic());
            if !word || VALUES.contains(&token) {
                return Ok(());
            }
            self.pos += 1;
            if token == "elementtype" && self.peek() == "(" {
                let bits = self.tokens.get(self.pos + 1).and_then(|t| t.strip_prefix('i'));
                self.element = bits.and_then(|b| b.parse::<u8>().ok()).map(|bits| bits / 8);
            }
            if self.peek() == "(" {
                self.parenthesis()?;
            } else if token == "align" {
                self.pos += 1;
            }
        }
    }

    /// Assembly between instructions. An empty one keeps compilers from moving code across it and
    /// does nothing else.
    fn asm(&mut self) -> Read<Vec<Temp>> {
        while matches!(self.peek(), "sideeffect" | "alignstack" | "inteldialect" | "unwind") {
            self.pos += 1;
        }
        let text = self.take();
        if text != "\"\"" {
            return Err(format!("unsupported: the assembly {text}"));
        }
        self.expect(",")?;
        self.take();
        self.parenthesis()?;
        self.e.op(Op::Fence { tags: tag::C_SIGNAL });
        Ok(Vec::new())
    }

    fn intrinsic(
        &mut self,
        name: &str,
        ty: &Type,
        args: &[(Type, Vec<Temp>)],
        literals: &[&str],
    ) -> Read<Vec<Temp>> {
        let arg = |i: usize| args.get(i).ok_or("too few arguments").and_then(|(_, v)| first(v));
        let starts = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
        // Without the types: `llvm.maxnum` of `llvm.maxnum.f32`.
        let words = match name.split('.').nth(1) {
            Some("experimental" | "vector") => 3,
            _ => 1,
        };
        let base = name.match_indices('.').nth(words).map_or(name, |(at, _)| &name[..at]);
        if let Type::Vector(n, of) = ty
            && LANE_BY_LANE.contains(&base)
        {
            let mut lanes = Vec::new();
            for i in 0..*n as usize {
                let lane = |(_, values): &(Type, Vec<Temp>)| {
                    Some(((**of).clone(), vec![*values.get(i).or(values.first())?]))
                };
                let args: Vec<_> = args.iter().filter_map(lane).collect();
                lanes.extend(self.intrinsic(name, of, &args, literals)?);
            }
            return Ok(lanes);
        }
        let bits = lane(ty).unwrap_or(self.pointer);
        let plain = [
            ("llvm.umax.", BinOp::MaxU),
            ("llvm.umin.", BinOp::MinU),
            ("llvm.smax.", BinOp::MaxS),
            ("llvm.smin.", BinOp::MinS),
        ];
        if let Some((_, op)) = plain.iter().find(|(p, _)| name.starts_with(p)) {
            return Ok(vec![self.e.bin(*op, arg(0)?, arg(1)?, bits)]);
        }
        let unary = [
            ("llvm.ctpop.", UnOp::PopCount),
            ("llvm.bswap.", UnOp::ByteSwap),
            ("llvm.bitreverse.", UnOp::BitReverse),
            ("llvm.ctlz.", UnOp::Clz),
        ];
        if let Some((_, op)) = unary.iter().find(|(p, _)| name.starts_with(p)) {
            return Ok(vec![self.e.un(*op, arg(0)?, bits)]);
        }
        if starts(&[
            "llvm.expect.",
            "llvm.launder.",
            "llvm.strip.",
            "llvm.ssa.copy",
            "llvm.threadlocal.address",
        ]) {
            return Ok(vec![arg(0)?]);
        }
        if starts(&["llvm.fabs."]) {
            return Ok(vec![self.e.bin_int(BinOp::And, arg(0)?, mask(bits - 1), bits)]);
        }
        if let Some(format) = ty.format()
            && let Some(value) = self.of_numbers(base, format, args)?
        {
            return Ok(vec![value]);
        }
        if base.starts_with("llvm.experimental.constrained.") {
            let plain = name.replacen("experimental.constrained.", "", 1);
            return self.intrinsic(&plain, ty, args, literals);
        }
        if let Some(op) = base.strip_prefix("llvm.vector.reduce.")
            && let (Some(op), Some((_, [first, rest @ ..]))) =
                (compute::reduction(op), args.first().map(|(ty, lanes)| (ty, &lanes[..])))
        {
            return Ok(vec![rest.iter().fold(*first, |a, b| self.e.bin(op, a, *b, bits))]);
        }
        if base == "llvm.ptrmask" {
            // A mask of fewer bits than a pointer leaves those above it.
            let width = args.get(1).and_then(|(ty, _)| lane(ty)).unwrap_or(self.pointer);
            let above = mask(self.pointer) & !mask(width);
            let kept = self.e.bin_int(BinOp::Or, arg(1)?, above, self.pointer);
            return Ok(vec![self.e.bin(BinOp::And, arg(0)?, kept, self.pointer)]);
        }
        if starts(&["llvm.abs."]) {
            let (a, zero) = (arg(0)?, self.e.int(0));
            let negative = self.e.un(UnOp::Neg, a, bits);
            let below = self.e.bin(BinOp::LtS, a, zero, bits);
            return Ok(vec![self.e.select(below, negative, a)]);
        }
        if starts(&["llvm.memcpy.", "llvm.memmove.", "llvm.memset."]) {
            self.memory(name, arg(0)?, arg(1)?, literals)?;
            return Ok(Vec::new());
        }
        if let Some(operation) = name.strip_prefix("__atomic_") {
            return self.library(operation, ty, args, literals);
        }
        let values: Vec<Vec<Temp>> = args.iter().map(|(_, values)| values.clone()).collect();
        if let Some(values) = self.of_target(name, &values, literals)? {
            return Ok(values);
        }
        match name.starts_with("llvm.") {
            true => Err(format!("unsupported: the intrinsic `{name}`")),
            false => Err(format!("unsupported: a call of `{name}`, which is no function here")),
        }
    }

    /// The result of an intrinsic that computes with numbers in floating point; `None` if the name is of none.
    fn of_numbers(
        &mut self,
        name: &str,
        format: Float,
        args: &[(Type, Vec<Temp>)],
    ) -> Read<Option<Temp>> {
        let arg = |i: usize| args.get(i).ok_or("too few arguments").and_then(|(_, v)| first(v));
        let greater = matches!(name, "llvm.maxnum" | "llvm.maximum");
        Ok(Some(match name {
            // It may be rounded once or twice.
            "llvm.fmuladd" => {
                let product = float::bin(&mut self.e, BinOp::FloatMul, arg(0)?, arg(1)?, format);
                float::bin(&mut self.e, BinOp::FloatAdd, product, arg(2)?, format)
            }
            "llvm.maxnum" | "llvm.minnum" => {
                float::extreme(&mut self.e, greater, arg(0)?, arg(1)?, format)
            }
            "llvm.maximum" | "llvm.minimum" => {
                float::strict_extreme(&mut self.e, greater, arg(0)?, arg(1)?, format)
            }
            _ => {
                let constrained = name.strip_prefix("llvm.experimental.constrained.");
                match constrained.and_then(compute::binary) {
                    Some(op) => float::bin(&mut self.e, op, arg(0)?, arg(1)?, format),
                    None => return Ok(None),
                }
            }
        }))
    }
}

fn first(values: &[Temp]) -> Result<Temp, &'static str> {
    match values {
        [one] => Ok(*one),
        _ => Err("unsupported: an argument that is an aggregate"),
    }
}
