//! Stores a record in a folder: a file for each run, for an example of each bug, for each note, and for what
//! the last run of each pipeline judged. Files of runs and notes are written whole under unique names and never changed, so that
//! concurrent additions lose nothing, and an addition that is killed leaves the record as it was.
//!
//! It does not know what the files mean.

use std::path::{Path, PathBuf};

use litmake_base::diag::{Diag, Result};
use litmake_base::digest::Digest;
use litmake_base::file;
use litmake_report::{Finding, Report, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lives::{History, Kept};
use crate::record::{self, Circumstances, Date, FORMAT, Latest, Note, Run, bug_name};

const RUNS: &str = "runs";
const BUGS: &str = "bugs";
const NOTES: &str = "notes";
const LATEST: &str = "latest";

/// A record of runs in a folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// A record that was read, and the files that could not be read.
#[derive(Debug, Default)]
pub struct ReadBack {
    /// Runs, examples and notes.
    pub kept: Kept,
    /// The files that could not be read, and why.
    pub warnings: Vec<String>,
}

/// A unique name for a file: its date, by which files are sorted, and the beginning of its digest.
fn name(date: Date, content: &str) -> String {
    let date: String = date.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    format!("{date}-{}", &Digest::of(content.as_bytes()).hex()[..8])
}

fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The parts of an example that pages show. The folder that a run wrote for it is left out.
fn example(finding: &Finding) -> Finding {
    let mut out = finding.clone();
    out.status = Status::New;
    out.folder.clear();
    out.file.clear();
    out
}

impl Folder {
    /// A record at a path, which need not exist yet.
    pub fn new(path: &Path) -> Folder {
        Folder { path: path.to_path_buf() }
    }

    /// The path of the record.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the record exists.
    pub fn exists(&self) -> bool {
        self.path.join(RUNS).is_dir()
    }

    fn make(&self, part: &str) -> Result<PathBuf> {
        let path = self.path.join(part);
        std::fs::create_dir_all(&path)
            .map_err(|e| Diag::new(format!("cannot make {}: {e}", path.display())))?;
        Ok(path)
    }

    /// Adds a run. Its own file is written last, so that an incomplete addition has no effect. If
    /// another run has the same date, the date is moved by seconds.
    pub fn add(&self, report: &Report, about: &Circumstances) -> Result<Run> {
        let before = match self.exists() {
            true => History::of(self.read()?.kept),
            false => History::default(),
        };
        let latest = self.latest(&report.pipeline);
        let known = latest.as_ref().filter(|l| before.runs.iter().any(|r| r.id == l.run));
        let mut run = Run::of(report, about, &before.bugs, known)?;
        let bugs = self.make(BUGS)?;
        for finding in report.findings.iter().filter(|f| f.status != Status::Fixed) {
            let path = bugs.join(format!("{}.json", bug_name(&finding.id)?));
            // The first example stays, unless a later one was looked into further.
            let better = before.examples.get(&finding.id).is_none_or(|old| {
                let far = |f: &Finding| (f.reduced.is_some(), f.evidence.is_some());
                far(finding) > far(old)
            });
            if better {
                file::write(&path, json(&example(finding)))?;
            }
        }
        let id = |run: &Run| name(run.date, &json(run));
        // Adding the same report with its date again gives the same run.
        let is_known = before.runs.iter().any(|r| r.id == id(&run));
        while !is_known && before.runs.iter().any(|r| r.date == run.date) {
            run.date = Date(run.date.0 + 1);
        }
        run.id = id(&run);
        let path = self.make(RUNS)?.join(format!("{}.json", run.id));
        file::write(&path, json(&run))?;
        let is_last = latest.is_none_or(|l| l.date < run.date);
        if let Some(latest) = Latest::of(&run, report).filter(|_| is_last) {
            self.make(LATEST)?;
            file::write(&self.latest_path(&report.pipeline), json(&latest))?;
        }
        Ok(run)
    }

    /// The file with the last run of a pipeline. Unlike the others it is written anew by each run: without it
    /// a new bug has no last good build.
    fn latest_path(&self, pipeline: &str) -> PathBuf {
        let name = &Digest::of(pipeline.as_bytes()).hex()[..16];
        self.path.join(LATEST).join(format!("{name}.json"))
    }

    fn latest(&self, pipeline: &str) -> Option<Latest> {
        let text = file::read_text(&self.latest_path(pipeline), file::MAX_DATA).ok()?;
        serde_json::from_str(&text).ok().filter(|l: &Latest| l.history == FORMAT)
    }

    /// Adds a note. If another note on the bug has the same or a later date, the date is moved
    /// behind it.
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

    /// Reads the whole record. Files that cannot be read are left out and reported.
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

    /// The files of one kind with their names, in order.
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
