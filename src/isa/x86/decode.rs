//! x86 machine code: `iced-x86` decodes, and this file puts the parts into the form that lifting
//! works on: 64-bit code as herd's dialect `X86_64` has it, in AT&T's syntax, and 32-bit code as
//! `X86` has it, with the destination first and names in capitals. It does not know what
//! instructions mean.

use iced_x86::{
    Decoder as Bytes, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction, Mnemonic,
    NumberBase, OpKind, Register,
};

use super::mnemonic;
use crate::machine::{Decoded, Decoder, Flow, Mem, Operand, Style, Update};

/// The decoder of x86 code.
pub(crate) struct X86Decoder {
    /// The bits of an address: 32 or 64.
    pub(crate) bits: u32,
}

/// The decoder of 64-bit code, or of 32-bit code.
pub fn decoder(wide: bool) -> &'static dyn Decoder {
    if wide { &X86Decoder { bits: 64 } } else { &X86Decoder { bits: 32 } }
}

static STYLE: Style = Style { immediate: "$", memory };
static NARROW_STYLE: Style = Style { immediate: "$", memory: narrow_memory };

fn memory(mem: &Mem) -> String {
    let base = mem.base.as_deref().unwrap_or("");
    match &mem.index {
        None if base.is_empty() => format!("({})", mem.offset),
        None if mem.offset == 0 => format!("({base})"),
        None => format!("{}({base})", mem.offset),
        Some(index) if mem.offset == 0 => format!("({base},{index})"),
        Some(index) => format!("{}({base},{index})", mem.offset),
    }
}

/// As the dialect of 32-bit code writes it: a sum in brackets.
fn narrow_memory(mem: &Mem) -> String {
    let registers = [mem.base.as_deref(), mem.index.as_deref()];
    let sum = registers.into_iter().flatten().collect::<Vec<_>>().join("+");
    match (sum.is_empty(), mem.offset) {
        (true, offset) => format!("[{offset}]"),
        (false, 0) => format!("[{sum}]"),
        (false, offset) => format!("[{sum}{offset:+}]"),
    }
}

/// An instruction of AT&T's syntax as the dialect of 32-bit code has it. Where the size is the
/// word's, the mnemonic does not say so.
fn narrow(decoded: &mut Decoded) {
    let (prefix, name) = match decoded.mnemonic.rsplit_once(' ') {
        Some((prefix, name)) => (format!("{prefix} "), name),
        None => (String::new(), decoded.mnemonic.as_str()),
    };
    let name = mnemonic::without_long(name);
    decoded.mnemonic = format!("{prefix}{name}").to_ascii_uppercase();
    decoded.operands.reverse();
    let plain = |name: &mut String| *name = name.trim_start_matches('%').to_ascii_uppercase();
    for operand in &mut decoded.operands {
        match operand {
            Operand::Reg(name) => plain(name),
            Operand::Mem(mem) => {
                mem.base.iter_mut().for_each(plain);
                mem.index.iter_mut().for_each(|index| {
                    plain(index);
                    *index = index.replace(',', "*");
                    if let Some(once) = index.strip_suffix("*1") {
                        *index = once.to_string();
                    }
                });
            }
            _ => {}
        }
    }
}

fn formatter() -> GasFormatter {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_gas_show_mnemonic_size_suffix(true);
    options.set_number_base(NumberBase::Decimal);
    options.set_signed_immediate_operands(true);
    formatter
}

fn register(reg: Register) -> String {
    format!("%{reg:?}").to_lowercase()
}

impl Decoder for X86Decoder {
    fn decode(&self, bytes: &[u8], at: u64) -> Result<Decoded, String> {
        let mut source = Bytes::with_ip(self.bits, bytes, at, DecoderOptions::NONE);
        let instruction = source.decode();
        if instruction.is_invalid() {
            return Err("unknown x86 instruction".to_string());
        }
        let flow = match instruction.flow_control() {
            FlowControl::Next => Flow::Next,
            FlowControl::UnconditionalBranch => Flow::Jump,
            FlowControl::IndirectBranch => Flow::JumpRegister,
            FlowControl::ConditionalBranch => Flow::Branch,
            FlowControl::Return => Flow::Return,
            FlowControl::Call => Flow::Call,
            FlowControl::IndirectCall => Flow::CallRegister,
            FlowControl::Interrupt | FlowControl::Exception => Flow::Trap,
            FlowControl::XbeginXabortXend => return Err("transactions are not known".to_string()),
        };
        let mut decoded = Decoded {
            at,
            len: instruction.len() as u8,
            mnemonic: String::new(),
            operands: Vec::new(),
            flow,
        };
        if is_nop(&instruction) {
            decoded.mnemonic = "nop".to_string();
            return Ok(decoded);
        }
        let mut formatter = formatter();
        formatter.format_mnemonic(&instruction, &mut decoded.mnemonic);
        for n in 0..formatter.operand_count(&instruction) {
            let place = formatter.get_instruction_operand(&instruction, n).ok().flatten();
            let known = place.and_then(|place| operand(&instruction, place));
            let operand = match known {
                Some(operand) => operand,
                None => {
                    let mut text = String::new();
                    let _ = formatter.format_operand(&instruction, &mut text, n);
                    Operand::Text(text)
                }
            };
            decoded.operands.push(operand);
        }
        compare_with_zero(&instruction, &mut decoded);
        if self.bits == 32 {
            narrow(&mut decoded);
        }
        Ok(decoded)
    }

    fn style(&self) -> &'static Style {
        if self.bits == 32 { &NARROW_STYLE } else { &STYLE }
    }
}

fn is_nop(instruction: &Instruction) -> bool {
    let same = instruction.mnemonic() == Mnemonic::Xchg
        && instruction.op0_kind() == OpKind::Register
        && instruction.op1_kind() == OpKind::Register
        && instruction.op0_register() == instruction.op1_register()
        && instruction.op0_register().size() != 4;
    same || matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Endbr32)
}

fn operand(instruction: &Instruction, n: u32) -> Option<Operand> {
    match instruction.op_kind(n) {
        OpKind::Register => Some(Operand::Reg(register(instruction.op_register(n)))),
        OpKind::Memory if instruction.segment_prefix() == Register::None => {
            Some(Operand::Mem(address(instruction)))
        }
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            Some(Operand::Code(instruction.near_branch_target()))
        }
        OpKind::Immediate8 => Some(Operand::Imm((instruction.immediate8() as i8).into())),
        OpKind::Immediate16 => Some(Operand::Imm((instruction.immediate16() as i16).into())),
        OpKind::Immediate32 => Some(Operand::Imm((instruction.immediate32() as i32).into())),
        OpKind::Immediate64
        | OpKind::Immediate8to16
        | OpKind::Immediate8to32
        | OpKind::Immediate8to64
        | OpKind::Immediate32to64 => Some(Operand::Imm(instruction.immediate(n) as i64)),
        _ => None,
    }
}

/// A memory operand; one relative to the instruction pointer becomes absolute.
fn address(instruction: &Instruction) -> Mem {
    let name = |reg: Register| match reg {
        Register::None | Register::RIP | Register::EIP => None,
        reg => Some(register(reg)),
    };
    let offset = match instruction.memory_base() {
        Register::None if instruction.memory_index() == Register::None => {
            instruction.memory_displacement64() as i64
        }
        Register::RIP | Register::EIP => instruction.memory_displacement64() as i64,
        _ if instruction.memory_displ_size() == 8 => instruction.memory_displacement64() as i64,
        _ => (instruction.memory_displacement64() as u32 as i32).into(),
    };
    Mem {
        base: name(instruction.memory_base()),
        offset,
        index: name(instruction.memory_index())
            .map(|index| format!("{index},{}", instruction.memory_index_scale())),
        update: Update::None,
    }
}

/// `test` of a register with itself sets the flags that a comparison with 0 sets, which more
/// tools read.
fn compare_with_zero(instruction: &Instruction, decoded: &mut Decoded) {
    if instruction.mnemonic() == Mnemonic::Test
        && let [Operand::Reg(a), Operand::Reg(b)] = decoded.operands.as_slice()
        && a == b
    {
        decoded.mnemonic = decoded.mnemonic.replacen("test", "cmp", 1);
        decoded.operands[0] = Operand::Imm(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(wide: bool, bytes: &[u8]) -> String {
        match decoder(wide).decode(bytes, 0x1000) {
            Ok(d) => d.text(decoder(wide).style(), &|at| format!("L{at:x}")),
            Err(e) => e,
        }
    }

    #[test]
    fn operands_are_in_the_order_of_litmus_tests() {
        for (bytes, wanted) in [
            (&[0xc7, 0x07, 1, 0, 0, 0][..], "movl $1,(%rdi)"),
            (&[0x8b, 0x44, 0x8f, 0xfc], "movl -4(%rdi,%rcx,4),%eax"),
            (&[0xf0, 0x0f, 0xb1, 0x16], "lock cmpxchgl %edx,(%rsi)"),
            (&[0x8b, 0x05, 0x10, 0, 0, 0], "movl (4118),%eax"),
            (&[0x85, 0xc0], "cmpl $0,%eax"),
            (&[0x74, 0x10], "je L1012"),
            (&[0x66, 0x90], "nop"),
            (&[0x0f, 0x1f, 0x44, 0, 0], "nop"),
            (&[0x0f, 0xae, 0xf0], "mfence"),
            (&[0x06], "unknown x86 instruction"),
        ] {
            assert_eq!(text(true, bytes), wanted);
        }
    }

    #[test]
    fn code_of_32_bits_has_the_destination_first() {
        for (bytes, wanted) in [
            (&[0x8b, 0x44, 0x24, 4][..], "MOV EAX,[ESP+4]"),
            (&[0xc7, 0x00, 1, 0, 0, 0], "MOV [EAX],$1"),
            (&[0xc6, 0x00, 1], "MOVB [EAX],$1"),
            (&[0x8b, 0x44, 0x8f, 0xfc], "MOV EAX,[EDI+ECX*4-4]"),
            (&[0x8b, 0x04, 0x0f], "MOV EAX,[EDI+ECX]"),
            (&[0xa1, 0x10, 0, 0, 0], "MOV EAX,[16]"),
            (&[0xf0, 0x0f, 0xb1, 0x16], "LOCK CMPXCHG [ESI],EDX"),
            (&[0xf0, 0x83, 0x0c, 0x24, 0], "LOCK OR [ESP],$0"),
            (&[0xf0, 0xfe, 0x00], "LOCK INCB [EAX]"),
            (&[0x0f, 0xb6, 0x08], "MOVZBL ECX,[EAX]"),
            (&[0x85, 0xc0], "CMP EAX,$0"),
            (&[0xdf, 0x6c, 0x24, 8], "FILDLL [ESP+8]"),
            (&[0x55], "PUSH EBP"),
            (&[0x0f, 0x94, 0xc1], "SETEB CL"),
            (&[0x74, 0x10], "JE L1012"),
            // Of 64-bit code, a prefix; of 32-bit code, `inc`.
            (&[0x40], "INC EAX"),
        ] {
            assert_eq!(text(false, bytes), wanted);
        }
    }
}
