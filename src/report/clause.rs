//! Why the C standard forbids an execution, in words: the steps of the cycle, and the clauses of C11 that they
//! break. Clauses are those of N1570, the last public draft of C11.
//!
//! It knows the names of relations in the models of C11, and no model.

use super::evidence::{Event, Execution, Failed};

/// An argument that an execution is forbidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argument {
    /// The events that it speaks of, a line each.
    pub events: Vec<String>,
    /// The steps, a line each.
    pub steps: Vec<String>,
    /// What is wrong with them: the clause of the standard, or else the check of the model.
    pub clause: String,
}

/// The argument for one failed check.
pub fn argument(run: &Execution, failed: &Failed) -> Argument {
    let has = |id: &str| failed.edges.iter().any(|e| e.from == id || e.to == id);
    Argument {
        events: run.events.iter().filter(|e| has(&e.id)).map(named).collect(),
        steps: failed.edges.iter().map(|e| step(&e.edge, &e.from, &e.to)).collect(),
        clause: clause(run, failed),
    }
}

/// The end of a step that says by which read a release and an acquire operation synchronise.
const READS_IT: &str = ", which reads what it writes";

/// The steps as one sentence.
pub fn sentence(run: &Execution, failed: &Failed) -> String {
    let told = |id: &str| {
        let event = run.events.iter().find(|e| e.id == id);
        event.map_or(id.to_string(), short)
    };
    let mut parts: Vec<String> = Vec::new();
    for (n, edge) in failed.edges.iter().enumerate() {
        let said = step(&edge.edge, &told(&edge.from), &told(&edge.to));
        let said = said.trim_end_matches(READS_IT);
        // A step that goes on where the one before ended does not name the event again. The last one does.
        let goes_on = n > 0 && n + 1 < failed.edges.len() && failed.edges[n - 1].to == edge.from;
        let rest = said.strip_prefix(&told(&edge.from)).filter(|_| goes_on);
        parts.push(rest.map_or(said.to_string(), |rest| format!("which{rest}")));
    }
    let mut out = match parts.pop() {
        Some(last) if parts.is_empty() => last,
        Some(last) => format!("{}, and yet {last}", parts.join(", ")),
        None => return String::new(),
    };
    out.push('.');
    out
}

/// An event by its thread and code: "P0's `atomic_store(x, 1)`".
fn short(e: &Event) -> String {
    let code = e.code.trim().trim_end_matches(';').trim();
    match e.thread {
        None => format!("the initial {}", e.event),
        Some(t) if code.is_empty() => format!("P{t}'s {}", e.event),
        Some(t) => format!("P{t}'s `{code}`"),
    }
}

/// An event with its letter, thread and code.
pub fn named(e: &Event) -> String {
    let code = e.code.trim().trim_end_matches(';');
    match e.thread {
        None => format!("({}) the initial {}", e.id, e.event),
        Some(t) if code.is_empty() => format!("({}) {} of P{t}", e.id, e.event),
        Some(t) => format!("({}) `{code}` of P{t}: {}", e.id, e.event),
    }
}

/// The basic relations, by the names that models give them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Sequenced,
    Reads,
    Modification,
    Overwritten,
    Synchronises,
    Before,
}

impl Relation {
    fn of(word: &str) -> Option<Relation> {
        Some(match word {
            "po" | "sb" => Relation::Sequenced,
            "rf" => Relation::Reads,
            "co" | "mo" => Relation::Modification,
            "fr" | "rb" => Relation::Overwritten,
            "sw" => Relation::Synchronises,
            "hb" => Relation::Before,
            _ => return None,
        })
    }

    fn said(self, from: &str, to: &str) -> String {
        match self {
            Relation::Sequenced => format!("{from} is sequenced before {to}"),
            Relation::Reads => format!("{to} reads what {from} writes"),
            Relation::Modification => format!("{to} overwrites {from}"),
            Relation::Overwritten => format!("{from} reads what was there before {to}"),
            Relation::Synchronises => format!("{from} synchronises with {to}"),
            Relation::Before => format!("{from} happens before {to}"),
        }
    }
}

/// The model's relation of a label, and the one in brackets that it is made of here.
fn parts(label: &str) -> (&str, &str) {
    match label.split_once(" (") {
        Some((name, made)) => (name, made.trim_end_matches(')')),
        None => (label, ""),
    }
}

/// A step in words.
fn step(label: &str, from: &str, to: &str) -> String {
    let is_letter = |t: &str| t.len() <= 3 && !t.contains(' ');
    let shown = |t: &str| if is_letter(t) { format!("({t})") } else { t.to_string() };
    let (from, to) = (&shown(from), &shown(to));
    let (name, made) = parts(label);
    match (Relation::of(made), Relation::of(name)) {
        (Some(Relation::Reads), Some(Relation::Synchronises)) => {
            format!("{from} synchronises with {to}{READS_IT}")
        }
        (Some(made), _) => made.said(from, to),
        (None, None) if name == "eco" && made.ends_with("; rf") => {
            let access = if made.starts_with("mo") { "writes" } else { "reads" };
            format!("{to} reads a later value than {from} {access}")
        }
        (None, None) if name == "eco" => {
            format!("{from} precedes {to} in the order of the accesses to their location")
        }
        (None, Some(name)) => name.said(from, to),
        (None, None) if label.starts_with("psc") => {
            format!("{from} precedes {to} in the single total order of seq_cst operations")
        }
        (None, None) => format!("{from} is ordered before {to}, by {label}"),
    }
}

/// The clause of C11 that an execution breaks; for other models, the name and the place of the check.
fn clause(run: &Execution, failed: &Failed) -> String {
    let is_c = run.model.starts_with("rc11") || run.model == "c11";
    let own = || {
        let form = if failed.is_cycle { "such a cycle" } else { "such a pair" };
        format!("`{}` of the model {} forbids {form} ({})", failed.check, run.model, failed.place)
    };
    if !is_c {
        return own();
    }
    let relations: Vec<Relation> = failed
        .edges
        .iter()
        .filter_map(|e| {
            let (name, made) = parts(&e.edge);
            Relation::of(made).or(Relation::of(name))
        })
        .collect();
    let has = |relation: Relation| relations.contains(&relation);
    let event = |id: &str| run.events.iter().find(|e| e.id == id).map_or("", |e| &*e.event);
    let is_fence = |id: &str| event(id).starts_with("F");
    let synchronises: Vec<bool> = failed
        .edges
        .iter()
        .filter(|e| parts(&e.edge).0 == "sw" || parts(&e.edge).1.contains("sw"))
        .map(|e| is_fence(&e.from) || is_fence(&e.to))
        .collect();
    let mut out: Vec<&str> = Vec::new();
    if synchronises.contains(&false) {
        out.push(
            "a release operation synchronises with the acquire operation that reads it (C11 5.1.2.4p11)",
        );
    }
    if synchronises.contains(&true) {
        out.push("fences synchronise through the atomic operations beside them (C11 7.17.4p2-4)");
    }
    match &*failed.check {
        "coherence" if has(Relation::Overwritten) => out.push(
            "a read may not take a value that was overwritten by something that happens before the read \
             (C11 5.1.2.4p19 for plain objects, p22 for atomic ones)",
        ),
        "coherence" | "plain-read" if has(Relation::Reads) => out.push(
            "a read may not take its value from a write that it happens before (C11 5.1.2.4p19, p22)",
        ),
        "coherence" if has(Relation::Modification) => out.push(
            "modifications of an object are in the order in which they happen (C11 5.1.2.4p7)",
        ),
        "coherence" => out.push("nothing happens before itself (C11 5.1.2.4p16-18)"),
        "atomicity" | "update-coherence" | "pair-atomicity" => out.push(
            "a read-modify-write reads the last value before its own write (C11 7.17.3p12)",
        ),
        "SC" => out.push(
            "all seq_cst operations have one total order that every read of them obeys (C11 7.17.3p6; for \
             seq_cst fences p9-11)",
        ),
        "no-thin-air" => out.push(
            "RC11 forbids that reads and the order of the program form a cycle; C11 itself does not",
        ),
        _ => return own(),
    }
    out.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Edge;

    fn run(check: &str, edges: &[(&str, &str, &str)]) -> (Execution, Failed) {
        let event = |id: &str, thread, code: &str, event: &str| Event {
            id: id.into(),
            thread,
            line: 1,
            code: code.into(),
            event: event.into(),
        };
        let edge = |(from, edge, to): &(&str, &str, &str)| Edge {
            from: from.to_string(),
            edge: edge.to_string(),
            to: to.to_string(),
        };
        let run = Execution {
            model: "rc11".into(),
            events: vec![
                event("a", None, "", "W[x]=0"),
                event("b", Some(0), "atomic_store(x, 1);", "W(RLX)[x]=1"),
                event("c", Some(0), "atomic_thread_fence(memory_order_release)", "F(REL)"),
                event("d", Some(1), "int r = atomic_load(x);", "R(RLX)[x]=0"),
            ],
            ..Execution::default()
        };
        let edges = edges.iter().map(edge).collect();
        (run, Failed { check: check.into(), place: "m.cat:3".into(), is_cycle: true, edges })
    }

    #[test]
    fn a_cycle_is_told_in_words_with_its_clause() {
        let edges =
            [("b", "hb (sb)", "c"), ("c", "sw ([fence]; sb; rf)", "d"), ("d", "eco (rb)", "b")];
        let (run, failed) = run("coherence", &edges);
        let told = argument(&run, &failed);
        assert_eq!(
            told.events,
            [
                "(b) `atomic_store(x, 1)` of P0: W(RLX)[x]=1",
                "(c) `atomic_thread_fence(memory_order_release)` of P0: F(REL)",
                "(d) `int r = atomic_load(x)` of P1: R(RLX)[x]=0",
            ]
        );
        assert_eq!(
            told.steps,
            [
                "(b) is sequenced before (c)",
                "(c) synchronises with (d)",
                "(d) reads what was there before (b)",
            ]
        );
        assert!(
            told.clause.contains("7.17.4p2-4") && told.clause.contains("5.1.2.4p19"),
            "{told:?}"
        );
        assert!(!told.clause.contains("m.cat"), "{told:?}");
        assert_eq!(
            sentence(&run, &failed),
            "P0's `atomic_store(x, 1)` is sequenced before P0's `atomic_thread_fence(memory_order_release)`, \
             which synchronises with P1's `int r = atomic_load(x)`, \
             and yet P1's `int r = atomic_load(x)` reads what was there before P0's `atomic_store(x, 1)`."
        );
    }

    #[test]
    fn each_check_has_its_clause_and_other_models_name_theirs() {
        let of = |check: &str, edge: &str| {
            let (run, failed) = run(check, &[("b", edge, "d")]);
            argument(&run, &failed).clause
        };
        assert!(of("atomicity", "rb").contains("7.17.3p12"));
        assert!(of("SC", "psc-base (scb)").contains("7.17.3p6"));
        assert!(of("coherence", "hb; rf").contains("happens before itself"));
        assert!(of("coherence", "rf").contains("that it happens before"));
        assert!(of("coherence", "mo").contains("5.1.2.4p7"));
        let step = |label: &str| {
            let (run, failed) = run("coherence", &[("b", label, "d")]);
            argument(&run, &failed).steps.remove(0)
        };
        assert_eq!(step("eco (mo; rf)"), "(d) reads a later value than (b) writes");
        assert_eq!(step("eco (rb; rf)"), "(d) reads a later value than (b) reads");
        assert_eq!(step("eco"), "(b) precedes (d) in the order of the accesses to their location");
        let (mut run, failed) = run("ob", &[("b", "lob", "d")]);
        run.model = "ptx".into();
        let told = argument(&run, &failed);
        assert_eq!(told.clause, "`ob` of the model ptx forbids such a cycle (m.cat:3)");
        assert_eq!(told.steps, ["(b) is ordered before (d), by lob"]);
    }
}
