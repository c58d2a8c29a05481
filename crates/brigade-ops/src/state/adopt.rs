//! Accepts approvals that another host gave, such as after a workspace was moved.

use brigade_core::Report as _;
use brigade_core::text::escape_terminal;
use brigade_kitchen_run::{Kitchen, UnsignedJournal};
use brigade_mcp::PinRecord;
use brigade_policy::Failure;
use brigade_queue::StoredCall;
use brigade_redact::shown_command;
use brigade_workspace::{AdoptStep, WorkspaceContext, tracked_state};

use crate::report::{AdoptReport, AdoptRow};

/// Lists or accepts calls, journals of the kitchen, and configuration that git tracks. State that git tracks is never
/// accepted.
///
/// # Errors
/// Fails inside a run, or on a disk error.
pub fn adopt(context: &WorkspaceContext, step: AdoptStep) -> Result<AdoptReport, Failure> {
    context.require_outside_run()?;
    let kitchen = Kitchen::new(context);
    let mut tracked = tracked_state(&*context.fs);
    tracked.extend(kitchen.tracked_journals()?);
    let mut records = Vec::new();
    for config in context.trust.tracked_config(&*context.fs) {
        if step == AdoptStep::Adopt {
            context.accept_config(&config)?;
        }
        let detail = format!("git tracks it; sha256 {}; read it first", config.sha256);
        records.push(AdoptRow::new("file", config.file.to_owned(), "counts", detail, None));
    }
    if let Some(journal) =
        context.journal().filter(|_| !tracked.iter().any(|file| file.ends_with("calls.jsonl")))
    {
        let mut calls = journal.approved_elsewhere()?;
        if step == AdoptStep::Adopt && !calls.is_empty() {
            calls = journal.adopt(&calls, context.now())?;
        }
        records.extend(calls.iter().map(call_row));
    }
    let pins = context.host().pins();
    for pin in pins.unsigned()? {
        if step == AdoptStep::Show || pins.adopt(&pin)? {
            records.push(pin_row(&pin));
        }
    }
    for journal in kitchen.unsigned_journals()? {
        if step == AdoptStep::Show || kitchen.adopt_journal(&journal)? {
            records.push(journal_row(&journal));
        }
    }
    let (schema, target) = (AdoptReport::SCHEMA, context.target());
    Ok(AdoptReport { schema, target, adopted: step == AdoptStep::Adopt, records, tracked })
}

fn call_row(stored: &StoredCall) -> AdoptRow {
    let call = &stored.call;
    let command = call.command.as_deref().map(|command| shown_command(command).to_string());
    let by = call.approval.as_ref().and_then(|approval| approval.by.rule());
    let by = by.map_or_else(|| "a person".to_owned(), |rule| format!("the rule `{}`", escape_terminal(rule)));
    let detail = format!("`{}`, approved by {by}", command.as_deref().unwrap_or(&call.tool_id));
    AdoptRow::new("call", call.id.to_string(), call.status.as_str(), detail, call.reviewed_at)
        .named(&call.tool_id)
}

fn pin_row(pin: &PinRecord) -> AdoptRow {
    let detail = format!("how the server listed the tool, fingerprint {}", pin.pin.fingerprint().short());
    AdoptRow::new("pin", pin.id(), "accepted", detail, None).named(&pin.tool.tool)
}

fn journal_row(journal: &UnsignedJournal) -> AdoptRow {
    let UnsignedJournal { name, records, approval, answers, .. } = journal;
    let kind = if name == "workers" { "workers" } else { "prd" };
    let status = if approval.is_some() { "approved" } else { "not-approved" };
    let detail = match approval {
        Some((fingerprint, _)) => {
            format!("fingerprint {}, {answers} answers, {records} records", &fingerprint[..16])
        }
        None => format!("{answers} answers, {records} records"),
    };
    AdoptRow::new(kind, name.clone(), status, detail, approval.as_ref().map(|(_, at)| *at))
}
