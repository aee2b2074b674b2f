//! Splits cat text into tokens. It does not know the grammar.

use super::ast::Name;
use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_base::watch;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tok {
    Name(Name),
    Tag(Name),
    Str(Name),
    /// A keyword or a sign.
    Sign(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub tok: Tok,
    pub span: Span,
}

macro_rules! keywords {
    ($($word:literal)*) => {
        fn keyword(word: &str) -> Option<&'static str> {
            match word {
                $($word => Some($word),)*
                _ => None,
            }
        }
    };
}

keywords! {
    "acyclic" "and" "as" "assert" "begin" "call" "catdep" "debug" "default" "do" "else" "empty"
    "end" "enum" "flag" "forall" "from" "fun" "if" "in" "include" "instructions" "irreflexive"
    "let" "match" "not" "procedure" "rec" "show" "subset" "then" "try" "undefined_unless" "unshow"
    "variant" "when" "with"
}

/// A sign comes before all signs that are a prefix of it.
const SIGNS: &[&str] = &[
    "||", "|", "&&", "&", "++", "+", "->", "-1", "(", ")", "{", "}", "[", "]", "0", "*", "~", "^",
    "\\", "?", "=", ";", ",", "_",
];

/// Reads the whole text into tokens, ended by [`Tok::End`].
pub fn lex(source: &Source) -> Result<Vec<Token>> {
    let text = source.text.as_ref();
    if text.len() > u32::MAX as usize / 2 {
        return Err(Diag::new(format!("{} is too large for a model", source.name)));
    }
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        watch::poll()?;
        if c.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if c == '#' || rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with("(*") {
            at += comment(source, at)?;
            continue;
        }
        let (tok, len) = token(source, at)?;
        tokens.push(Token { tok, span: Span::new(at, at + len) });
        at += len;
    }
    tokens.push(Token { tok: Tok::End, span: Span::new(text.len(), text.len()) });
    Ok(tokens)
}

/// The length of the comment at `at`; comments nest.
fn comment(source: &Source, at: usize) -> Result<usize> {
    let bytes = &source.text.as_bytes()[at..];
    let (mut i, mut depth) = (0, 0usize);
    while i < bytes.len() {
        match &bytes[i..] {
            [b'(', b'*', ..] => {
                depth += 1;
                i += 2;
            }
            [b'*', b')', ..] => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return Ok(i);
                }
            }
            _ => i += 1,
        }
    }
    Err(Diag::at(source, Span::new(at, at + 2), "this comment is never closed")
        .help("end it with `*)`; comments nest"))
}

/// The length of the name that `text` begins with, 0 where it begins with none.
fn name_len(text: &str) -> usize {
    let b = text.as_bytes();
    let start = usize::from(b.first() == Some(&b'_'));
    if !b.get(start).is_some_and(u8::is_ascii_alphabetic) {
        return 0;
    }
    let mut i = start + 1;
    while b.get(i).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-')) {
        i += 1;
    }
    i + usize::from(b.get(i) == Some(&b'\''))
}

fn token(source: &Source, at: usize) -> Result<(Tok, usize)> {
    let rest = &source.text[at..];
    let len = name_len(rest);
    if len > 0 {
        let word = &rest[..len];
        let tok = match keyword(word) {
            Some(word) => Tok::Sign(word),
            None => Tok::Name(word.into()),
        };
        return Ok((tok, len));
    }
    if let Some(tag) = rest.strip_prefix('\'') {
        let len = name_len(tag);
        if len > 0 {
            return Ok((Tok::Tag(tag[..len].into()), len + 1));
        }
    }
    if let Some(string) = rest.strip_prefix('"') {
        return match string.find('"') {
            Some(len) => Ok((Tok::Str(string[..len].into()), len + 2)),
            None => Err(Diag::at(source, Span::new(at, at + 1), "this string is never closed")),
        };
    }
    if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
        return Ok((Tok::Sign(sign), sign.len()));
    }
    let c = rest.chars().next().unwrap_or(' ');
    Err(Diag::at(
        source,
        Span::new(at, at + c.len_utf8()),
        format!("`{}` has no meaning in cat", c.escape_debug()),
    ))
}
