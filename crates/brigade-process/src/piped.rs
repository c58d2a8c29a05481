//! Runs a child with pipes on all three streams, supervised like a run.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use brigade_sandbox::system::pipe;
use brigade_sandbox::{Enforcement, Observer, PlaceholderCleanup, PreparedSandbox};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::keeper::{Keeper, METHOD, longest_end};
use crate::launch::{Image, OnParentDeath, Streams};
use crate::outcome::{CapturedBytes, EndedBy, Outcome, RunError, SpawnError, Step};
use crate::progress::Progress;
use crate::{Ending, ProcessIdentity, Spec};

/// A running program with pipes.
///
/// Dropping it ends the whole tree without waiting. Writing to a program that closed its input raises `SIGPIPE`, which
/// Rust programs ignore by default.
#[derive(Debug)]
pub struct Child {
    /// The write end of standard input. Take and drop it to close.
    pub stdin: Option<File>,
    /// The read end of standard output.
    pub stdout: Option<File>,
    /// The read end of standard error. The caller must read it, otherwise the program can block.
    pub stderr: Option<File>,
    identity: ProcessIdentity,
    enforcement: Option<Enforcement>,
    observer: Option<Observer>,
    ending: Ending,
    started: Instant,
    progress: Progress,
    ended_by: EndedBy,
    check_gap: Option<Duration>,
    // `None` once everything has ended.
    keeper: Option<Keeper>,
}

impl Child {
    /// The main process.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// What the sandbox enforces, if there is one.
    pub fn enforcement(&self) -> Option<&Enforcement> {
        self.enforcement.as_ref()
    }

    /// Waits up to a limit until the whole tree has ended without a request. Returns `None` if it still runs.
    ///
    /// Reads no streams. The byte counts in the outcome are zero, because the caller has the pipes.
    pub fn wait(&mut self, at_most: Duration) -> Result<Option<Outcome>, RunError> {
        let until = Instant::now().checked_add(at_most);
        while let Some(keeper) = &self.keeper {
            self.progress.listen(keeper).map_err(RunError::Supervise)?;
            if self.progress.finished {
                if let Some(keeper) = self.keeper.take() {
                    keeper.close();
                }
                break;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            let left =
                left.map(|left| Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ });
            let mut watched = [PollFd::from_borrowed_fd(keeper.as_fd(), PollFlags::IN)];
            match poll(&mut watched, left.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // `poll` fails if the limit of open descriptors was lowered below the number of watched ones.
                Err(rustix::io::Errno::INVAL) if self.progress.limits.restore() => {}
                Err(errno) => return Err(RunError::Supervise(errno.into())),
            }
        }
        let outcome = self.outcome();
        outcome.trace();
        Ok(Some(outcome))
    }

    /// Ends the tree within a grace period. Returns at once.
    pub fn end(&mut self, grace: Duration) {
        if let Some(keeper) = &self.keeper {
            if !self.progress.exited && self.ended_by == EndedBy::Itself {
                self.ended_by = EndedBy::Caller;
            }
            keeper.end(grace);
        }
    }

    /// Closes the input and waits for the program to end within the grace period. Then terminates the tree, waits
    /// again, and kills the rest.
    pub fn finish(mut self, grace: Duration) -> Result<Outcome, RunError> {
        self.stdin = None;
        if let Some(outcome) = self.wait(grace)? {
            return Ok(outcome);
        }
        self.end(grace);
        loop {
            if let Some(outcome) = self.wait(longest_end(grace, self.ending))? {
                return Ok(outcome);
            }
            if let Some(keeper) = &self.keeper {
                keeper.kill();
            }
        }
    }

    fn outcome(&self) -> Outcome {
        Outcome {
            identity: self.identity.clone(),
            exit: self.progress.exit,
            ended_by: self.ended_by,
            duration: self.started.elapsed(),
            usage: self.progress.usage,
            stdout: CapturedBytes::default(),
            stderr: CapturedBytes::default(),
            outlived: self.progress.outlived,
            survivors: self.progress.survivors.clone(),
            method: METHOD,
            enforcement: self.enforcement.clone(),
            observation: self.observer.as_ref().map(Observer::observation),
            check_gap: self.check_gap,
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.abandon(self.ending.grace);
        }
    }
}

/// Starts a program with pipes on stdin, stdout and stderr. [`Spec::stdin`] is ignored.
pub fn spawn_piped(spec: &Spec, ending: Ending) -> Result<Child, SpawnError> {
    spawn_piped_checked(spec, ending, &mut || Ok(()))
}

/// Like [`spawn_piped`], but calls `look` when everything else is prepared. If `look` fails, the program is not
/// started.
///
/// The outcome has the time from this look until the program was executed.
pub fn spawn_piped_checked(
    spec: &Spec,
    ending: Ending,
    look: &mut dyn FnMut() -> io::Result<()>,
) -> Result<Child, SpawnError> {
    let started = Instant::now();
    let _spawning = crate::spec::spawn_span(spec);
    let pipes = || -> io::Result<_> { Ok((pipe()?, pipe()?, pipe()?)) };
    let ((stdin_end, stdin), (stdout, stdout_end), (stderr, stderr_end)) =
        pipes().map_err(|source| SpawnError::at(Step::Pipes, source))?;
    let streams = Streams { stdin: stdin_end, stdout: stdout_end, stderr: stderr_end };
    let mut image = Image::new(spec, streams, OnParentDeath::Kill)?;
    image.sandbox = spec.prepare_sandbox(PlaceholderCleanup::Keeper)?;
    let enforcement = image.sandbox.as_ref().map(PreparedSandbox::enforcement);
    let observer = spec.prepare_observer();
    image.observer = observer.clone();
    let (keeper, check_gap) = Keeper::start_checked(image, ending, look)?;
    crate::spec::trace_start(spec, keeper.identity());
    Ok(Child {
        stdin: Some(stdin.into()),
        stdout: Some(stdout.into()),
        stderr: Some(stderr.into()),
        identity: keeper.identity().clone(),
        enforcement,
        observer,
        ending,
        started,
        progress: Progress::new(spec),
        ended_by: EndedBy::Itself,
        check_gap,
        keeper: Some(keeper),
    })
}
