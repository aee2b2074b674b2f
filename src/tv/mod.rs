//! Translation validation of concurrent code: is there a context in which a function after a change shows an outcome
//! that the function before the change does not?
//!
//! `pair` finds the functions, `ir` reads their signatures, and `observe` makes visible what they do beside accesses
//! to memory. `setting` finds the memory that they reach, `context` lists contexts, `program` writes a function in a
//! context as a litmus test, `judge` simulates both and compares, and `said` says what came of it. Of machine code,
//! `machine` writes the tests, with the accesses of `written`. It does not know caches, pipelines or terminals.
//!
//! ```
//! use litmake_isa::llvm::module::Module;
//! use litmake_tv::judge::{Answer, Court, Settings};
//! use litmake_tv::pair;
//!
//! let module = Module::read(
//!     "
//! define void @src(ptr %x) {
//!   store atomic i32 1, ptr %x release, align 4
//!   ret void
//! }
//! define void @tgt(ptr %x) {
//!   store atomic i32 1, ptr %x monotonic, align 4
//!   ret void
//! }",
//! )?;
//! let mut court = Court::new(Settings::default()).map_err(|e| e.message.to_string())?;
//! let report = court.judge(&pair::within(&module)[0]);
//! assert!(matches!(report.answer, Answer::Refuted(_)));
//! # Ok::<(), String>(())
//! ```

pub mod context;
pub mod ir;
pub mod judge;
pub mod machine;
pub mod observe;
pub mod pair;
pub mod program;
pub mod said;
pub mod setting;
mod written;
