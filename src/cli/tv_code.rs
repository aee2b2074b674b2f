//! Machine code for `litmake tv`: the functions of files, lifted as they are called, and what users say of their parameters.
//!
//! It does not know contexts, nor how functions are compared.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use litmake::diag::{Diag, Result};
use litmake::isa::llvm::module::Module;
use litmake::litmus::{Arch, Type, types};
use litmake::profile::Profile;
use litmake::toolchain::foreign::{self, Code};
use litmake::toolchain::lift::stubs::Stub;
use litmake::tv::ir::{Param, Read, Scalar, Signature};
use litmake::tv::machine::{Argument, Call, Function, Lifted, Lifts, word};
use litmake::tv::pair::{Functions, Side};

use super::lift::{self, CodeArgs, Ended};

/// A file with functions of machine code.
pub struct File {
    code: Rc<Opened>,
    names: Vec<String>,
    signatures: BTreeMap<String, Signature>,
}

/// The code of a file, with all that lifting is told.
struct Opened {
    code: Code,
    profile: Option<Arc<Profile>>,
    known: BTreeMap<String, u64>,
    stubs: BTreeMap<String, Stub>,
}

/// A function of a file.
struct One {
    of: Rc<Opened>,
    name: String,
}

impl File {
    /// Opens a file; assembly needs a profile. Libraries of its instruction set have functions that it calls.
    pub fn open(
        path: &Path,
        libraries: &[PathBuf],
        args: &CodeArgs,
        signatures: &[String],
    ) -> std::result::Result<File, Ended> {
        let profile = args.profile().map_err(|e| (2, e))?;
        let mut paths = vec![path.to_path_buf()];
        // A file of another instruction set needs no profile: its machine is in its header.
        let own = match lift::is_assembly(path) {
            true => profile,
            false => {
                let arch = lift::open(&paths, None, None)?.arch;
                profile.filter(|p| p.arch == arch)
            }
        };
        let mut code = lift::open(&paths, None, own.as_deref())?;
        let functions = code.functions().map_err(|e| (3, Diag::new(e.text())))?;
        let names = functions.into_iter().map(|(name, _)| name).collect();
        for library in libraries {
            if lift::open(std::slice::from_ref(library), None, None)?.arch == code.arch {
                paths.push(library.clone());
            }
        }
        if paths.len() > 1 {
            code = lift::open(&paths, None, own.as_deref())?;
        }
        let narrow = word(code.arch) == 4;
        let signatures = signatures.iter().map(|text| signature(text, narrow));
        let signatures = signatures.collect::<Result<_>>().map_err(|e| (2, e))?;
        let known = args.known.iter().cloned().collect();
        let stubs = args.call.iter().cloned().collect();
        Ok(File { code: Rc::new(Opened { code, profile: own, known, stubs }), names, signatures })
    }

    /// Its instruction set.
    pub fn arch(&self) -> Arch {
        self.code.code.arch
    }
}

impl Functions for File {
    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    fn side(&self, name: &str) -> Side {
        let one = One { of: self.code.clone(), name: name.to_string() };
        let signature = self.signatures.get(name).cloned();
        let machine = Some(Function { lifts: Rc::new(one), signature });
        Side { module: Module::default(), function: name.to_string(), machine }
    }
}

impl fmt::Debug for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Lifts for One {
    fn arch(&self) -> Arch {
        self.of.code.arch
    }

    fn lift(&self, call: &Call) -> Read<Lifted> {
        let argument = |argument: &Argument| match argument {
            Argument::Location(name) => foreign::Argument::Location(name.clone()),
            Argument::Number(number) => foreign::Argument::Number(*number),
        };
        let args: Vec<foreign::Argument> = call.args.iter().map(argument).collect();
        let asked = foreign::Call {
            function: &self.name,
            args: &args,
            variables: call.variables,
            unit: call.unit,
            array: call.array,
            result: call.result,
            profile: self.of.profile.as_deref(),
            known: &self.of.known,
            stubs: &self.of.stubs,
        };
        let (lifted, variables) = self.of.code.called(&asked).map_err(|e| e.text())?;
        let accessed = lifted.accesses.into_iter().map(|(name, ..)| name);
        Ok(Lifted {
            lines: lifted.lines,
            init: lifted.init,
            result: lifted.result,
            variables,
            used: accessed.chain(lifted.addresses).collect(),
        })
    }
}

/// The name of a function and its parameters and result, from a declaration of C.
fn signature(text: &str, narrow: bool) -> Result<(String, Signature)> {
    let wrong = |why: &str| {
        Diag::new(format!("--signature '{text}': {why}")).help(
            "the form is a declaration of C with integers and pointers, as 'int take(int *x, long n)'",
        )
    };
    let declaration = text.trim().trim_end_matches(';');
    let (head, rest) = declaration.split_once('(').ok_or_else(|| wrong("there is no `(`"))?;
    let list = rest.trim().strip_suffix(')').ok_or_else(|| wrong("there is no `)` at the end"))?;
    let (ty, name) = declared(head, narrow);
    let name = name.ok_or_else(|| wrong("the function has no name"))?;
    let (returns, results) = match ty {
        Some(Some(scalar)) => (scalar.text(), vec![(Vec::new(), scalar)]),
        Some(None) => ("void".to_string(), Vec::new()),
        None => return Err(wrong("the result is no integer, pointer or void")),
    };
    let mut params = Vec::new();
    let list = if list.trim() == "void" { "" } else { list };
    for (i, part) in list.split(',').filter(|part| !part.trim().is_empty()).enumerate() {
        let (Some(Some(scalar)), name) = declared(part, narrow) else {
            return Err(wrong(&format!("`{}` is no integer or pointer", part.trim())));
        };
        let name = name.unwrap_or_else(|| format!("p{i}"));
        let noalias = part.contains("restrict");
        params.push(Param { name, scalar, lanes: None, noalias });
    }
    Ok((name, Signature { params, returns, results }))
}

/// The type and the name in a declaration: `Some(None)` is void, and a type that is no integer or pointer is none.
fn declared(text: &str, narrow: bool) -> (Option<Option<Scalar>>, Option<String>) {
    let stars = text.replace('*', " * ");
    let words: Vec<&str> =
        stars.split_whitespace().filter(|w| !w.trim_matches('_').starts_with("restrict")).collect();
    // The widths of a `long` and a pointer are those of a language, of 32 bits or 64.
    let arch = if narrow { Arch::Arm } else { Arch::C };
    let scalar = |words: &[&str]| match (words, types::from_tokens(words, arch).ok()?.bare()) {
        ([], _) => None,
        (["void"], _) => Some(None),
        (_, Type::Int { bytes, .. }) if *bytes <= 8 => Some(Some(Scalar::Int(8 * bytes))),
        (_, Type::Pointer(_)) => Some(Some(Scalar::Pointer)),
        _ => None,
    };
    match (scalar(&words), words.split_last()) {
        (None, Some((name, rest))) => (scalar(rest), Some(name.to_string())),
        (ty, _) => (ty, None),
    }
}
