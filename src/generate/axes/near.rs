//! A thread's own members beside the data: plain accesses that compilers pair, merge or move together with
//! those of the data. A member lies on each side of the data, and the flag behind them where that fits, so
//! that a compiler knows that the operation on the flag touches neither.
//!
//! It does not know the threads' other code.

use super::data;
use super::program::Program;

/// The accesses to a thread's own member: before all else, or after it.
pub const NEARS: [&str; 8] = [
    "none",
    "store-after",
    "load-after",
    "store-before",
    "load-before",
    "stores",
    "loads",
    "result-after",
];

/// The text right before and after each operation on the flag.
pub const BETWEENS: [&str; 6] =
    ["nothing", "asm", "signal-fence", "volatile", "copies", "reads-back"];

impl Program<'_> {
    /// An operation on the flag with other code of the thread around it.
    pub(super) fn between(&mut self, code: String) -> String {
        match self.point.choice(super::Axis::Between) {
            "asm" => {
                let barrier = "__asm__ volatile(\"\" ::: \"memory\");\n";
                format!("{barrier}{code}{barrier}")
            }
            "signal-fence" => {
                let fence = "atomic_signal_fence(memory_order_seq_cst);\n";
                format!("{fence}{code}{fence}")
            }
            "volatile" => {
                let at = self.scratch("g", "volatile int");
                format!("*{at} = 41;\n{code}*{at} = 42;\n")
            }
            // Compilers know what a copy reads and writes.
            "copies" => {
                let (from, to) = (self.scratch("i", "int64_t"), self.scratch("j", "int64_t"));
                let copy = format!("memcpy({to}, {from}, 8);\n");
                format!("{copy}{code}*{from} = 43;\n{copy}")
            }
            // The value is known before the operation, and after it only if nobody else writes it.
            "reads-back" => {
                let at = self.scratch("g", "int");
                let r = self.observed("int");
                format!("*{at} = 44;\n{code}{r} = *{at};\n*{at} = 45;\n")
            }
            _ => code,
        }
    }

    /// Whether the flag is a member beside the data.
    pub(super) fn has_flag_inside(&self) -> bool {
        let fits = matches!(self.shape, "MP" | "hand" | "back" | "pair" | "MP-open");
        self.member == "flag-inside" || self.member == "near" && fits
    }

    /// The structure of the data with the threads' own members.
    pub(super) fn near_definition(&self, m: &str) -> String {
        let (ty, flag) = (self.ty.name, self.flag);
        let more: String = (2..self.threads.len()).map(|n| format!(" {ty} n{n};")).collect();
        match self.has_flag_inside() {
            true => format!("struct D {{ {ty} n1; {m} {ty} n0;{more} _Atomic {flag} f; }};"),
            false => format!("struct D {{ {ty} n1; {m} {ty} n0;{more} }};"),
        }
    }

    /// The thread's accesses to its own member, before and after all else.
    pub(super) fn near(&mut self) -> (String, String) {
        self.structure();
        let n = self.at;
        let numbers = self.point.choice(super::Axis::Numbers);
        let number = |n: u32| data::value("constant", numbers, self.ty, n, 0);
        let store = |value: String| format!("x->n{n} = {value};\n");
        let (first, second) = (store(number(9 + n as u32)), store(number(12 + n as u32)));
        let load = |p: &mut Self| {
            let r = p.observed(p.wide_of_data());
            format!("{r} = x->n{n};\n")
        };
        match self.near_choice() {
            "store-after" => (String::new(), first),
            "load-after" => (String::new(), load(self)),
            "store-before" => (first, String::new()),
            "load-before" => (load(self), String::new()),
            "stores" => (first, second),
            "loads" => (load(self), load(self)),
            // The value comes from the thread's last read, so that it is there only after it.
            _ => {
                let last = self.threads[n].observed.last().cloned();
                match last.filter(|_| !self.ty.float) {
                    Some(r) => (String::new(), store(format!("({}){r}", self.ty.name))),
                    None => (String::new(), first),
                }
            }
        }
    }

    fn near_choice(&self) -> &'static str {
        self.point.choice(super::Axis::Near)
    }
}
