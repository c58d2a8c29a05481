//! The log writer: a small process that writes the output of a detached program to logs with a maximum size.
//!
//! The program's standard output and error are pipes into it. It appends what it reads. A log that would exceed the
//! maximum is renamed to `NAME.1`, replacing an older one, and a new log starts. Like the keeper, it is forked without
//! exec and uses only plain system calls and memory reserved before. It inherits nothing from the caller: no
//! descriptor, directory, terminal or environment. It ignores all signals except `SIGKILL`, and ends when the pipes
//! have no writers.
//!
//! On Linux it is the parent of the program and adopts orphans of the program's tree, so that
//! [`kill_detached`](crate::kill_detached) finds them. It also waits until they have ended. If the caller still lives,
//! it reports how the program ended. On a full disk it keeps reading, so the program never blocks. Once there is room
//! again, a line in the log says how much is missing.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use brigade_sandbox::system::{fork_into, last_errno, pipe};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::Usage;
use crate::keeper::Report;
use crate::launch::{close_all_but_both, set_errno};

#[cfg(target_os = "linux")]
#[path = "log_writer/linux.rs"]
mod surroundings;

/// The size of one read.
const PIECE: usize = 64 * 1024;

/// The polling interval if waiting is impossible.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A log that is open for appending, with its directory and name.
#[derive(Debug)]
pub struct LogFile {
    folder: OwnedFd,
    name: CString,
    older: CString,
    file: OwnedFd,
}

impl LogFile {
    /// Creates a log from an open directory and a file in it that is open for appending.
    ///
    /// # Errors
    /// Fails if the directory does not have the file under this name.
    pub fn new(folder: OwnedFd, name: &OsStr, file: File) -> io::Result<LogFile> {
        let c_name =
            |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
        let log = LogFile {
            name: c_name(name.as_bytes())?,
            older: c_name(&[name.as_bytes(), b".1"].concat())?,
            folder,
            file: file.into(),
        };
        if !log.has_its_name(&rustix::fs::fstat(&log.file)?) {
            return Err(io::Error::other("the log was replaced while it was opened"));
        }
        Ok(log)
    }

    fn has_its_name(&self, stat: &Stat) -> bool {
        rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|named| (named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino))
    }

    /// Opens the file that has the name now, or a new one. A link to another file is refused.
    fn open_by_name(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::APPEND
            | OFlags::CLOEXEC
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.folder, &self.name, flags, Mode::RUSR | Mode::WUSR)?;
        let stat = rustix::fs::fstat(&file)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if is_file && stat.st_nlink == 1 { Ok(file) } else { Err(Errno::MLINK) }
    }

    /// Returns the length of the log. If another file took its name, a new log starts; while that fails, the old one
    /// continues.
    fn length(&mut self) -> Result<u64, Errno> {
        let mut stat = rustix::fs::fstat(&self.file)?;
        if !self.has_its_name(&stat)
            && let Ok(file) = self.open_by_name()
        {
            self.file = file;
            stat = rustix::fs::fstat(&self.file)?;
        }
        Ok(stat.st_size as u64)
    }

    /// Rotates the log, or empties it if it cannot be rotated. Returns the number of lost bytes.
    fn rotate(&mut self, length: u64) -> Result<u64, Errno> {
        let stat = rustix::fs::fstat(&self.file)?;
        if self.has_its_name(&stat)
            && rustix::fs::renameat(&self.folder, &self.name, &self.folder, &self.older).is_ok()
        {
            match self.open_by_name() {
                Ok(file) => {
                    self.file = file;
                    return Ok(0);
                }
                Err(_) => {
                    let _ = rustix::fs::renameat(&self.folder, &self.older, &self.folder, &self.name);
                }
            }
        }
        rustix::fs::ftruncate(&self.file, 0)?;
        Ok(length)
    }
}

/// The two logs of a detached program.
#[derive(Debug)]
pub struct Logs {
    /// The log of standard output.
    pub stdout: LogFile,
    /// The log of standard error.
    pub stderr: LogFile,
    /// The maximum size of each log and of each rotated log, in bytes.
    pub cap: u64,
}

/// Everything that the writer needs before its process starts.
pub(crate) struct LogWriter {
    channels: [Channel; 2],
    cap: u64,
    buffer: Vec<u8>,
}

impl LogWriter {
    /// Creates the writer of these logs, and the descriptors for the program: standard output, standard error.
    pub(crate) fn new(logs: Logs) -> io::Result<(LogWriter, [OwnedFd; 2])> {
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        for end in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let channels = [Channel::new(stdout, logs.stdout), Channel::new(stderr, logs.stderr)];
        // A smaller limit would leave no room for the notice.
        let cap = logs.cap.max(256);
        Ok((LogWriter { channels, cap, buffer: vec![0; PIECE] }, [stdout_end, stderr_end]))
    }

    /// Forks the writer process and returns its number. The process first calls the function, and ends if it returns
    /// `None`.
    pub(crate) fn fork(&mut self, begin: impl FnOnce() -> Option<Charge>) -> io::Result<libc::pid_t> {
        fork_into(|| {
            // SAFETY: no memory is involved. A writer must not receive the signals that a terminal sends to the
            // caller's group.
            unsafe { libc::setsid() };
            let Some(charge) = begin() else { return };
            // SAFETY: the path ends with NUL. A writer must not keep a directory of the caller busy.
            unsafe { libc::chdir(c"/".as_ptr()) };
            collect_children(charge);
            #[cfg(target_os = "linux")]
            surroundings::forget();
            let [first, second] = &self.channels;
            let kept = [first, second].map(|channel| channel.descriptors());
            close_all_but_both(kept.as_flattened(), &[charge.line]);
            self.write_until_the_end();
            wait_for_children();
        })
    }

    fn write_until_the_end(&mut self) {
        let is_open = |channel: &Channel| channel.from.is_some();
        while self.channels.iter().any(is_open) {
            wait_for_any(&self.channels);
            for channel in &mut self.channels {
                channel.pass(&mut self.buffer, self.cap);
            }
        }
    }
}

/// The program whose end the writer reports.
#[derive(Clone, Copy)]
pub(crate) struct Charge {
    /// Its process id, or 0 without a program.
    program: libc::pid_t,
    /// The pipe on which the caller waits for the report.
    line: RawFd,
}

impl Charge {
    /// The program is a child of the writer.
    #[cfg(target_os = "linux")]
    pub(crate) fn child(program: libc::pid_t, line: &OwnedFd) -> Charge {
        Charge { program, line: line.as_raw_fd() }
    }

    /// The program is not a child of the writer.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(crate) fn without_program() -> Charge {
        Charge { program: 0, line: -1 }
    }
}

/// The [`Charge`] of this process, for the signal handler. Zero once the end was reported.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
static LINE: AtomicI32 = AtomicI32::new(-1);

/// Collects all ended children, now and whenever one ends.
fn collect_children(charge: Charge) {
    PROGRAM.store(charge.program, Ordering::SeqCst);
    LINE.store(charge.line, Ordering::SeqCst);
    // SAFETY: action and set are plain data on the stack. The handler makes plain system calls and keeps `errno`. This
    // process has one thread and was forked with all signals blocked, so the handler runs only from here on.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_end_of_child as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
        libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
        let mut ends: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut ends);
        libc::sigaddset(&mut ends, libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &ends, std::ptr::null_mut());
    }
    while collect(libc::WNOHANG) {}
}

extern "C" fn on_end_of_child(_signal: libc::c_int) {
    let errno = last_errno();
    while collect(libc::WNOHANG) {}
    set_errno(errno);
}

/// Collects one ended child, and reports the end of the program. Returns whether a child was collected.
fn collect(options: libc::c_int) -> bool {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let ended = unsafe { libc::waitpid(-1, &mut status, options) };
    if 0 < ended && PROGRAM.compare_exchange(ended, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
        let line = LINE.load(Ordering::SeqCst);
        // SAFETY: the descriptor was kept for this, and only this code closes it.
        let line = unsafe { OwnedFd::from_raw_fd(line) };
        Report::Exited { status, usage: Usage::default() }.send(&line);
    }
    0 < ended
}

/// Waits until no children are left, such as a program that redirected its output, or orphans.
fn wait_for_children() {
    while collect(0) || last_errno() == libc::EINTR {}
}

/// Waits until a stream has data or has ended.
fn wait_for_any(channels: &[Channel; 2]) {
    let polled = match [&channels[0].from, &channels[1].from] {
        [Some(one), Some(other)] => {
            poll(&mut [PollFd::new(one, PollFlags::IN), PollFd::new(other, PollFlags::IN)], None)
        }
        [Some(one), None] | [None, Some(one)] => poll(&mut [PollFd::new(one, PollFlags::IN)], None),
        [None, None] => return,
    };
    if polled.is_err_and(|errno| errno != Errno::INTR) {
        // A lowered limit makes waiting impossible. Nothing else reads the pipes, so the writer polls from now on.
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// One stream of the program and its log.
struct Channel {
    from: Option<OwnedFd>,
    log: LogFile,
    /// Number of bytes missing in the log, and the error that lost the last of them.
    missing: Option<(u64, Errno)>,
    is_at_start_of_line: bool,
}

impl Channel {
    fn new(from: OwnedFd, log: LogFile) -> Channel {
        Channel { from: Some(from), log, missing: None, is_at_start_of_line: true }
    }

    fn descriptors(&self) -> [i32; 3] {
        let from = self.from.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        [from, self.log.folder.as_raw_fd(), self.log.file.as_raw_fd()]
    }

    /// Reads once and writes the data to the log.
    fn pass(&mut self, buffer: &mut [u8], cap: u64) {
        let Some(from) = &self.from else { return };
        match rustix::io::read(from.as_fd(), &mut *buffer) {
            Ok(0) => {
                self.tell_what_is_missing(cap);
                self.from = None;
            }
            Ok(read) => {
                self.tell_what_is_missing(cap);
                self.append(&buffer[..read], cap);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.from = None,
        }
    }

    fn append(&mut self, mut bytes: &[u8], cap: u64) {
        while !bytes.is_empty() {
            match self.append_piece(bytes, cap) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(errno) => {
                    self.miss(bytes.len() as u64, errno);
                    return;
                }
            }
        }
    }

    fn append_piece(&mut self, bytes: &[u8], cap: u64) -> Result<usize, Errno> {
        let mut length = self.log.length()?;
        let mut fitting = fitting(bytes, cap.saturating_sub(length));
        if fitting == 0 && length != 0 {
            let lost = self.log.rotate(length)?;
            if lost != 0 {
                self.miss(lost, Errno::ACCESS);
            }
            length = self.log.length()?;
            fitting = self::fitting(bytes, cap.saturating_sub(length));
        }
        // Not even one line fits into an empty log.
        if fitting == 0 {
            fitting = usize::try_from(cap.saturating_sub(length)).unwrap_or(usize::MAX).min(bytes.len());
        }
        let written = rustix::io::write(&self.log.file, &bytes[..fitting])?;
        if written == 0 {
            return Err(Errno::NOSPC);
        }
        self.is_at_start_of_line = bytes[written - 1] == b'\n';
        Ok(written)
    }

    fn miss(&mut self, bytes: u64, errno: Errno) {
        let before = self.missing.map_or(0, |(before, _)| before);
        self.missing = Some((before.saturating_add(bytes), errno));
    }

    /// Writes a notice about missing output to the log, once that is possible.
    fn tell_what_is_missing(&mut self, cap: u64) {
        let Some((bytes, errno)) = self.missing else { return };
        let why = match errno {
            Errno::NOSPC => "the disk was full",
            Errno::DQUOT => "the quota was used up",
            Errno::FBIG => "the limit of a file's size was reached",
            Errno::ACCESS => "the log could not be rotated",
            _ => "the log could not be written",
        };
        let mut line = [0u8; 160];
        let mut rest = &mut line[..];
        let line_break = if self.is_at_start_of_line { "" } else { "\n" };
        let text = writeln!(rest, "{line_break}[brigade: {bytes} bytes of output are missing here: {why}]");
        let left = rest.len();
        if text.is_err() {
            return;
        }
        let length = line.len() - left;
        // A partial notice would be useless.
        if self.log.length().is_ok_and(|used| used.saturating_add(length as u64) <= cap)
            && let Ok(written) = rustix::io::write(&self.log.file, &line[..length])
        {
            self.missing = None;
            self.is_at_start_of_line = line[..written].last().is_none_or(|last| *last == b'\n');
        }
    }
}

/// Returns how many bytes fit into `room`: all of them, or only complete lines.
fn fitting(bytes: &[u8], room: u64) -> usize {
    match usize::try_from(room) {
        Ok(room) if room < bytes.len() => {
            bytes[..room].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
        }
        Ok(_) | Err(_) => bytes.len(),
    }
}
