//! The table of the kinds of stages: how each builds its nodes, and how the report shows its
//! results.

use litmake_pipeline::kinds::Kind;

use super::building::Build;
use super::collect::Reported;

/// The functions of a kind.
pub struct Entry<'a> {
    pub build: &'a dyn Build,
    /// `None` if the report only counts its items.
    pub reported: Option<&'a dyn Reported>,
}

fn counted(options: &impl Build) -> Entry<'_> {
    Entry { build: options, reported: None }
}

fn reported<T: Build + Reported>(options: &T) -> Entry<'_> {
    Entry { build: options, reported: Some(options) }
}

pub fn of(kind: &Kind) -> Entry<'_> {
    match kind {
        Kind::Generate(options) => counted(options),
        Kind::Mutate(options) => counted(options),
        Kind::Split(options) => counted(options),
        Kind::Compile(options) => counted(options),
        Kind::Link(options) => counted(options),
        Kind::Simulate(options) => counted(options),
        Kind::Dedupe(options) => counted(options),
        Kind::Changed(options) => counted(options),
        Kind::Layout(options) => reported(options),
        Kind::Compare(options) => reported(options),
        Kind::Diff(options) => reported(options),
        Kind::Run(options) => reported(options),
    }
}
