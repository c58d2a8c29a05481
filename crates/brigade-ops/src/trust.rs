//! Shows what rules and Brigade itself would run, and records that a person reviewed it.

use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_access::Offer;
use brigade_call::{Caller, Plan, SeenPart};
use brigade_catalog::{Level, Reads, Tool};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Fingerprint, Json, NextStep};
use brigade_policy::approval::ReviewState;
use brigade_workspace::{
    Config, TRUSTED, TrustKind, TrustTarget, WorkspaceContext, WritablePlaces, gather, load, masks,
};

use crate::calls::Calls;
use crate::error::{Error, ErrorKind};
use crate::report::{Report as _, TrustPart, TrustReport, TrustRow, TrustState};
use crate::{find_runtime, machine_of};

/// The name of the worker that judges calls.
const JUDGE: &str = "judge";

/// The name of the program that learns what waits.
const NOTIFY: &str = "notify";

/// The agent that plans are made for. Each agent would run the same.
const ANY_AGENT: &str = "reviewer";

/// A thing to review.
struct Thing {
    target: TrustTarget,
    parts: Vec<SeenPart>,
    row: TrustRow,
}

impl Calls {
    /// Shows tools and programs, each by its id, `runtime:ID`, `worker:ID`, `judge` or `notify`. Runs nothing.
    ///
    /// # Errors
    /// Fails if one of them does not exist, and on file errors.
    pub fn show_trust(&self, names: &[String]) -> Result<TrustReport, Error> {
        let config = gather::config(&self.context)?;
        let things = things(&self.context, &config, names)?;
        Ok(report(&self.context, things.into_iter().map(|thing| thing.row).collect()))
    }

    /// Records that a person reviewed exactly what a report shows.
    ///
    /// # Errors
    /// Fails inside a run, if something changed since it was shown, and on file errors.
    pub fn trust(&self, names: &[String], shown: &TrustReport) -> Result<TrustReport, Error> {
        let context = &*self.context;
        context.require_outside_run()?;
        let config = gather::config(context)?;
        let things = things(context, &config, names)?;
        if !things.iter().map(|thing| &thing.row).eq(&shown.things) {
            let message = "something changed since it was shown; look at it again";
            return Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::NotReviewed));
        }
        for Thing { target, parts, .. } in things {
            context.host().record_review(&config.policy, target, parts, "tools trust")?;
        }
        let mut report = TrustReport { trusted: true, ..shown.clone() };
        let to_review = report.things.iter_mut().filter(|thing| thing.state != TrustState::NotNeeded);
        to_review.for_each(|thing| thing.state = TrustState::Reviewed);
        Ok(report)
    }
}

/// Records that a person reviewed what a call runs, because the person approved the call. The approval itself is stored
/// already.
pub(crate) fn note_approved(context: &WorkspaceContext, config: &Config, plan: &Plan, call: &str) {
    if let Err(error) = context.host().record_plan(&config.policy, plan, &format!("approved {call}")) {
        tracing::warn!(%error, "what the approved call runs is not recorded as reviewed");
    }
}

/// Records that a person reviewed tools of the project, because a command of the person just wrote or showed them.
pub fn note_shown(context: &WorkspaceContext, command: &str, is_shown: impl Fn(&Tool) -> bool) {
    note_seen(context, command, is_shown, &BTreeMap::new());
}

/// Records like [`note_shown`], except for a tool with a file that is not as it was `seen`.
pub(crate) fn note_seen(
    context: &WorkspaceContext,
    command: &str,
    is_shown: impl Fn(&Tool) -> bool,
    seen: &BTreeMap<String, Fingerprint>,
) {
    let is_as_seen = |part: &SeenPart| {
        let seen = part.path.as_ref().and_then(|path| seen.get(path));
        seen.is_none_or(|seen| *seen == part.fingerprint)
    };
    let record = || -> Result<(), Error> {
        context.require_outside_run()?;
        let config = gather::config(context)?;
        let entries = config.catalog.tools().iter().filter(|entry| entry.origin.level == Level::Project);
        for entry in entries.filter(|entry| is_shown(entry)) {
            let Thing { target, parts, .. } = tool(context, &config, entry)?;
            if parts.iter().all(is_as_seen) {
                context.host().record_review(&config.policy, target, parts, command)?;
            }
        }
        Ok(())
    };
    if let Err(error) = record() {
        tracing::warn!(%error, "what `{command}` showed is not recorded as reviewed");
    }
}

/// Returns the fingerprints of the files that tools run or load, by their paths, as they are now.
pub(crate) fn files_of_tools(
    context: &WorkspaceContext,
    is_meant: impl Fn(&Tool) -> bool,
) -> Result<BTreeMap<String, Fingerprint>, Error> {
    let config = gather::config(context)?;
    let mut files = BTreeMap::new();
    for entry in config.catalog.tools().iter().filter(|entry| is_meant(entry)) {
        let parts = tool(context, &config, entry)?.parts;
        files.extend(parts.into_iter().filter_map(|part| Some((part.path?, part.fingerprint))));
    }
    Ok(files)
}

/// Returns the ids of the tools that a person reviewed as they are. After the person accepted another listing of their
/// server, [`note_shown`] records them again.
pub(crate) fn reviewed_tools(
    context: &WorkspaceContext,
    is_meant: impl Fn(&Tool) -> bool,
) -> Result<Vec<String>, Error> {
    let config = gather::config(context)?;
    let mut reviewed = Vec::new();
    for entry in config.catalog.tools().iter().filter(|entry| is_meant(entry)) {
        if tool(context, &config, entry)?.row.state == TrustState::Reviewed {
            reviewed.push(entry.id.to_string());
        }
    }
    Ok(reviewed)
}

fn report(context: &WorkspaceContext, things: Vec<TrustRow>) -> TrustReport {
    TrustReport {
        schema: TrustReport::SCHEMA,
        target: context.target(),
        trusted_path: context.absolute(TRUSTED),
        trusted: false,
        thing_count: things.len(),
        things,
    }
}

fn things(context: &WorkspaceContext, config: &Arc<Config>, names: &[String]) -> Result<Vec<Thing>, Error> {
    let mut things = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let gateway = config.gateway(&context.host());
        let judge = gateway.and_then(|gateway| Some(gateway.judge.as_ref()?.worker.as_str()));
        let notify = gateway.and_then(|gateway| gateway.notify.as_ref());
        let target = match (name, judge, notify) {
            (JUDGE, Some(judge), _) => TrustTarget::new(TrustKind::Worker, judge),
            (NOTIFY, _, Some(_)) => TrustTarget::notify(),
            _ => name.parse().expect("every text names something"),
        };
        match target.kind {
            TrustKind::Tool => {
                for entry in entries(context, config, &target.id)? {
                    things.push(tool(context, config, entry)?);
                }
            }
            TrustKind::Runtime | TrustKind::Health => things.extend(runtime(context, config, &target.id)?),
            TrustKind::Worker => things.push(worker(context, config, target)?),
            TrustKind::Notify => things.push(notify_program(context, config)?),
            TrustKind::File => {
                let message = format!("`{}` is not a tool or a program", escape_terminal(name));
                return Err(Error::new(ErrorKind::NotFound, message).hint(NextStep::AdoptState));
            }
        }
    }
    Ok(things)
}

/// Returns the entries that a name means: one tool, or a reader of resources of each server or of one (`ID@SERVER`).
fn entries<'c>(
    context: &WorkspaceContext,
    config: &'c Arc<Config>,
    name: &str,
) -> Result<Vec<&'c Tool>, Error> {
    let (id, server) = name.split_once('@').map_or((name, None), |(id, server)| (id, Some(server)));
    if let Some(reads) = Reads::of_tool_id(id) {
        let is_meant = |offer: &&Offer| offer.reads == reads && server.is_none_or(|id| offer.server == id);
        return Ok(config
            .offers(&context.host())
            .iter()
            .filter(is_meant)
            .map(|offer| &offer.entry)
            .collect());
    }
    // A person may review a tool before enabling it.
    Ok(vec![match load::named(&config.catalog, name) {
        Some(tool) => config.under_policy(tool),
        None => gather::entry(context, config, name, &no_arguments())?,
    }])
}

fn no_arguments() -> Json {
    Json::object::<&str>([])
}

fn tool(context: &WorkspaceContext, config: &Arc<Config>, entry: &Tool) -> Result<Thing, Error> {
    let (args, caller) = (Ok(no_arguments()), Caller::Agent(ANY_AGENT.to_owned()));
    let enabled = Tool { enabled: true, ..entry.clone() };
    let plan = gather::plan_call(context, config, &enabled, args, caller, None, None)?.plan;
    let thing = thing(context, config, TrustTarget::for_plan(&plan), plan.seen_parts());
    let contract = Some(plan.shown_contract().clone());
    Ok(Thing { row: TrustRow { command: plan.summary().command.clone(), contract, ..thing.row }, ..thing })
}

fn runtime(context: &WorkspaceContext, config: &Config, id: &str) -> Result<Vec<Thing>, Error> {
    let runtimes = load::runtimes(context)?;
    let runtime = find_runtime(&runtimes, id)?;
    let masks = masks(&context.environment, &config.policy);
    let parts = machine_of(context.host(), &config.policy)?.parts(runtime)?;
    let commands = [Some(&runtime.command), runtime.health_command.as_ref()];
    Ok(parts
        .into_iter()
        .zip(commands)
        .filter_map(|((target, parts), command)| {
            let thing = thing(context, config, target, parts);
            Some(Thing { row: TrustRow { command: Some(masks.shown(command?)), ..thing.row }, ..thing })
        })
        .collect())
}

fn worker(context: &WorkspaceContext, config: &Config, target: TrustTarget) -> Result<Thing, Error> {
    let host = context.host();
    let workers = config.workers(&host);
    let Some(worker) = workers.iter().find(|worker| worker.id == target.id) else {
        let message = format!("gateway.toml has no worker `{}`", escape_terminal(&target.id));
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    let masks = masks(&context.environment, &config.policy);
    let command = Some(masks.shown(&worker.command.to_string()));
    let thing = thing(context, config, target, host.worker_parts(worker));
    Ok(Thing { row: TrustRow { command, ..thing.row }, ..thing })
}

fn notify_program(context: &WorkspaceContext, config: &Config) -> Result<Thing, Error> {
    let host = context.host();
    let Some(notify) = config.gateway(&host).and_then(|gateway| gateway.notify.as_ref()) else {
        return Err(Error::new(ErrorKind::NotFound, "gateway.toml has no `[notify]`"));
    };
    let command = Some(masks(&context.environment, &config.policy).shown(&notify.command.to_string()));
    let thing = thing(context, config, TrustTarget::notify(), host.notify_parts(notify));
    Ok(Thing { row: TrustRow { command, ..thing.row }, ..thing })
}

fn thing(context: &WorkspaceContext, config: &Config, target: TrustTarget, parts: Vec<SeenPart>) -> Thing {
    let host = context.host();
    let parts = WritablePlaces::new(&host, &config.policy).to_review(&host, parts);
    let (state, changed) = match host.trust.reviewed(host.fs, &target, &parts) {
        ReviewState::Yes if parts.is_empty() => (TrustState::NotNeeded, Vec::new()),
        ReviewState::Yes => (TrustState::Reviewed, Vec::new()),
        ReviewState::Never => (TrustState::Never, Vec::new()),
        ReviewState::Changed(changed) => (TrustState::Changed, changed),
    };
    let part = |part: &SeenPart| TrustPart {
        name: part.name.clone(),
        path: part.path.clone(),
        sha256: part.fingerprint,
    };
    let row = TrustRow {
        kind: target.kind.to_string(),
        id: target.id.clone(),
        state,
        changed,
        command: None,
        contract: None,
        parts: parts.iter().map(part).collect(),
    };
    Thing { target, parts, row }
}

#[cfg(test)]
mod tests;
