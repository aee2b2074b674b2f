//! Whose turn it is: the profiles that compile the tests of a round.
//!
//! The compilers of one machine share most of their code, and what is wrong in a pass shows on many
//! machines. So a test is worth more with two compilers of each machine than with all: in the same
//! time there are more tests, and over a few rounds each compiler has its turn.
//!
//! It does not know what a profile or a machine is: it has names, in groups.

/// How many of a group have their turn together: two, so that their code can be mixed.
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

    /// The number of rounds in which every name has its turn.
    pub fn cycle(&self) -> u64 {
        self.0.iter().map(|names| names.len().div_ceil(TOGETHER)).max().unwrap_or(1) as u64
    }

    /// The names whose turn is in a round, group by group. Those that are together in one cycle of a
    /// group are with others in the next.
    pub fn round(&self, round: u64) -> Vec<&str> {
        let mut out = Vec::new();
        for names in &self.0 {
            let (first, second) = names.split_at(names.len().div_ceil(TOGETHER));
            let (cycle, at) = (round as usize / first.len(), round as usize % first.len());
            out.push(first[at].as_str());
            // Of an odd number, one name goes alone once a cycle.
            let other = (at + cycle) % first.len();
            out.extend(second.get(other).map(String::as_str));
        }
        out
    }
}
