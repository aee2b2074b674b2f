//! The micro-ops that every instruction set and C lower to: register and memory accesses,
//! arithmetic, fences and branches, with their annotations.
//!
//! They do not know where they came from, nor what any model makes of them. Each instruction
//! is a short list of ops over temporaries that are local to it and assigned once. Dependencies
//! are the flow of values through temporaries and registers; nothing else states them.

pub mod eval;

use litmake_base::diag::Span;

/// A temporary, local to one instruction and assigned once on each path.
pub type Temp = u16;

/// A register of a thread: an index into [`Code::regs`].
pub type Reg = u16;

/// A set of annotations of an event: one bit for each name in [`tag`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tags([u64; 3]);

impl Tags {
    /// No annotation.
    pub const NONE: Tags = Tags([0; 3]);
    /// How many annotations there can be.
    const BITS: u32 = 3 * u64::BITS;

    const fn bit(index: u32) -> Tags {
        let mut words = [0; 3];
        words[(index / u64::BITS) as usize] = 1 << (index % u64::BITS);
        Tags(words)
    }

    /// The annotations of both.
    pub const fn with(self, other: Tags) -> Tags {
        let (Tags([a, b, c]), Tags([x, y, z])) = (self, other);
        Tags([a | x, b | y, c | z])
    }

    /// Those that the other has not.
    pub const fn without(self, other: Tags) -> Tags {
        let (Tags([a, b, c]), Tags([x, y, z])) = (self, other);
        Tags([a & !x, b & !y, c & !z])
    }

    /// The annotations that are in both.
    pub const fn among(self, other: Tags) -> Tags {
        let (Tags([a, b, c]), Tags([x, y, z])) = (self, other);
        Tags([a & x, b & y, c & z])
    }

    /// Whether both have one in common.
    pub const fn meets(self, other: Tags) -> bool {
        let Tags([a, b, c]) = self.among(other);
        a | b | c != 0
    }
}

impl std::ops::BitOr for Tags {
    type Output = Tags;
    fn bitor(self, other: Tags) -> Tags {
        self.with(other)
    }
}

/// Declares the annotations, and those that barriers alone have: constant, name in cat models, dialects that have it.
macro_rules! tags {
    (
        $($(#[$doc:meta])* $id:ident = $name:literal : $archs:literal),* $(,)?;
        barriers: $($barrier:ident = $barrier_name:literal : $barrier_archs:literal),* $(,)?
    ) => {
        /// The annotations that barriers alone have.
        pub const BARRIERS: Tags = Tags::NONE $(.with(tag::$barrier))*;
        tags! {
            $($(#[$doc])* $id = $name : $archs,)*
            $($barrier = $barrier_name : $barrier_archs),*
        }
    };
    ($($(#[$doc:meta])* $id:ident = $name:literal : $archs:literal),* $(,)?) => {
        /// One constant for each annotation.
        #[allow(non_upper_case_globals, reason = "they are named as models name them")]
        #[expect(missing_docs, reason = "a barrier's constant has the barrier's own name")]
        pub mod tag {
            use super::Tags;
            #[allow(
                non_camel_case_types,
                clippy::upper_case_acronyms,
                reason = "they are named as models name them"
            )]
            enum Index { $($id),* }
            $($(#[$doc])* pub const $id: Tags = Tags::bit(Index::$id as u32);)*
        }
        /// Bit, name in cat models, and the dialects that have it, as a list of words
        /// (`*` for all).
        pub const TAG_TABLE: &[(Tags, &str, &str)] = &[$((tag::$id, $name, $archs)),*];
    };
}

tags! {
    /// Read or write of an atomic instruction (or the exclusive pair of herd's LISA).
    X = "X": "*",
    /// Read or write of a load-linked / store-conditional instruction.
    EX = "EX": "*",
    // C11 memory orders, and what has one.
    /// An access that is not atomic.
    C_NA = "NA": "C LLVM SPIRV",
    /// Memory order relaxed.
    C_RLX = "RLX": "C LLVM PTX",
    /// Memory order consume.
    C_CON = "CON": "C",
    /// Memory order acquire.
    C_ACQ = "ACQ": "C LLVM SPIRV PTX",
    /// Memory order release.
    C_REL = "REL": "C LLVM SPIRV PTX",
    /// Memory order acquire-release.
    C_ACQ_REL = "ACQ_REL": "C LLVM PTX",
    /// Memory order sequentially consistent.
    C_SC = "SC": "C LLVM SPIRV PTX BPF",
    /// LLVM's weakest atomic access, below RLX: no order of the writes of a place is agreed on.
    UNORDERED = "UNORDERED": "LLVM",
    /// An access with a memory order (any but NA).
    C_A = "A": "C LLVM SPIRV",
    /// An access to a volatile object.
    C_VOLATILE = "VOLATILE": "C LLVM SPIRV",
    /// atomic_signal_fence; orders only within a thread.
    C_SIGNAL = "SIGNAL": "C LLVM",
    // Locks as the Linux kernel has them.
    /// The read of taking a lock.
    C_LKR = "LKR": "C",
    /// The write of taking a lock.
    C_LKW = "LKW": "C",
    /// Releasing a lock.
    C_UL = "UL": "C",
    /// A try to take a lock that fails.
    C_LF = "LF": "C",
    /// A look at a lock that finds it taken.
    C_RL = "RL": "C",
    /// A look at a lock that finds it free.
    C_RU = "RU": "C",
    /// A part of an operation of several events, which program order puts in their order. No
    /// model sees it.
    C_PART = "part": "",
    // AArch64 (and AArch32's LDA/STL).
    /// A read with acquire, such as that of `LDAR`.
    A = "A": "AArch64 ARM",
    /// A read with the weaker acquire that `LDAPR` has.
    Q = "Q": "AArch64 ARM",
    /// A write with release, such as that of `STLR`.
    L = "L": "AArch64 ARM",
    /// The read of an atomic instruction that does not return it (`ST<op>`, or `LD<op>` to XZR; `red`
    NoRet = "NoRet": "AArch64 PTX AMDGCN",
    /// The access comes after the earlier accesses of its instruction (`iico_order`).
    AFTER = "AFTER": "AArch64",
    // x86.
    /// A non-temporal store.
    NT = "NT": "X86_64 X86",
    // RISC-V.
    RV_Acq = "Acq": "RISCV LoongArch", RV_Rel = "Rel": "RISCV LoongArch", RV_AcqRel = "AcqRel": "RISCV", RV_Sc = "Sc": "RISCV",
    /// An atomic instruction of LoongArch that is a full barrier, too.
    AMDB = "DB": "LoongArch",
    // BPF (with SC for read-modify-writes that return a value).
    BPF_AQ = "AQ": "BPF", BPF_RL = "RL": "BPF",
    // PTX: the threads that an operation reaches; the two halves of a barrier, which tell the others
    // and wait for them.
    PTX_CTA = "CTA": "PTX", PTX_CLUSTER = "CLUSTER": "PTX", PTX_GPU = "GPU": "PTX", PTX_SYS = "SYS": "PTX",
    PTX_ARRIVE = "ARRIVE": "PTX", PTX_WAIT = "WAIT": "PTX",
    // The scope of an access or a barrier: the thread alone, subgroup, workgroup, queue family, device, whole system.
    // C's operations that name none have none of them, and reach the system.
    WI = "WI": "C",
    SG = "SG": "C SPIRV", WG = "WG": "C SPIRV AMDGCN", QF = "QF": "SPIRV", DV = "DV": "C SPIRV AMDGCN", SY = "SY": "SPIRV AMDGCN",
    /// An event at which threads wait for each other.
    CBAR = "CBAR": "C SPIRV",
    // AMDGCN: the bit by which an access passes the caches of its processor by; waits until all but so many loads
    // are done, and until all stores are; what is written back, and which caches are emptied.
    GLC = "GLC": "AMDGCN",
    VM0 = "VM0": "AMDGCN", VM1 = "VM1": "AMDGCN", VM2 = "VM2": "AMDGCN", VM3 = "VM3": "AMDGCN", VS0 = "VS0": "AMDGCN",
    WB = "WB": "AMDGCN", INV = "INV": "AMDGCN", GWB = "GWB": "AMDGCN", GINV = "GINV": "AMDGCN",
    INVL1 = "INVL1": "AMDGCN", INVL2 = "INVL2": "AMDGCN", GL0 = "GL0": "AMDGCN", GL1 = "GL1": "AMDGCN",
    // SPIR-V.
    /// An access that other threads may see.
    NONPRIV = "NONPRIV": "SPIRV",
    /// A write with its availability operation.
    AV = "AV": "SPIRV",
    /// A read with its visibility operation.
    VIS = "VIS": "SPIRV",
    /// Memory semantics with an availability operation.
    SEMAV = "SEMAV": "SPIRV",
    /// Memory semantics with a visibility operation.
    SEMVIS = "SEMVIS": "SPIRV",
    // SPIR-V: the storage class of what is accessed, and those that semantics list. C: the memory of a workgroup, and
    // the memories that a fence lists (cross-workgroup: the device's).
    UNIFORM = "UNIFORM": "SPIRV", WORKGROUP = "WORKGROUP": "C SPIRV", CROSSWORKGROUP = "CROSSWORKGROUP": "SPIRV",
    SEM_UNIFORM = "SEM-UNIFORM": "SPIRV", SEM_WORKGROUP = "SEM-WORKGROUP": "C SPIRV",
    SEM_CROSSWORKGROUP = "SEM-CROSSWORKGROUP": "C SPIRV";
    barriers:
    // AArch64, and 32-bit Arm. Then x86, RISC-V, Power, LoongArch, s390x, MIPS (its base model treats lighter stypes as nothing).
    DMB_SY = "DMB.SY": "AArch64", DMB_LD = "DMB.LD": "AArch64", DMB_ST = "DMB.ST": "AArch64",
    DMB_ISH = "DMB.ISH": "AArch64", DMB_ISHLD = "DMB.ISHLD": "AArch64", DMB_ISHST = "DMB.ISHST": "AArch64",
    DMB_OSH = "DMB.OSH": "AArch64 ARM", DMB_OSHLD = "DMB.OSHLD": "AArch64 ARM", DMB_OSHST = "DMB.OSHST": "AArch64 ARM",
    DMB_NSH = "DMB.NSH": "AArch64 ARM", DMB_NSHLD = "DMB.NSHLD": "AArch64 ARM", DMB_NSHST = "DMB.NSHST": "AArch64 ARM",
    DSB_SY = "DSB.SY": "AArch64", DSB_LD = "DSB.LD": "AArch64 ARM", DSB_ST = "DSB.ST": "AArch64",
    DSB_ISH = "DSB.ISH": "AArch64", DSB_ISHLD = "DSB.ISHLD": "AArch64 ARM", DSB_ISHST = "DSB.ISHST": "AArch64",
    DSB_OSH = "DSB.OSH": "AArch64 ARM", DSB_OSHLD = "DSB.OSHLD": "AArch64 ARM", DSB_OSHST = "DSB.OSHST": "AArch64 ARM",
    DSB_NSH = "DSB.NSH": "AArch64 ARM", DSB_NSHLD = "DSB.NSHLD": "AArch64 ARM", DSB_NSHST = "DSB.NSHST": "AArch64 ARM",
    ISB = "ISB": "AArch64 ARM",
    DMB = "DMB": "ARM", ARM_DMB_ST = "DMB.ST": "ARM", ARM_DMB_ISH = "DMB.ISH": "ARM", ARM_DMB_ISHST = "DMB.ISHST": "ARM",
    ARM_DMB_LD = "DMB.LD": "ARM", ARM_DMB_ISHLD = "DMB.ISHLD": "ARM",
    DSB = "DSB": "ARM", ARM_DSB_ST = "DSB.ST": "ARM", ARM_DSB_ISH = "DSB.ISH": "ARM", ARM_DSB_ISHST = "DSB.ISHST": "ARM",
    MFENCE = "MFENCE": "X86_64 X86", LFENCE = "LFENCE": "X86_64 X86", SFENCE = "SFENCE": "X86_64 X86",
    Fence_r_r = "Fence.r.r": "RISCV", Fence_r_w = "Fence.r.w": "RISCV", Fence_r_rw = "Fence.r.rw": "RISCV",
    Fence_w_r = "Fence.w.r": "RISCV", Fence_w_w = "Fence.w.w": "RISCV", Fence_w_rw = "Fence.w.rw": "RISCV",
    Fence_rw_r = "Fence.rw.r": "RISCV", Fence_rw_w = "Fence.rw.w": "RISCV", Fence_rw_rw = "Fence.rw.rw": "RISCV",
    Fence_tso = "Fence.tso": "RISCV", Fence_i = "Fence.i": "RISCV",
    PPC_SYNC = "SYNC": "PPC", LWSYNC = "LWSYNC": "PPC", EIEIO = "EIEIO": "PPC", ISYNC = "ISYNC": "PPC",
    DBAR_r_r = "DBAR.r.r": "LoongArch", DBAR_r_w = "DBAR.r.w": "LoongArch", DBAR_r_rw = "DBAR.r.rw": "LoongArch",
    DBAR_w_r = "DBAR.w.r": "LoongArch", DBAR_w_w = "DBAR.w.w": "LoongArch", DBAR_w_rw = "DBAR.w.rw": "LoongArch",
    DBAR_rw_r = "DBAR.rw.r": "LoongArch", DBAR_rw_w = "DBAR.rw.w": "LoongArch", DBAR_rw_rw = "DBAR.rw.rw": "LoongArch",
    DBAR_SAME = "DBAR.same": "LoongArch",
    BCR = "BCR": "S390x",
    MIPS_SYNC = "SYNC": "MIPS",
    SYNC_WMB = "SYNC.WMB": "MIPS", SYNC_MB = "SYNC.MB": "MIPS", SYNC_ACQUIRE = "SYNC.ACQUIRE": "MIPS",
    SYNC_RELEASE = "SYNC.RELEASE": "MIPS", SYNC_RMB = "SYNC.RMB": "MIPS",
}

/// Annotations that a model declares, beside those of [`TAG_TABLE`]: each name has a bit of its
/// own, of those that no fixed annotation has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    names: Vec<String>,
}

impl Annotations {
    /// The bit of the first; all fixed annotations lie below.
    const FIRST: u32 = 160;
    /// The most that there can be.
    pub const MOST: usize = (Tags::BITS - Self::FIRST) as usize;

    /// Adds a name, where it is new; false where there is no room.
    pub fn add(&mut self, name: &str) -> bool {
        if self.get(name).is_some() {
            return true;
        }
        if self.names.len() >= Self::MOST {
            return false;
        }
        self.names.push(name.to_string());
        true
    }

    /// The bit of a name that was added.
    pub fn get(&self, name: &str) -> Option<Tags> {
        let i = self.names.iter().position(|n| n == name)?;
        Some(Tags::bit(Self::FIRST + i as u32))
    }

    /// All that were added, in that order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The names of those in a set of annotations.
    pub fn of(&self, tags: Tags) -> impl Iterator<Item = &str> {
        self.names().filter(move |n| self.get(n).is_some_and(|t| t.meets(tags)))
    }

    /// Whether the model brings none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

const _: () = assert!(TAG_TABLE.len() <= Annotations::FIRST as usize);

/// Where a register read's value goes inside its instruction; herd's cat files ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Port {
    /// Into neither.
    #[default]
    None,
    /// Into an address.
    Addr,
    /// Into what is written.
    Data,
}

/// A constant that code computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Val {
    /// Zero-extended to 128 bits.
    Int(u128),
    /// The address of location `loc` (an index into the program's locations) plus bytes. To
    /// arithmetic it is a number below 2^31: extending or cutting it at 32 bits or more leaves
    /// it as it is.
    Ptr {
        /// The index of the location in the program's locations.
        loc: u16,
        /// Bytes from the location's start; they may be negative or lie past its end.
        off: i64,
    },
    /// The address of an instruction of this thread.
    Code(u32),
}

impl Val {
    /// The value of a register that nothing set.
    pub const ZERO: Val = Val::Int(0);
}

/// The low `bits` bits set.
pub fn mask(bits: u8) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// One-operand arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// Bitwise complement within the width.
    Not,
    /// The negative, modulo the width.
    Neg,
    /// Sign extension of the low `from` bits to the width.
    SignExt {
        /// The width of the operand, in bits.
        from: u8,
    },
    /// Keeps the low `from` bits.
    ZeroExt {
        /// How many low bits are kept.
        from: u8,
    },
    /// 1 where the operand is zero, else 0.
    IsZero,
    /// How many bits above the highest one are 0.
    Clz,
    /// Reverses the bytes of the width.
    ByteSwap,
    /// Reverses the bits of the width.
    BitReverse,
    /// How many bits are 1.
    PopCount,
    /// The number of `width` bits in floating point that is nearest to an integer of `from` bits.
    FloatFromInt {
        /// The width of the integer, in bits.
        from: u8,
        /// Whether the integer has a sign.
        signed: bool,
    },
    /// The integer of `width` bits that a number of `from` bits in floating point becomes where its
    /// fraction is cut off. What is out of range becomes the nearest integer, and what is no number 0.
    FloatToInt {
        /// The width of the number in floating point, in bits.
        from: u8,
        /// Whether the integer has a sign.
        signed: bool,
    },
    /// The number of `width` bits in floating point that is nearest to one of `from` bits. What is no
    /// number has no value, since machines differ in it.
    FloatResize {
        /// The width of the operand, in bits.
        from: u8,
    },
}

/// Two-operand arithmetic. Shift counts are taken modulo nothing: a count at or over the width
/// gives 0 (or the sign), so an instruction set that masks counts says so with `And`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// The sum, modulo the width.
    Add,
    /// The first less the second, modulo the width.
    Sub,
    /// The low half of the product.
    Mul,
    /// High half of the product of unsigned numbers, at most 64 bits wide.
    MulHiU,
    /// High half of the product of signed numbers, at most 64 bits wide.
    MulHiS,
    /// The quotient of unsigned numbers; none by zero.
    DivU,
    /// The quotient of signed numbers, rounded towards zero; none by zero.
    DivS,
    /// The remainder that [`BinOp::DivU`] leaves.
    RemU,
    /// The remainder that [`BinOp::DivS`] leaves; it has the sign of the dividend.
    RemS,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// A shift to the left, which fills with zeros.
    Shl,
    /// A shift to the right, which fills with zeros.
    Shr,
    /// A shift to the right, which fills with the sign.
    Sar,
    /// A rotation to the right; its count is taken modulo the width.
    Ror,
    /// Whether the operands are equal. It and the other comparisons give 1 or 0.
    Eq,
    /// Whether the operands differ.
    Ne,
    /// Whether the first is less, of unsigned numbers.
    LtU,
    /// Whether the first is less or equal, of unsigned numbers.
    LeU,
    /// Whether the first is less, of signed numbers.
    LtS,
    /// Whether the first is less or equal, of signed numbers.
    LeS,
    /// The smaller of unsigned numbers.
    MinU,
    /// The larger of unsigned numbers.
    MaxU,
    /// The smaller of signed numbers.
    MinS,
    /// The larger of signed numbers.
    MaxS,
    /// Of numbers in floating point (IEEE 754, 32 or 64 bits wide), rounded to the nearest and then
    /// to even. A result that is no number has no value, since machines differ in it.
    FloatAdd,
    /// The difference, rounded as [`BinOp::FloatAdd`] is.
    FloatSub,
    /// The product, rounded as [`BinOp::FloatAdd`] is.
    FloatMul,
    /// The quotient, rounded as [`BinOp::FloatAdd`] is.
    FloatDiv,
    /// Whether the operands are equal: 1 or 0. It and the two that follow give 0 where an operand is
    /// no number.
    FloatEq,
    /// Whether the first is less.
    FloatLt,
    /// Whether the first is less or equal.
    FloatLe,
    /// Whether the sum of two signed numbers does not fit the width.
    AddOverflows,
    /// Whether the difference of two signed numbers does not fit the width.
    SubOverflows,
    /// Whether the product of two signed numbers does not fit the width.
    MulOverflows,
    /// Whether C leaves a signed number shifted left by so much undefined: it is negative, the
    /// count is not below the width, or what comes out does not fit.
    ShlOverflows,
}

/// Why the behaviour of a program is undefined, beside what a model says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Undefined {
    /// The result of arithmetic on signed integers does not fit their type.
    Overflow,
    /// A shift of a negative number to the left, or by a count that the type does not have.
    Shift,
    /// A division by zero.
    Division,
    /// A number of floating point that becomes an integer is out of the integer's range.
    Conversion,
    /// An access to memory through a null pointer.
    Null,
}

impl Undefined {
    /// As a flag of a simulation.
    pub fn flag(self) -> &'static str {
        match self {
            Undefined::Overflow => "signed-overflow",
            Undefined::Shift => "undefined-shift",
            Undefined::Division => "division-by-zero",
            Undefined::Conversion => "conversion-out-of-range",
            Undefined::Null => "null-access",
        }
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Undefined::Overflow => "signed overflow",
            Undefined::Shift => "an undefined shift",
            Undefined::Division => "a division by zero",
            Undefined::Conversion => "a conversion out of range",
            Undefined::Null => "an access through a null pointer",
        }
    }
}

/// Target of a branch: an index into [`Code::insts`]; the length of the code means "end".
pub type Label = u32;

/// A micro-op: one step of what an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Gives a constant.
    Const {
        /// Takes the constant.
        dst: Temp,
        /// The constant.
        val: Val,
    },
    /// Takes what a register holds.
    ReadReg {
        /// Takes the value.
        dst: Temp,
        /// The register that is read.
        reg: Reg,
        /// Where in the instruction the value goes.
        port: Port,
    },
    /// Sets a register.
    WriteReg {
        /// The register that is set.
        reg: Reg,
        /// The value that it takes.
        src: Temp,
    },
    /// `width` is in bits, 1 to 128; the operands and the result are taken modulo 2^width
    /// (the result of a comparison is 0 or 1).
    Un {
        /// Takes the result.
        dst: Temp,
        /// The operation.
        op: UnOp,
        /// The operand.
        a: Temp,
        /// The width in bits.
        width: u8,
    },
    /// The same of two operands.
    Bin {
        /// Takes the result.
        dst: Temp,
        /// The operation.
        op: BinOp,
        /// The first operand.
        a: Temp,
        /// The second operand.
        b: Temp,
        /// The width in bits.
        width: u8,
    },
    /// A conditional select: `dst` depends on the chosen operand by data and on `cond` by
    /// control inside the instruction (a "pick" dependency), not by data.
    Select {
        /// Takes the chosen operand.
        dst: Temp,
        /// Chooses: everything but 0 is true.
        cond: Temp,
        /// The operand where `cond` is true.
        yes: Temp,
        /// The operand where `cond` is 0.
        no: Temp,
    },
    /// 0 or 1, either way (a spurious failure).
    Choose {
        /// Takes the 0 or 1.
        dst: Temp,
    },
    /// Drops the path where `cond` is 0. It is no event and gives no dependency.
    Assume {
        /// Must not be 0.
        cond: Temp,
    },
    /// The behaviour of the program is undefined where `cond` is not 0. It is no event, gives no
    /// dependency, and what comes after goes on as it would.
    Undefined {
        /// True where the behaviour is undefined.
        cond: Temp,
        /// Why it is.
        what: Undefined,
    },
    /// A read event of `size` bytes, a power of two up to 16, single-copy atomic as a whole;
    /// `dst` is zero-extended. `tags` holds X or EX where it is half of an atomic access.
    Load {
        /// Takes the value that is read.
        dst: Temp,
        /// The address.
        addr: Temp,
        /// How many bytes are accessed.
        size: u8,
        /// The annotations of the event.
        tags: Tags,
    },
    /// A write event. With tag X it pairs with the latest X load of its instruction at the
    /// same address (`amo`).
    Store {
        /// The address.
        addr: Temp,
        /// The value that is written: its low `size` bytes.
        src: Temp,
        /// How many bytes are accessed.
        size: u8,
        /// The annotations of the event.
        tags: Tags,
    },
    /// A store-conditional: succeeds or fails either way; it can succeed only where the thread's
    /// latest EX load has the same address and no other store-conditional came between.
    /// `status` is `ok` or `fail`. `status_dep`: the status depends on the write (RISC-V, Power).
    /// `same_size`: it fails where that load was of another size (Arm, which leaves it open).
    StoreEx {
        /// Takes `ok` or `fail`.
        status: Temp,
        /// The address.
        addr: Temp,
        /// The value that is written where it succeeds.
        src: Temp,
        /// How many bytes are accessed.
        size: u8,
        /// The annotations of the event.
        tags: Tags,
        /// The status of success.
        ok: u8,
        /// The status of failure.
        fail: u8,
        /// Whether the status depends on the write.
        status_dep: bool,
        /// Whether it fails where the load had another size.
        same_size: bool,
    },
    /// A read-modify-write that is one event, both read and write (C11): `dst` is the old value;
    /// `new` is computed by the ops of `body`, which may use `dst` and may not access memory.
    Rmw {
        /// Takes the old value.
        dst: Temp,
        /// The address.
        addr: Temp,
        /// How many bytes are accessed.
        size: u8,
        /// The annotations of the event.
        tags: Tags,
        /// Computes the new value from the old one.
        body: Vec<Op>,
        /// The value that is written: a temporary of `body`, or of the ops before.
        new: Temp,
    },
    /// An event that orders others, as its annotations say.
    Fence {
        /// The annotations of the event.
        tags: Tags,
    },
    /// An event at a place that neither reads nor writes it (a lock is asked for, a grace period
    /// waited for).
    Touch {
        /// The address.
        addr: Temp,
        /// How many bytes the place has.
        size: u8,
        /// The annotations of the event.
        tags: Tags,
    },
    /// Ends or enters a part of structured code that depends on a branch. An instruction from here on does
    /// not depend by control on a branch after the entry of the same depth; `enter` marks that entry. Code
    /// that is not structured has none: there, everything after a branch depends on it.
    Control {
        /// How many entries are open around this one.
        depth: u16,
        /// Whether this op is the entry; else control returns to what it was there.
        enter: bool,
    },
    /// Executes one list or the other; what is inside depends on `cond` by control inside the
    /// instruction. A temporary that both sides assign is usable after.
    If {
        /// Chooses the list: everything but 0 is true.
        cond: Temp,
        /// Executed where `cond` is true.
        yes: Vec<Op>,
        /// Executed where `cond` is 0.
        no: Vec<Op>,
    },
    /// Goes to `target` where `cond` is not 0. Everything after depends on `cond` by control.
    Branch {
        /// The branch is taken where it is not 0.
        cond: Temp,
        /// Where the branch goes.
        target: Label,
    },
    /// Goes to `target`, whatever holds.
    Jump {
        /// Where it goes.
        target: Label,
    },
    /// Goes to the instruction whose [`Val::Code`] address `addr` is; an address that is not one
    /// (a return to the caller) ends the thread.
    JumpTo {
        /// The address of the next instruction.
        addr: Temp,
    },
    /// Ends the thread.
    Halt,
}

/// One instruction (or C statement).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inst {
    /// Its micro-ops, in the order in which they run.
    pub ops: Vec<Op>,
    /// As it is shown to people.
    pub text: String,
    /// Where it stands in the test.
    pub span: Span,
}

/// The code of one thread, and its registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// In the order in which they stand.
    pub insts: Vec<Inst>,
    /// The registers; a [`Reg`] is an index here.
    pub regs: Vec<RegInfo>,
    /// Initial values; registers that are not listed hold 0.
    pub reg_init: Vec<(Reg, Val)>,
    /// Annotations of locations, which every access to them has: their storage class.
    pub locations: Vec<(u16, Tags)>,
}

/// A register, or a local of C.
#[derive(Clone, Debug, PartialEq)]
pub struct RegInfo {
    /// The canonical name, as states print it (`X0`, `R1`, `rax`, `r0`, `$4`).
    pub name: String,
    /// Its width.
    pub bits: u8,
    /// How a final value is read where no type was declared: C locals by their type, machine
    /// registers as herd prints them.
    pub signed: bool,
}

impl Code {
    /// Whether an op has one of these annotations.
    pub fn is_annotated(&self, of: Tags) -> bool {
        fn any(ops: &[Op], of: Tags) -> bool {
            ops.iter().any(|op| match op {
                Op::Fence { tags }
                | Op::Load { tags, .. }
                | Op::Store { tags, .. }
                | Op::StoreEx { tags, .. }
                | Op::Rmw { tags, .. }
                | Op::Touch { tags, .. } => tags.meets(of),
                Op::If { yes, no, .. } => any(yes, of) || any(no, of),
                _ => false,
            })
        }
        self.insts.iter().any(|inst| any(&inst.ops, of))
    }

    /// The register of this name, where the thread has one.
    pub fn find_reg(&self, name: &str) -> Option<Reg> {
        self.regs.iter().position(|r| r.name == name).map(|i| i as Reg)
    }

    /// The register of this name, added where it is new.
    pub fn reg(&mut self, name: &str, bits: u8, signed: bool) -> Reg {
        if let Some(reg) = self.find_reg(name) {
            return reg;
        }
        self.regs.push(RegInfo { name: name.to_string(), bits, signed });
        (self.regs.len() - 1) as Reg
    }
}
