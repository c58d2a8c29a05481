//! A call as a JSON record: the keys of the Python program, and ours beside them.
//!
//! Reading is lenient: a known key with a value of the wrong type stays among the unknown ones and is written back as it
//! was. Only a record without a usable `id`, `status` or `tool_id` is no call. A record without `record_version` was
//! written by the Python program; its approval did not bind the program's bytes, so an approved call of it is pending here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_core::{CallId, Fingerprint, Hint, Json, Object, Place, Timestamp};
use brigade_policy::Blocker;
use brigade_redact::shown_command;
use thiserror::Error;

use crate::binding::{Binding, Caller};
use crate::call::{Approval, Call, Claim, LedgerLink, ReceiptLink, ReplayOf, Runner};
use crate::status::CallStatus;

/// The version of the records that [`Call::to_record`] writes.
pub const RECORD_VERSION: i64 = 1;

/// Which program wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordVersion {
    /// The Python program.
    Adopted,
    /// This version.
    Current,
    /// A newer version of Brigade: to be read, and never to be written again.
    Newer,
}

/// A JSON value that is not a call's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a call record: {0}")]
pub struct NotACall(&'static str);

impl Call {
    /// Writes the record: every key of the Python program, ours, and all unknown ones.
    pub fn to_record(&self) -> Object {
        let mut record = self.extra.clone();
        let mut put = |key: &str, value: Json| {
            // A known key that held something else keeps it until there is a value.
            if !value.is_null() || !record.contains_key(key) {
                record.insert(key.to_owned(), value);
            }
        };
        let time = |at: Option<Timestamp>| Json::from(at.map(|at| at.to_string()));
        put("record_version", Json::from(RECORD_VERSION));
        put("id", Json::from(self.id.as_str()));
        put("status", Json::from(self.status.as_str()));
        put("created_at", time(self.created_at));
        put("reviewed_at", time(self.reviewed_at));
        put("review_reason", Json::from(self.review_reason.clone()));
        put("caller", Json::from(self.caller.as_record()));
        put("tool_id", Json::from(self.tool_id.as_str()));
        put("family", Json::from(self.family.as_str()));
        // A record of another program may hold a secret there.
        put(
            "command",
            Json::from(self.command.as_deref().map(|command| shown_command(command).into_owned())),
        );
        put("args", self.args.clone());
        put("arguments", rendered_to_json(&self.arguments));
        put("contract", self.contract.clone());
        put(
            "blockers",
            self.blockers.iter().map(|blocker| blocker.message.clone()).collect::<Vec<_>>().into(),
        );
        put("blocker_details", Json::Array(self.blockers.iter().map(blocker_to_json).collect()));
        put("policy", self.policy.clone());
        put("projection_summary", self.projection_summary.clone());
        put("contract_fingerprint", Json::from(self.contract_fingerprint.clone()));
        put("source_fingerprint", Json::from(self.source_fingerprint.clone()));
        put("call_fingerprint", Json::from(self.call_fingerprint.clone()));
        put("planned_binding", Json::from(self.planned_binding.map(Fingerprint::to_hex)));
        if self.planned_pin.is_some() {
            put("planned_pin", Json::from(self.planned_pin.map(Fingerprint::to_hex)));
        }
        if self.planned_code.is_some() {
            put("planned_code", Json::from(self.planned_code.map(Fingerprint::to_hex)));
        }
        let approval = self.approval.as_ref();
        put("approval_fingerprint", Json::from(approval.map(|approval| approval.fingerprint.to_hex())));
        put("approval_binding", approval.map_or(Json::Null, |approval| approval.binding.to_json()));
        put("started_at", time(self.started_at));
        put("completed_at", time(self.completed_at));
        let claim = self.claim.as_ref();
        put("run_id", Json::from(claim.map(|claim| claim.run_id.as_str().to_owned())));
        put("runner", claim.and_then(|claim| claim.runner.as_ref()).map_or(Json::Null, runner_to_json));
        let receipt = self.receipt.as_ref();
        put("receipt_path", Json::from(receipt.map(|receipt| receipt.path.clone())));
        let ledger = receipt.and_then(|receipt| receipt.ledger.as_ref());
        put("receipt_sequence", Json::from(ledger.map(|ledger| ledger.sequence)));
        put("receipt_sha256", Json::from(ledger.map(|ledger| ledger.sha256.to_hex())));
        put("exit_code", Json::from(self.exit_code));
        if let Some(timed_out) = self.timed_out {
            put("timed_out", Json::from(timed_out));
        }
        if let Some(first) = self.checkpoint_ids.first() {
            put("checkpoint_id", Json::from(first.as_str()));
            let ids: Vec<&str> = self.checkpoint_ids.iter().map(|id| id.as_str()).collect();
            put("checkpoint_ids", ids.into());
        }
        if let Some(replay) = &self.replay {
            put("replay_of_run_id", Json::from(replay.run_id.as_str()));
            put("replay_source_call_id", Json::from(replay.source_call_id.clone()));
            put("replay_created_at", time(Some(replay.created_at)));
        }
        record
    }

    /// Reads a record of any version.
    ///
    /// # Errors
    /// When it has no usable `id`, `status` or `tool_id`.
    pub fn from_record(record: Json) -> Result<(Call, RecordVersion), NotACall> {
        let Json::Object(members) = record else {
            return Err(NotACall("expected an object"));
        };
        let mut record = Reader(members);
        let version = match record.take("record_version", Json::as_i64) {
            None => RecordVersion::Adopted,
            Some(version) if version <= RECORD_VERSION => RecordVersion::Current,
            Some(_) => RecordVersion::Newer,
        };
        let id = record
            .take("id", |id| id.as_str()?.parse::<CallId>().ok())
            .ok_or(NotACall("`id` must be a call id"))?;
        let status = record
            .take("status", |status| status.as_str().map(CallStatus::from_word))
            .ok_or(NotACall("`status` must be a word"))?;
        let tool_id = record.text("tool_id").ok_or(NotACall("`tool_id` must be a text"))?;
        let claim = record
            .take("run_id", |run_id| run_id.as_str()?.parse().ok())
            .map(|run_id| Claim { run_id, runner: record.take("runner", runner_from_json) });
        let receipt = record.text("receipt_path").map(|path| {
            let sequence = record.take("receipt_sequence", |json| u64::try_from(json.as_i64()?).ok());
            let sha256 = record.take("receipt_sha256", |json| json.as_str()?.parse().ok());
            let ledger = sequence.zip(sha256).map(|(sequence, sha256)| LedgerLink { sequence, sha256 });
            ReceiptLink { path, ledger }
        });
        let approval_fingerprint = match version {
            RecordVersion::Adopted => None,
            RecordVersion::Current | RecordVersion::Newer => {
                record.take("approval_fingerprint", |json| json.as_str()?.parse().ok())
            }
        };
        let approval = approval_fingerprint
            .zip(record.take("approval_binding", Binding::from_json))
            .map(|(fingerprint, binding)| Approval { binding, fingerprint });
        let replay = record.text("replay_of_run_id").map(|run_id| ReplayOf {
            run_id,
            source_call_id: record.text("replay_source_call_id"),
            created_at: record.time("replay_created_at").unwrap_or(Timestamp::from_unix_micros(0)),
        });
        let messages = record.take("blockers", texts).unwrap_or_default();
        let details =
            record.take("blocker_details", |json| Some(json.as_array()?.to_vec())).unwrap_or_default();
        let mut call = Call {
            id,
            status,
            created_at: record.time("created_at"),
            reviewed_at: record.time("reviewed_at"),
            review_reason: record.text("review_reason"),
            caller: Caller::from_record(record.text("caller").as_deref()),
            tool_id,
            family: record.text("family").unwrap_or_default(),
            command: record.text("command"),
            args: record.object("args"),
            arguments: record.take("arguments", rendered_from_json).unwrap_or_default(),
            contract: record.object("contract"),
            blockers: blockers_from_json(messages, &details),
            policy: record.object("policy"),
            projection_summary: record.object("projection_summary"),
            contract_fingerprint: record.text("contract_fingerprint"),
            source_fingerprint: record.text("source_fingerprint"),
            call_fingerprint: record.text("call_fingerprint"),
            planned_binding: record.take("planned_binding", |json| json.as_str()?.parse().ok()),
            planned_pin: record.take("planned_pin", |json| json.as_str()?.parse().ok()),
            planned_code: record.take("planned_code", |json| json.as_str()?.parse().ok()),
            approval,
            claim,
            started_at: record.time("started_at"),
            completed_at: record.time("completed_at"),
            receipt,
            exit_code: record.take("exit_code", Json::as_i64),
            timed_out: record.take("timed_out", Json::as_bool),
            checkpoint_ids: Vec::new(),
            replay,
            extra: Object::new(),
        };
        let first = record.take("checkpoint_id", |json| json.as_str()?.parse().ok());
        let all = record.take("checkpoint_ids", |json| {
            json.as_array()?.iter().map(|id| id.as_str()?.parse().ok()).collect::<Option<Vec<_>>>()
        });
        call.checkpoint_ids = all.unwrap_or_else(|| first.into_iter().collect());
        call.extra = record.0;
        if version == RecordVersion::Adopted && call.status == CallStatus::Approved {
            call.status = CallStatus::Pending;
            call.extra.insert("adopted_status".to_owned(), Json::from("approved"));
        }
        Ok((call, version))
    }
}

/// Takes known members out of a record; what is left, or of another type, is kept.
struct Reader(Object);

impl Reader {
    fn take<T>(&mut self, key: &str, read: impl FnOnce(&Json) -> Option<T>) -> Option<T> {
        let value = read(self.0.get(key)?)?;
        self.0.remove(key);
        Some(value)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, |json| json.as_str().map(str::to_owned))
    }

    fn time(&mut self, key: &str) -> Option<Timestamp> {
        self.take(key, |json| json.as_str()?.parse().ok())
    }

    fn object(&mut self, key: &str) -> Json {
        match self.0.get(key) {
            Some(Json::Object(_)) => self.0.remove(key).unwrap_or_default(),
            _ => Json::Object(Object::new()),
        }
    }
}

fn texts(json: &Json) -> Option<Vec<String>> {
    json.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Writes rendered arguments as an object of texts.
pub(crate) fn rendered_to_json(arguments: &BTreeMap<String, String>) -> Json {
    Json::object(arguments.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))))
}

fn rendered_from_json(json: &Json) -> Option<BTreeMap<String, String>> {
    json.as_object()?.iter().map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Writes one reason with its code and place.
pub fn blocker_to_json(blocker: &Blocker) -> Json {
    let place = blocker.place.as_ref();
    Json::object([
        ("code", Json::from(&*blocker.code)),
        ("message", Json::from(blocker.message.as_str())),
        ("file", Json::from(place.map(|place| place.file.clone()))),
        ("line", Json::from(place.and_then(|place| place.line))),
        ("field", Json::from(blocker.field.clone())),
        ("hint", Json::from(blocker.hint.as_ref().map(ToString::to_string))),
    ])
}

/// The code of a reason that is known only by its stored message.
pub const STORED_BLOCKER: &str = "stored";

fn blockers_from_json(messages: Vec<String>, details: &[Json]) -> Vec<Blocker> {
    let detail = |index: usize, key: &str| details.get(index).and_then(|detail| detail.get(key)).cloned();
    let text = |index, key| detail(index, key).and_then(|json| json.as_str().map(str::to_owned));
    messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| Blocker {
            code: text(index, "code").map_or(Cow::Borrowed(STORED_BLOCKER), Cow::Owned),
            message,
            place: text(index, "file").map(|file| Place {
                file,
                line: detail(index, "line").and_then(|line| usize::try_from(line.as_i64()?).ok()),
                column: None,
            }),
            field: text(index, "field"),
            hint: text(index, "hint").map(Hint::from),
        })
        .collect()
}

fn runner_to_json(runner: &Runner) -> Json {
    Json::object([
        ("pid", Json::from(runner.pid)),
        ("start_time", Json::from(runner.start_time)),
        ("boot_id", Json::from(runner.boot_id.as_str())),
    ])
}

fn runner_from_json(json: &Json) -> Option<Runner> {
    Some(Runner {
        pid: u32::try_from(json.get("pid")?.as_i64()?).ok()?,
        start_time: u64::try_from(json.get("start_time")?.as_i64()?).ok()?,
        boot_id: json.get("boot_id")?.as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use brigade_core::Dialect;

    use super::*;

    const ADOPTED: &str = r#"{"id":"call-0123456789abcdef","status":"approved","tool_id":"greet","family":"script",
        "created_at":"2026-11-21T20:16:48.184878+00:00","reviewed_at":"2026-11-21T20:17:00+00:00","review_reason":null,
        "args":{"n":NaN,"big":123456789012345678901234567890},"arguments":{"n":"NaN"},"blockers":[],
        "approval_fingerprint":"0123456789abcdef","run_id":null,"receipt_path":null,"exit_code":null,
        "someone_elses":{"key":null},"blocker_details":"not a list"}"#;

    fn adopted() -> (Call, RecordVersion) {
        Call::from_record(Json::parse_bytes(ADOPTED.as_bytes(), Dialect::Lenient).unwrap()).unwrap()
    }

    #[test]
    fn an_adopted_approval_must_be_given_again() {
        let (call, version) = adopted();
        assert_eq!(version, RecordVersion::Adopted);
        assert_eq!(call.status, CallStatus::Pending);
        assert_eq!(call.approval, None);
    }

    #[test]
    fn nothing_of_a_record_is_lost() {
        let original = Json::parse_bytes(ADOPTED.as_bytes(), Dialect::Lenient).unwrap();
        let written = adopted().0.to_record();
        for (key, value) in original.as_object().unwrap() {
            if key != "status" && key != "blocker_details" {
                assert_eq!(written.get(key), Some(value), "{key}");
            }
        }
        assert_eq!(written["adopted_status"], Json::from("approved"));
    }

    #[test]
    fn our_own_record_reads_back_as_it_was() {
        let record = Json::Object(adopted().0.to_record());
        let (call, version) = Call::from_record(record.clone()).unwrap();
        assert_eq!(version, RecordVersion::Current);
        assert_eq!(Json::Object(call.to_record()), record);
    }

    #[test]
    fn what_is_no_call_says_why() {
        for text in
            ["[]", "{}", r#"{"id":"../x","status":"pending","tool_id":"t"}"#, r#"{"id":"c","status":1}"#]
        {
            assert!(Call::from_record(Json::parse(text).unwrap()).is_err(), "{text}");
        }
    }
}
