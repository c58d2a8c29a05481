//! Reads the configuration and the facts of tools for an operation.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{Config, FactReader, Host, PlanInput, bound_values, read_policy, read_project_policy};
use brigade_call::{
    ArgsProblem, Call, CallSession, Caller, MissingTool, Plan, Receipt, install_command, plan_missing,
};
use brigade_catalog::Tool;
use brigade_core::text::shows_nothing;
use brigade_core::{ErrorCode, ErrorKind, Json, NextStep, Object, StoredFingerprint};
use brigade_exec::OpenedProgram;
use brigade_policy::{Blocker, CallKind, Failure, PolicyState};
use brigade_projection::ProjectionItem;
use brigade_redact::{Redactor, SecretValue};

use crate::context::WorkspaceContext;
use crate::load;

/// A plan and the opened program.
pub struct PlannedCall {
    /// The plan.
    pub plan: Plan,
    /// The projections of the tool.
    pub projections: Vec<ProjectionItem>,
    /// The program, if the family is executable and the program was found.
    pub program: Option<OpenedProgram>,
    /// The working directory of the program.
    pub directory: PathBuf,
}

/// Reads catalog and policy.
pub fn config(context: &WorkspaceContext) -> Result<Arc<Config>, Failure> {
    match &context.memory {
        // Whether the policy of a project counts is known from more than the files of the workspace.
        Some(memory) if context.project.is_none() => {
            memory.config(context.host(), |host| config_from(context, host))
        }
        Some(_) | None => own_config(context).map(Arc::new),
    }
}

/// Reads catalog and policy into a configuration that is not shared.
pub fn own_config(context: &WorkspaceContext) -> Result<Config, Failure> {
    config_from(context, context.host())
}

fn config_from(context: &WorkspaceContext, host: Host<'_>) -> Result<Config, Failure> {
    let config = Config::new(&host, load::catalog_from(context, host)?, read_policy(host.fs, host.trust));
    let project = context.project.as_ref();
    Ok(config.narrowed_by(project.and_then(|project| read_project_policy(&*project.fs, &project.trust))))
}

/// Finds the entry for a call with these arguments.
pub fn entry<'c>(
    context: &WorkspaceContext,
    config: &'c Config,
    tool_id: &str,
    args: &Json,
) -> Result<&'c Tool, Failure> {
    Ok(config.entry(&context.host(), tool_id, args)?)
}

/// Plans a call of a tool with arguments. A command in the arguments has only those granted effects that are in
/// `within`.
pub fn plan_call(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    tool: &Tool,
    args: Result<Json, ArgsProblem>,
    caller: Caller,
    within: Option<&[String]>,
    session: Option<CallSession>,
) -> Result<PlannedCall, Failure> {
    plan_within(context, config, tool, args, caller, Limits { within, session, learned: None })
}

/// The limits of a call that was planned before.
struct Limits<'a> {
    /// The effects that its command may have.
    within: Option<&'a [String]>,
    /// The session of the call.
    session: Option<CallSession>,
    /// The learned code that its approval binds.
    learned: Option<&'a [String]>,
}

fn plan_within(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    tool: &Tool,
    args: Result<Json, ArgsProblem>,
    caller: Caller,
    Limits { within, session, learned }: Limits<'_>,
) -> Result<PlannedCall, Failure> {
    let host = context.host();
    let known = args.as_ref().ok();
    let root = session.as_ref().and_then(|session| session.root_of(tool.id.as_str()));
    let made = known.and_then(|args| config.command(&host, tool.id.as_str(), args, &caller, within, root));
    if let Some(made) = made {
        let input = FactReader::new(host, config).plan(&made, caller)?;
        return planned(context, config, input, args, session, learned);
    }
    let input = match &context.memory {
        Some(memory) => memory.plan(context.host(), config, tool, caller)?,
        None => FactReader::new(context.host(), config).plan(tool, caller)?,
    };
    planned(context, config, input, args, session, learned)
}

/// Plans the installation of a tool with one of its commands.
pub fn plan_installation(
    context: &WorkspaceContext,
    config: &Config,
    entry: &Tool,
    command: &str,
    caller: Caller,
) -> Result<PlannedCall, Failure> {
    let installation = entry.installation(command);
    let reader = FactReader::new(context.host(), config);
    let input = reader.plan_installation(&installation, entry, caller)?;
    planned(context, config, input, Ok(Json::Object(Object::new())), None, None)
}

/// Plans an earlier request again.
pub fn plan_again(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    request: &RepeatRequest<'_>,
    caller: Caller,
) -> Result<PlannedCall, Failure> {
    match request.installs_with {
        // Disabled entries can be installed, too.
        Some((command, contract)) => {
            let entry = load::any_tool(&config.catalog, request.tool_id)?;
            let command = install_command(entry, command, contract);
            plan_installation(context, config, entry, command, caller)
        }
        None => {
            let tool = entry(context, config, request.tool_id, &request.args)?;
            let session = request.session.clone();
            let args = Ok(request.args.clone());
            let limits = Limits { within: request.effects, session, learned: request.learned };
            plan_within(context, config, tool, args, caller, limits)
        }
    }
}

/// An earlier request.
pub struct RepeatRequest<'a> {
    /// The tool.
    pub tool_id: &'a str,
    /// Its arguments.
    pub args: Json,
    /// The command of an installation as the record shows it, and the fingerprint of its contract.
    pub installs_with: Option<(&'a str, Option<&'a str>)>,
    /// The effects that the call was queued with. `None` for a new call.
    pub effects: Option<&'a [String]>,
    /// The session of the request.
    pub session: Option<CallSession>,
    /// The learned code that its approval binds. `None` for a call without an approval.
    pub learned: Option<&'a [String]>,
}

impl<'a> RepeatRequest<'a> {
    /// Returns the request of a call.
    pub fn call(call: &'a Call) -> RepeatRequest<'a> {
        let installs = call.kind() == CallKind::Install;
        let contract = call.contract_fingerprint.as_deref();
        let installs_with = installs.then(|| (call.command.as_deref().unwrap_or_default(), contract));
        let (effects, session) = (Some(&call.contract.effects[..]), call.session.clone());
        let learned = call.approval.as_ref().map(|approval| &approval.binding.learned[..]);
        RepeatRequest {
            tool_id: &call.tool_id,
            args: call.args.clone(),
            installs_with,
            effects,
            session,
            learned,
        }
    }

    /// Returns the request of a run's call, without its session.
    pub fn run(receipt: &'a Receipt) -> RepeatRequest<'a> {
        let command = receipt.command_label.as_deref().unwrap_or_default();
        let contract = receipt.contract_fingerprint.as_ref().map(StoredFingerprint::as_str);
        let installs_with = receipt.is_installation().then_some((command, contract));
        let args = receipt.asked_args();
        let tool_id = &receipt.tool_id;
        RepeatRequest { tool_id, args, installs_with, effects: None, session: None, learned: None }
    }
}

fn planned(
    context: &WorkspaceContext,
    config: &Config,
    input: PlanInput<'_>,
    args: Result<Json, ArgsProblem>,
    session: Option<CallSession>,
    approved: Option<&[String]>,
) -> Result<PlannedCall, Failure> {
    let PlanInput { facts, projections, program, directory } = input;
    let facts = config.with_args(&context.host(), facts, args, session, approved);
    let plan = brigade_call::plan(facts).spelled(&context.speller());
    tracing::debug!(
        tool = plan.tool_id(),
        program = plan.binding().program.as_ref().map(|program| program.path.as_str()),
        files = plan.binding().files.len(),
        blockers = plan.blockers().len(),
        "planned a call"
    );
    Ok(PlannedCall { plan, projections, program, directory })
}

/// Plans a call of a tool that a person named by its id, an alias or `<source>:<id>`. For an unknown tool, returns a
/// plan with this blocker, and the error.
pub fn plan_request(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    name: &str,
    args: Result<Json, ArgsProblem>,
) -> Result<(PlannedCall, Option<Failure>), Failure> {
    let tool_id = load::named(&config.catalog, name).map_or(name, |tool| tool.id.as_str());
    plan_of(context, config, tool_id, args, None, None)
}

/// Plans a call of the tool with exactly this id, without aliases, because an agent's rights were decided for this id.
/// For an unknown tool, returns a plan with this blocker, and the error.
pub fn plan_of(
    context: &WorkspaceContext,
    config: &Arc<Config>,
    tool_id: &str,
    args: Result<Json, ArgsProblem>,
    within: Option<&[String]>,
    session: Option<CallSession>,
) -> Result<(PlannedCall, Option<Failure>), Failure> {
    let error = match entry(context, config, tool_id, args.as_ref().unwrap_or(&Json::Null)) {
        Ok(tool) => {
            let caller = context.caller.clone();
            return Ok((plan_call(context, config, tool, args, caller, within, session)?, None));
        }
        Err(error) => error,
    };
    let reason = Blocker {
        hint: error.hints().first().cloned(),
        ..Blocker::new(ErrorCode::ToolMissing, error.to_string())
    };
    let reader = FactReader::new(context.host(), config);
    let missing = reader.missing(load::shown_id(tool_id), reason, context.caller.clone());
    let plan = plan_missing(MissingTool { args, ..missing }).spelled(&context.speller());
    let directory = context.fs.root().to_owned();
    Ok((PlannedCall { plan, projections: Vec::new(), program: None, directory }, Some(error)))
}

/// Returns all values that the policy binds to labels. Arguments and texts of people may not contain them.
pub fn bound_secrets(context: &WorkspaceContext, policy: &PolicyState) -> Vec<SecretValue> {
    bound_values(&context.environment, policy)
}

/// Returns all values to mask, from the current policy.
pub fn secrets(context: &WorkspaceContext) -> Vec<SecretValue> {
    bound_secrets(context, &load::policy(context))
}

/// Returns the bound values that are long enough to be recognized in typed text.
pub fn telling_values(context: &WorkspaceContext) -> Vec<SecretValue> {
    brigade_call::telling_values(&secrets(context))
}

/// Removes secrets from a typed reason.
///
/// # Errors
/// Fails if there is no reason.
pub fn clean_reason(context: &WorkspaceContext, reason: &str) -> Result<String, Failure> {
    let reason = reason.trim();
    if shows_nothing(reason) {
        let error = Failure::new(ErrorKind::Usage, "a reason is needed").coded(ErrorCode::ReasonNeeded);
        return Err(error.hint(NextStep::GiveReason));
    }
    Ok(Redactor::new(&telling_values(context)).for_settings().redact_str(reason))
}

#[cfg(test)]
mod tests;
