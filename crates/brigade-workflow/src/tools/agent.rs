//! Agents: `agent.*`. An agent is a deployed manifest. All agents of a workspace share them.

use std::collections::BTreeMap;

use brigade_access::builtin::own_name;
use brigade_core::{ErrorCode, Json, Timestamp};
use brigade_db::events::StoredEvent;
use brigade_db::manifests::{DeployedManifest, ManifestQuery, NewManifest};
use brigade_toolset::{Context, Failure, Output, arguments};
use serde::{Deserialize, Serialize};

use crate::manifest::{Agent, Fault, Isolation, Manifest, read};
use crate::runner::TaskRunner;
use crate::tools::Function;
use crate::tools::runtime::{self, RuntimeStatus};
use crate::tools::schema::{FaultRow, ManifestFaults, faults};
use crate::tools::shipped::{check_delete, check_name, is_shipped};
use crate::tools::workflow::Semantic;

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("agent.create", create),
    ("agent.delete", delete),
    ("agent.export", export),
    ("agent.list", list),
    ("agent.logs", logs),
    ("agent.search", search),
    ("agent.update", update),
];

/// The kind in the store.
pub(crate) const KIND: &str = "agent";

/// The registry of agents.
const AGENTS: Registry = Registry { kind: KIND, id: ManifestId::Agent };

/// The registry of one kind of manifest.
pub(crate) struct Registry {
    /// The kind in the store.
    pub(crate) kind: &'static str,
    /// Creates the id for the results of this family.
    pub(crate) id: fn(String) -> ManifestId,
}

/// The id of a manifest. Each family has a separate member for it.
#[derive(Serialize)]
pub(crate) enum ManifestId {
    #[serde(rename = "agent_id")]
    Agent(String),
    #[serde(rename = "workflow_id")]
    Workflow(String),
}

/// The maximum number of events in a result.
const MAX_EVENTS: i64 = 200;

/// The maximum number of search results.
const MAX_FOUND: i64 = 100;

#[derive(Deserialize)]
struct DeployArgs {
    manifest_yaml: String,
    force: bool,
}

#[derive(Deserialize)]
struct IdArgs {
    agent_id: String,
}

#[derive(Deserialize)]
struct NameArgs {
    name: String,
}

#[derive(Deserialize)]
struct LogsArgs {
    agent_id: String,
    limit: i64,
    offset: i64,
}

#[derive(Deserialize)]
struct SearchArgs {
    query: String,
    limit: i64,
    min_score: f64,
    labels: Option<BTreeMap<String, Json>>,
    status: Option<String>,
    include_platform_templates: bool,
}

/// The result of `agent.create`, `agent.update`, `workflow.create` and `workflow.update`.
#[derive(Serialize)]
pub(crate) struct ManifestDeployed {
    #[serde(flatten)]
    id: ManifestId,
    deployed: bool,
    name: String,
    version: String,
    pub(crate) warnings: Vec<FaultRow>,
    /// Whether the runtime of the manifest is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'static str>,
    /// The verdict of the judges about a workflow.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) semantic: Option<Semantic>,
}

#[derive(Serialize)]
struct AgentRow {
    id: String,
    name: String,
    version: String,
    status: String,
    description: Option<String>,
    labels: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct AgentList {
    agents: Vec<AgentRow>,
}

/// The result of `agent.export` and `workflow.export`.
#[derive(Serialize)]
struct ManifestExported<'a> {
    manifest_yaml: &'a str,
    id: String,
    name: String,
    version: &'a str,
}

/// The result of `agent.delete` and `workflow.delete`.
#[derive(Serialize)]
pub(crate) struct ManifestDeleted {
    #[serde(flatten)]
    pub(crate) id: ManifestId,
    pub(crate) deleted: bool,
}

/// An event of an agent, a task or a workflow.
#[derive(Serialize)]
pub(crate) struct EventRow {
    event_type: String,
    payload: Json,
    recorded_at: Timestamp,
}

#[derive(Serialize)]
struct AgentLogs {
    agent_id: String,
    events: Vec<EventRow>,
    total: usize,
    limit: usize,
    offset: usize,
}

/// The result of `agent.search` and `workflow.search`.
#[derive(Serialize)]
struct ManifestResults {
    query: String,
    results: Vec<ManifestMatch>,
    total: usize,
}

#[derive(Serialize)]
struct ManifestMatch {
    id: String,
    name: String,
    version: String,
    description: Option<String>,
    labels: BTreeMap<String, String>,
    /// Has three decimal places.
    score: Json,
}

/// Reads a manifest that must not have faults. Also returns its warnings.
///
/// # Errors
/// Returns `invalid_manifest` with all faults.
pub(crate) fn without_faults<M: Manifest>(text: &str) -> Result<(M, Vec<Fault>), Failure> {
    let read = read::<M>(text);
    if let Some(manifest) = read.manifest {
        return Ok((manifest, read.warnings));
    }
    let messages: Vec<String> = read.faults.iter().map(ToString::to_string).collect();
    let count = match read.faults.len() {
        1 => "a fault".to_owned(),
        many => format!("{many} faults"),
    };
    let message = format!("the manifest has {count}: {}", messages.join("; "));
    let faults = ManifestFaults { errors: faults(&read.faults), warnings: faults(&read.warnings) };
    Err(Failure::new(ErrorCode::InvalidManifest, message).data_of(&faults))
}

/// Refuses names of shipped agents, features that are missing on this machine, and unknown tools.
fn check(agent: &Agent, _: &Context<'_>, runner: &TaskRunner<'_>) -> Result<(), Failure> {
    check_name(KIND, agent.metadata.name.as_str())?;
    if let Some(isolation @ (Isolation::Docker | Isolation::Firecracker)) = agent.spec.runtime.isolation {
        let message = format!(
            "spec.runtime.isolation is `{}`, but no containers or virtual machines run here (runner.container); \
             tasks run as processes in the sandbox: `inherit` or `process`",
            isolation.as_str()
        );
        return Err(Failure::new(ErrorCode::NotAvailableHere, message));
    }
    let catalog = &runner.config.catalog;
    let is_known =
        |name: &str| own_name(name).is_some() || catalog.tools().iter().any(|tool| tool.id.as_str() == name);
    let tools = agent.spec.tools.iter().flatten();
    let unknown = tools.enumerate().filter(|(_, tool)| !tool.is_command() && !is_known(tool.name()));
    let unknown: Vec<String> = unknown.map(|(index, _)| format!("spec.tools[{}]", index + 1)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let message = format!("{}: there is no such tool", unknown.join(", "));
    Err(Failure::new(ErrorCode::UnknownTool, message).data_of(&UnknownTools { paths: &unknown }))
}

/// The data of the failure about unknown tools.
#[derive(Serialize)]
struct UnknownTools<'a> {
    paths: &'a [String],
}

/// Reads, checks and stores a manifest.
///
/// # Errors
/// Returns `invalid_manifest` or the errors of `check` and `store`.
pub(crate) fn deploy<M: Manifest>(
    registry: &Registry,
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
    check: fn(&M, &Context<'_>, &TaskRunner<'_>) -> Result<(), Failure>,
    store: impl FnOnce(&Context<'_>, &NewManifest<'_>) -> Result<DeployedManifest, Failure>,
) -> Result<ManifestDeployed, Failure> {
    let DeployArgs { manifest_yaml, force } = arguments(input)?;
    let (manifest, warnings) = without_faults::<M>(&manifest_yaml)?;
    let warnings = faults(&warnings);
    check(&manifest, context, runner)?;
    let (metadata, author) = (manifest.metadata(), context.owner());
    let (version, labels) = (metadata.version(), metadata.labels.clone().unwrap_or_default());
    let new = NewManifest {
        kind: registry.kind,
        name: metadata.name.as_str(),
        version: version.as_str(),
        description: metadata.description.as_deref(),
        labels: &labels,
        text: &manifest_yaml,
        author: &author,
        force,
    };
    let deployed = store(context, &new)?;
    let (name, version) = (deployed.name, deployed.version);
    let id = (registry.id)(deployed.id);
    Ok(ManifestDeployed { id, deployed: true, name, version, warnings, runtime: None, semantic: None })
}

/// Says whether the runtime of a deployed agent is there.
fn with_runtime(
    input: &Json,
    mut deployed: ManifestDeployed,
    context: &Context<'_>,
) -> Result<Output, Failure> {
    let DeployArgs { manifest_yaml, .. } = arguments(input)?;
    if let Some(agent) = read::<Agent>(&manifest_yaml).manifest {
        let status = runtime::runtime_status(&agent.spec.runtime, context);
        if let RuntimeStatus::Unavailable(message) = &status {
            deployed.warnings.push(FaultRow::of_whole("spec.runtime", message));
        }
        deployed.runtime = Some(status.word());
    }
    Ok(Output::from_result(&deployed))
}

fn create(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let deployed = deploy(&AGENTS, input, context, runner, check, |context, new| {
        Ok(context.store()?.deploy_manifest(new, context.clock.now())?)
    })?;
    with_runtime(input, deployed, context)
}

fn update(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let deployed = deploy(&AGENTS, input, context, runner, check, |context, new| {
        Ok(context.store()?.update_manifest(new, context.clock.now())?)
    })?;
    with_runtime(input, deployed, context)
}

fn list(_: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let agents = match context.stored()? {
        Some(store) => store.manifests(KIND)?,
        None => Vec::new(),
    };
    let row = |agent: DeployedManifest| AgentRow {
        id: agent.id,
        name: agent.name,
        version: agent.version,
        status: agent.status,
        description: agent.description,
        labels: agent.labels,
    };
    Ok(Output::from_result(&AgentList { agents: agents.into_iter().map(row).collect() }))
}

fn export(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    export_named(&AGENTS, input, context)
}

/// Returns the unchanged text of a manifest.
///
/// # Errors
/// Returns `not_found`.
pub(crate) fn export_named(
    registry: &Registry,
    input: &Json,
    context: &mut Context<'_>,
) -> Result<Output, Failure> {
    let NameArgs { name } = arguments(input)?;
    let store = context.stored_or_missing(registry.kind)?;
    let (agent, revision) = store.manifest(registry.kind, &name, None)?;
    let exported = ManifestExported {
        manifest_yaml: &revision.text,
        id: agent.id,
        name: agent.name,
        version: &revision.version,
    };
    Ok(Output::from_result(&exported).text(revision.text))
}

fn delete(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let IdArgs { agent_id } = arguments(input)?;
    check_delete(KIND, &agent_id, context)?;
    let agent = context.store()?.delete_manifest(KIND, &agent_id, &context.owner(), context.clock.now())?;
    Ok(Output::from_result(&ManifestDeleted { id: ManifestId::Agent(agent.id), deleted: true }))
}

/// Checks the limit and offset of a page.
///
/// # Errors
/// Returns `invalid_arguments` if a number is too small.
pub(crate) fn page(limit: i64, most: i64, offset: i64) -> Result<(usize, usize), Failure> {
    match (usize::try_from(limit.min(most)), usize::try_from(offset)) {
        (Ok(limit), Ok(offset)) if 0 < limit => Ok((limit, offset)),
        _ => Err(Failure::new(
            ErrorCode::InvalidArguments,
            "`limit` must be at least 1, and `offset` at least 0",
        )),
    }
}

/// Converts an event.
pub(crate) fn event(event: StoredEvent) -> EventRow {
    let StoredEvent { event_type, payload, recorded_at, .. } = event;
    EventRow { event_type, payload, recorded_at }
}

fn logs(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let LogsArgs { agent_id, limit, offset } = arguments(input)?;
    let (limit, offset) = page(limit, MAX_EVENTS, offset)?;
    let store = context.stored_or_missing("agent")?;
    // A deleted agent is found only by its id, as long as its events exist.
    let id = match store.manifest(KIND, &agent_id, None) {
        Ok((agent, _)) => agent.id,
        Err(error) if error.answered_code() == ErrorCode::NotFound => agent_id,
        Err(error) => return Err(error.into()),
    };
    let (events, total) = store.manifest_events(&id, limit, offset)?;
    if total == 0 {
        return Err(Failure::missing("agent"));
    }
    let events = events.into_iter().map(event).collect();
    Ok(Output::from_result(&AgentLogs { agent_id: id, events, total, limit, offset }))
}

fn search(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    search_in(&AGENTS, input, context)
}

/// Searches manifests.
///
/// # Errors
/// Returns `invalid_arguments`.
pub(crate) fn search_in(
    registry: &Registry,
    input: &Json,
    context: &mut Context<'_>,
) -> Result<Output, Failure> {
    let args: SearchArgs = arguments(input)?;
    let (limit, _) = page(args.limit, MAX_FOUND, 0)?;
    let mut labels = BTreeMap::new();
    for (key, value) in args.labels.unwrap_or_default() {
        let Some(value) = value.as_str() else {
            return Err(Failure::new(ErrorCode::InvalidArguments, "the values of `labels` must be strings"));
        };
        labels.insert(key, value.to_owned());
    }
    let query = ManifestQuery {
        kind: registry.kind,
        text: &args.query,
        labels: &labels,
        status: args.status.as_deref(),
    };
    let mut found = match context.stored()? {
        Some(store) => store.search_manifests(&query)?,
        None => Vec::new(),
    };
    let offered =
        |one: &DeployedManifest| one.kind == KIND || crate::tools::workflow::is_offered(one, context);
    let is_wanted = |name: &str| args.include_platform_templates || !is_shipped(registry.kind, name);
    found
        .retain(|one| args.min_score <= one.score && is_wanted(&one.manifest.name) && offered(&one.manifest));
    let total = found.len();
    found.truncate(limit);
    let rows = found.into_iter().map(|one| ManifestMatch {
        id: one.manifest.id,
        name: one.manifest.name,
        version: one.manifest.version,
        description: one.manifest.description,
        labels: one.manifest.labels,
        score: Json::parse(&format!("{:.3}", one.score)).unwrap_or_default(),
    });
    let results = rows.collect();
    Ok(Output::from_result(&ManifestResults { query: args.query, results, total }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, deploy, text};

    const GREETER: &str = "# Greets.\napiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {name: greeter, \
                           description: Greets people}\nspec: {runtime: {image: a/b}, tools: [readFile]}\n";

    #[test]
    fn a_deployed_agent_is_found_and_exported_unchanged() {
        let bench = Bench::new();
        assert_eq!(bench.call("agent.list", "{}").get("agents").unwrap().to_compact(), "[]");
        let created = bench.call("agent.create", &deploy(GREETER));
        assert_eq!((text(&created, "name"), text(&created, "version")), ("greeter", "1.0.0"));
        assert_eq!(created.get("warnings").unwrap().as_array().unwrap().len(), 1);
        let exported = bench.call("agent.export", r#"{"name": "greeter"}"#);
        assert_eq!(text(&exported, "manifest_yaml"), GREETER);
        let newer = GREETER.replace("{name: greeter,", "{name: greeter, version: 1.1.0,");
        assert_eq!(bench.code("agent:bob", "agent.create", &deploy(&newer)), ErrorCode::NameTaken);
        assert_eq!(text(&bench.call("agent.update", &deploy(&newer)), "version"), "1.1.0");
        assert_eq!(bench.code("agent:bob", "agent.update", &deploy(&newer)), ErrorCode::VersionTaken);
        let found = bench.call("agent.search", r#"{"query": "who greets people"}"#);
        assert_eq!(found.get("total"), Some(&Json::from(1)));
        let id = format!(r#"{{"agent_id": "{}"}}"#, text(&created, "agent_id"));
        bench.call("agent.delete", &id);
        assert_eq!(bench.code("agent:ada", "agent.export", r#"{"name": "greeter"}"#), ErrorCode::NotFound);
        let logs = bench.call("agent.logs", &id);
        assert_eq!(logs.get("total"), Some(&Json::from(3)));
        assert_eq!(bench.code("agent:ada", "agent.logs", r#"{"agent_id": "x"}"#), ErrorCode::NotFound);
    }

    #[test]
    fn invalid_manifests_are_not_deployed() {
        let bench = Bench::new();
        let code = |from: &str, to: &str| {
            bench.code("agent:ada", "agent.create", &deploy(&GREETER.replace(from, to)))
        };
        assert_eq!(code("kind: Agent", "kind: Cook"), ErrorCode::InvalidManifest);
        assert_eq!(code("readFile", "readFiles"), ErrorCode::UnknownTool);
        assert_eq!(code("{name: greeter,", "{name: brigade-coder,"), ErrorCode::NameTaken);
        assert_eq!(code("image: a/b", "image: a/b, isolation: docker"), ErrorCode::NotAvailableHere);
    }
}
