//! `litmake check --passes`: finds the pass that is at fault for each bug, and says how certain that
//! is. It does not know how passes are examined.

use litmake::base::failure::Failure;
use litmake::diag::{Result, Source};
use litmake::litmus;
use litmake::passes::blame::{self, FRONT_END, Omitted, Passes};
use litmake::passes::cross::{Asked, Opinion};
use litmake::passes::gcc::Pass;
use litmake::passes::judge::{Court, State};
use litmake::passes::machine::Suspects;
use litmake::passes::operation::{gained_of_code, lost_of_accesses, lost_of_code};
use litmake::passes::{gcc, machine, omit, without};
use litmake::profile::files::Disk;
use litmake::report::bugs::join_whole;
use litmake::report::mechanism::Change;
use litmake::report::passes::{Culprit, Sure};
use litmake::report::{Class, Finding, Report, Status};
use litmake::stop::{Stop, Stopping};
use litmake::toolchain::compile::Compiler;
use litmake::toolchain::process;
use litmake::toolchain::runtime::Runtime;

use super::{common, findings};

/// Finds the responsible pass for each bug of one compiler, and joins bugs of one pass.
/// `evidence` finds the executions behind a finding.
pub fn explain(
    report: &mut Report,
    profiles: &[String],
    models: &[String],
    evidence: &mut dyn FnMut(&mut Finding),
) -> Result<()> {
    let stop = common::stop();
    let mut court = Court::new(models)?;
    for finding in &mut report.findings {
        // A write to a location that the source only reads can be found in the code, too. A crash
        // that showed only in a run cannot.
        let in_code = finding.class == Class::Concurrency || !finding.faults.is_empty();
        let asked = in_code && finding.status != Status::Fixed && finding.label.is_empty();
        if !asked {
            continue;
        }
        if stop.asked() {
            break;
        }
        let mut found = culprit(finding, profiles, &mut court, &stop);
        if let Some(mechanism) = &mut finding.mechanism {
            // Many passes ask the analysis that is wrong about the call, another one in another test.
            if mechanism.change == Change::Survives && found.sure == Sure::Shown {
                found.sure = Sure::Possible;
                found.why =
                    "possible: it keeps the value, as other passes do in other tests: all of \
                             them ask one analysis which objects a call can change"
                        .to_string();
            }
            mechanism.pass_certainty = Some(found.sure);
            if found.sure == Sure::Shown {
                mechanism.shown(found.short(), !found.target.is_empty());
            }
        }
        finding.pass = Some(found);
        evidence(finding);
    }
    join_whole(report);
    Ok(())
}

fn culprit(finding: &Finding, profiles: &[String], court: &mut Court, stop: &Stop) -> Culprit {
    let unknown = |why: String| Culprit { why, ..Culprit::default() };
    let mut found = || -> std::result::Result<Culprit, String> {
        let [name] = &finding.profiles[..] else {
            return Err("the code is of several compilers".into());
        };
        let asked = profiles.iter().map(|p| common::find_profile(&Disk, p));
        let profile = asked
            .filter_map(Result::ok)
            .find(|p| p.name == *name)
            .ok_or_else(|| format!("there is no profile `{name}`"))?;
        let program = process::find(&profile.compiler)
            .ok_or_else(|| format!("the compiler `{}` is not installed", profile.compiler))?;
        let runtime = Runtime::of(&profile, &program);
        let compiler = findings::compiler(finding, &profile, &program, &runtime, stop);
        let (source, _, outcomes) = finding.smallest();
        let test =
            litmus::read(&Source::new(finding.test.as_str(), source)).map_err(|e| e.to_string())?;
        let is_gcc = profile.maker() == "gcc";
        if let [place, ..] = &finding.faults[..] {
            if is_gcc {
                return Err("what writes is not looked for in dumps of gcc".into());
            }
            // The finding names the place as in the whole test, before reduction.
            let whole = litmus::read(&Source::new(finding.test.as_str(), &*finding.source));
            let whole = whole.map_err(|e| e.to_string())?;
            return of_write(&compiler, &whole, place).map_err(|e| e.text());
        }
        if is_gcc {
            let shown = &outcomes.forbidden;
            return of_gcc(&compiler, &test, finding, shown, court).map_err(|e| e.text());
        }
        let shown = &outcomes.forbidden;
        let thread = finding.reduced.as_ref().and_then(|r| r.thread).map(usize::from);
        let passes = blame::blame(&compiler, &test, court, shown, thread).map_err(|e| e.text())?;
        let change = finding.mechanism.as_ref().map(|mechanism| mechanism.change);
        let mut out = said(&passes, change);
        // Code of the target is made in another way for each.
        if passes.guilty.as_ref().is_none_or(|guilty| guilty.lowered) && !out.pass.is_empty() {
            out.target = profile.arch.name().to_string();
        }
        Ok(out)
    };
    found().unwrap_or_else(unknown)
}

/// Finds the pass that added a write to a location which the source only reads.
fn of_write(
    compiler: &Compiler,
    test: &litmus::Test,
    place: &str,
) -> std::result::Result<Culprit, Failure> {
    let Some(guilty) = blame::writer(compiler, test, place)? else {
        let why = format!("no intermediate code has an instruction that writes to `{place}`");
        return Ok(Culprit { why, ..Culprit::default() });
    };
    Ok(Culprit {
        pass: guilty.pass,
        place: "intermediate code".into(),
        sure: Sure::Shown,
        why: format!(
            "shown: the code after it has an instruction that writes to `{place}`, which the source only \
             reads, and no code before it has one"
        ),
        function: guilty.function,
        operation: gained_of_code(&guilty.before, &guilty.after),
        // Such a write depends on the target.
        target: compiler.profile.arch.name().to_string(),
        before: guilty.before,
        after: guilty.after,
        dump_before: guilty.dump_before,
        dump_after: guilty.dump_after,
        ..Culprit::default()
    })
}

/// Finds the responsible pass in the dumps of gcc.
fn of_gcc(
    compiler: &Compiler,
    test: &litmus::Test,
    finding: &Finding,
    shown: &[State],
    court: &mut Court,
) -> std::result::Result<Culprit, Failure> {
    let (frame, dumps) = compiler.written(test)?;
    let blamed = finding.reduced.as_ref().and_then(|r| r.thread).map(usize::from);
    let all = frame.threads.iter().map(|(function, _)| function.clone()).enumerate();
    let threads: Vec<(usize, String)> =
        all.filter(|(n, _)| blamed.is_none_or(|b| b == *n)).collect();
    let Some(trail) = gcc::trail(&dumps, &threads) else {
        let why =
            "no dump lacks, moves or changes an atomic operation, and none of them orders others";
        let why = why.to_string();
        return Ok(Culprit { why, ..Culprit::default() });
    };
    let target = if trail.rtl { compiler.profile.arch.name().to_string() } else { String::new() };
    let place = if trail.rtl { "on RTL, in code generation" } else { "on trees" };
    let suspect = Pass { name: trail.pass.clone(), rtl: trail.rtl };
    let others = gcc::changing(&dumps, &threads, &suspect);
    let source = court.source(test).map_err(Failure::from)?;
    let asked = Asked { test, source: &source, shown };
    let opinion = without::opinion(compiler, &asked, court, &suspect, &others);
    let (how_sure, why, note) = match opinion {
        // If leaving passes out fails, the suspicion stays as the dumps give it.
        Err(e) => {
            let note = format!("leaving passes out says nothing: {}", e.text());
            (sure(trail.sure), trail.why.to_string(), note)
        }
        Ok(opinion) => {
            // The pass is shown if the code is right without it, likely if nothing contradicts it, and
            // else only possible.
            let (how_sure, word) = match (&opinion, opinion.supports()) {
                (without::Opinion::Right, _) => (Sure::Shown, "shown"),
                (_, true) => (Sure::Likely, "likely"),
                (_, false) => (Sure::Possible, "possible"),
            };
            let said = opinion.said(&trail.pass);
            let dumps = trail.why.split_once(": ").map_or(trail.why, |(_, why)| why);
            (how_sure, format!("{word}: {said}; {dumps}"), String::new())
        }
    };
    Ok(Culprit {
        pass: trail.pass,
        place: place.into(),
        sure: how_sure,
        why,
        notes: Some(note).filter(|n| !n.is_empty()).into_iter().collect(),
        target,
        function: trail.function,
        before: trail.before.join("\n"),
        after: trail.after.join("\n"),
        dump_before: trail.dump_before,
        dump_after: trail.dump_after,
        operation: trail.operation,
        dumps: trail.dumps,
        ..Culprit::default()
    })
}

fn sure(sure: machine::Sure) -> Sure {
    match sure {
        machine::Sure::Likely => Sure::Likely,
        machine::Sure::Possible => Sure::Possible,
    }
}

/// The answer in the words of a report, for a bug that makes this change, if that is known.
pub fn said(passes: &Passes, change: Option<Change>) -> Culprit {
    let mut out =
        Culprit { dumps: passes.dumps, simulated: passes.simulated, ..Culprit::default() };
    if let Some(refused) = &passes.refused {
        out.notes.push(format!("not understood after {}: {}", refused.pass, refused.why));
    }
    if let Some(lowered) = &passes.lowered {
        out.notes.push(format!(
            "from {} on, intermediate code is the target's own and excludes no pass: {}",
            lowered.pass, lowered.why
        ));
    }
    if let Some(guilty) = &passes.guilty {
        out.pass = guilty.pass.clone();
        out.place = match guilty.pass == FRONT_END {
            true => "no pass had run".into(),
            false => "intermediate code".into(),
        };
        out.sure = Sure::Shown;
        out.why = match guilty.lowered {
            false => "shown: the code after it allows the outcome, and no code before it does",
            true => {
                "shown: the code after it allows the outcome, even where its fences and intrinsics \
                     order as much as any, and no code before it does"
            }
        }
        .into();
        if passes.refused.is_some() {
            out.sure = Sure::Likely;
            out.why =
                "likely: the code after it allows the outcome, and no code before it that is \
                       understood"
                    .into();
        }
        if guilty.open {
            out.notes.push("the code has undef or poison in it, which was taken to be 0".into());
        }
        out.function = guilty.function.clone();
        (out.before, out.after) = (guilty.before.clone(), guilty.after.clone());
        (out.dump_before, out.dump_after) = (guilty.dump_before.clone(), guilty.dump_after.clone());
        out.operation = lost_of_code(&guilty.before, &guilty.after);
        out.outcomes = guilty.outcomes.clone();
        return out;
    }
    match &passes.machine {
        Some(machine) => of_machine_code(passes, machine, change, out),
        None => {
            let why = "no intermediate code allows the outcome, and no machine code was printed";
            Culprit { why: why.into(), ..out }
        }
    }
}

/// Whether only instruction selection is left: the code before it is right, and all later passes keep the instructions
/// that access memory or are barriers. A wrong value can come from others, of which few run where all are
/// skipped that may be.
fn is_selection(passes: &Passes, machine: &Suspects, change: Option<Change>) -> bool {
    let is_order = change.is_some_and(|change| change != Change::Value);
    let is_left = is_order || passes.opinion == Some(Opinion::Always);
    is_left && passes.right_until_selection && machine.kept && machine.suspect().is_none()
}

/// The answer where only passes on machine code are left.
fn of_machine_code(
    passes: &Passes,
    machine: &Suspects,
    change: Option<Change>,
    mut out: Culprit,
) -> Culprit {
    let (pass, how_sure, why) = machine.verdict();
    out.pass = pass;
    out.place = "after all passes on intermediate code, in code generation".into();
    out.sure = sure(how_sure);
    out.why = why.to_string();
    let without = |pass: &str| {
        let own = passes.omitted.iter().find(|o| o.change.pass == pass);
        own.and_then(|o| o.opinion.as_ref().ok())
    };
    // A change that repairs the code decides: a limit, unless leaving out its pass alone says otherwise, or
    // else leaving out one pass.
    let limit = match &passes.opinion {
        Some(Opinion::Names { pass, .. }) if machine.has(pass) => {
            Some(pass).filter(|pass| without(pass) != Some(&omit::Opinion::Wrong))
        }
        _ => None,
    };
    let cured = passes.omitted.iter().find(|o| o.opinion == Ok(omit::Opinion::Right));
    let shown = limit.or(cured.map(|o| &o.change.pass));
    if let Some(pass) = shown {
        out.pass = pass.clone();
        out.sure = Sure::Shown;
        let said: Vec<String> = [
            without(pass).filter(|o| **o == omit::Opinion::Right).map(|o| o.said(pass)),
            limit.and(passes.opinion.as_ref()).map(Opinion::said),
        ]
        .into_iter()
        .flatten()
        .collect();
        out.why = format!("shown: {}", said.join("; "));
    } else if is_selection(passes, machine, change) {
        out.sure = Sure::Shown;
        let least = match &passes.opinion {
            Some(Opinion::Always) => "with every pass skipped that may be, the code is wrong, ",
            _ => "",
        };
        out.why = format!(
            "shown: {least}the intermediate code that it gets is right, and no later pass changes an \
             instruction that accesses memory or is a barrier"
        );
    } else if let Some(opinion) = &passes.opinion {
        let supports = opinion.supports(&out.pass, &machine.selection);
        // The pass is likely if both methods agree, and only possible if they differ.
        out.sure = if supports { out.sure } else { Sure::Possible };
        if !supports {
            out.why = "possible: skipping passes does not name it".into();
        }
        out.notes.push(opinion.said());
    }
    for Omitted { change, opinion } in &passes.omitted {
        match opinion {
            // The text above has it already.
            Ok(omit::Opinion::Right) => {}
            Ok(opinion) => {
                let said = opinion.said(&change.pass);
                if *opinion == omit::Opinion::Wrong && shown.is_none() && change.pass == out.pass {
                    out.sure = Sure::Possible;
                    out.why = format!("possible: {said}");
                } else {
                    out.notes.push(said);
                }
            }
            Err(why) => out.notes.push(format!("leaving passes out says nothing: {why}")),
        }
    }
    for change in &machine.changes {
        out.notes.push(change.said());
    }
    let change = machine.by_suspicion(&out.pass).into_iter().next();
    if let Some(change) = change.filter(|change| change.pass == out.pass) {
        out.function = change.function.clone();
        (out.before, out.after) = (change.before.join("\n"), change.after.join("\n"));
        (out.dump_before, out.dump_after) = (change.dump_before.clone(), change.dump_after.clone());
        out.operation = lost_of_accesses(&change.before, &change.after);
    }
    out
}
