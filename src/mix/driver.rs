//! Writes the C program around the parts of a test: its locations, and a function for each thread
//! that calls the thread's parts in order. Parts are functions that are compiled separately.
//!
//! It does not know compilers, nor how programs are linked.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::pieces::{Split, Step};
use litmake_base::diag::Source;
use litmake_base::failure::Failure;
use litmake_lang::c11::emit::observed_locals;
use litmake_lang::compiled::{declare, locations, out_name};
use litmake_litmus::c::types::size_of;
use litmake_litmus::{self as litmus, Body, InitItem, Place, Test};

/// The program that calls the parts of a test, as input of a compiler.
pub struct Driver {
    /// The text, in C or in the language of the profile that compiles it.
    pub text: String,
    /// The name of each thread's function.
    pub functions: Vec<String>,
    /// Pairs of a variable and the location that it stands for.
    pub variables: Vec<(String, String)>,
    /// The initial values and types of locations.
    pub init: Vec<InitItem>,
}

/// Writes the program around the parts of a test; `symbol` gives the function of each part.
pub fn driver(
    test: &Test,
    split: &Split,
    symbol: &dyn Fn(usize) -> String,
) -> Result<Driver, Failure> {
    let mut init = locations(test);
    for (_, name, ty) in &split.own {
        declare(&mut init, name, ty.clone());
    }
    let mut text = String::new();
    let mut variables = Vec::new();
    for item in &init {
        let Place::Mem { name, index: None } = &item.place else { continue };
        let size = item.ty.as_ref().and_then(size_of);
        let size = size.ok_or_else(|| Failure::unsupported(format!("the type of `{name}`")))?;
        // Code may access the whole word around a small variable, so nothing else may be in it.
        let align = size.next_power_of_two().clamp(16, 64);
        let variable = variable(name);
        // The driver reads conditions; only parts access the other locations.
        let looked_at = split.threads.iter().flatten();
        let declared = match looked_at.clone().any(|s| matches!(s, Step::Unless(n, _) if n == name))
        {
            true => format!("int {variable}"),
            false => format!("char {variable}[{size}]"),
        };
        let _ = writeln!(text, "{declared} __attribute__((aligned({align})));");
        variables.push((variable, name.clone()));
    }
    let mut calls = Vec::new();
    let mut declared = BTreeSet::new();
    for (i, piece) in split.pieces.iter().enumerate() {
        let of = |name: &String| {
            let found = piece.args.iter().find(|(own, _)| own == name);
            found.map(|(_, place)| variable(place)).ok_or_else(|| {
                Failure::from(format!(
                    "the part {} has a parameter `{name}` that is no variable of the test",
                    piece.name
                ))
            })
        };
        let args = parameters(&piece.text)?.iter().map(of).collect::<Result<Vec<_>, Failure>>()?;
        let symbol = symbol(i);
        let types = vec!["void *"; args.len()].join(", ");
        let types = if args.is_empty() { "void".to_string() } else { types };
        if declared.insert(symbol.clone()) {
            let _ = writeln!(text, "extern void {symbol}({types});");
        }
        let args: Vec<String> = args.iter().map(|a| format!("(void *)&{a}")).collect();
        calls.push(format!("{symbol}({});", args.join(", ")));
    }
    let mut functions = Vec::new();
    for (thread, steps) in split.threads.iter().enumerate() {
        let function = format!("thread_{thread}");
        let _ = writeln!(text, "void {function}(void) {{");
        for step in steps {
            let _ = match step {
                Step::Piece(i) => writeln!(text, "  {}", calls[*i]),
                Step::Label(n) => writeln!(text, "l{n}: ;"),
                Step::Jump(n) => writeln!(text, "  goto l{n};"),
                Step::Unless(place, n) => {
                    writeln!(text, "  if ({} == 0) goto l{n};", variable(place))
                }
            };
        }
        text.push_str("}\n");
        functions.push(function);
    }
    Ok(Driver { text, functions, variables, init })
}

/// The variable that stands for a location.
fn variable(location: &str) -> String {
    format!("loc_{location}")
}

/// The parameters of a part's function, in order: its locations, then the locations of its observed
/// locals.
fn parameters(part: &str) -> Result<Vec<String>, Failure> {
    let test = litmus::read(&Source::new("part", part)).map_err(|e| e.to_string())?;
    let [Body::C(f)] = test.threads.as_slice() else {
        return Err("a part has one thread of C".into());
    };
    let mut out: Vec<String> = f.params.iter().map(|p| p.name.clone()).collect();
    let observed = observed_locals(&test);
    out.extend(observed.get(&f.name).into_iter().flatten().map(|l| out_name(&f.name, l)));
    Ok(out)
}
