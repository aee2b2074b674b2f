//! AArch64: litmus syntax and meaning as micro-ops.
//!
//! An instruction is a mnemonic and operands ([`operand::Parts`]); machine code becomes text
//! ([`decode`]) and is read like it. The mnemonic says its class and variant ([`Kind`]), and each
//! class gives its meaning in one place: [`int`], [`mem`], [`atomic`], [`flow`], [`simd`], [`float`]. It does
//! not know models, other instruction sets, or whole tests.

mod atomic;
pub mod decode;
mod emit;
mod float;
mod flow;
mod int;
mod mem;
mod operand;
mod regs;
mod relocate;
mod simd;
mod target;
#[cfg(test)]
mod tests;

use super::microcode::{self, remove_unseen};
use super::target::{Form, Target};
use super::{Isa, RegName};
use emit::{Emit, Refusal};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::{Arch, Line, Symbols};
use litmake_ops::{Code, Inst, Label, Reg};
use operand::{Operand, Parts};
use regs::{Flag, Name, View};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// The instruction set, with what an implementation may have beyond the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AArch64 {
    /// FEAT_LSE2: a pair, or a 16-byte vector register, is one access.
    pub lse2: bool,
}

/// The class of an instruction and its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int(int::Int),
    Mem(mem::Mem),
    Atomic(atomic::Atomic),
    Flow(flow::Flow),
    Simd(simd::Simd),
    Float(float::Float),
}

/// All mnemonics, in upper case.
fn table() -> &'static FxHashMap<String, Kind> {
    static TABLE: OnceLock<FxHashMap<String, Kind>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut all = FxHashMap::default();
        all.extend(int::TABLE.iter().map(|(n, k)| (n.to_string(), Kind::Int(*k))));
        all.extend(mem::TABLE.iter().map(|(n, k)| (n.to_string(), Kind::Mem(*k))));
        all.extend(simd::TABLE.iter().map(|(n, k)| (n.to_string(), Kind::Simd(*k))));
        all.extend(float::TABLE.iter().map(|(n, k)| (n.to_string(), Kind::Float(*k))));
        all.extend(atomic::table().into_iter().map(|(n, k)| (n, Kind::Atomic(k))));
        all.extend(flow::table().into_iter().map(|(n, k)| (n, Kind::Flow(k))));
        all
    })
}

fn lower(kind: Kind, e: &mut Emit) -> emit::Lowered {
    let vector = |o: &Operand| match o {
        Operand::Reg(v) => v.is_vec(),
        Operand::Vector(_) | Operand::List(_) => true,
        _ => false,
    };
    match kind {
        Kind::Int(k) if e.operands.iter().any(vector) => simd::lower_int(k, e),
        Kind::Int(k) => int::lower(k, e),
        Kind::Mem(k) => mem::lower(k, e),
        Kind::Atomic(k) => atomic::lower(k, e),
        Kind::Flow(k) => flow::lower(k, e),
        Kind::Simd(k) => simd::lower(k, e),
        Kind::Float(k) => float::lower(k, e),
    }
}

impl Isa for AArch64 {
    fn arch(&self) -> Arch {
        Arch::AArch64
    }

    fn thread(&self, source: &Source, lines: &[Line], symbols: &mut dyn Symbols) -> Result<Code> {
        let mut labels: FxHashMap<String, Label> = FxHashMap::default();
        for (i, line) in lines.iter().enumerate() {
            for label in &line.labels {
                if labels.insert(label.clone(), i as Label).is_some() {
                    let message = format!("the label `{label}` is here twice");
                    return Err(Diag::at(source, line.span, message)
                        .help("give each label of a thread its own name"));
                }
            }
        }
        let mut code = Code::default();
        for (i, line) in lines.iter().enumerate() {
            let at = |range: &Range<usize>| place(source, line, range);
            let parts =
                operand::parse(&line.text).map_err(|f| Diag::at(source, at(&f.at), f.message))?;
            let mut inst = Inst { ops: Vec::new(), text: line.text.clone(), span: line.span };
            if !parts.mnemonic.is_empty() {
                let kind = lookup(&parts).map_err(|r| r.at(source, at(&parts.mnemonic_at)))?;
                let mut emit = Emit {
                    code: &mut code,
                    symbols: &mut *symbols,
                    labels: &labels,
                    here: i as u32,
                    len: lines.len() as u32,
                    lse2: self.lse2,
                    operands: &parts.operands,
                    ops: microcode::Emit::new(),
                };
                lower(kind, &mut emit).map_err(|r| refused(source, line, &parts, r))?;
                inst.ops = emit.ops.finish();
            }
            code.insts.push(inst);
        }
        let regs = code.regs.iter().enumerate();
        let is_flag = |name: &str| Flag::ALL.iter().any(|flag| flag.name() == name);
        let flags: Vec<Reg> =
            regs.filter(|(_, reg)| is_flag(&reg.name)).map(|(i, _)| i as Reg).collect();
        remove_unseen(&mut code, &flags);
        Ok(code)
    }

    fn register(&self, name: &str) -> Option<RegName> {
        if let Some(flag) = Flag::ALL.into_iter().find(|f| f.name() == name) {
            return Some(RegName {
                name: flag.name().to_string(),
                bits: 1,
                shown_bits: 1,
                signed: false,
            });
        }
        if name == "TPIDR_EL0" {
            let name = name.to_string();
            return Some(RegName::whole(name, 64));
        }
        // Nothing writes it, so that it is 0.
        if let "XZR" | "WZR" = name {
            let shown_bits = if name == "XZR" { 64 } else { 32 };
            return Some(RegName { name: name.to_string(), bits: 64, shown_bits, signed: true });
        }
        // `V0.4S` is the register `V0` shown by elements.
        let word = match name.split_once('.') {
            Some((reg, _)) if View::parse(reg)?.is_vec() => reg,
            _ => name,
        };
        let view = View::parse(word)?;
        let (name, bits) = view.canonical()?;
        Some(RegName {
            name,
            bits,
            shown_bits: view.bits,
            signed: !matches!(view.name, Name::Vec(_)),
        })
    }

    fn target(&self, form: Form) -> Option<Target> {
        Some(target::target(form))
    }

    fn barriers(&self) -> &'static [&'static str] {
        &["DMB ISHST", "DMB ISHLD", "DMB ISH"]
    }

    fn is_barrier(&self, name: &str, _line: &str) -> bool {
        matches!(name, "dmb" | "dsb" | "isb")
    }
}

/// Instructions that tests for other parts of the architecture use.
const OUT_OF_SCOPE: &[(&[&str], &str)] = &[
    (&["IC", "DC", "TLBI", "AT"], "maintenance of caches and translations"),
    (&["SVC", "HVC", "SMC", "ERET"], "taking exceptions"),
    (&["STG", "ST2G", "STZG", "STZ2G", "LDG", "IRG", "GMI", "SUBP"], "memory tagging"),
];

fn lookup(parts: &Parts) -> std::result::Result<Kind, Refusal> {
    let name = parts.mnemonic.to_ascii_uppercase();
    if let Some(kind) = table().get(&name) {
        return Ok(*kind);
    }
    let refusal = Refusal::new(format!("unknown instruction `{}`", parts.mnemonic));
    if let Some((_, what)) = OUT_OF_SCOPE.iter().find(|(names, _)| names.contains(&name.as_str())) {
        return Err(refusal.help(format!("{what} is out of scope")));
    }
    let mut known: Vec<&str> = table().keys().map(String::as_str).collect();
    known.sort_unstable();
    Err(match nearest(&name, known) {
        Some(near) => refusal.help(format!("did you mean `{near}`?")),
        None => refusal.help("it is not among the instructions whose meaning is known"),
    })
}

/// The place in the source of a range of a line's text; the whole line's where the text is not
/// as it stands in the source.
fn place(source: &Source, line: &Line, range: &Range<usize>) -> Span {
    let start = line.span.start as usize;
    let verbatim = source.text.get(start..start + line.text.len()) == Some(line.text.as_str());
    if !verbatim || line.text.is_empty() {
        return line.span;
    }
    Span::new(start + range.start, start + range.end)
}

fn refused(source: &Source, line: &Line, parts: &Parts, refusal: Refusal) -> Box<Diag> {
    let range = match refusal.operand {
        Some(i) => parts.at.get(i).unwrap_or(&parts.mnemonic_at),
        None => &parts.mnemonic_at,
    };
    let message = format!("`{}`: {}", parts.mnemonic, refusal.message);
    Refusal { message, ..refusal }.at(source, place(source, line, &range.clone()))
}
