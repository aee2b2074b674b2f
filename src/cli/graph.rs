//! `litmake graph`: draws a pipeline's plan.

use std::process::ExitCode;

use super::common::{self, CacheArgs};
use super::pipelines;
use super::run::PlanArgs;

/// Draw the plan of a pipeline: its stages, and which consume which.
///
/// Each stage has the number of its instances.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    cache: CacheArgs,

    /// Draw each instance of a stage that has several
    #[arg(long)]
    instances: bool,

    /// The language of the drawing
    #[arg(long, value_enum, default_value = "dot")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For Graphviz
    Dot,
    /// For Markdown on GitHub and GitLab
    Mermaid,
}

pub fn main(mut args: Args) -> ExitCode {
    let located = pipelines::located(&args.plan.pipeline, &args.cache);
    let plan = located.and_then(|path| {
        args.plan.pipeline = path;
        args.plan.plan()
    });
    match plan {
        Ok(plan) => {
            print!(
                "{}",
                match args.format {
                    Format::Dot => plan.dot(args.instances),
                    Format::Mermaid => plan.mermaid(args.instances),
                }
            );
            ExitCode::SUCCESS
        }
        Err(e) => common::fail(&e),
    }
}
