//! A cache on another machine, as the engine sees it: something that is asked for many packets at
//! once and answers later, and that is offered packets and never makes anybody wait.
//!
//! It does not know protocols, addresses or secrets; whoever implements [`Remote`] does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};

use super::packet::{Bag, Single};
use super::store::Store;

/// The answer for each key, in the order of the question: the bytes that were once offered under the key,
/// or `None`.
pub type Answers = Vec<Option<Vec<u8>>>;

/// Receives the answers. It is called once, from a thread of the cache.
pub type Taker = Box<dyn FnOnce(Answers) + Send>;

/// A cache on another machine, which is asked and is offered packets.
pub trait Remote: Send + Sync {
    /// Asks for the packets under some keys, and returns at once. There is always an answer; a cache that
    /// cannot be reached answers `None` for each key.
    fn ask(&self, keys: Vec<Digest>, taker: Taker);

    /// Offers a packet under its key, and returns at once.
    fn offer(&self, key: Digest, bytes: Vec<u8>);

    /// Reports an answer that is not what anybody offers under its key.
    fn refuse(&self, key: Digest, why: &str);

    /// Messages for the user, each once.
    fn take_notices(&self) -> Vec<String>;
}

/// Asks, and waits for the answers.
pub fn ask_now(remote: &dyn Remote, keys: Vec<Digest>) -> Answers {
    let (send, receive) = std::sync::mpsc::channel();
    let count = keys.len();
    remote.ask(keys, Box::new(move |answers| drop(send.send(answers))));
    receive.recv().unwrap_or_else(|_| vec![None; count])
}

/// Fetches records that are the same on every machine, by their own keys: lists that were generated, and
/// the positions of parts. Those that the store lacks are asked for together.
pub fn fetch_records(remote: &dyn Remote, store: &Store, keys: &[Digest]) {
    let there = store.has(keys);
    let missing: Vec<Digest> =
        keys.iter().zip(there).filter(|(_, there)| !there).map(|(key, _)| *key).collect();
    if missing.is_empty() {
        return;
    }
    let asked = missing.iter().map(Single::key).collect();
    for (key, answer) in missing.iter().zip(ask_now(remote, asked)) {
        let Some(bytes) = answer else { continue };
        match Single::decode(&bytes) {
            Some(Single { kind, value }) => store.put(&[Put { kind, key: *key, value }]),
            None => remote.refuse(Single::key(key), "it is no record"),
        }
    }
}

/// Offers such a record.
pub fn offer_record(remote: &dyn Remote, kind: Kind, key: &Digest, value: &[u8]) {
    remote.offer(Single::key(key), Single { kind, value }.encode());
}

/// The results of work outside of a graph, such as reducing tests. They travel together in one packet,
/// whose key is the digest of the work's inputs.
pub struct Gathered<'a> {
    store: &'a Store,
    remote: &'a dyn Remote,
    key: Digest,
    /// Results that were stored or found.
    seen: Mutex<BTreeMap<Digest, Vec<u8>>>,
    /// Whether any was new.
    new: AtomicBool,
    /// Done once: asks for the results of others.
    asked: Once,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Gathered<'a> {
    /// Begins work whose results travel under the key `about`.
    pub fn begin(store: &'a Store, remote: &'a dyn Remote, about: &Keyer) -> Gathered<'a> {
        Gathered {
            store,
            remote,
            key: about.finish(),
            seen: Mutex::default(),
            new: AtomicBool::new(false),
            asked: Once::new(),
        }
    }

    /// Puts the results of others for the same work into the store.
    fn fetch(&self) {
        let Some(bytes) = ask_now(self.remote, vec![self.key]).pop().flatten() else { return };
        let Some(Bag(records)) = Bag::decode(&bytes) else {
            return self.remote.refuse(self.key, "it is no list of results");
        };
        let keys: Vec<Digest> = records.iter().map(|r| r.0).collect();
        let there = self.store.has(&keys);
        let new = records.iter().zip(there).filter(|(_, there)| !there);
        let puts: Vec<Put> =
            new.map(|((key, value), _)| Put { kind: Kind::Action, key: *key, value }).collect();
        self.store.put(&puts);
    }

    /// Ends the work, and offers its results if any is new.
    pub fn end(self) {
        if !self.new.load(Ordering::Relaxed) {
            return;
        }
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = seen.into_iter().filter(|(k, _)| self.store.kind_of(k) == Some(Kind::Action));
        self.remote.offer(self.key, Bag(results.collect()).encode());
    }
}

impl Records for Gathered<'_> {
    fn has(&self, keys: &[Digest]) -> Vec<bool> {
        self.store.has(keys)
    }

    fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>> {
        let mut found = self.store.get(keys);
        // It is asked when something is missing for the first time.
        if found.iter().any(Option::is_none) && !self.asked.is_completed() {
            self.asked.call_once(|| self.fetch());
            found = self.store.get(keys);
        }
        let mut seen = lock(&self.seen);
        for (key, value) in keys.iter().zip(&found) {
            if let Some(value) = value {
                seen.insert(*key, value.clone());
            }
        }
        found
    }

    fn put(&self, records: &[Put]) {
        self.store.put(records);
        let mut seen = lock(&self.seen);
        for record in records.iter().filter(|r| r.kind == Kind::Action) {
            seen.insert(record.key, record.value.to_vec());
            self.new.store(true, Ordering::Relaxed);
        }
    }
}
