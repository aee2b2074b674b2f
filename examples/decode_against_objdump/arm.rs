//! Arm and Thumb: objdump says how wide an encoding is, and leaves a first operand out that is the
//! result too. The decoder gives conditions to the instructions of an IT block, and a NOP for IT.

/// What takes two operands besides its result.
const THREE: &[&str] = &[
    "adc", "add", "and", "asr", "bic", "eor", "lsl", "lsr", "mul", "orr", "ror", "rsb", "sbc",
    "sub",
];

const CONDITIONS: &[&str] = &[
    "eq", "ne", "hs", "cs", "lo", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
];

fn is_three(mnemonic: &str) -> bool {
    let stem = CONDITIONS.iter().find_map(|c| mnemonic.strip_suffix(c)).unwrap_or(mnemonic);
    let known =
        |m: &str| THREE.contains(&m) || m.strip_suffix('s').is_some_and(|m| THREE.contains(&m));
    known(mnemonic) || known(stem)
}

pub fn respell(text: &str) -> String {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let mnemonic = mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    if mnemonic.starts_with("it") && mnemonic[1..].bytes().all(|b| b"te".contains(&b)) {
        return "nop".to_string();
    }
    match operands.split(',').collect::<Vec<_>>().as_slice() {
        [reg, "[sp]", "4"] if mnemonic.starts_with("ldr") => {
            format!("pop{} {{{reg}}}", &mnemonic[3..])
        }
        [reg, "[sp", "-4]!"] if mnemonic.starts_with("str") => {
            format!("push{} {{{reg}}}", &mnemonic[3..])
        }
        [to, with] if is_three(mnemonic) => format!("{mnemonic} {to},{to},{with}"),
        _ => format!("{mnemonic} {operands}").trim().to_string(),
    }
}
