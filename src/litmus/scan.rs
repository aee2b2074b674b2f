//! A cursor over a source text: blanks, comments, words, numbers and quoted strings.
//!
//! It knows how tokens of litmus tests look and nothing of what they mean. Nothing here
//! recurses, and every call either moves forward or says that it did not.

use litmake_base::diag::{Diag, Result, Source, Span};

/// Which comments count as blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// `(* *)`, nested.
    Litmus,
    /// Those, `// ...` and `/* ... */`.
    All,
    /// `// ...` and `/* ... */`: in C code, `(*` opens an expression.
    C,
}

/// A place in a source text, from which tokens are taken.
#[derive(Clone)]
pub struct Scanner<'a> {
    /// The text, for errors to point at.
    pub source: &'a Source,
    /// The byte at which the next token begins.
    pub pos: usize,
    text: &'a str,
    comments: Comments,
}

/// Bytes that may open a name in an initial state or a condition.
pub fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'$' | b'%')
}

/// Bytes that may continue an identifier of an assembly text or of C.
pub fn is_ident(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$')
}

/// A message without the middle of the huge words that hostile texts have.
pub fn clip(message: String) -> String {
    const KEEP: usize = 160;
    if message.len() <= 3 * KEEP {
        return message;
    }
    let mut head = KEEP;
    while !message.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = message.len() - KEEP;
    while !message.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}...{}", &message[..head], &message[tail..])
}

impl<'a> Scanner<'a> {
    /// A cursor at a byte of a text.
    pub fn new(source: &'a Source, pos: usize, comments: Comments) -> Scanner<'a> {
        Scanner { source, pos, text: &source.text, comments }
    }

    /// Changes what counts as a comment from here on.
    pub fn set_comments(&mut self, comments: Comments) {
        self.comments = comments;
    }

    /// The whole text.
    pub fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Whether nothing is left.
    pub fn at_end(&self) -> bool {
        self.pos >= self.text.len()
    }

    /// The next byte; `None` at the end.
    pub fn peek(&self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    /// The byte so many behind the next one.
    pub fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes().get(self.pos + ahead).copied()
    }

    /// The bytes that are not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes()[self.pos.min(self.text.len())..]
    }

    /// The text between two offsets; nothing where they are not on character boundaries.
    pub fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    /// From an offset to here.
    pub fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.pos)
    }

    /// The token here, for an error to point at.
    pub fn here(&self) -> Span {
        let bytes = self.bytes();
        let start = self.pos.min(bytes.len());
        let mut end = start;
        if end < bytes.len() {
            let word = |b: u8| is_ident(b) || b == b'%' || b >= 0x80;
            if word(bytes[end]) {
                while end < bytes.len() && word(bytes[end]) {
                    end += 1;
                }
            } else {
                end += 1;
            }
        }
        Span::new(start, end)
    }

    /// The token here in words: `` `x` `` or "the end of the file".
    pub fn found(&self) -> String {
        let span = self.here();
        match self.peek() {
            None => "the end of the file".to_string(),
            Some(b'\n' | b'\r') => "the end of the line".to_string(),
            Some(b) if b.is_ascii_control() => format!("a control character (0x{b:02x})"),
            Some(_) => {
                let text: String =
                    self.slice(span.start as usize, span.end as usize).chars().take(40).collect();
                format!("`{text}`")
            }
        }
    }

    /// The error that something was expected here, with what was found.
    #[cold]
    pub fn expected(&self, what: impl std::fmt::Display) -> Box<Diag> {
        Diag::at(self.source, self.here(), format!("expected {what}, found {}", self.found()))
    }

    /// An error at a place of the text.
    #[cold]
    pub fn error(&self, span: Span, message: impl Into<String>) -> Box<Diag> {
        Diag::at(self.source, span, clip(message.into()))
    }

    /// Skips blanks (newlines too) and comments.
    pub fn blanks(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.pos += 1,
                Some(b'(' | b'/') if self.comment()? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Skips blanks and comments up to the end of the line.
    pub fn line_blanks(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.pos += 1,
                Some(b'(' | b'/') if self.comment()? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Skips one comment, where one begins here.
    pub fn comment(&mut self) -> Result<bool> {
        let start = self.pos;
        match (self.peek(), self.peek_at(1)) {
            (Some(b'('), Some(b'*')) if self.comments != Comments::C => self.litmus_comment()?,
            (Some(b'/'), Some(b'/')) if self.comments != Comments::Litmus => {
                let rest = self.rest();
                self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            (Some(b'/'), Some(b'*')) if self.comments != Comments::Litmus => {
                let rest = &self.rest()[2..];
                match rest.windows(2).position(|w| w == b"*/") {
                    Some(at) => self.pos += at + 4,
                    None => return Err(self.unclosed(start, "*/")),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn litmus_comment(&mut self) -> Result<()> {
        let start = self.pos;
        let bytes = self.bytes();
        let mut at = start + 2;
        let mut depth = 1usize;
        while at < bytes.len() {
            match (bytes[at], bytes.get(at + 1)) {
                (b'*', Some(b')')) => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        self.pos = at;
                        return Ok(());
                    }
                }
                (b'(', Some(b'*')) => {
                    depth += 1;
                    at += 2;
                }
                _ => at += 1,
            }
        }
        Err(self.unclosed(start, "*)"))
    }

    #[cold]
    fn unclosed(&self, start: usize, close: &str) -> Box<Diag> {
        self.error(Span::new(start, start + 2), "this comment is not closed")
            .help(format!("write `{close}` where it ends (`(*` comments nest)"))
    }

    /// Takes one byte, where it is the next.
    pub fn eat(&mut self, b: u8) -> bool {
        let yes = self.peek() == Some(b);
        self.pos += usize::from(yes);
        yes
    }

    /// Takes a fixed text, where it is next.
    pub fn eat_text(&mut self, text: &str) -> bool {
        let yes = self.rest().starts_with(text.as_bytes());
        if yes {
            self.pos += text.len();
        }
        yes
    }

    /// Takes one byte and the blanks behind it, or says what was expected.
    pub fn expect(&mut self, b: u8, context: &str) -> Result<()> {
        if self.eat(b) {
            return self.blanks();
        }
        Err(self.expected(format!("`{}` {context}", b as char)))
    }

    /// A name of an initial state or condition, where one begins here: letters, `_`, `.`, `$`,
    /// then also digits, `/` and `-`. A `/` ends no name: it may open `/\` or a comment.
    pub fn name(&mut self) -> Option<&'a str> {
        let bytes = self.bytes();
        if !self.peek().is_some_and(is_name_start) {
            return None;
        }
        let start = self.pos;
        let mut end = start + 1;
        while let Some(&b) = bytes.get(end) {
            let more = is_ident(b)
                || b == b'-'
                || b == b'/' && bytes.get(end + 1).is_some_and(|b| is_ident(*b));
            if !more {
                break;
            }
            end += 1;
        }
        // A lone `$` or `%` names nothing.
        if end == start + 1 && matches!(bytes[start], b'$' | b'%' | b'.') {
            return None;
        }
        self.pos = end;
        Some(self.slice(start, end))
    }

    /// A word of letters, digits and `_`, without moving.
    pub fn peek_word(&self) -> &'a str {
        let rest = self.rest();
        let len = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
            .unwrap_or(rest.len());
        self.slice(self.pos, self.pos + len)
    }

    /// Whether an integer begins here.
    pub fn at_int(&self) -> bool {
        match self.peek() {
            Some(b'-' | b'+') => self.peek_at(1).is_some_and(|b| b.is_ascii_digit()),
            Some(b) => b.is_ascii_digit(),
            None => false,
        }
    }

    /// An integer: decimal (leading zeros do not make it octal, as in herd), `0x`, `0o` or
    /// `0b`, with an optional sign. Up to 128 bits; the upper half of the unsigned range wraps.
    pub fn int(&mut self) -> Result<i128> {
        let start = self.pos;
        let negative = self.peek() == Some(b'-');
        if negative || self.peek() == Some(b'+') {
            self.pos += 1;
        }
        let (radix, prefix) = match (self.peek(), self.peek_at(1)) {
            (Some(b'0'), Some(b'x' | b'X')) => (16, 2),
            (Some(b'0'), Some(b'o' | b'O')) => (8, 2),
            (Some(b'0'), Some(b'b' | b'B')) => (2, 2),
            _ => (10, 0),
        };
        self.pos += prefix;
        let digits = self.pos;
        let mut value = 0u128;
        let mut over = false;
        while let Some(d) = self.peek().and_then(|b| (b as char).to_digit(radix)) {
            let next = value.checked_mul(radix as u128).and_then(|v| v.checked_add(d as u128));
            over |= next.is_none();
            value = next.unwrap_or(0);
            self.pos += 1;
        }
        if self.pos == digits || self.peek().is_some_and(|b| is_ident(b) && b != b'.') {
            while self.peek().is_some_and(is_ident) {
                self.pos += 1;
            }
            let span = self.span_from(start);
            if span.start == span.end {
                return Err(self.expected("an integer"));
            }
            return Err(self
                .error(span, format!("`{}` is not an integer", self.slice(start, self.pos)))
                .help("integers are decimal, 0x (hexadecimal), 0o (octal) or 0b (binary)"));
        }
        over |= negative && value > 1 << 127;
        if over {
            return Err(self
                .error(self.span_from(start), "this integer does not fit in 128 bits")
                .help("the widest type of a litmus test has 128 bits"));
        }
        Ok(if negative { (value as i128).wrapping_neg() } else { value as i128 })
    }

    /// An unsigned number of a table, such as a thread or an array index.
    pub fn small(&mut self, what: &str, limit: u64) -> Result<u64> {
        let start = self.pos;
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.expected(what));
        }
        let value = self.int()?;
        match u64::try_from(value) {
            Ok(n) if n <= limit => Ok(n),
            _ => Err(self.error(self.span_from(start), format!("{what} is at most {limit} here"))),
        }
    }

    /// A text between double quotes, which may span lines. The next byte is the opening quote.
    pub fn quoted(&mut self) -> Result<&'a str> {
        let start = self.pos;
        self.pos += 1;
        let rest = self.rest();
        match rest.iter().position(|b| *b == b'"') {
            Some(len) => {
                let text = self.slice(start + 1, start + 1 + len);
                self.pos += len + 1;
                Ok(text)
            }
            None => Err(self
                .error(Span::new(start, start + 1), "this quote is not closed")
                .help("write `\"` where the text ends")),
        }
    }
}
