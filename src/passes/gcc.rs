//! Finds the suspected pass in dumps of gcc, which are not simulated: the pass in which the atomic
//! operations of a thread no longer match the source.
//!
//! In trees, an operation is a call with its orders (`__atomic_store_4 (x, 1, 3)`), so that each
//! dump shows the operations. In RTL it is a pattern, with its orders as operands or as barriers
//! beside it, and its name says what is computed (`sync_old_add_12`). The result is a suspicion and
//! at most likely. It does not know models.

use litmake_toolchain::dumps::Written;

use super::machine::{How, Sure};
use super::operation::{BY, computed, plain};

/// A suspected pass and the evidence.
#[derive(Clone, Debug)]
pub struct Trail {
    /// gcc's name for the pass.
    pub pass: String,
    /// Whether it works on RTL, which is specific to the target.
    pub rtl: bool,
    /// How strong the suspicion is.
    pub sure: Sure,
    /// The evidence in words.
    pub why: &'static str,
    /// The function that shows it.
    pub function: String,
    /// The operation, if there is only one candidate.
    pub operation: String,
    /// The operations before the pass.
    pub before: Vec<String>,
    /// The operations after it.
    pub after: Vec<String>,
    /// The function before the pass, as gcc printed it.
    pub dump_before: String,
    /// The function after the pass, as gcc printed it.
    pub dump_after: String,
    /// The number of dumps.
    pub dumps: usize,
}

/// The pass that makes RTL from trees, and the pass that writes instructions.
const EXPAND: &str = "expand";
const FINAL: &str = "final";

/// A pass of gcc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// gcc's name for the pass.
    pub name: String,
    /// Whether it works on RTL.
    pub rtl: bool,
}

impl Pass {
    /// Whether gcc cannot work without the pass, because it makes RTL or writes instructions.
    pub fn is_needed(&self) -> bool {
        self.rtl && (self.name == EXPAND || self.name == FINAL)
    }

    /// The option that disables the pass.
    pub fn disabled(&self) -> String {
        format!("-fdisable-{}-{}", if self.rtl { "rtl" } else { "tree" }, self.name)
    }
}

/// The passes other than `but` that changed the code of a thread's function.
pub fn changing(dumps: &[Written], threads: &[(usize, String)], but: &Pass) -> Vec<Pass> {
    let changes = |from: &Written, to: &Written| {
        threads.iter().any(|(_, function)| {
            let code = |dump: &Written| {
                let text = section(&dump.text, function)?;
                // If a dump does not list all code, its text is compared instead.
                match dump.rtl {
                    true => listing(&text).or(Some(vec![text])),
                    false => Some(vec![body(&text).unwrap_or(&text).to_string()]),
                }
            };
            code(from) != code(to)
        })
    };
    let pairs = dumps.windows(2).filter(|pair| changes(&pair[0], &pair[1]));
    let passes = pairs.map(|pair| Pass { name: pair[1].pass.clone(), rtl: pair[1].rtl });
    passes.filter(|pass| pass != but && !pass.is_needed()).collect()
}

/// Finds the suspected pass from the dumps of some threads, given the names of their functions;
/// `None` if the dumps show nothing.
pub fn trail(dumps: &[Written], threads: &[(usize, String)]) -> Option<Trail> {
    let mut found: Vec<Trail> =
        threads.iter().filter_map(|(n, function)| of_thread(dumps, *n, function)).collect();
    // The thread with the strongest evidence. If threads accuse different passes, none of them is
    // likely.
    found.sort_by_key(|t| (t.sure == Sure::Possible, t.rtl));
    let passes: std::collections::BTreeSet<&str> =
        found.iter().filter(|t| t.sure == Sure::Likely).map(|t| &*t.pass).collect();
    let several = passes.len() > 1;
    let mut first = found.into_iter().next()?;
    if several {
        first.sure = Sure::Possible;
        first.why = "possible: what other threads ask changes in another pass";
    }
    Some(first)
}

/// A thread's function in one dump.
struct Step<'a> {
    dump: &'a Written,
    text: String,
    operations: Vec<String>,
}

fn of_thread(dumps: &[Written], thread: usize, function: &str) -> Option<Trail> {
    let steps: Vec<Step> = dumps
        .iter()
        .filter_map(|dump| {
            let text = section(&dump.text, function)?;
            let operations = if dump.rtl { patterns(&text)? } else { calls(body(&text)?) };
            Some(Step { dump, text, operations })
        })
        .collect();
    let asked = &steps.first().filter(|s| !s.dump.rtl)?.operations;
    // Operations with an order that can be lost: neither relaxed nor plain.
    let ordered: Vec<&String> = asked.iter().filter(|o| is_ordered(o)).collect();
    // Without such operations, a pass can still remove, move or change an operation.
    let meant = match ordered.is_empty() {
        true => asked.iter().filter(|o| *o != plain(o)).collect(),
        false => ordered.clone(),
    };
    let function = format!("P{thread}");
    let make = |from: &Step, to: &Step, sure, why| Trail {
        pass: to.dump.pass.clone(),
        rtl: to.dump.rtl,
        sure,
        why,
        function: function.clone(),
        operation: match meant[..] {
            [one] => plain(one).to_string(),
            _ => String::new(),
        },
        before: from.operations.clone(),
        after: to.operations.clone(),
        dump_before: from.text.trim().to_string(),
        dump_after: to.text.trim().to_string(),
        dumps: dumps.len(),
    };
    let mut losses = Vec::new();
    for pair in steps.windows(2) {
        let [from, to] = pair else { continue };
        let differs = from.operations != to.operations;
        if from.dump.rtl == to.dump.rtl && differs {
            let how = How::of(&from.operations, &to.operations);
            if how != How::Replaced || !to.dump.rtl {
                losses.push((from, to, how));
            }
        }
    }
    if let Some((from, to, how)) = losses.first() {
        let (sure, why) = match (losses.len(), how) {
            (1, How::Changed) => (
                Sure::Likely,
                "likely: its dump is the first and only one in which an operation computes something else",
            ),
            (1, _) => (
                Sure::Likely,
                "likely: its dump is the first and only one that lacks or moves operations",
            ),
            _ => (
                Sure::Possible,
                "possible: its dump is the first of several that lack, move or change operations",
            ),
        };
        return Some(make(from, to, sure, why));
    }
    if ordered.is_empty() {
        return None;
    }
    // The dumps show no lost operation: RTL was made wrong, or the instructions were.
    let last_tree = steps.iter().rev().find(|s| !s.dump.rtl)?;
    let expand = steps.iter().find(|s| s.dump.pass == EXPAND)?;
    let last = steps.iter().rev().find(|s| s.dump.rtl && s.dump.pass != FINAL)?;
    let carries = |step: &Step| step.operations.iter().any(|o| carries_order(o));
    let has_barrier = |step: &Step| step.operations.iter().any(|o| is_barrier(o));
    Some(match (carries(last), has_barrier(expand)) {
        (true, false) => {
            let why = "likely: every dump asks for the orders of the source as operands, up to the instructions that \
                       are written of them";
            let written = steps.iter().find(|s| s.dump.pass == FINAL).unwrap_or(last);
            Trail { pass: FINAL.into(), ..make(last, written, Sure::Likely, why) }
        }
        (false, _) => {
            let why = "likely: every dump of trees asks for the orders of the source, no operand has them in RTL, and no \
                       later pass loses or moves an access or a barrier";
            make(last_tree, expand, Sure::Likely, why)
        }
        (true, true) => {
            let why = "possible: the thread has orders as operands and as barriers, and no later pass changes them";
            make(last_tree, expand, Sure::Possible, why)
        }
    })
}

/// The part of a dump that belongs to a function.
fn section(text: &str, function: &str) -> Option<String> {
    let mut own = false;
    let mut out = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(";; Function ") {
            own = name.split([' ', '(']).next() == Some(function);
            if own {
                out.clear();
            }
        }
        if own {
            out.push_str(line);
            out.push('\n');
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The code of a function in trees, without remarks of the pass; `None` before the function has
/// basic blocks, because a statement can then appear several times.
fn body(section: &str) -> Option<&str> {
    let (_, body) = section.rsplit_once("\n{\n")?;
    body.contains("<bb ").then_some(body)
}

/// The orders of C by gcc's numbers.
const ORDERS: [&str; 6] = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"];

fn order(word: &str) -> Option<&'static str> {
    // Higher bits are hints for the target.
    let number: usize = word.trim().parse().ok()?;
    ORDERS.get(number & 0xff).copied()
}

/// The atomic operations in a function in trees, in order: `store release 32`,
/// `read-modify-write relaxed 8 by add`.
fn calls(text: &str) -> Vec<String> {
    text.lines().filter_map(call).collect()
}

fn call(line: &str) -> Option<String> {
    // `(D)` marks the initial value of a name.
    let line = line.replace("(D)", "");
    let (internal, at) = match (line.find("__atomic_"), line.find(".ATOMIC_COMPARE_EXCHANGE (")) {
        (Some(at), _) => (false, at),
        (None, Some(at)) => (true, at),
        (None, None) => return None,
    };
    let (name, rest) = line[at..].split_once(" (")?;
    let args: Vec<&str> = rest.split_once(')')?.0.split(", ").collect();
    // A variable of the front end can have such a name; only a call has arguments.
    let from_end = |n: usize| args.len().checked_sub(n).and_then(|i| args.get(i)).copied();
    if internal {
        let bytes: u32 = args.get(3)?.parse().ok()?;
        let (success, failure) = (order(from_end(2)?)?, order(from_end(1)?)?);
        return Some(format!("compare-exchange {success} {failure} {}", (bytes & 0xff) * 8));
    }
    let name = name.strip_prefix("__atomic_")?;
    if name == "thread_fence" {
        return Some(format!("fence {}", order(from_end(1)?)?));
    }
    let (kind, bytes) = name.rsplit_once('_')?;
    let bits = bytes.parse::<u32>().ok()? * 8;
    let last = order(from_end(1)?)?;
    Some(match kind {
        "load" | "store" => format!("{kind} {last} {bits}"),
        "compare_exchange" => {
            format!("compare-exchange {} {last} {bits}", order(from_end(2)?)?)
        }
        // Other code says whether the old or the new value is returned.
        _ => match computed(kind) {
            Some(what) => format!("read-modify-write {last} {bits}{BY}{what}"),
            None => format!("read-modify-write {last} {bits}"),
        },
    })
}

fn is_ordered(operation: &str) -> bool {
    ORDERS[1..].iter().any(|order| operation.split(' ').any(|word| word == *order))
}

/// Parts of the names of patterns that are atomic or order others.
const ATOMIC: &[&str] = &[
    "ATOMIC",
    "SYNC_OLD_OP",
    "SYNC_NEW_OP",
    "_LOCK",
    "COMPARE_AND_SWAP",
    "EXCHANGE",
    "XCHG",
    "_LL",
    "_SC",
    "_LX",
    "_SX",
    "LDA",
    "STL",
    "CAS",
    "SWP",
    "MOVA",
];
const BARRIERS: &[&str] = &["SYNC", "FENCE", "BARRIER", "DMB"];

/// The patterns of a function in RTL that access shared memory or order accesses, in order; `None`
/// if the dump does not list all instructions in sequence.
fn patterns(text: &str) -> Option<Vec<String>> {
    Some(listing(text)?.iter().filter_map(|instruction| pattern(instruction)).collect())
}

/// The last complete list of a function's instructions. Each names its predecessor and successor,
/// and 0 means none. Passes also print parts of the list among their remarks.
fn listing(text: &str) -> Option<Vec<String>> {
    let mut done = None;
    let mut open: Option<Vec<String>> = None;
    let mut last = 0;
    let mut whole = false;
    for line in text.lines().chain([""]) {
        if let Some(list) = open.as_mut().filter(|_| line.starts_with(' ')) {
            if let Some(instruction) = list.last_mut() {
                instruction.push(' ');
                instruction.push_str(line.trim());
            }
            continue;
        }
        if whole {
            done = open.take();
            whole = false;
        }
        let Some((number, before, behind)) = head(line) else { continue };
        match &mut open {
            _ if before == 0 => open = Some(vec![line.to_string()]),
            Some(list) if before == last => list.push(line.to_string()),
            _ => open = None,
        }
        last = number;
        whole = open.is_some() && behind == 0;
    }
    done
}

/// The numbers of an instruction, its predecessor and its successor, if a line begins one:
/// `(insn/f 33 32 5 ...`.
fn head(line: &str) -> Option<(u32, u32, u32)> {
    let mut words = line.strip_prefix('(')?.split(' ').skip(1);
    let mut number = || words.next()?.parse().ok();
    Some((number()?, number()?, number()?))
}

/// The effect of an instruction on shared memory: the name of its pattern with the orders among the
/// operands, and the name of the whole instruction if that says what is computed.
fn pattern(text: &str) -> Option<String> {
    let names: Vec<&str> = text
        .split([' ', ')', ']', '('])
        .filter(|w| w.starts_with("UNSPEC"))
        .filter(|w| ATOMIC.iter().chain(BARRIERS).any(|part| w.contains(part)))
        .collect();
    let volatile = text.contains("(mem/v") && !text.contains("(mem/v:BLK (scratch");
    match names.first() {
        None if volatile => {
            let at = text.find("(mem/v")?;
            let kind = if text[..at].ends_with("(set ") { "store" } else { "load" };
            Some(kind.to_string())
        }
        None => None,
        Some(name) => {
            let at = text.find(name)?;
            // Operands come before the name, and those after the last register are orders.
            let operands = text[..at].rsplit("(reg").next().unwrap_or("");
            // A number inside a sum is not an order.
            let numbers: Vec<&str> = operands
                .split("(const_int ")
                .skip(1)
                .filter(|n| n.split_once(')').is_none_or(|(_, rest)| !rest.starts_with(')')))
                .filter_map(|n| n.split([' ', ')']).next())
                .collect();
            let compares = ["COMPARE_AND_SWAP", "CMPSW", "CAS"].iter().any(|c| name.contains(c));
            let most = if compares { 2 } else { 1 };
            let orders: Vec<&str> =
                numbers.iter().rev().take(most).rev().filter_map(|n| order(n)).collect();
            let words = std::iter::once(*name).chain(orders);
            let mut out = words.collect::<Vec<_>>().join(" ");
            // Instructions have no names until they are recognised.
            let whole = text[at..].split_once('{').and_then(|(_, rest)| rest.split('}').next());
            if let Some(whole) = whole.filter(|name| computed(name).is_some()) {
                out.push_str(BY);
                out.push_str(whole);
            }
            Some(out)
        }
    }
}

fn carries_order(pattern: &str) -> bool {
    !is_barrier(pattern) && is_ordered(pattern)
}

fn is_barrier(pattern: &str) -> bool {
    BARRIERS.iter().any(|b| pattern.contains(b)) && !ATOMIC.iter().any(|a| pattern.contains(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_say_what_is_asked() {
        for (line, expected) in [
            ("  __atomic_store_4 (y_4(D), 1, 3); [tail call]", Some("store release 32")),
            ("  _1 = __atomic_load_8 (x_8, 0);", Some("load relaxed 64")),
            (
                "  _3 = __atomic_compare_exchange_4 (y_3, e_5, 2, 0, 3, 2);",
                Some("compare-exchange release acquire 32"),
            ),
            (
                "  _9 = .ATOMIC_COMPARE_EXCHANGE (y_3, 5, 2, 4, 3, 2);",
                Some("compare-exchange release acquire 32"),
            ),
            ("  __atomic_fetch_add_2 (x_1, 0, 4);", Some("read-modify-write acq_rel 16 by add")),
            ("  _2 = __atomic_or_fetch_1 (x_1, 3, 0);", Some("read-modify-write relaxed 8 by or")),
            ("  __atomic_thread_fence (5);", Some("fence seq_cst")),
            ("  atomic_int __atomic_store_tmp;", None),
        ] {
            assert_eq!(call(line).as_deref(), expected, "{line}");
        }
    }

    fn dump(number: u32, pass: &str, rtl: bool, body: &str) -> Written {
        let text = format!(";; Function f (f, funcdef_no=0)\n{body}\n;; Function g (g)\nother\n");
        Written { number, pass: pass.into(), rtl, text }
    }

    const TREE: &str =
        "{\n  <bb 2> :\n  __atomic_compare_exchange_4 (y_3(D), e_5(D), 2, 0, 3, 2);\n}";

    /// Remarks of a pass on a function, before its code.
    const REMARKS: &str = "scanning: __atomic_compare_exchange_4 (y_3(D), e_5(D), 2, 0, 0, 0);\n";

    /// Of a target whose instructions have the orders as operands.
    const OPERANDS: &str = "(insn 13 0 0 2 (parallel [\n            (set (reg:SI 78)\n                (mem/v:SI (reg:DI 73) \
         [-1  S4 A32]))\n            (set (mem/v:SI (reg:DI 73))\n                (unspec_volatile:SI [\n                        \
         (reg:SI 76)\n                        (const_int 3 [0x3])\n                        (const_int 2 [0x2])\n                    \
         ] UNSPEC_COMPARE_AND_SWAP))\n        ]) -1\n     (nil))";

    /// As Power has it: a barrier, and a loop.
    const BARRIER: &str = "(insn 12 0 14 2 (set (mem/v:BLK (scratch:DI) [0  A8])\n        (unspec:BLK [\n                \
         (mem/v:BLK (scratch:DI) [0  A8])\n            ] UNSPEC_LWSYNC)) -1\n     (nil))\n(insn 14 12 0 4 (set (reg:SI 126)\n        \
         (unspec_volatile:SI [\n                (mem/v:SI (reg:DI 121) [-1  S4 A32])\n            ] UNSPECV_LL)) -1\n     (nil))";

    /// A sum in memory as MIPS has it, before an instruction is recognised and after, and what gcc
    /// 16 made of it.
    const SUM: &str = "(insn 17 0 0 2 (parallel [\n            (set (reg:SI 209)\n                (mem/v:SI (reg:DI 201) [-1  \
         S4 A32]))\n            (set (mem/v:SI (reg:DI 201) [-1  S4 A32])\n                (unspec_volatile:SI [\n                        \
         (reg:SI 205)\n                        (reg:SI 206)\n                        (plus:SI (reg:SI 209)\n                            \
         (reg:SI 208))\n                    ] UNSPEC_SYNC_OLD_OP_12))\n            (clobber (scratch:SI))\n        ]) \"t.c\":13:12 -1\n     \
         (nil))";

    fn recognised(text: &str, name: &str) -> String {
        text.replace("\"t.c\":13:12 -1", &format!("\"t.c\":13:12 810 {{{name}}}"))
    }

    #[test]
    fn a_pass_after_which_something_else_is_computed_is_found() {
        let tree = "{\n  <bb 2> :\n  _1 = __atomic_fetch_add_1 (x_4(D), 1, 0);\n}";
        let add = recognised(SUM, "sync_old_add_12");
        let other = SUM.replace("(plus:SI (reg:SI 209)\n", "").replace("208))", "208)");
        let nand = recognised(&other, "sync_old_nand_12");
        let start = [dump(1, "optimized", false, tree), dump(2, "expand", true, SUM)];
        let then = |list: &[(&str, &str)]| {
            let more = list.iter().enumerate();
            let more = more.map(|(i, (pass, code))| dump(3 + i as u32, pass, true, code));
            start.iter().cloned().chain(more).collect::<Vec<_>>()
        };
        let operation = "read-modify-write relaxed 8".to_string();
        let wrong = then(&[("vregs", &add), ("combine", &nand), ("final", &nand)]);
        assert_eq!(found(&wrong), ("combine".into(), Sure::Likely, operation.clone()));
        let trail = trail(&wrong, &[(1, "f".to_string())]).expect("a pass");
        assert_eq!(trail.before, ["UNSPEC_SYNC_OLD_OP_12 by sync_old_add_12"]);
        assert_eq!(trail.after, ["UNSPEC_SYNC_OLD_OP_12 by sync_old_nand_12"]);
        // The same in trees; other code says which value is returned.
        let new = tree.replace("fetch_add", "add_fetch");
        let sub = tree.replace("fetch_add", "fetch_sub");
        let trees = |last: &str| [dump(1, "a", false, tree), dump(2, "b", false, last)];
        assert_eq!(found(&trees(&sub)), ("b".into(), Sure::Likely, operation));
        assert!(super::trail(&trees(&new), &[(1, "f".to_string())]).is_none());
        // If all compute the same and nothing orders accesses, no pass is suspected.
        let right = then(&[("vregs", &add), ("combine", &add), ("final", &add)]);
        assert!(super::trail(&right, &[(1, "f".to_string())]).is_none());
    }

    #[test]
    fn a_number_in_a_sum_is_no_order() {
        let constant = SUM.replace("(reg:SI 208)", "(const_int 3 [0x3])");
        let text = section(&dump(1, "p", true, &constant).text, "f").expect("a function");
        assert_eq!(patterns(&text).expect("instructions"), ["UNSPEC_SYNC_OLD_OP_12"]);
    }

    fn found(dumps: &[Written]) -> (String, Sure, String) {
        let trail = trail(dumps, &[(1, "f".to_string())]).expect("there are dumps");
        assert_eq!(trail.function, "P1");
        (trail.pass, trail.sure, trail.operation)
    }

    #[test]
    fn patterns_say_what_is_asked() {
        let text = |body: &str| section(&dump(1, "p", true, body).text, "f").expect("a function");
        let list = |body: &str| patterns(&text(body)).expect("instructions");
        assert_eq!(list(OPERANDS), ["UNSPEC_COMPARE_AND_SWAP release acquire"]);
        assert_eq!(list(BARRIER), ["UNSPEC_LWSYNC", "UNSPECV_LL"]);
        // A dump with the function listed twice, and one with a partial list.
        let part =
            BARRIER.split_once("\n(insn 14").map(|(part, _)| part).expect("two instructions");
        for body in [format!("{BARRIER}\n{BARRIER}"), format!("{BARRIER}\nsaid:\n{part}\nmore")] {
            assert_eq!(list(&body), ["UNSPEC_LWSYNC", "UNSPECV_LL"]);
        }
        assert_eq!(patterns(&text(part)), None);
        assert_eq!(patterns(&text("nothing")), None);
    }

    #[test]
    fn where_orders_end_is_who_is_suspected() {
        let operation = "compare-exchange release acquire 32".to_string();
        let tree = |n| dump(n, "optimized", false, TREE);
        // The order is lost where RTL begins.
        let said = dump(1, "modref1", false, &format!("{REMARKS}{TREE}"));
        let early = dump(0, "original", false, REMARKS);
        let power = [
            early,
            tree(1),
            said,
            dump(2, "expand", true, BARRIER),
            dump(3, "final", true, BARRIER),
        ];
        assert_eq!(found(&power), ("expand".into(), Sure::Likely, operation.clone()));
        // The order is kept up to the end.
        let ordered =
            [tree(1), dump(2, "expand", true, OPERANDS), dump(3, "final", true, OPERANDS)];
        assert_eq!(found(&ordered), ("final".into(), Sure::Likely, operation.clone()));
        // A pass on trees weakens the order.
        let weaker = dump(2, "fab1", false, &TREE.replace("3, 2);", "0, 0);"));
        let last = dump(3, "expand", true, BARRIER);
        assert_eq!(
            found(&[tree(1), weaker, last]),
            ("fab1".into(), Sure::Likely, operation.clone())
        );
        // A pass on RTL loses the barrier.
        let less = BARRIER
            .split_once("\n(insn 14")
            .map(|(_, rest)| format!("(insn 14{}", rest.replacen(" 12 ", " 0 ", 1)));
        let less = dump(3, "combine", true, &less.expect("two instructions"));
        let row = [tree(1), dump(2, "expand", true, BARRIER), less];
        assert_eq!(found(&row), ("combine".into(), Sure::Likely, operation));
        assert!(trail(&row, &[(0, "missing".to_string())]).is_none());
    }
}
