//! Which parts of a graph are computed again after a change.

#![allow(clippy::disallowed_methods, reason = "tests look at files and programs")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use litmake_base::digest::Digest;
use litmake_base::records::Nowhere;
use litmake_pipeline::query::{File, Part, StageName};
use litmake_profile::files::Disk;
use salsa::plumbing::FromId;

use super::super::models::ModelName;
use super::*;

struct Scene {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

const TEST: &str = "C t
{}
P0 (int* x) { *x = 1; }
exists (x=1)
";

const PIPELINE: &str = "stages:
  - {name: tests, generate: {files: tests}}
  - {name: listed, generate: {files: '@list'}}
  - {name: globbed, generate: {files: 'glob/*.litmus'}}
  - {name: a, simulate: {from: tests, model: models/a.cat}}
  - {name: b, simulate: {from: tests, model: models/b.cat}}
  - {name: known, simulate: {from: tests, model: rc11}}
  - {name: mine, compile: {from: tests, profile: mine}}
  - {name: other, compile: {from: tests, profile: other}}
  - {name: target, simulate: {from: mine}}
  - {name: verdict, compare: {source: a, target: target}}
";

fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let pipeline = dir.path().join("p.yaml");
    let planning = query::Workspace::noting(Arc::new(Disk), &pipeline);
    let mut scene = Scene { dir, workspace: planning.into() };
    for (name, text) in [
        ("p.yaml", PIPELINE),
        ("tests/one.litmus", TEST),
        ("glob/one.litmus", TEST),
        ("elsewhere/two.litmus", TEST),
        ("list", "elsewhere/two.litmus\n"),
        ("models/a.cat", "\"A\"\ninclude \"common.cat\"\nacyclic two as a\n"),
        ("models/common.cat", "\"Common\"\nlet two = po\n"),
        ("models/b.cat", "\"B\"\nacyclic po as b\n"),
        ("profiles/mine.yaml", "name: mine\nextends: parent\narch: X86_64\n"),
        ("profiles/parent.yaml", "name: parent\ncompiler: ./cc.sh\nargs: ['-O1']\narch: X86_64\n"),
        ("profiles/other.yaml", "name: other\ncompiler: no-such-compiler\narch: X86_64\n"),
    ] {
        scene.write(name, text);
    }
    scene
}

impl Scene {
    /// Writes a file; says whether an input changed.
    fn write(&mut self, name: &str, text: &str) -> bool {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        self.workspace.changed(&BTreeSet::from([path]))
    }

    /// Prepares a run, and returns the queries that ran for it; with the name of a stage, model or
    /// file if a query has one for each. Files are named without their folders.
    fn prepare(&mut self) -> (Prepared, BTreeSet<String>) {
        let prepared = self.workspace.prepare(&Nowhere).unwrap();
        let executed = self.workspace.planning.executed();
        let db = self.workspace.planning.db();
        let file = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let about = |(query, id): (String, salsa::Id)| {
            let about = match &*query {
                "slice" => StageName::from_id(id).name(db).clone(),
                "model" => file(Path::new(ModelName::from_id(id).name(db))),
                "instance" | "consumed" | "simulated" | "compiling" | "found" | "listed" => {
                    Part::from_id(id).stage(db).name(db).clone()
                }
                _ if query.starts_with("profile_") => file(File::from_id(id).path(db)),
                _ => return query,
            };
            format!("{query} {about}")
        };
        (prepared, executed.into_iter().map(about).collect())
    }

    fn computed(&mut self) -> BTreeSet<String> {
        self.prepare().1
    }
}

/// The keys of the nodes with work, by stage.
fn keys(prepared: &Prepared) -> BTreeMap<String, Vec<Digest>> {
    let mut out: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
    for node in &prepared.built.graph.nodes {
        out.entry(node.label.clone()).or_default().push(node.fingerprint.digest());
    }
    out
}

fn different(a: &Prepared, b: &Prepared) -> BTreeSet<String> {
    let (a, b) = (keys(a), keys(b));
    a.into_iter().filter(|(label, key)| b[label] != *key).map(|(label, _)| label).collect()
}

#[test]
fn nothing_is_computed_again_while_nothing_is_other() {
    let mut scene = scene();
    let (first, computed) = scene.prepare();
    assert!(computed.is_superset(&set(&[
        "simulated a",
        "model a.cat",
        "compiling mine",
        "found tests"
    ])));
    assert!(!scene.write("models/b.cat", "\"B\"\nacyclic po as b\n"), "the same text");
    assert!(!scene.write("README", "read by nothing"));
    assert!(!scene.write("models/unused.cat", "\"unused\"\n"));
    let (second, computed) = scene.prepare();
    assert_eq!(computed, set(&[]));
    assert!(second.is(&first));
}

#[test]
fn an_edited_model_gives_other_keys_to_what_uses_it() {
    let mut scene = scene();
    let (first, _) = scene.prepare();
    assert!(scene.write("models/b.cat", "\"B\"\nacyclic rf as b\n"));
    let (second, computed) = scene.prepare();
    assert_eq!(computed, set(&["model b.cat", "simulated b", "built"]));
    assert_eq!(different(&first, &second), set(&["b"]));
    // A model changes with a file that it includes.
    assert!(scene.write("models/common.cat", "\"Common\"\nlet two = rf\n"));
    let (third, computed) = scene.prepare();
    assert_eq!(computed, set(&["model a.cat", "simulated a", "built"]));
    assert_eq!(different(&second, &third), set(&["a"]));
}

#[test]
fn a_file_that_stands_for_an_included_one_is_noticed_when_it_comes() {
    let mut scene = scene();
    scene.write("models/a.cat", "\"A\"\ninclude \"cos.cat\"\nacyclic po as a\n");
    let (first, _) = scene.prepare();
    assert!(scene.write("models/cos.cat", "\"own\"\n"), "it hides the one that litmake brings");
    let (second, computed) = scene.prepare();
    assert_eq!(computed, set(&["model a.cat", "simulated a", "built"]));
    assert_eq!(different(&first, &second), set(&["a"]));
}

#[test]
fn an_edited_profile_gives_other_keys_to_what_compiles_with_it() {
    let mut scene = scene();
    let (first, _) = scene.prepare();
    assert!(scene.write(
        "profiles/parent.yaml",
        "name: parent\ncompiler: ./cc.sh\nargs: ['-O2']\narch: X86_64\n"
    ));
    let (second, computed) = scene.prepare();
    let stages = |query: &str| -> BTreeSet<String> {
        computed.iter().filter_map(|c| c.strip_prefix(query)).map(String::from).collect()
    };
    assert_eq!(stages("compiling "), set(&["mine"]));
    // The code is simulated by the profile's model, which is unchanged.
    assert_eq!(stages("simulated "), set(&["target"]));
    assert_eq!(stages("slice "), set(&["mine", "target", "verdict"]));
    assert_eq!(stages("model "), set(&[]));
    assert_eq!(stages("found "), set(&[]));
    assert_eq!(stages("profile_file "), set(&["parent.yaml"]));
    assert_eq!(stages("profile_chain "), set(&["parent.yaml", "mine.yaml"]));
    assert_eq!(different(&first, &second), set(&["mine"]));
}

#[test]
fn a_compiler_that_comes_gives_other_keys_to_what_it_compiles() {
    let mut scene = scene();
    let (first, _) = scene.prepare();
    assert_eq!(scene.computed(), set(&[]), "asked again, and as it was");
    let compiler = scene.dir.path().join("profiles/cc.sh");
    std::fs::write(&compiler, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (second, computed) = scene.prepare();
    assert_eq!(computed, set(&["compiling mine", "built"]));
    assert_eq!(different(&first, &second), set(&["mine"]));
}

/// The names of a stage's tests.
fn tests(prepared: &Prepared, label: &str) -> Vec<String> {
    let nodes = &prepared.built.graph.nodes;
    let node = nodes.iter().find(|n| n.label == label).unwrap();
    let litmake_engine::graph::Work::Source(source) = &node.work else { panic!("a list") };
    let entries = source.list(&Nowhere).unwrap();
    entries.iter().map(|e| e.name.rsplit('/').next().unwrap().to_string()).collect()
}

#[test]
fn a_new_test_makes_its_list_anew_and_nothing_else() {
    let mut scene = scene();
    let (first, _) = scene.prepare();
    assert_eq!(tests(&first, "tests"), ["one.litmus"]);
    assert!(scene.write("tests/deep/er/three.litmus", TEST));
    let (second, computed) = scene.prepare();
    assert_eq!(computed, set(&["found tests", "listed tests", "built"]));
    assert_eq!(tests(&second, "tests"), ["three.litmus", "one.litmus"]);
    assert!(scene.write("glob/three.litmus", TEST));
    let (third, computed) = scene.prepare();
    assert_eq!(computed, set(&["found globbed", "listed globbed", "built"]));
    assert_eq!(tests(&third, "globbed"), ["one.litmus", "three.litmus"]);
    // A file that is no test changes no list.
    assert!(!scene.write("tests/.one.litmus.swp", "an editor's"));
    assert!(!scene.write("glob/notes.txt", "a note"));
    // A test disappears.
    let path = scene.dir.path().join("glob/three.litmus");
    std::fs::remove_file(&path).unwrap();
    assert!(scene.workspace.changed(&BTreeSet::from([path])));
    assert_eq!(tests(&scene.prepare().0, "globbed"), ["one.litmus"]);
    assert_eq!(different(&first, &third), set(&[]), "no keys hang on which tests there are");
}

#[test]
fn an_edited_list_is_read_again() {
    let mut scene = scene();
    scene.prepare();
    assert!(scene.write("list", "elsewhere/two.litmus\ntests/one.litmus\n"));
    let (second, computed) = scene.prepare();
    assert_eq!(computed, set(&["found listed", "listed listed", "built"]));
    assert_eq!(tests(&second, "listed"), ["two.litmus", "one.litmus"]);
}

#[test]
fn an_edited_test_computes_nothing_and_is_read_again() {
    let mut scene = scene();
    let (prepared, _) = scene.prepare();
    prepared.built.files().iter().for_each(|files| files.watch());
    let of = |label: &str| {
        let nodes = &prepared.built.graph.nodes;
        let node = nodes.iter().find(|n| n.label == label).unwrap();
        let litmake_engine::graph::Work::Source(source) = &node.work else { panic!("a list") };
        source.list(&Nowhere).unwrap()[0].content
    };
    let before = of("listed");
    of("tests");
    // A test that a list names, in a folder that the pipeline does not name.
    let path = scene.dir.path().join("elsewhere/two.litmus");
    let folders = scene.workspace.folders(&prepared.built);
    assert!(folders.own.contains(path.parent().unwrap()));
    assert!(!scene.write("elsewhere/two.litmus", &TEST.replace("x=1", "x=0")));
    let touched: Vec<bool> =
        prepared.built.files().iter().map(|files| files.touched([&path].into_iter())).collect();
    assert_eq!(touched.iter().filter(|t| **t).count(), 1);
    assert_ne!(of("listed"), before);
    assert_eq!(scene.computed(), set(&[]));
    // A touch without a change of content is no edit.
    assert!(!prepared.built.files().iter().any(|files| files.touched([&path].into_iter())));
}
