//! Jobs against a strict server in memory whose workers do what a test says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::strict::{Given, Left, Queue, Rules, Running, Store, start};
use litmake_base::digest::Digest;
use litmake_engine::elsewhere::{Elsewhere, Executed, Order};
use litmake_engine::remote::Remote;

use super::*;
use crate::work::Told;

/// A program that is sent, and never run here.
fn program() -> std::path::PathBuf {
    std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
}

fn options(server: &Running, patience: u64) -> Options {
    let mut out = Options::new(Address::parse(&server.url()).unwrap());
    out.instance = Rules::default().instance;
    out.retries = 1;
    out.silence = Duration::from_millis(200);
    out.execution = Some(Execution {
        address: out.address.clone(),
        program: program(),
        cores: 1,
        slots: 4,
        timeout: Duration::from_secs(100),
        patience: Duration::from_secs(patience),
        properties: vec![("pool".into(), "none".into())],
    });
    out
}

fn client(server: &Running, patience: u64) -> Client {
    let client = Client::start(options(server, patience)).unwrap();
    client.set_recipe(b"a pipeline".to_vec(), work::Answers::new());
    client
}

fn send(client: &Client, anew: bool) -> Receiver<Executed> {
    let (send, receive) = channel();
    let order = Order { job: b"a job".to_vec(), outputs: 2, anew };
    client.execute(1, order, Box::new(move |done| drop(send.send(done))));
    receive
}

const LONG: Duration = Duration::from_secs(60);

/// The files of a worker that has the right results for two packets.
fn honest(given: &Given) -> Left {
    let job = sealed::open(&work::job_key(), &given.files[work::JOB]).unwrap();
    assert_eq!(
        sealed::open(&work::recipe_key(), &given.files[work::RECIPE]).unwrap(),
        b"a pipeline"
    );
    let keys = [Digest::of(b"one"), Digest::of(b"two")];
    let told = Told {
        program: action::digest_of(&given.files[work::PROGRAM]).hash,
        packets: vec![(0, keys[0]), (1, keys[1])],
        spent: vec![(Digest::of(b"work"), 3, 4)],
        broke: Vec::new(),
    };
    let mut files = BTreeMap::new();
    for (n, key) in keys.iter().enumerate() {
        let packet = sealed::seal(key, 0, format!("packet {n}").as_bytes()).unwrap();
        files.insert(work::packet_name(n), packet);
    }
    let told = sealed::seal(&Digest::of(&job), 0, &serde_json::to_vec(&told).unwrap()).unwrap();
    files.insert(work::TOLD.into(), told);
    Left { status: 0, stderr: String::new(), files }
}

fn rules(worker: impl Fn(&Given) -> Left + Send + Sync + 'static) -> Rules {
    Rules { worker: Some(Arc::new(worker)), ..Rules::default() }
}

fn failed(done: Executed) -> String {
    match done {
        Executed::Failed(words) => words,
        Executed::Refused(words) => format!("refused: {words}"),
        Executed::Gone => "gone".into(),
        Executed::Made(_) => "made".into(),
    }
}

#[test]
fn what_an_honest_worker_gives_comes() {
    let store = Store::default();
    let server = start(&store, &rules(honest), 0, None);
    let client = client(&server, 60);
    let Executed::Made(made) = send(&client, false).recv_timeout(LONG).unwrap() else {
        panic!("{:?}", client.take_notices());
    };
    let one = (Digest::of(b"one"), b"packet 0".to_vec());
    assert_eq!(made.packets, [one, (Digest::of(b"two"), b"packet 1".to_vec())]);
    assert_eq!((made.spent.len(), made.spent[0].items, made.remembered), (1, 3, false));
    // The same job has been done before, and is done again where that is asked for.
    let Executed::Made(made) = send(&client, false).recv_timeout(LONG).unwrap() else {
        panic!("{:?}", client.take_notices());
    };
    assert!(made.remembered);
    let Executed::Made(made) = send(&client, true).recv_timeout(LONG).unwrap() else {
        panic!("{:?}", client.take_notices());
    };
    assert!(!made.remembered);
    assert_eq!(client.take_notices(), Vec::<String>::new());
    assert_eq!(client.tally().jobs, 3);
}

#[test]
fn nothing_counts_that_does_not_check() {
    type Spoil = fn(&mut Left);
    let cases: [(&str, Spoil); 7] = [
        ("status 3: no room", |a| (a.status, a.stderr) = (3, "no room\nat all".into())),
        ("refused: a worker refuses a job: gcc", |a| (a.status, a.stderr) = (70, "gcc".into())),
        ("it has no `told`", |a| drop(a.files.remove(work::TOLD))),
        ("it has no `packet-1`", |a| drop(a.files.remove("packet-1"))),
        ("its checksum does not match", |a| a.files.get_mut("packet-0").unwrap()[60] ^= 1),
        ("it was made for another key", |a| {
            let other = a.files["packet-1"].clone();
            a.files.insert("packet-0".into(), other);
        }),
        ("`told`: its checksum does not match", |a| a.files.get_mut(work::TOLD).unwrap()[70] ^= 4),
    ];
    for (words, spoil) in cases {
        let worker = move |given: &Given| {
            let mut answer = honest(given);
            spoil(&mut answer);
            answer
        };
        let server = start(&Store::default(), &rules(worker), 0, None);
        let client = client(&server, 60);
        let said = failed(send(&client, false).recv_timeout(LONG).unwrap());
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn another_program_than_was_sent_is_not_believed() {
    let worker = |given: &Given| {
        let mut given = given.clone();
        // A bit of the program that was stored is another one.
        given.files.get_mut(work::PROGRAM).unwrap()[0] ^= 1;
        honest(&given)
    };
    let server = start(&Store::default(), &rules(worker), 0, None);
    let client = client(&server, 60);
    let said = failed(send(&client, false).recv_timeout(LONG).unwrap());
    assert!(said.contains("another program has run than was sent"), "{said}");
}

#[test]
fn a_job_that_nobody_takes_is_given_up_and_said() {
    let server =
        start(&Store::default(), &Rules { queue: Queue::Stands, ..rules(honest) }, 0, None);
    let client = client(&server, 1);
    assert!(client.is_open());
    assert_eq!(failed(send(&client, false).recv_timeout(LONG).unwrap()), "gone");
    let said = client.take_notices().join("\n");
    assert!(said.contains("no worker has begun a job for 1 s"), "{said}");
    assert!(said.contains("--remote-platform"), "{said}");
    assert!(!client.is_open());
}

#[test]
fn a_job_whose_worker_went_away_waits_as_before() {
    let server =
        start(&Store::default(), &Rules { queue: Queue::LosesWorkers, ..rules(honest) }, 0, None);
    let client = client(&server, 1);
    assert_eq!(failed(send(&client, false).recv_timeout(LONG).unwrap()), "gone");
    let said = client.take_notices().join("\n");
    assert!(said.contains("no worker has begun a job for 1 s"), "{said}");
}

#[test]
fn a_silent_server_is_asked_how_far_a_job_is() {
    for (queue, executed) in [(Queue::IsSilent, 1), (Queue::Forgets, 2)] {
        let store = Store::default();
        let server = start(&store, &Rules { queue, ..rules(honest) }, 0, None);
        let client = client(&server, 60);
        let done = send(&client, false).recv_timeout(LONG).unwrap();
        assert!(matches!(done, Executed::Made(_)), "{:?}", client.take_notices());
        assert_eq!((store.calls("wait"), store.calls("execute")), (1, executed));
    }
}

#[test]
fn that_no_worker_has_a_property_is_said_at_once() {
    let store = Store::default();
    let rules = Rules { queue: Queue::HasNoSuchWorker, ..rules(honest) };
    let server = start(&store, &rules, 0, None);
    let client = client(&server, 60);
    assert_eq!(failed(send(&client, false).recv_timeout(LONG).unwrap()), "gone");
    let said = client.take_notices().join("\n");
    assert!(said.contains("no pool `none`") && said.contains("--remote-platform"), "{said}");
    assert_eq!(store.calls("execute"), 2);
}

#[test]
fn what_another_job_has_uploaded_meanwhile_is_no_property_that_no_worker_has() {
    let store = Store::default();
    let server = start(&store, &Rules { queue: Queue::MissedBlobs, ..rules(honest) }, 0, None);
    let client = client(&server, 60);
    let done = send(&client, false).recv_timeout(LONG).unwrap();
    assert!(matches!(done, Executed::Made(_)), "{:?}", client.take_notices());
    assert!(client.is_open());
    assert_eq!(store.calls("execute"), 2);
}

#[test]
fn jobs_that_nobody_waits_for_are_cancelled() {
    let store = Store::default();
    let server = start(&store, &Rules { queue: Queue::IsSilent, ..rules(honest) }, 0, None);
    let mut options = options(&server, 60);
    options.silence = LONG;
    let client = Client::start(options).unwrap();
    client.set_recipe(b"a pipeline".to_vec(), work::Answers::new());
    let _done = send(&client, false);
    while Elsewhere::tally(&client).running == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(client);
    assert_eq!(store.calls("cancel"), 1);
}

#[test]
fn a_job_that_nobody_has_begun_is_taken_back() {
    let server =
        start(&Store::default(), &Rules { queue: Queue::Stands, ..rules(honest) }, 0, None);
    let client = client(&server, 60);
    let done = send(&client, false);
    let mut tries = 0;
    while !client.recall(1) {
        tries += 1;
        assert!(tries < 10_000, "it is not taken back");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!client.recall(1));
    assert!(matches!(
        done.recv_timeout(Duration::from_millis(200)),
        Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout)
    ));
    assert_eq!(Elsewhere::tally(&client).queued, 0);
}

#[test]
fn a_server_that_does_not_execute_is_said_once() {
    let server = start(&Store::default(), &Rules::default(), 0, None);
    let client = client(&server, 60);
    assert_eq!(failed(send(&client, false).recv_timeout(LONG).unwrap()), "gone");
    assert_eq!(failed(send(&client, false).recv_timeout(LONG).unwrap()), "gone");
    let said = client.take_notices();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("it executes no actions for this client"), "{said:?}");
    assert!(!client.is_open());
}
