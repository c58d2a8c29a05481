//! Filters of system calls.

use crate::system::checked;

/// `BPF_LD | BPF_W | BPF_ABS`.
pub(crate) const LOAD: u16 = 0x20;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
pub(crate) const JUMP_IF_EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JGE | BPF_K`.
pub(crate) const JUMP_IF_AT_LEAST: u16 = 0x35;
/// `BPF_RET | BPF_K`.
pub(crate) const RETURN: u16 = 0x06;

/// A filter that is ready to install.
#[derive(Debug)]
pub(crate) struct Filter(pub(crate) Vec<libc::sock_filter>);

/// Returns one instruction.
pub(crate) fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// Returns whether filters of this kernel can have this result.
pub(crate) fn has_action(action: u32) -> bool {
    // SAFETY: the kernel only reads the number.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, std::ptr::from_ref(&action))
    };
    result == 0
}

impl Filter {
    /// Installs the filter on the calling thread permanently, and returns what the kernel returns. Makes one plain
    /// system call.
    pub(crate) fn install(&self, flags: libc::c_ulong) -> rustix::io::Result<i64> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the kernel only reads the program, which has this length.
        checked(unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                std::ptr::from_ref(&program),
            )
        })
    }
}
