//! The dialects of litmus tests, and the facts about each that rooms without instruction sets ask for.
//!
//! A dialect is a line of [`dialects!`] and a row here. It does not know what an instruction means.

/// A register that symbolic registers may be given, and its other names in lower case.
pub(crate) struct Free {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
}

/// The word that opens a test in OpenCL C, which is C whose operations name scopes.
pub(crate) const OPENCL: &str = "OPENCL";

/// Which decisions of code are events in herd, where models see them in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branches {
    /// None.
    None,
    /// Conditional branches.
    Conditional,
    /// Also decisions inside instructions (a conditional select, a compare-and-swap), and jumps to
    /// addresses in registers.
    All,
}

impl Branches {
    /// Whether conditional branches are events.
    pub fn conditional(self) -> bool {
        self != Branches::None
    }

    /// Whether decisions inside instructions are, too.
    pub fn inside(self) -> bool {
        self == Branches::All
    }
}

/// The facts about a dialect.
pub struct Facts {
    /// The word that opens a test.
    pub name: &'static str,
    /// Other spellings of it that herd's users write.
    pub also: &'static [&'static str],
    /// The model that a test is simulated under where none is named.
    pub model: &'static str,
    /// The bytes of a pointer, and of `long`.
    pub pointer: u8,
    /// Whether tests are code of a machine. It accesses what is aligned as a whole.
    pub machine: bool,
    /// Whether compilers' code is simulated as the text that they write, without object code.
    pub text: bool,
    /// Whether a read-modify-write may be one event.
    pub updates: bool,
    /// Whether dependencies begin at exclusive writes, too: their status depends on them.
    pub statuses: bool,
    /// The decisions that are events.
    pub branches: Branches,
    /// The registers that symbolic registers are given, those first that compilers and generators use least.
    /// Registers with a special role, such as the stack pointer, are left out.
    pub(crate) free: &'static [Free],
}

macro_rules! dialects {
    ($($(#[$doc:meta])* $id:ident = $facts:ident),* $(,)?) => {
        /// A dialect of litmus tests.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Arch { $($(#[$doc])* $id),* }

        impl Arch {
            /// Every dialect.
            pub const ALL: [Arch; [$(Arch::$id),*].len()] = [$(Arch::$id),*];

            /// The facts about this dialect.
            pub const fn facts(self) -> &'static Facts {
                match self { $(Arch::$id => &$facts),* }
            }
        }
    };
}

dialects! {
    /// C, as of 2011 and later, and the Linux kernel's.
    C = C,
    /// Arm's instruction set of 64 bits.
    AArch64 = AARCH64,
    /// Arm's instruction set of 32 bits, as of Armv7 and Armv8.
    Arm = ARM,
    /// x86 with 64 bits.
    X86_64 = X86_64,
    /// x86 with 32 bits.
    X86 = X86,
    /// RISC-V with 64 bits.
    RiscV = RISCV,
    /// Power.
    Ppc = PPC,
    /// MIPS.
    Mips = MIPS,
    /// LoongArch with 64 bits.
    LoongArch = LOONGARCH,
    /// z/Architecture with 64 bits.
    S390x = S390X,
    /// BPF, the instruction set of programs in the Linux kernel.
    Bpf = BPF,
    /// LLVM's intermediate representation, as text.
    Llvm = LLVM,
    /// The instruction set that compilers write for NVIDIA's GPUs.
    Ptx = PTX,
    /// The instruction sets of AMD's GPUs.
    AmdGcn = AMDGCN,
    /// SPIR-V, as `spirv-dis` prints it.
    Spirv = SPIRV,
}

impl Arch {
    /// The word that opens a test of this dialect.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The dialect that a word names. Case counts, but for what herd's users write either way.
    pub fn named(word: &str) -> Option<Arch> {
        let is = |arch: &Arch| arch.name() == word || arch.facts().also.contains(&word);
        Arch::ALL.into_iter().find(is)
    }

    /// The model a test is simulated under where none is named.
    pub fn default_model(self) -> &'static str {
        self.facts().model
    }
}

macro_rules! free {
    ($($name:literal $($alias:literal)*),* $(,)?) => {
        &[$(Free { name: $name, aliases: &[$($alias),*] }),*]
    };
}

/// A machine with 64 bits; rows say what is different.
const MACHINE: Facts = Facts {
    name: "",
    also: &[],
    model: "",
    pointer: 8,
    machine: true,
    text: false,
    updates: false,
    statuses: false,
    branches: Branches::Conditional,
    free: &[],
};

/// A language whose read-modify-writes are one event; rows say what is different. `%` is one of its own
/// characters, so there are no symbolic registers.
const LANGUAGE: Facts =
    Facts { machine: false, updates: true, branches: Branches::None, ..MACHINE };

static C: Facts = Facts { name: "C", also: &[OPENCL], model: "rc11", ..LANGUAGE };

static AARCH64: Facts = Facts {
    name: "AArch64",
    model: "aarch64",
    branches: Branches::All,
    free: free![
        "X28" "w28", "X27" "w27", "X26" "w26", "X25" "w25", "X24" "w24", "X23" "w23",
        "X22" "w22", "X21" "w21", "X20" "w20", "X19" "w19", "X15" "w15", "X14" "w14",
        "X13" "w13", "X12" "w12", "X11" "w11", "X10" "w10", "X9" "w9", "X8" "w8",
        "X7" "w7", "X6" "w6", "X5" "w5", "X4" "w4", "X3" "w3", "X2" "w2", "X1" "w1",
        "X0" "w0",
    ],
    ..MACHINE
};

static ARM: Facts = Facts {
    name: "ARM",
    also: &["Arm"],
    model: "armv7",
    pointer: 4,
    free: free![
        "R10" "sl", "R9" "sb", "R8", "R7", "R6", "R5", "R4", "R3", "R2", "R1", "R0",
        "R12" "ip", "R11" "fp",
    ],
    ..MACHINE
};

static X86_64: Facts = Facts {
    name: "X86_64",
    also: &["x86_64"],
    model: "x86tso",
    branches: Branches::None,
    ..MACHINE
};

static X86: Facts = Facts {
    name: "X86",
    also: &["x86"],
    model: "x86tso",
    pointer: 4,
    branches: Branches::None,
    ..MACHINE
};

static RISCV: Facts = Facts {
    name: "RISCV",
    also: &["RISC_V", "RISC-V"],
    model: "riscv",
    updates: true,
    statuses: true,
    free: free![
        "x27" "s11", "x26" "s10", "x25" "s9", "x24" "s8", "x23" "s7", "x22" "s6",
        "x21" "s5", "x20" "s4", "x19" "s3", "x18" "s2", "x31" "t6", "x30" "t5",
        "x29" "t4", "x28" "t3", "x17" "a7", "x16" "a6", "x15" "a5", "x14" "a4",
        "x13" "a3", "x12" "a2", "x11" "a1", "x10" "a0", "x9" "s1", "x7" "t2", "x6" "t1",
        "x5" "t0",
    ],
    ..MACHINE
};

static PPC: Facts = Facts {
    name: "PPC",
    model: "ppc",
    pointer: 4,
    statuses: true,
    // Assemblers take bare numbers for registers too.
    free: free![
        "r30" "30", "r29" "29", "r28" "28", "r27" "27", "r26" "26", "r25" "25",
        "r24" "24", "r23" "23", "r22" "22", "r21" "21", "r20" "20", "r19" "19",
        "r18" "18", "r17" "17", "r16" "16", "r15" "15", "r14" "14", "r12", "r11",
        "r10", "r9", "r8", "r7", "r6", "r5", "r4", "r3",
    ],
    ..MACHINE
};

static MIPS: Facts = Facts {
    name: "MIPS",
    model: "mips",
    pointer: 4,
    free: free![
        "$23" "$s7" "s7", "$22" "$s6" "s6", "$21" "$s5" "s5", "$20" "$s4" "s4",
        "$19" "$s3" "s3", "$18" "$s2" "s2", "$17" "$s1" "s1", "$16" "$s0" "s0",
        "$15" "$t7" "t7", "$14" "$t6" "t6", "$13" "$t5" "t5", "$12" "$t4" "t4",
        "$11" "$t3" "t3", "$10" "$t2" "t2", "$9" "$t1" "t1", "$8" "$t0" "t0",
        "$7" "$a3" "a3", "$6" "$a2" "a2", "$5" "$a1" "a1", "$4" "$a0" "a0",
    ],
    ..MACHINE
};

static LOONGARCH: Facts = Facts {
    name: "LoongArch",
    also: &["LOONGARCH", "loongarch"],
    model: "litmake-loongarch",
    updates: true,
    statuses: true,
    free: free![
        "$r31" "$s8", "$r30" "$s7", "$r29" "$s6", "$r28" "$s5", "$r27" "$s4", "$r26" "$s3",
        "$r25" "$s2", "$r24" "$s1", "$r23" "$s0", "$r20" "$t8", "$r19" "$t7", "$r18" "$t6",
        "$r17" "$t5", "$r16" "$t4", "$r15" "$t3", "$r14" "$t2", "$r13" "$t1", "$r12" "$t0",
        "$r11" "$a7", "$r10" "$a6", "$r9" "$a5", "$r8" "$a4", "$r7" "$a3", "$r6" "$a2",
        "$r5" "$a1", "$r4" "$a0",
    ],
    ..MACHINE
};

static S390X: Facts = Facts {
    name: "S390x",
    also: &["S390X", "s390x"],
    model: "litmake-s390x",
    branches: Branches::None,
    ..MACHINE
};

static BPF: Facts = Facts {
    name: "BPF",
    model: "bpf",
    updates: true,
    free: free!["r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"],
    ..MACHINE
};

static LLVM: Facts = Facts { name: "LLVM", model: "llvm", ..LANGUAGE };

static PTX: Facts = Facts { name: "PTX", model: "ptx", text: true, updates: false, ..LANGUAGE };

static AMDGCN: Facts =
    Facts { name: "AMDGCN", model: "gfx942", text: true, branches: Branches::None, ..MACHINE };

static SPIRV: Facts = Facts { name: "SPIRV", model: "spirv", text: true, ..LANGUAGE };
