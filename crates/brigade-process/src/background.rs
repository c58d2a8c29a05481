//! Programs that outlive the caller, and ending them later by their recorded identity.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::keeper::start_detached;
use crate::launch::{Image, OnParentDeath, Streams};
use crate::log_writer::{LogWriter, Logs};
use crate::outcome::Step;
use crate::sandbox::{Keeping, prepare};
use crate::{KillMethod, ProcessIdentity, SpawnError, Spec};

#[cfg(target_os = "linux")]
#[path = "background/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "background/unix.rs"]
mod platform;

/// How long killing is repeated before what is left counts as survivors.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A program that was started and goes on without the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detached {
    /// The program.
    pub program: ProcessIdentity,
    /// The process that writes its logs. It started the program and, on Linux, adopts what is orphaned within the
    /// program's tree; it ends when nothing of that is left and nobody has the program's output open any more. When it
    /// is killed, whoever writes to the output gets a broken pipe.
    pub writer: ProcessIdentity,
}

/// How ending a tree went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How many processes were asked or killed; 0 when it had ended before.
    pub signalled: u32,
    /// How many needed `SIGKILL`.
    pub killed: u32,
    /// What could not be ended.
    pub survivors: Vec<ProcessIdentity>,
    /// How far ending reaches here.
    pub method: KillMethod,
}

/// Starts a program in a session of its own that goes on when the caller ends, and a process that writes its logs.
///
/// Its input is open and silent for as long as it lives; [`Spec::stdin`] is not looked at. At the end of input, which
/// `/dev/null` is, servers that speak over their standard streams exit, and so do many watchers. To find strays that
/// were re-parented later, give it a variable of its own and pass that to [`kill_tree`]. The process that writes the
/// logs is a copy of the caller: what the caller holds in memory at this moment stays in use for as long as the program
/// runs, as far as the caller changes it afterwards.
pub fn spawn_detached(spec: &Spec, logs: Logs) -> Result<Detached, SpawnError> {
    let open = || {
        let (writer, [stdout, stderr]) = LogWriter::new(logs)?;
        Ok((writer, Streams { stdin: silent()?, stdout, stderr }))
    };
    let (writer, streams) = open().map_err(|source: io::Error| SpawnError::at(Step::Pipes, source))?;
    let mut image = Image::new(spec, streams, OnParentDeath::LiveOn)?;
    image.sandbox = prepare(spec, Keeping::Nobody)?;
    let started = start_detached(image, writer)?;
    crate::spec::trace_start(spec, &started.program);
    Ok(started)
}

/// An input that never says anything and never ends: a pipe whose only descriptor is open for reading and for writing,
/// so that whoever reads from it is its writer, too.
#[cfg(target_os = "linux")]
fn silent() -> io::Result<OwnedFd> {
    let (reader, _writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let both = format!("/proc/self/fd/{}", reader.as_raw_fd());
    match File::options().read(true).write(true).open(both) {
        Ok(file) => Ok(file.into()),
        // Without /proc there is no way to such a pipe, and an input that ends is better than no start.
        Err(error) if error.kind() == io::ErrorKind::NotFound => crate::run::null(),
        Err(error) => Err(error),
    }
}

/// Other systems cannot open one end of a pipe for both, so the input ends at once.
#[cfg(not(target_os = "linux"))]
fn silent() -> io::Result<OwnedFd> {
    crate::run::null()
}

/// Ends the tree whose root has this identity: asked, given the grace, killed.
///
/// Members are the root, its descendants, everything in its session and process group, and every process whose
/// environment at its start held `marker` (`NAME=value`), which finds daemons that were re-parented; and whatever
/// descends from those. When the root has ended, only the marker counts, because its number may mean another process by
/// now. The caller itself is never signalled. Blocks until it is done.
pub fn kill_tree(identity: &ProcessIdentity, marker: Option<&str>, grace: Duration) -> Ended {
    platform::kill_tree(identity, None, marker, grace, platform::Root::Checked)
}

/// Ends a detached program as [`kill_tree`] does, and everything that the writer of its logs has adopted: what was
/// orphaned within the program's tree, whatever it did to its session and environment. The writer itself is not
/// signalled; it ends when nothing of the program is left.
pub fn kill_detached(
    program: &ProcessIdentity,
    writer: Option<&ProcessIdentity>,
    marker: Option<&str>,
    grace: Duration,
) -> Ended {
    let ended = platform::kill_tree(program, writer, marker, grace, platform::Root::Checked);
    tracing::debug!(
        pid = program.pid(),
        signalled = ended.signalled,
        killed = ended.killed,
        survivors = ended.survivors.len(),
        "ended a detached program and everything it started"
    );
    ended
}

/// Ends what is left of a tree whose root lived a moment ago, so that its session's number still means that session.
pub(crate) fn kill_without_keeper(
    identity: &ProcessIdentity,
    marker: Option<&str>,
    grace: Duration,
) -> Ended {
    platform::kill_tree(identity, None, marker, grace, platform::Root::JustEnded)
}
