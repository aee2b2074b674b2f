//! Turns the functions of a SPIR-V module into threads of a litmus test.
//!
//! `module` reads a disassembled module. `thread` makes a thread from a function: calls are
//! inlined, parameters become the variables of locations, only needed declarations are kept, and
//! names say what they stand for, so that equal code has equal text. `reached` follows the number
//! of a workgroup through a shader's `main`. The meaning of instructions is defined in `isa`, which
//! reads the resulting text. Nothing here knows compilers or models.

mod module;
mod reached;
mod thread;

use litmake_base::failure::Failure;
use litmake_litmus::{Body, InitItem};
use module::Module;

/// The names of a test's threads and locations in a module.
pub struct Given<'a> {
    /// For each thread its function, and the location behind each parameter.
    pub threads: &'a [(String, Vec<String>)],
    /// Pairs of a variable's name in the module, or its binding ([`binding`]), and the location
    /// that it is.
    pub globals: &'a [(String, String)],
    /// The number of the first workgroup, if the threads are workgroups of one shader.
    pub first: Option<u32>,
}

/// The name of a buffer, made from its descriptor set and binding number.
pub fn binding(set: usize, number: usize) -> String {
    format!("@{set}.{number}")
}

/// The threads of a module, and their locations in addition to those of the test.
pub fn threads(text: &str, given: &Given) -> Result<(Vec<Body>, Vec<InitItem>), Failure> {
    let module = Module::read(text).map_err(Failure::unsupported)?;
    let (mut bodies, mut init): (Vec<Body>, Vec<InitItem>) = (Vec::new(), Vec::new());
    for (number, (function, params)) in given.threads.iter().enumerate() {
        let workgroup = given.first.map(|first| first + number as u32);
        let made = thread::thread(&module, function, params, given.globals, workgroup)
            .map_err(|e| Failure::unsupported(e).of_thread(number))?;
        for item in made.init {
            if !init.iter().any(|i| i.place == item.place) {
                init.push(item);
            }
        }
        bodies.push(Body::Asm(made.lines));
    }
    Ok((bodies, init))
}

#[cfg(test)]
mod tests;
