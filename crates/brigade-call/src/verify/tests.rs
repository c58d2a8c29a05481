use std::collections::BTreeMap;

use brigade_catalog::Family;
use brigade_core::{Fingerprint, Json, NextStep, Object};

use super::*;
use crate::binding::Caller;
use crate::cases::{Case, after, mark};
use crate::checkpoint::CheckpointStatus;
use crate::facts::{DirectoryFact, FileFact, PinFact, ProgramFact};
use crate::{ApprovedBy, Claim, ContractLabels, ProgramBinding, RunEnd};

/// Verifies a call for its first run against a case, and returns the codes of the reasons against it.
fn codes(call: Call, case: &Case) -> Vec<String> {
    let verified = verify(call, case.plan(), RuntimeFact::NotNeeded, Purpose::Run, after(9));
    let blockers = verified.err().map(|refusal| refusal.blockers).unwrap_or_default();
    blockers.into_iter().map(|blocker| blocker.code.into_owned()).collect()
}

/// Checks the reasons against an approved call when one of its facts changes before the run.
#[track_caller]
fn check(change: impl FnOnce(&mut Case), expect: &[&str]) {
    check_from(Case::new(), change, expect);
}

#[track_caller]
fn check_from(before: Case, change: impl FnOnce(&mut Case), expect: &[&str]) {
    let mut now = before.clone();
    change(&mut now);
    assert_eq!(codes(before.approved(), &now), expect);
}

/// Checks the reasons against an approved call whose record was edited.
#[track_caller]
fn check_record(edit: impl FnOnce(&mut Call), expect: &[&str]) {
    let mut call = Case::new().approved();
    edit(&mut call);
    assert_eq!(codes(call, &Case::new()), expect);
}

/// Checks the blockers of a run of a call with this status.
#[track_caller]
fn check_status(status: CallStatus, expect: &[&str]) {
    let call = Call { status, ..Case::new().approved() };
    assert_eq!(codes(call, &Case::new()), expect);
}

fn checkpoint(status: CheckpointStatus) -> Checkpoint {
    let mut document: Object = Object::new();
    for (key, text) in [("id", "check-1"), ("status", status.as_str()), ("call_id", "call-1")] {
        document.insert(key.to_owned(), Json::from(text));
    }
    Checkpoint::from_document(Json::Object(document)).expect("it has what a checkpoint needs")
}

/// Creates an approved call that ran and no longer waits, because its checkpoint was approved.
fn resumable() -> Call {
    let claim = Claim { run_id: "run-1".parse().unwrap(), runner: None };
    let end = RunEnd {
        status: CallStatus::Waiting,
        completed_at: after(4),
        exit_code: Some(0),
        timed_out: false,
        resume_checkpoint_id: None,
        checkpoint_ids: vec!["check-1".parse().unwrap()],
        receipt: crate::ReceiptLink { path: "x.json".to_owned(), ledger: None },
    };
    let call = Case::new().approved().claim(claim, after(3)).unwrap().finish(end).unwrap();
    call.ready_to_resume(after(5)).unwrap()
}

/// Checks the reasons against resuming after these checkpoints.
#[track_caller]
fn check_resume(call: Call, checkpoints: &[Checkpoint], expect: &[&str]) {
    let plan = Case::new().plan();
    let verified = verify(call, plan, RuntimeFact::NotNeeded, Purpose::Resume(checkpoints), after(9));
    let found = verified.err().map(|refusal| refusal.blockers).unwrap_or_default();
    assert_eq!(found.iter().map(|blocker| &*blocker.code).collect::<Vec<_>>(), expect);
}

/// The case with a bound value in the command and in a template.
fn masked() -> Case {
    let mut case = Case::new();
    case.set("command", "'sh bin/greet.sh --as bound-EXAMPLE-4711'");
    case.set("argument_template", "{ name = '{name}@bound-EXAMPLE-4711' }");
    case
}

#[test]
fn bound_values_are_masked_in_records_but_not_in_runs() {
    let call = masked().approved();
    assert_eq!(call.command.as_deref(), Some("sh bin/greet.sh --as [redacted]"));
    assert_eq!(call.arguments["name"], "Ada@[redacted]");
    let verified =
        verify(call.clone(), masked().plan(), RuntimeFact::NotNeeded, Purpose::Run, after(9)).unwrap();
    assert_eq!(verified.argv()[2..], ["--as", "bound-EXAMPLE-4711", "Ada@bound-EXAMPLE-4711"]);
    assert_eq!(verified.plan().argument_words().collect::<Vec<_>>(), ["Ada@bound-EXAMPLE-4711"]);
    // A record of an older version has the exact text, and so does one of a process without the variable.
    let mut unset = masked();
    unset.bound_values.clear();
    assert_eq!(unset.approved().command.as_deref(), Some("sh bin/greet.sh --as bound-EXAMPLE-4711"));
    assert_eq!(codes(unset.approved(), &masked()), [""; 0]);
    // The reverse holds, too: the process that approves or runs may lack the variable.
    assert_eq!(codes(masked().approved(), &unset), [""; 0]);
}

#[test]
fn a_mark_lets_no_other_command_pass() {
    let mut other = masked();
    other.set("command", "'sh bin/greet.sh --as bound-EXAMPLE-4712'");
    other.bound_values =
        vec![brigade_redact::SecretValue::new(b"bound-EXAMPLE-4712"), masked().bound_values[0].clone()];
    assert_eq!(other.queued().command, masked().queued().command);
    assert_eq!(codes(masked().approved(), &other), ["changed_contract"]);
    assert_eq!(other.plan().changes_since_queued(&masked().queued()), [Change::Contract]);
    other = masked();
    other.set("argument_template", "{ name = '{name}@other-EXAMPLE-4711' }");
    other.bound_values.push(brigade_redact::SecretValue::new(b"other-EXAMPLE-4711"));
    assert_eq!(other.queued().arguments, masked().queued().arguments);
    assert!(codes(masked().approved(), &other).contains(&"changed_contract".to_owned()));
    // Without the whole fingerprint of the contract, a mask is an ordinary text.
    let mut call = masked().approved();
    call.contract_fingerprint = None;
    assert_eq!(codes(call, &masked()), ["changed_args", "changed_contract"]);
}

#[test]
fn approved_calls_run() {
    check(|_| (), &[]);
    check_from(Case::mcp(), |_| (), &[]);
    let (case, call) = (Case::new(), Case::new().approved());
    let verified = verify(call.clone(), case.plan(), RuntimeFact::NotNeeded, Purpose::Run, after(9)).unwrap();
    assert_eq!(verified.call(), &call);
    assert_eq!(verified.argv(), ["sh", "bin/greet.sh", "Ada"]);
    assert_eq!(verified.binding(), &call.approval.unwrap().binding);
    assert_eq!(verified.env_labels(), ["GREETING"]);
    assert_eq!((verified.directory(), verified.runtime(), verified.resume()), (None, None, None));
}

#[test]
fn each_bound_fact_that_changes_is_named() {
    check(|case| case.args(r#"{"name":"Bob"}"#), &["changed_args"]);
    check(
        |case| case.set("argument_template", "{ name = '--name={name}' }"),
        &["changed_args", "changed_contract"],
    );
    check(|case| case.set("command", "'sh bin/other.sh'"), &["changed_contract"]);
    check(|case| case.set("timeout", "9"), &["changed_contract", "changed_policy"]);
    check(|case| case.set("cwd", "'docs'"), &["changed_contract"]);
    check(|case| case.set("permissions", "['read-files']"), &["changed_contract"]);
    check(|case| case.output_schema = FileFact::Present(mark("new")), &["changed_contract"]);
    check(|case| case.examples = FileFact::Present(mark("new")), &["changed_contract"]);
    check(
        |case| case.input_schema = crate::cases::schema(r#"{"type":"object","title":"other bytes"}"#),
        &["changed_contract"],
    );
    check(|case| case.source = FileFact::Present(mark("new")), &["changed_source"]);
    check(|case| case.source = FileFact::Missing, &["changed_source"]);
    check(|case| case.projections_mark = mark("new"), &["changed_projections"]);
    check(|case| case.policy.push_str("max_output_bytes = 7\n"), &["changed_policy"]);
    check(
        |case| {
            let other = ProgramBinding { path: "/usr/bin/sh".to_owned(), sha256: mark("sh") };
            case.program = ProgramFact::Found(other);
        },
        &["changed_program"],
    );
    check(
        |case| {
            let other = ProgramBinding { path: "/bin/sh".to_owned(), sha256: mark("new") };
            case.program = ProgramFact::Found(other);
        },
        &["changed_program"],
    );
    check(|case| case.files.extend([("bin/greet.sh".to_owned(), mark("new"))]), &["changed_file"]);
    check(|case| case.files.extend([("lib/new.sh".to_owned(), mark("new"))]), &["changed_file"]);
    check(|case| case.files.clear(), &["changed_file"]);
    check(|case| case.real_directory = Some("elsewhere".to_owned()), &["changed_directory"]);
    check(|case| case.caller = Caller::Program("agent".to_owned()), &["changed_caller"]);
}

#[test]
fn unbound_inputs_may_change() {
    check(|case| case.set("description", "'Greets'"), &[]);
    check(|case| case.set("name", "'Hello'"), &[]);
    check(|case| case.policy.push_str("# a comment\ndenied_effects = ['network']\n"), &[]);
}

#[test]
fn all_changes_are_named_at_once() {
    check(
        |case| {
            case.args(r#"{"name":"Bob"}"#);
            case.source = FileFact::Missing;
            case.files = BTreeMap::from([("bin/greet.sh".to_owned(), mark("new"))]);
            case.caller = Caller::Program("agent".to_owned());
        },
        &["changed_args", "changed_source", "changed_file", "changed_caller"],
    );
}

#[test]
fn a_changed_listing_is_refused_if_it_was_pinned() {
    let pinned = |pin| Case { pin, ..Case::mcp() };
    let one = PinFact::Pinned(mark("one"));
    check_from(pinned(one), |case| case.pin = PinFact::Pinned(mark("two")), &["changed_pin"]);
    check_from(pinned(one), |case| case.pin = PinFact::Changed(mark("two")), &["changed_pin"]);
    check_from(pinned(one), |case| case.pin = PinFact::None, &["changed_pin"]);
    check_from(pinned(PinFact::None), |case| case.pin = one, &[]);
    // An approval of a changed listing accepts it.
    check_from(pinned(PinFact::Changed(mark("two"))), |case| case.pin = PinFact::Pinned(mark("two")), &[]);
}

#[test]
fn new_blockers_refuse_an_approved_call() {
    check(|case| case.program = ProgramFact::NotFound, &["program_not_found"]);
    check(|case| case.directory = DirectoryFact::Missing, &["missing_cwd"]);
    check(|case| case.variables.clear(), &["policy_env_missing"]);
    check(
        |case| case.policy.push_str("denied_effects = ['local-read']\n"),
        &["changed_policy", "policy_denied_effect"],
    );
}

#[test]
fn only_an_approved_call_runs() {
    for status in CallStatus::ALL.iter().cloned() {
        let expect: &[&str] = if status == CallStatus::Approved { &[] } else { &["status"] };
        check_status(status, expect);
    }
    check_status(CallStatus::Other("paused".to_owned()), &["status"]);
    let call = Case::new().queued();
    assert_eq!(codes(call.clone(), &Case::new()), ["status"]);
    // A call with the status approved, but without an approval.
    assert_eq!(codes(Call { status: CallStatus::Approved, ..call }, &Case::new()), ["changed_approval"]);
}

#[test]
fn calls_of_families_without_programs_do_not_run() {
    let mut skill = Case::new();
    skill.set("family", "'skill'");
    skill.policy = skill.policy.replace("'script'", "'skill'");
    skill.program = ProgramFact::NotExecuted;
    let plan = skill.plan();
    let queued = Call { blockers: Vec::new(), ..skill.queued() };
    let call = queued.approve(plan.binding().clone(), ApprovedBy::command_line(), after(1)).unwrap();
    assert_eq!(codes(call, &skill), ["family_not_executable"]);
}

#[test]
fn a_runtime_must_be_ready() {
    let verified = |runtime| {
        verify(Case::mcp().approved(), Case::mcp().plan(), runtime, Purpose::Run, after(9))
            .map(|verified| verified.runtime().cloned())
            .map_err(|refusal| refusal.blockers)
    };
    let ready = RuntimeStatus { id: "voice".to_owned(), ..RuntimeStatus::default() };
    assert_eq!(verified(RuntimeFact::Ready(Box::new(ready.clone()))), Ok(Some(ready)));
    let reasons =
        vec![Blocker::new(ErrorCode::RuntimeStopped, "x"), Blocker::new(ErrorCode::RuntimeUnhealthy, "y")];
    assert_eq!(verified(RuntimeFact::NotReady(reasons.clone())), Err(reasons));
}

#[test]
fn a_record_that_was_edited_contradicts_its_approval() {
    let other = || Some(mark("other").to_hex());
    let approval = &["changed_approval"][..];
    check_record(|call| drop(call.arguments.insert("name".to_owned(), "Bob".to_owned())), &["changed_args"]);
    check_record(|call| call.tool_id = "other".to_owned(), &["changed_args", "changed_approval"]);
    check_record(|call| call.command = Some("sh bin/nice.sh".to_owned()), &["changed_contract"]);
    check_record(|call| call.family = Family::Skill.into(), &["changed_contract"]);
    check_record(|call| call.contract = ContractLabels::default(), &["changed_contract"]);
    check_record(|call| call.contract_fingerprint = other(), &["changed_contract"]);
    check_record(|call| call.source_fingerprint = other(), &["changed_source"]);
    check_record(|call| call.caller = Caller::Program("agent".to_owned()), &["changed_caller"]);
    check_record(|call| call.reviewed_at = Some(after(2)), approval);
    check_record(|call| call.review_reason = Some("fine".to_owned()), approval);
    check_record(|call| call.call_fingerprint = other(), approval);
    check_record(|call| call.policy = None, approval);
    check_record(|call| call.projection_summary = None, approval);
    check_record(|call| call.approval = None, approval);
    check_record(|call| call.approval.as_mut().unwrap().fingerprint = mark("forged"), approval);
    check_record(
        |call| call.approval.as_mut().unwrap().binding.projections = mark("forged"),
        &["changed_projections", "changed_approval"],
    );
    check_record(|call| call.blockers = vec![Blocker::new(ErrorCode::Status, "a reason")], &["stored"]);
}

#[test]
fn fingerprints_of_v030_records_are_not_compared() {
    check_record(
        |call| {
            call.planned_binding = None;
            call.contract_fingerprint = Some("0123456789abcdef".to_owned());
            call.source_fingerprint = None;
        },
        &[],
    );
    check_record(
        |call| call.contract_fingerprint = Some("0123456789abcdef".to_owned()),
        &["changed_contract"],
    );
}

#[test]
fn an_approval_of_an_earlier_version_holds() {
    check_record(
        |call| {
            let approval = call.approval.as_mut().unwrap();
            approval.fingerprint = Fingerprint::builder("brigade.approval.v1")
                .text("id", call.id.as_str())
                .text("tool_id", call.tool_id.as_str())
                .text("reviewed_at", call.reviewed_at.map(|at| at.to_string()).as_deref())
                .text("review_reason", call.review_reason.as_deref())
                .text("call_fingerprint", call.call_fingerprint.as_deref())
                .fingerprint("binding", approval.binding.fingerprint())
                .finish();
        },
        &[],
    );
}

#[test]
fn a_call_resumes_after_all_of_its_checkpoints() {
    let approved = checkpoint(CheckpointStatus::Approved);
    check_resume(resumable(), std::slice::from_ref(&approved), &[]);
    check_resume(resumable(), &[], &["checkpoint_missing"]);
    for status in [
        CheckpointStatus::Pending,
        CheckpointStatus::Rejected,
        CheckpointStatus::Resumed,
        CheckpointStatus::Failed,
        CheckpointStatus::Other("odd".to_owned()),
    ] {
        check_resume(resumable(), &[approved.clone(), checkpoint(status)], &["checkpoint"]);
    }
    let expired = Checkpoint { expires_at: Some(after(8)), ..approved.clone() };
    check_resume(resumable(), &[expired], &["checkpoint"]);
    let in_time = Checkpoint { expires_at: Some(after(9)), ..approved.clone() };
    check_resume(resumable(), &[in_time], &[]);
    // A first run is not a resume, and a resume is not a first run.
    check_resume(Case::new().approved(), std::slice::from_ref(&approved), &["status"]);
    assert_eq!(codes(resumable(), &Case::new()), ["status"]);

    let other = Checkpoint { id: "check-2".parse().unwrap(), ..approved.clone() };
    let behind = [approved.clone(), other.clone()];
    let purpose = Purpose::Resume(&behind);
    let verified =
        verify(resumable(), Case::new().plan(), RuntimeFact::NotNeeded, purpose, after(9)).unwrap();
    assert_eq!(verified.resume(), Some(&Resume { checkpoint: approved, others: vec![other] }));
}

/// Checks the next step of a checkpoint of a call that waits, or may resume.
#[track_caller]
fn check_next(checkpoint: Checkpoint, call: &Call, change: impl FnOnce(&mut Case), expect: Option<NextStep>) {
    let mut case = Case::new();
    change(&mut case);
    let checkpoint = Checkpoint { call_id: call.id.clone(), ..checkpoint };
    let all = std::slice::from_ref(&checkpoint);
    assert_eq!(checkpoint.next_step(call, Some(&case.plan()), all, after(9)), expect);
}

#[test]
fn the_next_step_of_a_checkpoint_would_be_accepted() {
    let ready = resumable();
    let waiting = Call { status: CallStatus::Waiting, ..ready.clone() };
    let id = || "check-1".parse().unwrap();
    let reject = || Some(NextStep::Reject(ready.id.clone()));
    let (pending, approved) = (CheckpointStatus::Pending, CheckpointStatus::Approved);
    check_next(checkpoint(pending.clone()), &waiting, |_| (), Some(NextStep::AnswerCheckpoint(id())));
    let expired = Checkpoint { expires_at: Some(after(8)), ..checkpoint(pending.clone()) };
    check_next(expired, &waiting, |_| (), reject());
    let unbound = Call { approval: None, ..waiting.clone() };
    check_next(checkpoint(pending.clone()), &unbound, |_| (), reject());
    let over = Call { status: CallStatus::Interrupted, ..ready.clone() };
    check_next(checkpoint(pending), &over, |_| (), None);

    check_next(checkpoint(approved.clone()), &waiting, |_| (), Some(NextStep::ListCheckpoints));
    check_next(checkpoint(approved.clone()), &ready, |_| (), Some(NextStep::Resume(id())));
    check_next(checkpoint(approved.clone()), &ready, |case| case.files.clear(), reject());
    check_next(checkpoint(approved), &over, |_| (), None);
    check_next(checkpoint(CheckpointStatus::Rejected), &waiting, |_| (), reject());
    check_next(checkpoint(CheckpointStatus::Resumed), &over, |_| (), None);
}

#[test]
fn changes_while_waiting_prevent_a_resume() {
    let mut case = Case::new();
    case.files.clear();
    let behind = [checkpoint(CheckpointStatus::Approved)];
    let refused =
        verify(resumable(), case.plan(), RuntimeFact::NotNeeded, Purpose::Resume(&behind), after(9));
    assert_eq!(refused.unwrap_err().changes, [Change::File("bin/greet.sh".to_owned())]);
}
