//! Starts programs that outlive the caller, and ends them later by their recorded identity.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::time::Duration;

use brigade_sandbox::PlaceholderCleanup;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::keeper::start_detached;
use crate::launch::{Image, OnParentDeath, Streams};
use crate::log_writer::{LogWriter, Logs};
use crate::outcome::{Exit, Step};
use crate::{KillMethod, ProcessIdentity, SpawnError, Spec};

#[cfg(target_os = "linux")]
#[path = "background/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "background/unix.rs"]
mod platform;

/// How long to repeat `SIGKILL` before the remaining processes count as survivors.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A started program that outlives the caller.
#[derive(Debug)]
pub struct DetachedProcess {
    /// The program.
    pub program: ProcessIdentity,
    /// The process that writes the logs. It started the program, and on Linux it adopts orphans of the program's tree.
    /// It ends when none of them is left and the output has no more writers. If it is killed, writers to the output get
    /// a broken pipe.
    pub writer: ProcessIdentity,
    /// Reports how the program ended, as long as the caller lives.
    pub exit: ExitLine,
}

/// The pipe on which the parent of a detached program reports how the program ended.
#[derive(Debug)]
pub struct ExitLine(pub(crate) Option<OwnedFd>);

impl ExitLine {
    /// Waits at most this long for the program to end, and returns how it ended.
    ///
    /// Returns [`Exit::Unknown`] if the program still runs, if its parent was killed, and on systems where the caller
    /// is its parent.
    pub fn wait(&self, at_most: Duration) -> Exit {
        let Some(line) = &self.0 else { return Exit::Unknown };
        let timeout = Timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos() as _ };
        match poll(&mut [PollFd::new(line, PollFlags::IN)], Some(&timeout)) {
            Ok(1..) => crate::keeper::reported_exit(line),
            Ok(0) | Err(_) => Exit::Unknown,
        }
    }
}

/// The result of ending a process tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEnd {
    /// Number of terminated or killed processes; 0 if the tree had ended before.
    pub signalled: u32,
    /// Number of processes that needed `SIGKILL`.
    pub killed: u32,
    /// Processes that could not be ended.
    pub survivors: Vec<ProcessIdentity>,
    /// How completely this system can end a tree.
    pub method: KillMethod,
}

/// Starts a program in its own session that outlives the caller, and a process that writes its logs.
///
/// The input of the program stays open without data; [`Spec::stdin`] is ignored. With `/dev/null`, servers that talk
/// over their standard streams would see the end of input and exit, as many watchers do. To find re-parented processes
/// later, set a unique variable and pass it to [`kill_tree`].
///
/// The process that writes the logs is a fork of the caller. Memory that the caller changes later is therefore kept
/// twice until the program ends.
pub fn spawn_detached(spec: &Spec, logs: Logs) -> Result<DetachedProcess, SpawnError> {
    let _spawning = crate::spec::spawn_span(spec);
    let open = || {
        let (writer, [stdout, stderr]) = LogWriter::new(logs)?;
        Ok((writer, Streams { stdin: silent()?, stdout, stderr }))
    };
    let (writer, streams) = open().map_err(|source: io::Error| SpawnError::at(Step::Pipes, source))?;
    let mut image = Image::new(spec, streams, OnParentDeath::LiveOn)?;
    image.sandbox = spec.prepare_sandbox(PlaceholderCleanup::Impossible)?;
    let started = start_detached(image, writer)?;
    crate::spec::trace_start(spec, &started.program);
    Ok(started)
}

/// Opens an input without data and without end: a pipe whose only descriptor is open for reading and writing, so every
/// reader is also a writer.
#[cfg(target_os = "linux")]
fn silent() -> io::Result<OwnedFd> {
    let (reader, _writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let both = format!("/proc/self/fd/{}", reader.as_raw_fd());
    match File::options().read(true).write(true).open(both) {
        Ok(file) => Ok(file.into()),
        // Without /proc, such a pipe is impossible, and an input that ends is better than no start.
        Err(error) if error.kind() == io::ErrorKind::NotFound => crate::run::null(),
        Err(error) => Err(error),
    }
}

/// Other systems cannot open one end of a pipe for both, so the input ends at once.
#[cfg(not(target_os = "linux"))]
fn silent() -> io::Result<OwnedFd> {
    crate::run::null()
}

/// Ends the tree whose root has this identity: terminates it, waits for the grace period, and kills the rest.
///
/// Members are the root, its descendants, its session and process group, every process that started with `marker`
/// (`NAME=value`) in its environment, and all their descendants. The marker finds re-parented daemons. If the root has
/// ended, only the marker counts, because the number of the root may belong to another process. The caller is never
/// signalled. Blocks until the tree has ended.
pub fn kill_tree(identity: &ProcessIdentity, marker: Option<&str>, grace: Duration) -> TreeEnd {
    end_tree(identity, None, marker, grace, platform::Root::Checked)
}

/// Ends a detached program like [`kill_tree`], and everything that its log writer has adopted: orphans of the program's
/// tree with any session and environment. The log writer is not signalled. It ends when nothing of the program is left.
pub fn kill_detached(
    program: &ProcessIdentity,
    writer: Option<&ProcessIdentity>,
    marker: Option<&str>,
    grace: Duration,
) -> TreeEnd {
    end_tree(program, writer, marker, grace, platform::Root::Checked)
}

/// Ends the rest of a tree whose root was alive a moment ago, so the number of its session is still valid.
pub(crate) fn kill_without_keeper(
    identity: &ProcessIdentity,
    marker: Option<&str>,
    grace: Duration,
) -> TreeEnd {
    end_tree(identity, None, marker, grace, platform::Root::JustEnded)
}

/// Ends a tree, and logs the result.
fn end_tree(
    identity: &ProcessIdentity,
    writer: Option<&ProcessIdentity>,
    marker: Option<&str>,
    grace: Duration,
    root: platform::Root,
) -> TreeEnd {
    let _span = tracing::debug_span!("end_tree", pid = identity.pid()).entered();
    let ended = platform::kill_tree(identity, writer, marker, grace, root);
    tracing::debug!(
        signalled = ended.signalled,
        killed = ended.killed,
        survivors = ended.survivors.len(),
        "ended a program and everything it started"
    );
    ended
}
