//! Rows and shards: the shape in which results flow between nodes.
//!
//! A list of items is cut into shards of some hundreds. A shard is named by the digest of its
//! rows, so one look-up tells whether anything in it is new. Nothing here knows what an item is.

use litmake_base::digest::Digest;
#[cfg(doc)]
use litmake_base::failure::Failure;

/// The end of an item's work in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// Done, and nothing about it stands out.
    Done = 0,
    /// Done, and someone should look at it.
    Finding = 1,
    /// The work failed for a lasting reason; the content is the [`Failure`].
    Failed = 2,
    /// An input failed; the content is its failure.
    Skipped = 3,
    /// Something that the run needs is missing, crashed or hung, such as a compiler; the content is the
    /// failure. Never stored.
    Broke = 4,
}

impl State {
    /// The state of this number; `None` where there is none.
    pub(crate) fn from_byte(byte: u8) -> Option<State> {
        [State::Done, State::Finding, State::Failed, State::Skipped, State::Broke]
            .into_iter()
            .find(|s| *s as u8 == byte)
    }

    /// Whether there is a result for later nodes to work on.
    pub fn usable(self) -> bool {
        matches!(self, State::Done | State::Finding)
    }
}

/// The result of one item in one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The end of the item's work.
    pub state: State,
    /// The digest of the result, or of the failure.
    pub content: Digest,
}

impl Cell {
    /// The cell of an item one of whose inputs has this cell, which has no result.
    pub fn handed_on(self) -> Cell {
        let state = if self.state == State::Broke { State::Broke } else { State::Skipped };
        Cell { state, content: self.content }
    }

    /// The 33 bytes that [`Cell::decode`] reads.
    pub(crate) fn encode(self) -> [u8; 33] {
        let mut out = [self.state as u8; 33];
        out[1..].copy_from_slice(&self.content.0);
        out
    }

    /// Reads a cell; `None` where the bytes are not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Cell> {
        let (state, content) = bytes.split_first()?;
        Some(Cell { state: State::from_byte(*state)?, content: Digest::from_slice(content)? })
    }
}

/// A cell as it is stored under the key of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The cell.
    pub(crate) cell: Cell,
    /// When it was made, in milliseconds since 1970, if it is kept for a day only. It is no part of the
    /// result, and so in no digest and no report.
    pub(crate) made: Option<u64>,
}

impl Kept {
    /// The bytes that [`Kept::decode`] reads.
    pub(crate) fn encode(self) -> Vec<u8> {
        let made = self.made.map(u64::to_le_bytes);
        [&self.cell.encode()[..], made.as_ref().map_or(&[], |m| &m[..])].concat()
    }

    /// Reads a cell and when it was made; `None` where the bytes are not that.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Kept> {
        let (cell, made) = bytes.split_at_checked(33)?;
        let made = match made {
            [] => None,
            made => Some(u64::from_le_bytes(made.try_into().ok()?)),
        };
        Some(Kept { cell: Cell::decode(cell)?, made })
    }
}

/// The cells of a shard, one after the other.
pub(crate) fn encode_cells(cells: &[Cell]) -> Vec<u8> {
    cells.iter().flat_map(|c| c.encode()).collect()
}

/// Reads what [`encode_cells`] wrote; `None` where the bytes are not that.
pub fn decode_cells(bytes: &[u8]) -> Option<Vec<Cell>> {
    if !bytes.len().is_multiple_of(33) {
        return None;
    }
    bytes.chunks(33).map(Cell::decode).collect()
}

/// An item at the root of a family of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the item.
    pub name: Box<str>,
    /// The digest of its content.
    pub content: Digest,
}

/// The items of a shard, one after the other.
pub fn encode_entries(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() * 64);
    for entry in entries {
        out.extend_from_slice(&entry.content.0);
        out.extend_from_slice(&(entry.name.len() as u32).to_le_bytes());
        out.extend_from_slice(entry.name.as_bytes());
    }
    out
}

/// Reads what [`encode_entries`] wrote; `None` where the bytes are not that.
pub fn decode_entries(mut bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let content = Digest::from_slice(bytes.get(..32)?)?;
        let len = u32::from_le_bytes(bytes.get(32..36)?.try_into().ok()?) as usize;
        let name = std::str::from_utf8(bytes.get(36..36 + len)?).ok()?.into();
        out.push(Entry { name, content });
        bytes = &bytes[36 + len..];
    }
    Some(out)
}

/// A shard of a node without its rows: their digest and their counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shard {
    /// The digest of the encoded rows.
    pub digest: Digest,
    /// Counts by [`State`].
    pub counts: [u32; 5],
}

impl Shard {
    /// The digest and the counts of some cells.
    pub(crate) fn of(cells: &[Cell]) -> Shard {
        let mut counts = [0; 5];
        for cell in cells {
            counts[cell.state as usize] += 1;
        }
        Shard { digest: Digest::of(&encode_cells(cells)), counts }
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// How many of its rows are in a state.
    pub(crate) fn count(&self, state: State) -> u32 {
        self.counts[state as usize]
    }

    /// The 52 bytes that [`Shard::decode`] reads.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.digest.0.to_vec();
        for n in self.counts {
            out.extend_from_slice(&n.to_le_bytes());
        }
        out
    }

    /// Reads a shard; `None` where the bytes are not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Shard> {
        if bytes.len() != 52 {
            return None;
        }
        let mut counts = [0; 5];
        for (n, part) in counts.iter_mut().zip(bytes[32..].chunks(4)) {
            *n = u32::from_le_bytes(part.try_into().ok()?);
        }
        Some(Shard { digest: Digest::from_slice(&bytes[..32])?, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back() {
        let entries = vec![
            Entry { name: "a".into(), content: Digest::of(b"1") },
            Entry { name: "ünï".into(), content: Digest::of(b"2") },
        ];
        assert_eq!(decode_entries(&encode_entries(&entries)), Some(entries));
        let cells = vec![Cell { state: State::Finding, content: Digest::of(b"x") }; 3];
        assert_eq!(decode_cells(&encode_cells(&cells)), Some(cells.clone()));
        let shard = Shard::of(&cells);
        assert_eq!(Shard::decode(&shard.encode()), Some(shard));
        assert_eq!(decode_entries(&[1, 2, 3]), None);
        assert_eq!(decode_cells(&[9; 33]), None);
        for made in [None, Some(1_000_000_000_000)] {
            let kept = Kept { cell: cells[0], made };
            assert_eq!(Kept::decode(&kept.encode()), Some(kept));
            assert_eq!(Kept::decode(&kept.encode()[1..]), None);
        }
    }
}
