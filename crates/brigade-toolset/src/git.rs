//! Repositories: `git.*`. The binding `workspace` is the workspace's repository; other bindings are clones in volumes.

mod login;
pub(crate) mod repository;
mod results;
#[cfg(test)]
mod tests;

use brigade_access::builtin::{PathProblem, PathUse, allowed_url, is_plain_name};
use brigade_core::{ErrorCode, Json};
use brigade_db::records::{Repository as Row, StoredRecord};
use brigade_db::volumes::folder;
use brigade_fs::RelPath;
use brigade_git::GitDirectories;
use serde::Deserialize;

use crate::context::{Context, Failure, Output};
use crate::references::ArgumentReferences;
use crate::run::{Function, arguments};
use login::{Login, fetch, local_of};
use repository::{PLAIN, Reach, Repository, RepositoryStatus, directories, find_git, text_of};
use results::{
    BindingRow, Bindings, CloneResult, CommitResult, CommitRow, DeleteResult, Differences, Log, PushResult,
    RefRow, RefreshResult, StatusResult,
};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[
    ("git.clone", clone),
    ("git.commit", commit),
    ("git.delete", delete),
    ("git.diff", diff),
    ("git.list", list),
    ("git.log", log),
    ("git.push", push),
    ("git.refresh", refresh),
    ("git.status", status),
];

/// The binding of the workspace's repository.
const WORKSPACE: &str = "workspace";

/// The git directories of clones. The tools for files of volumes cannot reach them.
const GIT_DIRS: &str = ".brigade/tools/git";

/// The size limit of a volume for a clone, in bytes, if the quota allows it.
const CLONE_LIMIT: u64 = 256 << 20;

/// The number of rows of a page.
const PAGE: u64 = 50;

#[derive(Deserialize)]
struct BindingArgs {
    binding_id: String,
}

#[derive(Deserialize)]
struct DiffArgs {
    binding_id: String,
    staged: bool,
}

#[derive(Deserialize)]
struct LogArgs {
    binding_id: String,
    limit: u64,
}

#[derive(Deserialize)]
struct ListArgs {
    page: Option<u64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
struct CommitArgs {
    binding_id: String,
    message: String,
    paths: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct PushArgs {
    binding_id: String,
    remote: String,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

#[derive(Deserialize)]
struct CloneArgs {
    repo_url: String,
    label: String,
    git_ref: RefArgs,
    #[serde(default)]
    sparse_paths: Vec<String>,
    shallow: bool,
    credential_binding_id: Option<String>,
}

#[derive(Deserialize)]
struct RefArgs {
    kind: String,
    value: String,
}

/// The repository of a binding.
struct BoundRepository {
    id: String,
    repository: Repository,
    /// `None` for the workspace.
    row: Option<StoredRecord<Row>>,
}

impl BoundRepository {
    /// Returns the name of the credential that the clone was made with.
    fn credential(&self) -> Option<&str> {
        self.row.as_ref()?.record.credential.as_deref()
    }
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidArguments, message)
}

fn disk(error: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::FileError, error.to_string())
}

/// Returns the git directory of a clone, relative to the workspace.
fn git_dir_of(id: &str) -> Result<RelPath, Failure> {
    let path: RelPath = GIT_DIRS.parse().map_err(|_| Failure::missing("binding"))?;
    path.join(id).map_err(|_| Failure::missing("binding"))
}

/// Opens the repository of a binding of the caller. A person can open all of them.
fn open(context: &Context<'_>, id: &str) -> Result<BoundRepository, Failure> {
    if id == WORKSPACE {
        return Ok(BoundRepository {
            id: id.to_owned(),
            repository: crate::lane::of_session(context)?,
            row: None,
        });
    }
    let row = context.stored_or_missing("binding")?.record::<Row>(context.agent(), id);
    let row = row.map_err(|_| Failure::missing("binding"))?;
    let root = context.fs.root();
    let top = root.join(folder(&row.record.volume)?.as_path());
    let git_dir = root.join(git_dir_of(&row.id)?.as_path());
    let repository = Repository::at(context, top, git_dir.clone(), git_dir)?;
    Ok(BoundRepository { id: row.id.clone(), repository, row: Some(row) })
}

/// Describes a binding.
fn binding(context: &Context<'_>, bound: &BoundRepository, status: &RepositoryStatus) -> BindingRow {
    let mask = |text: &str| context.redactor.redact_str(text);
    let row = bound.row.as_ref().map(|row| &row.record);
    let url = match row {
        Some(row) => Some(row.url.clone()),
        None => bound.repository.url_of("origin", false),
    };
    let (kind, value) = match (row, &status.branch) {
        (Some(row), None) => (row.ref_kind.clone(), Some(row.ref_value.clone())),
        (_, Some(branch)) => ("branch".to_owned(), Some(branch.clone())),
        (None, None) => ("commit".to_owned(), status.commit.clone()),
    };
    BindingRow {
        binding_id: bound.id.clone(),
        label: row.map_or(WORKSPACE, |row| &row.label).to_owned(),
        repo_url: url.map(|url| mask(&url)),
        volume_id: row.map(|row| row.volume.clone()),
        reference: RefRow { kind, value },
        status: "ready",
        last_commit_sha: status.commit.clone(),
        last_cloned_at: row.map(|row| row.cloned_at),
        auto_refresh: false,
        credential_binding_id: bound.credential().map(str::to_owned),
    }
}

fn status(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let BindingArgs { binding_id } = arguments(input)?;
    let bound = open(context, &binding_id)?;
    let status = bound.repository.status()?;
    Ok(Output::from_result(&StatusResult {
        binding: binding(context, &bound, &status),
        dirty: status.is_dirty(),
        ahead: status.ahead,
        behind: status.behind,
    }))
}

/// The space for notes after a diff, in bytes.
const NOTES: u64 = 256;

fn diff(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let DiffArgs { binding_id, staged } = arguments(input)?;
    let bound = open(context, &binding_id)?;
    let order = || {
        let order = bound.repository.order("diff", Reach::Read).words(PLAIN);
        if staged { order.word("--cached") } else { order }
    };
    let names = order().words(["--name-only", "-z"]).run()?;
    let limits = context.limits()?;
    let is_limited = |path: &str| binding_id == WORKSPACE && limits.check_path(path).is_err();
    let is_closed = |path: &&[u8]| {
        !text_of(path).is_some_and(|path| context.guards.allows(path, PathUse::Read) && !is_limited(path))
    };
    let closed: Vec<&[u8]> = names.parts().filter(is_closed).collect();
    // Key files and paths outside of the profiles' limits are left out here, too.
    let most = context.max_bytes;
    let mut order = order().limit(most - NOTES.min(most / 2));
    if !closed.is_empty() {
        order = order.without("GIT_LITERAL_PATHSPECS").words(["--", "."]);
        for path in &closed {
            let Some(path) = text_of(path) else {
                return Err(Failure::new(
                    ErrorCode::ProtectedPath,
                    "the name of a changed file is not UTF-8",
                ));
            };
            order = order.word(format!(":(top,exclude,literal){path}"));
        }
    }
    let answer = order.run()?;
    let mut text = String::from_utf8_lossy(&answer.stdout).into_owned();
    if answer.is_cut {
        text.push_str(&format!("\n[cut after {} bytes; `fs.read` shows a file]\n", answer.stdout.len()));
    }
    if !closed.is_empty() {
        text.push_str(&format!(
            "[{} changed files are protected or outside of the limits, and not shown]\n",
            closed.len()
        ));
    }
    let differences = Differences { binding_id: bound.id, staged, truncated: answer.is_cut };
    Ok(Output::from_result(&differences).text(text))
}

fn log(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let LogArgs { binding_id, limit } = arguments(input)?;
    let bound = open(context, &binding_id)?;
    if bound.repository.commit_of("HEAD")?.is_none() {
        return Ok(Output::from_result(&Log { commits: Vec::new() }));
    }
    let order = bound.repository.order("log", Reach::Read);
    let order = order.words(["--no-color", "--no-ext-diff", "--no-show-signature", "--no-mailmap", "-z"]);
    let answer = order.word(format!("--max-count={limit}")).word("--format=%H%x1f%an%x1f%aI%x1f%s").run()?;
    let commit = |part: &[u8]| {
        let text = String::from_utf8_lossy(part).into_owned();
        let mut members = text.splitn(4, '\x1f').map(str::to_owned);
        let mut next = || members.next().unwrap_or_default();
        CommitRow { sha: next(), author: next(), date: next(), subject: next() }
    };
    Ok(Output::from_result(&Log { commits: answer.parts().map(commit).collect() }))
}

fn list(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ListArgs { page, limit } = arguments(input)?;
    let (page, limit) = (page.unwrap_or(1).max(1), limit.unwrap_or(PAGE).clamp(1, 200));
    let mut ids: Vec<String> = Vec::new();
    if directories(context, context.fs.root()).is_some() {
        ids.push(WORKSPACE.to_owned());
    }
    if let Some(store) = context.stored()? {
        ids.extend(store.records::<Row>(context.agent())?.into_iter().map(|row| row.id));
    }
    let skipped = usize::try_from((page - 1).saturating_mul(limit)).unwrap_or(usize::MAX);
    let total = ids.len();
    let shown = ids.into_iter().skip(skipped).take(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut bindings = Vec::new();
    for id in shown {
        let bound = open(context, &id)?;
        let status = bound.repository.status()?;
        bindings.push(binding(context, &bound, &status));
    }
    Ok(Output::from_result(&Bindings { bindings, total, page, limit }))
}

/// Selects the changed files for a commit.
fn select_changes(
    args: &CommitArgs,
    context: &Context<'_>,
) -> Result<(BoundRepository, Vec<Vec<u8>>), Failure> {
    let bound = open(context, &args.binding_id)?;
    let repository = &bound.repository;
    repository.check_idle()?;
    let status = repository.status()?;
    if status.is_unmerged {
        return Err(Failure::new(ErrorCode::Busy, "files have merge conflicts"));
    }
    let root = repository.top.display().to_string();
    let mut chosen = Vec::new();
    for path in args.paths.iter().flatten() {
        chosen.push(context.guards.check(path, &root, PathUse::Change)?);
    }
    let is_chosen = |path: &str| {
        let is_in = |chosen: &String| {
            chosen.is_empty()
                || path == chosen
                || path.strip_prefix(chosen.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        args.paths.is_none() || chosen.iter().any(is_in)
    };
    let is_meant = |path: &Vec<u8>| {
        // A name that is not UTF-8 is matched by its readable part.
        let path = String::from_utf8_lossy(path);
        // A path with a final slash is a nested repository.
        !path.ends_with('/') && is_chosen(&path) && context.guards.allows(&path, PathUse::Change)
    };
    let is_of_agents = |path: &&Vec<u8>| {
        let path = String::from_utf8_lossy(path);
        let refusal = context.guards.refusal(&path, PathUse::Change);
        is_chosen(&path) && matches!(refusal, Some(PathProblem::Closed(_)))
    };
    let closed: Vec<&[u8]> = status.changed.iter().filter(is_of_agents).map(Vec::as_slice).collect();
    let selected: Vec<Vec<u8>> = status.changed.iter().filter(|path| is_meant(path)).cloned().collect();
    if !closed.is_empty() || !selected.is_empty() {
        repository.check_closed(context, closed.into_iter().chain(selected.iter().map(Vec::as_slice)))?;
    }
    if args.binding_id == WORKSPACE {
        let limits = context.limits()?;
        selected.iter().try_for_each(|path| limits.check_path(&String::from_utf8_lossy(path)))?;
    }
    repository.check_taken(context, &selected)?;
    Ok((bound, selected))
}

fn commit(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: CommitArgs = arguments(input)?;
    let (BoundRepository { id, repository, .. }, selected) = select_changes(&args, context)?;
    let made =
        if selected.is_empty() { None } else { repository.commit(context, &selected, &args.message)? };
    let Some(made) = made else {
        return Err(Failure::new(ErrorCode::NothingToCommit, "nothing differs from the last commit"));
    };
    Ok(Output::from_result(&CommitResult { binding_id: id, commit_sha: made }))
}

/// Adds the changes that a commit would take.
pub(crate) fn add_committed_changes(
    input: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let args: CommitArgs = arguments(input)?;
    let (bound, selected) = select_changes(&args, context)?;
    let contents = bound.repository.contents(&selected)?;
    named.add_files(&format!("changes in {} to", bound.id), contents);
    Ok(())
}

/// Checks a URL against the policy and the profiles of the caller.
fn check_url(context: &Context<'_>, url: &str) -> Result<(), Failure> {
    allowed_url(url, &context.git_urls)
        .map_err(|problem| Failure::new(problem.code(), problem.to_string()))?;
    Ok(context.limits()?.check_url(url)?)
}

fn clone(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let args: CloneArgs = arguments(input)?;
    check_url(context, &args.repo_url)?;
    let login = Login::for_url(context, &args.repo_url, args.credential_binding_id.as_deref())?;
    let RefArgs { kind, value } = &args.git_ref;
    let source = match kind.as_str() {
        "branch" => format!("refs/heads/{value}"),
        "tag" => format!("refs/tags/{value}"),
        _ => value.clone(),
    };
    let (owner, now) = (context.owner(), context.clock.now());
    let store = context.store()?;
    let used: u64 = store.volumes(Some(&owner))?.iter().map(|volume| volume.size_limit_bytes).sum();
    let limit = CLONE_LIMIT.min(context.volumes.max_bytes.saturating_sub(used)).max(1);
    let volume = store.create_volume(context.fs, &owner, &args.label, limit, &context.volumes, now)?;
    let id = store.new_record_id::<Row>()?;
    let row = Row {
        label: args.label.clone(),
        url: args.repo_url.clone(),
        volume: volume.id.clone(),
        branch: (kind == "branch").then(|| value.clone()),
        ref_kind: kind.clone(),
        ref_value: value.clone(),
        cloned_at: now,
        credential: args.credential_binding_id.clone(),
    };
    let done = fill(context, (&args, &login), &id, &row, &source, limit).and_then(|()| {
        store.put_record(&id, &owner, &row, now)?;
        let bound = open(context, &id)?;
        let status = bound.repository.status()?;
        Ok(Output::from_result(&CloneResult { binding: binding(context, &bound, &status) }))
    });
    if done.is_err() {
        // An incomplete clone is useless.
        let _ = store.remove_record::<Row>(None, &id);
        let _ = store.delete_volume(context.fs, Some(&owner), &volume.id);
        let _ = git_dir_of(&id).map(|path| context.fs.remove_tree(&path));
    }
    done
}

/// Clones into the volume.
fn fill(
    context: &Context<'_>,
    (args, login): (&CloneArgs, &Login),
    id: &str,
    row: &Row,
    source: &str,
    limit: u64,
) -> Result<(), Failure> {
    let git_dir = git_dir_of(id)?;
    context.fs.create_dir_all(&git_dir).map_err(disk)?;
    let ignored: RelPath =
        format!("{GIT_DIRS}/.gitignore").parse().map_err(|_| Failure::missing("binding"))?;
    if !context.fs.exists(&ignored).map_err(disk)? {
        context.fs.write_cache(&ignored, b"*\n").map_err(disk)?;
    }
    let root = context.fs.root();
    let (git_dir, top) = (root.join(git_dir.as_path()), root.join(folder(&row.volume)?.as_path()));
    let git_dirs = GitDirectories {
        git_dir: Some(git_dir.clone()),
        work_tree: Some(top.clone()),
        ..GitDirectories::default()
    };
    // Without a template, git does not create sample hooks.
    find_git(context)?.order("init").in_dirs(&git_dirs).words(["--quiet", "--template="]).run()?;
    let repository = Repository::at(context, top, git_dir.clone(), git_dir)?;
    let depth = args.shallow.then_some("--depth=1");
    let spec = format!("+{source}:refs/brigade/cloned");
    fetch(&repository, (&args.repo_url, login), &spec, depth, Some(limit))?;
    let commit = repository.commit_of("refs/brigade/cloned")?;
    let commit =
        commit.ok_or_else(|| Failure::new(ErrorCode::RefNotFound, "the remote has no such commit"))?;
    let listed =
        repository.order("ls-tree", Reach::Read).words(["-r", "-l", "-z", "--end-of-options", &commit]);
    let sizes: u64 = listed
        .run()?
        .parts()
        .filter_map(|part| {
            let text = String::from_utf8_lossy(part).into_owned();
            text.split_whitespace().nth(3)?.parse::<u64>().ok()
        })
        .sum();
    if limit < sizes {
        let message =
            format!("the files have {sizes} bytes, but the volume of the clone is limited to {limit}");
        return Err(Failure::new(ErrorCode::QuotaExceeded, message));
    }
    match &row.branch {
        Some(branch) => {
            let name = format!("refs/heads/{branch}");
            repository.order("update-ref", Reach::Repository).words([&name, &commit]).run()?;
            repository.order("symbolic-ref", Reach::Repository).words(["HEAD", &name]).run()?;
            let remote = format!("refs/remotes/origin/{branch}");
            repository.order("update-ref", Reach::Repository).words([&remote, &commit]).run()?;
            for (name, value) in [
                ("remote.origin.url".to_owned(), row.url.clone()),
                ("remote.origin.fetch".to_owned(), format!("+{name}:{remote}")),
                (format!("branch.{branch}.remote"), "origin".to_owned()),
                (format!("branch.{branch}.merge"), name.clone()),
            ] {
                repository.order("config", Reach::Repository).words(["--local", &name, &value]).run()?;
            }
        }
        None => {
            repository.order("update-ref", Reach::Repository).words(["--no-deref", "HEAD", &commit]).run()?;
        }
    }
    if !args.sparse_paths.is_empty() {
        let order = repository.order("sparse-checkout", Reach::Files);
        order.words(["set", "--no-cone"]).words(args.sparse_paths.iter().map(|path| anchored(path))).run()?;
    }
    repository.order("read-tree", Reach::Files).words(["-m", "-u", &commit]).run()?;
    Ok(())
}

/// Converts a path to a pattern that is anchored at the repository root.
fn anchored(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}

fn refresh(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let BindingArgs { binding_id } = arguments(input)?;
    let bound = open(context, &binding_id)?;
    let repository = &bound.repository;
    repository.check_idle()?;
    let status = repository.status()?;
    let is_tracked = repository.order("diff-index", Reach::Read);
    let has_changes = match &status.commit {
        Some(_) => {
            let words = ["--quiet", "--ignore-submodules=all", "--no-ext-diff", "HEAD", "--"];
            status.is_unmerged || is_tracked.words(words).ask()?.code != Some(0)
        }
        None => true,
    };
    if has_changes {
        return Err(Failure::new(ErrorCode::DirtyTree, "the files have changes that are not committed"));
    }
    let none = || Failure::new(ErrorCode::NoUpstream, "the branch has no upstream");
    let branch = status.branch.clone().ok_or_else(none)?;
    let text = |key: &str| repository.settings.text(&format!("branch.{branch}.{key}")).map(str::to_owned);
    let remote = text("remote").filter(|name| is_plain_name(name)).ok_or_else(none)?;
    let merge = text("merge").filter(|name| name.strip_prefix("refs/heads/").is_some_and(is_plain_name));
    let merge = merge.ok_or_else(none)?;
    let url = repository.url_of(&remote, false).ok_or_else(none)?;
    check_url(context, &url)?;
    repository.check_remote_settings()?;
    let name = merge.trim_start_matches("refs/heads/");
    let tracking = format!("refs/remotes/{remote}/{name}");
    let login = Login::for_url(context, &url, bound.credential())?;
    fetch(repository, (&url, &login), &format!("+{merge}:{tracking}"), None, None)?;
    let old = status.commit.clone().ok_or_else(none)?;
    let new = repository.commit_of(&tracking)?.ok_or_else(none)?;
    let is_changed = old != new && !repository.is_in(&new, &old)?;
    if is_changed {
        if !repository.is_in(&old, &new)? {
            return Err(Failure::new(ErrorCode::NotFastForward, "the branch and its upstream have diverged"));
        }
        let paths = repository.order("diff-tree", Reach::Read);
        let paths = paths.words(["-r", "-z", "--name-status", "--no-renames", &old, &new]).run()?;
        let parts: Vec<&[u8]> = paths.parts().collect();
        let changes: Vec<(&[u8], &[u8])> = parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        repository.check_closed(context, changes.iter().map(|(_, path)| *path))?;
        let paths: Vec<Vec<u8>> = changes.iter().map(|(_, path)| path.to_vec()).collect();
        repository.check_filters(&paths)?;
        repository.check_untracked(&changes)?;
        let order = repository.order("read-tree", Reach::Files).words(["-n", "-m", "-u", &old, &new]);
        if order.ask()?.code != Some(0) {
            let message = "untracked files are in the way of new files";
            return Err(Failure::new(ErrorCode::DirtyTree, message));
        }
        repository.order("read-tree", Reach::Files).words(["-m", "-u", &old, &new]).run()?;
        let moved = repository.order("update-ref", Reach::Repository);
        moved.words(["-m", "refresh: fast-forward", "HEAD", &new, &old]).run()?;
    }
    if let Some(row) = &bound.row {
        let record = Row { cloned_at: context.clock.now(), ..row.record.clone() };
        context.store()?.put_record(&row.id, &row.owner, &record, context.clock.now())?;
    }
    let bound = open(context, &binding_id)?;
    let status = bound.repository.status()?;
    Ok(Output::from_result(&RefreshResult {
        binding: binding(context, &bound, &status),
        changed: is_changed,
    }))
}

fn delete(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let BindingArgs { binding_id } = arguments(input)?;
    if binding_id == WORKSPACE {
        return Err(invalid("the repository of the workspace cannot be deleted"));
    }
    let store = context.stored_or_missing("binding")?;
    let row = store.record::<Row>(context.agent(), &binding_id).map_err(|_| Failure::missing("binding"))?;
    let store = context.store()?;
    store.remove_record::<Row>(Some(&row.owner), &row.id)?;
    match store.delete_volume(context.fs, Some(&row.owner), &row.record.volume) {
        Ok(_) => {}
        Err(error) if error.answered_code() == ErrorCode::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let path = git_dir_of(&row.id)?;
    if context.fs.exists(&path).map_err(disk)? {
        context.fs.remove_tree(&path).map_err(disk)?;
    }
    Ok(Output::from_result(&DeleteResult { binding_id: row.id, deleted: true }))
}

/// What a push sends, and where.
struct Push {
    bound: BoundRepository,
    /// The name and the URL of the remote.
    remote: String,
    url: String,
    branch: String,
    commit: String,
}

impl Push {
    fn from_input(input: &Json, context: &Context<'_>) -> Result<Push, Failure> {
        let PushArgs { binding_id, remote, reference } = arguments(input)?;
        if !is_plain_name(&remote) {
            return Err(invalid("`remote` must be the name of a remote"));
        }
        let bound = open(context, &binding_id)?;
        let repository = &bound.repository;
        let branch = match reference {
            Some(name) => name.trim_start_matches("refs/heads/").to_owned(),
            None => {
                repository.branch()?.ok_or_else(|| invalid("no branch is checked out; name one as `ref`"))?
            }
        };
        if !is_plain_name(&branch) {
            return Err(invalid("`ref` must be the name of a branch"));
        }
        let commit = repository.commit_of(&format!("refs/heads/{branch}"))?;
        let commit = commit.ok_or_else(|| invalid("there is no such branch"))?;
        let url = repository.url_of(&remote, true).ok_or_else(|| invalid("there is no such remote"))?;
        Ok(Push { bound, remote, url, branch, commit })
    }

    /// Returns the name of the pushed ref.
    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }
}

/// Adds the commit that a call would push, and its destination.
pub(crate) fn pushed(
    input: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let push = Push::from_input(input, context)?;
    named.add(format!("{} at {}", push.reference(), push.commit));
    let shown = format!("remote {} {}", push.remote, context.redactor.redact_str(&push.url));
    named.add_bytes(shown, push.url.as_bytes());
    if let Ok(Login { name: Some(name), .. }) = Login::for_url(context, &push.url, push.bound.credential()) {
        named.add(format!("credential {name}"));
    }
    let refused = allowed_url(&push.url, &context.git_urls).err();
    named.against = refused.map(|problem| {
        let message = format!("$.remote: the address of `{}` cannot be pushed to: {problem}", push.remote);
        Failure::new(problem.code(), message)
    });
    Ok(())
}

/// Adds the repository that a call would delete, with its contents.
pub(crate) fn add_deleted_repository(
    input: &Json,
    context: &Context<'_>,
    named: &mut ArgumentReferences,
) -> Result<(), Failure> {
    let BindingArgs { binding_id } = arguments(input)?;
    let bound = open(context, &binding_id)?;
    if bound.row.is_some() {
        let (text, fingerprint) = bound.repository.holds()?;
        named.things.insert(format!("repository {} {text}", bound.id), fingerprint);
    }
    Ok(())
}

fn push(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let push = Push::from_input(input, context)?;
    let name = push.reference();
    let Push { bound, remote, url, branch, commit } = push;
    let repository = &bound.repository;
    check_url(context, &url)?;
    repository.check_remote_settings()?;
    // The receiving git writes to a local repository.
    let mut profile = repository.profile(Reach::Remote, &[]);
    profile.write.extend(local_of(&url));
    let login = Login::for_url(context, &url, bound.credential())?;
    let order = login.apply(repository.order("push", Reach::Remote), profile);
    let order = order.words(["--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--porcelain"]);
    let order = order.words(["--recurse-submodules=no", "--end-of-options", &url]);
    let answer = order.word(format!("{commit}:{name}")).ask()?;
    if answer.code != Some(0) {
        let printed = String::from_utf8_lossy(&answer.stdout).into_owned();
        if printed.lines().any(|line| line.starts_with('!')) || answer.message().contains("[rejected]") {
            return Err(Failure::new(
                ErrorCode::Rejected,
                "the remote has commits that are missing here, or it rejected the push",
            ));
        }
        return Err(answer.failure().into());
    }
    let tracking = format!("refs/remotes/{remote}/{branch}");
    repository.order("update-ref", Reach::Repository).words([&tracking, &commit]).run()?;
    Ok(Output::from_result(&PushResult { binding_id: bound.id, remote, reference: name, commit_sha: commit }))
}

/// Returns whether a volume holds the files of a repository.
pub(crate) fn uses_volume(context: &Context<'_>, volume: &str) -> Result<bool, Failure> {
    let Some(store) = context.stored()? else { return Ok(false) };
    Ok(store.records::<Row>(None)?.iter().any(|row| row.record.volume == volume))
}
