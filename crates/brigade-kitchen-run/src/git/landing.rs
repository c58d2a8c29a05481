//! Merges the branch into another one and pushes it, on request only.

use brigade_fs::{DiskFs, Fs as _, FsError, FsErrorKind};
use brigade_process::PrivateFolder;

use super::GitPlace;
use super::integrate::RebaseOutcome;
use super::repository::unsafe_name;
use crate::workplace::{CommitId, PlaceError};
use brigade_git::{GitDirectories, GitError};
use brigade_kitchen::is_branch_name;

/// Default branches to merge to, after the default branch of the remote.
const USUAL: [&str; 2] = ["main", "master"];

/// Environment variables that a push needs to reach a remote as the user.
const OF_PUSH: [&str; 6] = ["HOME", "USER", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH_COMMAND", "GIT_SSH"];

impl GitPlace {
    pub(super) fn merge_branch(&self, into: Option<&str>) -> Result<(String, CommitId), PlaceError> {
        self.repository.check()?;
        let branch = &self.options.branch;
        let into = match into.or(self.options.default_branch.as_deref()) {
            Some(name) if is_branch_name(name) => name.to_owned(),
            Some(name) => return Err(PlaceError::BranchName(name.to_owned())),
            None => self.default_branch()?,
        };
        if into == *branch {
            return Err(PlaceError::Nowhere(format!("`{branch}` is the branch to merge to")));
        }
        if let Some(state) = self.repository.busy_with(&into) {
            return Err(PlaceError::Busy(state));
        }
        let _moving = self.moving.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.finish_checkout()?;
        let (from, to) = (self.repository.tip(branch)?, self.repository.tip(&into)?);
        self.require_done(&from)?;
        let git = &self.repository.git;
        let order = git.order("merge-base").in_dirs(&self.repository.git_dirs());
        let answer = order.words([to.as_str(), from.as_str()]).ask()?;
        let base = CommitId::new(answer.text()?.trim()).ok_or_else(|| {
            PlaceError::Nowhere(format!("`{branch}` and `{into}` have no commit in common"))
        })?;
        if base == from {
            return Ok((into, to));
        }
        let new = if base == to {
            from
        } else {
            let tree = self.merge_of(&base, &to, &from)?;
            let message = format!("Merge branch '{branch}' into {into}\n");
            self.commit_tree(&self.repository.git_dirs(), &tree, &[&to, &from], &message)?
        };
        self.check_commit(&self.repository.git_dirs(), None, (&to, new.as_str()))?;
        let reason = format!("brigade: merge {branch}");
        let checkouts = self.repository.checkouts_of(&into)?;
        let has_moved = match checkouts.is_empty() {
            true => {
                let name = format!("refs/heads/{into}");
                self.repository.update_refs(&reason, &[(name, &new, Some(&to))])?
            }
            false => self.move_checked_out(&into, &checkouts, &new, &to, &reason)?,
        };
        if has_moved {
            Ok((into, new))
        } else {
            Err(PlaceError::Nowhere(format!("`{into}` moved meanwhile")))
        }
    }

    /// Merges two branches with Brigade's settings, so that no configured merge driver runs. The objects go to the
    /// repository.
    fn merge_of(&self, base: &CommitId, into: &CommitId, from: &CommitId) -> Result<String, PlaceError> {
        let folder = PrivateFolder::create().map_err(|error| no_folder(&error))?;
        let fs = DiskFs::open(folder.path())?;
        let path = |name: &str| name.parse().map_err(|_| unsafe_name(name));
        for name in ["objects", "refs"] {
            fs.create_dir(&path(name)?)?;
        }
        fs.write_cache(&path("config")?, self.repository.settings.of_task(None).as_bytes())?;
        fs.write_cache(&path("HEAD")?, format!("{into}\n").as_bytes())?;
        let git_dirs = GitDirectories {
            git_dir: Some(fs.root().to_owned()),
            objects: Some(self.repository.objects()),
            shallow: self.repository.shallow()?,
            is_durable: true,
            ..GitDirectories::default()
        };
        match self.merge_trees(&git_dirs, base, into, from)? {
            RebaseOutcome::Clean(tree) => Ok(tree),
            RebaseOutcome::Conflict(_, files) => Err(PlaceError::Conflict(files)),
        }
    }

    fn default_branch(&self) -> Result<String, PlaceError> {
        let order = self.repository.git.order("symbolic-ref").in_dirs(&self.repository.git_dirs());
        let answer = order.words(["--quiet", "refs/remotes/origin/HEAD"]).ask()?;
        let target = answer.text()?.trim().strip_prefix("refs/remotes/origin/").map(str::to_owned);
        for name in target.iter().map(String::as_str).chain(USUAL) {
            if self.repository.commit_of(&format!("refs/heads/{name}"))?.is_some() {
                return Ok(name.to_owned());
            }
        }
        Err(PlaceError::Nowhere("no branch to merge to was found; name it in DEFAULT_BRANCH".to_owned()))
    }

    pub(super) fn push_branch(&self) -> Result<String, PlaceError> {
        self.repository.check()?;
        let branch = &self.options.branch;
        let settings = &self.repository.settings;
        let named = [format!("branch.{branch}.pushremote"), "remote.pushdefault".to_owned()];
        let of_branch = format!("branch.{branch}.remote");
        let named = named.iter().chain([&of_branch]).find_map(|name| settings.text(name));
        let remote = match named.filter(|name| *name != ".") {
            Some(name) => name.to_owned(),
            None => settings
                .remote()
                .ok_or_else(|| PlaceError::Nowhere("no remote to push to is configured".to_owned()))?,
        };
        let tip = self.repository.tip(branch)?;
        self.require_done(&tip)?;
        let mut order = self.repository.git.order("push").in_dirs(&self.repository.git_dirs());
        for name in OF_PUSH {
            if let Some(value) = self.host.get(name) {
                order = order.variable(name, value);
            }
        }
        for (name, value) in settings.of_push() {
            order = order.setting(name, value);
        }
        let order = order.words(["--porcelain", "--no-verify", "--no-signed", "--no-follow-tags", "--"]);
        let answer = order.word(&remote).word(format!("{tip}:refs/heads/{branch}")).ask()?;
        if answer.code == Some(0) {
            return Ok(remote);
        }
        // The line has `!`, the refs, and the reason. Git may print the reason twice.
        let printed = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut why: Vec<&str> =
            printed.lines().filter_map(|line| line.strip_prefix("!\t")?.split('\t').nth(1)).collect();
        why.dedup();
        let why = why.join(", ");
        Err(PlaceError::Git(match answer.failure() {
            GitError::Failed { operation, message } if !why.is_empty() => {
                GitError::Failed { operation, message: format!("{why}: {message}") }
            }
            error => error,
        }))
    }
}

/// Returns the error for a directory that cannot be created.
fn no_folder(error: &std::io::Error) -> FsError {
    FsError::new(
        "make",
        "temporary folder",
        FsErrorKind::Other { kind: error.kind(), text: error.to_string() },
    )
}
