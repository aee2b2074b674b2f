//! Cases of lifting (`tests/lift/*.case`): a test, and what has to come out where compilers make code of it.
//!
//! A case is paragraphs, and below them the test, which begins with its dialect `C`. A paragraph that begins with `check`
//! or `compile` is a command of litmake with its options and profiles, `{a,b}` standing for each of `a` and `b`. The
//! lines below say what has to come out: `clean` or `bug` (of `check`), `lifted` (of `compile`), or `refused`; with
//! `has` and `lacks`, a text that is printed or is not. A profile whose compiler is not installed is left out; `needs`
//! names another tool or file without which the paragraph is. Other paragraphs are for readers.

use std::path::Path;
use std::sync::OnceLock;

use litmake::pipeline::plan::profile_folders;
use litmake::profile::Profiles;
use litmake::profile::files::Disk;
use litmake::toolchain::process;
use litmake_needs::{here, holds};

use crate::scratch::Scratch;

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                holds_what_it_says(stringify!($name));
            }
        )*

        #[test]
        fn every_case_is_tested() {
            let folder = std::fs::read_dir(folder()).expect("the cases");
            let mut files: Vec<String> = folder
                .map(|f| f.expect("a file").file_name().to_string_lossy().replace('-', "_"))
                .collect();
            files.sort();
            assert_eq!(files, [$(concat!(stringify!($name), ".case")),*]);
        }
    };
}

cases! {
    after_branch, aligned, bit_by_bit, bpf_addend, bpf_calls, chosen, condition_again, condition_both, condition_every_way,
    conditional_call, element, element_short, elements, exchange, filled, floats, frame, go_add, go_load_store, go_miss,
    go_miss_message, go_no_byte, go_no_found, go_no_order, i386, linker_made, load, load_const, members, members_both,
    mips_r6, narrow, narrowed, one_function, ones, part_of_address, parts, parts_of_word, pool, published, pushed,
    pushed_wide, returns_elsewhere, s390x_part, spilled_together, structures, swap, table, two_names, unsigned_slot, update,
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lift"))
}

/// A command, and what has to come out for each of its profiles.
#[derive(Default)]
struct Claim {
    command: String,
    options: Vec<String>,
    profiles: Vec<String>,
    needs: Vec<String>,
    outcome: String,
    has: Vec<String>,
    lacks: Vec<String>,
}

/// Each word that a word with `{a,b}` in it stands for.
fn spread(word: &str) -> Vec<String> {
    let Some((before, rest)) = word.split_once('{') else { return vec![word.to_string()] };
    let (inside, after) = rest.split_once('}').unwrap_or_else(|| panic!("no `}}` in {word}"));
    let ends = spread(after);
    let each = inside.split(',').flat_map(|part| ends.iter().map(move |end| (part, end)));
    each.map(|(part, end)| format!("{before}{part}{end}")).collect()
}

/// The claims of a paragraph, one for each way to read the options; none where it is for readers.
fn claims(paragraph: &str) -> Vec<Claim> {
    let mut lines = paragraph.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let command = words.next().filter(|word| ["check", "compile"].contains(word));
    let Some(command) = command else { return Vec::new() };
    let (mut ways, mut profiles) = (vec![Vec::new()], Vec::new());
    let mut takes = false;
    for word in words {
        let is_option = word.starts_with("--") || takes;
        takes = word == "--storage";
        if !is_option {
            profiles.extend(spread(word));
            continue;
        }
        let each = |way: &Vec<String>| {
            spread(word).into_iter().map(|one| [&way[..], &[one]].concat()).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(each).collect();
    }
    let of = |options| Claim {
        command: command.to_string(),
        options,
        profiles: profiles.clone(),
        ..Claim::default()
    };
    let mut all: Vec<Claim> = ways.into_iter().map(of).collect();
    for line in lines {
        let (verb, text) = line.trim_start().split_once(' ').unwrap_or((line.trim_start(), ""));
        let text = text.strip_prefix('`').and_then(|t| t.strip_suffix('`')).unwrap_or(text);
        for claim in &mut all {
            match verb {
                "has" => claim.has.push(text.to_string()),
                "lacks" => claim.lacks.push(text.to_string()),
                "needs" => claim.needs.push(text.to_string()),
                "clean" | "bug" | "lifted" | "refused" => claim.outcome = verb.to_string(),
                _ => panic!("`{line}` is no outcome, and not `has`, `lacks` or `needs`"),
            }
        }
    }
    all
}

fn is_here(tool: &str) -> bool {
    match tool.contains('/') {
        true => holds(tool, Path::new(tool).exists()),
        false => here(tool),
    }
}

fn holds_what_it_says(name: &str) {
    let path = folder().join(format!("{}.case", name.replace('_', "-")));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (about, test) = text.split_once("\n\nC ").expect("a test in C");
    let s = Scratch::with(&[("t.litmus", &format!("C {test}"))]);
    let known = Profiles::load(&Disk, &profile_folders(Path::new(".")), &[]);
    let claims: Vec<Claim> = about.split("\n\n").flat_map(claims).collect();
    assert!(!claims.is_empty(), "{name} says nothing of what has to come out");
    for claim in claims {
        assert!(!claim.outcome.is_empty() && !claim.profiles.is_empty(), "{name}: {about}");
        if !claim.needs.iter().all(|tool| is_here(tool)) {
            continue;
        }
        let installed = |profile: &&String| {
            let found = known.find(&Disk, Path::new("."), profile);
            let compiler = &found.unwrap_or_else(|e| panic!("{e}")).compiler;
            holds(compiler, process::find(compiler).is_some())
        };
        let profiles: Vec<&str> =
            claim.profiles.iter().filter(installed).map(String::as_str).collect();
        // That all are clean, one command says.
        let together = claim.outcome == "clean" && claim.has.is_empty();
        for profiles in profiles.chunks(if together { profiles.len().max(1) } else { 1 }) {
            holds_for(&s, &claim, profiles);
        }
    }
}

/// A cache that all cases share: each compiler is looked at once.
fn cache() -> &'static str {
    static CACHE: OnceLock<String> = OnceLock::new();
    CACHE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases");
        // What an earlier run of the tests left is not used.
        let _ = std::fs::remove_dir_all(&folder);
        folder.display().to_string()
    })
}

/// A claim about some profiles.
fn holds_for(s: &Scratch, claim: &Claim, profiles: &[&str]) {
    let mut args = vec![&*claim.command];
    if claim.command == "check" {
        args.extend(["--cache", cache()]);
    }
    args.extend(claim.options.iter().map(String::as_str));
    args.extend(profiles.iter().flat_map(|profile| ["--profile", profile]));
    // That a bug is there is asked here, and not since when, nor why, which are parts of what is printed for people.
    let is_asked_why = !claim.has.is_empty() && !claim.options.contains(&"--json".to_string());
    if claim.outcome == "bug" && !is_asked_why {
        args.extend(["--investigate-seconds", "0"]);
    }
    args.push("t.litmus");
    let (status, said) = s.litmake(&args);
    let came = match (&*claim.command, status) {
        ("check", 0) => "clean",
        ("check", 1) => "bug",
        ("compile", 0) => "lifted",
        _ => "refused",
    };
    assert_eq!(came, claim.outcome, "litmake {}\n{said}", args.join(" "));
    for text in &claim.has {
        assert!(said.contains(text), "no `{text}`: litmake {}\n{said}", args.join(" "));
    }
    for text in &claim.lacks {
        assert!(!said.contains(text), "`{text}`: litmake {}\n{said}", args.join(" "));
    }
}

#[test]
fn a_paragraph_is_read_as_it_is_meant() {
    let read = claims(
        "check --storage {globals,statics} --helpers a-{b,c}-{d,e} f\n  clean\n  has x y\n  lacks `z `",
    );
    let all: Vec<String> = read.iter().map(|c| c.options.join(" ")).collect();
    assert_eq!(all, ["--storage globals --helpers", "--storage statics --helpers"]);
    for claim in &read {
        assert_eq!(claim.profiles, ["a-b-d", "a-b-e", "a-c-d", "a-c-e", "f"]);
        assert_eq!(
            (&*claim.outcome, &*claim.has, &*claim.lacks),
            ("clean", &["x y".to_string()][..], &["z ".to_string()][..])
        );
    }
    assert!(claims("What is for readers.").is_empty());
}
