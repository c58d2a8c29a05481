//! Decides which runs to observe, and remembers observed runs.
//!
//! Observing costs a few microseconds per opened file. By default, a call is observed after each change of what its
//! approval binds, until a run does not fail. `.brigade/tools/observed.json` maps the fingerprint of the binding to the
//! observed run, and each tool to its last observed run. The file is a cache: if it is missing or invalid, runs are
//! observed.

use std::collections::{BTreeMap, BTreeSet};

use crate::{seen_run, seen_runs};
use brigade_call::{
    Binding, Plan, Receipt, RunObserved, RunStatus, ToolUse, VerifiedCall, binds, group_inputs,
};
use brigade_catalog::Family;
use brigade_core::json::{from_json, matching, pretty_text};
use brigade_core::{Dialect, Fingerprint, Glob, Json, RunId};
use brigade_exec::Watch;
use brigade_fs::{FsError, RelPath};
use brigade_policy::{Observe, Reads, SandboxMode};
use brigade_queue::FoundReceipt;
use brigade_workspace::{Config, LearnedCode, WorkspaceContext, is_code_file, is_code_of_run, read_catalog};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The file of observed runs.
const OBSERVED: &str = ".brigade/tools/observed.json";

/// The schema id of the file.
const SCHEMA: &str = "brigade.observed.v1";

/// The largest file that is read, and the maximum number of runs in it.
const LIMIT: u64 = 256 << 10;
const MAX_RUNS: usize = 1_000;

/// Decides whether to observe a run of a call.
pub fn watch(context: &WorkspaceContext, call: &VerifiedCall) -> Watch {
    let request = &call.decision().sandbox;
    match (request.mode, request.observe) {
        (SandboxMode::Off, _) | (_, Observe::Never) => Watch::Nothing,
        (_, Observe::Always) => Watch::Observe,
        // In a closed workspace, only an observation shows the denied reads.
        (_, Observe::Changed) if request.reads == Reads::Closed => Watch::Observe,
        (_, Observe::Changed) => {
            let before = read(context).runs.remove(&key(&call.call().tool_id, call.binding()).to_hex());
            before.map_or(Watch::Observe, Watch::Unchanged)
        }
    }
}

/// Remembers an observed run. A write error is ignored: the next run is observed again.
pub fn remember_observed(context: &WorkspaceContext, call: &VerifiedCall, receipt: &Receipt) {
    let is_observed = receipt.observed.as_ref().is_some_and(RunObserved::is_observed);
    if !is_observed {
        return;
    }
    let mut known = read(context);
    for runs in [&mut known.runs, &mut known.tools].into_iter().filter(|runs| MAX_RUNS <= runs.len()) {
        runs.clear();
    }
    let tool_id = &call.call().tool_id;
    // Denials of the sandbox are reported for every failed run.
    let has_failed = match call.plan().runs_command() {
        true => receipt.exit_code != Some(0),
        false => receipt.status == RunStatus::Failed,
    };
    if call.decision().sandbox.observe == Observe::Changed && !has_failed {
        known.runs.insert(key(tool_id, call.binding()).to_hex(), receipt.id.clone());
    }
    known.tools.insert(tool_id.clone(), receipt.id.clone());
    known.schema = SCHEMA.to_owned();
    let text = pretty_text(&known).expect("ids are JSON");
    let _ = context.fs.write_cache(&RelPath::from_static(OBSERVED), text.as_bytes());
    if let Err(error) = learn(context, call, receipt) {
        tracing::warn!("what the run used as code is not kept: {error}");
    }
}

/// Forgets the observed runs of all tools, so that the next run of each is observed.
pub(crate) fn forget_observed(context: &WorkspaceContext) {
    let _ = context.fs.write_cache(&RelPath::from_static(OBSERVED), b"");
}

/// Stores the files that an observed run used as code and that neither its approval, its arguments nor its data cover.
/// Files that the run itself wrote are left out. Otherwise each run would invalidate the next approval.
fn learn(context: &WorkspaceContext, call: &VerifiedCall, receipt: &Receipt) -> Result<(), FsError> {
    let Some(observed) = &receipt.observed else { return Ok(()) };
    let fs = &*context.fs;
    let data: Vec<Glob> = call.plan().data().iter().map(|pattern| Glob::beneath(pattern)).collect();
    let is_data = |path: &str| data.iter().any(|pattern| pattern.matches(path));
    let written: BTreeSet<&str> = observed.written.iter().flatten().map(|file| file.path.as_str()).collect();
    let inputs = group_inputs(receipt, observed, fs.root(), is_data).uncovered.into_iter();
    let is_code = |path: &str, executed: bool| {
        is_code_of_run(fs, path, executed) && !path.starts_with(".brigade/") && !path.starts_with(".git/")
    };
    let code = inputs.filter(|input| is_code(&input.path, input.executed));
    let code: BTreeSet<String> =
        code.map(|input| input.path).filter(|path| !written.contains(path.as_str())).collect();
    if code.is_empty() {
        return Ok(());
    }
    // The entry may have changed during the run.
    let catalog = read_catalog(fs)?;
    let Some(tool) = catalog.tool(&call.call().tool_id) else { return Ok(()) };
    if tool.command.as_deref() != call.plan().command() {
        return Ok(());
    }
    let mut learned = LearnedCode::read(fs)?;
    if learned.learn(fs, tool, receipt.id.as_str(), &code) { learned.write(fs) } else { Ok(()) }
}

/// Lists the files that the last observed run of a tool used and that neither its approval nor a new plan binds. Reads
/// one receipt. For a tool of a kept server, also reads the record of its start.
pub(crate) fn unbound(
    context: &WorkspaceContext,
    config: &Config,
    plan: &Plan,
) -> Result<Vec<String>, Error> {
    let tool_id = plan.tool_id();
    let Some(tool) = config.catalog.tool(tool_id) else { return Ok(Vec::new()) };
    let queue = context.queue();
    let view = queue.read()?;
    let seen = match read(context).tools.remove(tool_id) {
        Some(run) => match view.receipt(run.as_str())? {
            Some(FoundReceipt::Good(stored)) => seen_run(&*context.fs, &view, &stored.receipt)?.run(),
            Some(FoundReceipt::Bad(_)) | None => None,
        },
        // Calls of kept servers are observed with their process, so single calls are not remembered.
        None if tool.family == Some(Family::Mcp) => seen_runs(&*context.fs, &view, tool_id, 1)?.runs.pop(),
        None => None,
    };
    let used = ToolUse::new(tool, &seen, context.fs.root(), &|path| is_code_file(&*context.fs, path));
    let files = used.unbound.into_iter().map(|file| file.path);
    Ok(files.filter(|path| !binds(plan.binding(), path)).collect())
}

/// The content of the file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct LatestRuns {
    schema: String,
    /// Observed runs, by the fingerprint of their binding.
    #[serde(default, deserialize_with = "matching")]
    runs: BTreeMap<String, RunId>,
    /// The last observed run of each tool.
    #[serde(default, deserialize_with = "matching")]
    tools: BTreeMap<String, RunId>,
}

/// Returns the fingerprint of a binding, without caller and pin.
fn key(tool_id: &str, binding: &Binding) -> Fingerprint {
    let mut bound = binding.clone();
    bound.caller = brigade_call::Caller::CommandLine;
    bound.pin = None;
    Fingerprint::builder("brigade.observed.v1")
        .text("tool", tool_id)
        .fingerprint("bound", bound.fingerprint())
        .finish()
}

fn read(context: &WorkspaceContext) -> LatestRuns {
    context.fs.read(&RelPath::from_static(OBSERVED), LIMIT).map(|bytes| parse(&bytes)).unwrap_or_default()
}

/// Parses the file; empty if it is invalid.
fn parse(bytes: &[u8]) -> LatestRuns {
    let known =
        Json::parse_bytes(bytes, Dialect::Strict).ok().and_then(|json| from_json::<LatestRuns>(&json).ok());
    known.filter(|known| known.schema == SCHEMA).unwrap_or_default()
}

#[cfg(test)]
mod tests;
