//! The names of RISC-V registers.

use super::insn::X;

/// The names that states print.
const CANONICAL: [&str; 32] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
    "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
    "x28", "x29", "x30", "x31",
];

/// The number of the register that a name means: its own, or that of the ABI.
pub fn number(name: &str) -> Option<X> {
    let mut lower = [0; 4];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    let digit = |d: u8| d.is_ascii_digit().then(|| d - b'0');
    let (kind, n) = match *lower {
        [b'z', b'e', b'r', b'o'] => return Some(0),
        [b'r', b'a'] => return Some(1),
        [b's', b'p'] => return Some(2),
        [b'g', b'p'] => return Some(3),
        [b't', b'p'] => return Some(4),
        [b'f', b'p'] => return Some(8),
        [kind, d] => (kind, digit(d)?),
        [kind, d @ b'1'..=b'9', e] => (kind, 10 * (d - b'0') + digit(e)?),
        _ => return None,
    };
    match (kind, n) {
        (b'x', 0..32) => Some(n),
        (b't', 0..=2) => Some(5 + n),
        (b's', 0..=1) => Some(8 + n),
        (b'a', 0..=7) => Some(10 + n),
        (b's', 2..=11) => Some(16 + n),
        (b't', 3..=6) => Some(25 + n),
        _ => None,
    }
}

/// The number of the floating-point register that a name means: its own, or that of the ABI.
pub fn float(name: &str) -> Option<X> {
    let lower = name.to_ascii_lowercase();
    let digits = lower.trim_start_matches(|c: char| !c.is_ascii_digit());
    let n: X = digits.parse().ok().filter(|n: &X| n.to_string() == digits)?;
    match (&lower[..lower.len() - digits.len()], n) {
        ("f", 0..32) => Some(n),
        ("ft", 0..=7) => Some(n),
        ("fs", 0..=1) => Some(8 + n),
        ("fa", 0..=7) => Some(10 + n),
        ("fs", 2..=11) => Some(16 + n),
        ("ft", 8..=11) => Some(20 + n),
        _ => None,
    }
}

/// The name that states print.
pub fn canonical(num: X) -> &'static str {
    CANONICAL[usize::from(num) % 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_point_registers() {
        let abi = "ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 fs2 fs3 \
                   fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11";
        for (num, name) in abi.split_whitespace().enumerate() {
            assert_eq!(float(name), Some(num as X), "{name}");
            assert_eq!(float(&format!("F{num}")), Some(num as X));
        }
        for bad in ["f32", "f", "fp", "fa8", "f01", "x1", "", "1", "é1"] {
            assert_eq!(float(bad), None, "{bad}");
        }
    }

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
        let abi = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 \
                   s10 s11 t3 t4 t5 t6";
        for (num, name) in abi.split_whitespace().enumerate() {
            assert_eq!(number(name), Some(num as X), "{name}");
            assert_eq!(number(canonical(num as X)), Some(num as X));
            assert_eq!(canonical(num as X), format!("x{num}"));
        }
        for bad in
            ["x032", "s01", "zeroo", "f0", "x32", "x", "x01", "x+1", "t7", "s12", "a8", "", "é"]
        {
            assert_eq!(number(bad), None, "{bad}");
        }
    }
}
