//! The names of x86 registers.

use super::insn::{Gpr, Size};

const QUAD: [&str; 8] = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"];

/// The register that a lower-case name means, in 64-bit code or in 32-bit code.
pub fn gpr(name: &str, wide: bool) -> Option<Gpr> {
    if let Some(reg) = numbered(name) {
        return wide.then_some(reg);
    }
    let high = ["ah", "ch", "dh", "bh"].iter().position(|n| *n == name);
    if let Some(num) = high {
        return Some(Gpr { num: num as u8, size: Size::B, high: true });
    }
    for (num, quad) in QUAD.iter().enumerate() {
        let word = &quad[1..];
        let size = if name == *quad {
            Size::Q
        } else if name == word {
            Size::W
        } else if name.strip_prefix('e') == Some(word) {
            Size::L
        } else if is_low_byte(num, name, word, wide) {
            Size::B
        } else {
            continue;
        };
        if size == Size::Q && !wide {
            return None;
        }
        return Some(Gpr::new(num as u8, size));
    }
    None
}

/// `al` to `bl`, and in 64-bit code `spl` to `dil`.
fn is_low_byte(num: usize, name: &str, word: &str, wide: bool) -> bool {
    match name.strip_suffix('l') {
        Some(stem) if num < 4 => stem == &word[..1],
        Some(stem) => wide && stem == word,
        None => false,
    }
}

/// `r8` to `r15` and their parts.
fn numbered(name: &str) -> Option<Gpr> {
    let rest = name.strip_prefix('r')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let num = match &rest[..end] {
        "8" => 8,
        "9" => 9,
        "10" => 10,
        "11" => 11,
        "12" => 12,
        "13" => 13,
        "14" => 14,
        "15" => 15,
        _ => return None,
    };
    let size = match &rest[end..] {
        "" => Size::Q,
        "d" => Size::L,
        "w" => Size::W,
        "b" | "l" => Size::B,
        _ => return None,
    };
    Some(Gpr::new(num, size))
}

pub fn xmm(name: &str) -> Option<u8> {
    let num = name.strip_prefix("xmm")?;
    if num.len() > 1 && num.starts_with('0') {
        return None;
    }
    num.parse().ok().filter(|n| *n < 16)
}

/// The name that states print: the whole register's.
pub fn canonical(num: u8, wide: bool) -> String {
    match (QUAD.get(num as usize), wide) {
        (Some(quad), true) => quad.to_string(),
        (Some(quad), false) => format!("E{}", quad[1..].to_uppercase()),
        (None, _) => format!("r{num}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_registers() {
        let g = |n| gpr(n, true).map(|g| (g.num, g.size, g.high));
        assert_eq!(g("al"), Some((0, Size::B, false)));
        assert_eq!(g("ch"), Some((1, Size::B, true)));
        assert_eq!(g("dx"), Some((2, Size::W, false)));
        assert_eq!(g("ebx"), Some((3, Size::L, false)));
        assert_eq!(g("rsp"), Some((4, Size::Q, false)));
        assert_eq!(g("spl"), Some((4, Size::B, false)));
        assert_eq!(g("dil"), Some((7, Size::B, false)));
        assert_eq!(g("r8"), Some((8, Size::Q, false)));
        assert_eq!(g("r15b"), Some((15, Size::B, false)));
        assert_eq!(g("r10d"), Some((10, Size::L, false)));
        for bad in ["r7", "r16", "sl", "xl", "e", "r", "rr", "eeax", "r08", "él"] {
            assert_eq!(g(bad), None, "{bad}");
        }
    }

    #[test]
    fn thirty_two_bit_code_has_fewer() {
        assert!(gpr("eax", false).is_some());
        for bad in ["rax", "r8d", "sil"] {
            assert_eq!(gpr(bad, false), None, "{bad}");
        }
        assert_eq!(canonical(0, false), "EAX");
        assert_eq!(canonical(3, true), "rbx");
        assert_eq!(canonical(12, true), "r12");
    }
}
