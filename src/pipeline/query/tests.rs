//! Which queries run again after a change.

use std::collections::BTreeMap;

use salsa::plumbing::FromId;

use super::*;

/// Files that tests write while a workspace reads them.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<PathBuf, String>>);

impl Files for Memory {
    fn content(&self, path: &Path, _: u64) -> io::Result<Arc<[u8]>> {
        let text = lock(&self.0).get(path).map(|text| text.as_bytes().into());
        text.ok_or(io::ErrorKind::NotFound.into())
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        lock(&self.0).keys().filter(|p| p.parent() == Some(folder)).cloned().collect()
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn installed(&self, _: &str) -> bool {
        false
    }
}

struct Scene {
    files: Arc<Memory>,
    workspace: Workspace,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Scene {
        let memory = Arc::new(Memory::default());
        for (path, text) in files {
            lock(&memory.0).insert(path.into(), text.to_string());
        }
        let workspace = Workspace::noting(memory.clone(), Path::new("p.yaml"));
        Scene { files: memory, workspace }
    }

    /// Writes a file; says whether an input changed.
    fn write(&mut self, path: &str, text: &str) -> bool {
        lock(&self.files.0).insert(path.into(), text.to_string());
        self.workspace.changed(&BTreeSet::from([absolute(Path::new(path))]))
    }

    /// Plans, and returns the queries that ran for it; with its key if a query has one for each
    /// stage, profile or file.
    fn computed(&self) -> (Result<Arc<Plan>>, BTreeSet<String>) {
        let plan = self.workspace.plan();
        let executed = self.workspace.executed();
        let db = self.workspace.db();
        let about = |(query, id): (String, salsa::Id)| {
            let about = match &*query {
                "slice" => StageName::from_id(id).name(db).clone(),
                "profile" => ProfileName::from_id(id).name(db).clone(),
                _ if query.starts_with("profile_") => {
                    File::from_id(id).path(db).display().to_string()
                }
                _ => return query,
            };
            format!("{query} {about}")
        };
        (plan, executed.into_iter().map(about).collect())
    }

    fn names(&self) -> BTreeSet<String> {
        self.computed().1
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

const PIPELINE: &str = "include: more.yaml
stages:
  - {name: tests, generate: {files: tests}}
  - {name: source, simulate: {from: tests, model: rc11}}
  - {name: mine, compile: {from: tests, profile: mine}}
  - {name: other, compile: {from: tests, profile: other}}
  - {name: target, simulate: {from: mine}}
";

fn profile(name: &str, more: &str) -> String {
    format!("name: {name}\n{more}\narch: X86_64\n")
}

fn scene() -> Scene {
    Scene::new(&[
        ("p.yaml", PIPELINE),
        ("more.yaml", "stages: []\n"),
        ("profiles/mine.yaml", &profile("mine", "extends: parent")),
        ("profiles/parent.yaml", &profile("parent", "compiler: cc\nargs: ['-O1']")),
        ("profiles/other.yaml", &profile("other", "compiler: cc")),
        ("README", "nothing that is read"),
    ])
}

#[test]
fn the_same_plan_comes_back_while_nothing_is_other() {
    let mut scene = scene();
    let (plan, names) = scene.computed();
    let plan = plan.unwrap();
    assert!(names.contains("slice source") && names.contains("profile_chain profiles/mine.yaml"));
    assert!(Arc::ptr_eq(&scene.workspace.plan().unwrap(), &plan));
    assert_eq!(scene.names(), set(&[]));
    // An equal text, and a file that nothing reads: no input changes.
    assert!(!scene.write("profiles/mine.yaml", &profile("mine", "extends: parent")));
    assert!(!scene.write("README", "other"));
    assert_eq!(scene.names(), set(&[]));
}

#[test]
fn an_edited_profile_plans_again_what_compiles_with_it() {
    let mut scene = scene();
    scene.names();
    assert!(scene.write("profiles/mine.yaml", &profile("mine", "extends: parent\nargs: ['-g']")));
    let (plan, names) = scene.computed();
    assert_eq!(
        names,
        set(&[
            "profile_file profiles/mine.yaml",
            "profile_chain profiles/mine.yaml",
            "profile_family profiles/mine.yaml",
            "profiles",
            // Both are looked up again, because the profiles changed; the other one's result is
            // equal.
            "profile mine",
            "profile other",
            "slice mine",
            // The model of the simulation comes from the profile.
            "slice target",
            "whole",
            "planned",
        ])
    );
    let plan = plan.unwrap();
    let mine = plan.nodes.iter().find(|n| n.label == "mine").unwrap();
    assert_eq!(mine.profile.as_ref().unwrap().args, ["-O1", "-g"]);
}

#[test]
fn an_edited_parent_plans_again_what_extends_it() {
    let mut scene = scene();
    scene.names();
    assert!(scene.write("profiles/parent.yaml", &profile("parent", "compiler: cc\nargs: ['-O2']")));
    let (plan, names) = scene.computed();
    assert_eq!(
        names,
        set(&[
            "profile_file profiles/parent.yaml",
            "profile_chain profiles/parent.yaml",
            "profile_family profiles/parent.yaml",
            // The child's own text is not read again, and the other profile not at all.
            "profile_chain profiles/mine.yaml",
            "profile_family profiles/mine.yaml",
            "profiles",
            "profile mine",
            "profile other",
            "slice mine",
            "slice target",
            "whole",
            "planned",
        ])
    );
    let plan = plan.unwrap();
    let mine = plan.nodes.iter().find(|n| n.label == "mine").unwrap();
    assert_eq!(mine.profile.as_ref().unwrap().args, ["-O2"]);
}

#[test]
fn a_new_profile_that_no_stage_uses_plans_no_stage_again() {
    let mut scene = scene();
    let plan = scene.computed().0.unwrap();
    assert!(scene.write("profiles/new.yaml", &profile("new", "compiler: cc")));
    assert_eq!(
        scene.names(),
        set(&[
            "profile_file profiles/new.yaml",
            "profile_chain profiles/new.yaml",
            "profile_family profiles/new.yaml",
            "profiles",
            "profile mine",
            "profile other",
            // It depends on all profiles, and its result is equal.
            "whole",
        ])
    );
    assert!(Arc::ptr_eq(&scene.workspace.plan().unwrap(), &plan));
}

#[test]
fn an_edited_pipeline_plans_again_and_reads_no_profile() {
    let mut scene = scene();
    scene.names();
    assert!(scene.write("more.yaml", "stages:\n  - {name: first, generate: {files: more}}\n"));
    let (plan, names) = scene.computed();
    assert_eq!(plan.unwrap().nodes.len(), 6);
    assert!(names.contains("stages") && names.contains("slice first"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("profile_")), "{names:?}");
}

#[test]
fn an_instance_is_as_it_was_where_another_changes() {
    let mut scene = scene();
    let plan = scene.computed().0.unwrap();
    let ask = |scene: &Scene, label: &str| {
        let (db, request) = (scene.workspace.db(), scene.workspace.request());
        let node = plan.nodes.iter().find(|n| n.label == label).unwrap();
        user(db, part(db, request, node))
    };
    assert_eq!((ask(&scene, "mine"), ask(&scene, "other")), (1, 0));
    scene.workspace.executed();
    scene.write("profiles/mine.yaml", &profile("mine", "extends: parent\nargs: ['-g']"));
    assert_eq!((ask(&scene, "mine"), ask(&scene, "other")), (2, 0));
    let executed = scene.workspace.executed();
    assert_eq!(executed.iter().filter(|(query, _)| query == "user").count(), 1);
}

/// The number of arguments of an instance's compiler: stands for a query that uses an instance.
#[salsa::tracked(returns(copy))]
fn user<'db>(db: &'db dyn Db, of: Part<'db>) -> usize {
    instance(db, of).and_then(|i| Some(i.profile.as_ref()?.args.len())).unwrap_or_default()
}

#[test]
fn profiles_in_a_circle_are_refused_at_a_place() {
    let mut scene = scene();
    scene.write("profiles/parent.yaml", &profile("parent", "extends: mine"));
    let error = scene.computed().0.unwrap_err().to_string();
    assert!(error.contains("profiles extend each other in a circle"), "{error}");
    assert!(error.contains("extends:"), "{error}");
    // After the circle is broken, planning succeeds.
    scene.write("profiles/parent.yaml", &profile("parent", "compiler: cc"));
    scene.computed().0.unwrap();
}

#[test]
fn what_was_missing_is_noticed_when_it_appears() {
    let mut scene = scene();
    scene.write("p.yaml", &PIPELINE.replace("more.yaml", "[more.yaml, new/most.yaml]"));
    let error = scene.computed().0.unwrap_err().to_string();
    assert!(error.contains("cannot read `new/most.yaml`"), "{error}");
    // The file appears with its folder, and the event names only the folder.
    lock(&scene.files.0).insert("new/most.yaml".into(), "stages: []\n".into());
    assert!(scene.workspace.changed(&BTreeSet::from([absolute(Path::new("new"))])));
    scene.computed().0.unwrap();
    assert!(scene.workspace.folders().contains(&absolute(Path::new("new"))));
}
