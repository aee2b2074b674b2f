//! Confirms what a certificate claims.
//!
//! First come the outcomes, each with an execution. Then, for each combination of paths, the clauses that
//! say why executions need not be looked at further, and the proof that with them there is none left.

use super::clauses::{Clauses, Literal, variable};
use super::execution::{Combination, Valued};
use super::problem::{Problem, Words};
use super::value::Value;
use super::{CLAIM, END, HEAD, Wrong, seal};

/// A certificate that was confirmed.
pub struct Confirmed {
    /// The name of the test, from the certificate's first part.
    pub test: String,
    /// The name of the model, from the same part.
    pub model: String,
    /// The outcomes, as states are printed: names and values. Empty if the behaviour is undefined.
    pub outcomes: Vec<Vec<(String, String)>>,
    /// Some allowed execution has undefined behaviour, so that every outcome is possible.
    pub undefined: bool,
    /// Executions with more turns of loops were left out.
    pub bounded: bool,
    /// A digest of the certificate's first part: equal for equal tests under equal models.
    pub seal: String,
    /// The number of combinations of paths.
    pub combinations: usize,
    /// The number of clauses that have a reason of their own, each of which was evaluated.
    pub clauses: usize,
    /// The number of clauses that follow from others.
    pub steps: usize,
}

/// A complete execution, as a certificate tells it.
struct Told {
    outcome: Vec<Value>,
    computed: bool,
    undefined: bool,
}

type Lines<'t> = std::iter::Peekable<Box<dyn Iterator<Item = &'t str> + 't>>;

/// Checks the text of a certificate.
pub fn check(text: &str) -> Result<Confirmed, Wrong> {
    let wrong = |what: &str| Err(Wrong(what.to_string()));
    let Some((problem, claim)) = split(text) else {
        return wrong("this is no certificate of this version, or not all of it");
    };
    let seal_of = problem.lines().next().unwrap_or_default();
    let body = problem.split_once('\n').map_or("", |(_, body)| body);
    if seal_of != seal(body) {
        return wrong("the test or the model was changed after the certificate was made");
    }
    let problem = Problem::read(body.lines())?;
    let mut lines: Lines = (Box::new(claim.lines()) as Box<dyn Iterator<Item = &str>>).peekable();
    let mut confirmed = Confirmed {
        test: problem.test.clone(),
        model: problem.model_name.clone(),
        outcomes: Vec::new(),
        undefined: false,
        bounded: problem.bounded,
        seal: seal_of.trim_start_matches("seal ").to_string(),
        combinations: 0,
        clauses: 0,
        steps: 0,
    };
    let mut outcomes = Vec::new();
    while lines.peek().is_some_and(|l| l.starts_with("outcome") || *l == "undefined") {
        let line = lines.next().unwrap_or_default();
        let told = execution(&problem, line, &mut lines)?;
        if line == "undefined" {
            if !told.undefined || lines.next().is_some() {
                return wrong("the execution that shows undefined behaviour does not");
            }
            confirmed.undefined = true;
            return Ok(confirmed);
        }
        if !told.computed {
            return wrong("a value of an execution has no meaning");
        }
        let values: Vec<String> = told.outcome.iter().map(Value::to_string).collect();
        if format!("outcome {}", values.join(" ")).trim_end() != line {
            return Err(Wrong(format!("`{line}`: its execution shows {}", values.join(" "))));
        }
        if outcomes.contains(&told.outcome) {
            return Err(Wrong(format!("`{line}` comes twice")));
        }
        confirmed.outcomes.push(problem.state(&told.outcome));
        outcomes.push(told.outcome);
    }
    let mut picks = vec![0; problem.paths.len()];
    loop {
        let combination = Combination::new(&problem, &picks)?;
        let line = lines.next().unwrap_or_default();
        if line != combination_line(&picks) {
            return Err(Wrong(format!("`{line}`: expected `{}`", combination_line(&picks))));
        }
        confirmed.combinations += 1;
        refute(&combination, &outcomes, &mut lines, &mut confirmed)?;
        if !next_picks(&problem, &mut picks) {
            break;
        }
    }
    match lines.next() {
        Some(line) => Err(Wrong(format!("`{line}` comes after the end"))),
        None => Ok(confirmed),
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(HEAD)?.strip_prefix('\n')?.strip_suffix(END)?;
    text.split_once(CLAIM)
}

pub fn combination_line(picks: &[usize]) -> String {
    let picks: Vec<String> = picks.iter().map(usize::to_string).collect();
    format!("combination {}", picks.join(" "))
}

/// The next combination of paths; false after the last one.
pub fn next_picks(problem: &Problem, picks: &mut [usize]) -> bool {
    for (pick, paths) in picks.iter_mut().zip(&problem.paths) {
        *pick += 1;
        if *pick < paths.len() {
            return true;
        }
        *pick = 0;
    }
    false
}

/// Reads an execution, and checks that it is one and that the model allows it.
fn execution(problem: &Problem, claim: &str, lines: &mut Lines) -> Result<Told, Wrong> {
    let wrong = |what: &str| Err(Wrong(format!("the execution of `{claim}` {what}")));
    let mut part = |name: &str| {
        let line = lines.next().unwrap_or_default();
        let mut words = Words::of(line);
        match words.next() == Some(name) {
            true => Ok((line, words)),
            false => Err(Wrong(format!("`{line}`: expected `{name}`"))),
        }
    };
    let (line, mut words) = part("paths")?;
    let picks: Option<Vec<usize>> =
        problem.paths.iter().map(|paths| words.below(paths.len())).collect();
    let picks = picks.ok_or_else(|| Wrong(format!("`{line}`: there is no such path")))?;
    let combination = Combination::new(problem, &picks)?;
    if combination.is_error() {
        return wrong("takes a path that ends with an error");
    }
    let mut values = vec![0; combination.variables() + 1];
    let (_, mut words) = part("pairs")?;
    for word in words.rest() {
        let literal = combination.read_literal(word)?;
        values[variable(literal)] = literal.signum() as i8;
    }
    combination.close_reads(&mut values);
    let holds = |l: &Literal| values[variable(*l)] == l.signum() as i8;
    if values[1..].contains(&0) || !combination.definition.iter().all(|c| c.iter().any(holds)) {
        return wrong("is none: a read has one source, and coherence is an order");
    }
    let valued = combination.valued(&values);
    if valued.impossible {
        return wrong("has impossible values");
    }
    let (line, _) = part("values")?;
    if line != format!("values{}", combination.event_values(&values, &valued)) {
        return wrong("has other values");
    }
    if combination.is_forbidden(&values) {
        return wrong("is forbidden by the model");
    }
    let computed = combination.is_computed(&valued);
    let outcome = combination.outcome(&values, &valued);
    let computed = computed && outcome.is_some();
    let undefined = combination.is_undefined(&values, &valued);
    Ok(Told { outcome: outcome.unwrap_or_default(), computed, undefined })
}

/// Checks the clauses of a combination, and the proof that they leave no execution.
fn refute(
    combination: &Combination,
    outcomes: &[Vec<Value>],
    lines: &mut Lines,
    confirmed: &mut Confirmed,
) -> Result<(), Wrong> {
    let mut clauses = Clauses::new(combination.variables());
    let mut refuted = false;
    for clause in &combination.definition {
        refuted = refuted || clauses.includes(clause.clone());
    }
    while lines.peek().is_some_and(|l| !l.starts_with("combination ")) {
        let line = lines.next().unwrap_or_default();
        let mut words = Words::of(line);
        let reason = Reason::read(&mut words, outcomes.len());
        let reason = reason.ok_or_else(|| Wrong(format!("`{line}` is no clause")))?;
        let literals = words.rest().map(|w| combination.read_literal(w));
        let clause = literals.collect::<Result<Vec<_>, _>>()?;
        let follows = match reason {
            None => {
                confirmed.steps += 1;
                refuted || clauses.implies(&clause)
            }
            Some(reason) => {
                confirmed.clauses += 1;
                reason.holds(combination, outcomes, &clause)
            }
        };
        if !follows {
            return Err(Wrong(format!("`{line}` does not follow")));
        }
        refuted = refuted || clauses.includes(clause);
    }
    match refuted {
        true => Ok(()),
        false => Err(Wrong(format!(
            "combination number {} has executions that nothing excludes",
            confirmed.combinations
        ))),
    }
}

/// Why the executions in which all literals of a clause are false need not be looked at.
#[derive(Clone, Copy)]
pub enum Reason {
    /// There is none: values go round in a circle or are in pieces, or a path is not taken.
    Values,
    /// The model forbids them.
    Model,
    /// Each shows this outcome, and nothing undefined.
    Outcome(usize),
}

impl Reason {
    /// Reads the reason of a clause; a step of a proof has none.
    fn read(words: &mut Words, outcomes: usize) -> Option<Option<Reason>> {
        Some(match words.next()? {
            "values" => Some(Reason::Values),
            "model" => Some(Reason::Model),
            "shows" => Some(Reason::Outcome(words.below(outcomes)?)),
            "so" => None,
            _ => return None,
        })
    }

    /// How it is written.
    pub fn word(self) -> String {
        match self {
            Reason::Values => "values".to_string(),
            Reason::Model => "model".to_string(),
            Reason::Outcome(n) => format!("shows {n}"),
        }
    }

    /// Whether a clause holds for this reason.
    pub fn holds(
        self,
        combination: &Combination,
        outcomes: &[Vec<Value>],
        clause: &[Literal],
    ) -> bool {
        let mut values = combination.root.clone();
        for literal in clause {
            let at = variable(*literal);
            let wanted = -literal.signum() as i8;
            // A literal that contradicts the definition of an execution holds of none.
            if values[at] == -wanted {
                return true;
            }
            values[at] = wanted;
        }
        self.holds_of(combination, outcomes, &values, &combination.valued(&values))
    }

    /// The same of literals that are true.
    pub fn holds_of(
        self,
        combination: &Combination,
        outcomes: &[Vec<Value>],
        values: &[i8],
        valued: &Valued,
    ) -> bool {
        match self {
            Reason::Values => valued.impossible,
            Reason::Model => combination.is_forbidden(values),
            Reason::Outcome(n) => {
                !combination.is_error()
                    && combination.outcome(values, valued).as_ref() == outcomes.get(n)
                    && combination.is_defined(values, valued)
            }
        }
    }
}
