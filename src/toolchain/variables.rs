//! The variables that only the functions of a test know, as a compiler left them.
//!
//! A compiler that sees every access may give such a variable another size and other contents (a number
//! that is 0 or 7 becomes a byte that is 0 or 1), or take it apart. It does not know what code does with
//! them.

use super::image::Image;
use litmake_base::diag::Span;
use litmake_lang::c11::variables::{is_observed, variables};
use litmake_litmus::c::types::size_of;
use litmake_litmus::{InitItem, InitValue, Place, Test, Type, Value};

/// Takes over sizes, contents and parts from the object code: into the initial state of the lifted test, and
/// into the pairs of a symbol and its location.
pub(super) fn take_over(
    test: &Test,
    image: &Image,
    globals: &mut Vec<(String, String)>,
    init: &mut Vec<InitItem>,
) {
    let mut parts = Vec::new();
    for (name, ty) in variables(test) {
        // One that is observed has accessors, so it stays as it is declared.
        if is_observed(test, &name) {
            continue;
        }
        let is_array = matches!(ty.bare(), Type::Array(..));
        let Some((symbol, _)) = globals.iter().find(|(_, location)| *location == name) else {
            continue;
        };
        for variable in image.variables() {
            // The names of parts are longer: `x.b`, `x.0`.
            let part = match variable.name.strip_prefix(symbol.as_str()) {
                Some("") if is_array => continue,
                Some("") => name.clone(),
                Some(rest) if rest.starts_with('.') => format!("{name}{}", rest.replace('.', "_")),
                _ => continue,
            };
            let size = u8::try_from(variable.size).unwrap_or(0);
            let value = match size {
                1 | 2 | 4 | 8 | 16 => image.read(variable.at, size),
                _ => None,
            };
            let Some(value) = value else { continue };
            let item = InitItem {
                place: Place::Mem { name: part.clone(), index: None },
                ty: Some(Type::Int { bytes: size, signed: false }),
                value: Some(InitValue::One(Value::Int(value as i128))),
                span: Span::default(),
            };
            let old = init.iter().find(|i| i.place == item.place);
            let bytes = old.and_then(|i| i.ty.as_ref()).and_then(size_of);
            if value == 0 && bytes == Some(variable.size) && old.is_some_and(|i| i.value.is_none())
            {
                continue;
            }
            init.retain(|i| i.place != item.place);
            init.push(item);
            if part != name {
                parts.push((variable.name.clone(), part));
            }
        }
    }
    globals.extend(parts);
}
