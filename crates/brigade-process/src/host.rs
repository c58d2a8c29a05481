//! What this process was started with.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Returns the variables of this process.
pub fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Returns the folder that this process is in.
///
/// # Errors
/// When it was removed, or its path cannot be found out.
pub fn current_dir() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// Returns the program that this process runs.
///
/// # Errors
/// When the system does not say.
pub fn current_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Returns bytes that nobody can guess, from the system.
///
/// # Errors
/// When the system has none to give.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Makes a write past the limit of file sizes (`ulimit -f`) fail like any other, instead of ending this process with
/// `SIGXFSZ`.
///
/// For a program to call when it starts. What it runs with this crate gets the signal's default action back.
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal installs no handler, and no memory is involved. The number is valid, so it cannot fail.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
