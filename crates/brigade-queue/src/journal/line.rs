//! The stored line of a call.

use brigade_call::{ADOPTED_STATUS, Call, CallStatus, Paths, RecordVersion};
use brigade_core::json::{MemberFormat, RecordLine, reprint};
use brigade_core::{Dialect, Json, Object};
use brigade_journal::{BATCH_KEY, BatchMark};

use super::kind::OWN_MEMBERS;
use crate::store::StoredCall;

impl StoredCall {
    /// Parses a line. `sequence` is used for records without one, which v0.30 wrote.
    pub(crate) fn from_line(line: &[u8], sequence: u64) -> Option<StoredCall> {
        let Ok(Json::Object(mut record)) = Json::parse_bytes(line, Dialect::Lenient) else { return None };
        let is_ours = record.get("record_version").and_then(Json::as_i64).is_some();
        let mut own = |key: &str| if is_ours { record.remove(key) } else { None };
        // The batch mark matters only to the reader of the file.
        let [sequence_field, revision, checkpoints, _batch, _mac] = OWN_MEMBERS.map(&mut own);
        let natural = |json: Option<Json>| json.and_then(|json| u64::try_from(json.as_i64()?).ok());
        let checkpoints = match checkpoints {
            Some(Json::Object(checkpoints)) => checkpoints,
            Some(_) | None => Object::new(),
        };
        let (mut call, version) = Call::from_record(Json::Object(record)).ok()?;
        if version == RecordVersion::Adopted {
            adopt_status(&mut call);
        }
        let sequence = natural(sequence_field).unwrap_or(sequence);
        Some(StoredCall { call, version, sequence, revision: natural(revision).unwrap_or(0), checkpoints })
    }

    /// Writes the line, with a line feed.
    pub(crate) fn to_line(&self) -> String {
        format!("{}\n", self.to_marked_line(None).as_str())
    }

    /// Formats the line of a call that is queued in a batch, without a line feed.
    pub(crate) fn to_marked_line(&self, batch: Option<BatchMark>) -> RecordLine {
        let mut record = self.call.to_record_text();
        for key in OWN_MEMBERS {
            // A record of v0.30 may have had a member with this name.
            record.rename(key, |theirs| format!("adopted_{theirs}"));
        }
        record.insert("sequence", &self.sequence);
        record.insert("revision", &self.revision);
        if !self.checkpoints.is_empty() {
            record.insert("checkpoints", &self.checkpoints);
        }
        if let Some(batch) = &batch {
            record.insert(BATCH_KEY, batch);
        }
        debug_assert!(record.has("record_version"));
        record.into_line()
    }
}

/// Writes the call of a line as reports show it, indented for this depth of a document, without parsing it into values.
pub(crate) fn write_shown(line: &[u8], depth: usize, paths: &impl Paths, text: &mut Vec<u8>) {
    let target = paths.target();
    let reprinted = reprint(line, depth, text, |key, value| match (key, value) {
        ("record_version", _) => MemberFormat::No,
        (key, _) if OWN_MEMBERS.contains(&key) => MemberFormat::No,
        ("receipt_path", Some(path)) => MemberFormat::Text(paths.absolute(path)),
        ("policy" | "projection_summary", _) => MemberFormat::Beneath(target.clone()),
        _ => MemberFormat::AsWritten,
    });
    reprinted.expect("the journal passes on lines that it has checked");
}

/// Converts the status of a call of v0.30.
fn adopt_status(call: &mut Call) {
    if call.status == CallStatus::Other("resumed".to_owned()) {
        call.extra.insert(ADOPTED_STATUS.to_owned(), Json::from("resumed"));
        call.status = match (call.timed_out, call.exit_code) {
            (Some(true), _) => CallStatus::TimedOut,
            (_, None | Some(0)) => CallStatus::Completed,
            (_, Some(_)) => CallStatus::Failed,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADOPTED: &str =
        r#"{"id":"call-1","status":"resumed","tool_id":"t","sequence":"theirs","exit_code":0,"x":NaN}"#;

    #[test]
    fn records_of_v0_30_are_read_and_kept() {
        let stored = StoredCall::from_line(ADOPTED.as_bytes(), 7).unwrap();
        assert_eq!(stored.call.status, CallStatus::Completed);
        assert_eq!((stored.sequence, stored.revision), (7, 0));
        let line = stored.to_line();
        assert!(line.contains(r#""adopted_sequence":"theirs""#) && line.contains(r#""x":NaN"#), "{line}");
        let again = StoredCall::from_line(line.as_bytes(), 99).unwrap();
        assert_eq!((again.sequence, again.version), (7, RecordVersion::Current));
        assert_eq!(again.to_line(), line);
    }
}
