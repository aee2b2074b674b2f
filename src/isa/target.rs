//! The questions that lifting asks of an instruction set: the calling convention, the registers that may hold new values,
//! how a move is written, which instructions use their own address.
//!
//! Each folder answers in a file `target.rs` of its own. This one has the questions, and the answers that
//! most have in common. It does not know the code that is lifted, nor what instructions mean.

use crate::machine::{Decoded, Decoder, Flow};
use crate::relocate::{Fill, Fix, Pairs};
use litmake_litmus::Arch;
use object::Architecture;
use object::elf::RelocationType;

/// An instruction set as lifting needs it.
pub struct Target {
    /// The dialect of its tests.
    pub arch: Arch,
    /// The code that it is the target of.
    pub form: Form,
    /// The decoder of its machine code.
    pub decoder: &'static dyn Decoder,
    /// The stack pointer.
    pub stack: &'static str,
    /// The registers of a function's parameters, in order.
    pub params: &'static [&'static str],
    /// The register of a function's result.
    pub result: &'static str,
    /// The offset of the parameters on the stack from the stack pointer at the start.
    pub stack_params: i64,
    /// The bytes of a register.
    pub word: u8,
    /// The stack pointer at the start, modulo 16.
    pub stack_start: i64,
    /// The register in which callers pass the address of the function that they call.
    pub entry: Option<&'static str>,
    /// The register that points into the program's small variables from its start to its end.
    pub global: Option<&'static str>,
    /// A register that is 0 wherever a function begins, if the convention has one.
    pub zero: Option<&'static str>,
    /// Registers that may hold locations and spilled values, in order of preference.
    pub spare: &'static [&'static str],
    /// Whether floating-point code is lifted.
    pub floats: bool,
    /// The names that object files have for it.
    pub machines: &'static [Architecture],
    /// The prefix of the names of GNU's linker for this form of code, where it links a program for it.
    pub linker: Option<&'static str>,
    /// The emulator of programs, where there is one.
    pub emulator: Option<&'static str>,
    /// The kinds of its instructions, and the text of new ones.
    pub rules: &'static dyn Rules,
}

/// The form of machine code, where an instruction set has more than one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Thumb code, on Arm.
    pub thumb: bool,
    /// Code with the highest byte first.
    pub big: bool,
    /// Code of the sixth release of MIPS.
    pub release6: bool,
}

/// The return address of a call that is inlined. No code lies at this address.
pub const RETURN: u64 = u64::MAX;

/// The target of a dialect; `None` where its code cannot be read.
pub fn of(arch: Arch, thumb: bool, big: bool, release6: bool) -> Option<Target> {
    crate::of(arch)?.target(Form { thumb, big, release6 })
}

/// The facts of a dialect's target, where there is one.
pub fn facts(arch: Arch) -> Option<&'static Facts> {
    Some(of(arch, false, false, false)?.rules.facts())
}

/// The dialect of the code in object files of an architecture.
pub fn of_machine(machine: Architecture) -> Option<Arch> {
    let is = |arch: &Arch| {
        of(*arch, false, false, false).is_some_and(|target| target.machines.contains(&machine))
    };
    Arch::ALL.into_iter().find(is)
}

/// Whether floating-point code is lifted.
pub fn lifts_floats(arch: Arch) -> bool {
    of(arch, false, false, false).is_some_and(|target| target.floats)
}

/// How a machine calls and returns, for code that is written with calls.
pub struct Calls {
    /// The registers and instructions that must be unused for that, under all their names.
    pub taken: &'static [&'static str],
    /// The call of a `{label}`.
    pub call: &'static [&'static str],
    /// The return.
    pub ret: &'static [&'static str],
}

/// How the code that lifting adds is written, where parts in braces are replaced; and what
/// compilers, linkers and loaders are told, or make.
pub struct Facts {
    /// A jump to `{label}`.
    pub jump: &'static str,
    /// Copies at least the lowest bytes of `{from}` to `{to}`.
    pub copy: &'static str,
    /// Loads an address into `{to}`, from `{offset}` bytes past `{base}`.
    pub load: &'static str,
    /// Copies `{from}` to `{to}` so that the copy also depends on `{on}`. Nothing for sets that have
    /// no dependencies, or no locks.
    pub dependent: &'static [&'static str],
    /// How code calls and returns, where calls are written.
    pub calls: Option<Calls>,
    /// Takes and releases a lock.
    pub lock: Option<Lock>,
    /// Copies bytes from the second parameter's place to the first one's, which is the result.
    pub copies: Option<Bytes>,
    /// Whether bytes at two parameters' places differ.
    pub compares: Option<Bytes>,
    /// A jump to `{label}` if the word at `{base}` is 0; it may use `{value}`, of which the word is
    /// `{word}`. With an operand for a location, `{base}` is that operand.
    pub jump_if_zero: &'static [&'static str],
    /// Whether accesses are in the machine's order whatever their addresses depend on.
    pub ordered: bool,
    /// Whether code that computes an address from its own can name even ones alone.
    pub even: bool,
    /// The letter that inline assembly has for a register with an address.
    pub address: &'static str,
    /// The words for computations in names of instructions, where they are not the usual ones.
    pub operators: &'static [(&'static str, &'static str)],
    /// The arguments that compilers need so that each variable is apart.
    pub apart: &'static [&'static str],
    /// Whether linkers shorten code, so that places in unlinked code are not final.
    pub relaxes: bool,
    /// The Linux kernel's name of the architecture.
    pub kernel: Option<&'static str>,
    /// The relocations of libraries.
    pub loader: Option<Loader>,
}

/// The relocations that a loader applies. Others (for thread-local variables) store no address.
pub struct Loader {
    /// Those that store the address of a symbol.
    pub address: &'static [RelocationType],
    /// The one that stores an address in the library itself.
    pub base: RelocationType,
    /// The one that stores the address that a function returns.
    pub chosen: Option<RelocationType>,
}

/// The effect of a call on machines that give each function a stack and registers of its own, without instructions
/// for that.
pub struct Frames {
    /// The distance from the stack of the function to that of the one that it calls, which lies lower.
    pub bytes: i64,
    /// Instructions before the call that keep registers.
    pub save: Vec<Decoded>,
    /// Instructions behind the call that restore them.
    pub restore: Vec<Decoded>,
}

/// A spin lock that acquires and releases, in rows for [`crate::rows`]. Calls preserve none of its
/// registers.
pub struct Lock {
    /// The register with the lock's address.
    pub address: &'static str,
    /// Takes it.
    pub take: &'static [&'static str],
    /// Releases it.
    pub release: &'static [&'static str],
}

/// Work on bytes, 8 at a time, in rows for [`crate::rows`]. Calls preserve none of its registers.
pub struct Bytes {
    /// The instructions before the work.
    pub first: &'static [&'static str],
    /// The work on the bytes at `{at}`.
    pub each: &'static [&'static str],
    /// The instructions behind the work.
    pub then: &'static [&'static str],
}

impl Bytes {
    pub(crate) const NONE: Bytes = Bytes { first: &[], each: &[], then: &[] };

    /// The rows for so many bytes, a multiple of 8.
    pub fn rows(&self, bytes: u64) -> Vec<String> {
        let each = |at: u64| self.each.iter().map(move |row| row.replace("{at}", &at.to_string()));
        let first = self.first.iter().map(|row| row.to_string());
        let then = self.then.iter().map(|row| row.to_string());
        first.chain((0..bytes).step_by(8).flat_map(each)).chain(then).collect()
    }
}

impl Facts {
    /// Nothing is written.
    pub(crate) const NONE: Facts = Facts {
        jump: "",
        copy: "",
        load: "",
        dependent: &[],
        calls: None,
        lock: None,
        copies: None,
        compares: None,
        jump_if_zero: &[],
        ordered: false,
        even: false,
        address: "r",
        operators: &[],
        apart: &[],
        relaxes: false,
        kernel: None,
        loader: None,
    };
}

/// A text with its parts in braces replaced.
fn filled(text: &str, parts: &[(&str, &str)]) -> String {
    parts.iter().fold(text.to_string(), |text, (part, by)| text.replace(part, by))
}

/// The lowest bytes of a register, and the register that takes them.
pub struct Widening<'a> {
    /// The register that takes them.
    pub to: &'a str,
    /// The register that has them.
    pub from: &'a str,
    /// How many there are.
    pub bytes: u8,
    /// The bytes that they are extended to.
    pub to_bytes: u8,
    /// Whether they have a sign.
    pub signed: bool,
}

/// A value that code computes from its own address.
pub enum Special {
    /// The register takes this address.
    Set(String, u64),
    /// The register takes the value at this address: its bytes, and whether it is sign-extended.
    Load(String, u64, u8, bool),
}

/// A target answers what its instruction set does.
impl std::ops::Deref for Target {
    type Target = dyn Rules;

    fn deref(&self) -> &Self::Target {
        self.rules
    }
}

impl Target {
    /// A target of 64 bits with what most have: parameters in registers, no special registers, nothing that links or runs
    /// programs for it.
    pub(crate) fn new(
        arch: Arch,
        form: Form,
        decoder: &'static dyn Decoder,
        rules: &'static dyn Rules,
    ) -> Target {
        Target {
            arch,
            form,
            decoder,
            stack: "",
            params: &[],
            result: "",
            stack_params: 0,
            word: 8,
            stack_start: 0,
            entry: None,
            global: None,
            zero: None,
            spare: &[],
            floats: false,
            machines: &[],
            linker: None,
            emulator: None,
            rules,
        }
    }

    /// The same target where functions take their parameters as Go's compilers pass them
    /// (`cmd/compile/abi-internal.md`). `None` where Go's convention is not known.
    pub fn of_go(self) -> Option<Target> {
        self.rules.of_go(self)
    }

    /// An instruction that uses its own address.
    pub fn special(&self, d: &Decoded) -> Option<Special> {
        (d.flow == Flow::Next).then(|| self.rules.special(d))?
    }

    /// An instruction that uses its own address, rewritten to use another register; with that register and
    /// its value.
    pub fn position(&self, d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        (d.flow == Flow::Next).then(|| self.rules.position(self, d))?
    }

    /// Whether it is x86, of 32 or 64 bits.
    pub fn is_x86(&self) -> bool {
        matches!(self.arch, Arch::X86 | Arch::X86_64)
    }
}

/// What the instructions of a set are to lifting, and how it writes the few that it adds. Where there is an
/// answer here, most sets have it.
pub trait Rules: Sync {
    /// See [`Target::of_go`].
    fn of_go(&self, _target: Target) -> Option<Target> {
        None
    }

    /// See [`Target::special`].
    fn special(&self, _d: &Decoded) -> Option<Special> {
        None
    }

    /// Whether an instruction accesses memory some bytes past a register. What reads tests is
    /// not as strict about that as machines are.
    fn takes_offset(&self, _mnemonic: &str) -> bool {
        true
    }

    /// Whether the instruction behind a jump is executed before it.
    fn has_delay_slots(&self) -> bool {
        false
    }

    /// A conditional return as a branch to [`RETURN`].
    fn conditional_return(&self, _d: &Decoded) -> Option<Decoded> {
        None
    }

    /// Splits a conditional instruction into a branch to [`RETURN`], taken if the condition does not hold,
    /// and the instruction without its condition.
    fn unless(&self, _d: &Decoded) -> Option<(Decoded, Decoded)> {
        None
    }

    /// Whether a call is conditional in a way that [`Rules::unless`] cannot split.
    fn strange_call(&self, _d: &Decoded) -> bool {
        false
    }

    /// Whether an instruction both restores registers and returns.
    fn returns_by_load(&self, _d: &Decoded) -> bool {
        false
    }

    /// See [`Target::position`].
    fn position(&self, _target: &Target, _d: &Decoded) -> Option<(Decoded, &'static str, u64)> {
        None
    }

    /// The bytes by which a call moves the stack pointer to store its return address.
    fn call_pushes(&self) -> i64 {
        0
    }

    /// See [`Frames`].
    fn frames(&self) -> Option<Frames> {
        None
    }

    /// Whether code finds its own address by a call and its return address.
    fn asks_by_call(&self) -> bool {
        false
    }

    /// Whether an instruction, which may be one on a `vector` register, takes a general register in place of
    /// memory.
    fn takes_general(&self, _mnemonic: &str, _vector: bool) -> bool {
        false
    }

    /// The size suffix of a locked operation that leaves memory as it is, which compilers use as a fence;
    /// `None` for others.
    fn locked_nothing<'d>(&self, _d: &'d Decoded) -> Option<&'d str> {
        None
    }

    /// Records a relocation to which others refer, before any is applied.
    fn prepare(&self, _fix: &Fix, _pairs: &mut Pairs) {}

    /// Applies a relocation to the bytes from its place on; `None` where its kind is not known.
    fn relocate(&self, fix: &Fix, bytes: &mut [u8], fill: &mut Fill) -> Option<()>;

    /// How the code that lifting adds is written.
    fn facts(&self) -> &'static Facts;

    /// The rows that fill so many bytes at the first parameter's place with the second parameter.
    fn fill(&self, _bytes: u64) -> Option<Vec<String>> {
        None
    }

    /// The name of a part of a register, by its bytes.
    fn view(&self, reg: &str, _bytes: u8) -> String {
        reg.to_string()
    }

    /// The text of a jump to a label.
    fn jump(&self, label: &str) -> String {
        filled(self.facts().jump, &[("{label}", label)])
    }

    /// Copies at least the lowest bytes of a register.
    fn copy(&self, to: &str, from: &str, _bytes: u8) -> String {
        filled(self.facts().copy, &[("{to}", to), ("{from}", from)])
    }

    /// See [`Facts::dependent`].
    fn dependent(&self, to: &str, on: &str, from: &str) -> Option<Vec<String>> {
        let rows = self.facts().dependent.iter();
        let rows = rows.map(|row| filled(row, &[("{to}", to), ("{on}", on), ("{from}", from)]));
        Some(rows.collect()).filter(|rows: &Vec<String>| !rows.is_empty())
    }

    /// See [`Facts::jump_if_zero`].
    fn jump_if_zero(&self, label: &str, base: &str, value: &str) -> Vec<String> {
        let word = self.view(value, 4);
        let parts = [("{label}", label), ("{base}", base), ("{value}", value), ("{word}", &word)];
        self.facts().jump_if_zero.iter().map(|row| filled(row, &parts)).collect()
    }

    /// Loads an address from memory.
    fn load(&self, to: &str, base: &str, offset: usize) -> String {
        let offset = offset.to_string();
        filled(self.facts().load, &[("{to}", to), ("{base}", base), ("{offset}", &offset)])
    }

    /// Puts the lowest `bytes` of a register into another, extended to `to_bytes`, which are more.
    fn widen(&self, widening: Widening) -> Option<Vec<String>>;

    /// Puts the lowest bytes of a register into another, extended to `to_bytes`.
    fn extend(
        &self,
        to: &str,
        from: &str,
        bytes: u8,
        to_bytes: u8,
        signed: bool,
    ) -> Option<Vec<String>> {
        if bytes >= to_bytes {
            return Some(vec![self.copy(to, from, bytes)]);
        }
        self.widen(Widening { to, from, bytes, to_bytes, signed })
    }

    /// Puts a constant into a register.
    fn constant(&self, reg: &str, value: u64) -> String {
        format!("li {reg},{}", value as i64)
    }

    /// Puts zero into a register, which may be a vector register of x86.
    fn cleared(&self, reg: &str) -> String {
        self.constant(reg, 0)
    }

    /// A memory operand that names a location directly, if the dialect has one.
    fn direct(&self, _location: &str, _offset: i64) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(arch: Arch, from: &str, bytes: u8, to_bytes: u8, signed: bool) -> Vec<String> {
        let target = of(arch, false, false, false).unwrap();
        let to = target.spare[0];
        target.extend(to, from, bytes, to_bytes, signed).unwrap_or_default()
    }

    #[test]
    fn parts_of_registers_are_extended_to_all_of_the_other() {
        let x86 = |bytes, to, signed| extended(Arch::X86_64, "rax", bytes, to, signed).join(";");
        assert_eq!(x86(4, 8, true), "movslq %eax,%r10");
        assert_eq!(x86(2, 8, true), "movswq %ax,%r10");
        assert_eq!(x86(1, 4, true), "movsbl %al,%r10d");
        assert_eq!(x86(1, 8, false), "movzbl %al,%r10d");
        let narrow = |from, bytes, signed| extended(Arch::X86, from, bytes, 4, signed).join(";");
        assert_eq!(narrow("EAX", 1, false), "MOVZBL EBX,AL");
        assert_eq!(narrow("ESI", 2, true), "MOVSWL EBX,SI");
        assert_eq!(narrow("ESI", 1, true), "MOV EBX,ESI;MOVSBL EBX,BL");
        // A condition that is in use stays.
        assert_eq!(extended(Arch::Ppc, "r3", 1, 8, false), ["clrldi r11,r3,56"]);
        assert_eq!(extended(Arch::Mips, "$2", 4, 8, true), ["addu $16,$2,$0"]);
        assert_eq!(extended(Arch::Mips, "$2", 4, 8, false), ["dsll $16,$2,32", "dsrl $16,$16,32"]);
    }
}
