//! Tools that use workflows and agents shipped with Brigade: `execute.*`, `agent.generate` and `workflow.generate`.
//!
//! A shipped manifest is deployed to the workspace when it is first needed. Each step of an execution is a call of its
//! caller, with a separate plan, approval and receipt, and with fewer rights than the caller has.

use brigade_access::{Rights, TaskLimits, ToolTraits, builtin};
use brigade_cmdline::{LanguageRuntime, WrittenProgram};
use brigade_core::json::{from_json, to_json};
use brigade_core::{ErrorCode, Fingerprint, Json, Object};
use brigade_db::flows::{Flow, FlowStatus};
use brigade_db::manifests::{DeployedManifest, NewManifest, Revision};
use brigade_fs::RelPath;
use brigade_toolset::{Context, Failure, Output, arguments};
use serde::{Deserialize, Serialize};

use crate::manifest::{Agent, Manifest, StateOutput, Workflow};
use crate::runner::TaskRunner;
use crate::tools::agent::{KIND as AGENT, without_faults};
use crate::tools::workflow::{KIND as WORKFLOW, NewExecution, begin, find_flow, status_word};
use crate::tools::{Function, StartResult};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("agent.generate", generate_agent),
    ("execute.intent", intent),
    ("execute.status", status),
    ("workflow.generate", generate_workflow),
];

/// The author of shipped manifests. No agent can have this name.
const AUTHOR: &str = "shipped with Brigade";

/// The prefix of workflows that carry out intents.
const EXECUTE: &str = "brigade-execute-";

/// The prefix of workflows that write manifests.
const GENERATE: &str = "brigade-generate-";

/// The names of the shipped agents.
const AGENTS: [&str; 5] =
    ["brigade-agent-writer", CHAT, "brigade-coder", "brigade-formatter", "brigade-workflow-writer"];

/// The shipped agent that does what a prompt asks for. Tasks begin it by its name.
const CHAT: &str = "brigade-chat";

/// The directory of programs that were written for intents, relative to the workspace.
const PROGRAMS: &str = ".execute";

/// The input of the workflow that carries out an intent.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct IntentInput {
    path: String,
    /// The inputs of the program, as the text that it receives.
    argument: String,
    inputs: Json,
    timeout_seconds: u64,
    volume_id: Option<String>,
    file: String,
    /// Whether its agent was already deployed.
    reused_existing_agent: bool,
}

/// The result of `execute.intent`.
#[derive(Serialize)]
struct IntentResult {
    pipeline_execution_id: String,
    status: &'static str,
}

/// The result of `execute.status`.
#[derive(Default, Serialize)]
struct IntentStatus {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reused_existing_agent: Option<bool>,
    /// The volume that keeps the program and what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_at_state: Option<&'static str>,
}

/// The default time limit of a program, in seconds.
const DEFAULT_TIMEOUT_SECONDS: u64 = 300;

/// The maximum time limit of a program, in seconds.
const MAX_TIMEOUT_SECONDS: u64 = 600;

#[derive(Deserialize)]
struct IntentArgs {
    intent: String,
    inputs: Option<Json>,
    volume_id: Option<String>,
    language: String,
    timeout_seconds: Option<u64>,
}

#[derive(Deserialize)]
struct StatusArgs {
    pipeline_execution_id: String,
}

#[derive(Deserialize)]
struct GenerateArgs {
    input: String,
}

/// Returns whether a manifest of this name is shipped.
pub(crate) fn is_shipped(kind: &str, name: &str) -> bool {
    match kind {
        AGENT => AGENTS.contains(&name),
        _ => [EXECUTE, GENERATE].iter().any(|start| name.starts_with(start)),
    }
}

/// Refuses the name of a shipped manifest. Otherwise that name would run something else.
///
/// # Errors
/// Returns `name_taken`.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<(), Failure> {
    if is_shipped(kind, name) {
        let message =
            format!("the {kind} `{name}` is shipped with Brigade and cannot be changed; use another name");
        return Err(Failure::new(ErrorCode::NameTaken, message));
    }
    Ok(())
}

/// Refuses to let an agent delete shipped manifests, because others rely on them. A person may delete them.
///
/// # Errors
/// Returns `name_taken`.
pub(crate) fn check_delete(kind: &str, id: &str, context: &Context<'_>) -> Result<(), Failure> {
    let Some(store) = context.stored()?.filter(|_| context.agent().is_some()) else { return Ok(()) };
    match store.manifest(kind, id, None) {
        // A manifest of another author with the name of a shipped one may be deleted.
        Ok((found, _)) if found.author == AUTHOR => check_name(kind, &found.name),
        _ => Ok(()),
    }
}

/// A shipped manifest after its deployment.
struct ShippedManifest<M> {
    deployed: DeployedManifest,
    revision: Revision,
    manifest: M,
    /// Whether it was already deployed.
    was_there: bool,
}

/// Returns a shipped manifest. Deploys it if necessary.
///
/// # Errors
/// Returns `name_taken` if another manifest has its name.
fn deployed<M: Manifest>(
    context: &Context<'_>,
    kind: &str,
    text: &str,
) -> Result<ShippedManifest<M>, Failure> {
    let (manifest, _) = without_faults::<M>(text)?;
    let metadata = manifest.metadata();
    let (name, version) = (metadata.name.as_str().to_owned(), metadata.version());
    let labels = metadata.labels.clone().unwrap_or_default();
    let new = NewManifest {
        kind,
        name: &name,
        version: version.as_str(),
        description: metadata.description.as_deref(),
        labels: &labels,
        text,
        author: AUTHOR,
        force: false,
    };
    let store = context.store()?;
    let was_there = match store.deploy_manifest(&new, context.clock.now()) {
        Err(error) if error.answered_code() == ErrorCode::NameTaken => true,
        other => other.map(|_| false)?,
    };
    let (mut deployed, mut revision) = store.manifest(kind, &name, None)?;
    if revision.text != text && deployed.author == AUTHOR {
        // An earlier version of Brigade shipped it.
        store.deploy_manifest(&NewManifest { force: true, ..new }, context.clock.now())?;
        (deployed, revision) = store.manifest(kind, &name, None)?;
    }
    if revision.text != text {
        let message =
            format!("another {kind} has the name `{name}`, which is shipped with Brigade; delete it");
        return Err(Failure::new(ErrorCode::NameTaken, message));
    }
    Ok(ShippedManifest { deployed, revision, manifest, was_there })
}

/// Returns the rights of the calling agent in a workflow with these limits. `None` for other callers.
fn rights_within(
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
    limits: &TaskLimits,
) -> Result<Option<Rights>, Failure> {
    let Some((profiles, agent)) = context.agent_profiles else { return Ok(None) };
    let mut begun = runner.rights();
    begun.session.within(limits.clone());
    let rights = Rights::of_session(profiles, agent, &begun.session, &begun.profiles);
    rights.map(Some).map_err(|unknown| Failure::new(ErrorCode::ProfileMissing, unknown.to_string()))
}

/// Refuses to start a workflow whose calls a profile of the caller hides, as the work of its workers would be wasted.
fn check_tools(
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
    limits: &TaskLimits,
    tools: &[&str],
) -> Result<(), Failure> {
    let Some(rights) = rights_within(context, runner, limits)? else { return Ok(()) };
    for tool in tools.iter().filter_map(|id| builtin::entry(id)) {
        if let Some(profile) = rights.hidden_by(&ToolTraits::from_tool(tool)) {
            let message = format!("the profile `{profile}` hides `{}`, which this needs", tool.id);
            return Err(Failure::new(ErrorCode::NotAvailableHere, message));
        }
    }
    Ok(())
}

/// Returns the manifest of the shipped agent that tasks begin by its name.
pub(crate) fn chat_manifest(name: &str) -> Option<&'static str> {
    (name == CHAT).then_some(include_str!("shipped/chat.yaml"))
}

/// Deploys the shipped agent that tasks begin by its name, if this is its name.
///
/// # Errors
/// Returns `name_taken` if another agent has its name.
pub(crate) fn deploy_chat(context: &Context<'_>, name: &str) -> Result<(), Failure> {
    match chat_manifest(name) {
        Some(text) => deployed::<Agent>(context, AGENT, text).map(drop),
        None => Ok(()),
    }
}

/// Starts a shipped workflow. Its calls are limited to these tools, and some of them require a person.
fn begin_shipped(
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
    text: &str,
    intent: &str,
    input: Json,
    tools: &[&str],
    asks: &[&str],
) -> Result<Flow, Failure> {
    let shipped = deployed::<Workflow>(context, WORKFLOW, text)?;
    // Programs that a worker wrote have read access only.
    let mut limits =
        TaskLimits { agent: shipped.deployed.name.clone(), only_reads: true, ..TaskLimits::default() };
    tools.iter().for_each(|tool| limits.add_tool(tool));
    limits.asks = asks.iter().map(|tool| (*tool).to_owned()).collect();
    check_tools(context, runner, &limits, tools)?;
    let ShippedManifest { deployed, revision, manifest, .. } = &shipped;
    let new = NewExecution { intent: Some(intent), input, blackboard: Object::new(), limits: Some(limits) };
    begin(context, runner, (deployed, revision), manifest, new)
}

fn blank(name: &str, text: &str) -> Result<(), Failure> {
    match text.trim().is_empty() {
        true => Err(Failure::new(ErrorCode::InvalidArguments, format!("`{name}` is blank"))),
        false => Ok(()),
    }
}

/// Builds the workflow for a language.
fn pipeline(program: &WrittenProgram, keeps: bool) -> String {
    let (suffix, then) = if keeps { ("-kept", "[{target: KEEP}]") } else { ("", "[]") };
    let mut text = include_str!("shipped/execute.yaml").to_owned();
    for (mark, value) in [
        ("@NAME@", format!("{EXECUTE}{}{suffix}", program.language).as_str()),
        ("@LANGUAGE@", program.language),
        ("@CHECK@", program.check),
        ("@RUN@", program.run),
        ("@THEN@", then),
    ] {
        text = text.replace(mark, value);
    }
    if keeps {
        text.push_str(include_str!("shipped/keep.yaml"));
    }
    text
}

/// `execute.intent`
fn intent(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let args: IntentArgs = arguments(input)?;
    blank("intent", &args.intent)?;
    let program = LanguageRuntime::written().find(|program| program.language == args.language);
    let program = program.ok_or_else(|| {
        let known: Vec<&str> = LanguageRuntime::written().map(|program| program.language).collect();
        Failure::new(ErrorCode::InvalidArguments, format!("`language` must be one of {}", known.join(", ")))
    })?;
    let seconds = args.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    if !(1..=MAX_TIMEOUT_SECONDS).contains(&seconds) {
        return Err(Failure::new(
            ErrorCode::InvalidArguments,
            format!("`timeout_seconds` must be 1 to {MAX_TIMEOUT_SECONDS}"),
        ));
    }
    if let Some(volume) = &args.volume_id {
        let store = context.stored_or_missing("volume")?;
        let mut own = store.volumes(Some(&context.owner()))?.into_iter();
        own.find(|own| own.id == *volume).ok_or_else(|| Failure::missing("volume"))?;
    }
    let inputs = match args.inputs {
        None | Some(Json::Null) => Json::object::<&str>([]),
        Some(inputs @ Json::Object(_)) => inputs,
        Some(_) => return Err(Failure::new(ErrorCode::InvalidArguments, "`inputs` must be an object")),
    };
    let coder = deployed::<Agent>(context, AGENT, include_str!("shipped/coder.yaml"))?;
    deployed::<Agent>(context, AGENT, include_str!("shipped/formatter.yaml"))?;
    // Each execution writes a separate program.
    let own = Fingerprint::builder("brigade.intent.v1")
        .text("call", context.call.unwrap_or_default())
        .text("at", context.clock.now().to_string().as_str())
        .finish();
    let path = format!("{PROGRAMS}/{}/{}", &own.to_hex()[..12], program.file);
    let given = IntentInput {
        path,
        argument: inputs.to_compact(),
        inputs,
        timeout_seconds: seconds,
        volume_id: args.volume_id.clone(),
        file: program.file.to_owned(),
        reused_existing_agent: coder.was_there,
    };
    let given = to_json(&given).expect("an input is JSON");
    let mut tools = vec!["task.execute", "fs.write", "cmd.run"];
    tools.extend(args.volume_id.is_some().then_some("file.write"));
    let text = pipeline(&program, args.volume_id.is_some());
    let flow = begin_shipped(context, runner, &text, &args.intent, given, &tools, &[])?;
    Ok(Output::from_result(&IntentResult { pipeline_execution_id: flow.id, status: "started" }))
}

/// Returns the folder with what the execution of an intent left; `None` for other executions.
pub(crate) fn folder_of(flow: &Flow) -> Option<RelPath> {
    let given: IntentInput = from_json(&flow.input).ok().filter(|_| flow.name.starts_with(EXECUTE))?;
    Some(given.path.parse::<RelPath>().ok()?.parent())
}

/// Returns the phase of a state.
fn phase(state: &str) -> &'static str {
    match state {
        "WRITE" | "SAVE" => "code_generation",
        "CHECK" => "validation",
        "RUN" => "execution",
        _ => "formatting",
    }
}

/// `execute.status`
fn status(input: &Json, context: &mut Context<'_>, runner: &TaskRunner<'_>) -> Result<Output, Failure> {
    let StatusArgs { pipeline_execution_id } = arguments(input)?;
    let flow = find_flow(&pipeline_execution_id, context, runner)?;
    if !flow.name.starts_with(EXECUTE) {
        return Err(Failure::missing("execution"));
    }
    let mut output = IntentStatus { status: status_word(&flow, context), ..IntentStatus::default() };
    match flow.status {
        FlowStatus::Completed => {
            let formatted = flow.outputs.get("FORMAT").and_then(|state| from_json(state).ok());
            let StateOutput { output: result, .. } = formatted.unwrap_or_default();
            let ended = flow.ended_at.unwrap_or(flow.entered_at);
            let took = u64::try_from(ended.since(flow.started_at).as_millis()).unwrap_or(u64::MAX);
            let given: IntentInput = from_json(&flow.input).unwrap_or_default();
            output.final_result = Some(context.redactor.redact_json(&result));
            output.duration_ms = Some(took);
            output.reused_existing_agent = Some(given.reused_existing_agent);
            output.volume_id = given.volume_id;
        }
        status if status.is_over() => {
            let code = flow.error_code.as_deref().unwrap_or(status.as_str());
            let reason = match &flow.error {
                Some(error) => format!("{code}: {error}"),
                None => code.to_owned(),
            };
            output.reason = Some(context.redactor.redact_str(&reason));
            output.failed_at_state = Some(phase(&flow.state));
        }
        _ => {}
    }
    Ok(Output::from_result(&output))
}

fn generate(
    input: &Json,
    context: &Context<'_>,
    runner: &TaskRunner<'_>,
    kind: &str,
    a_kind: &str,
    writer: &str,
) -> Result<Output, Failure> {
    let GenerateArgs { input: description } = arguments(input)?;
    blank("input", &description)?;
    let create = format!("{kind}.create");
    deployed::<Agent>(context, AGENT, writer)?;
    let text = include_str!("shipped/generate.yaml").replace("@A_KIND@", a_kind).replace("@KIND@", kind);
    let tools = ["task.execute", "schema.validate", create.as_str()];
    let none = Json::object::<&str>([]);
    // For a caller that may call the tool itself, it is a call like any other. For others, a person decides.
    let rights = rights_within(context, runner, &TaskLimits::default())?;
    let may_create = rights
        .zip(builtin::entry(&create))
        .is_some_and(|(rights, tool)| rights.shows(&ToolTraits::from_tool(tool)));
    let asks = [create.as_str()];
    let asks = if may_create { &[][..] } else { &asks };
    let flow = begin_shipped(context, runner, &text, &description, none, &tools, asks)?;
    Ok(Output::from_result(&StartResult::new(flow.id)))
}

fn generate_agent(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    generate(input, context, runner, "agent", "an agent", include_str!("shipped/agent-writer.yaml"))
}

fn generate_workflow(
    input: &Json,
    context: &mut Context<'_>,
    runner: &TaskRunner<'_>,
) -> Result<Output, Failure> {
    generate(input, context, runner, "workflow", "a workflow", include_str!("shipped/workflow-writer.yaml"))
}

#[cfg(test)]
mod tests {
    use crate::manifest::read;

    use super::*;

    #[test]
    fn shipped_manifests_have_no_faults() {
        for text in [
            include_str!("shipped/coder.yaml"),
            include_str!("shipped/formatter.yaml"),
            include_str!("shipped/agent-writer.yaml"),
            include_str!("shipped/workflow-writer.yaml"),
        ] {
            let read = read::<Agent>(text);
            assert!(read.faults.is_empty(), "{:?}", read.faults);
            let agent = read.manifest.unwrap();
            assert!(is_shipped(AGENT, agent.metadata.name.as_str()));
            assert_eq!(agent.spec.tools.as_deref().map(<[_]>::len), Some(0), "its worker calls nothing");
        }
        let chat = read::<Agent>(chat_manifest(CHAT).unwrap());
        assert!(chat.faults.is_empty() && is_shipped(AGENT, CHAT), "{:?}", chat.faults);
        let chat = chat.manifest.unwrap();
        assert_eq!((chat.metadata.name.as_str(), &chat.spec.tools), (CHAT, &None), "it has all tools");
        for program in LanguageRuntime::written() {
            for keeps in [false, true] {
                let text = pipeline(&program, keeps);
                let read = read::<Workflow>(&text);
                assert!(read.faults.is_empty(), "{:?}\n{text}", read.faults);
                assert!(!text.contains('@'), "{text}");
                assert!(read.manifest.unwrap().metadata.name.as_str().starts_with(EXECUTE));
            }
        }
        for kind in ["agent", "workflow"] {
            let text = include_str!("shipped/generate.yaml").replace("@A_KIND@", "a").replace("@KIND@", kind);
            let read = read::<Workflow>(&text);
            assert!(read.faults.is_empty() && !text.contains('@'), "{:?}\n{text}", read.faults);
            assert!(is_shipped(WORKFLOW, read.manifest.unwrap().metadata.name.as_str()));
        }
    }

    #[test]
    fn examples_for_writers_are_valid() {
        let indented = |text: &str| -> String {
            let lines = text
                .lines()
                .skip_while(|line| !line.trim().starts_with("apiVersion") || !line.starts_with("      "));
            let lines = lines.take_while(|line| line.is_empty() || line.starts_with("      "));
            let lines: Vec<&str> = lines.map(|line| line.strip_prefix("      ").unwrap_or(line)).collect();
            lines.split(|line| line.is_empty()).next().unwrap().join("\n")
        };
        let agent = read::<Agent>(&indented(include_str!("shipped/agent-writer.yaml")));
        assert!(
            agent.faults.is_empty() && agent.warnings.is_empty(),
            "{:?} {:?}",
            agent.faults,
            agent.warnings
        );
        let workflow = read::<Workflow>(&indented(include_str!("shipped/workflow-writer.yaml")));
        assert!(
            workflow.faults.is_empty() && workflow.warnings.is_empty(),
            "{:?} {:?}",
            workflow.faults,
            workflow.warnings
        );
    }
}
