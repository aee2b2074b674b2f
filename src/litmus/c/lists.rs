//! Reads the lists in braces that arrays and structures start with.
//!
//! A list of a structure becomes one value for each value in the structure, in order: members that are named, left
//! out, or have braces of their own are for the eye alone. It does not know what the values mean.

use super::ast::{Expr, ExprKind};
use super::parse::Parser;
use super::structs::count;
use crate::Type;
use litmake_base::diag::{Diag, Result};

impl Parser<'_> {
    /// `{1, 2}`, the list that an object starts with. An array of no given length takes its length from it.
    pub(super) fn list(&mut self, ty: &Type) -> Result<Expr> {
        let start = self.span();
        let all = match ty.bare() {
            Type::Array(..) => self.elements()?,
            Type::Struct(s) if !s.is_union => self.initial(ty, &mut false)?,
            _ => {
                let message = "only arrays and structures start with a list";
                return Err(Diag::at(self.source, start, message)
                    .help("write the value without braces; assign to a member of a union"));
            }
        };
        Ok(Expr::new(ExprKind::List(all), start.to(self.last_span())))
    }

    fn elements(&mut self) -> Result<Vec<Expr>> {
        self.expect("{", "before the elements of an array")?;
        let (mut all, mut goes_on) = (Vec::new(), false);
        while self.has_more(&mut goes_on) {
            all.push(self.assignment()?);
        }
        self.expect("}", "after the elements of an array")?;
        Ok(all)
    }

    /// The values that an object starts with, in order, with zeros for what is left out: a list in braces, whose
    /// parts can name members (`{.b = 2}`), a value, or, for a part of a list without braces of its own, the values
    /// that come next. `goes_on` is whether the list in which it stands has had a value.
    fn initial(&mut self, ty: &Type, goes_on: &mut bool) -> Result<Vec<Expr>> {
        let parts: Vec<&Type> = match ty.bare() {
            Type::Struct(s) => s.members.iter().map(|m| &m.ty).collect(),
            Type::Array(of, n) => vec![of; *n as usize],
            _ => return Ok(vec![self.assignment()?]),
        };
        let mut found: Vec<Option<Vec<Expr>>> = vec![None; parts.len()];
        if self.eat("{") {
            let (mut at, mut goes_on) = (0, false);
            while self.has_more(&mut goes_on) {
                if self.eat(".") {
                    at = self.member_number(ty)?;
                    self.expect("=", "behind the name of a member")?;
                }
                let Some(part) = parts.get(at) else {
                    let message = format!("this list has more than {} parts", parts.len());
                    return Err(Diag::at(self.source, self.span(), message));
                };
                found[at] = Some(self.initial(part, &mut goes_on)?);
                at += 1;
            }
            self.expect("}", "after the last value of a structure")?;
        } else {
            for (k, (part, found)) in parts.iter().zip(&mut found).enumerate() {
                if k == 0 || self.has_more(goes_on) {
                    *found = Some(self.initial(part, goes_on)?);
                }
            }
        }
        let zeros = |ty: &Type| vec![Expr::int(0); count(ty)];
        let all = found.into_iter().zip(parts);
        Ok(all.flat_map(|(found, ty)| found.unwrap_or_else(|| zeros(ty))).collect())
    }

    /// Whether a list has one more value; goes past the comma before it.
    fn has_more(&mut self, goes_on: &mut bool) -> bool {
        let had = std::mem::replace(goes_on, true);
        !self.is("}") && (!had || (self.eat(",") && !self.is("}")))
    }

    /// The place among a structure's members of the one whose name comes next.
    fn member_number(&mut self, ty: &Type) -> Result<usize> {
        let span = self.span();
        let (name, _) = self.name("the name of a member")?;
        let Type::Struct(of) = ty.bare() else {
            return Err(Diag::at(self.source, span, "an array has no members"));
        };
        of.members.iter().position(|m| m.name == name).ok_or_else(|| {
            let message = format!("`{}` has no member `{name}`", of.name());
            let names: Vec<&str> = of.members.iter().map(|m| m.name.as_str()).collect();
            Diag::at(self.source, span, message).help(format!("members are {}", names.join(", ")))
        })
    }
}
