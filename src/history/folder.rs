//! The folder of a record: a file for each run, one for an example of each bug, one for each note. A file is
//! written whole under a name that no other has, and never changed, so that whoever adds at the same time loses
//! nothing, and a killed addition leaves the record as it was.
//!
//! It does not know what the files tell.

use std::path::{Path, PathBuf};

use litmake_base::diag::{Diag, Result};
use litmake_base::digest::Digest;
use litmake_base::file;
use litmake_report::{Finding, Report, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lives::{History, Kept};
use crate::record::{self, Circumstances, Date, FORMAT, Note, Run, bug_name};

const RUNS: &str = "runs";
const BUGS: &str = "bugs";
const NOTES: &str = "notes";

/// A record of runs.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// A record that was read, and what in it could not be.
#[derive(Debug, Default)]
pub struct ReadBack {
    /// Runs, examples and notes.
    pub kept: Kept,
    /// Which files could not be read, and why.
    pub warnings: Vec<String>,
}

/// The name of a file that no other has: sorted by date, and told apart by its content.
fn name(date: Date, content: &str) -> String {
    let date: String = date.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    format!("{date}-{}", &Digest::of(content.as_bytes()).hex()[..8])
}

fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// An example with what pages show of it. Where it was written to lies with the run.
fn example(finding: &Finding) -> Finding {
    let mut out = finding.clone();
    out.status = Status::New;
    out.folder.clear();
    out.file.clear();
    out
}

impl Folder {
    /// A record that is there, or will be.
    pub fn new(path: &Path) -> Folder {
        Folder { path: path.to_path_buf() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a record.
    pub fn exists(&self) -> bool {
        self.path.join(RUNS).is_dir()
    }

    fn make(&self, part: &str) -> Result<PathBuf> {
        let path = self.path.join(part);
        std::fs::create_dir_all(&path)
            .map_err(|e| Diag::new(format!("cannot make {}: {e}", path.display())))?;
        Ok(path)
    }

    /// Adds a run. The run is there when its own file is, which comes last. It is later than those that there are,
    /// though one be of the same second.
    pub fn add(&self, report: &Report, about: &Circumstances) -> Result<Run> {
        let before = match self.exists() {
            true => History::of(self.read()?.kept),
            false => History::default(),
        };
        let mut run = Run::of(report, about, &before.bugs)?;
        let bugs = self.make(BUGS)?;
        for finding in report.findings.iter().filter(|f| f.status != Status::Fixed) {
            let path = bugs.join(format!("{}.json", bug_name(&finding.id)?));
            // The first example stays, unless another one was looked into further.
            let better = before.examples.get(&finding.id).is_none_or(|old| {
                let far = |f: &Finding| (f.reduced.is_some(), f.evidence.is_some());
                far(finding) > far(old)
            });
            if better {
                file::write(&path, json(&example(finding)))?;
            }
        }
        let id = |run: &Run| name(run.date, &json(run));
        // A report that is added again, with its date, is the same run.
        let is_known = before.runs.iter().any(|r| r.id == id(&run));
        while !is_known && before.runs.iter().any(|r| r.date == run.date) {
            run.date = Date(run.date.0 + 1);
        }
        run.id = id(&run);
        let path = self.make(RUNS)?.join(format!("{}.json", run.id));
        file::write(&path, json(&run))?;
        Ok(run)
    }

    /// Adds a note. It is later than those that there are of its bug, though they be of the same second.
    pub fn note(&self, note: &Note) -> Result<()> {
        bug_name(&note.bug)?;
        let old = self.files::<Note>(NOTES, &mut Vec::new())?;
        let last = old.iter().filter(|(_, n)| n.bug == note.bug).map(|(_, n)| n.date.0 + 1).max();
        let date = Date(note.date.0.max(last.unwrap_or(0)));
        let note = &Note { date, ..note.clone() };
        let text = json(note);
        let path = self.make(NOTES)?.join(format!("{}.json", name(note.date, &text)));
        file::write(&path, text)
    }

    /// Everything in it. What cannot be read is left out and said.
    pub fn read(&self) -> Result<ReadBack> {
        if !self.exists() {
            return Err(Diag::new(format!("{} is no record of runs", self.path.display())).help(
                "`litmake run PIPELINE --history DIR` and `litmake history add REPORT` begin one",
            ));
        }
        let mut out = ReadBack::default();
        for (id, run) in self.files::<Run>(RUNS, &mut out.warnings)? {
            match run.history {
                FORMAT => out.kept.runs.push(Run { id, ..run }),
                other => out.warnings.push(format!(
                    "{RUNS}/{id}.json is of version {other}; this litmake reads {FORMAT}"
                )),
            }
        }
        out.kept.runs.sort_by(|a, b| (a.date, &a.id).cmp(&(b.date, &b.id)));
        for (id, finding) in self.files::<Finding>(BUGS, &mut out.warnings)? {
            match finding.id == id && record::bug_name(&id).is_ok() {
                true => drop(out.kept.examples.insert(id, finding)),
                false => out.warnings.push(format!("{BUGS}/{id}.json is of another bug")),
            }
        }
        out.kept.notes = self.files(NOTES, &mut out.warnings)?.into_iter().map(|n| n.1).collect();
        out.kept.notes.sort_by_key(|n: &Note| n.date);
        let sound = |run: &Run| run.bugs.iter().all(|b| bug_name(&b.id).is_ok());
        out.kept.runs.retain(|run| {
            let good = sound(run) && bug_name(&run.id).is_ok();
            if !good {
                out.warnings.push(format!("{RUNS}/{}.json has names that no bug has", run.id));
            }
            good
        });
        Ok(out)
    }

    /// The files of one kind by their names, in order.
    fn files<T: DeserializeOwned>(
        &self,
        part: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(String, T)>> {
        let folder = self.path.join(part);
        let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
        paths.sort();
        let mut out = Vec::new();
        for path in paths {
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let read = file::read_text(&path, file::MAX_DATA).map_err(|e| e.to_string());
            match read.and_then(|t| serde_json::from_str(&t).map_err(|e| e.to_string())) {
                Ok(value) => out.push((id, value)),
                Err(e) => warnings.push(format!("{} is left out: {e}", path.display())),
            }
        }
        Ok(out)
    }
}
