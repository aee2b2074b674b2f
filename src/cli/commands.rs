//! The list of commands in `litmake --help`: in groups, by what people do with them. It does not
//! know what the commands do.

use clap::{Arg, Command};

/// The groups, with their commands in the order of the list. Below them stand the names of all other
/// commands, which are used seldom or by other programs.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Begin", &["init", "doctor", "list"]),
    (
        "Judge compilers",
        &["check", "run", "hunt", "diff", "bisect", "passes", "tv", "abi", "mapping"],
    ),
    ("Do one step", &["compile", "lift", "sim", "generate", "mutate", "cpu", "mutants", "logs"]),
    ("Results", &["explain", "report", "history", "site", "cache"]),
];

/// Names that commands had before. They are understood, and no list has them.
const FORMER: &[&str] =
    &["merge", "table", "baseline", "profiles", "models", "pipelines", "confidence"];

/// The options and arguments of commands that have many: those that are used most, in their order.
/// `-h` has only these, and `--help` begins with them.
const USUAL: [(&str, &[&str]); 10] = [
    (
        "run",
        &[
            "pipeline", "targets", "dry-run", "set", "report", "html", "findings", "baseline",
            "history", "watch", "shard", "jobs", "cache", "quiet",
        ],
    ),
    (
        "check",
        &[
            "inputs",
            "profile",
            "passes",
            "issue",
            "findings",
            "html",
            "json",
            "run",
            "split",
            "source-model",
            "baseline",
            "jobs",
            "quiet",
        ],
    ),
    (
        "hunt",
        &[
            "budget",
            "profile",
            "findings",
            "state",
            "baseline",
            "source-model",
            "seed",
            "json",
            "jobs",
            "cache",
            "quiet",
        ],
    ),
    (
        "diff",
        &[
            "inputs", "old", "new", "profile", "target", "level", "markdown", "json", "findings",
            "baseline", "jobs", "quiet",
        ],
    ),
    (
        "mapping",
        &[
            "table", "with", "alone", "family", "sample", "json", "findings", "baseline", "report",
            "html", "jobs", "cache", "quiet",
        ],
    ),
    ("abi", &["profile", "type", "json", "baseline", "report", "html", "cache", "quiet"]),
    (
        "sim",
        &["inputs", "model", "json", "explain", "show", "output", "timeout", "certify", "jobs"],
    ),
    (
        "cpu",
        &[
            "inputs",
            "suite",
            "profile",
            "seconds",
            "environments",
            "on",
            "model",
            "json",
            "tune",
            "output",
        ],
    ),
    (
        "generate",
        &[
            "arch",
            "cycle",
            "vocabulary",
            "family",
            "shape",
            "exhaustive",
            "size",
            "sample",
            "seed",
            "output",
            "count",
            "list",
        ],
    ),
    (
        "lift",
        &[
            "files",
            "function",
            "arg",
            "condition",
            "profile",
            "against",
            "list",
            "source-model",
            "output",
        ],
    ),
];

/// The command line, with its commands in groups, and the usual options first.
pub fn grouped(command: Command) -> Command {
    let list = list(&command);
    command
        .mut_subcommands(|sub| {
            let hide = !is_grouped(sub.get_name());
            usual_first(sub).hide(hide)
        })
        .help_template(
            "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\nOptions:\n{options}",
        )
        .after_help(list)
}

/// The command line for manual pages: every command has one, under the name that it has now.
pub fn with_all(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let hide = FORMER.contains(&sub.get_name());
        usual_first(sub).hide(hide)
    })
}

fn is_grouped(name: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&name))
}

/// The name of an argument: that of its option, or its own.
fn name(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().to_string(), String::from)
}

fn usual_first(command: Command) -> Command {
    let Some((_, usual)) = USUAL.iter().find(|(name, _)| *name == command.get_name()) else {
        return command;
    };
    let mut others = usual.len();
    command.mut_args(|arg| match usual.iter().position(|u| *u == name(&arg)) {
        Some(place) => arg.display_order(place),
        None => {
            others += 1;
            arg.display_order(others).hide_short_help(true)
        }
    })
}

fn list(command: &Command) -> String {
    let mut out = Vec::new();
    for (group, names) in GROUPS {
        let mut lines = format!("{group}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            lines += &format!("\n  {name:10}{about}");
        }
        out.push(lines);
    }
    let all = command.get_subcommands().map(Command::get_name);
    let others: Vec<&str> = all.filter(|n| !is_grouped(n) && !FORMER.contains(n)).collect();
    out.push(format!("Also: {}\n`litmake COMMAND -h` says more about each", others.join(", ")));
    out.join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::CommandFactory;

    use super::*;

    /// The command lines of litmake in a text for people: on lines of their own, without what follows
    /// `|`, `&&`, `>` or a comment.
    fn command_lines(text: &str) -> Vec<Vec<String>> {
        let joined = text.replace("\\\n", " ");
        let lines = joined.lines().map(|l| l.trim().trim_start_matches("$ "));
        let lines = lines.filter(|l| l.starts_with("litmake ") && !l.ends_with(','));
        // The last line that a command prints begins with the version.
        let lines =
            lines.filter(|l| !l.starts_with(concat!("litmake ", env!("CARGO_PKG_VERSION"))));
        let end = |word: &String| ["|", "&&", "||", ">", ";"].contains(&word.as_str());
        let words = lines.filter_map(|line| {
            // Two blanks begin a remark.
            let line = line.split("   ").next().unwrap_or(line);
            let words = shlex::split(line.split("  #").next().unwrap_or(line))?;
            let words: Vec<String> = words.into_iter().take_while(|w| !end(w)).collect();
            Some(words).filter(|w| w.len() > 1)
        });
        words.collect()
    }

    /// Whoever copies a command from a page has options that exist.
    #[test]
    fn the_commands_of_every_page_are_understood() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
        for folder in ["docs", "docs/findings"] {
            let entries = std::fs::read_dir(root.join(folder)).expect("a folder");
            pages.extend(entries.map(|e| e.expect("an entry").path()));
        }
        pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
        pages.sort();
        let (mut checked, mut wrong) = (0, Vec::new());
        for page in &pages {
            let text = litmake::file::read_text(page, litmake::file::MAX_DATA).expect("a page");
            // Only what stands in a block is a command: indented, or between fences.
            let blocks = blocks(&text);
            for words in command_lines(&blocks) {
                checked += 1;
                let words = super::super::doors::translated(words).expect("it is understood");
                if let Err(e) = super::super::parsed(&words)
                    && e.exit_code() != 0
                    // A page may leave out what the reader has.
                    && e.kind() != clap::error::ErrorKind::MissingRequiredArgument
                {
                    wrong.push(format!("{}: {}\n{e}", page.display(), words.join(" ")));
                }
            }
        }
        assert!(checked > 100, "only {checked} commands");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// The lines of a page that are code.
    fn blocks(text: &str) -> String {
        let (mut out, mut fenced) = (String::new(), false);
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if fenced || line.starts_with("    ") {
                out += line;
                out.push('\n');
            }
        }
        out
    }

    #[test]
    fn each_command_is_listed_once() {
        let command = super::super::Cli::command();
        let list = list(&command);
        for name in command.get_subcommands().map(Command::get_name) {
            let at = |line: &str| match line.strip_prefix("Also: ") {
                Some(others) => others.split(", ").filter(|n| *n == name).count(),
                None => usize::from(line.starts_with(&format!("  {name:10}"))),
            };
            let expected = usize::from(!FORMER.contains(&name));
            assert_eq!(list.lines().map(at).sum::<usize>(), expected, "{name}: {list}");
        }
        let known = |name: &&str| command.find_subcommand(name).is_some();
        assert!(GROUPS.iter().flat_map(|(_, names)| *names).chain(FORMER).all(known));
    }

    #[test]
    fn usual_options_exist() {
        let command = super::super::Cli::command();
        for (of, usual) in USUAL {
            let known: Vec<String> =
                command.find_subcommand(of).unwrap().get_arguments().map(name).collect();
            for option in usual {
                assert!(known.iter().any(|k| k == option), "{of} has no {option}: {known:?}");
            }
        }
    }

    #[test]
    fn the_help_of_a_command_fits_a_screen() {
        let mut all = grouped(super::super::Cli::command());
        all.build();
        for command in all.get_subcommands_mut() {
            let name = command.get_name().to_string();
            let help = command.render_help().to_string();
            assert!(help.lines().count() <= 44, "{name}: {help}");
        }
    }

    #[test]
    fn the_list_fits_a_screen() {
        let help = grouped(super::super::Cli::command()).render_help().to_string();
        assert!(help.lines().count() <= 46, "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
