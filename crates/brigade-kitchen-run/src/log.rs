//! `log`: shows the output of an attempt, also while it runs.
//!
//! The file of a running attempt has the first part of its log. The newest output is in part files next to it, of which
//! the oldest are removed. When the attempt has ended, everything is in one file. A reader counts bytes of output, so
//! it continues at the right place.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, ErrorKind, NextStep, Report, RunId};
use brigade_exec::{LOG_SHOWN, pass_log};
use brigade_fs::{Fs, FsError, Metadata, OrAbsent, RelPath};
use brigade_kitchen::approval::PrdOrigin;
use brigade_kitchen::life::{AttemptRun, Stage, UnknownTasks};
use brigade_kitchen::prd::Lints;
use brigade_kitchen::{PrdName, TaskId, Tier};
use brigade_macros::{document, part};
use brigade_policy::Failure;
use brigade_process::{CancelToken, Stream};

use crate::gather::PrdSearch;
use crate::kitchen::Kitchen;
use crate::lock::ServiceLock;
use crate::paths::PrdFiles;
use crate::receipts::{KitchenReceipt, Receipts};
use crate::rehearsal::unknown_tasks;
use crate::run_log::{LogRow, left_out, part_number};

/// How often a follower polls. Nothing in this module polls faster.
const POLL: Duration = Duration::from_secs(1);

/// The maximum number of attempts that an error message names.
const MAX_NAMED: usize = 20;

/// The report of `log`.
#[document("brigade.kitchen-log.v1")]
#[derive(PartialEq, Eq)]
pub struct KitchenLogReport {
    /// The workspace root.
    pub target: String,
    /// The PRD, relative to the workspace.
    pub prd_path: String,
    /// How it was found.
    pub taken: PrdOrigin,
    /// The task.
    pub task: TaskId,
    /// The number of the attempt, across all tiers.
    pub attempt: u64,
    /// The tier.
    pub tier: Tier,
    /// The run. Its receipt has this id.
    pub run: RunId,
    /// Whether the attempt still runs.
    pub running: bool,
    /// Standard output, masked.
    pub stdout: LogText,
    /// Standard error, masked.
    pub stderr: LogText,
}

/// The end of a log.
#[part(PartialEq, Eq)]
pub struct LogText {
    /// The path of the log, relative to the workspace.
    pub path: String,
    /// The text, or the last mebibyte of it.
    pub text: String,
    /// How many bytes precede that text.
    pub omitted_bytes: u64,
}

/// A request for a log.
#[derive(Clone, Copy, Debug)]
pub struct LogRequest<'a> {
    /// The typed id of the task.
    pub task: &'a str,
    /// The number of the attempt; `None` for the newest.
    pub attempt: Option<u64>,
}

/// How far to read a log.
#[derive(Clone, Copy, Debug)]
pub enum LogEnd<'a> {
    /// To its current end.
    Now,
    /// Until the attempt has ended, or the token is cancelled.
    OfAttempt(&'a CancelToken),
}

/// Receives pieces of a log, each from one stream.
pub type LogSink<'a> = &'a mut dyn FnMut(Stream, &[u8]) -> io::Result<()>;

/// An attempt whose log is read.
struct LogTarget {
    path: RelPath,
    taken: PrdOrigin,
    name: PrdName,
    task: TaskId,
    attempt: AttemptRun,
}

impl Kitchen<'_> {
    /// Returns the log of an attempt.
    ///
    /// # Errors
    /// Fails if the PRD, task or attempt does not exist, or on a disk error.
    pub fn log(&self, search: &PrdSearch, request: LogRequest<'_>) -> Result<KitchenLogReport, Failure> {
        let target = self.select_attempt(search, request)?;
        let running = self.is_running(&target)?;
        let receipt = Receipts::new(&*self.fs).read(&target.attempt.run)?;
        let (stdout, stderr) = Receipts::new(&*self.fs).logs(&target.attempt.run);
        let text = |path: RelPath, row: Option<&LogRow>| -> Result<LogText, Failure> {
            let mut tail = Tail::default();
            let mut reader = LogReader { path: path.clone(), offset: 0 };
            // Adding to a tail cannot fail.
            let _ = reader.pass(&*self.fs, row, None, &mut |bytes| {
                tail.take(bytes);
                Ok(())
            })?;
            let (text, omitted_bytes) = tail.text();
            Ok(LogText { path: path.to_string(), text, omitted_bytes })
        };
        let row = |of: fn(&KitchenReceipt) -> Option<&LogRow>| receipt.as_ref().and_then(of);
        Ok(KitchenLogReport {
            schema: KitchenLogReport::SCHEMA,
            target: self.target(),
            prd_path: target.path.to_string(),
            taken: target.taken,
            task: target.task,
            attempt: target.attempt.number,
            tier: target.attempt.tier,
            run: target.attempt.run,
            running,
            stdout: text(stdout, row(|receipt| receipt.stdout.as_ref()))?,
            stderr: text(stderr, row(|receipt| receipt.stderr.as_ref()))?,
        })
    }

    /// Passes on the log of an attempt in pieces, up to its current end or until the attempt has ended. Stops at an
    /// error of `sink`.
    ///
    /// # Errors
    /// Fails if the PRD, task or attempt does not exist, or on a disk error.
    pub fn pass_log(
        &self,
        search: &PrdSearch,
        request: LogRequest<'_>,
        end: LogEnd<'_>,
        sink: LogSink<'_>,
    ) -> Result<ControlFlow<io::Error>, Failure> {
        let target = self.select_attempt(search, request)?;
        let receipts = Receipts::new(&*self.fs);
        let (stdout, stderr) = receipts.logs(&target.attempt.run);
        let mut readers = [
            (Stream::Stdout, LogReader { path: stdout, offset: 0 }),
            (Stream::Stderr, LogReader { path: stderr, offset: 0 }),
        ];
        let cancel = match end {
            LogEnd::Now => None,
            LogEnd::OfAttempt(cancel) => Some(cancel),
        };
        let mut last_reading = LastReading::default();
        loop {
            // Checked before reading, so that all output written before the end is passed on.
            let goes_on = cancel.is_some() && self.still_runs(&target, &mut last_reading)?;
            let receipt = receipts.read(&target.attempt.run)?;
            for (stream, reader) in &mut readers {
                let row = receipt.as_ref().and_then(|receipt| match stream {
                    Stream::Stdout => receipt.stdout.as_ref(),
                    Stream::Stderr => receipt.stderr.as_ref(),
                });
                let passed = reader.pass(&*self.fs, row, cancel, &mut |bytes| sink(*stream, bytes))?;
                if passed.is_break() {
                    return Ok(passed);
                }
            }
            if !goes_on || cancel.is_some_and(|cancel| cancel.wait(POLL)) {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// Finds the requested attempt.
    fn select_attempt(&self, search: &PrdSearch, request: LogRequest<'_>) -> Result<LogTarget, Failure> {
        let found = self.prd(search, Lints::NONE)?;
        let life = self.life(&found.name)?;
        let id = request.task.parse::<TaskId>().ok();
        // A task that was removed from the PRD still has its attempts.
        let known = |id: &TaskId| {
            life.tasks.contains_key(id) || found.reading.prd.tasks.iter().any(|task| task.id == *id)
        };
        let Some(task) = id.filter(known) else {
            let known = found.reading.prd.tasks.iter().map(|task| task.id.clone()).collect();
            return Err(unknown_tasks(UnknownTasks { unknown: vec![request.task.to_owned()], known }));
        };
        let runs = life.tasks.get(&task).map(|own| own.runs.as_slice()).unwrap_or_default();
        let attempt = match request.attempt {
            None => runs.last(),
            Some(number) => runs.iter().rev().find(|attempt| attempt.number == number),
        };
        let Some(attempt) = attempt else {
            return Err(no_attempt(&found.path, &found.name.shown(&task), request.attempt, runs));
        };
        let attempt = attempt.clone();
        Ok(LogTarget { path: found.path, taken: found.taken, name: found.name, task, attempt })
    }

    /// Returns whether an attempt runs: its end is not recorded, and its service is alive.
    fn is_running(&self, target: &LogTarget) -> Result<bool, Failure> {
        let life = self.life(&target.name)?;
        let stage = life.tasks.get(&target.task).map(|own| &own.stage);
        let is_it = matches!(stage, Some(Stage::Attempting { run, .. }) if *run == target.attempt.run);
        Ok(is_it && ServiceLock::holder(&*self.fs, &target.name)?.is_some())
    }

    /// Returns the same, without reading an unchanged journal again.
    fn still_runs(&self, target: &LogTarget, last_reading: &mut LastReading) -> Result<bool, Failure> {
        let now = self.fs.metadata(&PrdFiles::new(&target.name).journal()).ok();
        if now.is_none() || last_reading.journal != now {
            (last_reading.journal, last_reading.is_running) = (now, self.is_running(target)?);
        }
        Ok(last_reading.is_running && ServiceLock::holder(&*self.fs, &target.name)?.is_some())
    }
}

/// The journal and its result at the last reading.
#[derive(Default)]
struct LastReading {
    journal: Option<Metadata>,
    is_running: bool,
}

/// Returns the error for a missing attempt. It names the existing ones.
fn no_attempt(path: &RelPath, shown: &str, typed: Option<u64>, runs: &[AttemptRun]) -> Failure {
    let message = match typed {
        Some(number) if !runs.is_empty() => format!("{shown} has no attempt {number}"),
        _ => format!("no attempt of {shown} was made yet"),
    };
    let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::RunMissing);
    if runs.is_empty() {
        return failure.hint(NextStep::KitchenStatus(path.to_string()));
    }
    let mut numbers: Vec<String> =
        runs.iter().rev().take(MAX_NAMED).rev().map(|attempt| attempt.number.to_string()).collect();
    if MAX_NAMED < runs.len() {
        numbers.insert(0, "…".to_owned());
    }
    failure.hint(escape_terminal(&format!("there are {}", numbers.join(", "))).into_owned())
}

/// Reads one log from its start, as far as it exists.
struct LogReader {
    path: RelPath,
    /// How many bytes of output were passed on or omitted.
    offset: u64,
}

impl LogReader {
    /// Passes on new output. `row` is the log in the receipt, if there is one.
    fn pass(
        &mut self,
        fs: &dyn Fs,
        row: Option<&LogRow>,
        cancel: Option<&CancelToken>,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<ControlFlow<io::Error>, FsError> {
        let Some(file) = fs.open(&self.path).or_absent()? else { return Ok(ControlFlow::Continue(())) };
        let length = file.len()?;
        if let Some(row) = row {
            let (from, total) = place_in(row, self.offset);
            let passed = pass_log(&*file, from, length, cancel, sink)?;
            self.offset = total;
            return Ok(passed.map_continue(|_| ()));
        }
        if self.offset < length {
            match pass_log(&*file, self.offset, length, cancel, sink)? {
                ControlFlow::Continue(end) => self.offset = end,
                ControlFlow::Break(error) => return Ok(ControlFlow::Break(error)),
            }
        }
        for (number, path) in self.parts(fs)? {
            // The part was removed because a newer one was written.
            let Some(part) = fs.open(&path).or_absent()? else { continue };
            // The file has half of the maximum size. So has each part but the last.
            let start = length.saturating_mul(number + 1);
            if self.offset < start {
                if let Err(error) = sink(left_out(start - self.offset).as_bytes()) {
                    return Ok(ControlFlow::Break(error));
                }
                self.offset = start;
            }
            match pass_log(&*part, self.offset - start, part.len()?, cancel, sink)? {
                ControlFlow::Continue(end) => self.offset = start + end,
                ControlFlow::Break(error) => return Ok(ControlFlow::Break(error)),
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Lists the part files, the oldest first.
    fn parts(&self, fs: &dyn Fs) -> Result<Vec<(u64, RelPath)>, FsError> {
        let folder = self.path.parent();
        let mut parts = Vec::new();
        for entry in fs.list_dir(&folder)? {
            if let Some(number) = part_number(&entry.name, self.path.name())
                && let Ok(path) = folder.join(&entry.name)
            {
                parts.push((number, path));
            }
        }
        parts.sort();
        Ok(parts)
    }
}

/// Returns the position in a complete log that follows `offset` of the output, and the length of the output.
fn place_in(row: &LogRow, offset: u64) -> (u64, u64) {
    if row.left_out == 0 {
        return (offset.min(row.bytes), row.bytes);
    }
    let note = left_out(row.left_out).len() as u64;
    let kept = row.bytes.saturating_sub(note);
    let (first, total) = (kept.div_ceil(2), kept + row.left_out);
    let last = kept - first;
    if offset <= first {
        (offset, total)
    } else if offset <= total - last {
        // The omission is reported again, because it may have grown.
        (first, total)
    } else {
        (row.bytes - (total - offset.min(total)), total)
    }
}

/// Keeps the last mebibyte of its input.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Tail {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let shown = usize::try_from(LOG_SHOWN).unwrap_or(usize::MAX);
        // Dropping many bytes at once keeps this linear for a long log.
        if 2 * shown < self.bytes.len() {
            self.cut(shown);
        }
    }

    fn cut(&mut self, shown: usize) {
        let mut surplus = self.bytes.len().saturating_sub(shown);
        // Do not split a character.
        while 0 < surplus && self.bytes.get(surplus).is_some_and(|byte| byte & 0xc0 == 0x80) {
            surplus += 1;
        }
        self.bytes.drain(..surplus.min(self.bytes.len()));
        self.dropped += surplus as u64;
    }

    fn text(mut self) -> (String, u64) {
        self.cut(usize::try_from(LOG_SHOWN).unwrap_or(usize::MAX));
        (String::from_utf8_lossy(&self.bytes).into_owned(), self.dropped)
    }
}

#[cfg(test)]
mod tests;
