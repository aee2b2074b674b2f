//! Tokens of the C subset. It knows no grammar.

use super::ast::IntLit;
use crate::diag::{Diag, Result, Source, Span};

#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    Word(String),
    Int(IntLit),
    Punct(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub tok: Tok,
    pub span: Span,
}

/// Longer ones first, so that the first match is the longest.
const PUNCT: &[&str] = &[
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "(", ")", "{", "}", "[", "]", ";", ",", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ".",
];

/// The tokens of a part of a text; the last one is [`Tok::End`].
pub fn tokens(source: &Source, span: Span) -> Result<Vec<Token>> {
    let (start, end) = (span.start as usize, span.end as usize);
    let Some(text) = source.text.get(start..end) else {
        return Err(Diag::new(format!("bytes {start} to {end} of {} are no text", source.name)));
    };
    let mut out = Vec::with_capacity(text.len() / 4);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let place = |len: usize| Span::new(start + at, start + at + len);
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(comment) = rest.strip_prefix("/*") {
            match comment.find("*/") {
                Some(n) => at += n + 4,
                None => {
                    return Err(Diag::at(source, place(2), "this comment is never closed")
                        .help("close it with `*/`"));
                }
            }
        } else if c.is_ascii_alphabetic() || c == '_' {
            let len =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            out.push(Token { tok: Tok::Word(rest[..len].to_string()), span: place(len) });
            at += len;
        } else if c.is_ascii_digit() {
            let len = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '\'' || c == '.'))
                .unwrap_or(rest.len());
            let lit = int(&rest[..len]).map_err(|message| Diag::at(source, place(len), message))?;
            out.push(Token { tok: Tok::Int(lit), span: place(len) });
            at += len;
        } else if c == '\'' {
            let Some((value, len)) = character(rest) else {
                return Err(Diag::at(source, place(1), "expected a character such as 'a'"));
            };
            out.push(Token { tok: Tok::Int(IntLit::plain(value)), span: place(len) });
            at += len;
        } else if let Some(p) = punctuation(rest) {
            out.push(Token { tok: Tok::Punct(p), span: place(p.len()) });
            at += p.len();
        } else {
            let (message, help) = match c {
                '#' => (
                    "preprocessor lines are not supported".to_string(),
                    "write out what they stand for",
                ),
                '"' => (
                    "strings are not supported".to_string(),
                    "litmus tests compute with integers and pointers",
                ),
                c => (format!("unexpected character {c:?}"), "remove it, or put it into a comment"),
            };
            return Err(Diag::at(source, place(c.len_utf8()), message).help(help));
        }
    }
    out.push(Token { tok: Tok::End, span: Span::new(end, end) });
    Ok(out)
}

fn punctuation(rest: &str) -> Option<&'static str> {
    // Most of the table is ruled out by the first byte alone.
    let first = *rest.as_bytes().first()?;
    PUNCT.iter().copied().find(|p| p.as_bytes()[0] == first && rest.starts_with(*p))
}

/// An integer constant with its prefix and suffix.
fn int(text: &str) -> std::result::Result<IntLit, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = if let Some(d) = lower.strip_prefix("0x") {
        (d, 16)
    } else if let Some(d) = lower.strip_prefix("0b") {
        (d, 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (lower.as_str(), 10)
    };
    let body = digits.trim_end_matches(['u', 'l']);
    let (unsigned, long) = match &digits[body.len()..] {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "ull" | "lu" | "llu" => (true, true),
        suffix => return Err(format!("`{suffix}` is no suffix of an integer")),
    };
    // In `0u` what looks like the octal prefix is the number.
    let (body, radix) = match (body, radix) {
        ("", 8) => ("0", 10),
        other => other,
    };
    if body.contains('.') || (radix == 10 && body.contains('e')) {
        return Err("floating-point numbers are not supported".to_string());
    }
    match u128::from_str_radix(body, radix) {
        Ok(value) if !body.starts_with('+') => {
            Ok(IntLit { value, decimal: radix == 10, unsigned, long })
        }
        Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => {
            Err("this number has more than 128 bits".to_string())
        }
        _ => Err(format!("`{text}` is no integer")),
    }
}

/// The value of a character constant and its length with the quotes.
fn character(text: &str) -> Option<(u128, usize)> {
    let mut chars = text.char_indices().skip(1);
    let (_, c) = chars.next()?;
    let value = match c {
        '\'' | '\n' => return None,
        '\\' => match chars.next()?.1 {
            'n' => 10,
            't' => 9,
            'r' => 13,
            '0' => 0,
            c @ ('\\' | '\'' | '"') => c as u128,
            _ => return None,
        },
        c if c.is_ascii() => c as u128,
        _ => return None,
    };
    let (end, close) = chars.next()?;
    (close == '\'').then_some((value, end + 1))
}
