//! The client against a strict server in memory, and against servers that are slow, gone, or lie.

#![allow(clippy::disallowed_methods, reason = "tests look at files and start programs")]

use std::time::Duration;

use super::strict::{Rules, Running, Store, start};
use litmake_base::digest::Digest;
use litmake_base::stop::Stop;
use litmake_engine::remote::{Answers, Remote, ask_now};
use tonic::transport::server::ServerTlsConfig;
use tonic::transport::{Certificate, Identity};

use super::*;

fn options(server: &Running) -> Options {
    let mut out = Options::new(Address::parse(&server.url()).unwrap());
    out.instance = Rules::default().instance;
    out.retries = 1;
    out
}

fn secret(name: &str, value: &str) -> Header {
    Header::parse(&format!("{name}=@file"), |_| Ok(value.to_string()), |_| None).unwrap()
}

fn key(n: u32) -> Digest {
    Digest::of(&n.to_le_bytes())
}

/// Bytes that do not become fewer when they are packed.
fn noise(n: u32, len: usize) -> Vec<u8> {
    let digests =
        (0..).flat_map(|i: u32| Digest::of(&[n.to_le_bytes(), i.to_le_bytes()].concat()).0);
    digests.take(len).collect()
}

/// Some hundred packets of several sizes, the last of which fits into no batch.
fn packets() -> Vec<(Digest, Vec<u8>)> {
    let len = |n: u32| if n == 199 { 9 << 20 } else { (n as usize * 997) % 60_000 };
    (0..200).map(|n| (key(n), noise(n, len(n)))).collect()
}

fn upload(options: &Options, packets: &[(Digest, Vec<u8>)]) -> (Tally, Vec<String>) {
    let client = Client::start(options.clone()).unwrap();
    packets.iter().for_each(|(key, packet)| client.offer(*key, packet.clone()));
    let tally = client.finish(&Stop::default());
    (tally, client.take_notices())
}

fn download(options: &Options, packets: &[(Digest, Vec<u8>)]) -> (Answers, Tally, Vec<String>) {
    let client = Client::start(options.clone()).unwrap();
    let answers = ask_now(&client, packets.iter().map(|p| p.0).collect());
    let tally = client.finish(&Stop::default());
    (answers, tally, client.take_notices())
}

fn all(packets: &[(Digest, Vec<u8>)]) -> Answers {
    packets.iter().map(|(_, packet)| Some(packet.clone())).collect()
}

#[test]
fn what_one_client_gives_another_one_gets_in_few_requests() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets = packets();
    let (tally, said) = upload(&options(&server), &packets);
    assert_eq!((tally.uploaded, tally.lost), (200, 0), "{said:?}");
    // There are 7 MB of noise in small packets, and 4 MiB in a batch.
    assert!(store.calls("batch update") <= 6, "{:?}", store.lock().calls);
    assert!(store.calls("find missing") <= 6, "{:?}", store.lock().calls);
    assert_eq!(store.calls("stream write"), 1);
    let (answers, tally, said) = download(&options(&server), &packets);
    assert!(answers == all(&packets), "{said:?}");
    assert_eq!((tally.asked, tally.fetched, tally.broken), (200, 200, 0));
    assert!(store.calls("batch read") <= 4, "{:?}", store.lock().calls);
    assert_eq!(store.calls("stream read"), 1);
    assert_eq!(said, Vec::<String>::new());
    // A packet that nobody gave is not there.
    assert_eq!(download(&options(&server), &[(key(1000), Vec::new())]).0, [None]);
}

#[test]
fn the_same_packets_are_the_same_bytes() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    upload(&options(&server), &packets());
    let before = store.lock().blobs.clone();
    let updates = store.calls("batch update");
    upload(&options(&server), &packets());
    assert!(before == store.lock().blobs);
    assert_eq!(store.calls("batch update"), updates);
}

#[test]
fn small_batches_are_kept_to() {
    let store = Store::default();
    let server = start(&store, &Rules { batch: 100_000, ..Rules::default() }, 0, None);
    let packets = packets();
    let (tally, said) = upload(&options(&server), &packets);
    assert_eq!(tally.uploaded, 200, "{said:?}");
    assert!(download(&options(&server), &packets).0 == all(&packets));
}

/// Flips a bit in each blob that a result of the server names.
fn flip(store: &Store) {
    let mut kept = store.lock();
    let files = kept.results.values().flat_map(|result| &result.output_files);
    let packets: Vec<String> = files.filter_map(|f| Some(f.digest.clone()?.hash)).collect();
    for (n, hash) in packets.iter().enumerate() {
        flip_in(kept.blobs.get_mut(hash).unwrap(), n);
    }
}

/// Flips a bit in each blob of a server, be it a packet or an action.
fn flip_all(store: &Store) {
    store.lock().blobs.values_mut().enumerate().for_each(|(n, blob)| flip_in(blob, n));
}

fn flip_in(blob: &mut [u8], n: usize) {
    if !blob.is_empty() {
        let bit = (n * 7919) % (blob.len() * 8);
        blob[bit / 8] ^= 1 << (bit % 8);
    }
}
#[test]
fn flipped_bits_are_misses_that_are_said_once_and_healed() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets: Vec<_> = packets().into_iter().take(100).collect();
    upload(&options(&server), &packets);
    for round in 0..3 {
        flip(&store);
        let client = Client::start(options(&server)).unwrap();
        let answers = ask_now(&client, packets.iter().map(|p| p.0).collect());
        assert!(answers.iter().all(Option::is_none), "round {round}");
        assert_eq!(client.tally().broken, 100);
        assert_eq!(client.take_notices().len(), 1);
        // The client computes what it did not get, and offers that.
        packets.iter().for_each(|(key, packet)| client.offer(*key, packet.clone()));
        let tally = client.finish(&Stop::default());
        assert_eq!((tally.uploaded, tally.lost), (100, 0), "{:?}", client.take_notices());
        assert!(download(&options(&server), &packets).0 == all(&packets), "round {round}");
    }
}

#[test]
fn a_server_with_broken_actions_takes_what_it_can_and_is_never_believed() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets: Vec<_> = packets().into_iter().take(100).collect();
    let (old, new) = packets.split_at(50);
    upload(&options(&server), old);
    flip_all(&store);
    let (answers, tally, _) = download(&options(&server), old);
    assert!(answers.iter().all(Option::is_none));
    assert_eq!(tally.broken, 50);
    // It refuses results of actions that it has broken; the others are none the worse.
    let (tally, said) = upload(&options(&server), &packets);
    assert_eq!((tally.uploaded, tally.lost), (50, 50), "{said:?}");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(download(&options(&server), new).0 == all(new));
}

#[test]
fn blobs_that_were_dropped_are_misses_and_healed() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets = packets();
    upload(&options(&server), &packets);
    store.lock().blobs.clear();
    let (answers, tally, said) = download(&options(&server), &packets);
    assert!(answers.iter().all(Option::is_none));
    assert_eq!((tally.broken, said.len()), (0, 0), "{said:?}");
    upload(&options(&server), &packets);
    assert!(download(&options(&server), &packets).0 == all(&packets));
}

#[test]
fn a_server_that_mixes_results_up_is_found_out() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets: Vec<_> = packets().into_iter().take(50).collect();
    upload(&options(&server), &packets);
    {
        // Each action gets the result of another one, which is whole and has its right digest.
        let mut kept = store.lock();
        let mut results: Vec<_> = kept.results.values().cloned().collect();
        results.rotate_left(1);
        kept.results.values_mut().zip(results).for_each(|(slot, result)| *slot = result);
    }
    let (answers, tally, said) = download(&options(&server), &packets);
    assert!(answers.iter().all(Option::is_none));
    assert_eq!(tally.broken, 50);
    assert!(said[0].contains("another key"), "{said:?}");
}

#[test]
fn wrong_tokens_and_names_are_said_without_the_token() {
    let store = Store::default();
    let token = "Bearer sesame-open-yourself";
    let rules = Rules { token: Some(token.into()), ..Rules::default() };
    let server = start(&store, &rules, 0, None);
    let packets: Vec<_> = packets().into_iter().take(3).collect();
    let mut right = options(&server);
    right.headers.push(secret("authorization", token));
    assert_eq!(upload(&right, &packets).0.uploaded, 3);
    assert!(download(&right, &packets).0 == all(&packets));

    let none = options(&server);
    let mut wrong = options(&server);
    wrong.headers.push(secret("authorization", "Bearer sesame-expired-yesterday"));
    let mut elsewhere = right.clone();
    elsewhere.instance = "main".into();
    for (options, words, help) in [
        (none, "does not know who asks", "--remote-header"),
        (wrong, "does not know who asks", "is it still valid"),
        (elsewhere, "no instance main", "--remote-instance-name"),
    ] {
        let (answers, tally, said) = download(&options, &packets);
        assert!(answers.iter().all(Option::is_none));
        assert_eq!((tally.fetched, said.len()), (0, 1), "{said:?}");
        assert!(said[0].contains(words) && said[0].contains(help), "{said:?}");
        assert!(!said[0].contains("sesame"), "{said:?}");
        let trouble = Client::start(options.clone()).unwrap().check().unwrap_err();
        assert!(!trouble.words.contains("sesame"), "{trouble}");
        let (tally, said) = upload(&options, &packets);
        assert_eq!((tally.uploaded, tally.lost), (0, 3), "{said:?}");
        assert!(examine(&options).is_err());
    }
}

/// A folder with a credential helper, a script, and options that name it.
fn helped(server: &Running, script: &str) -> (tempfile::TempDir, Options) {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("helper");
    let text = format!("#!/bin/sh\ncd {}\n{script}", dir.path().display());
    litmake_base::file::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut out = options(server);
    out.helpers.push(crate::Helper::parse("helper", |_| Some(path.clone())).unwrap());
    (dir, out)
}

#[test]
fn a_helper_tells_who_asks_and_is_asked_again_when_its_word_is_not_taken() {
    let token = "Bearer sesame-open-yourself";
    let rules = Rules { token: Some(token.into()), ..Rules::default() };
    let store = Store::default();
    let server = start(&store, &rules, 0, None);
    let packets: Vec<_> = packets().into_iter().take(20).collect();
    // Its first answer is a token of yesterday.
    let (dir, with) = helped(
        &server,
        "cat >> asked; echo \"$1\" >> asked\n\
         test -f old && t=open-yourself || t=of-yesterday-no-more\ntouch old\n\
         echo '{\"headers\": {\"Authorization\": [\"Bearer sesame-'$t'\"]}}'",
    );
    assert_eq!(upload(&with, &packets).0.uploaded, 20);
    let asked = litmake_base::file::read_text(&dir.path().join("asked"), 10_000).unwrap();
    let once = format!("{{\"uri\":\"https://{}/\"}}get\n", &with.address.to_string()[7..]);
    assert_eq!(asked, once.repeat(2), "for all requests");
    let (answers, _, said) = download(&with, &packets);
    assert!(answers == all(&packets), "{said:?}");

    for (script, words) in [
        ("echo 'log in first' >&2; exit 7", "failed (exit status: 7): log in first"),
        ("echo Bearer sesame-open-yourself", "printed no answer"),
        (
            "cat >/dev/null; echo '{\"headers\":{\"authorization\":[\"Bearer sesame-other\"]}}'",
            "does not know who asks",
        ),
    ] {
        let (_dir, with) = helped(&server, script);
        let (answers, _, said) = download(&with, &packets);
        assert!(answers.iter().all(Option::is_none));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(words) && !said[0].contains("sesame"), "{said:?}");
        assert!(examine(&with).is_err());
    }
}

#[test]
fn a_client_that_only_reads_writes_nothing() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets: Vec<_> = packets().into_iter().take(10).collect();
    let mut reader = options(&server);
    reader.writes = false;
    assert_eq!(upload(&reader, &packets).0, Tally::default());
    assert!(store.lock().blobs.is_empty() && store.lock().results.is_empty());
    // Nor does one that may not.
    let server = start(&store, &Rules { updates: false, ..Rules::default() }, 0, None);
    let (tally, said) = upload(&options(&server), &packets);
    assert_eq!(tally.uploaded, 0);
    assert!(said.iter().any(|s| s.contains("takes no results")), "{said:?}");
    assert!(store.lock().results.is_empty());
}

#[test]
fn a_client_that_accepts_nothing_asks_nothing() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let packets: Vec<_> = packets().into_iter().take(10).collect();
    let mut writer = options(&server);
    writer.reads = false;
    upload(&writer, &packets);
    assert!(download(&writer, &packets).0.iter().all(Option::is_none));
    assert_eq!(store.calls("look up"), 0);
    assert!(download(&options(&server), &packets).0 == all(&packets));
}

#[test]
fn a_server_that_is_gone_and_comes_back_loses_nothing() {
    let store = Store::default();
    let packets = packets();
    let (early, late) = packets.split_at(100);
    let server = start(&store, &Rules::default(), 0, None);
    let port = server.address.port();
    let client = Client::start(options(&server)).unwrap();
    assert!(client.check().is_ok());
    early.iter().for_each(|(key, packet)| client.offer(*key, packet.clone()));
    drop(server);
    late.iter().for_each(|(key, packet)| client.offer(*key, packet.clone()));
    assert_eq!(ask_now(&client, vec![key(5000)]), [None]);
    let _server = start(&store, &Rules::default(), port, None);
    let mut said = Vec::new();
    while client.pending() > 0 {
        std::thread::sleep(Duration::from_millis(20));
        said.extend(client.take_notices());
    }
    let tally = client.finish(&Stop::default());
    said.extend(client.take_notices());
    assert_eq!((tally.uploaded, tally.lost), (200, 0), "{said:?}");
    assert!(said.iter().any(|s| s.contains("from time to time")), "{said:?}");
    assert!(said.iter().any(|s| s.contains("there again")), "{said:?}");
    assert!(download(&options(&_server), &packets).0 == all(&packets));
}

#[test]
fn a_server_that_stays_away_is_said_once_and_not_waited_for() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let options = options(&server);
    drop(server);
    let client = Client::start(options).unwrap();
    let packets: Vec<_> = packets().into_iter().take(100).collect();
    for (key, packet) in &packets {
        assert_eq!(ask_now(&client, vec![*key]), [None]);
        client.offer(*key, packet.clone());
    }
    let tally = client.finish(&Stop::default());
    assert_eq!((tally.uploaded, tally.lost, tally.fetched), (0, 100, 0));
    let said = client.take_notices();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("cannot be reached"), "{said:?}");
}

#[test]
fn a_server_that_does_not_answer_is_left_alone() {
    let store = Store::default();
    let rules = Rules { delay: Duration::from_secs(3600), ..Rules::default() };
    let server = start(&store, &rules, 0, None);
    let mut options = options(&server);
    options.timeout = Duration::from_millis(300);
    let (answers, _, said) = download(&options, &packets());
    assert!(answers.iter().all(Option::is_none));
    assert!(said[0].contains("no answer within"), "{said:?}");
    assert_eq!(store.calls("look up"), 0);
}

#[test]
fn doctor_says_what_an_endpoint_can_do_and_what_is_missing() {
    let store = Store::default();
    let server = start(&store, &Rules::default(), 0, None);
    let found = examine(&options(&server)).unwrap();
    assert!(found.iter().all(|f| f.good), "{found:?}");
    assert!(found.iter().any(|f| f.text.contains("stored and read back")), "{found:?}");
    flip(&store);
    let found = examine(&options(&server)).unwrap();
    assert!(found.iter().any(|f| !f.good && f.text.contains("other bytes")), "{found:?}");
    let server = start(&store, &Rules { updates: false, ..Rules::default() }, 0, None);
    let found = examine(&options(&server)).unwrap();
    assert!(found.iter().any(|f| !f.good && f.text.contains("takes no results")), "{found:?}");
}

/// A folder with an authority, a server's and a client's certificate, and an authority that signed
/// none of these.
fn certificates() -> Option<tempfile::TempDir> {
    if !litmake_needs::here("openssl") {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = "set -e
        for ca in ca other; do
          openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
            -keyout $ca.key -out $ca.pem -subj /CN=$ca -addext basicConstraints=critical,CA:TRUE
        done
        printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\\n' > server.ext
        printf 'subjectAltName=DNS:somebody\\n' > client.ext
        for who in server client; do
          openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
            -keyout $who.key -out $who.csr -subj /CN=$who
          openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
            -extfile $who.ext -out $who.pem
        done";
    let made = std::process::Command::new("sh").args(["-c", script]).current_dir(&dir).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(dir)
}

#[test]
fn certificates_are_asked_for_and_shown() {
    let Some(dir) = certificates() else { return };
    let pem = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    let identity = || Identity::from_pem(pem("server.pem"), pem("server.key"));
    let store = Store::default();
    let packets: Vec<_> = packets().into_iter().take(3).collect();
    let url = |server: &Running| format!("grpcs://localhost:{}", server.address.port());
    let with = |server: &Running, authority: &str, own: bool| {
        let mut out = options(server);
        out.address = Address::parse(&url(server)).unwrap();
        out.tls.authority = Some(pem(authority));
        out.tls.client = own.then(|| (pem("client.pem"), pem("client.key")));
        out
    };
    let words = |options: &Options| {
        let trouble = Client::start(options.clone()).unwrap().check().unwrap_err();
        format!("{trouble} ({})", trouble.help(options).unwrap_or_default())
    };

    let server =
        start(&store, &Rules::default(), 0, Some(ServerTlsConfig::new().identity(identity())));
    assert_eq!(upload(&with(&server, "ca.pem", false), &packets).0.uploaded, 3);
    assert!(download(&with(&server, "ca.pem", false), &packets).0 == all(&packets));
    let said = words(&with(&server, "other.pem", false));
    assert!(said.contains("--tls-certificate"), "{said}");
    let mut system = with(&server, "ca.pem", false);
    system.tls.authority = None;
    let said = words(&system);
    assert!(said.contains("--tls-certificate"), "{said}");
    let mut other_name = with(&server, "ca.pem", false);
    other_name.address.host = "127.0.0.2".into();
    let said = words(&other_name);
    assert!(said.contains("another name") || said.contains("cannot be reached"), "{said}");
    let plain = options(&server);
    assert!(Client::start(plain).unwrap().check().is_err());
    let mut no_key = with(&server, "ca.pem", true);
    no_key.tls.client = Some((pem("client.pem"), b"no key".to_vec()));
    let said = words(&no_key);
    assert!(said.contains("cannot be used"), "{said}");

    let both = ServerTlsConfig::new()
        .identity(identity())
        .client_ca_root(Certificate::from_pem(pem("ca.pem")));
    let server = start(&store, &Rules::default(), 0, Some(both));
    assert!(download(&with(&server, "ca.pem", true), &packets).0 == all(&packets));
    let said = words(&with(&server, "ca.pem", false));
    assert!(said.contains("--tls-client-certificate"), "{said}");

    // A server without encryption, asked for it.
    let server = start(&store, &Rules::default(), 0, None);
    let said = words(&with(&server, "ca.pem", false));
    assert!(said.contains("grpc://"), "{said}");
}
