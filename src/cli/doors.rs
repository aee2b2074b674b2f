//! Accepts the options of herd7, diy7 and litmus7, with one dash. An option that litmake has is
//! translated; for any other, the error says what litmake has in its place. `docs/from-herd.md` has
//! the same tables for people.

use std::path::Path;

use litmake::diag::{Diag, Result};

/// The answer to an option of another tool.
enum Door {
    /// litmake has it as this option.
    Is(&'static str),
    /// litmake has no such option; this text says what to do.
    Say(&'static str),
}

use Door::{Is, Say};

/// Options of herd7, for `sim`.
const HERD: &[(&str, Door)] = &[
    ("-model", Is("--model")),
    ("-variant", Is("--variant")),
    ("-conf", Is("--conf")),
    ("-bell", Is("--bell")),
    ("-macros", Is("--macros")),
    ("-unroll", Is("--unroll")),
    ("-timeout", Is("--timeout")),
    ("-show", Say("`--show dot` draws the executions that satisfy the condition")),
    ("-showone", Say("`--show dot` draws one execution, unless --show-limit says more")),
    ("-gv", Say("`--show svg --output FILE` draws for a browser")),
    ("-evince", Say("`--show svg --output FILE` draws for a browser")),
    ("-kinds", Is("--kinds")),
    ("-conds", Is("--conds")),
    ("-names", Is("--names")),
    ("-excl", Is("--exclude")),
    ("-skipcheck", Is("--skip-check")),
    ("-skipchecks", Is("--skip-check")),
    ("-candidates", Say("litmake does not count executions, and prunes them by itself")),
    ("-speedcheck", Say("litmake stops by itself where no further outcome can show")),
    ("-through", Say("litmake prunes executions by itself")),
];

/// Options of diy7, for `generate`.
const DIY: &[(&str, Door)] = &[
    ("-arch", Is("--arch")),
    ("-safe", Is("--vocabulary")),
    ("-relax", Is("--relax")),
    ("-reject", Is("--reject")),
    ("-rejectlist", Is("--reject")),
    ("-size", Is("--size")),
    ("-exact", Is("--exact-size")),
    ("-nprocs", Is("--threads")),
    ("-eprocs", Is("--exact-threads")),
    ("-ins", Is("--per-thread")),
    ("-mode", Is("--mode")),
    ("-obs", Is("--observe")),
    ("-type", Is("--type")),
    ("-mix", Is("--mix")),
    ("-varatom", Is("--annotations")),
    ("-show", Say("`--list` prints the relaxations of a dialect")),
    ("-conf", Say("give its options on the command line, or as keys of a `generate` stage")),
    ("-cond", Say("`--observe` says what is observed, `--every-outcome` lists all outcomes")),
    ("-num", Say("tests are named by their cycles")),
    ("-name", Say("tests are named by their cycles")),
    ("-stdout", Say("tests are printed where no --output is given")),
    (
        "-variant",
        Say("sizes are written at edges (`PodWWw0h2`), pairs as `Pa`: see docs/generate.md"),
    ),
];

/// Options of litmus7, for `cpu`.
const LITMUS: &[(&str, Door)] = &[
    ("-mach", Say("`--profile` names the compiler; the machine is this one")),
    ("-avail", Say("all processors are used; `--on 0,2` names some")),
    ("-smt", Say("`--smt pairs` and `--smt cores` go by what the machine says of its cores")),
    ("-smtmode", Say("`--smt pairs` and `--smt cores` go by what the machine says of its cores")),
    ("-limit", Say("`--seconds` says how long each test runs")),
    ("-size", Say("`--set` gives a parameter of the environments another value")),
    ("-runs", Say("`--seconds` says how long each test runs")),
    ("-stride", Say("`--set` gives a parameter of the environments another value")),
    ("-barrier", Say("the environments have several ways to start threads together")),
    ("-affinity", Say("the environments place threads by themselves")),
    ("-gcc", Say("`--profile` names the compiler, or the variable CC")),
    ("-ccopts", Say("the variable CFLAGS has options for the machine's own compiler")),
    ("-kinds", Say("`--table` prints what the model allows beside what was seen")),
];

/// The command line with the options of other tools translated into litmake's own.
pub fn translated(words: Vec<String>) -> Result<Vec<String>> {
    let command = words.iter().skip(1).position(|w| !w.starts_with('-')).map(|i| i + 1);
    let (tool, table) = match command.map(|i| words[i].as_str()) {
        Some("sim") => ("herd7", HERD),
        Some("generate") => ("diy7", DIY),
        Some("cpu") => ("litmus7", LITMUS),
        Some("check" | "compile" | "diff" | "run") => ("", &[][..]),
        _ => return Ok(words),
    };
    let mut out = Vec::with_capacity(words.len());
    for (i, word) in words.into_iter().enumerate() {
        if let Some(list) = list_without_sign(&word) {
            return Err(Diag::new(format!("{word} is a list of tests"))
                .help(format!("the tests of a list are named by `@` before it: {list}")));
        }
        match table.iter().find(|(name, _)| *name == word && command.is_some_and(|c| i > c)) {
            Some((_, Is(own))) => out.push(own.to_string()),
            Some((name, Say(what))) => {
                return Err(
                    Diag::new(format!("litmake has no option `{name}` of {tool}")).help(*what)
                );
            }
            None => out.push(word),
        }
    }
    Ok(out)
}

/// For the path of a list (`x86t/@all`), the word that names the list (`@x86t/@all`).
fn list_without_sign(word: &str) -> Option<String> {
    let path = Path::new(word);
    let is_list = path.file_name()?.to_str()?.starts_with('@');
    (is_list && !word.starts_with(['@', '-']) && path.is_file()).then(|| format!("@{word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> std::result::Result<String, String> {
        let words = line.split(' ').map(String::from).collect();
        translated(words).map(|w| w.join(" ")).map_err(|e| e.to_string())
    }

    #[test]
    fn options_of_other_tools_are_understood_or_answered() {
        for (line, expected) in [
            ("litmake sim -model sc a.litmus", "litmake sim --model sc a.litmus"),
            ("litmake sim -m sc -I lib a", "litmake sim -m sc -I lib a"),
            (
                "litmake generate -arch C -safe Rfe -nprocs 3 -o x",
                "litmake generate --arch C --vocabulary Rfe --threads 3 -o x",
            ),
            ("litmake explain -model x", "litmake explain -model x"),
        ] {
            assert_eq!(translate(line).as_deref(), Ok(expected));
        }
        let answer = translate("litmake sim -gv a.litmus").unwrap_err();
        assert_eq!(
            answer,
            "error: litmake has no option `-gv` of herd7\n  help: `--show svg --output FILE` draws for a browser"
        );
    }

    #[test]
    fn the_path_of_a_list_is_answered_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("@all");
        litmake::file::write(&list, "").unwrap();
        let answer = translate(&format!("litmake sim {}", list.display())).unwrap_err();
        assert!(answer.ends_with(&format!(": @{}", list.display())), "{answer}");
        assert!(translate(&format!("litmake sim @{}", list.display())).is_ok());
    }

    #[test]
    fn every_door_leads_to_an_option_that_is_there() {
        use clap::CommandFactory;
        for (command, table) in [("sim", HERD), ("generate", DIY), ("cpu", LITMUS)] {
            let all = crate::cli::Cli::command();
            let own = all.find_subcommand(command).unwrap();
            for (name, door) in table {
                let Is(option) = door else { continue };
                let is = |a: &clap::Arg| a.get_long() == option.strip_prefix("--");
                assert!(own.get_arguments().any(is), "{command} {name}");
            }
        }
    }
}
