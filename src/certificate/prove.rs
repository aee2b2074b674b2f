//! Looks for the outcomes and for the proof that there is no other: decides literals one by one, asks the
//! checker's evaluation whether what is decided needs to be looked at further, and learns from each answer.
//!
//! Nothing trusts it: the checker confirms what it writes.

use super::check::{Reason, combination_line, next_picks};
use super::clauses::{Clauses, Literal, variable};
use super::execution::{Combination, Valued};
use super::problem::Problem;
use super::value::Value;
use super::{CLAIM, END, HEAD, Wrong, seal};

/// A certificate, and the outcomes in it.
pub struct Proved {
    /// The certificate.
    pub text: String,
    /// The values of the observed places, as words.
    pub outcomes: Vec<Vec<String>>,
    /// Some allowed execution has undefined behaviour.
    pub undefined: bool,
}

/// The outcomes that were found so far, and the lines of the certificate about them.
#[derive(Default)]
struct Found {
    outcomes: Vec<Vec<Value>>,
    /// The lines of the executions, and those of the proof.
    shown: String,
    proof: String,
    undefined: bool,
}

/// Makes a certificate of the trusted part; `stop` is asked now and then whether to give up.
pub fn prove(body: &str, stop: &dyn Fn() -> bool) -> Result<Proved, Wrong> {
    let problem = Problem::read(body.lines())?;
    let mut found = Found::default();
    let mut picks = vec![0; problem.paths.len()];
    loop {
        let combination = Combination::new(&problem, &picks)?;
        found.proof += &format!("{}\n", combination_line(&picks));
        let mut search = Search {
            clauses: Clauses::new(combination.variables()),
            combination: &combination,
            found: &mut found,
            picks: &picks,
            decisions: Vec::new(),
        };
        search.run(stop)?;
        if found.undefined || !next_picks(&problem, &mut picks) {
            break;
        }
    }
    let claim = if found.undefined { String::new() } else { found.proof };
    let text = format!("{HEAD}\n{}\n{body}{CLAIM}{}{claim}{END}", seal(body), found.shown);
    let words = |o: &Vec<Value>| o.iter().map(Value::to_string).collect();
    let outcomes = found.outcomes.iter().map(words).collect();
    Ok(Proved { text, outcomes, undefined: found.undefined })
}

struct Search<'s> {
    combination: &'s Combination<'s>,
    clauses: Clauses,
    found: &'s mut Found,
    picks: &'s [usize],
    /// How many literals were true before each decision.
    decisions: Vec<usize>,
}

impl Search<'_> {
    fn run(&mut self, stop: &dyn Fn() -> bool) -> Result<(), Wrong> {
        for clause in &self.combination.definition {
            if self.clauses.includes(clause.clone()) {
                return Ok(());
            }
        }
        loop {
            if stop() {
                return Err(Wrong("no certificate in time".to_string()));
            }
            if let Some(conflict) = self.clauses.propagate() {
                if self.learn(conflict) {
                    return Ok(());
                }
                continue;
            }
            let valued = self.combination.valued(&self.clauses.values);
            if let Some(reason) = self.reason(&valued) {
                let clause = self.shortest(reason);
                self.write(&reason.word(), &clause);
                if let Some(conflict) = self.clauses.add(clause)
                    && self.learn(conflict)
                {
                    return Ok(());
                }
                continue;
            }
            match self.clauses.values[1..].iter().position(|v| *v == 0) {
                Some(open) => {
                    self.decisions.push(self.clauses.trail.len());
                    self.clauses.set(open as Literal + 1, None);
                }
                None => {
                    self.show(&valued)?;
                    if self.found.undefined {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn reason(&self, valued: &Valued) -> Option<Reason> {
        let (it, values) = (self.combination, &self.clauses.values);
        let holds = |r: Reason| r.holds_of(it, &self.found.outcomes, values, valued);
        let outcome = || {
            let outcome = it.outcome(values, valued)?;
            let known = self.found.outcomes.iter().position(|o| *o == outcome)?;
            Some(Reason::Outcome(known)).filter(|r| holds(*r))
        };
        let other = Some(Reason::Values).filter(|r| holds(*r)).or_else(outcome);
        other.or_else(|| Some(Reason::Model).filter(|r| holds(*r)))
    }

    /// A clause that holds for a reason, with few literals. The last ones go first, so that the
    /// search goes back far.
    fn shortest(&self, reason: Reason) -> Vec<Literal> {
        let (it, outcomes) = (self.combination, &self.found.outcomes);
        let own = |l: &Literal| it.root[variable(*l)] == 0;
        let mut clause: Vec<Literal> =
            self.clauses.trail.iter().map(|(l, _)| -*l).filter(own).collect();
        let holds = |clause: &[Literal]| reason.holds(it, outcomes, clause);
        // That a read does not return a value mostly follows from the one that it does return.
        let told: Vec<Literal> = clause.iter().copied().filter(|l| it.tells(-*l)).collect();
        if holds(&told) {
            clause = told;
        }
        let mut size = clause.len().div_ceil(2);
        while size > 0 {
            let mut end = clause.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut fewer = clause.clone();
                fewer.drain(start..end);
                if holds(&fewer) {
                    clause = fewer;
                }
                end = start;
            }
            size /= 2;
        }
        clause
    }

    fn write(&mut self, kind: &str, clause: &[Literal]) {
        self.found.proof += kind;
        for literal in clause {
            self.found.proof.push(' ');
            self.found.proof += &self.combination.show(*literal);
        }
        self.found.proof.push('\n');
    }

    /// Learns from a clause of which all literals are false which decisions contradict each other, and
    /// goes back; true if no decision is needed for that.
    fn learn(&mut self, conflict: usize) -> bool {
        let mut seen = vec![false; self.clauses.values.len()];
        self.clauses.clause(conflict).iter().for_each(|l| seen[variable(*l)] = true);
        let mut learned = Vec::new();
        let root = self.decisions.first().copied().unwrap_or(self.clauses.trail.len());
        for (literal, reason) in self.clauses.trail[root..].iter().rev() {
            match reason {
                _ if !seen[variable(*literal)] => {}
                Some(of) => self.clauses.clause(*of).iter().for_each(|l| seen[variable(*l)] = true),
                None => learned.push(-*literal),
            }
        }
        self.write("so", &learned);
        // The last of the decisions is taken back, and what was decided since the one before it.
        let at = |l: &Literal| self.clauses.trail.iter().position(|(t, _)| *t == -*l);
        let before = learned.get(1).and_then(at);
        let keep = self.decisions.iter().filter(|d| before.is_some_and(|b| **d <= b)).count();
        if let Some(to) = self.decisions.get(keep) {
            self.clauses.undo(*to);
        }
        self.decisions.truncate(keep);
        self.clauses.add(learned).is_some()
    }

    /// Writes the execution that is decided.
    fn show(&mut self, valued: &Valued) -> Result<(), Wrong> {
        let (it, values) = (self.combination, &self.clauses.values);
        if it.is_error() {
            return Err(Wrong("an allowed execution takes a path that ends with an error".into()));
        }
        let outcome = it.outcome(values, valued);
        let mut claim = "undefined".to_string();
        if !it.is_undefined(values, valued) {
            let known = it.is_computed(valued) && it.is_defined(values, valued);
            let outcome = outcome.filter(|_| known);
            let meaningless = || Wrong("a value of an execution has no meaning".to_string());
            let outcome = outcome.ok_or_else(meaningless)?;
            let words: Vec<String> = outcome.iter().map(Value::to_string).collect();
            claim = format!("outcome {}", words.join(" ")).trim_end().to_string();
            self.found.outcomes.push(outcome);
        } else {
            self.found.undefined = true;
            self.found.outcomes.clear();
            self.found.shown.clear();
        }
        let picks: Vec<String> = self.picks.iter().map(usize::to_string).collect();
        self.found.shown += &format!(
            "{claim}\npaths {}\npairs {}\nvalues{}\n",
            picks.join(" "),
            it.positive(values).join(" "),
            it.event_values(values, valued)
        );
        Ok(())
    }
}
