//! The instructions of AArch32, each as a row; those on vector registers are in `vector`.
//!
//! A row: its spelling, its operands, its encodings in A32 and in Thumb's instructions of 4 and of 2 bytes, and its
//! meaning. Of two rows that fit the same word, the first counts.

use super::arg::{Arg, Arg::*, DOMAINS};
use super::insn::{Fields, Operand, Place, Shift};
use super::lower::{Form::*, Lower, W};
use super::row::{Code, Row, Set, rows};
use super::{insn, vector};
use crate::machine::Flow;
use crate::microcode::mask;
use litmake_ops::{BinOp::*, Op, Port, Tags, UnOp, tag};

/// Instructions that are read and decoded.
pub static READ: [&[Row]; 5] = [DATA, PRODUCTS_AND_PARTS, MEMORY, CONTROL, vector::ROWS];

pub fn all() -> impl Iterator<Item = &'static Row> {
    READ.into_iter().chain([DECODED]).flatten()
}

/// An empty line.
pub static NOTHING: Row =
    Row { spelling: "nop", args: &[], codes: &[], flow: Flow::Next, means: |_, _| () };

const D: Arg = R(b'd');
const N: Arg = R(b'n');
const M: Arg = R(b'm');
const A: Arg = R(b'a');
const T: Arg = R(b't');
const U: Arg = R(b'u');

/// The number of an operation that a set does not have.
const NO: u32 = 16;

/// The encodings of an operation on two operands, by its number in each set.
const fn three(a32: u32, t32: u32, t16: u32) -> [Code; 6] {
    [
        Code::new(Set::A32, "cccc 001 OOOO S nnnn dddd CCCCCCCCCCCC").operation(a32),
        Code::new(Set::A32, "cccc 000 OOOO S nnnn dddd hhhhh qq0 mmmm").operation(a32),
        Code::new(Set::A32, "cccc 000 OOOO S nnnn dddd ssss 0qq1 mmmm").operation(a32),
        Code::new(Set::T32, "11110 K 0 OOOO S nnnn 0KKK dddd KKKKKKKK").operation(t32),
        Code::new(Set::T32, "1110101 OOOO S nnnn 0hhh dddd hhqq mmmm").operation(t32),
        Code::new(Set::T16, "010000 OOOO mmm ddd; S=1").operation(t16),
    ]
}

/// The encodings of a test.
const fn test(a32: u32, t32: u32, t16: u32) -> [Code; 6] {
    [
        Code::new(Set::A32, "cccc 001 OOOO 1 nnnn 0000 CCCCCCCCCCCC").operation(a32),
        Code::new(Set::A32, "cccc 000 OOOO 1 nnnn 0000 hhhhh qq0 mmmm").operation(a32),
        Code::new(Set::A32, "cccc 000 OOOO 1 nnnn 0000 ssss 0qq1 mmmm").operation(a32),
        Code::new(Set::T32, "11110 K 0 OOOO 1 nnnn 0KKK 1111 KKKKKKKK").operation(t32),
        Code::new(Set::T32, "1110101 OOOO 1 nnnn 0hhh 1111 hhqq mmmm").operation(t32),
        Code::new(Set::T16, "010000 OOOO mmm nnn").operation(t16),
    ]
}

const DATA: &[Row] = rows! {
    "mov{s} cpy{s}" [ToPc(b'd'), Second] {
        A32 "cccc 0011 101S 0000 dddd CCCCCCCCCCCC"
        A32 "cccc 0001 101S 0000 dddd 0000 0000 mmmm"
        T32 "11110 K 00 010S 1111 0KKK dddd KKKKKKKK"
        T32 "11101010 010S 1111 0000 dddd 0000 mmmm"
        T16 "00000 00000 mmm ddd; S=1 I=0"
        T16 "00100 ddd iiiiiiii; S=1"
        T16 "01000110 d mmmm ddd"
    } => |l, f| l.logic(f, Last, |_, _, b| b);

    "mvn{s}" [D, Second] {
        A32 "cccc 0011 111S 0000 dddd CCCCCCCCCCCC"
        A32 "cccc 0001 111S 0000 dddd hhhhh qq0 mmmm"
        A32 "cccc 0001 111S 0000 dddd ssss 0qq1 mmmm"
        T32 "11110 K 00 011S 1111 0KKK dddd KKKKKKKK"
        T32 "11101010 011S 1111 0hhh dddd hhqq mmmm"
        T16 "010000 1111 mmm ddd; S=1"
    } => |l, f| l.logic(f, Last, |l, _, b| l.un(UnOp::Not, b));

    "rrx{s}" [D, M] {
        A32 "cccc 0001 101S 0000 dddd 0000 0110 mmmm"
        T32 "11101010 010S 1111 0000 dddd 0011 mmmm"
    } => |l, f| {
        let operand = Operand::Shifted(f.m, Shift::Rrx, insn::Amount::Imm(1));
        l.logic(&Fields { operand, ..f.clone() }, Last, |_, _, b| b);
    };

    "{x:lsl|lsr|asr|ror}{s}" [D, Shifted] {
        A32 "cccc 0001 101S 0000 dddd hhhhh xx0 mmmm"
        A32 "cccc 0001 101S 0000 dddd ssss 0xx1 mmmm"
        T32 "11101010 010S 1111 0hhh dddd hhxx mmmm"
        T32 "11111010 0xxS mmmm 1111 dddd 0000 ssss"
        T16 "000 xx hhhhh mmm ddd; S=1 x:lsl|lsr|asr|?"
        T16 "010000 0010 sss ddd; S=1 x=0"
        T16 "010000 0011 sss ddd; S=1 x=1"
        T16 "010000 0100 sss ddd; S=1 x=2"
        T16 "010000 0111 sss ddd; S=1 x=3"
    } => |l, f| l.logic(f, Last, |_, _, b| b);

    "movw" [D, Half("lower16")] {
        A32 "cccc 0011 0000 wwww dddd wwwwwwwwwwww"
        T32 "11110 w 10 0100 wwww 0www dddd wwwwwwww"
    } => |l, f| l.logic(f, Last, |_, _, b| b);

    // MOVW has set the whole of an address.
    "movt" [D, Half("upper16")] {
        A32 "cccc 0011 0100 wwww dddd wwwwwwwwwwww"
        T32 "11110 w 10 1100 wwww 0www dddd wwwwwwww"
    } => |l, f| if let Operand::Imm(n) = f.operand {
        let old = l.read(f.d);
        let low = l.e.bin_int(And, old, 0xffff, W);
        let v = l.e.bin_int(Or, low, u128::from(n) << 16, W);
        l.write(f.d, v);
    };

    "adr" [D, Address] {
        A32 "cccc 0010 1000 1111 dddd CCCCCCCCCCCC"
        A32 "cccc 0010 0100 1111 dddd CCCCCCCCCCCC; +=0"
        T32 "11110 i 10 0000 1111 0iii dddd iiiiiiii"
        T32 "11110 i 10 1010 1111 0iii dddd iiiiiiii; +=0"
        T16 "10100 ddd kkkkkkkk"
    } => |l, f| if let Place::Named(symbol) = &f.place {
        let v = l.address_of(symbol);
        l.write(f.d, v);
    };

    "tst" [N, Second] { ..test(8, 0, 8) } => |l, f| l.logic(f, Test, |l, a, b| l.bin(And, a, b));
    "teq" [N, Second] { ..test(9, 4, NO) } => |l, f| l.logic(f, Test, |l, a, b| l.bin(Xor, a, b));
    "cmn" [N, Second] { ..test(11, 8, 11) } => |l, f| l.sum(f, Test, Lower::add);
    "cmp" [N, Second] {
        T16 "00101 nnn iiiiiiii"
        T16 "01000101 n mmmm nnn"
        ..test(10, 13, 10)
    } => |l, f| l.sum(f, Test, Lower::subtract);

    "and{s}" [Three] { ..three(0, 0, 0) } => |l, f| l.logic(f, Both, |l, a, b| l.bin(And, a, b));
    "eor{s} xor{s}" [Three] { ..three(1, 4, 1) } => |l, f| l.logic(f, Both, |l, a, b| l.bin(Xor, a, b));
    "orr{s}" [Three] { ..three(12, 2, 12) } => |l, f| l.logic(f, Both, |l, a, b| l.bin(Or, a, b));
    "orn{s}" [Three] { ..three(NO, 3, NO) } => |l, f| l.logic(f, Both, |l, a, b| {
        let b = l.un(UnOp::Not, b);
        l.bin(Or, a, b)
    });
    "bic{s}" [Three] { ..three(14, 1, 14) } => |l, f| l.logic(f, Both, |l, a, b| {
        let b = l.un(UnOp::Not, b);
        l.bin(And, a, b)
    });

    "sub{s} subw" [Three] {
        T32 "11110 i 10 1010 nnnn 0iii dddd iiiiiiii"
        T16 "0001101 mmm nnn ddd; S=1"
        T16 "0001111 iii nnn ddd; S=1"
        T16 "00111 ddd iiiiiiii; S=1"
        T16 "10110000 1 kkkkkkk; d=13"
        ..three(2, 13, NO)
    } => |l, f| l.sum(f, Both, Lower::subtract);
    "add{s} addw" [Three] {
        T32 "11110 i 10 0000 nnnn 0iii dddd iiiiiiii"
        T16 "0001100 mmm nnn ddd; S=1"
        T16 "0001110 iii nnn ddd; S=1"
        T16 "00110 ddd iiiiiiii; S=1"
        T16 "01000100 d mmmm ddd"
        T16 "10101 ddd kkkkkkkk; n=13"
        T16 "10110000 0 kkkkkkk; d=13"
        ..three(4, 8, NO)
    } => |l, f| l.sum(f, Both, Lower::add);
    "rsb{s}" [Three] {
        T16 "010000 1001 nnn ddd; S=1 i=0"
        ..three(3, 14, NO)
    } => |l, f| l.sum(f, Both, |l, a, b, flags| l.subtract(b, a, flags));
    "neg{s}" [D, N] {} => |l, f| l.sum(f, Both, |l, a, b, flags| l.subtract(b, a, flags));
    "adc{s}" [Three] { ..three(5, 10, 5) } => |l, f| l.sum(f, Both, Lower::add_with_carry);
    "sbc{s}" [Three] { ..three(6, 11, 6) } => |l, f| {
        l.sum(f, Both, |l, a, b, flags| {
            let b = l.un(UnOp::Not, b);
            l.add_with_carry(a, b, flags)
        });
    };
    "rsc{s}" [Three] { ..three(7, NO, NO) } => |l, f| {
        l.sum(f, Both, |l, a, b, flags| {
            let a = l.un(UnOp::Not, a);
            l.add_with_carry(b, a, flags)
        });
    };
};

const PRODUCTS_AND_PARTS: &[Row] = rows! {
    "mul{s}" [D, Two] {
        A32 "cccc 0000 000S dddd 0000 mmmm 1001 nnnn"
        T32 "11111011 0000 nnnn 1111 dddd 0000 mmmm"
        T16 "010000 1101 nnn ddd; S=1"
    } -> |l, f| l.product(f);
    "mla{s}" [D, N, M, A] {
        A32 "cccc 0000 001S dddd aaaa mmmm 1001 nnnn"
        T32 "11111011 0000 nnnn aaaa dddd 0000 mmmm"
    } -> |l, f| { let v = l.product(f); l.with(f.a, Add, v) };
    "mls" [D, N, M, A] {
        A32 "cccc 0000 0110 dddd aaaa mmmm 1001 nnnn"
        T32 "11111011 0000 nnnn aaaa dddd 0001 mmmm"
    } -> |l, f| { let v = l.product(f); l.with(f.a, Sub, v) };
    "{x:u|s}mull{s}" [T, U, N, M] {
        A32 "cccc 0000 1x0S uuuu tttt mmmm 1001 nnnn"
        T32 "11111011 10x0 nnnn tttt uuuu 0000 mmmm; x:s|u"
    } => |l, f| { let v = l.long_product(f, f.x == 1); l.long_result(f, v) };
    "{x:u|s}mlal{s}" [T, U, N, M] {
        A32 "cccc 0000 1x1S uuuu tttt mmmm 1001 nnnn"
        T32 "11111011 11x0 nnnn tttt uuuu 0000 mmmm; x:s|u"
    } => |l, f| {
        let v = l.long_product(f, f.x == 1);
        let a = l.read_pair(f.t, f.u, Port::None);
        let v = l.e.bin(Add, a, v, 64);
        l.long_result(f, v);
    };
    "umaal" [T, U, N, M] {
        A32 "cccc 0000 0100 uuuu tttt mmmm 1001 nnnn"
        T32 "11111011 1110 nnnn tttt uuuu 0110 mmmm"
    } => |l, f| {
        let mut v = l.long_product(f, false);
        for reg in [f.t, f.u] {
            let a = l.read(reg);
            v = l.e.bin(Add, a, v, 64);
        }
        l.long_result(f, v);
    };
    "smul{x:b|t}{y:b|t}" [D, N, M] {
        A32 "cccc 0001 0110 dddd 0000 mmmm 1yx0 nnnn"
        T32 "11111011 0001 nnnn 1111 dddd 00xy mmmm"
    } -> |l, f| l.product_of_halves(f);
    "smla{x:b|t}{y:b|t}" [D, N, M, A] {
        A32 "cccc 0001 0000 dddd aaaa mmmm 1yx0 nnnn"
        T32 "11111011 0001 nnnn aaaa dddd 00xy mmmm"
    } -> |l, f| { let v = l.product_of_halves(f); l.with(f.a, Add, v) };
    "smmul" [D, N, M] {
        A32 "cccc 0111 0101 dddd 1111 mmmm 0001 nnnn"
        T32 "11111011 0101 nnnn 1111 dddd 0000 mmmm"
    } -> |l, f| l.product_top(f, None);
    "smmla" [D, N, M, A] {
        A32 "cccc 0111 0101 dddd aaaa mmmm 0001 nnnn"
        T32 "11111011 0101 nnnn aaaa dddd 0000 mmmm"
    } -> |l, f| l.product_top(f, Some(Add));
    "smmls" [D, N, M, A] {
        A32 "cccc 0111 0101 dddd aaaa mmmm 1101 nnnn"
        T32 "11111011 0110 nnnn aaaa dddd 0000 mmmm"
    } -> |l, f| l.product_top(f, Some(Sub));
    "{x:s|u}div" [D, Two] {
        A32 "cccc 0111 00x1 dddd 1111 mmmm 0001 nnnn"
        T32 "11111011 10x1 nnnn 1111 dddd 1111 mmmm"
    } -> |l, f| {
        let (n, m) = (l.read(f.n), l.read(f.m));
        l.e.divide(if f.x == 0 { DivS } else { DivU }, n, m, W)
    };

    "{x:s|u}xt{y:b|h}" [D, M, Rotate] {
        A32 "cccc 0110 1x1y 1111 dddd rr00 0111 mmmm"
        T32 "11111010 0y0x 1111 1111 dddd 10rr mmmm; y:h|b"
        T16 "10110010 x y mmm ddd; y:h|b"
    } -> |l, f| l.extended(f);
    "{x:s|u}xta{y:b|h}" [D, N, M, Rotate] {
        A32 "cccc 0110 1x1y nnnn dddd rr00 0111 mmmm"
        T32 "11111010 0y0x nnnn 1111 dddd 10rr mmmm; y:h|b"
    } -> |l, f| { let v = l.extended(f); l.with(f.n, Add, v) };
    "{x:s|u}bfx" [D, N, Part] {
        A32 "cccc 0111 1x1z zzzz dddd lllll 101 nnnn"
        T32 "11110011 x100 nnnn 0lll dddd ll0 zzzzz"
    } -> |l, f| {
        let n = l.read(f.n);
        let n = l.e.shift(Shr, n, f.lsb, W);
        l.part(f, n, f.width)
    };
    "bfc" [D, Part] {
        A32 "cccc 0111 110e eeee dddd lllll 001 1111"
        T32 "11110011 0110 1111 0lll dddd ll0 eeeee"
    } -> |l, f| {
        let d = l.read(f.d);
        l.e.bin_int(And, d, !(mask(f.width) << f.lsb) & mask(W), W)
    };
    "bfi" [D, N, Part] {
        A32 "cccc 0111 110e eeee dddd lllll 001 nnnn"
        T32 "11110011 0110 nnnn 0lll dddd ll0 eeeee"
    } -> |l, f| {
        let ones = mask(f.width) << f.lsb;
        let d = l.read(f.d);
        let kept = l.e.bin_int(And, d, !ones & mask(W), W);
        let n = l.read(f.n);
        let n = l.e.shift(Shl, n, f.lsb, W);
        let n = l.e.bin_int(And, n, ones, W);
        l.bin(Or, kept, n)
    };
    "{x:s|u}sat" [D, Bits, Second] {
        A32 "cccc 0110 1x1v vvvv dddd hhhhh q01 mmmm"
        T32 "11110011 x0q0 mmmm 0hhh dddd hh0 vvvvv"
    } -> |l, f| {
        let v = l.operand(&f.operand, false).0;
        let (least, most) = match f.x {
            0 => (-(1i128 << (f.width - 1)), (1i128 << (f.width - 1)) - 1),
            _ => (0, (1i128 << f.width) - 1),
        };
        let (least, most) = (l.e.signed(least, W), l.e.signed(most, W));
        let v = l.bin(MaxS, v, least);
        l.bin(MinS, v, most)
    };
    "uadd{x:8|16}" [D, N, M] {
        A32 "cccc 0110 0101 nnnn dddd 1111 x001 mmmm; x:16|8"
        T32 "11111010 100x nnnn 1111 dddd 0100 mmmm"
    } -> |l, f| l.add_parts(f, 8 << f.x);
    "sel" [D, N, M] {
        A32 "cccc 0110 1000 nnnn dddd 1111 1011 mmmm"
        T32 "11111010 1010 nnnn 1111 dddd 1000 mmmm"
    } -> |l, f| l.select(f);
    "clz" [D, M] {
        A32 "cccc 0001 0110 1111 dddd 1111 0001 mmmm"
        T32 "11111010 1011 ---- 1111 dddd 1000 mmmm"
    } -> |l, f| { let m = l.read(f.m); l.un(UnOp::Clz, m) };
    "rbit" [D, M] {
        A32 "cccc 0110 1111 1111 dddd 1111 0011 mmmm"
        T32 "11111010 1001 ---- 1111 dddd 1010 mmmm"
    } -> |l, f| { let m = l.read(f.m); l.un(UnOp::BitReverse, m) };
    "rev" [D, M] {
        A32 "cccc 0110 1011 1111 dddd 1111 0011 mmmm"
        T32 "11111010 1001 ---- 1111 dddd 1000 mmmm"
        T16 "10111010 00 mmm ddd"
    } -> |l, f| { let m = l.read(f.m); l.un(UnOp::ByteSwap, m) };
    "rev16" [D, M] {
        A32 "cccc 0110 1011 1111 dddd 1111 1011 mmmm"
        T32 "11111010 1001 ---- 1111 dddd 1001 mmmm"
        T16 "10111010 01 mmm ddd"
    } -> |l, f| {
        let m = l.read(f.m);
        let up = l.e.shift(Shl, m, 8, W);
        let up = l.e.bin_int(And, up, 0xff00_ff00, W);
        let down = l.e.shift(Shr, m, 8, W);
        let down = l.e.bin_int(And, down, 0x00ff_00ff, W);
        l.bin(Or, up, down)
    };
    "revsh" [D, M] {
        A32 "cccc 0110 1111 1111 dddd 1111 1011 mmmm"
        T32 "11111010 1001 ---- 1111 dddd 1011 mmmm"
        T16 "10111010 11 mmm ddd"
    } -> |l, f| {
        let m = l.read(f.m);
        let v = l.e.un(UnOp::ByteSwap, m, 16);
        l.e.sign_extend(v, 16, W)
    };
};

/// The bytes of an access by the end of its name: none, B, H, SB, SH.
fn size(f: &Fields) -> u8 {
    [4, 1, 2, 1, 2][usize::from(f.x) % 5]
}

const EXA: Tags = tag::EX.with(tag::A);
const EXL: Tags = tag::EX.with(tag::L);

const MEMORY: &[Row] = rows! {
    "pop" [List { load: true }] {
        A32 "cccc 0100 1001 1101 tttt 0000 0000 0100"
        A32 "cccc 1000 1011 1101 LLLLLLLLLLLLLLLL"
        T32 "11101000 1011 1101 PM0 LLLLLLLLLLLLL"
        T32 "11111000 0101 1101 tttt 1011 0000 0100"
        T16 "1011 110 P LLLLLLLL"
    } => |l, f| l.load_list(&Lower::on_stack(f), false, false);
    "push" [List { load: false }] {
        A32 "cccc 0101 0010 1101 tttt 0000 0000 0100"
        A32 "cccc 1001 0010 1101 LLLLLLLLLLLLLLLL"
        T32 "11101001 0010 1101 0M0 LLLLLLLLLLLLL"
        T32 "11111000 0100 1101 tttt 1101 0000 0100"
        T16 "1011 010 M LLLLLLLL"
    } => |l, f| l.store_list(&Lower::on_stack(f), true, true);
    "ldm{x:/ia/fd|da/fa|db/ea|ib/ed}" [Base, List { load: true }] {
        A32 "cccc 100x x0!1 nnnn LLLLLLLLLLLLLLLL; x:da||db|ib"
        T32 "1110100x x0!1 nnnn PM0 LLLLLLLLLLLLL; x:?||db|?"
        T16 "11001 nnn LLLLLLLL"
    } => |l, f| l.load_list(f, matches!(f.x, 1 | 2), f.x >= 2);
    "stm{x:/ia/ea|da/ed|db/fd|ib/fa}" [Base, List { load: false }] {
        A32 "cccc 100x x0!0 nnnn LLLLLLLLLLLLLLLL; x:da||db|ib"
        T32 "1110100x x0!0 nnnn 0M0 LLLLLLLLLLLLL; x:?||db|?"
        T16 "11000 nnn LLLLLLLL; !=1"
    } => |l, f| l.store_list(f, matches!(f.x, 1 | 2), f.x >= 2);

    // A prefetch is a load to PC of less than a word.
    "pld{x:|w}" [Prefetched] {
        A32 "1111 0101 +x01 nnnn 1111 iiiiiiiiiiii; x:w|"
        A32 "1111 0111 +x01 nnnn 1111 hhhhh qq0 mmmm; x:w|"
        T32 "11111000 10-1 nnnn 1111 iiiiiiiiiiii"
        T32 "11111000 00-1 nnnn 1111 1100 iiiiiiii; +=0"
        T32 "11111000 00-1 nnnn 1111 0000 00hh mmmm"
    } => |_, _| ();

    "ldr{x:|b|h|sb|sh}" [ToPc(b't'), From] {
        A32 "cccc 0101 +x01 1111 tttt iiiiiiiiiiii"
        A32 "cccc 010p +x!1 nnnn tttt iiiiiiiiiiii"
        A32 "cccc 011p +x!1 nnnn tttt hhhhh qq0 mmmm"
        A32 "cccc 0001 +101 1111 tttt iiii 1xx1 iiii; x:?|h|sb|sh"
        A32 "cccc 000p +1!1 nnnn tttt iiii 1xx1 iiii; x:?|h|sb|sh"
        A32 "cccc 000p +0!1 nnnn tttt 0000 1xx1 mmmm; x:?|h|sb|sh"
        T32 "1111100x +xx1 1111 tttt iiiiiiiiiiii; x:b|h||?|sb|sh|?|?"
        T32 "1111100x 1xx1 nnnn tttt iiiiiiiiiiii; x:b|h||?|sb|sh|?|?"
        T32 "1111100x 0xx1 nnnn tttt 1p+! iiiiiiii; x:b|h||?|sb|sh|?|?"
        T32 "1111100x 0xx1 nnnn tttt 0000 00hh mmmm; x:b|h||?|sb|sh|?|?"
        T16 "01001 ttt kkkkkkkk"
        T16 "0101 xxx mmm nnn ttt; x:?|?|?|sb||h|b|sh"
        T16 "01101 kkkkk nnn ttt"
        T16 "01111 iiiii nnn ttt; x=1"
        T16 "10001 jjjjj nnn ttt; x=2"
        T16 "10011 ttt kkkkkkkk; n=13"
    } => |l, f| l.load(f, size(f), f.x >= 3);
    "str{x:|b|h}" [T, Mem] {
        A32 "cccc 010p +x!0 nnnn tttt iiiiiiiiiiii"
        A32 "cccc 011p +x!0 nnnn tttt hhhhh qq0 mmmm"
        A32 "cccc 000p +1!0 nnnn tttt iiii 1011 iiii; x=2"
        A32 "cccc 000p +0!0 nnnn tttt 0000 1011 mmmm; x=2"
        T32 "11111000 1xx0 nnnn tttt iiiiiiiiiiii; x:b|h||?"
        T32 "11111000 0xx0 nnnn tttt 1p+! iiiiiiii; x:b|h||?"
        T32 "11111000 0xx0 nnnn tttt 0000 00hh mmmm; x:b|h||?"
        T16 "0101 0xx mmm nnn ttt; x:|h|b|?"
        T16 "01100 kkkkk nnn ttt"
        T16 "01110 iiiii nnn ttt; x=1"
        T16 "10000 jjjjj nnn ttt; x=2"
        T16 "10010 ttt kkkkkkkk; n=13"
    } => |l, f| {
        let v = l.read_port(f.t, Port::Data);
        let addr = l.address(&f.mem);
        l.e.store(addr, v, size(f), Tags::NONE);
    };
    "lda{x:|b|h}" [T, Plain] {
        A32 "cccc 0001 1xx1 nnnn tttt 1100 1001 1111; x:|?|b|h"
        T32 "11101000 1101 nnnn tttt 1111 10xx 1111; x:b|h|"
    } => |l, f| {
        let addr = l.address(&f.mem);
        let v = l.e.load(addr, size(f), tag::A);
        l.write(f.t, v);
    };
    "stl{x:|b|h}" [T, Plain] {
        A32 "cccc 0001 1xx0 nnnn 1111 1100 1001 tttt; x:|?|b|h"
        T32 "11101000 1100 nnnn tttt 1111 10xx 1111; x:b|h|"
    } => |l, f| {
        let v = l.read_port(f.t, Port::Data);
        let addr = l.address(&f.mem);
        l.e.store(addr, v, size(f), tag::L);
    };
    "ldrd" [Pair, Mem] {
        A32 "cccc 0001 +100 1111 tttt iiii 1101 iiii"
        A32 "cccc 000p +1!0 nnnn tttt iiii 1101 iiii"
        A32 "cccc 000p +0!0 nnnn tttt 0000 1101 mmmm"
        T32 "11101001 +101 1111 tttt uuuu kkkkkkkk"
        T32 "1110100p +1!1 nnnn tttt uuuu kkkkkkkk"
    } => |l, f| {
        let addr = l.address(&f.mem);
        if l.lpae {
            let v = l.e.load(addr, 8, Tags::NONE);
            l.write_pair(f.t, f.u, v);
        } else {
            let second = l.e.add_int(addr, 4, W);
            let (v, v2) = (l.e.load(addr, 4, Tags::NONE), l.e.load(second, 4, Tags::NONE));
            l.write(f.t, v);
            l.write(f.u, v2);
        }
    };
    "strd" [Pair, Mem] {
        A32 "cccc 000p +1!0 nnnn tttt iiii 1111 iiii"
        A32 "cccc 000p +0!0 nnnn tttt 0000 1111 mmmm"
        T32 "1110100p +1!0 nnnn tttt uuuu kkkkkkkk"
    } => |l, f| if l.lpae {
        let v = l.read_pair(f.t, f.u, Port::Data);
        let addr = l.address(&f.mem);
        l.e.store(addr, v, 8, Tags::NONE);
    } else {
        let (v, v2) = (l.read_port(f.t, Port::Data), l.read_port(f.u, Port::Data));
        let addr = l.address(&f.mem);
        let second = l.e.add_int(addr, 4, W);
        l.e.store(addr, v, 4, Tags::NONE);
        l.e.store(second, v2, 4, Tags::NONE);
    };
    "ldrex{x:|b|h}" [T, Exclusive] {
        A32 "cccc 0001 1xx1 nnnn tttt 1111 1001 1111; x:|?|b|h"
        T32 "11101000 0101 nnnn tttt 1111 kkkkkkkk"
        T32 "11101000 1101 nnnn tttt 1111 010x 1111; x:b|h"
    } => |l, f| l.load_exclusive(f, size(f), tag::EX);
    "strex{x:|b|h}" [D, T, Exclusive] {
        A32 "cccc 0001 1xx0 nnnn dddd 1111 1001 tttt; x:|?|b|h"
        T32 "11101000 0100 nnnn tttt dddd kkkkkkkk"
        T32 "11101000 1100 nnnn tttt 1111 010x dddd; x:b|h"
    } => |l, f| l.store_exclusive(f, size(f), tag::EX);
    "ldaex{x:|b|h}" [T, Exclusive] {
        A32 "cccc 0001 1xx1 nnnn tttt 1110 1001 1111; x:|?|b|h"
        T32 "11101000 1101 nnnn tttt 1111 11xx 1111; x:b|h|"
    } => |l, f| l.load_exclusive(f, size(f), EXA);
    "stlex{x:|b|h}" [D, T, Exclusive] {
        A32 "cccc 0001 1xx0 nnnn dddd 1110 1001 tttt; x:|?|b|h"
        T32 "11101000 1100 nnnn tttt 1111 11xx dddd; x:b|h|"
    } => |l, f| l.store_exclusive(f, size(f), EXL);
    "ld{x:r|a}exd" [Pair, Plain] {
        A32 "cccc 0001 1011 nnnn tttt 111x 1001 1111; x:a|r"
        T32 "11101000 1101 nnnn tttt uuuu x111 1111"
    } => |l, f| l.load_exclusive(f, 8, if f.x == 0 { tag::EX } else { EXA });
    "st{x:r|l}exd" [D, Pair, Plain] {
        A32 "cccc 0001 1010 nnnn dddd 111x 1001 tttt; x:l|r"
        T32 "11101000 1100 nnnn tttt uuuu x111 dddd"
    } => |l, f| l.store_exclusive(f, 8, if f.x == 0 { tag::EX } else { EXL });
    "swp{x:|b}" [T, U, Plain] {
        A32 "cccc 0001 0x00 nnnn tttt 0000 1001 uuuu"
    } => |l, f| {
        let new = l.read_port(f.u, Port::Data);
        let addr = l.address(&f.mem);
        let old = l.e.load(addr, size(f), tag::X);
        l.e.store(addr, new, size(f), tag::X);
        l.write(f.t, old);
    };
};

/// The barrier that a coprocessor write of Armv6 is.
pub fn old_barrier(f: &Fields) -> Option<Tags> {
    match (f.imm, f.n.0, f.m.0, f.width) {
        (0, 7, 10, 5) => Some(tag::DMB),
        (0, 7, 10, 4) => Some(tag::DSB),
        (0, 7, 5, 4) => Some(tag::ISB),
        _ => None,
    }
}

const CONTROL: &[Row] = rows! {
    "dmb" [Domain] {
        A32 "1111 0101 0111 1111 1111 0000 0101 iiii"
        T32 "11110011 1011 1111 1000 1111 0101 iiii"
    } => |l, f| if let Some((.., dmb, _)) = DOMAINS.iter().find(|d| d.1 == f.imm) {
        l.e.fence(*dmb);
    };
    "dsb" [Domain] {
        A32 "1111 0101 0111 1111 1111 0000 0100 iiii"
        T32 "11110011 1011 1111 1000 1111 0100 iiii"
    } => |l, f| if let Some((.., dsb)) = DOMAINS.iter().find(|d| d.1 == f.imm) {
        l.e.fence(*dsb);
    };
    "isb" [Isb] {
        A32 "1111 0101 0111 1111 1111 0000 0110 1111"
        T32 "11110011 1011 1111 1000 1111 0110 1111"
    } => |l, _| l.e.fence(tag::ISB);
    "mcr" [Coprocessor] {
        Both "cccc 1110 iii0 nnnn tttt 1111 rrr1 mmmm"
    } => |l, f| if let Some(tags) = old_barrier(f) {
        l.e.fence(tags);
    };
    "clrex" [Rest] {
        A32 "1111 0101 0111 1111 1111 0000 0001 1111"
        T32 "11110011 1011 1111 1000 1111 0010 1111"
    } => |_, _| ();
    "{x:nop|yield|wfe|wfi|sev|sevl}" [Rest] {
        A32 "cccc 0011 0010 0000 1111 0000 00000 xxx"
        T32 "11110011 1010 1111 1000 0000 00000 xxx"
        T16 "10111111 0xxx 0000"
    } => |_, _| ();
    "csdb" [Rest] {
        A32 "cccc 0011 0010 0000 1111 0000 0001 0100"
        T32 "11110011 1010 1111 1000 0000 0001 0100"
    } => |_, _| ();
    "udf" [Num] flow Trap {
        A32 "1110 0111 1111 iiiiiiiiiiii 1111 iiii"
        T32 "11110111 1111 iiii 1010 iiiiiiiiiiii"
        T16 "11011110 iiiiiiii"
    } => |l, _| l.e.op(Op::Halt);
    "bkpt" [Num] flow Trap {
        A32 "1110 0001 0010 iiiiiiiiiiii 0111 iiii"
        T16 "10111110 iiiiiiii; c=14"
    } => |l, _| l.e.op(Op::Halt);
    "it" [Conds] {} => |_, _| ();
    // Data is not run into.
    ".word .long .int .hword" [Literal] flow Trap {} => |l, _| l.e.op(Op::Halt);

    "b" [Line] flow Jump {
        A32 "cccc 1010 oooooooooooooooooooooooo"
        T32 "11110 o cccc oooooo 10 o 0 o ooooooooooo"
        T32 "11110 o oooooooooo 10 o 1 o ooooooooooo"
        T16 "1101 cccc oooooooo; I=0"
        T16 "11100 ooooooooooo"
    } => |l, f| l.jump(f, false);
    "bl" [Line] flow Call {
        A32 "cccc 1011 oooooooooooooooooooooooo"
        T32 "11110 o oooooooooo 11 o 1 o ooooooooooo"
    } => |l, f| l.jump(f, true);
    "blx" [Where] flow Call {
        A32 "cccc 0001 0010 1111 1111 1111 0011 mmmm"
        A32 "1111 101 o oooooooooooooooooooooooo"
        T32 "11110 o oooooooooo 11 o 0 o oooooooooo 0"
        T16 "01000111 1 mmmm 000"
    } => |l, f| l.jump(f, true);
    "bx" [Where] flow JumpRegister {
        A32 "cccc 0001 0010 1111 1111 1111 0001 mmmm"
        T16 "01000111 0 mmmm 000"
    } => |l, f| l.jump(f, false);
    "cb{x:|n}z" [N, Line] flow Branch {
        T16 "1011 x0 o 1 ooooo nnn; I=0"
    } => |l, f| if let Place::Line(target) = f.place {
        let n = l.read(f.n);
        let cond = l.e.bin_int(if f.x == 0 { Eq } else { Ne }, n, 0, W);
        l.e.op(Op::Branch { cond, target });
    };
};

/// Instructions that are decoded, so that they can be refused by their names.
const DECODED: &[Row] = rows! {
    "mrs" [D, Text("APSR")] {
        A32 "cccc 0001 0000 1111 dddd 0000 0000 0000"
        T32 "11110011 1110 1111 1000 dddd 0000 0000"
    } => |_, _| ();
    "svc" [Num] {
        A32 "cccc 1111 iiiiiiiiiiiiiiiiiiiiiiii"
        T16 "11011111 iiiiiiii"
    } => |_, _| ();
    "mrc" [Coprocessor] {
        Both "cccc 1110 iii1 nnnn tttt 1111 rrr1 mmmm"
    } => |_, _| ();
    "tb{x:b|h}" [Mem] flow JumpRegister {
        T32 "11101000 1101 nnnn 1111 0000 0000 mmmm; x=0"
        T32 "11101000 1101 nnnn 1111 0000 0001 mmmm; x=1 h=1"
    } => |_, _| ();
};
