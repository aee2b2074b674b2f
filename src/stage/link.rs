//! `link`: the parts of a test as each profile compiled them, joined into every test that they
//! make together.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::read_test;
use crate::engine::graph::{Context, Fingerprint, Map, Outcome};
use crate::engine::parts::{Bundle, decode_results};
use crate::litmus::Test;
use crate::mix::link::Linked;
use crate::mix::{self, By};
use crate::pipeline::profile::Profile;

/// Its items are what `split` gave, the test, and the parts as each profile compiled them.
pub struct Stage {
    pub by: By,
}

pub fn fingerprint(by: By) -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_MIX"))
        .with_text("stage", "link")
        .with_text("by", &format!("{by:?}"))
}

impl Stage {
    fn one(&self, item: &[Vec<u8>], context: &Context) -> Result<Option<Vec<u8>>, String> {
        let [_, test, compiled @ ..] = item else {
            return Err("a test without code was to be linked".into());
        };
        let test = read_test(test)?;
        let split = mix::split(&test, self.by)?;
        let mut parts: Vec<Vec<Option<Test>>> = Vec::new();
        for profile in compiled {
            let results = decode_results(profile).ok_or("code that cannot be read")?;
            let read = |r: Option<Vec<u8>>| r.map(|bytes| read_test(&bytes)).transpose();
            parts.push(results.into_iter().map(read).collect::<Result<_, String>>()?);
        }
        let stop = || context.stopped();
        let Some((linked, texts)) = mix::link::link(&test, &split, &parts, &stop) else {
            return Ok(None);
        };
        let rest = serde_json::to_vec(&linked).map_err(|e| e.to_string())?;
        let name = |(i, text): (usize, String)| (format!("mix{i}"), text.into_bytes());
        let parts = texts.into_iter().enumerate().map(name).collect();
        Ok(Some(Bundle { parts, rest }.encode()))
    }
}

impl Map for Stage {
    fn batch(&self) -> usize {
        1
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| match self.one(item, context) {
            Ok(Some(bytes)) => Outcome::Done(bytes),
            Ok(None) => Outcome::Stopped,
            Err(message) => Outcome::Failed(message),
        };
        items.iter().map(one).collect()
    }
}

/// What a stage of this kind gave for a test.
pub fn read(bytes: &[u8]) -> Result<(Bundle, Linked), String> {
    let bundle = Bundle::decode(bytes).ok_or("mixes that cannot be read")?;
    let linked = serde_json::from_slice(&bundle.rest)
        .map_err(|e| format!("mixes that cannot be read: {e}"))?;
    Ok((bundle, linked))
}

/// The model that mixed code is simulated under: that of all profiles, or, where code for Armv7
/// meets code for Armv8, that of the machine on which both run.
pub fn common_model(profiles: &[Arc<Profile>]) -> Result<String, String> {
    let model =
        |p: &Arc<Profile>| p.model.clone().unwrap_or_else(|| p.arch.default_model().to_string());
    let models: BTreeSet<String> = profiles.iter().map(model).collect();
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    match models.as_slice() {
        [model] => Ok(model.to_string()),
        ["aarch32", "armv7"] => Ok("aarch32".to_string()),
        _ => Err(format!("the mixed profiles have different models: {}", models.join(", "))),
    }
}
