//! The stored line of a call.

use brigade_call::{ADOPTED_STATUS, Call, CallStatus, Paths, RecordVersion};
use brigade_core::Fingerprint;
use brigade_core::json::{MemberFormat, RecordLine, reprint};
use brigade_core::{Dialect, Json, Object};
use brigade_fs::{FsError, WorkspaceKey};
use brigade_journal::{BATCH_KEY, BatchMark};

use super::kind::{MAC_KEY, OWN_MEMBERS};
use crate::queue::checkpoint_of;
use crate::store::StoredCall;

/// The domain of the MACs of calls.
const MAC_DOMAIN: &str = "brigade.call.v1";

impl StoredCall {
    /// Parses the text of a record that [`StoredCall::to_text`] wrote. Checks no MAC.
    pub fn from_text(text: &str) -> Option<StoredCall> {
        StoredCall::with_mac(text.as_bytes(), 0).map(|(stored, _)| stored)
    }

    /// Writes the record as text, for stores other than the journal.
    pub fn to_text(&self) -> String {
        self.to_marked_line(None, None).as_str().to_owned()
    }

    /// Parses a line. An approval that this key has not signed does not count. `sequence` is used for records without
    /// one, which v0.30 wrote.
    pub(crate) fn from_line(line: &[u8], sequence: u64, key: Option<&WorkspaceKey>) -> Option<StoredCall> {
        let (stored, mac) = StoredCall::with_mac(line, sequence)?;
        let is_ours =
            || key.is_some_and(|key| key.verify(MAC_DOMAIN, &stored.signed_content(), mac.as_deref()));
        Some(if stored.is_signed() && !is_ours() { stored.not_approved_here() } else { stored })
    }

    /// Parses a line whose approval counts only if its MAC, which is returned too, is valid.
    pub(crate) fn with_mac(line: &[u8], sequence: u64) -> Option<(StoredCall, Option<String>)> {
        let Ok(Json::Object(mut record)) = Json::parse_bytes(line, Dialect::Lenient) else { return None };
        let is_ours = record.get("record_version").and_then(Json::as_i64).is_some();
        let mut own = |key: &str| if is_ours { record.remove(key) } else { None };
        // The batch mark matters only to the reader of the file.
        let [sequence_field, revision, checkpoints, _batch, mac] = OWN_MEMBERS.map(&mut own);
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
        let revision = natural(revision).unwrap_or(0);
        let mac = mac.as_ref().and_then(Json::as_str).map(str::to_owned);
        Some((StoredCall { call, version, sequence, revision, checkpoints }, mac))
    }

    /// Returns whether the record counts only with the MAC of this host.
    fn is_signed(&self) -> bool {
        self.call.approval.is_some() || self.call.status == CallStatus::Approved
    }

    /// Returns what the MAC covers: which call may run or resume, as what, and after which answers. The approval's
    /// fingerprint covers its binding, who or what approved, and when.
    fn signed_content(&self) -> Vec<u8> {
        let call = &self.call;
        Fingerprint::builder("brigade.signed-call.v1")
            .text("id", call.id.as_str())
            .text("status", call.status.as_str())
            .fingerprint("approval", call.approval.as_ref().map(|approval| approval.fingerprint))
            .text("run_id", call.claim.as_ref().map(|claim| claim.run_id.as_str()))
            .list("checkpoint_ids", call.checkpoint_ids.iter().map(|id| id.as_str()))
            .json("checkpoints", &Json::Object(self.checkpoints.clone()))
            .finish()
            .to_hex()
            .into_bytes()
    }

    /// Returns the MAC of the record; `None` if it approves nothing.
    ///
    /// # Errors
    /// Fails if the host has no key and none can be made.
    pub(crate) fn mac(&self, key: &WorkspaceKey) -> Result<Option<String>, FsError> {
        self.is_signed().then(|| key.sign(MAC_DOMAIN, &self.signed_content())).transpose()
    }

    /// Returns the record as it counts without a valid MAC or signature. Answers to its checkpoints are open again.
    #[must_use]
    pub fn not_approved_here(mut self) -> StoredCall {
        self.call = self.call.not_approved_here();
        for document in self.checkpoints.values_mut() {
            if let Some(checkpoint) = checkpoint_of(document) {
                *document = Json::Object(checkpoint.unanswered().to_document());
            }
        }
        self
    }

    /// Writes the line, with a line feed.
    pub(crate) fn to_line(&self) -> String {
        format!("{}\n", self.to_marked_line(None, None).as_str())
    }

    /// Formats the line of a call with its MAC, perhaps queued in a batch, without a line feed.
    pub(crate) fn to_marked_line(&self, batch: Option<BatchMark>, mac: Option<&str>) -> RecordLine {
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
        if let Some(mac) = &mac {
            record.insert(MAC_KEY, mac);
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
        let stored = StoredCall::from_line(ADOPTED.as_bytes(), 7, None).unwrap();
        assert_eq!(stored.call.status, CallStatus::Completed);
        assert_eq!((stored.sequence, stored.revision), (7, 0));
        let line = stored.to_line();
        assert!(line.contains(r#""adopted_sequence":"theirs""#) && line.contains(r#""x":NaN"#), "{line}");
        let again = StoredCall::from_line(line.as_bytes(), 99, None).unwrap();
        assert_eq!((again.sequence, again.version), (7, RecordVersion::Current));
        assert_eq!(again.to_line(), line);
    }
}
