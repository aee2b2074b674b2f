//! Tests the text of the lines of progress, and that none is wider than its terminal.

use std::time::Duration;

use console::measure_text_width;
use litmake::engine::events::Event;

use super::lines::State;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The state after a run's events: for each stage its labels, and how many of its tasks are done.
struct Run {
    state: State,
}

impl Run {
    fn new(labels: &[&str]) -> Run {
        let nodes: Vec<String> = labels.iter().map(ToString::to_string).collect();
        let mut state = State::default();
        state.take(&Event::Started { nodes: &nodes }, at(0));
        Run { state }
    }

    fn sized(mut self, node: &str, tasks: u64) -> Run {
        self.state.take(&Event::Sized { node, tasks }, at(0));
        self
    }

    fn done(mut self, node: &str, tasks: u64, findings: u64, failed: u64, when: u64) -> Run {
        let (executed, cached) = (tasks, 0);
        let event = Event::Progress { node, tasks, executed, cached, failed, findings };
        self.state.take(&event, at(when));
        self
    }

    fn lines(&self, seconds: u64, width: usize, height: usize) -> Vec<String> {
        self.state.lines(at(seconds), width, height)
    }
}

/// Three stages: a list that is done, one half done at 1,309.6 tasks a second, and one that waits.
fn three() -> Run {
    let compile = "compile[gcc-12-aarch64-O2]";
    Run::new(&["tests", compile, "compile[clang-16-aarch64-O2]", "compare"])
        .sized("tests", 500_000)
        .done("tests", 500_000, 0, 0, 0)
        .sized(compile, 500_000)
        .sized("compile[clang-16-aarch64-O2]", 500_000)
        .done(compile, 1, 0, 0, 0)
        .done(compile, 130_961, 0, 2, 50)
}

#[test]
fn a_line_a_stage_with_whole_numbers() {
    assert_eq!(
        three().lines(100, 100, 20),
        [
            "tests       ████████████████████████    500,000/500,000",
            "compile x2  ███░░░░░░░░░░░░░░░░░░░░░  130,962/1,000,000  1,310/s  11:03  2 failed",
            "compare",
        ]
    );
}

#[test]
fn what_does_not_fit_is_left_out_and_never_wraps() {
    assert_eq!(
        three().lines(100, 60, 20),
        [
            "tests         500,000/500,000",
            "compile x2  130,962/1,000,000  1,310/s  11:03  2 failed",
            "compare",
        ]
    );
    assert_eq!(
        three().lines(100, 80, 20),
        [
            "tests       ███████████████████████    500,000/500,000",
            "compile x2  ███░░░░░░░░░░░░░░░░░░░░  130,962/1,000,000  1,310/s  11:03  2 failed",
            "compare",
        ]
    );
    let long = "a-stage-whose-name-is-longer-than-any-terminal-is-wide-and-goes-on-and-on-and-on";
    let wide = "\u{6f22}\u{5b57}".repeat(30);
    let run = Run::new(&[long, &wide])
        .sized(long, u64::MAX / 4)
        .sized(&wide, 3)
        .done(long, 1, 0, 0, 1)
        .done(long, u64::MAX / 8, 1_234_567, 1_234_567, 2)
        .done(&wide, 1, 0, 0, 2);
    let mut investigating = run.state.clone();
    let event = Event::Investigating { done: 3, findings: 12, test: long };
    investigating.take(&event, at(100));
    for width in [1, 20, 60, 80, 100, 200] {
        let all = [three().lines(100, width, 20), run.lines(100, width, 20)];
        let other = [three().lines(100, width, 2), investigating.lines(at(160), width, 20)];
        for line in all.iter().chain(&other).flatten() {
            assert!(measure_text_width(line) <= width, "{width}: {line}");
        }
    }
    // If there is room, a name takes the whole width of its column.
    assert!(run.lines(100, 200, 20)[0].starts_with("a-stage-whose-name-is-longer-th…  "));
}

#[test]
fn of_many_stages_those_under_way_are_named_and_the_others_counted() {
    let names: Vec<String> = (0..40).map(|i| format!("stage{i}")).collect();
    let labels: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = Run::new(&labels);
    for name in &labels[..10] {
        run = run.sized(name, 10).done(name, 10, 0, 0, 1);
    }
    run = run.sized("stage10", 10).done("stage10", 4, 1, 0, 1).sized("stage11", 7);
    assert_eq!(
        run.lines(1, 80, 20),
        [
            "stage10  █████████░░░░░░░░░░░░░░░  4/10  1 finding",
            "stage11  ░░░░░░░░░░░░░░░░░░░░░░░░   0/7",
            "10 stages done, 28 more",
        ]
    );
    // No more lines than rows.
    assert_eq!(run.lines(1, 80, 2).len(), 2);
    assert_eq!(run.state.summary(at(1)), "104 of 117 tasks: stage10 4/10, stage11 0/7; 1 finding");
}

#[test]
fn looking_into_findings_is_a_phase_of_its_own() {
    let mut run = three();
    run.state.take(&Event::Finished { stopped: false, time: at(100) }, at(100));
    assert!(!run.state.is_busy());
    assert!(run.lines(100, 80, 20).is_empty());
    let event = Event::Investigating { done: 2, findings: 10, test: "tests/MP+dmb.sy+addr.litmus" };
    run.state.take(&event, at(110));
    assert_eq!(run.lines(175, 80, 20), ["investigating 3/10  1:05  tests/MP+dmb.sy+addr.litmus"]);
    assert_eq!(run.lines(175, 40, 20), ["investigating 3/10  1:05  …y+addr.litmus"]);
    assert_eq!(
        run.state.summary(at(175)),
        "investigating 3 of 10 findings: tests/MP+dmb.sy+addr.litmus (1:05)"
    );
    run.state.take(&Event::Investigating { done: 10, findings: 10, test: "" }, at(180));
    assert!(!run.state.is_busy());
}

#[test]
fn a_second_run_begins_anew() {
    let mut run = three();
    run.state.take(&Event::Finished { stopped: false, time: at(100) }, at(100));
    run.state.take(&Event::Started { nodes: &["tests".to_string()] }, at(200));
    assert_eq!(run.lines(200, 80, 20), ["tests"]);
}

#[test]
fn what_lasts_long_is_told_in_hours() {
    let run = Run::new(&["s"]).sized("s", 7_210).done("s", 1, 0, 0, 0).done("s", 9, 0, 0, 9);
    assert_eq!(run.lines(9, 80, 20), ["s  ░░░░░░░░░░░░░░░░░░░░░░░░  10/7,210  1/s  2:00:00"]);
}

#[test]
fn names_of_tests_do_not_drive_the_terminal() {
    let mut run = Run::new(&["s"]);
    run.state.take(&Event::Investigating { done: 0, findings: 1, test: "a\u{1b}[2Jb\nc" }, at(0));
    let lines = run.lines(0, 80, 20);
    assert!(lines.len() == 1 && !lines[0].contains(['\u{1b}', '\n']), "{lines:?}");
}
