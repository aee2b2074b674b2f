//! `litmake check`: does a compiler keep what the source's model promises? In one command.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use litmake::diag::{Diag, Result};
use litmake::engine::events::Silent;
use litmake::engine::run::Options;
use litmake::litmus::list;
use litmake::pipeline::load::{Disk, Files, load};
use litmake::pipeline::plan::plan;
use litmake::report::terminal::{Style, summary};
use litmake::stage;

use super::common::{self, CacheArgs};

/// Compile tests with a profile, lift and simulate what comes out, and compare with the source.
///
/// Exit status: 0, no findings; 1, findings; 2, bad input; 3, something needed failed.
#[derive(clap::Args)]
pub struct Args {
    /// The profile: a name or a file
    #[arg(long, required = true, value_name = "NAME|FILE")]
    profile: String,

    /// What is compiled on its own
    #[arg(long, value_enum, default_value = "whole")]
    split: Split,

    /// The model of the sources
    #[arg(long, default_value = "rc11", value_name = "MODEL")]
    source_model: String,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// Tests, or lists of tests (@LIST: one path a line, relative to the list)
    #[arg(required = true, value_name = "FILE|@LIST")]
    inputs: Vec<String>,

    #[command(flatten)]
    cache: CacheArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Split {
    /// The whole test
    Whole,
}

/// The file system, with one pipeline that was made for this command.
struct Made {
    path: PathBuf,
    text: Arc<str>,
}

impl Files for Made {
    fn read(&self, path: &Path) -> io::Result<Arc<str>> {
        match path == self.path {
            true => Ok(self.text.clone()),
            false => Disk.read(path),
        }
    }
    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        Disk.list(folder)
    }
    fn env(&self, name: &str) -> Option<String> {
        Disk.env(name)
    }
}

pub fn main(args: Args) -> ExitCode {
    match run(&args) {
        Ok(status) => ExitCode::from(status),
        Err(e) => common::fail(&e),
    }
}

fn run(args: &Args) -> Result<u8> {
    let paths = list::arguments(&args.inputs, &|p| std::fs::read_to_string(p))?;
    for path in &paths {
        if !path.is_file() {
            return Err(Diag::new(format!("there is no file {}", path.display())));
        }
    }
    // In a pipeline `${` begins a variable; in a path it is only itself.
    let plain = |text: &str| text.replace("${", "$${");
    let files: Vec<String> = paths.iter().map(|p| plain(&p.to_string_lossy())).collect();
    let text = serde_json::json!({
        "name": "check",
        "stages": [
            { "name": "tests", "generate": { "files": files } },
            { "name": "source", "simulate": { "from": "tests", "model": plain(&args.source_model) } },
            { "name": "compiled", "compile": { "from": "tests", "profile": plain(&args.profile) } },
            { "name": "target", "simulate": { "from": "compiled" } },
            { "name": "compare", "compare": { "source": "source", "target": "target" } },
        ],
    });
    let made = Made { path: "check".into(), text: text.to_string().into() };
    let pipeline = load(&made, &made.path, &[])?;
    let plan = plan(&made, pipeline, &[]).map_err(plain_error)?;
    let store = Arc::new(args.cache.open()?);
    let built = stage::build(&plan, &*store).map_err(plain_error)?;
    let options = Options::default();
    common::on_interrupt(options.context.stop.clone(), store.clone());
    let report = super::run::once(&plan, &built, &store, options, &Silent, None)?;
    if args.json {
        print!("{}", report.clone().stable().json());
    } else {
        let style = Style { color: common::stdout_color(), verbose: true, quiet: true };
        print!("{}", summary(&report, style));
    }
    for notice in store.take_notices() {
        eprintln!("litmake: {notice}");
    }
    common::reduce(&store);
    Ok(report.exit_status())
}

/// Errors point into the command's own pipeline, which nobody wrote.
fn plain_error(mut e: Box<Diag>) -> Box<Diag> {
    if e.source.as_ref().is_some_and(|s| &*s.name == "check") {
        e.source = None;
        e.span = None;
    }
    e
}
