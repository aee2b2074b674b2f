//! A model of a run on a large cluster: how long it takes with so many cores, and what is full first.
//!
//!     cargo bench --bench cluster -- [TASKS] [NAME=VALUE...]
//!
//! It is to be checked against measurements with few workers, which give its numbers (docs/remote.md says which
//! and where they come from); then it is asked about clusters that nobody here has. Two passes follow one
//! another, as in a pipeline that compiles threads by themselves: all threads of all tests have to be compiled
//! before tests are simulated and compared. Jobs are cut as the engine cuts them: to 2 to 20 seconds, and to
//! half of what each slot could get of what is left.

#![allow(clippy::print_stdout, reason = "a measurement prints what it measures")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What was measured, in seconds of one core where nothing else is said.
#[derive(Clone)]
struct Numbers {
    /// Tasks of the first pass for each task of the second.
    threads: f64,
    /// A worker's time for a task of each pass.
    compile: f64,
    simulate: f64,
    /// A worker's time for a job besides its tasks: starting, planning, its compiler's answers.
    start: f64,
    /// The client's time for a task: its keys, its content on the way there, its result on the way back.
    client: f64,
    /// The client's time for a job.
    job: f64,
    /// From the client to a worker, or back.
    latency: f64,
    /// Bytes of a task there and back, and bytes a second that the client can send and receive.
    bytes: f64,
    link: f64,
    /// How fast a core of a worker is.
    speed: f64,
    /// Jobs under way for each worker.
    slots: f64,
}

impl Numbers {
    fn set(&mut self, name: &str, value: f64) -> bool {
        let place = match name {
            "threads" => &mut self.threads,
            "compile" => &mut self.compile,
            "simulate" => &mut self.simulate,
            "start" => &mut self.start,
            "client" => &mut self.client,
            "job" => &mut self.job,
            "latency" => &mut self.latency,
            "bytes" => &mut self.bytes,
            "link" => &mut self.link,
            "speed" => &mut self.speed,
            "slots" => &mut self.slots,
            _ => return false,
        };
        *place = value;
        true
    }
}

/// How long it took, and how much of that time each part was at work.
struct Took {
    wall: f64,
    client: f64,
    link: f64,
    workers: f64,
    jobs: u64,
}

/// One pass: tasks of one kind, all of them known from the beginning.
fn pass(n: &Numbers, tasks: f64, each: f64, workers: usize, slots: usize) -> Took {
    let (mut left, mut client, mut link) = (tasks, 0.0f64, 0.0f64);
    let mut out = Took { wall: 0.0, client: 0.0, link: 0.0, workers: 0.0, jobs: 0 };
    let ticks = |seconds: f64| (seconds * 1e6) as u64;
    let seconds = |ticks: u64| ticks as f64 / 1e6;
    // When each worker is free, and when each slot of the client is.
    let mut free: BinaryHeap<Reverse<u64>> = (0..workers).map(|_| Reverse(0)).collect();
    let mut open: BinaryHeap<Reverse<u64>> = (0..slots).map(|_| Reverse(0)).collect();
    while left > 0.0 {
        let Some(Reverse(slot)) = open.pop() else { break };
        let target = (left * each / (2 * slots) as f64).clamp(2.0, 20.0);
        let size = (target / each).max(1.0).min(left);
        left -= size;
        // The client makes one job after another, and sends them one after another.
        let made = client.max(seconds(slot)) + n.job + size * n.client / 2.0;
        client = made;
        let sent = link.max(made) + size * n.bytes / n.link;
        link = sent;
        let Some(Reverse(worker)) = free.pop() else { break };
        let work = (n.start + size * each) / n.speed;
        let done = seconds(worker).max(sent + n.latency) + work;
        free.push(Reverse(ticks(done)));
        let back = done + n.latency + size * n.client / 2.0;
        open.push(Reverse(ticks(back)));
        out.client += n.job + size * n.client;
        out.link += size * n.bytes / n.link;
        out.workers += work;
        out.wall = out.wall.max(back);
        out.jobs += 1;
    }
    // What is taken back is client's work, too, and cannot be done twice at a time.
    out.wall = out.wall.max(out.client);
    out
}

fn run(n: &Numbers, tasks: f64, workers: usize) -> Took {
    let slots = ((n.slots * workers as f64) as usize).max(1);
    let first = pass(n, tasks * n.threads, n.compile, workers, slots);
    let second = pass(n, tasks, n.simulate, workers, slots);
    Took {
        wall: first.wall + second.wall,
        client: first.client + second.client,
        link: first.link + second.link,
        workers: first.workers + second.workers,
        jobs: first.jobs + second.jobs,
    }
}

fn main() {
    let mut numbers = Numbers {
        threads: 1.0,
        compile: 1e-3,
        simulate: 1e-4,
        start: 0.1,
        client: 1e-5,
        job: 5e-3,
        latency: 1e-3,
        bytes: 500.0,
        link: 1.25e8,
        speed: 1.0,
        slots: 2.0,
    };
    let mut tasks = 2_040_000.0;
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        let set = arg
            .split_once('=')
            .and_then(|(name, value)| value.parse().ok().map(|value| numbers.set(name, value)));
        match (set, arg.parse::<f64>()) {
            (Some(true), _) => {}
            (None, Ok(count)) => tasks = count,
            _ => println!("`{arg}` is no number of tasks, nor NAME=VALUE of a number of the model"),
        }
    }
    println!(
        "{:>8} {:>10} {:>9} {:>7} {:>8} {:>6} {:>8}",
        "cores", "wall, s", "faster", "jobs", "workers", "client", "link"
    );
    let one = run(&numbers, tasks, 1).wall;
    for workers in [1, 2, 3, 8, 32, 64, 224, 1_000, 10_000] {
        let took = run(&numbers, tasks, workers);
        let share = |busy: f64, of: f64| format!("{:.0} %", 100.0 * busy / of / took.wall);
        println!(
            "{workers:>8} {:>10.1} {:>9.1} {:>7} {:>8} {:>6} {:>8}",
            took.wall,
            one / took.wall,
            took.jobs,
            share(took.workers, workers as f64),
            share(took.client, 1.0),
            share(took.link, 1.0),
        );
    }
}
