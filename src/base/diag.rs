//! Diagnostics: a message, the place in a text that it is about, and what to do.
//!
//! Every reader of text reports its errors through this type. It knows nothing of litmus tests,
//! models or pipelines, and it never prints.

use std::fmt;
use std::sync::Arc;

use super::failure::FailureKind;

/// A named text that diagnostics point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name in diagnostics: a path, or words.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// The outer text and the part of it that this text stands for, if any.
    within: Option<Arc<(Source, Span)>>,
    /// The name is filled in later, by the code that shows the diagnostic.
    nameless: bool,
}

impl Source {
    /// A text that is not part of another.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Source {
        Source { name: name.into(), text: text.into(), within: None, nameless: false }
    }

    /// The text of an item whose name is filled in later.
    pub fn nameless(text: impl Into<Arc<str>>) -> Source {
        Source { nameless: true, ..Source::new("@", text) }
    }

    /// A text that stands for a part of another; diagnostics point into the outer text.
    pub fn within(outer: &Source, span: Span, text: impl Into<Arc<str>>) -> Source {
        let within = Some(Arc::new((outer.clone(), span)));
        Source { name: outer.name.clone(), text: text.into(), within, nameless: outer.nameless }
    }

    /// Maps a span to the original text. Where the text was rewritten, the span is the whole
    /// original part.
    fn shown(&self, span: Span) -> (Source, Span) {
        let Some((outer, part)) = self.within.as_deref() else { return (self.clone(), span) };
        let same = outer.text.get(part.start as usize..part.end as usize) == Some(&*self.text);
        let moved = Span { start: part.start + span.start, end: part.start + span.end };
        outer.shown(if same { moved } else { *part })
    }

    /// Line and column of a byte offset, both counted from 1; columns count characters.
    pub fn line_col(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        (line, before[start..].chars().count() + 1)
    }
}

/// A range of bytes in a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// A span from a byte to the one after the last.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest span that contains both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// An error, usually about a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diag {
    /// The text of the error: the fault, or the thing that was expected. The place is separate.
    pub message: String,
    /// The text that the error is about, if any.
    pub source: Option<Source>,
    /// The part of the text to underline.
    pub span: Option<Span>,
    /// Advice on how to correct it.
    pub help: Option<String>,
    /// The kind of failure. Decisions depend on it, never on the message.
    pub kind: FailureKind,
    /// Further errors of the same file, which are shown below.
    pub further: Vec<Box<Diag>>,
}

/// The result of reading or loading: a value, or one error for people.
pub type Result<T> = std::result::Result<T, Box<Diag>>;

impl Diag {
    /// An error without a place.
    #[cold]
    pub fn new(message: impl Into<String>) -> Box<Diag> {
        Box::new(Diag {
            message: message.into(),
            source: None,
            span: None,
            help: None,
            kind: FailureKind::default(),
            further: Vec::new(),
        })
    }

    /// One error for several, which are shown in this order; none if there are none.
    pub fn all(errors: Vec<Box<Diag>>) -> Option<Box<Diag>> {
        let mut errors = errors.into_iter();
        let mut first = errors.next()?;
        first.further.extend(errors);
        Some(first)
    }

    /// An error about a part of a text.
    #[cold]
    pub fn at(source: &Source, span: Span, message: impl Into<String>) -> Box<Diag> {
        Diag::new(message).or_at(source, span)
    }

    /// Sets the kind of failure.
    #[cold]
    pub fn kind(mut self: Box<Self>, kind: FailureKind) -> Box<Diag> {
        self.kind = kind;
        self
    }

    /// Sets the help.
    #[cold]
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Diag> {
        self.help = Some(help.into());
        self
    }

    /// Sets the place, if the error has none.
    #[cold]
    pub fn or_at(mut self: Box<Self>, source: &Source, span: Span) -> Box<Diag> {
        if self.source.is_none() {
            let (source, span) = source.shown(span);
            (self.source, self.span) = (Some(source), Some(span));
        }
        self
    }

    /// The message from the place on, if the name of its source is to be filled in later.
    pub fn without_name(&self) -> Option<String> {
        let source = self.source.as_ref().filter(|s| s.nameless)?;
        self.span.map(|span| self.located(source, span))
    }

    /// The text after the name of the source: line and column, message, the offending line, help.
    fn located(&self, source: &Source, span: Span) -> String {
        let (line, col) = source.line_col(span.start as usize);
        let mut out = format!(":{line}:{col}: error: {}\n", self.message);
        let text = source.text.lines().nth(line - 1).unwrap_or("");
        let gutter = line.to_string();
        let room = text.chars().count().saturating_sub(col - 1).max(1);
        let width = ((span.end.max(span.start) - span.start) as usize).clamp(1, room);
        out += &format!(" {gutter} | {}\n", text.replace('\t', " "));
        let (before, under) = (" ".repeat(col - 1), "^".repeat(width));
        out += &format!(" {} | {before}{under}", " ".repeat(gutter.len()));
        if let Some(help) = &self.help {
            out += &format!("\n  help: {help}");
        }
        out
    }
}

/// `file:line:column: message`, the offending line, a caret under the place, and the help.
impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(source), Some(span)) = (&self.source, self.span) {
            let name = crate::plain::line(&source.name);
            write!(f, "{name}{}", self.located(source, span))?;
        } else {
            write!(f, "error: {}", self.message)?;
            if let Some(help) = &self.help {
                write!(f, "\n  help: {help}")?;
            }
        }
        self.further.iter().try_for_each(|error| write!(f, "\n{error}"))
    }
}

impl std::error::Error for Diag {}

/// Words that are longer are not compared: the time grows with the product of the lengths.
const LONGEST_WORD: usize = 100;

/// The candidate nearest to a misspelt word, if one is near enough to be suggested.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let far = |c: &&str| {
        let n = c.chars().count();
        length > LONGEST_WORD || n > LONGEST_WORD || n.abs_diff(length) > 1 + n.min(length)
    };
    candidates
        .into_iter()
        .filter(|c| !far(c))
        .map(|c| (distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= 1 + word.len().min(c.len()) / 4)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Edit distance, in which swapping two neighbours counts as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let swap = usize::from(a[i - 1] != b[j - 1]);
                let mut best =
                    (rows[i - 1][j - 1] + swap).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_near_are_suggested_and_long_ones_are_not_compared() {
        assert_eq!(nearest("simualte", ["compile", "simulate"]), Some("simulate"));
        let (long, longer) = ("x".repeat(200_000), "x".repeat(200_001));
        assert_eq!(nearest(&long, [longer.as_str()]), None);
    }

    #[test]
    fn names_of_files_stay_on_their_line() {
        let source = Source::new("a\n::error::\x1b[2J", "text");
        let shown = Diag::at(&source, Span::new(0, 4), "wrong").to_string();
        assert!(shown.starts_with("a\\u000a::error::\\u001b[2J:1:1: error: wrong\n"), "{shown}");
    }
}
