//! The parts of a line that the journal itself reads.

use std::any::Any;

use brigade_core::json::{RawJson, RecordLine, members, to_json};
use brigade_core::{Json, Timestamp};
use brigade_fs::WorkspaceKey;
use serde::Serialize;

use crate::error::JournalError;
use crate::state::State;

/// A status in one byte: its index in [`Kind::statuses`], or one of the two codes after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusCode(u8);

impl StatusCode {
    /// Returns the code of the status at an index of [`Kind::statuses`].
    pub const fn at(place: u8) -> StatusCode {
        StatusCode(place)
    }

    /// Returns the index.
    pub fn byte(self) -> u8 {
        self.0
    }
}

/// How the journal treats records of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRule {
    /// Records of this status never change again, so they move to a segment.
    pub is_finished: bool,
    /// Such records can be found by [`Facts::key`].
    pub is_unique: bool,
}

/// Descriptions of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// A line that is not a record.
    pub not_a_record: &'static str,
    /// A record of a batch that was cut off by a crash.
    pub unfinished: &'static str,
    /// A missing segment.
    pub lost_segment: &'static str,
}

/// State of an earlier program, ready to be adopted.
pub struct Adoption<'a> {
    /// Converts a record with the given sequence to our format. Lines that need no change are returned unchanged.
    pub convert: Box<dyn Fn(Vec<u8>, u64) -> Vec<u8> + Sync + 'a>,
    /// The ledger sequence up to which all entries were adopted.
    pub ledger: u64,
    /// Whether the earlier program left nothing but the journal.
    pub is_empty: bool,
}

/// The maximum number of members that a [`Kind`] can request.
pub const MEMBERS: usize = 8;

/// The members that a [`Kind`] requested, by index.
pub type Members<'a> = [Option<RawJson<'a>>; MEMBERS];

/// The kind of records in a journal: how to read what the journal needs.
pub trait Kind: Send + Sync {
    /// Returns the statuses that have codes, in code order. The order must never change, because indexes store the
    /// codes.
    fn statuses(&self) -> &'static [StatusRule];

    /// Returns the descriptions of damage.
    fn words(&self) -> &'static Words;

    /// Returns the index, below [`MEMBERS`], at which [`Kind::facts`] expects the member with this key. Returns `None`
    /// if it does not need the member.
    fn member(&self, key: &str) -> Option<usize>;

    /// Reads a record from the requested members. Returns `None` if the line is not a record.
    fn facts(&self, members: &Members<'_>) -> Option<Facts>;

    /// Returns the key that signs records; `None` if records of this kind approve nothing.
    fn key(&self) -> Option<&WorkspaceKey> {
        None
    }

    /// Adopts the state of an earlier program in this journal's place. Called before the first rewrite.
    ///
    /// # Errors
    /// Fails on a disk error.
    fn adopt(&self, _state: &State, _now: Timestamp) -> Result<Adoption<'static>, JournalError> {
        Ok(Adoption { convert: Box::new(|line, _| line), ledger: 0, is_empty: true })
    }

    /// Returns what the owner of the records keeps in memory beside them, for every state of the journal.
    fn companion(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    /// Returns the code of statuses outside the table.
    fn other(&self) -> StatusCode {
        StatusCode(u8::try_from(self.statuses().len()).expect("a kind has few statuses"))
    }

    /// Returns the code of records written by a newer version, whatever their status.
    fn newer(&self) -> StatusCode {
        StatusCode(self.other().0 + 1)
    }

    /// Returns whether nothing more happens to records of this status.
    fn is_finished(&self, code: StatusCode) -> bool {
        self.statuses().get(usize::from(code.0)).is_some_and(|rule| rule.is_finished)
    }

    /// Returns whether records of this status can be found by key.
    fn is_unique(&self, code: StatusCode) -> bool {
        self.statuses().get(usize::from(code.0)).is_some_and(|rule| rule.is_unique)
    }
}

/// Returns the number of codes of a kind.
pub(crate) fn codes(kind: &dyn Kind) -> usize {
    kind.statuses().len() + 2
}

/// Reads a code of a kind with this many codes.
pub(crate) fn code_from_byte(byte: u8, codes: usize) -> Option<StatusCode> {
    (usize::from(byte) < codes).then_some(StatusCode(byte))
}

/// The facts that a [`Kind`] reads from a record.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The id of the record.
    pub id: Box<str>,
    /// The status of the record.
    pub status: StatusCode,
    /// Creation time in microseconds since 1970, or the maximum if the record has none.
    pub created: i64,
    /// A hash that is equal for equivalent records.
    pub key: u64,
    /// Whether `sequence`, `batch` and `receipt_sequence` were written by this journal. In records of another program
    /// they may mean something else.
    pub is_ours: bool,
}

impl Facts {
    /// Creates facts with this id and the first status.
    pub fn new(id: impl Into<Box<str>>) -> Facts {
        Facts { id: id.into(), status: StatusCode(0), created: i64::MAX, key: 0, is_ours: false }
    }
}

/// The position of a line in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub offset: u64,
    /// The length in bytes, without the line feed.
    pub length: u32,
}

/// A line as stored in indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) id: Box<str>,
    pub(crate) span: Span,
    pub(crate) status: StatusCode,
    pub(crate) created: i64,
    pub(crate) sequence: u64,
    pub(crate) key: u64,
}

/// A record that was read without parsing it completely.
#[derive(Clone, Debug)]
pub struct PeekedRecord {
    /// The facts read by its kind.
    pub facts: Facts,
    /// The position in the order of records. Absent in records of another program.
    pub sequence: Option<u64>,
    /// The ledger sequence of the document that the record names.
    pub ledger: Option<u64>,
    /// The position in its batch, if it was appended in one.
    pub batch: Option<BatchMark>,
}

impl PeekedRecord {
    pub(crate) fn at(self, span: Span, sequence: u64) -> Entry {
        let Facts { id, status, created, key, .. } = self.facts;
        Entry { id, span, status, created, sequence, key }
    }
}

/// How many lines of the same batch follow, so that a reader can detect a batch that was cut off by a crash.
///
/// Valid only in the journal generation that it names, because a rewritten journal has other lines after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BatchMark {
    /// The journal generation that the batch was appended to.
    pub generation: u64,
    /// How many lines of the batch follow this one.
    pub rest: u64,
}

/// The member that contains the [`BatchMark`] of a record.
pub const BATCH_KEY: &str = "batch";

impl BatchMark {
    /// Returns the value of the member.
    pub fn to_json(self) -> Json {
        to_json(&self).expect("two numbers are JSON")
    }

    fn parse(raw: RawJson<'_>) -> Option<BatchMark> {
        let (mut generation, mut rest) = (None, None);
        members(raw.as_str().as_bytes(), |key, value| match key.raw() {
            "generation" => generation = value.natural(),
            "rest" => rest = value.natural(),
            _ => {}
        })
        .ok()?;
        Some(BatchMark { generation: generation?, rest: rest? })
    }
}

/// The content of a line in a journal.
pub enum Content {
    /// A revision of a record.
    Record(PeekedRecord),
    /// The first line of a journal.
    Header,
    /// Only whitespace.
    Blank,
    /// Anything else.
    Broken,
}

/// A member that only the header of a journal has.
const HEADER_KEY: &str = "queue_version";

/// Classifies a line.
pub fn look_at(kind: &dyn Kind, line: &[u8]) -> Content {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Content::Blank;
    }
    let mut seen = LineMembers::default();
    match members(line, |key, value| seen.take(kind, key.raw(), value)) {
        Ok(()) => seen.judge(kind),
        Err(_) => Content::Broken,
    }
}

/// Classifies a line whose members are known.
pub(crate) fn look_at_written(kind: &dyn Kind, line: &RecordLine) -> Content {
    let mut seen = LineMembers::default();
    line.members().for_each(|(key, value)| seen.take(kind, key, value));
    seen.judge(kind)
}

/// The members of a line that show its kind.
#[derive(Default)]
struct LineMembers<'a> {
    requested: Members<'a>,
    sequence: Option<RawJson<'a>>,
    ledger: Option<RawJson<'a>>,
    batch: Option<RawJson<'a>>,
    is_header: bool,
}

impl<'a> LineMembers<'a> {
    fn take(&mut self, kind: &dyn Kind, key: &str, value: RawJson<'a>) {
        match key {
            "sequence" => self.sequence = Some(value),
            "receipt_sequence" => self.ledger = Some(value),
            BATCH_KEY => self.batch = Some(value),
            key => match kind.member(key) {
                Some(place) => self.requested[place] = Some(value),
                None => self.is_header |= key == HEADER_KEY,
            },
        }
    }

    fn judge(self, kind: &dyn Kind) -> Content {
        match kind.facts(&self.requested) {
            Some(facts) => {
                let own = |raw: Option<RawJson<'_>>| raw.filter(|_| facts.is_ours).and_then(RawJson::natural);
                Content::Record(PeekedRecord {
                    sequence: own(self.sequence),
                    ledger: own(self.ledger),
                    batch: self.batch.filter(|_| facts.is_ours).and_then(BatchMark::parse),
                    facts,
                })
            }
            None if self.is_header => Content::Header,
            None => Content::Broken,
        }
    }
}

/// A fast hash that is equal on every machine. Matches are always verified, so it need not resist attacks.
pub fn hash(parts: &[&[u8]]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for part in parts {
        state = mix(state ^ part.len() as u64);
        let mut words = part.chunks_exact(8);
        for word in &mut words {
            state = mix(state ^ u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")));
        }
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        state = mix(state ^ u64::from_le_bytes(last));
    }
    state
}

fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ 0xa076_1d64_78bd_642f) * 0xe703_7ed1_a0b4_28db;
    #[allow(clippy::cast_possible_truncation, reason = "folds the two halves")]
    let folded = (product >> 64) as u64 ^ product as u64;
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_hashed_separately() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"a\0"]), hash(&[b"a"]));
        assert_ne!(hash(&[b""]), hash(&[]));
    }
}
