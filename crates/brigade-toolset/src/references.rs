//! Things other than files that arguments refer to. An approval binds them, so that the call does what the person saw.

use std::collections::BTreeMap;

use brigade_access::Worker;
use brigade_access::builtin::definition;
use brigade_core::{ErrorCode, Fingerprint, Json};
use brigade_db::reviews::Thread;

use crate::context::{Context, Failure};
use crate::{files, git, lane, memory, pr, volume};

/// Adds what the arguments of a tool refer to: the changes to commit, the commit to push with its destination, the work
/// and files to archive or delete, or the text to replace. If it fails, the tool itself reports the error.
pub type Reference = fn(&Json, &Context<'_>, &mut ArgumentReferences) -> Result<(), Failure>;

/// The tools whose arguments can refer to such things.
const REFERENCES: &[(&str, Reference)] = &[
    ("fs.delete", files::add_deleted_files),
    ("git.commit", git::add_committed_changes),
    ("git.delete", git::add_deleted_repository),
    ("git.push", git::pushed),
    ("lane.archive", lane::put_away),
    ("memory.update_core", memory::rewritten),
    ("pr.create", add_pull_request),
    ("pr.reply", add_thread),
    ("pr.resolve", add_thread),
    ("volume.delete", volume::deleted),
];

/// Returns what finds the things that arguments of a tool refer to. `None` if they refer to nothing.
pub fn reference(tool: &str) -> Option<Reference> {
    REFERENCES.iter().find(|(known, _)| *known == tool).map(|(_, reference)| *reference)
}

/// How many of several files are named.
const MAX_NAMED: usize = 3;

/// The things that arguments refer to.
#[derive(Clone, Debug, Default)]
pub struct ArgumentReferences {
    /// The things, by display name, with a fingerprint that changes with them.
    pub things: BTreeMap<String, Fingerprint>,
    /// The worker that the call would start.
    pub worker: Option<Worker>,
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
    pub fn add_bytes(&mut self, name: String, bytes: &[u8]) {
        self.things.insert(name, Fingerprint::of_bytes(bytes));
    }
}

/// Returns the current state of the things that arguments refer to. For a pull request, returns what prevents it.
/// Returns nothing for unknown names.
pub(crate) fn argument_references(
    reference: Reference,
    tool: &str,
    args: &Json,
    context: &Context<'_>,
) -> ArgumentReferences {
    let mut named = ArgumentReferences::default();
    let args = definition(tool).map_or_else(|| args.clone(), |row| row.with_defaults(args));
    // If the lookup fails, nothing is bound, and the tool itself reports the error.
    let _ = reference(&args, context, &mut named);
    named
}

fn add_pull_request(
    args: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    named.against = pr::requested_pull_request(args, context).err();
    Ok(())
}

fn add_thread(args: &Json, context: &Context<'_>, named: &mut ArgumentReferences) -> Result<(), Failure> {
    let missing = || Failure::new(ErrorCode::InvalidArguments, "`threadId` must be a string");
    let id = args.get("threadId").and_then(Json::as_str).ok_or_else(missing)?;
    let Some(store) = context.stored()? else { return Ok(()) };
    let thread = store.record::<Thread>(None, id)?;
    let comments = &thread.record.comments;
    let bodies = comments.iter().map(|comment| (&comment.id, comment.body.as_str()));
    let fingerprint = Fingerprint::builder("brigade.thread.v1").table("comments", bodies).finish();
    named.things.insert(format!("{} with {} comments", thread.id, comments.len()), fingerprint);
    Ok(())
}
