//! The allocator. It knows nothing of what is kept.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys as mi;

/// Simulating a small test makes many small allocations, which mimalloc serves faster. Without
/// huge pages (its feature `no_thp`): short runs would spend their time on clearing them.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Memory is taken in pieces of 64 MiB where the environment says nothing else: what mimalloc
/// notes of larger ones takes it longer than a short command. The first allocation comes before
/// `main`, and so does this.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static SMALL_PIECES: extern "C" fn() = {
    /// The number of `mi_option_arena_reserve`, in KiB.
    const ARENA_RESERVE: mi::mi_option_t = 23;
    extern "C" fn set() {
        // SAFETY: options may be set at any time.
        unsafe { mi::mi_option_set_default(ARENA_RESERVE, 64 << 10) }
    }
    set
};

/// Goes the short way where no alignment is asked for that is not there anyway.
struct Allocator;

/// Whether every allocation of that size is so aligned: to 16 bytes, or as far as the size goes.
fn is_plain(layout: Layout) -> bool {
    layout.align() <= 16 && layout.align() <= layout.size()
}

// SAFETY: what comes from `mi_malloc` and its kin is as large as asked, aligned as `is_plain` says
// or as asked, and given back by `mi_free`, whichever it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: any size and any power of two will do.
        unsafe {
            match is_plain(layout) {
                true => mi::mi_malloc(size).cast(),
                false => mi::mi_malloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe {
            match is_plain(layout) {
                true => mi::mi_zalloc(size).cast(),
                false => mi::mi_zalloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: it came from one of the others.
        unsafe { mi::mi_free(at.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the new size keeps the alignment, or asks for it.
        unsafe {
            match layout.align() <= 16 && layout.align() <= size {
                true => mi::mi_realloc(at.cast(), size).cast(),
                false => mi::mi_realloc_aligned(at.cast(), size, layout.align()).cast(),
            }
        }
    }
}
