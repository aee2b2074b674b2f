//! Reading barriers: the domains of DMB and DSB, and the coprocessor writes of Armv6.
//!
//! It does not know what they order.

use super::insn::Kind;
use super::parse::Parser;
use crate::lex::{Cursor, Tok};
use litmake_base::diag::{Diag, Result};
use litmake_ops::{Tags, tag};

impl Parser<'_, '_> {
    pub fn barrier(&mut self, options: &[(&str, Tags)]) -> Result<Tags> {
        if self.cursor.at_end() {
            return Ok(options[0].1);
        }
        let at = self.cursor.clone();
        let found = match self.cursor.take() {
            Tok::Word(word) => options.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)),
            _ => None,
        };
        found.map(|(_, tags)| *tags).ok_or_else(|| {
            let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
            at.expected(&format!("a barrier's domain ({})", names.join(", ")))
        })
    }

    /// The barriers of Armv6: `mcr p15, 0, r0, c7, c10, 5`.
    pub fn mcr(&mut self) -> Result<Kind> {
        let refused = |at: &Cursor| -> Box<Diag> {
            at.fail_line("this coprocessor write is not a barrier").help(
                "known are `p15, 0, Rt, c7, c10, 5` (DMB), `c7, c10, 4` (DSB) and `c7, c5, 4` (ISB)",
            )
        };
        // Disassemblers leave the `p` out.
        if !matches!(self.cursor.take(), Tok::Word("p15" | "P15") | Tok::Num(15)) {
            return Err(refused(&self.cursor));
        }
        self.cursor.comma()?;
        if self.cursor.int()? != 0 {
            return Err(refused(&self.cursor));
        }
        self.cursor.comma()?;
        self.reg()?;
        self.cursor.comma()?;
        let at = self.cursor.clone();
        let Tok::Word(n) = self.cursor.take() else {
            return Err(at.expected("a coprocessor register"));
        };
        self.cursor.comma()?;
        let at = self.cursor.clone();
        let Tok::Word(m) = self.cursor.take() else {
            return Err(at.expected("a coprocessor register"));
        };
        let mut op = 0;
        if self.cursor.eat(',') {
            let braces = self.cursor.eat('{');
            op = self.cursor.int()?;
            if braces {
                self.cursor.expect('}')?;
            }
        }
        let bare = |name: &str| name.to_ascii_lowercase().replace(['c', 'r'], "");
        match (bare(n).as_str(), bare(m).as_str(), op) {
            ("7", "10", 5) => Ok(Kind::Fence(tag::DMB)),
            ("7", "10", 4) => Ok(Kind::Fence(tag::DSB)),
            ("7", "5", 4) => Ok(Kind::Fence(tag::ISB)),
            _ => Err(refused(&self.cursor)),
        }
    }
}
