//! Asks for a second opinion on a pass of gcc: makes gcc leave the pass out, and checks whether the
//! machine code is then right.
//!
//! `-fdisable-tree-PASS` and `-fdisable-rtl-PASS` make gcc leave a pass out. gcc fails without some
//! passes; then as many of the others as possible are left out together. Leaving passes out changes
//! the input of later passes, so the result only supports or weakens a suspicion. This module does
//! not know how a pass came under suspicion.

use super::cross::{Asked, extended};
use super::gcc::Pass;
use super::judge::Court;
use litmake_base::failure::Failure;
use litmake_toolchain::compile::Compiler;

/// How often gcc is run to find the passes that it can leave out together. Passes that were not
/// tried stay.
const TRIALS: usize = 40;

/// The result of leaving passes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The code is right without the pass.
    Right,
    /// The code is still wrong without the pass.
    Wrong,
    /// The pass cannot be left out. Says whether the code is wrong with this many of the other
    /// passes left out.
    #[expect(missing_docs, reason = "they are told above")]
    Needed { others: usize, of: usize, is_wrong: bool },
}

impl Opinion {
    /// Whether the result supports the suspicion against the pass.
    pub fn supports(&self) -> bool {
        matches!(self, Opinion::Right | Opinion::Needed { is_wrong: true, .. })
    }

    /// A description in words, given the name of the pass.
    pub fn said(&self, pass: &str) -> String {
        match self {
            Opinion::Right => format!("where gcc leaves {pass} out, the code is right"),
            Opinion::Wrong => {
                format!("where gcc leaves {pass} out, the code is wrong all the same")
            }
            Opinion::Needed { others, of, is_wrong } => {
                let is = if *is_wrong { "is wrong all the same" } else { "is right" };
                format!(
                    "gcc cannot leave {pass} out; where it leaves out {others} of the {of} other passes that changed \
                     something, the code {is}"
                )
            }
        }
    }
}

/// Leaves a pass out, for a test whose machine code is wrong. `others` are the other passes that
/// changed something.
pub fn opinion(
    compiler: &Compiler,
    asked: &Asked,
    court: &mut Court,
    pass: &Pass,
    others: &[Pass],
) -> Result<Opinion, Failure> {
    if !pass.is_needed() {
        // Code without all interleavings of the test does not implement it.
        let code = compiled(compiler, asked, std::slice::from_ref(pass));
        if let Ok(code) = code
            && court.can_interleave(asked.test, &code, asked.model(compiler))?
        {
            return Ok(match asked.is_wrong(court, compiler, &code)? {
                true => Opinion::Wrong,
                false => Opinion::Right,
            });
        }
    }
    let mut out = Vec::new();
    let mut trials = TRIALS;
    let mut goes = |list: &[Pass]| -> bool {
        let code = compiled(compiler, asked, list);
        code.is_ok_and(|code| {
            court.can_interleave(asked.test, &code, asked.model(compiler)).unwrap_or(false)
        })
    };
    grow(&mut goes, &mut out, others, &mut trials);
    if out.is_empty() {
        return Err(Failure::unsupported(format!(
            "{} cannot be left out, nor any other",
            pass.name
        )));
    }
    let code = compiled(compiler, asked, &out)?;
    let is_wrong = asked.is_wrong(court, compiler, &code)?;
    Ok(Opinion::Needed { others: out.len(), of: others.len(), is_wrong })
}

/// The code of a test with some passes left out.
fn compiled(
    compiler: &Compiler,
    asked: &Asked,
    passes: &[Pass],
) -> Result<litmake_litmus::Test, Failure> {
    let words: Vec<String> = passes.iter().map(Pass::disabled).collect();
    asked.compiled(compiler, &extended(compiler.profile, &words))
}

/// Adds as many candidates to a list as `goes` allows: all of them, or those of one half and then
/// of the other.
fn grow<T: Clone>(
    goes: &mut dyn FnMut(&[T]) -> bool,
    list: &mut Vec<T>,
    candidates: &[T],
    trials: &mut usize,
) {
    if candidates.is_empty() || *trials == 0 {
        return;
    }
    *trials -= 1;
    let all = [&list[..], candidates].concat();
    if goes(&all) {
        *list = all;
    } else if candidates.len() > 1 {
        let (a, b) = candidates.split_at(candidates.len() / 2);
        grow(goes, list, a, trials);
        grow(goes, list, b, trials);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_can_go_together_does() {
        let all: Vec<u32> = (0..40).collect();
        for needed in [vec![], vec![0], vec![7, 8, 39], all.clone()] {
            let (mut list, mut trials) = (Vec::new(), 100);
            let mut goes = |l: &[u32]| !l.iter().any(|n| needed.contains(n));
            grow(&mut goes, &mut list, &all, &mut trials);
            let expected: Vec<u32> = all.iter().filter(|n| !needed.contains(n)).copied().collect();
            assert_eq!(list, expected);
        }
        // Two passes that cannot be left out together: the first is.
        let (mut list, mut trials) = (Vec::new(), TRIALS);
        let mut goes = |l: &[u32]| !(l.contains(&3) && l.contains(&30));
        grow(&mut goes, &mut list, &all, &mut trials);
        assert_eq!(list.len(), 39);
        assert!(list.contains(&3) && !list.contains(&30));
        // Passes are not added once the trials are used up.
        let (mut list, mut trials, mut asked) = (Vec::new(), 5, 0);
        let mut goes = |l: &[u32]| {
            asked += 1;
            !l.contains(&0)
        };
        grow(&mut goes, &mut list, &all, &mut trials);
        assert_eq!(asked, 5);
        assert!(!list.contains(&0));
    }
}
