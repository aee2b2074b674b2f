//! Feeds broken texts to the readers and to the evaluator for a while:
//! `cargo run --release --example fuzz -- (litmus|cat|macros|sim) SECONDS SEED PATH...`
//!
//! Paths are files, or folders that are searched for `.litmus`, `.cat`, `.bell` and `.def`. Each input
//! is a file of them with a few changes. A panic, and an input that takes longer than
//! [`SLOW`], is written to the working folder; one that does not end within [`HUNG`] is
//! written too, and ends the run. Exit status 1 where there were any.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "an example stands alone, and prints what it finds"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use litmake::cat::{self, LoadOptions, StageError, load};
use litmake::diag::Source;
use litmake::litmus::c::macros::Macros;
use litmake::litmus::{self, Arch, Body};
use litmake::sim::{Model, Options, Simulator};

const SLOW: Duration = Duration::from_secs(5);
const HUNG: Duration = Duration::from_secs(60);

/// xorshift64*, so that a seed says everything.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Texts that readers may take wrongly.
const PIECES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "(*",
    "*)",
    "/*",
    "//",
    "\"",
    "'",
    ";",
    "|",
    "\\/",
    "/\\",
    "~",
    "=",
    "==",
    "-1",
    "0x",
    "0",
    "99999999999999999999999999999999999999999",
    "\u{e9}",
    "\u{0}",
    "\n",
    "\r\n",
    "\t",
    "P0",
    "P1",
    "exists",
    "forall",
    "locations",
    "filter",
    "not",
    "int",
    "atomic_int*",
    "x",
    "0:X1",
    "let rec r =",
    "acyclic",
    "empty",
    "^-1",
    "+",
    "*",
    "?",
    "\\",
    "&",
    "include \"cos.cat\"",
    "flag",
    "as",
    "fun",
    "match",
    "with",
    "end",
    "try",
    "while (1)",
    "goto",
    "if",
    "_",
    "id",
    "0:r0=1",
    "#",
    "%",
    "$",
    "@",
    ".",
    ",",
    "<",
    ">",
    "<<",
    "*x",
    "&x",
    "[x]",
];

fn changed(texts: &[String], random: &mut Random) -> String {
    let mut bytes = texts[random.below(texts.len())].clone().into_bytes();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        let most = 1 + random.below(40);
        let len = random.below(most).min(bytes.len() - at);
        match random.below(8) {
            0 => drop(bytes.drain(at..at + len)),
            1 => {
                let part = bytes[at..at + len].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            3 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at + len.min(3), piece.bytes());
            }
            4 if at < bytes.len() => bytes[at] = random.next() as u8,
            5 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            6 => {
                // A part of another text.
                let other = texts[random.below(texts.len())].as_bytes();
                let from = random.below(other.len() + 1);
                let to = (from + random.below(60)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                // The same again and again.
                let part = bytes[at..at + len.min(6)].to_vec();
                let times = 1 << random.below(12);
                bytes.splice(at..at, part.repeat(times));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let Ok(entries) = std::fs::read_dir(path) else { return };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        entries.sort();
        entries.iter().for_each(|p| collect(p, out));
    } else if path
        .extension()
        .is_some_and(|e| ["litmus", "cat", "bell", "def"].iter().any(|x| e == *x))
    {
        out.push(path.to_path_buf());
    }
}

/// A model that includes by name, from the built-in ones alone.
struct One(String);

impl load::Files for One {
    fn read(&self, path: &Path) -> std::io::Result<Option<String>> {
        Ok(path.ends_with("fuzz.cat").then(|| self.0.clone()))
    }
}

fn litmus_reader(text: &str) {
    let source = Source::new("fuzz.litmus", text);
    match litmus::read(&source) {
        Ok(test) => {
            // What was read is printed so that it reads again.
            let again = litmus::write(&test);
            if let Err(e) = litmus::read(&Source::new("again.litmus", again.as_str())) {
                panic!("what was printed does not read: {e}\n{again}");
            }
        }
        Err(diag) => drop(diag.to_string()),
    }
}

/// Reads macros, and has a test call each of them, as a value and as a statement.
fn macro_reader(text: &str) {
    let macros = match Macros::read(&Source::new("fuzz.def", text)) {
        Ok(macros) => macros,
        Err(diag) => return drop(diag.to_string()),
    };
    for name in macros.names() {
        for args in ["", "x", "*x", "x, 1", "r, x, 1"] {
            let call = format!("{name}({args})");
            let text = format!(
                "C t\n{{}}\nP0(int *x) {{\n  int r = {call};\n  {call};\n  if ({call}) r = 1;\n}}\n\
                 exists (x=0)\n"
            );
            let Ok(test) = litmus::read(&Source::new("calls.litmus", text)) else { continue };
            for body in &test.threads {
                if let Body::C(f) = body
                    && let Err(diag) = macros.expand(&test.source, f, &test.helpers)
                {
                    drop(diag.to_string());
                }
            }
        }
    }
}

fn model(text: &str) -> Option<Model> {
    let files = One(text.to_string());
    let model = match cat::load::load_with("fuzz.cat", &LoadOptions::new(Arch::AArch64), &files) {
        Ok(model) => model,
        Err(diag) => {
            drop(diag.to_string());
            return None;
        }
    };
    match cat::stage(&model) {
        Err(StageError::Invalid(diag)) => drop(diag.to_string()),
        Err(StageError::Unstageable(_)) | Ok(_) => {}
    }
    Model::load(&model).ok()
}

/// What every model has to judge.
const TEST: &str = "AArch64 SB\n{ 0:X1=x; 0:X2=y; 1:X1=y; 1:X2=x; }\n P0 | P1 ;\n MOV X0,#1 | \
                    MOV X0,#1 ;\n STR X0,[X1] | STLR X0,[X1] ;\n DMB SY | LDXR X3,[X2] ;\n \
                    LDR X3,[X2] | STXR W4,X0,[X2] ;\nexists (0:X3=0 /\\ 1:X3=0)\n";

fn simulated(text: &str, simulator: &mut Simulator, models: &[(Arch, Model)]) {
    let Ok(test) = litmus::read(&Source::new("fuzz.litmus", text)) else { return };
    let Some((_, model)) = models.iter().find(|(a, _)| *a == test.arch) else { return };
    let options = Options { timeout: Some(Duration::from_secs(1)), ..Options::default() };
    if let Err(diag) = simulator.simulate(&test, model, &options) {
        drop(diag.to_string());
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, kind, seconds, seed, paths @ ..] = &args[..] else {
        eprintln!("usage: fuzz (litmus|cat|macros|sim) SECONDS SEED PATH...");
        std::process::exit(2);
    };
    let seconds: u64 = seconds.parse().unwrap_or(60);
    let seed: u64 = seed.parse().unwrap_or(1);
    let mut files = Vec::new();
    paths.iter().for_each(|p| collect(Path::new(p), &mut files));
    let endings: &[&str] = match kind.as_str() {
        "cat" => &["cat", "bell"],
        "macros" => &["def"],
        _ => &["litmus"],
    };
    let wanted = |p: &PathBuf| p.extension().is_some_and(|e| endings.iter().any(|x| e == *x));
    let texts: Vec<String> = files
        .iter()
        .filter(|p| wanted(p))
        .filter_map(|p| std::fs::read_to_string(p).ok())
        .collect();
    if texts.is_empty() {
        eprintln!("no texts to begin with");
        std::process::exit(2);
    }
    let models: Vec<(Arch, Model)> = Arch::ALL
        .into_iter()
        .filter_map(|a| {
            let model = cat::load(a.default_model(), &LoadOptions::new(a)).ok()?;
            Some((a, Model::load(&model).ok()?))
        })
        .collect();
    let sample = litmus::read(&Source::new("sample.litmus", TEST)).ok();
    std::panic::set_hook(Box::new(|_| {}));
    // What is being tried, for whoever finds that it does not end.
    let current: Arc<Mutex<(Instant, String)>> =
        Arc::new(Mutex::new((Instant::now(), String::new())));
    let watched = current.clone();
    let name = format!("{kind}-{seed}");
    let hung = format!("fuzz-hung-{name}.txt");
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let guard = watched.lock().unwrap_or_else(PoisonError::into_inner);
            if guard.0.elapsed() > HUNG {
                let _ = std::fs::write(&hung, &guard.1);
                eprintln!("no end: {hung}");
                std::process::exit(1);
            }
        }
    });
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let start = Instant::now();
    let mut simulator = Simulator::default();
    let (mut tried, mut bad, mut longest) = (0u64, 0u32, Duration::ZERO);
    while start.elapsed() < Duration::from_secs(seconds) && bad < 50 {
        let text = changed(&texts, &mut random);
        let began = Instant::now();
        *current.lock().unwrap_or_else(PoisonError::into_inner) = (began, text.clone());
        let work = std::panic::AssertUnwindSafe(|| match kind.as_str() {
            "litmus" => litmus_reader(&text),
            "macros" => macro_reader(&text),
            "cat" => {
                if let (Some(model), Some(test)) = (model(&text), &sample) {
                    let options =
                        Options { timeout: Some(Duration::from_secs(1)), ..Options::default() };
                    let _ = simulator.simulate(test, &model, &options);
                }
            }
            _ => simulated(&text, &mut simulator, &models),
        });
        let outcome = std::panic::catch_unwind(work);
        let took = began.elapsed();
        longest = longest.max(took);
        tried += 1;
        let what = match outcome {
            Err(panic) => {
                simulator = Simulator::default();
                let message = panic.downcast_ref::<String>().map(String::as_str);
                let message = message.or(panic.downcast_ref::<&str>().copied());
                Some(format!("panic: {}", message.unwrap_or("?")))
            }
            Ok(()) if took > SLOW => Some(format!("{took:?}")),
            Ok(()) => None,
        };
        if let Some(what) = what {
            bad += 1;
            let file = format!("fuzz-{name}-{bad}.txt");
            let _ = std::fs::write(&file, &text);
            eprintln!("{file}: {what}");
        }
    }
    println!("{name}: {tried} inputs, {bad} bad, longest {longest:?}");
    std::process::exit(i32::from(bad > 0));
}
