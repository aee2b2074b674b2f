//! Runs the compiled code of a test once, one thread after the other, with the locations that the
//! source only reads in read-only memory. If a signal ends it, the code is wrong under every model.
//! It runs on this machine or under `qemu-user`, if possible without a C library.
//!
//! It does not check outcomes, nor anything that needs two threads at once.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::compile::{Compiler, arguments, first_error, subcommands};
use super::kind::Kind;
use super::ld;
use super::process::{self, Ended, Request};
use super::scratch::Scratch;
use litmake_base::failure::{Failure, Fault};
use litmake_base::file;
use litmake_isa::target;
use litmake_lang::c11::emit::{
    EmitOptions, HEADER, Storage, emit_c, local_type, observed_locals, shared_locations,
};
use litmake_lang::c11::readonly::only_read;
use litmake_lang::compiled::out_name;
use litmake_litmus::c::ast::FloatLit;
use litmake_litmus::c::print_declaration;
use litmake_litmus::c::types::size_of;
use litmake_litmus::{Arch, Body, InitValue, Place, Test, Type, Value};
use litmake_profile::Profile;

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The program exited normally.
    Well,
    /// The program was ended by this signal.
    Signal(i32),
}

/// The exit of a program and, on x86, the alignment of the stack at its start.
const MAIN: &str = "\
#if defined(HOSTED)
#elif defined(__x86_64__)
#define ENTRY __attribute__((force_align_arg_pointer))
static void leave(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(0) : \"memory\"); }
#elif defined(__i386__)
#define ENTRY __attribute__((force_align_arg_pointer))
static void leave(void) { __asm__ volatile(\"int $0x80\" : : \"a\"(1), \"b\"(0) : \"memory\"); }
#elif defined(__aarch64__)
#define ENTRY
static void leave(void) {
  register long number __asm__(\"x8\") = 93;
  register long status __asm__(\"x0\") = 0;
  __asm__ volatile(\"svc 0\" : : \"r\"(number), \"r\"(status) : \"memory\");
}
#elif defined(__arm__)
#define ENTRY
static void leave(void) {
  __asm__ volatile(\"mov r0, #0\\n mov r7, #1\\n svc 0\" : : : \"r0\", \"memory\");
}
#elif defined(__riscv)
#define ENTRY
static void leave(void) {
  register long number __asm__(\"a7\") = 93;
  register long status __asm__(\"a0\") = 0;
  __asm__ volatile(\"ecall\" : : \"r\"(number), \"r\"(status) : \"memory\");
}
#elif defined(__s390x__)
#define ENTRY
static void leave(void) {
  register long number __asm__(\"r1\") = 1;
  register long status __asm__(\"r2\") = 0;
  __asm__ volatile(\"svc 0\" : : \"r\"(number), \"r\"(status) : \"memory\");
}
#elif defined(__loongarch64)
#define ENTRY
static void leave(void) {
  register long number __asm__(\"$a7\") = 93;
  register long status __asm__(\"$a0\") = 0;
  __asm__ volatile(\"syscall 0\" : : \"r\"(number), \"r\"(status) : \"memory\");
}
#elif defined(__powerpc64__)
#define ENTRY
static void leave(void) {
  register long number __asm__(\"r0\") = 1;
  register long status __asm__(\"r3\") = 0;
  __asm__ volatile(\"sc\" : : \"r\"(number), \"r\"(status) : \"memory\");
}
#endif
";

impl Compiler<'_> {
    /// Compiles, links and runs a test.
    pub fn execute(&self, test: &Test) -> Result<Ran, Failure> {
        if !self.profile.mapping.is_empty() {
            return Err(Failure::unsupported("a profile that is no compiler is not run"));
        }
        let sources = sources(test)?;
        let dir =
            Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))?;
        for (name, text) in &sources {
            dir.write(name, text)
                .map_err(|e| Failure::machine(format!("the source cannot be written: {e}")))?;
        }
        self.link(dir.path(), &sources)?;
        let program = dir.path().join("run");
        let emulator = self.emulator(&program)?;
        let ended = match &emulator {
            None => self.start(dir.path(), &program, &[]),
            Some(emulator) => {
                let mut args = everything(self.profile.arch);
                args.push(program.display().to_string());
                self.start(dir.path(), emulator, &args)
            }
        };
        match ended {
            Ended::Exit { code: 0, .. } => Ok(Ran::Well),
            Ended::Exit { code, stderr, .. } => {
                Err(format!("it ended with status {code}: {}", first_error(&stderr)).into())
            }
            Ended::Signal { signal, .. } => Ok(Ran::Signal(signal)),
            Ended::TooSlow => Err("it did not come to its end alone".into()),
            Ended::Stopped => Err(Failure::stopped()),
            Ended::NotStarted(e) => {
                Err(Failure::broken(Fault::Missing, format!("it cannot be started: {e}")))
            }
        }
    }

    /// Links the program: without a C library, or with one if the runtime library needs it.
    fn link(&self, dir: &Path, sources: &[(&str, String)]) -> Result<(), Failure> {
        let owned = |list: &[&str]| list.iter().map(|a| a.to_string()).collect::<Vec<String>>();
        let mut files: Vec<&str> = sources.iter().map(|(name, _)| *name).collect();
        files.extend(["-static", "-o", "run"]);
        let mut args = arguments(self.profile, &["-w", "-g0", "-fno-stack-protector"], &files);
        let mut alone = args.clone();
        alone.extend(self.runtime.paths().iter().map(|p| p.display().to_string()));
        alone.extend(owned(&["-nostdlib", "-Wl,-e,_start"]));
        args.extend(owned(&["-DHOSTED", "-latomic", "-lpthread"]));
        alone.extend(linker_for(self.profile, self.runtime.kind()));
        let name = &self.profile.compiler;
        let mut said = String::new();
        for args in [alone, args] {
            match self.start(dir, self.program, &args) {
                Ended::Exit { code: 0, .. } => return Ok(()),
                Ended::Exit { stderr, .. } if said.is_empty() => said = first_error(&stderr),
                Ended::Exit { .. } => {}
                _ => return Err(format!("{name} did not link it").into()),
            }
        }
        Err(format!("{name} cannot link it: {said}").into())
    }

    fn start(&self, dir: &Path, program: &Path, args: &[String]) -> Ended {
        process::run(&Request {
            program,
            args,
            env: &self.profile.env,
            dir,
            timeout: self.profile.timeout,
            // An emulator reserves more address space than it uses.
            memory_mib: 1 << 20,
            processors: 1,
            stop: self.stop,
        })
    }

    /// The emulator for programs of the profile's architecture; `None` if this machine can run
    /// them.
    fn emulator(&self, program: &Path) -> Result<Option<PathBuf>, Failure> {
        let header =
            file::read(program, file::MAX_DATA).map_err(|e| format!("there is no program: {e}"))?;
        let big = header.get(5) == Some(&2);
        let arch = self.profile.arch;
        if matches!(arch, Arch::X86_64 | Arch::X86) && cfg!(target_arch = "x86_64") {
            return Ok(None);
        }
        let target = target::of(arch, false, big, false).filter(|_| arch != Arch::Mips);
        let name = target
            .and_then(|target| target.emulator)
            .ok_or_else(|| Failure::unsupported(NOWHERE))?;
        let found = process::find(name);
        let missing = || format!("`{name}` is not installed (Debian: qemu-user)");
        found.map(Some).ok_or_else(|| Failure::broken(Fault::Missing, missing()))
    }
}

const NOWHERE: &str = "programs of this target are not run";

/// Arguments that make an emulator support all features of the processor.
pub fn everything(arch: Arch) -> Vec<String> {
    match arch {
        Arch::X86_64 | Arch::X86 | Arch::AArch64 | Arch::Arm => vec!["-cpu".into(), "max".into()],
        // It does so by default, or no name works in all versions.
        _ => Vec::new(),
    }
}

/// The option that selects lld for a compiler whose own linker may not know the target. gcc is
/// built for one target, and zig contains a linker.
pub fn linker_for(profile: &Profile, kind: Kind) -> Option<String> {
    if subcommands(profile) > 0 || kind != Kind::Clang {
        return None;
    }
    ld::lld().map(|l| format!("--ld-path={}", l.display()))
}

/// The files of the program: the threads, the objects, and the main function that calls the threads
/// in order.
fn sources(test: &Test) -> Result<Vec<(&'static str, String)>, Failure> {
    let observe = observed_locals(test);
    let options =
        EmitOptions { storage: Storage::Params, observe: observe.clone(), ..Default::default() };
    let fixed = only_read(test);
    let mut objects = HEADER.to_string();
    let mut main = MAIN.to_string();
    let mut body = String::new();
    let mut seen: Vec<String> = Vec::new();
    let mut object = |name: &str, ty: &Type, value: i128| -> Result<(), Failure> {
        if seen.iter().any(|s| s == name) {
            return Ok(());
        }
        seen.push(name.to_string());
        let size =
            size_of(ty).ok_or_else(|| Failure::unsupported(format!("the type of `{name}`")))?;
        // Only threads know the members of a structure.
        let bytes = match ty.bare() {
            Type::Struct(s) => Some(s.bytes()),
            _ => None,
        };
        let ty = bytes.as_ref().unwrap_or(ty);
        let line = print_declaration(ty.bare(), &format!("obj_{name}"));
        let constant = if fixed.iter().any(|f| f == name) { "const " } else { "" };
        let init = match ty.bare() {
            Type::Int { .. } => format!(" = {}", number(value)),
            Type::Float { bytes } => {
                format!(" = {}", FloatLit { bits: value as u64, bytes: *bytes })
            }
            _ => String::new(),
        };
        let align = size.next_power_of_two().clamp(1, 64);
        let _ = writeln!(objects, "{constant}{line} __attribute__((aligned({align}))){init};");
        let _ = writeln!(main, "extern char obj_{name}[];");
        Ok(())
    };
    let start = |name: &str| {
        test.init.iter().find_map(|i| match (&i.place, &i.value) {
            (Place::Mem { name: n, index: None }, Some(InitValue::One(Value::Int(v))))
                if n == name =>
            {
                Some(*v)
            }
            _ => None,
        })
    };
    for (name, ty) in shared_locations(test) {
        object(&name, &ty, start(&name).unwrap_or(0))?;
    }
    for (thread, f) in test.threads.iter().enumerate() {
        let Body::C(f) = f else {
            return Err(format!("{} has a thread that is not C", test.name).into());
        };
        let mut args = Vec::new();
        for p in &f.params {
            if !matches!(p.ty.bare(), Type::Pointer(_)) {
                return Err(Failure::unsupported(format!(
                    "P{thread} takes `{}`, no pointer",
                    p.name
                )));
            }
            args.push(format!("obj_{}", p.name));
        }
        for local in observe.get(&f.name).into_iter().flatten() {
            let name = out_name(&f.name, local);
            object(&name, local_type(f, local).unwrap_or(&Type::INT), 0)?;
            args.push(format!("obj_{name}"));
        }
        let _ = writeln!(body, "  {}({});", f.name, args.join(", "));
    }
    for f in test.threads.iter().filter_map(Body::function) {
        let _ = writeln!(main, "void {}();", f.name);
    }
    let hosted = format!("int main(void) {{\n{body}  return 0;\n}}\n");
    let alone = format!("ENTRY void _start(void) {{\n{body}  leave();\n}}\n");
    let _ = write!(main, "#if defined(HOSTED)\n{hosted}#else\n{alone}#endif\n");
    Ok(vec![("threads.c", emit_c(test, &options)), ("objects.c", objects), ("main.c", main)])
}

fn number(value: i128) -> String {
    match i64::try_from(value) {
        Ok(i64::MIN) | Err(_) => {
            let (high, low) = ((value as u128 >> 64) as u64, value as u64);
            format!("((__uint128_t){high:#x}u << 64 | {low:#x}u)")
        }
        Ok(n) => n.to_string(),
    }
}
