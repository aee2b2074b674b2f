//! What a compiler brings along: which kind of compiler it is, and the runtime libraries that its
//! programs are linked with. Libraries are part of what is tested: their code stands where it is
//! called.
//!
//! It does not know what is in them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::ask;
use super::compile::question;
use super::evidence::{Evidence, Looks};
use super::image::library::Library;
use super::kind::Kind;
use super::process::{self, Ended, Request};
use super::trace::Look;
use litmake_base::content::content_of;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::Records;
use litmake_lang::Language;
use litmake_litmus::Arch;
use litmake_profile::Profile;

/// The kind of a compiler, and its libraries with some arguments. They are opened when they are
/// needed.
#[derive(Default)]
pub struct Runtime {
    /// Whose options it takes.
    pub kind: Kind,
    /// Its libraries.
    pub paths: Vec<PathBuf>,
    open: OnceLock<Vec<Library>>,
    /// Whether the target's library is without its headers, once that was asked.
    pub lacks_headers: OnceLock<bool>,
    /// Whether the compiler has no integers of 128 bits for its target, once that was asked.
    pub lacks_int128: OnceLock<bool>,
}

/// What was found out later is the same where these are.
impl PartialEq for Runtime {
    fn eq(&self, other: &Runtime) -> bool {
        (self.kind, &self.paths) == (other.kind, &other.paths)
    }
}

impl Runtime {
    /// A kind with these libraries.
    pub fn new(kind: Kind, paths: Vec<PathBuf>) -> Runtime {
        Runtime { kind, paths, ..Runtime::default() }
    }

    /// Asks a compiler for its kind and where its libraries are; those that are not there are left
    /// out.
    pub fn of(profile: &Profile, program: &Path) -> Runtime {
        let kind = Kind::asked(profile, program, &process::run).unwrap_or_default();
        Runtime::new(kind, Runtime::asked(profile, program, &process::run).0)
    }

    /// The libraries of a compiler of a kind, remembered for as long as nothing that it looked at changes.
    pub fn remembered(
        profile: &Profile,
        program: &Path,
        kind: Kind,
        looks: &Looks,
        known: &dyn Records,
    ) -> (Runtime, Evidence) {
        let key = ask::key("libraries", program, &profile.args, &profile.env).finish();
        let answer = ask::ask(key, looks, known, |watched| {
            let found = Runtime::asked(profile, program, &|request| watched.run(request, None));
            for path in &found.0 {
                watched.look(path.clone(), Look::Content);
            }
            found
        });
        (Runtime::new(kind, answer.value), answer.evidence)
    }

    /// Where its libraries are, and whether it gave an answer to each question.
    fn asked(
        profile: &Profile,
        program: &Path,
        run: &dyn Fn(&Request) -> Ended,
    ) -> (Vec<PathBuf>, bool) {
        let (mut paths, mut answered) = (Vec::new(), true);
        // Code for GPUs, and what rustc makes, is linked with none of these.
        if profile.language == Language::Rust || matches!(profile.arch, Arch::Ptx | Arch::Spirv) {
            return (paths, answered);
        }
        for option in ["-print-libgcc-file-name", "-print-file-name=libatomic.a"] {
            let mut args = profile.args.clone();
            args.push(option.to_string());
            let Ended::Exit { code, stdout, .. } =
                run(&question(profile, program, &args, Path::new("/")))
            else {
                answered = false;
                continue;
            };
            if code == 0
                && let Ok(text) = String::from_utf8(stdout)
            {
                let path = PathBuf::from(text.trim());
                if path.is_absolute() && path.is_file() {
                    paths.push(path);
                }
            }
        }
        (paths, answered)
    }

    /// A library that cannot be read is as one that is not there: what it defines is then
    /// refused by name.
    pub fn libraries(&self) -> &[Library] {
        self.open.get_or_init(|| self.paths.iter().filter_map(|p| Library::open(p).ok()).collect())
    }

    /// A digest over the kind and the content of the libraries.
    pub fn digest(&self, known: &dyn Records) -> Digest {
        let mut key = Keyer::new("runtime/2").field("kind", self.kind.name().as_bytes());
        for path in &self.paths {
            match content_of(path, known) {
                Ok(digest) => key.add("library", &digest.0),
                Err(_) => key.add("unreadable", b""),
            };
        }
        key.finish()
    }
}
