//! Derives from a profile what runtime libraries will detect about the machine that its code runs
//! on.
//!
//! This file does not know the libraries.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Profile;
use litmake_litmus::Arch;

/// The name under which [`flags`] gives the features that the system reports to a program.
pub const MACHINE: &str = "AT_HWCAP";

/// The values of the runtime library's variables under a profile.
pub fn flags(profile: &Profile) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    let mut set = |name: &str, value: u64| out.insert(name.to_string(), value);
    match profile.arch {
        Arch::AArch64 => {
            let machine = aarch64(&profile.args);
            set("__aarch64_have_lse_atomics", u64::from(machine.lse));
            set(MACHINE, machine.hwcap());
        }
        Arch::X86_64 => {
            set("__libat_feat1", x86(&profile.args));
        }
        Arch::Arm => {
            // Since version 6K, Arm has exclusives of every size.
            set("libat_have_strexbhd", 1);
            set("libat_have_ldrexd", 1);
        }
        _ => {}
    }
    for (name, value) in &profile.runtime {
        if let Ok(n) = value.parse() {
            out.insert(name.clone(), n);
        }
    }
    out
}

/// The variables that hold the features of a machine; libraries decide by them whether they lock. A
/// variable that chooses between two ways without a lock (`__aarch64_have_lse_atomics`) stays as
/// its profile says.
const MACHINES: [&str; 2] = [MACHINE, "__libat_feat1"];

/// The profiles of code that runs in one program, changed so that libraries detect a machine that
/// runs all of it. Values that a profile sets itself stay.
pub fn on_one_machine(profiles: &[Arc<Profile>]) -> Vec<Arc<Profile>> {
    let found: Vec<BTreeMap<String, u64>> = profiles.iter().map(|p| flags(p)).collect();
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for own in &found {
        for name in MACHINES {
            *all.entry(name).or_default() |= own.get(name).copied().unwrap_or(0);
        }
    }
    let shared = |(profile, own): (&Arc<Profile>, &BTreeMap<String, u64>)| {
        let more: Vec<(String, String)> = all
            .iter()
            .filter(|(name, value)| own.get(**name).is_some_and(|v| v != *value))
            .filter(|(name, _)| !profile.runtime.contains_key(**name))
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        if more.is_empty() {
            return profile.clone();
        }
        let mut out = Profile::clone(profile);
        out.runtime.extend(more);
        Arc::new(out)
    };
    profiles.iter().zip(&found).map(shared).collect()
}

/// The functions that the runtime library chooses under a profile.
pub fn chosen(profile: &Profile) -> BTreeMap<String, String> {
    let functions = profile.runtime.iter().filter(|(_, value)| value.parse::<u64>().is_err());
    functions.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The features of an AArch64 processor that libraries ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AArch64 {
    lse: bool,
    /// Aligned accesses to pairs and vectors are single.
    lse2: bool,
    rcpc: bool,
}

impl AArch64 {
    /// The features as the Linux kernel reports them.
    fn hwcap(self) -> u64 {
        // Floating point and vectors are always there.
        0b11 | u64::from(self.lse) << 8 | u64::from(self.rcpc) << 15 | u64::from(self.lse2) << 25
    }
}

/// The features that `-march` and `-mcpu` imply; the name of a processor implies none.
fn aarch64(args: &[String]) -> AArch64 {
    let mut out = AArch64::default();
    for arg in args {
        let value = arg.strip_prefix("-march=").or(arg.strip_prefix("-mcpu="));
        let Some(value) = value else { continue };
        let mut parts = value.split('+');
        let base = parts.next().unwrap_or("");
        let version = |text: &str| {
            let minor = text.split(['-', '_']).next().unwrap_or("").trim_end_matches('a');
            minor.parse::<u32>().ok()
        };
        // zig writes versions as features: `generic+v8_4a`.
        let apply = |out: &mut AArch64, major: &str, minor: u32| {
            let minor = if major == "9" { minor + 5 } else { minor };
            out.lse |= minor >= 1;
            out.rcpc |= minor >= 3;
            out.lse2 |= minor >= 4;
        };
        if let Some(rest) = base.strip_prefix("armv9") {
            apply(&mut out, "9", rest.strip_prefix('.').and_then(version).unwrap_or(0));
        } else if let Some(rest) = base.strip_prefix("armv8.") {
            apply(&mut out, "8", version(rest).unwrap_or(0));
        }
        for part in parts {
            match part {
                "lse" => out.lse = true,
                "lse2" => (out.lse, out.lse2) = (true, true),
                "lse128" => (out.lse, out.lse2) = (true, true),
                "nolse" => (out.lse, out.lse2) = (false, false),
                "rcpc" | "rcpc2" | "rcpc3" => out.rcpc = true,
                _ => match (part.strip_prefix("v8_"), part.strip_prefix("v9")) {
                    (Some(rest), _) => apply(&mut out, "8", version(rest).unwrap_or(0)),
                    (_, Some(rest)) => {
                        let minor = rest.strip_prefix('_').and_then(version).unwrap_or(0);
                        apply(&mut out, "9", minor);
                    }
                    _ => {}
                },
            }
        }
    }
    out
}

/// The word that `libatomic` stores about an x86 processor: ECX of the instruction CPUID. Its first
/// bit shows that the processor was asked; every 64-bit processor in use sets it.
fn x86(args: &[String]) -> u64 {
    const ASKED: u64 = 1;
    const CX16: u64 = 1 << 13;
    const AVX: u64 = 1 << 28;
    let mut out = ASKED;
    for arg in args {
        let value = arg.strip_prefix("-march=").or(arg.strip_prefix("-mcpu="));
        out |= match (value, arg.as_str()) {
            (Some("x86-64" | "x86_64"), _) => 0,
            (Some("x86-64-v2" | "x86_64_v2"), _) | (_, "-mcx16") => CX16,
            (Some("x86-64-v3" | "x86-64-v4" | "x86_64_v3" | "x86_64_v4"), _) => CX16 | AVX,
            (_, "-mavx" | "-mavx2" | "-mavx512f") => AVX,
            _ => 0,
        };
    }
    for arg in args {
        match arg.as_str() {
            "-mno-cx16" => out &= !CX16,
            "-mno-avx" => out &= !AVX,
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{aarch64, x86};

    #[test]
    fn what_the_kernel_would_say() {
        for (arg, wanted) in [
            ("-march=armv8-a", 0x3),
            ("-march=armv8.1-a", 0x103),
            ("-march=armv8.3-a", 0x8103),
            ("-march=armv8.4-a", 0x200_8103),
            ("-march=armv9.4-a+lse128", 0x200_8103),
            ("-mcpu=generic+v8_4a", 0x200_8103),
        ] {
            assert_eq!(aarch64(&[arg.to_string()]).hwcap(), wanted, "{arg}");
        }
        let x86 = |args: &[&str]| x86(&args.iter().map(|a| a.to_string()).collect::<Vec<_>>());
        assert_eq!(x86(&["-O2"]), 1);
        assert_eq!(x86(&["-march=x86-64-v2"]), 0x2001);
        assert_eq!(x86(&["-mcx16", "-mavx"]), 0x1000_2001);
        assert_eq!(x86(&["-march=x86-64-v3", "-mno-avx"]), 0x2001);
    }

    #[test]
    fn which_processors_have_lse() {
        for (arg, wanted) in [
            ("-march=armv8-a", false),
            ("-march=armv8-a+lse", true),
            ("-march=armv8.1-a", true),
            ("-march=armv8.4-a+nolse", false),
            ("-march=armv9-a", true),
            ("-mcpu=generic+v8_1a", true),
            ("-mcpu=generic", false),
            ("-O2", false),
        ] {
            assert_eq!(aarch64(&[arg.to_string()]).lse, wanted, "{arg}");
        }
    }
}
