//! Loads and stores of the elements of one to four vector registers.

use super::fields::*;
use super::mem::bare;
use super::{Mem, Operand, Out, Row, Update, Word, row};

// One row a line, whatever its length.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("0 q 0011000 l 0 00000 oooo ss nnnnn ttttt", "", &[several, bare]),
    row("0 q 0011001 l 0 mmmmm oooo ss nnnnn ttttt", "", &[several, stepped_all]),
    row("0 q 0011010 1 r 00000 11o 0 ss nnnnn ttttt", "", &[replicated, bare]),
    row("0 q 0011011 1 r mmmmm 11o 0 ss nnnnn ttttt", "", &[replicated, stepped_element]),
    row("0 q 0011010 1 0 00001 100 0 01 nnnnn ttttt", "LDAP1", &[one_lane, bare]),
    row("0 q 0011010 0 0 00001 100 0 01 nnnnn ttttt", "STL1", &[one_lane, bare]),
    row("0 q 0011010 l r 00000 ooo s ss nnnnn ttttt", "", &[one_of, bare]),
    row("0 q 0011011 l r mmmmm ooo s ss nnnnn ttttt", "", &[one_of, stepped_element]),
];

/// Arrangements by the size of an element and whether all 128 bits are meant.
pub const SHAPES: [[&str; 2]; 4] = [["8B", "16B"], ["4H", "8H"], ["2S", "4S"], ["1D", "2D"]];

fn list(w: Word, out: &mut Out, count: u32, shape: &str, lane: Option<u32>) -> Option<()> {
    let names = (0..count).map(|i| format!("V{}.{shape}", (w.get(RT, 5) + i) % 32));
    let mut text = format!("{{{}}}", names.collect::<Vec<_>>().join(","));
    if let Some(lane) = lane {
        text.push_str(&format!("[{lane}]"));
    }
    out.text(text)
}

fn direction(w: Word, out: &mut Out) {
    out.name.push_str(if w.is(22) { "LD" } else { "ST" });
}

/// How many registers, and how many of them take turns.
fn several_of(w: Word) -> Option<(u32, u32)> {
    Some(match w.get(12, 4) {
        0b0000 => (4, 4),
        0b0010 => (4, 1),
        0b0100 => (3, 3),
        0b0110 => (3, 1),
        0b0111 => (1, 1),
        0b1000 => (2, 2),
        0b1010 => (2, 1),
        _ => return None,
    })
}

fn several(w: Word, out: &mut Out) -> Option<()> {
    let (count, ways) = several_of(w)?;
    let (size, whole) = (w.get(10, 2), w.get(30, 1));
    if ways > 1 && size == 3 && whole == 0 {
        return None;
    }
    direction(w, out);
    out.name.push_str(&ways.to_string());
    list(w, out, count, SHAPES[size as usize][whole as usize], None)
}

fn replicated(w: Word, out: &mut Out) -> Option<()> {
    let count = 1 + w.get(21, 1) + 2 * w.get(13, 1);
    out.name = format!("LD{count}R");
    list(w, out, count, SHAPES[w.get(10, 2) as usize][w.get(30, 1) as usize], None)
}

fn one_lane(w: Word, out: &mut Out) -> Option<()> {
    list(w, out, 1, "D", Some(w.get(30, 1)))
}

/// The element of an access to one lane: its size as a power of two, and the lane.
fn lane(w: Word) -> Option<(u32, u32)> {
    let (q, s, size) = (w.get(30, 1), w.get(12, 1), w.get(10, 2));
    Some(match w.get(14, 2) {
        0 => (0, q << 3 | s << 2 | size),
        1 if size & 1 == 0 => (1, q << 2 | s << 1 | size >> 1),
        2 if size == 0 => (2, q << 1 | s),
        2 if size == 1 && s == 0 => (3, q),
        _ => return None,
    })
}

fn one_of(w: Word, out: &mut Out) -> Option<()> {
    let (log, lane) = lane(w)?;
    let count = 1 + w.get(21, 1) + 2 * w.get(13, 1);
    direction(w, out);
    out.name.push_str(&count.to_string());
    list(w, out, count, ["B", "H", "S", "D"][log as usize], Some(lane))
}

/// The base steps by a register, or by the bytes that are accessed.
fn stepped(w: Word, out: &mut Out, bytes: u32) -> Option<()> {
    let base = Some(general(w.get(RN, 5), true, true));
    let index = match w.get(RM, 5) {
        31 => None,
        n => Some(general(n, true, false)),
    };
    let offset = if index.is_some() { 0 } else { bytes.into() };
    out.push(Operand::Mem(Mem { base, offset, index, update: Update::Post }))
}

fn stepped_all(w: Word, out: &mut Out) -> Option<()> {
    stepped(w, out, several_of(w)?.0 * if w.is(30) { 16 } else { 8 })
}

fn stepped_element(w: Word, out: &mut Out) -> Option<()> {
    let count = 1 + w.get(21, 1) + 2 * w.get(13, 1);
    let log = if w.get(14, 2) == 3 { w.get(10, 2) } else { lane(w)?.0 };
    stepped(w, out, count << log)
}
