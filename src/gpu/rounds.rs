//! A time budget that tests share by rounds: in each round every test runs in one more environment,
//! for its share of the time that is left. The first round leaves no test out, whatever it costs.
//!
//! It does not know where tests come from, nor how results are kept.

use std::time::{Duration, Instant};

use super::environment::Environment;
use super::session::{Ending, Prepared, Session, Setup, begun, conclude};
use litmake_devices::record::{Cell, Record};

/// A test with its recorded results.
pub struct Turn<'a> {
    /// The test.
    pub test: &'a Prepared,
    /// The recorded result in each environment; `None` where there is none.
    pub known: Vec<Option<Cell>>,
}

/// The settings that tests share, besides the device.
pub struct Rounds<'a> {
    /// How tests are run.
    pub setup: &'a Setup,
    /// The environments, in order.
    pub environments: &'a [Environment],
    /// The time that all tests share.
    pub budget: Duration,
    /// Asked before each measurement.
    pub stop: &'a dyn Fn() -> bool,
}

/// A test under way.
struct Going<'a> {
    turn: Turn<'a>,
    record: Record,
    ending: Ending,
    is_done: bool,
}

/// Runs tests for a budget. `keep` receives each result with its environment. Returns how each test ended,
/// and the time that all took.
pub fn run(
    session: &mut Session,
    turns: Vec<Turn>,
    rounds: &Rounds,
    keep: &mut dyn FnMut(usize, usize, &Cell),
) -> (Vec<(Record, Ending)>, Duration) {
    let info = match session.device() {
        Ok(device) => device.info.clone(),
        Err(e) => {
            let none = |_| (Record::default(), Ending::Failed(e.clone()));
            return (turns.iter().map(none).collect(), Duration::ZERO);
        }
    };
    let mut going: Vec<Going> = Vec::new();
    for turn in turns {
        let record = begun(turn.test, &info, rounds.setup);
        going.push(Going { turn, record, ending: Ending::Whole, is_done: false });
    }
    let mut spent = Duration::ZERO;
    for (i, env) in rounds.environments.iter().enumerate() {
        let later = rounds.environments.len() - i - 1;
        for at in 0..going.len() {
            let open = going.iter().filter(|g| !g.is_done).count();
            let ahead = going[at..].iter().filter(|g| !g.is_done).count();
            let one = &mut going[at];
            if one.is_done {
                continue;
            }
            if let Some(cell) = one.turn.known.get_mut(i).and_then(Option::take) {
                one.record.cells.push(cell);
                continue;
            }
            if (rounds.stop)() {
                (one.ending, one.is_done) = (Ending::Stopped, true);
                continue;
            }
            if i > 0 && spent >= rounds.budget {
                one.is_done = true;
                continue;
            }
            let shares = u32::try_from(later * open + ahead).unwrap_or(u32::MAX).max(1);
            let share = rounds.budget.saturating_sub(spent) / shares;
            let start = Instant::now();
            match session.once(one.turn.test, rounds.setup, (i, env), Some(share)) {
                Ok(cell) => {
                    keep(at, i, &cell);
                    one.record.cells.push(cell);
                }
                Err(e) => (one.ending, one.is_done) = (Ending::Failed(e), true),
            }
            spent += start.elapsed();
        }
    }
    let end = |mut one: Going| {
        conclude(&mut one.record, one.turn.test);
        (one.record, one.ending)
    };
    (going.into_iter().map(end).collect(), spent)
}
