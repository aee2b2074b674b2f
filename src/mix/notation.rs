//! Reads and writes the paper's notation of mixes: `(c1(P0_0); c2(P0_1)) || (c1(P1_0))`.
//!
//! A part is in brackets after the profile that compiles it. This module knows only the names of
//! profiles.

use super::{By, Split};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};

/// A mix as text; `name` gives the profile of each part. Parts that no other thread can observe are
/// left out.
pub fn notation(split: &Split, name: &dyn Fn(usize) -> String) -> String {
    if split.whole {
        return format!("{}({})", name(0), split.pieces[0].name);
    }
    let threads: Vec<String> = (0..split.threads.len())
        .map(|t| {
            let parts: Vec<String> = (0..split.pieces.len())
                .filter(|i| split.pieces[*i].thread == t && split.pieces[*i].chosen)
                .map(|i| format!("{}({})", name(i), split.pieces[i].name))
                .collect();
            format!("({})", parts.join("; "))
        })
        .collect();
    threads.join(" || ")
}

/// A mix that a user wrote.
#[derive(Clone, Debug)]
pub struct Written {
    text: Source,
    parts: Vec<Part>,
}

/// A part of the test with the profile that compiles it.
#[derive(Clone, Debug)]
struct Part {
    profile: String,
    profile_span: Span,
    name: String,
    span: Span,
    /// The index of the thread in whose brackets it is.
    group: usize,
}

impl Written {
    /// Reads a mix.
    pub fn read(text: &Source) -> Result<Written> {
        let mut reader = Reader { text, at: 0 };
        let mut parts = Vec::new();
        let mut group = 0;
        loop {
            reader.thread(group, &mut parts)?;
            if reader.peek().is_none() {
                break;
            }
            reader.expect("||", "`||` and another thread, or the end")?;
            group += 1;
        }
        if parts.is_empty() {
            return Err(reader.error("the mix has no parts").help(FORM));
        }
        let written = Written { text: text.clone(), parts };
        written.by()?;
        Ok(written)
    }

    /// How the test is taken apart, from the names of the parts: `P0_1` is a statement, `P0` a
    /// thread, and `P0 || P1` the whole test.
    pub fn by(&self) -> Result<By> {
        let of = |part: &Part| match (part.name.contains("||"), part.name.contains('_')) {
            (true, _) => By::Whole,
            (false, true) => By::Instruction,
            (false, false) => By::Thread,
        };
        let first = of(&self.parts[0]);
        match self.parts.iter().find(|part| of(part) != first) {
            None => Ok(first),
            Some(other) => Err(self
                .at(
                    other.span,
                    format!(
                        "`{}` and `{}` are not made by one way of taking tests apart",
                        self.parts[0].name, other.name
                    ),
                )
                .help("name statements (`P0_0`), threads (`P0`), or the whole test (`P0 || P1`)")),
        }
    }

    /// The profiles as written, each once, with the place of its first use.
    pub fn names(&self) -> Vec<(&str, Span)> {
        let mut out: Vec<(&str, Span)> = Vec::new();
        for part in &self.parts {
            if !out.iter().any(|(name, _)| *name == part.profile) {
                out.push((&part.profile, part.profile_span));
            }
        }
        out
    }

    /// The profile of each part: one of these names, or a position in their order (`A` or `c1` is
    /// the first).
    pub fn profiles(&self, known: &[String]) -> Result<Vec<usize>> {
        self.parts.iter().map(|part| self.profile(part, known)).collect()
    }

    fn profile(&self, part: &Part, known: &[String]) -> Result<usize> {
        let name = &part.profile;
        if let Some(i) = known.iter().position(|k| k == name) {
            return Ok(i);
        }
        let all = match known {
            [one] => format!("there is `{one}`"),
            many => format!("there are `{}`", many.join("`, `")),
        };
        match place(name) {
            Some(i) if i < known.len() => Ok(i),
            Some(i) => {
                let message = format!("`{name}` stands for profile {}", i + 1);
                let message = match known.len() {
                    1 => format!("{message}, and there is one"),
                    n => format!("{message}, and there are {n}"),
                };
                Err(self.at(part.profile_span, message).help(all))
            }
            None => {
                let help = match nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => all,
                };
                let message = format!("there is no profile `{name}` to mix");
                Err(self.at(part.profile_span, message).help(help))
            }
        }
    }

    /// The profile of each part of a test. `profiles` are those of the written parts. Parts that no
    /// other thread can observe may be left out and get the first profile.
    pub fn assignment(&self, split: &Split, profiles: &[usize]) -> Result<Vec<usize>> {
        let mut out: Vec<Option<usize>> = vec![None; split.pieces.len()];
        let mut last: Option<(usize, usize)> = None;
        for (part, profile) in self.parts.iter().zip(profiles) {
            let Some(i) = split.pieces.iter().position(|p| p.name == part.name) else {
                let names: Vec<&str> = split.pieces.iter().map(|p| &*p.name).collect();
                let message = format!("the test has no part `{}`", part.name);
                let help = format!("its parts are {}", names.join(", "));
                return Err(self.at(part.span, message).help(help));
            };
            if out[i].is_some() {
                return Err(self.at(part.span, format!("`{}` stands here twice", part.name)));
            }
            let thread = split.pieces[i].thread;
            let is_in_order = last.is_none_or(|(before, group)| {
                before < i && (split.pieces[before].thread == thread) == (group == part.group)
            });
            if !is_in_order {
                let message = format!("`{}` does not stand where it runs", part.name);
                return Err(self.at(part.span, message).help(
                    "parts stand in the order of the test, those of a thread between its brackets",
                ));
            }
            last = Some((i, part.group));
            out[i] = Some(*profile);
        }
        let missing = |i: &usize| split.pieces[*i].chosen && out[*i].is_none();
        if let Some(i) = (0..out.len()).find(missing) {
            let piece = &split.pieces[i];
            let message = format!("the mix does not say what compiles `{}`", piece.name);
            let end = self.text.text.trim_end().len();
            return Err(self
                .at(Span::new(end, end), message)
                .help(format!("it is `{}`", piece.source)));
        }
        Ok(out.into_iter().map(|profile| profile.unwrap_or(0)).collect())
    }

    fn at(&self, span: Span, message: String) -> Box<Diag> {
        Diag::at(&self.text, span, message)
    }
}

const FORM: &str = "a mix is written like `(A(P0_0); B(P0_1)) || (A(P1_0))`";

/// The index that a position stands for: `B`, `c2` and `comp_2` are 1.
pub fn place(name: &str) -> Option<usize> {
    if let [letter @ b'A'..=b'Z'] = name.as_bytes() {
        return Some(usize::from(letter - b'A'));
    }
    let number = name.strip_prefix("comp").or_else(|| name.strip_prefix('c'))?;
    let number = number.strip_prefix('_').unwrap_or(number);
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    number.parse::<usize>().ok().filter(|_| is_number)?.checked_sub(1)
}

struct Reader<'a> {
    text: &'a Source,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text.text[self.at..]
    }

    /// Skips blanks and returns the next character.
    fn peek(&mut self) -> Option<char> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, word: &str) -> bool {
        self.peek();
        let is_there = self.rest().starts_with(word);
        if is_there {
            self.at += word.len();
        }
        is_there
    }

    fn error(&self, message: &str) -> Box<Diag> {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        Diag::at(self.text, Span::new(self.at, self.at + width), message)
    }

    fn expect(&mut self, word: &str, wanted: &str) -> Result<()> {
        if self.take(word) {
            return Ok(());
        }
        let found = match self.peek() {
            Some(c) => format!("`{c}`"),
            None => "the end".to_string(),
        };
        Err(self.error(&format!("{wanted} should be here, and not {found}")).help(FORM))
    }

    /// Reads `(c1(P0_0); c2(P0_1))`; the brackets of a thread may be left out.
    fn thread(&mut self, group: usize, parts: &mut Vec<Part>) -> Result<()> {
        let start = self.at;
        let is_bracketed = self.take("(");
        // A thread whose parts no other thread can observe.
        if is_bracketed && self.take(")") {
            return Ok(());
        }
        loop {
            let part = self.part(group)?;
            parts.push(part);
            if !self.take(";") {
                break;
            }
        }
        match is_bracketed {
            true => {
                self.expect(")", "`;` and another part, or `)`").map_err(|e| match self.peek() {
                    Some(_) => e,
                    None => {
                        let at = start + self.text.text[start..].find('(').unwrap_or(0);
                        Diag::at(self.text, Span::new(at, at + 1), "this bracket is not closed")
                            .help(FORM)
                    }
                })
            }
            false => Ok(()),
        }
    }

    fn part(&mut self, group: usize) -> Result<Part> {
        let (profile, profile_span) = self.word("the name of a profile")?;
        let open = self.at;
        self.expect("(", "`(` and a part of the test")?;
        let (mut name, mut span) = self.place()?;
        // The whole test as one part.
        while self.take("||") {
            let (next, end) = self.place()?;
            name = format!("{name} || {next}");
            span = span.to(end);
        }
        let close = self.expect(")", "`)`");
        close.map_err(|e| match self.peek() {
            Some(_) => e,
            None => Diag::at(self.text, Span::new(open, open + 1), "this bracket is not closed")
                .help(FORM),
        })?;
        Ok(Part { profile, profile_span, name, span, group })
    }

    /// Reads `P0` or `P0_1`.
    fn place(&mut self) -> Result<(String, Span)> {
        let (word, span) = self.word("a part of the test, such as `P0_1`,")?;
        let number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        let is_place = word.strip_prefix('P').is_some_and(|rest| match rest.split_once('_') {
            Some((thread, part)) => number(thread) && number(part),
            None => number(rest),
        });
        match is_place {
            true => Ok((word, span)),
            false => Err(Diag::at(self.text, span, format!("`{word}` is no part of a test"))
                .help("`P0_1` is the second statement of the first thread, and `P0` that thread")),
        }
    }

    /// Reads a name: everything up to a blank or a character of the notation.
    fn word(&mut self, wanted: &str) -> Result<(String, Span)> {
        self.peek();
        let start = self.at;
        let ends = |c: char| c.is_whitespace() || "();|".contains(c);
        let word = self.rest().split(ends).next().unwrap_or_default().to_string();
        if word.is_empty() {
            let found = match self.peek() {
                Some(c) => format!("`{c}`"),
                None => "the end".to_string(),
            };
            let message = format!("{wanted} should be here, and not {found}");
            return Err(self.error(&message).help(FORM));
        }
        self.at += word.len();
        Ok((word, Span::new(start, self.at)))
    }
}
