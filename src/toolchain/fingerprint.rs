//! Identifies a compiler by everything that it looks at for a profile, which is observed by compiling
//! a small test: files by their paths and content, links, folders, and what is missing. A new
//! compiler at an old path is noticed, also behind a wrapper, and so are new headers, configuration
//! and plugins; a touched file makes no new compiler.
//!
//! It does not know what compilers are used for afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use object::read::elf::{Dyn, ElfFile64, FileHeader};

use super::ask::{self, Answer, Watched};
use super::compile::{self, Compiler};
use super::evidence::{Evidence, Looks};
use super::kernel;
use super::kind::{self, Kind};
use super::process::{self, Ended, Request};
use super::runtime::Runtime;
use super::supervisor;
use super::trace::{Look, Property, Unseen};
use litmake_base::diag::Source;
use litmake_base::digest::{Digest, Keyer};
use litmake_base::failure::{Failure, Fault};
use litmake_base::file;
use litmake_base::records::{self, Put, Records};
use litmake_base::stop;
use litmake_lang::Language;
use litmake_litmus::{self as litmus, Test};
use litmake_profile::Profile;
use litmake_profile::types::{Observe, Storage};

const MAX_LIBRARIES: usize = 256;

/// The test that is compiled to observe which files are read. These do not depend on the test,
/// because all tests begin with one header and include nothing else.
const PROBE: &str = "C probe\n{ }\nP0 (atomic_int* x) {\n  \
    int r0 = atomic_load_explicit(x, memory_order_acquire);\n}\n\
    P1 (atomic_int* x) {\n  atomic_store_explicit(x, 1, memory_order_release);\n}\n\
    exists (0:r0=1)\n";

/// The same for tests of the kernel's primitives.
const KERNEL_PROBE: &str = "C probe\n{ }\nP0 (int *x) {\n  int r0 = READ_ONCE(*x);\n}\n\
    P1 (int *x) {\n  WRITE_ONCE(*x, 1);\n}\nexists (0:r0=1)\n";

/// The same with the only order that Go has.
const GO_PROBE: &str = "C probe\n{ }\nP0 (atomic_int* x) {\n  int r0 = atomic_load(x);\n}\n\
    P1 (atomic_int* x) {\n  atomic_store(x, 1);\n}\nexists (0:r0=1)\n";

/// The same with relaxed accesses.
const RELAXED_PROBE: &str = "C probe\n{ }\nP0 (atomic_int* x) {\n  \
    int r0 = atomic_load_explicit(x, memory_order_relaxed);\n}\n\
    P1 (atomic_int* x) {\n  atomic_store_explicit(x, 1, memory_order_relaxed);\n}\n\
    exists (0:r0=1)\n";

fn probe(profile: &Profile) -> &'static str {
    match profile.language {
        Language::Kernel => KERNEL_PROBE,
        Language::Go => GO_PROBE,
        // WGSL has no orders.
        Language::Wgsl => RELAXED_PROBE,
        Language::C
        | Language::Cpp
        | Language::Cuda
        | Language::Rust
        | Language::OpenCl
        | Language::Glsl => PROBE,
    }
}

/// Files that only name other files, for the loader. Those are looked at and count, too. Counting
/// these would only cost time whenever a package is installed.
const INDEXES: [&str; 1] = ["/etc/ld.so.cache"];

/// An installed compiler.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// The path.
    pub program: PathBuf,
    /// The digest that identifies the compiler.
    pub digest: Digest,
    /// The kind of the compiler.
    pub kind: Kind,
    /// The files that have to be unchanged for this to hold.
    pub evidence: Arc<Evidence>,
    /// Actions of the compiler that cannot be observed; `None` if the profile names what they depend
    /// on.
    pub unseen: Option<BTreeSet<Unseen>>,
    /// The key of the question that was asked to see all this.
    pub question: Digest,
}

/// Finds and fingerprints a profile's compiler; an error if it is missing.
pub fn fingerprint(
    profile: &Profile,
    looks: &Looks,
    known: &dyn Records,
) -> Result<Fingerprint, Failure> {
    let program = locate(&profile.compiler, looks, known)?;
    let headers = kernel::folder(profile)?;
    let mut key = ask::key("compile and kind", &program, &profile.args, &profile.env)
        .field("profile", &profile.fingerprint().0)
        .field("test", probe(profile).as_bytes());
    if let Some(headers) = headers {
        key = key.field("kernel", headers.as_os_str().as_encoded_bytes());
    }
    // Which programs these commands run is looked up by litmake itself, and so is no evidence.
    for words in compile::later(profile) {
        let program = words.first().and_then(|command| process::locate(command));
        key.add("then", program.unwrap_or_default().as_os_str().as_encoded_bytes());
    }
    let key = key.finish();
    let answer = ask::ask(key, looks, known, |watched| {
        let (kind, is_compiled) = tried(profile, &program, watched);
        if watched.is_lost() {
            for (path, look) in without_following(&program, &profile.env) {
                watched.look(path, look);
            }
        }
        (kind, kind.is_some() && is_compiled)
    });
    let named = Evidence::collect(named(profile)?, [], looks, known);
    Ok(of(program, answer, named, profile, looks, known))
}

/// The evidence of another tool, such as a linker: the files that it reads to print its version.
pub fn of_tool(program: &Path, looks: &Looks, known: &dyn Records) -> Answer<()> {
    let (args, env) = (["--version".to_string()], BTreeMap::new());
    let key = ask::key("version", program, &args, &env).finish();
    let mut answer = ask::ask(key, looks, known, |watched| {
        let ended = watched.run(&request(program, &args, &env, Path::new("/")), None);
        if watched.is_lost() {
            for (path, look) in without_following(program, &env) {
                watched.look(path, look);
            }
        }
        ((), matches!(ended, Ended::Exit { code: 0, .. }))
    });
    if answer.unseen.is_empty() && has_cages(looks, known) {
        answer.evidence = answer.evidence.in_a_cage();
    }
    answer
}

/// Whether tools can run in cages here; if not, people are told. The answer is stored, so that a run
/// in which nothing is made starts nothing.
fn has_cages(looks: &Looks, known: &dyn Records) -> bool {
    if !supervisor::is_possible() {
        return false;
    }
    let key = Keyer::new("cages/1").finish();
    let denied = ask::ask(key, looks, known, |watched| {
        watched.ask_for(Property::Namespaces);
        watched.ask_for(Property::System);
        (looks.cage(&[]).err().map(|e| e.to_string()), true)
    });
    if let Some(why) = &denied.value {
        looks.note(format!(
            "the system grants no namespaces ({why}): compilers are observed as usual, and what cannot \
             be observed is not kept from them"
        ));
    }
    denied.value.is_none()
}

/// A digest of everything that was seen, by its path.
pub fn digest(evidence: &Evidence) -> Digest {
    keyed(&counted(evidence)).finish()
}

/// Digests of the paths that a compiler with a digest looked at, to find out which of them changed.
pub fn seen_by(digest: Digest, known: &dyn Records) -> Option<BTreeMap<PathBuf, Digest>> {
    let bytes = known.get(&[seen_key(digest)]).pop().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

fn seen_key(digest: Digest) -> Digest {
    Keyer::new("compiler's looks/1").field("digest", &digest.0).finish()
}

/// The part of evidence that counts: all paths but the indexes, and the cage only for a tool that may tell it from the
/// machine. So a compiler is the same one on a machine that grants no namespaces.
fn counted(evidence: &Evidence) -> BTreeMap<PathBuf, Digest> {
    let mut all = evidence.seen();
    if !evidence.tells_cages() {
        all.remove(Path::new(Property::Cage.name()));
    }
    INDEXES.iter().for_each(|index| _ = all.remove(Path::new(index)));
    all
}

fn keyed(seen: &BTreeMap<PathBuf, Digest>) -> Keyer {
    let mut key = Keyer::new("compiler/3");
    for (name, digest) in seen {
        key.add("name", name.as_os_str().as_encoded_bytes());
        key.add("seen", &digest.0);
    }
    key
}

fn of(
    program: PathBuf,
    answer: Answer<Option<Kind>>,
    named: Evidence,
    profile: &Profile,
    looks: &Looks,
    known: &dyn Records,
) -> Fingerprint {
    let evidence = answer.evidence.with(named);
    let unseen = match profile.inputs.is_empty() {
        true => Some(answer.unseen),
        // A profile that names inputs takes responsibility for completeness.
        false => None,
    };
    let evidence = match unseen.as_ref().is_some_and(BTreeSet::is_empty) && has_cages(looks, known)
    {
        true => evidence.in_a_cage(),
        false => evidence,
    };
    let seen = counted(&evidence);
    let mut key = keyed(&seen);
    if unseen.iter().flatten().any(Unseen::is_look) {
        key.add("run", &of_this_run().0);
    }
    let digest = key.finish();
    let told = seen_key(digest);
    if !known.has(&[told])[0]
        && let Ok(bytes) = serde_json::to_vec(&seen)
    {
        known.put(&[Put { kind: records::Kind::Alias, key: told, value: &bytes }]);
    }
    let evidence = Arc::new(evidence);
    let (kind, question) = (answer.value.unwrap_or_default(), answer.question);
    Fingerprint { program, digest, kind, evidence, unseen, question }
}

/// A digest that no other run has: what a compiler makes that looked at more than can be seen is kept for this run alone.
fn of_this_run() -> Digest {
    static RUN: OnceLock<Digest> = OnceLock::new();
    *RUN.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "no two runs begin at one time")]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let key = Keyer::new("run").field("process", &std::process::id().to_le_bytes());
        key.field("time", &now.as_nanos().to_le_bytes()).finish()
    })
}

/// The files that a profile names as inputs; a folder stands for everything in it.
fn named(profile: &Profile) -> Result<BTreeSet<(PathBuf, Look)>, Failure> {
    let mut out = BTreeSet::new();
    for input in &profile.inputs {
        for entry in walkdir::WalkDir::new(input).follow_links(true).sort_by_file_name() {
            let entry = entry.map_err(|e| {
                let (name, input) = (&profile.name, input.display());
                Failure::machine(format!("the profile {name} names the input {input}: {e}"))
            })?;
            let look = if entry.file_type().is_dir() { Look::Names } else { Look::Content };
            out.insert((entry.into_path(), look));
        }
    }
    Ok(out)
}

/// The failure for a compiler that is not installed.
pub fn not_installed(command: &str) -> Failure {
    let message =
        format!("the compiler `{command}` is not installed; `litmake doctor` says how to get it");
    Failure::broken(Fault::Missing, message)
}

/// The program that a command runs. The answers of rustup's proxies are stored.
fn locate(command: &str, looks: &Looks, known: &dyn Records) -> Result<PathBuf, Failure> {
    let program = process::locate(command).ok_or_else(|| not_installed(command))?;
    if !process::is_rustup(&program) {
        return Ok(program);
    }
    let args = ["--print".to_string(), "sysroot".to_string()];
    let env: BTreeMap<String, String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("RUSTUP_") || name == "HOME" || name == "CARGO_HOME")
        .collect();
    let here = std::env::current_dir().unwrap_or("/".into());
    let key = ask::key("rustup", &program, &args, &env)
        .field("folder", here.as_os_str().as_encoded_bytes())
        .finish();
    let answer = ask::ask(key, looks, known, |watched| {
        match watched.run(&request(&program, &args, &env, &here), None) {
            Ended::Exit { code: 0, stdout, .. } => {
                let found = process::in_sysroot(&program, &stdout);
                let keep = found.is_some();
                (found, keep)
            }
            _ => (None, false),
        }
    });
    Ok(answer.value.unwrap_or(program))
}

/// The test by which compilers are identified.
pub fn probe_test(profile: &Profile) -> Result<Test, Failure> {
    Ok(litmus::read(&Source::new("probe", probe(profile)))?)
}

/// The kind of a compiler, and whether it compiles the probe. What it makes of a probe in C tells its kind; others are
/// asked before.
fn tried(profile: &Profile, program: &Path, watched: &Watched) -> (Option<Kind>, bool) {
    let is_c = matches!(profile.language, Language::C | Language::Cpp | Language::Kernel);
    let made = is_c.then(|| compile_probe(profile, program, Kind::Other, kind::MARK, watched));
    if let Some(Ok(made)) = &made
        && let Some(kind) = Kind::told(made)
    {
        return (Some(kind), true);
    }
    let run = |request: &Request| watched.run(request, Some(request.dir));
    let kind = Kind::asked(profile, program, &run);
    if matches!(made, Some(Err(_))) && kind != Some(Kind::Clang) {
        return (kind, false);
    }
    let made = compile_probe(profile, program, kind.unwrap_or_default(), "", watched);
    (kind, made.is_ok())
}

/// Compiles the probe like a test, with an end.
fn compile_probe(
    profile: &Profile,
    program: &Path,
    kind: Kind,
    end: &str,
    watched: &Watched,
) -> Result<Vec<u8>, Failure> {
    let test = probe_test(profile)?;
    let run = |request: &Request| watched.run(request, Some(request.dir));
    let compiler = Compiler {
        profile,
        program,
        observe: Observe::None,
        storage: Storage::Pointers,
        helpers: false,
        runtime: &Runtime::new(kind, Vec::new()),
        stop: stop::of_the_process(),
    };
    compiler.watched(&test, end, &run)
}

fn request<'a>(
    program: &'a Path,
    args: &'a [String],
    env: &'a BTreeMap<String, String>,
    dir: &'a Path,
) -> Request<'a> {
    Request {
        program,
        args,
        env,
        dir,
        timeout: Duration::from_secs(30),
        memory_mib: 4096,
        processors: 1,
        stop: stop::of_the_process(),
    }
}

/// The files that are known of a program that cannot be traced: its own, those of the programs that it says it runs,
/// and the libraries that these load.
fn without_following(program: &Path, env: &BTreeMap<String, String>) -> BTreeSet<(PathBuf, Look)> {
    let mut programs = BTreeSet::from([program.to_path_buf()]);
    for part in ["cc1", "cc1plus", "as"] {
        let args = [format!("-print-prog-name={part}")];
        let ended = process::run(&request(program, &args, env, Path::new("/")));
        if let Ended::Exit { code: 0, stdout, .. } = ended
            && let Some(path) =
                String::from_utf8(stdout).ok().and_then(|p| process::locate(p.trim()))
        {
            programs.insert(path);
        }
    }
    let mut files = BTreeSet::new();
    for path in &programs {
        add(path, &mut files, 0);
    }
    files.into_iter().map(|path| (path, Look::Content)).collect()
}

fn add(path: &Path, files: &mut BTreeSet<PathBuf>, depth: usize) {
    let Ok(real) = path.canonicalize() else { return };
    if files.len() > MAX_LIBRARIES || depth > 32 || !files.insert(real.clone()) {
        return;
    }
    for library in libraries(&real).unwrap_or_default() {
        add(&library, files, depth + 1);
    }
}

/// The libraries that an ELF file loads, as the loader would find them without its cache.
fn libraries(path: &Path) -> Option<Vec<PathBuf>> {
    let data = file::read(path, file::MAX_DATA).ok()?;
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

    #[test]
    fn libraries_of_a_program_are_found() {
        let found = libraries(&std::env::current_exe().unwrap()).unwrap();
        assert!(found.iter().any(|p| p.to_string_lossy().contains("libc.so")), "{found:?}");
    }

    #[test]
    fn without_following_what_a_driver_says_it_starts_counts() {
        let found = without_following(Path::new("/usr/bin/gcc"), &BTreeMap::new());
        let has = |name: &str| found.iter().any(|(p, _)| p.file_name().is_some_and(|n| n == name));
        assert!(has("cc1"), "{found:?}");
    }
}
