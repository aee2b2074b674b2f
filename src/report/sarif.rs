//! Writes a report as SARIF, which code scanning on GitHub and many viewers read.
//!
//! It does not know how findings were made.

use serde_json::{Value, json};

use super::baseline::CALIBRATION;
use super::{Class, Finding, Report, Status};

const CLASSES: [(Class, &str); 6] = [
    (Class::Concurrency, "Compiled code allows an outcome that its source forbids"),
    (
        Class::Mixing,
        "Compilers' code, mixed in one program, allows an outcome that its source forbids",
    ),
    (Class::AbiLayout, "Compilers disagree about sizes or alignment of atomic types"),
    (Class::RuntimeCrash, "Compiled code crashes"),
    (Class::Model, "A model allows an outcome that it should forbid"),
    (Class::Conformance, "A device shows an outcome that its model forbids"),
];

/// A path as a URI relative to the root of the repository; an absolute path as one of a file.
fn uri(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/".contains(&b);
    let written: String = path
        .bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect();
    match path.starts_with('/') {
        true => format!("file://{written}"),
        false => written,
    }
}

fn result(finding: &Finding) -> Value {
    let mut text =
        format!("{}. {}: {}", finding.title(), finding.claim(), finding.wrong().join(" | "));
    if !finding.command.is_empty() {
        text += &format!("\nShow it again: {}", finding.command);
    }
    let mut out = json!({
        "ruleId": finding.class.name(),
        "level": "error",
        "message": { "text": text },
        "partialFingerprints": { "litmakeFinding/v1": finding.id },
        "baselineState": if finding.status == Status::New { "new" } else { "unchanged" },
        "properties": {
            "profiles": finding.profiles,
            "modelSource": finding.model_source,
            "modelTarget": finding.model_target,
            "family": finding.family,
            "label": finding.label,
            "occurrences": finding.count,
            "byProfile": finding.by_profile,
        },
    });
    // A location must be an existing file.
    if !finding.file.is_empty() {
        out["locations"] = json!([{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&finding.file) },
                "region": { "startLine": 1 },
            },
        }]);
    }
    if finding.status == Status::Known {
        let justification = match finding.is_load_buffering() {
            true => CALIBRATION,
            false => "it is in the baseline",
        };
        let why = json!([{ "kind": "external", "justification": justification }]);
        out["suppressions"] = why;
    }
    out
}

/// The messages about the verdict, and about how sources were read or why they are undefined. An
/// incomplete run is an error of the tool.
fn verdict(report: &Report) -> Vec<Value> {
    let verdict = &report.verdict;
    let level = match (verdict.is_complete(), verdict.part()) {
        (true, None) => "note",
        (true, Some(_)) => "warning",
        (false, _) => "error",
    };
    let mut out = vec![json!({
        "level": level,
        "message": { "text": verdict.words() },
        "properties": { "verdict": verdict },
    })];
    let lines = verdict.notes();
    out.extend(lines.iter().map(|l| json!({ "level": "warning", "message": { "text": l } })));
    out
}

/// A class of bugs as a rule, with what GitHub asks of rules.
fn rule(class: Class, about: &str) -> Value {
    let (long, todo) = match class {
        Class::Concurrency => (
            "The code that a compiler made of a litmus test allows a final state that the memory model of \
             the source language forbids. Programs that rely on the source's guarantees can misbehave.",
            "Look at the reduced test, the code and the execution in the report, and report the bug to the \
             compiler, or add it to the baseline.",
        ),
        Class::Mixing => (
            "Each compiler's code is right alone. Linked into one program, the code of several compilers \
             allows a final state that the memory model of the source language forbids.",
            "Do not link such code, or add one of the barriers that the report names.",
        ),
        Class::AbiLayout => (
            "Compilers give an atomic type another size, another alignment or another way of access, so \
             that their code cannot share an object of that type.",
            "Do not share such objects between code of these compilers.",
        ),
        Class::RuntimeCrash => (
            "The code that a compiler made of a litmus test crashes, or writes a location that the source \
             only reads, which crashes where that is in read-only memory.",
            "Look at the code in the report, and report the bug to the compiler.",
        ),
        Class::Model => (
            "A memory model allows a final state that the model that it is compared with forbids.",
            "Look at the execution in the report, and decide which of the two models is wrong.",
        ),
        Class::Conformance => (
            "A device showed a final state that its memory model forbids.",
            "Run the folder of the finding on the device again, and report the bug to its vendor.",
        ),
    };
    json!({
        "id": class.name(),
        "shortDescription": { "text": about },
        "fullDescription": { "text": long },
        "help": { "text": todo, "markdown": todo },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["concurrency", "correctness"], "precision": "high", "problem.severity": "error" },
    })
}

/// The findings and errors of a report. Fixed findings are left out, so that code scanning closes
/// them.
pub fn sarif(report: &Report) -> String {
    let rules: Vec<Value> = CLASSES.iter().map(|(class, about)| rule(*class, about)).collect();
    let results: Vec<Value> =
        report.findings.iter().filter(|f| f.status != Status::Fixed).map(result).collect();
    let errors: Vec<Value> = report
        .errors
        .iter()
        .map(|e| json!({ "level": "error", "message": { "text": e.told() } }))
        .collect();
    let notes: Vec<Value> = report
        .not_looked_into
        .iter()
        .map(|u| json!({ "level": "warning", "message": { "text": u.said() } }))
        .collect();
    let notifications = [&verdict(report)[..], &errors, &notes].concat();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "litmake",
                "semanticVersion": report.litmake,
                "rules": rules,
            } },
            "automationDetails": { "id": format!("litmake/{}/", report.pipeline) },
            "invocations": [{
                "executionSuccessful": report.verdict.is_complete(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_results_with_places_and_identities() {
        let finding = |id: &str, status| Finding {
            id: id.into(),
            test: "tests/a b.litmus".into(),
            file: if id == "one" { "tests/a b.litmus".into() } else { String::new() },
            profiles: vec!["p".into()],
            status,
            ..Finding::default()
        };
        let report = Report {
            findings: vec![
                finding("one", Status::New),
                finding("two", Status::Known),
                finding("three", Status::Fixed),
            ],
            ..Report::default()
        };
        let document: Value = serde_json::from_str(&sarif(&report)).unwrap();
        let results = document["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        let place = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(place, "tests/a%20b.litmus");
        assert_eq!(uri("/tmp/a.litmus"), "file:///tmp/a.litmus");
        // The texts that GitHub's rule set asks of each rule.
        for rule in document["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap() {
            for key in ["shortDescription", "fullDescription", "help"] {
                assert!(
                    rule[key]["text"]
                        .as_str()
                        .is_some_and(|t| t.ends_with('.') || key == "shortDescription"),
                    "{rule}"
                );
            }
        }
        assert!(results[1].get("locations").is_none(), "there is no such file");
        assert_eq!(results[0]["partialFingerprints"]["litmakeFinding/v1"], "one");
        assert!(results[0].get("suppressions").is_none());
        assert_eq!(results[1]["suppressions"][0]["kind"], "external");
        assert_eq!(document["version"], "2.1.0");
    }
}
