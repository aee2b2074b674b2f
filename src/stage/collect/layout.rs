//! Reports the results of `layout`: the profiles that lay out a type in ways that do not fit
//! together.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::layout::Group;
use super::{Ran, Reported, family};
use litmake_base::plain;
use litmake_engine::run::Found;
use litmake_pipeline::kinds;
use litmake_profile::Profile;
use litmake_report::{Clash, Class, Finding};
use litmake_toolchain::layout::{self, Layout, Way};

impl Reported for kinds::Layout {
    fn findings(&self, run: &Ran, found: &Found) -> Vec<Finding> {
        let node = &run.plan.nodes[run.built.of_plan[found.node]];
        findings(&found.item, &node.mixed, &found.content)
    }
}

/// How a compiler lays out atomic structures, independent of their size.
fn rule(layout: &Layout) -> String {
    let padded = match layout.padding {
        0 => "as large as without _Atomic",
        _ if layout.size.is_power_of_two() => "padded to a power of two",
        _ => "padded",
    };
    let aligned = match layout.align.cmp(&layout.size) {
        Ordering::Less => "aligned to less than their size",
        Ordering::Equal => "aligned to their size",
        Ordering::Greater => "aligned to more than their size",
    };
    let way = |calls| match Layout::way(calls) {
        Way::Inline => "instructions",
        Way::Sized => "a function for the size",
        Way::Any => "a function for any size",
    };
    let (load, store) = (way(&layout.load), way(&layout.store));
    let reached = match load == store {
        true => format!("reached by {load}"),
        false => format!("loaded by {load} and stored by {store}"),
    };
    format!("{padded}, {aligned}, {reached}")
}

/// The findings about one type: one for each pair of groups of profiles.
fn findings(ty: &str, profiles: &[Arc<Profile>], content: &[u8]) -> Vec<Finding> {
    let groups: Vec<Group> = serde_json::from_slice(content).unwrap_or_default();
    let name = |p: &usize| profiles.get(*p).map_or_else(String::new, |p| p.name.clone());
    let source = layout::source(&[ty.to_string()]);
    let mut out = Vec::new();
    for (i, a) in groups.iter().enumerate() {
        for b in &groups[i + 1..] {
            let mut what = Vec::new();
            if a.layout.size != b.layout.size {
                what.push("size");
            }
            if a.layout.align != b.layout.align {
                what.push("alignment");
            }
            let locks = |l: &Layout| [l.locks(&l.load), l.locks(&l.store)];
            if locks(&a.layout) != locks(&b.layout) {
                what.push("lock-freedom");
            }
            let pair: Vec<String> =
                [a, b].iter().filter_map(|g| g.profiles.first()).map(name).collect();
            let alike: BTreeMap<String, Vec<String>> = [a, b]
                .iter()
                .filter(|g| g.profiles.len() > 1)
                .map(|g| (name(&g.profiles[0]), g.profiles[1..].iter().map(name).collect()))
                .collect();
            let code = pair.iter().cloned().zip([a.layout.text(), b.layout.text()]).collect();
            let command =
                pair.iter().map(|p| format!(" --profile {}", plain::word(p))).collect::<String>();
            let all = [a, b].into_iter().flat_map(|g| &g.profiles).filter_map(|p| profiles.get(*p));
            let finding = Finding {
                class: Class::AbiLayout,
                family: family(all.map(|p| &**p)),
                test: ty.to_string(),
                source: source.clone(),
                reproducer: source.clone(),
                profiles: pair,
                alike,
                clash: vec![Clash {
                    part: what.join(", "),
                    source: format!("_Atomic({ty})"),
                    code,
                }],
                command: format!("litmake abi{command} --type {}", plain::word(ty)),
                ..Finding::default()
            };
            let (form, cause) = match ty.starts_with("struct") {
                // A compiler lays out structures by a rule, so a clash of two rules is one bug,
                // whatever the type.
                true => {
                    let mut rules = [rule(&a.layout), rule(&b.layout)];
                    let cause = format!("structures {}, or {}", rules[0], rules[1]);
                    rules.sort();
                    (format!("struct: {}: {}", rules.join(" / "), what.join(", ")), cause)
                }
                false => (format!("{ty}: {}", what.join(", ")), String::new()),
            };
            out.push(Finding { cause, ..finding }.identify(&form));
        }
    }
    out
}
