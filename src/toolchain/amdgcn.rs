//! Functions of a module of assembly for an AMD GPU as threads of a litmus test. Parameters become initial values of
//! the registers that hold them, and labels get new names, so that equal code has equal text.
//!
//! The instructions stay as the compiler wrote them, without hints. It does not know models, or what instructions mean.

use std::collections::{BTreeMap, HashMap};

use litmake_base::diag::{Source, Span};
use litmake_base::failure::Failure;
use litmake_litmus::{Anything, Arch, InitItem, InitValue, Line, Place, Value};

/// How many parameters are passed in registers, each in a pair.
const MOST_PARAMETERS: usize = 16;

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
                && !line.starts_with(HINT)
            {
                let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
                let labels = std::mem::take(&mut labels);
                lines.push(Line { labels, text, span: Span::default() });
            }
        }
        Module { functions }
    }

    /// The thread that a function makes, and what its registers hold as it starts.
    pub(super) fn thread(
        &self,
        function: &str,
        thread: usize,
        params: &[String],
    ) -> Result<(Vec<Line>, Vec<InitItem>), Failure> {
        let missing = || format!("the module has no function `{function}`");
        let lines = named(self.functions.get(function).ok_or_else(missing)?);
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
        let init = params.iter().enumerate().map(|(n, name)| InitItem {
            place: Place::Reg { thread, name: format!("v{}", 2 * n) },
            ty: None,
            value: Some(InitValue::One(Value::Addr { name: name.clone(), index: 0 })),
            span: Span::default(),
        });
        Ok((lines, init.collect()))
    }
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
        let (lines, init) = Module::read(text).thread("t0_P0", 3, &params)?;
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

    #[test]
    fn an_instruction_without_a_meaning_is_refused_by_name() {
        let text = TEXT.replace("flat_store_dword v[2:3], v4", "s_barrier");
        let refusal = made(&text, &["x"]).expect_err("refused").text();
        assert!(refusal.contains("s_barrier"), "{refusal}");
        let many: Vec<&str> = std::iter::repeat_n("x", 17).collect();
        assert!(made(TEXT, &many).expect_err("many").text().contains("17 parameters"));
    }
}
