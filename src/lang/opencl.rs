//! Emission as OpenCL C: the C text with locations behind `global` pointers.
//!
//! The meaning is as in `c11::emit`; only types are written differently, and operations keep the scopes that they name.
//! One that names none has
//! OpenCL C's own, the device, or, if the test is on several, all of them. Without named scopes, the same text is C for compilers that are
//! told so (`-x c`): `global` then becomes the address space that it stands for.

use std::sync::Arc;

use super::c11::emit::{EmitOptions, HEADER as C_HEADER, Storage, emit_c};
use super::pointees;
use litmake_base::failure::Failure;
use litmake_litmus::c::print_declaration;
use litmake_litmus::c::scoped::{Reach, say_each};
use litmake_litmus::c::types::qualify;
use litmake_litmus::scopes::{Level, Scopes};
use litmake_litmus::{Test, Type};

/// OpenCL C has the atomics of C11, except fences, which name the memory that they order. A fence of C
/// orders all of a device's memory.
pub const HEADER: &str = "\
#ifdef __OPENCL_C_VERSION__
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define memory_order_consume memory_order_acquire
#define atomic_thread_fence(order)                                                           \\
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, order,                  \\
                         memory_scope_device)
#else
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define global __attribute__((address_space(1)))
#endif

";

/// A test without the header.
pub fn emit(test: &Test, options: &EmitOptions) -> Result<String, Failure> {
    if options.storage != Storage::Params {
        let what = "locations that are variables of an OpenCL program";
        return Err(Failure::unsupported(what));
    }
    pointees(test).try_for_each(fits)?;
    let options = EmitOptions { calls: true, spell: Some(spell), ..options.clone() };
    let mut test = test.clone();
    let devices = |s: &Scopes| (1..test.threads.len()).any(|t| !s.share(Level::Device, 0, t));
    if test.scopes.as_ref().is_some_and(devices) {
        test.functions_mut().for_each(|f| say_each(f, &mut || Reach::System));
    }
    let text = emit_c(&test, &options);
    let text = text.strip_prefix(C_HEADER).unwrap_or(&text);
    Ok(text.to_string())
}

/// Whether OpenCL C has a type, where it is atomic.
fn fits(ty: &Type) -> Result<(), Failure> {
    match ty.bare() {
        Type::Int { bytes: 4 | 8, .. } => Ok(()),
        Type::Pointer(to) | Type::Array(to, _) if !ty.is_atomic() => fits(to),
        Type::Struct(_) => Err(Failure::unsupported("structures in OpenCL C")),
        _ if !ty.is_atomic() => Ok(()),
        _ => Err(Failure::unsupported("atomics of OpenCL C that have other than 4 or 8 bytes")),
    }
}

/// A type as OpenCL C writes it.
fn spell(ty: &Type) -> Type {
    let inner = match ty.bare() {
        // The address space belongs to what is pointed to.
        Type::Pointer(t) => {
            let to = print_declaration(&spell(t), "");
            Type::Pointer(Arc::new(Type::Named(format!("global {}", to.trim()))))
        }
        Type::Array(t, n) => Type::Array(Arc::new(spell(t)), *n),
        t => t.clone(),
    };
    let named = match (ty.is_atomic(), ty.bare()) {
        (true, Type::Int { bytes: 4, signed: true }) => Type::Named("atomic_int".into()),
        (true, Type::Int { bytes: 4, signed: false }) => Type::Named("atomic_uint".into()),
        (true, Type::Int { bytes: 8, signed: true }) => Type::Named("atomic_long".into()),
        (true, Type::Int { bytes: 8, signed: false }) => Type::Named("atomic_ulong".into()),
        (atomic, _) => return qualify(inner, ty.is_const(), ty.is_volatile(), atomic),
    };
    qualify(named, ty.is_const(), ty.is_volatile(), false)
}
