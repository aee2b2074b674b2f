//! What a compiler is, by content: the driver, the programs behind it, and the libraries that
//! they load. A new compiler at an old path is seen; a touched file is no new compiler.
//!
//! It does not know what compilers are asked to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use object::read::elf::{Dyn, ElfFile64, FileHeader};

use super::process::{self, Ended, Request};
use crate::base::content::content_of;
use crate::base::digest::{Digest, Keyer};
use crate::base::records::Records;

const MAX_LIBRARIES: usize = 256;

/// A compiler that was found.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    pub program: PathBuf,
    pub digest: Digest,
    /// Every file that went into it, with its content's digest.
    pub files: BTreeMap<PathBuf, Digest>,
}

/// Finds a compiler and fingerprints it; the message says what is missing.
pub fn fingerprint(
    command: &str,
    env: &BTreeMap<String, String>,
    known: &dyn Records,
) -> Result<Fingerprint, String> {
    let program = process::find(command).ok_or_else(|| {
        format!("the compiler `{command}` is not installed; `litmake doctor` says how to get it")
    })?;
    let mut programs = BTreeSet::from([program.clone()]);
    for part in ["cc1", "as"] {
        programs.extend(behind(&program, part, env));
    }
    let mut files = BTreeMap::new();
    for path in &programs {
        add(path, &mut files, known, 0)?;
    }
    let mut key = Keyer::new("compiler/1");
    // Sorted by content, so that moving a compiler elsewhere changes nothing.
    for digest in files.values().collect::<BTreeSet<_>>() {
        key.add("file", &digest.0);
    }
    Ok(Fingerprint { program, digest: key.finish(), files })
}

/// A program that a driver starts, where it says which.
fn behind(program: &Path, part: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let ended = process::run(&Request {
        program,
        args: &[format!("-print-prog-name={part}")],
        env,
        dir: Path::new("/"),
        timeout: Duration::from_secs(10),
        memory_mib: 4096,
        processors: 1,
        stop: &AtomicBool::new(false),
    });
    let Ended::Exit { code: 0, stdout, .. } = ended else {
        return None;
    };
    let path = process::find(String::from_utf8(stdout).ok()?.trim())?;
    Some(path)
}

fn add(
    path: &Path,
    files: &mut BTreeMap<PathBuf, Digest>,
    known: &dyn Records,
    depth: usize,
) -> Result<(), String> {
    let real = path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))?;
    if files.contains_key(&real) || files.len() > MAX_LIBRARIES || depth > 32 {
        return Ok(());
    }
    let digest = content_of(&real, known).map_err(|e| format!("{}: {e}", real.display()))?;
    files.insert(real.clone(), digest);
    for library in libraries(&real).unwrap_or_default() {
        add(&library, files, known, depth + 1)?;
    }
    Ok(())
}

/// The libraries that an ELF file loads, as the loader would find them without its cache.
fn libraries(path: &Path) -> Option<Vec<PathBuf>> {
    let file = File::open(path).ok()?;
    // SAFETY: the map is read at once and dropped; a file cut meanwhile is a risk we take for
    // compilers, which are not rewritten in place.
    let data = unsafe { memmap2::Mmap::map(&file).ok()? };
    let elf = ElfFile64::<object::Endianness>::parse(&*data).ok()?;
    let endian = elf.endian();
    let sections = elf.elf_header().sections(endian, &*data).ok()?;
    let (entries, strings_at) = sections.dynamic(endian, &*data).ok()??;
    let strings = sections.strings(endian, &*data, strings_at).ok()?;
    let text = |d: &object::elf::Dyn64<object::Endianness>| {
        let offset = u32::try_from(d.d_val(endian)).ok()?;
        let bytes = strings.get(offset).ok()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let mut folders = Vec::new();
    let mut names = Vec::new();
    for entry in entries {
        match entry.d_tag(endian) {
            object::elf::DT_NEEDED => names.extend(text(entry)),
            object::elf::DT_RUNPATH | object::elf::DT_RPATH => {
                let origin = path.parent()?.display().to_string();
                for folder in text(entry)?.split(':') {
                    folders.push(PathBuf::from(folder.replace("$ORIGIN", &origin)));
                }
            }
            _ => {}
        }
    }
    for folder in [
        "/usr/local/lib",
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    ] {
        folders.push(folder.into());
    }
    Some(
        names
            .iter()
            .filter_map(|n| folders.iter().map(|f| f.join(n)).find(|p| p.is_file()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::store::{Store, StoreOptions};
    use std::os::unix::fs::PermissionsExt;
    use std::time::UNIX_EPOCH;

    fn write(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn content_counts_and_times_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("cache"), &StoreOptions::default()).unwrap();
        let compiler = dir.path().join("cc");
        let print = || fingerprint(compiler.to_str().unwrap(), &BTreeMap::new(), &store).unwrap();
        write(&compiler, "#!/bin/sh\nexit 1\n");
        let first = print();
        let file = File::options().append(true).open(&compiler).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
        assert_eq!(print().digest, first.digest, "touched");
        write(&compiler, "#!/bin/sh\nexit 2\n");
        assert_ne!(print().digest, first.digest, "replaced, same size");
    }

    #[test]
    fn what_is_behind_a_driver_counts() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("cache"), &StoreOptions::default()).unwrap();
        let compiler = dir.path().join("cc");
        let cc1 = dir.path().join("cc1");
        write(&compiler, &format!("#!/bin/sh\necho {}\n", cc1.display()));
        write(&cc1, "one");
        let print = || fingerprint(compiler.to_str().unwrap(), &BTreeMap::new(), &store).unwrap();
        let first = print();
        assert!(first.files.contains_key(&cc1));
        write(&cc1, "two");
        assert_ne!(print().digest, first.digest);
    }

    #[test]
    fn libraries_of_a_program_are_found() {
        let found = libraries(&std::env::current_exe().unwrap()).unwrap();
        assert!(found.iter().any(|p| p.to_string_lossy().contains("libc.so")), "{found:?}");
    }

    #[test]
    fn a_missing_compiler_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
        let e = fingerprint("no-such-cc", &BTreeMap::new(), &store).unwrap_err();
        assert!(e.contains("`no-such-cc` is not installed"), "{e}");
    }
}
