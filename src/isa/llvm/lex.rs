//! The tokens of LLVM's textual intermediate representation: names with their sigil (`%x`, `@x`,
//! `!x`, `#0`), words and numbers, strings, and single signs. It does not know what they mean.

/// The tokens of a text, without comments. A name in quotes is one token with its sigil and quotes.
pub fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return out;
        };
        if first == ';' {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let len = length(rest, first);
        out.push(&rest[..len]);
        rest = &rest[len..];
    }
}

/// The bytes of the token that a text begins with.
fn length(rest: &str, first: char) -> usize {
    let word = |text: &str| text.find(|c| !in_word(c)).unwrap_or(text.len());
    let quoted = |text: &str| -> Option<usize> {
        let inner = text.strip_prefix('"')?;
        Some(inner.find('"').map_or(text.len(), |end| end + 2))
    };
    let size = first.len_utf8();
    let tail = &rest[size..];
    match first {
        '"' => quoted(rest).unwrap_or(size),
        '%' | '@' | '!' | '#' | '$' => size + quoted(tail).unwrap_or_else(|| word(tail)),
        // A string of characters.
        'c' if tail.starts_with('"') => size + quoted(tail).unwrap_or(0),
        c if in_word(c) => {
            let len = word(rest);
            // An exponent has its sign: `1.000000e+00`.
            let number = c.is_ascii_digit() || c == '-';
            match rest[len..].strip_prefix('+') {
                Some(exponent) if number && rest[..len].ends_with('e') => len + 1 + word(exponent),
                _ => len,
            }
        }
        _ => size,
    }
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.$-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn names_keep_their_sigils_and_quotes() {
        assert_eq!(
            tokens("%a.b = load atomic i32, ptr @\"x y\" seq_cst, align 4, !tbaa !5 ; c"),
            [
                "%a.b", "=", "load", "atomic", "i32", ",", "ptr", "@\"x y\"", "seq_cst", ",",
                "align", "4", ",", "!tbaa", "!5"
            ]
        );
        assert_eq!(tokens("i32* -1"), ["i32", "*", "-1"]);
        assert_eq!(tokens("float -1.5e+00, 2.5e-01"), ["float", "-1.5e+00", ",", "2.5e-01"]);
        assert_eq!(tokens("[ \"open"), ["[", "\"open"]);
    }
}
