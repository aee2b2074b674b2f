//! `litmake list models`: lists the models that come with litmake.

use std::process::ExitCode;

use litmake::cat::ast::{Ins, InsKind};
use litmake::cat::load::built_in_names;
use litmake::cat::{self, LoadOptions};
use litmake::diag::Result;
use litmake::litmus::Arch;

use super::common;

/// List the models that come with litmake, or search for some.
///
/// Exit status: 0, done; 2, no model fits.
#[derive(clap::Args)]
pub struct Args {
    /// Words that must all be in the model's name or title, or in the dialects whose default it is
    #[arg(value_name = "WORD")]
    words: Vec<String>,

    /// Print one JSON object a model, one a line
    #[arg(long)]
    json: bool,
}

/// A model, as the list shows it.
struct Model {
    name: &'static str,
    title: String,
    /// The dialects whose default model it is.
    default_of: Vec<&'static str>,
}

pub fn main(args: Args) -> ExitCode {
    common::done(run(&args))
}

fn run(args: &Args) -> Result<()> {
    let all: Vec<Model> = built_in_names().filter_map(model).collect();
    let has = |m: &Model, word: &str| {
        let text = format!("{} {} {}", m.name, m.title, m.default_of.join(" "));
        text.to_lowercase().contains(&word.to_lowercase())
    };
    let chosen: Vec<&Model> =
        all.iter().filter(|m| args.words.iter().all(|word| has(m, word))).collect();
    if chosen.is_empty() {
        let help = "`litmake list models` lists all; any cat file is a model, too";
        return Err(common::nothing_fits("model", &args.words, all.iter().map(|m| m.name), help));
    }
    let width = chosen.iter().map(|m| m.name.len()).max().unwrap_or(0);
    for m in chosen {
        match args.json {
            true => println!(
                "{}",
                serde_json::json!({ "name": m.name, "title": m.title, "default_of": m.default_of })
            ),
            false => {
                let default = match m.default_of.is_empty() {
                    true => String::new(),
                    false => format!(" (default for {})", m.default_of.join(", ")),
                };
                println!("{:width$}  {}{default}", m.name, m.title);
            }
        }
    }
    Ok(())
}

/// A model by its name. None for a library that models include: it has no checks of its own.
fn model(name: &'static str) -> Option<Model> {
    let by_default: Vec<Arch> =
        Arch::ALL.iter().copied().filter(|a| a.default_model() == name).collect();
    let mut archs = by_default.iter().chain(Arch::ALL.iter());
    let loaded = archs.find_map(|arch| cat::load(name, &LoadOptions::new(*arch)).ok())?;
    let main = loaded.main();
    // A title that repeats the name is left out.
    let own = main.ast.title.as_ref().filter(|t| !t.eq_ignore_ascii_case(name));
    let checks = |i: &Ins| matches!(i.kind, InsKind::Check(..));
    loaded.files.iter().any(|f| f.ast.body.iter().any(checks)).then(|| Model {
        name,
        title: own.map_or_else(|| title(&main.source.text), |t| t.to_string()),
        default_of: by_default.iter().map(|a| a.name()).collect(),
    })
}

/// The beginning of a model's first comment, up to the first stop or colon.
fn title(text: &str) -> String {
    let comment = text.split_once("(*").and_then(|(_, rest)| rest.split_once("*)"));
    let words: Vec<&str> = comment.map_or("", |(comment, _)| comment).split_whitespace().collect();
    let text = words.join(" ");
    let ends = [": ", ". "].iter().filter_map(|end| text.find(end));
    text[..ends.min().unwrap_or(text.len())].trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_titles_and_libraries_are_left_out() {
        assert_eq!(title("C RC11\n(* Repaired C11:\n   O. Lahav. *)"), "Repaired C11");
        assert_eq!(title("let fr = rf^-1"), "");
        let aarch64 = model("aarch64").unwrap();
        assert_eq!(aarch64.default_of, ["AArch64"]);
        assert_eq!(aarch64.title, "The AArch64 application-level memory model");
        for name in ["stdlib", "cos"] {
            assert!(model(name).is_none(), "{name}");
        }
    }
}
