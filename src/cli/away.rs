//! Asks a worker about compilers that this machine lacks, and answers such a question on the
//! worker.
//!
//! A question travels as a job of its own. This file does not know how jobs are sent or what they
//! compile.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use litmake::base::digest::Digest;
use litmake::base::records::{Noting, Records};
use litmake::diag::Result;
use litmake::engine::elsewhere::{Elsewhere, Executed, Order};
use litmake::engine::job::Job;
use litmake::plain;
use litmake::stage::compilers::{Away, Compilers};
use litmake::stage::workspace::{Prepared, Workspace};
use litmake::stop::{Stop, Stopping};
use serde::{Deserialize, Serialize};

use super::common;
use super::recipe::Recipe;
use super::remote::Connection;

/// The question to a worker: which compilers it has for these profiles.
#[derive(Serialize, Deserialize)]
struct Question {
    profiles: Vec<String>,
    /// Different in every run, so that no stored answer is reused: workers may have other compilers
    /// by now.
    run: u128,
}

/// For each profile, the worker's compiler, or why it has none.
type Answer = BTreeMap<String, std::result::Result<Away, String>>;

/// The job's number. Jobs of the engine count from one.
const NUMBER: u64 = 0;

/// Plans a pipeline. If workers are asked for, tells them the plan and what compilers answered
/// here, and uses their compilers where this machine lacks some. With `notes`, warns about
/// everything that may decide results and cannot be identified.
pub fn prepare(
    remote: &Connection,
    workspace: &mut Workspace,
    records: &dyn Records,
    notes: bool,
) -> Result<Prepared> {
    let prepare = |workspace: &mut Workspace, records: &dyn Records| match notes {
        true => common::prepare(workspace, records),
        false => workspace.prepare(records),
    };
    let Some(elsewhere) = remote.elsewhere() else { return prepare(workspace, records) };
    let noting = Noting::new(records);
    let prepared = prepare(workspace, &noting)?;
    let recipe = Recipe::of(workspace, &prepared.plan)?;
    remote.set_recipe(recipe.encode(), noting.noted());
    ask(&*elsewhere, workspace, prepared, records, &common::stop())
}

/// Asks workers for the compilers of a plan that this machine lacks, and plans again with their
/// answer.
fn ask(
    elsewhere: &dyn Elsewhere,
    workspace: &mut Workspace,
    prepared: Prepared,
    records: &dyn Records,
    stop: &Stop,
) -> Result<Prepared> {
    let missing = workspace.missing(&prepared.plan, records);
    if missing.is_empty() {
        return Ok(prepared);
    }
    #[expect(clippy::disallowed_methods, reason = "no two runs have the same question")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let question = Question {
        profiles: missing.iter().map(|profile| profile.name.clone()).collect(),
        run: now.unwrap_or_default().as_nanos(),
    };
    let answer = match answered(elsewhere, &question, stop) {
        Ok(answer) => answer,
        Err(why) => {
            let (count, why) = (missing.len(), plain::line(&why));
            eprintln!(
                "litmake: the compilers of {count} profiles are not here, and workers do not say what they have: {why}"
            );
            return Ok(prepared);
        }
    };
    let mut found = BTreeMap::new();
    for profile in &missing {
        match answer.get(&profile.name) {
            Some(Ok(away)) => drop(found.insert(profile.name.clone(), away.clone())),
            Some(Err(why)) => {
                eprintln!("litmake: workers lack a compiler, too: {}", plain::line(why));
            }
            None => {}
        }
    }
    if found.is_empty() {
        return Ok(prepared);
    }
    workspace.set_away(found);
    common::prepare(workspace, records)
}

fn answered(
    elsewhere: &dyn Elsewhere,
    question: &Question,
    stop: &Stop,
) -> std::result::Result<Answer, String> {
    let question = serde_json::to_vec(question).map_err(|e| e.to_string())?;
    let key = Digest::of(&question);
    let job = Job { question, ..Job::default() };
    let (send, receive) = channel();
    let order = Order { outputs: job.outputs(), job: job.encode(), anew: false };
    elsewhere.execute(NUMBER, order, Box::new(move |done| drop(send.send(done))));
    let done = loop {
        match receive.recv_timeout(Duration::from_millis(100)) {
            Ok(done) => break done,
            Err(RecvTimeoutError::Timeout) if !stop.asked() => {}
            Err(_) => return Err("the run was stopped".into()),
        }
    };
    match done {
        Executed::Made(made) => {
            let packet = made.packets.into_iter().find(|(of, _)| *of == key);
            let (_, bytes) = packet.ok_or("the answer did not come")?;
            serde_json::from_slice(&bytes).map_err(|e| e.to_string())
        }
        Executed::Refused(why) | Executed::Failed(why) => Err(why),
        Executed::Gone => Err("nobody executes there".into()),
    }
}

/// A worker's answer: the packet with its key. None if the question cannot be read.
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "workers are of the feature"))]
pub fn answer(
    question: &[u8],
    workspace: &Workspace,
    records: &dyn Records,
) -> Result<Option<(Digest, Vec<u8>)>> {
    let Ok(Question { profiles, .. }) = serde_json::from_slice(question) else { return Ok(None) };
    let plan = workspace.plan()?;
    let all = plan.nodes.iter().flat_map(|node| node.profile.iter().chain(&node.mixed));
    let compilers = Compilers::default();
    let asked = all.filter(|profile| profiles.contains(&profile.name));
    let answer: Answer = asked
        .map(|profile| {
            let away = compilers.told(profile, records).map_err(|failure| failure.text());
            (profile.name.clone(), away)
        })
        .collect();
    let packet = serde_json::to_vec(&answer).unwrap_or_default();
    Ok(Some((Digest::of(question), packet)))
}
