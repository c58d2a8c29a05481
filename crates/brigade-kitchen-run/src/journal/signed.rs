//! The MACs of records, and the adoption of records without one.

use std::sync::Arc;

use brigade_fs::{FileMode, Fs, FsError, Lines, WorkspaceKey};
use brigade_journal::LineFile;
use brigade_kitchen::life::{Entry, Life};

use super::{JournalError, JournalReading, ParsedLine, PrdJournal, parse_line};
use crate::lock::HOLDER;
use crate::paths::PrdFiles;

/// What signs and verifies the records of one journal.
#[derive(Clone, Debug)]
pub(super) struct Signer {
    key: Arc<WorkspaceKey>,
    /// The domain of its MACs, so that no record counts in the journal of another PRD.
    domain: String,
}

/// The start of the last member of a signed line, and the length of a MAC.
const MAC_MEMBER: &str = ",\"mac\":\"";
const MAC_LENGTH: usize = 64;

impl Signer {
    pub(super) fn new(key: Arc<WorkspaceKey>, files: &PrdFiles) -> Signer {
        Signer { key, domain: format!("brigade.kitchen.v1 {}", files.folder()) }
    }

    /// Adds the MAC to the text of a record, as its last member.
    pub(super) fn sign(&self, text: &str) -> Result<String, FsError> {
        let open = text.strip_suffix('}').expect("a record is an object");
        Ok(format!("{open}{MAC_MEMBER}{}\"}}", self.key.sign(&self.domain, open.as_bytes())?))
    }

    /// Returns whether this host signed the line.
    pub(super) fn is_signed(&self, line: &[u8]) -> bool {
        let (open, mac) = split_mac(line);
        mac.is_some_and(|mac| self.key.verify(&self.domain, open, Some(mac)))
    }
}

/// Splits a line into its content and its MAC, if it has one.
pub(super) fn split_mac(line: &[u8]) -> (&[u8], Option<&str>) {
    let line = line.trim_ascii_end();
    let split = line.strip_suffix(b"\"}").and_then(|rest| {
        let (rest, mac) = rest.split_at_checked(rest.len().checked_sub(MAC_LENGTH)?)?;
        Some((rest.strip_suffix(MAC_MEMBER.as_bytes())?, std::str::from_utf8(mac).ok()?))
    });
    match split {
        Some((open, mac)) => (open, Some(mac)),
        None => (line.strip_suffix(b"}").unwrap_or(line), None),
    }
}

impl PrdJournal {
    /// Returns the life as it would be if this host had signed all records.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn unsigned_life(fs: &dyn Fs, files: &PrdFiles) -> Result<Life, FsError> {
        let file = LineFile::new(fs, files.folder(), "journal");
        let Some(opened) = file.open()? else { return Ok(Life::default()) };
        let (mut lines, mut life) = (Lines::new(&*opened, 0, opened.len()?), Life::default());
        while let Some(line) = lines.next_line()? {
            if let ParsedLine::Record(entry) = parse_line(&line, life.seq) {
                life.seq = entry.seq();
                if let Entry::Known(line) = entry {
                    life.apply(line.at, &line.record);
                }
            }
        }
        Ok(life)
    }

    /// Signs all records, because a person accepted them. Returns how many had no MAC of this host.
    ///
    /// # Errors
    /// Same as [`PrdJournal::append`].
    pub fn adopt(&mut self) -> Result<u64, JournalError> {
        let (fs, files) = (self.fs.clone(), self.files.clone());
        let holder = format!("{} {HOLDER}", std::process::id());
        let _lock = fs.lock(&files.journal_lock(), &holder, self.lock_timeout)?;
        let file = LineFile::new(&*fs, files.folder(), "journal");
        let Some(opened) = file.open()? else { return Ok(0) };
        let (mut lines, mut bytes, mut signed) = (Lines::new(&*opened, 0, opened.len()?), Vec::new(), 0);
        while let Some(line) = lines.next_line()? {
            let is_record = matches!(parse_line(&line, 0), ParsedLine::Record(Entry::Known(_)));
            match std::str::from_utf8(split_mac(line.bytes).0) {
                Ok(open) if is_record && !self.signer.is_signed(line.bytes) => {
                    bytes.extend_from_slice(self.signer.sign(&format!("{open}}}"))?.as_bytes());
                    signed += 1;
                }
                _ => bytes.extend_from_slice(line.bytes),
            }
            bytes.push(b'\n');
        }
        if 0 < signed {
            fs.write_atomic(&file.path(), &bytes, FileMode::Private)?;
            self.read = JournalReading::from_file(&file, &self.signer)?;
        }
        Ok(signed)
    }
}
