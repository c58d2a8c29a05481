//! The journal of a PRD: an append-only file of records, and the only source of its state.
//!
//! A record is acknowledged after it is synced. Torn lines of a crash and foreign lines are reported by every reader.
//! The next writer moves them to a quarantine. Records have numbers without gaps, so a lost record is noticed. A
//! journal with records of a newer version is read but never changed.
//!
//! Every record carries a MAC of this host. A record without a valid one, such as of a cloned repository, is counted
//! but has no effect, until a person [adopts](PrdJournal::adopt) the journal.
//!
//! Several processes may append: the service, and commands that answer its decisions. Each append takes the lock of the
//! journal for a moment and first reads the new records of others. A separate lock,
//! [`ServiceLock`](crate::ServiceLock), decides which process serves a PRD.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use brigade_core::{Clock, Dialect, ErrorCode, ErrorKind, Hint, Json, OperationError, Timestamp};
use brigade_fs::{FileId, Fs, FsError, FsErrorKind, Line, Lines, ReadFile, WorkspaceKey};
use brigade_journal::LineFile;
use brigade_kitchen::PrdName;
use brigade_kitchen::life::{Entry, Life, Line as JournalLine, Record};
use thiserror::Error;

mod saved;
mod sealed;
pub(crate) mod seen;
mod signed;

use crate::lock::HOLDER;
use crate::paths::PrdFiles;
use signed::Signer;

/// The maximum size of a line that is read. Records are far smaller.
const MAX_LINE: usize = 64 << 20;

/// Why a journal could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A disk or lock error.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// It has records of a newer version.
    #[error("`{path}` has {records} {s} of a newer version of Brigade; use that version to change it", s = if *records == 1 { "record" } else { "records" })]
    Newer {
        /// The journal.
        path: String,
        /// The number of such records.
        records: u64,
    },
    /// Acknowledged records are missing, or the file was replaced.
    #[error("another program changed `{path}`: it has only {has} of {acknowledged} written records")]
    Lost {
        /// The journal.
        path: String,
        /// How many records were acknowledged.
        acknowledged: u64,
        /// How many of them it still has.
        has: u64,
    },
}

impl OperationError for JournalError {
    fn kind(&self) -> ErrorKind {
        match self {
            JournalError::Fs(error) => error.kind(),
            JournalError::Newer { .. } | JournalError::Lost { .. } => ErrorKind::Refused,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            JournalError::Fs(error) => error.code(),
            JournalError::Newer { .. } => Some(ErrorCode::NewerVersion),
            JournalError::Lost { .. } => Some(ErrorCode::JournalLost),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            JournalError::Fs(error) => error.hints(),
            JournalError::Newer { .. } | JournalError::Lost { .. } => Vec::new(),
        }
    }
}

/// Damage of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalFault {
    /// The line, from 1, if the damage is on one line.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: JournalProblem,
}

/// What is wrong with a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JournalProblem {
    /// Something other than a file has its name.
    #[error("it is not a file; the next writer moves it to a quarantine")]
    NotAFile,
    /// A crash cut off the last line.
    #[error("the last line was torn off by a crash; the next writer moves it to a quarantine")]
    Torn,
    /// A line that is not a record.
    #[error("not a record; the next writer moves it to a quarantine")]
    Foreign,
    /// A record with a number that occurred before.
    #[error("duplicate record {0}; the next writer moves the line to a quarantine")]
    Repeated(u64),
    /// A record whose number does not fit its neighbors.
    #[error("the record {0} is out of order; the next writer moves the line to a quarantine")]
    OutOfOrder(u64),
    /// Records are missing.
    #[error("the records {from} to {to} are missing")]
    Missing {
        /// The first missing number.
        from: u64,
        /// The last missing number.
        to: u64,
    },
}

impl JournalProblem {
    /// Returns whether the next writer sets the line aside.
    pub fn is_set_aside(self) -> bool {
        !matches!(self, JournalProblem::Missing { .. })
    }
}

/// The state after reading a journal up to an offset.
#[derive(Clone, Debug, Default)]
struct JournalReading {
    life: Life,
    /// How many records this host has not signed.
    unsigned: u64,
    faults: Vec<JournalFault>,
    /// The file, if it exists.
    file: Option<FileId>,
    /// The offset of the next line, and its number.
    offset: u64,
    line: u64,
    /// Whether the last line is a record without its line feed.
    is_unterminated: bool,
    last_at: Option<Timestamp>,
    /// Lines whose record numbers do not fit those of most others.
    out_of_order: BTreeSet<u64>,
}

/// How to treat a last line without a line feed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLine {
    /// No process is writing it. It is a record, or torn.
    Counts,
    /// It may be incomplete, so it is read later.
    IsBeingWritten,
}

/// The result of parsing a line.
enum ParsedLine {
    Record(Entry),
    Blank,
    Fault(JournalProblem),
}

fn parse_line(line: &Line<'_>, seq: u64) -> ParsedLine {
    if line.bytes.iter().all(u8::is_ascii_whitespace) {
        return ParsedLine::Blank;
    }
    let json =
        if line.bytes.len() <= MAX_LINE { Json::parse_bytes(line.bytes, Dialect::Strict).ok() } else { None };
    match json.and_then(|json| Entry::read(json).ok()) {
        Some(entry) if entry.seq() <= seq => ParsedLine::Fault(JournalProblem::Repeated(entry.seq())),
        Some(entry) => ParsedLine::Record(entry),
        None if !line.is_complete => ParsedLine::Fault(JournalProblem::Torn),
        None => ParsedLine::Fault(JournalProblem::Foreign),
    }
}

/// Returns the lines that are outside of the longest sequence of increasing numbers. Of equal numbers, the first
/// counts.
fn out_of_order(file: &dyn ReadFile) -> Result<BTreeSet<u64>, FsError> {
    let mut lines = Lines::new(file, 0, file.len()?);
    // Each record, with its predecessor in the longest sequence that ends with it.
    let mut records: Vec<(u64, u64, Option<usize>)> = Vec::new();
    // For each length, the record with the lowest number that ends a sequence of that length.
    let mut ends: Vec<usize> = Vec::new();
    let mut number = 0;
    while let Some(line) = lines.next_line()? {
        number += 1;
        let ParsedLine::Record(entry) = parse_line(&line, 0) else { continue };
        let length = ends.partition_point(|end| records[*end].1 < entry.seq());
        let before = length.checked_sub(1).map(|before| ends[before]);
        records.push((number, entry.seq(), before));
        let this = records.len() - 1;
        match ends.get(length) {
            None => ends.push(this),
            Some(end) if entry.seq() < records[*end].1 => ends[length] = this,
            Some(_) => {}
        }
    }
    let mut out: BTreeSet<u64> = records.iter().map(|(number, ..)| *number).collect();
    let mut at = ends.last().copied();
    while let Some(record) = at {
        out.remove(&records[record].0);
        at = records[record].2;
    }
    Ok(out)
}

impl JournalReading {
    /// Reads appended lines.
    fn read_new_lines(
        &mut self,
        file: &dyn ReadFile,
        last: LastLine,
        signer: &Signer,
    ) -> Result<(), FsError> {
        let end = file.len()?;
        let mut lines = Lines::new(file, self.offset, end);
        while let Some(line) = lines.next_line()? {
            if last == LastLine::IsBeingWritten && !line.is_complete {
                return Ok(());
            }
            self.line += 1;
            self.offset = line.offset + line.bytes.len() as u64 + u64::from(line.is_complete);
            self.is_unterminated = !line.is_complete;
            match parse_line(&line, self.life.seq) {
                ParsedLine::Blank => {}
                ParsedLine::Record(entry) if self.out_of_order.contains(&self.line) => {
                    let problem = JournalProblem::OutOfOrder(entry.seq());
                    self.faults.push(JournalFault { line: Some(self.line), problem });
                }
                ParsedLine::Record(entry) => self.take(entry, signer.is_signed(line.bytes)),
                ParsedLine::Fault(problem) => {
                    self.faults.push(JournalFault { line: Some(self.line), problem })
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: Entry, is_signed: bool) {
        let (seq, expected) = (entry.seq(), self.life.seq + 1);
        if expected < seq {
            let problem = JournalProblem::Missing { from: expected, to: seq - 1 };
            self.faults.push(JournalFault { line: Some(self.line), problem });
        }
        self.life.seq = seq;
        match entry {
            Entry::Known(line) => {
                self.last_at = self.last_at.max(Some(line.at));
                match is_signed {
                    true => self.life.apply(line.at, &line.record),
                    false => self.unsigned += 1,
                }
            }
            Entry::Newer { .. } => self.life.newer += 1,
        }
    }

    /// Returns whether a record with too high a number may make later records look repeated.
    fn has_shadowed(&self) -> bool {
        let has = |is_it: fn(&JournalProblem) -> bool| self.faults.iter().any(|fault| is_it(&fault.problem));
        has(|problem| matches!(problem, JournalProblem::Missing { .. }))
            && has(|problem| matches!(problem, JournalProblem::Repeated(_)))
    }

    fn from_file(file: &LineFile<'_>, signer: &Signer) -> Result<JournalReading, FsError> {
        let mut read = JournalReading::default();
        match file.open() {
            Ok(Some(opened)) => {
                read.file = Some(opened.id()?);
                read.read_new_lines(&*opened, LastLine::Counts, signer)?;
                if read.has_shadowed() {
                    let (file, out_of_order) = (read.file, out_of_order(&*opened)?);
                    read = JournalReading { file, out_of_order, ..JournalReading::default() };
                    read.read_new_lines(&*opened, LastLine::Counts, signer)?;
                }
            }
            Ok(None) => {}
            Err(error) if error.kind == FsErrorKind::NotAFile => {
                read.faults.push(JournalFault { line: None, problem: JournalProblem::NotAFile });
            }
            Err(error) => return Err(error),
        }
        Ok(read)
    }

    /// Reads the journal, starting from its cache if there is one.
    fn with_cache(fs: &dyn Fs, files: &PrdFiles, signer: &Signer) -> Result<JournalReading, FsError> {
        let (file, cache) = (LineFile::new(fs, files.folder(), "journal"), files.journal_cache());
        let opened = match file.open() {
            Ok(Some(opened)) if saved::SAVE_INTERVAL_BYTES <= opened.len()? => opened,
            _ => return JournalReading::from_file(&file, signer),
        };
        let id = opened.id()?;
        let mut read = saved::recall(fs, &cache, &*opened, id)
            .unwrap_or_else(|| JournalReading { file: Some(id), ..JournalReading::default() });
        let known = read.offset;
        read.read_new_lines(&*opened, LastLine::Counts, signer)?;
        if read.has_shadowed() {
            return JournalReading::from_file(&file, signer);
        }
        if saved::SAVE_INTERVAL_BYTES <= read.offset - known
            && let Err(error) = saved::keep(fs, &cache, &*opened, id, &read)
        {
            tracing::debug!(file = %cache, %error, "a cache is not written");
        }
        Ok(read)
    }

    /// Reads new lines. Returns false if the whole journal must be read again.
    fn catch_up(&mut self, file: &LineFile<'_>, last: LastLine, signer: &Signer) -> Result<bool, FsError> {
        let opened = match file.open() {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(self.file.is_none()),
            Err(_) => return Ok(false),
        };
        let same = self.file == Some(opened.id()?) && self.offset <= opened.len()?;
        if !same || (self.is_unterminated && self.offset < opened.len()?) {
            return Ok(false);
        }
        if self.offset < opened.len()? {
            let known = self.faults.len();
            self.read_new_lines(&*opened, last, signer)?;
            return Ok(known == self.faults.len() || !self.has_shadowed());
        }
        Ok(true)
    }

    /// Returns the records of this version with a number greater than `seq`.
    fn lines_after(
        &self,
        file: &LineFile<'_>,
        seq: u64,
        signer: &Signer,
    ) -> Result<Vec<JournalLine>, FsError> {
        let file = match file.open() {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(Vec::new()),
            Err(error) if error.kind == FsErrorKind::NotAFile => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let (mut lines, mut found, mut last) = (Lines::new(&*file, 0, file.len()?), Vec::new(), 0);
        let mut number = 0;
        while let Some(line) = lines.next_line()? {
            number += 1;
            let ParsedLine::Record(entry) = parse_line(&line, last) else { continue };
            if self.out_of_order.contains(&number) {
                continue;
            }
            last = entry.seq();
            match entry {
                Entry::Known(_) if !signer.is_signed(line.bytes) => {}
                Entry::Known(line) if seq < last && last <= self.life.seq => found.push(*line),
                Entry::Known(_) | Entry::Newer { .. } => {}
            }
        }
        Ok(found)
    }

    fn needs_repair(&self) -> bool {
        self.faults.iter().any(|fault| fault.problem.is_set_aside())
    }
}

/// A process's handle for reading and writing the journal of a PRD.
pub struct PrdJournal {
    fs: Arc<dyn Fs>,
    signer: Signer,
    clock: Arc<dyn Clock>,
    files: PrdFiles,
    lock_timeout: Duration,
    read: JournalReading,
    set_aside: u64,
    /// Whether a write failed, so that memory and disk may differ.
    is_stale: bool,
    /// The number of this process's last record, and the service that it belongs to.
    acknowledged: (u64, Option<String>),
}

/// The state of a journal, and its damage.
#[derive(Clone, Debug, Default)]
pub struct JournalState {
    /// The life of the PRD.
    pub life: Life,
    /// Damage, in the order of lines.
    pub faults: Vec<JournalFault>,
    /// Whether the journal exists.
    pub exists: bool,
    /// How many records have no effect, because this host has not signed them.
    pub unsigned: u64,
    /// The file, and how many bytes of it were read.
    pub(crate) covered: Option<(FileId, u64)>,
}

impl PrdJournal {
    /// Reads a journal. Never waits and never writes.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn read(fs: &dyn Fs, key: &Arc<WorkspaceKey>, files: &PrdFiles) -> Result<JournalState, FsError> {
        require_untracked(fs, files)?;
        let read = JournalReading::with_cache(fs, files, &Signer::new(key.clone(), files))?;
        let covered = read.file.map(|file| (file, read.offset));
        let JournalReading { life, faults, unsigned, .. } = read;
        Ok(JournalState { life, faults, exists: read.file.is_some(), unsigned, covered })
    }

    /// Opens a journal for writing. Creates nothing before the first append.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn open(
        fs: Arc<dyn Fs>,
        key: &Arc<WorkspaceKey>,
        files: PrdFiles,
        clock: Arc<dyn Clock>,
        lock_timeout: Duration,
    ) -> Result<PrdJournal, JournalError> {
        require_untracked(&*fs, &files)?;
        let signer = Signer::new(key.clone(), &files);
        let read = JournalReading::from_file(&LineFile::new(&*fs, files.folder(), "journal"), &signer)?;
        Ok(PrdJournal {
            fs,
            signer,
            clock,
            files,
            lock_timeout,
            read,
            set_aside: 0,
            is_stale: false,
            acknowledged: (0, None),
        })
    }

    /// Returns the life, as of the last read.
    pub fn life(&self) -> &Life {
        &self.read.life
    }

    /// Returns how many records have no effect, because this host has not signed them.
    pub fn unsigned(&self) -> u64 {
        self.read.unsigned
    }

    /// Returns the damage, as of the last read.
    pub fn faults(&self) -> &[JournalFault] {
        &self.read.faults
    }

    /// Returns how many lines this process moved to the quarantine.
    pub fn set_aside(&self) -> u64 {
        self.set_aside
    }

    /// Returns the current time, or the time of the last record if that is later.
    pub fn now(&self) -> Timestamp {
        let now = self.clock.now();
        self.read.last_at.map_or(now, |last| last.max(now))
    }

    /// Reads records that other processes appended. Returns whether there were any.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn refresh(&mut self) -> Result<bool, JournalError> {
        let before = (self.read.file, self.read.offset);
        let (fs, files) = (self.fs.clone(), self.files.clone());
        let file = LineFile::new(&*fs, files.folder(), "journal");
        if self.is_stale || !self.read.catch_up(&file, LastLine::IsBeingWritten, &self.signer)? {
            self.read = JournalReading::from_file(&file, &self.signer)?;
            self.is_stale = false;
            self.require_acknowledged(&file)?;
        }
        Ok(before != (self.read.file, self.read.offset))
    }

    /// Returns the records of this version with a number greater than `seq`.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn lines_after(&self, seq: u64) -> Result<Vec<JournalLine>, FsError> {
        let file = LineFile::new(&*self.fs, self.files.folder(), "journal");
        self.read.lines_after(&file, seq, &self.signer)
    }

    /// Reads a journal, with all records of this version.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub(crate) fn read_lines(
        fs: &dyn Fs,
        key: &Arc<WorkspaceKey>,
        name: &PrdName,
    ) -> Result<(Life, Vec<JournalLine>), FsError> {
        let files = PrdFiles::new(name);
        require_untracked(fs, &files)?;
        let (file, signer) = (LineFile::new(fs, files.folder(), "journal"), Signer::new(key.clone(), &files));
        let read = JournalReading::from_file(&file, &signer)?;
        let lines = read.lines_after(&file, 0, &signer)?;
        Ok((read.life, lines))
    }

    /// Appends a record. Returns its number once it is synced.
    ///
    /// # Errors
    /// Fails if the journal has records of a newer version, or on a disk error. Then nothing is recorded.
    pub fn append(&mut self, record: Record) -> Result<u64, JournalError> {
        self.append_all(vec![record]).map(|_| self.read.life.seq)
    }

    /// Appends records in one write. Returns their lines. A crash may keep only the first ones.
    ///
    /// # Errors
    /// Same as [`PrdJournal::append`].
    pub fn append_all(&mut self, records: Vec<Record>) -> Result<Vec<JournalLine>, JournalError> {
        self.append_with(|_, _| records)
    }

    /// Appends records computed from the current state, under the lock of the journal, so that no other record comes
    /// between. Returns their lines.
    ///
    /// # Errors
    /// Same as [`PrdJournal::append`].
    pub fn append_with(
        &mut self,
        records: impl FnOnce(&Life, Timestamp) -> Vec<Record>,
    ) -> Result<Vec<JournalLine>, JournalError> {
        let (fs, files) = (self.fs.clone(), self.files.clone());
        fs.create_dir_all(files.folder())?;
        let holder = format!("{} {HOLDER}", std::process::id());
        let _lock = fs.lock(&files.journal_lock(), &holder, self.lock_timeout)?;
        let file = LineFile::new(&*fs, files.folder(), "journal");
        if self.is_stale || !self.read.catch_up(&file, LastLine::Counts, &self.signer)? {
            self.read = JournalReading::from_file(&file, &self.signer)?;
            self.is_stale = false;
            self.require_acknowledged(&file)?;
        }
        if 0 < self.read.life.newer {
            let path = file.path().to_string();
            return Err(JournalError::Newer { path, records: self.read.life.newer });
        }
        if self.read.needs_repair() {
            self.repair(&file)?;
        }
        let at = self.now();
        let records = records(&self.read.life, at);
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let mut bytes = if self.read.is_unterminated { "\n".to_owned() } else { String::new() };
        let mut written = Vec::with_capacity(records.len());
        for record in records {
            let line = JournalLine::new(self.read.life.seq + 1 + written.len() as u64, at, record);
            bytes.push_str(&self.signer.sign(&line.to_text().expect("records of this version are JSON"))?);
            bytes.push('\n');
            written.push(line);
        }
        self.is_stale = true;
        fs.append_durable(&file.path(), bytes.as_bytes())?;
        self.is_stale = false;
        self.read.offset += bytes.len() as u64;
        self.read.line += written.len() as u64;
        self.read.is_unterminated = false;
        if self.read.file.is_none() {
            self.read.file = file.open()?.map(|opened| opened.id()).transpose()?;
        }
        for line in &written {
            self.read.take(Entry::Known(Box::new(line.clone())), true);
        }
        let life = &self.read.life;
        self.acknowledged = (life.seq, life.service.as_ref().map(|service| service.id.clone()));
        Ok(written)
    }

    /// Fails if acknowledged records are missing. Then nothing may continue that depends on them.
    fn require_acknowledged(&self, file: &LineFile<'_>) -> Result<(), JournalError> {
        let (acknowledged, service) = &self.acknowledged;
        let life = &self.read.life;
        let is_its = service.is_none() || life.service.as_ref().map(|found| &found.id) == service.as_ref();
        if *acknowledged <= life.seq && is_its {
            return Ok(());
        }
        let path = file.path().to_string();
        let has = if is_its { life.seq } else { 0 };
        Err(JournalError::Lost { path, acknowledged: *acknowledged, has })
    }

    /// Moves lines that are not records to the quarantine. Missing records stay reported.
    fn repair(&mut self, file: &LineFile<'_>) -> Result<(), JournalError> {
        let (mut seq, mut number) = (0, 0);
        let out_of_order = std::mem::take(&mut self.read.out_of_order);
        self.set_aside += file.set_aside(|line| {
            number += 1;
            match parse_line(line, seq) {
                ParsedLine::Blank => true,
                ParsedLine::Record(_) if out_of_order.contains(&number) => false,
                ParsedLine::Record(entry) => {
                    seq = entry.seq();
                    true
                }
                ParsedLine::Fault(_) => false,
            }
        })?;
        self.read = JournalReading::from_file(file, &self.signer)?;
        Ok(())
    }
}

/// Returns whether git tracks a journal. Without a journal, nothing is read.
pub(crate) fn is_tracked(fs: &dyn Fs, files: &PrdFiles) -> Result<bool, FsError> {
    Ok(fs.exists(&files.journal())? && brigade_fs::is_tracked(fs, files.journal().as_str()))
}

/// Refuses a journal that git tracks.
fn require_untracked(fs: &dyn Fs, files: &PrdFiles) -> Result<(), FsError> {
    match is_tracked(fs, files)? {
        true => Err(FsError::new("use", files.journal().as_str(), FsErrorKind::Tracked)),
        false => Ok(()),
    }
}

/// Lists the quarantine files of a journal, relative to the workspace.
pub(crate) fn quarantined(fs: &dyn Fs, files: &PrdFiles) -> Vec<String> {
    let entries = fs.list_dir(files.folder()).unwrap_or_default().into_iter();
    let mut names: Vec<String> = entries.map(|entry| entry.name).collect();
    names.retain(|name| name.starts_with("journal.quarantine-"));
    names.sort();
    names.into_iter().map(|name| format!("{}/{name}", files.folder())).collect()
}

/// Describes the quarantine files of a journal, if there are any.
pub(crate) fn set_aside_notes(fs: &dyn Fs, files: &PrdFiles) -> Vec<String> {
    let note = |file: String| {
        format!("lines that are not records were moved to `{file}`; look at them, then remove the file")
    };
    quarantined(fs, files).into_iter().map(note).collect()
}

#[cfg(test)]
mod tests;
