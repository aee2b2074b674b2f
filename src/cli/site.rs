//! `litmake site`: writes static pages of a record of runs.

use std::path::PathBuf;
use std::process::ExitCode;

use litmake::report::number;
use litmake::site;

use super::common;
use super::history::FolderArg;

/// Write static pages of a record of runs.
///
/// They show all runs with trends, all bugs, compilers against bugs, and each bug and each run on a
/// page of its own; a feed (Atom) has the bugs that are new or fixed. The pages need no server and no network.
#[derive(clap::Args)]
#[command(after_help = "Example:
  litmake site pages --history history")]
pub struct Args {
    /// The folder for the pages
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The address at which the pages will be, for the links of the feed
    #[arg(long, value_name = "URL", value_parser = address)]
    url: Option<String>,

    #[command(flatten)]
    history: FolderArg,
}

/// An address with the slash at its end, to which the names of pages are added.
fn address(text: &str) -> Result<String, String> {
    match text.starts_with("https://") || text.starts_with("http://") {
        true => Ok(format!("{}/", text.trim_end_matches('/'))),
        false => Err("an address begins with https:// or http://".into()),
    }
}

pub fn main(args: Args) -> ExitCode {
    let written = args.history.read().and_then(|history| {
        site::write(&history, env!("CARGO_PKG_VERSION"), args.url.as_deref(), &args.folder)
    });
    match written {
        Ok((files, bytes)) => {
            let size = common::show_size(bytes);
            let index = args.folder.join("index.html");
            println!("{}: {}, {size}", index.display(), number(files as u64, "file"));
            ExitCode::SUCCESS
        }
        Err(e) => common::fail(&e),
    }
}
