//! The part of a test behind its code: `locations`, `filter`, and the condition.

use std::sync::Arc;

use super::scan::Scanner;
use super::state::{At, array, place, thread_prefix, unsupported, value};
use super::types;
use super::{Arch, CmpOp, Condition, Observed, Operand, Place, Prop, Quantifier, Value};
use litmake_base::diag::{Result, Span};

/// Words that end the code of a test.
pub const FINAL_WORDS: &[&str] =
    &["exists", "forall", "locations", "filter", "final", "observed", "Observed"];

/// Propositions nested deeper than this are an error.
pub const MAX_DEPTH: usize = 128;

/// Propositions with more comparisons than this are an error.
const MAX_ATOMS: usize = 1 << 16;

/// Everything behind the code.
#[derive(Debug)]
pub struct Final {
    pub locations: Vec<Observed>,
    pub filter: Option<Prop>,
    pub condition: Condition,
}

/// Whether the final section begins here.
pub fn at_final(s: &Scanner) -> bool {
    match s.peek() {
        Some(b'~') => true,
        Some(b) if b.is_ascii_alphabetic() => match s.peek_word() {
            // `not` alone is an instruction of x86.
            "not" => {
                let mut ahead = s.clone();
                ahead.pos += 3;
                ahead.blanks().is_ok() && ahead.peek_word() == "exists"
            }
            word => FINAL_WORDS.contains(&word),
        },
        _ => false,
    }
}

/// Reads to the end of the text. Blanks before it have been taken.
pub fn read(s: &mut Scanner, arch: Arch, threads: usize) -> Result<Final> {
    let mut reader = Reader { s, arch, threads, depth: 0, atoms: 0 };
    let mut locations = Vec::new();
    if reader.word("locations")? {
        locations = reader.locations()?;
    }
    let mut filter = None;
    if reader.word("filter")? {
        filter = Some(reader.whole()?);
    }
    let condition = reader.condition()?;
    reader.s.eat(b';');
    reader.s.blanks()?;
    if reader.word("with")? {
        reader.kinds()?;
    }
    // Behind `<<`, herd's relatives keep settings of machines.
    if !reader.s.at_end() && !reader.s.eat_text("<<") {
        let help = match reader.s.peek_word() {
            "locations" | "filter" => "`locations` and `filter` come before the condition",
            _ => "a test ends with its condition",
        };
        return Err(reader.s.expected("the end of the test, or `/\\`, `\\/` or `=>`").help(help));
    }
    Ok(Final { locations, filter, condition })
}

/// How many levels a proposition has at most as it is printed.
fn levels(prop: &Prop) -> usize {
    match prop {
        Prop::True | Prop::False => 1,
        // `x!=1` is printed as `not (x=1)`.
        Prop::Cmp(..) => 2,
        Prop::Not(p) => 1 + levels(p),
        Prop::And(ps) | Prop::Or(ps) => 1 + ps.iter().map(levels).max().unwrap_or(0),
        Prop::Implies(p, q) => 1 + levels(p).max(levels(q)),
    }
}

struct Reader<'s, 'a> {
    s: &'s mut Scanner<'a>,
    arch: Arch,
    threads: usize,
    depth: usize,
    atoms: usize,
}

impl Reader<'_, '_> {
    /// Takes a whole word and the blanks behind it, where it is next.
    fn word(&mut self, word: &str) -> Result<bool> {
        if self.s.peek() != word.bytes().next() || self.s.peek_word() != word {
            return Ok(false);
        }
        self.s.pos += word.len();
        self.s.blanks()?;
        Ok(true)
    }

    fn locations(&mut self) -> Result<Vec<Observed>> {
        let open = self.s.pos;
        self.s.expect(b'[', "behind `locations`")?;
        let mut items = Vec::new();
        while self.s.peek() != Some(b']') {
            if self.s.at_end() {
                return Err(self
                    .s
                    .error(Span::new(open, open + 1), "`locations [` is not closed")
                    .help("write `]` where it ends"));
            }
            if self.s.eat(b';') {
                self.s.blanks()?;
                continue;
            }
            items.push(self.observed()?);
            if !matches!(self.s.peek(), Some(b';' | b']')) {
                return Err(self.s.expected("`;` or `]` behind a location"));
            }
        }
        self.s.expect(b']', "behind the locations")?;
        Ok(items)
    }

    /// A place of this test.
    fn place(&mut self) -> Result<Place> {
        let start = self.s.pos;
        let place = place(self.s)?;
        if let Place::Reg { thread, .. } = place
            && thread >= self.threads
        {
            let span = Span::new(start, trimmed(self.s, start));
            return Err(super::no_such_thread(self.s.source, span, thread, self.threads));
        }
        Ok(place)
    }

    /// A place and the type that it is to be read as: `0:X1`, `x int*`, `y[1]`.
    fn observed(&mut self) -> Result<Observed> {
        let start = self.s.pos;
        let place = self.place()?;
        let type_start = self.s.pos;
        let mut tokens = Vec::new();
        loop {
            let here = self.s.pos;
            if self.s.eat(b'*') {
                tokens.push("*");
            } else if let Some(word) = self.s.name() {
                tokens.push(word);
            } else {
                break;
            }
            debug_assert!(self.s.pos > here);
            self.s.blanks()?;
            if tokens.len() > types::MAX_TYPE_TOKENS {
                break;
            }
        }
        let end = trimmed(self.s, start);
        let ty = match tokens.first() {
            None => None,
            Some(&"*") => Some(
                tokens.iter().fold(super::Type::Void, |t, _| super::Type::Pointer(Arc::new(t))),
            ),
            Some(_) => Some(
                types::from_tokens(&tokens, self.arch)
                    .map_err(|m| self.s.error(Span::new(type_start, end), m))?,
            ),
        };
        Ok(Observed { place, ty, span: Span::new(start, end) })
    }

    fn condition(&mut self) -> Result<Condition> {
        let start = self.s.pos;
        let quantifier = if self.s.eat(b'~') || self.word("not")? {
            self.s.blanks()?;
            if !self.word("exists")? {
                return Err(self.s.expected("`exists` behind `~`"));
            }
            Quantifier::NotExists
        } else if self.word("exists")? || self.word("final")? {
            Quantifier::Exists
        } else if self.word("forall")? {
            Quantifier::Forall
        } else if self.word("observed")? || self.word("Observed")? {
            let prop = self.sightings()?;
            let end = trimmed(self.s, start);
            return Ok(Condition {
                quantifier: Quantifier::Exists,
                prop,
                span: Span::new(start, end),
            });
        } else if self.s.at_end() {
            // As in herd, a test that asks nothing is always right.
            return Ok(Condition {
                quantifier: Quantifier::Forall,
                prop: Prop::True,
                span: Span::new(start, start),
            });
        } else if self.s.peek() == Some(b'(') {
            Quantifier::Exists
        } else {
            return Err(self
                .s
                .expected("`exists`, `~exists` or `forall`")
                .help("a test ends with its condition, as in `exists (0:X0=1 /\\ x=2)`"));
        };
        let prop = self.whole()?;
        let end = trimmed(self.s, start);
        Ok(Condition { quantifier, prop, span: Span::new(start, end) })
    }

    /// `observed 0:X0=1; x=2; and 0:X0=2; ...`: states that were seen.
    fn sightings(&mut self) -> Result<Prop> {
        let mut states = Vec::new();
        loop {
            let mut atoms = Vec::new();
            while !self.s.at_end() && !matches!(self.s.peek_word(), "and" | "with") {
                atoms.push(self.atom()?);
                self.s.expect(b';', "behind a value of a state")?;
            }
            states.push(super::and(atoms));
            if !self.word("and")? {
                return Ok(super::or(states));
            }
        }
    }

    /// `with Name: exists; ...`: verdicts expected under other models; they are not kept.
    fn kinds(&mut self) -> Result<()> {
        // Old tests end with orders for a printer, in `<<` and `>>`.
        while !self.s.at_end() && self.s.peek() != Some(b'<') {
            if self.s.name().is_none() {
                return Err(self.s.expected("the name of a model behind `with`"));
            }
            self.s.blanks()?;
            self.s.expect(b':', "behind the model's name")?;
            if self.s.eat(b'~') || self.word("not")? {
                self.s.blanks()?;
            }
            if !(self.word("exists")? || self.word("forall")?) {
                return Err(self.s.expected("`exists`, `~exists` or `forall`"));
            }
            if !self.s.eat(b';') {
                break;
            }
            self.s.blanks()?;
        }
        Ok(())
    }

    /// `\/` binds weakest, then `/\`, then `=>` (to the right), then `not`: herd's order.
    fn prop(&mut self) -> Result<Prop> {
        let first = self.conjunction()?;
        if self.s.peek() != Some(b'\\') {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.s.eat_text("\\/") {
            self.s.blanks()?;
            parts.push(self.conjunction()?);
        }
        Ok(super::or(parts))
    }

    /// Reads a whole proposition. It is refused if it could not be read again once it is printed in
    /// parentheses.
    fn whole(&mut self) -> Result<Prop> {
        let start = self.s.pos;
        let prop = self.prop()?;
        if levels(&prop) < MAX_DEPTH {
            return Ok(prop);
        }
        self.s.pos = start;
        Err(self.too_deep())
    }

    fn conjunction(&mut self) -> Result<Prop> {
        let first = self.implication()?;
        if self.s.peek() != Some(b'/') {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.s.eat_text("/\\") {
            self.s.blanks()?;
            parts.push(self.implication()?);
        }
        Ok(super::and(parts))
    }

    fn implication(&mut self) -> Result<Prop> {
        // The part behind `=>` lies one level deeper in the tree.
        let depth = self.depth;
        let first = self.unary()?;
        if self.s.peek() != Some(b'=') {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.s.eat_text("=>") {
            self.s.blanks()?;
            self.depth += 1;
            parts.push(self.unary()?);
        }
        self.depth = depth;
        let mut prop = parts.pop().unwrap_or(Prop::True);
        while let Some(left) = parts.pop() {
            prop = Prop::Implies(Box::new(left), Box::new(prop));
        }
        Ok(prop)
    }

    #[cold]
    fn too_deep(&self) -> Box<litmake_base::diag::Diag> {
        self.s
            .error(self.s.here(), "this proposition is nested too deeply")
            .help(format!("at most {MAX_DEPTH} levels are read"))
    }

    fn unary(&mut self) -> Result<Prop> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let prop = if self.s.eat(b'~') || self.word("not")? {
            self.s.blanks()?;
            // A parenthesis behind it is no level of its own: printing adds it.
            let open = self.s.peek() == Some(b'(');
            Prop::Not(Box::new(if open { self.group()? } else { self.unary()? }))
        } else if self.s.peek() == Some(b'(') {
            self.group()?
        } else if self.word("true")? {
            Prop::True
        } else if self.word("false")? {
            Prop::False
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(prop)
    }

    /// Reads a proposition in parentheses.
    fn group(&mut self) -> Result<Prop> {
        let start = self.s.pos;
        self.s.pos += 1;
        self.s.blanks()?;
        let inner = self.prop()?;
        if !self.s.eat(b')') {
            let diag = self.s.expected("`)`, `/\\`, `\\/` or `=>`");
            let rest = self.s.rest();
            let is = |words: [&str; 2]| words.iter().any(|word| rest.starts_with(word.as_bytes()));
            return Err(diag.help(match () {
                () if is(["and", "&"]) => "`and` is written `/\\`".to_string(),
                () if is(["or", "|"]) => "`or` is written `\\/`".to_string(),
                () => format!("the parenthesis opened at {}", self.at(start)),
            }));
        }
        self.s.blanks()?;
        Ok(inner)
    }

    fn at(&self, offset: usize) -> String {
        let (line, col) = self.s.source.line_col(offset);
        format!("line {line}, column {col}")
    }

    fn atom(&mut self) -> Result<Prop> {
        self.atoms += 1;
        if self.atoms > MAX_ATOMS {
            return Err(self.s.error(self.s.here(), "this condition has too many comparisons"));
        }
        if !matches!(self.s.peek(), Some(b'[' | b'*'))
            && !self.s.at_int()
            && !self.s.peek().is_some_and(super::scan::is_name_start)
        {
            return Err(self.s.expected("a proposition, such as `0:X1=1`, `x=2` or `not (...)`"));
        }
        let start = self.s.pos;
        if matches!(self.s.peek_word(), "fault" | "Fault") {
            self.s.pos += 5;
            return Err(unsupported(self.s, self.s.span_from(start), "faults"));
        }
        let left = self.place()?;
        let op = self.operator()?;
        if self.s.peek() == Some(b'{') {
            return self.array_content(start, left, op);
        }
        Ok(Prop::Cmp(left, op, self.operand()?))
    }

    fn operator(&mut self) -> Result<CmpOp> {
        const OPERATORS: &[(&str, CmpOp)] = &[
            ("==", CmpOp::Eq),
            ("=", CmpOp::Eq),
            ("!=", CmpOp::Ne),
            ("<>", CmpOp::Ne),
            ("<=", CmpOp::Le),
            ("<", CmpOp::Lt),
            (">=", CmpOp::Ge),
            (">", CmpOp::Gt),
        ];
        if !self.s.rest().starts_with(b"=>") {
            for (text, op) in OPERATORS {
                if self.s.eat_text(text) {
                    self.s.blanks()?;
                    return Ok(*op);
                }
            }
        }
        Err(self.s.expected("`=`, `!=` or another comparison"))
    }

    fn operand(&mut self) -> Result<Operand> {
        if matches!(self.s.peek(), Some(b'[' | b'*')) {
            return Ok(Operand::Place(self.place()?));
        }
        let start = self.s.pos;
        if let Some((_, span)) = thread_prefix(self.s)? {
            if self.s.at_int() {
                return Err(unsupported(self.s, span, "capabilities"));
            }
            self.s.pos = start;
            return Ok(Operand::Place(self.place()?));
        }
        Ok(Operand::Value(value(self.s, At::Condition)?))
    }

    /// `x={0,1}`: the content of a whole array.
    fn array_content(&mut self, start: usize, left: Place, op: CmpOp) -> Result<Prop> {
        let open = self.s.pos;
        let Place::Mem { name, index: None } = left else {
            return Err(unsupported(self.s, Span::new(start, open), "vector registers"));
        };
        if self.s.peek_at(1) == Some(b':') {
            return Err(unsupported(self.s, self.s.here(), "memory tags"));
        }
        let values = array(self.s, At::Condition)?;
        self.atoms += values.len();
        let all = Prop::Cmp(Place::Mem { name, index: None }, CmpOp::Eq, Operand::Array(values));
        match op {
            CmpOp::Eq => Ok(all),
            CmpOp::Ne => Ok(Prop::Not(Box::new(all))),
            _ => Err(self
                .s
                .error(self.s.span_from(open), "arrays can be equal or not, and have no order")),
        }
    }
}

/// The end of what was read, without the blanks behind it.
fn trimmed(s: &Scanner, start: usize) -> usize {
    let mut end = s.pos;
    while end > start && s.bytes()[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    end
}

/// Turns `1:L0` in a condition, where L0 is a label of thread 1, into that label.
pub fn resolve_labels(prop: &mut Prop, is_label: &dyn Fn(usize, &str) -> bool) {
    match prop {
        Prop::Cmp(_, _, operand) => {
            if let Operand::Place(Place::Reg { thread, name }) = operand
                && is_label(*thread, name)
            {
                *operand = Operand::Value(Value::Label {
                    thread: Some(*thread),
                    name: std::mem::take(name),
                });
            }
        }
        Prop::Not(p) => resolve_labels(p, is_label),
        Prop::And(ps) | Prop::Or(ps) => ps.iter_mut().for_each(|p| resolve_labels(p, is_label)),
        Prop::Implies(p, q) => {
            resolve_labels(p, is_label);
            resolve_labels(q, is_label);
        }
        Prop::True | Prop::False => {}
    }
}
