//! MIPS: objdump has names for some registers; the decoder has one name for a constant in a register.

const NAMES: [(&str, &str); 7] = [
    ("$zero", "$0"),
    ("$at", "$1"),
    ("$gp", "$28"),
    ("$sp", "$29"),
    ("$fp", "$30"),
    ("$ra", "$31"),
    ("$s8", "$30"),
];

/// objdump takes an addition of 0 in 32 bits for a move too.
pub fn as_moves(text: &str) -> String {
    match text.strip_prefix("addu ").and_then(|operands| operands.strip_suffix(",$0")) {
        Some(operands) => format!("move {operands}"),
        None => text.to_string(),
    }
}

pub fn respell(text: &str) -> String {
    let text =
        NAMES.iter().fold(text.to_string(), |text, (name, number)| text.replace(name, number));
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
    match (mnemonic, operands.split(',').collect::<Vec<_>>().as_slice()) {
        ("beqz" | "bnez", [a, to]) => format!("{} {a},$0,{to}", &mnemonic[..3]),
        ("addiu" | "daddiu" | "ori", [to, "$0", n]) => format!("li {to},{n}"),
        // Release 6 has one encoding for both.
        ("aui", [to, "$0", n]) => format!("lui {to},{n}"),
        _ => text,
    }
}
