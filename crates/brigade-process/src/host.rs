//! Reads and sets properties of this process and of its host.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Returns the environment variables of this process.
pub fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Returns the current directory.
///
/// # Errors
/// Fails if the directory was removed or the system does not know its path.
pub fn current_dir() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// Returns the path of the running program.
///
/// # Errors
/// Fails if the system does not know it.
pub fn current_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Returns secure random bytes from the system.
///
/// # Errors
/// Fails if the system has none.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Prevents core files of this process, which would hold the values of secrets.
///
/// Neither a file nor a program that handles core files gets one. Call this at the start of a program. Programs that it
/// runs with this crate get the earlier limit back.
pub fn leave_no_core_file() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: core_limit().rlim_max };
    // SAFETY: the limit outlives the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    #[cfg(target_os = "linux")]
    // SAFETY: no memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0)
    };
}

/// Returns the offset of local time from UTC at the given time, in minutes.
pub fn local_offset_minutes(unix_seconds: i64) -> i32 {
    let seconds: libc::time_t = unix_seconds;
    // SAFETY: `tm` is plain data, for which all zeroes is a value; both pointers are to locals.
    let found = unsafe {
        let mut local: libc::tm = std::mem::zeroed();
        (!libc::localtime_r(&seconds, &mut local).is_null()).then_some(local.tm_gmtoff)
    };
    found.and_then(|offset| i32::try_from(offset / 60).ok()).unwrap_or_default()
}

/// Returns the name of the account of this process, as the system knows it.
pub fn account_name() -> Option<String> {
    const MAX_BYTES: usize = 16 << 10;
    let mut text = vec![0; MAX_BYTES];
    let mut found = std::ptr::null_mut();
    // SAFETY: `passwd` is plain data, for which all zeroes is a value; all pointers are to locals that outlive the
    // calls; `pw_name` is a string in `text`, if the account is found.
    unsafe {
        let mut account: libc::passwd = std::mem::zeroed();
        let code = libc::getpwuid_r(libc::geteuid(), &mut account, text.as_mut_ptr(), text.len(), &mut found);
        let name = (code == 0 && !found.is_null()).then(|| std::ffi::CStr::from_ptr(account.pw_name));
        name.and_then(|name| name.to_str().ok()).map(str::to_owned)
    }
}

/// Returns the limit of core files that this process was started with.
pub(crate) fn core_limit() -> libc::rlimit {
    static FIRST: std::sync::OnceLock<libc::rlimit> = std::sync::OnceLock::new();
    *FIRST.get_or_init(|| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit outlives the call.
        unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut limit) };
        limit
    })
}

/// Returns whether not even root can change the bytes of an open file.
///
/// True if the whole file system is read-only, or seals the file (fs-verity).
pub fn is_sealed(file: &std::fs::File) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, StatxFlags};
        const VERITY: u64 = 0x10_0000;
        let found = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
        found.is_ok_and(|found| {
            let device = format!("{}:{}", found.stx_dev_major, found.stx_dev_minor);
            let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            found.stx_attributes.bits() & VERITY != 0 || is_read_only(&mounts(), &device)
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        false
    }
}

/// Returns whether the file system with this device is read-only itself, not only at one mount point.
#[cfg(target_os = "linux")]
fn is_read_only(mounts: &str, device: &str) -> bool {
    let options = |line: &str| {
        let (mount, system) = line.split_once(" - ")?;
        let is_it = mount.split(' ').nth(2) == Some(device);
        is_it.then(|| system.split(' ').nth(2).is_some_and(|options| options.split(',').next() == Some("ro")))
    };
    let found: Vec<bool> = mounts.lines().filter_map(options).collect();
    !found.is_empty() && found.iter().all(|is_read_only| *is_read_only)
}

/// Makes a write past the file size limit (`ulimit -f`) return an error, instead of ending this process with `SIGXFSZ`.
///
/// Call this at the start of a program. Programs that it runs with this crate get the default action of the signal.
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal installs no handler, and no memory is involved. The number is valid, so it cannot fail.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_read_only_by_itself() {
        let mounts = "1 0 8:1 / / ro,relatime - ext4 /dev/a rw,errors=x\n\
            2 1 8:2 / /a ro - squashfs /dev/b ro,errors=x\n\
            3 1 8:3 / /b rw shared:1 - tmpfs tmpfs rw\n";
        for (device, expect) in [("8:1", false), ("8:2", true), ("8:3", false), ("8:4", false)] {
            assert_eq!(is_read_only(mounts, device), expect, "{device}");
        }
    }
}
