//! Asks compilers questions, and stores the answers for as long as all files that the programs
//! looked at are unchanged. An unchanged compiler therefore costs no process.
//!
//! It does not know what is asked.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, Looks};
use super::process::{self, Ended, Request, Sight};
use super::trace::{Look, Property, Trace, Unseen};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};

/// An answer and the evidence for it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// The files that have to be unchanged for the answer to hold.
    pub evidence: Evidence,
    /// Actions of the programs that cannot be observed.
    pub unseen: BTreeSet<Unseen>,
    /// The key of the question.
    pub question: Digest,
}

/// Runs the programs that answer a question, and records what they look at.
#[derive(Default)]
pub struct Watched {
    seen: RefCell<Trace>,
    /// Whether some program could not be traced, so that the evidence is incomplete.
    lost: Cell<bool>,
}

impl Watched {
    /// Runs a program; files in `own` are not evidence.
    pub fn run(&self, request: &Request, own: Option<&Path>) -> Ended {
        let (ended, Sight { trace, blind }) = process::observe(request, own);
        let mut seen = self.seen.borrow_mut();
        seen.extend(trace);
        if let Some(why) = blind {
            self.lost.set(true);
            seen.unseen.insert(Unseen::Blind(why));
            seen.looked.insert((request.program.to_path_buf(), Look::Content));
        }
        ended
    }

    /// Records a look that no traced program made.
    pub fn look(&self, path: PathBuf, look: Look) {
        self.seen.borrow_mut().looked.insert((path, look));
    }

    /// Records that the answer depends on a property of the process.
    pub fn ask_for(&self, property: Property) {
        self.seen.borrow_mut().asked.insert(property);
    }

    /// Whether some program could not be traced.
    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }
}

/// Leaves out the looks at what the programs changed themselves, and tells of it.
pub fn without_state(mut seen: Trace) -> Trace {
    let state = seen.take_state(&|_| false);
    let inputs: Vec<PathBuf> =
        seen.looked.iter().map(|(path, _)| path).filter(|path| path.is_file()).cloned().collect();
    seen.keeps(&state, &|place| inputs.iter().any(|path| path.starts_with(place)));
    seen
}

/// The looks of programs beyond those for the answer to a question. It is part of the
/// answer's evidence from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wider {
    /// The looks.
    pub trace: Trace,
    /// Whether the programs look at other paths each time, so that no more of them are kept.
    pub is_restless: bool,
}

impl Wider {
    /// The looks that are kept for a question.
    pub fn of(question: Digest, known: &dyn Records) -> Wider {
        let bytes = known.get(&[Wider::key(question)]).pop().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Keeps this for a question.
    pub fn keep(&self, question: Digest, known: &dyn Records) {
        if let Ok(value) = serde_json::to_vec(self) {
            let key = Wider::key(question);
            known.put(&[Put { kind: Kind::Alias, key, value: &value }]);
        }
    }

    fn key(question: Digest) -> Digest {
        Keyer::new("wider/1").field("question", &question.0).finish()
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
    let mut answer = answered(key, looks, known, ask);
    let Trace { looked, asked, unseen, .. } = Wider::of(key, known).trace;
    answer.evidence = answer.evidence.with(Evidence::collect(looked, asked, looks, known));
    answer.unseen.extend(unseen);
    answer
}

fn answered<T: Serialize + DeserializeOwned>(
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
        let Trace { looked, asked, unseen, .. } = without_state(watched.seen.into_inner());
        let evidence = Evidence::collect(looked, asked, looks, known);
        // A file that changed during the question may have been read half old and half new.
        let torn = evidence.changed_since(start);
        attempts += 1;
        if torn && attempts < 3 {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        }
        let answer = Answer { value, evidence, unseen, question: key };
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
    let mut key = Keyer::new("ask/2");
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
