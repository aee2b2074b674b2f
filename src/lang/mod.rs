//! Source languages: what a litmus test can be written in besides assembly.

pub mod c11;
