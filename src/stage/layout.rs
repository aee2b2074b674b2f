//! `layout`: finds how profiles lay out atomic types, and where they differ so that their code
//! cannot share an object.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::building::{Build, Building, Made, gone};
use super::compilers::{self, Tool};
use super::guard::Guarded;
use super::probes::Question;
use litmake_base::diag::Result;
use litmake_base::digest::Digest;
use litmake_base::failure::{Failure, FailureKind};
use litmake_base::records::Records;
use litmake_engine::graph::{Context, Fingerprint, Map, Outcome, Source, Work};
use litmake_engine::rows::Entry;
use litmake_pipeline::kinds;
use litmake_pipeline::query::{Db, Part, instance};
use litmake_pipeline::slice::Instance;
use litmake_profile::Profile;
use litmake_profile::types::{Observe, Storage};
use litmake_toolchain::compile::Compiler;
use litmake_toolchain::layout::{self, Layout};
use litmake_toolchain::runtime::Runtime;
use litmake_toolchain::trouble::is_open;

/// A source of items: the types.
pub struct Types(pub Vec<String>);

impl Types {
    /// The given types, or the usual ones if none are given.
    pub fn new(given: Vec<String>) -> Types {
        let mut all = if given.is_empty() { layout::types() } else { given };
        all.sort();
        all.dedup();
        Types(all)
    }
}

impl Source for Types {
    fn list(&self, _: &dyn Records) -> Result<Vec<Entry>> {
        let entry =
            |t: &String| Entry { name: t.as_str().into(), content: Digest::of(t.as_bytes()) };
        Ok(self.0.iter().map(entry).collect())
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        self.0.iter().find(|t| *t == name).map(|t| t.clone().into_bytes())
    }
}

impl Build for kinds::Layout {
    fn asks(&self, of: &Instance, _: &[&Instance]) -> Vec<Question> {
        of.mixed.iter().cloned().map(Question::Compiler).collect()
    }

    fn build(&self, graph: &mut Building) -> Result<usize> {
        let given = self.types.iter().map(|t| t.value.clone()).collect();
        let types = Work::Source(Arc::new(Types::new(given)));
        let types = graph.add(Vec::new(), Fingerprint::default(), types);
        let mut all = vec![types];
        for made in laid_out(graph.db, graph.part())? {
            all.push(graph.add_made(vec![types], made));
        }
        Ok(graph.add(all, fingerprint(), Work::Map(Arc::new(Compare))))
    }
}

const REFUSED: FailureKind = FailureKind::Refused;

/// The work that finds layouts for an instance, one for each profile.
#[salsa::tracked(returns(clone), no_eq)]
fn laid_out<'db>(db: &'db dyn Db, of: Part<'db>) -> Result<Vec<Made>> {
    let node = instance(db, of).ok_or_else(gone)?;
    let made = |profile: &Arc<Profile>| {
        let tool = compilers::known(db, profile)?;
        let (work, fingerprint) = stage(profile, Tool::clone(&tool));
        Ok(Made { work: Arc::new(work), fingerprint })
    };
    node.mixed.iter().map(made).collect()
}

/// Finds the layouts of one profile.
struct Stage {
    profile: Arc<Profile>,
    program: std::result::Result<PathBuf, Failure>,
}

fn stage(profile: &Arc<Profile>, tool: Tool) -> (Guarded<Stage>, Fingerprint) {
    let fingerprint = Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_LAYOUT"))
        .with_text("stage", "layout")
        .with(&format!("profile {}", profile.name), profile.fingerprint())
        .with(&format!("compiler {}", profile.compiler), tool.digest);
    let stage = Stage { profile: profile.clone(), program: tool.program };
    (tool.guard.around(stage), fingerprint)
}

impl Stage {
    /// The layouts of some types. If the compiler refuses them together, each half is tried.
    fn read(
        &self,
        compiler: &Compiler,
        types: &[String],
    ) -> Vec<std::result::Result<Layout, Failure>> {
        let source: &dyn Fn(&str) -> _ = &|_| Ok(layout::source(types));
        let (extra, timeout) = (["-g", "-gdwarf-4"], self.profile.timeout);
        let object = match types.len() {
            1 => compiler.emit_or_refuse(source, &extra, timeout),
            _ => compiler.emit(source, &extra, timeout),
        };
        let made = object.and_then(|object| layout::read(&object, types.len()));
        match made {
            Ok(list) => list.into_iter().map(Ok).collect(),
            Err(e) if (is_open(&e) || e.kind.is_crash()) && types.len() > 1 => {
                let (a, b) = types.split_at(types.len() / 2);
                [self.read(compiler, a), self.read(compiler, b)].concat()
            }
            Err(failure) => vec![Err(failure); types.len()],
        }
    }
}

impl Map for Stage {
    fn batch(&self) -> usize {
        256
    }

    fn run(&self, items: &[Vec<Vec<u8>>], context: &Context) -> Vec<Outcome> {
        let program = match &self.program {
            Ok(program) => program,
            Err(failure) => return vec![Outcome::Failed(failure.clone()); items.len()],
        };
        let compiler = Compiler {
            profile: &self.profile,
            program,
            observe: Observe::None,
            storage: Storage::Pointers,
            helpers: false,
            runtime: &Runtime::default(),
            stop: &context.stop,
        };
        let types: Vec<String> =
            items.iter().map(|i| String::from_utf8_lossy(&i[0]).into_owned()).collect();
        let of = |made: std::result::Result<Layout, Failure>| match made {
            Ok(layout) => Outcome::Done(serde_json::to_vec(&Some(layout)).unwrap_or_default()),
            // A type that the target lacks has no layout.
            Err(failure) if failure.kind == REFUSED => {
                let none = serde_json::to_vec(&None::<Layout>).unwrap_or_default();
                Outcome::DoneForNow(none)
            }
            Err(failure) => Outcome::Failed(failure),
        };
        self.read(&compiler, &types).into_iter().map(of).collect()
    }
}

/// Compares the layouts of a type. Profiles are numbered in the order of the inputs.
pub struct Compare;

/// The profiles with one layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The layout.
    pub layout: Layout,
    /// The profiles that have it.
    pub profiles: Vec<usize>,
}

fn fingerprint() -> Fingerprint {
    Fingerprint::default()
        .with_text("litmake", env!("LITMAKE_STAGE_LAYOUT"))
        .with_text("stage", "compare layouts")
}

/// Whether code with these layouts can share an object: size and alignment agree, and neither code
/// takes a lock where the other accesses without one.
fn agree(a: &Layout, b: &Layout) -> bool {
    let locks = |l: &Layout| [l.locks(&l.load), l.locks(&l.store)];
    (a.size, a.align) == (b.size, b.align) && locks(a) == locks(b)
}

impl Map for Compare {
    fn run(&self, items: &[Vec<Vec<u8>>], _: &Context) -> Vec<Outcome> {
        let one = |item: &Vec<Vec<u8>>| {
            let mut groups: Vec<Group> = Vec::new();
            // The first input is the type.
            for (p, bytes) in item.iter().skip(1).enumerate() {
                let read = serde_json::from_slice::<Option<Layout>>(bytes);
                let layout = match read {
                    Ok(Some(layout)) => layout,
                    Ok(None) => continue,
                    Err(e) => {
                        return Outcome::Failed(
                            format!("a layout that cannot be read: {e}").into(),
                        );
                    }
                };
                match groups.iter_mut().find(|g| agree(&g.layout, &layout)) {
                    Some(group) => group.profiles.push(p),
                    None => groups.push(Group { layout, profiles: vec![p] }),
                }
            }
            let bytes = serde_json::to_vec(&groups).unwrap_or_default();
            match groups.len() {
                0 | 1 => Outcome::Done(bytes),
                _ => Outcome::Finding(bytes),
            }
        };
        items.iter().map(one).collect()
    }
}
