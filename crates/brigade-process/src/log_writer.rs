//! The log writer: a small process of ours that keeps the output of a detached program in logs that cannot outgrow a
//! cap.
//!
//! The program's standard output and error are pipes into it. It appends what it reads, and where a log would become
//! longer than the cap, the log becomes `NAME.1`, in the place of an older one, and a new one begins. Forked without
//! exec like the keeper, it keeps to plain system calls and to memory that was reserved before, holds nothing of the
//! caller (no descriptor, no folder, no terminal, no environment), takes no signal but `SIGKILL`, and ends by itself
//! when nobody has the pipes open any more. On Linux it is the parent of the program and adopts the orphans of the
//! program's tree, so that they are found when that is ended ([`kill_detached`](crate::kill_detached)), and it ends
//! when they have ended, too. What cannot be written is read all the same, so that the program never waits for a full
//! disk; once there is room again, a line in the log says how much is missing.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::launch::{close_all_but, fork_into, last_errno, pipe};

#[cfg(target_os = "linux")]
#[path = "log_writer/linux.rs"]
mod surroundings;

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// How often it is tried to read when waiting is impossible.
const LOOK: Duration = Duration::from_millis(5);

/// A log, open for appending, and how it is found by its name.
#[derive(Debug)]
pub struct LogFile {
    folder: OwnedFd,
    name: CString,
    older: CString,
    file: OwnedFd,
}

impl LogFile {
    /// Takes a log that lies under this name in this folder. Both must be open, the file for appending.
    ///
    /// # Errors
    /// When it lies there under no such name.
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
            return Err(io::Error::other("it was replaced while it was opened"));
        }
        Ok(log)
    }

    fn has_its_name(&self, stat: &Stat) -> bool {
        rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|named| (named.st_dev, named.st_ino) == (stat.st_dev, stat.st_ino))
    }

    /// Opens what has the name now, or a new file; an alias of another file is not taken.
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

    /// Returns how long the log is. When somebody took its name, a new one begins; while that fails, the old one goes
    /// on.
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

    /// Makes the log the older one and begins a new one. Where that is impossible, it is emptied: the answer is how
    /// much was lost with that.
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
    /// Of its standard output.
    pub stdout: LogFile,
    /// Of its standard error.
    pub stderr: LogFile,
    /// How long each may become, in bytes; the older one behind it too.
    pub cap: u64,
}

/// The writer before it is a process: everything that it needs.
pub(crate) struct LogWriter {
    channels: [Channel; 2],
    cap: u64,
    buffer: Vec<u8>,
}

impl LogWriter {
    /// Makes the writer of these logs, and the descriptors that the program writes to: standard output, standard error.
    pub(crate) fn new(logs: Logs) -> io::Result<(LogWriter, [OwnedFd; 2])> {
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        for end in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let channels = [Channel::new(stdout, logs.stdout), Channel::new(stderr, logs.stderr)];
        // Less than one line of the notice fits nothing.
        let cap = logs.cap.max(256);
        Ok((LogWriter { channels, cap, buffer: vec![0; PIECE] }, [stdout_end, stderr_end]))
    }

    /// Becomes a process, which does this first and ends if that fails; returns its number.
    pub(crate) fn fork(&mut self, begin: impl FnOnce() -> bool) -> io::Result<libc::pid_t> {
        fork_into(|| {
            // SAFETY: no memory is involved. A writer must not take what a terminal sends to the caller's group.
            unsafe { libc::setsid() };
            if !begin() {
                return;
            }
            // SAFETY: the path ends with NUL. A writer must not hold a folder of the caller in use.
            unsafe { libc::chdir(c"/".as_ptr()) };
            collect_children();
            #[cfg(target_os = "linux")]
            surroundings::forget();
            let [first, second] = &self.channels;
            let kept = [first, second].map(|channel| channel.descriptors());
            close_all_but(kept.as_flattened());
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

/// Lets the system collect every child that ends, now and later.
fn collect_children() {
    // SAFETY: the structure is plain data on the stack; the status is not asked for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        action.sa_flags = libc::SA_NOCLDWAIT;
        libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
        while 0 < libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) {}
    }
}

/// Waits until there are no children: of a program that put its output elsewhere, or of what it left behind.
fn wait_for_children() {
    loop {
        // SAFETY: the status is not asked for.
        let waited = unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
        if waited < 0 && last_errno() != libc::EINTR {
            return;
        }
    }
}

/// Waits until one of them has something to read, or has ended.
fn wait_for_any(channels: &[Channel; 2]) {
    let polled = match [&channels[0].from, &channels[1].from] {
        [Some(one), Some(other)] => {
            poll(&mut [PollFd::new(one, PollFlags::IN), PollFd::new(other, PollFlags::IN)], None)
        }
        [Some(one), None] | [None, Some(one)] => poll(&mut [PollFd::new(one, PollFlags::IN)], None),
        [None, None] => return,
    };
    if polled.is_err_and(|errno| errno != Errno::INTR) {
        // Somebody lowered a limit, and nobody else is there to read: from now on it looks again and again.
        std::thread::sleep(LOOK);
    }
}

/// One stream of the program, and its log.
struct Channel {
    from: Option<OwnedFd>,
    log: LogFile,
    /// How many bytes are missing in the log by now, and why the last of them are.
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

    /// Reads once and writes that down.
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
        // Not one line of it fits into a whole log.
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

    /// Says in the log how much of the output is not in it, once that can be written.
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
        // Whole or not at all: half a notice says nothing.
        if self.log.length().is_ok_and(|used| used.saturating_add(length as u64) <= cap)
            && let Ok(written) = rustix::io::write(&self.log.file, &line[..length])
        {
            self.missing = None;
            self.is_at_start_of_line = line[..written].last().is_none_or(|last| *last == b'\n');
        }
    }
}

/// How much of the bytes goes into this room: all, else whole lines.
fn fitting(bytes: &[u8], room: u64) -> usize {
    match usize::try_from(room) {
        Ok(room) if room < bytes.len() => {
            bytes[..room].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
        }
        Ok(_) | Err(_) => bytes.len(),
    }
}
