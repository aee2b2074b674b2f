//! The final states of a C test under RC11, by two engines and after printing. It does not know what is
//! expected.

use litmake::cat::{self, LoadOptions};
use litmake::diag::Source;
use litmake::litmus;
use litmake::sim::{Engine, Model, Options, Simulator};

/// Every final state, which is the same by both engines and after printing; and whether the test is undefined.
pub fn states(text: &str) -> Result<(Vec<String>, bool), String> {
    let read =
        |text: String| litmus::read(&Source::new("t.litmus", text)).map_err(|e| e.to_string());
    let test = read(text.to_string())?;
    let again = read(litmus::write(&test))?;
    assert_eq!(litmus::write(&test), litmus::write(&again));
    let plan = cat::load("rc11", &LoadOptions::new(test.arch)).map_err(|e| e.to_string())?;
    let model = Model::load(&plan).map_err(|e| e.to_string())?;
    let run = |test: &litmus::Test, engine| {
        let options = Options { engine, ..Options::default() };
        let outcomes = Simulator::default().simulate(test, &model, &options);
        let outcomes = outcomes.map_err(|e| e.to_string())?;
        let line = |s: litmake::sim::State| {
            s.iter().map(|(k, v)| format!("{k}={v};")).collect::<Vec<_>>().join(" ")
        };
        let states = outcomes.states.iter().map(line).collect::<Vec<_>>();
        Ok::<_, String>((states, outcomes.undefined))
    };
    let found = run(&test, Engine::Auto)?;
    assert_eq!(found, run(&test, Engine::Exhaustive)?, "{text}");
    assert_eq!(found, run(&again, Engine::Auto)?, "{text}");
    Ok(found)
}
