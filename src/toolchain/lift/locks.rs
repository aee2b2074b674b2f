//! Stand-ins for the locks that `libatomic` takes for operations that a processor cannot do
//! atomically.
//!
//! The library hashes an object's address into a table of mutexes of the C library. Mutexes are
//! assumed to be correct, so their code is not followed; a spin lock that only acquires and
//! releases stands for it. Each location has its own lock, as it has when addresses differ enough.
//! This module does not know the code around a call.

/// The distance from an object to its lock. No object is that large, and the sum is an address in
/// 32 bits, too.
pub const FAR: i64 = 0x2000_0000;

/// Whether a function of the library takes the lock of the object that its first argument points
/// to, or releases it; `None` for other functions.
pub fn takes(function: &str) -> Option<bool> {
    match function {
        "libat_lock_1" | "libat_lock_n" => Some(true),
        "libat_unlock_1" | "libat_unlock_n" => Some(false),
        _ => None,
    }
}
