//! Makes mutants of cycles: a cycle whose outcome is forbidden is weakened at one place, and is a
//! mutant if its outcome is then allowed.
//!
//! It does not know models; the caller decides what is allowed.

use super::disrupt::Disruptor;
use litmake_base::diag::{Diag, Result};
use litmake_generate::cycle::Shape;
use litmake_generate::dialect::Dialect;
use litmake_generate::edge::Edge;
use litmake_generate::emit::Style;
use litmake_generate::{Maker, REPEATED, Seen, Tally};

/// Decides whether the outcome of a cycle is allowed; `None` if no model is asked.
pub type Allows<'a> = dyn FnMut(&Maker) -> Result<Option<bool>> + 'a;

/// The reason for which a weakened cycle is dropped if its outcome is still forbidden.
pub const FORBIDDEN: &str = "its outcome is forbidden";

/// Weakens one cycle. Calls `f` with the maker for the cycle itself and for each mutant, and counts
/// the results. Returns the name of the cycle's test, or `None` if its outcome is allowed.
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
    // The annotations of neighbouring edges are merged, so that each event has one.
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
