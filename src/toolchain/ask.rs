//! Asks compilers questions, and stores the answers for as long as all files that the programs
//! looked at are unchanged. An unchanged compiler therefore costs no process.
//!
//! It does not know what is asked.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, Looks};
use super::process::{self, Ended, Request};
use super::trace::{self, Look, Property};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};

/// An answer and the evidence for it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// The files that have to be unchanged for the answer to hold.
    pub evidence: Evidence,
    /// Actions of the programs that cannot be observed, for people.
    pub unseen: BTreeSet<String>,
}

/// Runs the programs that answer a question, and records what they look at.
#[derive(Default)]
pub struct Watched {
    looked: RefCell<BTreeSet<(PathBuf, Look)>>,
    asked: RefCell<BTreeSet<Property>>,
    unseen: RefCell<BTreeSet<String>>,
    /// Whether some program could not be traced, so that the evidence is incomplete.
    lost: RefCell<bool>,
}

impl Watched {
    /// Runs a program; files in `own` are not evidence.
    pub fn run(&self, request: &Request, own: Option<&Path>) -> Ended {
        let mut pause = Duration::from_millis(20);
        let mut attempts = 0;
        loop {
            match trace::run(request, own) {
                Ok((ended, trace)) => {
                    self.looked.borrow_mut().extend(trace.looked);
                    self.asked.borrow_mut().extend(trace.asked);
                    self.unseen.borrow_mut().extend(trace.unseen);
                    return ended;
                }
                Err(e) if attempts < 5 && process::is_passing(&e) => {
                    std::thread::sleep(pause);
                    pause *= 2;
                    attempts += 1;
                }
                Err(e) => return self.run_unseen(request, &e),
            }
        }
    }

    fn run_unseen(&self, request: &Request, why: &io::Error) -> Ended {
        let ended = process::run(request);
        if !matches!(ended, Ended::NotStarted(_)) {
            self.lost.replace(true);
            self.unseen.borrow_mut().insert(format!("anything: it cannot be followed ({why})"));
            self.looked.borrow_mut().insert((request.program.to_path_buf(), Look::Content));
        }
        ended
    }

    /// Records a look that no traced program made.
    pub fn look(&self, path: PathBuf, look: Look) {
        self.looked.borrow_mut().insert((path, look));
    }

    /// Whether some program could not be traced.
    pub fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }
}

/// Answers a question by running programs, or with a stored answer. An answer is stored if `ask`
/// returns true and the evidence is complete; otherwise the question is asked again.
pub fn ask<T: Serialize + DeserializeOwned>(
    key: Digest,
    looks: &Looks,
    known: &dyn Records,
    ask: impl Fn(&Watched) -> (T, bool),
) -> Answer<T> {
    let kept = known.get(&[key]).pop().flatten();
    if let Some(answer) = kept.and_then(|b| serde_json::from_slice::<Answer<T>>(&b).ok())
        && answer.evidence.holds(looks, known)
    {
        return answer;
    }
    let mut attempts = 0;
    loop {
        #[expect(clippy::disallowed_methods, reason = "files have the time of day on them")]
        let start = SystemTime::now();
        let watched = Watched::default();
        let (value, keep) = ask(&watched);
        let lost = watched.is_lost();
        let (looked, asked) = (watched.looked.into_inner(), watched.asked.into_inner());
        let evidence = Evidence::collect(looked, asked, looks, known);
        // A file that changed during the question may have been read half old and half new.
        let torn = evidence.changed_since(start);
        attempts += 1;
        if torn && attempts < 3 {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        let answer = Answer { value, evidence, unseen: watched.unseen.into_inner() };
        if keep
            && !torn
            && !lost
            && let Ok(bytes) = serde_json::to_vec(&answer)
        {
            known.put(&[Put { kind: Kind::Alias, key, value: &bytes }]);
        }
        return answer;
    }
}

/// The key of a question to a program with these arguments and this environment.
pub fn key(what: &str, program: &Path, args: &[String], env: &BTreeMap<String, String>) -> Keyer {
    let mut key = Keyer::new("ask/1");
    key.add("what", what.as_bytes());
    key.add("program", program.as_os_str().as_encoded_bytes());
    for arg in args {
        key.add("arg", arg.as_bytes());
    }
    for (name, value) in env {
        key.add("env", name.as_bytes());
        key.add("value", value.as_bytes());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    key.add("path", path.as_encoded_bytes());
    key
}
