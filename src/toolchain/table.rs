//! Implements the operations of `<stdatomic.h>` with the assembly of a mapping, or by calls of functions.
//!
//! Each row becomes a function of inline assembly, so that the profile's compiler chooses registers
//! and compiles everything else. This module does not know what the code means.

use std::fmt::Write;

use litmake_base::failure::Failure;
use litmake_isa::target;
use litmake_litmus::Arch;
use litmake_profile::mapping::{
    Call, OPERATIONS, ORDERS, Operation, Table, WIDTHS, called, places,
};

/// The definitions that a translation unit with this text needs.
pub fn preamble(table: &Table, arch: Arch, text: &str) -> Result<String, Failure> {
    let mut out = String::from(COMMON);
    for name in OPERATIONS {
        let word =
            if name == "fence" { "atomic_thread_fence".into() } else { format!("atomic_{name}") };
        if !text.contains(&word) {
            continue;
        }
        let mut chain: Vec<(Operation, String)> = Vec::new();
        for of in operations(name) {
            let function = function_name(&of);
            match table.code(&of) {
                Some(code) => {
                    out += &function_text(&of, &function, code, arch)?;
                    chain.push((of, function));
                }
                None if table.refuses => {
                    let _ = writeln!(out, "extern {}", head(&of, &format!("no_row_{function}")));
                    out.truncate(out.trim_end().len());
                    out.push_str(";\n");
                    chain.push((of, format!("no_row_{function}")));
                }
                None => {}
            }
        }
        out += &dispatch(name, &chain);
    }
    Ok(out)
}

/// All variants of an operation.
fn operations(name: &'static str) -> Vec<Operation> {
    let mut out = Vec::new();
    for (order_name, order) in ORDERS {
        let fits = match name {
            "load" => !["release", "acq_rel"].contains(&order_name),
            "store" => !["acquire", "acq_rel"].contains(&order_name),
            _ => true,
        };
        if !fits {
            continue;
        }
        let failures: &[u8] = if name == "compare_exchange" { &[0, 2, 5] } else { &[0] };
        let widths: &[u8] = if name == "fence" { &[0] } else { &WIDTHS };
        for failure in failures {
            for width in widths {
                out.push(Operation { name, order, failure: *failure, width: *width });
            }
        }
    }
    out
}

fn order_name(order: u8) -> &'static str {
    ORDERS.iter().find(|(_, n)| *n == order).map_or("", |(name, _)| name)
}

fn function_name(of: &Operation) -> String {
    let order = order_name(of.order);
    match of.name {
        "fence" => format!("table_fence_{order}"),
        "compare_exchange" => {
            format!("table_{}_{order}_{}_{}", of.name, order_name(of.failure), of.width)
        }
        name => format!("table_{name}_{order}_{}", of.width),
    }
}

fn head(of: &Operation, function: &str) -> String {
    let ty = format!("table_u{}", of.width);
    match of.name {
        "load" => format!("{ty} {function}(const volatile void *p)"),
        "store" => format!("void {function}(volatile void *p, {ty} v)"),
        "fence" => format!("void {function}(void)"),
        "compare_exchange" => format!("int {function}(volatile void *p, void *e, {ty} v)"),
        _ => format!("{ty} {function}(volatile void *p, {ty} v)"),
    }
}

fn function_text(
    of: &Operation,
    function: &str,
    code: &[String],
    arch: Arch,
) -> Result<String, Failure> {
    if let [line] = code
        && let Some(call) = called(line)
    {
        return call_text(of, function, &call, line);
    }
    let mut used: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for line in code {
        let (parts, rest) = places(line)?;
        let mut text = String::new();
        for (before, name, modifier) in parts {
            text += &before.replace('%', "%%");
            match name {
                "op" => text += operator(of.name, arch)?,
                "size" => text += size(of.width, arch),
                _ => {
                    let fits = match name {
                        "address" => of.name != "fence",
                        "result" => !["store", "fence"].contains(&of.name),
                        "value" => !["load", "fence"].contains(&of.name),
                        "expected" => of.name == "compare_exchange",
                        "found" | "order" | "failure" | "success" | "bytes" | "name" => false,
                        _ => true,
                    };
                    if !fits {
                        return Err(format!("`{}` has no `{{{name}}}`: {line}", of.name).into());
                    }
                    if !used.contains(&name) {
                        used.push(name);
                    }
                    let modifier = match modifier {
                        "" => default_modifier(name, of.width, arch),
                        given => given,
                    };
                    let _ = write!(text, "%{modifier}[{name}]");
                }
            }
        }
        text += &rest.replace('%', "%%");
        lines.push(text.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let asm = lines.join("\\n\\t");
    let ty = format!("table_u{}", of.width);
    let (mut outs, mut ins) = (Vec::new(), Vec::new());
    let base = target::facts(arch).map_or("r", |facts| facts.address);
    let register = if arch == Arch::X86_64 || arch == Arch::X86 { "q" } else { "r" };
    for name in &used {
        match *name {
            "address" => ins.push(format!("[address] \"{base}\"(p)")),
            "value" => ins.push(format!("[value] \"{register}\"(v)")),
            "expected" => ins.push(format!("[expected] \"{register}\"(x)")),
            "result" => outs.push(format!("[result] \"=&{register}\"(r)")),
            "temp" => outs.push(format!("[temp] \"=&{register}\"(t)")),
            _ => outs.push(format!("[temp2] \"=&{register}\"(u)")),
        }
    }
    let clobbers = if arch == Arch::Ppc { "\"memory\", \"cr0\"" } else { "\"memory\", \"cc\"" };
    let mut body = String::new();
    if of.name != "fence" {
        let _ = write!(body, "{ty} r = 0, t, u; ");
    } else {
        body += "unsigned long t, u; ";
    }
    if of.name == "compare_exchange" {
        let _ = write!(body, "{ty} x = *({ty}*)e; ");
    }
    let _ = write!(
        body,
        "__asm__ volatile(\"{asm}\" : {} : {} : {clobbers}); ",
        outs.join(", "),
        ins.join(", ")
    );
    body += "(void)t; (void)u; ";
    body += match of.name {
        "store" | "fence" => "",
        "compare_exchange" => "if (r == x) return 1; *(TY*)e = r; return 0; ",
        _ => "return r; ",
    };
    let body = body.replace("TY*", &format!("{ty}*"));
    Ok(format!("static inline __attribute__((always_inline)) {} {{ {body}}}\n", head(of, function)))
}

/// A function that calls one of a library. Compilers know some of these by name, so it is declared under
/// another.
fn call_text(of: &Operation, function: &str, call: &Call, line: &str) -> Result<String, Failure> {
    let ty = format!("table_u{}", of.width);
    let is_cas = of.name == "compare_exchange";
    let (mut types, mut args) = (Vec::new(), Vec::new());
    for arg in &call.args {
        let place = arg.strip_prefix('{').and_then(|a| a.strip_suffix('}'));
        let (t, text) = match place {
            Some("address") if of.name != "fence" => ("void *", "(void *)p".to_string()),
            Some("value") if !["load", "fence"].contains(&of.name) => (&*ty, "v".to_string()),
            Some("expected") if is_cas => (&*ty, "x".to_string()),
            Some("found") if is_cas => ("void *", "e".to_string()),
            Some("order") => ("int", of.order.to_string()),
            Some("failure") if is_cas => ("int", of.failure.to_string()),
            Some(other) => return Err(format!("`{}` has no `{{{other}}}`: {line}", of.name).into()),
            None if arg.parse::<i64>().is_ok() => ("int", arg.to_string()),
            None => return Err(format!("`{arg}` is neither a place nor a number: {line}").into()),
        };
        types.push(t);
        args.push(text);
    }
    let finds = call.args.contains(&"{found}");
    let args = args.join(", ");
    let callee = format!("{function}_callee");
    let (ret, body) = match (of.name, call.gives) {
        ("store" | "fence", None) => ("void", format!("{callee}({args}); ")),
        ("store" | "fence", Some(_)) => {
            return Err(format!("`{}` gives nothing: {line}", of.name).into());
        }
        ("compare_exchange", Some("success")) if finds => {
            ("_Bool", format!("return {callee}({args}); "))
        }
        ("compare_exchange", Some("success")) => {
            let what = "a `compare_exchange` that gives `{success}` has to be handed `{found}`, where it \
                        puts the value that it found";
            return Err(format!("{what}: {line}").into());
        }
        ("compare_exchange", Some("result")) => {
            let call = format!("{ty} x = *({ty}*)e; {ty} r = {callee}({args}); ");
            (&*ty, call + &format!("if (r == x) return 1; *({ty}*)e = r; return 0; "))
        }
        (_, Some("result")) => (&*ty, format!("return {callee}({args}); ")),
        (name, _) => {
            return Err(format!("`{name}` gives a value: `{{result}} = {line}`").into());
        }
    };
    let types = if types.is_empty() { "void".to_string() } else { types.join(", ") };
    Ok(format!(
        "extern {ret} {callee}({types}) __asm__(\"{}\");\n\
         static inline __attribute__((always_inline)) {} {{ {body}}}\n",
        call.function.replace("{bytes}", &(of.width / 8).to_string()).replace("{name}", of.name),
        head(of, function)
    ))
}

/// The modifier of an operand if the table gives none.
fn default_modifier(name: &str, width: u8, arch: Arch) -> &'static str {
    match (arch, name, width) {
        (_, "address", _) => "",
        (Arch::AArch64, _, 64) => "x",
        (Arch::AArch64, ..) => "w",
        (Arch::X86_64 | Arch::X86, _, 8) => "b",
        (Arch::X86_64 | Arch::X86, _, 16) => "w",
        (Arch::X86_64 | Arch::X86, _, 32) => "k",
        (Arch::X86_64, _, 64) => "q",
        _ => "",
    }
}

/// The letters for a width in the names of instructions.
fn size(width: u8, arch: Arch) -> &'static str {
    match (arch, width) {
        (Arch::AArch64, 32 | 64) | (Arch::Arm, 32) => "",
        (Arch::X86_64 | Arch::X86, 16) => "w",
        (Arch::X86_64 | Arch::X86, 32) => "l",
        (Arch::X86_64 | Arch::X86, 64) => "q",
        (_, 8) => "b",
        (_, 16) => "h",
        (_, 32) => "w",
        _ => "d",
    }
}

/// The word for the computation of a read-modify-write.
fn operator(name: &str, arch: Arch) -> Result<&'static str, Failure> {
    const USUAL: [(&str, &str); 5] = [
        ("fetch_add", "add"),
        ("fetch_sub", "sub"),
        ("fetch_and", "and"),
        ("fetch_or", "or"),
        ("fetch_xor", "xor"),
    ];
    let own = target::facts(arch).map_or(&[][..], |facts| facts.operators);
    let word = own.iter().chain(&USUAL).find(|(of, _)| *of == name).map(|(_, word)| *word);
    Ok(word.ok_or_else(|| format!("`{name}` has no `{{op}}`"))?)
}

/// The macros of an operation: they call the function of a row if there is one, else the compiler's
/// operation.
fn dispatch(name: &str, chain: &[(Operation, String)]) -> String {
    let choose = |end: String, call: &dyn Fn(&str) -> String| {
        chain.iter().rev().fold(end, |otherwise, (of, function)| {
            let mut test = format!("(o) == {}", of.order);
            if name != "fence" {
                let _ = write!(test, " && sizeof(*(p)) == {}", of.width / 8);
            }
            if name == "compare_exchange" {
                let _ = write!(test, " && (f) == {}", of.failure);
            }
            format!("__builtin_choose_expr({test}, {}, {otherwise})", call(function))
        })
    };
    let mut out = String::new();
    let mut define = |macro_name: &str, args: &str, body: &str| {
        let _ = writeln!(out, "#undef {macro_name}\n#define {macro_name}({args}) ({body})");
    };
    match name {
        "fence" => {
            let all = choose("__atomic_thread_fence(o)".into(), &|f| format!("{f}()"));
            define("atomic_thread_fence", "o", &all);
        }
        "load" => {
            let all = choose("TABLE_LOAD(p, o)".into(), &|f| format!("(TABLE_T(p)){f}(p)"));
            define("atomic_load_explicit", "p, o", &all);
            define("atomic_load", "p", "atomic_load_explicit(p, memory_order_seq_cst)");
        }
        "store" => {
            let all =
                choose("TABLE_STORE(p, v, o)".into(), &|f| format!("{f}(p, (TABLE_T(p))(v))"));
            define("atomic_store_explicit", "p, v, o", &all);
            define("atomic_store", "p, v", "atomic_store_explicit(p, v, memory_order_seq_cst)");
        }
        "compare_exchange" => {
            for strength in ["strong", "weak"] {
                let weak = u8::from(strength == "weak");
                let end = format!("TABLE_CAS(p, e, v, o, f, {strength}, {weak})");
                let all = choose(end, &|f| format!("{f}(p, e, (TABLE_T(p))(v))"));
                let both = format!("atomic_compare_exchange_{strength}");
                define(&format!("{both}_explicit"), "p, e, v, o, f", &all);
                let seq_cst = "memory_order_seq_cst";
                let call = format!("{both}_explicit(p, e, v, {seq_cst}, {seq_cst})");
                define(&both, "p, e, v", &call);
            }
        }
        rmw => {
            let end = match rmw {
                "exchange" => "TABLE_EXCHANGE(p, v, o)".to_string(),
                fetch => format!("TABLE_FETCH({fetch}, p, v, o)"),
            };
            let all = choose(end, &|f| format!("(TABLE_T(p)){f}(p, (TABLE_T(p))(v))"));
            define(&format!("atomic_{rmw}_explicit"), "p, v, o", &all);
            let call = format!("atomic_{rmw}_explicit(p, v, memory_order_seq_cst)");
            define(&format!("atomic_{rmw}"), "p, v", &call);
        }
    }
    out
}

/// Types, and the compilers' own operations under names that stay available when the macros are
/// replaced.
const COMMON: &str = "\
typedef unsigned char __attribute__((may_alias)) table_u8;
typedef unsigned short __attribute__((may_alias)) table_u16;
typedef unsigned int __attribute__((may_alias)) table_u32;
typedef unsigned long long __attribute__((may_alias)) table_u64;
#define TABLE_T(p) __typeof__((void)0, *(p))
#ifdef __clang__
#define TABLE_LOAD(p, o) __c11_atomic_load(p, o)
#define TABLE_STORE(p, v, o) __c11_atomic_store(p, v, o)
#define TABLE_EXCHANGE(p, v, o) __c11_atomic_exchange(p, v, o)
#define TABLE_FETCH(fetch, p, v, o) __c11_atomic_##fetch(p, v, o)
#define TABLE_CAS(p, e, v, o, f, strength, weak) \\
  __c11_atomic_compare_exchange_##strength(p, e, v, o, f)
#else
#define TABLE_LOAD(p, o) __extension__({ __auto_type table_p = (p); \\
  __typeof__((void)0, *table_p) table_r; __atomic_load(table_p, &table_r, o); table_r; })
#define TABLE_STORE(p, v, o) __extension__({ __auto_type table_p = (p); \\
  __typeof__((void)0, *table_p) table_v = (v); __atomic_store(table_p, &table_v, o); })
#define TABLE_EXCHANGE(p, v, o) __extension__({ __auto_type table_p = (p); \\
  __typeof__((void)0, *table_p) table_v = (v); __typeof__((void)0, *table_p) table_r; \\
  __atomic_exchange(table_p, &table_v, &table_r, o); table_r; })
#define TABLE_FETCH(fetch, p, v, o) __atomic_##fetch(p, v, o)
#define TABLE_CAS(p, e, v, o, f, strength, weak) __extension__({ __auto_type table_p = (p); \\
  __typeof__((void)0, *table_p) table_v = (v); \\
  __atomic_compare_exchange(table_p, e, &table_v, weak, o, f); })
#endif
";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn rows_become_functions() {
        let mut map = BTreeMap::new();
        map.insert(
            "store seq_cst 32".into(),
            vec!["stlr{size} {value}, [{address}]; dmb ish".into()],
        );
        map.insert(
            "fetch_* relaxed 64".into(),
            vec!["ld{op} {value}, {result}, [{address}]".into()],
        );
        let table = Table::read(&map).unwrap();
        let text = preamble(&table, Arch::AArch64, "atomic_store(x, 1); atomic_fetch_add(x, 1);");
        let text = text.unwrap();
        assert!(text.contains("stlr %w[value], [%[address]]\\n\\tdmb ish"), "{text}");
        assert!(text.contains("ldadd %x[value], %x[result], [%[address]]"), "{text}");
        assert!(!text.contains("table_fetch_sub"), "{text}");
        map.insert("load seq_cst 32".into(), vec!["ldr {value}, [{address}]".into()]);
        let table = Table::read(&map).unwrap();
        let error = preamble(&table, Arch::AArch64, "atomic_load(x)").unwrap_err();
        assert_eq!(error.text(), "`load` has no `{value}`: ldr {value}, [{address}]");
    }

    #[test]
    fn rows_can_call_functions() {
        let row = |name: &str, code: &str| {
            let map = BTreeMap::from([(name.to_string(), vec![code.to_string()])]);
            let table = Table::read(&map).unwrap();
            let text = "atomic_load(x); atomic_compare_exchange_strong(x, &e, 1);";
            preamble(&table, Arch::AArch64, text)
        };
        let text = row("load seq_cst 32", "{result} = read32({address}, {order})").unwrap();
        let extern_ =
            "extern table_u32 table_load_seq_cst_32_callee(void *, int) __asm__(\"read32\");";
        assert!(text.contains(extern_), "{text}");
        assert!(text.contains("return table_load_seq_cst_32_callee((void *)p, 5);"), "{text}");
        let cas = "compare_exchange * * 64";
        let text = row(cas, "{result} = cas({address}, {expected}, {value})").unwrap();
        assert!(text.contains("if (r == x) return 1; *(table_u64*)e = r; return 0;"), "{text}");
        let name = "{success} = cas_{bytes}({address}, {found}, {value}, {order}, {failure})";
        let text = row(cas, name).unwrap();
        assert!(
            text.contains("(void *, void *, table_u64, int, int) __asm__(\"cas_8\");"),
            "{text}"
        );
        let error = |code: &str| row(cas, code).unwrap_err().text();
        assert!(
            error("{success} = cas({address}, {expected}, {value})").contains("handed `{found}`")
        );
        assert!(error("{success} = cas(x)").contains("neither a place nor a number"));
        assert!(error("cas({address})").contains("`compare_exchange` gives a value"));
    }
}
