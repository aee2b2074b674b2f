//! Compiling tests: many threads in one translation unit, so that a compiler starts once for
//! many; what a batch cannot do is halved down to the test that is to blame.
//!
//! It does not know models, nor how its results are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::bench::{Bench, PLAIN, Run};
use super::image::Image;
use super::kernel;
use super::kind::Kind;
use super::lift::{self, Given, Listed};
use super::process::{self, Request};
use super::ptx;
use super::runtime::Runtime;
use super::spirv;
use super::table;
use super::trouble;
pub use super::trouble::first_error;
use litmake_base::failure::Failure;
use litmake_base::stop::{self, Stopping};
use litmake_isa::{self as isa, Isa};
use litmake_lang::Language;
use litmake_lang::c11::emit::{EmitOptions, Storage, observed_locals, shared_locations};
use litmake_lang::c11::members::{members, published};
use litmake_lang::c11::outline::outline;
use litmake_lang::c11::readonly::only_read;
use litmake_lang::compiled::{
    FAULTS, Kept, compose, declare, is_array, locations, out_name, unit_of,
};
use litmake_lang::shader::{STRIDE, buffers};
use litmake_litmus::{Anything, Arch, Body, Features, InitItem, Place, Test, Type};
use litmake_ops::Inst;
use litmake_profile::Profile;
use litmake_profile::machine;
use litmake_profile::mapping::Table;
use litmake_profile::types::{self, Observe};

/// A compiler, and how it is given tests.
pub struct Compiler<'a> {
    /// What it is asked for.
    pub profile: &'a Profile,
    /// Where it is.
    pub program: &'a Path,
    /// Which locals it has to keep.
    pub observe: Observe,
    /// Where locations are.
    pub storage: types::Storage,
    /// Whether atomic operations are in functions of their own.
    pub helpers: bool,
    /// Its kind, and what would be linked.
    pub runtime: &'a Runtime,
    /// What can end it.
    pub stop: &'a dyn Stopping,
}

#[derive(Clone)]
pub(super) struct Unit {
    /// As it is compiled.
    test: Test,
    observe: BTreeMap<String, Vec<String>>,
}

/// What a compiler wrote.
enum Code {
    Machine(Box<Image>),
    Ptx(ptx::module::Module),
    /// A module as text.
    Spirv(String),
}

/// How a compiled test's functions are called: what compiled code has for what the test names.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The locations, with those that observed locals end in.
    pub init: Vec<InitItem>,
    /// The locations that are variables, by symbol.
    pub globals: Vec<(String, String)>,
    /// For each thread its function, and the location behind each parameter.
    pub threads: Vec<(String, Vec<String>)>,
    /// Thread, name and location of each observed local.
    pub locals: Vec<(usize, String, String)>,
}

/// What modules of one test have in common.
pub struct Modules<'a> {
    compiler: &'a Compiler<'a>,
    unit: Unit,
}

impl Modules<'_> {
    /// The test that a module makes.
    pub fn test(&self, text: &str) -> Result<Test, Failure> {
        self.compiler.target(&self.unit, 0, &Ok(Code::Spirv(text.to_string())))
    }
}

impl Compiler<'_> {
    /// Compiles C tests and lifts what comes out, one result a test.
    pub fn compile(&self, tests: &[Test]) -> Vec<Result<Test, Failure>> {
        let mut out: Vec<Result<Test, Failure>> = Vec::with_capacity(tests.len());
        let mut units = Vec::new();
        for test in tests {
            match self.unit(test) {
                Ok(unit) => {
                    out.push(Err(Failure::stopped()));
                    units.push((out.len() - 1, unit));
                }
                Err(failure) => out.push(Err(failure)),
            }
        }
        if units.is_empty() {
            return out;
        }
        let object = self.object(&units, self.profile.timeout);
        match &object {
            Err(failure) if failure.is_broken() && units.len() > 1 && self.takes_nothing() => {
                for (place, _) in &units {
                    out[*place] = Err(failure.clone());
                }
            }
            _ => self.batch(&units, object, &mut out),
        }
        out
    }

    pub(super) fn unit(&self, test: &Test) -> Result<Unit, Failure> {
        if test.arch != Arch::C {
            return Err(format!("{} is no C test but {}", test.name, test.arch.name()).into());
        }
        let arch = self.profile.arch;
        let lifted = isa::target::of(arch, false, false, false).is_some();
        if !lifted && !matches!(arch, Arch::Ptx | Arch::Spirv) {
            return Err(Failure::unsupported(format!(
                "code for {} cannot be lifted yet",
                arch.name()
            )));
        }
        let prepared = match self.profile.language {
            Language::Kernel => {
                kernel::folder(self.profile)?;
                let declared = litmake_lang::kernel::declared(test.clone());
                Some(litmake_lang::kernel::prepare(&declared)?)
            }
            Language::C
            | Language::Cpp
            | Language::Cuda
            | Language::Rust
            | Language::OpenCl
            | Language::Glsl
            | Language::Wgsl => None,
        };
        let test = prepared.as_ref().unwrap_or(test);
        let observe = match self.observe {
            Observe::None => BTreeMap::new(),
            Observe::Condition => observed_locals(test),
            Observe::All => all_locals(test),
        };
        let test = match self.helpers && prepared.is_none() {
            // Shaders cannot hand a location to a function.
            true => outline(
                test,
                self.storage != types::Storage::Pointers
                    || self.profile.language.shader().is_some(),
            ),
            false => test.clone(),
        };
        let unit = Unit { test, observe };
        // What a language lacks is said before a batch is made.
        if self.profile.language != Language::C {
            if !self.profile.mapping.is_empty() {
                return Err(Failure::unsupported("tables are for tests in C"));
            }
            self.profile.language.emit(&unit.test, &self.options(&unit, 0))?;
        }
        Ok(unit)
    }

    /// What a compiler is given for some tests.
    pub(super) fn text(&self, header: &str, units: &[(usize, Unit)]) -> Result<String, Failure> {
        let language = self.profile.language;
        let mut text = String::new();
        let mut threads = Vec::new();
        for (n, (_, unit)) in units.iter().enumerate() {
            let options = self.options(unit, n);
            text.push_str(&language.emit(&unit.test, &options)?);
            text.push('\n');
            for (thread, body) in unit.test.threads.iter().enumerate() {
                if let Body::C(f) = body {
                    threads.push((n * STRIDE + thread, options.function_name(&f.name)));
                }
            }
        }
        text.push_str(&language.footer(&threads));
        self.with_table(header, text)
    }

    /// What a compiler is given for a test whose functions' names begin with a prefix.
    pub(super) fn text_named(
        &self,
        header: &str,
        unit: &Unit,
        prefix: &str,
    ) -> Result<String, Failure> {
        let options = EmitOptions { prefix: prefix.to_string(), ..self.options(unit, 0) };
        self.with_table(header, self.profile.language.emit(&unit.test, &options)?)
    }

    fn with_table(&self, header: &str, mut text: String) -> Result<String, Failure> {
        if !self.profile.mapping.is_empty() {
            let table = Table::read(&self.profile.mapping)?;
            text = table::preamble(&table, self.profile.arch, &text)? + &text;
        }
        Ok(header.to_string() + &text)
    }

    /// What the compiler is given for a test on its own.
    pub fn source(&self, test: &Test) -> Result<String, Failure> {
        self.text(self.profile.language.header(), &[(0, self.unit(test)?)])
    }

    /// Whether the compiler fails on a text without any test, too: the profile, the compiler or the
    /// machine is at fault, and it need not be asked about each test.
    fn takes_nothing(&self) -> bool {
        self.object(&[], self.profile.timeout).is_err_and(|failure| failure.is_broken())
    }

    /// The tests that the object code of a batch makes; of its halves, where there is none.
    fn batch(
        &self,
        units: &[(usize, Unit)],
        object: Result<Vec<u8>, Failure>,
        out: &mut [Result<Test, Failure>],
    ) {
        match object {
            Ok(object) => {
                let code = self.code(&object);
                for (n, (place, unit)) in units.iter().enumerate() {
                    out[*place] = self.target(unit, n, &code);
                    // What stands beside a function can change how it is compiled; alone, it
                    // stands for itself.
                    if out[*place].is_err() && units.len() > 1 {
                        out[*place] = self.alone(unit);
                    }
                }
            }
            Err(failure) if failure.is_stopped() => {}
            Err(failure) if units.len() == 1 => out[units[0].0] = Err(failure),
            Err(_) => {
                // One that hangs hangs each batch that it is in; such batches are given up sooner.
                let timeout = (self.profile.timeout / 4).max(Duration::from_secs(1));
                let (a, b) = units.split_at(units.len() / 2);
                for half in [a, b] {
                    self.batch(half, self.object(half, timeout), out);
                }
            }
        }
    }

    fn alone(&self, unit: &Unit) -> Result<Test, Failure> {
        let units = [(0, unit.clone())];
        let object = self.object(&units, self.profile.timeout)?;
        self.target(&units[0].1, 0, &self.code(&object))
    }

    /// The module of SPIR-V that a test becomes, as text, and what it takes to make tests of that and of modules
    /// that are made of it.
    pub fn module(&self, test: &Test) -> Result<(Modules<'_>, String), Failure> {
        if self.profile.arch != Arch::Spirv {
            return Err(Failure::unsupported(format!(
                "modules of {}, which compiles to no SPIR-V",
                self.profile.name
            )));
        }
        let unit = self.unit(test)?;
        let text = self.object(&[(0, unit.clone())], self.profile.timeout)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok((Modules { compiler: self, unit }, text))
    }

    /// What a batch became, laid out for its tests.
    fn code(&self, output: &[u8]) -> Result<Code, Failure> {
        let text = || String::from_utf8_lossy(output);
        Ok(match self.profile.arch {
            Arch::Ptx => Code::Ptx(ptx::module::Module::read(&text())?),
            Arch::Spirv => Code::Spirv(text().into_owned()),
            arch => Code::Machine(Image::new(arch, output, self.runtime.libraries())?.into()),
        })
    }

    fn options(&self, unit: &Unit, n: usize) -> EmitOptions {
        EmitOptions {
            observe: unit.observe.clone(),
            storage: match self.storage {
                // Shaders have locations in buffers.
                _ if self.profile.language.shader().is_some() => Storage::Globals,
                types::Storage::Pointers => Storage::Params,
                types::Storage::Globals => Storage::Globals,
                types::Storage::Statics => Storage::Statics,
            },
            prefix: format!("t{n}_"),
            number: n,
            ..EmitOptions::default()
        }
    }

    /// The object code of a batch. A test alone has all the time that the profile gives.
    fn object(&self, units: &[(usize, Unit)], timeout: Duration) -> Result<Vec<u8>, Failure> {
        let timeout = match units.len() {
            1 => self.profile.timeout,
            _ => timeout,
        };
        self.emit(&|header| self.text(header, units), &self.extra(), timeout)
    }

    /// Compiles a test as [`Compiler::compile`] does, for whoever wants to see how: `run` runs what
    /// has to be run.
    pub fn watched(&self, test: &Test, run: Run) -> Result<(), Failure> {
        let units = [(0, self.unit(test)?)];
        let text = |header: &str| self.text(header, &units);
        Bench::new(self, &self.extra(), self.profile.timeout)?.by(run).emit(&text).map(drop)
    }

    /// Arguments for code that is lifted.
    pub(super) fn extra(&self) -> Vec<&'static str> {
        // Each variable in a section of its own, so that none lies in the word of another.
        let mut extra = vec!["-g0", "-fdata-sections"];
        if self.runtime.kind == Kind::Clang {
            extra.extend(["-mllvm", "-enable-global-merge=false"]);
        }
        // Small variables share a section where they may be found through a register.
        if self.profile.arch == Arch::RiscV {
            extra.push("-msmall-data-limit=0");
        }
        extra
    }

    /// The object code of a text, which is made for a header. `extra` comes before what the
    /// profile says, where it is for C or C++.
    pub fn emit(
        &self,
        text: &dyn Fn(&str) -> Result<String, Failure>,
        extra: &[&str],
        timeout: Duration,
    ) -> Result<Vec<u8>, Failure> {
        Bench::new(self, extra, timeout)?.emit(text)
    }

    /// As `emit`, where it is settled whose doing a failure is.
    pub fn emit_or_refuse(
        &self,
        text: &dyn Fn(&str) -> Result<String, Failure>,
        extra: &[&str],
        timeout: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let bench = Bench::new(self, extra, timeout)?;
        let plain = || bench.emit(&|_| Ok(PLAIN.to_string())).map(drop);
        trouble::settle(bench.emit(text), plain, || bench.emit(text))
    }

    /// What a unit's functions are given and where its locations and locals are, in the object code
    /// of a batch.
    pub(super) fn frame(&self, unit: &Unit, n: usize) -> Result<Frame, Failure> {
        let test = &unit.test;
        let options = self.options(unit, n);
        let language = self.profile.language;
        let mut init = locations(test);
        let shader = language.shader().is_some();
        let globals: Vec<(String, String)> = match options.storage {
            _ if shader => {
                let buffers = buffers(test, &options).into_iter().enumerate();
                buffers.map(|(i, (name, _))| (spirv::binding(n, i), name)).collect()
            }
            Storage::Params => Vec::new(),
            _ => shared_locations(test)
                .into_iter()
                .flat_map(|(name, _)| {
                    let global = options.storage == Storage::Globals;
                    let symbols = language.symbols(&options.global_name(&name), global);
                    symbols.into_iter().map(move |symbol| (symbol, name.clone()))
                })
                .collect(),
        };
        let mut threads = Vec::new();
        let mut locals = Vec::new();
        for (thread, body) in test.threads.iter().enumerate() {
            let Body::C(f) = body else {
                return Err(format!("{} has a thread that is not C", test.name).into());
            };
            let mut params: Vec<String> = Vec::new();
            for p in &f.params {
                let variable =
                    options.storage != Storage::Params && matches!(p.ty.bare(), Type::Pointer(_));
                if !variable {
                    params.push(p.name.clone());
                }
            }
            for local in unit.observe.get(&f.name).into_iter().flatten() {
                let name = out_name(&f.name, local);
                let ty = litmake_lang::c11::emit::local_type(f, local);
                let ty = match ty.map(Type::bare) {
                    // Shaders have no memory of such a type.
                    Some(Type::Named(_)) | None if shader => Type::INT,
                    ty => ty.cloned().unwrap_or(Type::INT),
                };
                declare(&mut init, &name, ty);
                locals.push((thread, local.clone(), name.clone()));
                if !shader {
                    params.push(name);
                }
            }
            let function = if shader { "main".to_string() } else { options.function_name(&f.name) };
            threads.push((function, params));
        }
        Ok(Frame { init, globals, threads, locals })
    }

    /// What a compiled test has of its source's locals.
    fn kept<'l>(&self, locals: &'l [(usize, String, String)]) -> Kept<'l> {
        match self.observe {
            Observe::None => Kept::Nothing,
            Observe::Condition | Observe::All => Kept::In(locals),
        }
    }

    /// The functions of a test alone that its threads call.
    pub(super) fn helpers_of(&self, unit: &Unit) -> Vec<String> {
        let options = self.options(unit, 0);
        unit.test.helpers.iter().map(|f| options.function_name(&f.name)).collect()
    }

    /// The assembly test that the code of a test makes.
    fn target(&self, unit: &Unit, n: usize, code: &Result<Code, Failure>) -> Result<Test, Failure> {
        match code.as_ref().map_err(Clone::clone)? {
            Code::Machine(image) => self.lifted(unit, n, image, None),
            Code::Ptx(module) => self.inlined(unit, n, module),
            Code::Spirv(text) => {
                let Frame { mut init, globals, threads, locals } = self.frame(unit, n)?;
                let shader = self.profile.language.shader();
                let first = shader.map(|_| (n * STRIDE) as u32);
                let given = spirv::Given { threads: &threads, globals: &globals, first };
                let (threads, more) = spirv::threads(text, &given)?;
                init.extend(more);
                compose(&unit.test, self.profile.arch, self.kept(&locals), init, threads)
            }
        }
    }

    /// The test that a module of text makes.
    fn inlined(
        &self,
        unit: &Unit,
        n: usize,
        module: &ptx::module::Module,
    ) -> Result<Test, Failure> {
        let Frame { mut init, globals, threads: functions, locals } = self.frame(unit, n)?;
        let mut threads = Vec::new();
        for (thread, (function, params)) in functions.iter().enumerate() {
            let given = ptx::Given { params, globals: &globals };
            let made = ptx::thread(module, function, &given).map_err(|e| e.of_thread(thread))?;
            share(&mut init, made.init);
            threads.push(Body::Asm(made.lines));
        }
        compose(&unit.test, self.profile.arch, self.kept(&locals), init, threads)
    }

    /// The test that object code makes. `listing` takes what became of each thread's instructions.
    pub(super) fn lifted(
        &self,
        unit: &Unit,
        n: usize,
        image: &Image,
        mut listing: Option<&mut Vec<Vec<Listed>>>,
    ) -> Result<Test, Failure> {
        let test = &unit.test;
        let Frame { mut init, globals, threads: functions, locals } = self.frame(unit, n)?;
        let (flags, chosen) = (machine::flags(self.profile), machine::chosen(self.profile));
        let (members, published) = (members(test), published(test));
        let mut threads = Vec::new();
        let mut private = Vec::new();
        let mut written = BTreeSet::new();
        for (thread, (function, params)) in functions.iter().enumerate() {
            let unit = |name: &str| unit_of(&init, name);
            let given = Given {
                thread,
                params,
                globals: &globals,
                unit: &unit,
                members: &members,
                published: published.as_deref(),
                array: &|name| is_array(&init, name),
                flags: &flags,
                instead: &|name| chosen.get(name).cloned(),
                calls: false,
                foreign: None,
                lists: listing.is_some(),
            };
            let lifted = lift::lift(image, function, &given).map_err(|e| e.of_thread(thread))?;
            if let Some(listing) = &mut listing {
                listing.push(lifted.listing);
            }
            share(&mut private, lifted.init);
            written.extend(lifted.written);
            threads.push(Body::Asm(lifted.lines));
        }
        init.extend(private);
        let mut out = compose(test, self.profile.arch, self.kept(&locals), init, threads)?;
        tell_features(&mut out, self.profile);
        let faults: Vec<String> =
            only_read(test).into_iter().filter(|name| written.contains(name)).collect();
        if !faults.is_empty() {
            out.info.push((FAULTS.to_string(), faults.join(" ")));
        }
        Ok(out)
    }
}

/// Adds what one more thread has of its own; threads share the locks of their locations.
pub(super) fn share(private: &mut Vec<InitItem>, more: Vec<InitItem>) {
    for item in more {
        let location = matches!(item.place, Place::Mem { .. });
        if !location || !private.iter().any(|p| p.place == item.place) {
            private.push(item);
        }
    }
}

/// Says of a test what a profile's machines have beyond the base, where that matters to it.
pub(super) fn tell_features(test: &mut Test, profile: &Profile) {
    let features = profile.features();
    if matter(test, features) {
        test.add_features(features);
    }
}

/// Whether what machines have beyond the base changes what a test's code means: where it does
/// not, nothing is said of it, so that equal code is equal.
fn matter(test: &Test, features: Features) -> bool {
    let ops = |isa: Option<&'static dyn Isa>| -> Option<Vec<Vec<Inst>>> {
        let thread = |body: &Body| match body {
            Body::Asm(lines) => isa?.thread(&test.source, lines, &mut Anything).ok(),
            Body::C(_) => None,
        };
        test.threads.iter().map(|b| thread(b).map(|code| code.insts)).collect()
    };
    features != Features::default()
        && ops(isa::with(test.arch, features)) != ops(isa::of(test.arch))
}

fn all_locals(test: &Test) -> BTreeMap<String, Vec<String>> {
    let mut out = BTreeMap::new();
    for body in &test.threads {
        if let Body::C(f) = body {
            out.insert(f.name.clone(), litmake_lang::c11::emit::locals(f));
        }
    }
    out
}

/// How many of a profile's arguments are subcommands (`zig cc`), which come first.
pub(super) fn subcommands(profile: &Profile) -> usize {
    profile.args.iter().take_while(|a| !a.starts_with('-')).count()
}

/// What a profile's compiler is run by: within the profile's bounds, in a folder.
pub fn request<'a>(
    profile: &'a Profile,
    program: &'a Path,
    args: &'a [String],
    dir: &'a Path,
    stop: &'a dyn Stopping,
) -> Request<'a> {
    let Profile { env, timeout, memory_mib, .. } = profile;
    Request {
        program,
        args,
        env,
        dir,
        timeout: *timeout,
        memory_mib: *memory_mib,
        processors: 1,
        stop,
    }
}

/// The same for a question about the compiler itself, which takes no time worth mentioning. Who gives a
/// compiler less time than that gives its answers no more.
pub fn question<'a>(
    profile: &'a Profile,
    program: &'a Path,
    args: &'a [String],
    dir: &'a Path,
) -> Request<'a> {
    let timeout = profile.timeout.min(Duration::from_secs(30));
    Request { timeout, ..request(profile, program, args, dir, stop::of_the_process()) }
}

/// The arguments of a compiler: what the profile says comes after ours, and so counts, and before
/// what names files.
pub fn arguments(profile: &Profile, ours: &[&str], files: &[&str]) -> Vec<String> {
    let (commands, given) = profile.args.split_at(subcommands(profile));
    let text = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    [commands.to_vec(), text(ours), kernel::arguments(profile), given.to_vec(), text(files)]
        .concat()
}

/// Where to look for a profile's compiler, for messages.
pub fn located(profile: &Profile) -> Option<PathBuf> {
    process::find(&profile.compiler)
}
