//! The start of the process, and its end, as short as can be: a suite of small tests takes hardly
//! longer than the standard library's. It knows nothing of what happens between.

mod math;
mod memory;

use std::io::Write;
use std::process::ExitCode;

/// The status of a Rust program that panicked.
const PANICKED: u8 = 101;

/// The C library calls this. The standard library's own looks up where the stack ends, to say so
/// should it overflow.
#[unsafe(no_mangle)]
extern "C" fn main() -> libc::c_int {
    // SAFETY: there is no other thread yet.
    unsafe {
        // What is opened next must not take the place of an output that is closed.
        for fd in libc::STDIN_FILENO..=libc::STDERR_FILENO {
            if libc::fcntl(fd, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
        // A reader that has left is an error of the write, not the end of the program.
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
    let status = std::panic::catch_unwind(crate::cli::main);
    let _ = std::io::stdout().flush();
    let number = |status| (0..=u8::MAX).find(|n| ExitCode::from(*n) == status);
    let number = status.ok().and_then(number).unwrap_or(PANICKED);
    // SAFETY: whoever opened something has closed it, and memory need not be given back.
    unsafe { libc::_exit(number.into()) }
}
