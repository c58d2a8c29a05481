//! A call as a JSON record, with the keys of v0.30 and our own.
//!
//! Reading is lenient: a known key with a value of the wrong type is treated as unknown and written back unchanged.
//! Only a record without a valid `id`, `status` or `tool_id` is rejected. A record without `record_version` was written
//! by v0.30. Its approval did not bind the program's bytes, so an approved call becomes pending.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_catalog::Family;
use brigade_core::json::{Mismatch, RecordText, from_record, serialize_record, to_json, to_record};
use brigade_core::{
    CallId, CheckpointId, ErrorCode, Extra, Fingerprint, Hint, Json, Object, RecordedWord, RunId,
    StoredFingerprint, Timestamp,
};
use brigade_policy::{Blocker, BlockerDetail, CallKind, PolicyDecision};
use brigade_projection::ProjectionSummary;
use brigade_redact::shown_command;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::approver::ApprovedBy;
#[cfg(feature = "schemas")]
use crate::approver::Approver;
use crate::binding::{Binding, Caller};
use crate::call::{Approval, Approvals, Call, Claim, LedgerLink, ReceiptLink, ReplayOf, Runner};
use crate::contract::ContractLabels;
use crate::judged::Judgement;
use crate::session::CallSession;
use crate::status::CallStatus;

/// The version of the records that [`Call::to_record`] writes.
pub const RECORD_VERSION: i64 = 1;

/// The version that wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordVersion {
    /// Version 0.30.
    Adopted,
    /// This version.
    Current,
    /// A newer version of Brigade. Such a record is read, but never rewritten.
    Newer,
}

/// A JSON value that is not a call's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a call record: {0}")]
pub struct NotACall(&'static str);

/// The members of a record.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(rename = "Call"))]
struct CallRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(skip))]
    record_version: Option<i64>,
    /// Its id.
    id: Cow<'a, CallId>,
    /// Its status.
    status: Cow<'a, CallStatus>,
    /// When it was queued.
    created_at: Option<Timestamp>,
    /// When a person last decided.
    reviewed_at: Option<Timestamp>,
    /// The reason, if it was rejected or held.
    review_reason: Option<Cow<'a, str>>,
    /// Whether its caller withdrew it; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
    /// The caller.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    caller: Option<Cow<'a, Caller>>,
    /// The session in which the agent requested it, and the profiles that decided there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Cow<'a, CallSession>>,
    /// A judge's answer about it, if a judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judge: Option<Cow<'a, Judgement>>,
    /// The tool's id.
    tool_id: Cow<'a, str>,
    /// What it does with the tool: `run`, `install` or `read`; absent in older records, whose calls run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    kind: Option<CallKind>,
    /// The tool's family.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    #[serde(default)]
    family: Cow<'a, RecordedWord<Family>>,
    /// The command of the tool, without arguments.
    command: Option<Cow<'a, str>>,
    /// The arguments as given, without secrets.
    #[serde(default)]
    args: Cow<'a, Object>,
    /// The rendered arguments, without secrets.
    #[serde(default)]
    arguments: Cow<'a, BTreeMap<String, String>>,
    /// The contract's labels when the call was planned.
    #[serde(default = "nothing")]
    contract: Cow<'a, ContractLabels>,
    /// Why the call may not run, as sentences.
    #[serde(default)]
    blockers: Vec<Cow<'a, str>>,
    /// The same reasons with code, place and hint.
    #[serde(default)]
    blocker_details: Vec<BlockerDetail>,
    /// The policy's decision when the call was planned.
    #[serde(serialize_with = "or_empty")]
    #[cfg_attr(feature = "schemas", schemars(with = "PolicyDecision"))]
    policy: Option<Cow<'a, PolicyDecision>>,
    /// The projections when the call was planned.
    #[serde(serialize_with = "or_empty")]
    #[cfg_attr(feature = "schemas", schemars(with = "ProjectionSummary"))]
    projection_summary: Option<Cow<'a, ProjectionSummary>>,
    /// The contract's fingerprint.
    contract_fingerprint: Option<Cow<'a, str>>,
    /// The source's fingerprint.
    source_fingerprint: Option<Cow<'a, str>>,
    /// The fingerprint of the request.
    call_fingerprint: Option<Cow<'a, str>>,
    /// The fingerprint of what an approval would have bound when the call was planned.
    planned_binding: Option<Fingerprint>,
    /// The part of it that binds the listing of an MCP tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_pin: Option<Fingerprint>,
    /// The fingerprint of the code that the call would have run when it was planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_code: Option<Fingerprint>,
    /// The program that `PATH` led to when the call was planned; absent if the command names a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_program: Option<String>,
    /// The fingerprint of the last approval.
    approval_fingerprint: Option<String>,
    /// What the last approval bound.
    approval_binding: Option<Cow<'a, Binding>>,
    /// The fingerprints of what other hosts of a team would run that the last approval covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approval_hosts: Vec<Fingerprint>,
    /// Who or what approved; absent if a person at the command line did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Approver>"))]
    approved_by: Option<Cow<'a, ApprovedBy>>,
    /// The approvals of a call that needs several people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approvals: Option<Cow<'a, Approvals>>,
    /// When the last run started.
    started_at: Option<Timestamp>,
    /// When it ended.
    completed_at: Option<Timestamp>,
    /// The run that claimed the call last.
    run_id: Option<Cow<'a, RunId>>,
    /// The process of that run.
    runner: Option<Cow<'a, Runner>>,
    /// The receipt of that run.
    receipt_path: Option<Cow<'a, str>>,
    /// The place of the receipt in the ledger, from 1.
    receipt_sequence: Option<u64>,
    /// The sha256 of the receipt's bytes.
    receipt_sha256: Option<Fingerprint>,
    /// The exit code of that run; negative for a signal.
    exit_code: Option<i64>,
    /// Whether that run was ended at its timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_out: Option<bool>,
    /// The first checkpoint that the call waits on.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<Cow<'a, CheckpointId>>,
    /// All checkpoints that it waits on.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_ids: Option<Cow<'a, [CheckpointId]>>,
    /// The run that the call is a replay of.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_of_run_id: Option<Cow<'a, str>>,
    /// The call of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_source_call_id: Option<Cow<'a, str>>,
    /// When the replay was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_created_at: Option<Timestamp>,
    /// The checkpoint after which the last finished run resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_checkpoint_id: Option<Cow<'a, CheckpointId>>,
}

/// The member of an adopted record that keeps the status from v0.30, if the status changed.
pub const ADOPTED_STATUS: &str = "adopted_status";

/// Returns the labels of a record that has none.
fn nothing() -> Cow<'static, ContractLabels> {
    Cow::Owned(ContractLabels::from_members(Object::new()).expect("no label is needed"))
}

/// Writes `None` as an empty object.
fn or_empty<T: Serialize, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => Object::new().serialize(serializer),
    }
}

impl Call {
    /// Returns the fingerprint of the last approval as text. The one of v0.30 is kept, although it approves nothing
    /// here.
    pub fn stored_approval(&self) -> Option<StoredFingerprint> {
        match &self.approval {
            Some(approval) => Some(approval.fingerprint.into()),
            None => self.extra.get("approval_fingerprint").and_then(Json::as_str)?.parse().ok(),
        }
    }

    /// Writes the record: the keys of v0.30, our own, and all unknown ones.
    pub fn to_record(&self) -> Object {
        let record = self.members(Some(RECORD_VERSION));
        to_record(&record, &Extra::from(self.extra.clone())).expect("a call is JSON")
    }

    /// Writes the same as [`Call::to_record`], as text to which members can be added.
    pub fn to_record_text(&self) -> RecordText {
        let record = self.members(Some(RECORD_VERSION));
        RecordText::new(&record, &Extra::from(self.extra.clone())).expect("a call is JSON")
    }

    fn members(&self, record_version: Option<i64>) -> CallRecord<'_> {
        let approval = self.approval.as_ref();
        let claim = self.claim.as_ref();
        let receipt = self.receipt.as_ref();
        let ledger = receipt.and_then(|receipt| receipt.ledger.as_ref());
        let replay = self.replay.as_ref();
        CallRecord {
            record_version,
            id: Cow::Borrowed(&self.id),
            status: Cow::Borrowed(&self.status),
            created_at: self.created_at,
            reviewed_at: self.reviewed_at,
            review_reason: self.review_reason.as_deref().map(Cow::Borrowed),
            withdrawn: self.withdrawn,
            caller: Some(Cow::Borrowed(&self.caller)),
            session: self.session.as_ref().map(Cow::Borrowed),
            judge: self.judge.as_ref().map(Cow::Borrowed),
            tool_id: Cow::Borrowed(&self.tool_id),
            kind: self.stated_kind,
            family: Cow::Borrowed(&self.family),
            // The record of another program may contain a secret there.
            command: self.command.as_deref().map(shown_command),
            args: self.args.as_object().map_or_else(Cow::default, Cow::Borrowed),
            arguments: Cow::Borrowed(&self.arguments),
            contract: Cow::Borrowed(&self.contract),
            blockers: self.blockers.iter().map(|blocker| Cow::Borrowed(&*blocker.message)).collect(),
            blocker_details: self.blockers.iter().map(BlockerDetail::from).collect(),
            policy: self.policy.as_ref().map(Cow::Borrowed),
            projection_summary: self.projection_summary.as_ref().map(Cow::Borrowed),
            contract_fingerprint: self.contract_fingerprint.as_deref().map(Cow::Borrowed),
            source_fingerprint: self.source_fingerprint.as_deref().map(Cow::Borrowed),
            call_fingerprint: self.call_fingerprint.as_deref().map(Cow::Borrowed),
            planned_binding: self.planned_binding,
            planned_pin: self.planned_pin,
            planned_code: self.planned_code,
            planned_program: self.planned_program.clone(),
            approval_fingerprint: approval.map(|approval| approval.fingerprint.to_hex()),
            approval_binding: approval.map(|approval| Cow::Borrowed(&approval.binding)),
            approval_hosts: approval.map(|approval| approval.hosts.clone()).unwrap_or_default(),
            approvals: self.approvals.as_ref().map(Cow::Borrowed),
            approved_by: approval.and_then(|approval| approval.by.stated()).map(Cow::Borrowed),
            started_at: self.started_at,
            completed_at: self.completed_at,
            run_id: claim.map(|claim| Cow::Borrowed(&claim.run_id)),
            runner: claim.and_then(|claim| claim.runner.as_ref()).map(Cow::Borrowed),
            receipt_path: receipt.map(|receipt| Cow::Borrowed(&*receipt.path)),
            receipt_sequence: ledger.map(|ledger| ledger.sequence),
            receipt_sha256: ledger.map(|ledger| ledger.sha256),
            exit_code: self.exit_code,
            timed_out: self.timed_out,
            checkpoint_id: self.checkpoint_ids.first().map(Cow::Borrowed),
            checkpoint_ids: Some(Cow::Borrowed(&*self.checkpoint_ids)).filter(|ids| !ids.is_empty()),
            replay_of_run_id: replay.map(|replay| Cow::Borrowed(&*replay.run_id)),
            replay_source_call_id: replay
                .and_then(|replay| replay.source_call_id.as_deref())
                .map(Cow::Borrowed),
            replay_created_at: replay.map(|replay| replay.created_at),
            resume_checkpoint_id: self.resume_checkpoint_id.as_ref().map(Cow::Borrowed),
        }
    }

    /// Reads a record of any version.
    ///
    /// # Errors
    /// Fails if it has no usable `id`, `status` or `tool_id`.
    pub fn from_record(record: Json) -> Result<(Call, RecordVersion), NotACall> {
        let Json::Object(mut members) = record else {
            return Err(NotACall("expected an object"));
        };
        check(&members)?;
        // These three members are most of a call, so they are moved instead of copied. Members of another form stay.
        let contract = taken(&mut members, "contract", ContractLabels::try_from_members);
        let policy = taken(&mut members, "policy", PolicyDecision::try_from_members);
        let summary = taken(&mut members, "projection_summary", ProjectionSummary::try_from_members);
        let (mut record, mut extra) = from_record(members, |members| CallRecord::deserialize(members))
            .map_err(|_| NotACall("expected the members of a call"))?;
        let extra = extra.members_mut();
        let mut keep = |name: &str, value: Option<Json>| {
            if let Some(value) = value {
                extra.insert(name.to_owned(), value);
            }
        };
        let version = match record.record_version {
            None => RecordVersion::Adopted,
            Some(version) if version <= RECORD_VERSION => RecordVersion::Current,
            Some(_) => RecordVersion::Newer,
        };
        let claim = record.take_claim(&mut keep);
        let receipt = record.take_receipt(&mut keep);
        let approval = record.take_approval(version, &mut keep);
        let replay = record.take_replay(&mut keep);
        let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        let mut call = Call {
            id: record.id.into_owned(),
            status: record.status.into_owned(),
            created_at: record.created_at,
            reviewed_at: record.reviewed_at,
            review_reason: owned(record.review_reason),
            withdrawn: record.withdrawn,
            caller: record.caller.map_or(Caller::CommandLine, Cow::into_owned),
            session: record.session.map(Cow::into_owned),
            judge: record.judge.map(Cow::into_owned),
            tool_id: record.tool_id.into_owned(),
            stated_kind: record.kind,
            family: record.family.into_owned(),
            command: owned(record.command),
            args: Json::Object(record.args.into_owned()),
            arguments: record.arguments.into_owned(),
            contract: contract.unwrap_or_else(|| record.contract.into_owned()),
            blockers: blockers(record.blockers, record.blocker_details),
            policy: policy.or_else(|| record.policy.map(Cow::into_owned)),
            projection_summary: summary.or_else(|| record.projection_summary.map(Cow::into_owned)),
            contract_fingerprint: owned(record.contract_fingerprint),
            source_fingerprint: owned(record.source_fingerprint),
            call_fingerprint: owned(record.call_fingerprint),
            planned_binding: record.planned_binding,
            planned_pin: record.planned_pin,
            planned_code: record.planned_code,
            planned_program: record.planned_program,
            approval,
            approvals: record.approvals.map(Cow::into_owned),
            claim,
            started_at: record.started_at,
            completed_at: record.completed_at,
            receipt,
            exit_code: record.exit_code,
            timed_out: record.timed_out,
            checkpoint_ids: match record.checkpoint_ids {
                Some(ids) => ids.into_owned(),
                None => record.checkpoint_id.into_iter().map(Cow::into_owned).collect(),
            },
            replay,
            resume_checkpoint_id: record.resume_checkpoint_id.map(Cow::into_owned),
            extra: std::mem::take(extra),
        };
        if version == RecordVersion::Adopted && call.status == CallStatus::Approved {
            call.status = CallStatus::Pending;
            call.extra.insert(ADOPTED_STATUS.to_owned(), Json::from(CallStatus::Approved.as_str()));
        }
        Ok((call, version))
    }
}

/// Keeps a member without the one that it belongs to.
type KeepFn<'a> = dyn FnMut(&str, Option<Json>) + 'a;

impl CallRecord<'_> {
    fn take_claim(&mut self, keep: &mut KeepFn<'_>) -> Option<Claim> {
        let runner = self.runner.take().map(Cow::into_owned);
        match self.run_id.take() {
            Some(run_id) => Some(Claim { run_id: run_id.into_owned(), runner }),
            None => {
                keep("runner", runner.as_ref().and_then(|runner| to_json(runner).ok()));
                None
            }
        }
    }

    fn take_receipt(&mut self, keep: &mut KeepFn<'_>) -> Option<ReceiptLink> {
        match self.receipt_path.take() {
            Some(path) => {
                let ledger = self.receipt_sequence.zip(self.receipt_sha256);
                let ledger = ledger.map(|(sequence, sha256)| LedgerLink { sequence, sha256 });
                Some(ReceiptLink { path: path.into_owned(), ledger })
            }
            None => {
                keep("receipt_sequence", self.receipt_sequence.map(Json::from));
                keep("receipt_sha256", self.receipt_sha256.map(|sha256| sha256.to_hex().into()));
                None
            }
        }
    }

    fn take_approval(&mut self, version: RecordVersion, keep: &mut KeepFn<'_>) -> Option<Approval> {
        let stated = self.approval_fingerprint.take();
        match (version, stated.as_deref().and_then(|fingerprint| fingerprint.parse().ok())) {
            (RecordVersion::Current | RecordVersion::Newer, Some(fingerprint)) => {
                let by = self.approved_by.take().map_or_else(ApprovedBy::command_line, Cow::into_owned);
                let binding = self.approval_binding.take()?.into_owned();
                Some(Approval { binding, by, fingerprint, hosts: std::mem::take(&mut self.approval_hosts) })
            }
            _ => {
                keep("approval_fingerprint", stated.map(Json::from));
                None
            }
        }
    }

    fn take_replay(&mut self, keep: &mut KeepFn<'_>) -> Option<ReplayOf> {
        let source_call_id = self.replay_source_call_id.take().map(Cow::into_owned);
        match self.replay_of_run_id.take() {
            Some(run_id) => Some(ReplayOf {
                run_id: run_id.into_owned(),
                source_call_id,
                created_at: self.replay_created_at.unwrap_or(Timestamp::from_unix_micros(0)),
            }),
            None => {
                keep("replay_source_call_id", source_call_id.map(Json::from));
                keep("replay_created_at", self.replay_created_at.map(|at| at.to_string().into()));
                None
            }
        }
    }
}

/// Takes a record out of the members around it, if there is one.
fn taken<T>(
    members: &mut Object,
    name: &str,
    read: impl Fn(Object) -> Result<T, (Mismatch, Object)>,
) -> Option<T> {
    let Json::Object(inner) = members.get_mut(name)? else { return None };
    match read(std::mem::take(inner)) {
        Ok(record) => {
            members.remove(name);
            Some(record)
        }
        Err((_, before)) => {
            *inner = before;
            None
        }
    }
}

/// Checks the members that make a record a call.
fn check(members: &Object) -> Result<(), NotACall> {
    let text = |name: &str| members.get(name).and_then(Json::as_str);
    if text("id").is_none_or(|id| id.parse::<CallId>().is_err()) {
        Err(NotACall("`id` must be a call id"))
    } else if text("status").is_none() {
        Err(NotACall("`status` must be a word"))
    } else if text("tool_id").is_none() {
        Err(NotACall("`tool_id` must be a text"))
    } else {
        Ok(())
    }
}

fn blockers(messages: Vec<Cow<'_, str>>, details: Vec<BlockerDetail>) -> Vec<Blocker> {
    let mut details = details.into_iter();
    let blocker = |message: Cow<'_, str>| {
        let detail = details.next().unwrap_or_default();
        Blocker {
            place: detail.place(),
            code: detail.code.map_or(Cow::from(ErrorCode::Stored), Cow::Owned),
            message: message.into_owned(),
            field: detail.field,
            hint: detail.hint.map(Hint::from),
        }
    };
    messages.into_iter().map(blocker).collect()
}

impl Serialize for Call {
    /// Writes the call as reports show it: the record without its version.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_record(&self.members(None), &Extra::from(self.extra.clone()), serializer)
    }
}

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Call, D::Error> {
        let mut members = Object::deserialize(deserializer)?;
        members.entry("record_version".to_owned()).or_insert_with(|| Json::from(RECORD_VERSION));
        Call::from_record(Json::Object(members)).map(|(call, _)| call).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Call {
    fn schema_name() -> Cow<'static, str> {
        CallRecord::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        CallRecord::json_schema(generator)
    }
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
    fn records_that_are_not_calls_are_refused() {
        for text in
            ["[]", "{}", r#"{"id":"../x","status":"pending","tool_id":"t"}"#, r#"{"id":"c","status":1}"#]
        {
            assert!(Call::from_record(Json::parse(text).unwrap()).is_err(), "{text}");
        }
    }
}
