//! The keeper as a thread, for systems where no process can adopt orphans. It can end only the process group.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brigade_sandbox::system::{read_full, reap};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::background::{DetachedProcess, ExitLine};
use crate::launch::Image;
use crate::log_writer::{Charge, LogWriter};
use crate::outcome::Step;
use crate::{Ending, KillMethod, ProcessIdentity, SpawnError};

use super::{Lines, Report, tell_start, usage_of};

pub(crate) const METHOD: KillMethod = KillMethod::ProcessGroup;

/// The polling interval for the end of the main process, because the thread cannot wait for it and for commands at
/// once.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The keeper thread, to be joined.
#[derive(Debug)]
pub(crate) struct KeeperHandle(JoinHandle<()>);

impl KeeperHandle {
    /// A thread cannot be stopped from outside.
    pub(crate) fn wake(&self) {}

    /// A thread cannot be killed from outside. It ends when its time for killing is over.
    pub(crate) fn kill(&self) {}

    pub(crate) fn wait(self) {
        // A panic of the thread shows as a missing report.
        let _ = self.0.join();
    }
}

pub(super) fn start(
    image: Image,
    ending: Ending,
    lines: Lines,
) -> Result<(OwnedFd, OwnedFd, KeeperHandle), SpawnError> {
    let Lines { reports: (reports, reports_end), commands: (commands_end, commands) } = lines;
    let keep = move || {
        let started = tell_start(&image, &reports_end).map(|begun| begun.pid);
        // Closes this process's copies of the program's ends of its pipes.
        drop(image);
        if let Some(main) = started {
            watch(main, ending, &commands_end, &reports_end);
        }
    };
    let thread = std::thread::Builder::new()
        .name("brigade-keeper".to_owned())
        .spawn(keep)
        .map_err(|source| SpawnError::at(Step::Fork, source))?;
    Ok((reports, commands, KeeperHandle(thread)))
}

/// Starts a program without keeper, and the writer of its logs. Both are children of this process. If they end first,
/// threads collect them.
pub(crate) fn start_detached(image: Image, mut writer: LogWriter) -> Result<DetachedProcess, SpawnError> {
    let identity_of = |pid: libc::pid_t| {
        ProcessIdentity::from_pid(pid as u32).map_err(|source| SpawnError::at(Step::Session, source))
    };
    let collect_later = |pid: libc::pid_t| {
        let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || reap(pid));
    };
    let pid = writer
        .fork(|| Some(Charge::without_program()))
        .map_err(|source| SpawnError::at(Step::Fork, source))?;
    let written = identity_of(pid);
    collect_later(pid);
    let pid = crate::launch::start_program(&image)
        .map(|begun| begun.pid)
        .map_err(|failure| SpawnError::at(failure.step, io::Error::from_raw_os_error(failure.errno)))?;
    let program = identity_of(pid);
    collect_later(pid);
    Ok(DetachedProcess { program: program?, writer: written?, exit: ExitLine(None) })
}

fn watch(main: libc::pid_t, ending: Ending, commands: &OwnedFd, reports: &OwnedFd) {
    let mut connected = true;
    let mut exited: Option<Instant> = None;
    let mut deadline: Option<Instant> = None;
    let mut killed: Option<Instant> = None;
    // The number is unknown here; it is at least one.
    let mut outlived = 0;
    loop {
        if exited.is_none()
            && let Some((status, usage)) = collect(main)
        {
            exited = Some(Instant::now());
            Report::Exited { status, usage: usage_of(&usage) }.send(reports);
        }
        // The number of the group is in use while a member lives, so it cannot be another group.
        if exited.is_some() && !signal_group(main, 0) {
            break;
        }
        let now = Instant::now();
        if deadline.is_none() && exited.is_some_and(|at| ending.linger <= now - at) {
            outlived = 1;
            signal_group(main, libc::SIGTERM);
            deadline = now.checked_add(ending.grace);
        }
        if deadline.is_some_and(|until| until <= now) {
            signal_group(main, libc::SIGKILL);
            if killed.get_or_insert(now).elapsed() > ending.kill_limit {
                let start_time =
                    ProcessIdentity::from_pid(main as u32).map_or(0, |identity| identity.start_time());
                Report::Survivor { pid: main as u32, start_time }.send(reports);
                break;
            }
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) as _ };
        let mut watched = [PollFd::new(commands, PollFlags::IN)];
        let count = usize::from(connected);
        let _ = poll(&mut watched[..count], Some(&wait));
        if connected && !watched[0].revents().is_empty() {
            let mut bytes = [0u8; 8];
            let grace = if read_full(commands.as_fd(), &mut bytes) == bytes.len() {
                Duration::from_millis(u64::from_ne_bytes(bytes))
            } else {
                connected = false;
                ending.grace
            };
            let far = Duration::from_secs(1 << 30);
            let until = now + grace.min(far);
            if deadline.is_none() && !grace.is_zero() {
                signal_group(main, libc::SIGTERM);
                signal_group(main, libc::SIGCONT);
            }
            deadline = Some(deadline.map_or(until, |before| before.min(until)));
        }
    }
    Report::Finished { outlived }.send(reports);
}

fn collect(pid: libc::pid_t) -> Option<(libc::c_int, libc::rusage)> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data, for which all zeroes is a value; both places are valid for writing.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let found = libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage);
        (found == pid).then_some((status, usage))
    }
}

/// Signals the group, and returns whether it has members that can be signalled. If only zombies are left, some systems
/// return a permission error.
fn signal_group(group: libc::pid_t, signal: libc::c_int) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(-group, signal) == 0 }
}
