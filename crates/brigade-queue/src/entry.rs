//! What the queue must know of a line to find it again.

use brigade_call::CallStatus;
use brigade_core::{CallId, Json, Timestamp};

use brigade_core::json::{Raw, members};

/// A status in one byte: its place in [`CallStatus::ALL`], or one of the two behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StatusCode(u8);

/// How many codes there are.
pub(crate) const CODES: usize = CallStatus::ALL.len() + 2;

impl StatusCode {
    /// A status that another program wrote.
    pub(crate) const OTHER: StatusCode = StatusCode(CallStatus::ALL.len() as u8);
    /// A record of a newer version, whatever its status.
    pub(crate) const NEWER: StatusCode = StatusCode(CallStatus::ALL.len() as u8 + 1);

    pub(crate) fn of(status: &CallStatus) -> StatusCode {
        CallStatus::ALL
            .iter()
            .position(|known| known == status)
            .and_then(|place| u8::try_from(place).ok())
            .map_or(StatusCode::OTHER, StatusCode)
    }

    pub(crate) fn from_byte(byte: u8) -> Option<StatusCode> {
        (usize::from(byte) < CODES).then_some(StatusCode(byte))
    }

    pub(crate) fn byte(self) -> u8 {
        self.0
    }

    /// The status, unless the code stands for more than one.
    pub(crate) fn status(self) -> Option<CallStatus> {
        CallStatus::ALL.get(usize::from(self.0)).cloned()
    }

    pub(crate) fn is_finished(self) -> bool {
        self.status().is_some_and(|status| status.is_finished())
    }

    /// Whether a call of this status can make a new one superfluous.
    pub(crate) fn counts_for_duplicates(self) -> bool {
        matches!(self.status(), Some(CallStatus::Pending | CallStatus::Approved | CallStatus::Rejected))
    }
}

/// Where a line stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    /// Without the line feed.
    pub(crate) length: u32,
}

/// One line, as indexes hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Box<str>,
    pub(crate) span: Span,
    pub(crate) status: StatusCode,
    /// Microseconds since 1970; the greatest number when the record does not say.
    pub(crate) created: i64,
    pub(crate) sequence: u64,
    /// See [`duplicate_key`].
    pub(crate) duplicate_key: u64,
}

/// A line that is looked at without parsing it.
#[derive(Clone, Debug)]
pub(crate) struct Peeked {
    pub(crate) id: Box<str>,
    pub(crate) status: StatusCode,
    pub(crate) created: i64,
    /// Absent in records of the Python program.
    pub(crate) sequence: Option<u64>,
    pub(crate) duplicate_key: u64,
    /// The place in the ledger of the receipt that it names.
    pub(crate) ledger: Option<u64>,
    /// Which lines of its batch follow.
    pub(crate) batch: Option<BatchMark>,
}

/// What a line that was queued together with others says of them, so that a reader can tell a batch that a crash cut off.
///
/// Counts only in the journal whose generation it names: a rewritten one has other lines behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchMark {
    /// The generation of the journal that the batch was appended to.
    pub(crate) generation: u64,
    /// How many lines of the batch follow this one.
    pub(crate) rest: u64,
}

/// The members of a record that are the queue's own, and no part of the call.
pub const OWN_MEMBERS: [&str; 4] = ["sequence", "revision", "checkpoints", BATCH_KEY];

/// The member of a record that holds its [`BatchMark`].
pub(crate) const BATCH_KEY: &str = "batch";

impl BatchMark {
    pub(crate) fn to_json(self) -> Json {
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

impl Peeked {
    pub(crate) fn at(self, span: Span, sequence: u64) -> Entry {
        Entry {
            id: self.id,
            span,
            status: self.status,
            created: self.created,
            sequence,
            duplicate_key: self.duplicate_key,
        }
    }
}

/// What one line of the journal is.
pub(crate) enum Content {
    /// A revision of a call.
    Call(Peeked),
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
pub(crate) fn look(line: &[u8]) -> Content {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Content::Blank;
    }
    let mut fields: [Option<Raw<'_>>; 11] = [None; 11];
    let mut is_header = false;
    let walked = members(line, |key, value| {
        let place = match key.raw() {
            "id" => 0,
            "status" => 1,
            "tool_id" => 2,
            "record_version" => 3,
            "sequence" => 4,
            "created_at" => 5,
            "call_fingerprint" => 6,
            "args" => 7,
            "arguments" => 8,
            "receipt_sequence" => 9,
            "batch" => 10,
            _ => {
                is_header |= key.raw() == HEADER_KEY;
                return;
            }
        };
        fields[place] = Some(value);
    });
    if walked.is_err() {
        return Content::Broken;
    }
    let text = |place: usize| fields[place].and_then(Raw::text);
    let (Some(id), Some(status), Some(tool)) = (text(0), text(1), text(2)) else {
        return if is_header { Content::Header } else { Content::Broken };
    };
    if id.parse::<CallId>().is_err() {
        return Content::Broken;
    }
    let version = fields[3].and_then(Raw::integer);
    let status = match version {
        Some(version) if brigade_call::RECORD_VERSION < version => StatusCode::NEWER,
        Some(_) => StatusCode::of(&CallStatus::from_word(&status)),
        None => adopted_status(&status),
    };
    let created = text(5).and_then(|text| text.parse::<Timestamp>().ok());
    let slice = |place: usize| fields[place].map_or("", Raw::as_str).as_bytes();
    Content::Call(Peeked {
        id: id.into(),
        status,
        created: created.map_or(i64::MAX, Timestamp::unix_micros),
        sequence: version.and(fields[4]).and_then(Raw::natural),
        duplicate_key: duplicate_key(text(6).as_deref(), &tool, slice(7), slice(8)),
        ledger: version.and(fields[9]).and_then(Raw::natural),
        batch: version.and(fields[10]).and_then(BatchMark::of),
    })
}

/// Where a call of the Python program stands for us.
fn adopted_status(word: &str) -> StatusCode {
    match word {
        // Its approval did not bind the program's bytes.
        "approved" => StatusCode::of(&CallStatus::Pending),
        // Refined by `adopted_call` from the exit code; both are finished.
        "resumed" => StatusCode::of(&CallStatus::Completed),
        word => StatusCode::of(&CallStatus::from_word(word)),
    }
}

/// A number that is equal for calls that ask for the same: made of the fingerprint where it is a full one, and of the
/// content where it is one of the Python program's.
pub(crate) fn duplicate_key(fingerprint: Option<&str>, tool: &str, args: &[u8], arguments: &[u8]) -> u64 {
    match fingerprint {
        Some(digits) if digits.len() == 64 => hash(&[b"fingerprint", digits.as_bytes()]),
        Some(_) | None => content_key(tool, args, arguments),
    }
}

/// The number of a call by its content, in compact JSON.
pub(crate) fn content_key(tool: &str, args: &[u8], arguments: &[u8]) -> u64 {
    hash(&[b"content", tool.as_bytes(), args, arguments])
}

/// A fast hash that is the same on every machine; what it finds is always checked, so it need not resist anybody.
pub(crate) fn hash(parts: &[&[u8]]) -> u64 {
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

    #[track_caller]
    fn check(line: &str, expect: Option<CallStatus>) {
        let found = match look(line.as_bytes()) {
            Content::Call(peeked) => peeked.status.status(),
            Content::Header | Content::Blank | Content::Broken => None,
        };
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn a_status_is_what_it_means_to_us() {
        check(
            r#"{"id":"c","status":"approved","tool_id":"t","record_version":1}"#,
            Some(CallStatus::Approved),
        );
        check(r#"{"id":"c","status":"approved","tool_id":"t"}"#, Some(CallStatus::Pending));
        check(r#"{"id":"c","status":"resumed","tool_id":"t"}"#, Some(CallStatus::Completed));
        check(r#"{"id":"c","status":"pending","tool_id":"t","record_version":2}"#, None);
        check(r#"{"id":"../c","status":"pending","tool_id":"t"}"#, None);
        check(r#"{"id":"c","status":7,"tool_id":"t"}"#, None);
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"a\0"]), hash(&[b"a"]));
        assert_ne!(hash(&[b""]), hash(&[]));
    }
}
