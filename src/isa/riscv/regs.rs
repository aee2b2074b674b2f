//! The names of RISC-V registers.

use super::insn::X;

const ABI: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// The number of the register that a name means.
pub fn number(name: &str) -> Option<X> {
    let name = name.to_ascii_lowercase();
    if let Some(i) = ABI.iter().position(|n| *n == name) {
        return Some(i as X);
    }
    if name == "fp" {
        return Some(8);
    }
    let digits = name.strip_prefix('x')?;
    if digits.len() > 1 && digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|n| *n < 32)
}

/// The name that states print.
pub fn canonical(num: X) -> String {
    format!("x{num}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_names() {
        for (name, num) in [
            ("x0", 0),
            ("zero", 0),
            ("x31", 31),
            ("t6", 31),
            ("s0", 8),
            ("fp", 8),
            ("s10", 26),
            ("A0", 10),
        ] {
            assert_eq!(number(name), Some(num), "{name}");
        }
        for bad in ["x32", "x", "x01", "x+1", "t7", "s12", "a8", "", "é"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }
}
