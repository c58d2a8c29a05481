//! Logs of a run. They are masked while they are written, and limited to a first and a last part.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use brigade_core::{Fingerprint, FingerprintStream};
use brigade_fs::{Fs, FsError, RelPath, WriteFile};
use brigade_macros::part;
use brigade_process::Stream;
use brigade_redact::{Redactor, SecretValue};

/// How many bytes of the end of an output go into the next prompt.
const TAIL_BYTES: usize = 4096;

/// If one read returns fewer bytes, lines are passed on one by one.
const LINE_MODE_BYTES: usize = 16 << 10;

/// The size of one read.
const READ_BYTES: usize = 64 << 10;

/// A log in a receipt.
#[part(PartialEq, Eq)]
pub struct LogRow {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The sha256 of the log.
    pub sha256: Fingerprint,
    /// How many bytes are omitted between its first and last part.
    pub left_out: u64,
}

/// A file that keeps the first half and the last half of its input. Until the end, the last half is in separate part
/// files, so that memory stays bounded.
struct CappedFile {
    fs: Arc<dyn Fs>,
    path: RelPath,
    file: Box<dyn WriteFile>,
    half: u64,
    total: u64,
    bytes: u64,
    sha256: FingerprintStream,
    /// The last two parts after the first half, with a maximum size each.
    parts: VecDeque<Part>,
    next_part: u64,
}

struct Part {
    path: RelPath,
    file: Box<dyn WriteFile>,
    bytes: u64,
}

impl CappedFile {
    fn create(fs: Arc<dyn Fs>, path: RelPath, cap: u64) -> Result<CappedFile, FsError> {
        let file = fs.create(&path, 0o600)?;
        let (half, sha256) = ((cap / 2).max(1), FingerprintStream::new());
        Ok(CappedFile {
            fs,
            path,
            file,
            half,
            total: 0,
            bytes: 0,
            sha256,
            parts: VecDeque::new(),
            next_part: 0,
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        self.file.write(bytes)?;
        self.bytes += bytes.len() as u64;
        self.sha256.update(bytes);
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), FsError> {
        self.total += bytes.len() as u64;
        if self.bytes < self.half {
            let room = usize::try_from(self.half - self.bytes).unwrap_or(usize::MAX).min(bytes.len());
            let (first, rest) = bytes.split_at(room);
            self.put(first)?;
            bytes = rest;
        }
        while !bytes.is_empty() {
            if self.parts.back().is_none_or(|part| self.half <= part.bytes) {
                self.begin_part()?;
            }
            let half = self.half;
            let Some(part) = self.parts.back_mut() else { break };
            let room = usize::try_from(half - part.bytes).unwrap_or(usize::MAX).min(bytes.len());
            let (now, rest) = bytes.split_at(room);
            part.file.write(now)?;
            part.bytes += now.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    fn begin_part(&mut self) -> Result<(), FsError> {
        if 2 <= self.parts.len()
            && let Some(oldest) = self.parts.pop_front()
        {
            self.fs.remove(&oldest.path)?;
        }
        let name = format!("{}.part-{}", self.path.name(), self.next_part);
        let path = self.path.parent().join(&name).expect("a file name in a directory is a path");
        self.next_part += 1;
        let file = self.fs.create(&path, 0o600)?;
        self.parts.push_back(Part { path, file, bytes: 0 });
        Ok(())
    }

    /// Appends the last half to the first half.
    fn finish(mut self) -> Result<LogRow, FsError> {
        let kept: u64 = self.parts.iter().map(|part| part.bytes).sum();
        let last = kept.min(self.half);
        let left_out = self.total - self.bytes - last;
        if 0 < left_out {
            self.put(self::left_out(left_out).as_bytes())?;
        }
        let mut skip = kept - last;
        let parts = std::mem::take(&mut self.parts);
        for part in &parts {
            let from = skip.min(part.bytes);
            skip -= from;
            let file = self.fs.open(&part.path)?;
            let mut offset = from;
            while offset < part.bytes {
                let piece = file.read_range(offset, READ_BYTES)?;
                if piece.is_empty() {
                    break;
                }
                offset += piece.len() as u64;
                self.put(&piece)?;
            }
        }
        self.file.sync()?;
        for part in parts {
            // The next service removes parts that stay.
            let _ = self.fs.remove(&part.path);
        }
        let path = self.path.to_string();
        Ok(LogRow { path, bytes: self.bytes, sha256: self.sha256.finish(), left_out })
    }
}

/// Returns the line in a log that marks an omission.
pub(crate) fn left_out(bytes: u64) -> String {
    format!("\n[{bytes} bytes are left out]\n")
}

/// Splits the name of a part file into the log and the number.
fn split_name(name: &str) -> Option<(&str, u64)> {
    let (log, number) = name.rsplit_once(".part-")?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((log, number.parse().ok()?)).filter(|_| log.ends_with(".log") && is_number)
}

/// Returns whether a file is a part file, which a crash may have left.
pub(crate) fn is_part(name: &str) -> bool {
    split_name(name).is_some()
}

/// Returns the number of a part file of this log.
pub(crate) fn part_number(name: &str, log: &str) -> Option<u64> {
    split_name(name).filter(|(of, _)| *of == log).map(|(_, number)| number)
}

struct Channel {
    file: CappedFile,
    redactor: Redactor,
    masked: Vec<u8>,
}

/// The logs of one run.
pub(crate) struct RunLogs {
    stdout: Channel,
    stderr: Channel,
    /// The additional log of both streams in order, with a readable name.
    named: Option<CappedFile>,
    last: VecDeque<u8>,
    last_line: Vec<u8>,
}

/// The logs of a finished run.
pub(crate) struct RunLogSummary {
    pub(crate) stdout: LogRow,
    pub(crate) stderr: LogRow,
    /// The last lines of both streams, masked.
    pub(crate) last: String,
}

impl RunLogs {
    pub(crate) fn create(
        fs: &Arc<dyn Fs>,
        paths: (RelPath, RelPath),
        named: Option<RelPath>,
        cap: u64,
        secrets: &[SecretValue],
    ) -> Result<RunLogs, FsError> {
        fs.create_dir_all(&paths.0.parent())?;
        let channel = |path: RelPath| -> Result<Channel, FsError> {
            let file = CappedFile::create(fs.clone(), path, cap)?;
            Ok(Channel { file, redactor: Redactor::new(secrets).for_output(), masked: Vec::new() })
        };
        let named = match named {
            Some(path) => {
                fs.create_dir_all(&path.parent())?;
                Some(CappedFile::create(fs.clone(), path, cap)?)
            }
            None => None,
        };
        let (stdout, stderr) = (channel(paths.0)?, channel(paths.1)?);
        Ok(RunLogs { stdout, stderr, named, last: VecDeque::new(), last_line: Vec::new() })
    }

    fn take(&mut self, stream: Stream, end: bool, bytes: &[u8]) -> Result<(), FsError> {
        let channel = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        channel.masked.clear();
        if end {
            channel.redactor.finish(&mut channel.masked);
        } else {
            channel.redactor.push(bytes, &mut channel.masked);
        }
        channel.file.write(&channel.masked)?;
        if let Some(named) = &mut self.named {
            named.write(&channel.masked)?;
        }
        let shown = &channel.masked[channel.masked.len().saturating_sub(TAIL_BYTES)..];
        self.last.extend(shown);
        let surplus = self.last.len().saturating_sub(TAIL_BYTES);
        self.last.drain(..surplus);
        Ok(())
    }

    /// Logs output of the program. Returns it masked, and the last line so far.
    pub(crate) fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<(&[u8], &[u8])> {
        self.take(stream, false, bytes).map_err(io::Error::other)?;
        Ok(self.seen(stream, bytes.len()))
    }

    /// Returns the output that was masked last, and the last line so far.
    fn seen(&mut self, stream: Stream, read: usize) -> (&[u8], &[u8]) {
        let channel = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        // A last line is shown as if nothing followed. In a flood, another line follows at once anyway.
        let pending = if read < LINE_MODE_BYTES { channel.redactor.pending() } else { Vec::new() };
        let tail = &channel.masked[channel.masked.len().saturating_sub(TAIL_BYTES)..];
        let shown = [tail, &pending].concat();
        if let Some(line) = shown.split(|byte| *byte == b'\n').rfind(|line| !line.trim_ascii().is_empty()) {
            self.last_line.clear();
            self.last_line.extend_from_slice(line);
        }
        (&channel.masked, &self.last_line)
    }

    /// Finishes the logs. Passes to `seen` what the redactor still held back, and the last line.
    pub(crate) fn finish(
        mut self,
        mut seen: impl FnMut(Stream, &[u8], &[u8]),
    ) -> Result<RunLogSummary, FsError> {
        for stream in [Stream::Stdout, Stream::Stderr] {
            self.take(stream, true, &[])?;
            let (new, last_line) = self.seen(stream, 0);
            if !new.is_empty() {
                seen(stream, new, last_line);
            }
        }
        let last: Vec<u8> = self.last.into();
        if let Some(named) = self.named {
            named.finish()?;
        }
        let (stdout, stderr) = (self.stdout.file.finish()?, self.stderr.file.finish()?);
        Ok(RunLogSummary { stdout, stderr, last: String::from_utf8_lossy(&last).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::*;

    fn logged(cap: u64, pieces: &[&[u8]]) -> (String, LogRow, usize) {
        let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
        let paths = ("runs/r.stdout.log".parse().unwrap(), "runs/r.stderr.log".parse().unwrap());
        let mut logs = RunLogs::create(&fs, paths, None, cap, &[SecretValue::new("hunter2-value")]).unwrap();
        for piece in pieces {
            logs.write(Stream::Stdout, piece).unwrap();
        }
        let logged = logs.finish(|_, _, _| {}).unwrap();
        let bytes = fs.read(&"runs/r.stdout.log".parse().unwrap(), 1 << 20).unwrap();
        assert_eq!(
            (logged.stdout.bytes, logged.stdout.sha256),
            (bytes.len() as u64, Fingerprint::of_bytes(&bytes))
        );
        let files = fs.list_dir(&"runs".parse().unwrap()).unwrap().len();
        (String::from_utf8(bytes).unwrap(), logged.stdout, files)
    }

    #[test]
    fn a_long_log_has_its_first_and_its_last_part() {
        let lines: Vec<String> = (0..1000).map(|number| format!("{number:04}\n")).collect();
        let pieces: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        let (text, row, files) = logged(100, &pieces);
        let expect =
            format!("{}\n[4900 bytes are left out]\n{}", lines[..10].concat(), lines[990..].concat());
        assert_eq!((text, row.left_out, files), (expect, 4900, 2));
        let (text, row, _) = logged(100, &[lines.concat().as_bytes()]);
        assert_eq!((text.len(), row.left_out), (127, 4900));
        let (text, row, _) = logged(100, &pieces[..20]);
        assert_eq!((text, row.left_out), (lines[..20].concat(), 0));
        assert_eq!(logged(100, &[]).0, "");
    }

    #[test]
    fn secrets_are_masked_wherever_they_are_cut() {
        let (text, ..) = logged(1 << 20, &[b"a hunter2-", b"value b\npassword=", b"EXAMPLE1234 c\n"]);
        assert!(!text.contains("hunter2-value") && !text.contains("EXAMPLE1234"), "{text}");
    }

    #[test]
    fn parts_are_known_by_their_names() {
        assert!(is_part("run-1.stdout.log.part-12") && !is_part("run-1.stdout.log") && !is_part("x.part-1"));
    }
}
