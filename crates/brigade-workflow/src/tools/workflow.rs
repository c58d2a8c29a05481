//! Workflows: `workflow.*`. A workflow is a manifest that the workspace shares. An execution belongs to the caller that
//! began it, and the process that serves the caller drives it.

mod executions;
mod scope;
mod semantic;

use brigade_core::{ErrorCode, Json};
use brigade_db::manifests::DeployedManifest;
use brigade_toolset::{Context, Failure, Output, arguments};
use serde::{Deserialize, Serialize};

use crate::manifest::{Isolation, Workflow, read};
use crate::runner::TaskRunner;
use crate::tools::Function;
use crate::tools::agent::{ManifestDeleted, ManifestId, Registry, deploy, export_named, search_in};
use crate::tools::schema::validated;
use crate::tools::shipped::{check_delete, check_name};

pub(crate) use scope::{is_offered, to_be_run};
pub(crate) use semantic::Semantic;

pub(crate) use executions::{FlowSummary, FlowWaitResult, NewExecution, begin, find_flow, status_word};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("workflow.cancel", executions::cancel),
    ("workflow.create", create),
    ("workflow.delete", delete),
    ("workflow.demote", scope::demote),
    ("workflow.executions.get", executions::get),
    ("workflow.executions.list", executions::list),
    ("workflow.export", export),
    ("workflow.list", list),
    ("workflow.logs", executions::logs),
    ("workflow.pause", executions::pause),
    ("workflow.promote", scope::promote),
    ("workflow.put", executions::put),
    ("workflow.remove", executions::remove),
    ("workflow.resume", executions::resume),
    ("workflow.run", executions::run),
    ("workflow.search", search),
    ("workflow.signal", executions::signal),
    ("workflow.status", executions::status),
    ("workflow.update", update),
    ("workflow.validate", validate),
];

/// The kind in the store.
pub(crate) const KIND: &str = "workflow";

/// Returns whether an id is that of a workflow's execution, and not of a task.
pub(crate) fn is_flow(id: &str) -> bool {
    id.starts_with("flow-")
}

/// The registry of workflows.
const WORKFLOWS: Registry = Registry { kind: KIND, id: ManifestId::Workflow };

#[derive(Deserialize)]
struct ValidateArgs {
    manifest_yaml: String,
}

#[derive(Deserialize)]
struct NameArgs {
    name: String,
}

#[derive(Deserialize)]
struct ListArgs {
    scope: Option<String>,
}

#[derive(Serialize)]
struct WorkflowList {
    workflows: Vec<WorkflowRow>,
}

#[derive(Serialize)]
struct WorkflowRow {
    id: String,
    name: String,
    version: String,
    initial_state: String,
}

fn validate(input: &Json, _: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let ValidateArgs { manifest_yaml } = arguments(input)?;
    Ok(validated::<Workflow>(&manifest_yaml))
}

/// Refuses names of shipped workflows, features that are missing on this machine, and changes that affect other
/// workspaces.
fn check(workflow: &Workflow, context: &Context<'_>, _: &TaskRunner<'_>) -> Result<(), Failure> {
    check_name(KIND, workflow.metadata.name.as_str())?;
    scope::check_change(workflow.metadata.name.as_str(), context)?;
    for (name, state) in &workflow.spec.states {
        if let Some(isolation @ (Isolation::Docker | Isolation::Firecracker)) = state.isolation {
            let message = format!(
                "spec.states.{name}.isolation is `{}`, but this machine runs no containers or virtual machines \
                 (runner.container); use `inherit` or `process`",
                isolation.as_str()
            );
            return Err(Failure::new(ErrorCode::NotAvailableHere, message));
        }
        if state.volumes.as_ref().is_some_and(|volumes| !volumes.is_empty()) {
            let message = format!(
                "spec.states.{name}.volumes are mounts of a container, but this machine runs no containers \
                 (runner.container); states work in the workspace"
            );
            return Err(Failure::new(ErrorCode::NotAvailableHere, message));
        }
        let is_bound = |value: &String| value.is_empty() || value == "true";
        if let Some((variable, _)) = state.env.iter().flatten().find(|(_, value)| !is_bound(value)) {
            let message = format!(
                "spec.states.{name}.env.{variable} has a value; only policy.toml binds variables (`env_bindings`), so \
                 leave the value empty here"
            );
            return Err(Failure::new(ErrorCode::ArgumentRefused, message));
        }
    }
    Ok(())
}

fn create(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let mut semantic = None;
    let mut deployed = deploy(&WORKFLOWS, input, context, runner, check, |context, new| {
        semantic = Some(semantic::judged(input, new.text, context, runner)?);
        Ok(context.store()?.deploy_manifest(new, context.clock.now())?)
    })?;
    deployed.semantic = semantic;
    Ok(Output::from_result(&deployed))
}

fn update(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let deployed = deploy(&WORKFLOWS, input, context, runner, check, |context, new| {
        Ok(context.store()?.update_manifest(new, context.clock.now())?)
    })?;
    Ok(Output::from_result(&deployed))
}

fn export(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let NameArgs { name } = arguments(input)?;
    scope::find_offered(&name, context)?;
    export_named(&WORKFLOWS, input, context)
}

fn delete(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let NameArgs { name } = arguments(input)?;
    scope::check_change(&name, context)?;
    check_delete(KIND, &name, context)?;
    let (author, now) = (context.owner(), context.clock.now());
    let workflow = context.store()?.delete_manifest(WORKFLOWS.kind, &name, &author, now)?;
    Ok(Output::from_result(&ManifestDeleted { id: ManifestId::Workflow(workflow.id), deleted: true }))
}

fn list(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let ListArgs { scope } = arguments(input)?;
    let requested = match scope.as_deref() {
        None | Some("visible") => None,
        Some(word) => match scope::Scope::from_word(word) {
            Some(scope) => Some(scope),
            None => {
                let message = format!("`scope` must be visible or one of {}", scope::Scope::EXPECTED);
                return Err(Failure::new(ErrorCode::InvalidArguments, message));
            }
        },
    };
    let mut all = match context.stored()? {
        Some(store) => store.manifests(WORKFLOWS.kind)?,
        None => Vec::new(),
    };
    let hosted = scope::host_workflows(context)?;
    let has_file = |workflow: &DeployedManifest| hosted.iter().any(|(name, _)| *name == workflow.name);
    all.retain(|workflow| !scope::is_copy(workflow) || has_file(workflow));
    let mut rows = Vec::new();
    for workflow in &all {
        let fits = requested.is_none_or(|scope| scope::scope_of(workflow) == scope);
        if fits && is_offered(workflow, context) {
            rows.push(row(workflow, context)?);
        }
    }
    for (name, text) in hosted.iter().filter(|(name, _)| !all.iter().any(|known| known.name == *name)) {
        let Some(manifest) = read::<Workflow>(text)
            .manifest
            .filter(|_| requested.is_none_or(|scope| scope == scope::Scope::Global))
        else {
            continue;
        };
        rows.push(WorkflowRow {
            id: name.clone(),
            name: name.clone(),
            version: manifest.metadata.version().as_str().to_owned(),
            initial_state: manifest.spec.initial_state,
        });
    }
    Ok(Output::from_result(&WorkflowList { workflows: rows }))
}

fn row(workflow: &DeployedManifest, context: &Context<'_>) -> Result<WorkflowRow, Failure> {
    let text = match context.stored()? {
        Some(store) => store.manifest(WORKFLOWS.kind, &workflow.id, None)?.1.text,
        None => String::new(),
    };
    let initial = read::<Workflow>(&text).manifest.map(|manifest| manifest.spec.initial_state);
    Ok(WorkflowRow {
        id: workflow.id.clone(),
        name: workflow.name.clone(),
        version: workflow.version.clone(),
        initial_state: initial.unwrap_or_default(),
    })
}

fn search(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    search_in(&WORKFLOWS, input, context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, deploy, text};

    const GREET: &str = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {name: greet, description: Greets \
                         twice}\nspec:\n  initial_state: A\n  states:\n    A: {kind: Agent, agent: greeter, input: \
                         '{{workflow.task}}', transitions: [{target: B}]}\n    B: {kind: System, command: echo, \
                         transitions: []}\n";

    #[test]
    fn a_workflow_is_exported_unchanged() {
        let bench = Bench::new();
        let created = bench.call("workflow.create", &deploy(GREET));
        assert_eq!((text(&created, "version"), text(&created, "semantic")), ("1.0.0", "skipped"));
        let listed = bench.call("workflow.list", r#"{"scope": "visible"}"#);
        assert_eq!(text(&listed.get("workflows").unwrap().as_array().unwrap()[0], "initial_state"), "A");
        let exported = bench.call("workflow.export", r#"{"name": "greet"}"#);
        assert_eq!(text(&exported, "manifest_yaml"), GREET);
        assert_eq!(bench.code("agent:ada", "agent.export", r#"{"name": "greet"}"#), ErrorCode::NotFound);
        assert_eq!(bench.code("agent:bob", "workflow.create", &deploy(GREET)), ErrorCode::NameTaken);
        assert_eq!(bench.code("agent:bob", "workflow.update", &deploy(GREET)), ErrorCode::VersionTaken);
        let found = bench.call("workflow.search", r#"{"query": "greeting twice"}"#);
        assert_eq!(found.get("total"), Some(&Json::from(1)));
        let ignored = bench.call("workflow.list", r#"{"user_id": "ada", "tenant_id": "other"}"#);
        assert_eq!(ignored, listed, "they change nothing");
        bench.call("workflow.delete", r#"{"name": "greet"}"#);
        assert_eq!(bench.code("agent:ada", "workflow.export", r#"{"name": "greet"}"#), ErrorCode::NotFound);
    }

    #[test]
    fn unreachable_targets_are_named() {
        let bench = Bench::new();
        let valid = |manifest: &str| {
            let found = bench.call("workflow.validate", &deploy(manifest));
            let first = found.get("faults").unwrap().as_array().unwrap().first().cloned();
            first.map(|fault| text(&fault, "path").to_owned())
        };
        assert_eq!(valid(GREET), None);
        assert_eq!(
            valid(&GREET.replace("workflow.task", "C.output")).as_deref(),
            Some("spec.states.A.input")
        );
        assert_eq!(
            valid(&GREET.replace("target: B", "target: C")).as_deref(),
            Some("spec.states.A.transitions[1].target")
        );
        let docker = GREET.replace("agent: greeter", "agent: greeter, isolation: docker");
        assert_eq!(bench.code("agent:ada", "workflow.create", &deploy(&docker)), ErrorCode::NotAvailableHere);
        let judged = Json::object([
            ("manifest_yaml", Json::from(GREET)),
            ("judge_agents", Json::from(vec![Json::from("judge")])),
        ]);
        assert_eq!(bench.code("agent:ada", "workflow.create", &judged.to_compact()), ErrorCode::NotFound);
        let judged = Json::object([("manifest_yaml", Json::from(GREET)), ("min_score", Json::from(1))]);
        assert_eq!(
            bench.code("agent:ada", "workflow.create", &judged.to_compact()),
            ErrorCode::NotAvailableHere
        );
    }
}
