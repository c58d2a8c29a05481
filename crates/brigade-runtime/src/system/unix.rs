//! Systems without `/proc`: less is known, and unknown facts never count as verified.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use brigade_core::Timestamp;
use brigade_process::{CancelToken, ProcessIdentity};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Holder, Holders};

/// How long a port may take to answer.
const CONNECT: Duration = Duration::from_millis(100);

/// How often to check whether a process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn started(_identity: &ProcessIdentity) -> Option<Timestamp> {
    None
}

pub(super) fn argv(_pid: u32) -> Option<Vec<String>> {
    None
}

pub(super) fn leads_session(_pid: u32) -> Option<bool> {
    None
}

pub(super) fn belongs(pid: u32, root: u32) -> bool {
    pid == root
}

/// Returns which of these TCP ports answer on the loopback address. The holders are unknown.
pub(crate) fn holders(ports: &BTreeSet<u16>, _first: &[u32]) -> Holders {
    let answers = |port: &&u16| {
        TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, **port)), CONNECT).is_ok()
    };
    ports
        .iter()
        .filter(answers)
        .map(|port| (*port, Holder { pid: None, program: None, is_local: true }))
        .collect()
}

/// Waits until the process has ended or the token is triggered, at most this long.
pub(crate) fn wait(process: Option<&ProcessIdentity>, cancel: Option<&CancelToken>, at_most: Duration) {
    let Some(until) = Instant::now().checked_add(at_most) else { return };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let over = process.is_some_and(|process| !process.is_alive())
            || cancel.is_some_and(CancelToken::is_cancelled);
        if left.is_zero() || over {
            return;
        }
        let step = left.min(POLL_INTERVAL);
        let timeout = Timespec { tv_sec: step.as_secs() as _, tv_nsec: step.subsec_nanos() as _ };
        let mut watched: Vec<PollFd<'_>> = cancel
            .map(|cancel| PollFd::from_borrowed_fd(cancel.as_fd(), PollFlags::IN))
            .into_iter()
            .collect();
        let _ = poll(&mut watched, Some(&timeout));
    }
}
