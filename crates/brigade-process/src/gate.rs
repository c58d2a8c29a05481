//! The last moment before a program is executed, at which the caller looks once more.
//!
//! The child prepares everything, says so, and waits; the caller checks, and lets it go or not. So what is checked was
//! read after the preparation, and the time until the program runs is that of one system call and a message.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::launch::{Failure, pipe, read_full, write_all, write_quietly};
use crate::outcome::Step;

/// What the child does at the last moment.
#[derive(Debug)]
pub(crate) struct Gate {
    ready: OwnedFd,
    go: OwnedFd,
    /// The caller's ends, which no other process may hold: the child would wait for a caller that is gone.
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

/// Makes both sides.
pub(crate) fn gate() -> io::Result<(Gate, GateControl)> {
    let ((ready, ready_end), (go_end, go)) = (pipe()?, pipe()?);
    let of_caller = [ready.as_raw_fd(), go.as_raw_fd()];
    Ok((Gate { ready: ready_end, go: go_end, of_caller }, GateControl { ready, go }))
}

impl Gate {
    /// Closes the copies of the caller's ends in a process that was forked from it. Makes plain system calls only.
    pub(crate) fn close_callers_ends(&self) {
        for descriptor in self.of_caller {
            // SAFETY: in this process nobody uses the descriptor: it is a copy that came with the fork.
            unsafe { libc::close(descriptor) };
        }
    }

    /// Waits until the caller lets the program go. Makes plain system calls only.
    pub(crate) fn pass(&self) -> Result<(), Failure> {
        let mut answer = [0u8; 1];
        let goes = write_all(&self.ready, &[GO]) && read_full(&self.go, &mut answer) == 1 && answer[0] == GO;
        if goes { Ok(()) } else { Err(Failure { step: Step::Execute, errno: libc::ECANCELED }) }
    }
}

impl GateControl {
    /// Waits until the child is ready, or its keeper has something to report, and looks; returns when it began to look.
    pub(crate) fn look(
        self,
        reports: &OwnedFd,
        look: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<Option<Instant>> {
        loop {
            let mut wanted = [PollFd::new(&self.ready, PollFlags::IN), PollFd::new(reports, PollFlags::IN)];
            match poll(&mut wanted, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
                Ok(_) => {}
            }
            if wanted[0].revents().contains(PollFlags::IN) {
                break;
            }
            // It could not be prepared.
            if !wanted[1].revents().is_empty() {
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

/// How long it was from the beginning of the last look until the program was executed.
pub(crate) fn gap(began: Option<Instant>) -> Option<Duration> {
    began.map(|began| began.elapsed())
}
