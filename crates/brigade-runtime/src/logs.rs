//! The logs of runtimes.
//!
//! The output of a runtime goes through its log writer ([`brigade_process::Logs`]), which lives as long as a process
//! holds the output open. It always keeps each log below [`LOG_CAP`]: if a line would not fit, the log is renamed to
//! `.1`, replacing an older one. Reading the last lines continues in `.1` if the log itself has too few. Following a
//! log continues over rotations.
//!
//! A process that 0.30.0 started appends to its log itself, so that log can grow. A log of more than [`LOG_CAP`] bytes
//! is truncated by a start, a stop, a status, a doctor, and by reading it: its end is copied to `.1`, and it is
//! emptied. Output between the two steps is lost. A status and a doctor report that.

mod follow;
mod lines;

use brigade_core::words;
use std::cmp::Ordering;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use brigade_catalog::Runtime;
use brigade_fs::{FileId, Fs, FsError, ReadFile, RelPath};
use brigade_process::LogFile;
use rustix::fs::{Mode, OFlags};

use crate::error::RuntimeError;
use crate::paths::Paths;
use crate::supervisor::Supervisor;

pub use follow::FollowFrom;

/// The maximum length of a log, in bytes.
pub const LOG_CAP: u64 = 16 << 20;

/// How much of a log is read for its last lines, in bytes.
const TAIL_LIMIT: u64 = 4 << 20;

/// The size of one read.
const PIECE: usize = 64 * 1024;

/// How much of a log the report of a failed start contains, in bytes.
const END_LIMIT: u64 = 4096;
const END_LINES: usize = 20;

words! {
    /// One of the two logs of a runtime.
    LogStream {
        /// Standard output.
        Stdout = "stdout",
        /// Standard error.
        Stderr = "stderr",
    }
}

/// The last lines of a log, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTail {
    /// The bytes, from the beginning of a line. The last line may be incomplete.
    pub bytes: Vec<u8>,
    /// Whether the log has more before them.
    pub is_cut: bool,
    /// The length of the log when it was read, in bytes, where the next read continues.
    pub end: u64,
}

/// What a runtime wrote before its start failed: the last 20 lines of each log, at most 4 KiB, with secrets masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Supervisor<'_> {
    /// Returns the last lines of a log. A missing log counts as empty.
    ///
    /// Reads at most 4 MiB, and continues in the older, rotated file if the log has fewer lines. Afterwards truncates a
    /// log that is too long.
    ///
    /// # Errors
    /// Fails if the log cannot be read, or its path leads out of the workspace.
    pub fn tail(&self, runtime: &Runtime, stream: LogStream, lines: usize) -> Result<LogTail, RuntimeError> {
        let path = self.log_path(runtime, stream)?;
        let (tail, _) = tail_of(self.fs, &path, lines)?;
        // Truncating is optional: logs in a read-only workspace can still be read.
        let _ = make_room(self.fs, &Paths::find(self.fs, self.host, runtime));
        Ok(tail)
    }

    fn log_path(&self, runtime: &Runtime, stream: LogStream) -> Result<RelPath, RuntimeError> {
        let paths = Paths::find(self.fs, self.host, runtime);
        let path = match stream {
            LogStream::Stdout => paths.stdout,
            LogStream::Stderr => paths.stderr,
        };
        path.ok_or(RuntimeError::Outside { field: "log_path" })
    }

    /// Returns what was written to a log after this length.
    pub(crate) fn log_end(&self, path: &RelPath, since: u64) -> String {
        let read = self.fs.open(path).and_then(|file| last_lines(&*file, since, END_LINES, END_LIMIT));
        let bytes = read.map(|tail| tail.bytes).unwrap_or_default();
        self.host.redactor().for_output().redact_str(&String::from_utf8_lossy(&bytes))
    }
}

/// Reads the last lines of a log. If it has fewer, continues in the older part. Also returns the open log.
fn tail_of(
    fs: &dyn Fs,
    path: &RelPath,
    lines: usize,
) -> Result<(LogTail, Option<Box<dyn ReadFile>>), FsError> {
    let log = open_if_there(fs, path)?;
    let tail = match &log {
        Some(file) => last_lines(&**file, 0, lines, TAIL_LIMIT)?,
        None => LogTail::default(),
    };
    let found = tail.bytes.iter().filter(|byte| **byte == b'\n').count()
        + usize::from(tail.bytes.last().is_some_and(|last| *last != b'\n'));
    let id = |file: &dyn ReadFile| -> Result<FileId, FsError> { file.id() };
    let Some(before) = (if tail.is_cut || lines == 0 { None } else { open_if_there(fs, &older(path))? })
    else {
        return Ok((tail, log));
    };
    // The log was rotated between the two reads.
    if let Some(log) = &log
        && id(&**log)? == id(&*before)?
    {
        return Ok((tail, Some(before)));
    }
    let missing = lines.saturating_sub(found);
    if missing == 0 {
        return Ok((LogTail { is_cut: 0 < before.len()?, ..tail }, log));
    }
    let earlier = last_lines(&*before, 0, missing, TAIL_LIMIT)?;
    let bytes = [earlier.bytes, tail.bytes].concat();
    Ok((LogTail { bytes, is_cut: earlier.is_cut, end: tail.end }, log))
}

fn open_if_there(fs: &dyn Fs, path: &RelPath) -> Result<Option<Box<dyn ReadFile>>, FsError> {
    match fs.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the last lines after an offset, at most `limit` bytes.
fn last_lines(file: &dyn ReadFile, since: u64, lines: usize, limit: u64) -> Result<LogTail, FsError> {
    let end = file.len()?;
    let from = end.saturating_sub(limit).max(since.min(end));
    let bytes = file.read_range(from, usize::try_from(end - from).unwrap_or(usize::MAX))?;
    let mut start = start_of_last_lines(&bytes, lines);
    // An incomplete first line is dropped, unless it is the only one.
    if start == 0
        && since < from
        && let Some(first) = bytes.iter().position(|b| *b == b'\n')
    {
        start = if first + 1 < bytes.len() { first + 1 } else { 0 };
    }
    let is_cut = since < from + start as u64;
    Ok(LogTail { is_cut, end: from + bytes.len() as u64, bytes: bytes[start..].to_vec() })
}

fn start_of_last_lines(bytes: &[u8], lines: usize) -> usize {
    if lines == 0 {
        return bytes.len();
    }
    let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let ends = content.iter().enumerate().rev().filter(|(_, b)| **b == b'\n');
    ends.map(|(at, _)| at + 1).nth(lines - 1).unwrap_or(0)
}

/// Opens a log for the writer to append to, after rotating it if it is too long. Also returns its length.
pub(crate) fn open_log(fs: &dyn Fs, path: &RelPath) -> Result<(LogFile, u64), RuntimeError> {
    rotate(fs, path)?;
    match fs.create(path, 0o600) {
        Ok(_) => {}
        Err(error) if error.is_exists() => fs.set_mode(path, 0o600)?,
        Err(error) => return Err(error.into()),
    }
    let opened = fs.open(path)?;
    let refuse = |source: std::io::Error| RuntimeError::Log { path: path.to_string(), source };
    let folder = match path.parent() {
        parent if parent.is_root() => fs.root().to_owned(),
        parent => fs.root().join(parent.as_path()),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = rustix::fs::open(folder, flags, Mode::empty()).map_err(|errno| refuse(errno.into()))?;
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = rustix::fs::openat(&folder, path.name(), flags, Mode::empty())
        .map_err(|errno| refuse(errno.into()))?;
    // `Fs` does not expose descriptors, so the file is opened again by its path and compared.
    let stat = rustix::fs::fstat(file.as_fd()).map_err(|errno| refuse(errno.into()))?;
    let id = opened.id()?;
    #[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between platforms")]
    let is_same = (stat.st_dev as u64, stat.st_ino as u64) == (id.device, id.inode);
    if !is_same {
        return Err(refuse(std::io::Error::other("the log was replaced while it was opened")));
    }
    let log = LogFile::new(folder, path.name().as_ref(), File::from(file)).map_err(refuse)?;
    Ok((log, opened.len()?))
}

fn rotate(fs: &dyn Fs, path: &RelPath) -> Result<(), FsError> {
    let length = match fs.metadata(path) {
        Ok(metadata) => metadata.len,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    };
    match length.cmp(&LOG_CAP) {
        Ordering::Less => Ok(()),
        Ordering::Equal => fs.rename(path, &older(path)),
        // The older log must not be longer either.
        Ordering::Greater => cut(fs, path),
    }
}

/// Returns the path of the older part of a log.
pub(crate) fn older(path: &RelPath) -> RelPath {
    path.parent().join(&format!("{}.1", path.name())).expect("a name with an extension is a name")
}

/// Returns the lengths, in bytes, of the logs that are too long.
pub(crate) fn too_long(fs: &dyn Fs, paths: &Paths) -> Vec<(RelPath, u64)> {
    let logs = [&paths.stdout, &paths.stderr].into_iter().flatten();
    let length = |path: &RelPath| fs.metadata(path).map_or(0, |metadata| metadata.len);
    logs.map(|path| (path.clone(), length(path))).filter(|(_, length)| LOG_CAP < *length).collect()
}

/// Truncates the logs of a runtime. The caller must hold its lock.
pub(crate) fn make_room_locked(fs: &dyn Fs, paths: &Paths) -> Result<(), FsError> {
    too_long(fs, paths).iter().try_for_each(|(path, _)| cut(fs, path))
}

/// Truncates the logs of a runtime, unless it is being started or stopped.
pub(crate) fn make_room(fs: &dyn Fs, paths: &Paths) -> Result<(), FsError> {
    for (path, _) in &too_long(fs, paths) {
        let Ok(_lock) = fs.lock(&paths.lock, "brigade runtime status", Duration::ZERO) else {
            return Ok(());
        };
        cut(fs, path)?;
    }
    Ok(())
}

/// Copies the end of a log to the older one and empties it. The process that appends to it does not notice.
fn cut(fs: &dyn Fs, path: &RelPath) -> Result<(), FsError> {
    let file = fs.open(path)?;
    let end = file.len()?;
    // Another status may have truncated it.
    if end < LOG_CAP {
        return Ok(());
    }
    match fs.remove(&older(path)) {
        Err(error) if !error.is_not_found() => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut copy = fs.create(&older(path), 0o600)?;
    let mut log = fs.open_append(path)?;
    let mut offset = end - LOG_CAP;
    // Copies up to the current end. The limit ends the copy of a log that is written faster than it is copied.
    while offset < end + LOG_CAP {
        let bytes = file.read_range(offset, PIECE)?;
        if bytes.is_empty() {
            break;
        }
        copy.write(&bytes)?;
        offset += bytes.len() as u64;
    }
    log.truncate(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: usize, limit: u64, expect: (&str, bool)) {
        let fs = brigade_fs::MemoryFs::new();
        let path: RelPath = "log".parse().unwrap();
        fs.write_cache(&path, text.as_bytes()).unwrap();
        let tail = last_lines(&*fs.open(&path).unwrap(), 0, lines, limit).unwrap();
        assert_eq!((String::from_utf8(tail.bytes).unwrap().as_str(), tail.is_cut), expect);
    }

    #[test]
    fn the_last_lines_begin_at_the_beginning_of_a_line() {
        check("a\nb\nc\n", 2, 100, ("b\nc\n", true));
        check("a\nb\nc", 2, 100, ("b\nc", true));
        check("a\nb\nc\n", 9, 100, ("a\nb\nc\n", false));
        check("a\nb\nc\n", 0, 100, ("", true));
        check("aaaa\nb\nc\n", 9, 6, ("b\nc\n", true));
        check("aaaaaaaa\n", 9, 4, ("aaa\n", true));
        check("", 9, 100, ("", false));
    }

    #[test]
    fn truncating_a_growing_log_keeps_its_end() {
        let fs = brigade_fs::MemoryFs::new();
        let path: RelPath = "log".parse().unwrap();
        let mut text = vec![b'x'; LOG_CAP as usize];
        text.extend_from_slice(b"the end");
        fs.write_cache(&path, &text).unwrap();
        cut(&fs, &path).unwrap();
        cut(&fs, &path).unwrap();
        assert_eq!(fs.read(&path, 9).unwrap(), b"");
        assert_eq!(fs.read(&older(&path), 2 * LOG_CAP).unwrap(), text[7..]);
    }

    #[test]
    fn no_log_is_longer_than_the_cap() {
        let fs = brigade_fs::MemoryFs::new();
        let path: RelPath = "log".parse().unwrap();
        let mut text = vec![b'x'; 2 * LOG_CAP as usize];
        text.extend_from_slice(b"the end");
        fs.write_cache(&path, &text).unwrap();
        rotate(&fs, &path).unwrap();
        assert_eq!(fs.metadata(&older(&path)).unwrap().len, LOG_CAP);
        assert!(fs.read(&older(&path), LOG_CAP).unwrap().ends_with(b"the end"));
        assert_eq!(fs.metadata(&path).unwrap().len, 0);
    }

    #[test]
    fn a_long_log_makes_room_once() {
        let fs = brigade_fs::MemoryFs::new();
        let path: RelPath = "log".parse().unwrap();
        let older: RelPath = "log.1".parse().unwrap();
        fs.write_cache(&path, b"short").unwrap();
        rotate(&fs, &path).unwrap();
        assert!(!fs.exists(&older).unwrap());
        fs.write_cache(&path, &vec![b'x'; LOG_CAP as usize]).unwrap();
        rotate(&fs, &path).unwrap();
        assert_eq!(fs.metadata(&older).unwrap().len, LOG_CAP);
        assert!(!fs.exists(&path).unwrap());
    }
}
