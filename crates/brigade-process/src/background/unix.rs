//! Ends a process group, on systems that have no better way.

use std::time::{Duration, Instant};

use crate::{KillMethod, ProcessIdentity};

use super::{KILL_LIMIT, TreeEnd};

/// The state of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The root counts only while it is alive.
    Checked,
    /// The root was alive a moment ago.
    JustEnded,
}

pub(super) fn kill_tree(
    identity: &ProcessIdentity,
    _adopter: Option<&ProcessIdentity>,
    _marker: Option<&str>,
    grace: Duration,
    root: Root,
) -> TreeEnd {
    let mut ended =
        TreeEnd { signalled: 0, killed: 0, survivors: Vec::new(), method: KillMethod::ProcessGroup };
    let Ok(group) = libc::pid_t::try_from(identity.pid()) else {
        return ended;
    };
    if root == Root::Checked && !identity.is_alive() {
        return ended;
    }
    // SAFETY: no memory is involved. The group's number stays taken as long as one member lives.
    let signal = |number| unsafe { libc::kill(-group, number) } == 0;
    if !signal(libc::SIGTERM) {
        return ended;
    }
    ended.signalled = 1;
    let gone_within = |at_most: Duration| {
        let start = Instant::now();
        while signal(0) {
            if at_most <= start.elapsed() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    };
    if !gone_within(grace) {
        ended.killed = 1;
        signal(libc::SIGKILL);
        if !gone_within(KILL_LIMIT) {
            ended.survivors.push(identity.clone());
        }
    }
    ended
}
