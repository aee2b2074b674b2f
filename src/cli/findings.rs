//! `--findings DIR`: writes a folder for each bug, with everything that somebody needs who gets
//! only the folder. Without folders, gives findings commands that need no other files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use litmake::cat::{self, LoadOptions};
use litmake::diag::{Diag, Result, Source};
use litmake::lang::Language;
use litmake::litmus::{self, list};
use litmake::pipeline::plan::Plan;
use litmake::plain;
use litmake::profile::types::{Observe, Storage};
use litmake::profile::{Profile, builds, shipped};
use litmake::report::bugs::OCCURRENCES;
use litmake::report::compilation::{Compilation, Instruction};
use litmake::report::issue::{Issue, Tracker};
use litmake::report::mechanism::{Change, Mechanism};
use litmake::report::{self, Class, Finding, Report, Status, explorer};
use litmake::sim::{Model, Options, Simulator};
use litmake::stage::investigate::bugs::Budget;
use litmake::stop::Stop;
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::lift::Listed;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

use super::{certificate, common};

/// The options about findings.
#[derive(clap::Args)]
pub struct Ask {
    /// Write a folder for each bug, with everything that shows it
    ///
    /// The original and the reduced test, the source that the compiler gets, its code, a script that
    /// reproduces the bug, and the text of an issue
    #[arg(long, value_name = "DIR")]
    pub findings: Option<PathBuf>,

    /// How many tests and profiles that show a bug are in the report, the first ones by name; the
    /// others are only counted
    #[arg(long, value_name = "N|all", default_value_t = Occurrences(Some(OCCURRENCES)))]
    occurrences: Occurrences,

    /// Write every difference as a line of JSON, with the id of its bug
    #[arg(long, value_name = "FILE")]
    pub details: Option<PathBuf>,

    /// Investigate differences for at most S seconds; the others are counted as not looked into
    #[arg(long, value_name = "S", default_value_t = Budget::default().time.as_secs())]
    investigate_seconds: u64,

    /// What a hunt knows already; nothing otherwise
    #[arg(skip)]
    part: Option<Vec<Mechanism>>,
}

impl Default for Ask {
    fn default() -> Ask {
        Ask {
            findings: None,
            occurrences: Occurrences(Some(OCCURRENCES)),
            details: None,
            investigate_seconds: Budget::default().time.as_secs(),
            part: None,
        }
    }
}

impl Ask {
    /// The same options for a pipeline that is part of a command: findings are placed later, the time is short,
    /// and bugs with these mechanisms are known.
    pub fn for_part(&self, seconds: u64, known: Vec<Mechanism>) -> Ask {
        Ask {
            findings: None,
            occurrences: self.occurrences,
            details: None,
            investigate_seconds: self.investigate_seconds.min(seconds),
            part: Some(known),
        }
    }

    pub fn occurrences(&self) -> Option<usize> {
        self.occurrences.0
    }

    pub fn budget(&self) -> Budget {
        let time = Duration::from_secs(self.investigate_seconds);
        // Where the time is short, one difference must not take all of it.
        let each = self.part.as_ref().map(|_| time / 4);
        let known = self.part.clone().unwrap_or_default();
        Budget { time, each, known, ..Budget::default() }
    }

    /// The time for everything that is done with findings, where it is short.
    pub fn limit(&self) -> Option<Duration> {
        self.part.as_ref().map(|_| Duration::from_secs(self.investigate_seconds))
    }
}

/// A number of occurrences, or all.
#[derive(Clone, Copy, Debug)]
struct Occurrences(Option<usize>);

impl std::str::FromStr for Occurrences {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Occurrences, String> {
        match text {
            "all" => Ok(Occurrences(None)),
            n => match n.parse() {
                Ok(n) if n > 0 => Ok(Occurrences(Some(n))),
                _ => Err(format!("`{n}` is neither a number of occurrences nor `all`")),
            },
        }
    }
}

impl std::fmt::Display for Occurrences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("all"),
        }
    }
}

/// The profiles of a plan, by name.
pub type Used = BTreeMap<String, Arc<Profile>>;

pub fn used(plan: &Plan) -> Used {
    let all = plan.nodes.iter().flat_map(|n| n.profile.iter().chain(&n.mixed));
    all.map(|p| (p.name.clone(), p.clone())).collect()
}

/// Gives each finding a file that shows it and a command that can be run as it stands; in a folder
/// of its own if the user asks for folders.
pub fn place(report: &mut Report, profiles: &Used, folder: Option<&Path>) -> Result<()> {
    describe(report, profiles);
    for finding in &mut report.findings {
        if finding.status == Status::Fixed || !finding.file.is_empty() {
            continue;
        }
        match folder {
            Some(folder) => written(finding, profiles, folder)?,
            None => in_place(finding),
        }
    }
    Ok(())
}

/// Adds to each new finding how its smallest test is compiled.
fn describe(report: &mut Report, profiles: &Used) {
    let Report { findings, compilers, .. } = report;
    let is_new = |f: &&mut Finding| f.status == Status::New && f.compilations.is_empty();
    for finding in findings.iter_mut().filter(is_new) {
        let own = own(finding, profiles);
        finding.compilations = own.iter().map(|p| compilation(finding, p, compilers)).collect();
    }
}

/// Without folders: the command names the test's own file. If the test has none, the command writes
/// one first.
fn in_place(finding: &mut Finding) {
    // A layout has a type and no file: the command names the type.
    if finding.class == Class::AbiLayout {
        return;
    }
    let test = std::slice::from_ref(&finding.test);
    if Path::new(&finding.test).is_file() {
        finding.file = finding.test.clone();
    }
    if list::existing(test).is_ok() {
        return;
    }
    let name = format!("{}.litmus", name(finding));
    if let Some(before) = finding.command.strip_suffix(&format!(" {}", plain::path(&finding.test)))
        && !finding.reproducer.is_empty()
    {
        let text = finding.reproducer.replace('\\', "\\\\").replace('%', "%%").replace('\n', "\\n");
        finding.command = format!("printf {} > {name} && {before} {name}", plain::word(&text));
    }
}

/// The name of a bug's folder.
fn name(finding: &Finding) -> String {
    format!("{}-{}", finding.class.name(), finding.id)
}

/// The folder of a finding, as its files are written.
struct Files<'a> {
    folder: &'a Path,
}

impl Files<'_> {
    fn write(&self, name: &str, text: &str) -> Result<()> {
        litmake::file::write(&self.folder.join(name), text)
    }
}

fn written(finding: &mut Finding, profiles: &Used, folder: &Path) -> Result<()> {
    let path = folder.join(name(finding));
    std::fs::create_dir_all(&path)
        .map_err(|e| Diag::new(format!("cannot make {}: {e}", path.display())))?;
    let files = Files { folder: &path };
    let original = match finding.source.is_empty() {
        true => finding.reproducer.clone(),
        false => finding.source.clone(),
    };
    // A layout is about a type, so it has no test.
    let is_test = finding.class != Class::AbiLayout;
    let first = if is_test { "test.litmus" } else { "source.c" };
    if is_test {
        files.write("test.litmus", &finding.reproducer)?;
        files.write("original.litmus", &original)?;
    }
    let (_, target, _) = finding.smallest();
    if is_test && !target.is_empty() {
        files.write("code.litmus", target)?;
        certify(finding, &files)?;
    }
    let own = own(finding, profiles);
    let mut named: Vec<(String, String)> = Vec::new();
    // Everybody's litmake has its own profiles, but not those of files.
    let mut foreign: Vec<(String, String)> = Vec::new();
    for (i, profile) in own.iter().enumerate() {
        let file = match own.len() {
            1 => "profile.yaml".to_string(),
            _ => format!("profile-{}.yaml", i + 1),
        };
        files.write(&file, &yaml(profile, &files)?)?;
        if !shipped::is(profile) {
            foreign.push((profile.name.clone(), file.clone()));
        }
        named.push((profile.name.clone(), file));
    }
    match (is_test, own.first()) {
        (true, Some(profile)) => {
            if let Some((extension, text)) = given(finding, profile) {
                files.write(&format!("source.{extension}"), &text)?;
            }
        }
        (true, None) => {}
        (false, _) => files.write("source.c", &finding.reproducer)?,
    }
    if finding.command.starts_with(ON_GPU) {
        alone(finding, &path)?;
    }
    let command = command(finding, &named, &files)?;
    files.write("repro.sh", &script(finding, &own, &command))?;
    let again = bare(&self::command(finding, &foreign, &files)?);
    let issue = Issue { finding, again: format!("litmake {again}") };
    files.write("issue.md", &issue.text(Tracker::of(&finding.family)))?;
    finding.file = path.join(first).display().to_string();
    finding.folder = path.display().to_string();
    finding.command = format!("sh {}", plain::path(&path.join("repro.sh").display().to_string()));
    let mut json = serde_json::to_string_pretty(&finding).unwrap_or_default();
    json.push('\n');
    files.write("finding.json", &json)
}

/// So long the certificate of one side of a finding may take.
const PROOF: Duration = Duration::from_secs(10);

/// Writes the certificates of a finding: of the source, that it forbids the outcome, and of the code, that
/// it allows it. A note says which there is none of.
fn certify(finding: &Finding, files: &Files) -> Result<()> {
    let options = Options { timeout: Some(PROOF), ..Options::default() };
    let sides = [
        ("source.cert", &*finding.reproducer, &finding.model_source),
        ("code.cert", finding.smallest().1, &finding.model_target),
    ];
    for (name, text, model) in sides {
        let made = || {
            let test = litmus::read(&Source::new(name, text))?;
            let model = Model::load(&cat::load(model, &LoadOptions::new(test.arch))?)?;
            certificate::made(&mut Simulator::default(), &test, &model, &options)
        };
        match made() {
            Ok(text) => files.write(name, &text)?,
            Err(e) => note!("{}: no {name}: {}", files.folder.display(), e.message),
        }
    }
    Ok(())
}

/// The beginning of the command that runs a test on a GPU again.
const ON_GPU: &str = "litmake mutants run ";

/// For a finding on a GPU, writes files that show it without litmake, if the device shows it once
/// more.
fn alone(finding: &Finding, folder: &Path) -> Result<()> {
    let device = finding.profiles.first().map_or("", |d| d.split(" (").next().unwrap_or_default());
    let test = folder.join("original.litmus");
    match super::mutants::reproduce::finding(&finding.command, &test, device, folder) {
        Ok(true) => {}
        Ok(false) => note!("{} did not show again, so that no files stand alone", finding.test),
        Err(e) => note!("{}: no files stand alone: {}", finding.test, e.message),
    }
    Ok(())
}

/// Calls a function with the compiler of a finding's smallest test, and the test.
fn with_compiler<T>(
    finding: &Finding,
    profile: &Profile,
    call: impl FnOnce(&Compiler, &litmus::Test) -> Option<T>,
) -> Option<T> {
    let test = litmus::read(&Source::new("test", finding.reproducer.as_str())).ok()?;
    let program = process::find(&profile.compiler)?;
    let (runtime, stop) = (Runtime::of(profile, &program), common::stop());
    call(&compiler(finding, profile, &program, &runtime, &stop), &test)
}

/// The source that the compiler gets for the finding, and the ending of its file.
fn given(finding: &Finding, profile: &Profile) -> Option<(&'static str, String)> {
    let text = with_compiler(finding, profile, |c, test| c.source(test).ok())?;
    Some((profile.language.extension(), text))
}

/// The instructions of each thread, if the code is of one compiler.
fn instructions(finding: &Finding, profile: &Profile) -> Vec<Vec<Instruction>> {
    if finding.profiles.len() > 1 || finding.class == Class::AbiLayout {
        return Vec::new();
    }
    let listing = with_compiler(finding, profile, |c, test| c.listed(test).ok());
    let Some(listing) = listing else { return Vec::new() };
    let lines: Vec<&str> = listing.source.lines().collect();
    let one = |own: &str, listed: &Listed| Instruction {
        function: if listed.place.0 == own { String::new() } else { listed.place.0.clone() },
        line: listing
            .line(listed)
            .and_then(|n| lines.get(usize::try_from(n).ok()?.checked_sub(1)?))
            .map_or(String::new(), |line| line.trim().to_string()),
        code: listed.code.clone(),
        became: listed.lines.clone(),
    };
    let of_thread = |thread: &Vec<Listed>| {
        let own = thread.first().map_or("", |listed| &listed.place.0);
        thread.iter().map(|listed| one(own, listed)).collect()
    };
    listing.threads.iter().map(of_thread).collect()
}

/// The compiler that a finding was made with, with the preparation that its command names.
pub fn compiler<'a>(
    finding: &Finding,
    profile: &'a Profile,
    program: &'a Path,
    runtime: &'a Runtime,
    stop: &'a Stop,
) -> Compiler<'a> {
    let words = shlex::split(&finding.command).unwrap_or_default();
    let has = |word: &str| words.iter().any(|w| w == word);
    Compiler {
        profile,
        program,
        observe: Observe::Condition,
        storage: match () {
            () if has("globals") => Storage::Globals,
            () if has("statics") => Storage::Statics,
            () => Storage::Pointers,
        },
        helpers: has("--helpers"),
        runtime,
        stop,
    }
}

/// A profile as a self-contained file: YAML, written as JSON.
fn yaml(profile: &Profile, files: &Files) -> Result<String> {
    let compiler = match profile.compiler.contains('/') {
        true => absolute(&profile.compiler),
        false => profile.compiler.clone(),
    };
    let mut out = serde_json::json!({
        "name": profile.name,
        "compiler": compiler,
        "language": profile.language.name(),
        "args": profile.args.iter().map(|a| a.replace("${", "$${")).collect::<Vec<_>>(),
        "arch": profile.arch.name(),
        "timeout": profile.timeout.as_secs(),
        "memory": profile.memory_mib,
    });
    if let Some(model) = &profile.model {
        out["model"] = files.model(model)?.into();
    }
    for (key, map) in [("env", &profile.env), ("runtime", &profile.runtime)] {
        if !map.is_empty() {
            out[key] = serde_json::json!(map);
        }
    }
    if !profile.mapping.is_empty() {
        out["mapping"] = serde_json::json!(profile.mapping);
    }
    if !profile.inputs.is_empty() {
        let paths = profile.inputs.iter().map(|p| absolute(&p.display().to_string()));
        out["inputs"] = serde_json::json!(paths.collect::<Vec<_>>());
    }
    let mut text = serde_json::to_string_pretty(&out).unwrap_or_default();
    text.push('\n');
    Ok(text)
}

fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_string(), |p| p.display().to_string())
}

impl Files<'_> {
    /// The name of a model for the folder's command. A built-in name stays; a file is copied with
    /// the files that it includes from beside it.
    fn model(&self, model: &str) -> Result<String> {
        let path = Path::new(model);
        let Some(name) = path.file_name().filter(|_| path.is_file()) else {
            return Ok(model.to_string());
        };
        let mut todo = vec![path.to_path_buf()];
        while let Some(path) = todo.pop() {
            let Some(name) = path.file_name() else { continue };
            let here = self.folder.join(name);
            if here.exists() && here.canonicalize().ok() == path.canonicalize().ok() {
                continue;
            }
            let text = litmake::file::read_text(&path, litmake::file::MAX_DATA)
                .map_err(|e| Diag::new(format!("cannot read {}: {e}", path.display())))?;
            if litmake::file::read_text(&here, litmake::file::MAX_DATA).is_ok_and(|t| t == text) {
                continue;
            }
            for part in text.split("include").skip(1) {
                let quoted = part.trim_start().strip_prefix('"').and_then(|p| p.split_once('"'));
                let beside = quoted.map(|(name, _)| path.with_file_name(name));
                todo.extend(beside.filter(|p| p.is_file()));
            }
            self.write(&name.to_string_lossy(), &text)?;
        }
        Ok(format!("./{}", name.to_string_lossy()))
    }
}

/// The finding's command, with the file names of its folder.
fn command(finding: &Finding, profiles: &[(String, String)], files: &Files) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let mut words = shlex::split(&finding.command).unwrap_or_default().into_iter().skip(1);
    while let Some(word) = words.next() {
        let is_test = word == finding.test || word.strip_prefix("./") == Some(&finding.test);
        match &*word {
            "--profile" => {
                let name = words.next().unwrap_or_default();
                let file = profiles.iter().find(|(n, _)| *n == name).map(|(_, f)| f.clone());
                out.extend([word, file.map_or(name, |f| format!("./{f}"))]);
            }
            "--source-model" | "--target-model" => {
                let model = words.next().unwrap_or_default();
                out.extend([word, files.model(&model)?]);
            }
            _ if is_test && finding.class != Class::AbiLayout => out.push("test.litmus".into()),
            _ => out.push(word),
        }
    }
    Ok(out)
}

fn line(words: &[String]) -> String {
    words.iter().map(|w| plain::word(w)).collect::<Vec<_>>().join(" ")
}

/// A command line for people: words that no shell changes have no quotes.
fn bare(words: &[String]) -> String {
    let is_bare = |w: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:@%".contains(c);
        !w.is_empty() && w.chars().all(is_plain)
    };
    let shown = |w: &String| if is_bare(w) { w.clone() } else { plain::word(w).to_string() };
    words.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The script that reproduces the bug.
fn script(finding: &Finding, profiles: &[&Arc<Profile>], command: &[String]) -> String {
    let compilers: Vec<&str> = profiles.iter().map(|p| &*p.compiler).collect();
    let needs = match compilers.is_empty() {
        true => "litmake".to_string(),
        false => format!("{} and litmake", plain::line(&compilers.join(", "))),
    };
    // What it prints has the id of this folder: the passes are asked for if one is part of it, and
    // the test is reduced where only its form tells the bug.
    let is_check = command.first().is_some_and(|word| word == "check");
    let by_form = |m: &Mechanism| matches!(m.change, Change::Value | Change::Survives);
    let mut more = String::new();
    if is_check && !finding.mechanism.as_ref().is_some_and(by_form) {
        more += " --investigate 0";
    }
    if is_check && finding.mechanism.as_ref().is_some_and(|m| !m.pass.is_empty()) {
        more += " --passes";
    }
    let ends = match finding.is_load_buffering() {
        true => {
            "Says `known load buffering` where it is there, and ends with status 0 in any case."
        }
        false => "Ends with status 1 where the bug is there, and 0 where it is not.",
    };
    format!(
        "#!/bin/sh\n# {}\n# {ends}\n\
         # It needs {needs}: LITMAKE names the latter where it is not on the path.\n\
         cd \"$(dirname \"$0\")\" || exit 2\n\
         cache=$(mktemp -d) || exit 2\n\
         trap 'rm -rf \"$cache\"' EXIT\n\
         LITMAKE_CACHE=$cache \"${{LITMAKE:-litmake}}\" {}{more}\n",
        plain::line(&finding.title()),
        line(command),
    )
}

/// The texts of a report's issues, and why some findings have none.
pub struct Issues {
    pub texts: Vec<String>,
    pub left_out: Vec<String>,
}

/// The issues for a tracker: one for each new bug of its compilers.
pub fn issues(report: &mut Report, profiles: &Used, tracker: Tracker) -> Issues {
    describe(report, profiles);
    let (mut texts, mut left_out) = (Vec::new(), Vec::new());
    for finding in &report.findings {
        let why = match () {
            () if finding.status != Status::New => "it is known",
            () if !finding.label.is_empty() => "a weaker model of the source allows it",
            () if !finding.family.contains(tracker.family()) => {
                "it is not of this tracker's compiler"
            }
            () => {
                texts.push(Issue::of(finding).text(tracker));
                continue;
            }
        };
        left_out.push(format!("no issue for {} ({}): {why}", finding.id, finding.title()));
    }
    Issues { texts, left_out }
}

/// The profiles that a finding names.
fn own<'a>(finding: &Finding, profiles: &'a Used) -> Vec<&'a Arc<Profile>> {
    finding.profiles.iter().filter_map(|p| profiles.get(p)).collect()
}

/// How the smallest test of a finding is compiled with a profile.
fn compilation(
    finding: &Finding,
    profile: &Profile,
    compilers: &[report::Compiler],
) -> Compilation {
    let words: Vec<String> =
        std::iter::once(&profile.compiler).chain(&profile.args).cloned().collect();
    let file = format!("source.{}", profile.language.extension());
    let version = compilers.iter().find(|c| c.profile == profile.name);
    let version = version.map(|c| c.version.clone()).unwrap_or_default();
    let source = given(finding, profile).map(|(_, text)| text).unwrap_or_default();
    let (prefix, tool) = builds::parts(&profile.compiler);
    let link = match source.is_empty() {
        true => String::new(),
        false => explorer::link(&explorer::Given {
            language: match profile.language {
                Language::Cpp => "c++",
                other => other.name(),
            },
            source: &source,
            compiler: explorer::compiler(tool, prefix, &version),
            args: &profile.args,
        }),
    };
    let dumps = match profile.maker() {
        "clang" => "-mllvm -print-module-scope -mllvm -print-after-all",
        "gcc" => "-fdump-tree-all -fdump-rtl-all",
        _ => "",
    };
    Compilation {
        profile: profile.name.clone(),
        version,
        command: format!("{} -S -o - {file}", bare(&words)),
        dumps: dumps.to_string(),
        file,
        source,
        link,
        threads: instructions(finding, profile),
    }
}
