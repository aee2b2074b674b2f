//! Tests made from tests, and from templates, so that what they show judges those who run them.
//!
//! It knows neither devices nor compilers.

pub mod mcm;
