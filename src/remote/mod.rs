//! The client of a remote cache that speaks the Bazel Remote Execution API (REAPI, version 2).
//!
//! It keeps packets of the engine under the digests of real actions, and implements the engine's
//! interface [`litmake_engine::remote::Remote`]. It does not know what is in a packet, nor where else
//! results are kept. Nothing that comes from a server is believed before it was checked.

mod action;
mod address;
mod client;
mod doctor;
mod execute;
mod helper;
mod program;
pub mod sealed;
mod trouble;
mod wire;
pub mod work;

pub use address::{Address, Header, Tls};
pub use client::{Client, Tally};
pub use doctor::{Finding, examine};
pub use execute::Execution;
pub use helper::{Helper, Told};
pub use trouble::Trouble;

use std::time::Duration;

/// An endpoint's address, and how a client uses it.
#[derive(Clone)]
pub struct Options {
    /// Where the server is.
    pub address: Address,
    /// Which of the caches behind the address; often empty.
    pub instance: String,
    /// Headers that go with each request.
    pub headers: Vec<Header>,
    /// Programs that give headers.
    pub helpers: Vec<Helper>,
    /// The headers that these programs gave.
    pub told: Told,
    /// How an encrypted connection is made.
    pub tls: Tls,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long a server may say nothing of a job before it is asked how far the job is.
    pub silence: Duration,
    /// How often a request is made again.
    pub retries: u32,
    /// Whether results are read from the cache.
    pub reads: bool,
    /// Whether results are written to the cache.
    pub writes: bool,
    /// How jobs are executed there, if they are.
    pub execution: Option<Execution>,
}

impl Options {
    /// The options of an address, each at its default.
    pub fn new(address: Address) -> Options {
        Options {
            address,
            instance: String::new(),
            headers: Vec::new(),
            helpers: Vec::new(),
            told: Told::default(),
            tls: Tls::default(),
            timeout: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            retries: 5,
            reads: true,
            writes: true,
            execution: None,
        }
    }

    /// The text without any of the secrets that are in it.
    fn without_secrets(&self, text: &str) -> String {
        let mut out = text.to_string();
        let mut hide = |value: &str| {
            out = out.replace(value, "[hidden]");
            // A server may quote the token without the word before it.
            for part in value.split_whitespace().filter(|part| part.len() > 6) {
                out = out.replace(part, "[hidden]");
            }
        };
        let secrets = self.headers.iter().filter(|h| h.is_secret() && !h.value.is_empty());
        secrets.for_each(|header| hide(&header.value));
        self.told.each(hide);
        out
    }
}

#[cfg(test)]
mod jobs;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod tests;
