//! Finds the suspected pass on machine code, which is not simulated: a pass that changed the order
//! or the kind of a function's accesses and barriers.
//!
//! Accesses are compared along the paths through a function: where blocks are laid out in another
//! order, or doubled, nothing changes. The effect of a pass is read from the printed memory operands (`load acquire (s32)`), from the
//! names of barriers and atomic instructions, which say what is computed, and from results that go
//! into the zero register. Dumps that agree in these are taken to be equal. The result is therefore
//! a suspicion, with its strength and its reason. It does not know models.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::operation::{BY, differ};
use litmake_toolchain::compile::Frame;
use litmake_toolchain::dumps::Dump;

/// The passes on machine code that changed accesses.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Suspects {
    /// The pass of instruction selection.
    pub selection: String,
    /// Whether all later passes kept the names of the instructions that access memory or are barriers, and their order.
    #[serde(skip)]
    pub kept: bool,
    /// The later passes that changed accesses, in order.
    pub changes: Vec<Change>,
}

/// A pass on machine code that changed accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// LLVM's name for the pass.
    pub pass: String,
    /// The kind of the change.
    pub how: How,
    /// How often the pass ran on this function before.
    pub earlier: usize,
    /// The function that it changed.
    pub function: String,
    /// The accesses before it.
    pub before: Vec<String>,
    /// The accesses after it.
    pub after: Vec<String>,
    /// The function before the pass, as the compiler printed it.
    #[serde(skip)]
    pub dump_before: String,
    /// The function after the pass, as the compiler printed it.
    #[serde(skip)]
    pub dump_after: String,
}

/// The kinds of changes to a list of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Accesses are removed, and none is added.
    Removed,
    /// The accesses are in another order.
    Reordered,
    /// A result goes into the zero register that was kept before.
    Dropped,
    /// An instruction computes something else, according to its name: `nand` in place of `add`.
    Changed,
    /// Other accesses replace some: pseudo-instructions are expanded, accesses are joined or
    /// doubled.
    #[default]
    Replaced,
}

impl How {
    pub(crate) fn of(before: &[String], after: &[String]) -> How {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        let (old, new) = (sorted(before), sorted(after));
        let dropped = |list: &[String]| list.iter().filter(|a| a.ends_with(DROPPED)).count();
        let changed = || before.iter().zip(after).any(|(old, new)| differ(old, new));
        match () {
            () if old == new => How::Reordered,
            () if old.len() == new.len() && changed() => How::Changed,
            () if dropped(after) > dropped(before) => How::Dropped,
            () if new.len() < old.len() && new.iter().all(|a| old.contains(a)) => How::Removed,
            () => How::Replaced,
        }
    }

    fn said(self) -> &'static str {
        match self {
            How::Removed => "removes accesses",
            How::Reordered => "reorders accesses",
            How::Dropped => "drops the result of an access into the zero register",
            How::Changed => "changes what an access computes",
            How::Replaced => "replaces accesses by others",
        }
    }
}

/// The strength of a suspicion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// The evidence supports it.
    Likely,
    /// The evidence does not contradict it.
    Possible,
}

impl Change {
    /// The change in words.
    pub fn said(&self) -> String {
        format!("{} {} of {}", self.pass, self.how.said(), self.function)
    }
}

impl Suspects {
    /// The suspected change: the last that loses something, or else the last.
    pub fn suspect(&self) -> Option<&Change> {
        let loses = |c: &&Change| c.how != How::Replaced;
        self.changes.iter().rev().find(loses).or(self.changes.last())
    }

    /// All changes: those of a pass that is named by other means first, then the suspected one, then
    /// from the last to the first.
    pub fn by_suspicion(&self, named: &str) -> Vec<&Change> {
        let first = self.changes.iter().rev().find(|c| c.pass == named).or(self.suspect());
        let others =
            self.changes.iter().rev().filter(|c| !first.is_some_and(|f| std::ptr::eq(*c, f)));
        first.into_iter().chain(others).collect()
    }

    /// Whether a pass changed accesses.
    pub fn has(&self, pass: &str) -> bool {
        self.changes.iter().any(|change| change.pass == pass)
    }

    /// The suspected pass, the strength of the suspicion, and the reason.
    pub fn verdict(&self) -> (String, Sure, &'static str) {
        let Some(suspect) = self.suspect() else {
            let why = "likely: every later pass keeps the order and the kind of all accesses";
            return (self.selection.clone(), Sure::Likely, why);
        };
        let loses = self.changes.iter().filter(|c| c.how != How::Replaced).count();
        let (sure, why) = match (suspect.how, loses) {
            (How::Replaced, _) => (
                Sure::Possible,
                "possible: it replaces accesses by others, and no later pass changes any",
            ),
            (_, 1) => (
                Sure::Likely,
                "likely: it alone loses, drops, reorders or changes accesses after instruction selection",
            ),
            _ => (
                Sure::Possible,
                "possible: it is the last of several passes that lose, drop, reorder or change accesses",
            ),
        };
        (suspect.pass.clone(), sure, why)
    }
}

/// The effects of passes on machine code on the threads of a test, or on the one to blame; `None` if
/// nothing was printed.
pub fn suspects(dumps: &[Dump], frame: &Frame, blamed: Option<usize>) -> Option<Suspects> {
    let mut out = Suspects { kept: true, ..Suspects::default() };
    let mut found = false;
    let threads = frame.threads.iter().enumerate();
    for (thread, (function, _)) in threads.filter(|(t, _)| blamed.is_none_or(|b| b == *t)) {
        // Before selection there are functions without blocks.
        let is_code = |d: &&Dump| of(d.text) == Some(function) && d.text.contains("\nbb.");
        let own = dumps.iter().filter(|d| d.machine).filter(is_code);
        let mut before: Option<BTreeSet<Vec<String>>> = None;
        let mut selected: Option<BTreeSet<Vec<String>>> = None;
        let mut text = "";
        let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
        for dump in own {
            let times = ran.entry(dump.pass).or_default();
            *times += 1;
            let names = paths(dump.text, name);
            out.kept &= *selected.get_or_insert_with(|| names.clone()) == names;
            let after = paths(dump.text, access);
            match before {
                None if out.selection.is_empty() => out.selection = dump.pass.to_string(),
                Some(old) if old != after => {
                    // The first path that only one of them has.
                    let only = |a: &BTreeSet<Vec<String>>, b: &BTreeSet<Vec<String>>| {
                        a.difference(b).next().or(a.first()).cloned().unwrap_or_default()
                    };
                    let (before, after) = (only(&old, &after), only(&after, &old));
                    out.changes.push(Change {
                        pass: dump.pass.to_string(),
                        // The expansion of a pseudo-instruction may lack a description of its accesses.
                        how: match How::of(&before, &after) {
                            How::Removed if dump.pass.contains("pseudo") => How::Replaced,
                            how => how,
                        },
                        earlier: *times - 1,
                        function: format!("P{thread}"),
                        before,
                        after,
                        dump_before: text.trim().to_string(),
                        dump_after: dump.text.trim().to_string(),
                    });
                }
                _ => {}
            }
            text = dump.text;
            found = true;
            before = Some(after);
        }
    }
    found.then_some(out)
}

/// The function of a dump of machine code.
fn of(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|l| l.strip_prefix("# Machine code for function "))?;
    line.split(':').next()
}

/// Registers that discard results.
const ZERO: &[&str] = &["$wzr", "$xzr", "$x0"];

/// Parts of the names of barriers, in capitals.
const BARRIERS: &[&str] = &[
    "FENCE",
    "DMB",
    "DSB",
    "SYNC",
    "MEMBARRIER",
    "ISB",
    "EIEIO",
    // Of AMD's GPUs: waits, write-backs, and what empties caches.
    "S_WAIT",
    "_WBL2",
    "_WBINVL1",
    "GLOBAL_WB",
    "BUFFER_INV",
    "GL0_INV",
    "GL1_INV",
    "GLOBAL_INV",
];

/// A block of machine code: its accesses and barriers, and the blocks that can follow it.
#[derive(Default)]
struct Block {
    accesses: Vec<String>,
    next: Vec<usize>,
}

/// How many paths through a function are compared.
const PATHS: usize = 256;

/// The accesses and barriers along each path through a function, as `told` gives them. A path visits a block
/// once, so that it takes no loop twice.
fn paths(text: &str, told: fn(&str) -> Option<String>) -> BTreeSet<Vec<String>> {
    let mut blocks: BTreeMap<usize, Block> = BTreeMap::new();
    let mut order: Vec<usize> = Vec::new();
    for line in text.lines() {
        let line = slotless(line.trim());
        if let Some(n) = line.strip_prefix("bb.").and_then(number) {
            order.push(n);
            blocks.entry(n).or_default();
        } else if let Some(block) = order.last().and_then(|n| blocks.get_mut(n)) {
            match line.strip_prefix("successors:") {
                Some(list) => block.next.extend(list.split("%bb.").skip(1).filter_map(number)),
                None => block.accesses.extend(told(line)),
            }
        }
    }
    let mut out = BTreeSet::new();
    let mut open: Vec<(Vec<usize>, Vec<String>)> =
        order.first().map(|n| (vec![*n], Vec::new())).into_iter().collect();
    while let Some((visited, mut so_far)) = open.pop() {
        let Some(block) = visited.last().and_then(|n| blocks.get(n)) else { continue };
        so_far.extend(block.accesses.iter().cloned());
        let next: Vec<usize> =
            block.next.iter().copied().filter(|n| !visited.contains(n)).collect();
        if next.is_empty() || out.len() + open.len() >= PATHS {
            out.insert(so_far);
            continue;
        }
        let longer = |n: usize| ([&visited[..], &[n]].concat(), so_far.clone());
        open.extend(next.into_iter().map(longer));
    }
    out
}

/// The number at the beginning of a text.
fn number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// A line without the number that some dumps give instructions and blocks: `64B`.
fn slotless(line: &str) -> &str {
    match line.split_once('\t') {
        Some((slot, rest)) if slot.ends_with('B') => rest.trim(),
        _ => line,
    }
}

/// Marks an access whose result is dropped.
pub(crate) const DROPPED: &str = ", its result dropped into the zero register";

/// The parts of a line of machine code.
struct Parts<'a> {
    results: &'a str,
    /// The instruction without its results.
    rest: &'a str,
    /// The name of the instruction.
    name: &'a str,
    barrier: bool,
    /// The memory operands.
    kinds: Vec<String>,
}

fn parts(line: &str) -> Option<Parts<'_>> {
    let (code, memory) = line.split_once(" :: ").unwrap_or((line, ""));
    let (results, rest) = code.split_once(" = ").unwrap_or(("", code));
    let name = rest.split([' ', ',']).find(|w| w.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let barrier = BARRIERS.iter().any(|b| name.contains(b));
    Some(Parts { results, rest, name, barrier, kinds: memory_kinds(memory) })
}

/// The name of an instruction that accesses memory or is a barrier.
fn name(line: &str) -> Option<String> {
    let parts = parts(line)?;
    (parts.barrier || !parts.kinds.is_empty()).then(|| parts.name.to_string())
}

/// An access or a barrier: its kind, order and size.
fn access(line: &str) -> Option<String> {
    let Parts { results, rest, name, barrier, kinds } = parts(line)?;
    if kinds.is_empty() {
        return barrier.then(|| {
            rest.split(" implicit").next().unwrap_or(rest).trim_end_matches(',').to_string()
        });
    }
    let results = results.split(',').map(|r| r.trim().trim_start_matches("early-clobber ").trim());
    let dropped = results.clone().any(|r| {
        let name = r.trim_start_matches("dead ").split(':').next().unwrap_or("");
        ZERO.contains(&name)
    });
    // The name adds information for atomic instructions only.
    let atomic = kinds.iter().any(|k| k.split(' ').count() > 2);
    let mut out = kinds.join(" + ");
    if atomic && kinds.iter().any(|k| k.contains("load store")) || kinds.len() > 1 {
        out.push_str(&format!("{BY}{name}"));
    }
    if dropped {
        out.push_str(DROPPED);
    }
    Some(out)
}

/// The memory operands of an instruction: kind, order and size of each, without those on the stack
/// and in tables of constants.
fn memory_kinds(memory: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = memory;
    while let Some(from) = rest.find('(') {
        let mut depth = 0usize;
        let end = rest[from..].find(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(end) = end else { break };
        let inner = &rest[from + 1..from + end];
        rest = &rest[from + end + 1..];
        let private = [
            "%stack.",
            "%fixed-stack.",
            "constant-pool",
            "from got",
            "from stack",
            "into stack",
            "from jump-table",
        ];
        if private.iter().any(|p| inner.contains(p)) {
            continue;
        }
        // The words up to the size: `load acquire (s32)`, or `load 4` before LLVM 13.
        let words: Vec<&str> = inner
            .split(" from ")
            .next()
            .and_then(|t| t.split(" into ").next())
            .and_then(|t| t.split(" on ").next())
            .unwrap_or("")
            .split(' ')
            .filter(|w| !matches!(*w, "dereferenceable" | "invariant" | "non-temporal"))
            .collect();
        let first = words.first().copied().unwrap_or("");
        if matches!(first, "load" | "store" | "volatile") {
            out.push(words.join(" "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_known_by_kind_order_and_size() {
        for (line, expected) in [
            (
                "%0:gr32 = MOV32rm %1:gr64, 1, $noreg, 0, $noreg :: (load monotonic (s32) from %ir.0)",
                Some("load monotonic (s32)"),
            ),
            (
                "MOV32mi %2:gr64, 1, $noreg, 0, $noreg, 1 :: (store release (s32) into %ir.1, !tbaa !5)",
                Some("store release (s32)"),
            ),
            ("MEMBARRIER", Some("MEMBARRIER")),
            ("DMB 9", Some("DMB 9")),
            ("%3:gr64 = COPY $rdx", None),
            ("STRWui %0, %stack.0, 0 :: (store (s32) into %stack.0)", None),
            (
                "dead $wzr = SWPLW killed renamable $w8, killed renamable $x1 :: (load store release monotonic (s32) on %ir.1)",
                Some(
                    "load store release monotonic (s32) by SWPLW, its result dropped into the zero register",
                ),
            ),
        ] {
            assert_eq!(access(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn what_changed_has_a_kind() {
        let list = |words: &[&str]| words.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        let how = |a: &[&str], b: &[&str]| How::of(&list(a), &list(b));
        assert_eq!(how(&["a", "b"], &["b", "a"]), How::Reordered);
        assert_eq!(how(&["a", "b"], &["b"]), How::Removed);
        assert_eq!(how(&["a"], &["b", "c"]), How::Replaced);
        assert_eq!(how(&["a by LDADDW"], &["a by LDCLRW"]), How::Changed);
        assert_eq!(how(&["a by ATOMIC_LOAD_ADD_I32"], &["a by LDADDW"]), How::Replaced);
    }

    #[test]
    fn the_layout_of_blocks_is_no_order() {
        let load = |from: &str| format!("  %0 = LDR %1 :: (load (s32) from {from})\n");
        let store = "  STLR %0 :: (store release (s32) into %ir.f)\n";
        let text = |blocks: &[&str]| {
            format!("# Machine code for function f:\n{}\n# End\n", blocks.concat())
        };
        let first = format!(
            "bb.0.entry:\n  successors: %bb.1(0x4), %bb.2(0x4); %bb.1(50.00%)\n{}",
            load("%ir.a")
        );
        let second = format!(
            "bb.1 (%ir-block.1):\n; predecessors: %bb.0\n  successors: %bb.2(0x8)\n{store}"
        );
        let third = format!("\n64B\tbb.2:\n{}", load("%ir.b"));
        let plain = paths(&text(&[&first, &second, &third]), access);
        assert_eq!(plain.len(), 2, "{plain:?}");
        assert_eq!(plain, paths(&text(&[&first, &third, &second]), access));
        // The end is doubled.
        let tail = format!("bb.1:\n{store}{}", load("%ir.b"));
        assert_eq!(plain, paths(&text(&[&first, &tail, &third]), access));
        // A load that moves above the store is another order.
        let moved = format!("bb.1:\n{}{store}", load("%ir.b"));
        assert_ne!(plain, paths(&text(&[&first, &moved, &third]), access));
    }

    #[test]
    fn the_pass_that_drops_a_result_is_suspected() {
        let text = |line: &str| {
            format!("# Machine code for function f: IsSSA\nbb.0:\n  {line}\n  RET undef $lr\n")
        };
        let swap = "= SWPLW %1, %2 :: (load store release monotonic (s32) on %ir.1)";
        let texts = [
            ("Selection", text(&format!("%0:gpr32 {swap}"))),
            ("Scheduling", text(&format!("%3:gpr32 {swap}"))),
            ("Dead defs", text(&format!("$wzr {swap}"))),
        ];
        let dumps: Vec<Dump> =
            texts.iter().map(|(pass, text)| Dump { pass, on: "", machine: true, text }).collect();
        let frame = Frame {
            init: Vec::new(),
            globals: Vec::new(),
            threads: vec![("f".into(), Vec::new())],
            locals: Vec::new(),
        };
        let suspects = suspects(&dumps, &frame, None).expect("there are dumps");
        assert_eq!(suspects.selection, "Selection");
        assert_eq!(suspects.verdict().0, "Dead defs");
        assert_eq!(suspects.changes[0].how, How::Dropped);
        let only = super::suspects(&dumps[..2], &frame, None).expect("there are dumps");
        assert_eq!(only.verdict().0, "Selection");
        assert!(super::suspects(&[], &frame, None).is_none());
    }
}
