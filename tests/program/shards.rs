//! The reports of parts of a run, joined, are the report of the whole run to the byte: for every
//! pipeline that comes with litmake, made small.

use std::fs;
use std::path::Path;

use crate::scratch::Scratch;

/// So many tests of each family.
const FEW: &str = "3";

/// A pipeline, or a file that one includes, with few tests, and with the first and the last of its
/// profiles.
fn small(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut profiles: Vec<String> = Vec::new();
    // What follows a list ends it.
    for line in text.lines().chain([""]) {
        if line.starts_with("    - ") && (out.last().is_some_and(|l| l == "  profiles:")) {
            profiles.push(line.to_string());
            continue;
        }
        let last = if profiles.len() > 1 { profiles.pop() } else { None };
        out.extend(profiles.drain(..).take(1).chain(last));
        let mut line = line.replace("take: \"\"", &format!("take: {FEW}"));
        if let Some((before, after)) = line.split_once("sample: ")
            && !after.starts_with("\"${")
        {
            let rest = after.find([',', ' ', '}']).map_or("", |at| &after[at..]);
            line = format!("{before}sample: {FEW}{rest}");
        }
        if line.contains("generate: { families") && !line.contains("sample") {
            line = line.replace("generate: {", &format!("generate: {{ sample: {FEW},"));
        }
        out.push(line);
    }
    out.join("\n") + "\n"
}

/// Copies a folder; pipelines become small.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let at = to.join(path.file_name().unwrap());
        match fs::read_to_string(&path) {
            _ if path.is_dir() => copy(&path, &at),
            Ok(text) if path.extension().is_some_and(|e| e == "yaml") => {
                fs::write(at, small(&text)).unwrap();
            }
            text => fs::write(at, text.unwrap()).unwrap(),
        }
    }
}

#[test]
fn of_each_shipped_pipeline_the_parts_joined_are_the_whole() {
    let s = Scratch::with(&[]);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines"), s.dir());
    let names = fs::read_dir(s.dir()).unwrap().map(|f| f.unwrap().file_name());
    let mut names: Vec<String> = names.map(|n| n.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".yaml"));
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    let run = |name: &str, shard: Option<&str>, report: &str| {
        let mut args = vec!["run", name, "--stable", "-q", "--report", report];
        args.extend(shard.iter().flat_map(|shard| ["--shard", shard]));
        let (status, text) = s.litmake(&args);
        assert!([0, 1, 2, 3].contains(&status) && text.contains("judged"), "{name}: {text}");
    };
    let mut compared = 0;
    for name in &names {
        let text = s.read(name);
        if text.contains(" device: ") {
            // What a device shows differs from run to run.
            eprintln!("not compared: {name} runs tests on a device");
            continue;
        }
        run(name, None, "whole.json");
        let whole = s.read("whole.json");
        for n in [2, 3] {
            let mut args = vec!["merge".to_string()];
            for i in 1..=n {
                let (shard, report) = (format!("{i}/{n}"), format!("part-{i}.json"));
                run(name, Some(&shard), &report);
                args.push(report);
            }
            args.extend(["--stable", "--report", "joined.json"].map(String::from));
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let (_, said) = s.litmake(&args);
            let joined = s.read("joined.json");
            let differs = whole.lines().zip(joined.lines()).find(|(a, b)| a != b);
            assert!(whole == joined, "{name}, {n} parts: {differs:?} {said}");
        }
        compared += 1;
    }
    assert!(compared > 15, "{compared} of {names:?}");
}
