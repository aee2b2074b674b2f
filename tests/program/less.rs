//! More ways to judge less than was asked, a row each: no output of them reads as all clear.

#![cfg(target_arch = "x86_64")]

use crate::judged::{OUTPUTS, PIPELINE, SOUND, none_is_green, project};
use crate::scratch::{SB, Scratch};

/// A way in which a run judges less than was asked.
struct Way {
    what: &'static str,
    /// The compiler, which is a script.
    compiler: &'static str,
    /// A test, and what it has in place of a text of store buffering.
    test: (&'static str, &'static str, &'static str),
    pipeline: (&'static str, &'static str),
    status: i32,
    /// What every output says.
    words: &'static str,
}

/// A run that lacks nothing.
const SAME: Way = Way {
    what: "",
    compiler: SOUND,
    test: ("tests/sb.litmus", "", ""),
    pipeline: ("", ""),
    status: 3,
    words: "0 of 1 comparison judged; 1 not compared (1 failed)",
};

const WAYS: [Way; 11] = [
    Way {
        what: "an empty folder of tests",
        pipeline: ("files: tests", "files: none"),
        status: 2,
        words: "stage compare is missing",
        ..SAME
    },
    Way {
        what: "a condition that no test satisfies",
        pipeline: ("files: tests", "files: tests, keep: 'name=MP*'"),
        status: 2,
        words: "stage compare is missing",
        ..SAME
    },
    Way {
        what: "a compiler that fails on all tests",
        compiler: "#!/bin/sh\ncase \"$*\" in *-c*) exit 1;; esac\nexec cc \"$@\"\n",
        words: "1 not compared (1 the machine failed)",
        ..SAME
    },
    Way {
        what: "a compiler that writes nothing and is content",
        compiler: "#!/bin/sh\ncase \"$*\" in *-c*) exit 0;; esac\nexec cc \"$@\"\n",
        words: "1 not compared (1 a tool wrote what cannot be used)",
        ..SAME
    },
    Way {
        what: "code that cannot be lifted",
        compiler: "#!/bin/sh\ntest -f test.c && sed -i 's/^void .*{$/& __asm__ volatile(\"xgetbv\");/' test.c\n\
                   exec cc \"$@\"\n",
        words: "1 not compared (1 not supported)",
        ..SAME
    },
    Way {
        what: "code of one test of two that cannot be lifted",
        compiler: "#!/bin/sh\ntest -f test.c && sed -i 's/.*, 2, .*/& __asm__ volatile(\"xgetbv\");/' test.c\n\
                   exec cc \"$@\"\n",
        test: ("tests/two.litmus", "(x, 1,", "(x, 2,"),
        words: "partial: 1 of 2 comparisons judged; 1 not compared (1 not supported)",
        ..SAME
    },
    Way {
        what: "a condition that names no local or location",
        test: ("tests/sb.litmus", "0:r=0 /\\ 1:r=0", "true"),
        ..SAME
    },
    Way {
        what: "a condition that names an unknown local",
        test: ("tests/sb.litmus", "0:r=0", "0:r7=0"),
        status: 2,
        ..SAME
    },
    Way {
        what: "a filter that no execution satisfies",
        test: ("tests/sb.litmus", "exists", "filter (0:r=7) exists"),
        ..SAME
    },
    Way {
        what: "a model of the source that forbids everything",
        pipeline: ("model: rc11", "model: none.cat"),
        ..SAME
    },
    Way {
        what: "a model of the code that forbids everything",
        pipeline: ("{ from: code }", "{ from: code, model: none.cat }"),
        ..SAME
    },
];

/// What a project of one test and a way are.
fn scene(way: &Way) -> Scratch {
    let s = project(way.compiler, &[("sb.litmus", SB)]);
    s.write("none.cat", "\"None\"\nempty _ as nothing\n");
    std::fs::create_dir(s.path("none")).unwrap();
    s.write("p.yaml", &PIPELINE.replace(way.pipeline.0, way.pipeline.1));
    let (file, from, to) = way.test;
    assert!(SB.contains(from), "{from}");
    s.write(file, &SB.replacen(from, to, 1));
    s
}

#[test]
fn no_output_of_a_run_that_judged_less_than_was_asked_is_green() {
    for way in &WAYS {
        let s = scene(way);
        let (status, text) = s.litmake(&[&["run", "p.yaml"][..], &OUTPUTS].concat());
        assert_eq!(status, way.status, "{}: {text}", way.what);
        none_is_green(&s, &text, way.words);
        // One cause is one error.
        assert_eq!(text.matches("\nerror").count(), 1, "{}: {text}", way.what);
    }
}

/// Commands with other outputs, their exit status, and what they say.
const COMMANDS: &[(&[&str], i32, &str)] = &[
    (&["check", "--profile", "mine", "none"], 2, "no test in the folder"),
    (&["check", "--profile", "mine", "shows-nothing.litmus"], 3, "nothing judged"),
    (&["check", "--profile", "mine", "--target-model", "none.cat", "tests"], 3, "nothing judged"),
    (&["check", "--profile", "mine", "--source-model", "open.cat", "tests"], 2, "no requirement"),
    (&["check", "--profile", "fails", "tests"], 3, "nothing judged"),
    (&["run", "p.yaml", "--jobs", "0"], 2, "--jobs 0"),
    (&["run", "p.yaml", "--baseline", "missing.json"], 2, "there is no baseline"),
    (&["run", "p.yaml", "--baseline", "empty"], 2, "this is no baseline"),
    (&["run", "p.yaml", "--baseline", "part-1.json"], 2, "this is no baseline"),
    (&["run", "p.yaml", "--shard", "3/2"], 2, "3/2"),
    (&["merge"], 2, "required"),
    (&["merge", "empty"], 2, "this is no report"),
    (&["merge", "part-1.json", "whole.json"], 2, "one of these reports is of a whole run"),
    (&["merge", "part-1.json", "part-1.json"], 2, "given twice"),
    (&["merge", "part-1.json", "other.json"], 2, "of different runs"),
    (&["merge", "part-1.json", "newer.json"], 2, "of different runs"),
    (&["merge", "part-1.json"], 3, "part 2 of 2 is missing"),
    (&["history", "list", "--history", "none"], 2, "no record of runs"),
    (&["site", "pages", "--history", "none"], 2, "no record of runs"),
    (&["abi", "--profile", "mine"], 2, "two profiles are needed"),
    (&["table", "fails.json"], 3, "nothing judged"),
    (&["table", "--abi", "whole.json"], 2, "nothing was mixed"),
    (&["passes", "--profile", "mine", "tests/sb.litmus"], 3, "nothing judged"),
    (&["hunt", "--budget", "20s", "--rounds", "0", "--profile", "mine"], 3, "0 of 0"),
    (&["hunt", "--budget", "0s", "--profile", "mine"], 2, "budget"),
    (
        &["diff", "--old", "./old", "--new", "./bad", "--target", "x86_64", "tests"],
        3,
        "nothing judged",
    ),
    (&["diff", "--old", "./old", "--new", "./old", "--target", "x86_64", "none"], 2, "no test"),
    (
        &["bisect", "--profile", "gcc-x86_64-O2", "--build", "./old", "--build", "./bad", "tests"],
        3,
        "fewer than two builds can tell",
    ),
    (
        &["bisect", "--profile", "gcc-x86_64-O2", "--build", "./old", "--build", "./new", "tests"],
        1,
        "can tell are good",
    ),
    (&["sim", "none"], 2, "no test in the folder"),
    (&["sim", "unknown.litmus"], 2, "no local variable"),
    (&["sim", "nowhere.litmus"], 2, "neither a thread nor the initial state has a location `zz`"),
];

#[test]
fn no_command_that_judged_less_than_was_asked_reads_as_all_clear() {
    let fails = WAYS[2].compiler;
    let s = project(SOUND, &[("sb.litmus", SB)]);
    std::fs::create_dir(s.path("none")).unwrap();
    for (name, compiler) in [("old", SOUND), ("new", SOUND), ("bad", fails)] {
        s.write(&format!("{name}/bin/gcc"), compiler);
    }
    s.write("fails.sh", fails);
    let profile = s.read("profiles/mine.yaml").replace("cc.sh", "fails.sh");
    s.write("profiles/fails.yaml", &profile.replace("name: mine", "name: fails"));
    s.write("fails.yaml", &PIPELINE.replace("profile: mine", "profile: fails"));
    s.write("none.cat", "\"None\"\nempty _ as nothing\n");
    s.write("open.cat", "\"Open\"\nlet order = po | rf\n");
    s.write("empty", "");
    s.write("unknown.litmus", &SB.replace("0:r=0", "0:r7=0"));
    s.write("nowhere.litmus", &SB.replace("0:r=0", "zz=0"));
    s.write("shows-nothing.litmus", &SB.replace("0:r=0 /\\ 1:r=0", "true"));
    for (name, args) in [
        ("whole", &["p.yaml"][..]),
        ("fails", &["fails.yaml"]),
        ("part-1", &["p.yaml", "--shard", "1/2"]),
        ("part-2", &["p.yaml", "--shard", "2/2"]),
    ] {
        let report = format!("{name}.json");
        s.litmake(&[&["run"], args, &["--report", &report]].concat());
    }
    let part = s.read("part-2.json");
    s.write("other.json", &part.replace("\"scratch\"", "\"other\""));
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    s.write("newer.json", &part.replace(&version, "\"99.0.0\""));
    for (args, expected, words) in COMMANDS {
        let (status, text) = s.litmake(args);
        assert_eq!(status, *expected, "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
        for green in ["no new findings", "nothing new", "no bugs", "no new bugs", "complete:"] {
            assert!(!text.contains(green), "{args:?} says {green}: {text}");
        }
    }
}

#[test]
fn stages_that_were_left_out_are_told() {
    let s = project(SOUND, &[("sb.litmus", SB)]);
    let (status, text) = s.litmake(&[&["run", "p.yaml", "source"][..], &OUTPUTS].concat());
    assert_eq!(status, 0, "{text}");
    for text in [text, s.read("r.html"), s.read("r.xml"), s.read("r.sarif")] {
        assert!(text.contains("only stage source"), "{text}");
        assert!(!text.contains("class=\"good\"") && !text.contains("<system-out>"), "{text}");
    }
}
