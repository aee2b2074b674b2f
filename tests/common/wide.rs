//! Random litmus tests in every dialect, drawn widely: plain and locked read-modify-writes, swaps,
//! compare-and-swaps, exclusives, branches, fences, memory of one thread, dependencies of all kinds.
//! And models as users write them, which see more than the built-in ones.
//!
//! A seed gives a test. Nothing here knows what a test means.

use super::exec::Rng;
use litmake::litmus::Arch;
use std::fmt::Write;

/// The dialects, and the built-in models that tests of each are simulated under.
pub const DIALECTS: [(Arch, &[&str]); 11] = [
    (Arch::C, &["rc11", "rc11-lb", "c11", "sc"]),
    (Arch::AArch64, &["aarch64", "sc"]),
    (Arch::Arm, &["armv7", "aarch32", "sc"]),
    (Arch::X86_64, &["x86tso", "x86tso-herd2025", "sc"]),
    (Arch::X86, &["x86tso", "x86tso-herd2025", "sc"]),
    (Arch::RiscV, &["riscv", "sc"]),
    (Arch::Ppc, &["ppc", "sc"]),
    (Arch::Mips, &["mips", "mips-weak", "sc"]),
    (Arch::LoongArch, &["litmake-loongarch", "litmake-loongarch-ld-seq-sa", "sc"]),
    (Arch::Bpf, &["bpf", "sc"]),
    (Arch::S390x, &["litmake-s390x", "sc"]),
];

/// Models of users, which stand for what such models ask: order through private memory, through
/// branches, through events of any kind, and what happens inside an instruction.
pub const USERS: [(&str, &str); 5] = [
    (
        "private",
        "\"private\"\ninclude \"cos.cat\"\nlet d = [W]; po; [W]; po; [W]\n\
         acyclic rfe | fre | coe | d | ([_]; po; [F]; po) as order\n",
    ),
    (
        "branches",
        "\"branches\"\ninclude \"cos.cat\"\nacyclic po-loc | rf | fr | co as coherence\n\
         acyclic rfe | fre | coe | ([M]; po; [B]; po; [M]) as order\n\
         flag ~empty BCC as branching\nflag ~empty PRED as deciding\n",
    ),
    (
        "any-event",
        "\"any event\"\ninclude \"cos.cat\"\nacyclic po-loc | amo | rf | fr | co as coherence\n\
         let rec lob = po \\ ([W]; po; [R]) | lob; lob\nacyclic rfe | fre | coe | lob as order\n",
    ),
    (
        "dependencies",
        "\"dependencies\"\ninclude \"cos.cat\"\nacyclic po-loc | amo | rf | fr | co as coherence\n\
         acyclic rfe | addr | data | ctrl; [W] | rmw | iico_data | iico_ctrl as order\n\
         flag ~empty (iico_data & po) as across\n",
    ),
    (
        "none",
        "\"none\"\ninclude \"cos.cat\"\nempty rmw & (fre; coe) as atomic\n\
         acyclic rf | co | po-loc as uniproc\n",
    ),
];

const SHARED: [&str; 2] = ["x", "y"];

/// One thread while it is written.
struct Column {
    arch: Arch,
    thread: usize,
    code: Vec<String>,
    /// Value registers that hold what was read, by number.
    read: Vec<usize>,
    /// A label that is to stand after the next item.
    pending: Option<String>,
    labels: usize,
    /// C: blocks that are open.
    open: usize,
    /// Nothing but what herd can read.
    plain: bool,
}

/// A test. With `plain` it holds only what herd7 reads.
pub fn test(rng: &mut Rng, arch: Arch, plain: bool) -> String {
    let threads = if rng.one_in(4) { 3 } else { 2 };
    // Few items in all: the reference goes through every execution.
    let mut lengths = vec![1; threads];
    for _ in 0..rng.below(6 - threads) {
        lengths[rng.below(threads)] += 1;
    }
    let mut columns = Vec::new();
    for (thread, length) in lengths.into_iter().enumerate() {
        let mut column = Column {
            arch,
            thread,
            code: Vec::new(),
            read: Vec::new(),
            pending: None,
            labels: 0,
            open: 0,
            plain,
        };
        for _ in 0..length {
            let label = column.pending.take();
            column.item(rng);
            column.code.extend(label.map(|l| format!("{l}:")));
        }
        column.code.extend(column.pending.take().map(|l| format!("{l}:")));
        columns.push(column);
    }
    let mut text = format!("{} wide\n{{\n", arch.name());
    let values: Vec<usize> = SHARED.iter().map(|_| rng.below(3)).collect();
    for (name, value) in SHARED.iter().zip(&values) {
        let _ = write!(text, "{name}={value}; ");
    }
    for column in &columns {
        column.initial(&mut text);
    }
    text.push_str("\n}\n");
    match arch {
        Arch::C => columns.iter().for_each(|c| c.function(&mut text)),
        _ => table(&columns, &mut text),
    }
    let mut shown: Vec<String> = SHARED.iter().map(|s| (*s).to_string()).collect();
    let mut registers = Vec::new();
    for column in &columns {
        let names = column.read.iter().map(|r| column.shown(*r));
        registers.extend(names.map(|name| format!("{}:{name}", column.thread)));
    }
    registers.sort();
    registers.dedup();
    if rng.one_in(4) {
        registers.truncate(1);
    }
    shown.extend(registers);
    let _ = writeln!(text, "locations [{};]", shown.join("; "));
    let atom = &shown[rng.below(shown.len())];
    let _ = writeln!(text, "exists ({atom}={})", rng.below(3));
    text
}

fn table(columns: &[Column], text: &mut String) {
    let heads: Vec<String> = columns.iter().map(|c| format!("P{}", c.thread)).collect();
    let _ = writeln!(text, "{} ;", heads.join(" | "));
    for row in 0..columns.iter().map(|c| c.code.len()).max().unwrap_or(0) {
        let cell = |c: &Column| c.code.get(row).cloned().unwrap_or_default();
        let cells: Vec<String> = columns.iter().map(cell).collect();
        let _ = writeln!(text, "{} ;", cells.join(" | "));
    }
}

impl Column {
    fn private(&self) -> String {
        format!("p{}", self.thread)
    }

    /// The names that this thread reaches: the shared ones and its own.
    fn names(&self) -> [String; 3] {
        [SHARED[0].to_string(), SHARED[1].to_string(), self.private()]
    }

    fn initial(&self, text: &mut String) {
        let t = self.thread;
        for (l, name) in self.names().iter().enumerate() {
            let _ = match self.arch {
                Arch::C => match l {
                    2 => write!(text, "{name}=0; "),
                    _ => Ok(()),
                },
                Arch::X86 | Arch::X86_64 | Arch::Llvm | Arch::Ptx | Arch::AmdGcn | Arch::Spirv => {
                    Ok(())
                }
                Arch::AArch64 => write!(text, "{t}:X{}={name}; ", 20 + l),
                Arch::Arm => write!(text, "{t}:R{}={name}; ", 8 + l),
                Arch::RiscV => write!(text, "{t}:x{}={name}; ", 20 + l),
                Arch::Ppc => write!(text, "{t}:r{}={name}; ", 20 + l),
                Arch::Mips => write!(text, "{t}:${}={name}; ", 20 + l),
                Arch::LoongArch => write!(text, "{t}:$r{}={name}; ", 23 + l),
                Arch::Bpf => write!(text, "{t}:r{}={name}; ", 5 + l),
                Arch::S390x => write!(text, "{t}:r{}={name}; ", 8 + l),
            };
        }
    }

    fn function(&self, text: &mut String) {
        let [x, y, p] = self.names();
        let t = self.thread;
        let _ = writeln!(text, "P{t} (atomic_int* {x}, atomic_int* {y}, int* {p}) {{");
        for line in &self.code {
            let _ = writeln!(text, "  {line}");
        }
        for _ in 0..=self.open {
            text.push_str("}\n");
        }
    }

    /// A value register, as instructions name it.
    fn reg(&self, r: usize) -> String {
        match self.arch {
            Arch::C | Arch::Llvm | Arch::Ptx | Arch::AmdGcn | Arch::Spirv => format!("r{r}"),
            Arch::AArch64 => format!("W{r}"),
            Arch::Arm => format!("R{r}"),
            Arch::X86_64 => ["%eax", "%ebx", "%ecx", "%edx"][r % 4].into(),
            Arch::X86 => ["EAX", "EBX", "ECX", "EDX"][r % 4].into(),
            Arch::RiscV => format!("x{}", 5 + r),
            Arch::Ppc => format!("r{}", 3 + r),
            Arch::Mips => format!("${}", 4 + r),
            Arch::LoongArch => format!("$r{}", 4 + r),
            Arch::Bpf => format!("r{}", 1 + r),
            Arch::S390x => format!("r{}", 2 + r),
        }
    }

    /// The same, as conditions name it.
    fn shown(&self, r: usize) -> String {
        match self.arch {
            Arch::AArch64 => format!("X{r}"),
            Arch::X86_64 => ["rax", "rbx", "rcx", "rdx"][r % 4].into(),
            _ => self.reg(r),
        }
    }

    fn push(&mut self, line: impl Into<String>) {
        self.code.push(line.into());
    }

    /// The register that the next read goes to.
    fn fresh(&mut self) -> usize {
        let r = self.read.len() % 4;
        self.read.push(r);
        r
    }

    /// A register with what was read; none where nothing was.
    fn old(&self, rng: &mut Rng) -> Option<usize> {
        (!self.read.is_empty()).then(|| self.read[rng.below(self.read.len())])
    }

    fn place(&self, rng: &mut Rng) -> usize {
        if rng.one_in(4) { 2 } else { rng.below(2) }
    }

    fn item(&mut self, rng: &mut Rng) {
        match self.arch {
            Arch::C => self.c(rng),
            Arch::AArch64 => self.aarch64(rng),
            Arch::Arm => self.arm(rng),
            Arch::X86_64 => self.x86_64(rng),
            Arch::X86 => self.x86(rng),
            Arch::RiscV => self.riscv(rng),
            Arch::Ppc => self.ppc(rng),
            Arch::Mips => self.mips(rng),
            Arch::LoongArch => self.loongarch(rng),
            Arch::Bpf => self.bpf(rng),
            Arch::S390x => self.s390x(rng),
            Arch::Llvm | Arch::Ptx | Arch::AmdGcn | Arch::Spirv => {
                unreachable!("compilers make tests of this dialect")
            }
        }
    }

    /// A label to branch to, which stands here or after the next item.
    fn label(&mut self, rng: &mut Rng) -> (String, bool) {
        let label = format!("L{}{}", self.thread, self.labels);
        self.labels += 1;
        let here = rng.one_in(2) || self.pending.is_some();
        if !here {
            self.pending = Some(label.clone());
        }
        (label, here)
    }

    fn branch(&mut self, rng: &mut Rng, lines: impl FnOnce(&str) -> Vec<String>) {
        let (label, here) = self.label(rng);
        self.code.extend(lines(&label));
        if here {
            self.push(format!("{label}:"));
        }
    }

    fn c(&mut self, rng: &mut Rng) {
        let order =
            |rng: &mut Rng, of: &[&str]| format!("memory_order_{}", of[rng.below(of.len())]);
        let names = self.names();
        let (name, value) = (&names[rng.below(2)], 1 + rng.below(2));
        let value = match self.old(rng) {
            Some(r) if rng.one_in(3) => format!("r{r} + {value}"),
            Some(r) if rng.one_in(3) => format!("r{r}"),
            _ => value.to_string(),
        };
        // Registers are declared once each, in the block where they are read.
        let r = self.code.len();
        let mut reads = false;
        let line = match rng.below(14) {
            0..=2 => {
                reads = true;
                let o = order(rng, &["relaxed", "acquire", "seq_cst"]);
                format!("int r{r} = atomic_load_explicit({name}, {o});")
            }
            3..=5 => {
                let o = order(rng, &["relaxed", "release", "seq_cst"]);
                format!("atomic_store_explicit({name}, {value}, {o});")
            }
            6 | 7 => {
                reads = true;
                let o = order(rng, &["relaxed", "acquire", "release", "acq_rel", "seq_cst"]);
                let what = ["exchange", "fetch_add", "fetch_sub", "fetch_or"][rng.below(4)];
                format!("int r{r} = atomic_{what}_explicit({name}, {value}, {o});")
            }
            8 => {
                reads = true;
                let (p, o) = (&names[2], order(rng, &["relaxed", "acq_rel", "seq_cst"]));
                format!(
                    "int r{r} = atomic_compare_exchange_strong_explicit({name}, {p}, {value}, {o}, \
                     memory_order_relaxed);"
                )
            }
            9 => {
                let o = order(rng, &["acquire", "release", "acq_rel", "seq_cst"]);
                format!("atomic_thread_fence({o});")
            }
            10 => {
                reads = true;
                format!("int r{r} = *{};", names[2])
            }
            11 => format!("*{} = {value};", names[2]),
            _ => match self.old(rng) {
                Some(r) => {
                    self.open += 1;
                    self.push(format!("if (r{r} == {}) {{", rng.below(3)));
                    format!("atomic_store_explicit({name}, {value}, memory_order_relaxed);")
                }
                None => format!("atomic_store_explicit({name}, {value}, memory_order_relaxed);"),
            },
        };
        self.push(line);
        if reads && self.open == 0 {
            self.read.push(r);
        }
    }

    fn aarch64(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (addr, value) = (format!("X{}", 20 + place), 1 + rng.below(2));
        let old = self.old(rng);
        let mut index = String::new();
        if let Some(r) = old
            && rng.one_in(4)
        {
            self.push(format!("EOR W18,W{r},W{r}"));
            index = ",W18,SXTW".into();
        }
        // What is written: a constant, or what was read, as it is or with one added.
        let data = |s: &mut Column, rng: &mut Rng| match old {
            Some(r) if rng.one_in(3) => format!("W{r}"),
            Some(r) if rng.one_in(3) => {
                s.push(format!("ADD W19,W{r},#{value}"));
                "W19".to_string()
            }
            _ => {
                s.push(format!("MOV W19,#{value}"));
                "W19".to_string()
            }
        };
        match rng.below(16) {
            0..=2 => {
                let r = self.fresh();
                self.push(format!("LDR W{r},[{addr}{index}]"));
            }
            3 => {
                let r = self.fresh();
                self.push(format!("{} W{r},[{addr}]", ["LDAR", "LDAPR"][rng.below(2)]));
            }
            4..=6 => {
                let w = data(self, rng);
                self.push(format!("STR {w},[{addr}{index}]"));
            }
            7 => {
                let w = data(self, rng);
                self.push(format!("STLR {w},[{addr}]"));
            }
            8 => {
                let w = data(self, rng);
                let r = self.fresh();
                let op =
                    ["SWP", "SWPA", "SWPL", "LDADD", "LDADDAL", "LDSET", "LDEOR"][rng.below(7)];
                self.push(format!("{op} {w},W{r},[{addr}]"));
            }
            9 => {
                let w = data(self, rng);
                let r = self.fresh();
                self.push(format!("MOV W{r},#{}", rng.below(3)));
                self.push(format!("{} W{r},{w},[{addr}]", ["CAS", "CASA", "CASAL"][rng.below(3)]));
            }
            10 => {
                let w = data(self, rng);
                self.push(format!("{} {w},[{addr}]", ["STADD", "STADDL", "STSET"][rng.below(3)]));
            }
            11 => {
                let w = data(self, rng);
                let r = self.fresh();
                self.push(format!("{} W{r},[{addr}]", ["LDXR", "LDAXR"][rng.below(2)]));
                let w = if rng.one_in(3) { format!("W{r}") } else { w };
                self.push(format!("{} W17,{w},[{addr}]", ["STXR", "STLXR"][rng.below(2)]));
            }
            12 | 13 => {
                let all = ["DMB SY", "DMB LD", "DMB ST", "DMB ISHST", "DSB SY", "DSB ST", "ISB"];
                self.push(all[rng.below(all.len())]);
            }
            14 => {
                let r = old.unwrap_or(0);
                self.branch(rng, |l| vec![format!("CBNZ W{r},{l}")]);
            }
            _ => {
                let (a, b) = (old.unwrap_or(0), self.fresh());
                self.push(format!("CMP W{a},#1"));
                self.push(format!("CSEL W{b},W{a},W{b},EQ"));
            }
        }
    }

    fn arm(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (addr, value) = (format!("R{}", 8 + place), 1 + rng.below(2));
        let old = self.old(rng);
        let mut index = String::new();
        if let Some(r) = old
            && rng.one_in(4)
        {
            self.push(format!("EOR R6,R{r},R{r}"));
            index = ",R6".into();
        }
        let data = |s: &mut Column, rng: &mut Rng| match old {
            Some(r) if rng.one_in(3) => format!("R{r}"),
            Some(r) if rng.one_in(3) => {
                s.push(format!("ADD R7,R{r},#{value}"));
                "R7".to_string()
            }
            _ => {
                s.push(format!("MOV R7,#{value}"));
                "R7".to_string()
            }
        };
        match rng.below(14) {
            0..=3 => {
                let r = self.fresh();
                self.push(format!("LDR R{r},[{addr}{index}]"));
            }
            4..=7 => {
                let w = data(self, rng);
                self.push(format!("STR {w},[{addr}{index}]"));
            }
            8 => {
                let w = data(self, rng);
                let r = self.fresh();
                self.push(format!("LDREX R{r},[{addr}]"));
                let w = if rng.one_in(3) { format!("R{r}") } else { w };
                self.push(format!("STREX R5,{w},[{addr}]"));
            }
            9 if !self.plain => {
                let w = data(self, rng);
                let r = self.fresh();
                self.push(format!("SWP R{r},{w},[{addr}]"));
            }
            9 | 10 => {
                let all = ["DMB", "DSB", "ISB", "DMB ST", "DSB ST"];
                self.push(all[rng.below(all.len())]);
            }
            11 => {
                let r = old.unwrap_or(0);
                let b = ["BNE", "BEQ"][rng.below(2)];
                self.branch(rng, |l| vec![format!("CMP R{r},#1"), format!("{b} {l}")]);
            }
            12 => {
                let (a, b) = (old.unwrap_or(0), self.fresh());
                self.push(format!("CMP R{a},#1"));
                self.push(format!("MOVNE R{b},R{a}"));
            }
            _ => {
                let (a, b) = (old.unwrap_or(0), self.fresh());
                self.push(format!("CMP R{a},#0"));
                self.push(format!("LDREQ R{b},[{addr}]"));
            }
        }
    }

    /// An operand and a place of x86: a register with what was read, or a number.
    fn x86_64(&mut self, rng: &mut Rng) {
        let names = self.names();
        let place = format!("({})", names[self.place(rng)]);
        let operand = match self.old(rng) {
            Some(r) if rng.one_in(2) => self.reg(r),
            _ => format!("${}", 1 + rng.below(2)),
        };
        let lock = if rng.one_in(3) { "lock " } else { "" };
        match rng.below(16) {
            0..=2 => {
                let r = self.fresh();
                let line = format!("movl {place},{}", self.reg(r));
                self.push(line);
            }
            3..=5 => self.push(format!("movl {operand},{place}")),
            6 | 7 => self.push(format!("{lock}{} {place}", ["incl", "decl"][rng.below(2)])),
            8 => self.push(format!("{lock}{} {operand},{place}", ["addl", "xorl"][rng.below(2)])),
            9 => self.push(format!("orl {operand},{place}")),
            10 => {
                let r = self.fresh();
                self.push(format!("movl ${},{}", 1 + rng.below(2), self.reg(r)));
                self.push(format!("xchgl {},{place}", self.reg(r)));
            }
            11 => {
                self.push(format!("movl ${},%edx", 1 + rng.below(2)));
                self.push(format!("{lock}cmpxchgl %edx,{place}"));
                self.read.push(0);
            }
            12 if !self.plain => {
                let r = self.fresh();
                self.push(format!("movl ${},{}", 1 + rng.below(2), self.reg(r)));
                self.push(format!("{lock}xaddl {},{place}", self.reg(r)));
            }
            12 | 13 => self.push(["mfence", "sfence", "lfence"][rng.below(3)]),
            14 => {
                let r = self.reg(self.old(rng).unwrap_or(0));
                let j = ["jne", "je"][rng.below(2)];
                let k = rng.below(3);
                self.branch(rng, |l| vec![format!("cmpl ${k},{r}"), format!("{j} {l}")]);
            }
            _ => {
                let (a, b) = (self.old(rng).unwrap_or(0), self.fresh());
                self.push(format!("addl {},{}", self.reg(a), self.reg(b)));
            }
        }
    }

    fn x86(&mut self, rng: &mut Rng) {
        let names = self.names();
        let place = format!("[{}]", names[self.place(rng)]);
        let operand = match self.old(rng) {
            Some(r) if rng.one_in(2) => self.reg(r),
            _ => format!("${}", 1 + rng.below(2)),
        };
        let lock = if rng.one_in(3) { "LOCK " } else { "" };
        match rng.below(14) {
            0..=2 => {
                let r = self.fresh();
                let line = format!("MOV {},{place}", self.reg(r));
                self.push(line);
            }
            3..=5 => self.push(format!("MOV {place},{operand}")),
            6 | 7 => self.push(format!("{lock}{} {place}", ["INC", "DEC"][rng.below(2)])),
            8 => self.push(format!("{} {place},{operand}", ["ADD", "OR", "XOR"][rng.below(3)])),
            9 => {
                let r = self.fresh();
                self.push(format!("MOV {},${}", self.reg(r), 1 + rng.below(2)));
                self.push(format!("XCHG {place},{}", self.reg(r)));
            }
            10 if !self.plain => {
                self.push(format!("MOV EDX,${}", 1 + rng.below(2)));
                self.push(format!("{lock}CMPXCHG {place},EDX"));
                self.read.push(0);
            }
            10 | 11 => self.push(["MFENCE", "SFENCE", "LFENCE"][rng.below(3)]),
            12 => {
                let r = self.reg(self.old(rng).unwrap_or(0));
                let j = ["JNE", "JE"][rng.below(2)];
                let k = rng.below(3);
                self.branch(rng, |l| vec![format!("CMP {r},${k}"), format!("{j} {l}")]);
            }
            _ => {
                let (a, b) = (self.old(rng).unwrap_or(0), self.fresh());
                self.push(format!("ADD {},{}", self.reg(b), self.reg(a)));
            }
        }
    }

    fn bpf(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (mut addr, value) = (format!("r{}", 5 + place), 1 + rng.below(2));
        let old = self.old(rng);
        if let Some(r) = old
            && rng.one_in(4)
        {
            let r = self.reg(r);
            self.push(format!("r8 = {r}"));
            self.push("r8 ^= r8");
            self.push(format!("r8 += {addr}"));
            addr = "r8".into();
        }
        // The value that is written, in a register that may take a result.
        self.push(match old {
            Some(r) if rng.one_in(2) => format!("r9 = {}", self.reg(r)),
            _ => format!("r9 = {value}"),
        });
        match rng.below(14) {
            0..=3 => {
                let r = self.fresh();
                let r = self.reg(r);
                self.push(match rng.below(3) {
                    0 => format!("{r} = load_acquire((u32 *)({addr} + 0))"),
                    _ => format!("{r} = *(u32 *)({addr} + 0)"),
                });
            }
            4..=7 => self.push(match rng.below(4) {
                0 => format!("store_release((u32 *)({addr} + 0), r9)"),
                1 => format!("*(u32 *)({addr} + 0) = {value}"),
                _ => format!("*(u32 *)({addr} + 0) = r9"),
            }),
            8 => {
                let sign = ["+=", "|=", "^="][rng.below(3)];
                self.push(format!("lock *(u32 *)({addr} + 0) {sign} r9"));
            }
            9..=11 => {
                let r = self.fresh();
                let name = ["add", "or", "xor"][rng.below(3)];
                self.push(match rng.below(3) {
                    0 => format!("r9 = xchg_32_32({addr} + 0, r9)"),
                    _ => format!("r9 = atomic_fetch_{name}((u32 *)({addr} + 0), r9)"),
                });
                self.push(format!("{} = r9", self.reg(r)));
            }
            12 => {
                let r = self.fresh();
                self.push(format!("r0 = {}", rng.below(3)));
                self.push(format!("r0 = cmpxchg32_32({addr} + 0, r0, r9)"));
                self.push(format!("{} = r0", self.reg(r)));
            }
            _ => {
                let (r, test) = (self.reg(old.unwrap_or(0)), ["==", "!="][rng.below(2)]);
                self.branch(rng, |l| vec![format!("if {r} {test} 1 goto {l}")]);
            }
        }
    }

    fn riscv(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (mut addr, value) = (format!("x{}", 20 + place), 1 + rng.below(2));
        let old = self.old(rng);
        if let Some(r) = old
            && rng.one_in(4)
        {
            let r = self.reg(r);
            self.push(format!("xor x15,{r},{r}"));
            self.push(format!("add x16,{addr},x15"));
            addr = "x16".into();
        }
        let data = |s: &mut Column, rng: &mut Rng| match old {
            Some(r) if rng.one_in(3) => s.reg(r),
            Some(r) if rng.one_in(3) => {
                let line = format!("addi x14,{},{value}", s.reg(r));
                s.push(line);
                "x14".to_string()
            }
            _ => {
                s.push(format!("ori x14,x0,{value}"));
                "x14".to_string()
            }
        };
        let order = ["", ".aq", ".rl", ".aq.rl"];
        match rng.below(14) {
            0..=3 => {
                let r = self.fresh();
                let line = format!("lw {},0({addr})", self.reg(r));
                self.push(line);
            }
            4..=7 => {
                let w = data(self, rng);
                self.push(format!("sw {w},0({addr})"));
            }
            8 | 9 => {
                let w = data(self, rng);
                let r = self.fresh();
                let op = ["amoswap.w", "amoadd.w", "amoor.w", "amoxor.w"][rng.below(4)];
                self.push(format!("{op}{} {},{w},({addr})", order[rng.below(4)], self.reg(r)));
            }
            10 => {
                let w = data(self, rng);
                let r = self.fresh();
                self.push(format!("lr.w{} {},({addr})", order[rng.below(2)], self.reg(r)));
                let w = if rng.one_in(3) { self.reg(r) } else { w };
                self.push(format!("sc.w{} x13,{w},({addr})", ["", ".rl"][rng.below(2)]));
            }
            11 | 12 => {
                let all =
                    ["rw,rw", "r,rw", "rw,w", "w,w", "w,r", "r,r", "r,w", "w,rw", "rw,r", "tso"];
                match all[rng.below(all.len())] {
                    "tso" => self.push("fence.tso"),
                    kind => self.push(format!("fence {kind}")),
                }
            }
            _ => {
                let (r, b) = (self.reg(old.unwrap_or(0)), ["bne", "beq"][rng.below(2)]);
                self.branch(rng, |l| vec![format!("{b} {r},x0,{l}")]);
            }
        }
    }

    fn ppc(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (addr, value) = (format!("r{}", 20 + place), 1 + rng.below(2));
        let old = self.old(rng);
        let mut index = None;
        if let Some(r) = old
            && rng.one_in(4)
        {
            let r = self.reg(r);
            self.push(format!("xor r15,{r},{r}"));
            index = Some("r15");
        }
        let data = |s: &mut Column, rng: &mut Rng| match old {
            Some(r) if rng.one_in(3) => s.reg(r),
            Some(r) if rng.one_in(3) => {
                let line = format!("addi r14,{},{value}", s.reg(r));
                s.push(line);
                "r14".to_string()
            }
            _ => {
                s.push(format!("li r14,{value}"));
                "r14".to_string()
            }
        };
        match rng.below(13) {
            0..=3 => {
                let r = self.fresh();
                let r = self.reg(r);
                self.push(match index {
                    Some(i) => format!("lwzx {r},{i},{addr}"),
                    None => format!("lwz {r},0({addr})"),
                });
            }
            4..=7 => {
                let w = data(self, rng);
                self.push(match index {
                    Some(i) => format!("stwx {w},{i},{addr}"),
                    None => format!("stw {w},0({addr})"),
                });
            }
            8 => {
                let w = data(self, rng);
                let r = self.fresh();
                let r = self.reg(r);
                self.push(format!("lwarx {r},r0,{addr}"));
                let w = if rng.one_in(3) { r } else { w };
                self.push(format!("stwcx. {w},r0,{addr}"));
            }
            9..=11 => self.push(["sync", "lwsync", "eieio", "isync"][rng.below(4)]),
            _ => {
                let (r, b) = (self.reg(old.unwrap_or(0)), ["bne", "beq"][rng.below(2)]);
                self.branch(rng, |l| vec![format!("cmpwi {r},1"), format!("{b} {l}")]);
            }
        }
    }

    fn s390x(&mut self, rng: &mut Rng) {
        let (addr, value) = (format!("0(r{})", 8 + self.place(rng)), 1 + rng.below(2));
        let old = self.old(rng);
        match rng.below(12) {
            0..=3 => {
                let r = self.fresh();
                self.push(format!("l {},{addr}", self.reg(r)));
            }
            4..=7 => match old {
                Some(r) if rng.one_in(2) => self.push(format!("st {},{addr}", self.reg(r))),
                _ => self.push(format!("mvhi {addr},{value}")),
            },
            8 => {
                let r = self.fresh();
                self.push(format!("lhi r6,{value}"));
                self.push(format!("laa {},r6,{addr}", self.reg(r)));
            }
            9 => {
                let r = self.fresh();
                let r = self.reg(r);
                self.push(format!("lhi r6,{value}"));
                self.push(format!("lhi {r},{}", rng.below(3)));
                self.push(format!("cs {r},r6,{addr}"));
            }
            10 => self.push("bcr 14,r0"),
            _ => {
                let (r, c) = (self.reg(old.unwrap_or(0)), ["cijne", "cije"][rng.below(2)]);
                self.branch(rng, |l| vec![format!("{c} {r},0,{l}")]);
            }
        }
    }

    fn loongarch(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (mut addr, value) = (format!("$r{}", 23 + place), 1 + rng.below(2));
        let old = self.old(rng);
        if let Some(r) = old
            && rng.one_in(4)
        {
            let r = self.reg(r);
            self.push(format!("xor $r15,{r},{r}"));
            self.push(format!("add.d $r16,{addr},$r15"));
            addr = "$r16".into();
        }
        let data = |s: &mut Column, rng: &mut Rng| match old {
            Some(r) if rng.one_in(3) => s.reg(r),
            Some(r) if rng.one_in(3) => {
                let line = format!("addi.w $r14,{},{value}", s.reg(r));
                s.push(line);
                "$r14".to_string()
            }
            _ => {
                s.push(format!("ori $r14,$r0,{value}"));
                "$r14".to_string()
            }
        };
        match rng.below(15) {
            0..=3 => {
                let r = self.fresh();
                let line = format!("ld.w {},{addr},0", self.reg(r));
                self.push(line);
            }
            4..=7 => {
                let w = data(self, rng);
                self.push(format!("st.w {w},{addr},0"));
            }
            8 => {
                let w = data(self, rng);
                let r = self.fresh();
                let r = self.reg(r);
                self.push(format!("ll.w {r},{addr},0"));
                // The status goes where the value was.
                let w = if w == "$r14" { w } else { r };
                self.push(format!("move $r13,{w}"));
                self.push(format!("sc.w $r13,{addr},0"));
            }
            9 | 10 => {
                self.push("move $r13,$r0");
                let w = data(self, rng);
                self.push(format!("or $r13,$r13,{w}"));
                let r = self.fresh();
                let r = self.reg(r);
                let all = ["amswap", "amadd", "amor", "amswap_db", "amadd_db", "ammax_db"];
                let name = all[rng.below(all.len())];
                self.push(format!("{name}.w {r},$r13,{addr}"));
            }
            11..=13 => {
                let hints = ["0", "16", "17", "18", "20", "21", "24", "25", "26", "0x700"];
                self.push(format!("dbar {}", hints[rng.below(hints.len())]));
            }
            _ => {
                let (r, b) = (self.reg(old.unwrap_or(0)), ["bne", "beq"][rng.below(2)]);
                self.branch(rng, |l| vec![format!("{b} {r},$r0,{l}")]);
            }
        }
    }

    fn mips(&mut self, rng: &mut Rng) {
        let place = self.place(rng);
        let (mut addr, value) = (format!("${}", 20 + place), 1 + rng.below(2));
        let old = self.old(rng);
        if let Some(r) = old
            && rng.one_in(4)
        {
            let r = self.reg(r);
            self.push(format!("xor $15,{r},{r}"));
            self.push(format!("addu $16,{addr},$15"));
            addr = "$16".into();
        }
        let data = |s: &mut Column, rng: &mut Rng| match old {
            Some(r) if rng.one_in(3) => s.reg(r),
            Some(r) if rng.one_in(3) => {
                let line = format!("addiu $14,{},{value}", s.reg(r));
                s.push(line);
                "$14".to_string()
            }
            _ => {
                s.push(format!("li $14,{value}"));
                "$14".to_string()
            }
        };
        match rng.below(13) {
            0..=3 => {
                let r = self.fresh();
                let line = format!("lw {},0({addr})", self.reg(r));
                self.push(line);
            }
            4..=7 => {
                let w = data(self, rng);
                self.push(format!("sw {w},0({addr})"));
            }
            8 => {
                let w = data(self, rng);
                let r = self.fresh();
                let r = self.reg(r);
                self.push(format!("ll {r},0({addr})"));
                // The status goes where the value was.
                let w = if w == "$14" { w } else { r };
                self.push(format!("move $13,{w}"));
                self.push(format!("sc $13,0({addr})"));
            }
            9 | 10 if self.plain => self.push("sync"),
            9 | 10 => {
                let all =
                    ["sync", "sync_wmb", "sync_mb", "sync_acquire", "sync_release", "sync_rmb"];
                self.push(all[rng.below(all.len())]);
            }
            11 if !self.plain => {
                let (a, b) = (old.unwrap_or(0), self.fresh());
                self.push(format!("movn {},{},{}", self.reg(b), self.reg(a), self.reg(a)));
            }
            _ => {
                let (r, b) = (self.reg(old.unwrap_or(0)), ["bne", "beq"][rng.below(2)]);
                self.branch(rng, |l| vec![format!("{b} {r},$0,{l}")]);
            }
        }
    }
}
