//! Mutants of cycles: a cycle whose outcome is forbidden is weakened at one place, and what is
//! then allowed is a mutant. Whoever asks says what is allowed.

use super::disrupt::Disruptor;
use litmake_base::diag::{Diag, Result};
use litmake_generate::cycle::Shape;
use litmake_generate::dialect::Dialect;
use litmake_generate::edge::Edge;
use litmake_generate::emit::Style;
use litmake_generate::{Maker, REPEATED, Seen, Tally};

/// Says whether what a cycle shows is allowed; `None` where nobody asks.
pub type Allows<'a> = dyn FnMut(&Maker) -> Result<Option<bool>> + 'a;

/// Why a mutant is left out that nothing would tell from what it is a mutant of.
pub const FORBIDDEN: &str = "its outcome is forbidden";

/// Weakens one cycle. `f` is given the maker with each mutant in it, and what becomes of each is
/// counted; the result is the name of the test that the cycle makes, or `None` where its outcome
/// is allowed.
pub fn weaken(
    dialect: &Dialect,
    cycle: &[Edge],
    disruptors: &[Disruptor],
    maker: &mut Maker,
    allows: &mut Allows,
    f: &mut dyn FnMut(&mut Maker, Option<&Disruptor>) -> Result<()>,
    tally: &mut Tally,
) -> Result<Option<String>> {
    let style = Style::default();
    maker
        .make(dialect, cycle, &Shape::ANY, &style)
        .map_err(|why| Diag::new(format!("the cycle makes no test: {why}")))?;
    if allows(maker)? == Some(true) {
        return Ok(None);
    }
    let name = maker.draft.name.clone();
    f(maker, None)?;
    // Annotations are merged, so that each place has one.
    let merged = maker.shop.edges.clone();
    let mut seen = Seen::default();
    for disruptor in disruptors {
        for mutant in disruptor.apply(&merged) {
            tally.cycles += 1;
            if let Err(why) = maker.make(dialect, &mutant, &Shape::ANY, &style) {
                tally.drop(why);
            } else if !seen.insert(&maker.draft.canonical_hash()) {
                tally.drop(REPEATED);
            } else if allows(maker)? == Some(false) {
                tally.drop(FORBIDDEN);
            } else {
                tally.tests += 1;
                f(maker, Some(disruptor))?;
            }
        }
    }
    Ok(Some(name))
}
