//! What the arguments of the tools for agents, tasks and workflows refer to.

use brigade_core::{ErrorCode, Json};
use brigade_db::flows::FlowStatus;
use brigade_toolset::{ArgumentReferences, Context, Failure, Reference};

use crate::manifest::{Agent, read};
use crate::runner::worker_for;
use crate::tools::agent::KIND as AGENT;
use crate::tools::shipped::chat_manifest;
use crate::tools::workflow::{KIND as WORKFLOW, to_be_run};

/// The tools whose arguments can refer to something.
const REFERENCES: &[(&str, Reference)] = &[
    ("agent.delete", add_agent),
    ("task.execute", add_agent_and_worker),
    ("task.handoff", add_agent_and_worker),
    ("workflow.delete", add_workflow),
    ("workflow.demote", add_workflow),
    ("workflow.promote", add_workflow),
    ("workflow.run", add_workflow_to_run),
    ("workflow.signal", add_question),
];

/// Returns what finds the things that arguments of a built-in tool refer to: the revision of a manifest, the question
/// to answer, or what the tools of `brigade-toolset` refer to. `None` if they refer to nothing.
pub fn reference(tool: &str) -> Option<Reference> {
    let found = REFERENCES.iter().find(|(known, _)| *known == tool).map(|(_, reference)| *reference);
    found.or_else(|| brigade_toolset::reference(tool))
}

fn text<'a>(args: &'a Json, name: &str) -> Result<&'a str, Failure> {
    let missing = || Failure::new(ErrorCode::InvalidArguments, format!("`{name}` must be a string"));
    args.get(name).and_then(Json::as_str).ok_or_else(missing)
}

fn version(args: &Json) -> Option<&str> {
    args.get("version").and_then(Json::as_str)
}

fn add_agent(args: &Json, context: &Context<'_>, named: &mut ArgumentReferences) -> Result<(), Failure> {
    add_manifest(context, AGENT, text(args, "agent_id")?, None, named).map(drop)
}

fn add_agent_and_worker(
    args: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let manifest = add_manifest(context, AGENT, text(args, "agent_id")?, version(args), named)?;
    let agent = manifest.and_then(|text| read::<Agent>(&text).manifest);
    named.worker = agent.and_then(|agent| worker_for(context.workers, &agent).ok().cloned());
    Ok(())
}

fn add_workflow(args: &Json, context: &Context<'_>, named: &mut ArgumentReferences) -> Result<(), Failure> {
    add_manifest(context, WORKFLOW, text(args, "name")?, version(args), named).map(drop)
}

fn add_workflow_to_run(
    args: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    if let Some((name, version, text)) = to_be_run(text(args, "name")?, version(args), context)? {
        named.add_bytes(format!("{WORKFLOW} {name} {version}"), text.as_bytes());
    }
    Ok(())
}

fn add_question(args: &Json, context: &Context<'_>, named: &mut ArgumentReferences) -> Result<(), Failure> {
    let Some(store) = context.stored()? else { return Ok(()) };
    let flow = store.flow(None, text(args, "execution_id")?)?;
    let question = flow.question.as_deref().filter(|_| flow.status == FlowStatus::Running);
    if let Some(question) = question {
        named.add_bytes(format!("the question of `{}` in {}", flow.state, flow.id), question.as_bytes());
    }
    Ok(())
}

/// Adds a stored manifest and returns its text.
fn add_manifest(
    context: &Context<'_>,
    kind: &str,
    name: &str,
    version: Option<&str>,
    named: &mut ArgumentReferences,
) -> Result<Option<String>, Failure> {
    if let Some(text) = chat_manifest(name).filter(|_| kind == AGENT && version.is_none()) {
        named.add_bytes(format!("{kind} {name}"), text.as_bytes());
        return Ok(Some(text.to_owned()));
    }
    let Some(store) = context.stored()? else { return Ok(None) };
    let (deployed, revision) = store.manifest(kind, name, version)?;
    named.add_bytes(format!("{kind} {} {}", deployed.name, revision.version), revision.text.as_bytes());
    Ok(Some(revision.text))
}
