//! What the sandbox and the processes around it need of the system.
//!
//! Functions that a process between fork and exec may call make only plain system calls, without allocation or locks.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::io::Errno;

/// Returns the error number of the last failed system call.
pub fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Returns the result of a system call, or its error if it failed.
pub fn checked(result: impl Into<i64>) -> rustix::io::Result<i64> {
    let result = result.into();
    if result < 0 { Err(Errno::from_raw_os_error(last_errno())) } else { Ok(result) }
}

/// Ends the process if it is dropped, which only a panic can do. A forked child must never unwind into the frames of
/// its parent.
struct ExitOnUnwind;

impl Drop for ExitOnUnwind {
    fn drop(&mut self) {
        // SAFETY: ends the process, runs nothing.
        unsafe { libc::_exit(70) }
    }
}

/// Writes all bytes or gives up.
pub fn write_all(descriptor: impl AsFd, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match rustix::io::write(&descriptor, bytes) {
            Ok(0) => return false,
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes.
pub fn read_full(descriptor: impl AsFd, buffer: &mut [u8]) -> usize {
    let mut have = 0;
    while have < buffer.len() {
        match rustix::io::read(&descriptor, &mut buffer[have..]) {
            Ok(0) => break,
            Ok(read) => have += read,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    have
}

/// Forks. The child runs `child` with all signals blocked, and never returns.
pub fn fork_into(child: impl FnOnce()) -> io::Result<libc::pid_t> {
    // SAFETY: the sets are plain data on the stack. The child only runs `child`, which keeps to plain system calls, and
    // then ends; it never returns into the caller's frames.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        // Blocked during the fork, because the caller's handlers must not run in the child.
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let pid = libc::fork();
        if pid == 0 {
            let _guard = ExitOnUnwind;
            child();
            libc::_exit(0);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if pid < 0 { Err(error) } else { Ok(pid) }
    }
}

/// Creates a pipe that programs do not inherit, read end first.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let pair = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(not(target_os = "linux"))]
    let pair = {
        let pair = rustix::pipe::pipe()?;
        rustix::io::fcntl_setfd(&pair.0, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::fcntl_setfd(&pair.1, rustix::io::FdFlags::CLOEXEC)?;
        pair
    };
    Ok(pair)
}

/// Waits for one child of this process, and returns its exit code, if it exited.
pub fn reap(pid: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing.
        let result = unsafe { libc::waitpid(pid, &mut status, 0) };
        if result == pid {
            return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        }
        if last_errno() != libc::EINTR {
            return None;
        }
    }
}

/// Joins parts to a path with a NUL at the end; `None` if the buffer is too short.
pub fn join_path<'a>(buffer: &'a mut [u8], parts: &[&[u8]]) -> Option<&'a CStr> {
    let mut at = 0;
    for part in parts {
        buffer.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    *buffer.get_mut(at)? = 0;
    CStr::from_bytes_with_nul(&buffer[..=at]).ok()
}

/// Returns the decimal digits of a positive number.
pub fn decimal(value: i32, buffer: &mut [u8; 10]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 || at == 0 {
            return &buffer[at..];
        }
    }
}

/// Opens a regular file for reading. Follows links. Others may replace the file at any time, and a pipe would make the
/// reader wait.
///
/// # Errors
/// Fails if the file cannot be opened or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads the first bytes of a regular file. Follows links.
///
/// # Errors
/// Fails if the file cannot be read or is not a regular file.
pub fn first_bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_digits() {
        for value in [0, 7, 10, 4_194_304, i32::MAX] {
            assert_eq!(decimal(value, &mut [0; 10]), value.to_string().as_bytes());
        }
    }

    #[test]
    fn nothing_but_a_regular_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "0123").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        for (name, read) in [("file", Some(&b"012"[..])), ("link", Some(b"012")), ("pipe", None), (".", None)]
        {
            assert_eq!(first_bytes(&path(name), 3).ok().as_deref(), read, "{name}");
        }
    }
}
