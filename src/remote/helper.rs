//! Programs that say who asks: credential helpers, as Bazel's users have them.
//!
//! A helper is started with the argument `get`, reads `{"uri": ...}`, and prints headers and until when
//! they are good. It is asked again when they are not, and once when a server refuses them. What it
//! prints are secrets: they go into requests and nowhere else.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};

use crate::address::{self, Address};
use crate::trouble::Trouble;

/// How long a helper may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long headers are used of which the helper does not say until when they are good.
const USED_FOR: Duration = Duration::from_secs(30 * 60);
/// Headers are renewed so long before they end, so that requests under way do not outlive them.
const EARLY: Duration = Duration::from_secs(30);
/// Nobody's headers are longer.
const MAX_ANSWER: usize = 1 << 20;

/// A program, and the hosts that it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// A host, or `*.` and what hosts end with; all hosts where it is left out.
    scope: Option<String>,
    program: PathBuf,
}

impl Helper {
    /// A helper from `PROGRAM` or `PATTERN=PROGRAM`. `find` looks a program up.
    pub fn parse(text: &str, find: impl Fn(&str) -> Option<PathBuf>) -> Result<Helper, String> {
        let (scope, program) = match text.split_once('=') {
            Some((scope, program)) => (Some(scope.to_ascii_lowercase()), program),
            None => (None, text),
        };
        if let Some(scope) = &scope {
            let host = scope.strip_prefix("*.").unwrap_or(scope);
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
            if host.is_empty() || !host.chars().all(allowed) {
                return Err(format!(
                    "--credential-helper: `{scope}` is no host; write HOST=PROGRAM, *.DOMAIN=PROGRAM, or PROGRAM for all hosts"
                ));
            }
        }
        if program.is_empty() {
            return Err("--credential-helper names no program".to_string());
        }
        let found = find(program).ok_or_else(|| {
            format!("--credential-helper: there is no program {program}, in the folder or in PATH")
        })?;
        Ok(Helper { scope, program: found })
    }

    /// How closely it is meant for a host: more for longer names, and most for the very name.
    fn fits(&self, host: &str) -> Option<usize> {
        match &self.scope {
            None => Some(0),
            Some(scope) if scope == host => Some(usize::MAX),
            Some(scope) => {
                let end = scope.strip_prefix('*')?;
                host.strip_suffix(end).filter(|before| !before.is_empty()).map(|_| end.len())
            }
        }
    }
}

/// The program of the helper that is meant for an address; of two that are, the one that was named last.
fn of<'a>(helpers: &'a [Helper], address: &Address) -> Option<&'a Path> {
    let host = address.host.to_ascii_lowercase();
    let fitting = helpers.iter().filter_map(|helper| Some((helper.fits(&host)?, helper)));
    fitting.max_by_key(|(closeness, _)| *closeness).map(|(_, helper)| &*helper.program)
}

/// All values that helpers told, so that no message repeats one.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Vec<String>>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Told {
    /// Calls something with each value.
    pub(crate) fn each(&self, mut with: impl FnMut(&str)) {
        lock(&self.0).iter().for_each(|value| with(value));
    }

    fn add(&self, value: &str) {
        let mut all = lock(&self.0);
        if !all.iter().any(|known| known == value) {
            all.push(value.to_string());
        }
    }
}

type Pairs = Vec<(AsciiMetadataKey, AsciiMetadataValue)>;

/// A helper's last answer: headers, and until when they hold.
#[derive(Default)]
struct Said {
    pairs: Arc<Pairs>,
    until: Option<SystemTime>,
}

/// Headers for one address, from its helper where there is one.
pub struct Credentials {
    program: Option<PathBuf>,
    uri: String,
    told: Told,
    said: Mutex<Said>,
    /// Held while the helper runs.
    asking: tokio::sync::Mutex<()>,
}

impl Credentials {
    pub fn new(helpers: &[Helper], address: &Address, told: Told) -> Credentials {
        // Bazel's users have helpers that know hosts by such URIs, encrypted or not.
        let uri = match address.port {
            443 => format!("https://{}/", address.host),
            port => format!("https://{}:{port}/", address.host),
        };
        Credentials {
            program: of(helpers, address).map(Path::to_path_buf),
            uri,
            told,
            said: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// The headers of the next request.
    pub fn headers(&self) -> Arc<Pairs> {
        lock(&self.said).pairs.clone()
    }

    fn is_fresh(&self) -> bool {
        lock(&self.said).until.is_some_and(|until| now() < until)
    }

    /// Asks the helper, where there is one and what it said is not good any more.
    pub async fn refresh(&self) -> Result<(), Trouble> {
        let Some(program) = &self.program else { return Ok(()) };
        if self.is_fresh() {
            return Ok(());
        }
        let _held = self.asking.lock().await;
        // Somebody may have asked meanwhile.
        if self.is_fresh() {
            return Ok(());
        }
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |why: String| Trouble::refused(format!("the credential helper {name} {why}"));
        let text = asked(program, &self.uri).await.map_err(failed)?;
        let (pairs, until) = read(&text, now()).map_err(failed)?;
        for (_, value) in &pairs {
            self.told.add(value.to_str().unwrap_or_default());
        }
        *lock(&self.said) = Said { pairs: Arc::new(pairs), until: Some(until) };
        Ok(())
    }

    /// Forgets what a server refused, so that the helper is asked again. Gives back whether there is
    /// anything to forget.
    pub fn forget(&self, refused: &Arc<Pairs>) -> bool {
        if self.program.is_none() {
            return false;
        }
        let mut said = lock(&self.said);
        // Requests that were under way together are refused together.
        if Arc::ptr_eq(&said.pairs, refused) {
            said.until = None;
        }
        true
    }
}

#[expect(clippy::disallowed_methods, reason = "tokens end at a time of day")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Runs a helper with the user's whole environment, in which its own configuration lies.
async fn asked(program: &Path, uri: &str) -> Result<String, String> {
    let mut child = tokio::process::Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| format!("did not start: {e}"))?;
    let question = serde_json::json!({ "uri": uri }).to_string();
    let mut stdin = child.stdin.take();
    let talk = async {
        if let Some(stdin) = &mut stdin {
            // A helper that needs no question may have ended.
            let _ = stdin.write_all(question.as_bytes()).await;
        }
        drop(stdin);
        child.wait_with_output().await
    };
    let ended = match tokio::time::timeout(PATIENCE, talk).await {
        Ok(ended) => ended.map_err(|e| format!("cannot be heard: {e}"))?,
        Err(_) => return Err(format!("gave no answer within {} s", PATIENCE.as_secs())),
    };
    if !ended.status.success() {
        // What it says of itself is for the user; a helper that prints secrets there is not helped.
        let words = String::from_utf8_lossy(&ended.stderr);
        let line = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        return Err(format!("failed ({}): {line}", ended.status));
    }
    match ended.stdout.len() <= MAX_ANSWER {
        true => String::from_utf8(ended.stdout).map_err(|_| "printed no text".to_string()),
        false => Err("printed more than a mebibyte".to_string()),
    }
}

/// The fields of a helper's output that litmake reads.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    headers: serde_json::Map<String, serde_json::Value>,
    expires: Option<String>,
}

/// The headers in an answer, and until when they are used.
fn read(text: &str, now: SystemTime) -> Result<(Pairs, SystemTime), String> {
    // The helper's output may hold a secret, so no message has a part of it but names.
    let answer: Answer = serde_json::from_str(text).map_err(|e| {
        format!("printed no answer: JSON with `headers` was expected (line {})", e.line())
    })?;
    let mut pairs = Pairs::new();
    for (name, values) in answer.headers {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        let name = address::header_name(&name)
            .map_err(|why| format!("printed a header `{shown}`: {why}"))?;
        let values = values.as_array().cloned().unwrap_or_else(|| vec![values]);
        for value in values {
            let value = value.as_str().and_then(|value| {
                address::header_value(value).and_then(|value| value.parse().ok())
            });
            let key = AsciiMetadataKey::from_bytes(name.as_bytes()).ok();
            match key.zip(value) {
                Some(pair) => pairs.push(pair),
                None => {
                    return Err(format!(
                        "printed a header `{shown}` whose value is no line of ASCII text"
                    ));
                }
            }
        }
    }
    let ends = match &answer.expires {
        None => now + USED_FOR,
        // Other forms than that of UTC are rare; what they say is found out by a refusal.
        Some(when) => humantime::parse_rfc3339_weak(when.trim()).unwrap_or(now + USED_FOR),
    };
    let early = ends.checked_sub(EARLY).filter(|early| *early > now).unwrap_or(ends);
    match ends > now {
        true => Ok((pairs, early)),
        false => Err("told something that is no longer good".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper(text: &str) -> Result<Helper, String> {
        Helper::parse(text, |name| (name != "none").then(|| PathBuf::from("/bin").join(name)))
    }

    #[test]
    fn the_helper_that_is_meant_most_closely_is_asked() {
        let all = ["any", "*.example.org=domain", "*.a.example.org=nearer", "cache.example.org=it"];
        let all: Vec<Helper> = all.iter().map(|text| helper(text).unwrap()).collect();
        for (host, wanted) in [
            ("grpcs://cache.example.org", "/bin/it"),
            ("grpcs://Cache.Example.org", "/bin/it"),
            ("grpcs://other.example.org", "/bin/domain"),
            ("grpcs://x.a.example.org", "/bin/nearer"),
            ("grpcs://example.org", "/bin/any"),
            ("grpcs://badexample.org", "/bin/any"),
        ] {
            assert_eq!(of(&all, &Address::parse(host).unwrap()), Some(Path::new(wanted)), "{host}");
        }
        assert_eq!(of(&all[1..], &Address::parse("grpcs://else.net").unwrap()), None);
        for (text, words) in [
            ("none", "there is no program none"),
            ("*=any", "is no host"),
            ("a host=any", "is no host"),
            ("example.org=", "names no program"),
        ] {
            let error = helper(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn an_answer_has_headers_and_an_end() {
        let at = |text: &str| humantime::parse_rfc3339_weak(text).unwrap();
        let now = at("2026-01-01T00:00:00Z");
        let (pairs, until) = read(
            r#"{"headers": {"Authorization": ["Bearer a", "Bearer b"], "x-team": ["c"]},
                "expires": "2026-01-01T01:00:00Z", "more": 1}"#,
            now,
        )
        .unwrap();
        let shown: Vec<_> = pairs.iter().map(|(k, v)| (k.as_str(), v.to_str().unwrap())).collect();
        assert_eq!(
            shown,
            [("authorization", "Bearer a"), ("authorization", "Bearer b"), ("x-team", "c")]
        );
        assert_eq!(until, at("2026-01-01T00:59:30Z"), "before the end");
        assert_eq!(read("{}", now).unwrap().1, now + USED_FOR - EARLY);
        for (text, words) in [
            ("Bearer sesame", "no answer"),
            (r#"{"headers": {"grpc-timeout": ["sesame"]}}"#, "belongs to the protocol"),
            (r#"{"headers": {"a b": ["sesame"]}}"#, "letters"),
            (r#"{"headers": {"x": [7]}}"#, "no line of ASCII"),
            (r#"{"headers": {"x": ["sesame\n"]}}"#, ""),
            (r#"{"expires": "2025-12-31T00:00:00Z"}"#, "no longer good"),
        ] {
            match read(text, now) {
                Err(error) => assert!(
                    error.contains(words) && !error.contains("sesame") && !words.is_empty(),
                    "{text}: {error}"
                ),
                Ok(_) => assert!(words.is_empty(), "{text}"),
            }
        }
    }
}
