//! The keeper as a process. It adopts every orphan of the run, and ends when it has no children left.
//!
//! It is forked from the caller without exec, so it uses only plain system calls and memory reserved before.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use brigade_sandbox::Watcher;
use brigade_sandbox::system::{fork_into, last_errno, read_full, reap};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::background::{DetachedProcess, ExitLine};
use crate::launch::{ExecutedProgram, Image, close_all_but_both};
use crate::log_writer::{Charge, LogWriter};
use crate::outcome::Step;
use crate::own_limits::OwnLimits;
use crate::tree::{Numbers, Table, signal};
use crate::{Ending, KillMethod, SpawnError};

use super::{Lines, Report, first_report, tell_start, usage_of};

pub(crate) const METHOD: KillMethod = KillMethod::ProcessTree;

/// The keeper process, to be collected at its end.
#[derive(Debug)]
pub(crate) struct KeeperHandle(libc::pid_t);

impl KeeperHandle {
    /// Continues the keeper if it was stopped.
    pub(crate) fn wake(&self) {
        self.signal(libc::SIGCONT);
    }

    /// Kills the keeper. The kernel then kills the main process.
    pub(crate) fn kill(&self) {
        self.signal(libc::SIGKILL);
    }

    fn signal(&self, number: libc::c_int) {
        // SAFETY: no memory is involved. The number is ours until `wait` collects it.
        unsafe { libc::kill(self.0, number) };
    }

    pub(crate) fn wait(self) {
        reap(self.0);
    }
}

pub(super) fn start(
    image: Image,
    ending: Ending,
    lines: Lines,
) -> Result<(OwnedFd, OwnedFd, KeeperHandle), SpawnError> {
    let mut table = Table::with_room();
    let Lines { reports: (reports, reports_end), commands: (commands_end, commands) } = lines;
    let forked = fork_into(|| keep(&image, ending, &commands_end, &reports_end, &mut table));
    let pid = forked.map_err(|source| {
        if let Some(sandbox) = &image.sandbox {
            sandbox.remove_placeholders();
        }
        SpawnError::at(Step::Fork, source)
    })?;
    // Closes this process's copies of the program's ends of its pipes.
    drop(image);
    Ok((reports, commands, KeeperHandle(pid)))
}

/// Starts a program without keeper, as a child of the process that writes its logs. An intermediate process forks the
/// writer and ends at once.
pub(crate) fn start_detached(image: Image, mut writer: LogWriter) -> Result<DetachedProcess, SpawnError> {
    let Lines { reports: (reports, reports_end), .. } =
        Lines::open().map_err(|source| SpawnError::at(Step::Pipes, source))?;
    let pid = fork_into(|| {
        let begin = || {
            // SAFETY: no memory is involved.
            let pid = unsafe {
                libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
                libc::getpid()
            };
            let start_time = crate::tree::stat(pid).map_or(0, |stat| stat.start_time);
            Report::Started { pid: pid as u32, start_time }.send(&reports_end);
            tell_start(&image, &reports_end).map(|program| Charge::child(program.pid, &reports_end))
        };
        if let Err(error) = writer.fork(begin) {
            let errno = error.raw_os_error().unwrap_or(0);
            Report::Failed { step: Step::Fork, errno }.send(&reports_end);
        }
    })
    .map_err(|source| SpawnError::at(Step::Fork, source))?;
    // Closes the caller's ends of the pipes too. The writer ends when the program's ends are closed.
    drop((image, writer, reports_end));
    let begun =
        first_report(&reports).and_then(|writer| first_report(&reports).map(|program| (program, writer)));
    reap(pid);
    let exit = ExitLine(Some(reports));
    begun.map(|(program, writer)| DetachedProcess { program, writer, exit })
}

/// Runs the keeper. Returns when the tree has ended.
fn keep(image: &Image, ending: Ending, commands: &OwnedFd, reports: &OwnedFd, table: &mut Table) {
    if let Some(gate) = &image.gate {
        gate.close_callers_ends();
    }
    // SAFETY: no memory is involved, except for the name, which ends with NUL.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"brigade-keeper".as_ptr());
        // The keeper's memory is a copy of the caller's, including the values of secrets.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: image.core_max() };
        libc::setrlimit(libc::RLIMIT_CORE, &no_core);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
    let mut caller = Caller::Here;
    let limits = OwnLimits::now();
    if let Some(children) = child_signals()
        && let Some(ExecutedProgram { pid: main, mut watcher, .. }) = tell_start(image, reports)
    {
        let placeholders = image.sandbox.as_ref().map(|sandbox| sandbox.placeholders());
        let kept = placeholders.unwrap_or_default();
        // Otherwise pipes of other runs, copied by the fork, would never end.
        let listener = watcher.as_ref().and_then(|watcher| watcher.listener());
        let listener = listener.map_or(-1, |listener| listener.as_raw_fd());
        let held = image.held.as_ref().map_or(-1, |held| held.as_raw_fd());
        let own = [commands.as_raw_fd(), reports.as_raw_fd(), children.as_raw_fd(), listener, held];
        close_all_but_both(&own, kept);
        // SAFETY: the path ends with NUL. A keeper must not keep a directory of the caller busy.
        unsafe { libc::chdir(c"/".as_ptr()) };
        let mut watch = Watch {
            main,
            ending,
            reports,
            table,
            numbers: Numbers::open(),
            limits,
            phase: Phase::Running,
            outlived: 0,
            exited: false,
        };
        caller = watch.until_all_ended(commands, &children, watcher.as_mut());
    }
    if let Some(sandbox) = &image.sandbox {
        sandbox.remove_placeholders();
    }
    if let (Caller::Gone, Some(private)) = (caller, &image.private) {
        private.remove();
    }
}

/// Whether the caller was alive when the tree had ended. A living caller cleans up after a run itself.
#[derive(Clone, Copy)]
enum Caller {
    Here,
    Gone,
}

/// Returns a descriptor that is readable after a child ended. The signal stays blocked.
fn child_signals() -> Option<OwnedFd> {
    // SAFETY: the set is plain data on the stack; the new descriptor has no other owner.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        (0 <= descriptor).then(|| OwnedFd::from_raw_fd(descriptor))
    }
}

#[derive(Clone, Copy)]
enum Phase {
    /// The main process runs.
    Running,
    /// The main process ended. Descendants may finish until this time.
    Lingering(Instant),
    /// All processes were terminated and have until this time.
    Asked(Instant),
    /// All processes are being killed until this time.
    Killing(Instant),
}

/// How long ended children are collected before commands and deadlines are checked.
const MAX_REAP_TIME: Duration = Duration::from_millis(10);

/// Which children were collected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReapResult {
    /// All that have ended.
    Ended,
    /// All, and no child is left, so no descendant is left either.
    All,
    /// As many as fit into the time limit.
    More,
}

struct Watch<'a> {
    main: libc::pid_t,
    ending: Ending,
    reports: &'a OwnedFd,
    table: &'a mut Table,
    /// Used if the process table cannot be read.
    numbers: Option<Numbers>,
    limits: OwnLimits,
    phase: Phase,
    outlived: u32,
    exited: bool,
}

impl Watch<'_> {
    fn until_all_ended(
        &mut self,
        commands: &OwnedFd,
        children: &OwnedFd,
        mut watcher: Option<&mut Watcher<'_>>,
    ) -> Caller {
        let mut connected = true;
        loop {
            let reaped = self.reap_some();
            if reaped == ReapResult::All {
                break;
            }
            if self.advance() {
                self.report_survivors();
                break;
            }
            let until = match self.phase {
                Phase::Running => None,
                Phase::Lingering(until) | Phase::Asked(until) => Some(until),
                // Meanwhile the members may have forked, so check again soon.
                Phase::Killing(until) => Some(until.min(Instant::now() + Duration::from_millis(10))),
            };
            let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
            // Rounded up, otherwise the wait would spin in the last millisecond.
            let timeout = timeout.map(|left| left + Duration::from_micros(200));
            // More children wait to be collected, so only check for a command.
            let timeout = if reaped == ReapResult::More { Some(Duration::ZERO) } else { timeout };
            let timeout = timeout
                .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
            let (polled, [child, command]) = loop {
                let listener = watcher.as_ref().and_then(|watcher| watcher.listener());
                // An unused slot watches the children again.
                let line = if connected { commands.as_fd() } else { children.as_fd() };
                let waiting = listener.unwrap_or(children.as_fd());
                let has_listener = listener.is_some();
                let mut watched = [children.as_fd(), line, waiting]
                    .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
                let polled = poll(&mut watched, timeout.as_ref());
                let [child, command, listener] = watched.map(|watched| watched.revents());
                if has_listener
                    && !listener.is_empty()
                    && let Some(watcher) = watcher.as_deref_mut()
                {
                    watcher.answer(listener);
                }
                // Observed calls are answered one at a time, so check the deadlines between them.
                let is_all = child.is_empty() && command.is_empty() && polled.is_ok_and(|count| 0 < count);
                if !(is_all && timeout.is_none()) {
                    break (polled, [child, command]);
                }
            };
            if polled == Err(rustix::io::Errno::INVAL) {
                // `poll` fails if the limit of open descriptors was lowered below the number of watched ones.
                if !self.limits.restore() {
                    // The keeper can no longer see commands or the end of the caller, so it ends the tree.
                    self.ask(Duration::ZERO);
                    std::thread::sleep(Duration::from_millis(1));
                }
                continue;
            }
            if !child.is_empty() {
                // One read clears the signal for any number of children.
                let mut information = [0u8; 128];
                while rustix::io::read(children, &mut information).is_ok() {}
            }
            if connected && !command.is_empty() {
                let mut bytes = [0u8; 8];
                let grace = match read_full(commands, &mut bytes) {
                    8 => Duration::from_millis(u64::from_ne_bytes(bytes)),
                    // The caller has ended.
                    _ => {
                        connected = false;
                        self.ending.grace
                    }
                };
                self.ask(grace);
            }
        }
        if let Some(watcher) = watcher {
            watcher.finish();
        }
        // The caller may have ended a moment ago, which its pipe shows at once.
        let mut watched = [PollFd::new(commands, PollFlags::empty())];
        let gone =
            poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count != 0);
        Report::Finished { outlived: self.outlived }.send(self.reports);
        if gone { Caller::Gone } else { Caller::Here }
    }

    /// Collects ended children, for a limited time.
    ///
    /// On a busy machine, a program that keeps forking can leave children faster than they are collected. Ending it
    /// must not wait for the last one.
    fn reap_some(&mut self) -> ReapResult {
        let until = Instant::now() + MAX_REAP_TIME;
        while Instant::now() < until {
            let mut status = 0;
            // SAFETY: `rusage` is plain data, for which all zeroes is a value.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: both places are valid for writing.
            let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG, &mut usage) };
            if pid == 0 {
                return ReapResult::Ended;
            }
            if pid < 0 {
                match last_errno() {
                    libc::EINTR => continue,
                    libc::ECHILD => return ReapResult::All,
                    _ => return ReapResult::Ended,
                }
            }
            if pid == self.main {
                self.exited = true;
                Report::Exited { status, usage: usage_of(&usage) }.send(self.reports);
                if let Phase::Running = self.phase {
                    self.phase = Phase::Lingering(Instant::now() + self.ending.linger);
                }
            }
        }
        ReapResult::More
    }

    /// Takes the next due step. Returns true when the time for killing is over.
    fn advance(&mut self) -> bool {
        let now = Instant::now();
        match self.phase {
            Phase::Running => {}
            Phase::Lingering(until) => {
                if until <= now {
                    self.outlived = self.count();
                    self.ask(self.ending.grace);
                }
            }
            Phase::Asked(until) => {
                if until <= now {
                    if self.exited && self.outlived == 0 {
                        self.outlived = self.count();
                    }
                    self.phase = Phase::Killing(now + self.ending.kill_limit);
                    self.kill();
                }
            }
            Phase::Killing(until) => {
                self.kill();
                return until <= now;
            }
        }
        false
    }

    /// Terminates all processes once, or shortens their grace period.
    fn ask(&mut self, grace: Duration) {
        let until = Instant::now().checked_add(grace);
        let until = until.unwrap_or_else(|| Instant::now() + Duration::from_secs(1 << 30));
        match self.phase {
            Phase::Running | Phase::Lingering(_) => {
                if !grace.is_zero() {
                    self.signal_all(Signal::TERM);
                    // A stopped process handles the signal only after it continues.
                    self.signal_all(Signal::CONT);
                }
                self.phase = Phase::Asked(until);
            }
            Phase::Asked(before) => self.phase = Phase::Asked(before.min(until)),
            Phase::Killing(_) => {}
        }
    }

    /// Kills all current processes. Whole groups come first, because a group cannot escape that by forking.
    fn kill(&mut self) {
        self.read();
        // SAFETY: no memory is involved.
        let me = unsafe { libc::getpid() };
        let mut last = 0;
        for entry in self.table.living() {
            let group = entry.stat.group;
            // Every group of a member was created inside the tree, because the main process started a session.
            if 1 < group && group != last && group != me {
                last = group;
                if let Some(group) = rustix::process::Pid::from_raw(group) {
                    let _ = rustix::process::kill_process_group(group, Signal::KILL);
                }
            }
        }
        for entry in self.table.living() {
            signal(entry, Signal::KILL);
        }
        // Without the right to open files, the remaining processes are found another way.
        if !self.table.holds(me)
            && let Some(numbers) = &self.numbers
        {
            numbers.kill_children();
        }
    }

    fn signal_all(&mut self, which: Signal) {
        self.read();
        for entry in self.table.living() {
            signal(entry, which);
        }
    }

    fn read(&mut self) {
        self.limits.restore();
        self.table.read();
        // SAFETY: no memory is involved.
        self.table.mark_descendants(unsafe { libc::getpid() });
    }

    fn count(&mut self) -> u32 {
        self.read();
        let main = self.main;
        self.table.living().filter(|entry| entry.pid != main).count() as u32
    }

    fn report_survivors(&mut self) {
        self.read();
        for entry in self.table.living() {
            let (pid, start_time) = (entry.pid as u32, entry.stat.start_time);
            Report::Survivor { pid, start_time }.send(self.reports.as_fd());
        }
    }
}
