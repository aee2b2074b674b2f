//! The runtime libraries that a compiler's programs are linked with, and what they find out about
//! the machine. They are part of what is tested: their code stands where it is called.
//!
//! It does not know what is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::fingerprint::content_of;
use super::image::library::Library;
use super::process::{self, Ended, Request};
use crate::engine::digest::{Digest, Keyer};
use crate::engine::store::Records;
use crate::pipeline::profile::Profile;

/// The libraries of a compiler with some arguments. They are opened when they are needed.
#[derive(Default)]
pub struct Runtime {
    pub paths: Vec<PathBuf>,
    open: OnceLock<Vec<Library>>,
}

impl Runtime {
    pub fn new(paths: Vec<PathBuf>) -> Runtime {
        Runtime { paths, open: OnceLock::new() }
    }

    /// Asks a compiler where its libraries are; those that are not there are left out.
    pub fn of(profile: &Profile, program: &Path) -> Runtime {
        let mut paths = Vec::new();
        for question in ["-print-libgcc-file-name", "-print-file-name=libatomic.a"] {
            let mut args = profile.args.clone();
            args.push(question.to_string());
            let ended = process::run(&Request {
                program,
                args: &args,
                env: &profile.env,
                dir: Path::new("/"),
                timeout: Duration::from_secs(10),
                memory_mib: profile.memory_mib,
                stop: &AtomicBool::new(false),
            });
            if let Ended::Exit { code: 0, stdout, .. } = ended
                && let Ok(text) = String::from_utf8(stdout)
            {
                let path = PathBuf::from(text.trim());
                if path.is_absolute() && path.is_file() {
                    paths.push(path);
                }
            }
        }
        Runtime::new(paths)
    }

    /// A library that cannot be read is as one that is not there: what it defines is then
    /// refused by name.
    pub fn libraries(&self) -> &[Library] {
        self.open.get_or_init(|| self.paths.iter().filter_map(|p| Library::open(p).ok()).collect())
    }

    /// A digest over the content of the libraries.
    pub fn digest(&self, known: &dyn Records) -> Digest {
        let mut key = Keyer::new("runtime/1");
        for path in &self.paths {
            match content_of(path, known) {
                Ok(digest) => key.add("library", &digest.0),
                Err(_) => key.add("unreadable", b""),
            };
        }
        key.finish()
    }
}

/// The values of the runtime's variables under a profile.
pub fn flags(profile: &Profile) -> BTreeMap<String, u64> {
    let lse = profile.args.iter().any(|a| implies_lse(a));
    let mut out = BTreeMap::from([("__aarch64_have_lse_atomics".to_string(), u64::from(lse))]);
    for (name, value) in &profile.runtime {
        if let Ok(n) = value.parse() {
            out.insert(name.clone(), n);
        }
    }
    out
}

/// The functions that the runtime chooses under a profile.
pub fn chosen(profile: &Profile) -> BTreeMap<String, String> {
    let functions = profile.runtime.iter().filter(|(_, value)| value.parse::<u64>().is_err());
    functions.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// `-march=armv8-a+lse`, `-march=armv8.1-a` and above.
fn implies_lse(arg: &str) -> bool {
    let Some(value) = arg.strip_prefix("-march=").or(arg.strip_prefix("-mcpu=")) else {
        return false;
    };
    let mut parts = value.split('+');
    let base = parts.next().unwrap_or("");
    let mut lse = base.starts_with("armv9") || base.starts_with("armv8.");
    for part in parts {
        match part {
            "lse" | "lse128" => lse = true,
            "nolse" => lse = false,
            _ => {}
        }
    }
    lse
}

#[cfg(test)]
mod tests {
    use super::implies_lse;

    #[test]
    fn which_processors_have_lse() {
        for (arg, wanted) in [
            ("-march=armv8-a", false),
            ("-march=armv8-a+lse", true),
            ("-march=armv8.1-a", true),
            ("-march=armv8.4-a+nolse", false),
            ("-march=armv9-a", true),
            ("-O2", false),
        ] {
            assert_eq!(implies_lse(arg), wanted, "{arg}");
        }
    }
}
