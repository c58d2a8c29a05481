//! Passes the listener to the keeper right before the program is executed.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::system::last_errno;

use super::calls::PASSING;

/// The message of the program's process to the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstMessage {
    /// The error number if the kernel does not notify; 0 if it does.
    pub(super) errno: i32,
    /// The device of the copies of code; 0 for none.
    pub(super) sealed: u64,
}

/// Space for two descriptors in a message.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    descriptors: [RawFd; 2],
}

impl Control {
    fn new() -> Control {
        // SAFETY: the structure is plain data, for which all zeroes is a value.
        let mut control: Control = unsafe { std::mem::zeroed() };
        control.header.cmsg_level = libc::SOL_SOCKET;
        control.header.cmsg_type = libc::SCM_RIGHTS;
        control.descriptors = [-1; 2];
        control.set_count(2);
        control
    }

    fn set_count(&mut self, count: usize) {
        self.header.cmsg_len = (size_of::<libc::cmsghdr>() + count * size_of::<RawFd>()) as _;
    }
}

/// Builds a message of one part, with space for descriptors on request.
fn message(piece: &mut libc::iovec, control: Option<&mut Control>) -> libc::msghdr {
    // SAFETY: the structure is plain data, for which all zeroes is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    if let Some(control) = control {
        message.msg_control = std::ptr::from_mut(control).cast();
        message.msg_controllen = size_of::<Control>() as _;
    }
    message
}

/// Sends the descriptors up to the first that is missing.
pub(super) fn send(
    line: BorrowedFd<'_>,
    first: &FirstMessage,
    descriptors: [Option<RawFd>; 2],
) -> Result<(), i32> {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&first.errno.to_ne_bytes());
    bytes[4..].copy_from_slice(&first.sealed.to_ne_bytes());
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control::new();
    let count = descriptors.iter().take_while(|descriptor| descriptor.is_some()).count();
    control.descriptors = descriptors.map(|descriptor| descriptor.unwrap_or(-1));
    control.set_count(count);
    let with = (0 < count).then_some(&mut control);
    let message = message(&mut piece, with);
    // SAFETY: everything that the message points to outlives the call and has the given length.
    let sent = unsafe { libc::sendmsg(line.as_raw_fd(), &message, PASSING) };
    if sent < 0 { Err(last_errno()) } else { Ok(()) }
}

pub(super) fn take(line: BorrowedFd<'_>) -> Option<(FirstMessage, [Option<OwnedFd>; 2])> {
    let mut bytes = [0u8; 12];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control::new();
    let mut message = message(&mut piece, Some(&mut control));
    loop {
        // SAFETY: everything that the message points to outlives the call and has the given length.
        let taken = unsafe { libc::recvmsg(line.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if taken < 0 && last_errno() == libc::EINTR {
            continue;
        }
        if taken != bytes.len() as isize {
            return None;
        }
        break;
    }
    let given = control.header.cmsg_len;
    let has_any = message.msg_controllen >= size_of::<libc::cmsghdr>() as _;
    let descriptor = |place: usize| {
        let end = size_of::<libc::cmsghdr>() + (place + 1) * size_of::<RawFd>();
        (has_any && given >= end as _ && 0 <= control.descriptors[place])
            // SAFETY: the kernel made this descriptor for us.
            .then(|| unsafe { OwnedFd::from_raw_fd(control.descriptors[place]) })
    };
    let number = |part: &[u8]| part.try_into().map_or(0, u64::from_ne_bytes);
    let errno = bytes[..4].try_into().map_or(0, i32::from_ne_bytes);
    Some((FirstMessage { errno, sealed: number(&bytes[4..]) }, [descriptor(0), descriptor(1)]))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::system::{pipe, read_full, write_all};

    #[test]
    fn a_descriptor_is_handed_over() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (read, write) = pipe().unwrap();
        let first = FirstMessage { errno: 0, sealed: 7 };
        send(theirs.as_fd(), &first, [Some(write.as_raw_fd()), Some(read.as_raw_fd())]).unwrap();
        drop(write);
        let (told, [copy, other]) = take(ours.as_fd()).unwrap();
        write_all(copy.unwrap(), b"hi");
        let mut bytes = [0; 2];
        assert_eq!((told, read_full(other.unwrap(), &mut bytes), &bytes), (first, 2, b"hi"));
        send(theirs.as_fd(), &first, [Some(read.as_raw_fd()), None]).unwrap();
        let (_, [one, none]) = take(ours.as_fd()).unwrap();
        assert!(one.is_some() && none.is_none());
        let refused = FirstMessage { errno: libc::EBUSY, sealed: 0 };
        send(theirs.as_fd(), &refused, [None, None]).unwrap();
        let (told, [none, other]) = take(ours.as_fd()).unwrap();
        assert!(told == refused && none.is_none() && other.is_none());
        drop(theirs);
        assert!(take(ours.as_fd()).is_none());
    }
}
