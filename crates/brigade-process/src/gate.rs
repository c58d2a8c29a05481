//! Lets the caller check the system one last time, right before a program is executed.
//!
//! The child prepares everything, reports that it is ready, and waits. The caller then checks, and lets the child
//! execute the program or ends it. So the check sees the state after all preparation. Between the check and the program
//! there are only one system call and one message.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use brigade_sandbox::system::{pipe, read_full, write_all};
use rustix::event::{PollFd, PollFlags, poll};

use crate::launch::{Failure, write_quietly};
use crate::outcome::Step;

/// The child's side of the gate.
#[derive(Debug)]
pub(crate) struct Gate {
    ready: OwnedFd,
    go: OwnedFd,
    /// The caller's ends of both pipes. No other process may hold them, or the child would wait for a dead caller.
    of_caller: [RawFd; 2],
}

/// The caller's side.
#[derive(Debug)]
pub(crate) struct GateControl {
    ready: OwnedFd,
    go: OwnedFd,
}

const GO: u8 = 1;

const STAY: u8 = 0;

/// Creates both sides.
pub(crate) fn gate() -> io::Result<(Gate, GateControl)> {
    let ((ready, ready_end), (go_end, go)) = (pipe()?, pipe()?);
    let of_caller = [ready.as_raw_fd(), go.as_raw_fd()];
    Ok((Gate { ready: ready_end, go: go_end, of_caller }, GateControl { ready, go }))
}

impl Gate {
    /// Closes the caller's ends in a process that was forked from it. Makes plain system calls only.
    pub(crate) fn close_callers_ends(&self) {
        for descriptor in self.of_caller {
            // SAFETY: this is the copy that came with the fork, and nothing in this process uses it.
            unsafe { libc::close(descriptor) };
        }
    }

    /// Waits until the caller lets the child execute the program. Makes plain system calls only.
    pub(crate) fn pass(&self) -> Result<(), Failure> {
        let mut answer = [0u8; 1];
        let goes = write_all(&self.ready, &[GO]) && read_full(&self.go, &mut answer) == 1 && answer[0] == GO;
        if goes { Ok(()) } else { Err(Failure { step: Step::Execute, errno: libc::ECANCELED }) }
    }
}

impl GateControl {
    /// Waits until the child is ready or its keeper has a report, then calls `look`. Returns when `look` began.
    pub(crate) fn look(
        self,
        reports: &OwnedFd,
        look: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<Option<Instant>> {
        loop {
            let mut watched = [PollFd::new(&self.ready, PollFlags::IN), PollFd::new(reports, PollFlags::IN)];
            match poll(&mut watched, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
                Ok(_) => {}
            }
            if watched[0].revents().contains(PollFlags::IN) {
                break;
            }
            // The child failed before it reached the gate; the report says why.
            if !watched[1].revents().is_empty() {
                return Ok(None);
            }
        }
        let began = Instant::now();
        if let Err(refused) = look() {
            let _ = write_quietly(&self.go, &[STAY]);
            return Err(refused);
        }
        let _ = write_quietly(&self.go, &[GO]);
        Ok(Some(began))
    }
}

/// Returns the time from the beginning of the last look until the program was executed.
pub(crate) fn gap(began: Option<Instant>) -> Option<Duration> {
    began.map(|began| began.elapsed())
}
