//! Workers on other machines, as the engine sees them: something that takes jobs and gives packets.
//!
//! It does not know protocols, addresses or servers; whoever implements [`Elsewhere`] does. Nothing
//! that comes from there is believed: the engine looks for the packets under keys that it works out
//! itself.

use litmake_base::digest::Digest;

/// A job that is to be done.
pub struct Order {
    /// The job, encoded.
    pub job: Vec<u8>,
    /// How many packets it may give.
    pub outputs: usize,
    /// Remembered results of this job do not count, because an earlier result was not sound.
    pub anew: bool,
}

/// The time that one kind of work took in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The digest of the work's fingerprint.
    pub work: Digest,
    /// How many items were worked on.
    pub items: u64,
    /// The time that they took, in nanoseconds.
    pub nanos: u64,
}

/// The results of a job.
pub struct Made {
    /// Packets by their keys.
    pub packets: Vec<(Digest, Vec<u8>)>,
    /// The time of each kind of work; empty if the workers do not tell.
    pub spent: Vec<Spent>,
    /// Whether the results are those of an earlier run of the same job.
    pub remembered: bool,
}

/// The end of a job.
pub enum Executed {
    /// It was done, or had been done before.
    Made(Made),
    /// The workers cannot do this work, and will not be able to: they have another compiler.
    Refused(String),
    /// It failed, and may succeed another time.
    Failed(String),
    /// No worker takes jobs any more.
    Gone,
}

/// Receives the end of a job. It is called once, from another thread.
pub type Taker = Box<dyn FnOnce(Executed) + Send>;

/// The number of jobs in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Jobs that wait for a worker.
    pub queued: u64,
    /// Jobs that a worker has begun.
    pub running: u64,
    /// Jobs whose results came.
    pub fetched: u64,
}

/// Workers on other machines.
pub trait Elsewhere: Send + Sync {
    /// How many jobs may be under way.
    fn slots(&self) -> usize;

    /// Whether jobs are taken at this time.
    fn is_open(&self) -> bool;

    /// Begins a job under a number of its own, and returns at once.
    fn execute(&self, number: u64, order: Order, taker: Taker);

    /// Takes back a job that no worker has begun, and says whether it could; then its taker is not called.
    fn recall(&self, number: u64) -> bool;

    /// The number of its jobs in each state.
    fn tally(&self) -> Tally;
}
