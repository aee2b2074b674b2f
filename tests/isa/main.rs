//! Instruction sets: what an instruction computes, and which events it makes.

mod exec;
mod riscv;
mod x86;
