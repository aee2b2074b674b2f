//! The questions that a pass has to ask before it moves, merges, deletes or invents an access, and the tests
//! that show where one is not asked.
//!
//! It does not know whether a pass asks them.

use litmake_generate::axes::{Axis, Point};

use super::sources::Position;

/// A question, as data.
pub struct Question {
    /// The name in reports.
    pub name: &'static str,
    /// Passes that have to ask it.
    pub passes: &'static [&'static str],
    /// Tests on the grid that show its absence: those with one of these choices.
    pub choices: &'static [(Axis, &'static [&'static str])],
    /// Families of tests that show its absence.
    pub families: &'static [&'static str],
}

/// Every question.
pub const QUESTIONS: [Question; 16] = [
    Question {
        name: "does what is between order, although it aliases nothing",
        passes: &["aarch64-ldst-opt", "arm-ldst-opt", "machine-sink", "SLPVectorizer", "DSE"],
        choices: &[
            (Axis::Near, &["store-after", "load-after", "stores", "loads", "result-after"]),
            (Axis::Member, &["flag-inside", "neighbours", "neighbours-8"]),
        ],
        families: &["c11-struct"],
    },
    Question {
        name: "do other threads run the function that alone uses a variable",
        passes: &["GlobalOpt", "ipa-reference", "SROA"],
        choices: &[(Axis::Storage, &["one-function"])],
        families: &[],
    },
    Question {
        name: "can a call change a variable whose address nobody takes",
        passes: &["GlobalsAA", "ipa-modref", "GVN", "LICM"],
        choices: &[(Axis::Storage, &["statics", "one-function"])],
        families: &[],
    },
    Question {
        name: "is the access simple: neither volatile nor atomic",
        passes: &["InstCombine", "DSE", "MemCpyOpt", "store-merging"],
        choices: &[(Axis::Kind, &["atomic", "volatile"]), (Axis::Alias, &["volatile-once"])],
        families: &["c11-volatile"],
    },
    Question {
        name: "is the load unordered, so that it may be merged, hoisted or dropped",
        passes: &["EarlyCSE", "GVN", "LICM", "tree-ssa-fre"],
        choices: &[
            (Axis::Read, &["twice"]),
            (Axis::Use, &["unused-too", "diamond-same", "both-sides"]),
            (Axis::Early, &["read", "read-kept"]),
        ],
        families: &["c11-pointers"],
    },
    Question {
        name: "does a fence or a call end how far a load may sink",
        passes: &["InstCombine", "Sink", "machine-sink", "tree-ssa-sink"],
        choices: &[(Axis::Early, &["read-sunk"]), (Axis::Sync, &["fence-branch", "fence-loop"])],
        families: &["c11-helpers"],
    },
    Question {
        name: "may a store be invented, widened or moved out of its branch",
        passes: &["SimplifyCFG", "store-merging", "LICM", "mem2reg"],
        choices: &[
            (Axis::Write, &["half-dead", "diamond", "diamond-same", "halves"]),
            (Axis::Member, &["neighbours-8", "beside-atomic", "copied"]),
            (Axis::Loop, &["counted", "while", "around-data"]),
        ],
        families: &["c11-plain"],
    },
    Question {
        name: "is a store dead although another thread may read it before the next",
        passes: &["DSE", "tree-ssa-dse"],
        choices: &[(Axis::Write, &["dead-before", "written-back"]), (Axis::Early, &["written"])],
        families: &[],
    },
    Question {
        name: "does an update without a result still order",
        passes: &["isel", "AArch64DeadRegisterDefinitions", "InstCombine"],
        choices: &[(Axis::Shape, &["SB-idle", "MP-unused"])],
        families: &["c11-unused", "c11-idle"],
    },
    Question {
        name: "does a compare-exchange that fails order as its failure order says",
        passes: &["AtomicExpand", "isel", "expand"],
        choices: &[],
        families: &["c11-cas"],
    },
    Question {
        name: "is the access aligned and single on this machine",
        passes: &["isel", "legalizer", "AtomicExpand"],
        choices: &[
            (Axis::Type, &["int64_t", "int128", "uint128"]),
            (Axis::Around, &["table-64", "table-128"]),
        ],
        families: &["c11-const", "c11-array"],
    },
    Question {
        name: "does the answer of an update come from the update",
        passes: &["InstCombine", "isel", "combine"],
        choices: &[(Axis::Answer, &["bit", "any-bit", "zero", "sign", "truth"])],
        families: &[],
    },
    Question {
        name: "is a load ordered that moves to its use",
        passes: &["X86CallFrameOptimization", "PeepholeOptimizer", "isel", "combine"],
        choices: &[(Axis::Kept, &["arguments"]), (Axis::Answer, &["bit", "zero", "sign"])],
        families: &[],
    },
    Question {
        name: "does what a thread stored stay until it reads it, although it synchronises in between",
        passes: &["aarch64-ldst-opt", "GVN", "EarlyCSE", "JumpThreading"],
        choices: &[(Axis::Kept, &["written"]), (Axis::Shape, &["back"])],
        families: &[],
    },
    Question {
        name: "does restrict, pure or const end at synchronisation",
        passes: &["Inliner", "GVN", "LICM", "ipa-pure-const"],
        choices: &[
            (Axis::Alias, &["restrict-call", "restrict-inline"]),
            (Axis::Call, &["pure", "pure-unused", "const"]),
        ],
        families: &[],
    },
    Question {
        name: "does what is for the compiler alone stay where it is",
        passes: &["isel", "machine-scheduler", "DSE", "MemCpyOpt"],
        choices: &[(Axis::Between, &["asm", "signal-fence", "volatile", "copies"])],
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
                self.choices.iter().any(has)
            }
            Position::Listed(at, _) => self.families.contains(&family(*at)),
        }
    }
}
