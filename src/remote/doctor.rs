//! Examines an endpoint: which of the abilities that litmake uses it has.

use std::sync::Arc;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use litmake_base::digest::Digest;
use reapi::ServerCapabilities;

use crate::action::{self, Blob, Deed};
use crate::trouble::Trouble;
use crate::wire::{Read, Wire};
use crate::{Options, sealed};

/// The result of one check of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the endpoint has what a run needs.
    pub good: bool,
    /// The result in words.
    pub text: String,
}

fn functions(known: &ServerCapabilities) -> Option<&[i32]> {
    Some(&known.cache_capabilities.as_ref()?.digest_functions)
}

/// Says what is missing where the cache cannot be used at all.
pub fn is_enough(known: &ServerCapabilities) -> Result<(), String> {
    match functions(known) {
        None => Err("it says that it has no cache".into()),
        // A server that names none has the one that every server has.
        Some(names) if names.is_empty() || names.contains(&SHA256) => Ok(()),
        Some(_) => Err("it has no SHA-256 digests, which litmake uses".into()),
    }
}

const SHA256: i32 = reapi::digest_function::Value::Sha256 as i32;

/// Whether a server can execute litmake's actions; if not, what it lacks.
pub fn executes(known: &ServerCapabilities) -> Result<(), String> {
    let Some(found) = known.execution_capabilities.as_ref().filter(|e| e.exec_enabled) else {
        return Err("it executes no actions for this client".into());
    };
    let functions = &found.digest_functions;
    let one = found.digest_function;
    match functions.contains(&SHA256) || one == SHA256 || (functions.is_empty() && one == 0) {
        true => Ok(()),
        false => Err("it executes no actions with SHA-256 digests, which litmake uses".into()),
    }
}

pub fn takes_results(known: &ServerCapabilities) -> bool {
    let cache = known.cache_capabilities.as_ref();
    cache.and_then(|c| c.action_cache_update_capabilities).is_some_and(|c| c.update_enabled)
}

/// Looks at an endpoint. The error says why nothing can be said about it.
pub fn examine(options: &Options) -> Result<Vec<Finding>, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Trouble::unable(e.to_string()))?;
    runtime.block_on(async {
        let wire = Wire::new(Arc::new(options.clone()))?;
        let known = wire.capabilities().await?;
        let mut out = capabilities(options, &known);
        if is_enough(&known).is_ok() {
            out.push(trial(&wire, options.writes && takes_results(&known)).await);
        }
        Ok(out)
    })
}

fn capabilities(options: &Options, known: &ServerCapabilities) -> Vec<Finding> {
    let good = |text: String| Finding { good: true, text };
    let mut out = Vec::new();
    out.push(match (options.address.encrypted, options.address.is_here()) {
        (true, _) => good("the connection is encrypted".into()),
        (false, true) => good("the connection is not encrypted, and stays on this machine".into()),
        (false, false) => Finding {
            good: false,
            text: "the connection is not encrypted; use grpcs:// where the server can".into(),
        },
    });
    let version = |v: &Option<bazel_remote_apis::build::bazel::semver::SemVer>| {
        v.as_ref().map_or("?".to_string(), |v| format!("{}.{}", v.major, v.minor))
    };
    let (low, high) = (version(&known.low_api_version), version(&known.high_api_version));
    let speaks =
        |v: &Option<bazel_remote_apis::build::bazel::semver::SemVer>| v.as_ref().map(|v| v.major);
    // Version 2 has to be between what it says.
    let is_two = speaks(&known.low_api_version).is_none_or(|v| v <= 2)
        && speaks(&known.high_api_version).is_none_or(|v| v >= 2);
    out.push(Finding { good: is_two, text: format!("it speaks the API from {low} to {high}") });
    out.push(match is_enough(known) {
        Ok(()) => good("it has SHA-256 digests".into()),
        Err(words) => Finding { good: false, text: words },
    });
    out.push(match (takes_results(known), options.writes) {
        (true, true) => good("it takes results from this client".into()),
        (true, false) => good("it takes results, and none are given to it".into()),
        (false, false) => good("it takes no results from this client, and none are given".into()),
        (false, true) => Finding {
            good: false,
            text: "it takes no results from this client; results are only read".into(),
        },
    });
    if let Some(cache) = &known.cache_capabilities {
        out.push(good(match cache.max_batch_total_size_bytes {
            1.. => format!("batches have at most {} bytes", cache.max_batch_total_size_bytes),
            _ => "it names no limit for batches; 4 MiB is taken".into(),
        }));
    }
    out.push(good(match executes(known) {
        Ok(()) => "it executes actions (--remote-executor)".into(),
        Err(words) => format!("{words}, so it is a cache alone"),
    }));
    out
}

/// Stores a packet, where that is allowed, and reads it back.
async fn trial(wire: &Wire, writes: bool) -> Finding {
    match try_it(wire, writes).await {
        Ok(text) => Finding { good: true, text: text.into() },
        Err(text) => Finding { good: false, text },
    }
}

async fn try_it(wire: &Wire, writes: bool) -> Result<&'static str, String> {
    let key = Digest::of(b"litmake doctor");
    let deed = Deed::of(&key);
    let blob = sealed::seal(&key, 0, b"a trial of litmake doctor").map(Blob::new);
    let blob = blob.ok_or("a trial is too large")?;
    let failed = |what: &str, e: Trouble| format!("{what}: {e}");
    if writes {
        let all: Vec<Blob> = deed.blobs.iter().cloned().chain([blob.clone()]).collect();
        let digests = all.iter().map(|b| b.digest.clone()).collect();
        let missing = wire.missing(digests).await;
        let missing = missing.map_err(|e| failed("it does not say what it has", e))?;
        let new = all.into_iter().filter(|b| missing.contains(&b.digest)).collect();
        wire.write(new).await.map_err(|e| failed("it did not take a blob", e))?;
        let done = wire.update(deed.digest(), &action::result(&blob.digest)).await;
        done.map_err(|e| failed("it did not take a result", e))?;
    }
    let found = wire.action_result(deed.digest()).await;
    let found = found.map_err(|e| failed("it did not look a result up", e))?;
    let Some((digest, _)) = found.and_then(action::packet_of) else {
        return match writes {
            true => Err("it took a result and does not have it".into()),
            false => Ok("it can be read; it has no trial of another client, and none was stored"),
        };
    };
    let read = wire.read(std::slice::from_ref(&digest)).await;
    match read.map_err(|e| failed("it did not give a blob", e))?.pop() {
        Some(Read::Bytes(bytes)) if sealed::open(&key, &bytes).is_ok() => Ok(match writes {
            true => "a trial was stored and read back as it was",
            false => "a trial of another client was read as it was stored",
        }),
        Some(Read::Missing) | None => Err("it has a result without its blob".into()),
        Some(_) => Err("it gave other bytes than were stored; such are not used, and the trial's \
                        blob should be deleted there"
            .into()),
    }
}
