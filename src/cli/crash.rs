//! `litmake check --run`: runs the compiled tests, and reports those that crash.

use std::path::{Path, PathBuf};

use litmake::diag::{Diag, Result, Source};
use litmake::file;
use litmake::litmus;
use litmake::plain;
use litmake::profile::Profile;
use litmake::profile::files::Disk;
use litmake::profile::types::{Observe, Storage};
use litmake::report::bugs::join;
use litmake::report::{Class, Error, Finding, Report};
use litmake::stage::collect::form;
use litmake::stop::Stopping;
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::execute::Ran;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

use super::common;

/// Runs every test with the code of every profile, and adds crashes to a report.
pub fn extend(report: &mut Report, profiles: &[String], paths: &[PathBuf]) -> Result<()> {
    let stop = common::stop();
    for name in profiles {
        let profile = common::find_profile(&Disk, name)?;
        let Some(program) = process::find(&profile.compiler) else {
            // The missing compiler is an error in the report already.
            continue;
        };
        let runtime = Runtime::of(&profile, &program);
        let compiler = Compiler {
            profile: &profile,
            program: &program,
            observe: Observe::Condition,
            storage: Storage::Pointers,
            helpers: false,
            runtime: &runtime,
            stop: &stop,
        };
        for path in paths {
            if stop.asked() {
                report.stopped = true;
                return Ok(());
            }
            let test = path.display().to_string();
            let Some((text, read)) = read(path) else { continue };
            match compiler.execute(&read) {
                Ok(Ran::Well) => {}
                Ok(Ran::Signal(signal)) => add(report, &profile, &test, text, signal),
                Err(failure) => report.errors.push(Error {
                    stage: format!("run {}", profile.name),
                    test,
                    message: failure.text(),
                    kind: failure.kind,
                    ..Error::default()
                }),
            }
        }
    }
    litmake::report::merge::sort(report);
    Ok(())
}

/// Reads a test. None if it cannot be read, which is an error in the report already.
fn read(path: &Path) -> Option<(String, litmus::Test)> {
    let text = file::read_text(path, file::MAX_TEXT).ok()?;
    let test = litmus::read(&Source::new(path.display().to_string(), text.as_str())).ok()?;
    Some((text, test))
}

/// Adds a crash. If the code of this test already has a finding of this kind, the crash is added to
/// that one.
fn add(report: &mut Report, profile: &Profile, test: &str, source: String, signal: i32) {
    let same = report.findings.iter_mut().find(|f| {
        f.class == Class::RuntimeCrash
            && f.occurrences.iter().any(|o| o.test == test && o.profiles == [profile.name.clone()])
    });
    if let Some(finding) = same {
        finding.signal = Some(signal);
        return;
    }
    let finding = Finding {
        class: Class::RuntimeCrash,
        test: test.to_string(),
        reproducer: source.clone(),
        source,
        family: profile.maker().to_string(),
        profiles: vec![profile.name.clone()],
        signal: Some(signal),
        command: format!(
            "litmake check --run --profile {} {}",
            plain::word(&profile.name),
            plain::path(test)
        ),
        ..Finding::default()
    };
    let form = format!("{}, signal {signal}", form(&finding.source));
    let finding = finding.identify(&form).once();
    // Another profile may have shown the same crash.
    match report.findings.iter_mut().find(|f| f.id == finding.id) {
        Some(old) => *old = join(std::mem::take(old), finding, report.kept_occurrences),
        None => report.findings.push(finding),
    }
}

/// Only whole tests can be run: an error if the test is split.
pub fn whole(split: super::check::Split) -> Result<()> {
    match split.by() {
        None => Ok(()),
        Some(_) => Err(Diag::new("--run is for whole tests; leave --split out")),
    }
}
