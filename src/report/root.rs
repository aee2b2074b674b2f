//! The root cause of a bug: the pass, the lost edge, the operation, and the target.
//!
//! Findings with equal root causes are one bug, whatever tests show them. A pass on intermediate
//! code is the same for all targets. It does not know how passes are examined.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evidence::{Execution, Failed};
use super::passes::{Culprit, Sure, changed_thread};
use super::{Finding, Report, bugs};

/// The fields that tell faults of a compiler apart.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
pub struct Root {
    /// The pass, by the compiler's short name if it has one: `machine-sink`.
    pub pass: String,
    /// The lost order inside the thread, as the two edges of the forbidden cycle that enter and
    /// leave the thread: `com to sw`, where `com` is communication through one location.
    pub edge: String,
    /// The operation that the pass removed, replaced or moved: `read-modify-write relaxed 32`.
    pub operation: String,
    /// The target, for passes on machine code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
}

impl Root {
    /// The root cause of a finding whose pass is shown or likely; `None` otherwise.
    pub fn of(finding: &Finding) -> Option<Root> {
        let culprit = finding.pass.as_ref()?;
        if culprit.pass.is_empty() || culprit.sure < Sure::Likely {
            return None;
        }
        let run = finding.evidence.as_ref().and_then(|e| e.source.as_ref());
        let reduced = finding.reduced.as_ref().and_then(|r| r.thread);
        let thread = thread(culprit).or(reduced);
        let failed = run.and_then(|run| Some((run, run.fails.first()?)));
        Some(Root {
            pass: short(&culprit.pass).to_string(),
            edge: failed.and_then(|(run, f)| edge(run, f, thread?)).unwrap_or_default(),
            operation: culprit.operation.clone(),
            target: culprit.target.clone(),
        })
    }

    /// The text that is equal for equal root causes.
    fn key(&self) -> String {
        format!("{}\n{}\n{}\n{}", self.pass, self.edge, self.operation, self.target)
    }

    /// A description in one line.
    pub fn said(&self) -> String {
        let or = |text: &str, other: &str| match text.is_empty() {
            true => other.to_string(),
            false => text.to_string(),
        };
        format!(
            "{}; {}; {}; {}",
            self.pass,
            match self.edge.is_empty() {
                true => "no edge is known".to_string(),
                false => format!("the order from {} is lost", self.edge),
            },
            or(&self.operation, "no operation is known"),
            or(&self.target, "every target")
        )
    }
}

/// The short name of a pass: `machine-sink` of `Machine code sinking (machine-sink)`.
fn short(pass: &str) -> &str {
    match pass.strip_suffix(')').and_then(|p| p.rsplit_once('(')) {
        Some((_, name)) => name,
        None => pass,
    }
}

/// The thread that a pass changed.
fn thread(culprit: &Culprit) -> Option<u16> {
    let named = culprit.function.trim_start_matches('(').strip_prefix('P');
    let number = named.map(|n| n.chars().take_while(char::is_ascii_digit).collect::<String>());
    let number = number.and_then(|n| n.parse().ok());
    number.or_else(|| changed_thread(&culprit.before, &culprit.after))
}

/// The edges of a failed check that enter and leave a thread.
fn edge(run: &Execution, failed: &Failed, thread: u16) -> Option<String> {
    let own = |id: &str| run.events.iter().any(|e| e.id == id && e.thread == Some(thread));
    let into = failed.edges.iter().find(|e| !own(&e.from) && own(&e.to));
    let out = failed.edges.iter().find(|e| own(&e.from) && !own(&e.to));
    let name = |edge: Option<&super::evidence::Edge>| edge.map(|e| kind(&e.edge));
    match (name(into), name(out)) {
        (Some(into), Some(out)) => Some(format!("{into} to {out}")),
        (Some(one), None) | (None, Some(one)) => Some(one),
        // The whole cycle is inside the thread.
        (None, None) => failed.edges.iter().any(|e| own(&e.from)).then(|| "inside".to_string()),
    }
}

/// The kind of an edge with a label such as `eco (fr)`. All communication through a location is one
/// kind.
fn kind(label: &str) -> String {
    let name = label.split(" (").next().unwrap_or(label);
    match name {
        "eco" | "rf" | "co" | "fr" | "mo" | "rb" | "com" => "com".to_string(),
        other => other.to_string(),
    }
}

/// Sets the root causes of findings, and joins findings with equal ones. The id of a joined finding
/// is that of its root cause; `forms` keeps the ids of its parts.
pub fn join(report: &mut Report) {
    let limit = report.kept_occurrences;
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut out: Vec<Finding> = Vec::new();
    for mut finding in std::mem::take(&mut report.findings) {
        let Some(root) = Root::of(&finding) else {
            out.push(finding);
            continue;
        };
        let form = format!("root cause\n{}", root.key());
        let id = bugs::id(finding.class, &finding.family, &finding.label, &form);
        finding.forms = vec![std::mem::replace(&mut finding.id, id.clone())];
        finding.root = Some(root);
        match places.get(&id) {
            Some(at) => {
                let old = std::mem::take(&mut out[*at]);
                let mut forms = [old.forms.clone(), finding.forms.clone()].concat();
                forms.sort();
                forms.dedup();
                out[*at] = Finding { forms, ..bugs::join(old, finding, limit) };
            }
            None => {
                places.insert(id, out.len());
                out.push(finding);
            }
        }
    }
    report.findings = out;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Edge, Event, Evidence};
    use crate::{Class, Outcomes};

    fn finding(id: &str, pass: &str, sure: Sure, operation: &str, labels: [&str; 3]) -> Finding {
        let event =
            |id: &str, thread| Event { id: id.into(), thread: Some(thread), ..Event::default() };
        let edge = |from: &str, edge: &str, to: &str| Edge {
            from: from.into(),
            edge: edge.into(),
            to: to.into(),
        };
        let fails = vec![Failed {
            is_cycle: true,
            edges: vec![
                edge("a", labels[0], "b"),
                edge("b", labels[1], "c"),
                edge("c", labels[2], "a"),
            ],
            ..Failed::default()
        }];
        let run = Execution {
            events: vec![event("a", 0), event("b", 0), event("c", 1)],
            fails,
            ..Execution::default()
        };
        Finding {
            id: id.into(),
            class: Class::Concurrency,
            family: "clang".into(),
            test: id.into(),
            profiles: vec!["p".into()],
            outcomes: Outcomes::default(),
            evidence: Some(Evidence { source: Some(run), ..Evidence::default() }),
            pass: Some(Culprit {
                pass: pass.into(),
                sure,
                operation: operation.into(),
                function: "P0".into(),
                ..Culprit::default()
            }),
            ..Finding::default()
        }
        .once()
    }

    const RMW: &str = "read-modify-write relaxed 32";

    fn joined(findings: Vec<Finding>) -> Vec<Finding> {
        let mut report = Report { findings, ..Report::default() };
        report.findings.iter_mut().for_each(|f| f.id.clone_from(&f.test));
        join(&mut report);
        report.findings
    }

    #[test]
    fn findings_with_one_root_cause_are_one_bug() {
        let labels = ["sb (po)", "sw ([fence]; sb; rf)", "eco (fr)"];
        let other = ["sb (po)", "sw (rf)", "eco (co)"];
        let both = joined(vec![
            finding("one", "P", Sure::Shown, RMW, labels),
            finding("two", "P", Sure::Likely, RMW, other),
        ]);
        let [bug] = &both[..] else { panic!("{both:#?}") };
        assert_eq!(bug.count, 2);
        assert_eq!(bug.forms, ["one", "two"]);
        let root = bug.root.as_ref().expect("a root cause");
        assert_eq!((&*root.pass, &*root.edge, &*root.operation), ("P", "com to sw", RMW));
        // The id is that of the root cause, whichever forms were seen.
        let alone = joined(vec![finding("three", "P", Sure::Shown, RMW, other)]);
        assert_eq!(alone[0].id, bug.id);
        assert_ne!(bug.id, "one");
    }

    #[test]
    fn another_pass_edge_operation_or_target_is_another_bug() {
        let labels = ["sb (po)", "sw (rf)", "eco (fr)"];
        let turned = ["sb (po)", "eco (fr)", "sw (rf)"];
        let mut on_arm = finding("target", "P", Sure::Shown, RMW, labels);
        on_arm.pass.as_mut().expect("a pass").target = "ARM".into();
        let all = joined(vec![
            finding("one", "P", Sure::Shown, RMW, labels),
            finding("pass", "Q", Sure::Shown, RMW, labels),
            finding("edge", "P", Sure::Shown, RMW, turned),
            finding("operation", "P", Sure::Shown, "load acquire 32", labels),
            on_arm,
        ]);
        let ids: std::collections::BTreeSet<&str> = all.iter().map(|f| &*f.id).collect();
        assert_eq!((all.len(), ids.len()), (5, 5));
    }

    #[test]
    fn a_pass_that_is_only_possible_joins_nothing() {
        let labels = ["sb", "sw", "eco"];
        let all = joined(vec![
            finding("one", "P", Sure::Possible, RMW, labels),
            finding("two", "P", Sure::Possible, RMW, labels),
        ]);
        let ids: Vec<&str> = all.iter().map(|f| &*f.id).collect();
        assert_eq!(ids, ["one", "two"]);
    }

    #[test]
    fn a_pass_is_called_by_its_short_name() {
        assert_eq!(short("Machine code sinking (machine-sink)"), "machine-sink");
        assert_eq!(short("InstCombinePass"), "InstCombinePass");
    }
}
