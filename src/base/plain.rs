//! Makes foreign texts (names, messages, output of tools) fit to be shown: nothing in them controls
//! a terminal, changes the direction of writing or runs a command of a CI server, and a quoted word
//! is one word to a shell.
//!
//! It does not know what the texts are about.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character is shown as its number: controls, and characters that change how others are
/// shown.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces the characters that `hidden` selects by `\uXXXX`, as JSON does, so that JSON stays
/// valid.
fn shown(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match hidden(c) {
            true => drop(write!(out, "\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A text of several lines, fit to be shown.
pub fn text(text: &str) -> Cow<'_, str> {
    // Some systems end lines with a return and a newline.
    match text.contains("\r\n") {
        false => shown(text, |c| is_hidden(c) && c != '\n' && c != '\t'),
        true => {
            let lines: Vec<_> = text.split("\r\n").map(self::text).collect();
            Cow::Owned(lines.join("\r\n"))
        }
    }
}

/// A text of one line, such as a name, fit to be shown.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, is_hidden)
}

/// Changes a text so that a CI server takes none of its lines for a command: GitHub reads `::` at
/// the start of a line, and `##[` anywhere.
pub fn no_commands(text: &str) -> Cow<'_, str> {
    let starts = |line: &str| line.trim_start().starts_with("::");
    if !text.contains("##[") && !text.lines().any(starts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let line = line.replace("##[", "#\\#[");
        match starts(&line) {
            true => out += &line.replacen("::", "\\::", 1),
            false => out += &line,
        }
    }
    Cow::Owned(out)
}

/// A word of a command line, quoted where a shell would take it for something else.
pub fn word(text: &str) -> String {
    match shlex::try_quote(text) {
        Ok(quoted) => quoted.into_owned(),
        // A word with a NUL cannot be passed to a program.
        Err(_) => word(&text.replace('\0', "")),
    }
}

/// A path as a word of a command line, which no program takes for an option.
pub fn path(text: &str) -> String {
    match text.starts_with('-') {
        true => word(&format!("./{text}")),
        false => word(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_shown_by_its_number() {
        assert_eq!(line("a\x1b[31mb\nc\u{9b}d\u{202e}e"), "a\\u001b[31mb\\u000ac\\u009bd\\u202ee");
        assert_eq!(text("a\tb\nc\rd\r\ne\x07"), "a\tb\nc\\u000dd\r\ne\\u0007");
        assert!(matches!(text("plain, ünïcödé ☃"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_line_is_a_command_of_a_server() {
        assert_eq!(no_commands("a\n  ::error::b\n::c"), "a\n  \\::error::b\n\\::c");
        assert_eq!(no_commands("a ##[error]b"), "a #\\#[error]b");
        assert!(matches!(no_commands("std::x ## [a]"), Cow::Borrowed(_)));
    }

    #[test]
    fn words_are_one_word_to_a_shell() {
        for text in
            ["plain-1.litmus", "a b", "$(touch x)", "it's", "a\nb", "`x`", "", "~", "*", "-n"]
        {
            let script = format!("printf '%s|' {}", word(text));
            let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), format!("{text}|"));
        }
        assert_eq!(path("-x"), "./-x");
        assert_eq!(word("plain-1.litmus"), "plain-1.litmus");
    }
}
