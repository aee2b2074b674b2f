//! Tests the page that simulates, `scripts/page`, in a real browser: its answers are those of the program.

use std::path::{Path, PathBuf};

use litmake_page::{Asked, Question, answer};
use serde_json::{Value, json};

use super::AUDIT;
use super::browser::Browser;

/// A folder of tests that the page is to answer, too, besides those of the tree.
const MORE: &str = "LITMAKE_PAGE_TESTS";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The page in a browser, once it has given its first answer.
fn opened(after: &str) -> Option<Browser> {
    let path = root().join("target/page/index.html");
    let found = path.canonicalize().map_err(|_| "scripts/page makes it");
    let path = litmake_needs::need("the page that simulates", found)?;
    let mut browser = Browser::start()?;
    browser.open(&path.with_file_name(format!("index.html{after}")));
    settled(&mut browser);
    Some(browser)
}

/// Waits until nothing is computed.
fn settled(browser: &mut Browser) {
    browser.eval(
        "new Promise((done) => { const look = () => \
         at('result').getAttribute('aria-busy') === 'false' && !waiting ? done() : setTimeout(look, 20); look(); })",
    );
}

fn result(browser: &mut Browser) -> String {
    browser.eval("at('result').textContent").as_str().unwrap().to_string()
}

/// An answer without what differs from time to time.
fn lasting(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("seconds");
    }
    if let Some(Value::String(log)) = answer.get_mut("log") {
        *log = log.lines().filter(|l| !l.starts_with("Time ")).collect::<Vec<_>>().join("\n");
    }
    answer
}

/// All tests below a folder.
fn tests(folder: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|e| e == "litmus") {
            found.extend(std::fs::read_to_string(&path));
        }
    }
}

#[test]
fn the_page_answers_as_the_program_does() {
    let Some(mut browser) = opened("") else { return };
    let mut texts = Vec::new();
    for folder in ["pipelines", "tests/program/controls", "src/page/examples"] {
        tests(&root().join(folder), &mut texts);
    }
    if let Some(folder) = std::env::var_os(MORE) {
        tests(Path::new(&folder), &mut texts);
    }
    assert!(texts.len() > 20, "{}", texts.len());
    for test in texts {
        let question = Question::Simulate { test: test.clone(), model: None };
        let question = serde_json::to_value(question).unwrap();
        let here: Value = serde_json::from_str(&answer(&question.to_string())).unwrap();
        assert_eq!(lasting(browser.eval(&format!("ask({question})"))), lasting(here), "{test}");
    }
    let more = [
        Question::About,
        Question::Why {
            test: include_str!("../../../page/examples/LB.litmus").into(),
            model: Some(Asked { name: "rc11".into(), text: None }),
            state: "0:r=1; 1:r=0".into(),
        },
        Question::Simulate {
            test: include_str!("../../../page/examples/LB.litmus").into(),
            model: Some(Asked {
                name: "yours".into(),
                text: Some("acyclic po | rf | co | fr\n".into()),
            }),
        },
        Question::Simulate { test: "C broken".into(), model: None },
    ];
    for question in more {
        let question = serde_json::to_value(question).unwrap();
        let here: Value = serde_json::from_str(&answer(&question.to_string())).unwrap();
        assert_eq!(lasting(browser.eval(&format!("ask({question})"))), lasting(here), "{question}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_reader_edits_a_test_and_sends_a_link_to_it() {
    let Some(mut browser) = opened("") else { return };
    for (width, dark) in [(1280, false), (420, false), (1280, true), (420, true)] {
        browser.look(width, dark);
        assert_eq!(browser.eval(AUDIT), json!([]), "{width} {dark}");
    }
    let forbidden = result(&mut browser);
    assert!(forbidden.contains("does not hold under rc11: 3 outcomes"), "{forbidden}");
    browser.eval("at('test').value = at('test').value.replaceAll('seq_cst', 'relaxed'); run()");
    settled(&mut browser);
    let allowed = result(&mut browser);
    assert!(allowed.contains("holds under rc11: 4 outcomes"), "{allowed}");
    browser.eval("why('')");
    settled(&mut browser);
    assert!(browser.eval("!!at('reason').querySelector('svg')") == true);
    assert!(result(&mut browser).contains("is allowed. An execution that shows it:"));
    // The link has the test as it was edited; another window shows it.
    let link = browser.eval("link()").as_str().unwrap().to_string();
    let mut other = opened(&link).unwrap();
    assert!(result(&mut other).contains("holds under rc11: 4 outcomes"));
    // A model is edited: without its checks, everything is allowed.
    other.eval("at('model').value = 'sc'; at('edit').click(); run()");
    settled(&mut other);
    assert!(result(&mut other).contains("does not hold under yours.cat: 3 outcomes"));
    other.eval("at('own').value = 'let nothing = 0\\n'; run()");
    settled(&mut other);
    assert!(result(&mut other).contains("holds under yours.cat: 4 outcomes"));
    // What is wrong with a test is said, with its place.
    other.eval("at('model').value = ''; at('test').value = 'C x\\n{}\\nP0 (atomic_int* x) { *x = ; }\\n'; run()");
    settled(&mut other);
    assert!(result(&mut other).contains("test:3:27: error"), "{}", result(&mut other));
}

#[test]
fn a_change_is_judged_and_long_work_is_stopped() {
    let Some(mut browser) = opened("") else { return };
    browser.click("#compare", false);
    settled(&mut browser);
    let refuted = result(&mut browser);
    assert!(refuted.contains("1 pair: 1 refuted"), "{refuted}");
    browser.eval("example(1); run()");
    settled(&mut browser);
    assert!(result(&mut browser).contains("1 holds for all"), "{}", result(&mut browser));
    assert_eq!(browser.eval(AUDIT), json!([]));
    // Twelve threads that each look at a counter: nobody waits for that.
    let threads: String = (0..12)
        .map(|n| format!("P{n} (atomic_int* x) {{ int r = atomic_fetch_add(x, 1); }}\n"))
        .collect();
    let reads: Vec<String> = (0..12).map(|n| format!("{n}:r")).collect();
    let long =
        format!("C long\n{{}}\n{threads}locations [{};]\nexists (0:r=0)\n", reads.join("; "));
    browser.eval("at('simulate').click()");
    browser.eval(&format!("at('test').value = {}; void run()", json!(long)));
    browser.click("#stop", false);
    settled(&mut browser);
    assert!(
        result(&mut browser).contains("Stopped: there is no answer."),
        "{}",
        result(&mut browser)
    );
    browser.eval("example(0); run()");
    settled(&mut browser);
    assert!(result(&mut browser).contains("3 outcomes"));
}
