//! The fate of a thread's values at its end: they are looked at as they were read, or a function is
//! given all of them; and a value that was written may be used again.
//!
//! It does not know the threads' other code.

use std::fmt::Write;

use super::Axis;
use super::program::Program;

/// The fate of values: only what was read is looked at; a function gets all of it as arguments, more
/// than registers hold on some machines; what was written is looked at, too.
pub const KEPTS: [&str; 3] = ["read", "arguments", "written"];

impl Program<'_> {
    /// Whether what becomes of values fits the types: arguments are made one number, and numbers of 128 bits
    /// and in floating point do not go into it.
    pub(super) fn fits_kept(&self) -> bool {
        let float = self.ty.float || matches!(self.flag, "float" | "double");
        let is_wide = self.ty.bits > 64 || self.flag == "__int128";
        self.choice(Axis::Kept) != "arguments" || !float && !is_wide
    }

    /// Gives all that a thread read to a function, whose result alone is looked at. Six numbers come before, so
    /// that x86-64 has the rest on the stack.
    pub(super) fn pass_as_arguments(&mut self) -> Option<()> {
        if self.choice(Axis::Kept) != "arguments" {
            return Some(());
        }
        let mut calls = 0;
        for (n, thread) in self.threads.iter_mut().enumerate() {
            if thread.observed.len() < 2 {
                continue;
            }
            calls += 1;
            let of = |name: &String| thread.locals.iter().find(|(_, local)| local == name);
            let typed: Vec<&(String, String)> = thread.observed.iter().filter_map(of).collect();
            let heads: String = typed.iter().map(|(ty, name)| format!(", {ty} {name}")).collect();
            let names: String = typed.iter().map(|(_, name)| format!(", {name}")).collect();
            let mut text = format!(
                "static __attribute__((noinline, used)) uint64_t all{n}(int a, int b, int c, int d, int e, int g{heads}) {{\n\
                 uint64_t w = 0;\n"
            );
            for (_, name) in &typed {
                let _ = writeln!(text, "w = (w << 20) ^ (uint64_t){name};");
            }
            text.push_str("return w;\n}\n");
            let result = format!("r{}", thread.locals.len());
            let _ = writeln!(thread.body, "{result} = all{n}(1, 2, 3, 4, 5, 6{names});");
            thread.locals.push(("uint64_t".into(), result.clone()));
            thread.observed = vec![result];
            self.helpers.insert(format!("all{n}"), text);
        }
        (calls > 0).then_some(())
    }
}
