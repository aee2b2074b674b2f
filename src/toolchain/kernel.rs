//! Finds the kernel headers for tests of kernel primitives, and the arguments with which the
//! kernel's own build compiles them.
//!
//! It does not know what the headers contain.

use std::path::{Path, PathBuf};

use super::process;
use litmake_base::failure::{Failure, Fault};
use litmake_isa::target;
use litmake_lang::Language;
use litmake_litmus::Arch;
use litmake_profile::Profile;

/// The variable that names a configured kernel, or a folder with one for each architecture.
pub const VARIABLE: &str = "LITMAKE_KERNEL";

/// A file that every configured kernel has.
const CONFIGURED: &str = "include/generated/autoconf.h";

/// The kernel's name of an architecture.
pub fn architecture(arch: Arch) -> Option<&'static str> {
    target::facts(arch)?.kernel
}

/// The folder of a profile's kernel; `None` for a profile of another language.
pub fn folder(profile: &Profile) -> Result<Option<PathBuf>, Failure> {
    if profile.language != Language::Kernel {
        return Ok(None);
    }
    let arch = architecture(profile.arch).ok_or_else(|| {
        let message = format!("tests of the kernel for {}", profile.arch.name());
        Failure::unsupported(message)
    })?;
    let is_configured = |dir: &PathBuf| {
        dir.join(CONFIGURED).is_file() && each(dir).any(|d| d.join("arch").join(arch).is_dir())
    };
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let places: Vec<PathBuf> = match (&profile.kernel, named) {
        (Some(dir), _) => vec![dir.join(arch), dir.clone()],
        (None, Some(dir)) => vec![dir.join(arch), dir],
        (None, None) => {
            process::toolchains().iter().map(|dir| dir.join("kernel").join(arch)).collect()
        }
    };
    if let Some(found) = places.iter().find(|dir| is_configured(dir)) {
        return Ok(Some(std::path::absolute(found).unwrap_or(found.clone())));
    }
    let looked: Vec<String> = places.iter().map(|dir| dir.display().to_string()).collect();
    let message = format!(
        "there are no headers of a kernel configured for {arch} in {}; `scripts/setup --kernel` brings some, and the \
         key `kernel` of a profile or {VARIABLE} names a configured kernel, which has {CONFIGURED}",
        looked.join(" or ")
    );
    Err(Failure::broken(Fault::Missing, message))
}

/// A configured folder, and the folder of the sources if it is separate.
fn each(dir: &Path) -> impl Iterator<Item = PathBuf> {
    [dir.to_path_buf(), dir.join("source")].into_iter()
}

/// The arguments of the kernel's build that affect the headers; empty for another language.
pub fn arguments(profile: &Profile) -> Vec<String> {
    let (Ok(Some(dir)), Some(arch)) = (folder(profile), architecture(profile.arch)) else {
        return Vec::new();
    };
    let mut out: Vec<String> = [
        "-std=gnu11",
        "-nostdinc",
        "-D__KERNEL__",
        "-DKBUILD_MODNAME=\"test\"",
        "-DKBUILD_BASENAME=\"test\"",
        "-DKBUILD_MODFILE=\"test\"",
        "-fno-strict-aliasing",
        "-fno-common",
        "-fshort-wchar",
        "-fno-strict-overflow",
        "-fno-delete-null-pointer-checks",
        "-fno-asynchronous-unwind-tables",
        "-fno-pie",
        "-Werror=implicit-function-declaration",
        "-Wno-int-conversion",
        "-Wno-incompatible-pointer-types",
    ]
    .map(String::from)
    .to_vec();
    let below = [
        format!("arch/{arch}/include"),
        format!("arch/{arch}/include/generated"),
        "include".into(),
        format!("arch/{arch}/include/uapi"),
        format!("arch/{arch}/include/generated/uapi"),
        "include/uapi".into(),
        "include/generated/uapi".into(),
    ];
    for place in &below {
        let all = each(&dir).map(|d| d.join(place)).filter(|d| d.is_dir());
        out.extend(all.map(|d| format!("-I{}", d.display())));
    }
    for file in ["linux/compiler-version.h", "linux/kconfig.h", "linux/compiler_types.h"] {
        out.extend(["-include".into(), file.into()]);
    }
    out
}
