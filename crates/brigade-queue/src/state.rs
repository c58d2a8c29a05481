//! All calls at one moment: the journal and the segments of finished calls that it names.
//!
//! The journal's first line is its header. It names the segments that count, so replacing the journal is the one step that
//! makes a compaction true. Whoever has the journal open has a consistent view: segments are never changed, only
//! removed after no journal names them, and a reader that comes too late for one starts again with the new journal.

use std::sync::Arc;

use brigade_core::{Dialect, Json, Object};
use brigade_fs::{FileId, Fs, FsError, FsErrorKind, Lines, RelPath};

use crate::aside;
use crate::entry::{CODES, Content, HEADER_KEY, StatusCode, look};
use crate::error::QueueError;
use crate::layout;
use crate::log::{Found, Log};

/// The version of the journal that this code writes.
pub(crate) const JOURNAL_VERSION: i64 = 1;

/// The first line of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: i64,
    /// Grows with every replacement of the journal.
    pub(crate) generation: u64,
    /// The greatest sequence that was given when the journal was replaced.
    pub(crate) sequence: u64,
    /// The numbers of the segments, oldest first.
    pub(crate) segments: Vec<u64>,
    /// How far the calls knew the ledger when the journal was replaced; absent in what earlier versions wrote.
    pub(crate) ledger: Option<u64>,
}

impl Header {
    pub(crate) fn to_line(&self) -> String {
        let mut members = vec![
            (HEADER_KEY, Json::from(self.version)),
            ("generation", Json::from(self.generation)),
            ("sequence", Json::from(self.sequence)),
            (
                "segments",
                self.segments
                    .iter()
                    .map(|number| format!("segment-{number}.jsonl"))
                    .collect::<Vec<_>>()
                    .into(),
            ),
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
            segments: segments.iter().filter_map(|name| layout::segment_number(name.as_str()?)).collect(),
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

/// All calls at one moment.
pub(crate) struct State {
    /// None when no call was ever queued, or something else stands in its place.
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
    pub(crate) fn load(fs: &Arc<dyn Fs>) -> Result<State, FsError> {
        let mut attempt = 1;
        loop {
            match State::try_load(fs, attempt == ATTEMPTS)? {
                Some(state) => return Ok(state),
                None => attempt += 1,
            }
        }
    }

    /// Returns none when a compaction removed a segment meanwhile.
    fn try_load(fs: &Arc<dyn Fs>, is_last: bool) -> Result<Option<State>, FsError> {
        let mut state = State {
            journal: None,
            header: None,
            segments: Vec::new(),
            damage: Vec::new(),
            is_blocked: false,
            lost_segments: Vec::new(),
        };
        let mut journal_id: Option<FileId> = None;
        match fs.open(&layout::calls()) {
            Ok(file) => {
                journal_id = Some(file.id()?);
                let mut start = 0;
                let end = file.len()?;
                let mut lines = Lines::new(&*file, 0, end);
                if let Some(first) = lines.next_line()?
                    && matches!(look(first.bytes), Content::Header)
                {
                    state.header = Header::from_line(first.bytes);
                    if state.header.is_some() {
                        start = first.bytes.len() as u64 + u64::from(first.is_complete);
                    }
                }
                let generation = state.header.as_ref().map_or(0, |header| header.generation);
                let (path, index) = (layout::calls(), layout::journal_index());
                state.journal = Some(Log::new(fs.clone(), path, index, file, generation, start));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) if error.kind == FsErrorKind::NotAFile => {
                state.is_blocked = true;
                state.damage.push(Damage {
                    path: layout::calls().to_string(),
                    line: None,
                    problem: "it is not a file",
                    mending: Mending::SetAside,
                });
            }
            Err(error) => return Err(error),
        }
        let numbers = match &state.header {
            Some(header) => header.segments.clone(),
            None => segments_on_disk(&**fs)?,
        };
        for number in numbers {
            let path = layout::segment(number);
            match fs.open(&path) {
                Ok(file) => {
                    let index = layout::segment_index(number);
                    state.segments.push(Log::new(fs.clone(), path, index, file, number, 0));
                }
                Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotAFile => {
                    let now = match fs.open(&layout::calls()) {
                        Ok(file) => Some(file.id()?),
                        Err(_) => None,
                    };
                    if now != journal_id && !is_last {
                        return Ok(None);
                    }
                    let problem = "the journal names this segment of finished calls, and it is not there";
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

    /// Tells whether the journal is the Python program's, or has lost its header.
    pub(crate) fn is_unadopted(&self) -> bool {
        self.header.is_none()
    }

    /// All logs, the journal first, then segments from the newest.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.journal.iter().chain(self.segments.iter().rev())
    }

    /// Finds the latest line of a call.
    pub(crate) fn find(&self, id: &str) -> Result<Option<Found>, QueueError> {
        for log in self.logs() {
            if let Some(found) = log.find(id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Finds the ids that start with a prefix, at most `limit`, sorted.
    pub(crate) fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Box<str>>, QueueError> {
        let mut ids = Vec::new();
        for log in self.logs() {
            ids.extend(log.find_prefix(prefix, limit)?);
        }
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(limit);
        Ok(ids)
    }

    /// Counts the calls by their stored status.
    pub(crate) fn counts(&self) -> Result<[u64; CODES], QueueError> {
        let mut sums = [0; CODES];
        for log in self.logs() {
            for (sum, count) in sums.iter_mut().zip(log.counts()?) {
                *sum += count;
            }
        }
        Ok(sums)
    }

    /// Returns the greatest sequence that was ever given.
    pub(crate) fn max_sequence(&self) -> Result<u64, FsError> {
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

    /// Returns the greatest place in the ledger that the calls know: whatever the ledger holds behind it, a crash kept from
    /// being written here, or the journal is older than the ledger.
    pub(crate) fn max_ledger(&self) -> Result<u64, FsError> {
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
    pub(crate) fn damage(&self, fs: &dyn Fs) -> Result<Vec<Damage>, FsError> {
        let mut damage = self.damage.clone();
        for folder in aside::not_folders(fs) {
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
                    let problem = if is_unfinished {
                        "one of several calls that a crash kept from being queued"
                    } else {
                        "not a call record"
                    };
                    damage.push(Damage { path, line: Some(number), problem, mending: Mending::SetAside });
                }
            }
        }
        Ok(damage)
    }
}

/// Lists the numbers of the segments that are there.
pub(crate) fn segments_on_disk(fs: &dyn Fs) -> Result<Vec<u64>, FsError> {
    let entries = match fs.list_dir(&layout::segments()) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut numbers: Vec<u64> =
        entries.iter().filter_map(|entry| layout::segment_number(&entry.name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The codes whose calls stand in the journal and never in a segment.
pub(crate) fn is_living(code: StatusCode) -> bool {
    !code.is_finished()
}
