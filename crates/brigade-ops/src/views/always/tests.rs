use brigade_call::{CallStatus, Caller};
use brigade_core::CallId;
use brigade_workspace::GATEWAY;

use super::*;
use crate::testing::CallBench;

/// A workspace with a call of the agent `ann`, who may call every tool.
fn asked(args: &str) -> (CallBench, CallId) {
    let bench = CallBench::new(r#"argument_template = { path = "{path}" }"#);
    bench.write("schemas/tool.json", r#"{"type":"object","properties":{"path":{"type":"string"}}}"#);
    bench.write(GATEWAY, "[[agent]]\nname = \"ann\"\n");
    let id = bench.for_caller(Caller::Agent("ann".parse().unwrap())).queue(args);
    (bench, id)
}

#[track_caller]
fn proposed(bench: &CallBench, id: &CallId) -> RuleProposal {
    bench.daily().propose_rule(&IdPrefix::new(id.as_str())).unwrap()
}

#[test]
fn the_proposed_rule_is_the_narrowest() {
    let (bench, id) = asked(r#"{"path":"one*","depth":2}"#);
    let before = bench.read(POLICY);
    let proposal = proposed(&bench, &id);
    assert_eq!(
        (proposal.name.as_str(), proposal.unrestricted.as_slice()),
        ("ann-tool", &["depth".to_owned()][..])
    );
    for line in ["+agents = [\"ann\"]", "+arguments = { path = 'one\\*' }", "+tools = [\"tool\"]"] {
        assert!(proposal.diff.lines().any(|said| said == line), "{line}\n{}", proposal.diff);
    }
    assert_eq!(bench.read(POLICY), before, "a proposal writes nothing");
    // A tool that no person reviewed is not approved by a rule.
    assert_eq!(proposal.missing.len(), 1, "{proposal:?}");
    assert_eq!(bench.status(&id), CallStatus::Pending);
}

#[test]
fn an_added_rule_covers_the_call() {
    let (bench, id) = asked(r#"{"path":"a"}"#);
    bench.approved(r#"{"path":"b"}"#);
    let proposal = proposed(&bench, &id);
    assert_eq!(proposal.missing, [""; 0]);
    bench.daily().add_rule(&proposal).unwrap();
    // A second rule would add nothing.
    assert_eq!(proposed(&bench, &id).missing, ["the rule ann-tool covers it already"]);
}

#[test]
fn a_taken_name_gets_a_number() {
    let (bench, id) = asked(r#"{"path":"a"}"#);
    let rule = "[[auto_approve]]\nname = \"ann-tool\"\ntools = [\"other\"]\neffects = [\"local-read\"]\n";
    bench.add(POLICY, rule);
    assert_eq!(proposed(&bench, &id).name, "ann-tool-2");
}

#[test]
fn only_calls_of_agents_get_rules() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let error = bench.daily().propose_rule(&IdPrefix::new(id.as_str())).unwrap_err();
    assert_eq!((error.kind(), bench.read(POLICY).contains("auto_approve")), (ErrorKind::Refused, false));
    assert!(bench.daily().propose_rule(&IdPrefix::new("call-nope")).is_err());
}

#[test]
fn a_rule_for_an_agent_without_the_tool_is_not_added() {
    for (gateway, why) in [
        ("", "gateway.toml names no agent ann"),
        ("[[agent]]\nname = \"ann\"\nprofiles = [\"gone\"]\n", "gateway.toml has an error"),
        ("[[agent]\n", "gateway.toml has an error"),
    ] {
        let (bench, id) = asked(r#"{"path":"a"}"#);
        bench.write(GATEWAY, gateway);
        let proposal = proposed(&bench, &id);
        assert!(proposal.missing.iter().any(|reason| reason.contains(why)), "{why}: {proposal:?}");
        let before = bench.read(POLICY);
        let error = bench.daily().add_rule(&proposal).unwrap_err();
        assert!(error.to_string().starts_with("the rule would not cover the call: "), "{error}");
        assert_eq!(bench.read(POLICY), before);
    }
}

#[test]
fn a_rule_is_added_only_to_the_policy_that_was_shown() {
    let (bench, id) = asked(r#"{"path":"a"}"#);
    let proposal = RuleProposal { missing: Vec::new(), ..proposed(&bench, &id) };
    bench.add(POLICY, "# a comment\n");
    let error = bench.daily().add_rule(&proposal).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ChangedMeanwhile);
    let proposal = RuleProposal { missing: Vec::new(), ..proposed(&bench, &id) };
    bench.daily().add_rule(&proposal).unwrap();
    assert!(bench.read(POLICY).contains("[[auto_approve]]"));
}

#[test]
fn an_invalid_policy_gets_no_rule() {
    let (bench, id) = asked(r#"{"path":"a"}"#);
    bench.remove(POLICY);
    assert!(bench.daily().propose_rule(&IdPrefix::new(id.as_str())).is_err());
}
