//! The functions of a SPIR-V module as threads of a litmus test.
//!
//! `module` reads a disassembled module, `thread` makes a function a thread: calls inlined, parameters as the
//! variables of locations, only the declarations that it needs, and names by what they stand for, so that equal code
//! has equal text. `reached` follows the number of a workgroup through a shader's `main`. What instructions mean is stated in `isa` alone, which reads what is written here. Nothing here
//! knows compilers or models.

mod module;
mod reached;
mod thread;

use litmake_base::failure::Failure;
use litmake_litmus::{Body, InitItem};
use module::Module;

/// How the threads of a test are called in a module.
pub struct Given<'a> {
    /// For each thread its function, and the location behind each parameter.
    pub threads: &'a [(String, Vec<String>)],
    /// The locations that are variables, by their names in the module, or by what they are bound to ([`binding`]).
    pub globals: &'a [(String, String)],
    /// Where the threads are workgroups of one shader: the number of the first one.
    pub first: Option<u32>,
}

/// What stands for a buffer's name: the set and the number that it is bound to.
pub fn binding(set: usize, number: usize) -> String {
    format!("@{set}.{number}")
}

/// The threads that a module makes, and the locations that they have beside those of the test.
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
