//! How a packet looks as a blob: packed, with the key for which it was made and a checksum over all.
//!
//! A server that mixes up blobs, or that changes one and gives it a new digest, is found out here.

use litmake_base::digest::Digest;

const MAGIC: [u8; 8] = *b"LITMPKT1";
const HEAD: usize = 8 + 4 + 4 + 32;
const SUM: usize = 32;
/// Nothing larger is made or read.
pub const MAX: usize = 256 << 20;

/// Makes a blob. Blobs of several attempts differ, so that a server which has a broken one, and will not
/// take it again, takes the next.
pub fn seal(key: &Digest, attempt: u32, packet: &[u8]) -> Option<Vec<u8>> {
    if packet.len() > MAX {
        return None;
    }
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&attempt.to_le_bytes());
    out.extend_from_slice(&(packet.len() as u32).to_le_bytes());
    out.extend_from_slice(&key.0);
    out.extend_from_slice(&lz4_flex::block::compress(packet));
    let sum = Digest::of(&out);
    out.extend_from_slice(&sum.0);
    Some(out)
}

/// The packet in a blob that was made for a key; else what is wrong with the blob.
pub fn open(key: &Digest, blob: &[u8]) -> Result<Vec<u8>, &'static str> {
    let body = blob.len().checked_sub(SUM).filter(|body| *body >= HEAD);
    let (body, sum) = blob.split_at(body.ok_or("it is too short")?);
    if body[..8] != MAGIC {
        return Err("it was made by another version of litmake, or is none of its packets");
    }
    if Digest::of(body).0 != sum {
        return Err("its checksum does not match");
    }
    if body[16..HEAD] != key.0 {
        return Err("it was made for another key");
    }
    let len = body[12..16].try_into().map_or(usize::MAX, |l| u32::from_le_bytes(l) as usize);
    let packed = &body[HEAD..];
    // Nothing shrinks to less than a 255th, so a length beyond that is none.
    if len > MAX || len > (packed.len() + 1) * 255 {
        return Err("its length is impossible for its size");
    }
    let packet = lz4_flex::block::decompress(packed, len).map_err(|_| "it does not unpack")?;
    if packet.len() != len {
        return Err("it does not have the length in its header");
    }
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_packet_opens_under_its_own_key_alone() {
        let key = Digest::of(b"key");
        for packet in [&b""[..], b"short", &[7; 10_000]] {
            let blob = seal(&key, 0, packet).unwrap();
            assert_eq!(blob, seal(&key, 0, packet).unwrap());
            assert_ne!(blob, seal(&key, 1, packet).unwrap());
            assert_eq!(open(&key, &blob).unwrap(), packet);
            assert_eq!(open(&Digest::of(b"other"), &blob), Err("it was made for another key"));
        }
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unseen() {
        let key = Digest::of(b"key");
        let blob = seal(&key, 0, b"some results, some results").unwrap();
        for bit in 0..blob.len() * 8 {
            let mut blob = blob.clone();
            blob[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&key, &blob).is_err(), "bit {bit}");
        }
        for len in 0..blob.len() {
            assert!(open(&key, &blob[..len]).is_err(), "length {len}");
        }
    }
}
