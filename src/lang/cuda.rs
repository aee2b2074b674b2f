//! Emission as CUDA C++: the C text with objects that libcu++ accesses atomically, and functions for the
//! device.
//!
//! The meaning is as in `c11::emit`; only types are written differently. An operation has the scope that it names, or
//! else the narrowest one that reaches all threads of the test. If the test does not say where its threads are, that
//! is the scope of the system.

use super::c11::emit::{EmitOptions, HEADER as C_HEADER, Storage, emit_c};
use super::cpp::{has_no_jumps, unqualified};
use super::pointees;
use litmake_base::failure::Failure;
use litmake_litmus::c::print_declaration;
use litmake_litmus::c::scoped::Groups;
use litmake_litmus::c::types::{qualify, size_of};
use litmake_litmus::scopes::Level;
use litmake_litmus::{Test, Type};

/// The beginning of every translation unit. An object is laid out as in C, and each operation makes an
/// `atomic_ref` of it: `cuda::atomic` would store one of 8 or 16 bits in a word. No location of a test is a
/// variable of a thread, so libcu++ need not check each address for that.
pub const HEADER: &str = "\
#define _CCCL_ATOMIC_UNSAFE_AUTOMATIC_STORAGE
#include <cstddef>
#include <cstdint>
#include <cuda/atomic>
using cuda::std::memory_order;
using cuda::std::memory_order_relaxed;
using cuda::std::memory_order_consume;
using cuda::std::memory_order_acquire;
using cuda::std::memory_order_release;
using cuda::std::memory_order_acq_rel;
using cuda::std::memory_order_seq_cst;
template <class T> struct plain { using type = T; };
template <class T, cuda::thread_scope S> struct atomic {
  alignas(sizeof(T)) T object;
  using access = cuda::atomic_ref<T, S>;
  atomic() = default;
  __device__ constexpr atomic(T v) : object(v) {}
  atomic(const atomic &) = delete;
  __device__ access at() const volatile { return access(const_cast<T &>(object)); }
  __device__ operator T() const volatile { return at().load(); }
  __device__ void operator=(T v) volatile { at().store(v); }
};
#define OPERATION template <class T, cuda::thread_scope S> __device__ inline
#define OBJECT volatile atomic<T, S> *a
#define VALUE typename plain<T>::type
OPERATION T atomic_load_explicit(const OBJECT, memory_order o) { return a->at().load(o); }
OPERATION T atomic_load(const OBJECT) { return a->at().load(); }
OPERATION void atomic_store_explicit(OBJECT, VALUE v, memory_order o) { a->at().store(v, o); }
OPERATION void atomic_store(OBJECT, VALUE v) { a->at().store(v); }
#define READ_MODIFY_WRITE(name, member)                                                      \\
  OPERATION T name##_explicit(OBJECT, VALUE v, memory_order o) {                             \\
    return a->at().member(v, o);                                                             \\
  }                                                                                          \\
  OPERATION T name(OBJECT, VALUE v) { return a->at().member(v); }
READ_MODIFY_WRITE(atomic_exchange, exchange)
READ_MODIFY_WRITE(atomic_fetch_add, fetch_add)
READ_MODIFY_WRITE(atomic_fetch_sub, fetch_sub)
READ_MODIFY_WRITE(atomic_fetch_and, fetch_and)
READ_MODIFY_WRITE(atomic_fetch_or, fetch_or)
READ_MODIFY_WRITE(atomic_fetch_xor, fetch_xor)
#define COMPARE_EXCHANGE(name, member)                                                       \\
  OPERATION bool name##_explicit(OBJECT, VALUE *e, VALUE v, memory_order s, memory_order f) { \\
    return a->at().member(*e, v, s, f);                                                      \\
  }                                                                                          \\
  OPERATION bool name(OBJECT, VALUE *e, VALUE v) { return a->at().member(*e, v); }
COMPARE_EXCHANGE(atomic_compare_exchange_strong, compare_exchange_strong)
COMPARE_EXCHANGE(atomic_compare_exchange_weak, compare_exchange_weak)
#undef COMPARE_EXCHANGE
#undef READ_MODIFY_WRITE
#undef VALUE
#undef OBJECT
#undef OPERATION
#define atomic_thread_fence(o) cuda::atomic_thread_fence(o, LITMAKE_SCOPE)
#define atomic_signal_fence(o) cuda::atomic_signal_fence(o)

";

/// The operations that name a scope, before the first test of a translation unit that has some.
const SCOPED: &str = "\
#ifndef LITMAKE_SCOPED
#define LITMAKE_SCOPED
template <cuda::thread_scope R> struct scope {};
#define memory_scope_work_item scope<cuda::thread_scope_thread>()
#define memory_scope_work_group scope<cuda::thread_scope_block>()
#define memory_scope_device scope<cuda::thread_scope_device>()
#define memory_scope_all_svm_devices scope<cuda::thread_scope_system>()
#define SCOPED template <class T, cuda::thread_scope S, cuda::thread_scope R> __device__ inline
#define AT cuda::atomic_ref<T, R>(const_cast<T &>(a->object))
#define OBJECT volatile atomic<T, S> *a
#define VALUE typename plain<T>::type
SCOPED T atomic_load_explicit(const OBJECT, memory_order o, scope<R>) { return AT.load(o); }
SCOPED void atomic_store_explicit(OBJECT, VALUE v, memory_order o, scope<R>) { AT.store(v, o); }
#define READ_MODIFY_WRITE(name, member)                                                      \\
  SCOPED T name##_explicit(OBJECT, VALUE v, memory_order o, scope<R>) { return AT.member(v, o); }
READ_MODIFY_WRITE(atomic_exchange, exchange)
READ_MODIFY_WRITE(atomic_fetch_add, fetch_add)
READ_MODIFY_WRITE(atomic_fetch_sub, fetch_sub)
READ_MODIFY_WRITE(atomic_fetch_and, fetch_and)
READ_MODIFY_WRITE(atomic_fetch_or, fetch_or)
READ_MODIFY_WRITE(atomic_fetch_xor, fetch_xor)
#define COMPARE_EXCHANGE(name, member)                                                       \\
  SCOPED bool name##_explicit(OBJECT, VALUE *e, VALUE v, memory_order s, memory_order f,     \\
                              scope<R>) {                                                    \\
    return AT.member(*e, v, s, f);                                                           \\
  }
COMPARE_EXCHANGE(atomic_compare_exchange_strong, compare_exchange_strong)
COMPARE_EXCHANGE(atomic_compare_exchange_weak, compare_exchange_weak)
#define atomic_work_item_fence(flags, o, s) scoped_fence(o, s)
template <cuda::thread_scope R> __device__ inline void scoped_fence(memory_order o, scope<R>) {
  (cuda::atomic_thread_fence)(o, R);
}
#define barrier(flags) __syncthreads()
#define work_group_barrier(...) __syncthreads()
#undef COMPARE_EXCHANGE
#undef READ_MODIFY_WRITE
#undef VALUE
#undef OBJECT
#undef AT
#undef SCOPED
#endif
";

/// A test without the header.
pub fn emit(test: &Test, options: &EmitOptions) -> Result<String, Failure> {
    has_no_jumps(test)?;
    if options.storage == Storage::Statics {
        let what = "locations that are static variables of a CUDA program";
        return Err(Failure::unsupported(what));
    }
    pointees(test).try_for_each(fits)?;
    let options = EmitOptions {
        calls: true,
        spell: Some(spell),
        mark: Some("__device__ "),
        ..options.clone()
    };
    let text = emit_c(test, &options);
    let text = text.strip_prefix(C_HEADER).unwrap_or(&text);
    let scope = scope(test);
    let said = Groups::of(test);
    let has_groups = !(said.reaches.is_empty() && said.barriers.is_empty());
    let scoped = if has_groups { SCOPED } else { "" };
    Ok(format!(
        "{scoped}#define LITMAKE_SCOPE {scope}\nextern \"C\" {{\n{text}}}\n#undef LITMAKE_SCOPE\n"
    ))
}

/// The narrowest scope of CUDA that has all threads of a test.
fn scope(test: &Test) -> &'static str {
    let together = |level: Level| {
        let share = |t: usize| test.scopes.as_ref().is_some_and(|s| s.share(level, 0, t));
        (0..test.threads.len()).all(share)
    };
    match () {
        () if together(Level::Workgroup) => "cuda::thread_scope_block",
        () if together(Level::Device) => "cuda::thread_scope_device",
        () => "cuda::thread_scope_system",
    }
}

/// Whether libcu++ accesses a type atomically, where it is atomic.
fn fits(ty: &Type) -> Result<(), Failure> {
    match ty.bare() {
        Type::Pointer(to) | Type::Array(to, _) if !ty.is_atomic() => fits(to),
        _ if ty.is_atomic() && size_of(ty).is_none_or(|bytes| bytes > 8) => {
            Err(Failure::unsupported("atomics of CUDA C++ that have more than 8 bytes"))
        }
        _ => Ok(()),
    }
}

/// A type as CUDA C++ writes it.
fn spell(ty: &Type) -> Type {
    let inner = unqualified(ty, spell);
    let named = match ty.is_atomic() {
        true => {
            Type::Named(format!("atomic<{}, LITMAKE_SCOPE>", print_declaration(&inner, "").trim()))
        }
        false => inner,
    };
    qualify(named, ty.is_const(), ty.is_volatile(), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use litmake_base::diag::Source;

    const TEST: &str = "C t
{ }
P0 (_Atomic uint8_t* x, int* y) {
  *y = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
P1 (const volatile _Atomic uint8_t* x) {
  int r0 = atomic_load(x);
}
exists (true)
";

    fn emitted(text: &str, storage: Storage) -> Result<String, Failure> {
        let test = litmake_litmus::read(&Source::new("t", text)).expect("reads");
        emit(&test, &EmitOptions { storage, ..EmitOptions::default() })
    }

    #[test]
    fn functions_are_for_the_device() {
        let expected = "\
#define LITMAKE_SCOPE cuda::thread_scope_system
extern \"C\" {
__device__ void P0(atomic<uint8_t, LITMAKE_SCOPE> *x, int *y) {
  *y = 1;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(x, 1, memory_order_relaxed);
}

__device__ void P1(const volatile atomic<uint8_t, LITMAKE_SCOPE> *x) {
  int r0 = atomic_load(x);
}
}
#undef LITMAKE_SCOPE
";
        assert_eq!(emitted(TEST, Storage::Params).expect("CUDA C++"), expected);
        let text = emitted(TEST, Storage::Globals).expect("CUDA C++");
        let variable = "__device__ atomic<uint8_t, LITMAKE_SCOPE> loc_x";
        assert!(text.contains(variable), "{text}");
    }

    #[test]
    fn a_scope_has_all_threads() {
        for (scopes, expected) in [
            ("(system (device (workgroup P0 P1)))", "block"),
            ("(system (device (cluster (workgroup P0) (workgroup P1))))", "device"),
            ("(system (device (workgroup P0) (workgroup P1)))", "device"),
            ("(system (device P0) (device P1))", "system"),
        ] {
            let text = TEST.replace("exists", &format!("scopes: {scopes}\nexists"));
            let text = emitted(&text, Storage::Params).expect("CUDA C++");
            let defined = format!("#define LITMAKE_SCOPE cuda::thread_scope_{expected}\n");
            assert!(text.starts_with(&defined), "{scopes}: {text}");
        }
    }

    #[test]
    fn what_the_language_lacks_is_named() {
        let refused = |text: &str, storage| emitted(text, storage).expect_err("refused").text();
        let wide = TEST.replace("uint8_t", "__int128");
        assert!(refused(&wide, Storage::Params).contains("more than 8 bytes"));
        assert!(refused(TEST, Storage::Statics).contains("static variables"));
        let jumps = TEST.replace("int r0 =", "return; int r0 =");
        assert!(refused(&jumps, Storage::Params).contains("jumps"));
    }
}
