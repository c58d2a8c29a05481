//! Lanes: branches with a worktree of their own in `.brigade/lanes/ID/`.

use std::path::PathBuf;

use brigade_access::{LANES, lane_entry_lock, lane_lock};
use brigade_core::{Json, codes, reasons};
use brigade_db::executions::Execution;
use brigade_db::records::{Lane, StoredRecord};
use brigade_fs::{Lock, RelPath};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::files::locked;
use crate::git::repository::{Reach, Repository, directories};
use crate::named::ArgumentReferences;
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("lane.archive", archive),
    ("lane.create", create),
    ("lane.get", get),
    ("lane.list", list),
    ("lane.rename", rename),
];

/// The longest name, in bytes.
const MAX_NAME: usize = 128;

/// The longest description, in bytes.
const MAX_DESCRIPTION: usize = 2 << 10;

/// The longest part of a branch that is made of a name.
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

fn not_found() -> Failure {
    Failure::new(codes::NOT_FOUND, "there is no such lane")
}

fn disk(error: impl std::fmt::Display) -> Failure {
    Failure::new(codes::FILE_ERROR, error.to_string())
}

/// Returns the worktree of a lane, relative to the workspace.
fn folder(id: &str) -> Result<RelPath, Failure> {
    let path: RelPath = LANES.parse().map_err(|_| not_found())?;
    path.join(id).map_err(|_| not_found())
}

fn check_name(name: &str) -> Result<(), Failure> {
    if name.trim().is_empty() || MAX_NAME < name.len() || name.chars().any(char::is_control) {
        let message = format!("a name has 1 to {MAX_NAME} bytes and no control characters");
        return Err(Failure::new(reasons::INVALID_ARGUMENTS, message));
    }
    Ok(())
}

/// Returns a name as a part of a branch: letters, digits and `-`.
fn slug(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let mut slug = words.join("-");
    slug.truncate(MAX_SLUG);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "lane".to_owned() } else { slug.to_owned() }
}

/// Finds a lane. Lanes belong to the workspace, so every agent that is shown these tools sees all of them.
fn find(context: &Context<'_>, id: &str) -> Result<StoredRecord<Lane>, Failure> {
    let store = context.stored()?.ok_or_else(not_found)?;
    store.record::<Lane>(None, id).map_err(|_| not_found())
}

/// Opens the worktree of a lane. `None` if it is not there any more.
///
/// # Errors
/// Fails if its directory belongs to another repository, or to none.
fn worktree(context: &Context<'_>, repository: &Repository, id: &str) -> Result<Option<Repository>, Failure> {
    let top = context.fs.root().join(folder(id)?.as_path());
    match directories(context, &top) {
        Some((git_dir, common)) if common == repository.common && git_dir != common => {
            repository.worktree(context, top, git_dir).map(Some)
        }
        None if !context.fs.exists(&folder(id)?).map_err(disk)? => Ok(None),
        // A worktree of another repository does not belong to this workspace.
        Some(_) | None => {
            let message = "the directory of the lane is no worktree of the repository any more; a person may look at it";
            Err(Failure::new(codes::UNSAFE_REPOSITORY, message))
        }
    }
}

/// Opens the repository of the files that paths of the call are relative to: the workspace, or the lane of the session.
///
/// # Errors
/// Fails if there is no repository, or the lane is none of it any more.
pub(crate) fn of_session(context: &Context<'_>) -> Result<Repository, Failure> {
    let repository = Repository::for_workspace(context)?;
    let Some(root) = context.root else { return Ok(repository) };
    let id = root.strip_prefix(LANES).map(|rest| rest.trim_start_matches('/')).ok_or_else(not_found)?;
    worktree(context, &repository, id)?
        .ok_or_else(|| Failure::new(codes::ARCHIVED, "the lane of the session was put away"))
}

/// Returns the directory of the lane that a task works in: the one that its input names, else that of the session that
/// asks, which is `bound`. An agent names only lanes that it made, and a session in a lane none but its own.
pub(crate) fn of_task(
    context: &Context<'_>,
    input: &Json,
    bound: Option<String>,
) -> Result<Option<String>, Failure> {
    let id = match input.get("lane") {
        None | Some(Json::Null) => return Ok(bound),
        Some(lane) => lane.as_str().ok_or_else(|| {
            Failure::new(reasons::INVALID_ARGUMENTS, "`input.lane` is the id of a lane, which is a text")
        })?,
    };
    let store = context.stored()?.ok_or_else(not_found)?;
    let kept = store.record::<Lane>(context.agent(), id).map_err(|_| not_found())?;
    if kept.record.is_archived {
        return Err(Failure::new(codes::ARCHIVED, "the lane was put away"));
    }
    let root = folder(&kept.id)?.to_string();
    if bound.is_some_and(|bound| bound != root) {
        let message = "the session works in another lane, and so do its tasks";
        return Err(Failure::new(reasons::OUTSIDE_CONTEXT, message));
    }
    Ok(Some(root))
}

/// Keeps others from beginning to work in a lane, which has this directory.
fn lock_entry(context: &Context<'_>, root: &str) -> Result<Lock, Failure> {
    locked(context, &lane_entry_lock(root), "another call takes the lane away; try again")
}

/// Keeps a lane that is there from being taken away, as long as the lock is held.
pub(crate) fn lock_lane(context: &Context<'_>, root: &str) -> Result<Lock, Failure> {
    let lock = lock_entry(context, root)?;
    let id = root.rsplit('/').next().unwrap_or_default();
    if find(context, id)?.record.is_archived {
        return Err(Failure::new(codes::ARCHIVED, "the lane was put away"));
    }
    Ok(lock)
}

/// Where the work of a lane goes: the branch that it began at, or the commit if that branch is gone.
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
    // What is checked out counts, which need not be the branch.
    let head = tree.as_ref().ok().and_then(Option::as_ref).map(|tree| tree.commit_of("HEAD"));
    let tip = head.transpose()?.flatten().or(repository.commit_of(&branch)?);
    let (ahead, behind) = match tip {
        Some(tip) => repository.apart(&tip, &base(repository, lane)?)?,
        None => (0, 0),
    };
    let is_dirty = match tree {
        Ok(Some(tree)) => tree.standing()?.is_dirty(),
        Ok(None) => false,
        // What cannot be looked at may hold work.
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
        return Err(Failure::new(reasons::INVALID_ARGUMENTS, message));
    }
    let mut repository = Repository::for_workspace(context)?;
    let no_commit = || Failure::new(codes::NO_COMMIT, "the repository has no commit to begin at");
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
    let lanes: RelPath = LANES.parse().map_err(|_| not_found())?;
    context.fs.create_dir_all(&lanes).map_err(disk)?;
    let ignored = lanes.join(".gitignore").map_err(disk)?;
    if !context.fs.exists(&ignored).map_err(disk)? {
        // Otherwise the next `git add` of a person would take lanes for submodules.
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

/// Writes what became of a lane.
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
    // The branch stays: what refers to it must find it.
    kept.record.name = name;
    store_lane(context, &repository, &kept)
}

/// Adds the work that a call would put away.
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
        let (text, fingerprint) = tree.work(&tree.standing()?);
        named.things.insert(format!("lane {} {text}", kept.id), fingerprint);
    }
    let work = unmerged_work(&repository, &kept.record, tree.as_ref())?;
    named.for_person = work.map(|work| format!("the lane has {work}"));
    Ok(())
}

/// Returns the work in a lane that nothing else has, in words.
fn unmerged_work(
    repository: &Repository,
    lane: &Lane,
    tree: Option<&Repository>,
) -> Result<Option<&'static str>, Failure> {
    if let Some(tree) = tree
        && tree.standing()?.is_dirty()
    {
        return Ok(Some("changes that are not committed"));
    }
    // Another branch, or none, may be checked out there.
    let head = tree.map_or(Ok(None), |tree| tree.commit_of("HEAD"))?;
    let tips = [repository.commit_of(&format!("refs/heads/{}", lane.branch))?, head];
    for tip in tips.iter().flatten() {
        if !repository.is_in(tip, &base(repository, lane)?)? {
            return Ok(Some("commits that are not merged"));
        }
    }
    Ok(None)
}

/// Refuses to take a lane away, which has this directory, under a call or a task that works there.
fn check_free(context: &Context<'_>, root: &str) -> Result<(), Failure> {
    let runs = context.calls.map_or(Ok(false), |calls| calls.runs_in(root))?;
    // What belongs to a process that is gone works no more.
    let is_gone = |gateway: &str| context.tasks.is_some_and(|tasks| tasks.is_gone(gateway));
    let works = |task: &Execution| task.root.as_deref() == Some(root) && !is_gone(&task.gateway);
    if runs || context.store()?.open_executions(None)?.iter().any(works) {
        let message = "a command or a task works in the lane; wait for it, or end it";
        return Err(Failure::new(codes::IN_USE, message));
    }
    Ok(())
}

fn archive(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ArchiveArgs { lane_id, name } = arguments(input)?;
    let mut repository = Repository::for_workspace(context)?;
    let mut kept = find(context, &lane_id)?;
    if name.as_ref().is_some_and(|name| *name != kept.record.name) {
        return Err(Failure::new(codes::NOT_FOUND, "the lane has another name"));
    }
    let directory = folder(&kept.id)?;
    // Who begins to work there does so under the same lock.
    let _alone = lock_entry(context, directory.as_str())?;
    let tree = worktree(context, &repository, &kept.id)?;
    if let Some(work) = unmerged_work(&repository, &kept.record, tree.as_ref())?
        && !context.is_agreed
    {
        let message = format!("the lane has {work}; a person may agree to put it away");
        return Err(Failure::new(codes::UNMERGED_WORK, message));
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
    // Nobody needs them any more. One that stays is a small file.
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
