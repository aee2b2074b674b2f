//! Vector registers: moves, logic, and the integer arithmetic that compilers use around copies.

use super::fields::*;
use super::fp::small_float;
use super::simd_mem::SHAPES;
use super::{Out, Row, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    // Copies of elements.
    row("0 q 001110000 iiiii 000001 nnnnn ddddd", "DUP", &[of_element, element::<RN>]),
    row("0 q 001110000 iiiii 000011 nnnnn ddddd", "DUP", &[of_element, wide_for_element::<RN>]),
    row("0 q 001110000 iiiii 001011 nnnnn ddddd", "SMOV", &[narrower, r30::<RD>, element::<RN>]),
    row("0 0 001110000 ii100 001111 nnnnn ddddd", "MOV", &[w::<RD>, element::<RN>]),
    row("0 1 001110000 i1000 001111 nnnnn ddddd", "MOV", &[x::<RD>, element::<RN>]),
    row("0 0 001110000 iiiii 001111 nnnnn ddddd", "UMOV", &[narrower, w::<RD>, element::<RN>]),
    row("0 1 001110000 iiiii 000111 nnnnn ddddd", "MOV", &[element::<RD>, wide_for_element::<RN>]),
    row("0 1 101110000 iiiii 0jjjj1 nnnnn ddddd", "MOV", &[element::<RD>, second_element]),
    row("01 0 11110000 iiiii 000001 nnnnn ddddd", "MOV", &[element_scalar, element::<RN>]),
    // Constants.
    row("0 q 0 0111100000 kkk 0xx0 01 kkkkk ddddd", "MOVI", &[shaped::<2>, byte, shifted]),
    row("0 q 0 0111100000 kkk 0xx1 01 kkkkk ddddd", "ORR", &[shaped::<2>, byte, shifted]),
    row("0 q 0 0111100000 kkk 10x0 01 kkkkk ddddd", "MOVI", &[shaped::<1>, byte, shifted]),
    row("0 q 0 0111100000 kkk 10x1 01 kkkkk ddddd", "ORR", &[shaped::<1>, byte, shifted]),
    row("0 q 0 0111100000 kkk 110x 01 kkkkk ddddd", "MOVI", &[shaped::<2>, byte, ones_shifted]),
    row("0 q 0 0111100000 kkk 1110 01 kkkkk ddddd", "MOVI", &[shaped::<0>, byte]),
    row("0 q 0 0111100000 kkk 1111 01 kkkkk ddddd", "FMOV", &[shaped::<2>, float]),
    row("0 q 1 0111100000 kkk 0xx0 01 kkkkk ddddd", "MVNI", &[shaped::<2>, byte, shifted]),
    row("0 q 1 0111100000 kkk 0xx1 01 kkkkk ddddd", "BIC", &[shaped::<2>, byte, shifted]),
    row("0 q 1 0111100000 kkk 10x0 01 kkkkk ddddd", "MVNI", &[shaped::<1>, byte, shifted]),
    row("0 q 1 0111100000 kkk 10x1 01 kkkkk ddddd", "BIC", &[shaped::<1>, byte, shifted]),
    row("0 q 1 0111100000 kkk 110x 01 kkkkk ddddd", "MVNI", &[shaped::<2>, byte, ones_shifted]),
    row("0 0 1 0111100000 kkk 1110 01 kkkkk ddddd", "MOVI", &[double::<RD>, bytes_of_bits]),
    row("0 1 1 0111100000 kkk 1110 01 kkkkk ddddd", "MOVI", &[shaped::<3>, bytes_of_bits]),
    row("0 1 1 0111100000 kkk 1111 01 kkkkk ddddd", "FMOV", &[shaped::<3>, float]),
    // Bitwise.
    row("0 q 0 01110 00 1 mmmmm 000111 nnnnn ddddd", "AND", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 0 01110 01 1 mmmmm 000111 nnnnn ddddd", "BIC", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 0 01110 10 1 mmmmm 000111 nnnnn ddddd", "MOV", &[same::<RN, RM>, bytes::<RD>, bytes::<RN>]),
    row("0 q 0 01110 10 1 mmmmm 000111 nnnnn ddddd", "ORR", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 0 01110 11 1 mmmmm 000111 nnnnn ddddd", "ORN", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 1 01110 00 1 mmmmm 000111 nnnnn ddddd", "EOR", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 1 01110 01 1 mmmmm 000111 nnnnn ddddd", "BSL", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 1 01110 10 1 mmmmm 000111 nnnnn ddddd", "BIT", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 1 01110 11 1 mmmmm 000111 nnnnn ddddd", "BIF", &[bytes::<RD>, bytes::<RN>, bytes::<RM>]),
    row("0 q 1 01110 00 10000 00101 10 nnnnn ddddd", "MVN", &[bytes::<RD>, bytes::<RN>]),
    row("0 q 0 01110 00 10000 00101 10 nnnnn ddddd", "CNT", &[bytes::<RD>, bytes::<RN>]),
    // Arithmetic and comparisons of elements.
    row("0 q 0 01110 ss 1 mmmmm 100001 nnnnn ddddd", "ADD", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 100001 nnnnn ddddd", "SUB", &[v::<RD>, v::<RN>, v::<RM>]),
    row("01 0 11110 11 1 mmmmm 100001 nnnnn ddddd", "ADD", &[double::<RD>, double::<RN>, double::<RM>]),
    row("01 1 11110 11 1 mmmmm 100001 nnnnn ddddd", "SUB", &[double::<RD>, double::<RN>, double::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 100111 nnnnn ddddd", "MUL", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 100011 nnnnn ddddd", "CMTST", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 100011 nnnnn ddddd", "CMEQ", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 001101 nnnnn ddddd", "CMGT", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 001111 nnnnn ddddd", "CMGE", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 001101 nnnnn ddddd", "CMHI", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 001111 nnnnn ddddd", "CMHS", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 011001 nnnnn ddddd", "SMAX", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 011011 nnnnn ddddd", "SMIN", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 011001 nnnnn ddddd", "UMAX", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 011011 nnnnn ddddd", "UMIN", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 101001 nnnnn ddddd", "UMAXP", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 101111 nnnnn ddddd", "ADDP", &[v::<RD>, v::<RN>, v::<RM>]),
    row("01 0 11110 11 11000 11011 10 nnnnn ddddd", "ADDP", &[double::<RD>, two_doubles]),
    row("0 q 0 01110 ss 10000 01001 10 nnnnn ddddd", "CMEQ", &[v::<RD>, v::<RN>, zero]),
    row("0 q 0 01110 ss 10000 01000 10 nnnnn ddddd", "CMGT", &[v::<RD>, v::<RN>, zero]),
    row("0 q 0 01110 ss 10000 01010 10 nnnnn ddddd", "CMLT", &[v::<RD>, v::<RN>, zero]),
    row("0 q 1 01110 ss 10000 01011 10 nnnnn ddddd", "NEG", &[v::<RD>, v::<RN>]),
    row("0 q 0 01110 ss 10000 01011 10 nnnnn ddddd", "ABS", &[v::<RD>, v::<RN>]),
    row("0 q 0 01110 ss 10000 00000 10 nnnnn ddddd", "REV64", &[no_doubles, v::<RD>, v::<RN>]),
    row("0 q 0 01110 ss 11000 11011 10 nnnnn ddddd", "ADDV", &[across, v::<RN>]),
    row("0 q 1 01110 ss 11000 01010 10 nnnnn ddddd", "UMAXV", &[across, v::<RN>]),
    row("0 q 1 01110 ss 11000 11010 10 nnnnn ddddd", "UMINV", &[across, v::<RN>]),
    // Rearranging.
    row("0 q 101110 000 mmmmm 0 kkkk 0 nnnnn ddddd", "EXT", &[within, bytes::<RD>, bytes::<RN>, bytes::<RM>, unsigned::<11, 4>]),
    row("0 q 001110 ss 0 mmmmm 0 001 10 nnnnn ddddd", "UZP1", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 001110 ss 0 mmmmm 0 010 10 nnnnn ddddd", "TRN1", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 001110 ss 0 mmmmm 0 011 10 nnnnn ddddd", "ZIP1", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 001110 ss 0 mmmmm 0 101 10 nnnnn ddddd", "UZP2", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 001110 ss 0 mmmmm 0 110 10 nnnnn ddddd", "TRN2", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 001110 ss 0 mmmmm 0 111 10 nnnnn ddddd", "ZIP2", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 10000 10010 10 nnnnn ddddd", "XTN", &[second, v::<RD>, wider::<RN>]),
    // Shifts.
    row("0 q 0 011110 hhhh kkk 010101 nnnnn ddddd", "SHL", &[by_high::<RD>, by_high::<RN>, left]),
    row("0 q 0 011110 hhhh kkk 000001 nnnnn ddddd", "SSHR", &[by_high::<RD>, by_high::<RN>, right]),
    row("0 q 1 011110 hhhh kkk 000001 nnnnn ddddd", "USHR", &[by_high::<RD>, by_high::<RN>, right]),
    row("0 q 0 011110 hhhh kkk 000101 nnnnn ddddd", "SSRA", &[by_high::<RD>, by_high::<RN>, right]),
    row("0 q 1 011110 hhhh kkk 000101 nnnnn ddddd", "USRA", &[by_high::<RD>, by_high::<RN>, right]),
    row("01 0 111110 1hhh kkk 010101 nnnnn ddddd", "SHL", &[double::<RD>, double::<RN>, left]),
    row("01 0 111110 1hhh kkk 000001 nnnnn ddddd", "SSHR", &[double::<RD>, double::<RN>, right]),
    row("01 1 111110 1hhh kkk 000001 nnnnn ddddd", "USHR", &[double::<RD>, double::<RN>, right]),
    row("0 q 0 011110 hhhh kkk 101001 nnnnn ddddd", "SSHLL", &[second, longer::<RD>, by_high::<RN>, left]),
    row("0 q 1 011110 hhhh kkk 101001 nnnnn ddddd", "USHLL", &[second, longer::<RD>, by_high::<RN>, left]),
    row("0 q 0 011110 hhhh kkk 100001 nnnnn ddddd", "SHRN", &[second, by_high::<RD>, longer::<RN>, right]),
    // Other instructions of vectorised loops.
    row("0 q 0 01110 ss 1 mmmmm 000001 nnnnn ddddd", "SHADD", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 000001 nnnnn ddddd", "UHADD", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 000101 nnnnn ddddd", "SRHADD", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 000101 nnnnn ddddd", "URHADD", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 000011 nnnnn ddddd", "SQADD", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 000011 nnnnn ddddd", "UQADD", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 001011 nnnnn ddddd", "SQSUB", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 001011 nnnnn ddddd", "UQSUB", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 010001 nnnnn ddddd", "SSHL", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 010001 nnnnn ddddd", "USHL", &[v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 011101 nnnnn ddddd", "SABD", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 011101 nnnnn ddddd", "UABD", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 011111 nnnnn ddddd", "SABA", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 011111 nnnnn ddddd", "UABA", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 100101 nnnnn ddddd", "MLA", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 100101 nnnnn ddddd", "MLS", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 101001 nnnnn ddddd", "SMAXP", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 101011 nnnnn ddddd", "SMINP", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 101011 nnnnn ddddd", "UMINP", &[no_doubles, v::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 10000 00000 10 nnnnn ddddd", "REV32", &[up_to_halves, v::<RD>, v::<RN>]),
    row("0 q 0 01110 ss 10000 00001 10 nnnnn ddddd", "REV16", &[only_bytes, v::<RD>, v::<RN>]),
    row("0 q 0 01110 ss 10000 00100 10 nnnnn ddddd", "CLS", &[no_doubles, v::<RD>, v::<RN>]),
    row("0 q 1 01110 ss 10000 00100 10 nnnnn ddddd", "CLZ", &[no_doubles, v::<RD>, v::<RN>]),
    row("0 q 1 01110 01 10000 00101 10 nnnnn ddddd", "RBIT", &[bytes::<RD>, bytes::<RN>]),
    row("0 q 0 01110 ss 10000 00010 10 nnnnn ddddd", "SADDLP", &[doubled::<RD>, v::<RN>]),
    row("0 q 1 01110 ss 10000 00010 10 nnnnn ddddd", "UADDLP", &[doubled::<RD>, v::<RN>]),
    row("0 q 0 01110 ss 10000 00110 10 nnnnn ddddd", "SADALP", &[doubled::<RD>, v::<RN>]),
    row("0 q 1 01110 ss 10000 00110 10 nnnnn ddddd", "UADALP", &[doubled::<RD>, v::<RN>]),
    row("0 q 1 01110 ss 10000 01000 10 nnnnn ddddd", "CMGE", &[v::<RD>, v::<RN>, zero]),
    row("0 q 1 01110 ss 10000 01001 10 nnnnn ddddd", "CMLE", &[v::<RD>, v::<RN>, zero]),
    row("0 q 0 01110 ss 11000 01010 10 nnnnn ddddd", "SMAXV", &[across, v::<RN>]),
    row("0 q 0 01110 ss 11000 11010 10 nnnnn ddddd", "SMINV", &[across, v::<RN>]),
    row("0 q 0 01110 ss 11000 00011 10 nnnnn ddddd", "SADDLV", &[across_long, v::<RN>]),
    row("0 q 1 01110 ss 11000 00011 10 nnnnn ddddd", "UADDLV", &[across_long, v::<RN>]),
    row("0 q 0 01110 ss 1 mmmmm 0000 00 nnnnn ddddd", "SADDL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 0000 00 nnnnn ddddd", "UADDL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 0010 00 nnnnn ddddd", "SSUBL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 0010 00 nnnnn ddddd", "USUBL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 0101 00 nnnnn ddddd", "SABAL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 0101 00 nnnnn ddddd", "UABAL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 0111 00 nnnnn ddddd", "SABDL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 0111 00 nnnnn ddddd", "UABDL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 1000 00 nnnnn ddddd", "SMLAL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 1000 00 nnnnn ddddd", "UMLAL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 1010 00 nnnnn ddddd", "SMLSL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 1010 00 nnnnn ddddd", "UMLSL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 1100 00 nnnnn ddddd", "SMULL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 1100 00 nnnnn ddddd", "UMULL", &[second, wider::<RD>, v::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 0001 00 nnnnn ddddd", "SADDW", &[second, wider::<RD>, wider::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 0001 00 nnnnn ddddd", "UADDW", &[second, wider::<RD>, wider::<RN>, v::<RM>]),
    row("0 q 0 01110 ss 1 mmmmm 0011 00 nnnnn ddddd", "SSUBW", &[second, wider::<RD>, wider::<RN>, v::<RM>]),
    row("0 q 1 01110 ss 1 mmmmm 0011 00 nnnnn ddddd", "USUBW", &[second, wider::<RD>, wider::<RN>, v::<RM>]),
    row("0 q 001110 000 mmmmm 0 ll 0 00 nnnnn ddddd", "TBL", &[bytes::<RD>, bytes_listed, bytes::<RM>]),
    row("0 q 001110 000 mmmmm 0 ll 1 00 nnnnn ddddd", "TBX", &[bytes::<RD>, bytes_listed, bytes::<RM>]),
    row("0 q 1 011110 hhhh kkk 010001 nnnnn ddddd", "SRI", &[by_high::<RD>, by_high::<RN>, right]),
    row("0 q 1 011110 hhhh kkk 010101 nnnnn ddddd", "SLI", &[by_high::<RD>, by_high::<RN>, left]),
];

fn vector(n: u32, log: u32, whole: u32) -> String {
    format!("V{n}.{}", SHAPES[log as usize & 3][whole as usize & 1])
}

/// A vector whose elements the size field tells; one element of 64 bits is no vector.
fn v<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let (size, whole) = (w.get(22, 2), w.get(30, 1));
    if size == 3 && whole == 0 {
        return None;
    }
    out.reg(vector(w.get(AT, 5), size, whole))
}

/// A vector of 128 bits whose elements have twice the size that the size field tells.
fn wider<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let size = w.get(22, 2);
    (size < 3).then_some(())?;
    out.reg(vector(w.get(AT, 5), size + 1, 1))
}

/// Elements of twice the size, in as many bits.
fn doubled<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let size = w.get(22, 2);
    (size < 3).then_some(())?;
    out.reg(vector(w.get(AT, 5), size + 1, w.get(30, 1)))
}

/// The form that works on the upper half is called so.
fn second(w: Word, out: &mut Out) -> Option<()> {
    if w.is(30) {
        out.name.push('2');
    }
    Some(())
}

/// The result of a sum that has twice the bits of an element.
fn across_long(w: Word, out: &mut Out) -> Option<()> {
    let (size, whole) = (w.get(22, 2), w.is(30));
    if size == 3 || (size == 2 && !whole) {
        return None;
    }
    out.reg(format!("{}{}", ['H', 'S', 'D', 'D'][size as usize], w.get(RD, 5)))
}

fn bytes_listed(w: Word, out: &mut Out) -> Option<()> {
    let names = (0..=w.get(13, 2)).map(|i| vector((w.get(RN, 5) + i) % 32, 0, 1));
    out.text(format!("{{{}}}", names.collect::<Vec<_>>().join(",")))
}

fn only_bytes(w: Word, _: &mut Out) -> Option<()> {
    (w.get(22, 2) == 0).then_some(())
}

fn up_to_halves(w: Word, _: &mut Out) -> Option<()> {
    (w.get(22, 2) < 2).then_some(())
}

fn no_doubles(w: Word, _: &mut Out) -> Option<()> {
    (w.get(22, 2) != 3).then_some(())
}

fn bytes<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(vector(w.get(AT, 5), 0, w.get(30, 1)))
}

/// A position in bytes that the register has.
fn within(w: Word, _: &mut Out) -> Option<()> {
    (w.is(30) || !w.is(14)).then_some(())
}

fn shaped<const LOG: u32>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(vector(w.get(RD, 5), LOG, w.get(30, 1)))
}

fn double<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(format!("D{}", w.get(AT, 5)))
}

fn two_doubles(w: Word, out: &mut Out) -> Option<()> {
    out.reg(vector(w.get(RN, 5), 3, 1))
}

/// The result of a sum over a vector of at least four elements.
fn across(w: Word, out: &mut Out) -> Option<()> {
    let (size, whole) = (w.get(22, 2), w.is(30));
    if size == 3 || (size == 2 && !whole) {
        return None;
    }
    out.reg(format!("{}{}", ['B', 'H', 'S', 'D'][size as usize], w.get(RD, 5)))
}

fn zero(_: Word, out: &mut Out) -> Option<()> {
    out.imm(0)
}

// Elements: the lowest 1 of five bits tells the size, the bits above it the lane.

fn element_size(w: Word) -> Option<u32> {
    let log = w.get(16, 5).trailing_zeros();
    (log < 4).then_some(log)
}

fn element<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let log = element_size(w)?;
    let letter = ['B', 'H', 'S', 'D'][log as usize];
    out.reg(format!("V{}.{letter}[{}]", w.get(AT, 5), w.get(16, 5) >> (log + 1)))
}

/// The source of a copy between elements has its lane in four bits of its own.
fn second_element(w: Word, out: &mut Out) -> Option<()> {
    let log = element_size(w)?;
    let letter = ['B', 'H', 'S', 'D'][log as usize];
    out.reg(format!("V{}.{letter}[{}]", w.get(RN, 5), w.get(11, 4) >> log))
}

fn element_scalar(w: Word, out: &mut Out) -> Option<()> {
    let log = element_size(w)?;
    out.reg(format!("{}{}", ['B', 'H', 'S', 'D'][log as usize], w.get(RD, 5)))
}

/// The vector that is filled with an element.
fn of_element(w: Word, out: &mut Out) -> Option<()> {
    let (log, whole) = (element_size(w)?, w.get(30, 1));
    if log == 3 && whole == 0 {
        return None;
    }
    out.reg(vector(w.get(RD, 5), log, whole))
}

fn wide_for_element<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    out.reg(general(w.get(AT, 5), element_size(w)? == 3, false))
}

/// The element is narrower than the register it goes to.
fn narrower(w: Word, _: &mut Out) -> Option<()> {
    let limit = if w.is(30) { 3 } else { 2 };
    (element_size(w)? < limit).then_some(())
}

// Constants: eight bits in two pieces.

fn eight(w: Word) -> u32 {
    w.get(16, 3) << 5 | w.get(5, 5)
}

fn byte(w: Word, out: &mut Out) -> Option<()> {
    out.imm(eight(w).into())
}

fn shifted(w: Word, out: &mut Out) -> Option<()> {
    let steps = if w.is(15) { w.get(13, 1) } else { w.get(13, 2) };
    if steps == 0 { Some(()) } else { out.text(format!("LSL #{}", 8 * steps)) }
}

fn ones_shifted(w: Word, out: &mut Out) -> Option<()> {
    out.text(format!("MSL #{}", 8 << w.get(12, 1)))
}

/// Each bit stands for a byte of ones.
fn bytes_of_bits(w: Word, out: &mut Out) -> Option<()> {
    let bits = eight(w);
    let value = (0..8).filter(|i| bits >> i & 1 == 1).fold(0u64, |all, i| all | 0xff << (8 * i));
    out.imm(value as i64)
}

fn float(w: Word, out: &mut Out) -> Option<()> {
    out.text(format!("#{:?}", small_float(eight(w))))
}

// Shifts: the highest 1 of seven bits tells the size, all of them with it the amount.

fn high(w: Word) -> Option<u32> {
    w.get(19, 4).checked_ilog2()
}

fn by_high<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let (log, whole) = (high(w)?, w.get(30, 1));
    if log == 3 && whole == 0 {
        return None;
    }
    out.reg(vector(w.get(AT, 5), log, whole))
}

fn longer<const AT: u8>(w: Word, out: &mut Out) -> Option<()> {
    let log = high(w)?;
    (log < 3).then_some(())?;
    out.reg(vector(w.get(AT, 5), log + 1, 1))
}

fn left(w: Word, out: &mut Out) -> Option<()> {
    out.imm(i64::from(w.get(16, 7)) - i64::from(8u32 << high(w)?))
}

fn right(w: Word, out: &mut Out) -> Option<()> {
    out.imm(i64::from(16u32 << high(w)?) - i64::from(w.get(16, 7)))
}
