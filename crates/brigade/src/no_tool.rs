//! Plans of missing tools: a complete document with one reason.

use brigade_call::{Call, Plan, PlanSummary};
use brigade_catalog::{Family, Tool};
use brigade_core::Json;
use brigade_policy::Blocker;

use crate::args;
use crate::args::ArgsSource;
use crate::calls;
use crate::calls::{details, messages};
use crate::error::Error;
use crate::gather;
use crate::gather::Config;
use crate::load::shown_id;
use crate::refusal::Refusal;
use crate::report::PlanReport;
use crate::room::Room;

/// Builds the document of `call plan` for a missing or disabled tool.
pub(crate) fn plan_of_no_tool(
    room: &Room,
    config: &Config,
    tool_id: &str,
    args: &ArgsSource,
    missing: Error,
) -> Result<Error, Error> {
    let tool_id = shown_id(tool_id);
    let tool = nameless(&tool_id);
    let planned = gather::plan_call(room, config, &tool, args::args(room, args))?;
    let report = calls::plan_report(room, config, &planned);
    let blockers = [blocker(&missing)];
    let plan = PlanSummary { family: None, tool_id: tool_id.clone(), ..report.plan };
    let report = PlanReport {
        valid: false,
        tool_id,
        plan,
        blockers: messages(&blockers),
        blocker_details: details(&blockers),
        validation_errors: Vec::new(),
        contract_fingerprint: None,
        source_fingerprint: None,
        call_fingerprint: None,
        argv: Vec::new(),
        ..report
    };
    Ok(missing.refusing(room, Refusal::Plan(Box::new(report))))
}

/// Builds the document of `call queue` for a missing or disabled tool. Stores nothing.
pub(crate) fn queue_no_tool(
    room: &Room,
    config: &Config,
    tool_id: &str,
    args: &ArgsSource,
    missing: Error,
) -> Result<Error, Error> {
    let tool_id = shown_id(tool_id);
    let tool = nameless(&tool_id);
    let plan: Plan = gather::plan_call(room, config, &tool, args::args(room, args))?.plan;
    let blockers = [blocker(&missing)];
    let mut call = Call {
        tool_id,
        contract_fingerprint: None,
        source_fingerprint: None,
        blockers: blockers.to_vec(),
        ..plan.shown_call(room.now()).shown(room)
    };
    call.extra.insert("family".to_owned(), Json::Null);
    Ok(missing.because(blockers).refusing(room, Refusal::Queue { call: Box::new(call) }))
}

/// Returns an empty catalog entry.
fn nameless(tool_id: &str) -> Tool {
    let of = |id: &str| Tool::new(id, Family::Script);
    let mut tool = of(tool_id.trim()).or_else(|_| of("unknown")).expect("the word is an id");
    tool.family = None;
    tool
}

fn blocker(missing: &Error) -> Blocker {
    let blocker = Blocker::new("tool_missing", missing.to_string());
    match missing.hints().first() {
        Some(hint) => blocker.hint(hint.clone()),
        None => blocker,
    }
}
