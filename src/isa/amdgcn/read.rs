//! The parts of an instruction of an AMD GPU as assemblers write it: its name, its operands, and the words behind them.
//! It does not know what they mean.

use crate::microcode::parse_int;

/// One instruction, as it is spelled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Insn<'a> {
    /// The name, without the ending that says how it is encoded.
    pub name: &'a str,
    /// Whether it is in the short encoding (`_e32`).
    pub short: bool,
    pub operands: Vec<Operand<'a>>,
    /// What stands behind the operands: bits of caches, an offset, a scope.
    pub words: Vec<&'a str>,
}

/// The registers of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bank {
    /// One value for each lane.
    Vector,
    /// One value for all lanes.
    Scalar,
}

/// The half of a register that an operand of 16 bits names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Low,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operand<'a> {
    /// `v2`, `s[4:5]`, `v3.h`.
    Reg {
        bank: Bank,
        first: u16,
        count: u16,
        half: Option<Half>,
    },
    /// `vcc` or `exec`, of 64 bits.
    Mask(&'static str),
    /// `vcc_lo` or `exec_lo`.
    LowMask(&'static str),
    /// `null`: a result that is not wanted.
    Null,
    /// `off`: no register is a part of the address.
    Off,
    Int(i128),
    /// A label.
    Name(&'a str),
}

/// Instructions whose operands are words without commas.
const WORDY: [&str; 7] = [
    "s_waitcnt",
    "s_wait_alu",
    "s_delay_alu",
    "buffer_wb",
    "buffer_inv",
    "global_wb",
    "global_inv",
];

/// Splits an instruction; `None` where the text is empty.
pub(super) fn read(text: &str) -> Result<Option<Insn<'_>>, String> {
    let (name, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    if name.is_empty() {
        return Ok(None);
    }
    let short = name.ends_with("_e32");
    let name = name.strip_suffix("_e32").or_else(|| name.strip_suffix("_e64")).unwrap_or(name);
    let mut insn = Insn { name, short, operands: Vec::new(), words: Vec::new() };
    if name != "s_waitcnt_vscnt" && WORDY.iter().any(|start| name.starts_with(start)) {
        insn.words = rest.split_whitespace().collect();
        return Ok(Some(insn));
    }
    let mut depth = 0i32;
    let comma = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    };
    for part in rest.split(comma).filter(|part| !part.trim().is_empty()) {
        if !insn.words.is_empty() {
            return Err(format!("`{}` stands between operands", insn.words.join(" ")));
        }
        let mut words = part.split_whitespace();
        insn.operands.extend(words.next().map(operand).transpose()?);
        insn.words.extend(words);
    }
    Ok(Some(insn))
}

fn operand(text: &str) -> Result<Operand<'_>, String> {
    let unsupported = || Err(format!("unsupported: the operand `{text}`"));
    Ok(match text {
        "vcc" => Operand::Mask("vcc"),
        "exec" => Operand::Mask("exec"),
        "vcc_lo" => Operand::LowMask("vcc"),
        "exec_lo" => Operand::LowMask("exec"),
        // The active lane is the first.
        "vcc_hi" | "exec_hi" => Operand::Int(0),
        "null" => Operand::Null,
        "off" => Operand::Off,
        _ => match (registers(text), parse_int(text)) {
            (Some(registers), _) => registers,
            (None, Some(n)) => Operand::Int(n),
            (None, None) if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                Operand::Name(text)
            }
            _ => return unsupported(),
        },
    })
}

/// `v2`, `v2.h`, `s[4:5]`.
pub(super) fn registers(text: &str) -> Option<Operand<'_>> {
    let bank = match text.as_bytes().first()? {
        b'v' => Bank::Vector,
        b's' => Bank::Scalar,
        _ => return None,
    };
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|n| plain && *n < 512)
    };
    let rest = &text[1..];
    if let Some(range) = rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        let (first, last) = range.split_once(':').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        let count = last.checked_sub(first)? + 1;
        return Some(Operand::Reg { bank, first, count, half: None });
    }
    let (rest, half) = match (rest.strip_suffix(".l"), rest.strip_suffix(".h")) {
        (Some(rest), _) => (rest, Some(Half::Low)),
        (_, Some(rest)) => (rest, Some(Half::High)),
        _ => (rest, None),
    };
    Some(Operand::Reg { bank, first: number(rest)?, count: 1, half })
}

/// The vector registers whose high half an instruction writes, or two at once.
pub(super) fn wrote_high(text: &str) -> Vec<u16> {
    let of = |text: &str| {
        let insn = read(text).ok().flatten()?;
        let low = insn.name.contains("_d16") && !insn.name.contains("_d16_hi");
        let high = !low && !insn.name.contains("_store_");
        match insn.operands.first()? {
            Operand::Reg { bank: Bank::Vector, first, count, half } => {
                (high && *half != Some(Half::Low)).then_some(*first..*first + *count)
            }
            _ => None,
        }
    };
    text.split("::").filter_map(of).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_instructions() {
        let insn = read("flat_atomic_add_u32 v1, v[2:3], v4 offset:8 th:TH_ATOMIC_RETURN").unwrap();
        let insn = insn.unwrap();
        let vector = |first, count| Operand::Reg { bank: Bank::Vector, first, count, half: None };
        assert_eq!(insn.name, "flat_atomic_add_u32");
        assert_eq!(insn.operands, [vector(1, 1), vector(2, 2), vector(4, 1)]);
        assert_eq!(insn.words, ["offset:8", "th:TH_ATOMIC_RETURN"]);
        let insn = read("v_cmp_ne_u32_e32 vcc, -1, v0").unwrap().unwrap();
        assert_eq!((insn.name, insn.short), ("v_cmp_ne_u32", true));
        assert_eq!(insn.operands, [Operand::Mask("vcc"), Operand::Int(-1), vector(0, 1)]);
        let insn = read("buffer_wbl2 sc0 sc1").unwrap().unwrap();
        assert_eq!((insn.operands.len(), insn.words), (0, vec!["sc0", "sc1"]));
        for bad in ["v_mov_b32 v0, x@rel", "v_add_u32 v0, v1 glc, v2"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        for bad in ["v", "v[3:2]", "vx", "v[1", "s9999", "v1.x"] {
            assert_eq!(registers(bad), None, "{bad}");
        }
    }
}
