//! Has the kernel stop a thread for its tracer at the system calls that [`super::calls`] reads, so
//! that all others run at full speed.
//!
//! It does not know what becomes of a thread that is stopped.

use std::io;
use std::mem::offset_of;

use libc::{seccomp_data, sock_filter, sock_fprog};

use super::calls::{CALLS, NATIVE};

/// Calls of x32, which have other numbers than the usual ones.
const FOREIGN: u32 = 0x4000_0000;

/// Filters the calls of this thread, and of whatever it starts, from now on. Between fork and exec
/// this is safe: it allocates nothing.
pub fn install(filter: &[sock_filter]) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the kernel copies the program, which outlives the call, and does not write to it.
    match unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The filter, as a program of the kernel's.
pub fn program() -> Vec<sock_filter> {
    let step = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |offset: usize| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset as u32);
    let skip_if = |test: u32, k: u32, jt: u8, jf: u8| sock_filter {
        code: (libc::BPF_JMP | test | libc::BPF_K) as u16,
        jt,
        jf,
        k,
    };
    let end = |k: u32| step(libc::BPF_RET | libc::BPF_K, k);
    let stop = || end(libc::SECCOMP_RET_TRACE);
    let mut out = vec![
        load(offset_of!(seccomp_data, arch)),
        skip_if(libc::BPF_JEQ, NATIVE, 1, 0),
        stop(),
        load(offset_of!(seccomp_data, nr)),
        skip_if(libc::BPF_JGE, FOREIGN, 0, 1),
        stop(),
    ];
    for number in CALLS {
        out.extend([skip_if(libc::BPF_JEQ, *number as u32, 0, 1), stop()]);
    }
    out.push(end(libc::SECCOMP_RET_ALLOW));
    out
}
