//! Where the shared objects of a test live, and which functions run: threads are given pointers to them, or
//! functions name them as static variables, whose every use a compiler sees. One function may be that of
//! all threads.
//!
//! It does not know the code of the threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Axis;
use super::program::Program;

/// Pointers to objects; static variables; static variables that only one function uses, which all threads
/// run.
pub const STORAGES: [&str; 3] = ["pointers", "statics", "one-function"];

/// The function that all threads run has at most so many parameters.
const PARAMETERS: usize = 8;

/// The name of a shared object as a variable. What threads are given beside them (`*k`, which no compiler
/// knows, and memory of their own) stays behind pointers.
fn variable(name: &str) -> Option<&'static str> {
    match name {
        "x" => Some("X"),
        "y" => Some("Y"),
        "z" => Some("Z"),
        _ => None,
    }
}

impl Program<'_> {
    /// Whether the shared objects can be stored as the point asks for.
    pub(super) fn fits_stored(&self) -> bool {
        let float = self.ty.float || matches!(self.flag, "float" | "double");
        let is_wide = self.ty.bits > 64 || self.flag == "__int128";
        // The function gives back whole numbers of 64 bits.
        self.choice(Axis::Storage) != "one-function" || !float && !is_wide
    }

    /// Makes variables of the shared objects; returns their declarations. None where one function cannot be
    /// that of all threads.
    pub(super) fn stored(&mut self) -> Option<Vec<String>> {
        let storage = self.choice(Axis::Storage);
        if storage == "pointers" {
            return Some(Vec::new());
        }
        let is_element = self.array() && !self.is_member();
        let mut statics = BTreeMap::new();
        let mut pointers = BTreeSet::new();
        for thread in &mut self.threads {
            let mut own = String::new();
            for name in ["x", "y", "z"] {
                let Some(declaration) = thread.params.remove(name) else { continue };
                let (Some(upper), Some((ty, _))) = (variable(name), declaration.rsplit_once(" *"))
                else {
                    continue;
                };
                let is_array = name == "x" && is_element;
                let (size, address) = if is_array { ("[4]", "") } else { ("", "&") };
                let ty = ty.trim_start_matches("const ");
                statics.insert(upper, format!("static {ty} {upper}{size};\n"));
                let _ = writeln!(own, "{declaration} = {address}{upper};");
                pointers.insert(format!("{declaration} = {address}{upper};\n"));
            }
            if storage == "statics" {
                thread.body.insert_str(0, &own);
            }
        }
        // A variable that nobody observes is the compiler's own; threads read the data in all other shapes.
        let shape = self.shape;
        self.finals.retain(|name| !name.starts_with('x') || shape == "S");
        for name in &mut self.finals {
            if let Some(upper) = name.get(..1).and_then(variable) {
                name.replace_range(..1, upper);
            }
        }
        if storage == "one-function" {
            self.one_function(&pointers.into_iter().collect::<String>())?;
        }
        Some(statics.into_values().collect())
    }

    /// Moves the code of all threads to one function. Which thread it is, it is told by a number that no
    /// compiler knows.
    fn one_function(&mut self, pointers: &str) -> Option<()> {
        let mut params = BTreeMap::new();
        let mut code = String::new();
        let most = self.threads.iter().map(|t| t.observed.len()).max()?;
        for (n, thread) in self.threads.iter().enumerate() {
            params.extend(thread.params.clone());
            let _ = writeln!(code, "{}if (id == {n}) {{", if n > 0 { "else " } else { "" });
            for (ty, name) in &thread.locals {
                let _ = writeln!(code, "{ty} {name} = 0;");
            }
            code.push_str(&thread.body);
            for (at, name) in thread.observed.iter().enumerate() {
                let _ = writeln!(code, "*o{at} = {name};");
            }
            code.push_str("}\n");
        }
        if 1 + params.len() + most > PARAMETERS {
            return None;
        }
        let given: Vec<&str> = params.keys().map(String::as_str).collect();
        let outs: Vec<String> = (0..most).map(|at| format!("int64_t *o{at}")).collect();
        let mut heads: Vec<&str> = vec!["int id"];
        heads.extend(params.values().map(String::as_str));
        heads.extend(outs.iter().map(String::as_str));
        let text = format!(
            "static __attribute__((noinline)) void body({}) {{\n{pointers}{code}}}\n",
            heads.join(", ")
        );
        for (n, thread) in self.threads.iter_mut().enumerate() {
            let mut args = vec![format!("*i{n}")];
            args.extend(given.iter().map(|name| name.to_string()));
            thread.params = params.clone();
            thread.params.insert(format!("i{n}"), format!("int *i{n}"));
            thread.locals.clear();
            for at in 0..most {
                let name = thread.observed.get(at).cloned().unwrap_or_else(|| format!("u{at}"));
                args.push(format!("&{name}"));
                thread.locals.push(("int64_t".into(), name));
            }
            thread.body = format!("body({});\n", args.join(", "));
        }
        self.helpers.insert("body".into(), text);
        Some(())
    }
}
