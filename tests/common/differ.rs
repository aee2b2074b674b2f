//! One test under one model: what every engine says, against the exhaustive reference.

use super::wide;
use litmake::cat::load::{Files, load_with};
use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus::{self, Arch};
use litmake::sim::{Engine, Model, Options, Simulator};
use std::path::Path;

struct OneModel<'a>(&'a str);

impl Files for OneModel<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok((path == Path::new("own.cat")).then(|| self.0.to_string()))
    }
}

/// A model from its text, as a user's file would give it.
pub fn own(arch: Arch, text: &str) -> Model {
    let model = load_with("own.cat", &LoadOptions::new(arch), &OneModel(text));
    let model = model.unwrap_or_else(|e| panic!("{text}\n{e}"));
    Model::load(&model).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

pub fn users(arch: Arch) -> Vec<(String, Model)> {
    let each = |(name, text): &(&str, &str)| ((*name).to_string(), own(arch, text));
    wide::USERS.iter().map(each).collect()
}

pub fn built_in(arch: Arch, names: &[&str]) -> Vec<(String, Model)> {
    let load = |name: &&str| {
        let model = cat::load(name, &LoadOptions::new(arch)).expect("a built-in model");
        let model = Model::load(&model).expect("a built-in model can be simulated");
        ((*name).to_string(), model)
    };
    names.iter().map(load).collect()
}

/// What a simulation says, as far as the engines must agree.
pub fn answer(text: &str, model: &Model, engine: Engine) -> Result<String, String> {
    let source = Source::new("random.litmus", text.to_string());
    let test = litmus::read(&source).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let options = Options { engine, ..Options::default() };
    let o = Simulator::default().simulate(&test, model, &options).map_err(|e| e.to_string())?;
    let mut flags = o.flags;
    flags.sort();
    flags.dedup();
    let states: Vec<String> = o
        .states
        .iter()
        .map(|s| s.iter().map(|(k, v)| format!("{k}={v}; ")).collect::<String>())
        .collect();
    Ok(format!(
        "{}\n{} {} {flags:?} {} {}",
        states.join("\n"),
        o.positive,
        o.negative,
        o.undefined,
        o.cut
    ))
}

/// Whether the test was simulated at all, or how an engine differs from the reference.
pub fn compare(text: &str, model: &Model) -> Result<bool, String> {
    let reference = answer(text, model, Engine::Exhaustive);
    for engine in [Engine::Auto, Engine::Enumerate, Engine::Solve] {
        let fast = answer(text, model, engine);
        if fast.is_err() && reference.is_err() || fast == reference {
            continue;
        }
        let show = |r: &Result<String, String>| match r {
            Ok(text) | Err(text) => text.clone(),
        };
        return Err(format!(
            "{engine:?} differs\nreference:\n{}\n{engine:?}:\n{}",
            show(&reference),
            show(&fast)
        ));
    }
    Ok(reference.is_ok())
}
