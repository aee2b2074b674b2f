//! The accesses that a thread may make, by its code alone: on every path, whatever its reads return.
//!
//! It does not know which of them some execution has, nor how executions are searched for.

use std::time::Instant;

use super::path::Kind;
use super::{Engine, Model, Options, Simulator, unfold_all};
use litmake_base::diag::{Diag, Result};
use litmake_litmus::Test;
use litmake_ops::Tags;

/// An access or a fence on some path of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The name of the location; a fence has none.
    pub location: Option<String>,
    /// The first byte in the location.
    pub off: u32,
    /// How many bytes.
    pub size: u8,
    /// Whether it reads the place.
    pub reads: bool,
    /// Whether it writes the place.
    pub writes: bool,
    /// Its annotations.
    pub tags: Tags,
    /// The instruction that it belongs to.
    pub instruction: String,
}

/// The accesses of a thread.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Those on each path, in program order.
    pub paths: Vec<Vec<Touch>>,
    /// Why the first path that ends early does so, in words.
    pub error: Option<String>,
    /// Whether loops were cut.
    pub cut: bool,
}

impl Simulator {
    /// The accesses that the thread of a test with this number may make.
    pub fn touched(
        &mut self,
        test: &Test,
        thread: usize,
        model: &Model,
        options: &Options,
    ) -> Result<Touched> {
        let program = self.program(test, model, options)?;
        let deadline = options.timeout.map(|t| Instant::now() + t);
        // The reference's way to addresses assumes nothing about other threads, nor that a thread reads what it has
        // written itself. Where it fails for that, as with pointers in stack slots, memory counts as the thread's own.
        let visible = model.visible(program.arch);
        let (mut own, mut cut, mut error) = (Vec::new(), false, None);
        for engine in [Engine::Exhaustive, Engine::Auto] {
            let options = Options { engine, ..*options };
            let exprs = &mut self.exprs;
            let found = unfold_all(exprs, test, &program, &options, deadline, model, visible);
            let (mut paths, some_cut) = match found {
                // What the reference has found is known all the same.
                Err(_) if error.is_some() => break,
                found => found?,
            };
            if thread >= paths.len() {
                return Err(Diag::new("there is no such thread"));
            }
            let mut paths = paths.swap_remove(thread);
            cut |= some_cut;
            error = paths.iter().find_map(|path| path.error.clone());
            own.append(&mut paths);
            if error.is_none() {
                break;
            }
        }
        let error = error.map(|e| match program.threads[e.thread].code.insts.get(e.line) {
            Some(inst) => format!("`{}`: {}", inst.text, e.message),
            None => e.message.clone(),
        });
        let touch = |e: &super::path::PathEvent| {
            let inst = program.threads[thread].code.insts.get(usize::from(e.line));
            Touch {
                location: e.is_access().then(|| program.locations[usize::from(e.loc)].name.clone()),
                off: e.off,
                size: e.size,
                reads: e.reads(),
                writes: e.writes(),
                tags: e.tags,
                instruction: inst.map_or(String::new(), |i| i.text.clone()),
            }
        };
        let shown = |e: &&super::path::PathEvent| e.is_access() || e.kind == Kind::Fence;
        let paths =
            own.iter().map(|path| path.events.iter().filter(shown).map(touch).collect()).collect();
        Ok(Touched { paths, error, cut })
    }
}
