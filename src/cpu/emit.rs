//! Emits the C code of a test: its threads as loops over instances, the numbering of its outcomes,
//! and the initial values of locations. The code is run by `harness/harness.c`.
//!
//! It does not know compilers, except that they accept GNU C.

use std::fmt::Write;

use super::columns::Columns;
use litmake_base::diag::{Diag, Result};
use litmake_isa as isa;
use litmake_isa::x86::inline::Around;
use litmake_lang::c11::emit::{EmitOptions, emit_c, local_type, observed_locals};
use litmake_lang::c11::variables::variables;
use litmake_litmus::{Arch, Body, Line, Test, Type};
use litmake_ops::Val;
use litmake_sim::program::{ObservedPlace, Program};

/// The largest number of threads in a test; the harness has room for so many.
pub const MAX_ROLES: usize = 8;
/// The largest number of locations in a test; the harness has room for so many.
pub const MAX_LOCATIONS: usize = 16;

/// The C code of one test.
pub struct Code {
    /// The part for the harness: loops, numbers, tables.
    pub driver: String,
    /// The part under test, which the profile's compiler compiles: the threads of a C test.
    pub bodies: String,
}

/// Emits test number `n` of a program.
pub fn emit(test: &Test, program: &Program, columns: &Columns, n: usize) -> Result<Code> {
    Emit { test, program, columns, n }.all()
}

/// The beginning of every driver.
pub const DRIVER_HEADER: &str = "// Generated. Tests as loops over instances.\n\n#include \"harness.h\"\n\n\
#define NUMBER(column, value, values) \\\n  \
((value) < (values) ? (uint32_t)(value) : keep_other(v, column, i, value, values))\n";

/// The table of all tests.
pub fn table(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|n| format!("&t{n}")).collect();
    format!(
        "\nconst struct test *const tests[] = {{{}}};\nconst uint32_t test_count = {count};\n",
        names.join(", ")
    )
}

struct Emit<'a> {
    test: &'a Test,
    program: &'a Program,
    columns: &'a Columns,
    n: usize,
}

impl Emit<'_> {
    fn refuse(&self, message: impl std::fmt::Display) -> Box<Diag> {
        Diag::new(format!("{}: {message}", self.test.name))
    }

    fn all(&self) -> Result<Code> {
        let (roles, locations) = (self.test.threads.len(), self.program.locations.len());
        if roles > MAX_ROLES {
            return Err(self.refuse(format!("{roles} threads; at most {MAX_ROLES} are run")));
        }
        if locations > MAX_LOCATIONS {
            return Err(
                self.refuse(format!("{locations} locations; at most {MAX_LOCATIONS} are run"))
            );
        }
        // The harness resets what it gives to threads, and has many instances of each test.
        if let Some((name, _)) = variables(self.test).first() {
            return Err(self.refuse(format!(
                "functions name the variable `{name}`, of which there is one for all instances; it is not run"
            ))
            .help("give the threads pointers to it"));
        }
        if self.test.arch == Arch::X86 {
            self.keeps_no_address()?;
        }
        let mut driver = format!("\n// {}\n\n", comment(&self.test.name));
        self.numbers(&mut driver)?;
        let mut bodies = String::new();
        let mut outs = Vec::new();
        if self.test.arch == Arch::C {
            let options = self.c_options();
            bodies = emit_c(self.test, &options);
            outs = self.c_outs(&options)?;
        }
        for (role, body) in self.test.threads.iter().enumerate() {
            match body {
                Body::Asm(lines) => self.asm_role(role, lines, &mut driver)?,
                Body::C(f) => {
                    let empty = Vec::new();
                    let outs = outs.get(role).unwrap_or(&empty);
                    self.c_role(role, f, outs, &mut driver)?;
                }
            }
        }
        self.outcome(&mut driver);
        self.reset(&mut driver)?;
        self.entry(&mut driver);
        Ok(Code { driver, bodies })
    }

    /// Refuses 32-bit tests that store or observe addresses: in 64-bit code these are wider than
    /// the test's memory and values.
    fn keeps_no_address(&self) -> Result<()> {
        let is_address = |v: &Val| matches!(v, Val::Ptr { .. } | Val::Code(_));
        let in_memory = self.program.locations.iter().flat_map(|l| &l.init).map(|(_, _, v)| v);
        let seen = self.columns.values.iter().flatten();
        match in_memory.chain(seen).any(is_address) {
            false => Ok(()),
            true => Err(self.refuse(
                "a 32-bit test whose memory or outcomes have addresses, which is not run in 64-bit code",
            )),
        }
    }

    /// The columns of a thread's registers.
    fn columns_of(&self, role: usize) -> Vec<usize> {
        let own = |c: &usize| matches!(self.program.observed[*c].place, ObservedPlace::Reg { thread, .. } if usize::from(thread) == role);
        (0..self.program.observed.len()).filter(own).collect()
    }

    fn memory_columns(&self) -> Vec<usize> {
        let own = |c: &usize| matches!(self.program.observed[*c].place, ObservedPlace::Mem { .. });
        (0..self.program.observed.len()).filter(own).collect()
    }

    /// Functions that number the values of columns that are not 0, 1, 2 and so on.
    fn numbers(&self, out: &mut String) -> Result<()> {
        for (c, values) in self.columns.values.iter().enumerate() {
            let bits = self.program.observed[c].bits;
            if self.columns.is_plain(c) && bits <= 64 {
                continue;
            }
            let ty = if bits > 64 { "unsigned __int128" } else { "uint64_t" };
            let _ = writeln!(
                out,
                "static inline uint32_t t{}_n{c}(struct view *v, uint32_t i, {ty} x) {{",
                self.n
            );
            for (number, value) in values.iter().enumerate() {
                let test = match value {
                    Val::Int(n) if bits > 64 => format!(
                        "x == ((unsigned __int128){:#x}u << 64 | {:#x}u)",
                        (n >> 64) as u64,
                        *n as u64
                    ),
                    Val::Int(n) => format!("({}) == {:#x}u", masked("x", bits), *n as u64),
                    Val::Ptr { loc, off } => {
                        format!("x == (uint64_t)(v->location[{loc}] + v->at[i] + {off})")
                    }
                    Val::Code(_) => {
                        return Err(self.refuse("addresses of code are not observed on CPUs"));
                    }
                };
                let _ = writeln!(out, "  if ({test}) return {number};");
            }
            let last = values.len();
            let _ = writeln!(out, "  return keep_other(v, {c}, i, (uint64_t)x, {last});\n}}\n");
        }
        Ok(())
    }

    /// The number of a value, times the weight of its column.
    fn number(&self, column: usize, value: &str) -> String {
        let bits = self.program.observed[column].bits;
        let number = if self.columns.is_plain(column) && bits <= 64 {
            format!(
                "NUMBER({column}, {}, {})",
                masked(value, bits),
                self.columns.values[column].len()
            )
        } else {
            format!("t{}_n{column}(v, i, {value})", self.n)
        };
        match self.columns.weight[column] {
            1 => number,
            weight => format!("{weight}u * {number}"),
        }
    }

    /// Begins the loop of a thread; `close` ends it.
    fn open(&self, role: &str, used: &[usize], out: &mut String) {
        let number = role.trim_end_matches("_slow");
        let _ = writeln!(
            out,
            "static uint32_t t{}_P{role}(struct view *v, uint32_t i, uint32_t step, uint32_t count) {{\n  \
             const uint32_t n = v->instances, *const where = v->at;\n  \
             uint32_t *const code = v->code[{number}];",
            self.n
        );
        for l in used {
            let _ = writeln!(
                out,
                "  char *const l{l} = v->location[{l}]; // {}",
                comment(&self.program.locations[*l].name)
            );
        }
        out.push_str("  for (; count > 0; count--) {\n    const size_t at = where[i];\n");
    }

    fn close(&self, parts: &[String], out: &mut String) {
        let code = if parts.is_empty() { "0".to_string() } else { parts.join(" + ") };
        let _ = writeln!(
            out,
            "    code[i] = {code};\n    i += step;\n    if (i >= n) i -= n;\n  }}\n  return i;\n}}\n"
        );
    }

    fn asm_role(&self, role: usize, lines: &[Line], out: &mut String) -> Result<()> {
        let thread = &self.program.threads[role];
        let isa = isa::of(self.test.arch);
        let mut registers = Vec::new();
        for (r, info) in thread.code.regs.iter().enumerate() {
            let Some(known) = isa.and_then(|i| i.register(&info.name)) else { continue };
            // The registers of 32-bit tests are the lower halves of 64-bit registers.
            let narrow = self.test.arch == Arch::X86 && known.bits == 32;
            let name = match narrow {
                true => known.name.to_ascii_lowercase().replacen('e', "r", 1),
                false => known.name.to_ascii_lowercase(),
            };
            if known.bits != 64 && !narrow {
                return Err(
                    self.refuse(format!("P{role} uses {name}; only general registers are run"))
                );
            }
            if matches!(name.as_str(), "rsp" | "sp" | "xzr") {
                return Err(self.refuse(format!(
                    "P{role} uses {name}, which belongs to the program around it"
                )));
            }
            registers.push((r, name));
        }
        if self.test.arch == Arch::X86 {
            // Explicit uses are refused where they occur; this finds implicit changes.
            let begins = |reg: u16| {
                thread.reg_init.iter().any(|(r, v)| *r == reg && matches!(v, Val::Ptr { .. }))
            };
            let ops = thread.code.insts.iter().flat_map(|i| &i.ops);
            for op in ops {
                if let litmake_ops::Op::WriteReg { reg, .. } = op
                    && begins(*reg)
                {
                    return Err(self.refuse(format!(
                        "P{role} changes {}, which holds an address: 64-bit code cannot keep it in 32 bits",
                        thread.code.regs[usize::from(*reg)].name
                    )));
                }
            }
        }
        let labels: Vec<&str> = lines.iter().flat_map(|l| &l.labels).map(String::as_str).collect();
        let label = |name: &str| labels.contains(&name).then(|| format!(".L{role}_{name}_%="));
        let location = |name: &str| {
            let l = self.program.locations.iter().position(|l| l.name == name)?;
            Some(format!("%[l{l}]"))
        };
        let texts = match self.test.arch {
            Arch::X86_64 | Arch::X86 => {
                let begins_with_address = |name: &str| {
                    thread.reg_init.iter().any(|(r, v)| {
                        let is = |(reg, n): &(usize, String)| *reg == usize::from(*r) && n == name;
                        matches!(v, Val::Ptr { .. }) && registers.iter().any(is)
                    })
                };
                let around = Around {
                    wide: self.test.arch == Arch::X86_64,
                    location: &location,
                    label: &label,
                    begins_with_address: &begins_with_address,
                };
                isa::x86::inline::lines(&self.test.source, lines, &around)?
            }
            _ => lines.iter().map(|l| with_labels(&l.text, &label)).collect(),
        };
        let named: Vec<usize> = (0..self.program.locations.len())
            .filter(|l| texts.iter().any(|t| t.contains(&format!("%[l{l}]"))))
            .collect();
        let pointed = thread.reg_init.iter().filter_map(|(_, v)| match v {
            Val::Ptr { loc, .. } => Some(usize::from(*loc)),
            _ => None,
        });
        let mut used: Vec<usize> = named.iter().copied().chain(pointed).collect();
        used.sort_unstable();
        used.dedup();
        let asm =
            Asm { role, lines, texts: &texts, named: &named, used: &used, registers: &registers };
        self.asm_loop(&asm, false, out)?;
        self.asm_loop(&asm, true, out)
    }

    /// The loop of a thread, with or without gaps between its instructions.
    fn asm_loop(&self, asm: &Asm, slow: bool, out: &mut String) -> Result<()> {
        let Asm { role, lines, texts, named, used, registers } = *asm;
        let thread = &self.program.threads[role];
        let label = |name: &str| format!(".L{role}_{name}_%=");
        self.open(&format!("{role}{}", if slow { "_slow" } else { "" }), used, out);
        for (r, name) in registers {
            let init = thread.reg_init.iter().find(|(x, _)| usize::from(*x) == *r).map(|(_, v)| *v);
            let value = match init {
                None => "0".to_string(),
                Some(Val::Int(n)) => format!("{:#x}u", n as u64),
                Some(Val::Ptr { loc, off }) => format!("(uint64_t)(l{loc} + at + {off})"),
                Some(Val::Code(_)) => {
                    return Err(
                        self.refuse("registers that begin with an address of code are not run")
                    );
                }
            };
            let _ = writeln!(out, "    register uint64_t {name} __asm__(\"{name}\") = {value};");
        }
        out.push_str("    __asm__ __volatile__(\n");
        let mut after = false;
        for (line, text) in lines.iter().zip(texts) {
            for name in &line.labels {
                let _ = writeln!(out, "        \"{}:\\n\"", label(name));
            }
            if !text.is_empty() {
                if slow && after {
                    let _ = writeln!(out, "        \"{}\\n\"", self.gap());
                }
                // A prefix on a line of its own belongs to the next instruction.
                after = text != "lock";
                let _ = writeln!(
                    out,
                    "        \"{}\\n\"",
                    text.replace('\\', "\\\\").replace('"', "\\\"")
                );
            }
        }
        let outputs: Vec<String> =
            registers.iter().map(|(_, name)| format!("\"+r\"({name})")).collect();
        let inputs: Vec<String> =
            named.iter().map(|l| format!("[l{l}] \"r\"(l{l} + at)")).collect();
        let _ = writeln!(
            out,
            "        : {}\n        : {}\n        : \"memory\", \"cc\");",
            outputs.join(", "),
            inputs.join(", ")
        );
        let mut parts = Vec::new();
        for c in self.columns_of(role) {
            let ObservedPlace::Reg { reg, .. } = self.program.observed[c].place else { continue };
            let name =
                registers.iter().find(|(r, _)| *r == usize::from(reg)).map(|(_, n)| n.as_str());
            let _ = writeln!(out, "    const uint64_t o{c} = {};", name.unwrap_or("0"));
            parts.push(self.number(c, &format!("o{c}")));
        }
        self.close(&parts, out);
        Ok(())
    }

    /// Code that takes time and orders nothing.
    fn gap(&self) -> &'static str {
        match self.test.arch {
            Arch::X86_64 | Arch::X86 => "pause",
            _ => ".rept 32; nop; .endr",
        }
    }

    fn c_options(&self) -> EmitOptions {
        EmitOptions {
            observe: observed_locals(self.test),
            prefix: format!("t{}_", self.n),
            suffix: "_body".into(),
            ..EmitOptions::default()
        }
    }

    /// For each thread, the observed locals that its function stores, in order, with their types.
    fn c_outs(&self, options: &EmitOptions) -> Result<Vec<Vec<(String, Type)>>> {
        let of = |body: &Body| -> Result<Vec<(String, Type)>> {
            let Body::C(f) = body else {
                return Err(self.refuse("a thread is no C function"));
            };
            let names = options.observe.get(&f.name).into_iter().flatten();
            let typed = names.filter_map(|n| Some((n.clone(), local_type(f, n)?.bare().clone())));
            Ok(typed.collect())
        };
        self.test.threads.iter().map(of).collect()
    }

    fn c_role(
        &self,
        role: usize,
        f: &litmake_litmus::c::ast::Function,
        outs: &[(String, Type)],
        out: &mut String,
    ) -> Result<()> {
        let name = self.c_options().function_name(&f.name);
        let index = |name: &str| self.program.locations.iter().position(|l| l.name == name);
        let mut used = Vec::new();
        for p in &f.params {
            match index(&p.name) {
                Some(l) if matches!(p.ty.bare(), Type::Pointer(_)) => used.push(l),
                _ => {
                    return Err(self.refuse(format!(
                        "P{role} has the parameter `{}`, which is no shared location",
                        p.name
                    )));
                }
            }
        }
        let kinds = vec!["void *"; used.len() + outs.len()];
        let kinds = if kinds.is_empty() { "void".to_string() } else { kinds.join(", ") };
        let _ = writeln!(out, "void {name}({kinds});\n");
        self.open(&role.to_string(), &used, out);
        let mut args: Vec<String> = used.iter().map(|l| format!("l{l} + at")).collect();
        for (k, (_, ty)) in outs.iter().enumerate() {
            let _ = writeln!(out, "    {} out{k} = 0;", c_type(ty));
            args.push(format!("&out{k}"));
        }
        let _ = writeln!(out, "    {name}({});", args.join(", "));
        let mut parts = Vec::new();
        for c in self.columns_of(role) {
            let ObservedPlace::Reg { reg, .. } = self.program.observed[c].place else { continue };
            let local = &self.program.threads[role].code.regs[usize::from(reg)].name;
            let Some(k) = outs.iter().position(|(n, _)| n == local) else {
                return Err(
                    self.refuse(format!("`{role}:{local}` is no local that can be observed"))
                );
            };
            let ty =
                if self.program.observed[c].bits > 64 { "unsigned __int128" } else { "uint64_t" };
            let _ = writeln!(out, "    const {ty} o{c} = ({ty})out{k};");
            parts.push(self.number(c, &format!("o{c}")));
        }
        self.close(&parts, out);
        Ok(())
    }

    /// The functions that combine the parts of an instance's outcome, and count it.
    fn outcome(&self, out: &mut String) {
        let n = self.n;
        let mut sum: Vec<String> =
            (0..self.test.threads.len()).map(|r| format!("(uint64_t)v->code[{r}][i]")).collect();
        let _ = writeln!(out, "static inline uint64_t t{n}_outcome(struct view *v, uint32_t i) {{");
        for c in self.memory_columns() {
            let observed = &self.program.observed[c];
            let ObservedPlace::Mem { loc, off, .. } = observed.place else { continue };
            let has_address = self.columns.values[c].iter().any(|v| matches!(v, Val::Ptr { .. }));
            let ty = match observed.bits {
                _ if has_address => "uint64_t",
                bits => unsigned(bits),
            };
            let wide = if observed.bits > 64 { "unsigned __int128" } else { "uint64_t" };
            let _ = writeln!(
                out,
                "  const {wide} m{c} = *(volatile {ty} *)(v->location[{loc}] + v->at[i] + {off});"
            );
            sum.push(self.number(c, &format!("m{c}")));
        }
        let _ = writeln!(out, "  return {};\n}}\n", sum.join(" + "));
        let count = match self.columns.outcomes {
            few if few <= 1 << 10 => format!("counts[(i & 3) * {few} + t{n}_outcome(v, i)]++"),
            many if many <= 1 << 16 => format!("counts[t{n}_outcome(v, i)]++"),
            _ => format!("count_sparse(counts, t{n}_outcome(v, i))"),
        };
        let _ = writeln!(
            out,
            "static void t{n}_count(struct view *v, uint32_t from, uint32_t to, uint64_t *counts) {{\n  \
             for (uint32_t i = from; i < to; i++) {count};\n}}\n"
        );
        let _ = writeln!(
            out,
            "static uint64_t t{n}_outcome_of(struct view *v, uint32_t i) {{ return t{n}_outcome(v, i); }}\n"
        );
    }

    /// The size of a location's memory. If none is declared, the size follows from the accesses.
    fn bytes(&self, l: usize) -> u32 {
        let location = &self.program.locations[l];
        let declared = location.size > 0 && location.elem <= 16;
        let size = if declared { location.size } else { 4 };
        let reach = |off: u32, bytes: u32| off.saturating_add(bytes);
        let inits = location.init.iter().map(|(off, bytes, v)| {
            let bytes = match v {
                Val::Int(_) if !declared => 4,
                _ => u32::from(*bytes),
            };
            reach(*off, bytes)
        });
        let seen = self.program.observed.iter().filter_map(|o| match o.place {
            ObservedPlace::Mem { loc, off, .. } if usize::from(loc) == l => {
                Some(reach(off, u32::from(o.bits) / 8))
            }
            _ => None,
        });
        let accessed = self.widest_access();
        let size = if declared { size } else { size.max(accessed) };
        inits.chain(seen).fold(size, u32::max).max(1)
    }

    /// The widest access of the test; locations without a type get this size.
    fn widest_access(&self) -> u32 {
        use litmake_ops::Op;
        let ops = self.program.threads.iter().flat_map(|t| &t.code.insts).flat_map(|i| &i.ops);
        let sizes = ops.filter_map(|op| match op {
            Op::Load { size, .. } | Op::Store { size, .. } => Some(u32::from(*size)),
            _ => None,
        });
        sizes.max().unwrap_or(4)
    }

    fn reset(&self, out: &mut String) -> Result<()> {
        let _ = writeln!(
            out,
            "static void t{}_reset(struct view *v, uint32_t location, uint32_t from, uint32_t to) {{\n  \
             switch (location) {{",
            self.n
        );
        for (l, location) in self.program.locations.iter().enumerate() {
            let bytes = self.bytes(l);
            let _ = writeln!(
                out,
                "  case {l}:\n    for (uint32_t i = from; i < to; i++) {{\n      \
                 char *const p = v->location[{l}] + v->at[i];"
            );
            // Writes the initial values, and 0 elsewhere, in the widest parts that fit.
            let declared = location.size > 0 && location.elem <= 16;
            let mut image = vec![0u8; bytes as usize];
            let mut pointers = Vec::new();
            for (off, size, value) in &location.init {
                match value {
                    Val::Int(n) => {
                        let size = if declared { usize::from(*size) } else { 16 };
                        for (k, byte) in n.to_le_bytes().iter().take(size).enumerate() {
                            if let Some(at) = image.get_mut(*off as usize + k) {
                                *at = *byte;
                            }
                        }
                    }
                    Val::Ptr { loc, off: inner } => pointers.push((*off, *loc, *inner)),
                    Val::Code(_) => {
                        return Err(self.refuse("addresses of code in memory are not run"));
                    }
                }
            }
            let mut at = 0usize;
            while at < image.len() {
                let left = image.len() - at;
                let part = [8usize, 4, 2, 1]
                    .into_iter()
                    .find(|p| *p <= left && at.is_multiple_of(*p))
                    .unwrap_or(1);
                let mut value = [0u8; 8];
                value[..part].copy_from_slice(&image[at..at + part]);
                let _ = writeln!(
                    out,
                    "      *(volatile uint{}_t *)(p + {at}) = {:#x}u;",
                    part * 8,
                    u64::from_le_bytes(value)
                );
                at += part;
            }
            for (off, loc, inner) in pointers {
                let _ = writeln!(
                    out,
                    "      *(volatile uint64_t *)(p + {off}) = (uint64_t)(v->location[{loc}] + v->at[i] + {inner});"
                );
            }
            out.push_str("    }\n    break;\n");
        }
        out.push_str("  }\n}\n\n");
        Ok(())
    }

    fn entry(&self, out: &mut String) {
        let n = self.n;
        let list = |items: Vec<String>| match items.is_empty() {
            true => "0".to_string(),
            false => items.join(", "),
        };
        let columns = self.columns.values.len();
        let locations = self.program.locations.len();
        // Compiled code runs without gaps.
        let slow = if self.test.arch == Arch::C { "" } else { "_slow" };
        let _ = writeln!(
            out,
            "static const struct test t{n} = {{\n  .roles = {}, .locations = {locations}, .columns = {columns},\n  \
             .outcomes = {}u,\n  .radix = {{{}}},\n  .bytes = {{{}}},\n  .constant = {{{}}},\n  \
             .observes_memory = {},\n  .run = {{{}}},\n  .slow = {{{}}},\n  .outcome = t{n}_outcome_of, .count = t{n}_count, .reset = t{n}_reset,\n}};",
            self.test.threads.len(),
            self.columns.outcomes,
            list((0..columns).map(|c| self.columns.radix(c).to_string()).collect()),
            list((0..locations).map(|l| self.bytes(l).to_string()).collect()),
            list(self.program.locations.iter().map(|l| u8::from(l.is_const).to_string()).collect()),
            u8::from(!self.memory_columns().is_empty()),
            list((0..self.test.threads.len()).map(|r| format!("t{n}_P{r}")).collect()),
            list((0..self.test.threads.len()).map(|r| format!("t{n}_P{r}{slow}")).collect()),
        );
    }
}

/// A thread of assembly that is converted to C.
struct Asm<'a> {
    role: usize,
    lines: &'a [Line],
    texts: &'a [String],
    /// The locations that the code names, and all locations that it needs.
    named: &'a [usize],
    used: &'a [usize],
    /// The registers of the thread with their names.
    registers: &'a [(usize, String)],
}

fn unsigned(bits: u8) -> &'static str {
    match bits {
        0..=8 => "uint8_t",
        9..=16 => "uint16_t",
        17..=32 => "uint32_t",
        33..=64 => "uint64_t",
        _ => "unsigned __int128",
    }
}

/// The C type of a local; a type other than a number becomes an address.
fn c_type(ty: &Type) -> String {
    match ty {
        Type::Int { bytes: 16, signed } => {
            format!("{} __int128", if *signed { "signed" } else { "unsigned" })
        }
        Type::Int { bytes, signed } => {
            format!("{}int{}_t", if *signed { "" } else { "u" }, u32::from(*bytes) * 8)
        }
        // The bits of the number.
        Type::Float { bytes } => format!("uint{}_t", u32::from(*bytes) * 8),
        _ => "uint64_t".to_string(),
    }
}

/// The low bits of a 64-bit value.
fn masked(value: &str, bits: u8) -> String {
    match bits {
        8 | 16 | 32 => format!("(uint{bits}_t){value}"),
        _ => value.to_string(),
    }
}

/// A text that cannot end a comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '\\' { ' ' } else { c }).collect()
}

/// Replaces labels by their names in the program.
fn with_labels(text: &str, label: &dyn Fn(&str) -> Option<String>) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut out = String::new();
    let mut word = String::new();
    for c in text.trim().chars().chain([' ']) {
        if is_word(c) {
            word.push(c);
            continue;
        }
        out.push_str(&label(&word).unwrap_or_else(|| word.clone()));
        word.clear();
        match c {
            '%' => out.push_str("%%"),
            c => out.push(c),
        }
    }
    out.trim_end().to_string()
}
