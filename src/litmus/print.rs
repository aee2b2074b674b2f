//! The text of places, values, initialisations and propositions, in herd's own style, so that
//! a printed condition compares equal to herd's as text.

use std::fmt::Write;

use super::c::ast::FloatLit;
use super::{
    Arch, CmpOp, Condition, InitItem, InitValue, Operand, Place, Prop, Quantifier, Type, Value,
};

/// `0:X1`, `[x]` or `x[1]`, as conditions and final states show places.
pub fn place_brackets(place: &Place) -> String {
    match place {
        Place::Mem { name, index: None } => ["[", name, "]"].concat(),
        place => place.to_string(),
    }
}

/// An integer so that herd reads it: past 31 bits (63 in some dialects) it takes hexadecimal
/// digits only.
fn int_text(n: i128) -> String {
    if n > i32::MAX as i128 { format!("{n:#x}") } else { n.to_string() }
}

/// A value in an initial state: `1`, `x`, `x[2]`, `P0:L1`.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Int(n) => int_text(*n),
        Value::Addr { name, index } => {
            // By themselves these words would be something else.
            let and = if matches!(&**name, "NOP" | "nop" | "ATOMIC_INIT") { "&" } else { "" };
            match index {
                0 => [and, name].concat(),
                index => format!("{and}{name}[{index}]"),
            }
        }
        Value::Label { thread: Some(thread), name } => format!("P{thread}:{name}"),
        Value::Label { thread: None, name } => name.clone(),
    }
}

/// An initialisation without the `;` behind it.
pub fn init_text(item: &InitItem) -> String {
    let mut out = String::new();
    match &item.ty {
        Some(Type::Array(elem, n)) => {
            let _ = write!(out, "{} {}[{n}]", super::types::text(elem), item.place);
        }
        Some(ty) => {
            let _ = write!(out, "{} {}", super::types::text(ty), item.place);
        }
        None => {
            let _ = write!(out, "{}", item.place);
        }
    }
    let ty = item.ty.as_ref().map(Type::bare);
    let element = match ty {
        Some(Type::Array(element, _)) => Some(element.bare()),
        ty => ty,
    };
    let value_text = |value: &Value| match (element, value) {
        (Some(Type::Float { bytes }), Value::Int(n)) => {
            FloatLit { bits: *n as u64, bytes: *bytes }.to_string()
        }
        _ => value_text(value),
    };
    match &item.value {
        None => {}
        Some(InitValue::One(v)) => {
            let _ = write!(out, "={}", value_text(v));
        }
        Some(InitValue::Array(vs)) => {
            let texts: Vec<String> = vs.iter().map(value_text).collect();
            let _ = write!(out, "={{{}}}", texts.join(","));
        }
    }
    out
}

/// The condition as a log shows it, `exists (...)`, with places named by `name`:
/// [`place_brackets`], or one that gives registers their canonical names. Integers are shown
/// as signed, as herd does, in 32 bits or 64.
pub fn condition_text(
    condition: &Condition,
    arch: Arch,
    name: &dyn Fn(&Place) -> String,
) -> String {
    let narrow = matches!(arch, Arch::Arm | Arch::X86);
    let printer = Printer {
        name,
        int: &|n| match (u32::try_from(n), u64::try_from(n)) {
            (Ok(n), _) if narrow => (n as i32).to_string(),
            (_, Ok(n)) => (n as i64).to_string(),
            _ => n.to_string(),
        },
    };
    printer.condition(condition)
}

/// The condition as a test has it: what is read back is the same.
pub fn condition_source(condition: &Condition) -> String {
    SOURCE.condition(condition)
}

/// A proposition as a test has it, without parentheses around it.
pub fn prop_source(prop: &Prop) -> String {
    let mut out = String::new();
    SOURCE.prop(prop, Above::Top, &mut out);
    out
}

const SOURCE: Printer = Printer { name: &place_brackets, int: &int_text };

#[derive(Clone, Copy, PartialEq)]
enum Above {
    Top,
    And,
    Or,
    /// Left and right of `=>`, which groups to the right.
    Left,
    Right,
}

struct Printer<'a> {
    name: &'a dyn Fn(&Place) -> String,
    int: &'a dyn Fn(i128) -> String,
}

impl Printer<'_> {
    fn condition(&self, condition: &Condition) -> String {
        let word = match condition.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        };
        let mut out = String::with_capacity(64);
        out.push_str(word);
        out.push_str(" (");
        self.prop(&condition.prop, Above::Top, &mut out);
        out.push(')');
        out
    }

    fn value(&self, value: &Value) -> String {
        match value {
            Value::Int(n) => (self.int)(*n),
            // A bare `P0:L1` would be a register here.
            Value::Label { thread: Some(_), .. } => format!("label:\"{}\"", value_text(value)),
            value => value_text(value),
        }
    }

    fn prop(&self, prop: &Prop, above: Above, out: &mut String) {
        match prop {
            Prop::True => out.push_str("true"),
            Prop::False => out.push_str("false"),
            Prop::Cmp(left, op, right) => self.comparison(left, *op, right, out),
            Prop::Not(p) => {
                out.push_str("not (");
                self.prop(p, Above::Top, out);
                out.push(')');
            }
            Prop::And(ps) => match ps.as_slice() {
                [] => out.push_str("true"),
                [p] => self.prop(p, above, out),
                ps => {
                    let open = matches!(above, Above::Left | Above::Right);
                    self.list(ps, " /\\ ", Above::And, open, out);
                }
            },
            Prop::Or(ps) => match ps.as_slice() {
                [] => out.push_str("false"),
                [p] => self.prop(p, above, out),
                ps => {
                    let open = !matches!(above, Above::Top | Above::Or);
                    self.list(ps, " \\/ ", Above::Or, open, out);
                }
            },
            Prop::Implies(p, q) => {
                let open = !matches!(above, Above::Top | Above::Right);
                if open {
                    out.push('(');
                }
                self.prop(p, Above::Left, out);
                out.push_str(" => ");
                self.prop(q, Above::Right, out);
                if open {
                    out.push(')');
                }
            }
        }
    }

    fn list(&self, ps: &[Prop], op: &str, above: Above, open: bool, out: &mut String) {
        if open {
            out.push('(');
        }
        for (i, p) in ps.iter().enumerate() {
            if i > 0 {
                out.push_str(op);
            }
            self.prop(p, above, out);
        }
        if open {
            out.push(')');
        }
    }

    fn comparison(&self, left: &Place, op: CmpOp, right: &Operand, out: &mut String) {
        let sign = match op {
            CmpOp::Eq | CmpOp::Ne => "=",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        };
        // herd knows `x!=1` as the negation of `x=1`, and prints that.
        if op == CmpOp::Ne {
            out.push_str("not (");
        }
        match right {
            Operand::Array(_) => out.push_str(&left.to_string()),
            _ => out.push_str(&(self.name)(left)),
        }
        out.push_str(sign);
        match right {
            Operand::Value(v) => out.push_str(&self.value(v)),
            Operand::Array(vs) => {
                let texts: Vec<String> = vs.iter().map(|v| self.value(v)).collect();
                let _ = write!(out, "{{{}}}", texts.join(","));
            }
            // A bare `x[1]` on this side would be an address.
            Operand::Place(p @ Place::Mem { index: Some(_), .. }) => {
                let _ = write!(out, "[{}]", (self.name)(p));
            }
            Operand::Place(p) => out.push_str(&(self.name)(p)),
        }
        if op == CmpOp::Ne {
            out.push(')');
        }
    }
}
