//! Prints a test so that herd reads it, and so that [`super::read`] reads it back the same.

use std::fmt::Write;

use super::c;
use super::print::{condition_source, init_text, prop_source};
use super::{Body, Line, Test};

/// The text of a test, as [`crate::read`] reads it.
pub fn write(test: &Test) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} {}", test.arch.name(), name(&test.name));
    if let Some(doc) = &test.doc {
        let words: Vec<&str> = doc.split_whitespace().collect();
        let _ = writeln!(out, "\"{}\"", words.join(" ").replace('"', "'"));
    }
    for (key, value) in &test.info {
        let _ = writeln!(out, "{key}={}", value.replace(['\n', '\r'], " "));
    }
    init(test, &mut out);
    for s in c::structs::structs(test) {
        out.push_str(&s.definition(&|ty| ty.clone()));
    }
    for helper in &test.helpers {
        function(&c::print_function(helper), &mut out);
    }
    let mut columns: Vec<&[Line]> = Vec::new();
    for body in &test.threads {
        match body {
            Body::C(f) => function(&c::print_function(f), &mut out),
            Body::Asm(lines) => columns.push(lines),
        }
    }
    if !columns.is_empty() {
        table(&columns, &mut out);
    }
    if let Some(scopes) = &test.scopes {
        let _ = writeln!(out, "scopes: {scopes}");
    }
    if !test.locations.is_empty() {
        out.push_str("locations [");
        for observed in &test.locations {
            let _ = write!(out, "{}", observed.place);
            if let Some(ty) = &observed.ty {
                let _ = write!(out, " {}", super::types::text(ty));
            }
            out.push_str("; ");
        }
        out.truncate(out.len() - 1);
        out.push_str("]\n");
    }
    if let Some(filter) = &test.filter {
        let _ = writeln!(out, "filter ({})", prop_source(filter));
    }
    let _ = writeln!(out, "{}", condition_source(&test.condition));
    out
}

/// A name that can be read: what would end it becomes `_`.
fn name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| match c {
            '"' | '{' | '}' | ';' | '(' | ')' | '=' => '_',
            c if c.is_ascii_graphic() => c,
            _ => '_',
        })
        .collect();
    if name.is_empty() { "test".to_string() } else { name }
}

/// One line for each thread's registers, and one for the locations.
fn init(test: &Test, out: &mut String) {
    if test.init.is_empty() {
        out.push_str("{}\n");
        return;
    }
    out.push_str("{\n");
    let thread = |i: usize| match &test.init[i].place {
        super::Place::Reg { thread, .. } => Some(*thread),
        super::Place::Mem { .. } => None,
    };
    for (i, item) in test.init.iter().enumerate() {
        out.push(' ');
        out.push_str(&init_text(item));
        out.push(';');
        if i + 1 == test.init.len() || thread(i) != thread(i + 1) {
            out.push('\n');
        }
    }
    out.push_str("}\n");
}

fn function(text: &str, out: &mut String) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn table(columns: &[&[Line]], out: &mut String) {
    let cells: Vec<Vec<String>> = columns
        .iter()
        .enumerate()
        .map(|(i, lines)| {
            let mut cells = vec![format!("P{i}")];
            cells.extend(lines.iter().map(cell));
            cells
        })
        .collect();
    let widths: Vec<usize> = cells
        .iter()
        .map(|column| column.iter().map(|c| c.chars().count()).max().unwrap_or(0))
        .collect();
    // A table has at least one row of instructions.
    let rows = cells.iter().map(Vec::len).max().unwrap_or(0).max(2);
    for row in 0..rows {
        for (i, column) in cells.iter().enumerate() {
            let text = column.get(row).map_or("", String::as_str);
            let _ = write!(out, " {text:width$} ", width = widths[i]);
            out.push_str(if i + 1 == cells.len() { ";\n" } else { "|" });
        }
    }
}

fn cell(line: &Line) -> String {
    let mut text = String::new();
    for label in &line.labels {
        let _ = write!(text, "{label}: ");
    }
    text.push_str(&line.text);
    text.truncate(text.trim_end().len());
    text
}
