//! A call with what a person decides on first: tool, arguments, effects. Everything else is one line for each group.

use brigade::policy::{Access, CallKind};
use brigade::{Call, CallStatus, Preview};

use super::{preview_bound, show_arguments, show_code, show_runs};
use crate::render::page::Sheet;
use crate::render::text::{Text, Tone};
use crate::render::when::{self, Now};
use crate::render::words;

/// Shows tool, arguments and effects, and then who asked when.
pub(super) fn show_lead(call: &Call, now: Now, sheet: &mut Sheet) {
    let tool = Text::new(Tone::Strong, &call.tool_id);
    let tool = match call.kind() {
        CallKind::Install => tool.then(Tone::Faint, " (install)"),
        CallKind::Run | CallKind::Read => tool,
    };
    sheet.field("tool", tool);
    show_arguments(&call.args, sheet);
    sheet.field_if("effects", Some(call.contract.effects.join(", ")));
    let asked = call.created_at.map(|at| format!(", {}", when::distance(at, now))).unwrap_or_default();
    let asked = format!(", asked by {}{asked}", call.caller);
    let id = Text::new(Tone::Accent, call.id.as_str()).then(Tone::Plain, "  ");
    sheet.field("call", id.and(words::status(call.status.as_str())).then(Tone::Plain, &asked));
    sheet.field_if("reason", call.review_reason.as_deref());
    sheet.field_if("works in", call.session.as_ref().and_then(|session| session.root_of(&call.tool_id)));
}

/// Shows what a call would run and may access, and how it differs from the last approved call of its tool.
pub(super) fn show_preview(preview: &Preview, sheet: &mut Sheet) {
    show_runs(preview, sheet);
    let Access { closed, .. } = &preview.access;
    sheet.field("may", access(&preview.access));
    sheet.field_if("stays closed", Some(closed.join(", ")).filter(|closed| !closed.is_empty()));
    sheet.short_field("binds", preview_bound(preview));
    show_code(&preview.bound_code, preview.binding.program.is_some(), sheet);
}

/// Sums up what a call may access.
fn access(access: &Access) -> Text {
    let Access { read, write, network, sandbox, .. } = access;
    let list = |paths: &[String]| match paths {
        [] => "nothing".to_owned(),
        [path] => path.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    let network = if *network { "use the network" } else { "no network" };
    let text = format!("read {}; write {}; {network}; sandbox: ", list(read), list(write));
    match sandbox.as_str() {
        "off" => Text::from(text).then(Tone::Warning, "off, so nothing enforces this"),
        mode => Text::from(text + mode),
    }
}

/// Shows the rest of a call in one line each: its contract, and what happened to it.
pub(super) fn show_rest(call: &Call, sheet: &mut Sheet) {
    let contract = &call.contract;
    let parts = [
        Some(call.family.to_string()),
        contract.approval_mode.as_ref().map(|mode| format!("approval mode {mode}")),
        contract.timeout.as_ref().map(|timeout| format!("timeout {}", when::limit(timeout.as_f64()))),
        contract.runtime_id.as_ref().map(|runtime| format!("runtime {runtime}")),
        contract.mcp_tool_name.as_ref().map(|tool| format!("mcp tool {tool}")),
        contract.mcp_origin.as_ref().map(|origin| format!("connects to {origin}")),
        Some(contract.permissions.join(", "))
            .filter(|labels| !labels.is_empty())
            .map(|labels| format!("permissions {labels}")),
        Some(contract.env_labels.join(", "))
            .filter(|labels| !labels.is_empty())
            .map(|labels| format!("env {labels}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    sheet.short_field("contract", parts.join(", "));
    sheet.field_if("replay of", call.replay.as_ref().map(|replay| &replay.run_id));
    let run = call.claim.as_ref().map(|claim| claim.run_id.to_string());
    let code = call.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    sheet.field_if("run", run.map(|run| run + &code));
    let waits = matches!(call.status, CallStatus::Waiting | CallStatus::ResumePending);
    sheet.field_if("waits on", call.checkpoint_ids.first().filter(|_| waits).map(|id| id.as_str()));
}
