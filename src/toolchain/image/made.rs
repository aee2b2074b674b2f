//! Functions that linkers write instead of libraries: those that save and restore registers in
//! Power's code for small size.
//!
//! It knows their names and encodings, and nothing of images.

use litmake_litmus::Arch;

/// The code of such a function, by name ("64-Bit ELF V2 ABI Specification: Power Architecture",
/// section 2.3.3).
pub(super) fn code(arch: Arch, name: &str) -> Option<Vec<u32>> {
    if arch != Arch::Ppc {
        return None;
    }
    let (kind, first) = name.split_at_checked(name.rfind('_')?)?;
    let first: u32 = first[1..].parse().ok().filter(|r| (14..=31).contains(r))?;
    let (load, base, link) = match kind {
        "_savegpr0" => (false, 1, true),
        "_restgpr0" => (true, 1, true),
        "_savegpr1" => (false, 12, false),
        "_restgpr1" => (true, 12, false),
        _ => return None,
    };
    // The registers are stored below the base, the last one nearest to it. The return address is
    // stored in the caller's slot.
    let access = |register: u32, offset: i32| {
        let opcode: u32 = if load { LD } else { STD };
        opcode << 26 | register << 21 | base << 16 | (offset as u32 & 0xfffc)
    };
    let mut words: Vec<u32> = (first..=31).map(|r| access(r, -8 * (32 - r as i32))).collect();
    if link {
        words.push(access(0, 16));
        words.extend(load.then_some(MTLR_R0));
    }
    words.push(BLR);
    Some(words)
}

const LD: u32 = 58;
const STD: u32 = 62;
const MTLR_R0: u32 = 0x7c08_03a6;
const BLR: u32 = 0x4e80_0020;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_saved_and_restored() {
        assert_eq!(
            code(Arch::Ppc, "_savegpr0_30"),
            // std 30,-16(1); std 31,-8(1); std 0,16(1); blr
            Some(vec![0xfbc1_fff0, 0xfbe1_fff8, 0xf801_0010, 0x4e80_0020])
        );
        assert_eq!(
            code(Arch::Ppc, "_restgpr0_31"),
            // ld 31,-8(1); ld 0,16(1); mtlr 0; blr
            Some(vec![0xebe1_fff8, 0xe801_0010, 0x7c08_03a6, 0x4e80_0020])
        );
        // ld 31,-8(12); blr
        assert_eq!(code(Arch::Ppc, "_restgpr1_31"), Some(vec![0xebec_fff8, 0x4e80_0020]));
        for no in ["_savegpr0_13", "_savegpr0_32", "_savegpr0_", "_savegpr2_30", "f", "_", "é_30"]
        {
            assert_eq!(code(Arch::Ppc, no), None, "{no}");
        }
        assert_eq!(code(Arch::Mips, "_savegpr0_30"), None);
    }
}
