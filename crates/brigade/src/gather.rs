//! Reads the configuration and the facts of tools for an operation.

use std::path::PathBuf;

use brigade_call::{ArgsProblem, Caller, MissingTool, Plan, PlanFacts, plan_missing};
use brigade_catalog::Tool;
use brigade_core::Json;
use brigade_exec::OpenedProgram;
pub(crate) use brigade_facts::Config;
use brigade_facts::{FactReader, Host, PlanInput, bound_values};
use brigade_policy::{Blocker, PolicyState};
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
pub(crate) fn config(room: &Room) -> Result<Config, Error> {
    Ok(Config::new(&host(room), load::catalog(room)?, load::policy(room)))
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
    config: &Config,
    tool: &Tool,
    args: Result<Json, ArgsProblem>,
    caller: Caller,
) -> Result<Planned, Error> {
    let input = FactReader::new(host(room), config).plan(tool, caller)?;
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
    config: &Config,
    tool_id: &str,
    args: Result<Json, ArgsProblem>,
) -> Result<(Planned, Option<Error>), Error> {
    let error = match entry(room, config, tool_id, args.as_ref().unwrap_or(&Json::Null)) {
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
