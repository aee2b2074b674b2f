//! Answers of compilers, machines and devices, as inputs of queries. They are asked outside of
//! queries. An answer that is equal to the one before changes nothing.
//!
//! This file does not know the questions, or whom they are for.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use salsa::Setter;

use super::shared::Shared;
use litmake_base::diag::{Diag, Result};
use litmake_base::digest::Digest;
use litmake_base::records::Records;
use litmake_pipeline::query::Db;

/// A question, with a digest of everything that decides its answer.
pub struct Question {
    pub key: Digest,
    /// Whether the answer stays the same while litmake runs, as that of a device does. A compiler
    /// may be exchanged.
    pub lasts: bool,
    ask: Box<dyn Fn(&mut Asking) -> Answer>,
}

/// The means with which a question finds its answer.
pub struct Asking<'a> {
    /// Values that the questions of one round share.
    pub shared: &'a mut Shared,
    pub records: &'a dyn Records,
}

impl Question {
    pub fn new<T: Any + Send + Sync + PartialEq>(
        key: Digest,
        lasts: bool,
        ask: impl Fn(&mut Asking) -> T + 'static,
    ) -> Question {
        Question { key, lasts, ask: Box::new(move |asking| Answer::new(ask(asking))) }
    }
}

/// An answer of a type that its readers know.
#[derive(Clone)]
struct Answer {
    value: Arc<dyn Any + Send + Sync>,
    same: fn(&dyn Any, &dyn Any) -> bool,
}

impl Answer {
    fn new<T: Any + Send + Sync + PartialEq>(value: T) -> Answer {
        fn same<T: Any + PartialEq>(a: &dyn Any, b: &dyn Any) -> bool {
            a.downcast_ref::<T>() == b.downcast_ref::<T>()
        }
        Answer { value: Arc::new(value), same: same::<T> }
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        (self.same)(&*self.value, &*other.value)
    }
}

/// The answer to a question; none until it is asked.
#[salsa::input]
struct Probe {
    #[returns(ref)]
    answer: Option<Answer>,
}

#[derive(Default)]
struct Probes(HashMap<Digest, Probe>);

fn probe(db: &dyn Db, key: Digest) -> Probe {
    db.others()
        .of(|probes: &mut Probes| *probes.0.entry(key).or_insert_with(|| Probe::new(db, None)))
}

/// The answer to a question; an error if it was not asked.
pub fn answer<T: Any + Send + Sync>(db: &dyn Db, key: Digest) -> Result<Arc<T>> {
    let known = probe(db, key).answer(db).as_ref();
    let value = known.and_then(|answer| answer.value.clone().downcast().ok());
    value.ok_or_else(|| Diag::new("internal error: the version of a compiler, a machine or a device was not asked for; please report it"))
}

/// Asks each question once. A question that has a lasting answer is not asked again. Returns
/// whether any answer changed.
pub fn ask(
    db: &mut dyn Db,
    questions: impl IntoIterator<Item = Question>,
    asking: &mut Asking,
) -> bool {
    let mut asked = HashMap::new();
    let mut changed = false;
    for question in questions {
        let probe = probe(db, question.key);
        let known = probe.answer(db).is_some();
        if (known && question.lasts) || asked.insert(question.key, ()).is_some() {
            continue;
        }
        let answer = Some((question.ask)(asking));
        if *probe.answer(db) != answer {
            drop(probe.set_answer(db).to(answer));
            changed = true;
        }
    }
    changed
}
