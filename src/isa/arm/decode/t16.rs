//! T32's instructions of 2 bytes. Most of them set the flags outside IT blocks, and in them not.

use super::part::{
    PC, Part, SP, bit, bits, block_base, hint, imm, list, mem, mem_index, name as name_of, reg,
    signed, to_pc,
};
use crate::machine::{Flow, Operand, State, Update};

/// IT. The conditions of a block stand on its instructions, so that it does nothing itself.
pub fn it(half: u32, state: &mut State) -> Option<Part> {
    if half >> 8 != 0xbf || half & 15 == 0 {
        return None;
    }
    // 15 is no condition, and always has no other side.
    let (cond, mask) = (bits(half, 4, 4), half & 15);
    if cond == 15 || (cond == 14 && !mask.is_power_of_two()) {
        return None;
    }
    *state = State(half as u8);
    Some(Part::new("NOP", Vec::new()))
}

/// `in_block`: whether it is in an IT block.
pub fn decode(half: u32, at: u64, in_block: bool) -> Option<Part> {
    let (low, next, third) = (bits(half, 0, 3), bits(half, 3, 3), bits(half, 6, 3));
    let high = bits(half, 8, 3);
    let five = bits(half, 6, 5);
    let byte = half & 0xff;
    let [rd, rn, rm, rh] = [low, next, third, high].map(reg);
    let sets = |part: Part| part.sets(!in_block);
    let pc = at.wrapping_add(4);
    let code = |pc: u64, n: i64| Operand::Code(pc.wrapping_add(n as u64));
    let at_base = |scale: u32| mem(next, (five * scale).into(), Update::None);
    let part = Part::new;
    Some(match half >> 11 {
        0b00000 if five == 0 => match in_block {
            true => return None,
            false => part("MOV", vec![rd, rn]).sets(true),
        },
        0b00000 => sets(part("LSL", vec![rd, rn, imm(five)])),
        // A shift by 0 is one by 32.
        0b00001 => sets(part("LSR", vec![rd, rn, imm((five + 31) % 32 + 1)])),
        0b00010 => sets(part("ASR", vec![rd, rn, imm((five + 31) % 32 + 1)])),
        0b00011 => {
            let name = if bit(half, 9) { "SUB" } else { "ADD" };
            let last = if bit(half, 10) { imm(third) } else { rm };
            sets(part(name, vec![rd, rn, last]))
        }
        0b00100 => sets(part("MOV", vec![rh, imm(byte)])),
        0b00101 => part("CMP", vec![rh, imm(byte)]),
        0b00110 => sets(part("ADD", vec![rh.clone(), rh, imm(byte)])),
        0b00111 => sets(part("SUB", vec![rh.clone(), rh, imm(byte)])),
        0b01000 if !bit(half, 10) => return data(half, in_block),
        0b01000 => return on_high(half),
        0b01001 => part("LDR", vec![rh, code(pc & !3, i64::from(4 * byte))]),
        0b01010 | 0b01011 => {
            let name = ["STR", "STRH", "STRB", "LDRSB", "LDR", "LDRH", "LDRB", "LDRSH"]
                [bits(half, 9, 3) as usize];
            part(name, vec![rd, mem_index(next, name_of(third), Update::None)])
        }
        0b01100 => part("STR", vec![rd, at_base(4)]),
        0b01101 => part("LDR", vec![rd, at_base(4)]),
        0b01110 => part("STRB", vec![rd, at_base(1)]),
        0b01111 => part("LDRB", vec![rd, at_base(1)]),
        0b10000 => part("STRH", vec![rd, at_base(2)]),
        0b10001 => part("LDRH", vec![rd, at_base(2)]),
        0b10010 => part("STR", vec![rh, mem(SP, (4 * byte).into(), Update::None)]),
        0b10011 => part("LDR", vec![rh, mem(SP, (4 * byte).into(), Update::None)]),
        0b10100 => part("ADR", vec![rh, code(pc & !3, i64::from(4 * byte))]),
        0b10101 => part("ADD", vec![rh, reg(SP), imm(4 * byte)]),
        0b10110 | 0b10111 => return miscellaneous(half, at, in_block),
        0b11000 if byte != 0 => part("STM", vec![block_base(high, true), list(byte)]),
        // The base is written where it is not loaded.
        0b11001 if byte != 0 => {
            let writeback = !bit(byte, high as u8);
            part("LDM", vec![block_base(high, writeback), list(byte)])
        }
        0b11010 | 0b11011 => match bits(half, 8, 4) {
            14 => part("UDF", vec![imm(byte)]).flow(Flow::Trap),
            15 => part("SVC", vec![imm(byte)]),
            // In a block, the condition would be there twice.
            _ if in_block => return None,
            cond => {
                let target = code(pc, signed(byte << 1, 9));
                Part { cond: Some(cond as u8), ..part("B", vec![target]).flow(Flow::Jump) }
            }
        },
        0b11100 => part("B", vec![code(pc, signed(half << 1, 12))]).flow(Flow::Jump),
        _ => return None,
    })
}

/// On two low registers, the first of which is the result's.
fn data(half: u32, in_block: bool) -> Option<Part> {
    let (rd, rm) = (reg(bits(half, 0, 3)), reg(bits(half, 3, 3)));
    const OPS: [&str; 16] = [
        "AND", "EOR", "LSL", "LSR", "ASR", "ADC", "SBC", "ROR", "TST", "RSB", "CMP", "CMN", "ORR",
        "MUL", "BIC", "MVN",
    ];
    let op = OPS[bits(half, 6, 4) as usize];
    let part = match op {
        "TST" | "CMP" | "CMN" => return Some(Part::new(op, vec![rd, rm])),
        "RSB" => Part::new(op, vec![rd, rm, imm(0)]),
        "MUL" => Part::new(op, vec![rd.clone(), rm, rd]),
        "MVN" => Part::new(op, vec![rd, rm]),
        _ => Part::new(op, vec![rd.clone(), rd, rm]),
    };
    Some(part.sets(!in_block))
}

/// On two registers of any number; and branches to registers.
fn on_high(half: u32) -> Option<Part> {
    let (d, m) = (bits(half, 0, 3) | bits(half, 7, 1) << 3, bits(half, 3, 4));
    let (rd, rm) = (reg(d), reg(m));
    let flow = if d == PC { to_pc(m) } else { Flow::Next };
    Some(match bits(half, 8, 2) {
        0 => {
            let flow = if d == PC { Flow::JumpRegister } else { Flow::Next };
            Part::new("ADD", vec![rd.clone(), rd, rm]).flow(flow)
        }
        1 => Part::new("CMP", vec![rd, rm]),
        2 => Part::new("MOV", vec![rd, rm]).flow(flow),
        _ if half & 7 != 0 => return None,
        _ if bit(half, 7) => Part::new("BLX", vec![rm]).flow(Flow::CallRegister),
        _ => Part::new("BX", vec![rm]).flow(to_pc(m)),
    })
}

fn miscellaneous(half: u32, at: u64, in_block: bool) -> Option<Part> {
    let (rd, rm) = (reg(bits(half, 0, 3)), reg(bits(half, 3, 3)));
    let sp = || vec![reg(SP), reg(SP), imm(4 * bits(half, 0, 7))];
    Some(match bits(half, 8, 4) {
        0 if bit(half, 7) => Part::new("SUB", sp()),
        0 => Part::new("ADD", sp()),
        1 | 3 | 9 | 11 if !in_block => {
            let name = if bit(half, 11) { "CBNZ" } else { "CBZ" };
            let distance = bits(half, 9, 1) << 6 | bits(half, 3, 5) << 1;
            let target = Operand::Code(at.wrapping_add(4).wrapping_add(distance.into()));
            Part::new(name, vec![rd, target]).flow(Flow::Branch)
        }
        2 => Part::new(["SXTH", "SXTB", "UXTH", "UXTB"][bits(half, 6, 2) as usize], vec![rd, rm]),
        4 | 5 | 12 | 13 => {
            let load = bit(half, 11);
            let mask = half & 0xff | bits(half, 8, 1) << if load { 15 } else { 14 };
            if mask == 0 {
                return None;
            }
            let flow = if load && bit(mask, 15) { Flow::Return } else { Flow::Next };
            Part::new(if load { "POP" } else { "PUSH" }, vec![list(mask)]).flow(flow)
        }
        10 => match bits(half, 6, 2) {
            0 => Part::new("REV", vec![rd, rm]),
            1 => Part::new("REV16", vec![rd, rm]),
            3 => Part::new("REVSH", vec![rd, rm]),
            _ => return None,
        },
        14 => {
            let always = Some(super::AL);
            Part { cond: always, ..Part::new("BKPT", vec![imm(half & 0xff)]).flow(Flow::Trap) }
        }
        15 if half & 15 == 0 => Part::new(hint(bits(half, 4, 4))?, Vec::new()),
        _ => return None,
    })
}
