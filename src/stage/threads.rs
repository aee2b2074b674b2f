//! Lets a compiler compile the threads of C tests separately, and joins their code again.
//!
//! A list of tests has far fewer distinct threads than tests, and each thread is compiled and
//! lifted once for each profile. A test is known by the forms of its frame and of its threads' code, and
//! is joined only where something reads it. How a test is taken apart is the business of `mix/threads`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::building::{Building, Made};
use super::items::read_test;
use litmake_base::digest::Digest;
use litmake_base::failure::Failure;
use litmake_engine::graph::{Context, Fingerprint, Forms, Map, Outcome, Work};
use litmake_engine::parts::{Bundle, decode_results};
use litmake_lang::kernel;
use litmake_litmus::{self as litmus, Test};
use litmake_mix::threads::{Form, Thread, apart, form, frame, together};

/// The kind of these internal nodes. Users see only `compile`, the node in which the compiler
/// works.
pub const KIND: &str = "threads";

/// The largest number of tests, and of threads, that are kept in memory as parsed.
const REMEMBERED: usize = 4096;

/// The largest number of forms of code that are kept in memory.
const FORMS: usize = 1 << 19;

/// Takes tests apart. A test that the compiler must see as a whole is its own only part.
struct Apart(Arc<Tests>);

/// Joins the code of threads. Its items are the output of `Apart`, the test, and the code of its
/// parts.
struct Together {
    tests: Arc<Tests>,
    code: Memory<Test>,
    forms: Memory<Form>,
}

/// Tests that were taken apart.
type Tests = Memory<Taken>;

struct Taken {
    test: Test,
    /// Nothing for a test that stays whole.
    threads: Option<Vec<Thread>>,
    /// The frame of the tests that its threads are joined to.
    frame: OnceLock<Result<Digest, Failure>>,
}

/// The work that takes tests apart, and that joins them.
fn work() -> [Arc<dyn Map>; 2] {
    let tests = Arc::new(Tests::of(REMEMBERED));
    let code = Memory::of(REMEMBERED);
    let together = Together { tests: tests.clone(), code, forms: Memory::of(FORMS) };
    [Arc::new(Apart(tests)), Arc::new(together)]
}

fn taken(text: &[u8]) -> Result<Taken, Failure> {
    let test = kernel::declared(read_test(text)?);
    let threads = apart(&test);
    Ok(Taken { test, threads, frame: OnceLock::new() })
}

/// Gives the distinct threads of some tests to the work of one profile; returns the node whose
/// items are the tests again.
pub fn build(graph: &mut Building, tests: usize, made: Made) -> usize {
    let [apart, together] = graph.thread_work.get_or_insert_with(work).clone();
    let known = graph.threads.get(&tests).copied();
    let list = known.unwrap_or_else(|| {
        let apart = graph.add_hidden(vec![tests], by("apart"), Work::Map(apart));
        let list = graph.add_hidden(vec![apart], Fingerprint::default(), Work::Parts);
        graph.threads.insert(tests, list);
        list
    });
    let apart = graph.graph.nodes[list].inputs[0];
    let code = graph.add_made(vec![list], made);
    let at = graph.add_hidden(vec![apart, tests], by("together"), Work::Map(together));
    graph.graph.nodes[at].joined = vec![code];
    for node in [apart, list, at] {
        graph.graph.nodes[node].kind = KIND.into();
    }
    at
}

fn by(way: &str) -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_THREADS"))
        .with_text("stage", "threads")
        .with_text("way", way)
}

impl Map for Apart {
    fn keeps(&self) -> bool {
        false
    }

    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| -> Result<Vec<u8>, Failure> {
            let taken = self.0.of_content(&item[0], taken)?;
            let part = |t: &Thread| (t.name.clone(), t.text.clone().into_bytes());
            let parts = match &taken.threads {
                Some(threads) => threads.iter().map(part).collect(),
                None => vec![(WHOLE.to_string(), item[0].clone())],
            };
            Ok(Bundle { parts, rest: Vec::new() }.encode())
        };
        items.iter().map(|item| one(item).into()).collect()
    }
}

/// The name of a part that is a whole test.
const WHOLE: &str = "";

impl Together {
    fn one(&self, item: &[Vec<u8>]) -> Result<Vec<u8>, Failure> {
        let [_, test, code] = item else {
            return Err("a test without code was to be put together".into());
        };
        let code = decode_results(code).ok_or("code that cannot be read")?;
        let code: Vec<Vec<u8>> = code.into_iter().flatten().collect();
        let taken = self.tests.of_content(test, taken)?;
        let Some(threads) = &taken.threads else {
            return code.into_iter().next().ok_or_else(|| "a test without code".into());
        };
        let code = code
            .iter()
            .map(|c| self.code.of_content(c, read_test))
            .collect::<Result<Vec<_>, _>>()?;
        let code: Vec<&Test> = code.iter().map(Arc::as_ref).collect();
        Ok(litmus::write(&together(&taken.test, threads, &code)?).into_bytes())
    }
}

impl Forms for Together {
    fn form(
        &self,
        from: &[Digest],
        read: &dyn Fn(usize) -> Result<Vec<u8>, Failure>,
    ) -> Result<Option<Digest>, Failure> {
        let [_, test, code @ ..] = from else { return Ok(None) };
        let made = || -> Result<Digest, Failure> {
            let taken = self.tests.get(test, || taken(&read(1)?))?;
            let of = |(i, code): (usize, &Digest)| {
                let parsed = || self.code.get(code, || read_test(&read(i + 2)?));
                self.forms.get(code, || Ok(Form::of(&*parsed()?)))
            };
            let code = code.iter().enumerate().map(of).collect::<Result<Vec<_>, _>>()?;
            let Some(threads) = &taken.threads else {
                return code.first().map(|c| c.whole()).ok_or_else(|| "a test without code".into());
            };
            let frame = taken.frame.get_or_init(|| frame(&taken.test, threads)).clone()?;
            Ok(form(&frame, threads, &code))
        };
        match made() {
            Ok(form) => Ok(Some(form)),
            Err(failure) if failure.is_broken() => Err(failure),
            // Making the result says it, with the test's own words.
            Err(_) => Ok(None),
        }
    }
}

impl Map for Together {
    fn keeps(&self) -> bool {
        false
    }

    fn forms(&self) -> Option<&dyn Forms> {
        Some(self)
    }

    fn needs_all_parts(&self) -> bool {
        true
    }

    /// The threads of a test are known from the test.
    fn reads(&self, input: usize) -> bool {
        input > 0
    }

    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        items.iter().map(|item| self.one(item).into()).collect()
    }
}

/// What was made of contents, by their digests; it is emptied when it is full.
struct Memory<T> {
    known: Mutex<FxHashMap<Digest, Arc<T>>>,
    most: usize,
}

impl<T> Memory<T> {
    fn of(most: usize) -> Memory<T> {
        Memory { known: Mutex::default(), most }
    }

    fn of_content(
        &self,
        content: &[u8],
        make: impl FnOnce(&[u8]) -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        self.get(&Digest::of(content), || make(content))
    }

    fn get(
        &self,
        key: &Digest,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(key) {
            return Ok(value.clone());
        }
        let value = Arc::new(make()?);
        let mut all = known();
        if all.len() >= self.most {
            all.clear();
        }
        all.insert(*key, value.clone());
        Ok(value)
    }
}
