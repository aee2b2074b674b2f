//! RISC-V: objdump leaves a 0 before a register in brackets out, and has more names for the same.

/// The base instruction where there is no other in tests.
pub fn respell(text: &str) -> String {
    let text = text.replace(",(", ",0(");
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
    let parts: Vec<&str> = operands.split(',').collect();
    match (mnemonic, parts.as_slice()) {
        ("beqz" | "bnez", [a, to]) => format!("{} {a},x0,{to}", &mnemonic[..3]),
        ("bgez" | "bltz", [a, to]) => format!("{} {a},x0,{to}", &mnemonic[..3]),
        ("blez", [a, to]) => format!("bge x0,{a},{to}"),
        ("bgtz", [a, to]) => format!("blt x0,{a},{to}"),
        ("seqz", [to, a]) => format!("sltiu {to},{a},1"),
        ("snez", [to, a]) => format!("sltu {to},x0,{a}"),
        ("sltz", [to, a]) => format!("slt {to},{a},x0"),
        ("sgtz", [to, a]) => format!("slt {to},x0,{a}"),
        ("neg", [to, a]) => format!("sub {to},x0,{a}"),
        ("negw", [to, a]) => format!("subw {to},x0,{a}"),
        ("not", [to, a]) => format!("xori {to},{a},-1"),
        ("zext.b", [to, a]) => format!("andi {to},{a},255"),
        ("zext.w", [to, a]) => format!("add.uw {to},{a},x0"),
        ("fence", [""]) => "fence iorw,iorw".to_string(),
        ("jalr", [to]) if to.contains('(') => format!("jalr x1,{to}"),
        ("jalr", [to]) => format!("jalr x1,0({to})"),
        ("jal", [to]) => format!("jal x1,{to}"),
        _ => text,
    }
}
