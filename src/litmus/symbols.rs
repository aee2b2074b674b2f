//! How the front ends, which read the code of one thread, ask for the shared locations of the whole test.
//!
//! It does not know what code does with them.

use super::Type;

/// The questions of a front end about the rest of the test.
pub trait Symbols {
    /// The index of a shared location that code names directly (`[x]`, `movl (x),%eax`), added
    /// to the program's locations where it is new.
    fn location(&mut self, name: &str) -> u16;

    /// The index of a shared location whose type the code says, as C parameters do.
    fn declare(&mut self, name: &str, ty: &Type) -> u16;

    /// A location that belongs to the thread alone, whatever other threads name so.
    fn own(&mut self, name: &str, ty: &Type) -> u16 {
        self.declare(name, ty)
    }
}

/// For callers that want micro-ops and no locations: every location is the first one.
pub struct Anything;

impl Symbols for Anything {
    fn location(&mut self, _: &str) -> u16 {
        0
    }

    fn declare(&mut self, _: &str, _: &Type) -> u16 {
        0
    }
}
