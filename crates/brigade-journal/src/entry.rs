//! What a journal knows of a line.

use brigade_core::json::{Raw, members};
use brigade_core::{Json, Timestamp};

use crate::error::JournalError;
use crate::state::State;

/// A status in one byte: its place among those of its [`Kind`], or one of the two behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusCode(u8);

impl StatusCode {
    /// The code of the status at a place of [`Kind::statuses`].
    pub const fn at(place: u8) -> StatusCode {
        StatusCode(place)
    }

    /// Returns the place.
    pub fn byte(self) -> u8 {
        self.0
    }
}

/// How records of a status are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRule {
    /// Nothing more happens to them, so they move to a segment.
    pub is_finished: bool,
    /// They are found by [`Facts::key`].
    pub is_unique: bool,
}

/// How damage is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// A line that is not a record.
    pub not_a_record: &'static str,
    /// A record of a batch that a crash cut off.
    pub unfinished: &'static str,
    /// A segment that is gone.
    pub lost_segment: &'static str,
}

/// What an earlier program left, ready to be taken over.
pub struct Adoption<'a> {
    /// Makes our line of a record with this sequence; returns lines that need no change as they are.
    pub convert: Box<dyn Fn(Vec<u8>, u64) -> Vec<u8> + Sync + 'a>,
    /// How far the ledger holds nothing but what was adopted.
    pub ledger: u64,
    /// Whether there was anything besides the journal.
    pub is_empty: bool,
}

/// How many members a [`Kind`] may ask for.
pub const MEMBERS: usize = 8;

/// The members that a [`Kind`] asked for, each at its place.
pub type Members<'a> = [Option<Raw<'a>>; MEMBERS];

/// The records of a journal: what it must know of them.
pub trait Kind: Send + Sync {
    /// Returns the statuses that have codes, in the order of their codes. It must never change for stored indexes.
    fn statuses(&self) -> &'static [StatusRule];

    /// Returns how damage is described.
    fn words(&self) -> &'static Words;

    /// Returns the place, below [`MEMBERS`], at which [`Kind::facts`] wants the member of this key; `None` if it does
    /// not.
    fn member(&self, key: &str) -> Option<usize>;

    /// Reads a record from the members it asked for. `None` when the line is not a record.
    fn facts(&self, members: &Members<'_>) -> Option<Facts>;

    /// Takes over what an earlier program left in place of this journal. Called before its first rewrite.
    ///
    /// # Errors
    /// When the disk fails.
    fn adopt(&self, _state: &State, _now: Timestamp) -> Result<Adoption<'static>, JournalError> {
        Ok(Adoption { convert: Box::new(|line, _| line), ledger: 0, is_empty: true })
    }

    /// The code of statuses that are not in the table.
    fn other(&self) -> StatusCode {
        StatusCode(u8::try_from(self.statuses().len()).expect("a kind has few statuses"))
    }

    /// The code of records that a newer version wrote, whatever their status.
    fn newer(&self) -> StatusCode {
        StatusCode(self.other().0 + 1)
    }

    /// Tells whether nothing more happens to records of this status.
    fn is_finished(&self, code: StatusCode) -> bool {
        self.statuses().get(usize::from(code.0)).is_some_and(|rule| rule.is_finished)
    }

    /// Tells whether records of this status are found by their key.
    fn is_unique(&self, code: StatusCode) -> bool {
        self.statuses().get(usize::from(code.0)).is_some_and(|rule| rule.is_unique)
    }
}

/// How many codes a kind has.
pub(crate) fn codes(kind: &dyn Kind) -> usize {
    kind.statuses().len() + 2
}

/// Reads a code of a kind with this many.
pub(crate) fn code_from_byte(byte: u8, codes: usize) -> Option<StatusCode> {
    (usize::from(byte) < codes).then_some(StatusCode(byte))
}

/// What a [`Kind`] says of a record.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its id.
    pub id: Box<str>,
    /// Its status.
    pub status: StatusCode,
    /// Microseconds since 1970; the greatest number when the record does not say.
    pub created: i64,
    /// A number that is equal for records that stand for the same.
    pub key: u64,
    /// Whether the members `sequence`, `batch` and `receipt_sequence` are the journal's. Those of records of another
    /// program may mean something else.
    pub is_ours: bool,
}

impl Facts {
    /// A record with this id, at the first status.
    pub fn new(id: impl Into<Box<str>>) -> Facts {
        Facts { id: id.into(), status: StatusCode(0), created: i64::MAX, key: 0, is_ours: false }
    }
}

/// Where a line is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub offset: u64,
    /// Without the line feed.
    pub length: u32,
}

/// One line, as indexes hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) id: Box<str>,
    pub(crate) span: Span,
    pub(crate) status: StatusCode,
    pub(crate) created: i64,
    pub(crate) sequence: u64,
    pub(crate) key: u64,
}

/// A record that was looked at without parsing it.
#[derive(Clone, Debug)]
pub struct Peeked {
    /// What its kind says.
    pub facts: Facts,
    /// Its place in the order of records; absent in records of another program.
    pub sequence: Option<u64>,
    /// The place in the ledger of the document that it names.
    pub ledger: Option<u64>,
    /// Which lines of its batch follow.
    pub batch: Option<BatchMark>,
}

impl Peeked {
    pub(crate) fn at(self, span: Span, sequence: u64) -> Entry {
        let Facts { id, status, created, key, .. } = self.facts;
        Entry { id, span, status, created, sequence, key }
    }
}

/// How many lines of its batch follow a line, so that a reader can recognise a batch that a crash cut off.
///
/// Counts only in the journal whose generation it names: a rewritten one has other lines behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMark {
    /// The generation of the journal that the batch was appended to.
    pub generation: u64,
    /// How many lines of the batch follow this one.
    pub rest: u64,
}

/// The member of a record that holds its [`BatchMark`].
pub const BATCH_KEY: &str = "batch";

impl BatchMark {
    /// Returns the value of the member.
    pub fn to_json(self) -> Json {
        Json::object([("generation", Json::from(self.generation)), ("rest", Json::from(self.rest))])
    }

    fn of(raw: Raw<'_>) -> Option<BatchMark> {
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

/// What one line of a journal is.
pub enum Content {
    /// A revision of a record.
    Record(Peeked),
    /// The first line of a journal.
    Header,
    /// Only white space.
    Blank,
    /// Nothing that is known.
    Broken,
}

/// The member that only a journal's header has.
pub(crate) const HEADER_KEY: &str = "queue_version";

/// Looks at a line.
pub fn look_at(kind: &dyn Kind, line: &[u8]) -> Content {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Content::Blank;
    }
    let mut wanted: Members<'_> = [None; MEMBERS];
    let (mut sequence, mut ledger, mut batch) = (None, None, None);
    let mut is_header = false;
    let walked = members(line, |key, value| {
        match key.raw() {
            "sequence" => sequence = Some(value),
            "receipt_sequence" => ledger = Some(value),
            BATCH_KEY => batch = Some(value),
            key => match kind.member(key) {
                Some(place) => wanted[place] = Some(value),
                None => is_header |= key == HEADER_KEY,
            },
        };
    });
    if walked.is_err() {
        return Content::Broken;
    }
    match kind.facts(&wanted) {
        Some(facts) => {
            let own = |raw: Option<Raw<'_>>| raw.filter(|_| facts.is_ours).and_then(Raw::natural);
            Content::Record(Peeked {
                sequence: own(sequence),
                ledger: own(ledger),
                batch: batch.filter(|_| facts.is_ours).and_then(BatchMark::of),
                facts,
            })
        }
        None if is_header => Content::Header,
        None => Content::Broken,
    }
}

/// A fast hash that is the same on every machine. What it finds is always checked, so it need not resist attacks.
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
    fn parts_do_not_run_together() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"a\0"]), hash(&[b"a"]));
        assert_ne!(hash(&[b""]), hash(&[]));
    }
}
