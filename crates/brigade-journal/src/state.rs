//! All records at one moment: the journal and the segments that it names.
//!
//! The first line of the journal is its header. The header names the segments in use, so replacing the journal is the
//! single step that commits a compaction. An open journal is a consistent view: segments never change, and they are
//! removed only after no journal names them. A reader that misses a removed segment starts again with the new journal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_core::json::compact_text;
use brigade_core::{Dialect, Extra, Json, record};
use brigade_fs::{FileId, Fs, FsError, FsErrorKind, Lines, RelPath, in_directory};

use serde::{Deserialize, Serialize};

use crate::entry::{Content, Kind, codes, look_at};
use crate::error::JournalError;
use crate::layout::{Layout, segment_name, segment_number};
use crate::ledger::Ledger;
use crate::log::{LatestLine, ListedLine, Log};
use crate::quarantine;
use crate::writer::Writer;

/// The version of the journal that this code writes.
pub(crate) const JOURNAL_VERSION: i64 = 1;

/// The first line of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Header {
    /// The format version.
    #[serde(rename = "queue_version")]
    pub version: i64,
    /// Incremented with every replacement of the journal.
    pub generation: u64,
    /// The highest sequence assigned when the journal was replaced.
    pub sequence: u64,
    /// The numbers of the segments, oldest first.
    #[serde(default, with = "segment_names")]
    pub segments: Vec<u64>,
    /// The highest ledger sequence that the records named when the journal was replaced. Absent in earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<u64>,
    /// Members that this version does not know.
    #[serde(skip)]
    pub extra: Extra,
}

record!(Header);

impl Header {
    pub(crate) fn to_line(&self) -> String {
        let mut header = self.clone();
        header.extra.complete();
        format!("{}\n", compact_text(&header).expect("a record is JSON"))
    }

    fn from_line(line: &[u8]) -> Option<Header> {
        match Json::parse_bytes(line, Dialect::Lenient) {
            Ok(Json::Object(members)) => Header::from_members(members).ok(),
            _ => None,
        }
    }
}

/// Serializes segments by their file names.
mod segment_names {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{segment_name, segment_number};

    pub(super) fn serialize<S: Serializer>(segments: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(segments.iter().map(|number| segment_name(*number)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        Ok(names.iter().filter_map(|name| segment_number(name)).collect())
    }
}

/// How damage can be repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageRepair {
    /// A compaction moves the unreadable data to a quarantine. Nothing is erased.
    SetAside,
    /// The missing data cannot be restored, and the damage remains visible.
    Stays,
}

/// Part of the state that is unreadable or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line, from 1, if the damage is in one line.
    pub line: Option<u64>,
    /// The problem.
    pub problem: &'static str,
    /// How it can be repaired.
    pub mending: DamageRepair,
}

/// A journal in its directory.
pub struct Journal {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) layout: Layout,
    pub(crate) kind: Arc<dyn Kind>,
}

impl Journal {
    /// Opens a journal without accessing the disk.
    pub fn new(fs: Arc<dyn Fs>, layout: Layout, kind: Arc<dyn Kind>) -> Arc<Journal> {
        Arc::new(Journal { fs, layout, kind })
    }

    /// Returns the file system that contains the journal.
    pub fn fs(&self) -> &Arc<dyn Fs> {
        &self.fs
    }

    /// Returns the kind of its records.
    pub fn kind(&self) -> &dyn Kind {
        &*self.kind
    }

    /// Returns its paths.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the ledger of its documents.
    pub fn ledger(&self) -> Ledger<'_> {
        Ledger::new(&*self.fs, self.layout.documents())
    }

    /// Reads all records as they are now. Never waits and never writes.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn load(self: &Arc<Journal>) -> Result<State, FsError> {
        let mut attempt = 1;
        loop {
            match State::try_load(self, attempt == MAX_ATTEMPTS)? {
                Some(state) => return Ok(state),
                None => attempt += 1,
            }
        }
    }

    /// Waits for the lock and holds it until the writer is dropped. Processes whose wait times out are shown `holder`.
    ///
    /// # Errors
    /// Fails if the lock is not free within `timeout`, or on a disk error.
    pub fn lock(self: &Arc<Journal>, holder: &str, timeout: Duration) -> Result<Writer, JournalError> {
        self.lock_knowing(|| None, holder, timeout)
    }

    /// Like [`Journal::lock`], for a caller that may have an earlier state. The state is requested after the lock is
    /// acquired. Only lines that were appended since are read. [`Writer::is_known`] returns whether that was possible.
    ///
    /// # Errors
    /// Like [`Journal::lock`].
    pub fn lock_knowing(
        self: &Arc<Journal>,
        known: impl FnOnce() -> Option<State>,
        holder: &str,
        timeout: Duration,
    ) -> Result<Writer, JournalError> {
        let _span = tracing::debug_span!("lock", file = %self.layout.lock()).entered();
        let waited = Instant::now();
        let lock = || self.fs.lock(&self.layout.lock(), holder, timeout);
        let lock = in_directory(&*self.fs, self.layout.directory(), lock)?;
        tracing::debug!(waited_ms = millis(waited), "acquired the journal lock");
        if let Some(mut state) = known()
            && state.catch_up()?
        {
            return Ok(Writer::new(state, lock, true));
        }
        Ok(Writer::new(self.load()?, lock, false))
    }
}

/// All records at one moment.
pub struct State {
    pub(crate) place: Arc<Journal>,
    /// `None` if nothing was ever recorded, or the journal's name is taken.
    pub(crate) journal: Option<Log>,
    /// The identity and length of the journal file.
    loaded: Option<(FileId, u64)>,
    pub(crate) header: Option<Header>,
    /// Oldest first.
    pub(crate) segments: Vec<Log>,
    /// Damage to whole files.
    pub(crate) damage: Vec<Damage>,
    /// Whether the journal's name is taken by something that is not a file.
    pub(crate) is_blocked: bool,
    /// The segments that the journal names but that are missing.
    pub(crate) lost_segments: Vec<RelPath>,
}

/// How often a reader starts again if segments vanish.
const MAX_ATTEMPTS: usize = 32;

impl State {
    /// Returns `None` if a compaction removed a segment in the meantime.
    fn try_load(place: &Arc<Journal>, is_last: bool) -> Result<Option<State>, FsError> {
        let Journal { fs, layout, kind } = &**place;
        let mut state = State {
            place: place.clone(),
            journal: None,
            loaded: None,
            header: None,
            segments: Vec::new(),
            damage: Vec::new(),
            is_blocked: false,
            lost_segments: Vec::new(),
        };
        match fs.open(&layout.journal()) {
            Ok(file) => {
                let mut start = 0;
                let end = file.len()?;
                state.loaded = Some((file.id()?, end));
                let mut lines = Lines::new(&*file, 0, end);
                if let Some(first) = lines.next_line()?
                    && matches!(look_at(&**kind, first.bytes), Content::Header)
                {
                    state.header = Header::from_line(first.bytes);
                    if state.header.is_some() {
                        start = first.bytes.len() as u64 + u64::from(first.is_complete);
                    }
                }
                let generation = state.header.as_ref().map_or(0, |header| header.generation);
                let (path, index) = (layout.journal(), layout.journal_index());
                state.journal = Some(Log::new(place.clone(), path, index, file, generation, start));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) if error.kind == FsErrorKind::NotAFile => {
                state.is_blocked = true;
                state.damage.push(Damage {
                    path: layout.journal().to_string(),
                    line: None,
                    problem: "it is not a file",
                    mending: DamageRepair::SetAside,
                });
            }
            Err(error) => return Err(error),
        }
        let numbers = match &state.header {
            Some(header) => header.segments.clone(),
            None => segments_on_disk(&**fs, layout)?,
        };
        for number in numbers {
            let path = layout.segment(number);
            match fs.open(&path) {
                Ok(file) => {
                    let index = layout.segment_index(number);
                    state.segments.push(Log::new(place.clone(), path, index, file, number, 0));
                }
                Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotAFile => {
                    let now = match fs.open(&layout.journal()) {
                        Ok(file) => Some(file.id()?),
                        Err(_) => None,
                    };
                    if now != state.loaded.map(|(id, _)| id) && !is_last {
                        return Ok(None);
                    }
                    let problem = kind.words().lost_segment;
                    state.damage.push(Damage {
                        path: path.to_string(),
                        line: None,
                        problem,
                        mending: DamageRepair::SetAside,
                    });
                    state.lost_segments.push(path);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(state))
    }

    /// Returns whether the journal is still the file that was loaded, with the same length.
    pub fn is_current(&self) -> bool {
        let now = self.place.fs.identity(&self.place.layout.journal()).ok();
        self.loaded.is_some() && now == self.loaded
    }

    /// Reads the lines that were appended since this state was read. Returns false if the state could not be updated
    /// this way and must be loaded again.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn catch_up(&mut self) -> Result<bool, FsError> {
        let (Some(journal), Some((id, length))) = (&mut self.journal, self.loaded) else { return Ok(false) };
        if self.header.is_none() || !self.damage.is_empty() || !journal.ends_with_a_line() {
            return Ok(false);
        }
        let Ok(now) = self.place.fs.identity(&self.place.layout.journal()) else { return Ok(false) };
        if now.0 != id || now.1 < length {
            return Ok(false);
        }
        if length < now.1 {
            journal.extend(0, Vec::new())?;
        }
        self.loaded = Some(now);
        Ok(true)
    }

    /// Records the new length of the journal after its writer appended to it.
    pub(crate) fn appended(&mut self) -> Result<(), FsError> {
        if let (Some(journal), Some((_, length))) = (&self.journal, &mut self.loaded) {
            *length = journal.file.len()?;
        }
        Ok(())
    }

    /// Returns whether the journal was written by an earlier program, or lost its header.
    pub fn is_unadopted(&self) -> bool {
        self.header.is_none()
    }

    /// Returns the journal that this state was loaded from.
    pub fn place(&self) -> &Arc<Journal> {
        &self.place
    }

    /// Returns the journal file, or `None` if nothing was ever recorded.
    pub fn journal(&self) -> Option<&Log> {
        self.journal.as_ref()
    }

    /// Counts the segments.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Returns whether the journal's name is taken by something that is not a file.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Checks that the journal's name is not taken by something that is not a file.
    ///
    /// # Errors
    /// Returns [`JournalError::Blocked`] if it is taken.
    pub fn require_journal(&self) -> Result<(), JournalError> {
        if self.is_blocked {
            Err(JournalError::Blocked(self.place.layout.journal().to_string()))
        } else {
            Ok(())
        }
    }

    /// Checks that the journal was not written by a newer version.
    ///
    /// # Errors
    /// Returns [`JournalError::Newer`] if it was.
    pub fn require_our_version(&self) -> Result<(), JournalError> {
        match &self.header {
            Some(Header { version, .. }) if JOURNAL_VERSION < *version => {
                Err(JournalError::Newer(self.place.layout.journal().to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Lists the latest line of every record with its file, the journal first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn list(&self) -> Result<Vec<(&Log, ListedLine)>, JournalError> {
        let mut all = Vec::new();
        for log in self.logs() {
            all.extend(log.list(None)?.into_iter().map(|listed| (log, listed)));
        }
        Ok(all)
    }

    /// Finds the latest lines of unique records that may have this key.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn find_key(&self, key: u64) -> Result<Vec<LatestLine>, JournalError> {
        let mut found = Vec::new();
        for log in self.logs() {
            found.extend(log.find_key(key)?);
        }
        Ok(found)
    }

    /// Returns the journal, then the segments from newest to oldest.
    pub fn logs(&self) -> impl Iterator<Item = &Log> {
        self.journal.iter().chain(self.segments.iter().rev())
    }

    /// Finds the latest line of a record.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn find(&self, id: &str) -> Result<Option<LatestLine>, JournalError> {
        for log in self.logs() {
            if let Some(found) = log.find(id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Finds the ids that start with a prefix, at most `limit`, sorted.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Box<str>>, JournalError> {
        let mut ids = Vec::new();
        for log in self.logs() {
            ids.extend(log.find_prefix(prefix, limit)?);
        }
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(limit);
        Ok(ids)
    }

    /// Counts the records by status code.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn counts(&self) -> Result<Vec<u64>, JournalError> {
        let mut sums = vec![0; codes(&*self.place.kind)];
        for log in self.logs() {
            for (sum, count) in sums.iter_mut().zip(log.counts()?) {
                *sum += count;
            }
        }
        Ok(sums)
    }

    /// Returns the highest sequence ever assigned.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn max_sequence(&self) -> Result<u64, FsError> {
        let mut greatest = self.header.as_ref().map_or(0, |header| header.sequence);
        if let Some(journal) = &self.journal {
            greatest = greatest.max(journal.max_sequence()?);
        }
        // Without a header, only the segments show the highest sequence.
        if self.header.is_none() {
            for segment in &self.segments {
                greatest = greatest.max(segment.max_sequence()?);
            }
        }
        Ok(greatest)
    }

    /// Returns the highest ledger sequence that the records name. The ledger may have later entries, after a crash or
    /// if an older journal was restored.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn max_ledger(&self) -> Result<u64, FsError> {
        let header = self.header.as_ref().and_then(|header| header.ledger);
        let mut greatest = header.unwrap_or(0);
        if let Some(journal) = &self.journal {
            greatest = greatest.max(journal.max_ledger()?);
        }
        if header.is_none() {
            for segment in &self.segments {
                greatest = greatest.max(segment.max_ledger()?);
            }
        }
        Ok(greatest)
    }

    /// Lists everything unreadable, with line numbers.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn damage(&self) -> Result<Vec<Damage>, FsError> {
        let mut damage = self.damage.clone();
        let words = self.place.kind.words();
        for folder in quarantine::not_directories(&self.place) {
            let (path, problem) = (folder.to_string(), "it is not a directory");
            damage.push(Damage { path, line: None, problem, mending: DamageRepair::SetAside });
        }
        for log in self.logs() {
            let scanned = log.scanned()?;
            let unreadable = scanned.unreadable();
            let Some(last) = unreadable.last() else { continue };
            let mut number = 0;
            let mut lines = Lines::new(&*log.file, 0, last.offset + 1);
            let mut wanted = unreadable.iter().map(|span| span.offset).peekable();
            while let Some(line) = lines.next_line()? {
                number += 1;
                if wanted.next_if_eq(&line.offset).is_some() {
                    let path = log.path.to_string();
                    let is_unfinished = scanned.unfinished.iter().any(|span| span.offset == line.offset);
                    let problem = if is_unfinished { words.unfinished } else { words.not_a_record };
                    damage.push(Damage {
                        path,
                        line: Some(number),
                        problem,
                        mending: DamageRepair::SetAside,
                    });
                }
            }
        }
        Ok(damage)
    }
}

/// Lists the numbers of the segments on disk.
pub(crate) fn segments_on_disk(fs: &dyn Fs, layout: &Layout) -> Result<Vec<u64>, FsError> {
    let entries = match fs.list_dir(&layout.segments()) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut numbers: Vec<u64> = entries.iter().filter_map(|entry| segment_number(&entry.name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the milliseconds since an instant.
pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
