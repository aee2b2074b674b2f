//! A compilation of a finding's smallest test, as a maintainer of the compiler wants to see it: the command, the
//! file, and the instructions beside the lines of the lifted test.
//!
//! It does not know how compilers are run.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A compilation that shows the bug, or a part of a mix that does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compilation {
    /// The profile's name.
    pub profile: String,
    /// The version as the compiler prints it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The command line that compiles the source to assembly.
    pub command: String,
    /// The options that make the compiler print the code after each pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dumps: String,
    /// The name of the compiled file, such as `source.c`. It exists where the reproducer is unpacked.
    #[serde(rename = "name")]
    pub file: String,
    /// The content of that file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The link that opens the file in Compiler Explorer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// The instructions of each thread, in the order in which they run; none if the code is of several
    /// compilers, or no machine code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Vec<Instruction>>,
}

/// An instruction of the compiled code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instruction {
    /// The text of the source line that it was made from, if the compiler says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// The function of a library that it belongs to; empty for the thread's own code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// The disassembly.
    pub code: String,
    /// The lines of the lifted test that it became; none if it does not matter there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub became: Vec<String>,
}

impl Compilation {
    /// The code of all threads as text: `P0:`, and its instructions, in the order in which they run.
    /// Those of other functions stand between lines with the function's name.
    pub fn code(&self) -> String {
        let mut out = String::new();
        for (n, thread) in self.threads.iter().enumerate() {
            let _ = writeln!(out, "P{n}:");
            let mut function = "";
            for instruction in thread.iter().filter(|i| !i.code.is_empty()) {
                if instruction.function != function {
                    function = &instruction.function;
                    let _ = match function {
                        "" => writeln!(out, "  (back in P{n})"),
                        called => writeln!(out, "  (in {called})"),
                    };
                }
                let _ = writeln!(out, "    {}", instruction.code);
            }
        }
        out
    }
}
