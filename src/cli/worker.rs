//! `litmake worker`: does a job that another litmake has sent, in the folder of an action.
//!
//! A server that executes actions starts it; users do not. Its results are sealed with the digest
//! of its own program, so that the sender can check that this is the program it sent.

use std::process::ExitCode;

use super::common;

/// Do a job of a run on another machine; servers that execute actions start this command.
///
/// Exit status: 0, done; 70, a compiler, a model or this program differs from the one that the job
/// names; 71, the job is damaged.
#[derive(clap::Args)]
pub struct Args {
    /// The number of items that are worked on at a time
    #[arg(short, long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: u32,
}

pub fn main(args: &Args) -> ExitCode {
    match work::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(work::Ended { status, words }) => {
            eprintln!("{words}");
            ExitCode::from(common::status_of(status))
        }
    }
}

#[cfg(feature = "remote")]
mod work {
    use std::collections::BTreeSet;
    use std::path::Path;

    use litmake::base::digest::Digest;
    use litmake::base::records::{Kind, Noting, Put, Records};
    use litmake::engine::graph::Context;
    use litmake::engine::job::{Job, Part};
    use litmake::engine::store::{Store, StoreOptions};
    use litmake::engine::worker::{self, Given, Refusal};
    use litmake::file;
    use litmake::remote::{sealed, work};

    use super::Args;
    use crate::cli::recipe::Recipe;
    use crate::cli::{away, common};

    /// Why the worker ends without having done the job.
    pub struct Ended {
        pub status: u8,
        pub words: String,
    }

    fn unsound(words: impl Into<String>) -> Ended {
        Ended { status: work::UNSOUND, words: words.into() }
    }

    fn refused(words: impl Into<String>) -> Ended {
        Ended { status: work::REFUSED, words: words.into() }
    }

    /// Opens the sealed file of a name in the action's folder.
    fn opened(folder: &Path, name: &str, key: &Digest) -> Result<Vec<u8>, Ended> {
        let bytes = file::read(&folder.join(name), sealed::MAX as u64)
            .map_err(|e| unsound(format!("cannot read `{name}`: {e}")))?;
        sealed::open(key, &bytes).map_err(|why| unsound(format!("`{name}`: {why}")))
    }

    pub fn run(args: &Args) -> Result<(), Ended> {
        let folder = std::env::current_dir()
            .map_err(|e| unsound(format!("the working folder is not known: {e}")))?;
        // A sandbox may lack a folder for temporary files. If it cannot be made, the tool that
        // needs it reports that.
        let _ = std::fs::create_dir_all(std::env::temp_dir());
        let program = work::digest_of_file(Path::new("/proc/self/exe"))
            .map_err(|e| unsound(format!("cannot read this program: {e}")))?;
        if !folder.join(work::JOB).exists() {
            return Err(unsound(
                "there is no job in this folder: servers that execute actions start workers, people do not \
                 (docs/remote.md)",
            ));
        }
        let job = opened(&folder, work::JOB, &work::job_key())?;
        let key = Digest::of(&job);
        let job =
            Job::decode(&job).ok_or_else(|| refused("a job of another version of litmake"))?;
        let recipe = opened(&folder, work::RECIPE, &work::recipe_key())?;
        let recipe = Recipe::decode(&recipe)
            .ok_or_else(|| refused("a pipeline of another version of litmake"))?;
        let context = Context { stop: common::stop(), ..Context::default() };
        let options = StoreOptions { read_only: true, ..StoreOptions::default() };
        let store = Store::open(&folder.join("results"), &options)
            .map_err(|e| unsound(format!("cannot keep results: {e}")))?;
        let known = opened(&folder, work::ANSWERS, &work::answers_key())?;
        let known = work::decode_answers(&known)
            .ok_or_else(|| refused("answers of another version of litmake"))?;
        let puts = known.iter().map(|(key, value)| Put { kind: Kind::Alias, key: *key, value });
        store.put(&puts.collect::<Vec<_>>());
        let noting = Noting::new(&store);
        let mut workspace = recipe.workspace();
        // Only the parts that the job needs are planned, and only compilers that have work are
        // identified.
        let labels: BTreeSet<String> = job
            .tasks
            .iter()
            .flat_map(|task| &task.parts)
            .filter_map(|part| match part {
                Part::Work { label, wanted: true, .. } => Some(label.clone()),
                _ => None,
            })
            .collect();
        let answer = match job.asks() {
            true => away::answer(&job.question, &workspace, &noting),
            false => Ok(None),
        };
        let answer = answer.map_err(|e| refused(e.message))?;
        workspace.keep_labels(&labels).map_err(|e| refused(e.message))?;
        let prepared = workspace.prepare(&noting).map_err(|e| refused(e.message))?;
        let done = worker::run(&job, &prepared.built.graph, &store, args.jobs as usize, &context);
        let done = done.map_err(|refusal| match refusal {
            Refusal::Other(words) => refused(words),
            Refusal::Unsound(words) => unsound(words),
        })?;
        if common::stopped_status().is_some() {
            return Err(unsound("stopped"));
        }
        let write = |name: &str, key: &Digest, bytes: &[u8]| -> Result<(), Ended> {
            let blob = sealed::seal(key, 0, bytes).ok_or_else(|| unsound("it is too large"))?;
            file::write(&folder.join(name), blob).map_err(|e| unsound(e.message))
        };
        let mut told = work::Told { program, broke: done.broke, ..work::Told::default() };
        let answer = answer.map(|(key, packet)| Given { place: 0, key, packet });
        for given in answer.iter().chain(&done.packets) {
            write(&work::packet_name(given.place), &given.key, &given.packet)?;
            told.packets.push((given.place, given.key));
        }
        let mut learned = noting.noted();
        learned.retain(|asked, answer| known.get(asked) != Some(answer));
        if !learned.is_empty() {
            write(work::LEARNED, &key, &work::encode_answers(&learned))?;
        }
        told.spent = done.spent.iter().map(|s| (s.work, s.items, s.nanos)).collect();
        let text = serde_json::to_vec(&told).map_err(|e| unsound(e.to_string()))?;
        write(work::TOLD, &key, &text)
    }
}

#[cfg(not(feature = "remote"))]
mod work {
    use super::Args;

    pub struct Ended {
        pub status: u8,
        pub words: String,
    }

    pub fn run(_: &Args) -> Result<(), Ended> {
        let without = crate::cli::remote::client::without();
        Err(Ended { status: 2, words: without.to_string() })
    }
}
