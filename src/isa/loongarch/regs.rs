//! The names of LoongArch registers.

/// A register number.
pub type R = u8;

pub const ZERO: R = 0;
pub const RA: R = 1;

/// The names that states print.
const CANONICAL: [&str; 32] = [
    "$r0", "$r1", "$r2", "$r3", "$r4", "$r5", "$r6", "$r7", "$r8", "$r9", "$r10", "$r11", "$r12",
    "$r13", "$r14", "$r15", "$r16", "$r17", "$r18", "$r19", "$r20", "$r21", "$r22", "$r23", "$r24",
    "$r25", "$r26", "$r27", "$r28", "$r29", "$r30", "$r31",
];

/// The names of the calling convention: letters, how many registers they have, and the first one's number.
const GROUPS: [(&str, R, R); 4] = [("r", 32, 0), ("a", 8, 4), ("t", 9, 12), ("s", 9, 23)];
const SINGLES: [(&str, R); 6] =
    [("zero", 0), ("ra", 1), ("tp", 2), ("sp", 3), ("fp", 22), ("s9", 22)];

/// The number of the register that a name means: its own, or that of the calling convention. Assemblers want
/// the `$`.
pub fn number(name: &str) -> Option<R> {
    let lower = name.strip_prefix('$').unwrap_or(name).to_ascii_lowercase();
    if let Some((_, number)) = SINGLES.iter().find(|(single, _)| *single == lower) {
        return Some(*number);
    }
    GROUPS.iter().find_map(|(letters, count, first)| {
        let digits = lower.strip_prefix(letters)?;
        let n: R = digits.parse().ok()?;
        (n < *count && n.to_string() == digits).then_some(first + n)
    })
}

/// The number of the register for floating point or vectors that a name means.
pub fn vector(name: &str) -> Option<R> {
    const GROUPS: [(&str, R, R); 5] =
        [("$vr", 32, 0), ("$fa", 8, 0), ("$ft", 16, 8), ("$fs", 8, 24), ("$f", 32, 0)];
    let lower = name.to_ascii_lowercase();
    GROUPS.iter().find_map(|(letters, count, first)| {
        let digits = lower.strip_prefix(letters)?;
        let n: R = digits.parse().ok()?;
        (n < *count && n.to_string() == digits).then_some(first + n)
    })
}

/// The name that states print.
pub fn canonical(number: R) -> &'static str {
    CANONICAL[usize::from(number) % 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_names() {
        for (name, wanted) in [
            ("$r0", 0),
            ("$zero", 0),
            ("$ra", 1),
            ("$tp", 2),
            ("$sp", 3),
            ("$a0", 4),
            ("$a7", 11),
            ("$t0", 12),
            ("$t8", 20),
            ("$r21", 21),
            ("$fp", 22),
            ("$s9", 22),
            ("$s0", 23),
            ("S8", 31),
            ("r31", 31),
        ] {
            assert_eq!(number(name), Some(wanted), "{name}");
        }
        for (name, wanted) in [("$f31", 31), ("$vr7", 7), ("$fa7", 7), ("$ft15", 23), ("$fs0", 24)]
        {
            assert_eq!(vector(name), Some(wanted), "{name}");
        }
        assert_eq!((vector("$r1"), vector("$f32"), vector("$fa8")), (None, None, None));
        for bad in ["", "$", "$r32", "$a8", "$t9", "$s10", "$r01", "x5", "$$r1", "$f0", "é"] {
            assert_eq!(number(bad), None, "{bad}");
        }
    }
}
