//! The ways to hand data over and to take it: each names its operation, its orders and its fence.

use std::sync::LazyLock;

/// How the operation on the flag is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Store,
    Load,
    Exchange,
    /// `atomic_fetch_*`; for taking, with an operand that changes nothing.
    Fetch(&'static str),
    /// A compare-exchange; for taking, one that fails or one that writes what is there.
    Cas {
        weak: bool,
        failure: &'static str,
        hits: bool,
    },
}

/// A way to release or to acquire.
#[derive(Clone, Debug)]
pub struct Way {
    pub name: String,
    pub operation: Operation,
    pub order: &'static str,
    /// The fence before a release, or after an acquire.
    pub fence: Option<&'static str>,
    /// Whether the result of a release is observed.
    pub used: bool,
}

/// The number that a flag is set to, as a constant or as one that no compiler knows.
pub const OPERANDS: [&str; 2] = ["constant", "loaded"];

/// Where the operation on the flag stands.
pub const WRAPS: [&str; 10] = [
    "straight",
    "diamond",
    "loop",
    "noinline",
    "inline",
    "expected",
    "with-data",
    "recursive",
    "fence-branch",
    "fence-loop",
];

/// How a thread tells whether the flag was set: by the value that an update found, by a bit of it, or by a
/// comparison of the value that the update left. Machines have instructions that answer this without
/// returning the value.
pub const ANSWERS: [&str; 6] = ["whole", "bit", "any-bit", "zero", "sign", "truth"];

static RELEASES: LazyLock<Vec<Way>> = LazyLock::new(make_releases);
static ACQUIRES: LazyLock<Vec<Way>> = LazyLock::new(make_acquires);

static RELEASE_NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| RELEASES.iter().map(|way| way.name.as_str()).collect());
static ACQUIRE_NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| ACQUIRES.iter().map(|way| way.name.as_str()).collect());

pub fn release_names() -> &'static [&'static str] {
    &RELEASE_NAMES
}

pub fn acquire_names() -> &'static [&'static str] {
    &ACQUIRE_NAMES
}

pub fn releases() -> &'static [Way] {
    &RELEASES
}

pub fn acquires() -> &'static [Way] {
    &ACQUIRES
}

const FETCHES: [&str; 5] = ["add", "sub", "or", "xor", "and"];

fn short(order: &str) -> &str {
    match order {
        "relaxed" => "rlx",
        "acquire" => "acq",
        "release" => "rel",
        "acq_rel" => "ar",
        _ => "sc",
    }
}

fn make_releases() -> Vec<Way> {
    let mut out = Vec::new();
    let mut add = |text: String, operation, order, fence: Option<&'static str>, used: bool| {
        let fence_name = fence.map_or(String::new(), |f| format!("fence{}-", short(f)));
        let unused = match (operation, used) {
            (Operation::Store, _) | (_, true) => "",
            _ => "-unused",
        };
        let name = format!("{fence_name}{text}-{}{unused}", short(order));
        out.push(Way { name, operation, order, fence, used });
    };
    for order in ["release", "seq_cst"] {
        add("store".into(), Operation::Store, order, None, false);
    }
    for fence in ["release", "acq_rel", "seq_cst"] {
        add("store".into(), Operation::Store, "relaxed", Some(fence), false);
    }
    let orders: [(&'static str, Option<&'static str>); 5] = [
        ("release", None),
        ("acq_rel", None),
        ("seq_cst", None),
        ("relaxed", Some("release")),
        ("relaxed", Some("seq_cst")),
    ];
    for (order, fence) in orders {
        for used in [false, true] {
            add("exchange".into(), Operation::Exchange, order, fence, used);
            for fetch in &FETCHES[..4] {
                add(format!("fetch-{fetch}"), Operation::Fetch(fetch), order, fence, used);
            }
            for weak in [false, true] {
                let name = if weak { "weak" } else { "strong" };
                for failure in ["relaxed", "acquire", "seq_cst"] {
                    let operation = Operation::Cas { weak, failure, hits: true };
                    add(format!("cas-{name}-{}", short(failure)), operation, order, fence, used);
                }
            }
        }
    }
    out
}

fn make_acquires() -> Vec<Way> {
    let mut out = Vec::new();
    let mut add = |text: String, operation, order, fence: Option<&'static str>| {
        let fence_name = fence.map_or(String::new(), |f| format!("-fence{}", short(f)));
        let name = format!("{text}-{}{fence_name}", short(order));
        out.push(Way { name, operation, order, fence, used: true });
    };
    for order in ["acquire", "seq_cst"] {
        add("load".into(), Operation::Load, order, None);
    }
    for fence in ["acquire", "acq_rel", "seq_cst"] {
        add("load".into(), Operation::Load, "relaxed", Some(fence));
    }
    let orders: [(&'static str, Option<&'static str>); 4] =
        [("acquire", None), ("acq_rel", None), ("seq_cst", None), ("relaxed", Some("acquire"))];
    for (order, fence) in orders {
        add("exchange".into(), Operation::Exchange, order, fence);
        for fetch in FETCHES {
            add(format!("fetch-{fetch}"), Operation::Fetch(fetch), order, fence);
        }
    }
    for weak in [false, true] {
        let name = if weak { "weak" } else { "strong" };
        for success in ["relaxed", "acquire", "release", "acq_rel", "seq_cst"] {
            // One that fails is ordered by the order of failure.
            for failure in ["acquire", "seq_cst"] {
                let operation = Operation::Cas { weak, failure, hits: false };
                add(format!("cas-{name}-miss-{}", short(failure)), operation, success, None);
            }
            let operation = Operation::Cas { weak, failure: "relaxed", hits: false };
            add(format!("cas-{name}-miss-rlx"), operation, success, Some("acquire"));
        }
        for success in ["acquire", "acq_rel", "seq_cst"] {
            for failure in ["relaxed", "acquire", "seq_cst"] {
                let operation = Operation::Cas { weak, failure, hits: true };
                add(format!("cas-{name}-hit-{}", short(failure)), operation, success, None);
            }
        }
        let operation = Operation::Cas { weak, failure: "relaxed", hits: true };
        add(format!("cas-{name}-hit-rlx"), operation, "relaxed", Some("acquire"));
    }
    out
}

fn fence(order: &str) -> String {
    format!("atomic_thread_fence(memory_order_{order});\n")
}

impl Way {
    /// The call of an operation on an object, with the way's order behind its operands.
    fn call(&self, operation: &str, object: &str, operand: impl std::fmt::Display) -> String {
        format!("atomic_{operation}_explicit({object}, {operand}, memory_order_{})", self.order)
    }

    fn fetch(&self, op: &str, object: &str, operand: impl std::fmt::Display) -> String {
        self.call(&format!("fetch_{op}"), object, operand)
    }

    /// The call of a compare-exchange, with its order and that of a failure.
    fn cas(&self, object: &str, expected: &str, new: impl std::fmt::Display) -> String {
        let Operation::Cas { weak, failure, .. } = self.operation else { return String::new() };
        let name = if weak { "weak" } else { "strong" };
        format!(
            "atomic_compare_exchange_{name}_explicit({object}, &{expected}, {new}, \
             memory_order_{}, memory_order_{failure})",
            self.order
        )
    }

    /// The fence behind an operation.
    fn after(&self) -> String {
        self.fence.map(fence).unwrap_or_default()
    }

    /// Statements that set `flag` from `old` to `new`. A result that is used goes to a local of the
    /// flag's type, which is named `kept`.
    /// `operand` is a choice of [`OPERANDS`].
    pub fn release(
        &self,
        operand: &str,
        (flag, ty): (&str, &str),
        (old, new): (u32, u32),
        kept: &str,
    ) -> String {
        let mut out = self.fence.map(fence).unwrap_or_default();
        let number = |n: u32| match operand {
            "loaded" => format!("(*k + {})", n - 1),
            _ => n.to_string(),
        };
        let (set, change) = (number(new), number(new - old));
        let call = match self.operation {
            Operation::Exchange => self.call("exchange", flag, set),
            Operation::Fetch(op) => {
                let operand = match op {
                    "add" => change,
                    "sub" => format!("-{change}"),
                    _ => number(old ^ new),
                };
                // An `or` cannot take bits away; what it sets is another number then.
                self.fetch(op, flag, operand)
            }
            Operation::Cas { .. } => {
                let expected = format!("{kept}e");
                out.push_str(&format!("{ty} {expected} = {old};\n"));
                self.cas(flag, &expected, set)
            }
            Operation::Store | Operation::Load => self.call("store", flag, set),
        };
        match self.used && self.operation != Operation::Store {
            true => out.push_str(&format!("{kept} = {call};\n")),
            false => out.push_str(&format!("{call};\n")),
        }
        out
    }

    /// Statements after which `into`, a local of the flag's type, is what `flag` was. `set` is the
    /// value that is waited for.
    pub fn acquire(&self, flag: &str, ty: &str, set: u32, into: &str) -> String {
        let out = match self.operation {
            // It exchanges the value that it hopes for, so that the flag keeps its value.
            Operation::Exchange => format!("{into} = {};\n", self.call("exchange", flag, set)),
            Operation::Fetch(op) => {
                let same = if op == "and" { "-1" } else { "0" };
                format!("{into} = {};\n", self.fetch(op, flag, same))
            }
            Operation::Cas { hits, .. } => {
                let expected = format!("{into}e");
                let (hope, new) = if hits { (set, set) } else { (77, 78) };
                let call = self.cas(flag, &expected, new);
                let start = format!("{ty} {expected} = {hope};\n");
                match hits {
                    true => format!("{start}{into} = {call} ? {set} : 0;\n"),
                    false => format!("{start}{call};\n{into} = {expected};\n"),
                }
            }
            Operation::Store | Operation::Load => {
                format!("{into} = atomic_load_explicit({flag}, memory_order_{});\n", self.order)
            }
        };
        out + &self.after()
    }

    /// Statements after which `into` says whether `flag`, which is 0 or 1, was 1. They may change the flag.
    /// None where the operation cannot answer so.
    pub fn answer(&self, choice: &str, flag: &str, ty: &str, into: &str) -> Option<String> {
        let fetch = |op: &str, operand: &str| self.fetch(op, flag, operand);
        let mut start = String::new();
        let answer = match (choice, self.operation) {
            // The same bit is changed and asked for.
            ("bit", Operation::Fetch(op @ ("or" | "xor"))) => {
                format!("({} & 1) != 0", fetch(op, "1"))
            }
            ("bit", Operation::Fetch("and")) => format!("({} & 1) != 0", fetch("and", "~1")),
            ("any-bit", Operation::Fetch(op @ ("or" | "xor"))) => {
                format!("({} & 1 << (*k - 1)) != 0", fetch(op, "1 << (*k - 1)"))
            }
            ("any-bit", Operation::Fetch("and")) => {
                format!("({} & 1 << (*k - 1)) != 0", fetch("and", "~(1 << (*k - 1))"))
            }
            ("zero", Operation::Fetch("add")) => format!("{} - 1 == 0", fetch("add", "-1")),
            ("zero", Operation::Fetch("sub")) => format!("{} - 1 == 0", fetch("sub", "1")),
            ("zero", Operation::Fetch("xor")) => format!("({} ^ 1) == 0", fetch("xor", "1")),
            ("zero", Operation::Fetch("and")) => format!("({} & 1) != 0", fetch("and", "1")),
            ("zero", Operation::Fetch("or")) => format!("({} | 2) == 3", fetch("or", "2")),
            ("sign", Operation::Fetch("add")) => format!("{} - 1 >= 0", fetch("add", "-1")),
            ("sign", Operation::Fetch("sub")) => format!("{} - 1 >= 0", fetch("sub", "1")),
            ("truth", Operation::Exchange) => {
                format!("{} != 0", self.call("exchange", flag, 0))
            }
            ("truth", Operation::Cas { hits: true, .. }) => {
                start = format!("{ty} {into}e = 1;\n");
                self.cas(flag, &format!("{into}e"), 0)
            }
            _ => return None,
        };
        Some(format!("{start}{into} = {answer};\n{}", self.after()))
    }

    /// An attempt to take a lock that is free at 0: `into` is 0 where it was taken. The way decides
    /// the operation and its order; a load, which takes nothing, becomes an exchange.
    pub fn take(&self, lock: &str, ty: &str, into: &str) -> String {
        let (start, taken) = match self.operation {
            Operation::Fetch("or" | "and") => (String::new(), self.fetch("or", lock, 1)),
            Operation::Fetch("add" | "sub") => (String::new(), self.fetch("add", lock, 1)),
            Operation::Cas { .. } => {
                let expected = format!("{into}e");
                let call = self.cas(lock, &expected, 1);
                (format!("{ty} {expected} = 0;\n"), format!("!{call}"))
            }
            _ => (String::new(), self.call("exchange", lock, 1)),
        };
        format!("{start}{into} = {taken};\n{}", self.after())
    }

    /// Whether it is an update that orders on both sides.
    pub fn is_update(&self) -> bool {
        let updates = matches!(self.operation, Operation::Exchange | Operation::Fetch(_));
        updates && (self.fence.is_some() || matches!(self.order, "acq_rel" | "seq_cst"))
    }

    /// An update that leaves a location at 0, ordered on both sides, whose result goes to `kept` or is
    /// not used.
    pub fn update(&self, at: &str, kept: Option<&str>) -> String {
        let call = match self.operation {
            Operation::Fetch(op) => self.fetch(op, at, if op == "and" { "-1" } else { "0" }),
            _ => self.call("exchange", at, 0),
        };
        let before = self.fence.map(|_| fence("release")).unwrap_or_default();
        let kept = kept.map_or(String::new(), |kept| format!("{kept} = "));
        format!("{before}{kept}{call};\n{}", self.after())
    }

    /// Whether taking a lock by it orders what comes after.
    pub fn takes(&self) -> bool {
        self.fence.is_some() || matches!(self.order, "acquire" | "acq_rel" | "seq_cst")
    }

    /// An operation on the flag of which nobody uses the result, where it is one that changes
    /// something: `into` stays as it is.
    pub fn unused(&self, flag: &str, change: u32) -> Option<String> {
        let call = match self.operation {
            Operation::Exchange => self.call("exchange", flag, change),
            Operation::Fetch(op @ ("add" | "or" | "xor")) => self.fetch(op, flag, change),
            _ => return None,
        };
        Some(format!("{call};\n{}", self.after()))
    }
}
