//! Reads files of herd's that select tests by name, or give tests another kind or condition. It
//! does not know what is done with the tests.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use litmake::diag::{Diag, Result, Source, Span};
use litmake::litmus::{self, Quantifier, Test};

#[derive(clap::Args)]
pub struct Lists {
    /// A file with kinds of tests, one line `NAME Allow|Forbid|Require` each: some execution
    /// satisfies the condition, none does, or all do
    #[arg(long, value_name = "FILE")]
    kinds: Vec<PathBuf>,

    /// A file with conditions that replace those of tests, one line `NAME "exists (x=1)"` each
    #[arg(long, value_name = "FILE")]
    conds: Vec<PathBuf>,

    /// Take only tests whose names are in this file, one a line
    #[arg(long, value_name = "FILE")]
    names: Vec<PathBuf>,

    /// Leave out tests whose names are in this file, one a line
    #[arg(long, value_name = "FILE")]
    exclude: Vec<PathBuf>,
}

/// The content of these files, by name of test.
#[derive(Default)]
pub struct ByName {
    kinds: HashMap<String, Option<Quantifier>>,
    conditions: HashMap<String, String>,
    names: Option<HashSet<String>>,
    excluded: HashSet<String>,
    taken: AtomicUsize,
}

impl ByName {
    pub fn read(args: &Lists) -> Result<ByName> {
        let mut out = ByName::default();
        for path in &args.kinds {
            lines(path, &mut |line| {
                out.kinds.insert(line.name.into(), kind(&line)?);
                Ok(())
            })?;
        }
        for path in &args.conds {
            lines(path, &mut |line| match line.value {
                Some(condition) => {
                    out.conditions.insert(line.name.into(), condition.into());
                    Ok(())
                }
                None => Err(line
                    .wrong("a condition is missing behind the name")
                    .help("a line is `MP \"exists (1:X0=1 /\\ 1:X2=0)\"`")),
            })?;
        }
        for path in &args.names {
            let names = out.names.get_or_insert_default();
            lines(path, &mut |line| {
                names.insert(line.name.into());
                Ok(())
            })?;
        }
        for path in &args.exclude {
            lines(path, &mut |line| {
                out.excluded.insert(line.name.into());
                Ok(())
            })?;
        }
        Ok(out)
    }

    /// The test with its kind and its condition. None if the files leave it out.
    pub fn apply(&self, mut test: Test) -> Result<Option<Test>> {
        let named = self.names.as_ref().is_none_or(|names| names.contains(&test.name));
        if !named || self.excluded.contains(&test.name) {
            return Ok(None);
        }
        self.taken.fetch_add(1, Ordering::Relaxed);
        if let Some(condition) = self.conditions.get(&test.name) {
            let before = test.source.text.get(..test.condition.span.start as usize).unwrap_or("");
            let text = format!("{before}{condition}\n");
            test = litmus::read(&Source::new(test.source.name.clone(), text)).map_err(|e| {
                Diag::new(format!("{}: its condition from --conds: {}", test.name, e.message))
            })?;
        }
        if let Some(Some(kind)) = self.kinds.get(&test.name) {
            test.condition.quantifier = *kind;
        }
        Ok(Some(test))
    }

    /// An error if there were tests and the files left all of them out.
    pub fn some(&self, tests: usize) -> Result<()> {
        match self.taken.load(Ordering::Relaxed) {
            0 if tests > 0 && (self.names.is_some() || !self.excluded.is_empty()) => {
                Err(Diag::new(format!("none of {tests} tests is left by --names and --exclude"))
                    .help("a test's name stands in its first line, behind the dialect"))
            }
            _ => Ok(()),
        }
    }
}

/// A line of such a file: the name of a test, and its value.
struct Line<'a> {
    name: &'a str,
    value: Option<&'a str>,
    source: &'a Source,
    span: Span,
}

impl Line<'_> {
    fn wrong(&self, message: impl Into<String>) -> Box<Diag> {
        Diag::at(self.source, self.span, message.into())
    }
}

fn kind(line: &Line) -> Result<Option<Quantifier>> {
    match line.value.unwrap_or("") {
        "Allow" | "Allowed" => Ok(Some(Quantifier::Exists)),
        "Forbid" | "Forbidden" => Ok(Some(Quantifier::NotExists)),
        "Require" | "Required" => Ok(Some(Quantifier::Forall)),
        // The writer of the file did not know the kind: the test keeps its own.
        "" | "Unknown" | "???" | "---" => Ok(None),
        other => Err(line
            .wrong(format!("`{other}` is no kind of test"))
            .help("kinds are Allow, Forbid, Require and Unknown")),
    }
}

/// Reads the lines of a file. `#` and `%` begin a comment, and quotes enclose a value with blanks.
fn lines(path: &Path, each: &mut dyn FnMut(Line) -> Result<()>) -> Result<()> {
    let text = litmake::file::read_text(path, litmake::file::MAX_DATA)
        .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
    let source = Source::new(path.display().to_string(), text);
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let text = line.trim();
        if text.is_empty() || text.starts_with(['#', '%']) {
            continue;
        }
        let at = at + (line.len() - line.trim_start().len());
        let span = Span::new(at, at + text.len());
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim_start();
        let value = match rest.strip_prefix('"') {
            Some(quoted) => Some(
                quoted
                    .split_once('"')
                    .ok_or_else(|| Diag::at(&source, span, "a `\"` is never closed"))?
                    .0,
            ),
            None => rest.split(['#', '%']).next().map(str::trim_end).filter(|v| !v.is_empty()),
        };
        each(Line { name, value, source: &source, span })?;
    }
    Ok(())
}
