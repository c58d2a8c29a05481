//! Describes records of calls to the journal.

use std::any::Any;
use std::sync::Arc;

use brigade_call::{CallStatus, RECORD_VERSION};
use brigade_core::json::RawJson;
use brigade_core::{CallId, Timestamp};
use brigade_fs::{Fs, WorkspaceKey};
use brigade_journal::{
    Adoption, BATCH_KEY, Facts, Journal, JournalError, Kind, Layout, Members, State, StatusCode, StatusRule,
    Words, hash,
};

use super::recent::CountedLines;
use super::{adopt, layout};

/// The members of a record that belong to the journal, not to the call.
pub const OWN_MEMBERS: [&str; 5] = ["sequence", "revision", "checkpoints", BATCH_KEY, MAC_KEY];

/// The member of a record that approves something: the MAC of this host.
pub(crate) const MAC_KEY: &str = "host_mac";

/// Opens the journal of calls.
pub(crate) fn journal(fs: Arc<dyn Fs>, key: Arc<WorkspaceKey>) -> Arc<Journal> {
    let layout = Layout::new(layout::TOOLS, "calls", "runs", &["checkpoints"]);
    Journal::new(fs, layout, Arc::new(CallKind { key, counted: CountedLines::default() }))
}

/// Records of calls.
struct CallKind {
    key: Arc<WorkspaceKey>,
    counted: CountedLines,
}

/// Returns the code of a status: its index in [`CallStatus::ALL`].
pub(crate) fn code_of(status: &CallStatus) -> Option<StatusCode> {
    let place = CallStatus::ALL.iter().position(|known| known == status)?;
    u8::try_from(place).ok().map(StatusCode::at)
}

/// Returns the status of a code, unless the code covers several statuses.
pub(crate) fn status_of(code: usize) -> Option<CallStatus> {
    CallStatus::ALL.get(code).cloned()
}

impl Kind for CallKind {
    fn statuses(&self) -> &'static [StatusRule] {
        const OPEN: StatusRule = StatusRule { is_finished: false, is_unique: false };
        const UNIQUE: StatusRule = StatusRule { is_finished: false, is_unique: true };
        const REJECTED: StatusRule = StatusRule { is_finished: true, is_unique: true };
        const OVER: StatusRule = StatusRule { is_finished: true, is_unique: false };
        // Pending, approved, rejected, held, running, waiting, resume-pending, and four final statuses.
        &[UNIQUE, UNIQUE, REJECTED, OPEN, OPEN, OPEN, OPEN, OVER, OVER, OVER, OVER]
    }

    fn words(&self) -> &'static Words {
        &Words {
            not_a_record: "not a call record",
            unfinished: "part of a batch that a crash kept from being queued",
            lost_segment: "this segment of finished calls is missing",
        }
    }

    fn member(&self, key: &str) -> Option<usize> {
        Some(match key {
            "id" => 0,
            "status" => 1,
            "tool_id" => 2,
            "record_version" => 3,
            "created_at" => 4,
            "call_fingerprint" => 5,
            "args" => 6,
            "arguments" => 7,
            _ => return None,
        })
    }

    fn facts(&self, members: &Members<'_>) -> Option<Facts> {
        let text = |place: usize| members[place].and_then(RawJson::text);
        let (id, status, tool) = (text(0)?, text(1)?, text(2)?);
        if id.parse::<CallId>().is_err() {
            return None;
        }
        let version = members[3].and_then(RawJson::integer);
        let status = match version {
            Some(version) if RECORD_VERSION < version => self.newer(),
            Some(_) => code_of(&CallStatus::from_word(&status)).unwrap_or(self.other()),
            None => code_of(&adopted_status(&status)).unwrap_or(self.other()),
        };
        let created = text(4).and_then(|text| text.parse::<Timestamp>().ok());
        let slice = |place: usize| members[place].map_or("", RawJson::as_str).as_bytes();
        Some(Facts {
            id: id.into(),
            status,
            created: created.map_or(i64::MAX, Timestamp::unix_micros),
            key: duplicate_key(text(5).as_deref(), &tool, slice(6), slice(7)),
            is_ours: version.is_some(),
        })
    }

    fn key(&self) -> Option<&WorkspaceKey> {
        Some(&self.key)
    }

    fn companion(&self) -> Option<&(dyn Any + Send + Sync)> {
        Some(&self.counted)
    }

    fn adopt(&self, state: &State, now: Timestamp) -> Result<Adoption<'static>, JournalError> {
        adopt::adopt(state, now)
    }
}

/// Returns our status for a call of v0.30.
fn adopted_status(word: &str) -> CallStatus {
    match word {
        // That approval did not bind the content of the program.
        "approved" => CallStatus::Pending,
        // `adopt_status` refines this by the exit code. Both are final.
        "resumed" => CallStatus::Completed,
        word => CallStatus::from_word(word),
    }
}

/// Returns a hash that is equal for equivalent calls. It is computed from the fingerprint if that is complete, and from
/// the content for calls of v0.30.
pub(crate) fn duplicate_key(fingerprint: Option<&str>, tool: &str, args: &[u8], arguments: &[u8]) -> u64 {
    match fingerprint {
        Some(digits) if digits.len() == 64 => hash(&[b"fingerprint", digits.as_bytes()]),
        Some(_) | None => content_key(tool, args, arguments),
    }
}

/// Returns the hash of a call's content, in compact JSON.
pub(crate) fn content_key(tool: &str, args: &[u8], arguments: &[u8]) -> u64 {
    hash(&[b"content", tool.as_bytes(), args, arguments])
}

#[cfg(test)]
mod tests {
    use brigade_journal::{Content, look_at};

    use super::*;

    fn kind() -> CallKind {
        CallKind { key: Arc::new(WorkspaceKey::temporary()), counted: CountedLines::default() }
    }

    #[track_caller]
    fn check(line: &str, expect: Option<CallStatus>) {
        let found = match look_at(&kind(), line.as_bytes()) {
            Content::Record(peeked) => status_of(peeked.facts.status.byte().into()),
            Content::Header | Content::Blank | Content::Broken => None,
        };
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn statuses_are_mapped_to_ours() {
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
    fn the_rules_of_a_status_match_its_code() {
        assert_eq!(kind().statuses().len(), CallStatus::ALL.len());
        for status in CallStatus::ALL.iter().cloned() {
            let code = code_of(&status).unwrap();
            assert_eq!(kind().is_finished(code), status.is_finished(), "{status}");
            let is_unique =
                matches!(status, CallStatus::Pending | CallStatus::Approved | CallStatus::Rejected);
            assert_eq!(kind().is_unique(code), is_unique, "{status}");
        }
    }
}
