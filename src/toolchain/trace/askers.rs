//! Who asks for a file's times, owner and inode. A call for the kind and size of a file brings them,
//! too, and nothing shows what becomes of them: so it depends on the program.
//!
//! Compilers ask whether there is a file, and how large it is. Shells compare times and owners
//! (`-nt`, `-O`). Whatever else runs may do anything with them, as scripts in Python do.
//!
//! It does not know what is recorded of them.

use std::path::Path;

use libc::{c_long, pid_t};

use super::Look;

/// Parts of compilers, without the target before them and the version behind them.
const COMPILERS: [&str; 34] = [
    "as",
    "c++",
    "cc",
    "cc1plus",
    "cicc",
    "clang",
    "clang++",
    "collect",
    "cudafe++",
    "fatbinary",
    "g++",
    "gcc",
    "glslang",
    "glslangValidator",
    "glslc",
    "go",
    "gold",
    "ld",
    "ld.bfd",
    "ld.gold",
    "ld.lld",
    "llc",
    "lld",
    "llvm-link",
    "llvm-mc",
    "lto",
    "lto-wrapper",
    "naga",
    "nvcc",
    "nvlink",
    "opt",
    "ptxas",
    "rustc",
    "zig",
];

/// Programs for texts and files, of which the output does not depend on times, owners and inodes. Those that can print or
/// compare them, such as `cp -u`, `ls`, `stat` and `find`, are not here.
const TEXTS: [&str; 18] = [
    "awk", "basename", "cat", "cut", "dirname", "env", "expr", "gawk", "grep", "head", "mawk",
    "mkdir", "printf", "rm", "sed", "sleep", "tail", "tr",
];

const SHELLS: [&str; 4] = ["bash", "busybox", "dash", "sh"];

/// What a call brings beside the kind and size.
const OWNER: u32 = libc::STATX_MTIME | libc::STATX_UID | libc::STATX_GID;
const IDENTITY: u32 = libc::STATX_INO
    | libc::STATX_NLINK
    | libc::STATX_CTIME
    | libc::STATX_BTIME
    | libc::STATX_BLOCKS;

/// The look at times, owner and inode that a call may be for, and whether it asks for that by name.
pub fn asked(pid: pid_t, number: c_long, args: &[u64; 6]) -> Option<(Look, bool)> {
    match number {
        libc::SYS_statx if !is_whole(args) => match args[3] as u32 {
            mask if mask & IDENTITY != 0 => Some((Look::Identity, true)),
            mask if mask & OWNER != 0 => Some((Look::Owner, true)),
            _ => None,
        },
        libc::SYS_statx | libc::SYS_newfstatat => Some((used_by(&program(pid)?)?, false)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat | libc::SYS_lstat => Some((used_by(&program(pid)?)?, false)),
        _ => None,
    }
}

/// Whether a call asks by name for the time at which a file was last read, and may use it.
pub fn wants_last_read(pid: pid_t, args: &[u64; 6]) -> bool {
    let asks = !is_whole(args) && args[3] as u32 & libc::STATX_ATIME != 0;
    asks && program(pid).is_none_or(|name| used_by(&name).is_some())
}

/// Whether a call asks for all that there is, as languages do whose programs then take a part.
fn is_whole(args: &[u64; 6]) -> bool {
    args[3] as u32 & libc::STATX_BASIC_STATS == libc::STATX_BASIC_STATS
}

/// The name of the program that a process runs.
pub fn program(pid: pid_t) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Whether a process runs a part of a compiler.
pub fn is_compiler(pid: pid_t) -> bool {
    program(pid).is_some_and(|name| is_part(&name))
}

/// Whether a program tells the time of day. Others that ask for it do so without a system call.
pub fn tells_time(program: &Path) -> bool {
    program.file_name() == Some("date".as_ref())
}

/// Whether a program is a part of a compiler, for some target and of some version.
fn is_part(program: &str) -> bool {
    let name = without_version(program);
    let is = |part: &str| {
        name.strip_suffix(part).is_some_and(|target| target.is_empty() || target.ends_with('-'))
    };
    COMPILERS.into_iter().any(is)
}

fn without_version(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

/// The part of a file's times, owner and inode that a program may use.
fn used_by(program: &str) -> Option<Look> {
    match without_version(program) {
        name if is_part(program) || TEXTS.contains(&name) => None,
        name if SHELLS.contains(&name) => Some(Look::Owner),
        _ => Some(Look::Identity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_whatever_their_target_and_version() {
        for name in [
            "x86_64-linux-gnu-gcc-12",
            "aarch64-linux-gnu-as",
            "cc1",
            "cc1plus",
            "collect2",
            "clang-16",
            "clang",
            "x86_64-linux-gnu-ld.bfd",
            "rustc",
            "rust-lld",
            "zig",
            "spirv-opt",
            "opt",
            "llc",
            "lto1",
            "lto-wrapper",
        ] {
            assert_eq!(used_by(name), None, "{name}");
        }
        assert_eq!((used_by("dash"), used_by("sed")), (Some(Look::Owner), None));
        for name in ["python3.11", "perl", "stat", "find", "make", "ccache", "gcc-wrapper"] {
            assert_eq!(used_by(name), Some(Look::Identity), "{name}");
        }
    }
}
