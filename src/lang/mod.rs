//! The languages in which a litmus test can be written, besides assembly.
//!
//! Tests are read as C. The other languages are ways to write the same test for a compiler.

pub mod c11;
pub mod compiled;
pub mod cpp;
pub mod cuda;
pub mod go;
pub mod kernel;
pub mod opencl;
pub mod rust;
pub mod shader;
mod written;

use c11::emit::EmitOptions;
use litmake_base::failure::Failure;
use litmake_litmus::c::scoped::{Groups, Reach};
use litmake_litmus::{Body, Test, Type};

/// The types of the objects that the parameters of a test's threads point to.
fn pointees(test: &Test) -> impl Iterator<Item = &Type> {
    let functions = test.threads.iter().filter_map(Body::function);
    functions.flat_map(|f| &f.params).filter_map(|p| match p.ty.bare() {
        Type::Pointer(to) => Some(&**to),
        _ => None,
    })
}

/// A language that compilers are given tests in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// C11.
    #[default]
    C,
    /// C++, with `std::atomic`.
    Cpp,
    /// CUDA C++, with the atomics of libcu++, for NVIDIA's GPUs.
    Cuda,
    /// Rust without its standard library, with `core::sync::atomic`.
    Rust,
    /// Go, with `sync/atomic`.
    Go,
    /// OpenCL C, for devices.
    OpenCl,
    /// GLSL for compute shaders, under the memory model of Vulkan.
    Glsl,
    /// WGSL, the language of shaders for WebGPU.
    Wgsl,
    /// C with the Linux kernel's headers and primitives.
    Kernel,
}

impl Language {
    /// The languages with their names in profiles.
    pub const NAMES: [(&'static str, Language); 9] = [
        ("c", Language::C),
        ("c++", Language::Cpp),
        ("cuda", Language::Cuda),
        ("rust", Language::Rust),
        ("go", Language::Go),
        ("opencl", Language::OpenCl),
        ("glsl", Language::Glsl),
        ("wgsl", Language::Wgsl),
        ("kernel", Language::Kernel),
    ];

    /// The language of a name.
    pub fn named(name: &str) -> Option<Language> {
        Language::NAMES.iter().find(|(n, _)| *n == name).map(|(_, l)| *l)
    }

    /// Its name in profiles.
    pub fn name(self) -> &'static str {
        Language::NAMES.iter().find(|(_, l)| *l == self).map_or("", |(n, _)| n)
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Language::C | Language::Kernel => "c",
            Language::Cpp => "cpp",
            Language::Cuda => "cu",
            Language::Rust => "rs",
            Language::Go => "go",
            Language::OpenCl => "cl",
            Language::Glsl => "comp",
            Language::Wgsl => "wgsl",
        }
    }

    /// The beginning of every translation unit.
    pub fn header(self) -> &'static str {
        match self {
            Language::C => c11::emit::HEADER,
            Language::Cpp => cpp::HEADER,
            Language::Cuda => cuda::HEADER,
            Language::Rust => rust::HEADER,
            Language::Go => go::HEADER,
            Language::OpenCl => opencl::HEADER,
            Language::Glsl => shader::GLSL_HEADER,
            Language::Wgsl => "",
            Language::Kernel => kernel::HEADER,
        }
    }

    /// A test without that header; the message says what the language lacks.
    pub fn emit(self, test: &Test, options: &EmitOptions) -> Result<String, Failure> {
        self.has_groups(test)?;
        match self {
            Language::C => {
                let text = c11::emit::emit_c(test, options);
                Ok(text.strip_prefix(c11::emit::HEADER).unwrap_or(&text).to_string())
            }
            Language::Cpp => cpp::emit(test, options),
            Language::Cuda => cuda::emit(test, options),
            Language::Rust => rust::emit(test, options),
            Language::Go => go::emit(test, options),
            Language::OpenCl => opencl::emit(test, options),
            Language::Glsl => shader::emit(test, options, shader::Dialect::Glsl),
            Language::Wgsl => shader::emit(test, options, shader::Dialect::Wgsl),
            Language::Kernel => kernel::emit(test, options),
        }
    }

    /// Refuses what a test says about groups of threads, where the language has no words for it.
    fn has_groups(self, test: &Test) -> Result<(), Failure> {
        let said = Groups::of(test);
        let lacks = match self {
            _ if said.local => "locations in the memory of a workgroup",
            Language::OpenCl => return Ok(()),
            Language::Cuda if said.reaches.contains(&Reach::Subgroup) => "the scope of a subgroup",
            Language::Cuda if said.barriers.contains(&Reach::Subgroup) => "barriers of a subgroup",
            Language::C if !said.barriers.is_empty() => "barriers",
            Language::Cuda | Language::C => return Ok(()),
            _ if !said.reaches.is_empty() => "operations that name scopes",
            _ if !said.barriers.is_empty() => "barriers",
            _ => return Ok(()),
        };
        Err(Failure::unsupported(format!("{lacks} in `{}`", self.name())))
    }

    /// The dialect of shaders, if it is a language for them. Shaders have one `main`, and locations in
    /// buffers.
    pub fn shader(self) -> Option<shader::Dialect> {
        match self {
            Language::Glsl => Some(shader::Dialect::Glsl),
            Language::Wgsl => Some(shader::Dialect::Wgsl),
            _ => None,
        }
    }

    /// The end of every translation unit. `threads` has each thread of its tests: its number
    /// ([`shader::STRIDE`]) and its function.
    pub fn footer(self, threads: &[(usize, String)]) -> String {
        match (self, self.shader()) {
            (Language::Go, _) => go::main(threads),
            (_, Some(dialect)) => shader::main(threads, dialect),
            (_, None) => String::new(),
        }
    }

    /// The model of sources in this language, where they have another memory model than C.
    pub fn source_model(self) -> Option<&'static str> {
        match self {
            Language::Glsl | Language::Wgsl => Some("vulkan"),
            Language::Go => Some("go"),
            _ => None,
        }
    }

    /// The symbol of a function.
    pub fn function_symbol(self, name: &str) -> String {
        match self {
            Language::Go => format!("{}{name}", go::PACKAGE),
            _ => name.to_string(),
        }
    }

    /// The names that a variable may have in object files; `global`: it is a global one, else a static one.
    pub fn symbols(self, name: &str, global: bool) -> Vec<String> {
        match (self, global) {
            // As the C++ ABI has it; clang numbers the parts that it takes a variable into.
            (Language::Cpp, false) => {
                let mangled = format!("_ZL{}{name}", name.len());
                vec![format!("{mangled}.0"), mangled]
            }
            _ => vec![name.to_string()],
        }
    }
}
