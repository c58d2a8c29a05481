//! Reads processes on systems without `/proc`: macOS uses `sysctl`.

use std::io;

use super::{Signal, SignalError};

#[cfg(target_os = "macos")]
fn info(pid: u32) -> io::Result<libc::proc_bsdinfo> {
    // SAFETY: `proc_bsdinfo` is plain numbers, for which all zeroes is a value.
    let mut info: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::proc_bsdinfo>() as libc::c_int;
    let pid = libc::c_int::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
    // SAFETY: the buffer is as large as the size that is passed.
    let length = unsafe {
        libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, std::ptr::from_mut(&mut info).cast(), size)
    };
    if length == size { Ok(info) } else { Err(io::ErrorKind::NotFound.into()) }
}

#[cfg(target_os = "macos")]
pub(super) fn start_time(pid: u32) -> io::Result<u64> {
    let info = info(pid)?;
    Ok(info.pbi_start_tvsec.saturating_mul(1_000_000).saturating_add(info.pbi_start_tvusec))
}

#[cfg(target_os = "macos")]
pub(super) fn is_running(pid: u32, start: u64) -> bool {
    info(pid).is_ok_and(|info| info.pbi_status != libc::SZOMB) && start_time(pid).is_ok_and(|at| at == start)
}

#[cfg(target_os = "macos")]
pub(super) fn boot_id() -> io::Result<String> {
    let mut buffer = [0u8; 64];
    let mut length = buffer.len();
    // SAFETY: the name ends with NUL, and `length` is the size of the buffer.
    let result = unsafe {
        libc::sysctlbyname(
            c"kern.bootsessionuuid".as_ptr(),
            buffer.as_mut_ptr().cast(),
            &mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let text = buffer[..length].split(|&b| b == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

#[cfg(not(target_os = "macos"))]
pub(super) fn start_time(_pid: u32) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "macos"))]
pub(super) fn is_running(_pid: u32, _start: u64) -> bool {
    false
}

#[cfg(not(target_os = "macos"))]
pub(super) fn boot_id() -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn signal(pid: u32, start: u64, signal: Signal) -> Result<(), SignalError> {
    if !is_running(pid, start) {
        return Err(SignalError::Ended);
    }
    let pid = libc::pid_t::try_from(pid).map_err(|_| SignalError::Ended)?;
    // SAFETY: `kill` has no memory effects; the number was checked to be one process above.
    if unsafe { libc::kill(pid, signal.number()) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(if error.raw_os_error() == Some(libc::ESRCH) {
        SignalError::Ended
    } else {
        SignalError::Refused(error)
    })
}
