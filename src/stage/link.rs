//! `link`: joins the parts of a test, as each profile compiled them, into every test that they can
//! make, or into the one mix that the pipeline names.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::building::{Build, Building, Link, Made, gone};
use super::compilers;
use super::items::read_test;
use super::ld::{self, Ld};
use super::probes::Question;
use super::split::by;
use litmake_base::diag::{Diag, Result, Source};
use litmake_base::failure::{Failure, Lasting};
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Work};
use litmake_engine::parts::{Bundle, decode_results};
use litmake_litmus::Test;
use litmake_mix::link::Linked;
use litmake_mix::{self as mix, By, Written};
use litmake_pipeline::kinds::link::LinkBy;
use litmake_pipeline::kinds::{self, Kind};
use litmake_pipeline::query::{Db, Part, consumed, instance};
use litmake_pipeline::slice::Instance;
use litmake_profile::types::{Observe, Storage};
use litmake_profile::yaml::Sp;

type Checked<T> = std::result::Result<T, Failure>;

/// The work. Its items are the output of `split`, the test, and the parts as each profile compiled
/// them.
pub struct Stage {
    by: By,
    /// The linker; without it, the code of the parts is spliced.
    ld: Option<Ld>,
    /// The one mix to make, with the profile of each part that it names.
    mix: Option<(Written, Vec<usize>)>,
}

impl Build for kinds::Link {
    fn asks(&self, _: &Instance, consumed: &[&Instance]) -> Vec<Question> {
        if self.link == LinkBy::Splice {
            return Vec::new();
        }
        let profiles = || consumed.iter().filter_map(|node| node.profile.as_ref());
        let linker = profiles().next().map(|profile| Question::Linker(profile.arch));
        profiles().cloned().map(Question::Compiler).chain(linker).collect()
    }

    fn build(&self, graph: &mut Building) -> Result<usize> {
        let node = graph.node();
        let inputs = graph.inputs();
        let missing = || Diag::at(&node.source, node.span, "there are no parts to link");
        let parts = inputs.first().map(|j| graph.graph.root(*j)).ok_or_else(missing)?;
        let split = *graph.splits.get(&parts).ok_or_else(missing)?;
        let whole = graph.graph.nodes[parts].inputs[0];
        let tests = graph.graph.nodes[whole].inputs[0];
        let made = linked(graph.db, graph.part(), by(split))?;
        let link = graph.add_made(vec![whole, tests], made);
        graph.graph.nodes[link].joined = inputs;
        let list = graph.add_hidden(vec![link], Fingerprint::default(), Work::Parts);
        let made = Link { by: split, plan: graph.at, link, tests };
        graph.links.insert(list, made);
        Ok(list)
    }
}

/// The work that links for an instance whose tests were taken apart in this way.
#[salsa::tracked(returns(clone), no_eq)]
fn linked<'db>(db: &'db dyn Db, of: Part<'db>, by: By) -> Result<Made> {
    let node = instance(db, of).ok_or_else(gone)?;
    let Kind::Link(options) = &node.kind else { return Err(gone()) };
    let fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_LINK"))
        .with_text("stage", "link")
        .with_text("by", &format!("{by:?}"));
    let error = |what: &str, help: &str| Diag::at(&node.source, node.span, what).help(help);
    let drops =
        |i: &Arc<Instance>| matches!(&i.kind, Kind::Compile(c) if c.observe == Observe::None);
    if by != By::Whole && consumed(db, of).iter().any(drops) {
        return Err(error(
            "parts pass locals to each other, so that these are kept",
            "leave out `observe: none`, or split by `whole`",
        ));
    }
    let mix =
        options.mix.as_ref().map(|word| written(&node, word, by, consumed(db, of))).transpose()?;
    let fingerprint = match (&options.mix, &mix) {
        (Some(text), Some((_, profiles))) => fingerprint
            .with_text("mix", &text.value)
            .with_text("profiles of the mix", &format!("{profiles:?}")),
        _ => fingerprint,
    };
    if options.link == LinkBy::Splice {
        return Ok(Made { work: Arc::new(Stage { by, ld: None, mix }), fingerprint });
    }
    if by == By::Whole {
        return Err(error(
            "whole tests are not linked with `ld`",
            "split by `thread` or `instruction`, or link with `splice`",
        ));
    }
    let mut profiles = Vec::new();
    for input in consumed(db, of) {
        let Kind::Compile(compiled) = &input.kind else { continue };
        if compiled.storage != Storage::Pointers || compiled.helpers {
            return Err(error(
                "parts are linked with `ld` where their locations are behind pointers",
                "leave out `storage` and `helpers`, or link with `splice`",
            ));
        }
        if let Some(profile) = &input.profile {
            profiles.push((profile.clone(), compilers::known(db, profile)?));
        }
    }
    let missing = || error("there is no code to link", "compile the parts of a `split` stage");
    let (first, _) = profiles.first().ok_or_else(missing)?;
    let linker = ld::known(db, first.arch)?;
    let (ld, fingerprint, guard) = Ld::new(fingerprint, &profiles, &linker);
    Ok(Made { work: Arc::new(guard.around(Stage { by, ld: Some(ld), mix })), fingerprint })
}

/// The mix that the pipeline names, with the profile of each part.
fn written(
    node: &Instance,
    word: &Sp<String>,
    by: By,
    code: Vec<Arc<Instance>>,
) -> Result<(Written, Vec<usize>)> {
    let text = super::items::text(&node.source, word);
    let written = Written::read(&text)?;
    if written.by()? != by {
        let names = |by| match by {
            By::Whole => "the whole test, as `P0 || P1`",
            By::Thread => "threads, as `P0`",
            By::Instruction => "statements, as `P0_0`",
        };
        let message =
            format!("the mix names {}, but parts are {}", names(written.by()?), names(by));
        return Err(Diag::at(&node.source, word.span, message)
            .help("`by` of the stage `split` says what parts are"));
    }
    let name = |i: &Arc<Instance>| i.profile.as_ref().map_or(String::new(), |p| p.name.clone());
    let names: Vec<String> = code.iter().map(name).collect();
    let profiles = written.profiles(&names)?;
    // Tests are read long after the pipeline, so errors about them point only into the mix.
    Ok((Written::read(&Source::new("the mix", &*word.value))?, profiles))
}

impl Stage {
    fn one(&self, item: &[Vec<u8>], context: &Context) -> Checked<Outcome> {
        let [_, test, compiled @ ..] = item else {
            return Err("a test without code was to be linked".into());
        };
        let test = read_test(test)?;
        let split = mix::split(&test, self.by)?;
        let mix = match &self.mix {
            Some((written, profiles)) => Some(written.assignment(&split, profiles)?),
            None => None,
        };
        let mut parts: Vec<Vec<Option<Test>>> = Vec::new();
        for profile in compiled {
            let results = decode_results(profile).ok_or("code that cannot be read")?;
            let read = |r: Option<Vec<u8>>| r.map(|bytes| read_test(&bytes)).transpose();
            let read: Checked<Vec<_>> = results.into_iter().map(read).collect();
            parts.push(read?);
        }
        // A linker that breaks ends the work. A mix that cannot be joined is left out.
        let broke = RefCell::new(None);
        let refused = Cell::new(false);
        let stop = || context.stopped() || broke.borrow().is_some();
        let mut join = |assignment: &[usize]| -> std::result::Result<Test, Option<Failure>> {
            let Some(ld) = &self.ld else { return Err(None) };
            ld.join(&test, &split, assignment, context).map_err(|failure| {
                match failure.kind.lasting() {
                    Lasting::ForGood => {}
                    Lasting::ForNow => refused.set(true),
                    Lasting::Never => {
                        *broke.borrow_mut() = Some(failure);
                        return None;
                    }
                }
                Some(failure)
            })
        };
        let join: Option<mix::link::Join> = match self.ld.is_some() {
            true => Some(&mut join),
            false => None,
        };
        let made = mix::link::link(&test, &split, &parts, mix.as_deref(), join, &stop);
        if let Some(failure) = broke.into_inner() {
            return Err(failure);
        }
        let Some((linked, texts)) = made else { return Ok(Outcome::stopped()) };
        let rest = serde_json::to_vec(&linked).map_err(|e| e.to_string())?;
        let name = |(i, text): (usize, String)| (format!("mix{i}"), text.into_bytes());
        let parts = texts.into_iter().enumerate().map(name).collect();
        let done = Bundle { parts, rest }.encode();
        Ok(match refused.get() {
            true => Outcome::DoneForNow(done),
            false => Outcome::Done(done),
        })
    }
}

impl Map for Stage {
    fn batch(&self) -> usize {
        1
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| self.one(item, context).unwrap_or_else(Outcome::Failed);
        items.iter().map(one).collect()
    }
}

/// Decodes a stored result of this stage.
pub fn read(bytes: &[u8]) -> Checked<(Bundle, Linked)> {
    let bundle = Bundle::decode(bytes).ok_or("mixes that cannot be read")?;
    let linked = serde_json::from_slice(&bundle.rest)
        .map_err(|e| format!("mixes that cannot be read: {e}"))?;
    Ok((bundle, linked))
}
