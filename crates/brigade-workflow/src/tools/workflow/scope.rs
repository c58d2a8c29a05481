//! The scope of a workflow: its author only (`user`), the workspace (`tenant`), or all workspaces of the host
//! (`global`). Global workflows are files in the user's configuration. A workspace that runs one stores a copy.

use std::path::Path;

use brigade_access::builtin::workflow_scope;
use brigade_core::{ErrorCode, Json, words};
use brigade_db::manifests::{DeployedManifest, NewManifest};
use brigade_fs::{DiskFs, FileMode, Fs, RelPath};
use brigade_toolset::{Context, Failure, Output, arguments};
use serde::{Deserialize, Serialize};

use super::WORKFLOWS;
use crate::manifest::{Workflow, read};
use crate::runner::TaskRunner;
use crate::tools::agent::without_faults;
use crate::tools::shipped::check_name;

words! {
    /// Who can use a workflow, from the narrowest scope.
    Scope {
        /// Its author.
        User = "user",
        /// The workspace.
        Tenant = "tenant",
        /// All workspaces of the host.
        Global = "global",
    }
}

impl Scope {
    fn rank(self) -> usize {
        Scope::ALL.iter().position(|scope| *scope == self).unwrap_or_default()
    }
}

/// The author of copies of global workflows. No agent can have this name.
const HOST: &str = "the host";

/// The directory of global workflows in the user's configuration.
const FOLDER: &str = "brigade/workflows";

/// The maximum size of a file that is read.
const MAX_FILE_BYTES: u64 = 256 << 10;

#[derive(Deserialize)]
struct ScopeArgs {
    name: String,
    target_scope: String,
}

pub(super) fn scope_of(workflow: &DeployedManifest) -> Scope {
    Scope::from_word(&workflow.scope).unwrap_or(Scope::User)
}

/// Returns whether a workflow is a copy of a global one.
pub(super) fn is_copy(workflow: &DeployedManifest) -> bool {
    workflow.author == HOST
}

/// Returns whether the caller can use a workflow. A person can use all of them.
pub(crate) fn is_offered(workflow: &DeployedManifest, context: &Context<'_>) -> bool {
    scope_of(workflow) != Scope::User || context.agent().is_none_or(|agent| agent == workflow.author)
}

/// Opens the directory of global workflows. Returns `None` if it does not exist.
fn host(context: &Context<'_>, makes: bool) -> Result<Option<DiskFs>, Failure> {
    let Some(folder) = context.environment.and_then(|environment| environment.config_folder()) else {
        return Ok(None);
    };
    let broken = |error: &dyn std::fmt::Display| Failure::new(ErrorCode::Environment, error.to_string());
    let folder = folder.join(FOLDER);
    match DiskFs::open(&folder) {
        Ok(fs) => return Ok(Some(fs)),
        Err(error) if makes || error.is_not_found() => {}
        Err(error) => return Err(broken(&error)),
    }
    if !makes {
        return Ok(None);
    }
    let there = folder.ancestors().find_map(|above| Some((above, DiskFs::open(above).ok()?)));
    let (above, fs) =
        there.ok_or_else(|| broken(&"the folder of the user's configuration cannot be made"))?;
    let rest = folder.strip_prefix(above).ok().and_then(Path::to_str).unwrap_or_default();
    let rest: RelPath = rest.parse().map_err(|error| broken(&error))?;
    fs.create_dir_all(&rest).map_err(|error| broken(&error))?;
    Ok(Some(DiskFs::open(&folder).map_err(|error| broken(&error))?))
}

fn file(name: &str) -> Option<RelPath> {
    // The name of a workflow has no characters with a meaning in paths.
    crate::manifest::Name::new(name).and_then(|name| format!("{}.yaml", name.as_str()).parse().ok())
}

/// Returns the text of a global workflow.
fn host_workflow(name: &str, context: &Context<'_>) -> Result<Option<String>, Failure> {
    let (Some(fs), Some(file)) = (host(context, false)?, file(name)) else { return Ok(None) };
    match fs.read(&file, MAX_FILE_BYTES) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(Failure::new(ErrorCode::Environment, error.to_string())),
    }
}

/// Finds a workflow that the caller can use, by name or id. A global one is copied to the workspace in its current
/// form.
///
/// # Errors
/// Returns `not_found`.
pub(super) fn find_offered(name: &str, context: &Context<'_>) -> Result<DeployedManifest, Failure> {
    let found = match context.stored()? {
        Some(store) => match store.manifest(WORKFLOWS.kind, name, None) {
            Ok((workflow, revision)) => Some((workflow, revision)),
            Err(error) if error.answered_code() == ErrorCode::NotFound => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    match found {
        Some((workflow, _)) if workflow.author != HOST => Some(workflow)
            .filter(|workflow| is_offered(workflow, context))
            .ok_or_else(|| Failure::missing("workflow")),
        Some((workflow, revision)) => match host_workflow(&workflow.name, context)? {
            Some(text) if text == revision.text => Ok(workflow),
            Some(text) => copy_host_workflow(&text, true, context),
            None => Err(Failure::missing("workflow")),
        },
        None => match host_workflow(name, context)? {
            Some(text) => copy_host_workflow(&text, false, context),
            None => Err(Failure::missing("workflow")),
        },
    }
}

/// Returns the name, version and text that a run of a workflow would use, with the same lookup as [`find_offered`].
/// Copies nothing. Returns `None` if the caller cannot use such a workflow.
///
/// # Errors
/// Fails on a disk error, or if there is no such version.
pub(crate) fn to_be_run(
    name: &str,
    version: Option<&str>,
    context: &Context<'_>,
) -> Result<Option<(String, String, String)>, Failure> {
    let newest = match context.stored()? {
        Some(store) => store.manifest(WORKFLOWS.kind, name, None).ok().map(|(workflow, _)| (store, workflow)),
        None => None,
    };
    let is_own = newest.as_ref().is_some_and(|(_, workflow)| !is_copy(workflow));
    if !is_own {
        let name = newest.as_ref().map_or(name, |(_, workflow)| &workflow.name);
        let Some(text) = host_workflow(name, context)? else { return Ok(None) };
        let Some(workflow) = read::<Workflow>(&text).manifest else { return Ok(None) };
        let found = workflow.metadata.version().as_str().to_owned();
        if version.is_none_or(|version| version == found) {
            return Ok(Some((workflow.metadata.name.as_str().to_owned(), found, text)));
        }
    }
    let Some((store, workflow)) = newest.filter(|(_, workflow)| is_offered(workflow, context)) else {
        return Ok(None);
    };
    let (workflow, revision) = store.manifest(WORKFLOWS.kind, &workflow.id, version)?;
    Ok(Some((workflow.name, revision.version, revision.text)))
}

/// Stores a copy of a global workflow.
fn copy_host_workflow(
    text: &str,
    is_there: bool,
    context: &Context<'_>,
) -> Result<DeployedManifest, Failure> {
    let (Workflow { metadata, .. }, _) = without_faults::<Workflow>(text)?;
    let (version, labels) = (metadata.version(), metadata.labels.clone().unwrap_or_default());
    let new = NewManifest {
        kind: WORKFLOWS.kind,
        name: metadata.name.as_str(),
        version: version.as_str(),
        description: metadata.description.as_deref(),
        labels: &labels,
        text,
        author: HOST,
        force: is_there,
    };
    let (store, now) = (context.store()?, context.clock.now());
    let deployed = store.deploy_manifest(&new, now)?;
    Ok(store.set_scope(&deployed.id, Scope::Global.as_str(), HOST, now)?)
}

/// Refuses to change a global workflow, because other workspaces use it.
pub(super) fn check_change(name: &str, context: &Context<'_>) -> Result<(), Failure> {
    let Some(store) = context.stored()? else { return Ok(()) };
    match store.manifest(WORKFLOWS.kind, name, None) {
        Ok((workflow, _)) if !is_offered(&workflow, context) => Err(Failure::missing("workflow")),
        Ok((workflow, _)) if scope_of(&workflow) == Scope::Global => {
            let message = "the workflow is offered to all workspaces of the host; demote it first";
            Err(Failure::new(ErrorCode::InWiderScope, message))
        }
        _ => Ok(()),
    }
}

/// Lists the names and texts of global workflows.
pub(super) fn host_workflows(context: &Context<'_>) -> Result<Vec<(String, String)>, Failure> {
    let Some(fs) = host(context, false)? else { return Ok(Vec::new()) };
    let entries = fs
        .list_dir(&RelPath::root())
        .map_err(|error| Failure::new(ErrorCode::Environment, error.to_string()))?;
    let names = entries.iter().filter_map(|entry| entry.name.strip_suffix(".yaml"));
    let mut found = Vec::new();
    for name in names {
        found.extend(host_workflow(name, context)?.map(|text| (name.to_owned(), text)));
    }
    Ok(found)
}

/// Returns the names of the workflows that a workflow runs.
fn refers_to(text: &str) -> Vec<String> {
    let workflow = read::<Workflow>(text).manifest;
    let states = workflow.map(|workflow| workflow.spec.states).unwrap_or_default();
    states.into_values().filter_map(|state| state.workflow).collect()
}

/// Returns the local and the global workflows with their scopes and texts.
fn all(context: &Context<'_>) -> Result<Vec<(String, Scope, String)>, Failure> {
    let mut found = Vec::new();
    if let Some(store) = context.stored()? {
        for workflow in store.manifests(WORKFLOWS.kind)? {
            let text = store.revision(&workflow.id, workflow.revision)?.text;
            found.push((workflow.name.clone(), scope_of(&workflow), text));
        }
    }
    for (name, text) in host_workflows(context)? {
        if !found.iter().any(|(known, ..)| *known == name) {
            found.push((name, Scope::Global, text));
        }
    }
    Ok(found)
}

fn read_args(input: &Json) -> Result<(String, Scope), Failure> {
    let ScopeArgs { name, target_scope } = arguments(input)?;
    let target = workflow_scope(&target_scope).and_then(Scope::from_word);
    let message = format!("`target_scope` must be one of {}", Scope::EXPECTED);
    Ok((name, target.ok_or_else(|| Failure::new(ErrorCode::InvalidArguments, message))?))
}

/// Returns a workflow of this workspace whose scope is to change.
fn workspace_workflow(name: &str, context: &Context<'_>) -> Result<DeployedManifest, Failure> {
    let store = context.stored_or_missing("workflow")?;
    let (workflow, _) = store.manifest(WORKFLOWS.kind, name, None)?;
    check_name(WORKFLOWS.kind, &workflow.name)?;
    match is_offered(&workflow, context) && workflow.author != HOST {
        true => Ok(workflow),
        false => Err(Failure::missing("workflow")),
    }
}

/// The result of `workflow.promote` and `workflow.demote`.
#[derive(Serialize)]
struct ScopeChanged {
    workflow_id: String,
    name: String,
    #[serde(flatten)]
    done: ScopeMove,
    target_scope: &'static str,
}

/// Which of the two happened. The member with that name is true.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ScopeMove {
    Promoted(bool),
    Demoted(bool),
}

fn output(workflow: DeployedManifest, done: ScopeMove, target: Scope) -> Output {
    let DeployedManifest { id, name, .. } = workflow;
    Output::from_result(&ScopeChanged { workflow_id: id, name, done, target_scope: target.as_str() })
}

pub(super) fn promote(
    input: &Json,
    context: &mut Context<'_>,
    _: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    let (name, target) = read_args(input)?;
    let workflow = workspace_workflow(&name, context)?;
    let now = scope_of(&workflow);
    if target.rank() <= now.rank() {
        return Err(Failure::new(
            ErrorCode::NotWider,
            format!("the workflow already has the scope {}", now.as_str()),
        ));
    }
    let store = context.store()?;
    let text = store.revision(&workflow.id, workflow.revision)?.text;
    let known = all(context)?;
    let narrower = refers_to(&text).into_iter().find(|needed| {
        let is_wide =
            |(name, scope, _): &(String, Scope, String)| name == needed && target.rank() <= scope.rank();
        *needed != workflow.name && !known.iter().any(is_wide)
    });
    if let Some(needed) = narrower {
        let message =
            format!("it runs the workflow {needed}, which does not have that scope; promote it first");
        return Err(Failure::new(ErrorCode::RefersToNarrower, message));
    }
    if target == Scope::Global {
        let none = || {
            Failure::new(
                ErrorCode::NotAvailableHere,
                "there is no home directory, so global workflows are not available",
            )
        };
        let (fs, file) = (
            host(context, true)?.ok_or_else(none)?,
            file(&workflow.name).ok_or_else(|| Failure::missing("workflow"))?,
        );
        if host_workflow(&workflow.name, context)?.is_some_and(|known| known != text) {
            let message = "another workspace has promoted a workflow of this name";
            return Err(Failure::new(ErrorCode::NameTaken, message));
        }
        let written = fs.write_atomic(&file, text.as_bytes(), FileMode::Private);
        written.map_err(|error| Failure::new(ErrorCode::Environment, error.to_string()))?;
    }
    let workflow = store.set_scope(&workflow.id, target.as_str(), &context.owner(), context.clock.now())?;
    Ok(output(workflow, ScopeMove::Promoted(true), target))
}

pub(super) fn demote(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let (name, target) = read_args(input)?;
    let workflow = workspace_workflow(&name, context)?;
    let now = scope_of(&workflow);
    if now.rank() <= target.rank() {
        let message = format!("the workflow only has the scope {}", now.as_str());
        return Err(Failure::new(ErrorCode::NotNarrower, message));
    }
    let users: Vec<String> = all(context)?
        .into_iter()
        .filter(|(other, scope, _)| *other != workflow.name && target.rank() < scope.rank())
        .filter(|(_, _, text)| refers_to(text).contains(&workflow.name))
        .map(|(other, ..)| other)
        .collect();
    if !users.is_empty() {
        let message = format!("workflows with a wider scope run it: {}", users.join(", "));
        return Err(Failure::new(ErrorCode::InUse, message));
    }
    if now == Scope::Global
        && let (Some(fs), Some(file)) = (host(context, false)?, file(&workflow.name))
    {
        match fs.remove(&file) {
            Err(error) if !error.is_not_found() => {
                return Err(Failure::new(ErrorCode::Environment, error.to_string()));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let workflow =
        context.store()?.set_scope(&workflow.id, target.as_str(), &context.owner(), context.clock.now())?;
    Ok(output(workflow, ScopeMove::Demoted(true), target))
}
