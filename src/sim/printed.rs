//! Prints the outcomes of a test as herd's logs have them.
//!
//! It does not know how outcomes are found.

use litmake_litmus::log::{LogEntry, UNDEF};
use litmake_litmus::{Place, Test, condition_text, place_brackets};

use crate::Outcomes;

/// The block of a test in a log, with a hash of its text if there is one.
pub fn block(test: &Test, outcomes: &Outcomes, hash: Option<String>) -> String {
    // Lines of one test are about equally long.
    let mut length = 0;
    let lines = outcomes.states.rows().map(|state| {
        let mut line = String::with_capacity(length);
        for (i, (name, value)) in state.enumerate() {
            if i > 0 {
                line.push(' ');
            }
            line.push_str(name);
            line.push('=');
            line.push_str(&value);
            line.push(';');
        }
        length = line.len();
        line
    });
    let mut entry = LogEntry::new(
        &test.name,
        test.condition.quantifier,
        condition(test),
        lines.collect(),
        (outcomes.positive, outcomes.negative),
    );
    entry.cut = outcomes.cut;
    for flag in &outcomes.flags {
        entry.flag(if flag == "undef" { UNDEF } else { flag });
    }
    entry.seconds = Some(outcomes.time.as_secs_f64());
    entry.hash = hash;
    let mut out = String::new();
    entry.print(&mut out);
    out
}

/// The condition as herd prints it, with registers under their full names.
pub fn condition(test: &Test) -> String {
    let isa = litmake_isa::of(test.arch);
    condition_text(&test.condition, test.arch, &|place: &Place| match place {
        Place::Reg { thread, name } => {
            let full = isa.and_then(|i| i.register(name)).map_or(name.clone(), |r| r.name);
            [&*thread.to_string(), ":", &full].concat()
        }
        mem => place_brackets(mem),
    })
}
