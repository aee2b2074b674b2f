//! Functions of a module of assembly for an AMD GPU as threads of a litmus test. Parameters become initial values of
//! the registers that hold them, and labels get new names, so that equal code has equal text.
//!
//! The instructions stay as the compiler wrote them, without hints; but where code computes the address of a variable
//! from its own, it moves it from a register that holds it from the start. It does not know models, or what instructions
//! mean.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use litmake_base::diag::{Source, Span};
use litmake_base::failure::Failure;
use litmake_litmus::{Anything, Arch, InitItem, InitValue, Line, Place, Value};

/// How many parameters are passed in registers, each in a pair.
const MOST_PARAMETERS: usize = 16;

/// The last register of one value for all lanes.
const LAST_SCALAR: u16 = 101;

/// Tells the hardware how long results take, in words with bars between them, which separate the cells of tests.
const HINT: &str = "s_delay_alu";

/// The functions of a module, each as its lines of code.
pub(super) struct Module {
    functions: BTreeMap<String, Vec<Line>>,
}

impl Module {
    /// Reads the output of a compiler.
    pub(super) fn read(text: &str) -> Module {
        let mut functions = BTreeMap::new();
        let mut current: Option<(String, Vec<Line>)> = None;
        let mut labels = Vec::new();
        let mut own = None;
        for line in text.lines() {
            let line = line.split([';', '#']).next().unwrap_or("");
            let line = line.split("//").next().unwrap_or("").trim();
            if let Some(label) = line.strip_suffix(':') {
                if label.starts_with(".Lfunc_end") {
                    functions.extend(current.take());
                } else if label.starts_with('.') {
                    labels.push(label.to_string());
                } else {
                    current = Some((label.to_string(), Vec::new()));
                    labels.clear();
                }
            } else if let Some((_, lines)) = &mut current
                && !line.is_empty()
                && !line.starts_with('.')
            {
                let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
                for text in by_name(text, &mut own, lines) {
                    let labels = std::mem::take(&mut labels);
                    lines.push(Line { labels, text, span: Span::default() });
                }
            }
        }
        Module { functions }
    }

    /// The thread that a function makes, and what its registers hold as it starts. `globals` has variables, each with
    /// its location.
    pub(super) fn thread(
        &self,
        function: &str,
        thread: usize,
        params: &[String],
        globals: &[(String, String)],
    ) -> Result<(Vec<Line>, Vec<InitItem>), Failure> {
        let missing = || format!("the module has no function `{function}`");
        let mut lines = named(self.functions.get(function).ok_or_else(missing)?);
        let held = hold_addresses(&mut lines, globals)?;
        if params.len() > MOST_PARAMETERS {
            return Err(Failure::unsupported(format!(
                "{} parameters, of which {MOST_PARAMETERS} are in registers",
                params.len()
            )));
        }
        let isa = litmake_isa::of(Arch::AmdGcn).ok_or("no instruction set")?;
        isa.thread(&Source::new("code", ""), &lines, &mut Anything)
            .map_err(|e| Failure::unsupported(e.message.replace("unsupported: ", "")))?;
        // An address of a test lies in the low half of its pair.
        let params =
            params.iter().enumerate().map(|(n, name)| (format!("v{}", 2 * n), name.clone()));
        let init = params.chain(held).map(|(register, name)| InitItem {
            place: Place::Reg { thread, name: register },
            ty: None,
            value: Some(InitValue::One(Value::Addr { name, index: 0 })),
            span: Span::default(),
        });
        Ok((lines, init.collect()))
    }
}

/// A pair of registers that code puts its own address into, to add the distance to a variable.
struct OwnAddress {
    low: String,
    high: String,
    /// The instruction that does so.
    line: usize,
    /// The bytes of code since then.
    bytes: i64,
}

/// An instruction behind `lines`, without hints. Those that compute the address of a variable become moves: in the low
/// half the name stands for the address, whose high half is 0 in tests.
fn by_name(text: String, own: &mut Option<OwnAddress>, lines: &mut [Line]) -> Vec<String> {
    let Some((name, operands)) = text.split_once(' ') else { return vec![text] };
    if name == "s_getpc_b64" {
        let pair = operands.strip_prefix("s[").and_then(|pair| pair.strip_suffix(']'));
        let Some((low, high)) = pair.and_then(|pair| pair.split_once(':')) else {
            return vec![text];
        };
        let (low, high) = (format!("s{low}"), format!("s{high}"));
        *own = Some(OwnAddress { low, high, line: lines.len(), bytes: 0 });
        return vec![text];
    }
    let Some(OwnAddress { low, high, line, bytes }) = own else {
        return if name == HINT { Vec::new() } else { vec![text] };
    };
    *bytes += 4;
    let parts: Vec<&str> = operands.split(", ").collect();
    match (name, parts.as_slice()) {
        ("s_wait_alu" | HINT, _) => return Vec::new(),
        ("s_sext_i32_i16", [to, from]) if to == high && from == high => return Vec::new(),
        ("s_add_u32" | "s_add_co_u32", [to, from, distance]) if to == low && from == low => {
            if let Some((variable, distance)) = distance.split_once("@rel32@lo+")
                && let Ok(distance) = distance.parse::<i64>()
            {
                let mut out = vec![format!("s_mov_b32 {low}, {variable}")];
                if distance != *bytes {
                    out.push(format!("s_add_u32 {low}, {low}, {}", distance - *bytes));
                }
                *bytes += 4;
                return out;
            }
        }
        ("s_addc_u32" | "s_add_co_ci_u32", [to, from, distance])
            if to == high && from == high && distance.contains("@rel32@hi+") =>
        {
            if let Some(first) = lines.get_mut(*line) {
                first.text = format!("s_mov_b32 {high}, 0");
            }
            *own = None;
            return Vec::new();
        }
        _ => {}
    }
    *own = None;
    vec![text]
}

/// Puts the registers that hold the addresses of variables into the moves of [`by_name`]; returns these registers, each
/// with its location.
fn hold_addresses(
    lines: &mut [Line],
    globals: &[(String, String)],
) -> Result<Vec<(String, String)>, Failure> {
    let mut used = BTreeSet::new();
    for line in lines.iter() {
        for part in line.text.split(|c: char| !c.is_ascii_alphanumeric()) {
            used.extend(part.trim_start_matches('s').parse::<u16>());
        }
    }
    let mut free = (0..=LAST_SCALAR).rev().filter(|number| !used.contains(number));
    let mut held: Vec<(String, String)> = Vec::new();
    for line in lines {
        let Some((to, variable)) =
            line.text.strip_prefix("s_mov_b32 ").and_then(|rest| rest.split_once(", "))
        else {
            continue;
        };
        let Some((_, location)) = globals.iter().find(|(symbol, _)| symbol == variable) else {
            continue;
        };
        let register = match held.iter().find(|(_, of)| of == location) {
            Some((register, _)) => register.clone(),
            None => {
                let number = free.next().ok_or("the code leaves no register free for addresses")?;
                held.push((format!("s{number}"), location.clone()));
                format!("s{number}")
            }
        };
        line.text = format!("s_mov_b32 {to}, {register}");
    }
    Ok(held)
}

/// The same lines with labels by the order of their places, where a branch uses them.
fn named(lines: &[Line]) -> Vec<Line> {
    fn target(text: &str) -> Option<&str> {
        let (name, label) = text.split_once(' ')?;
        (name == "s_branch" || name.starts_with("s_cbranch_")).then_some(label)
    }
    let used: Vec<&str> = lines.iter().filter_map(|line| target(&line.text)).collect();
    let mut names: HashMap<&str, String> = HashMap::new();
    let mut out = Vec::with_capacity(lines.len());
    for line in lines {
        let mut labels = Vec::new();
        if line.labels.iter().any(|label| used.contains(&label.as_str())) {
            let number = out.iter().filter(|line: &&Line| !line.labels.is_empty()).count();
            labels.push(format!("L{number}"));
            names.extend(line.labels.iter().map(|label| (label.as_str(), format!("L{number}"))));
        }
        out.push(Line { labels, text: line.text.clone(), span: Span::default() });
    }
    for line in &mut out {
        let new = target(&line.text).and_then(|label| Some((label.len(), names.get(label)?)));
        if let Some((old, name)) = new {
            line.text.replace_range(line.text.len() - old.., name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
\t.globl\tt0_P0 ; -- Begin function t0_P0
t0_P0:                                  ; @t0_P0
; %bb.0:
\ts_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
.LBB0_1:                                ; =>This Inner Loop
\tflat_load_dword v4, v[0:1] sc0 sc1
\ts_cbranch_execz .LBB0_3
.LBB0_2:
\ts_branch .LBB0_1
.LBB0_3:
\tflat_store_dword v[2:3], v4
\ts_setpc_b64 s[30:31]
.Lfunc_end0:
\t.size\tt0_P0, .Lfunc_end0-t0_P0
";

    fn made(text: &str, params: &[&str]) -> Result<(String, Vec<InitItem>), Failure> {
        let params: Vec<String> = params.iter().map(|p| p.to_string()).collect();
        let globals = [("t0_X".to_string(), "X".to_string())];
        let (lines, init) = Module::read(text).thread("t0_P0", 3, &params, &globals)?;
        let line = |l: &Line| {
            let labels: String = l.labels.iter().map(|l| format!("{l}: ")).collect();
            labels + &l.text + "\n"
        };
        Ok((lines.iter().map(line).collect(), init))
    }

    #[test]
    fn a_function_is_a_thread() {
        let (text, init) = made(TEXT, &["x", "out_P0_a"]).expect("a thread");
        let expected = "\
s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
L0: flat_load_dword v4, v[0:1] sc0 sc1
s_cbranch_execz L1
s_branch L0
L1: flat_store_dword v[2:3], v4
s_setpc_b64 s[30:31]
";
        assert_eq!(text, expected);
        let places: Vec<String> = init.iter().map(|i| i.place.to_string()).collect();
        assert_eq!(places, ["3:v0", "3:v2"]);
    }

    /// The distance that is added is from the end of the first instruction to the field that has it. Each instruction
    /// between has 4 bytes (AMD's "RDNA4" manual, 5.2 and 16; LLVM's AMDGPU user guide, relocations).
    #[test]
    fn the_address_of_a_variable_is_in_a_register() {
        let old = "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, t0_X@rel32@lo+4\ns_addc_u32 s5, s5, t0_X@rel32@hi+12\n";
        let element = old.replace("+4", "+8").replace("+12", "+16");
        let new = "s_getpc_b64 s[4:5]\ns_wait_alu depctr_sa_sdst(0)\ns_sext_i32_i16 s5, s5\n\
                   s_add_co_u32 s4, s4, t0_X@rel32@lo+12\ns_wait_alu depctr_sa_sdst(0)\n\
                   s_add_co_ci_u32 s5, s5, t0_X@rel32@hi+24\n";
        let hinted = old.replace("s_add_u32", "s_delay_alu instid0(SALU_CYCLE_1)\ns_add_u32");
        let hinted = hinted.replace("lo+4", "lo+8").replace("hi+12", "hi+16");
        for (code, more) in
            [(old, ""), (new, ""), (&element, "s_add_u32 s4, s4, 4\n"), (&hinted, "")]
        {
            let text = TEXT.replace(".LBB0_1:", &format!("{code}.LBB0_1:"));
            let (text, init) = made(&text, &["x"]).expect("a thread");
            let expected = format!(
                "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\ns_mov_b32 s5, 0\ns_mov_b32 s4, s101\n{more}L0: flat"
            );
            assert!(text.starts_with(&expected), "{code} {text}");
            let places: Vec<String> = init.iter().map(|i| i.place.to_string()).collect();
            assert_eq!(places, ["3:v0", "3:s101"]);
        }
        let other = TEXT.replace(".LBB0_1:", &format!("{}.LBB0_1:", old.replace("t0_X", "t0_Y")));
        assert!(made(&other, &["x"]).expect_err("refused").text().contains("t0_Y"));
    }

    #[test]
    fn an_instruction_without_a_meaning_is_refused_by_name() {
        let text = TEXT.replace("flat_store_dword v[2:3], v4", "s_barrier");
        let refusal = made(&text, &["x"]).expect_err("refused").text();
        assert!(refusal.contains("s_barrier"), "{refusal}");
        let many: Vec<&str> = std::iter::repeat_n("x", 17).collect();
        assert!(made(TEXT, &many).expect_err("many").text().contains("17 parameters"));
    }
}
