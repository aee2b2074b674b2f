//! The kind of a compiler, and the runtime libraries with which it links programs. The code of
//! libraries is tested, too, because it is lifted where it is called.
//!
//! It does not know what libraries contain.

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
use litmake_profile::Profile;

/// The kind of a compiler, and its libraries for some arguments. Libraries are opened on first use.
#[derive(Default)]
pub struct Runtime {
    /// The compiler that is asked for what is not known of it yet, once that is needed.
    compiler: Option<(Profile, PathBuf)>,
    kind: OnceLock<Kind>,
    paths: OnceLock<Vec<PathBuf>>,
    open: OnceLock<Vec<Library>>,
    /// Whether the headers of the target's library are missing, once that was asked.
    pub lacks_headers: OnceLock<bool>,
    /// Whether the compiler has no integers of 128 bits for its target, once that was asked.
    pub lacks_int128: OnceLock<bool>,
}

/// The other fields follow from these.
impl PartialEq for Runtime {
    fn eq(&self, other: &Runtime) -> bool {
        (self.kind(), self.paths()) == (other.kind(), other.paths())
    }
}

impl Runtime {
    /// A runtime of this kind with these libraries.
    pub fn new(kind: Kind, paths: Vec<PathBuf>) -> Runtime {
        Runtime { kind: kind.into(), paths: paths.into(), ..Runtime::default() }
    }

    /// The runtime of a compiler, which is asked for its kind and for its libraries where they are needed: few tests
    /// call libraries.
    pub fn of(profile: &Profile, program: &Path) -> Runtime {
        let compiler = Some((profile.clone(), program.to_path_buf()));
        Runtime { compiler, ..Runtime::default() }
    }

    /// The kind of the compiler.
    pub fn kind(&self) -> Kind {
        let ask = |(profile, program): &(Profile, PathBuf)| {
            Kind::asked(profile, program, &process::run).unwrap_or_default()
        };
        *self.kind.get_or_init(|| self.compiler.as_ref().map_or(Kind::default(), ask))
    }

    /// The paths of the libraries that exist.
    pub fn paths(&self) -> &[PathBuf] {
        let ask = |(profile, program): &(Profile, PathBuf)| {
            Runtime::asked(profile, program, &process::run).0
        };
        self.paths.get_or_init(|| self.compiler.as_ref().map_or(Vec::new(), ask))
    }

    /// The runtime of a compiler of a known kind. The answer is stored for as long as nothing that
    /// the compiler looked at changes.
    pub fn remembered(
        profile: &Profile,
        program: &Path,
        kind: Kind,
        looks: &Looks,
        known: &dyn Records,
    ) -> (Runtime, Evidence) {
        let mut key = ask::key("libraries", program, &profile.args, &profile.env);
        for library in &profile.libraries {
            key.add("library", library.as_bytes());
        }
        let key = key.finish();
        let answer = ask::ask(key, looks, known, |watched| {
            let found = Runtime::asked(profile, program, &|request| watched.run(request, None));
            for path in &found.0 {
                watched.look(path.clone(), Look::Content);
            }
            found
        });
        (Runtime::new(kind, answer.value), answer.evidence)
    }

    /// The paths of the libraries, and whether the compiler answered each question.
    fn asked(
        profile: &Profile,
        program: &Path,
        run: &dyn Fn(&Request) -> Ended,
    ) -> (Vec<PathBuf>, bool) {
        let (mut paths, mut answered) = (Vec::new(), true);
        // Code for GPUs and code of rustc and of Go is not linked with these libraries.
        if matches!(profile.language, Language::Rust | Language::Go) || profile.arch.facts().text {
            return (paths, answered);
        }
        let (given, named): (Vec<_>, Vec<_>) =
            profile.libraries.iter().partition(|library| library.contains('/'));
        paths.extend(given.into_iter().filter_map(|path| std::path::absolute(path).ok()));
        let named = named.into_iter().map(|name| format!("-print-file-name={name}"));
        let always = ["-print-libgcc-file-name", "-print-file-name=libatomic.a"];
        for option in named.chain(always.map(String::from)) {
            let mut args = profile.args.clone();
            args.push(option);
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

    /// The opened libraries. One that cannot be read is treated as missing, so that the names that
    /// it defines are rejected later.
    pub fn libraries(&self) -> &[Library] {
        self.open
            .get_or_init(|| self.paths().iter().filter_map(|p| Library::open(p).ok()).collect())
    }

    /// A digest of the kind and of the content of the libraries.
    pub fn digest(&self, known: &dyn Records) -> Digest {
        let mut key = Keyer::new("runtime/2").field("kind", self.kind().name().as_bytes());
        for path in self.paths() {
            match content_of(path, known) {
                Ok(digest) => key.add("library", &digest.0),
                Err(_) => key.add("unreadable", b""),
            };
        }
        key.finish()
    }
}
