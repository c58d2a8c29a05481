//! The keeper: supervises one program for the caller and ends its tree.
//!
//! On Linux it is a forked process, elsewhere a thread. The caller sends one kind of command: end the tree within a
//! grace period. The keeper answers with records of a fixed size. If the caller dies, the keeper ends the tree.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use brigade_sandbox::system::{pipe, read_full, write_all};

use crate::gate::{gap, gate};
use crate::launch::{ExecutedProgram, Image, start_program, write_quietly};
use crate::outcome::Step;
use crate::{Ending, Exit, ProcessIdentity, SpawnError, Usage, boot_id};

#[cfg(target_os = "linux")]
#[path = "keeper/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "keeper/unix.rs"]
mod platform;

// The keeper of other platforms works on Linux too, so its tests run here.
#[cfg(all(test, target_os = "linux"))]
#[path = "keeper/unix.rs"]
mod thread;

pub(crate) use platform::{METHOD, start_detached};

/// A report of the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The program has started.
    Started { pid: u32, start_time: u64 },
    /// The program could not be started; the keeper has ended.
    Failed { step: Step, errno: i32 },
    /// The main process ended.
    Exited { status: i32, usage: Usage },
    /// This process could not be ended.
    Survivor { pid: u32, start_time: u64 },
    /// Every process has ended, and the keeper too.
    Finished { outlived: u32 },
}

const RECORD: usize = 64;

impl Report {
    /// Writes the report as one record. A write of this size to a pipe is never split.
    pub(crate) fn send(self, to: impl AsFd) -> bool {
        let micros = |duration: Duration| duration.as_micros() as u64;
        let words: [u64; 8] = match self {
            Report::Started { pid, start_time } => [1, pid.into(), start_time, 0, 0, 0, 0, 0],
            Report::Failed { step, errno } => [2, step.number().into(), errno as u64, 0, 0, 0, 0, 0],
            Report::Exited { status, usage } => [
                3,
                status as u64,
                usage.peak_memory,
                micros(usage.user_time),
                micros(usage.system_time),
                0,
                0,
                0,
            ],
            Report::Survivor { pid, start_time } => [4, pid.into(), start_time, 0, 0, 0, 0, 0],
            Report::Finished { outlived } => [5, outlived.into(), 0, 0, 0, 0, 0, 0],
        };
        let mut bytes = [0u8; RECORD];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        write_all(to, &bytes)
    }

    fn parse(bytes: &[u8; RECORD]) -> Option<Report> {
        let mut words = [0u64; 8];
        for (word, place) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(place.try_into().ok()?);
        }
        Some(match words[0] {
            1 => Report::Started { pid: words[1] as u32, start_time: words[2] },
            2 => Report::Failed { step: Step::from_number(words[1] as u32)?, errno: words[2] as i32 },
            3 => Report::Exited {
                status: words[1] as i32,
                usage: Usage {
                    peak_memory: words[2],
                    user_time: Duration::from_micros(words[3]),
                    system_time: Duration::from_micros(words[4]),
                },
            },
            4 => Report::Survivor { pid: words[1] as u32, start_time: words[2] },
            5 => Report::Finished { outlived: words[1] as u32 },
            _ => return None,
        })
    }
}

/// How long to wait for a keeper that is late in ending its tree.
const KEEPER_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns how long the keeper may take to end the tree after a request with this grace period.
pub(crate) fn longest_end(grace: Duration, ending: Ending) -> Duration {
    grace.saturating_add(ending.kill_limit).saturating_add(KEEPER_TIMEOUT)
}

/// The result of [`Keeper::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeeperEvent {
    /// A report.
    Report(Report),
    /// Nothing yet.
    Nothing,
    /// The keeper ended without a last report, because it was killed.
    Gone,
}

/// The caller's handle of a keeper. Dropping it ends the tree.
#[derive(Debug)]
pub(crate) struct Keeper {
    reports: OwnedFd,
    commands: Option<OwnedFd>,
    identity: ProcessIdentity,
    process: platform::KeeperHandle,
}

/// Both ends of the keeper's two pipes.
pub(crate) struct Lines {
    pub(crate) reports: (OwnedFd, OwnedFd),
    pub(crate) commands: (OwnedFd, OwnedFd),
}

impl Lines {
    fn open() -> io::Result<Lines> {
        Ok(Lines { reports: pipe()?, commands: pipe()? })
    }
}

impl Keeper {
    /// Starts the program under a new keeper, and calls `look` when everything else is prepared.
    ///
    /// Returns when the program was executed or failed to start, with the time from the last `look` to its execution.
    pub(crate) fn start_checked(
        mut image: Image,
        ending: Ending,
        look: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(Keeper, Option<Duration>), SpawnError> {
        let (gate, watchman) = gate().map_err(|source| SpawnError::at(Step::Pipes, source))?;
        image.gate = Some(gate);
        let lines = Lines::open().map_err(|source| SpawnError::at(Step::Pipes, source))?;
        let (reports, commands, process) = platform::start(image, ending, lines)?;
        let looked = watchman.look(&reports, look);
        let started = first_report(&reports);
        let gap = gap(looked.as_ref().ok().copied().flatten());
        let identity = match (looked, started) {
            (Ok(_), Ok(identity)) => identity,
            (Err(refused), started) => {
                // The gate stayed closed, so only the keeper and its child need to end.
                drop((commands, started));
                process.wait();
                return Err(SpawnError::Refused(refused));
            }
            (Ok(_), Err(error)) => {
                process.wait();
                return Err(error);
            }
        };
        let keeper = Keeper { reports, commands: Some(commands), identity, process };
        rustix::io::ioctl_fionbio(&keeper.reports, true)
            .map_err(|errno| SpawnError::at(Step::Pipes, errno))?;
        Ok((keeper, gap))
    }

    pub(crate) fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Returns a descriptor that becomes readable when there is a report.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }

    /// Tells the keeper to end the tree now. A later request may shorten the grace period.
    pub(crate) fn end(&self, grace: Duration) {
        let millis = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        if let Some(commands) = &self.commands {
            // A keeper that has ended has nothing left to end.
            let _ = write_quietly(commands, &millis.to_ne_bytes());
        }
        // The program may have stopped its parent with a signal.
        self.process.wake();
    }

    /// Kills a keeper that does not answer. The caller then ends the tree itself.
    pub(crate) fn kill(&self) {
        self.process.kill();
    }

    /// Returns the next report without waiting.
    pub(crate) fn next(&self) -> io::Result<KeeperEvent> {
        let mut bytes = [0u8; RECORD];
        match rustix::io::read(&self.reports, &mut bytes) {
            Ok(RECORD) => Ok(Report::parse(&bytes).map_or(KeeperEvent::Gone, KeeperEvent::Report)),
            Ok(_) => Ok(KeeperEvent::Gone),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(KeeperEvent::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Collects the finished keeper.
    pub(crate) fn close(mut self) {
        self.commands = None;
        self.process.wait();
    }

    /// Ends the tree without waiting.
    pub(crate) fn abandon(mut self, grace: Duration) {
        self.end(grace);
        self.commands = None;
        // The thread only collects the process. Without it, the process entry stays until we exit, which is harmless.
        let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || self.process.wait());
    }
}

/// Starts the program and reports whether it was executed.
fn tell_start<'a>(image: &'a Image, reports: &OwnedFd) -> Option<ExecutedProgram<'a>> {
    match start_program(image) {
        Ok(begun) => {
            Report::Started { pid: begun.pid as u32, start_time: begun.start_time }.send(reports);
            Some(begun)
        }
        Err(failure) => {
            Report::Failed { step: failure.step, errno: failure.errno }.send(reports);
            None
        }
    }
}

/// Waits for the report that the program has started or failed to start.
pub(crate) fn first_report(reports: &OwnedFd) -> Result<ProcessIdentity, SpawnError> {
    let mut bytes = [0u8; RECORD];
    if read_full(reports, &mut bytes) != RECORD {
        return Err(SpawnError::Keeper);
    }
    match Report::parse(&bytes) {
        Some(Report::Started { pid, start_time }) => {
            let boot = boot_id().map_err(|source| SpawnError::at(Step::Session, source))?;
            ProcessIdentity::from_record(pid, start_time, boot).map_err(|_| SpawnError::Keeper)
        }
        // A path that was checked has become something else, such as a link.
        Some(Report::Failed { step: Step::Namespace, errno: libc::EEXIST | libc::ELOOP }) => {
            let why = "something in the workspace was replaced while the run was prepared";
            Err(SpawnError::at(Step::Namespace, io::Error::other(why)))
        }
        Some(Report::Failed { step, errno }) => {
            Err(SpawnError::at(step, io::Error::from_raw_os_error(errno)))
        }
        Some(Report::Exited { .. } | Report::Survivor { .. } | Report::Finished { .. }) | None => {
            Err(SpawnError::Keeper)
        }
    }
}

/// Reads the report of the end of a program.
pub(crate) fn reported_exit(reports: impl AsFd) -> Exit {
    let mut bytes = [0u8; RECORD];
    let is_whole = read_full(reports, &mut bytes) == RECORD;
    match Report::parse(&bytes).filter(|_| is_whole) {
        Some(Report::Exited { status, .. }) => exit_of(status),
        _ => Exit::Unknown,
    }
}

/// Decodes a wait status.
pub(crate) fn exit_of(status: i32) -> Exit {
    if libc::WIFEXITED(status) {
        Exit::Code(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Unknown
    }
}

/// Decodes the resource usage of `wait4`.
pub(crate) fn usage_of(usage: &libc::rusage) -> Usage {
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.max(0) as u64) + Duration::from_micros(value.tv_usec.max(0) as u64)
    };
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    Usage {
        peak_memory: (usage.ru_maxrss.max(0) as u64).saturating_mul(unit),
        user_time: time(usage.ru_utime),
        system_time: time(usage.ru_stime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell line under the thread keeper, and collects reports until it ends.
    #[cfg(target_os = "linux")]
    fn under_thread(script: &str, ending: Ending, end: Option<Duration>) -> Vec<Report> {
        use crate::launch::{OnParentDeath, Streams};

        let mut spec = crate::Spec::new(crate::Program::at("/bin/sh"), "/");
        spec.argv = ["sh", "-c", script].map(Into::into).to_vec();
        spec.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let (output, output_end) = pipe().unwrap();
        let streams = Streams {
            stdin: crate::run::null().unwrap(),
            stdout: output_end,
            stderr: crate::run::null().unwrap(),
        };
        let image = Image::new(&spec, streams, OnParentDeath::Kill).unwrap();
        let (reports, commands, hold) = thread::start(image, ending, Lines::open().unwrap()).unwrap();
        let identity = first_report(&reports).unwrap();
        if let Some(grace) = end {
            // The program reports that it is ready.
            read_full(&output, &mut [0u8; 6]);
            write_all(&commands, &(grace.as_millis() as u64).to_ne_bytes());
        }
        let mut heard = Vec::new();
        let mut bytes = [0u8; RECORD];
        while read_full(&reports, &mut bytes) == RECORD {
            heard.push(Report::parse(&bytes).unwrap());
        }
        hold.wake();
        hold.kill();
        hold.wait();
        assert!(!identity.is_alive());
        heard
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_thread_keeper_ends_the_group() {
        assert_eq!(thread::METHOD, crate::KillMethod::ProcessGroup);
        let short = Duration::from_millis(100);
        // An orphan counts as a member of the group until the system collects it.
        let ending = Ending { linger: short, grace: short, kill_limit: Duration::from_secs(30) };
        let exit = |heard: &[Report]| match heard {
            [Report::Exited { status, .. }, Report::Finished { outlived }] => (exit_of(*status), *outlived),
            other => panic!("{other:?}"),
        };
        let stubborn = "trap '' TERM; sleep 300 & echo ready; wait; sleep 300";
        let cases = [
            ("exit 3", None, (Exit::Code(3), 0)),
            ("sleep 300 & exit 4", None, (Exit::Code(4), 1)),
            (stubborn, Some(short), (Exit::Signal(9), 0)),
            ("sleep 300 & echo ready; wait", Some(Duration::from_secs(100)), (Exit::Signal(15), 0)),
        ];
        std::thread::scope(|scope| {
            for (script, end, expect) in cases {
                scope.spawn(move || assert_eq!(exit(&under_thread(script, ending, end)), expect, "{script}"));
            }
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_without_keeper_starts() {
        use std::fs::File;

        use crate::launch::{OnParentDeath, Streams};
        use crate::log_writer::{LogFile, LogWriter, Logs};

        let folder = tempfile::tempdir().unwrap();
        let log = |name: &str| {
            let file = File::options().append(true).create(true).open(folder.path().join(name)).unwrap();
            LogFile::new(File::open(folder.path()).unwrap().into(), name.as_ref(), file).unwrap()
        };
        let logs = Logs { stdout: log("out"), stderr: log("err"), cap: 1 << 20 };
        let (writer, [stdout, stderr]) = LogWriter::new(logs).unwrap();
        let streams = Streams { stdin: crate::run::null().unwrap(), stdout, stderr };
        let mut spec = crate::Spec::new(crate::Program::at("/bin/echo"), "/");
        spec.argv = ["echo", "hello"].map(Into::into).to_vec();
        let image = Image::new(&spec, streams, OnParentDeath::LiveOn).unwrap();
        let begun = thread::start_detached(image, writer).unwrap();
        while begun.writer.is_alive() {
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), "hello\n");
    }

    #[test]
    fn file_replaced_during_preparation_is_reported() {
        for errno in [libc::EEXIST, libc::ELOOP] {
            let (read, write) = pipe().unwrap();
            assert!(Report::Failed { step: Step::Namespace, errno }.send(&write));
            let error = first_report(&read).unwrap_err().to_string();
            assert!(error.contains("something in the workspace was replaced"), "{error}");
        }
    }

    #[test]
    fn reports_survive_the_pipe() {
        let (read, write) = pipe().unwrap();
        let usage = Usage {
            peak_memory: 1 << 40,
            user_time: Duration::from_micros(7),
            system_time: Duration::from_secs(3),
        };
        let reports = [
            Report::Started { pid: 7, start_time: u64::MAX },
            Report::Failed { step: Step::Execute, errno: 2 },
            Report::Exited { status: 256, usage },
            Report::Survivor { pid: 9, start_time: 1 },
            Report::Finished { outlived: 3 },
        ];
        for report in reports {
            assert!(report.send(&write));
            let mut bytes = [0u8; RECORD];
            assert_eq!(read_full(&read, &mut bytes), RECORD);
            assert_eq!(Report::parse(&bytes), Some(report));
        }
    }
}
