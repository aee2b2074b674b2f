//! Emission as C++: the C text with `std::atomic` objects, and functions with C's linkage.
//!
//! The meaning is as in `c11::emit`; only types are written differently.

use std::sync::Arc;

use super::c11::emit::{EmitOptions, HEADER as C_HEADER, emit_c, goes_to_labels, jumps};
use litmake_base::failure::Failure;
use litmake_litmus::c::print_declaration;
use litmake_litmus::c::types::{is_bool, qualify};
use litmake_litmus::{Body, Test, Type};

/// The beginning of every translation unit, for targets with a C++ library.
pub const HEADER: &str = "#include <atomic>\n#include <cstddef>\n#include <cstdint>\n\
                          using namespace std;\n\n";

/// The beginning for targets without a C++ library: the part of `std::atomic` that tests use, built on the
/// compilers' operations as those libraries do.
pub const BARE_HEADER: &str = "\
#include <stddef.h>
#include <stdint.h>
namespace std {
enum memory_order : int {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_consume = __ATOMIC_CONSUME,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
};
template <class T> struct plain { using type = T; };
template <class T> struct atomic {
  alignas(sizeof(T)) T object;
  atomic() = default;
  constexpr atomic(T v) : object(v) {}
  atomic(const atomic &) = delete;
  operator T() const { return __atomic_load_n(&object, __ATOMIC_SEQ_CST); }
  void operator=(T v) { __atomic_store_n(&object, v, __ATOMIC_SEQ_CST); }
};
using atomic_int = atomic<int>;
#define INLINE inline __attribute__((always_inline))
#define OF(T) typename plain<T>::type
template <class T> INLINE T atomic_load_explicit(const volatile atomic<T> *a, memory_order o) {
  return __atomic_load_n(&a->object, o);
}
template <class T>
INLINE void atomic_store_explicit(volatile atomic<T> *a, OF(T) v, memory_order o) {
  __atomic_store_n(&a->object, v, o);
}
#define READ_MODIFY_WRITE(name, builtin)                                                     \\
  template <class T>                                                                         \\
  INLINE T name##_explicit(volatile atomic<T> *a, OF(T) v, memory_order o) {                 \\
    return builtin(&a->object, v, o);                                                        \\
  }                                                                                          \\
  template <class T> INLINE T name(volatile atomic<T> *a, OF(T) v) {                         \\
    return builtin(&a->object, v, __ATOMIC_SEQ_CST);                                         \\
  }
READ_MODIFY_WRITE(atomic_exchange, __atomic_exchange_n)
READ_MODIFY_WRITE(atomic_fetch_add, __atomic_fetch_add)
READ_MODIFY_WRITE(atomic_fetch_sub, __atomic_fetch_sub)
READ_MODIFY_WRITE(atomic_fetch_and, __atomic_fetch_and)
READ_MODIFY_WRITE(atomic_fetch_or, __atomic_fetch_or)
READ_MODIFY_WRITE(atomic_fetch_xor, __atomic_fetch_xor)
template <class T> INLINE T atomic_load(const volatile atomic<T> *a) {
  return __atomic_load_n(&a->object, __ATOMIC_SEQ_CST);
}
template <class T> INLINE void atomic_store(volatile atomic<T> *a, OF(T) v) {
  __atomic_store_n(&a->object, v, __ATOMIC_SEQ_CST);
}
#define COMPARE_EXCHANGE(name, weak)                                                         \\
  template <class T>                                                                         \\
  INLINE bool name##_explicit(volatile atomic<T> *a, OF(T) *e, OF(T) v, memory_order s,      \\
                              memory_order f) {                                              \\
    return __atomic_compare_exchange_n(&a->object, e, v, weak, s, f);                        \\
  }                                                                                          \\
  template <class T> INLINE bool name(volatile atomic<T> *a, OF(T) *e, OF(T) v) {            \\
    return __atomic_compare_exchange_n(&a->object, e, v, weak, __ATOMIC_SEQ_CST,             \\
                                       __ATOMIC_SEQ_CST);                                    \\
  }
COMPARE_EXCHANGE(atomic_compare_exchange_strong, false)
COMPARE_EXCHANGE(atomic_compare_exchange_weak, true)
INLINE void atomic_thread_fence(memory_order o) { __atomic_thread_fence(o); }
INLINE void atomic_signal_fence(memory_order o) { __atomic_signal_fence(o); }
}
using namespace std;

";

/// A test without the header.
pub fn emit(test: &Test, options: &EmitOptions) -> Result<String, Failure> {
    has_no_jumps(test)?;
    let options = EmitOptions { calls: true, spell: Some(spell), ..options.clone() };
    let text = emit_c(test, &options);
    let text = text.strip_prefix(C_HEADER).unwrap_or(&text);
    Ok(format!("extern \"C\" {{\n{text}}}\n"))
}

/// Refuses a test that jumps past declarations, which C++ forbids.
pub(super) fn has_no_jumps(test: &Test) -> Result<(), Failure> {
    let jump = |b: &Body| matches!(b, Body::C(f) if jumps(f));
    if test.threads.iter().any(jump) || test.helpers.iter().any(goes_to_labels) {
        return Err(Failure::inexpressible("C++", "jumps past declarations"));
    }
    Ok(())
}

/// A type without its qualifiers, as C++ writes it; `spell` writes the types in it.
pub(super) fn unqualified(ty: &Type, spell: fn(&Type) -> Type) -> Type {
    match ty.bare() {
        Type::Pointer(t) => Type::Pointer(Arc::new(spell(t))),
        Type::Array(t, n) => Type::Array(Arc::new(spell(t)), *n),
        _ if is_bool(ty) => Type::Named("bool".into()),
        t => t.clone(),
    }
}

/// A type as C++ writes it.
fn spell(ty: &Type) -> Type {
    let inner = unqualified(ty, spell);
    let named = match ty.is_atomic() {
        true => Type::Named(format!("std::atomic<{}>", print_declaration(&inner, "").trim())),
        false => inner,
    };
    qualify(named, ty.is_const(), ty.is_volatile(), false)
}
