//! All records at one moment: the journal and the segments of finished records that it names.
//!
//! The journal's first line is its header. It names the segments that count, so replacing the journal is the one step
//! that makes a compaction true. Whoever has the journal open has a consistent view: segments are never changed, only
//! removed after no journal names them, and a reader that comes too late for one starts again with the new journal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_core::{Dialect, Json, Object};
use brigade_fs::{FileId, Fs, FsError, FsErrorKind, Lines, RelPath};

use crate::aside;
use crate::entry::{Content, HEADER_KEY, Kind, codes, look_at};
use crate::error::JournalError;
use crate::layout::{Layout, segment_name, segment_number};
use crate::ledger::Ledger;
use crate::log::{Found, Listed, Log};
use crate::writer::Writer;

/// The version of the journal that this code writes.
pub(crate) const JOURNAL_VERSION: i64 = 1;

/// The first line of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The version that wrote it.
    pub version: i64,
    /// Grows with every replacement of the journal.
    pub generation: u64,
    /// The greatest sequence that was given when the journal was replaced.
    pub sequence: u64,
    /// The numbers of the segments, oldest first.
    pub segments: Vec<u64>,
    /// How far the records knew the ledger when the journal was replaced; absent in what earlier versions wrote.
    pub ledger: Option<u64>,
}

impl Header {
    pub(crate) fn to_line(&self) -> String {
        let mut members = vec![
            (HEADER_KEY, Json::from(self.version)),
            ("generation", Json::from(self.generation)),
            ("sequence", Json::from(self.sequence)),
            ("segments", self.segments.iter().map(|number| segment_name(*number)).collect::<Vec<_>>().into()),
        ];
        members.extend(self.ledger.map(|ledger| ("ledger", Json::from(ledger))));
        format!("{}\n", Json::object(members).to_compact())
    }

    fn from_line(line: &[u8]) -> Option<Header> {
        let json = Json::parse_bytes(line, Dialect::Lenient).ok()?;
        let members: &Object = json.as_object()?;
        let natural =
            |key: &str| members.get(key).and_then(Json::as_i64).and_then(|number| u64::try_from(number).ok());
        let segments = members.get("segments").and_then(Json::as_array).unwrap_or_default();
        Some(Header {
            version: members.get(HEADER_KEY)?.as_i64()?,
            generation: natural("generation")?,
            sequence: natural("sequence")?,
            ledger: natural("ledger"),
            segments: segments.iter().filter_map(|name| segment_number(name.as_str()?)).collect(),
        })
    }
}

/// What can be done about damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mending {
    /// A compaction moves what cannot be read to a quarantine; nothing of it is erased.
    SetAside,
    /// Nothing brings back what is missing; it stays to be seen.
    Stays,
}

/// Something in the state that could not be read, or is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line, from 1, where one line is meant.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: &'static str,
    /// What can be done about it.
    pub mending: Mending,
}

/// A journal in its directory.
pub struct Journal {
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) layout: Layout,
    pub(crate) kind: Arc<dyn Kind>,
}

impl Journal {
    /// Opens a journal; touches nothing.
    pub fn new(fs: Arc<dyn Fs>, layout: Layout, kind: Arc<dyn Kind>) -> Arc<Journal> {
        Arc::new(Journal { fs, layout, kind })
    }

    /// Returns where it is kept.
    pub fn fs(&self) -> &Arc<dyn Fs> {
        &self.fs
    }

    /// Returns what its records are.
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

    /// Looks at all records as they are now. Never waits and never writes.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn load(self: &Arc<Journal>) -> Result<State, FsError> {
        let mut attempt = 1;
        loop {
            match State::try_load(self, attempt == ATTEMPTS)? {
                Some(state) => return Ok(state),
                None => attempt += 1,
            }
        }
    }

    /// Waits for the lock, and holds it until the writer is dropped. `holder` is what others read who wait in vain.
    ///
    /// # Errors
    /// When somebody else holds the lock for too long, or the disk fails.
    pub fn lock(self: &Arc<Journal>, holder: &str, timeout: Duration) -> Result<Writer, JournalError> {
        let waited = Instant::now();
        self.fs.create_dir_all(self.layout.directory())?;
        let lock = self.fs.lock(&self.layout.lock(), holder, timeout)?;
        tracing::debug!(waited_ms = millis(waited), "the journal is locked");
        Ok(Writer::new(self.load()?, lock))
    }
}

/// All records at one moment.
pub struct State {
    pub(crate) place: Arc<Journal>,
    /// None when nothing was ever recorded, or something else has its name.
    pub(crate) journal: Option<Log>,
    pub(crate) header: Option<Header>,
    /// Oldest first.
    pub(crate) segments: Vec<Log>,
    /// What is wrong with whole files.
    pub(crate) damage: Vec<Damage>,
    /// Whether something that is no file has the journal's name.
    pub(crate) is_blocked: bool,
    /// The segments that the journal names and that are not there.
    pub(crate) lost_segments: Vec<RelPath>,
}

/// How often a reader starts again when segments vanish under it.
const ATTEMPTS: usize = 32;

impl State {
    /// Returns none when a compaction removed a segment meanwhile.
    fn try_load(place: &Arc<Journal>, is_last: bool) -> Result<Option<State>, FsError> {
        let Journal { fs, layout, kind } = &**place;
        let mut state = State {
            place: place.clone(),
            journal: None,
            header: None,
            segments: Vec::new(),
            damage: Vec::new(),
            is_blocked: false,
            lost_segments: Vec::new(),
        };
        let mut journal_id: Option<FileId> = None;
        match fs.open(&layout.journal()) {
            Ok(file) => {
                journal_id = Some(file.id()?);
                let mut start = 0;
                let end = file.len()?;
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
                    mending: Mending::SetAside,
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
                    if now != journal_id && !is_last {
                        return Ok(None);
                    }
                    let problem = kind.words().lost_segment;
                    state.damage.push(Damage {
                        path: path.to_string(),
                        line: None,
                        problem,
                        mending: Mending::SetAside,
                    });
                    state.lost_segments.push(path);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(state))
    }

    /// Tells whether the journal is an earlier program's, or has lost its header.
    pub fn is_unadopted(&self) -> bool {
        self.header.is_none()
    }

    /// Returns the journal that this is the state of.
    pub fn place(&self) -> &Arc<Journal> {
        &self.place
    }

    /// Returns the file of the latest records; `None` when nothing was ever recorded.
    pub fn journal(&self) -> Option<&Log> {
        self.journal.as_ref()
    }

    /// Counts the segments.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Tells whether something that is not a file has the journal's name.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Fails when something that is not a file has the journal's name.
    ///
    /// # Errors
    /// [`JournalError::Blocked`].
    pub fn require_journal(&self) -> Result<(), JournalError> {
        if self.is_blocked {
            Err(JournalError::Blocked(self.place.layout.journal().to_string()))
        } else {
            Ok(())
        }
    }

    /// Fails when a newer version wrote the journal.
    ///
    /// # Errors
    /// [`JournalError::Newer`].
    pub fn require_our_version(&self) -> Result<(), JournalError> {
        match &self.header {
            Some(Header { version, .. }) if JOURNAL_VERSION < *version => {
                Err(JournalError::Newer(self.place.layout.journal().to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Lists the places of all latest lines in a file, and with them the file, the journal's first.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn list(&self) -> Result<Vec<(&Log, Listed)>, JournalError> {
        let mut all = Vec::new();
        for log in self.logs() {
            all.extend(log.list(None)?.into_iter().map(|listed| (log, listed)));
        }
        Ok(all)
    }

    /// Finds the latest lines of unique records that may have this key, and their files.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn find_key(&self, key: u64) -> Result<Vec<Found>, JournalError> {
        let mut found = Vec::new();
        for log in self.logs() {
            found.extend(log.find_key(key)?);
        }
        Ok(found)
    }

    /// All logs, the journal first, then segments from the newest.
    pub fn logs(&self) -> impl Iterator<Item = &Log> {
        self.journal.iter().chain(self.segments.iter().rev())
    }

    /// Finds the latest line of a record.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn find(&self, id: &str) -> Result<Option<Found>, JournalError> {
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
    /// When the disk fails.
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

    /// Counts the records by their stored status, in the order of the codes.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn counts(&self) -> Result<Vec<u64>, JournalError> {
        let mut sums = vec![0; codes(&*self.place.kind)];
        for log in self.logs() {
            for (sum, count) in sums.iter_mut().zip(log.counts()?) {
                *sum += count;
            }
        }
        Ok(sums)
    }

    /// Returns the greatest sequence that was ever given.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn max_sequence(&self) -> Result<u64, FsError> {
        let mut greatest = self.header.as_ref().map_or(0, |header| header.sequence);
        if let Some(journal) = &self.journal {
            greatest = greatest.max(journal.max_sequence()?);
        }
        // Without a header nothing else says how far the segments went.
        if self.header.is_none() {
            for segment in &self.segments {
                greatest = greatest.max(segment.max_sequence()?);
            }
        }
        Ok(greatest)
    }

    /// Returns the greatest place in the ledger that the records know. A crash kept what the ledger holds behind it
    /// from being written here, or the journal is older than the ledger.
    ///
    /// # Errors
    /// When the disk fails.
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

    /// Lists what cannot be read, with line numbers.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn damage(&self) -> Result<Vec<Damage>, FsError> {
        let mut damage = self.damage.clone();
        let words = self.place.kind.words();
        for folder in aside::not_folders(&self.place) {
            let (path, problem) = (folder.to_string(), "it is not a folder");
            damage.push(Damage { path, line: None, problem, mending: Mending::SetAside });
        }
        for log in self.logs() {
            let scanned = log.scanned()?;
            let set_aside = scanned.set_aside();
            let Some(last) = set_aside.last() else { continue };
            let mut number = 0;
            let mut lines = Lines::new(&*log.file, 0, last.offset + 1);
            let mut wanted = set_aside.iter().map(|span| span.offset).peekable();
            while let Some(line) = lines.next_line()? {
                number += 1;
                if wanted.next_if_eq(&line.offset).is_some() {
                    let path = log.path.to_string();
                    let is_unfinished = scanned.unfinished.iter().any(|span| span.offset == line.offset);
                    let problem = if is_unfinished { words.unfinished } else { words.not_a_record };
                    damage.push(Damage { path, line: Some(number), problem, mending: Mending::SetAside });
                }
            }
        }
        Ok(damage)
    }
}

/// Lists the numbers of the segments that are there.
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

/// The milliseconds since an instant.
pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
