//! The keys and types that JSON documents promise to scripts; documents may have more.
//!
//! `key:type` pairs, where a type is `str`, `bool`, `int`, `num`, `null`, `any`, `[T]` for a list, `{T}` for an object
//! with any keys, the name of a shape (`SHAPES`), or several of these with `|` between them. A key with `?` may be
//! absent.

use serde_json::Value;

/// Parts that occur in several documents.
const SHAPES: &[(&str, &str)] = &[
    (
        "plan",
        "tool_id:str family:str|null command:str|null cwd:str|null timeout:num|null runtime_id:str|null requires_runtime:bool \
         runtime_health_path:str|null mcp_server_id:str|null mcp_tool_name:str|null auth_label:str|null env_labels:[str] \
         arguments:{str} args:{any} permissions:[str] effects:[str] approval_required:bool approval_mode:str",
    ),
    (
        "policy",
        "enabled:bool policy_path:str allowed:bool blockers:[str] errors:[str] env_labels_used:[str] \
         allowed_families?:[str] allowed_effects?:[str] denied_effects?:[str] required_approval_modes?:[str] \
         max_timeout?:num|null allowed_runtimes?:[str] env_labels_required?:[str]",
    ),
    ("summary", "counts:{int} projections:[summary_item]"),
    ("summary_item", "harness:str status:str action:str projection_path:str|null"),
    (
        "projection",
        "tool_id:str name:str family:str harness:str source_path:str|null projection_path:str|null managed:bool \
         metadata:any|null status:str action:str detail:str",
    ),
    ("label", "file:str line:int|null column:int|null length:int|null text?:str"),
    ("detail", "code:str message:str file:str|null line:int|null field:str|null hint:str|null"),
    (
        "contract",
        "approval_mode:str|null approval_required:bool permissions:[str] effects:[str] auth_label:str|null env_labels:[str] \
         cwd:str|null timeout:num|null runtime_id:str|null requires_runtime:bool runtime_health_path:str|null \
         mcp_server_id:str|null mcp_tool_name:str|null",
    ),
    (
        "call",
        "id:str status:str created_at:str reviewed_at:str|null review_reason:str|null tool_id:str family:str|null \
         command:str|null args:{any} arguments:{str} contract:contract blockers:[str] policy:policy \
         projection_summary:summary contract_fingerprint:str|null source_fingerprint:str|null call_fingerprint:str|null \
         approval_fingerprint:str|null started_at:str|null completed_at:str|null run_id:str|null receipt_path:str|null \
         exit_code:int|null timed_out?:bool checkpoint_id?:str|null replay_of_run_id?:str replay_source_call_id?:str \
         replay_created_at?:str",
    ),
    (
        "receipt",
        "id:str call_id:str tool_id:str family:str status:str started_at:str completed_at:str duration_seconds:num \
         exit_code:int|null timed_out:bool timeout:num|null command_label:str argv:[str] cwd:str args:{any} \
         arguments:{str} stdout_summary:str stderr_summary:str stdout_log_path:str|null stderr_log_path:str|null receipt_path:str \
         contract_fingerprint:str source_fingerprint:str call_fingerprint:str approval_fingerprint:str approval:approval \
         permissions:[str] effects:[str] runtime_id:str|null mcp_server_id:str|null mcp_tool_name:str|null runtime:any \
         policy:policy env_labels_used:[str] projection_summary:summary output_compaction?:compaction|null checkpoint_id?:str \
         checkpoint?:checkpoint original_call_id?:str original_run_id?:str resume_run_id?:str resume?:resume",
    ),
    ("approval", "reviewed_at:str|null review_reason:str|null"),
    ("resume", "checkpoint_id:str selected_choice:str|null reviewed_at:str|null review_reason:str|null"),
    (
        "compaction",
        "reducer_id:str rule_hash:str omitted_count:int omitted_by_stream:{int} unit:str raw_retrievable:bool",
    ),
    (
        "run",
        "id:str status:str call_id:str tool_id:str family:str started_at:str completed_at:str duration_seconds:num \
         exit_code:int|null timed_out:bool timeout:num|null policy:policy runtime:any mcp_server_id:str|null \
         mcp_tool_name:str|null mcp_request_id:any mcp_response_summary:{any}|null stdout_summary:str stderr_summary:str \
         stdout_log_path:str|null stderr_log_path:str|null output_compaction:compaction|null receipt_path:str",
    ),
    (
        "checkpoint",
        "id:str status:str tool_id:str call_id:str run_id:str reason:str|null requested_action:str|null prompt:str|null \
         context:{any} choices:[str] selected_choice:str|null created_at:str|null expires_at:str|null \
         reviewed_at:str|null review_reason:str|null resume_run_id:str|null checkpoint_path:str",
    ),
    ("damage", "file:str line:int|null problem:str next:str|null"),
    ("receipt_error", "receipt_path:str error:str"),
    ("checkpoint_error", "checkpoint_path:str error:str"),
    (
        "tool",
        "id:str name:str family:str|null enabled:bool description:str supported_harnesses:[str] projection_coverage:{str} \
         schema_available:bool manifest_available:bool auth_label:str|null tool_count:int contract:tool_contract \
         source_path?:str source_fingerprint?:str|null manifest_path?:str schema_path?:str health_path?:str command?:str \
         projection_paths?:{str} mcp?:any",
    ),
    (
        "tool_contract",
        "tool_id:str name:str family:str|null description:str command:str|null timeout:num|null auth_label:str|null \
         cwd:str|null runtime_id:str|null requires_runtime:bool runtime_health_path:str|null mcp_server_id:str|null \
         mcp_tool_name:str|null approval_mode:str permissions:[str] effects:[str] env_labels:[str] \
         argument_template:{str} input_schema_path:str|null output_schema_path:str|null examples_path:str|null \
         has_contract:bool",
    ),
    (
        "described",
        "id:str enabled:bool contract:tool_contract supported_harnesses:[str] projection_coverage:{str} \
         schema_available:bool manifest_available:bool tool_count:int tool_id:str name:str family:str|null \
         description:str command:str|null auth_label:str|null approval_mode:str has_contract:bool source_path?:str \
         source_fingerprint?:str|null projection_paths?:{str} argument_template:{str}",
    ),
    ("counted_contract", "tool_id:str has_contract:bool issue_count:int issues:[issue]"),
    ("issue", "status:str name:str issue_type:str detail:str tool_id:str|null"),
    (
        "pin",
        "id:str server:str tool:str state:str fingerprint:str pinned_at:str offered_at:str|null pin_path:str changes:[str]",
    ),
    (
        "imported_tool",
        "tool_id:str mcp_tool_name:str description:str|null action:str detail:str|null input_schema_path:str \
         schema_problems:[str]",
    ),
    ("pin_error", "pin_path:str error:str"),
    ("live_issue", "code:str severity:str server:str tool:str|null message:str changes:[str] hint:str|null"),
    (
        "import",
        "id:str kind:str source:str text:str status:str created_at:str updated_at:str type:str priority:str template:str \
         acceptance:[str] metadata:import_metadata",
    ),
    (
        "import_metadata",
        "tool_id:str tool_issue_type:str source_item_key:str source_fingerprint:str tool_issue_detail:str",
    ),
    (
        "runtime",
        "id:str name:str enabled:bool command:str cwd:str|null port:int|null pid:int|null state:str running:bool \
         managed:bool stale_pid:bool pid_path:str metadata_path:str stdout_log_path:str|null stderr_log_path:str|null \
         health_path:str|null health_ok:bool|null health_detail:any metadata:any issues:[issue] issue_count:int",
    ),
    ("passed_over", "call_id:str reasons:[str]"),
    ("finding", "sequence:int|null line:int|null run_id:str problem:str detail:str"),
    (
        "catalog_parity",
        "latest_closeout:any quieted_issue_count:int quieted_issues:[any] changed_issue_count:int changed_issues:[any]",
    ),
    ("catalog_calls", "calls_path:str counts:{int} pending_count:int issue_count:int top_issue:issue|null"),
    (
        "catalog_runs",
        "runs_path:str counts:{int} run_count:int issue_count:int top_issue:issue|null latest:run|null",
    ),
    (
        "catalog_checkpoints",
        "checkpoints_path:str counts:{int} checkpoint_count:int issue_count:int top_issue:issue|null latest:any",
    ),
    (
        "catalog_runtimes",
        "config_path:str state_path:str counts:{int} runtime_count:int issue_count:int top_issue:issue|null",
    ),
    (
        "runtime",
        "id:str name:str enabled:bool command:str cwd:str port:int|null pid:int|null state:str running:bool managed:bool \
         stale_pid:bool pid_path:str metadata_path:str stdout_log_path:str|null stderr_log_path:str|null health_path:str|null \
         health_ok:bool|null health_detail:str|null metadata:any|null issues:[issue] issue_count:int",
    ),
    ("runtime_start", RUNTIME_START),
    ("runtime_stop", RUNTIME_STOP),
    ("catalog_policy", "policy_path:str enabled:bool valid:bool issue_count:int top_issue:issue|null"),
];

/// The documents, by the id of their schema.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "brigade.error.v1",
        "error:str kind:str exit_code:int blockers:[str] blocker_details:[detail] candidates:[str] hints:[str] \
         code:str labels:[label] help:str|null",
    ),
    (
        "brigade.catalog.v1",
        "target:str config_path:str valid:bool errors:[str] tools:[tool] tool_count:int raw_issues:[issue] \
         raw_issue_count:int issues:[issue] issue_count:int top_issue:issue|null parity:catalog_parity \
         call_queue:catalog_calls run_history:catalog_runs checkpoints:catalog_checkpoints runtimes:catalog_runtimes \
         policy:catalog_policy",
    ),
    ("brigade.tool.v1", "target:str config_path:str tool:tool|null"),
    ("brigade.tool-search.v1", "target:str query:str matches:[tool] match_count:int"),
    (
        "brigade.tool-contract.v1",
        "target:str config_path:str valid:bool errors:[str] tool:described|null issues:[issue] issue_count:int",
    ),
    (
        "brigade.tool-contracts.v1",
        "target:str config_path:str valid:bool errors:[str] contracts:[counted_contract] contract_count:int \
         issue_count:int issues:[issue]",
    ),
    (
        "brigade.projection-plan.v1",
        "target:str config_path:str valid:bool errors:[str] tool_id:str|null tools:[str] projections:[projection] \
         counts:{int}",
    ),
    (
        "brigade.sync-plan.v1",
        "target:str config_path:str valid:bool errors:[str] tool_id:str|null tools:[str] projections:[projection] \
         counts:{int} mode:str dry_run_default:bool delete_supported:bool add_only:bool",
    ),
    (
        "brigade.apply.v1",
        "target:str config_path:str valid:bool errors:[str] tool_id:str|null all:bool dry_run:bool force:bool \
         applied:[projection] skipped:[projection] conflicts:[projection] applied_count:int skipped_count:int \
         conflict_count:int",
    ),
    (
        "brigade.import-issues.v1",
        "target:str imports_path:str issues:int created:int skipped:int dismissed:int imports:[import]",
    ),
    (
        "brigade.runtime-list.v1",
        "target:str config_path:str state_path:str valid:bool errors:[str] runtimes:[runtime] runtime_count:int \
         counts:{int} issues:[issue] issue_count:int top_issue:issue|null",
    ),
    (
        "brigade.runtime-status.v1",
        "target:str config_path:str state_path:str valid:bool errors:[str] runtimes:[runtime] runtime_count:int \
         counts:{int} issues:[issue] issue_count:int top_issue:issue|null",
    ),
    (
        "brigade.runtime-health.v1",
        "target:str config_path:str state_path:str valid:bool errors:[str] runtimes:[runtime] runtime_count:int \
         counts:{int} issues:[issue] issue_count:int top_issue:issue|null",
    ),
    (
        "brigade.runtime.v1",
        "target:str config_path:str state_path:str valid:bool errors:[str] runtimes:[runtime] runtime_count:int \
         counts:{int} issues:[issue] issue_count:int top_issue:issue|null runtime:runtime|null",
    ),
    (
        "brigade.runtime-start.v1",
        "target:str runtime:runtime|null started:int blockers?:[str] error?:str|null",
    ),
    (
        "brigade.runtime-stop.v1",
        "target:str runtime:runtime|null stopped:int|bool error?:str|null reason?:str|null",
    ),
    ("brigade.runtime-restart.v1", "target:str stop:any runtime:runtime|null error?:str|null"),
    (
        "brigade.parity.v1",
        "target:str closeouts_path:str latest_closeout:any projection_issue_count:int quieted_issue_count:int \
         changed_issue_count:int issues:[issue] quieted_issues:[issue] changed_issues:[issue]",
    ),
    (
        "brigade.parity-closeout.v1",
        "closeout_id:str created_at:str status:str reason:str|null issue_count:int source_fingerprints:[str] \
         safe_summary:any",
    ),
    (
        "brigade.defaults.v1",
        "target:str config_path:str valid:bool errors:[str] dry_run:bool force:bool created:any added:any updated:any \
         skipped:any conflicts:[any] sources:[any] source_created_count:int source_skipped_count:int tool_count:int \
         default_count:int projection_scope:[str]|null gitignore:any next_command:str|null",
    ),
    ("brigade.init.v1", "target:str"),
    (
        "brigade.call-plan.v1",
        "target:str config_path:str valid:bool tool_id:str plan:plan|null blockers:[str] blocker_details:[detail] \
         policy:policy warnings:[str] validation_errors:[str] projection_blockers:[projection] projection_summary:summary \
         contract_fingerprint:str|null source_fingerprint:str|null error?:str",
    ),
    (
        "brigade.call-queue.v1",
        "target:str calls_path:str created:int skipped:int blocked:int call:call reason:str|null blockers:[str] \
         blocker_details:[detail]",
    ),
    ("brigade.call-list.v1", "target:str calls_path:str calls:[call] counts:{int} notes?:[str]"),
    (
        "brigade.call.v1",
        "target:str calls_path:str call:call|null changed:[str] error:str|null candidates:[str]",
    ),
    (
        "brigade.call-review.v1",
        "target:str calls_path:str call:call|null error?:str blockers:[str] blocker_details:[detail] candidates:[str]",
    ),
    (
        "brigade.call-run.v1",
        "target:str calls_path:str runs_path:str call:call|null receipt:receipt|null blockers:[str] \
         blocker_details:[detail] changed:[str] passed_over:[passed_over] error?:str candidates:[str]",
    ),
    (
        "brigade.run-list.v1",
        "target:str runs_path:str runs:[run] run_count:int counts:{int} errors:[receipt_error] error_count:int \
         latest:run|null notes:[str]",
    ),
    (
        "brigade.run-log.v1",
        "target:str run_id:str running:bool stream:str path:str bytes:int text:str omitted_bytes:int",
    ),
    ("brigade.run.v1", "target:str runs_path:str run:receipt|null error:str|null candidates:[str]"),
    ("brigade.envelope.v1", "envelope_path:str valid:bool statement:any error:str|null"),
    ("brigade.run-export.v1", "payloadType:str payload:str signatures:[any]"),
    (
        "brigade.run-replay.v1",
        "target:str runs_path:str calls_path:str run:any plan:any blockers:[str] blocker_details:[detail] created:int \
         executed:int call?:call error?:str",
    ),
    (
        "brigade.run-verify.v1",
        "target:str runs_path:str valid:bool checked:int adopted:bool findings:[finding]",
    ),
    (
        "brigade.checkpoint-list.v1",
        "target:str checkpoints_path:str checkpoints:[checkpoint] checkpoint_count:int counts:{int} \
         errors:[checkpoint_error] error_count:int",
    ),
    (
        "brigade.checkpoint.v1",
        "target:str checkpoints_path:str checkpoint:checkpoint|null call_status:str|null error:str|null candidates:[str]",
    ),
    (
        "brigade.checkpoint-review.v1",
        "target:str checkpoints_path:str checkpoint:checkpoint|null call:call|null error?:str",
    ),
    (
        "brigade.checkpoint-resume.v1",
        "target:str calls_path:str checkpoints_path:str runs_path:str checkpoint:checkpoint|null call:call|null \
         receipt:receipt|null blockers:[str] blocker_details:[detail] changed:[str] error?:str",
    ),
    (
        "brigade.state.v1",
        "target:str valid:bool calls:{int} runs:{int} journal_bytes:int segments:int adopted:bool damage:[damage] \
         quarantined:[any] unreadable_when_adopted:[str] temporary:[str]",
    ),
    (
        "brigade.state-compact.v1",
        "target:str adopted:bool moved:int quarantined:int restored:int removed:int",
    ),
    (
        "brigade.doctor-fix.v1",
        "target:str dry_run:bool fixed_count:int failed_count:int fixed:[any] failed:[any] next_command:str",
    ),
    ("brigade.key.v1", "private_key_path:str public_key_path:str key_id:str"),
    ("brigade.policy.v1", "target:str policy_path:str valid:bool errors:[str] policy:any"),
    (
        "brigade.policy-health.v1",
        "target:str policy_path:str enabled:bool valid:bool errors:[str] issues:[issue] issue_count:int \
         top_issue:issue|null tool_errors:[str]",
    ),
    ("brigade.policy-explanation.v1", "target:str"),
    ("brigade.runtime-list.v1", RUNTIMES),
    ("brigade.runtime-status.v1", RUNTIMES),
    ("brigade.runtime-health.v1", RUNTIMES),
    (
        "brigade.runtime.v1",
        "target:str config_path:str state_path:str valid:bool errors:[str] runtimes:[runtime] runtime_count:int \
         counts:{int} issues:[issue] issue_count:int top_issue:issue|null runtime:runtime|null error:str|null",
    ),
    ("brigade.runtime-start.v1", RUNTIME_START),
    ("brigade.runtime-stop.v1", RUNTIME_STOP),
    (
        "brigade.runtime-restart.v1",
        "target:str runtime_id:str stop:runtime_stop|null start:runtime_start|null runtime:runtime|null error?:str",
    ),
    (
        "brigade.import-mcp.v1",
        "target:str config_path:str runtime_id:str dry_run:bool server_info:any protocol_version:str|null listed_count:int \
         added_count:int skipped_count:int tools:[imported_tool]",
    ),
    (
        "brigade.pins.v1",
        "target:str pins_path:str pins:[pin] pin_count:int changed_count:int errors:[pin_error] error_count:int is_live:bool \
         issues:[live_issue] issue_count:int",
    ),
    (
        "brigade.pin.v1",
        "target:str pins_path:str pin:pin|null description:str|null input_schema:any changes:[str] accepted:bool \
         error:str|null candidates:[str]",
    ),
    (
        "brigade.runtime-logs.v1",
        "target:str runtime_id:str stream:str log_path:str lines:[str] line_count:int has_earlier:bool",
    ),
];

const RUNTIMES: &str = "target:str config_path:str state_path:str valid:bool errors:[str] runtimes:[runtime] \
    runtime_count:int counts:{int} issues:[issue] issue_count:int top_issue:issue|null";

const RUNTIME_START: &str = "target:str runtime_id:str runtime:runtime|null started:int skipped:int pid?:int \
    pid_path?:str metadata_path?:str reason?:str blockers:[str] blocker_details:[detail] error?:str stdout?:str \
    stderr?:str survivors?:[int]";

const RUNTIME_STOP: &str = "target:str runtime_id:str runtime:runtime|null stopped:int pid?:int processes?:int \
    killed?:int method?:str reason?:str error?:str fix?:str|null survivors?:[int]";

/// Compares a document with what its schema promises.
///
/// # Errors
/// With everything that is missing or of another type, by its path.
pub fn check(document: &Value) -> Result<(), String> {
    let schema = document.get("schema").and_then(Value::as_str).ok_or("the document names no schema")?;
    let rule =
        DOCUMENTS.iter().find(|(id, _)| *id == schema).ok_or(format!("nothing is known of {schema}"))?;
    let mut problems = Vec::new();
    check_object(document, rule.1, schema, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn check_object(value: &Value, rule: &str, path: &str, problems: &mut Vec<String>) {
    for pair in rule.split_whitespace() {
        let (key, kind) = pair.split_once(':').expect("a rule is `key:type`");
        let (key, is_optional) = match key.strip_suffix('?') {
            Some(key) => (key, true),
            None => (key, false),
        };
        match value.get(key) {
            Some(member) => check_value(member, kind, &format!("{path}.{key}"), problems),
            None if is_optional => {}
            None => problems.push(format!("{path}.{key} is missing")),
        }
    }
}

fn check_value(value: &Value, kind: &str, path: &str, problems: &mut Vec<String>) {
    let mut closest: Option<Vec<String>> = None;
    for alternative in kind.split('|') {
        let mut found = Vec::new();
        check_one(value, alternative, path, &mut found);
        if found.is_empty() {
            return;
        }
        // The alternative of the right kind of value has the useful complaints.
        if closest.as_ref().is_none_or(|_| value.is_object() || value.is_array()) && alternative != "null" {
            closest = Some(found);
        }
    }
    problems.extend(closest.unwrap_or_else(|| vec![format!("{path} is not {kind}")]));
}

fn check_one(value: &Value, kind: &str, path: &str, problems: &mut Vec<String>) {
    let fits = match kind {
        "any" => true,
        "str" => value.is_string(),
        "bool" => value.is_boolean(),
        "int" => value.is_i64() || value.is_u64(),
        "num" => value.is_number(),
        "null" => value.is_null(),
        _ => {
            return check_structure(value, kind, path, problems);
        }
    };
    if !fits {
        problems.push(format!("{path} is not {kind}"));
    }
}

fn check_structure(value: &Value, kind: &str, path: &str, problems: &mut Vec<String>) {
    let inner = |open: char, close: char| kind.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    match (value, inner('[', ']'), inner('{', '}')) {
        (Value::Array(elements), Some(inner), _) => {
            for (index, element) in elements.iter().enumerate() {
                check_value(element, inner, &format!("{path}[{index}]"), problems);
            }
        }
        (Value::Object(members), _, Some(inner)) => {
            for (key, member) in members {
                check_value(member, inner, &format!("{path}.{key}"), problems);
            }
        }
        (Value::Object(_), None, None) => {
            let shape = SHAPES.iter().find(|(name, _)| *name == kind);
            let (_, rule) = shape.unwrap_or_else(|| panic!("no shape is named `{kind}`"));
            check_object(value, rule, path, problems);
        }
        _ => problems.push(format!("{path} is not {kind}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn rejects(document: Value, expect: &str) {
        assert_eq!(check(&document), Err(expect.to_owned()));
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_named() {
        let list = json!({"schema":"brigade.tool.v1","target":"/t","config_path":"/c","tool":null});
        assert_eq!(check(&list), Ok(()));
        rejects(
            json!({"schema":"brigade.tool.v1","target":1,"tool":null}),
            "brigade.tool.v1.target is not str\nbrigade.tool.v1.config_path is missing",
        );
        rejects(json!({}), "the document names no schema");
    }

    #[test]
    fn every_named_shape_exists() {
        const PLAIN: &[&str] = &["str", "bool", "int", "num", "null", "any"];
        for (_, rule) in SHAPES.iter().chain(DOCUMENTS) {
            for pair in rule.split_whitespace() {
                for kind in pair.split_once(':').unwrap().1.split('|') {
                    let name = kind.trim_matches(['[', ']', '{', '}']);
                    let is_known = PLAIN.contains(&name) || SHAPES.iter().any(|(shape, _)| *shape == name);
                    assert!(is_known, "`{name}` in `{pair}`");
                }
            }
        }
    }
}
