//! One compiler at one folder: a text goes in, an object file comes out, and whether the target has
//! the library's headers is found out on the way.
//!
//! It does not know what the texts are.

use std::time::Duration;

use super::compile::{Compiler, arguments, subcommands};
use super::process::{self, Ended, Request};
use super::scratch::Scratch;
use super::trouble;
use litmake_base::failure::{Failure, Fault};
use litmake_lang::{Language, cpp};
use litmake_litmus::Arch;

/// A text that every compiler of C and C++ takes.
pub const PLAIN: &str = "int plain;\n";

/// Whether the code of a target is text, for which there are no object files.
pub fn is_text(arch: Arch) -> bool {
    arch == Arch::Ptx
}

type Text<'t> = &'t dyn Fn(&str) -> Result<String, Failure>;

/// How a program is run.
pub type Run<'r> = &'r dyn Fn(&Request) -> Ended;

pub struct Bench<'a> {
    compiler: &'a Compiler<'a>,
    dir: Scratch,
    args: Vec<String>,
    /// How long a text may take.
    timeout: Duration,
    run: Run<'a>,
}

impl<'a> Bench<'a> {
    pub fn new(
        compiler: &'a Compiler<'a>,
        extra: &[&str],
        timeout: Duration,
    ) -> Result<Bench<'a>, Failure> {
        let dir =
            Scratch::new().map_err(|e| Failure::machine(format!("no temporary folder: {e}")))?;
        let language = compiler.profile.language;
        let (mut ours, mut files): (Vec<&str>, Vec<&str>) = match language {
            Language::C | Language::Cpp => {
                let made = if is_text(compiler.profile.arch) { "-S" } else { "-c" };
                (vec!["-w", "-fno-stack-protector"], vec![made, "-o", "test.o"])
            }
            Language::Rust => (
                vec!["--edition=2021", "--crate-type=lib", "-Cpanic=abort", "-Ccodegen-units=1"],
                vec!["-Cdebuginfo=0", "--crate-name=test", "--emit=obj=test.o"],
            ),
        };
        if language != Language::Rust {
            ours.extend(extra);
        }
        let file = format!("test.{}", language.extension());
        files.push(&file);
        let args = arguments(compiler.profile, &ours, &files);
        Ok(Bench { compiler, dir, args, timeout, run: &process::run })
    }

    /// The same, where somebody else runs what has to be run.
    pub fn by(self, run: Run<'a>) -> Bench<'a> {
        Bench { run, ..self }
    }

    /// The object code of a text. Without the target's library, its headers are the compiler's own,
    /// and ours.
    pub fn emit(&self, text: Text) -> Result<Vec<u8>, Failure> {
        let made = self.hosted(text);
        match &made {
            Err(failure) if trouble::is_open(failure) && self.lacks_headers() => self.bare(text),
            _ => made,
        }
    }

    fn hosted(&self, text: Text) -> Result<Vec<u8>, Failure> {
        let text = text(self.compiler.profile.language.header())?;
        self.compile(&text, &self.args)
    }

    fn bare(&self, text: Text) -> Result<Vec<u8>, Failure> {
        let profile = self.compiler.profile;
        let header = match profile.language {
            Language::Cpp => cpp::BARE_HEADER,
            language => language.header(),
        };
        let text = text(header)?;
        let mut args = self.args.clone();
        args.insert(subcommands(profile), "-ffreestanding".to_string());
        self.compile(&text, &args)
    }

    /// Whether the target's library is not there: a text of nothing but the headers is refused,
    /// twice, and taken where they are the compiler's own. While neither is taken, it is not known.
    fn lacks_headers(&self) -> bool {
        let given = || self.args.iter().any(|a| a == "-ffreestanding");
        match self.compiler.profile.language {
            Language::Rust => return false,
            Language::C if given() => return false,
            Language::C | Language::Cpp => {}
        }
        let known = &self.compiler.runtime.lacks_headers;
        if let Some(known) = known.get() {
            return *known;
        }
        let headers: Text = &|header| Ok(format!("{header}{PLAIN}"));
        // A compiler that fails on its own headers is broken, or is none that has any.
        if self.bare(headers).is_err() {
            return false;
        }
        let refused = || self.hosted(headers).is_err_and(|failure| trouble::is_open(&failure));
        match self.hosted(headers) {
            Ok(_) => *known.get_or_init(|| false),
            Err(failure) if trouble::is_open(&failure) && refused() => *known.get_or_init(|| true),
            Err(_) => false,
        }
    }

    fn compile(&self, text: &str, args: &[String]) -> Result<Vec<u8>, Failure> {
        let Compiler { profile, program, stop, .. } = self.compiler;
        let (file, object) = (format!("test.{}", profile.language.extension()), "test.o");
        // What an earlier text left must not be taken for this one's.
        let _ = std::fs::remove_file(self.dir.path().join(object));
        self.dir
            .write(&file, text)
            .map_err(|e| Failure::machine(format!("the source cannot be written: {e}")))?;
        let ended = (self.run)(&Request {
            program,
            args,
            env: &profile.env,
            dir: self.dir.path(),
            timeout: self.timeout,
            memory_mib: profile.memory_mib,
            processors: 1,
            stop: *stop,
        });
        let name = &profile.compiler;
        trouble::judge(name, ended, self.timeout)?;
        let unusable = |what: String| Failure::broken(Fault::Output, format!("{name} {what}"));
        let bytes = self.dir.read(object);
        let bytes = bytes.map_err(|e| unusable(format!("left no object file: {e}")))?;
        if is_text(profile.arch) {
            return Ok(bytes);
        }
        match object::File::parse(&*bytes) {
            Err(e) => Err(unusable(format!("wrote an object file that cannot be read: {e}"))),
            Ok(_) => Ok(bytes),
        }
    }
}
