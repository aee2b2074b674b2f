//! Writes and reads intermediate code as words: the signature of a function, the scalars of a type,
//! and lines for functions that are made here.
//!
//! It does not know contexts or models.

use litmake_isa::llvm::lex::tokens;
use litmake_isa::llvm::module::{Block, Function, Module};
use litmake_isa::llvm::types::{Float, Type, begins};

/// The error of a function that is not understood: words for people.
pub type Read<T> = Result<T, String>;

/// A parameter or a result that is no aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// An integer of so many bits.
    Int(u8),
    /// A pointer.
    Pointer,
    /// A number in floating point.
    Float(Float),
}

impl Scalar {
    fn of(ty: &Type) -> Option<Scalar> {
        match ty {
            Type::Int(bits) => Some(Scalar::Int(*bits)),
            Type::Pointer(_) => Some(Scalar::Pointer),
            Type::Float(format) => Some(Scalar::Float(*format)),
            _ => None,
        }
    }

    /// The type as the language writes it.
    pub fn text(self) -> String {
        match self {
            Scalar::Int(bits) => format!("i{bits}"),
            Scalar::Pointer => "ptr".into(),
            Scalar::Float(format) => format.name().into(),
        }
    }

    /// How many bytes it takes in memory, where pointers have so many bits.
    pub fn bytes(self, pointer: u8) -> u8 {
        match self {
            Scalar::Int(bits) => bits.div_ceil(8).next_power_of_two(),
            Scalar::Pointer => pointer / 8,
            Scalar::Float(format) => format.bits() / 8,
        }
    }
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name without the sigil.
    pub name: String,
    /// Its type, or that of a vector's lanes.
    pub scalar: Scalar,
    /// How many lanes a vector has.
    pub lanes: Option<u64>,
    /// Whether nothing else points at the same memory (`noalias`).
    pub noalias: bool,
}

impl Param {
    /// The type as the language writes it.
    pub fn text(&self) -> String {
        match self.lanes {
            None => self.scalar.text(),
            Some(n) => format!("<{n} x {}>", self.scalar.text()),
        }
    }
}

/// The parameters and the result of a function.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// The type of the result, as text.
    pub returns: String,
    /// The scalars of the result, each with the indices that lead to it.
    pub results: Vec<(Vec<usize>, Scalar)>,
}

impl Signature {
    /// The signature of a function in its module.
    pub fn of(module: &Module, function: &Function) -> Read<Signature> {
        let mut params = Vec::new();
        for (name, head) in function.params.iter().zip(&function.heads) {
            let words = module.expanded(head);
            let view: Vec<&str> = words.iter().map(String::as_str).collect();
            let (ty, n) = Type::read(&view, module.pointer())?;
            let (of, lanes) = match &ty {
                Type::Vector(n, of) if !matches!(**of, Type::Pointer(_)) => (&**of, Some(*n)),
                ty => (ty, None),
            };
            let scalar = Scalar::of(of)
                .ok_or_else(|| format!("unsupported: the parameter {name} is an aggregate"))?;
            if let Some(by) =
                view[n..].iter().find(|w| matches!(**w, "byval" | "inalloca" | "preallocated"))
            {
                return Err(format!("unsupported: the parameter {name} is `{by}`"));
            }
            let noalias = view[n..].contains(&"noalias");
            let name = name[1..].trim_matches('"').to_string();
            params.push(Param { name, scalar, lanes, noalias });
        }
        let (ty, returns) = result(module, &function.returns)?;
        let mut results = Vec::new();
        scalars(&ty, &mut Vec::new(), &mut results);
        Ok(Signature { params, returns, results })
    }
}

/// The type of a result, behind its linkage and attributes.
pub fn result(module: &Module, words: &[String]) -> Read<(Type, String)> {
    let words = module.expanded(words);
    let view: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut wrong = None;
    for at in 0..view.len() {
        match Type::read(&view[at..], module.pointer()) {
            Ok((ty, n)) if at + n == view.len() => return Ok((ty, view[at..].join(" "))),
            Err(e) if begins(view[at]) => wrong = wrong.or(Some(e)),
            _ => {}
        }
    }
    Err(wrong.unwrap_or_else(|| format!("unsupported: the type `{}`", view.join(" "))))
}

/// The scalars of a type, each with the indices that lead to it.
pub fn scalars(ty: &Type, at: &mut Vec<usize>, out: &mut Vec<(Vec<usize>, Scalar)>) {
    if let Some(scalar) = Scalar::of(ty) {
        out.push((at.clone(), scalar));
    }
    for i in 0..ty.parts() {
        if let Some(part) = ty.part(i) {
            at.push(i);
            scalars(part, at, out);
            at.pop();
        }
    }
}

/// The words of a line.
pub fn line(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(String::from).collect()
}

/// A function without parameters that consists of these lines.
pub fn function(lines: Vec<Vec<String>>) -> Function {
    let blocks = vec![Block { name: "%entry".into(), instructions: lines }];
    Function { blocks, returns: vec!["void".into()], ..Function::default() }
}

/// An instruction without its result: the name of the result, and the words behind `=`.
pub fn split(words: &[String]) -> (Option<&str>, &[String]) {
    match words {
        [name, eq, rest @ ..] if eq == "=" => (Some(name), rest),
        rest => (None, rest),
    }
}

/// The words up to the next comma that is in no bracket, and the words behind it.
pub fn until_comma(words: &[String]) -> (&[String], &[String]) {
    let mut depth = 0usize;
    for (i, word) in words.iter().enumerate() {
        match word.as_str() {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            "," if depth == 0 => return (&words[..i], &words[i + 1..]),
            _ => {}
        }
    }
    (words, &[])
}

/// Whether a word is a number.
pub fn number(word: &str) -> Option<i128> {
    word.parse().ok()
}
