//! `litmake schema`: prints the JSON Schema of pipeline files, profile files and reports.

use std::process::ExitCode;

use litmake::pipeline::reference;

/// Print the JSON Schema of pipelines, profiles or reports.
///
/// With it, editors complete and check these files.
#[derive(clap::Args)]
pub struct Args {
    /// The files that the schema describes
    #[arg(value_enum, default_value = "pipeline")]
    what: What,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    Pipeline,
    Profile,
    /// The reports that `--report` writes
    Report,
    /// The reference of all keys, as Markdown (no schema)
    Reference,
}

pub fn main(args: Args) -> ExitCode {
    let schema = match args.what {
        What::Pipeline => reference::pipeline_schema(),
        What::Profile => reference::profile_schema(),
        What::Report => litmake::report::schema(),
        What::Reference => {
            print!("{}", reference::reference());
            return ExitCode::SUCCESS;
        }
    };
    match serde_json::to_string_pretty(&schema) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::from(3),
    }
}
