//! The policy as reports and records show it.

use brigade_catalog::Tool;
use brigade_core::{Json, Severity};
use brigade_policy::{Decision, Policy, PolicyState};

/// Returns the decision on one call with the keys of the Python program and ours; its path is relative to the workspace.
pub fn decision_json(state: &PolicyState, decision: &Decision, tool: &Tool) -> Json {
    let blockers: Vec<String> = decision.blockers.iter().map(ToString::to_string).collect();
    let used = decision.env_bindings.keys().map(brigade_core::Label::as_str);
    let used: Vec<&str> = used.map(brigade_call::shown_label).collect();
    let grants = &decision.sandbox.grants;
    let mut members = vec![
        (
            "enabled",
            Json::from(
                state.policy().is_some()
                    || state.issues().iter().any(|issue| issue.severity == Severity::Error),
            ),
        ),
        ("policy_path", Json::from(state.file())),
        ("allowed", Json::from(decision.is_allowed())),
        ("blockers", Json::from(blockers)),
        ("errors", Json::from(errors(state))),
        ("env_labels_used", Json::from(used)),
        ("effective_timeout", Json::from(decision.effective_timeout.get())),
        ("max_output_bytes", Json::from(decision.max_output_bytes)),
        ("limits", limits(&decision.limits)),
        (
            "sandbox",
            Json::object([
                ("mode", Json::from(decision.sandbox.mode.as_str())),
                ("workspace_write", Json::from(grants.workspace_write)),
                ("network", Json::from(grants.network)),
                ("local_sockets", Json::from(grants.local_sockets)),
                ("read_paths", Json::from(grants.read_paths.clone())),
                ("write_paths", Json::from(grants.write_paths.clone())),
            ]),
        ),
        ("fingerprint", Json::from(decision.fingerprint().to_hex())),
    ];
    if let Some(policy) = state.shown() {
        members.extend(rules(policy));
        let required = tool.env_labels.iter().map(|label| brigade_call::shown_label(label));
        members.push(("env_labels_required", Json::from(required.collect::<Vec<_>>())));
    }
    Json::object(members)
}

/// Returns what the policy says, with the keys of its file.
pub fn policy_json(policy: &Policy) -> Json {
    let bindings = policy.env_bindings.iter();
    let mut members = rules(policy);
    members.extend([
        (
            "env_bindings",
            Json::object(
                bindings.map(|(label, variable)| (label.as_str(), Json::from(variable.value.as_str()))),
            ),
        ),
        (
            "sandbox",
            Json::object([
                ("mode", Json::from(policy.sandbox.mode.as_ref().map_or("off", |mode| mode.value.as_str()))),
                ("read_paths", located(&policy.sandbox.read_paths)),
                ("write_paths", located(&policy.sandbox.write_paths)),
                ("tools", Json::from(policy.tool_sandbox.keys().cloned().collect::<Vec<_>>())),
            ]),
        ),
        ("outside_paths", Json::from(policy.outside_paths.values().cloned().collect::<Vec<_>>())),
        ("pass", Json::from(policy.pass.values().map(|label| label.as_str().to_owned()).collect::<Vec<_>>())),
        ("limits", limits(&policy.limits)),
        ("max_output_bytes", Json::from(policy.max_output_bytes.as_ref().map(|bytes| bytes.value))),
    ]);
    Json::object(members)
}

fn located(values: &[brigade_policy::Located<String>]) -> Json {
    Json::from(values.iter().map(|value| value.value.clone()).collect::<Vec<_>>())
}

fn rules(policy: &Policy) -> Vec<(&'static str, Json)> {
    let words = |words: Vec<&str>| Json::from(words);
    let texts = |rule: &brigade_policy::Rule<String>| Json::from(rule.values().cloned().collect::<Vec<_>>());
    vec![
        ("allowed_families", words(policy.allowed_families.values().map(|family| family.as_str()).collect())),
        ("allowed_effects", texts(&policy.allowed_effects)),
        ("denied_effects", texts(&policy.denied_effects)),
        (
            "required_approval_modes",
            words(policy.required_approval_modes.values().map(|mode| mode.as_str()).collect()),
        ),
        ("max_timeout", Json::from(policy.max_timeout.as_ref().map(|timeout| timeout.value.get()))),
        ("allowed_runtimes", texts(&policy.allowed_runtimes)),
    ]
}

fn limits(limits: &brigade_policy::Limits) -> Json {
    Json::object([
        ("processes", Json::from(limits.processes)),
        ("memory", Json::from(limits.memory)),
        ("file_size", Json::from(limits.file_size)),
        ("open_files", Json::from(limits.open_files)),
    ])
}

/// Returns what is wrong with the policy, as texts; that it is missing, too.
fn errors(state: &PolicyState) -> Vec<String> {
    match state {
        PolicyState::Missing { file } => vec![format!("tool execution policy missing: {file}")],
        PolicyState::Invalid { .. } | PolicyState::Valid(_) => {
            let errors = state.issues().iter().filter(|issue| issue.severity == Severity::Error);
            errors.map(ToString::to_string).collect()
        }
    }
}
