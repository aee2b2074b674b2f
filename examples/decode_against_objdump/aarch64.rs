//! AArch64: the decoder prints what both herd and this crate read, the base instruction where an
//! alias is not known to one of them.

/// herd has one name for the conditions of the carry flag.
fn carry(text: &str) -> String {
    for (from, to) in [("hs", "cs"), ("lo", "cc")] {
        if let Some(rest) = text.strip_suffix(&format!(",{from}")) {
            return format!("{rest},{to}");
        }
        for branch in ["b.", "bc."] {
            if let Some(rest) = text.strip_prefix(&format!("{branch}{from} ")) {
                return format!("{branch}{to} {rest}");
            }
        }
    }
    text.to_string()
}

/// A move of what neither MOVZ nor MOVN gives is an ORR with the zero register.
fn wide_or_not(parts: &[&str]) -> String {
    let long = !parts[0].starts_with('w');
    let all = if long { u64::MAX } else { u32::MAX.into() };
    let value = parts[1].parse::<i64>().unwrap_or(0) as u64 & all;
    let one_piece = |v: u64| [0, 16, 32, 48].iter().any(|k| v & !(0xffff << k) == 0);
    if one_piece(value) || one_piece(!value & all) {
        return format!("mov {},{}", parts[0], parts[1]);
    }
    let zero = if long { "xzr" } else { "wzr" };
    format!("orr {},{zero},{}", parts[0], value as i64)
}

pub fn respell(text: &str) -> String {
    // A shift by nothing is not written.
    let text = carry(&text.replace(",lsl 0]", "]"));
    let text = text.as_str();
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let parts: Vec<&str> = operands.split(',').collect();
    let number = |i: usize| parts.get(i).and_then(|p| p.parse::<i64>().ok()).unwrap_or(0);
    let bits = if operands.starts_with('x') { 64 } else { 32 };
    let field = |name: &str, rotate: i64, last: i64| {
        format!("{name} {},{},{rotate},{last}", parts[0], parts[1])
    };
    let raw = |signed: bool| if signed { "sbfm" } else { "ubfm" };
    let signed = mnemonic.starts_with('s');
    let extended = |last: i64| {
        // The source of an extension to 64 bits is written as a W register.
        let source = format!("{}{}", &parts[0][..1], &parts[1][1..]);
        format!("{} {},{source},0,{last}", raw(signed), parts[0])
    };
    match mnemonic {
        "ubfx" | "sbfx" if parts.len() == 4 => {
            field(raw(signed), number(2), number(2) + number(3) - 1)
        }
        "ubfiz" | "sbfiz" if parts.len() == 4 => {
            field(raw(signed), (bits - number(2)) % bits, number(3) - 1)
        }
        "uxtb" | "sxtb" if parts.len() == 2 => extended(7),
        "mov" if parts.len() == 2 && parts[1].parse::<i64>().is_ok() => wide_or_not(&parts),
        "fmov" if operands.contains(".d[1]") => format!("mov {operands}"),
        "uxth" | "sxth" if parts.len() == 2 => extended(15),
        _ => {
            // Unscaled offsets have the mnemonic of scaled ones.
            for (from, to) in [("ldur", "ldr"), ("stur", "str"), ("prfum", "prfm")] {
                if let Some(rest) = mnemonic.strip_prefix(from) {
                    return format!("{to}{rest} {operands}");
                }
            }
            text.to_string()
        }
    }
}
