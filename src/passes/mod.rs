//! Finds the compiler pass to blame for a wrong outcome: turns the code after each pass into litmus
//! tests, and judges them like the final code.
//!
//! `ir` makes tests from modules of LLVM's intermediate representation. `blame` goes through the passes of a compilation,
//! `machine` examines passes on machine code, and `operation` names the lost operation. `cross`
//! asks for a second opinion with skipped passes, and `omit` with single passes left out. `gcc`
//! reads dumps of gcc, and `without` makes gcc leave passes out. `alone` runs single passes of
//! LLVM, and `spirv` those of spirv-opt. `survey` goes through many tests at once, and `known`
//! stores the results.
//!
//! It does not know pipelines or reports, and prints nothing.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files and programs"))]

pub mod alone;
pub mod blame;
pub mod cross;
pub mod gcc;
pub mod ir;
pub mod judge;
pub mod known;
pub mod machine;
pub mod omit;
pub mod operation;
pub mod spirv;
pub mod survey;
pub mod without;
