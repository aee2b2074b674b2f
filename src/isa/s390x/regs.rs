//! The names of s390x's registers.

/// A register number.
pub type R = u8;

/// The names that states print.
const GENERAL: [&str; 16] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// The number of a register of so many: a letter and digits, with `%` in front or not.
fn numbered(name: &str, letter: char, count: R) -> Option<R> {
    let name = name.strip_prefix('%').unwrap_or(name);
    let digits = name.strip_prefix(letter).or(name.strip_prefix(letter.to_ascii_uppercase()))?;
    let n: R = digits.parse().ok()?;
    (n < count && n.to_string() == digits).then_some(n)
}

/// The number of the general register that a name means.
pub fn general(name: &str) -> Option<R> {
    numbered(name, 'r', 16)
}

/// The number of the floating-point register that a name means.
pub fn float(name: &str) -> Option<R> {
    numbered(name, 'f', 16)
}

/// The number of the vector register that a name means.
pub fn vector(name: &str) -> Option<R> {
    numbered(name, 'v', 32)
}

/// The name that states print.
pub fn canonical(number: R) -> &'static str {
    GENERAL[usize::from(number) % 16]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_percent_sign_or_none() {
        assert_eq!((general("%r15"), general("r0"), general("R7")), (Some(15), Some(0), Some(7)));
        assert_eq!((float("%f15"), vector("v31")), (Some(15), Some(31)));
        for bad in ["", "%", "r16", "r01", "%%r1", "x1", "f1", "ré"] {
            assert_eq!(general(bad), None, "{bad}");
        }
        assert_eq!((float("f16"), vector("v32")), (None, None));
    }
}
