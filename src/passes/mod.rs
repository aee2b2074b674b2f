//! Which pass of a compiler did it: the code after each pass as litmus tests, judged like the code that
//! comes out in the end.
//!
//! `module` reads LLVM's intermediate representation, `thread` makes threads of its functions,
//! `ir` tests of whole modules, `blame` goes through the passes of a compilation, `machine` looks at those
//! that work on machine code, `operation` names what was lost, `cross` asks for a second opinion, `omit` for another
//! by leaving single passes out, `gcc` reads dumps of gcc, `without` has gcc leave passes out, `alone` runs single passes, `spirv` those of spirv-opt, and `survey` goes through many tests at once, and `known` keeps what they gave. It does not know pipelines or reports, and
//! prints nothing.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod alone;
pub mod blame;
pub mod cross;
pub mod gcc;
pub mod ir;
pub mod judge;
pub mod known;
pub mod machine;
pub mod module;
pub mod omit;
pub mod operation;
pub mod spirv;
pub mod survey;
pub mod thread;
pub mod without;
