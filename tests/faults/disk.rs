//! Disks that fill up under the cache.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use litmake_needs::need;

use crate::scene::{Random, Scene, rounds};

/// A small file system of its own, where this process may mount one.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, bytes: u64) -> Result<Small, String> {
        std::fs::create_dir_all(at).unwrap();
        let size = format!("size={bytes},nr_inodes=64");
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at);
        let out = mount.output().map_err(|e| e.to_string())?;
        match out.status.success() {
            true => Ok(Small(at.to_path_buf())),
            false => Err(String::from_utf8_lossy(&out.stderr).trim().to_string()),
        }
    }

    fn grow(&self) {
        let mut mount = Command::new("mount");
        let grown = mount.args(["-o", "remount,size=64m,nr_inodes=4096"]).arg(&self.0).status();
        assert!(grown.unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn full_disks_cost_what_did_not_fit_and_nothing_else() {
    let s = Scene::new("");
    let mut random = Random::new(6);
    let (clean, _, tasks) = s.run("simulated.yaml", "clean");
    let whole: u64 = s.files("clean").iter().map(|f| f.metadata().unwrap().len()).sum();
    let (mut full, mut kept) = (0, 0);
    for round in 0..rounds(2) {
        let cache = format!("full-{round}");
        let size = 4096 * (1 + random.below(whole / 4096));
        let mounted = Small::mount(&s.path(&cache), size);
        let Some(disk) = need("leave to mount file systems", mounted) else { return };
        let report = format!("{cache}.json");
        let args = ["run", "simulated.yaml", "--stable", "--cache", &cache, "--report", &report];
        let (status, text) = s.litmake(&args);
        assert_eq!(status, 0, "{round}: {text}");
        assert_eq!(std::fs::read_to_string(s.path(&report)).unwrap(), clean, "{round}: {text}");
        full += u64::from(text.contains("in memory only"));
        disk.grow();
        let (report, text, again) = s.run("simulated.yaml", &cache);
        assert_eq!(report, clean, "{round}: {text}");
        assert!(!text.contains("broken"), "{round}: {text}");
        assert!(again <= tasks);
        kept += tasks - again;
        let (status, text) = s.litmake(&["cache", "verify", "--cache", &cache]);
        assert_eq!(status, 0, "{round}: {text}");
    }
    println!("{} disks, {full} of them full; {kept} tasks of {tasks} a disk kept", rounds(2));
}

/// The same where nothing can be mounted: the system refuses to let files grow.
#[test]
fn files_that_may_not_grow_cost_what_did_not_fit() {
    let s = Scene::new("");
    let mut random = Random::new(7);
    let (clean, _, tasks) = s.run("simulated.yaml", "clean");
    let largest = s.files("clean").iter().map(|f| f.metadata().unwrap().len()).max().unwrap();
    for round in 0..rounds(2) {
        let cache = format!("short-{round}");
        let limit = 64 + random.below(largest / 2);
        let args = ["run", "simulated.yaml", "--cache", &cache];
        let mut command = s.command(&args);
        // SAFETY: a child may limit itself, and say what it ignores.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
                Ok(())
            });
        }
        let out = command.output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(0), "{round}: {text}");
        assert!(text.contains("in memory only"), "{round}: {text}");
        let (report, text, again) = s.run("simulated.yaml", &cache);
        assert_eq!(report, clean, "{round}: {text}");
        assert!(again <= tasks && !text.contains("broken"), "{round}: {text}");
    }
}
