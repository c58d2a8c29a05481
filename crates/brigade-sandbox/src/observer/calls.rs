//! The observed system calls and their arguments.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;

use crate::seccomp::{Filter, JUMP_IF_EQUAL, LOAD, RETURN, has_action, instruction};
use crate::system::{checked, decimal, join_path};

use super::handover::HANDOVER;

/// Offsets in `struct seccomp_data`.
const CALL: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// `AUDIT_ARCH_…` of this build.
const OURS: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else {
    None
};

/// The observed calls.
const OBSERVED_CALLS: &[libc::c_long] = &[
    libc::SYS_openat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    libc::SYS_openat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_sendmmsg,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    libc::SYS_linkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
];

/// The number of messages of one call (`sendmmsg`) that are checked. The kernel sends at most as many.
pub(super) const MAX_MESSAGES: u64 = 1024;

/// Offsets of an argument in `struct seccomp_data`.
const fn argument(number: u32) -> [u32; 2] {
    [16 + 8 * number, 20 + 8 * number]
}

/// The filter that notifies the listener. Filters that refuse a call take precedence.
#[derive(Debug)]
pub(super) struct NotifyFilter(Filter);

impl NotifyFilter {
    /// Builds the filter, if the kernel supports it with known structures.
    pub(super) fn new() -> Result<NotifyFilter, &'static str> {
        let Some(architecture) = OURS else { return Err("the system calls of this machine are not known") };
        let mut sizes = [0u16; 3];
        // SAFETY: the kernel writes three numbers of 16 bits.
        let measured =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, sizes.as_mut_ptr()) }
                == 0;
        if !has_action(libc::SECCOMP_RET_USER_NOTIF) || !measured {
            return Err("the kernel cannot tell what a program opens (before Linux 5.5)");
        }
        let expected = [
            size_of::<libc::seccomp_notif>(),
            size_of::<libc::seccomp_notif_resp>(),
            size_of::<libc::seccomp_data>(),
        ];
        if sizes.map(usize::from) != expected {
            return Err("the kernel tells of calls in a form that is not known");
        }
        Ok(NotifyFilter(Filter(NotifyFilter::program(architecture))))
    }

    fn program(architecture: u32) -> Vec<libc::sock_filter> {
        let count = OBSERVED_CALLS.len() as u8;
        let ([low, high], [flags, _]) = (argument(4), argument(2));
        let mut program = vec![
            instruction(LOAD, 0, 0, ARCHITECTURE),
            // Programs of another architecture are ended by the refusing filter.
            instruction(JUMP_IF_EQUAL, 0, count + 9, architecture),
            instruction(LOAD, 0, 0, CALL),
            // Most messages have no address, and are not reported.
            instruction(JUMP_IF_EQUAL, 0, 4, libc::SYS_sendto as u32),
            instruction(LOAD, 0, 0, low),
            instruction(JUMP_IF_EQUAL, 0, count + 6, 0),
            instruction(LOAD, 0, 0, high),
            instruction(JUMP_IF_EQUAL, count + 3, count + 4, 0),
            instruction(JUMP_IF_EQUAL, 0, 2, libc::SYS_sendmsg as u32),
            instruction(LOAD, 0, 0, flags),
            instruction(JUMP_IF_EQUAL, count, count + 1, HANDOVER.bits()),
        ];
        for (place, call) in OBSERVED_CALLS.iter().enumerate() {
            program.push(instruction(JUMP_IF_EQUAL, count - place as u8, 0, *call as u32));
        }
        program.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
        program.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
        program
    }

    /// Installs the filter on the calling thread permanently, and returns the listener. Makes only plain system calls.
    pub(super) fn install(&self) -> rustix::io::Result<OwnedFd> {
        let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // Otherwise a signal would restart the call, and some programs signal their threads constantly.
        let installed = match self.0.install(listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
            Err(Errno::INVAL) => self.0.install(listener),
            other => other,
        };
        // SAFETY: the kernel returned this descriptor a moment ago, and it has no other owner.
        installed.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor as RawFd) })
    }
}

/// Receives the next waiting call. Makes one plain system call.
pub(super) fn receive(listener: &OwnedFd) -> rustix::io::Result<libc::seccomp_notif> {
    // SAFETY: the structure is plain data, for which all zeroes is a value, and has the size that was asked for.
    unsafe {
        let mut notification: libc::seccomp_notif = std::mem::zeroed();
        let request = libc::SECCOMP_IOCTL_NOTIF_RECV as _;
        checked(libc::ioctl(listener.as_raw_fd(), request, &raw mut notification))?;
        Ok(notification)
    }
}

/// Returns whether the process still waits, so the data read from it is valid.
pub(super) fn is_waiting(listener: &OwnedFd, notification: &libc::seccomp_notif) -> bool {
    // SAFETY: the kernel only reads the number.
    unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &raw const notification.id)
            == 0
    }
}

/// Lets the call continue unchanged. A process that ended needs no answer.
pub(super) fn continue_call(listener: &OwnedFd, notification: &libc::seccomp_notif) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let answer = libc::seccomp_notif_resp { id: notification.id, val: 0, error: 0, flags };
    // SAFETY: the kernel only reads the structure.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const answer) };
}

/// Lets the kernel switch directly between process and listener. Older kernels do not support it.
pub(super) fn enable_direct_switch(listener: &OwnedFd) {
    const SYNC_WAKE_UP: libc::c_ulong = 1;
    // SAFETY: no memory is involved.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as _, SYNC_WAKE_UP) };
}

/// One call with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Opens a path. `how` has the flags.
    Open { folder: i32, path: u64, flags: Flags },
    /// Executes a path or a descriptor.
    Execute { folder: i32, path: u64, is_descriptor: bool, follows: bool },
    /// Removes, moves or truncates the file at one path; moves or creates a file at another.
    Change { old: Option<(i32, u64)>, follows: bool, new: Option<(i32, u64)>, is_folder: bool },
    /// Connects or binds a socket to an address of this length.
    Address { place: u64, length: u64, is_bound: bool },
    /// Sends messages with headers (`struct msghdr`), `step` bytes apart.
    Send { headers: u64, count: u64, step: u64 },
    /// Not an observed call.
    Other,
}

/// Where the flags of an open call are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    /// In this value.
    Given(libc::c_int),
    /// In a `struct open_how` at this address.
    At(u64),
}

impl Call {
    pub(super) fn new(data: &libc::seccomp_data) -> Call {
        let arguments = data.args;
        let descriptor = |place: usize| arguments[place] as i32;
        let given = |place: usize| Flags::Given(arguments[place] as libc::c_int);
        match libc::c_long::from(data.nr) {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Call::Open { folder: libc::AT_FDCWD, path: arguments[0], flags: given(1) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = Flags::Given(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC);
                Call::Open { folder: libc::AT_FDCWD, path: arguments[0], flags }
            }
            libc::SYS_openat => Call::Open { folder: descriptor(0), path: arguments[1], flags: given(2) },
            libc::SYS_openat2 => {
                Call::Open { folder: descriptor(0), path: arguments[1], flags: Flags::At(arguments[2]) }
            }
            libc::SYS_execve => Call::Execute {
                folder: libc::AT_FDCWD,
                path: arguments[0],
                is_descriptor: false,
                follows: true,
            },
            libc::SYS_execveat => Call::Execute {
                folder: descriptor(0),
                path: arguments[1],
                is_descriptor: arguments[4] as i32 & libc::AT_EMPTY_PATH != 0,
                follows: arguments[4] as i32 & libc::AT_SYMLINK_NOFOLLOW == 0,
            },
            libc::SYS_connect => Call::Address { place: arguments[1], length: arguments[2], is_bound: false },
            libc::SYS_bind => Call::Address { place: arguments[1], length: arguments[2], is_bound: true },
            libc::SYS_sendto => Call::Address { place: arguments[4], length: arguments[5], is_bound: false },
            libc::SYS_sendmsg => Call::Send { headers: arguments[1], count: 1, step: 0 },
            libc::SYS_sendmmsg => {
                let step = size_of::<libc::mmsghdr>() as u64;
                Call::Send { headers: arguments[1], count: arguments[2].min(MAX_MESSAGES), step }
            }
            call => Call::change(call, &arguments),
        }
    }
}

impl Call {
    /// Decodes a call that changes the file at a path without opening it.
    fn change(call: libc::c_long, arguments: &[u64; 6]) -> Call {
        let at = |folder: usize| Some((arguments[folder] as i32, arguments[folder + 1]));
        let at_cwd = |path: usize| Some((libc::AT_FDCWD, arguments[path]));
        let (old, new) = match call {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink | libc::SYS_rmdir => (at_cwd(0), None),
            libc::SYS_unlinkat => (at(0), None),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => (None, at_cwd(0)),
            libc::SYS_mkdirat => (None, at(0)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => (at_cwd(0), at_cwd(1)),
            libc::SYS_renameat | libc::SYS_renameat2 => (at(0), at(2)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link | libc::SYS_symlink => (None, at_cwd(1)),
            libc::SYS_linkat => (None, at(2)),
            libc::SYS_symlinkat => (None, at(1)),
            libc::SYS_truncate => (at_cwd(0), None),
            _ => return Call::Other,
        };
        #[cfg(target_arch = "x86_64")]
        let is_folder = matches!(call, libc::SYS_mkdir | libc::SYS_mkdirat);
        #[cfg(not(target_arch = "x86_64"))]
        let is_folder = call == libc::SYS_mkdirat;
        Call::Change { old, follows: call == libc::SYS_truncate, new, is_folder }
    }
}

/// Reads memory of a process until the buffer is full or the memory is unreadable. Returns the number of bytes. Makes
/// one plain system call.
pub(super) fn read_memory(process: u32, place: u64, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    const PAGE: usize = 4096;
    if buffer.is_empty() || place == 0 {
        return Ok(0);
    }
    // Reading stops only between two parts, and the next page may be missing.
    let first = (PAGE - (place as usize) % PAGE).min(buffer.len());
    let remote = [
        libc::iovec { iov_base: place as *mut libc::c_void, iov_len: first },
        libc::iovec {
            iov_base: place.wrapping_add(first as u64) as *mut libc::c_void,
            iov_len: buffer.len() - first,
        },
    ];
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the kernel writes into the buffer only, and checks the addresses in the other process itself.
    let read = unsafe { libc::process_vm_readv(process as libc::pid_t, &local, 1, remote.as_ptr(), 2, 0) };
    checked(read as i64).map(|read| read as usize)
}

/// Reads mapped memory of a process, whatever its protection. The kernel can read a page that may only be executed.
/// Returns the number of bytes. Makes only plain system calls.
pub(super) fn read_any_memory(process: u32, place: u64, buffer: &mut [u8]) -> usize {
    use rustix::fs::{Mode, OFlags};

    let (mut digits, mut path) = ([0; 10], [0; 32]);
    let parts: [&[u8]; 3] = [b"/proc/", decimal(process as i32, &mut digits), b"/mem"];
    let Some(path) = join_path(&mut path, &parts) else { return 0 };
    let Ok(memory) = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return 0;
    };
    let mut at = 0;
    while at < buffer.len() {
        match rustix::io::pread(&memory, &mut buffer[at..], place.wrapping_add(at as u64)) {
            Ok(0) | Err(_) => break,
            Ok(read) => at += read,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_observed_call_notifies() {
        let program = NotifyFilter::program(7);
        let last = program.len() - 1;
        assert_eq!(program[last].k, libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(program[last - 1].k, libc::SECCOMP_RET_ALLOW);
        for (place, call) in OBSERVED_CALLS.iter().enumerate() {
            let at = 11 + place;
            assert_eq!((program[at].k, at + 1 + usize::from(program[at].jt)), (*call as u32, last));
        }
        assert_eq!(1 + 1 + usize::from(program[1].jf), last - 1, "calls of other machines are allowed");
        assert_eq!(5 + 1 + usize::from(program[5].jf), last, "a call with an address is reported");
        for at in [7, 10] {
            let jump = |by: u8| at + 1 + usize::from(by);
            assert_eq!((jump(program[at].jt), jump(program[at].jf)), (last - 1, last));
        }
    }

    #[test]
    fn memory_is_read_up_to_where_it_ends() {
        let text = b"some text\0";
        let mut buffer = [1u8; 10];
        let read = read_memory(std::process::id(), text.as_ptr() as u64, &mut buffer).unwrap();
        assert_eq!((read, &buffer), (10, text));
        assert_eq!(read_memory(std::process::id(), 0, &mut buffer).unwrap(), 0);
        assert!(read_memory(std::process::id(), 8, &mut buffer).is_err());
        // SAFETY: two fresh pages, the second of which is then given back.
        let page = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), 8192, libc::PROT_READ, flags, -1, 0).cast::<u8>();
            libc::munmap(page.add(4096).cast(), 4096);
            page
        };
        let mut buffer = [1u8; 300];
        assert_eq!(read_memory(std::process::id(), page as u64 + 4000, &mut buffer).unwrap(), 96);
        assert_eq!(read_any_memory(std::process::id(), page as u64 + 4000, &mut buffer), 96);
        // SAFETY: the page is still mapped, and nothing uses it.
        unsafe { libc::mprotect(page.cast(), 4096, libc::PROT_EXEC) };
        assert!(read_memory(std::process::id(), page as u64, &mut buffer).is_err());
        assert_eq!(read_any_memory(std::process::id(), page as u64, &mut buffer), 300);
        assert_eq!(read_any_memory(std::process::id(), page as u64 + 4096, &mut buffer), 0);
    }
}
