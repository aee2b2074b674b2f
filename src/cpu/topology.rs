//! Chooses the processors on which tests run: from a list, and by the hyper-threads of cores.
//!
//! It reads the kernel's description of processors, and does not know tests.

use std::collections::BTreeSet;
use std::path::Path;

use litmake_base::file;

/// The folder in which Linux describes processors.
pub const SYSFS: &str = "/sys/devices/system/cpu";

/// The limit on the numbers of processors.
const MAX: u32 = 1 << 16;

/// The hyper-threads of a core that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smt {
    /// All hyper-threads of each core that has several; other cores are left out.
    Pairs,
    /// One hyper-thread of each core.
    Cores,
}

/// Reads a list such as `0,2-3`, in the kernel's format. The order is kept.
pub fn list(text: &str) -> Result<Vec<u32>, String> {
    let number = |word: &str| {
        let n: Option<u32> = word.trim().parse().ok().filter(|n| *n < MAX);
        n.ok_or_else(|| format!("`{}` is no processor: a list looks like 0,2-3", word.trim()))
    };
    let mut out = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last {
            return Err(format!("the range `{part}` ends before it begins"));
        }
        for n in first..=last {
            if out.contains(&n) {
                return Err(format!("processor {n} is named twice"));
            }
            out.push(n);
        }
    }
    Ok(out)
}

/// A list in the format that [`list`] reads.
pub fn text(processors: &[u32]) -> String {
    processors.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// The processors that this process may use.
pub fn allowed() -> Vec<u32> {
    // SAFETY: all zeroes is an empty set, and the kernel fills no more than its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
        set
    };
    // SAFETY: the number is within the set.
    let is_in = |n: &u32| unsafe { libc::CPU_ISSET(*n as usize, &set) };
    (0..libc::CPU_SETSIZE as u32).filter(is_in).collect()
}

/// The processors for tests, in the order in which workers use them: from `wanted`, or else from
/// all that are `allowed`.
pub fn choose(
    wanted: Option<&[u32]>,
    smt: Option<Smt>,
    allowed: &[u32],
    sysfs: &Path,
) -> Result<Vec<u32>, String> {
    if let Some(other) = wanted.unwrap_or_default().iter().find(|n| !allowed.contains(n)) {
        let all = text(allowed);
        return Err(format!("processor {other} is not among those that may be used here ({all})"));
    }
    let from = wanted.unwrap_or(allowed);
    match smt {
        None => Ok(from.to_vec()),
        Some(smt) => by_cores(from, smt, &|n| siblings(sysfs, n)),
    }
}

/// The hyper-threads of a processor's core, itself included.
fn siblings(sysfs: &Path, processor: u32) -> Result<Vec<u32>, String> {
    let folder = sysfs.join(format!("cpu{processor}/topology"));
    // Kernels before 5.2 use the second name.
    let read = |name: &str| file::read_text(&folder.join(name), file::MAX_TEXT);
    let text = read("core_cpus_list").or_else(|_| read("thread_siblings_list"));
    let text =
        text.map_err(|e| format!("{}: {e}; hyper-threads are not known", folder.display()))?;
    let all = list(&text).map_err(|e| format!("{}: {e}", folder.display()))?;
    match all.contains(&processor) {
        true => Ok(all),
        false => Err(format!("{}: processor {processor} is in no core", folder.display())),
    }
}

fn by_cores(
    from: &[u32],
    smt: Smt,
    siblings: &dyn Fn(u32) -> Result<Vec<u32>, String>,
) -> Result<Vec<u32>, String> {
    let (mut out, mut seen) = (Vec::new(), BTreeSet::new());
    for n in from {
        if seen.contains(n) {
            continue;
        }
        let core = siblings(*n)?;
        let core: Vec<u32> = core.into_iter().filter(|m| from.contains(m)).collect();
        seen.extend(core.iter().copied());
        match smt {
            Smt::Cores => out.push(*n),
            Smt::Pairs if core.len() > 1 => out.extend(core),
            Smt::Pairs => {}
        }
    }
    match out.is_empty() {
        true => Err(format!("no core has two hyper-threads among the processors {}", text(from))),
        false => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the kernel's description of cores, each with its hyper-threads.
    fn machine(cores: &[&str], name: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for core in cores {
            for n in list(core).unwrap() {
                let folder = dir.path().join(format!("cpu{n}/topology"));
                std::fs::create_dir_all(&folder).unwrap();
                file::write(&folder.join(name), format!("{core}\n")).unwrap();
            }
        }
        dir
    }

    fn chosen(dir: &Path, on: &str, smt: Smt) -> Result<String, String> {
        let wanted = (!on.is_empty()).then(|| list(on).unwrap());
        let allowed: Vec<u32> = (0..8).collect();
        choose(wanted.as_deref(), Some(smt), &allowed, dir).map(|list| text(&list))
    }

    #[test]
    fn lists_are_read_in_their_order() {
        assert_eq!(list("0,2-4\n"), Ok(vec![0, 2, 3, 4]));
        assert_eq!(list("3, 1"), Ok(vec![3, 1]));
        for (text, said) in [
            ("", "`` is no processor: a list looks like 0,2-3"),
            ("0,", "`` is no processor: a list looks like 0,2-3"),
            ("a", "`a` is no processor: a list looks like 0,2-3"),
            ("-1", "`` is no processor: a list looks like 0,2-3"),
            ("0-", "`` is no processor: a list looks like 0,2-3"),
            ("3-1", "the range `3-1` ends before it begins"),
            ("0-2,1", "processor 1 is named twice"),
            ("99999999", "`99999999` is no processor: a list looks like 0,2-3"),
        ] {
            assert_eq!(list(text), Err(said.to_string()));
        }
    }

    /// Siblings are numbered apart on most machines with x86, and side by side on those with Power.
    #[test]
    fn pairs_are_side_by_side_and_cores_have_one_each() {
        for name in ["core_cpus_list", "thread_siblings_list"] {
            let x86 = machine(&["0,4", "1,5", "2,6", "3,7"], name);
            let chosen = |on, smt| chosen(x86.path(), on, smt);
            assert_eq!(chosen("", Smt::Pairs).unwrap(), "0,4,1,5,2,6,3,7");
            assert_eq!(chosen("", Smt::Cores).unwrap(), "0,1,2,3");
            // Of a list, in its order.
            assert_eq!(chosen("5,0,1,4", Smt::Cores).unwrap(), "5,0");
            assert_eq!(chosen("3,1,2,6", Smt::Pairs).unwrap(), "2,6");
            let none = "no core has two hyper-threads among the processors 0,1,2";
            assert_eq!(chosen("0-2", Smt::Pairs).unwrap_err(), none);
        }
        let power = machine(&["0-3", "4-7"], "core_cpus_list");
        assert_eq!(chosen(power.path(), "", Smt::Pairs).unwrap(), "0,1,2,3,4,5,6,7");
        assert_eq!(chosen(power.path(), "", Smt::Cores).unwrap(), "0,4");
        // Small cores have one thread.
        let hybrid = machine(&["0-1", "2", "3", "4", "5", "6", "7"], "core_cpus_list");
        assert_eq!(chosen(hybrid.path(), "", Smt::Pairs).unwrap(), "0,1");
        assert_eq!(chosen(hybrid.path(), "", Smt::Cores).unwrap(), "0,2,3,4,5,6,7");
    }

    #[test]
    fn what_a_machine_does_not_have_is_said() {
        let dir = machine(&["0,1"], "core_cpus_list");
        let said = chosen(dir.path(), "2", Smt::Cores).unwrap_err();
        assert!(said.contains("cpu2/topology") && said.ends_with("are not known"), "{said}");
        let other = choose(Some(&[9]), None, &[0, 1], dir.path()).unwrap_err();
        assert_eq!(other, "processor 9 is not among those that may be used here (0,1)");
        file::write(&dir.path().join("cpu0/topology/core_cpus_list"), "1\n").unwrap();
        let said = chosen(dir.path(), "0", Smt::Cores).unwrap_err();
        assert!(said.ends_with("processor 0 is in no core"), "{said}");
    }

    #[test]
    fn this_machine_is_described() {
        let allowed = allowed();
        assert!(!allowed.is_empty());
        assert_eq!(choose(None, None, &allowed, Path::new(SYSFS)).unwrap(), allowed);
    }
}
