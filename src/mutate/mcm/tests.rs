//! Tests of the names and keys of the paper's tests. Their outcomes are tested in `gpu`, which has
//! an oracle.

use std::collections::BTreeSet;

use super::*;

#[test]
fn mutants_name_what_they_mutate() {
    let names: BTreeSet<String> = conformance().unwrap().into_iter().map(|m| m.test.name).collect();
    let all: Vec<Mutant> = mutants().unwrap().into_iter().chain(scope_mutants().unwrap()).collect();
    for m in &all {
        assert!(names.contains(m.mutates.as_deref().unwrap()), "{}", m.test.name);
        assert!(m.test.info.iter().any(|(k, v)| k == "Key" && *v == m.key));
    }
    let unique: BTreeSet<&str> = all.iter().map(|m| m.test.name.as_str()).collect();
    assert_eq!(unique.len(), 50);
}

#[test]
fn keys_of_single_instances_are_those_of_the_artifact() {
    for (pte, site) in [
        ("Message Passing Default", "Message Passing Single Instance"),
        ("Message Passing Barrier Variant 1", "Message Passing Single Instance Barrier 1"),
        ("Store Coherency", "Store Single Instance Coherency"),
        ("Read RMW", "Read Single Instance RMW"),
        ("2+2 Write RMW Barrier 2", "2+2 Write Single Instance RMW Barrier 2"),
        ("RR Mutations Default", "RR Mutations Single Instance"),
        ("WW Mutations RMW", "WW Mutations Single Instance RMW"),
    ] {
        assert_eq!(site_key(pte), site);
    }
}
