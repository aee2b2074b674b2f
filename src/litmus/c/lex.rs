//! Tokens of the C subset. It knows no grammar.

use super::ast::{FloatLit, IntLit};
use super::types::kind;
use litmake_base::diag::{Diag, Result, Source, Span};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tok<'a> {
    Word(&'a str, Kind),
    Int(IntLit),
    Float(FloatLit),
    /// The text between two quotes, without escapes.
    Text(&'a str),
    Punct(&'static str),
    End,
}

/// The use of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name that a test may give.
    Name,
    /// A type, or a word that opens one.
    Type,
    /// A word that C keeps for statements.
    Reserved,
}

#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub tok: Tok<'a>,
    pub span: Span,
}

/// Longer ones first, so that the first match is the longest.
const PUNCT: &[&str] = &[
    "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "(", ")", "{", "}", "[", "]", ";", ",", "+",
    "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ".", "@",
];

/// The tokens of a part of a text; the last one is [`Tok::End`].
pub fn tokens(source: &Source, span: Span) -> Result<Vec<Token<'_>>> {
    let (start, end) = (span.start as usize, span.end as usize);
    let Some(text) = source.text.get(start..end) else {
        return Err(Diag::new(format!("bytes {start} to {end} of {} are no text", source.name)));
    };
    let bytes = text.as_bytes();
    let word_end = |mut at: usize| {
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        at
    };
    let mut out = Vec::with_capacity(text.len() / 4 + 1);
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let place = |len: usize| Span::new(start + at, start + at + len);
        if first == b' ' || first == b'\n' {
            at += 1;
            continue;
        }
        if is_word(first) && !first.is_ascii_digit() {
            let len = word_end(at) - at;
            let word = &text[at..at + len];
            out.push(Token { tok: Tok::Word(word, kind(word)), span: place(len) });
            at += len;
            continue;
        }
        if let Some(p) = single(first, bytes.get(at + 1).copied()) {
            out.push(Token { tok: Tok::Punct(p), span: place(1) });
            at += 1;
            continue;
        }
        let rest = &text[at..];
        let Some(c) = rest.chars().next() else { break };
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
        } else if c.is_ascii_digit()
            || c == '.' && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
        {
            let len = number_length(rest.as_bytes());
            let number = &rest[..len];
            let tok = match is_float(number) {
                true => float(number).map(Tok::Float),
                false => int(number).map(Tok::Int),
            };
            let tok = tok.map_err(|message| Diag::at(source, place(len), message))?;
            out.push(Token { tok, span: place(len) });
            at += len;
        } else if c == '\'' {
            let Some((value, len)) = character(rest) else {
                return Err(Diag::at(source, place(1), "expected a character such as 'a'"));
            };
            out.push(Token { tok: Tok::Int(IntLit::plain(value)), span: place(len) });
            at += len;
        } else if let Some(len) = quoted(rest) {
            out.push(Token { tok: Tok::Text(&rest[1..len - 1]), span: place(len) });
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
                    "this string is not read".to_string(),
                    "only `__asm__ volatile(\"\" ::: \"memory\")` has strings, without escapes",
                ),
                c => (format!("unexpected character {c:?}"), "remove it, or put it into a comment"),
            };
            return Err(Diag::at(source, place(c.len_utf8()), message).help(help));
        }
    }
    out.push(Token { tok: Tok::End, span: Span::new(end, end) });
    Ok(out)
}

/// The length of a text in quotes, if it is on one line and has no escapes.
fn quoted(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?;
    let end = inner.find(['"', '\\', '\n'])?;
    inner[end..].starts_with('"').then_some(end + 2)
}

/// The bytes of words.
static WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = (b as u8).is_ascii_alphanumeric() || b as u8 == b'_';
        b += 1;
    }
    table
};

#[inline(always)]
fn is_word(b: u8) -> bool {
    WORD[usize::from(b)]
}

/// Punctuation of one byte that no next byte makes longer.
fn single(first: u8, next: Option<u8>) -> Option<&'static str> {
    let long = matches!(
        next,
        Some(b'=' | b'<' | b'>' | b'&' | b'|' | b'+' | b'-' | b'*' | b'/' | b'.' | b':')
    );
    Some(match first {
        b'(' => "(",
        b')' => ")",
        b';' => ";",
        b',' => ",",
        b'{' => "{",
        b'}' => "}",
        b'[' => "[",
        b']' => "]",
        _ if long => return None,
        b'*' => "*",
        b'=' => "=",
        b'+' => "+",
        b'-' => "-",
        b'&' => "&",
        b'^' => "^",
        b'!' => "!",
        b'<' => "<",
        b'>' => ">",
        _ => return None,
    })
}

fn punctuation(rest: &str) -> Option<&'static str> {
    let first = *rest.as_bytes().first()?;
    PUNCT.iter().copied().find(|p| p.as_bytes()[0] == first && rest.starts_with(*p))
}

/// How long the number is that a text begins with: the sign of an exponent is a part of it.
fn number_length(text: &[u8]) -> usize {
    let hex = text.len() > 1 && matches!(text[1], b'x' | b'X');
    let mut len = 0;
    while let Some(&b) = text.get(len) {
        let before = len.checked_sub(1).map_or(0, |i| text[i].to_ascii_lowercase());
        let sign = matches!(b, b'+' | b'-') && before == if hex { b'p' } else { b'e' };
        if !(is_word(b) || matches!(b, b'\'' | b'.') || sign) {
            break;
        }
        len += 1;
    }
    len
}

/// Whether a number is one in floating point.
fn is_float(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    match lower.strip_prefix("0x") {
        Some(hex) => hex.contains(['.', 'p']),
        None => !lower.starts_with("0b") && lower.contains(['.', 'e']),
    }
}

/// A constant in floating point with its suffix.
fn float(text: &str) -> std::result::Result<FloatLit, String> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("0x") {
        return Err("hexadecimal numbers in floating point are not supported".to_string());
    }
    let end = lower.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | '+' | '-'));
    let (digits, suffix) = lower.split_at(end.unwrap_or(lower.len()));
    let bytes = match suffix {
        "" => 8,
        "f" => 4,
        "l" => return Err("numbers of type `long double` are not supported".to_string()),
        suffix => return Err(format!("`{suffix}` is no suffix of a number in floating point")),
    };
    let wrong =
        || format!("`{text}` is no number that `{}` has", super::super::types::float_name(bytes));
    FloatLit::parse(digits, bytes).ok_or_else(wrong)
}

/// An integer constant with its prefix and suffix.
fn int(text: &str) -> std::result::Result<IntLit, String> {
    if let [digit @ b'0'..=b'9'] = text.as_bytes() {
        return Ok(IntLit::plain(u128::from(digit - b'0')));
    }
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
