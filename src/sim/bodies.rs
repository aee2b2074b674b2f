//! Keeps lowered assembly threads from one test to the next, since tests of a campaign share most
//! of them.
//!
//! The meaning of a thread depends on its text, and on the locations that its names stand for, which
//! each test is asked anew. Nothing here knows what code means.

use rustc_hash::FxHashMap;

use super::program::Thread;
use litmake_base::diag::{Result, Source};
use litmake_isa::Isa;
use litmake_litmus::{Features, Line, Symbols, Type};

/// At most so many threads are kept.
const MOST: usize = 1 << 12;
/// Threads with longer keys are not kept.
const LONGEST: usize = 1 << 12;

/// Lowered threads, by their text and the features of their machines.
#[derive(Default)]
pub struct Bodies {
    kept: FxHashMap<Box<[u8]>, Body>,
    key: Vec<u8>,
}

struct Body {
    /// Without spans, which differ between tests.
    thread: Thread,
    /// The names that lowering asked for, and the locations that it got.
    asked: Vec<(String, u16)>,
}

/// Passes on what lowering asks, and remembers it.
struct Recorder<'s> {
    symbols: &'s mut dyn Symbols,
    asked: Vec<(String, u16)>,
    /// Lowering declared a type, which cannot be repeated later.
    typed: bool,
}

impl Symbols for Recorder<'_> {
    fn location(&mut self, name: &str) -> u16 {
        let location = self.symbols.location(name);
        self.asked.push((name.to_string(), location));
        location
    }

    fn declare(&mut self, name: &str, ty: &Type) -> u16 {
        self.typed = true;
        self.symbols.declare(name, ty)
    }

    fn own(&mut self, name: &str, ty: &Type) -> u16 {
        self.typed = true;
        self.symbols.own(name, ty)
    }
}

impl Bodies {
    /// The code of a thread, as [`Isa::thread`] gives it.
    pub fn thread(
        &mut self,
        isa: &dyn Isa,
        features: Features,
        source: &Source,
        lines: &[Line],
        symbols: &mut dyn Symbols,
    ) -> Result<Thread> {
        self.set_key(isa, features, lines);
        if let Some(body) = self.kept.get(&self.key[..])
            && body.asked.iter().all(|(name, location)| symbols.location(name) == *location)
        {
            let spans = lines.iter().map(|line| line.span).collect();
            return Ok(Thread { spans, ..body.thread.clone() });
        }
        let mut recorder = Recorder { symbols, asked: Vec::new(), typed: false };
        let thread = Thread::new(isa.thread(source, lines, &mut recorder)?);
        let Recorder { asked, typed, .. } = recorder;
        // Keep it only if lines and instructions correspond, so that spans can be put back.
        if !typed && thread.code.insts.len() == lines.len() && self.key.len() <= LONGEST {
            if self.kept.len() >= MOST {
                self.kept.clear();
            }
            self.kept.insert(self.key[..].into(), Body { thread: thread.clone(), asked });
        }
        Ok(thread)
    }

    /// Makes the key: everything that lowering looks at, each text with its length before it.
    fn set_key(&mut self, isa: &dyn Isa, features: Features, lines: &[Line]) {
        let Features { lse2, lpae, avx, ptr32 } = features;
        self.key.clear();
        self.key.push(isa.arch() as u8);
        self.key.extend([lse2, lpae, avx, ptr32].map(u8::from));
        for line in lines {
            self.key.extend_from_slice(&(line.labels.len() as u32).to_le_bytes());
            for text in line.labels.iter().chain([&line.text]) {
                self.key.extend_from_slice(&(text.len() as u32).to_le_bytes());
                self.key.extend_from_slice(text.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Model, Options, Simulator};
    use litmake_base::diag::Source;
    use litmake_cat::{self as cat, LoadOptions};
    use litmake_litmus as litmus;

    /// The meaning of a name in kept code is asked for anew, and errors point into the test at hand.
    #[test]
    fn kept_bodies_mean_what_new_ones_would() {
        let read =
            |text: &str| litmus::read(&Source::new("t.litmus", text.to_string())).expect("reads");
        let tests = [
            "X86_64 a
{ x=1; y=2; }
P0 ;
 movl (y),%eax ;
exists (0:rax=2)
",
            "X86_64 b
{ y=3; x=1; }
P0 ;
 movl (y),%eax ;
exists (0:rax=3)
",
            r"X86_64 c
{ y=4; }
P0 | P1 ;
 movl (y),%eax | movl (y),%eax ;
exists (0:rax=4 /\ 1:rax=4)
",
        ];
        let arch = read(tests[0]).arch;
        let cat = cat::load(arch.default_model(), &LoadOptions::new(arch)).expect("loads");
        let model = Model::load(&cat).expect("stages");
        let mut simulator = Simulator::default();
        for text in tests.iter().chain(&tests) {
            let found = simulator.simulate(&read(text), &model, &Options::default());
            let found = found.expect("simulates");
            assert_eq!((found.positive, found.negative), (1, 0), "{text}");
        }
        let mut bad = |name: &str, blanks: &str| {
            let text = format!(
                "X86_64 {name}
{{ x=1; }}
P0 ;
{blanks} movl (%rbx),%eax ;
exists (0:rax=1)
"
            );
            let found = simulator.simulate(&read(&text), &model, &Options::default());
            found.expect_err("no address").to_string()
        };
        let (near, far) = (bad("a", ""), bad("a", "\n\n"));
        assert!(near.contains("t.litmus:4:"), "{near}");
        assert!(far.contains("t.litmus:6:"), "{far}");
    }
}
