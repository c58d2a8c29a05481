use super::*;
use crate::cases::{Case, after, json, mark};
use crate::facts::PinFact;
use crate::{Caller, ContractLabels, Duplicate, ProgramFact, find_duplicate};

/// Checks the codes that block an approval when one fact changes after the call was queued.
#[track_caller]
fn check(change: impl FnOnce(&mut Case), expect: &[&str]) {
    check_from(Case::new(), change, expect);
}

#[track_caller]
fn check_from(before: Case, change: impl FnOnce(&mut Case), expect: &[&str]) {
    let mut now = before.clone();
    change(&mut now);
    let reasons = now.plan().approvable(&before.queued()).err().unwrap_or_default();
    assert_eq!(reasons.iter().map(|reason| &*reason.code).collect::<Vec<_>>(), expect);
}

/// Checks the changes since the call was queued that are shown to a person and may be approved.
#[track_caller]
fn check_told(change: impl FnOnce(&mut Case), expect: &[Change]) {
    let mut now = Case::new();
    change(&mut now);
    assert_eq!(now.plan().changes_to_review(&Case::new().queued()), expect);
    assert!(now.plan().approvable(&Case::new().queued()).is_ok());
}

/// Checks whether a queued call makes this one superfluous.
#[track_caller]
fn check_duplicate(change: impl FnOnce(&mut Case), expect: bool) {
    let (queued, mut case) = (Case::new().queued(), Case::new());
    change(&mut case);
    let found = find_duplicate([&queued], &case.queued());
    assert_eq!(found, if expect { Duplicate::Queued(queued.id) } else { Duplicate::No });
}

#[test]
fn a_queued_call_matches_its_plan() {
    let (call, plan) = (Case::new().queued(), Case::new().plan());
    assert_eq!(call.id.as_str(), format!("call-{}", plan.call_fingerprint().short()));
    assert_eq!((call.status, call.created_at), (CallStatus::Pending, Some(after(0))));
    assert_eq!(
        (&*call.tool_id, call.family.as_str(), call.command.as_deref()),
        ("greet", "script", plan.command())
    );
    assert_eq!((&call.args, &call.arguments), (plan.args(), plan.arguments()));
    assert_eq!((&call.contract, call.policy.as_ref()), (plan.contract(), Some(plan.policy())));
    assert_eq!(call.planned_binding, Some(plan.binding().fingerprint()));
    assert_eq!(call.planned_code, Some(plan.binding().code_fingerprint()));
    assert_eq!((call.blockers, call.approval, call.claim), (Vec::new(), None, None));
}

#[test]
fn a_taken_id_gets_a_suffix_from_the_time() {
    let plan = Case::new().plan();
    let base = format!("call-{}", plan.call_fingerprint().short());
    let id = |seconds, replay: Option<ReplayOf>, taken: &[CallId]| {
        plan.to_call(after(seconds), replay, |id| taken.contains(id)).id
    };
    let first = id(0, None, &[]);
    assert_eq!(first.as_str(), base);
    let second = id(0, None, std::slice::from_ref(&first));
    assert!(second.as_str().starts_with(&format!("{base}-queued-")), "{second}");
    assert_eq!(second, id(0, None, std::slice::from_ref(&first)));
    assert_ne!(second, id(1, None, std::slice::from_ref(&first)));
    let third = id(0, None, &[first.clone(), second.clone()]);
    assert!(third != first && third != second);
    let replay = ReplayOf { run_id: "run-1".to_owned(), source_call_id: None, created_at: after(0) };
    let replayed = id(0, Some(replay), &[first]);
    assert!(replayed.as_str().starts_with(&format!("{base}-replay-")), "{replayed}");
}

#[test]
#[should_panic(expected = "never stored")]
fn a_plan_that_holds_a_secret_is_never_stored() {
    let mut case = Case::new();
    case.args(r#"{"name":"x","password":"EXAMPLE-1"}"#);
    assert_eq!(case.plan().shown_call(after(0)).args, json(r#"{"name":"x","password":"[redacted]"}"#));
    case.queued();
}

#[test]
fn a_blocked_call_keeps_its_reasons() {
    let case = Case { program: ProgramFact::NotFound, ..Case::new() };
    let call = case.queued();
    assert_eq!(call.blockers, case.plan().blockers());
    assert_eq!(call.blockers[0].code, "program_not_found");
}

#[test]
fn unseen_changes_are_not_approved() {
    check(|_| (), &[]);
    check(|case| case.args(r#"{"name":"Bob"}"#), &["changed_args"]);
    check(
        |case| case.set("argument_template", "{ name = '--name={name}' }"),
        &["changed_args", "changed_contract"],
    );
    check(|case| case.set("command", "'sh bin/other.sh'"), &["changed_contract"]);
    check(|case| case.set("permissions", "['read-files']"), &["changed_contract"]);
    check(|case| case.source = crate::FileFact::Missing, &["changed_source"]);
    check(|case| case.program = ProgramFact::NotFound, &["program_not_found"]);
    check(
        |case| {
            case.source = crate::FileFact::Missing;
            case.policy.push_str("denied_effects = ['local-read']\n");
        },
        &["changed_source", "policy_denied_effect"],
    );
}

#[test]
fn an_unset_variable_does_not_block_an_approval() {
    check(|case| case.variables.clear(), &[]);
}

#[test]
fn changed_code_and_policy_are_shown_and_acceptable() {
    check_told(|_| (), &[]);
    check_told(|case| case.files.clear(), &[Change::Code]);
    check_told(|case| case.real_directory = Some("elsewhere".to_owned()), &[Change::Code]);
    check_told(|case| case.policy.push_str("max_output_bytes = 7\n"), &[Change::Policy]);
    check_told(
        |case| {
            case.files.extend([("lib/new.sh".to_owned(), mark("new"))]);
            case.policy.push_str("max_output_bytes = 7\n");
        },
        &[Change::Code, Change::Policy],
    );
    // `PATH` may lead the caller and the approver to different programs.
    check_told(
        |case| {
            let elsewhere = crate::ProgramBinding { path: "/opt/sh".to_owned(), sha256: mark("other") };
            case.program = ProgramFact::Found(elsewhere);
        },
        &[],
    );
    check_told(|case| case.projections_mark = mark("new"), &[]);
}

#[test]
fn the_policy_of_a_blocked_call_may_change() {
    let mut blocked = Case::new();
    blocked.policy.push_str("denied_effects = ['local-read']\n");
    let (call, plan) = (blocked.queued(), Case::new().plan());
    assert_eq!(plan.changes_to_review(&call), []);
    assert!(plan.approvable(&call).is_ok());
}

#[test]
fn a_replan_stores_the_shown_plan() {
    let mut now = Case::new();
    now.files.clear();
    now.policy.push_str("max_output_bytes = 7\n");
    let plan = now.plan();
    let call = Case::new().queued().replan(plan.replan()).unwrap();
    assert_eq!(plan.changes_to_review(&call), []);
    assert_eq!(call.status, CallStatus::Pending);
    assert_eq!(call.planned_binding, Some(plan.binding().fingerprint()));
}

#[test]
fn a_changed_listing_must_be_shown_before_approval() {
    let listed = |pin| Case { pin, ..Case::mcp() };
    let (one, two) = (PinFact::Pinned(mark("one")), PinFact::Changed(mark("two")));
    check_from(listed(one), |_| (), &[]);
    check_from(listed(one), |case| case.pin = two, &["changed_pin"]);
    check_from(listed(PinFact::None), |case| case.pin = two, &["changed_pin"]);
    check_from(listed(two), |_| (), &[]);
    // The first use of the tool pinned it meanwhile.
    check_from(listed(PinFact::None), |case| case.pin = one, &[]);
}

#[test]
fn a_v030_record_is_compared_by_visible_fields() {
    let adopted = || Call {
        planned_binding: None,
        planned_code: None,
        contract_fingerprint: Some("0123456789abcdef".to_owned()),
        source_fingerprint: None,
        ..Case::new().queued()
    };
    let plan = Case::new().plan();
    assert_eq!(plan.changes_since_queued(&adopted()), []);
    assert_eq!(plan.changes_to_review(&adopted()), []);
    let other = Call { contract: ContractLabels::default(), ..adopted() };
    assert_eq!(plan.changes_since_queued(&other), [Change::Contract]);
    // A record in our own format must have its fingerprints.
    let bare = Call { contract_fingerprint: None, source_fingerprint: None, ..Case::new().queued() };
    assert_eq!(plan.changes_since_queued(&bare), [Change::Contract, Change::Source]);
}

#[test]
fn equal_calls_of_one_caller_are_duplicates() {
    check_duplicate(|_| (), true);
    check_duplicate(|case| case.caller = Caller::Agent("a".to_owned()), false);
    check_duplicate(|case| case.args(r#"{ "name": "Ada" }"#), true);
    check_duplicate(|case| case.caller = Caller::Program("agent".to_owned()), true);
    check_duplicate(|case| case.policy.push_str("max_output_bytes = 7\n"), true);
    check_duplicate(|case| case.files.clear(), true);
    check_duplicate(|case| case.args(r#"{"name":"Bob"}"#), false);
    check_duplicate(|case| case.set("timeout", "9"), false);
    check_duplicate(|case| case.source = crate::FileFact::Missing, false);
    check_duplicate(|case| case.set("command", "'sh bin/other.sh'"), false);
}
