//! The plan of a tool that does not exist: the arguments, the policy and one reason.

use std::collections::BTreeMap;

use brigade_catalog::Masks;
use brigade_core::{Json, Number, Object, RecordedWord};
use brigade_policy::{Blocker, Decision, PolicyDecision};
use brigade_projection::summarise;
use brigade_redact::{Redactor, SecretValue};

use super::secret::secret_fields;
use super::{Plan, PlanSummary, Secrets, args_fingerprint, call_fingerprint};
use crate::binding::{Binding, Caller};
use crate::code::BoundCode;
use crate::contract::{ContractLabels, missing_contract};
use crate::facts::ArgsProblem;

/// A requested tool that does not exist or is disabled.
#[derive(Clone, Debug)]
pub struct MissingTool {
    /// The requested id, as it may be shown.
    pub tool_id: String,
    /// Why there is no such tool.
    pub reason: Blocker,
    /// The arguments, or why they could not be read.
    pub args: Result<Json, ArgsProblem>,
    /// The policy's decision on a call that names nothing.
    pub decision: Decision,
    /// The decision as reports show it.
    pub policy: PolicyDecision,
    /// The bound values, which no argument may contain.
    pub bound_values: Vec<SecretValue>,
    /// Who asks.
    pub caller: Caller,
}

/// Plans a call of a tool that does not exist. The plan has one blocker and can never be approved.
pub fn plan_missing(missing: MissingTool) -> Plan {
    let MissingTool { tool_id, reason, args, decision, policy, bound_values, caller } = missing;
    let args = args.ok().filter(|args| args.as_object().is_some());
    let args = args.unwrap_or_else(|| Json::Object(Object::new()));
    let (secrets, args) = match secret_fields(&args, &bound_values).as_slice() {
        [] => (Secrets::None, args),
        [_, ..] => (Secrets::Found, Redactor::new(&bound_values).redact_fields(&args)),
    };
    let arguments = BTreeMap::new();
    let contract = ContractLabels::missing();
    let (projection_summary, projections) = summarise(&[]);
    let binding = Binding::new(
        args_fingerprint(&args, &arguments),
        missing_contract(&tool_id),
        projections,
        decision.fingerprint(),
        caller,
    );
    Plan {
        kind: brigade_policy::CallKind::Run,
        call_fingerprint: call_fingerprint(&tool_id, "", binding.args, binding.contract, "", None),
        summary: PlanSummary {
            tool_id: tool_id.clone(),
            family: None,
            command: None,
            args: args.clone(),
            arguments: arguments.clone(),
            effective_timeout: Number::from(decision.effective_timeout.get()),
            contract: contract.clone(),
        },
        tool_id,
        family: RecordedWord::default(),
        command: None,
        args,
        arguments,
        argv: None,
        contract,
        blockers: vec![reason],
        violations: Vec::new(),
        secrets,
        decision,
        policy,
        projection_summary,
        binding,
        waiting_pin: None,
        for_person: None,
        unchecked: None,
        code: BoundCode::default(),
        seen: Vec::new(),
        is_executable: false,
        acts_inside: false,
        is_built_in: false,
        env_labels: Vec::new(),
        data: Vec::new(),
        directory: None,
        server: None,
        session: None,
        judge: None,
        masks: Masks::default(),
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::{ErrorCode, Timestamp};
    use brigade_policy::{CallFacts, PolicyState, decide};

    use super::*;

    /// Plans a missing tool, and checks what the plan keeps of the arguments.
    #[track_caller]
    fn check(args: Result<&str, ArgsProblem>, kept: &str) -> Plan {
        let state = PolicyState::parse(".brigade/tools/policy.toml", None);
        let decision = decide(&state, &CallFacts::missing("nope"), &|_: &str| false);
        let plan = plan_missing(MissingTool {
            tool_id: "nope".to_owned(),
            reason: Blocker::new(ErrorCode::ToolMissing, "no tool has the id `nope`"),
            args: args.map(|text| Json::parse(text).unwrap()),
            policy: decision.to_document(&state, &[]),
            decision,
            bound_values: vec![SecretValue::new(b"bound-EXAMPLE-4711")],
            caller: Caller::CommandLine,
        });
        assert_eq!(plan.args().to_compact(), kept);
        let codes: Vec<&str> = plan.blockers().iter().map(|blocker| &*blocker.code).collect();
        assert_eq!(codes, ["tool_missing"]);
        assert!(plan.is_missing() && !plan.is_executable() && plan.shown_argv().is_empty());
        plan
    }

    #[test]
    fn a_missing_tool_has_one_reason_and_no_fingerprints() {
        let plan = check(Ok(r#"{"name":"Ada"}"#), r#"{"name":"Ada"}"#);
        assert_eq!((plan.contract_fingerprint(), plan.source_fingerprint()), (None, None));
        assert_eq!(plan.summary().family, None);
        let call = plan.shown_call(Timestamp::from_unix_micros(0));
        assert_eq!(call.extra.get("family"), Some(&Json::Null));
        assert!(plan.approvable(&call).is_err());
    }

    #[test]
    fn a_missing_tool_shows_arguments_without_secrets() {
        check(Ok("[1]"), "{}");
        check(Err(ArgsProblem::GivenTwice), "{}");
        let plan = check(Ok(r#"{"a":"bound-EXAMPLE-4711"}"#), r#"{"a":"[redacted]"}"#);
        assert!(plan.holds_secret());
    }
}
