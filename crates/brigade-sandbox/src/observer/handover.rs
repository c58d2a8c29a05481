//! Passes the listener to the keeper right before the program is executed.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The flags by which the program's process passes the listener on. No other program uses them together. This send must
/// not be observed: no process has the listener yet, so the call would never be answered.
pub(super) const HANDOVER: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::CONFIRM).union(SendFlags::EOR);

/// The message of the program's process to the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstMessage {
    /// The error number if the kernel does not notify; 0 if it does.
    pub(super) errno: i32,
    /// The device of the copies of code; 0 for none.
    pub(super) sealed: u64,
}

/// Sends the descriptors up to the first that is missing. Makes one plain system call.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    first: &FirstMessage,
    descriptors: [Option<BorrowedFd<'_>>; 2],
) -> rustix::io::Result<()> {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&first.errno.to_ne_bytes());
    bytes[4..].copy_from_slice(&first.sealed.to_ne_bytes());
    let count = descriptors.iter().take_while(|descriptor| descriptor.is_some()).count();
    let descriptors = descriptors.map(|descriptor| descriptor.unwrap_or(socket));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if 0 < count {
        control.push(SendAncillaryMessage::ScmRights(&descriptors[..count]));
    }
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, HANDOVER).map(drop)
}

/// Receives the message; `None` if the other process ended before.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Option<(FirstMessage, [Option<OwnedFd>; 2])> {
    let mut bytes = [0; 12];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)
    });
    if received.ok()?.bytes != bytes.len() {
        return None;
    }
    let mut descriptors = [None, None];
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.iter_mut().zip(received).for_each(|(place, descriptor)| *place = Some(descriptor));
        }
    }
    let errno = bytes[..4].try_into().map_or(0, i32::from_ne_bytes);
    let sealed = bytes[4..].try_into().map_or(0, u64::from_ne_bytes);
    Some((FirstMessage { errno, sealed }, descriptors))
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
        send(theirs.as_fd(), &first, [Some(write.as_fd()), Some(read.as_fd())]).unwrap();
        drop(write);
        let (told, [copy, other]) = receive(ours.as_fd()).unwrap();
        write_all(copy.unwrap(), b"hi");
        let mut bytes = [0; 2];
        assert_eq!((told, read_full(other.unwrap(), &mut bytes), &bytes), (first, 2, b"hi"));
        send(theirs.as_fd(), &first, [Some(read.as_fd()), None]).unwrap();
        let (_, [one, none]) = receive(ours.as_fd()).unwrap();
        assert!(one.is_some() && none.is_none());
        let refused = FirstMessage { errno: libc::EBUSY, sealed: 0 };
        send(theirs.as_fd(), &refused, [None, None]).unwrap();
        let (told, [none, other]) = receive(ours.as_fd()).unwrap();
        assert!(told == refused && none.is_none() && other.is_none());
        drop(theirs);
        assert!(receive(ours.as_fd()).is_none());
    }
}
