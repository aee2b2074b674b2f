//! Clauses over numbered literals, and unit propagation. It does not know what the literals stand for.

/// A variable, from 1 on; negative for its negation.
pub type Literal = i32;

#[derive(Default)]
pub struct Clauses {
    clauses: Vec<Vec<Literal>>,
    /// For each literal, the clauses that look at it: two literals of each clause are looked at.
    watching: Vec<Vec<usize>>,
    /// For each variable, 1 (true), -1 (false) or 0.
    pub values: Vec<i8>,
    /// The true literals, in the order in which they became true, each with the clause that made it so.
    pub trail: Vec<(Literal, Option<usize>)>,
    propagated: usize,
}

fn place(literal: Literal) -> usize {
    literal.unsigned_abs() as usize * 2 + usize::from(literal < 0)
}

pub fn variable(literal: Literal) -> usize {
    literal.unsigned_abs() as usize
}

impl Clauses {
    pub fn new(variables: usize) -> Clauses {
        Clauses {
            watching: vec![Vec::new(); 2 * variables + 2],
            values: vec![0; variables + 1],
            ..Clauses::default()
        }
    }

    /// 1 for a true literal, -1 for a false one.
    pub fn value(&self, literal: Literal) -> i8 {
        self.values[variable(literal)] * literal.signum() as i8
    }

    pub fn clause(&self, at: usize) -> &[Literal] {
        &self.clauses[at]
    }

    /// Makes a literal true that was open.
    pub fn set(&mut self, literal: Literal, reason: Option<usize>) {
        self.values[variable(literal)] = literal.signum() as i8;
        self.trail.push((literal, reason));
    }

    /// Adds a clause, and sets its literal if it is the only one that is not false. Returns the clause if
    /// all are false.
    pub fn add(&mut self, mut clause: Vec<Literal>) -> Option<usize> {
        clause.sort_unstable();
        clause.dedup();
        let since = |l: &Literal| self.trail.iter().rposition(|(t, _)| *t == -*l);
        // The literals to look at: open or true ones, else those that became false last.
        clause.sort_by_key(|l| std::cmp::Reverse(since(l).map_or(usize::MAX, |at| at)));
        let at = self.clauses.len();
        for literal in clause.iter().take(2) {
            self.watching[place(*literal)].push(at);
        }
        let false_from = |n: usize| clause.get(n).is_none_or(|l| self.value(*l) < 0);
        let (conflict, unit) = (false_from(0), false_from(1));
        let first = clause.first().copied();
        self.clauses.push(clause);
        match first {
            _ if conflict => Some(at),
            Some(first) if unit && self.value(first) == 0 => {
                self.set(first, Some(at));
                None
            }
            _ => None,
        }
    }

    /// Adds a clause and draws the conclusions; whether there is a contradiction.
    pub fn includes(&mut self, clause: Vec<Literal>) -> bool {
        self.add(clause).is_some() || self.propagate().is_some()
    }

    /// Draws conclusions until there is none; returns a clause of which all literals are false.
    pub fn propagate(&mut self) -> Option<usize> {
        while let Some((literal, _)) = self.trail.get(self.propagated).copied() {
            self.propagated += 1;
            let looking = std::mem::take(&mut self.watching[place(-literal)]);
            let mut conflict = None;
            for (n, at) in looking.iter().copied().enumerate() {
                if conflict.is_some() || !self.moves_on(at, -literal) {
                    self.watching[place(-literal)].push(looking[n]);
                    if conflict.is_none() {
                        let other = self.clauses[at].first().copied().unwrap_or(-literal);
                        match self.value(other) {
                            0 => self.set(other, Some(at)),
                            -1 => conflict = Some(at),
                            _ => {}
                        }
                    }
                }
            }
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Whether a clause looks at another literal instead of one that became false. Puts the other one
    /// of the two to the front.
    fn moves_on(&mut self, at: usize, from: Literal) -> bool {
        let clause = &mut self.clauses[at];
        if clause.len() > 1 && clause[0] == from {
            clause.swap(0, 1);
        }
        let value = |l: Literal| self.values[variable(l)] * l.signum() as i8;
        if value(clause[0]) > 0 {
            return false;
        }
        let Some(next) = (2..clause.len()).find(|n| value(clause[*n]) >= 0) else { return false };
        clause.swap(1, next);
        let literal = clause[1];
        self.watching[place(literal)].push(at);
        true
    }

    /// Takes back all but the first literals that became true.
    pub fn undo(&mut self, to: usize) {
        for (literal, _) in self.trail.drain(to..) {
            self.values[variable(literal)] = 0;
        }
        self.propagated = self.propagated.min(to);
    }

    /// Whether a clause follows by unit propagation: its negation leads to a contradiction.
    pub fn implies(&mut self, clause: &[Literal]) -> bool {
        let before = self.trail.len();
        let mut found = false;
        for literal in clause {
            match self.value(*literal) {
                1 => found = true,
                0 => self.set(-*literal, None),
                _ => {}
            }
        }
        found |= self.propagate().is_some();
        self.undo(before);
        found
    }
}
