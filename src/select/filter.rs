//! Filters existing tests by name, dialect, size and the contents of their programs.
//!
//! A word is one condition: `name=MP*`, `arch=C`, `threads=2..3`, `events=..6`, `locations=2`,
//! `uses=atomic_fetch_*`, `without=*_seq_cst`. Names and dialects are alternatives; all other
//! conditions must hold. It does not know where tests come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use globset::{GlobBuilder, GlobMatcher};

use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::{Arch, Body, Test, c};
use litmake_ops::Op;
use litmake_sim::program::{Program, Thread};

/// The keys of conditions.
pub const KEYS: [&str; 7] = ["name", "arch", "threads", "events", "locations", "uses", "without"];

/// A range of numbers, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range(usize, usize);

impl Range {
    fn read(text: &str) -> Option<Range> {
        let number = |t: &str, default| if t.is_empty() { Some(default) } else { t.parse().ok() };
        let (from, to) = match text.split_once("..") {
            Some((a, b)) => (number(a, 0)?, number(b, usize::MAX)?),
            None => (text.parse().ok()?, text.parse().ok()?),
        };
        (from <= to).then_some(Range(from, to))
    }

    fn has(self, n: usize) -> bool {
        (self.0..=self.1).contains(&n)
    }
}

/// One of several conditions of which one has to hold, and whether it held for a test.
#[derive(Clone, Debug)]
struct Alternative<T> {
    what: T,
    word: Source,
    held: Arc<AtomicBool>,
}

/// Whether one of some alternatives holds for a test; notes each that does.
fn any<T>(list: &[Alternative<T>], holds: impl Fn(&T) -> bool) -> bool {
    let mut out = list.is_empty();
    for one in list.iter().filter(|one| holds(&one.what)) {
        one.held.store(true, Ordering::Relaxed);
        out = true;
    }
    out
}

/// A filter of tests; every condition has to hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    names: Vec<Alternative<GlobMatcher>>,
    arches: Vec<Alternative<Arch>>,
    threads: Vec<Range>,
    events: Vec<Range>,
    locations: Vec<Range>,
    uses: Vec<GlobMatcher>,
    without: Vec<GlobMatcher>,
}

impl Filter {
    /// Reads conditions such as `threads=2..3` or `name=*-fence`.
    pub fn read(words: &[Source]) -> Result<Filter> {
        let mut out = Filter::default();
        for word in words {
            out.word(word)?;
        }
        Ok(out)
    }

    fn word(&mut self, word: &Source) -> Result<()> {
        let at = |message: String| Diag::at(word, Span::new(0, word.text.len()), message);
        let Some((key, value)) = word.text.split_once('=') else {
            return Err(at("expected a key, `=` and a value".into())
                .help(format!("such as `threads=2..3`; keys are {}", KEYS.join(", "))));
        };
        let glob = || {
            GlobBuilder::new(value)
                .build()
                .map(|g| g.compile_matcher())
                .map_err(|e| at(e.kind().to_string()))
        };
        let range = || {
            Range::read(value).ok_or_else(|| {
                at(format!("`{value}` is no number, and no range of numbers"))
                    .help("as in `2`, `2..3`, `2..` or `..3`")
            })
        };
        match key {
            "name" => {
                let (what, held) = (glob()?, Arc::default());
                self.names.push(Alternative { what, word: word.clone(), held });
            }
            "arch" => {
                let what = Arch::named(value).ok_or_else(|| {
                    let all: Vec<&str> = Arch::ALL.iter().map(|a| a.name()).collect();
                    at(format!("`{value}` is not a dialect of litmus tests"))
                        .help(format!("the dialects are {}", all.join(", ")))
                })?;
                self.arches.push(Alternative { what, word: word.clone(), held: Arc::default() });
            }
            "threads" => self.threads.push(range()?),
            "events" => self.events.push(range()?),
            "locations" => self.locations.push(range()?),
            "uses" => self.uses.push(glob()?),
            "without" => self.without.push(glob()?),
            other => {
                let diag = at(format!("tests are not kept by `{other}`"));
                return Err(match nearest(other, KEYS.iter().copied()) {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => diag.help(format!("keys are {}", KEYS.join(", "))),
                });
            }
        }
        Ok(())
    }

    /// Whether the filter keeps every test, so that no test needs to be read.
    pub fn is_empty(&self) -> bool {
        let ranges = [&self.threads, &self.events, &self.locations];
        self.names.is_empty()
            && self.arches.is_empty()
            && ranges.into_iter().all(Vec::is_empty)
            && self.uses.is_empty()
            && self.without.is_empty()
    }

    /// Forgets which alternatives held for a test.
    pub fn begin(&self) {
        let held = self.names.iter().map(|a| &a.held).chain(self.arches.iter().map(|a| &a.held));
        held.for_each(|held| held.store(false, Ordering::Relaxed));
    }

    /// An error if an alternative (a name or a dialect) held for none of the tests: the others hide
    /// that it keeps nothing.
    pub fn check_held(&self) -> Result<()> {
        let names = self.names.iter().map(|a| (&a.word, &a.held));
        let arches = self.arches.iter().map(|a| (&a.word, &a.held));
        for (word, held) in names.chain(arches) {
            if !held.load(Ordering::Relaxed) {
                let whole = Span::new(0, word.text.len());
                return Err(Diag::at(word, whole, format!("no test has {}", word.text))
                    .help("other conditions keep some; correct this one, or remove it"));
            }
        }
        Ok(())
    }

    /// Whether a test is kept. A test that cannot be lowered has no events to count, so it is kept
    /// only if the filter does not count.
    pub fn keeps(&self, test: &Test) -> bool {
        if !any(&self.names, |name| name.is_match(&test.name))
            || !any(&self.arches, |arch| *arch == test.arch)
            || !self.threads.iter().all(|r| r.has(test.threads.len()))
        {
            return false;
        }
        if !self.uses.is_empty() || !self.without.is_empty() {
            let words = words(test);
            let used = |g: &GlobMatcher| words.iter().any(|w| g.is_match(w));
            if !self.uses.iter().all(used) || self.without.iter().any(used) {
                return false;
            }
        }
        if self.events.is_empty() && self.locations.is_empty() {
            return true;
        }
        let Ok(program) = Program::new(test) else { return false };
        let locations = program.locations.len();
        let events: usize = program.threads.iter().map(accesses).sum();
        self.locations.iter().all(|r| r.has(locations)) && self.events.iter().all(|r| r.has(events))
    }
}

/// The number of accesses in a thread; of two ways through an instruction, the longer counts.
fn accesses(thread: &Thread) -> usize {
    thread.code.insts.iter().map(|i| in_list(&i.ops)).sum()
}

fn in_list(ops: &[Op]) -> usize {
    let one = |op: &Op| match op {
        Op::Load { .. } | Op::Store { .. } | Op::StoreEx { .. } | Op::Rmw { .. } => 1,
        Op::If { yes, no, .. } => in_list(yes).max(in_list(no)),
        _ => 0,
    };
    ops.iter().map(one).sum()
}

/// The words in a test's programs: names of functions, memory orders, mnemonics, registers.
fn words(test: &Test) -> Vec<String> {
    let mut text = String::new();
    for helper in &test.helpers {
        text.push_str(&c::print_function(helper));
    }
    for body in &test.threads {
        match body {
            Body::C(f) => text.push_str(&c::print_function(f)),
            Body::Asm(lines) => {
                for line in lines {
                    text.push_str(&line.text);
                    text.push('\n');
                }
            }
        }
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut out: Vec<String> =
        text.split(|c: char| !is_word(c)).filter(|w| !w.is_empty()).map(str::to_string).collect();
    out.sort();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_litmus as litmus;

    const MP: &str = "C MP+rel
{}
P0(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(y, 1, memory_order_release);
}
P1(atomic_int *y) {
  int r0 = atomic_load_explicit(y, memory_order_acquire);
}
exists (1:r0=1)
";

    fn kept(words: &[&str]) -> bool {
        let words: Vec<Source> = words.iter().map(|w| Source::new("keep", *w)).collect();
        let test = litmus::read(&Source::new("MP", MP)).expect("reads");
        Filter::read(&words).unwrap_or_else(|e| panic!("{e}")).keeps(&test)
    }

    #[test]
    fn each_key_keeps_and_drops() {
        for (yes, no) in [
            ("name=MP*", "name=SB*"),
            ("arch=C", "arch=AArch64"),
            ("threads=2", "threads=3.."),
            ("events=..3", "events=4"),
            ("locations=2..5", "locations=..1"),
            ("uses=atomic_store*", "uses=atomic_fetch_*"),
            ("without=*_seq_cst", "without=*_release"),
        ] {
            assert!(kept(&[yes]), "{yes}");
            assert!(!kept(&[no]), "{no}");
            assert!(!kept(&[yes, no]) || yes.starts_with("name") || yes.starts_with("arch"));
        }
        assert!(kept(&[]));
        assert!(kept(&["name=SB", "name=MP+rel"]));
    }

    #[test]
    fn an_alternative_that_holds_for_no_test_is_said() {
        let words = ["name=MP*", "name=SB*", "threads=2"];
        let words: Vec<Source> = words.iter().map(|w| Source::new("keep", *w)).collect();
        let filter = Filter::read(&words).expect("is a filter");
        let test = litmus::read(&Source::new("MP", MP)).expect("reads");
        assert!(filter.keeps(&test));
        let said = filter.check_held().expect_err("SB* keeps nothing").to_string();
        assert!(said.contains("no test has name=SB*"), "{said}");
        let filter = Filter::read(&words[..1]).expect("is a filter");
        assert!(filter.keeps(&test) && filter.check_held().is_ok());
        filter.begin();
        assert!(filter.check_held().is_err());
    }

    #[test]
    fn what_is_no_filter_is_said() {
        let error = |word: &str| match Filter::read(&[Source::new("keep", word)]) {
            Err(e) => e.to_string(),
            Ok(_) => String::new(),
        };
        assert!(error("thread=2").contains("did you mean `threads`?"));
        assert!(error("threads=two").contains("no range of numbers"));
        assert!(error("MP").contains("expected a key, `=` and a value"));
        assert!(error("arch=Z80").contains("not a dialect"));
    }
}
