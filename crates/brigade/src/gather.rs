//! Reads the configuration and the facts of tools for an operation.

use std::path::PathBuf;
use std::sync::Arc;

use brigade_call::{ArgsProblem, Call, Caller, MissingTool, Plan, PlanFacts, Receipt, plan_missing};
use brigade_catalog::Tool;
use brigade_core::{Json, Object};
use brigade_exec::OpenedProgram;
pub(crate) use brigade_facts::Config;
use brigade_facts::{FactReader, Host, PlanInput, bound_values, read_policy};
use brigade_policy::{Blocker, CallKind, PolicyState};
use brigade_projection::ProjectionItem;
use brigade_redact::SecretValue;

use crate::error::Error;
use crate::load;
use crate::room::Room;

/// A plan and the opened program.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) projections: Vec<ProjectionItem>,
    /// The program, if the family is executable and the program was found.
    pub(crate) program: Option<OpenedProgram>,
    /// The working directory of the program.
    pub(crate) directory: PathBuf,
}

/// Returns the host for reading facts.
pub(crate) fn host(room: &Room) -> Host<'_> {
    Host {
        fs: &*room.fs,
        environment: &room.env.environment,
        digests: &room.digests,
        clock: &*room.env.clock,
    }
}

/// Reads catalog and policy.
pub(crate) fn config(room: &Room) -> Result<Arc<Config>, Error> {
    match room.memory() {
        Some(memory) => memory.config(host(room), |host| config_from(room, host)),
        None => own_config(room).map(Arc::new),
    }
}

/// Reads catalog and policy, for whoever takes them apart.
pub(crate) fn own_config(room: &Room) -> Result<Config, Error> {
    config_from(room, host(room))
}

fn config_from(room: &Room, host: Host<'_>) -> Result<Config, Error> {
    Ok(Config::new(&host, load::catalog_from(room, host)?, read_policy(host.fs)))
}

/// Finds the entry that a call with these arguments uses.
pub(crate) fn entry<'c>(
    room: &Room,
    config: &'c Config,
    tool_id: &str,
    args: &Json,
) -> Result<&'c Tool, Error> {
    Ok(config.entry(&host(room), tool_id, args)?)
}

/// Plans a call of a tool with arguments.
pub(crate) fn plan_call(
    room: &Room,
    config: &Arc<Config>,
    tool: &Tool,
    args: Result<Json, ArgsProblem>,
    caller: Caller,
) -> Result<Planned, Error> {
    let input = match room.memory() {
        Some(memory) => memory.plan(host(room), config, tool, caller)?,
        None => FactReader::new(host(room), config).plan(tool, caller)?,
    };
    planned(room, input, args)
}

/// Plans the installation of a tool with one of its commands.
pub(crate) fn plan_installation(
    room: &Room,
    config: &Config,
    entry: &Tool,
    command: &str,
    caller: Caller,
) -> Result<Planned, Error> {
    let installation = entry.installation(command);
    let reader = FactReader::new(host(room), config);
    let input = reader.plan_installation(&installation, entry, caller)?;
    planned(room, input, Ok(Json::Object(Object::new())))
}

/// Plans again what was asked for before.
pub(crate) fn plan_again(
    room: &Room,
    config: &Arc<Config>,
    asked: &Again<'_>,
    caller: Caller,
) -> Result<Planned, Error> {
    match asked.installs_with {
        // A disabled entry can be installed, too.
        Some(command) => {
            let entry = load::any_tool(&config.catalog, asked.tool_id)?;
            plan_installation(room, config, entry, command, caller)
        }
        None => {
            let tool = entry(room, config, asked.tool_id, &asked.args)?;
            plan_call(room, config, tool, Ok(asked.args.clone()), caller)
        }
    }
}

/// What was asked for before.
pub(crate) struct Again<'a> {
    pub(crate) tool_id: &'a str,
    pub(crate) args: Json,
    /// The command of an installation.
    pub(crate) installs_with: Option<&'a str>,
}

impl<'a> Again<'a> {
    /// Returns what a call asks for.
    pub(crate) fn call(call: &'a Call) -> Again<'a> {
        let installs = call.kind() == CallKind::Install;
        let installs_with = installs.then(|| call.command.as_deref().unwrap_or_default());
        Again { tool_id: &call.tool_id, args: call.args.clone(), installs_with }
    }

    /// Returns what the call of a run asked for.
    pub(crate) fn run(receipt: &'a Receipt) -> Again<'a> {
        let command = receipt.command_label.as_deref().unwrap_or_default();
        let installs_with = receipt.is_installation().then_some(command);
        Again { tool_id: receipt.tool_id(), args: receipt.asked_args(), installs_with }
    }
}

fn planned(room: &Room, input: PlanInput<'_>, args: Result<Json, ArgsProblem>) -> Result<Planned, Error> {
    let PlanInput { facts, projections, program, directory } = input;
    let plan = brigade_call::plan(PlanFacts { args, ..facts }).spelled(&room.speller());
    tracing::debug!(
        tool = plan.tool_id(),
        directory = %directory.display(),
        program = plan.binding().program.as_ref().map(|program| program.path.as_str()),
        files = plan.binding().files.len(),
        blockers = plan.blockers().len(),
        "planned a call"
    );
    Ok(Planned { plan, projections, program, directory })
}

/// Plans a call of a requested tool. Without such a tool, the plan says so, and the error comes with it.
pub(crate) fn plan_request(
    room: &Room,
    config: &Arc<Config>,
    tool_id: &str,
    args: Result<Json, ArgsProblem>,
) -> Result<(Planned, Option<Error>), Error> {
    let meant = config.catalog.named(tool_id).map_or(tool_id, |tool| tool.id.as_str());
    let error = match entry(room, config, meant, args.as_ref().unwrap_or(&Json::Null)) {
        Ok(tool) => return Ok((plan_call(room, config, tool, args, room.env.caller.clone())?, None)),
        Err(error) => error,
    };
    let reason =
        Blocker { hint: error.hints().first().cloned(), ..Blocker::new("tool_missing", error.to_string()) };
    let reader = FactReader::new(host(room), config);
    let missing = reader.missing(load::shown_id(tool_id), reason, room.env.caller.clone());
    let plan = plan_missing(MissingTool { args, ..missing }).spelled(&room.speller());
    let directory = room.fs.root().to_owned();
    Ok((Planned { plan, projections: Vec::new(), program: None, directory }, Some(error)))
}

/// Returns all values that the policy binds to labels. No argument and no typed text may contain them.
pub(crate) fn bound_secrets(room: &Room, policy: &PolicyState) -> Vec<SecretValue> {
    bound_values(&room.env.environment, policy)
}

/// Returns all values to mask, as the policy binds them now.
pub(crate) fn secrets(room: &Room) -> Vec<SecretValue> {
    bound_secrets(room, &load::policy(room))
}
