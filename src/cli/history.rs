//! `litmake history`: keeps a record of runs for a team.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use litmake::diag::{Diag, Result};
use litmake::file;
use litmake::history::folder::Folder;
use litmake::history::lives::{Bug, History};
use litmake::history::record::{Circumstances, Date, FORMAT, Mark, Note};
use litmake::history::tell::{self, Form};
use litmake::report::{Report, number};

use super::common;

/// Keep a record of runs: when each bug was seen, fixed and reopened.
///
/// It says with which compilers each bug was first and last seen.
/// The record is a folder of small files, one a run. `litmake run --history DIR` adds its run to
/// it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  litmake run nightly.yaml --history history --commit \"$(git rev-parse HEAD)\"
  litmake history add report.json --history history
  litmake history bugs
  litmake history note 8e96f294544f --owner ada --state sent --tracker https://example.org/123
  litmake history note 42a5f1f44bb0 --duplicate-of 8e96f294544f
  litmake site pages")]
pub struct Args {
    #[command(flatten)]
    folder: FolderArg,

    #[command(subcommand)]
    command: Command,
}

/// The place of the record.
#[derive(clap::Args)]
pub struct FolderArg {
    /// The folder of the record [default: `history` beside the cache]
    #[arg(long, value_name = "DIR", env = "LITMAKE_HISTORY", global = true)]
    history: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Add runs to the record, from their reports
    Add {
        /// A report that `litmake run`, `check` or `merge` wrote with `--report`
        #[arg(required = true, value_name = "REPORT")]
        reports: Vec<PathBuf>,
        /// When the run took place: a day, or a day and a time in UTC [default: now]
        #[arg(long, value_name = "DATE")]
        date: Option<Date>,
        #[command(flatten)]
        about: About,
    },
    /// List the runs, the last one first
    List {
        #[command(flatten)]
        form: FormArgs,
    },
    /// List the bugs: when each was first and last seen, in which compilers, and who works on it
    Bugs {
        #[command(flatten)]
        form: FormArgs,
    },
    /// Note the state of a bug, who works on it, where it is reported, or anything else about it
    Note {
        /// The id of the bug
        #[arg(value_name = "ID")]
        bug: String,
        /// The person who works on it; empty for nobody
        #[arg(long, value_name = "NAME")]
        owner: Option<String>,
        /// Its number or address in a tracker; empty for none
        #[arg(long, value_name = "NUMBER|URL")]
        tracker: Option<String>,
        /// Its state. Runs go on to say whether it is there, and when it is fixed
        #[arg(long, value_enum, value_name = "STATE")]
        state: Option<StateArg>,
        /// The bug of which it is a duplicate
        #[arg(long, value_name = "ID", conflicts_with = "state")]
        duplicate_of: Option<String>,
        /// Any other remark
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
    },
    /// Show one run and its bugs
    Show {
        /// The name of a run, or the beginning of it; `last` is the last run
        #[arg(value_name = "RUN")]
        run: String,
        #[command(flatten)]
        form: FormArgs,
    },
}

/// The states that a person can give a bug.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StateArg {
    /// The state that the runs say; takes back an earlier one
    Open,
    /// Reported; give the number with --tracker
    Sent,
    /// Fixed although no run says so; open again when a run shows it
    Fixed,
    /// No bug
    Invalid,
    /// A bug that nobody will mend
    WontFix,
}

impl From<StateArg> for Mark {
    fn from(state: StateArg) -> Mark {
        match state {
            StateArg::Open => Mark::Open,
            StateArg::Sent => Mark::Sent,
            StateArg::Fixed => Mark::Fixed,
            StateArg::Invalid => Mark::Invalid,
            StateArg::WontFix => Mark::WontFix,
        }
    }
}

/// Facts about a run that is added to a record.
#[derive(clap::Args)]
pub struct About {
    /// For the record of runs: the commit that was tested
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,

    /// For the record of runs: the name of this machine; empty leaves it out [default: the system's
    /// name for it]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

#[derive(clap::Args)]
struct FormArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl FormArgs {
    fn form(&self) -> Form {
        match (self.json, self.markdown) {
            (true, _) => Form::Json,
            (_, true) => Form::Markdown,
            _ => Form::Text,
        }
    }
}

impl FolderArg {
    fn folder(&self) -> Folder {
        match &self.history {
            Some(path) => Folder::new(path),
            None => Folder::new(&common::cache_dir().with_file_name("history")),
        }
    }

    /// Reads the record, with a warning for each file that cannot be read.
    pub fn read(&self) -> Result<History> {
        let read = self.folder().read()?;
        for warning in read.warnings {
            eprintln!("warning: {warning}");
        }
        Ok(History::of(read.kept))
    }
}

impl About {
    fn circumstances(&self, date: Option<Date>) -> Circumstances {
        let system = || {
            let name = file::read_text(Path::new("/proc/sys/kernel/hostname"), 1 << 10);
            name.ok().map(|n| n.trim().to_string())
        };
        Circumstances {
            date: date.unwrap_or_else(Date::now),
            host: self.host.clone().or_else(system),
            commit: self.commit.clone(),
        }
    }
}

/// Adds a run to a record, and returns a text that says what changed by it.
pub fn add(folder: &Path, report: &Report, about: &About) -> Result<String> {
    add_at(&Folder::new(folder), report, about, None)
}

fn add_at(folder: &Folder, report: &Report, about: &About, date: Option<Date>) -> Result<String> {
    let run = folder.add(report, &about.circumstances(date))?;
    let history = History::of(folder.read()?.kept);
    let changes = match history.runs.iter().position(|r| r.id == run.id) {
        Some(at) => format!(
            "{}; {}; {} open",
            tell::headline(&history, at).1,
            run.verdict().words(),
            number(history.open(), "bug")
        ),
        None => String::new(),
    };
    Ok(format!("{}: added {} ({changes})", folder.path().display(), run.id))
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Add { reports, date, about } => {
            let reports: Vec<Report> =
                reports.iter().map(|path| super::merge::read(path)).collect::<Result<_>>()?;
            for report in &reports {
                println!("{}", add_at(&args.folder.folder(), report, about, *date)?);
            }
        }
        Command::List { form } => print!("{}", tell::runs(&args.folder.read()?, form.form())),
        Command::Bugs { form } => print!("{}", tell::bugs(&args.folder.read()?, form.form())),
        Command::Note { bug, owner, tracker, state, duplicate_of, text } => {
            let history = args.folder.read()?;
            let note = Note {
                history: FORMAT,
                date: Date::now(),
                bug: known(&history, bug)?.id.clone(),
                owner: owner.clone(),
                tracker: tracker.clone(),
                state: state.map(Mark::from).or(duplicate_of.as_ref().map(|_| Mark::Duplicate)),
                of: duplicate_of.clone(),
                text: text.clone(),
            };
            note_down(&args.folder, &history, &note)?;
        }
        Command::Show { run, form } => {
            let history = args.folder.read()?;
            let Some(at) = history.run(run) else {
                return Err(Diag::new(format!(
                    "there is no run `{run}` in this record, or more than one"
                ))
                .help("`litmake history list` lists them; `last` is the last one"));
            };
            print!("{}", tell::run(&history, at, form.form()));
        }
    }
    Ok(())
}

/// The bug with an id.
fn known<'a>(history: &'a History, id: &str) -> Result<&'a Bug> {
    history.bug(id).ok_or_else(|| {
        Diag::new(format!("there is no bug `{id}` in this record"))
            .help("`litmake history bugs` lists them")
    })
}

/// Adds a note to the record, and says how the bug stands then.
fn note_down(folder: &FolderArg, history: &History, note: &Note) -> Result<()> {
    let is_empty = note.owner.is_none() && note.tracker.is_none() && note.text.is_none();
    if is_empty && note.state.is_none() {
        return Err(Diag::new("a note says something")
            .help("give --state, --duplicate-of, --owner, --tracker or --text"));
    }
    if let Some(other) = &note.of {
        let other = known(history, other)?;
        if other.id == note.bug || other.duplicate_of.as_ref() == Some(&note.bug) {
            return Err(Diag::new(format!("{} is no duplicate of {}", note.bug, other.id))
                .help("name the bug that stays"));
        }
    }
    let has_number = |bug: &Bug| bug.tracker.is_some() || note.tracker.is_some();
    if note.state == Some(Mark::Sent) && !has_number(known(history, &note.bug)?) {
        return Err(
            Diag::new("where is it reported?").help("give its number or address with --tracker")
        );
    }
    folder.folder().note(note)?;
    let after = folder.read()?;
    let bug = known(&after, &note.bug)?;
    println!("{}: noted ({}; {})", bug.id, bug.title, tell::state(bug));
    Ok(())
}
