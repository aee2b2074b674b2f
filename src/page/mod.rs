//! Answers the questions of the page that runs in a browser: what a model allows for a test, why it forbids
//! an outcome, whether a change to code is legal.
//!
//! A question and its answer are JSON. It knows neither the page nor files; a model of the reader's own comes as text.

use std::path::Path;

use litmake_base::diag::{Diag, Result, Source};
use litmake_cat::load::{self, Disk, Files, LoadOptions};
use litmake_isa::llvm::module::Module;
use litmake_litmus::{self as litmus, Arch, Test};
use litmake_report::picture;
use litmake_sim::printed::{block, condition};
use litmake_sim::witness::{self, with_state};
use litmake_sim::{Model, Options, Simulator};
use litmake_tv::judge::{Court, Settings};
use litmake_tv::{pair, said};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request of the page.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// The built-in models with their texts, and the examples.
    About,
    /// The outcomes that a model allows for a test.
    Simulate {
        /// The text of the test.
        test: String,
        /// The model; without one, that of the test's dialect.
        model: Option<Asked>,
    },
    /// Why a state is forbidden, or an execution that has it.
    Why {
        /// The text of the test.
        test: String,
        /// The model; without one, that of the test's dialect.
        model: Option<Asked>,
        /// A state or a proposition; empty, it is the test's own.
        state: String,
    },
    /// Whether the functions after a change show more than those before it.
    Compare {
        /// Functions before, or both as `@src` and `@tgt`.
        before: String,
        /// Functions after; empty where `before` has both.
        after: String,
        /// The model; without one, LLVM's with load buffering.
        model: Option<Asked>,
    },
}

/// A model: a built-in one, or a text of the reader's.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// Its text, where it is not built in.
    pub text: Option<String>,
}

/// The name under which a text is loaded as a model.
const OWN: &str = "yours.cat";

impl Asked {
    fn name(&self) -> &str {
        if self.text.is_some() { OWN } else { &self.name }
    }
}

impl Files for Asked {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok(self.text.clone().filter(|_| path == Path::new(OWN)))
    }
}

/// A text to begin with: what it is, and the text.
type Example = (&'static str, &'static str);

macro_rules! quickstart {
    ($name:literal) => {
        include_str!(concat!("../../pipelines/quickstart/", $name, ".litmus"))
    };
}

const TESTS: &[Example] = &[
    ("Store buffering", quickstart!("store-buffering")),
    ("Message passing", quickstart!("message-passing")),
    ("Message passing, by fences", include_str!("examples/fences.litmus")),
    ("Load buffering", include_str!("examples/LB.litmus")),
    ("Independent reads", include_str!("examples/IRIW.litmus")),
    ("A spin lock", quickstart!("spin-lock")),
    ("AArch64", include_str!("examples/AArch64.litmus")),
    ("x86-64", include_str!("examples/X86_64.litmus")),
    ("RISC-V", include_str!("examples/RISCV.litmus")),
    ("Power", include_str!("examples/PPC.litmus")),
];

const CHANGES: &[Example] = &[
    ("A release store becomes a relaxed one", include_str!("examples/weaker-store.ll")),
    ("Two loads become one", include_str!("examples/one-load.ll")),
    ("A load moves over an acquire", include_str!("examples/over-acquire.ll")),
];

/// The answer to a question, as JSON; `error` says what is wrong with it.
pub fn answer(question: &str) -> String {
    let read = serde_json::from_str(question).map_err(|e| Diag::new(format!("no question: {e}")));
    match read.and_then(|question| answered(&question)) {
        Ok(answer) => answer.to_string(),
        Err(e) => json!({ "error": e.to_string() }).to_string(),
    }
}

fn answered(question: &Question) -> Result<Value> {
    match question {
        Question::About => Ok(about()),
        Question::Simulate { test, model } => {
            let test = read(test)?;
            simulated(&test, &loaded(model.as_ref(), test.arch)?)
        }
        Question::Why { test, model, state } => {
            let test = read(test)?;
            why(&test, &loaded(model.as_ref(), test.arch)?, state.trim())
        }
        Question::Compare { before, after, model } => compared(before, after, model.as_ref()),
    }
}

fn read(text: &str) -> Result<Test> {
    litmus::read(&Source::new("test", text))
}

/// The model that is asked for, or that of a dialect.
fn loaded(asked: Option<&Asked>, arch: Arch) -> Result<Model> {
    let options = LoadOptions::new(arch);
    Model::load(&match asked {
        Some(asked) => load::load_with(asked.name(), &options, asked)?,
        None => load::load(arch.default_model(), &options)?,
    })
}

fn about() -> Value {
    let named = |(name, text): &Example| json!({ "name": name, "text": text });
    let of = |all: &[Example]| all.iter().map(named).collect::<Vec<_>>();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "models": load::built_in().map(|example| named(&example)).collect::<Vec<_>>(),
        "tests": of(TESTS),
        "changes": of(CHANGES),
    })
}

fn simulated(test: &Test, model: &Model) -> Result<Value> {
    let outcomes = Simulator::default()
        .simulate(test, model, &Options::default())
        .map_err(|e| e.or_at(&test.source, test.condition.span))?;
    let states: Vec<String> = outcomes
        .states
        .rows()
        .map(|row| {
            row.map(|(place, value)| format!("{place}={value}")).collect::<Vec<_>>().join("; ")
        })
        .collect();
    Ok(json!({
        "test": test.name,
        "dialect": test.arch.name(),
        "model": model.name,
        "condition": condition(test),
        "holds": outcomes.validated(),
        "states": states,
        "undefined": outcomes.undefined,
        "cut": outcomes.cut,
        "empty": outcomes.empty.as_ref().map(ToString::to_string),
        "seconds": outcomes.time.as_secs_f64(),
        "log": block(test, &outcomes, None),
    }))
}

fn why(test: &Test, model: &Model, state: &str) -> Result<Value> {
    let (test, state) = match state.is_empty() {
        true => (test.clone(), condition(test)),
        false => (with_state(test, state)?, state.to_string()),
    };
    let answer = Simulator::default().witness(&test, model, &Options::default(), 1)?;
    Ok(json!({
        "allowed": answer.allowed,
        "text": witness::text(&test, model, &state, &answer),
        "picture": (!answer.executions.is_empty())
            .then(|| picture::svg(&test.name, &answer.executions)),
    }))
}

fn compared(before: &str, after: &str, model: Option<&Asked>) -> Result<Value> {
    let module =
        |text: &str, side: &str| Module::read(text).map_err(|e| Diag::new(format!("{side}: {e}")));
    let first = module(before, "before")?;
    let pairs = match after.trim().is_empty() {
        true => pair::within(&first),
        false => pair::between(&first, &module(after, "after")?),
    };
    if pairs.is_empty() {
        return Err(Diag::new("there are no two functions to compare").help(
            "write `@src` and `@tgt`, or functions of the same name before and after the change",
        ));
    }
    let name = model.map_or("llvm-lb", Asked::name);
    let settings = Settings { model: name.to_string(), ..Settings::default() };
    let files: &dyn Files = model.map_or(&Disk, |asked| asked);
    let mut court = Court::with(settings, files)?;
    let reports: Vec<_> = pairs.iter().map(|pair| court.judge(pair)).collect();
    Ok(json!({
        "text": reports.iter().map(said::text).collect::<String>(),
        "line": said::line(env!("CARGO_PKG_VERSION"), name, &reports),
        "status": said::status(&reports),
        "pairs": reports.iter().map(said::data).collect::<Vec<_>>(),
    }))
}
