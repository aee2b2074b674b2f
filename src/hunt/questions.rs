//! The questions that a pass has to ask before it moves, merges, deletes or invents an access, and the tests
//! that show where one is not asked.
//!
//! It does not know whether a pass asks them.

use litmake_generate::axes::{Axis, Point, Random, draw};

use super::sources::Position;

/// A question, as data.
pub struct Question {
    /// The name in reports.
    pub name: &'static str,
    /// Passes that have to ask it.
    pub passes: &'static [&'static str],
    /// Tests on the grid that show its absence: those that have, for all axes of one of these, one of the
    /// choices.
    pub ways: &'static [Way],
    /// Families of tests that show its absence.
    pub families: &'static [&'static str],
}

/// Choices on axes that show the absence of a question together.
pub type Way = &'static [(Axis, &'static [&'static str])];

/// Every question.
pub const QUESTIONS: [Question; 16] = [
    Question {
        name: "does what is between order, although it aliases nothing",
        passes: &["aarch64-ldst-opt", "arm-ldst-opt", "machine-sink", "SLPVectorizer", "DSE"],
        ways: &[
            // A thread's own store behind the release of one, and its own load behind that of a load.
            &[(Axis::Near, &["store-after", "stores"]), (Axis::Shape, &["MP"])],
            &[(Axis::Near, &["load-after"]), (Axis::Shape, &["hand"])],
            &[(Axis::Near, &["store-after", "load-after", "stores", "loads", "result-after"])],
            &[(Axis::Member, &["flag-inside", "neighbours", "neighbours-8"])],
        ],
        families: &["c11-struct"],
    },
    Question {
        name: "do other threads run the function that alone uses a variable",
        passes: &["GlobalOpt", "ipa-reference", "SROA"],
        ways: &[&[(Axis::Storage, &["one-function"]), (Axis::Shape, &["back"])]],
        families: &[],
    },
    Question {
        name: "can a call change a variable whose address nobody takes",
        passes: &["GlobalsAA", "ipa-modref", "GVN", "LICM"],
        ways: &[&[(Axis::Storage, &["statics", "one-function"])]],
        families: &[],
    },
    Question {
        name: "is the access simple: neither volatile nor atomic",
        passes: &["InstCombine", "DSE", "MemCpyOpt", "store-merging"],
        ways: &[&[(Axis::Kind, &["atomic", "volatile"])], &[(Axis::Alias, &["volatile-once"])]],
        families: &["c11-volatile"],
    },
    Question {
        name: "is the load unordered, so that it may be merged, hoisted or dropped",
        passes: &["EarlyCSE", "GVN", "LICM", "tree-ssa-fre"],
        ways: &[
            &[(Axis::Read, &["twice"])],
            &[(Axis::Use, &["unused-too", "diamond-same", "both-sides"])],
            &[(Axis::Early, &["read", "read-kept"])],
        ],
        families: &["c11-pointers"],
    },
    Question {
        name: "does a fence or a call end how far a load may sink",
        passes: &["InstCombine", "Sink", "machine-sink", "tree-ssa-sink"],
        ways: &[&[(Axis::Early, &["read-sunk"])], &[(Axis::Sync, &["fence-branch", "fence-loop"])]],
        families: &["c11-helpers"],
    },
    Question {
        name: "may a store be invented, widened or moved out of its branch",
        passes: &["SimplifyCFG", "store-merging", "LICM", "mem2reg"],
        ways: &[
            &[(Axis::Write, &["half-dead", "diamond", "diamond-same", "halves"])],
            &[(Axis::Member, &["neighbours-8", "beside-atomic", "copied"])],
            &[(Axis::Loop, &["counted", "while", "around-data"])],
        ],
        families: &["c11-plain"],
    },
    Question {
        name: "is a store dead although another thread may read it before the next",
        passes: &["DSE", "tree-ssa-dse"],
        ways: &[&[(Axis::Write, &["dead-before", "written-back"])], &[(Axis::Early, &["written"])]],
        families: &[],
    },
    Question {
        name: "does an update without a result still order",
        passes: &["isel", "AArch64DeadRegisterDefinitions", "InstCombine"],
        ways: &[&[(Axis::Shape, &["SB-idle", "MP-unused"])]],
        families: &["c11-unused", "c11-idle"],
    },
    Question {
        name: "does a compare-exchange that fails order as its failure order says",
        passes: &["AtomicExpand", "isel", "expand"],
        ways: &[],
        families: &["c11-cas"],
    },
    Question {
        name: "is the access aligned and single on this machine",
        passes: &["isel", "legalizer", "AtomicExpand"],
        ways: &[
            &[(Axis::Type, &["int64_t", "int128", "uint128"])],
            &[(Axis::Around, &["table-64", "table-128"])],
        ],
        families: &["c11-const", "c11-array"],
    },
    Question {
        name: "does the answer of an update come from the update",
        passes: &["InstCombine", "isel", "combine"],
        ways: &[&[(Axis::Answer, &["bit", "any-bit", "zero", "sign", "truth"])]],
        families: &[],
    },
    Question {
        name: "is a load ordered that moves to its use",
        passes: &["X86CallFrameOptimization", "PeepholeOptimizer", "isel", "combine"],
        ways: &[&[(Axis::Kept, &["arguments"])], &[(Axis::Answer, &["bit", "zero", "sign"])]],
        families: &[],
    },
    Question {
        name: "does what a thread stored stay until it reads it, although it synchronises in between",
        passes: &["aarch64-ldst-opt", "GVN", "EarlyCSE", "JumpThreading"],
        ways: &[&[(Axis::Kept, &["written"])], &[(Axis::Shape, &["back"])]],
        families: &[],
    },
    Question {
        name: "does restrict, pure or const end at synchronisation",
        passes: &["Inliner", "GVN", "LICM", "ipa-pure-const"],
        ways: &[
            &[(Axis::Alias, &["restrict-call", "restrict-inline"])],
            &[(Axis::Call, &["pure", "pure-unused", "const"])],
        ],
        families: &[],
    },
    Question {
        name: "does what is for the compiler alone stay where it is",
        passes: &["isel", "machine-scheduler", "DSE", "MemCpyOpt"],
        ways: &[&[(Axis::Between, &["asm", "signal-fence", "volatile", "copies"])]],
        families: &["c11-volatile"],
    },
];

impl Question {
    /// Whether a test shows where this is not asked; `family` is the name of the list that it is from.
    pub fn is_asked_by(&self, place: &Position, family: &dyn Fn(usize) -> &'static str) -> bool {
        match place {
            Position::Grid(point) => {
                let point = Point(*point);
                let has = |(axis, names): &(Axis, &[&str])| names.contains(&point.choice(*axis));
                self.ways.iter().any(|way| way.iter().all(has))
            }
            Position::Listed(at, _) => self.families.contains(&family(*at)),
        }
    }

    /// A random test that shows where this is not asked: a point of the grid, or the name of a family.
    pub fn draw(&self, random: &mut Random) -> Asking {
        let at = random.below(self.ways.len() + self.families.len());
        let Some(way) = self.ways.get(at) else {
            return Asking::Family(self.families[at - self.ways.len()]);
        };
        let mut fixed = |(axis, names): &(Axis, &[&str])| {
            let name = names[random.below(names.len())];
            (*axis, (0..axis.choices()).find(|at| axis.choice(*at) == name).unwrap_or(0))
        };
        let fixed: Vec<(Axis, usize)> = way.iter().map(&mut fixed).collect();
        Asking::Point(draw(random, &[], &fixed))
    }
}

/// What is drawn for a question.
pub enum Asking {
    /// A point of the grid.
    Point(Point),
    /// A family, of which each test will do.
    Family(&'static str),
}
