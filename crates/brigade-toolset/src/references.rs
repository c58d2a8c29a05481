//! Things other than files that arguments refer to. An approval binds them, so that the call does what the person saw.

use std::collections::BTreeMap;

use brigade_access::builtin::definition;
use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_db::flows::FlowStatus;
use brigade_db::reviews::Thread;
use brigade_manifest::{Agent, read};

use crate::agent::KIND as AGENT;
use crate::context::{Context, Failure};
use crate::shipped::chat_manifest;
use crate::workflow::{KIND as WORKFLOW, to_be_run};

/// How many of several files are named.
const MAX_NAMED: usize = 3;

/// The things that arguments refer to.
#[derive(Clone, Debug, Default)]
pub struct ArgumentReferences {
    /// The things, by display name, with a fingerprint that changes with them.
    pub things: BTreeMap<String, Fingerprint>,
    /// The agent that would work, if the arguments refer to its manifest.
    pub agent: Option<Agent>,
    /// Why the call would fail, if this is already known. The tool checks again when it runs.
    pub against: Option<Failure>,
    /// Why a person must approve the call, whatever the rules of the policy say.
    pub for_person: Option<String>,
}

impl ArgumentReferences {
    /// Adds a thing that its name describes completely.
    pub(crate) fn add(&mut self, name: String) {
        let fingerprint = Fingerprint::of_bytes(name.as_bytes());
        self.things.insert(name, fingerprint);
    }

    /// Adds files, each with data that shows whether it changed. The display name has their number and the first of
    /// them.
    pub(crate) fn add_files(&mut self, what: &str, mut files: Vec<(String, String)>) {
        files.sort_unstable();
        let first: Vec<&str> = files.iter().take(MAX_NAMED).map(|(path, _)| path.as_str()).collect();
        let more = files.len() - first.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let name = match files.len() {
            0 => format!("{what} no files"),
            1 => format!("{what} 1 file: {}", first.join(", ")),
            count => format!("{what} {count} files: {}{more}", first.join(", ")),
        };
        let fingerprint = Fingerprint::builder("brigade.files.v1").table("files", files).finish();
        self.things.insert(name, fingerprint);
    }

    /// Adds a thing that consists of these bytes.
    pub(crate) fn add_bytes(&mut self, name: String, bytes: &[u8]) {
        self.things.insert(name, Fingerprint::of_bytes(bytes));
    }
}

/// Returns whether arguments of a tool can refer to such things.
pub fn names_things(tool: &str) -> bool {
    matches!(
        tool,
        "workflow.run"
            | "workflow.promote"
            | "workflow.demote"
            | "workflow.delete"
            | "workflow.signal"
            | "agent.delete"
            | "task.execute"
            | "task.handoff"
            | "fs.delete"
            | "git.commit"
            | "git.push"
            | "git.delete"
            | "lane.archive"
            | "memory.update_core"
            | "pr.create"
            | "pr.reply"
            | "pr.resolve"
            | "volume.delete"
    )
}

/// Returns the current state of the things that arguments refer to: the revision of a manifest, the question to answer,
/// the changes to commit, the commit to push with its destination, the work and files to archive or delete, or the text
/// to replace. For a pull request, returns what prevents it.
/// Returns nothing for other tools and for unknown names.
pub fn argument_references(context: &Context<'_>, tool: &str, args: &Json) -> ArgumentReferences {
    let mut named = ArgumentReferences::default();
    if names_things(tool) {
        let args = definition(tool).map_or_else(|| args.clone(), |row| row.with_defaults(args));
        // If the lookup fails, nothing is bound, and the tool itself reports the error.
        let _ = find(context, tool, &args, &mut named);
    }
    named
}

fn find(
    context: &Context<'_>,
    tool: &str,
    args: &Json,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let text = |name: &str| args.get(name).and_then(Json::as_str);
    let needed = |name: &str| {
        text(name)
            .ok_or_else(|| Failure::new(ErrorCode::InvalidArguments, format!("`{name}` must be a string")))
    };
    match tool {
        "workflow.run" => {
            if let Some((name, version, text)) = to_be_run(needed("name")?, text("version"), context)? {
                named.add_bytes(format!("{WORKFLOW} {name} {version}"), text.as_bytes());
            }
        }
        "workflow.promote" | "workflow.demote" | "workflow.delete" => {
            manifest(context, WORKFLOW, needed("name")?, text("version"), named)?;
        }
        "agent.delete" => drop(manifest(context, AGENT, needed("agent_id")?, None, named)?),
        "task.execute" | "task.handoff" => {
            let found = manifest(context, AGENT, needed("agent_id")?, text("version"), named)?;
            named.agent = found.and_then(|text| read::<Agent>(&text).manifest);
        }
        "workflow.signal" => {
            let Some(store) = context.stored()? else { return Ok(()) };
            let flow = store.flow(None, needed("execution_id")?)?;
            let question = flow.question.as_deref().filter(|_| flow.status == FlowStatus::Running);
            if let Some(question) = question {
                let name = format!("the question of `{}` in {}", flow.state, flow.id);
                named.add_bytes(name, question.as_bytes());
            }
        }
        "fs.delete" => crate::files::add_deleted_files(args, context, named)?,
        "volume.delete" => crate::volume::deleted(args, context, named)?,
        "git.commit" => crate::git::add_committed_changes(args, context, named)?,
        "git.push" => crate::git::pushed(args, context, named)?,
        "git.delete" => crate::git::add_deleted_repository(args, context, named)?,
        "lane.archive" => crate::lane::put_away(args, context, named)?,
        "memory.update_core" => crate::memory::rewritten(args, context, named)?,
        "pr.create" => named.against = crate::pr::requested_pull_request(args, context).err(),
        "pr.reply" | "pr.resolve" => {
            let Some(store) = context.stored()? else { return Ok(()) };
            let thread = store.record::<Thread>(None, needed("threadId")?)?;
            let comments = &thread.record.comments;
            let of = comments.iter().map(|comment| (&comment.id, comment.body.as_str()));
            let fingerprint = Fingerprint::builder("brigade.thread.v1").table("comments", of).finish();
            named.things.insert(format!("{} with {} comments", thread.id, comments.len()), fingerprint);
        }
        _ => {}
    }
    Ok(())
}

/// Adds a stored manifest and returns its text.
fn manifest(
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
