//! What an action of litmake's looks like from inside: the files that a worker finds, those that it
//! leaves, and what its exit status says.
//!
//! It does not know what is in a job, nor how actions reach a worker.

use std::io;
use std::path::Path;

use litmake_base::digest::Digest;
use serde::{Deserialize, Serialize};

/// The files that lie in the folder of an action: the program, what to plan, what to do.
pub const PROGRAM: &str = "litmake";
pub const RECIPE: &str = "recipe";
pub const JOB: &str = "job";

/// What the worker says of its work. The packets lie beside it.
pub const TOLD: &str = "told";

pub fn packet_name(place: usize) -> String {
    format!("packet-{place}")
}

/// The worker's compiler, models or code are not those that the job names.
pub const REFUSED: u8 = 70;
/// What the worker was given is damaged, or contradicts itself.
pub const UNSOUND: u8 = 71;

pub fn job_key() -> Digest {
    Digest::of(b"litmake job/1")
}

pub fn recipe_key() -> Digest {
    Digest::of(b"litmake recipe/1")
}

/// What a worker says of its work. It is sealed under the digest of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The digest of the program that has done it, as it was read by itself.
    pub program: String,
    /// The packets that it leaves, by their places, with their keys.
    pub packets: Vec<(usize, Digest)>,
    /// What work took: its fingerprint's digest, items, nanoseconds.
    pub spent: Vec<(Digest, u64, u64)>,
    /// Why some of it broke.
    pub broke: Vec<String>,
}

/// The SHA-256 digest of a file, and its length.
pub fn digest_of_file(path: &Path) -> io::Result<(String, u64)> {
    let mut file = litmake_base::file::open(path)?;
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    let mut buffer = vec![0; 1 << 20];
    let mut len = 0;
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => break,
            n => {
                context.update(&buffer[..n]);
                len += n as u64;
            }
        }
    }
    Ok((super::action::hex(context.finish().as_ref()), len))
}
