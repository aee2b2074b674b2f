//! Compiles tests: the threads of many tests in one translation unit, so that a compiler starts
//! once for all. A batch that fails is halved until the test to blame is found.
//!
//! It does not know models, nor how its results are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::amdgcn;
use super::bench::{Bench, PLAIN, Run};
use super::image::{Image, library};
use super::kernel;
use super::kind::Kind;
use super::lift::{self, Given, Listed};
use super::process::Request;
use super::ptx;
use super::runtime::Runtime;
use super::spirv;
use super::table;
use super::trouble;
pub use super::trouble::first_error;
use super::variables::take_over;
use litmake_base::failure::{Failure, FailureKind};
use litmake_base::stop::{self, Stopping};
use litmake_isa::{self as isa, Isa, target};
use litmake_lang::Language;
use litmake_lang::c11::emit::{EmitOptions, Storage, observed_locals, shared_locations};
use litmake_lang::c11::members::{members, published};
use litmake_lang::c11::outline::outline;
use litmake_lang::c11::readonly::only_read;
use litmake_lang::c11::variables::variables;
use litmake_lang::compiled::{
    FAULTS, Kept, compose, declare, is_array, locations, out_name, unit_of,
};
use litmake_lang::shader::{STRIDE, buffers};
use litmake_litmus::{Anything, Arch, Body, Features, InitItem, Line, Place, Test, Type};
use litmake_ops::Inst;
use litmake_profile::Profile;
use litmake_profile::machine;
use litmake_profile::mapping::Table;
use litmake_profile::types::{self, Observe};

/// A compiler, and how tests are prepared for it.
pub struct Compiler<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// The path of the compiler.
    pub program: &'a Path,
    /// The locals that it has to keep.
    pub observe: Observe,
    /// How the code finds its locations.
    pub storage: types::Storage,
    /// Whether atomic operations are in functions of their own.
    pub helpers: bool,
    /// The kind of the compiler, and the libraries that it would link.
    pub runtime: &'a Runtime,
    /// The request to stop that ends it.
    pub stop: &'a dyn Stopping,
}

/// Whether the calls in the code of an instruction set are followed.
pub fn follows_calls(arch: Arch) -> bool {
    arch != Arch::AmdGcn
}

#[derive(Clone)]
pub(super) struct Unit {
    /// The test in the form in which it is compiled.
    test: Test,
    observe: BTreeMap<String, Vec<String>>,
}

/// The output of a compiler.
enum Code {
    Machine(Box<Image>),
    Ptx(ptx::module::Module),
    AmdGcn(amdgcn::Module),
    /// A module of SPIR-V as text.
    Spirv(String),
}

/// The frame of a compiled test: what functions, parameters, symbols and locals stand for.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The initial state, with the locations in which observed locals are stored.
    pub init: Vec<InitItem>,
    /// Pairs of a symbol and the location that is this variable.
    pub globals: Vec<(String, String)>,
    /// For each thread its function, and the location behind each parameter.
    pub threads: Vec<(String, Vec<String>)>,
    /// Observed locals: thread, name, location.
    pub locals: Vec<(usize, String, String)>,
}

/// The lines of a thread, and what it adds to the initial state.
type Made = Result<(Vec<Line>, Vec<InitItem>), Failure>;

/// A compiled unit, to make tests from modules of it.
pub struct Modules<'a> {
    compiler: &'a Compiler<'a>,
    unit: Unit,
}

impl Modules<'_> {
    /// The test of a module.
    pub fn test(&self, text: &str) -> Result<Test, Failure> {
        self.compiler.target(&self.unit, 0, &Ok(Code::Spirv(text.to_string())))
    }
}

impl Compiler<'_> {
    /// Compiles C tests and lifts the results, one for each test.
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
        if !lifted && !arch.facts().text {
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
            | Language::Go
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
        if !variables(&test).is_empty()
            && !matches!(self.profile.language, Language::C | Language::Cpp)
        {
            let language = self.profile.language.name();
            let message = format!("variables that functions name directly, in {language}");
            return Err(Failure::unsupported(message));
        }
        let unit = Unit { test, observe };
        // Features that a language lacks are reported before a batch is made.
        if self.profile.language != Language::C {
            if !self.profile.mapping.is_empty() {
                return Err(Failure::unsupported("tables are for tests in C"));
            }
            self.profile.language.emit(&unit.test, &self.options(&unit, 0))?;
        }
        self.has_integers_of(&unit)?;
        Ok(unit)
    }

    /// Refuses a test with integers of 128 bits where the compiler has none. A batch with such a test would be
    /// compiled in vain, and its halves again.
    fn has_integers_of(&self, unit: &Unit) -> Result<(), Failure> {
        let target = isa::target::of(self.profile.arch, false, false, false);
        let may_lack = matches!(self.profile.language, Language::C | Language::Cpp)
            && target.is_some_and(|target| target.word < 8);
        if !may_lack {
            return Ok(());
        }
        let text = self.profile.language.emit(&unit.test, &self.options(unit, 0))?;
        if !text.contains("int128") || !self.lacks_int128() {
            return Ok(());
        }
        let what = format!("{} has no integers of 128 bits for this target", self.profile.compiler);
        Err(Failure::new(FailureKind::Refused, what))
    }

    /// Whether a variable of 128 bits is refused, and one of 32 bits is not.
    fn lacks_int128(&self) -> bool {
        let known = &self.runtime.lacks_int128;
        if let Some(known) = known.get() {
            return *known;
        }
        let wide = |_: &str| Ok("__int128 wide;\n".to_string());
        match self.emit_or_refuse(&wide, &[], self.profile.timeout) {
            Ok(_) => *known.get_or_init(|| false),
            Err(failure) if failure.kind == FailureKind::Refused => *known.get_or_init(|| true),
            // Nothing is known then, and the test itself shows what is wrong.
            Err(_) => false,
        }
    }

    /// The text that the compiler is given for some tests.
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

    /// The text for one test, with a prefix for the names of its functions.
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

    /// The text that the compiler is given for a single test.
    pub fn source(&self, test: &Test) -> Result<String, Failure> {
        self.text(self.profile.language.header(), &[(0, self.unit(test)?)])
    }

    /// Whether the compiler also fails on a text without tests. Then the profile, the compiler or
    /// the machine is at fault, and single tests need not be tried.
    fn takes_nothing(&self) -> bool {
        self.object(&[], self.profile.timeout).is_err_and(|failure| failure.is_broken())
    }

    /// Makes the tests of a batch from its object code; if there is none, compiles its halves.
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
                    // Neighbours can change how a function is compiled, so a failing test is
                    // compiled alone.
                    if out[*place].is_err() && units.len() > 1 {
                        out[*place] = self.alone(unit);
                    }
                }
            }
            Err(failure) if failure.is_stopped() => {}
            Err(failure) if units.len() == 1 => out[units[0].0] = Err(failure),
            Err(_) => {
                // A test that hangs makes its whole batch hang, so smaller batches get less time.
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

    /// The SPIR-V module of a test as text, and what is needed to make tests from it and from
    /// modules that are derived from it.
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

    /// The output of a batch, read for lifting.
    fn code(&self, output: &[u8]) -> Result<Code, Failure> {
        let text = || String::from_utf8_lossy(output);
        Ok(match self.profile.arch {
            Arch::Ptx => Code::Ptx(ptx::module::Module::read(&text())?),
            Arch::AmdGcn => Code::AmdGcn(amdgcn::Module::read(&text())),
            Arch::Spirv => Code::Spirv(text().into_owned()),
            _ => Code::Machine(self.image(output)?.into()),
        })
    }

    /// Machine code, placed in memory.
    pub(super) fn image(&self, output: &[u8]) -> Result<Image, Failure> {
        let arch = self.profile.arch;
        match self.profile.language {
            // Go has no object files but its own, so the tests are in a program.
            Language::Go => Image::of_program(arch, output, &[]),
            _ => Image::new(arch, output, &|name| library::member(self.runtime.libraries(), name)),
        }
    }

    fn options(&self, unit: &Unit, n: usize) -> EmitOptions {
        EmitOptions {
            observe: unit.observe.clone(),
            storage: match self.storage {
                // Shaders have their locations in buffers.
                _ if self.profile.language.shader().is_some() => Storage::Globals,
                types::Storage::Pointers => Storage::Params,
                types::Storage::Globals => Storage::Globals,
                types::Storage::Statics => Storage::Statics,
            },
            prefix: format!("t{n}_"),
            number: n,
            calls: !self.profile.mapping.is_empty(),
            // Compilers that may inline seldom call in code for these machines.
            inline_helpers: !follows_calls(self.profile.arch),
            ..EmitOptions::default()
        }
    }

    /// The object code of a batch. A single test has all the time that the profile gives, and if the compiler
    /// fails on it, it is found out whether that is due to the test.
    fn object(&self, units: &[(usize, Unit)], timeout: Duration) -> Result<Vec<u8>, Failure> {
        let text = |header: &str| self.text(header, units);
        match units.len() {
            1 => self.emit_or_refuse(&text, &self.extra(), self.profile.timeout),
            _ => self.emit(&text, &self.extra(), timeout),
        }
    }

    /// Compiles a test like [`Compiler::compile`], with `end` at the end of its text and `run` as the function that
    /// runs programs, for callers that observe the compilation. The result is not lifted.
    pub fn watched(&self, test: &Test, end: &str, run: Run) -> Result<Vec<u8>, Failure> {
        let units = [(0, self.unit(test)?)];
        let text = |header: &str| Ok(self.text(header, &units)? + end);
        Bench::new(self, &self.extra(), self.profile.timeout)?.by(run).emit(&text)
    }

    /// Arguments for code that is to be lifted.
    pub(super) fn extra(&self) -> Vec<&'static str> {
        // Each variable gets its own section, so that none is in the word of another.
        let mut extra = vec!["-g0", "-fdata-sections"];
        if self.runtime.kind() == Kind::Clang {
            extra.extend(["-mllvm", "-enable-global-merge=false"]);
            // A crash is told once. Without this, the driver compiles again to write a reproducer.
            extra.push("-fno-crash-diagnostics");
        }
        extra.extend(target::facts(self.profile.arch).iter().flat_map(|facts| facts.apart));
        extra
    }

    /// The object code of a text; `text` makes it for a given header. `extra` comes before the
    /// profile's own arguments, if the profile is for C or C++.
    pub fn emit(
        &self,
        text: &dyn Fn(&str) -> Result<String, Failure>,
        extra: &[&str],
        timeout: Duration,
    ) -> Result<Vec<u8>, Failure> {
        Bench::new(self, extra, timeout)?.emit(text)
    }

    /// Like `emit`, but decides whether a rejection is due to the text.
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

    /// The frame of a unit in the object code of a batch: the arguments of its functions, and the
    /// places of its locations and locals.
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
            storage => {
                let stored = match storage {
                    Storage::Params => variables(test),
                    Storage::Globals | Storage::Statics => shared_locations(test),
                };
                let symbols = |name: &str| {
                    let global = storage == Storage::Globals;
                    language.symbols(&options.global_name(name), global)
                };
                let pairs = stored.into_iter().flat_map(|(name, _)| {
                    symbols(&name).into_iter().map(move |symbol| (symbol, name.clone()))
                });
                pairs.collect()
            }
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
            let function = match shader {
                true => "main".to_string(),
                false => language.function_symbol(&options.function_name(&f.name)),
            };
            threads.push((function, params));
        }
        Ok(Frame { init, globals, threads, locals })
    }

    /// Which locals of the source the compiled test keeps.
    fn kept<'l>(&self, locals: &'l [(usize, String, String)]) -> Kept<'l> {
        match self.observe {
            Observe::None => Kept::Nothing,
            Observe::Condition | Observe::All => Kept::In(locals),
        }
    }

    /// The names of a single test's helper functions.
    pub(super) fn helpers_of(&self, unit: &Unit) -> Vec<String> {
        let options = self.options(unit, 0);
        unit.test.helpers.iter().map(|f| options.function_name(&f.name)).collect()
    }

    /// The test from the output of a batch.
    fn target(&self, unit: &Unit, n: usize, code: &Result<Code, Failure>) -> Result<Test, Failure> {
        match code.as_ref().map_err(Clone::clone)? {
            Code::Machine(image) => self.lifted(unit, n, image, None),
            Code::Ptx(module) => self.threads(unit, n, |_, function, params, globals| {
                let given = ptx::Given { params, globals };
                ptx::thread(module, function, &given).map(|made| (made.lines, made.init))
            }),
            Code::AmdGcn(module) => self.threads(unit, n, |thread, function, params, globals| {
                module.thread(function, thread, params, globals)
            }),
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

    /// The test from a module that is text. `thread` makes one thread: of its number, its function, the locations
    /// behind its parameters, and the variables.
    fn threads(
        &self,
        unit: &Unit,
        n: usize,
        thread: impl Fn(usize, &str, &[String], &[(String, String)]) -> Made,
    ) -> Result<Test, Failure> {
        let Frame { mut init, globals, threads: functions, locals } = self.frame(unit, n)?;
        let mut threads = Vec::new();
        for (number, (function, params)) in functions.iter().enumerate() {
            let made = thread(number, function, params, &globals);
            let (lines, more) = made.map_err(|e| e.of_thread(number))?;
            share(&mut init, more);
            threads.push(Body::Asm(lines));
        }
        compose(&unit.test, self.profile.arch, self.kept(&locals), init, threads)
    }

    /// The test from object code. `listing` receives the instructions of each thread.
    pub(super) fn lifted(
        &self,
        unit: &Unit,
        n: usize,
        image: &Image,
        mut listing: Option<&mut Vec<Vec<Listed>>>,
    ) -> Result<Test, Failure> {
        let test = &unit.test;
        let Frame { mut init, mut globals, threads: functions, locals } = self.frame(unit, n)?;
        take_over(test, image, &mut globals, &mut init);
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

/// Adds the private items of one more thread; threads share the locks of their locations.
pub(super) fn share(private: &mut Vec<InitItem>, more: Vec<InitItem>) {
    for item in more {
        let location = matches!(item.place, Place::Mem { .. });
        if !location || !private.iter().any(|p| p.place == item.place) {
            private.push(item);
        }
    }
}

/// Adds the profile's features to a test, if they matter to it.
pub(super) fn tell_features(test: &mut Test, profile: &Profile) {
    let features = profile.features();
    if matter(test, features) {
        test.add_features(features);
    }
}

/// Whether features beyond the base change the meaning of a test's code. If they do not, they are
/// not mentioned, so that equal code is equal.
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
    for f in test.threads.iter().filter_map(Body::function) {
        out.insert(f.name.clone(), litmake_lang::c11::emit::locals(f));
    }
    out
}

/// The number of leading arguments that are subcommands (`zig cc`).
pub(super) fn subcommands(profile: &Profile) -> usize {
    profile.args.iter().take_while(|a| !a.starts_with('-')).count()
}

/// A request to run a profile's compiler in a folder, with the profile's limits.
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

/// A request that asks the compiler about itself, which takes little time: at most 30 s, or the
/// profile's limit if that is shorter.
pub fn question<'a>(
    profile: &'a Profile,
    program: &'a Path,
    args: &'a [String],
    dir: &'a Path,
) -> Request<'a> {
    let timeout = profile.timeout.min(Duration::from_secs(30));
    Request { timeout, ..request(profile, program, args, dir, stop::of_the_process()) }
}

/// The arguments of a compiler: litmake's first, then the profile's, which take precedence, then
/// files.
pub fn arguments(profile: &Profile, ours: &[&str], files: &[&str]) -> Vec<String> {
    let (commands, given) = profile.args.split_at(subcommands(profile));
    let text = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    [commands.to_vec(), text(ours), kernel::arguments(profile), given.to_vec(), text(files)]
        .concat()
}

/// The commands that follow the compiler: the profile's own, and SPIR-V's disassembler where its text is read.
pub(super) fn later(profile: &Profile) -> Vec<Vec<String>> {
    let dis = ["spirv-dis", "--raw-id", "{in}", "-o", "{out}"].map(String::from).to_vec();
    let dis = (profile.arch == Arch::Spirv).then_some(dis);
    profile.then.iter().cloned().chain(dis).collect()
}
