//! `litmake graph`: draws a pipeline's plan.

use std::process::ExitCode;

use super::common;
use super::run::PlanArgs;

/// Draw the plan of a pipeline: which stages consume which, and how many instances each has.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: PlanArgs,

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

pub fn main(args: Args) -> ExitCode {
    match args.plan.plan() {
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
