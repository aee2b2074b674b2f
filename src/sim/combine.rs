//! Combines the paths of threads, and goes through the executions of each combination with the
//! engine that is asked for. It does not know how paths are found.

use std::time::Instant;

use super::chain;
use super::domain::Domains;
use super::eval::{CompiledJudge, Machine};
use super::exhaustive::{self, Exhaustive};
use super::expr::Exprs;
use super::interpreted::Interpreted;
use super::path::Path;
use super::program::Program;
use super::results::{EarlyEnd, Results};
use super::search::{Judge, Search};
use super::skeleton::{Cells, Skeleton};
use super::symmetry::Symmetry;
use super::whole::Whole;
use super::{Engine, Fast, Model, Obstacle, Options, obstacle_diag, solver, stopped};
use litmake_base::diag::Result;
use litmake_base::rel::Rel;
use litmake_litmus::Test;

/// How many partial executions of a skeleton are enumerated before the solver takes over.
const NODES: u64 = 1 << 11;
/// The same after the test has needed the solver once.
const NODES_AFTER: u64 = 1 << 8;

/// The paths of a test's threads are combined under these conditions.
pub struct Combine<'a> {
    pub test: &'a Test,
    pub program: &'a Program,
    pub model: &'a Model,
    pub options: &'a Options,
    pub deadline: Option<Instant>,
    pub cells: &'a Cells,
    pub exprs: &'a Exprs,
    pub domains: Option<&'a Domains>,
    pub symmetry: &'a Symmetry,
    /// Whether reads may return later writes of their own thread.
    pub early: bool,
    pub machine: &'a mut Machine,
    /// The names of the flags that an interpreted model raises.
    pub names: &'a mut Vec<String>,
}

type Ended = std::result::Result<(), EarlyEnd>;

impl Combine<'_> {
    /// Fills `results` from all combinations of paths.
    pub fn each(&mut self, paths: &[Vec<&Path>], results: &mut Results) -> Result<()> {
        each_choice(paths, &mut |picked| {
            if !self.symmetry.keeps(&picked) {
                return Ok(());
            }
            // If an allowed execution takes a path with an error, that is the result of the test.
            if let Some(error) = picked.iter().find_map(|path| path.error.as_deref()) {
                let mut aside = results.aside();
                self.look(picked, &mut aside)?;
                results.stats = aside.stats;
                results.error = results.error.take().or(aside.error);
                if aside.outcomes.is_empty() {
                    return Ok(());
                }
                let error = Obstacle::Error(error.clone());
                return Err(obstacle_diag(self.test, self.program, self.options, error));
            }
            self.look(picked.clone(), results)?;
            self.bear_out_doubts(&picked, results)
        })
    }

    /// Where an allowed execution bears out a doubt, the behaviour is undefined. The outcomes are
    /// what they are without.
    fn bear_out_doubts(&mut self, picked: &[&Path], results: &mut Results) -> Result<()> {
        for (thread, path) in picked.iter().enumerate() {
            for doubt in &path.doubts {
                if results.undefined.is_some() {
                    return Ok(());
                }
                let mut doubted = Path::clone(path);
                doubted.constraints.push((doubt.cond, true));
                let mut picked = picked.to_vec();
                picked[thread] = &doubted;
                let mut aside = results.aside();
                self.look(picked, &mut aside)?;
                results.stats = aside.stats;
                if !aside.outcomes.is_empty() {
                    results.undefined = Some((thread, *doubt));
                }
            }
        }
        Ok(())
    }

    /// Goes through the executions of one combination.
    fn look(&mut self, picked: Vec<&Path>, results: &mut Results) -> Result<()> {
        let mut skeleton = Skeleton::new(self.program, self.cells, picked, self.early);
        if let Some(domains) = self.domains {
            skeleton.compare_values(self.exprs, domains);
        }
        let parts = self.model.parts(self.program.arch, &skeleton);
        let fast = self.model.fast.as_ref().filter(|_| self.options.engine != Engine::Exhaustive);
        // The proof for chains is the model's; that accesses are whole may tell orders apart as well.
        let chains = match (fast, &parts) {
            (Some(fast), None) => {
                let mut judge = CompiledJudge { model: &fast.steps, machine: self.machine };
                chain::chains(&skeleton, self.exprs, &mut judge).map_err(EarlyEnd::Model)
            }
            _ => Ok(Vec::new()),
        };
        let ended = chains.and_then(|chains| {
            skeleton.chains = chains;
            skeleton.ordered = self.symmetry.ordered(&skeleton);
            results.stats.skeletons += 1;
            match fast {
                Some(fast) => self.compiled(fast, &skeleton, parts, results),
                None => self.interpreted(&skeleton, parts, results),
            }
        });
        stopped(ended, self.test, self.model, self.options, results)
    }

    fn interpreted(
        &mut self,
        skeleton: &Skeleton,
        parts: Option<Rel>,
        results: &mut Results,
    ) -> Ended {
        let Combine { program, cells, exprs, deadline, .. } = *self;
        let mut judge = Interpreted::new(&self.model.cat, self.names);
        as_whole(&mut judge, parts, |judge| match self.options.engine {
            Engine::Exhaustive => {
                Exhaustive { program, cells, exprs, skeleton, deadline }.run(judge, results)
            }
            _ => Search::new(program, cells, exprs, skeleton, judge, results, deadline).run(),
        })
    }

    fn compiled(
        &mut self,
        fast: &Fast,
        skeleton: &Skeleton,
        parts: Option<Rel>,
        results: &mut Results,
    ) -> Ended {
        let Combine { program, cells, exprs, deadline, .. } = *self;
        // The solver has the model's requirements alone.
        let enumerated = self.options.engine == Engine::Enumerate || parts.is_some();
        let theory = fast.theory.as_ref().filter(|_| !enumerated);
        let mut ended = Err(EarlyEnd::Budget);
        if self.options.engine != Engine::Solve || theory.is_none() {
            let first = results.stats.solved == 0;
            let limit = results.stats.nodes + if first { NODES } else { NODES_AFTER };
            let mut judge = CompiledJudge { model: &fast.steps, machine: self.machine };
            ended = as_whole(&mut judge, parts, |judge| {
                let mut search =
                    Search::new(program, cells, exprs, skeleton, judge, results, deadline);
                if theory.is_some() {
                    search.node_limit = limit;
                }
                search.run()
            });
        }
        if let (Err(EarlyEnd::Budget), Some(theory)) = (&ended, theory) {
            results.stats.solved += 1;
            ended = solver::solve(program, theory, cells, exprs, skeleton, results, deadline);
        }
        ended
    }
}

/// Runs with a judge that also asks that accesses of several parts are whole.
fn as_whole(
    judge: &mut dyn Judge,
    parts: Option<Rel>,
    run: impl FnOnce(&mut dyn Judge) -> Ended,
) -> Ended {
    match parts {
        Some(parts) => run(&mut Whole::new(judge, parts)),
        None => run(judge),
    }
}

/// Calls `f` with each choice of one path for each thread.
pub fn each_choice<'p>(
    paths: &[Vec<&'p Path>],
    f: &mut dyn FnMut(Vec<&'p Path>) -> Result<()>,
) -> Result<()> {
    if paths.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut choice = vec![0usize; paths.len()];
    loop {
        f(choice.iter().zip(paths).map(|(c, ps)| ps[*c]).collect())?;
        if !exhaustive::advance(&mut choice, |t| paths[t].len()) {
            return Ok(());
        }
    }
}
