//! The form of an action of litmake's: the files that a worker finds and those that it leaves, and the
//! meaning of its exit status.
//!
//! It does not know the contents of a job, nor how actions reach a worker.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use litmake_base::digest::Digest;
use litmake_base::framed;
use serde::{Deserialize, Serialize};

/// The files that lie in the folder of an action: the program, what to plan, what to do.
pub const PROGRAM: &str = "litmake";
/// The file with what the worker is to plan.
pub const RECIPE: &str = "recipe";
/// The file with the job.
pub const JOB: &str = "job";
/// The file with what compilers answered elsewhere.
pub const ANSWERS: &str = "answers";

/// The file of the worker's report, beside the packets.
pub const TOLD: &str = "told";
/// The file of compilers' answers that the worker was not given and had to ask for.
pub const LEARNED: &str = "learned";

/// The name of the file that a packet lies in, by its place.
pub fn packet_name(place: usize) -> String {
    format!("packet-{place}")
}

/// The worker's compiler, models or code are not those that the job names.
pub const REFUSED: u8 = 70;
/// The files that the worker was given are damaged, or contradict each other.
pub const UNSOUND: u8 = 71;

/// The key under which the file of a job is sealed.
pub fn job_key() -> Digest {
    Digest::of(b"litmake job/1")
}

/// The key under which the file of a recipe is sealed.
pub fn recipe_key() -> Digest {
    Digest::of(b"litmake recipe/1")
}

/// The key under which the file of answers is sealed.
pub fn answers_key() -> Digest {
    Digest::of(b"litmake answers/1")
}

/// Compilers' answers to the questions what they are, by the digest of the question. Each holds the
/// evidence that it rests on, so that a worker can tell whether it holds there.
pub type Answers = BTreeMap<Digest, Vec<u8>>;

/// The bytes that [`decode_answers`] reads.
pub fn encode_answers(answers: &Answers) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, answer) in answers {
        out.extend_from_slice(&key.0);
        framed::put(&mut out, answer);
    }
    out
}

/// Reads answers; `None` where the bytes end within one.
pub fn decode_answers(bytes: &[u8]) -> Option<Answers> {
    let mut reader = framed::Reader(bytes);
    let mut out = Answers::new();
    while !reader.is_empty() {
        out.insert(reader.digest()?, reader.bytes()?.to_vec());
    }
    Some(out)
}

/// A worker's report. It is sealed under the digest of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The digest of the program that did the work, as the program read itself.
    pub program: String,
    /// The packets that it leaves: the place of each and its key.
    pub packets: Vec<(usize, Digest)>,
    /// The time of the work: digest of a fingerprint, number of items, nanoseconds.
    pub spent: Vec<(Digest, u64, u64)>,
    /// Why parts of the work broke.
    pub broke: Vec<String>,
}

/// The SHA-256 digest of a file.
pub fn digest_of_file(path: &Path) -> io::Result<String> {
    let mut file = litmake_base::file::open(path)?;
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => break,
            n => context.update(&buffer[..n]),
        }
    }
    Ok(super::action::hex(context.finish().as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_read_back_and_half_of_one_is_none() {
        let answers = Answers::from([(Digest::of(b"asked"), b"answered".to_vec())]);
        let bytes = encode_answers(&answers);
        assert_eq!(decode_answers(&bytes), Some(answers));
        for len in 1..bytes.len() {
            assert_eq!(decode_answers(&bytes[..len]), None, "{len}");
        }
    }
}
