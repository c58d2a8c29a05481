//! A stored call, and its line in a file.

use brigade_call::{Call, CallStatus, RECORD_VERSION, RecordVersion, Runner};
use brigade_core::{Dialect, Json, Object};

use crate::entry::{BATCH_KEY, BatchMark, OWN_MEMBERS};

/// A call on its way into a list.
#[derive(Debug)]
pub enum ListedCall<'a> {
    /// Its record as it is stored: one line of valid JSON, an object.
    AsStored(&'a [u8]),
    /// It must be shown otherwise than it is stored: the Python program wrote it, or its runner is gone.
    Parsed(Box<StoredCall>),
}

/// A call as it is stored, with what the queue knows of it besides.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredCall {
    /// The call; a running one whose runner is gone is `interrupted` here, or as its receipt says, before any writer
    /// has recorded it.
    pub call: Call,
    /// Which program wrote it last. One of a newer version can be read and not changed.
    pub version: RecordVersion,
    /// Its place in the order of creation.
    pub sequence: u64,
    /// How often it was written; a change names the revision it is based on.
    pub revision: u64,
    /// The checkpoints of its runs as they stand; the files are copies of this.
    pub(crate) checkpoints: Object,
}

impl StoredCall {
    /// Reads a line. `sequence` is for records that have none of their own, which are the Python program's.
    pub(crate) fn from_line(line: &[u8], sequence: u64) -> Option<StoredCall> {
        let Ok(Json::Object(mut record)) = Json::parse_bytes(line, Dialect::Lenient) else { return None };
        let is_ours = record.get("record_version").and_then(Json::as_i64).is_some();
        let mut own = |key: &str| if is_ours { record.remove(key) } else { None };
        // Which calls were queued together matters only to whoever reads the file.
        let [sequence_field, revision, checkpoints, _batch] = OWN_MEMBERS.map(&mut own);
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
        self.to_marked_line(None)
    }

    /// Writes the line of a call that is queued together with others.
    pub(crate) fn to_marked_line(&self, batch: Option<BatchMark>) -> String {
        let mut record = self.call.to_record();
        for key in OWN_MEMBERS {
            // A record of the Python program may have had a member of that name.
            if let Some(theirs) = record.remove(key) {
                record.insert(format!("adopted_{key}"), theirs);
            }
        }
        record.insert("sequence".to_owned(), Json::from(self.sequence));
        record.insert("revision".to_owned(), Json::from(self.revision));
        if !self.checkpoints.is_empty() {
            record.insert("checkpoints".to_owned(), Json::Object(self.checkpoints.clone()));
        }
        if let Some(batch) = batch {
            record.insert(BATCH_KEY.to_owned(), batch.to_json());
        }
        debug_assert_eq!(record.get("record_version"), Some(&Json::from(RECORD_VERSION)));
        let mut line = Json::Object(record).to_compact();
        line.push('\n');
        line
    }

    /// Tells whether the call runs in a process that is gone.
    pub(crate) fn is_abandoned(&self, is_alive: &dyn Fn(&Runner) -> bool) -> bool {
        self.call.status == CallStatus::Running
            && self.version != RecordVersion::Newer
            && !self.call.claim.as_ref().and_then(|claim| claim.runner.as_ref()).is_some_and(is_alive)
    }
}

/// Gives a call of the Python program the status that it has for us.
fn adopt_status(call: &mut Call) {
    if call.status == CallStatus::Other("resumed".to_owned()) {
        call.extra.insert("adopted_status".to_owned(), Json::from("resumed"));
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
    fn what_the_python_program_wrote_reads_and_is_kept() {
        let stored = StoredCall::from_line(ADOPTED.as_bytes(), 7).unwrap();
        assert_eq!(stored.call.status, CallStatus::Completed);
        assert_eq!((stored.sequence, stored.revision), (7, 0));
        let line = stored.to_line();
        assert!(line.contains(r#""adopted_sequence":"theirs""#) && line.contains(r#""x":NaN"#), "{line}");
        let again = StoredCall::from_line(line.as_bytes(), 99).unwrap();
        assert_eq!((again.sequence, again.version), (7, RecordVersion::Current));
        assert_eq!(again.to_line(), line);
    }

    #[test]
    fn only_a_living_runner_keeps_a_call_running() {
        let line = r#"{"id":"c","status":"running","tool_id":"t","record_version":1,"run_id":"r","runner":{"pid":7,"start_time":1,"boot_id":"b"}}"#;
        let stored = StoredCall::from_line(line.as_bytes(), 1).unwrap();
        assert!(stored.is_abandoned(&|_| false));
        assert!(!stored.is_abandoned(&|runner| runner.pid == 7));
        let adopted = StoredCall::from_line(br#"{"id":"c","status":"running","tool_id":"t"}"#, 1).unwrap();
        assert!(adopted.is_abandoned(&|_| true));
    }
}
