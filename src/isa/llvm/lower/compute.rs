//! Computation: arithmetic, comparisons and conversions, lane by lane, and the parts of aggregates and vectors. It does
//! not know memory, nor the formats of numbers in floating point.

use super::super::types::Type;
use super::{Lower, Read, float, lane, one};
use crate::microcode::{Emit, mask};
use litmake_ops::{BinOp, Temp, UnOp};

impl Lower<'_> {
    pub(super) fn cast(&mut self, name: &str) -> Read<Vec<Temp>> {
        self.flags();
        let (from, values) = self.typed()?;
        self.expect("to")?;
        let to = self.ty()?;
        let (Some(bits), Some(wanted)) = (lane(&from), lane(&to)) else {
            return Err(format!("unsupported: `{name}` of aggregates"));
        };
        if from.count() != to.count() {
            let whole = joined(&mut self.e, &values, bits)?;
            return Ok(lanes_of(&mut self.e, whole, &to));
        }
        let one = |value| match name {
            "sext" => Ok(self.e.sign_extend(value, bits, wanted)),
            "sitofp" | "uitofp" | "fptosi" | "fptoui" | "fpext" | "fptrunc" => {
                float::converted(&mut self.e, name, value, &from, &to)
            }
            _ if wanted < bits => Ok(self.e.un(UnOp::ZeroExt { from: wanted }, value, bits)),
            _ => Ok(value),
        };
        values.into_iter().map(one).collect()
    }

    pub(super) fn binary(&mut self, op: BinOp) -> Read<Vec<Temp>> {
        self.flags();
        let (pairs, ty, bits) = self.operands()?;
        let one = |[a, b]: [Temp; 2]| match (op, ty.format()) {
            (BinOp::DivU | BinOp::DivS | BinOp::RemU | BinOp::RemS, _) => {
                self.e.divide(op, a, b, bits)
            }
            (_, Some(format)) => float::bin(&mut self.e, op, a, b, format),
            _ => self.e.bin(op, a, b, bits),
        };
        Ok(pairs.into_iter().map(one).collect())
    }

    pub(super) fn icmp(&mut self) -> Read<Vec<Temp>> {
        self.flags();
        let (op, swapped) = match self.take() {
            "eq" => (BinOp::Eq, false),
            "ne" => (BinOp::Ne, false),
            "ult" => (BinOp::LtU, false),
            "ule" => (BinOp::LeU, false),
            "ugt" => (BinOp::LtU, true),
            "uge" => (BinOp::LeU, true),
            "slt" => (BinOp::LtS, false),
            "sle" => (BinOp::LeS, false),
            "sgt" => (BinOp::LtS, true),
            "sge" => (BinOp::LeS, true),
            other => return Err(format!("expected a comparison such as `eq`, found `{other}`")),
        };
        let (pairs, _, bits) = self.operands()?;
        let one = |[a, b]: [Temp; 2]| {
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            self.e.bin(op, a, b, bits)
        };
        Ok(pairs.into_iter().map(one).collect())
    }

    pub(super) fn fcmp(&mut self) -> Read<Vec<Temp>> {
        self.flags();
        let name = self.take();
        let (pairs, ty, _) = self.operands()?;
        let format = ty.format().ok_or("expected numbers in floating point")?;
        pairs.into_iter().map(|[a, b]| float::compared(&mut self.e, name, a, b, format)).collect()
    }

    /// The sign is a bit, of what is no number, too.
    pub(super) fn fneg(&mut self) -> Read<Vec<Temp>> {
        self.flags();
        let (ty, bits) = self.lanes()?;
        let lanes = self.value(&ty)?.into_iter();
        Ok(lanes.map(|lane| self.e.bin_int(BinOp::Xor, lane, 1 << (bits - 1), bits)).collect())
    }

    pub(super) fn select(&mut self) -> Read<Vec<Temp>> {
        self.flags();
        // One choice for all, or one for each lane.
        let conds = match self.tokens.get(self.pos..) {
            Some(["<", n, "x", "i1", ">", ..]) => {
                self.pos += 5;
                let count = n.parse().map_err(|_| format!("`{n}` is no number of lanes"))?;
                self.value(&Type::Array(count, Box::new(Type::Int(1))))?
            }
            _ => self.typed()?.1,
        };
        self.expect(",")?;
        let (_, yes) = self.typed()?;
        self.expect(",")?;
        let (_, no) = self.typed()?;
        let each = yes.into_iter().zip(no).zip(conds.iter().cycle());
        Ok(each.map(|((y, n), cond)| self.e.select(*cond, y, n)).collect())
    }

    /// The scalars of a part of an aggregate, by the indices that follow. Lanes of a vector are parts, too.
    pub(super) fn part(&mut self, ty: &Type) -> Read<std::ops::Range<usize>> {
        let (mut ty, mut first) = (ty.clone(), 0);
        while self.peek() == "," && !self.behind_instruction() {
            self.pos += 1;
            let index = self.number()? as usize;
            let missing = || format!("the aggregate has no part {index}");
            for before in 0..index.min(ty.parts()) {
                first += ty.part(before).map_or(0, Type::count) as usize;
            }
            ty = ty.part(index).ok_or_else(missing)?.clone();
        }
        Ok(first..first + ty.count() as usize)
    }

    pub(super) fn extractvalue(&mut self) -> Read<Vec<Temp>> {
        let (ty, values) = self.typed()?;
        let part = self.part(&ty)?;
        values.get(part).map(<[Temp]>::to_vec).ok_or_else(|| "expected an aggregate".into())
    }

    pub(super) fn insertvalue(&mut self) -> Read<Vec<Temp>> {
        let (ty, mut values) = self.typed()?;
        self.expect(",")?;
        let (_, new) = self.typed()?;
        let part = self.part(&ty)?;
        if values.get(part.clone()).is_none_or(|old| old.len() != new.len()) {
            return Err("expected a value of the part's type".into());
        }
        values.splice(part, new);
        Ok(values)
    }

    /// The lane that an index tells, which is computed.
    pub(super) fn extractelement(&mut self) -> Read<Temp> {
        let (_, lanes) = self.typed()?;
        self.expect(",")?;
        let (_, index) = self.typed()?;
        let index = one(&index)?;
        let (mut found, rest) = match lanes.split_first() {
            Some((first, rest)) => (*first, rest),
            None => return Err("expected a vector".into()),
        };
        for (i, lane) in rest.iter().enumerate() {
            let here = self.e.bin_int(BinOp::Eq, index, i as u128 + 1, 64);
            found = self.e.select(here, *lane, found);
        }
        Ok(found)
    }

    pub(super) fn insertelement(&mut self) -> Read<Vec<Temp>> {
        let (_, lanes) = self.typed()?;
        self.expect(",")?;
        let (_, new) = self.typed()?;
        self.expect(",")?;
        let (_, index) = self.typed()?;
        let (new, index) = (one(&new)?, one(&index)?);
        let lanes = lanes.into_iter().enumerate();
        let each = lanes.map(|(i, lane)| {
            let here = self.e.bin_int(BinOp::Eq, index, i as u128, 64);
            self.e.select(here, new, lane)
        });
        Ok(each.collect())
    }

    /// Lanes of two vectors, by a list of their numbers.
    pub(super) fn shufflevector(&mut self) -> Read<Vec<Temp>> {
        let (_, mut lanes) = self.typed()?;
        self.expect(",")?;
        lanes.extend(self.typed()?.1);
        self.expect(",")?;
        let list = self.ty()?;
        let mut numbers = vec![0; list.parts()];
        match self.take() {
            "zeroinitializer" | "undef" | "poison" => {}
            "<" => {
                for number in &mut numbers {
                    self.ty()?;
                    *number = match self.take() {
                        "undef" | "poison" => 0,
                        number => number.parse().map_err(|_| format!("no lane `{number}`"))?,
                    };
                    self.eat(",");
                }
                self.expect(">")?;
            }
            other => return Err(format!("expected lanes, found `{other}`")),
        }
        let lane = |n: usize| lanes.get(n).copied().ok_or_else(|| format!("there is no lane {n}"));
        numbers.into_iter().map(lane).collect()
    }
}

/// Lanes as one number; the first lane is the lowest part.
pub(super) fn joined(e: &mut Emit, lanes: &[Temp], bits: u8) -> Read<Temp> {
    if lanes.len() * usize::from(bits) > 128 {
        return Err("unsupported: a vector of more than 16 bytes as a whole".into());
    }
    if let [one] = lanes {
        return Ok(*one);
    }
    let mut whole = e.int(0);
    for lane in lanes.iter().rev() {
        let higher = e.bin_int(BinOp::Shl, whole, u128::from(bits % 128), 128);
        whole = e.bin(BinOp::Or, higher, *lane, 128);
    }
    Ok(whole)
}

/// The lanes of a vector, or the scalar, that has these bits.
pub(super) fn lanes_of(e: &mut Emit, whole: Temp, ty: &Type) -> Vec<Temp> {
    let bits = lane(ty).unwrap_or(128);
    let lane = |i: u64| {
        let low = e.bin_int(BinOp::Shr, whole, u128::from(i) * u128::from(bits), 128);
        e.bin_int(BinOp::And, low, mask(bits), 128)
    };
    (0..ty.count()).map(lane).collect()
}

pub(super) fn binary(name: &str) -> Option<BinOp> {
    Some(match name {
        "add" => BinOp::Add,
        "sub" => BinOp::Sub,
        "mul" => BinOp::Mul,
        "udiv" => BinOp::DivU,
        "sdiv" => BinOp::DivS,
        "urem" => BinOp::RemU,
        "srem" => BinOp::RemS,
        "and" => BinOp::And,
        "or" => BinOp::Or,
        "xor" => BinOp::Xor,
        "shl" => BinOp::Shl,
        "lshr" => BinOp::Shr,
        "ashr" => BinOp::Sar,
        "fadd" => BinOp::FloatAdd,
        "fsub" => BinOp::FloatSub,
        "fmul" => BinOp::FloatMul,
        "fdiv" => BinOp::FloatDiv,
        _ => return None,
    })
}

/// What joins the lanes of a vector of integers (`llvm.vector.reduce.add`).
pub(super) fn reduction(name: &str) -> Option<BinOp> {
    Some(match name {
        "smax" => BinOp::MaxS,
        "smin" => BinOp::MinS,
        "umax" => BinOp::MaxU,
        "umin" => BinOp::MinU,
        "add" | "mul" | "and" | "or" | "xor" => return binary(name),
        _ => return None,
    })
}
