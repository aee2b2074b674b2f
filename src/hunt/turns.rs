//! Whose turn it is: the profiles that compile the tests of a round.
//!
//! First every profile has a turn, in few rounds: a short hunt is to reach all. From then on two of each machine have
//! their turn together. The compilers of one machine share most of their code, and what is wrong in a pass shows on many
//! machines. So a test is worth more with two compilers of each machine than with all: in the same
//! time there are more tests, and over a few rounds each compiler has its turn.
//!
//! It does not know what a profile or a machine is: it has names, in groups.

/// How many of a group have their turn together: two, so that their code can be mixed. In the first rounds it is so many
/// on average.
const TOGETHER: usize = 2;

/// The names, group by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns(Vec<Vec<String>>);

impl Turns {
    /// Turns for names, each with the group that it is in.
    pub fn of<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Turns {
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, group) in names {
            match groups.iter_mut().find(|(g, _)| *g == group) {
                Some((_, names)) => names.push(name.into()),
                None => groups.push((group, vec![name.into()])),
            }
        }
        Turns(groups.into_iter().map(|(_, names)| names).collect())
    }

    /// The number of the first rounds, in which every name has its turn.
    pub fn first(&self) -> u64 {
        let in_round = |rounds: usize| -> usize {
            self.0.iter().map(|names| names.len().div_ceil(rounds)).sum()
        };
        (1..).find(|rounds| in_round(*rounds) <= TOGETHER * self.0.len()).unwrap_or(1) as u64
    }

    /// The number of later rounds in which every name has its turn.
    fn later(&self) -> u64 {
        self.0.iter().map(|names| names.len().div_ceil(TOGETHER)).max().unwrap_or(1) as u64
    }

    /// How often every name had its turn before a round.
    pub fn cycle(&self, round: u64) -> u64 {
        round.checked_sub(self.first()).map_or(0, |later| 1 + later / self.later())
    }

    /// The names whose turn is in a round, group by group. Those that are together in one cycle of a
    /// group are with others in the next.
    pub fn round(&self, round: u64) -> Vec<&str> {
        match round.checked_sub(self.first()) {
            None => self.in_first(round as usize),
            Some(later) => self.in_later(later as usize),
        }
    }

    fn in_first(&self, round: usize) -> Vec<&str> {
        let rounds = self.first() as usize;
        let of = |names: &'_ Vec<String>| {
            let count = names.len().div_ceil(rounds);
            round * count..(round + 1) * count
        };
        let all =
            self.0.iter().flat_map(|names| of(names).map(|n| names[n % names.len()].as_str()));
        all.collect()
    }

    fn in_later(&self, round: usize) -> Vec<&str> {
        let mut out = Vec::new();
        for names in &self.0 {
            let (first, second) = names.split_at(names.len().div_ceil(TOGETHER));
            let (cycle, at) = (round / first.len(), round % first.len());
            out.push(first[at].as_str());
            // Of an odd number, one name goes alone once a cycle.
            let other = (at + cycle) % first.len();
            out.extend(second.get(other).map(String::as_str));
        }
        out
    }
}
