//! Lanes: branches with separate worktrees in `.brigade/lanes/ID/`.

use std::path::PathBuf;

use brigade_access::{LANES, lane_entry_lock, lane_lock};
use brigade_core::{ErrorCode, Json};
use brigade_db::executions::Execution;
use brigade_db::records::{Lane, StoredRecord};
use brigade_fs::{Lock, RelPath};
use brigade_process::ProcessIdentity;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::files::locked;
use crate::git::repository::{Reach, Repository, directories};
use crate::references::ArgumentReferences;
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("lane.archive", archive),
    ("lane.create", create),
    ("lane.get", get),
    ("lane.list", list),
    ("lane.rename", rename),
];

/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 128;

/// The maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 2 << 10;

/// The maximum length of the part of a branch that comes from a name.
const MAX_SLUG: usize = 40;

#[derive(Deserialize)]
struct CreateArgs {
    name: String,
    description: Option<String>,
    #[serde(rename = "parentLaneId")]
    parent: Option<String>,
}

#[derive(Deserialize)]
struct LaneArgs {
    lane_id: String,
}

#[derive(Deserialize)]
struct NameArgs {
    lane_id: String,
    name: String,
}

#[derive(Deserialize)]
struct ArchiveArgs {
    lane_id: String,
    name: Option<String>,
}

fn disk(error: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::FileError, error.to_string())
}

/// Returns the worktree of a lane, relative to the workspace.
fn folder(id: &str) -> Result<RelPath, Failure> {
    let path: RelPath = LANES.parse().map_err(|_| Failure::missing("lane"))?;
    path.join(id).map_err(|_| Failure::missing("lane"))
}

fn check_name(name: &str) -> Result<(), Failure> {
    if name.trim().is_empty() || MAX_NAME < name.len() || name.chars().any(char::is_control) {
        let message = format!("a name has 1 to {MAX_NAME} bytes and no control characters");
        return Err(Failure::new(ErrorCode::InvalidArguments, message));
    }
    Ok(())
}

/// Converts a name to a part of a branch: letters, digits and `-`.
fn slug(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let mut slug = words.join("-");
    slug.truncate(MAX_SLUG);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "lane".to_owned() } else { slug.to_owned() }
}

/// Finds a lane. Lanes belong to the workspace, so all agents with these tools see all of them.
fn find(context: &Context<'_>, id: &str) -> Result<StoredRecord<Lane>, Failure> {
    let store = context.stored_or_missing("lane")?;
    store.record::<Lane>(None, id).map_err(|_| Failure::missing("lane"))
}

/// Opens the worktree of a lane. Returns `None` if it no longer exists.
///
/// # Errors
/// Fails if the directory does not belong to this repository.
fn worktree(context: &Context<'_>, repository: &Repository, id: &str) -> Result<Option<Repository>, Failure> {
    let top = context.fs.root().join(folder(id)?.as_path());
    match directories(context, &top) {
        Some((git_dir, common)) if common == repository.common && git_dir != common => {
            repository.worktree(context, top, git_dir).map(Some)
        }
        None if !context.fs.exists(&folder(id)?).map_err(disk)? => Ok(None),
        // A worktree of another repository does not belong to this workspace.
        Some(_) | None => {
            let message =
                "the lane's directory is no longer a worktree of the repository; a person may look at it";
            Err(Failure::new(ErrorCode::UnsafeRepository, message))
        }
    }
}

/// Opens the repository of the files that call paths refer to: the workspace, or the lane of the session.
///
/// # Errors
/// Fails if there is no repository, or the lane no longer belongs to it.
pub(crate) fn of_session(context: &Context<'_>) -> Result<Repository, Failure> {
    let repository = Repository::for_workspace(context)?;
    let Some(root) = context.root else { return Ok(repository) };
    let id = root
        .strip_prefix(LANES)
        .map(|rest| rest.trim_start_matches('/'))
        .ok_or_else(|| Failure::missing("lane"))?;
    worktree(context, &repository, id)?
        .ok_or_else(|| Failure::new(ErrorCode::Archived, "the lane of the session is archived"))
}

/// Returns the directory of the lane that an input names as `lane`, otherwise `bound`, the lane of the session. An
/// agent can only name lanes that it created, and a session in a lane can only name that lane.
///
/// # Errors
/// Fails if the caller cannot work in such a lane.
pub fn lane_of_input(
    context: &Context<'_>,
    input: &Json,
    bound: Option<String>,
) -> Result<Option<String>, Failure> {
    let id = match input.get("lane") {
        None | Some(Json::Null) => return Ok(bound),
        Some(lane) => lane.as_str().ok_or_else(|| {
            Failure::new(ErrorCode::InvalidArguments, "`input.lane` must be the id of a lane, as a string")
        })?,
    };
    let store = context.stored_or_missing("lane")?;
    let kept = store.record::<Lane>(context.agent(), id).map_err(|_| Failure::missing("lane"))?;
    if kept.record.is_archived {
        return Err(Failure::new(ErrorCode::Archived, "the lane is archived"));
    }
    let root = folder(&kept.id)?.to_string();
    if bound.is_some_and(|bound| bound != root) {
        let message = "the session works in another lane, and so do its tasks";
        return Err(Failure::new(ErrorCode::OutsideContext, message));
    }
    Ok(Some(root))
}

/// Prevents other calls from starting work in the lane with this directory.
fn lock_entry(context: &Context<'_>, root: &str) -> Result<Lock, Failure> {
    locked(context, &lane_entry_lock(root), "another call is removing the lane; try again")
}

/// Prevents an existing lane from being removed while the lock is held.
///
/// # Errors
/// Fails if the lane is archived or being removed.
pub fn lock_lane(context: &Context<'_>, root: &str) -> Result<Lock, Failure> {
    let lock = lock_entry(context, root)?;
    let id = root.rsplit('/').next().unwrap_or_default();
    if find(context, id)?.record.is_archived {
        return Err(Failure::new(ErrorCode::Archived, "the lane is archived"));
    }
    Ok(lock)
}

/// Returns the base of a lane: the branch that it started from, or the commit if that branch was deleted.
fn base(repository: &Repository, lane: &Lane) -> Result<String, Failure> {
    if let Some(branch) = &lane.base_branch {
        let name = format!("refs/heads/{branch}");
        if repository.commit_of(&name)?.is_some() {
            return Ok(name);
        }
    }
    Ok(lane.base.clone())
}

/// A lane: the result of `lane.get`, and a row of `lane.list`.
#[derive(Serialize)]
struct LaneRow {
    id: String,
    name: String,
    branch: String,
    base: String,
    path: String,
    dirty: bool,
    ahead: u64,
    behind: u64,
    parent: Option<String>,
    archived: bool,
}

#[derive(Serialize)]
struct LaneCreated {
    success: bool,
    lane_id: String,
    name: String,
    branch: String,
    worktree_path: String,
}

#[derive(Serialize)]
struct LaneList {
    lanes: Vec<LaneRow>,
}

#[derive(Serialize)]
struct LaneChanged {
    lane: LaneRow,
}

/// Describes a lane.
fn describe(
    context: &Context<'_>,
    repository: &Repository,
    kept: &StoredRecord<Lane>,
) -> Result<LaneRow, Failure> {
    let lane = &kept.record;
    let branch = format!("refs/heads/{}", lane.branch);
    let tree = worktree(context, repository, &kept.id);
    // The checked-out commit counts, which may differ from the branch.
    let head = tree.as_ref().ok().and_then(Option::as_ref).map(|tree| tree.commit_of("HEAD"));
    let tip = head.transpose()?.flatten().or(repository.commit_of(&branch)?);
    let (ahead, behind) = match tip {
        Some(tip) => repository.apart(&tip, &base(repository, lane)?)?,
        None => (0, 0),
    };
    let is_dirty = match tree {
        Ok(Some(tree)) => tree.status()?.is_dirty(),
        Ok(None) => false,
        // A worktree that cannot be checked may contain work.
        Err(_) => true,
    };
    Ok(LaneRow {
        id: kept.id.clone(),
        name: lane.name.clone(),
        branch: lane.branch.clone(),
        base: lane.base_branch.as_ref().unwrap_or(&lane.base).clone(),
        path: folder(&kept.id)?.to_string(),
        dirty: is_dirty,
        ahead,
        behind,
        parent: lane.parent.clone(),
        archived: lane.is_archived,
    })
}

fn create(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let CreateArgs { name, description, parent } = arguments(input)?;
    check_name(&name)?;
    if description.as_ref().is_some_and(|text| MAX_DESCRIPTION < text.len()) {
        let message = format!("a description has at most {MAX_DESCRIPTION} bytes");
        return Err(Failure::new(ErrorCode::InvalidArguments, message));
    }
    let mut repository = Repository::for_workspace(context)?;
    let no_commit = || Failure::new(ErrorCode::NoCommit, "the repository has no commit to start from");
    let (base, base_branch) = match &parent {
        Some(parent) => {
            let parent = find(context, parent)?;
            let branch = format!("refs/heads/{}", parent.record.branch);
            (repository.commit_of(&branch)?.ok_or_else(no_commit)?, Some(parent.record.branch))
        }
        None => {
            let base = repository.commit_of("HEAD")?.ok_or_else(no_commit)?;
            (base, repository.branch()?)
        }
    };
    let store = context.store()?;
    let id = store.new_record_id::<Lane>()?;
    let random = id.rsplit('-').next().unwrap_or_default();
    let branch = format!("brigade/{}-{}", slug(&name), &random[..random.len().min(8)]);
    let path = folder(&id)?;
    let lanes: RelPath = LANES.parse().map_err(|_| Failure::missing("lane"))?;
    context.fs.create_dir_all(&lanes).map_err(disk)?;
    let ignored = lanes.join(".gitignore").map_err(disk)?;
    if !context.fs.exists(&ignored).map_err(disk)? {
        // Without this file, the next `git add` of a person would add lanes as submodules.
        context.fs.write_cache(&ignored, b"*\n").map_err(disk)?;
    }
    let paths = repository.order("ls-tree", Reach::Read).words([
        "-r",
        "-z",
        "--name-only",
        "--end-of-options",
        &base,
    ]);
    let paths: Vec<Vec<u8>> = paths.run()?.parts().map(<[u8]>::to_vec).collect();
    repository.check_filters(&paths)?;
    let root = context.fs.root().to_owned();
    repository.also = vec![root.join(lanes.as_path())];
    let top: PathBuf = root.join(path.as_path());
    let order = repository.order("worktree", Reach::Repository).without("GIT_WORK_TREE");
    let order = order.words(["add", "--quiet", "--no-track", "-b", &branch]);
    order.word("--end-of-options").word(&top).word(&base).run()?;
    let lane = Lane {
        name: name.clone(),
        description,
        branch: branch.clone(),
        base,
        base_branch,
        parent,
        is_archived: false,
    };
    store.put_record(&id, &context.owner(), &lane, context.clock.now())?;
    let worktree_path = path.to_string();
    Ok(Output::from_result(&LaneCreated { success: true, lane_id: id, name, branch, worktree_path }))
}

fn list(_input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let repository = Repository::for_workspace(context)?;
    let lanes = match context.stored()? {
        Some(store) => store.records::<Lane>(None)?,
        None => Vec::new(),
    };
    let lanes: Result<Vec<LaneRow>, Failure> =
        lanes.iter().map(|lane| describe(context, &repository, lane)).collect();
    Ok(Output::from_result(&LaneList { lanes: lanes? }))
}

fn get(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let LaneArgs { lane_id } = arguments(input)?;
    let repository = Repository::for_workspace(context)?;
    let lane = find(context, &lane_id)?;
    Ok(Output::from_result(&describe(context, &repository, &lane)?))
}

/// Stores the changed row of a lane.
fn store_lane(
    context: &mut Context<'_>,
    repository: &Repository,
    kept: &StoredRecord<Lane>,
) -> Result<Output, Failure> {
    context.store()?.put_record(&kept.id, &kept.owner, &kept.record, context.clock.now())?;
    Ok(Output::from_result(&LaneChanged { lane: describe(context, repository, kept)? }))
}

fn rename(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let NameArgs { lane_id, name } = arguments(input)?;
    check_name(&name)?;
    let repository = Repository::for_workspace(context)?;
    let mut kept = find(context, &lane_id)?;
    // The branch keeps its name, because other things refer to it.
    kept.record.name = name;
    store_lane(context, &repository, &kept)
}

/// Adds the work that a call would archive.
pub(crate) fn put_away(
    input: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let ArchiveArgs { lane_id, .. } = arguments(input)?;
    let repository = Repository::for_workspace(context)?;
    let kept = find(context, &lane_id)?;
    let tree = worktree(context, &repository, &kept.id)?;
    if let Some(tree) = &tree {
        let (text, fingerprint) = tree.work(&tree.status()?);
        named.things.insert(format!("lane {} {text}", kept.id), fingerprint);
    }
    let work = unmerged_work(&repository, &kept.record, tree.as_ref())?;
    named.for_person = work.map(|work| format!("the lane has {work}"));
    Ok(())
}

/// Describes the work that exists only in a lane.
fn unmerged_work(
    repository: &Repository,
    lane: &Lane,
    tree: Option<&Repository>,
) -> Result<Option<&'static str>, Failure> {
    if let Some(tree) = tree
        && tree.status()?.is_dirty()
    {
        return Ok(Some("changes that are not committed"));
    }
    // The worktree may have another branch checked out, or none.
    let head = tree.map_or(Ok(None), |tree| tree.commit_of("HEAD"))?;
    let tips = [repository.commit_of(&format!("refs/heads/{}", lane.branch))?, head];
    for tip in tips.iter().flatten() {
        if !repository.is_in(tip, &base(repository, lane)?)? {
            return Ok(Some("commits that are not merged"));
        }
    }
    Ok(None)
}

/// Returns whether the process that runs a task or drives a workflow is gone. Its identity is the process id, the start
/// time and the id of the boot.
pub fn is_gone(gateway: &str) -> bool {
    let identity = || {
        let mut parts = gateway.splitn(3, ' ');
        let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        ProcessIdentity::from_record(pid, start, parts.next()?).ok()
    };
    !identity().is_some_and(|identity| identity.is_alive())
}

/// Refuses to remove the lane with this directory while a call or a task works there.
fn check_free(context: &Context<'_>, root: &str) -> Result<(), Failure> {
    let runs = context.calls.map_or(Ok(false), |calls| calls.runs_in(root))?;
    // Work of a process that is gone has ended.
    let works = |task: &Execution| task.root.as_deref() == Some(root) && !is_gone(&task.gateway);
    if runs || context.store()?.open_executions(None)?.iter().any(works) {
        let message = "a command or a task is running in the lane; wait for it, or end it";
        return Err(Failure::new(ErrorCode::InUse, message));
    }
    Ok(())
}

fn archive(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ArchiveArgs { lane_id, name } = arguments(input)?;
    let mut repository = Repository::for_workspace(context)?;
    let mut kept = find(context, &lane_id)?;
    if name.as_ref().is_some_and(|name| *name != kept.record.name) {
        return Err(Failure::new(ErrorCode::NotFound, "the lane has another name"));
    }
    let directory = folder(&kept.id)?;
    // Starting work there takes the same lock.
    let _alone = lock_entry(context, directory.as_str())?;
    let tree = worktree(context, &repository, &kept.id)?;
    if let Some(work) = unmerged_work(&repository, &kept.record, tree.as_ref())?
        && !context.is_agreed
    {
        let message = format!("the lane has {work}; ask a person to approve archiving it");
        return Err(Failure::new(ErrorCode::UnmergedWork, message));
    }
    check_free(context, directory.as_str())?;
    if let Some(tree) = tree {
        let root = context.fs.root().to_owned();
        repository.also = vec![root.join(LANES)];
        let order = repository.order("worktree", Reach::Repository).without("GIT_WORK_TREE");
        order.words(["remove", "--force", "--end-of-options"]).word(&tree.top).run()?;
    }
    // The branch keeps the commits.
    kept.record.is_archived = true;
    let output = store_lane(context, &repository, &kept)?;
    // The locks are no longer needed. If removing one fails, only a small file remains.
    for lock in [lane_lock(directory.as_str()), lane_entry_lock(directory.as_str())] {
        drop(context.fs.remove(&RelPath::composed(&lock)));
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_part_of_a_branch() {
        for (name, expect) in [
            ("Fix the log-in", "fix-the-log-in"),
            ("  --x..y/z  ", "x-y-z"),
            ("Übung", "bung"),
            ("///", "lane"),
            ("a".repeat(90).as_str(), "a".repeat(40).as_str()),
        ] {
            assert_eq!(slug(name), expect, "{name}");
        }
    }
}
