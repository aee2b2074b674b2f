//! Links object files of different compilers to one program with GNU ld or lld, and lifts the
//! threads of a test from it, calls included.
//!
//! It does not know what the objects are parts of.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use object::{Object, ObjectSymbol};

use super::compile::{Compiler, share, tell_features};
use super::image::Image;
use super::image::library::{self, Library};
use super::image::program::{BASE, stand_in};
use super::lift::{self, Given};
use super::process::{self, Request};
use super::scratch::Scratch;
use super::trouble;
use litmake_base::failure::{Failure, Fault};
use litmake_base::stop::Stopping;
use litmake_lang::c11::members::{members, published};
use litmake_lang::compiled::{Kept, compose, is_array, unit_of};
use litmake_litmus::{Arch, Body, InitItem, Test};
use litmake_profile::{Profile, machine};

/// Symbols that linkers define.
const MADE: [&str; 8] = [
    ".TOC.",
    "_GLOBAL_OFFSET_TABLE_",
    "_gp",
    "_gp_disp",
    "__gnu_local_gp",
    "__global_pointer$",
    "__ehdr_start",
    "_DYNAMIC",
];

const TIMEOUT: Duration = Duration::from_secs(60);

/// An installed linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linker {
    /// The path.
    pub path: PathBuf,
    /// Whether it is lld, which links for every target.
    pub lld: bool,
}

/// The path of lld: the newest, because versions before 15 do not shorten all code that linkers may.
pub fn lld() -> Option<PathBuf> {
    let named = |version: &str| process::find(&format!("ld.lld{version}"));
    ["-22", "-19", "-16", "-15", "", "-14", "-13"].into_iter().find_map(named)
}

/// The installed linkers for a target, the preferred one first.
pub fn linkers(arch: Arch, big: bool) -> Vec<Linker> {
    let target = litmake_isa::target::of(arch, false, big, false);
    let Some(triple) = target.and_then(|target| target.linker) else { return Vec::new() };
    let gnu = process::find(&format!("{triple}-ld.bfd")).or(process::find(&format!("{triple}-ld")));
    let linker = |lld| move |path| Linker { path, lld };
    lld().map(linker(true)).into_iter().chain(gnu.map(linker(false))).collect()
}

impl Compiler<'_> {
    /// The object code of a test, with a prefix for the names of its functions.
    pub fn part(&self, test: &Test, prefix: &str) -> Result<Vec<u8>, Failure> {
        let unit = self.unit(test)?;
        let timeout = self.profile.timeout;
        self.emit(&|header| self.text_named(header, &unit, prefix), &["-g0"], timeout)
    }

    /// The object code of a C program around parts. Calls are kept.
    pub fn driver(&self, text: &str) -> Result<Vec<u8>, Failure> {
        let extra = ["-g0", "-fno-optimize-sibling-calls"];
        self.emit(&|_| Ok(text.to_string()), &extra, self.profile.timeout)
    }
}

/// Links objects to a program, as an image. Names that no object and no library defines get
/// stand-in addresses.
pub fn program(
    arch: Arch,
    objects: &[&[u8]],
    libraries: &[&Library],
    linker: &Linker,
    entry: &str,
    stop: &dyn Stopping,
) -> Result<Image, Failure> {
    let (wanted, missing) = needed(objects, libraries)?;
    let dir = Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))?;
    let mut args: Vec<String> = Vec::new();
    let mut arg = |text: String| args.push(text);
    for text in ["-static", "-nostdlib", "--build-id=none", "-o", "program"] {
        arg(text.to_string());
    }
    arg(format!("--entry={entry}"));
    arg(match linker.lld {
        true => format!("--image-base={BASE:#x}"),
        false => format!("-Ttext-segment={BASE:#x}"),
    });
    for name in &wanted {
        arg(format!("--undefined={name}"));
    }
    let missing: Vec<(String, u64)> =
        missing.into_iter().enumerate().map(|(n, name)| (name, stand_in(n))).collect();
    for (name, at) in &missing {
        arg(format!("--defsym={name}={at:#x}"));
    }
    for (n, bytes) in objects.iter().enumerate() {
        let name = format!("o{n}.o");
        dir.write(&name, bytes)
            .map_err(|e| Failure::machine(format!("an object cannot be written: {e}")))?;
        arg(name);
    }
    if !libraries.is_empty() {
        arg("--start-group".to_string());
        let mut seen = HashSet::new();
        for library in libraries {
            if seen.insert(&library.path) {
                arg(library.path.display().to_string());
            }
        }
        arg("--end-group".to_string());
    }
    let name = linker.path.display().to_string();
    let run = |args: &[String]| {
        let ended = process::run(&Request {
            program: &linker.path,
            args,
            env: &BTreeMap::new(),
            dir: dir.path(),
            timeout: TIMEOUT,
            memory_mib: 4096,
            processors: 1,
            stop,
        });
        trouble::judge(&name, ended, TIMEOUT)
    };
    // The objects may be at fault; but every linker accepts the first object alone.
    let plain: Vec<String> = ["-r", "-o", "plain", "o0.o"].map(String::from).to_vec();
    trouble::settle(run(&args), || run(&plain), || run(&args))?;
    let bytes = dir
        .read("program")
        .map_err(|e| Failure::broken(Fault::Output, format!("{name} left no program: {e}")))?;
    Image::of_program(arch, &bytes, &missing)
}

/// The names that libraries have to define, and the names that nothing defines.
fn needed(
    objects: &[&[u8]],
    libraries: &[&Library],
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let mut defined: HashSet<String> = HashSet::new();
    let mut members = HashSet::new();
    let mut todo: Vec<&[u8]> = objects.to_vec();
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut wanted = BTreeSet::new();
    loop {
        for bytes in todo.drain(..) {
            let file = object::File::parse(bytes)
                .map_err(|e| format!("an object file cannot be read: {e}"))?;
            for symbol in file.symbols().filter(|s| s.is_global()) {
                let name = symbol.name().unwrap_or_default().to_string();
                match symbol.is_undefined() {
                    _ if name.is_empty() => {}
                    true => drop(open.insert(name)),
                    false => drop(defined.insert(name)),
                }
            }
        }
        open.retain(|name| !defined.contains(name) && !MADE.contains(&name.as_str()));
        for name in &open {
            if let Some((member, data)) = library::member(libraries.iter().copied(), name) {
                wanted.insert(name.clone());
                if members.insert(member) {
                    todo.push(data);
                }
            }
        }
        if todo.is_empty() {
            let missing = open.into_iter().filter(|name| !wanted.contains(name)).collect();
            return Ok((wanted.into_iter().collect(), missing));
        }
    }
}

/// The threads of a test in a program, and how they were compiled.
pub struct Threads<'a> {
    /// The function of each thread.
    pub functions: &'a [String],
    /// Pairs of a variable and the location that it stands for.
    pub variables: &'a [(String, String)],
    /// The initial values of locations.
    pub init: Vec<InitItem>,
    /// Observed locals: thread, name, location.
    pub observed: &'a [(usize, String, String)],
    /// The profiles whose code is in the program.
    pub profiles: &'a [&'a Profile],
    /// Whether functions that threads call stay functions.
    pub calls: bool,
}

/// Lifts the threads of a test from a program.
pub fn lift(test: &Test, image: &Image, threads: Threads) -> Result<Test, Failure> {
    let mut init = threads.init;
    let (flags, chosen) = machine(threads.profiles);
    let (members, published) = (members(test), published(test));
    let mut bodies = Vec::new();
    let mut private: Vec<InitItem> = Vec::new();
    for (thread, function) in threads.functions.iter().enumerate() {
        let given = Given {
            thread,
            params: &[],
            globals: threads.variables,
            unit: &|name| unit_of(&init, name),
            members: &members,
            published: published.as_deref(),
            array: &|name| is_array(&init, name),
            flags: &flags,
            instead: &|name| chosen.get(name).cloned(),
            calls: threads.calls,
            foreign: None,
            lists: false,
        };
        let lifted = lift::lift(image, function, &given).map_err(|e| e.of_thread(thread))?;
        share(&mut private, lifted.init);
        bodies.push(Body::Asm(lifted.lines));
    }
    init.extend(private);
    let mut out = compose(test, image.arch, Kept::In(threads.observed), init, bodies)?;
    for profile in threads.profiles {
        tell_features(&mut out, profile);
    }
    Ok(out)
}

/// Known properties of the machine that runs the code of all profiles; properties on which profiles
/// disagree are left out.
fn machine(profiles: &[&Profile]) -> (BTreeMap<String, u64>, BTreeMap<String, String>) {
    fn agreed<V: PartialEq + Clone>(all: Vec<BTreeMap<String, V>>) -> BTreeMap<String, V> {
        let mut out: BTreeMap<String, V> = BTreeMap::new();
        let mut open = BTreeSet::new();
        for (name, value) in all.iter().flatten() {
            match out.get(name) {
                Some(old) if old != value => drop(open.insert(name.clone())),
                _ => drop(out.insert(name.clone(), value.clone())),
            }
        }
        out.retain(|name, _| !open.contains(name));
        out
    }
    let flags = agreed(profiles.iter().map(|p| machine::flags(p)).collect());
    let chosen = agreed(profiles.iter().map(|p| machine::chosen(p)).collect());
    (flags, chosen)
}
