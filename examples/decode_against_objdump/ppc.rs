//! Power: objdump writes registers as bare numbers, and some simplified mnemonics.

/// A bit of the condition register by its number: `eq`, `4*cr5+lt`.
fn bit(word: &str) -> Option<usize> {
    let (field, name) = match word.strip_prefix("4*cr") {
        Some(rest) => rest.split_once('+')?,
        None => ("0", word),
    };
    let at =
        ["lt", "gt", "eq", "so"].iter().position(|n| *n == name || name == "un" && *n == "so")?;
    Some(field.parse::<usize>().ok()? * 4 + at)
}

/// Without the letters before the numbers of registers, and with bits as numbers.
pub fn without_names(text: &str) -> String {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let bare = |word: &str| {
        let number = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let named = ["r", "f", "v", "vs", "cr"].contains(&&word[..word.len() - number.len()]);
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        match bit(word) {
            Some(bit) => bit.to_string(),
            None if named && digits => number.to_string(),
            None => word.to_string(),
        }
    };
    let mut out = format!("{mnemonic} ");
    for part in operands.split_inclusive(|c: char| ",()".contains(c)) {
        let word = part.trim_end_matches([',', '(', ')']);
        out.push_str(&bare(word));
        out.push_str(&part[word.len()..]);
    }
    out.trim().to_string()
}

/// The base instruction where the decoder has no other name, and branches by their conditions.
pub fn respell(text: &str) -> String {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    let parts: Vec<&str> = operands.split(',').collect();
    let number = |i: usize| parts.get(i).and_then(|p| p.parse::<u32>().ok()).unwrap_or(0);
    let (stem, dot) = match mnemonic.strip_suffix('.') {
        Some(stem) => (stem, "."),
        None => (mnemonic, ""),
    };
    match (stem, parts.as_slice()) {
        ("crset", [a]) => format!("creqv {a},{a},{a}"),
        ("crclr", [a]) => format!("crxor {a},{a},{a}"),
        ("crmove", [to, a]) => format!("cror {to},{a},{a}"),
        ("crnot", [to, a]) => format!("crnor {to},{a},{a}"),
        ("isellt", [to, a, b]) => format!("isel {to},{a},{b},0"),
        ("iselgt", [to, a, b]) => format!("isel {to},{a},{b},1"),
        ("iseleq", [to, a, b]) => format!("isel {to},{a},{b},2"),
        ("mffprd", _) => format!("mfvsrd {operands}"),
        ("mffprwz", _) => format!("mfvsrwz {operands}"),
        ("mtfprd", _) => format!("mtvsrd {operands}"),
        ("mtfprwa", _) => format!("mtvsrwa {operands}"),
        ("mtfprwz", _) => format!("mtvsrwz {operands}"),
        ("xxmrghd", [to, a, b]) => format!("xxpermdi {to},{a},{b},0"),
        ("xxmrgld", [to, a, b]) => format!("xxpermdi {to},{a},{b},3"),
        ("xxswapd", [to, a]) => format!("xxpermdi {to},{a},{a},2"),
        ("xxspltd", [to, a, n]) => {
            format!("xxpermdi {to},{a},{a},{}", if *n == "1" { 3 } else { 0 })
        }
        // A return under a condition: whether it must hold, and its bit.
        ("bclr", [how, at]) => {
            let how = match *how {
                "12" | "14" | "15" => "bt",
                _ => "bf",
            };
            branch(&format!("{how}lr"), &[at]).unwrap_or_else(|| text.to_string())
        }
        ("sub", [to, a, b]) => format!("subf{dot} {to},{b},{a}"),
        ("clrlwi", [to, from, _]) => format!("rlwinm{dot} {to},{from},0,{},31", number(2)),
        ("srwi", [to, from, _]) => {
            format!("rlwinm{dot} {to},{from},{},{},31", 32 - number(2), number(2))
        }
        ("slwi", [to, from, _]) => {
            format!("rlwinm{dot} {to},{from},{},0,{}", number(2), 31 - number(2))
        }
        _ => branch(mnemonic, &parts).unwrap_or_else(|| text.to_string()),
    }
}

/// `bt 2,...` is a branch where bit 2, of the first field, is set: `beq`. A hint which way it goes
/// is not kept.
fn branch(mnemonic: &str, parts: &[&str]) -> Option<String> {
    let plain = mnemonic.trim_end_matches(['+', '-']);
    let (set, rest) = match (plain.strip_prefix("bt"), plain.strip_prefix("bf")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return None,
    };
    let bit: usize = parts.first()?.parse().ok()?;
    let names = if set { ["lt", "gt", "eq", "so"] } else { ["ge", "le", "ne", "ns"] };
    let field = match bit / 4 {
        0 => String::new(),
        n => n.to_string(),
    };
    let mut operands: Vec<&str> = Vec::new();
    if !field.is_empty() {
        operands.push(&field);
    }
    operands.extend(&parts[1..]);
    Some(format!("b{}{rest} {}", names[bit % 4], operands.join(",")).trim().to_string())
}
