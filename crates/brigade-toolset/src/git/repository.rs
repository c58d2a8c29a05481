//! Opens repositories safely: explicit directories, dangerous settings overridden, git in the sandbox.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use brigade_core::{ErrorCode, Fingerprint};
use brigade_fs::{DiskFs, FileKind, Fs as _, FsError, RelPath, bound_fingerprint};
use brigade_git::{
    CommitCheck, CommitRefusal, Git, GitCommand, GitDirectories, GitError, Identity, Settings,
    untracked_in_the_way,
};
use brigade_sandbox::{Network, SandboxProfile, system_read_paths};
use brigade_workspace::own_programs;

use crate::context::{Context, Failure};

/// The maximum size of a git file that is read here.
const MAX_GIT_FILE_BYTES: u64 = 1 << 16;

impl From<GitError> for Failure {
    fn from(error: GitError) -> Failure {
        let code = match error {
            GitError::Interrupted { .. } => ErrorCode::Cancelled,
            GitError::Refused(_) => ErrorCode::NotAvailableHere,
            _ => ErrorCode::GitFailed,
        };
        Failure::new(code, error.to_string())
    }
}

/// Options of every diff: no external programs, no colours, no changes within submodules.
pub(crate) const PLAIN: [&str; 5] =
    ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames"];

/// What a git process may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It reads.
    Read,
    /// It writes to the git directory.
    Repository,
    /// It also writes files.
    Files,
    /// It writes to the git directory and uses the network.
    Remote,
}

/// A repository.
pub(crate) struct Repository {
    pub(crate) git: Git,
    /// The root of its files.
    pub(crate) top: PathBuf,
    /// The git directory of these files.
    pub(crate) git_dir: PathBuf,
    /// The git directory that all worktrees share.
    pub(crate) common: PathBuf,
    /// The settings of the repository itself.
    pub(crate) settings: Settings,
    sandbox: brigade_sandbox::Mode,
    cancel: Option<brigade_process::CancelToken>,
    /// Further directories that git may write to.
    pub(crate) also: Vec<PathBuf>,
    /// Paths next to the files that git must never write.
    closed: Vec<PathBuf>,
}

/// The status of a repository's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RepositoryStatus {
    /// The checked-out commit; `None` before the first one.
    pub(crate) commit: Option<String>,
    /// The checked-out branch, if any.
    pub(crate) branch: Option<String>,
    /// The number of commits that the upstream lacks, and that the branch lacks.
    pub(crate) ahead: u64,
    pub(crate) behind: u64,
    /// Changed paths, as git reports them.
    pub(crate) changed: Vec<Vec<u8>>,
    /// Whether a merge left conflicts.
    pub(crate) is_unmerged: bool,
}

impl RepositoryStatus {
    /// Returns whether there are uncommitted changes.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.changed.is_empty() || self.is_unmerged
    }
}

/// Finds the git program.
pub(crate) fn find_git(context: &Context<'_>) -> Result<Git, Failure> {
    let absent = || Failure::new(ErrorCode::NotAvailableHere, "no program `git` is on PATH");
    let host = context.environment.ok_or_else(absent)?;
    Git::find(&own_programs(context.fs, host), context.fs.root())?.ok_or_else(absent)
}

impl From<CommitRefusal> for Failure {
    fn from(refusal: CommitRefusal) -> Failure {
        let message = refusal.to_string();
        match refusal {
            CommitRefusal::Secret { .. } | CommitRefusal::SecretName { .. } => {
                Failure::new(ErrorCode::SecretInCommit, message)
            }
            _ => Failure::new(ErrorCode::ProtectedPath, message),
        }
    }
}

fn no_repository() -> Failure {
    Failure::new(
        ErrorCode::NotAvailableHere,
        "the workspace is not a git repository; run `git init` to create one",
    )
}

impl Repository {
    /// Opens the repository of the workspace.
    pub(crate) fn for_workspace(context: &Context<'_>) -> Result<Repository, Failure> {
        let top = context.fs.root().to_owned();
        let (git_dir, common) = directories(context, &top).ok_or_else(no_repository)?;
        let closed = vec![top.join(".brigade")];
        Ok(Repository { closed, ..Repository::at(context, top, git_dir, common)? })
    }

    /// Opens a repository with known directories.
    pub(crate) fn at(
        context: &Context<'_>,
        top: PathBuf,
        git_dir: PathBuf,
        common: PathBuf,
    ) -> Result<Repository, Failure> {
        let git = find_git(context)?;
        let git_dirs = GitDirectories { git_dir: Some(git_dir.clone()), ..GitDirectories::default() };
        let settings = Settings::of_repository(&git, &git_dirs)?;
        Ok(Repository {
            git,
            top,
            git_dir,
            common,
            settings,
            sandbox: context.sandbox,
            cancel: context.cancel.cloned(),
            also: Vec::new(),
            closed: Vec::new(),
        })
    }

    /// Opens another worktree of the same repository.
    pub(crate) fn worktree(
        &self,
        context: &Context<'_>,
        top: PathBuf,
        git_dir: PathBuf,
    ) -> Result<Repository, Failure> {
        let closed = [".brigade", ".git"].map(|name| top.join(name)).to_vec();
        Ok(Repository {
            git: find_git(context)?,
            top,
            git_dir,
            common: self.common.clone(),
            settings: self.settings.clone(),
            sandbox: self.sandbox,
            cancel: self.cancel.clone(),
            also: Vec::new(),
            closed,
        })
    }

    /// Prepares a git command. Filters of the settings are disabled.
    pub(crate) fn order(&self, operation: &'static str, reach: Reach) -> GitCommand<'_> {
        let git_dirs = GitDirectories {
            git_dir: Some(self.git_dir.clone()),
            work_tree: Some(self.top.clone()),
            is_durable: reach != Reach::Read,
            ..GitDirectories::default()
        };
        let order = self.git.order(operation).in_dirs(&git_dirs);
        let order = self.settings.filters().fold(order, |order, name| {
            let order = ["clean", "smudge", "process"]
                .iter()
                .fold(order, |order, key| order.setting(&format!("filter.{name}.{key}"), ""));
            order.setting(&format!("filter.{name}.required"), "false")
        });
        let order = [
            ("http.followRedirects", "false"),
            ("transfer.bundleURI", "false"),
            ("status.submoduleSummary", "false"),
            ("diff.ignoreSubmodules", "all"),
            ("core.alternateRefsCommand", "/bin/false"),
        ]
        .iter()
        .fold(order, |order, (name, value)| order.setting(name, value));
        order.confined(Some(self.profile(reach, &[]))).cancelled_by(self.cancel.clone())
    }

    /// Returns the sandbox profile of a git command.
    pub(crate) fn profile(&self, reach: Reach, read: &[PathBuf]) -> SandboxProfile {
        let mut installed = system_read_paths();
        installed.extend(self.git.path().parent().map(Path::to_owned));
        let own = [&self.git_dir, &self.common];
        let mut write: Vec<PathBuf> = match reach {
            Reach::Read => Vec::new(),
            Reach::Repository | Reach::Remote => own.into_iter().cloned().collect(),
            Reach::Files => own.into_iter().chain([&self.top]).cloned().collect(),
        };
        if reach != Reach::Read {
            write.extend(self.also.iter().cloned());
        }
        let mut read = read.to_vec();
        read.extend(own.into_iter().chain([&self.top]).cloned());
        SandboxProfile {
            installed,
            read,
            write,
            deny_write: if reach == Reach::Files { self.closed.clone() } else { Vec::new() },
            network: if reach == Reach::Remote { Network::Allowed } else { Network::Denied },
            ..SandboxProfile::nothing(self.sandbox)
        }
    }

    /// Returns the status of the files.
    pub(crate) fn status(&self) -> Result<RepositoryStatus, Failure> {
        let order = self.order("status", Reach::Read);
        let order = order.words(["--porcelain=v2", "--branch", "-z", "--untracked-files=all"]);
        let answer = order.words(["--no-renames", "--ignore-submodules=all"]).run()?;
        Ok(read_status(answer.stdout.split(|byte| *byte == 0)))
    }

    /// Resolves a name to a commit.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<String>, Failure> {
        let order = self.order("rev-parse", Reach::Read).words(["--verify", "--quiet", "--end-of-options"]);
        let answer = order.word(format!("{name}^{{commit}}")).ask()?.or_no()?;
        Ok(answer.map(|answer| Ok::<_, GitError>(answer.text()?.trim().to_owned())).transpose()?)
    }

    /// Returns the checked-out branch, if any.
    pub(crate) fn branch(&self) -> Result<Option<String>, Failure> {
        let order = self.order("symbolic-ref", Reach::Read).words(["--quiet", "--short", "HEAD"]);
        let answer = order.ask()?.or_no()?;
        Ok(answer.map(|answer| Ok::<_, GitError>(answer.text()?.trim().to_owned())).transpose()?)
    }

    /// Describes what deleting the files and branches would lose, in words and as a fingerprint: the tips of the
    /// branches, and uncommitted changes.
    pub(crate) fn holds(&self) -> Result<(String, Fingerprint), Failure> {
        let refs = self.order("for-each-ref", Reach::Read).words(["--format=%(objectname) %(refname)"]);
        let refs = refs.run()?.stdout;
        let status = self.status()?;
        let (text, changes) = self.work(&status);
        let fingerprint = Fingerprint::builder("brigade.repository.v1").fingerprint("changes", changes);
        Ok((text, fingerprint.text("refs", &*String::from_utf8_lossy(&refs)).finish()))
    }

    /// Returns the checked-out commit with a mark of changes to tracked files, except those at a path. Returns `None`
    /// without a commit.
    pub(crate) fn state_without(&self, path: &str) -> Result<Option<String>, Failure> {
        let Some(commit) = self.commit_of("HEAD")? else { return Ok(None) };
        let order = self.order("diff", Reach::Read).without("GIT_LITERAL_PATHSPECS").words(PLAIN);
        let order =
            order.words(["--binary", "HEAD", "--", "."]).word(format!(":(top,exclude,literal){path}"));
        let changes = order.run()?.stdout;
        Ok(Some(match changes.is_empty() {
            true => commit,
            false => format!("{commit}+{}", &Fingerprint::of_bytes(&changes).to_hex()[..12]),
        }))
    }

    /// Describes the checked-out commit and the uncommitted changes, in words and as a fingerprint.
    pub(crate) fn work(&self, status: &RepositoryStatus) -> (String, Fingerprint) {
        let commit = status.commit.as_deref().unwrap_or("no commit");
        let text = match status.changed.len() {
            0 if !status.is_unmerged => format!("at {commit}, clean"),
            count => format!("at {commit}, {count} changed files"),
        };
        let fs = DiskFs::open(&self.top).ok();
        let look = |path: &Vec<u8>| {
            let name = text_of(path).and_then(|path| path.parse::<RelPath>().ok());
            let found = name.and_then(|name| fs.as_ref()?.link_metadata(&name).ok());
            let found = found.map(|found| format!("{} {}", found.len, found.modified));
            (String::from_utf8_lossy(path).into_owned(), found.unwrap_or_default())
        };
        let fingerprint = Fingerprint::builder("brigade.work.v1").text("at", text.as_str());
        let changed = status.changed.iter().map(look);
        (text, fingerprint.table("changed", changed).finish())
    }

    /// Counts the commits that are reachable from only one of two names, for each.
    pub(crate) fn apart(&self, ours: &str, theirs: &str) -> Result<(u64, u64), Failure> {
        let order =
            self.order("rev-list", Reach::Read).words(["--left-right", "--count", "--end-of-options"]);
        let answer = order.word(format!("{ours}...{theirs}")).run()?;
        let mut counts = answer.text()?.split_whitespace().map(|count| count.parse().unwrap_or(0));
        Ok((counts.next().unwrap_or(0), counts.next().unwrap_or(0)))
    }

    /// Returns whether a commit is an ancestor of another.
    pub(crate) fn is_in(&self, commit: &str, descendant: &str) -> Result<bool, Failure> {
        let order = self.order("merge-base", Reach::Read).words(["--is-ancestor", commit, descendant]);
        Ok(order.ask()?.or_no()?.is_some())
    }

    /// Describes what a commit would take for each path: the bytes of the file and whether it is executable.
    pub(crate) fn contents(&self, paths: &[Vec<u8>]) -> Result<Vec<(String, String)>, Failure> {
        let fs =
            DiskFs::open(&self.top).map_err(|error| Failure::new(ErrorCode::GitFailed, error.to_string()))?;
        let content_of = |path: &Vec<u8>| -> Result<String, Failure> {
            let Some(name) = text_of(path).and_then(|path| path.parse::<RelPath>().ok()) else {
                let order = self.order("hash-object", Reach::Read).words(["--no-filters", "--"]);
                return Ok(String::from_utf8_lossy(&order.word(OsStr::from_bytes(path)).ask()?.stdout).into());
            };
            let failed = |error: FsError| Failure::new(ErrorCode::GitFailed, error.to_string());
            Ok(match fs.link_metadata(&name) {
                Ok(found) if found.kind == FileKind::File => {
                    let hash = bound_fingerprint(&fs, name.as_str(), &*fs.open(&name).map_err(failed)?);
                    let hash = hash.map_err(failed)?;
                    format!("{} {}", hash.to_hex(), found.mode & 0o100 != 0)
                }
                Ok(found) => format!("{:?} {} {}", found.kind, found.len, found.modified),
                Err(error) if error.is_not_found() => "gone".to_owned(),
                Err(error) => return Err(failed(error)),
            })
        };
        let row = |path: &Vec<u8>| Ok((String::from_utf8_lossy(path).into_owned(), content_of(path)?));
        paths.iter().map(row).collect()
    }

    /// Refuses paths that need a filter of the repository's settings, because filters are disabled.
    pub(crate) fn check_filters(&self, paths: &[Vec<u8>]) -> Result<(), Failure> {
        self.check_filters_of(&[&self.settings], paths)
    }

    /// Refuses to commit files that need a filter, whether the repository, the user or the system configures it.
    pub(crate) fn check_taken(&self, context: &Context<'_>, paths: &[Vec<u8>]) -> Result<(), Failure> {
        let host = context.environment.cloned().unwrap_or_default();
        let all = Settings::read(&self.git, &self.top, &host)?;
        self.check_filters_of(&[&self.settings, &all], paths)
    }

    fn check_filters_of(&self, settings: &[&Settings], paths: &[Vec<u8>]) -> Result<(), Failure> {
        let filters: BTreeSet<&str> = settings.iter().flat_map(|settings| settings.filters()).collect();
        if filters.is_empty() || paths.is_empty() {
            return Ok(());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path);
            input.push(0);
        }
        let order = self.order("check-attr", Reach::Read).words(["-z", "--stdin", "filter"]);
        let answer = order.input(input).run()?;
        let is_known = |value: &[u8]| text_of(value).is_none_or(|name| filters.contains(name));
        if !answer.parts().skip(2).step_by(3).any(is_known) {
            return Ok(());
        }
        Err(Failure::new(
            ErrorCode::NeedsFilter,
            "a changed file needs a git filter, such as LFS, but filters are disabled; ask a person to commit it",
        ))
    }

    /// Refuses changes (a letter and a path each) that add files at paths of untracked or ignored files. Git would
    /// replace those.
    pub(crate) fn check_untracked(&self, changes: &[(&[u8], &[u8])]) -> Result<(), Failure> {
        let mut holds_untracked = |path: &[u8]| {
            let order = self.order("ls-files", Reach::Read).words(["--others", "-z", "--"]);
            Ok(order.word(OsStr::from_bytes(path)).run()?.parts().next().is_some())
        };
        match untracked_in_the_way(&self.top, changes, &mut holds_untracked)? {
            Some(path) => {
                let path = String::from_utf8_lossy(path);
                let message = format!("an untracked file is in the way of a new one: `{path}`");
                Err(Failure::new(ErrorCode::DirtyTree, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses changes of closed places, by these paths.
    pub(crate) fn check_closed<'p>(
        &self,
        context: &Context<'_>,
        paths: impl IntoIterator<Item = &'p [u8]>,
    ) -> Result<(), Failure> {
        let places = [context.closed_places(&self.top)];
        let check = CommitCheck { places: &places, redactor: Some(context.redactor) };
        let refusal = paths.into_iter().find_map(|path| check.closes(&String::from_utf8_lossy(path)));
        refusal.map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// Refuses a repository during a merge, a rebase or the like.
    pub(crate) fn check_idle(&self) -> Result<(), Failure> {
        const STATES: [&str; 5] =
            ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
        let fs = DiskFs::open(&self.git_dir)
            .map_err(|error| Failure::new(ErrorCode::GitFailed, error.to_string()))?;
        let is_there =
            |name: &&&str| name.parse::<RelPath>().is_ok_and(|path| fs.exists(&path).unwrap_or(true));
        match STATES.iter().find(is_there) {
            Some(_) => {
                Err(Failure::new(ErrorCode::Busy, "the repository is in the middle of a merge or a rebase"))
            }
            None => Ok(()),
        }
    }

    /// Refuses to access a remote if settings of the repository would redirect it or start programs.
    pub(crate) fn check_remote_settings(&self) -> Result<(), Failure> {
        let is_unsafe = |name: &&str| {
            let name = name.to_ascii_lowercase();
            let of_remote =
                [".vcs", ".uploadpack", ".receivepack", ".proxy", ".promisor", ".partialclonefilter"];
            ["url.", "http.", "https.", "ssh.", "credential.", "protocol.", "transfer."]
                .iter()
                .any(|start| name.starts_with(start))
                || (name.starts_with("remote.") && of_remote.iter().any(|end| name.ends_with(end)))
                || matches!(name.as_str(), "core.sshcommand" | "core.gitproxy" | "core.alternaterefscommand")
                || name == "extensions.partialclone"
        };
        match self.settings.names().find(is_unsafe) {
            Some(name) => {
                let name: String = name.chars().filter(|c| c.is_ascii_graphic()).take(100).collect();
                let message = format!(
                    "the settings of the repository hold `{name}`, which could redirect the access or start a program"
                );
                Err(Failure::new(ErrorCode::UnsafeRepository, message))
            }
            None => Ok(()),
        }
    }

    /// Commits these paths with their current contents and moves the branch. Everything else is unchanged. Returns
    /// `None` if nothing differs.
    pub(crate) fn commit(
        &self,
        context: &Context<'_>,
        paths: &[Vec<u8>],
        message: &str,
    ) -> Result<Option<String>, Failure> {
        let host = context.environment.cloned().unwrap_or_default();
        let identity = Identity::from_settings(&Settings::read(&self.git, &self.top, &host)?, &host);
        let old = self.commit_of("HEAD")?;
        let random = Fingerprint::builder("brigade.git-index.v1")
            .text("at", context.clock.now().to_string().as_str())
            .text("process", std::process::id().to_string().as_str())
            .text("message", message)
            .finish();
        let index = format!("brigade-{}.index", &random.to_hex()[..16]);
        let result = self.commit_with(context, &index, old.as_deref(), &identity, paths, message);
        let fs = DiskFs::open(&self.git_dir)
            .map_err(|error| Failure::new(ErrorCode::GitFailed, error.to_string()))?;
        for name in [index.clone(), format!("{index}.lock")] {
            if let Ok(path) = name.parse::<RelPath>() {
                let _ = fs.remove(&path);
            }
        }
        result
    }

    fn commit_with(
        &self,
        context: &Context<'_>,
        index: &str,
        old: Option<&str>,
        identity: &Identity,
        paths: &[Vec<u8>],
        message: &str,
    ) -> Result<Option<String>, Failure> {
        let index = self.git_dir.join(index);
        let with_index =
            |operation| self.order(operation, Reach::Repository).variable("GIT_INDEX_FILE", &index);
        match old {
            Some(old) => with_index("read-tree").word(old).run()?,
            None => with_index("read-tree").word("--empty").run()?,
        };
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path);
            input.push(0);
        }
        let update = ["-z", "--add", "--remove", "--stdin"];
        with_index("update-index").words(update).input(input.clone()).run()?;
        let tree = with_index("write-tree").run()?.text()?.trim().to_owned();
        let before = match old {
            Some(old) => {
                let order = self.order("rev-parse", Reach::Read).words(["--verify", "--end-of-options"]);
                Some(order.word(format!("{old}^{{tree}}")).run()?.text()?.trim().to_owned())
            }
            None => None,
        };
        if before.as_deref() == Some(tree.as_str()) || (before.is_none() && paths.is_empty()) {
            return Ok(None);
        }
        let places = [context.closed_places(&self.top)];
        let check = CommitCheck { places: &places, redactor: Some(context.redactor) };
        if let Some(refusal) = check.trees(self.order("diff-tree", Reach::Read), before.as_deref(), &tree)? {
            return Err(refusal.into());
        }
        let mut order = self.order("commit-tree", Reach::Repository).word(&tree);
        if let Some(old) = old {
            order = order.words(["-p", old]);
        }
        let order = with_identity(order, identity).words(["-F", "-"]);
        let mut text = message.trim_end().to_owned();
        text.push('\n');
        let new = order.input(text).run()?.text()?.trim().to_owned();
        let order = with_identity(self.order("update-ref", Reach::Repository), identity);
        let reason = format!("commit: {}", message.lines().next().unwrap_or_default());
        let moved = order.words(["-m", &reason, "HEAD", &new, old.unwrap_or_default()]).ask()?;
        if moved.code != Some(0) {
            return Err(Failure::new(ErrorCode::Moved, "the branch moved during the call; try again"));
        }
        self.order("update-index", Reach::Repository).words(update).input(input).run()?;
        Ok(Some(new))
    }

    /// Returns the URL of a remote from the settings.
    pub(crate) fn url_of(&self, remote: &str, is_push: bool) -> Option<String> {
        let value = |key: &str| self.settings.text(&format!("remote.{remote}.{key}")).map(str::to_owned);
        is_push.then(|| value("pushurl")).flatten().or_else(|| value("url"))
    }
}

/// Sets the committer.
fn with_identity<'g>(order: GitCommand<'g>, identity: &Identity) -> GitCommand<'g> {
    let Identity { name, email } = identity;
    let pairs = [
        ("GIT_AUTHOR_NAME", name),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_AUTHOR_EMAIL", email),
        ("GIT_COMMITTER_EMAIL", email),
    ];
    pairs.into_iter().fold(order, |order, (name, value)| order.variable(name, value))
}

/// Returns the git directory of a directory of files, and the shared one.
pub(crate) fn directories(context: &Context<'_>, top: &Path) -> Option<(PathBuf, PathBuf)> {
    let entry = top.join(".git");
    let found = context.fs.metadata_outside(&entry).ok()?;
    let text = |path: &Path| {
        let bytes = context.fs.read_outside(path, MAX_GIT_FILE_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    };
    let git_dir = match found.kind {
        FileKind::Directory => entry,
        FileKind::File => top.join(text(&entry)?.trim_end().strip_prefix("gitdir: ")?),
        FileKind::Link | FileKind::Other => return None,
    };
    let common = match text(&git_dir.join("commondir")) {
        Some(path) => git_dir.join(path.trim_end()),
        None => git_dir.clone(),
    };
    let plain = |path: PathBuf| brigade_sandbox::without_links(&path).unwrap_or(path);
    Some((plain(git_dir), plain(common)))
}

/// Parses the output of `git status --porcelain=v2 --branch -z`.
fn read_status<'p>(parts: impl Iterator<Item = &'p [u8]>) -> RepositoryStatus {
    let mut status = RepositoryStatus::default();
    for part in parts {
        let text = || String::from_utf8_lossy(part).into_owned();
        // The path follows after this many words.
        let path = |words: usize| part.splitn(words + 1, |byte| *byte == b' ').nth(words).map(<[u8]>::to_vec);
        match part.first() {
            Some(b'#') => {
                let text = text();
                let mut words = text.split(' ').skip(1);
                match (words.next(), words.next()) {
                    (Some("branch.oid"), Some(id)) if id != "(initial)" => {
                        status.commit = Some(id.to_owned())
                    }
                    (Some("branch.head"), Some(name)) if name != "(detached)" => {
                        status.branch = Some(name.to_owned());
                    }
                    (Some("branch.ab"), Some(ahead)) => {
                        status.ahead = count(ahead);
                        status.behind = words.next().map_or(0, count);
                    }
                    _ => {}
                }
            }
            Some(b'1') => status.changed.extend(path(8)),
            Some(b'?') => status.changed.extend(path(1)),
            Some(b'u') => status.is_unmerged = true,
            _ => {}
        }
    }
    status
}

/// Parses a count with its sign.
fn count(word: &str) -> u64 {
    word.trim_start_matches(['+', '-']).parse().unwrap_or(0)
}

/// Returns a path that git printed, if it is UTF-8.
pub(crate) fn text_of(path: &[u8]) -> Option<&str> {
    std::str::from_utf8(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_by_its_words() {
        let printed =
            b"# branch.oid 0123\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -3\0\
            1 .M N... 100644 100644 100644 aa bb a file.txt\0? new file\0u UU N... 1 2 3 4 a b c d\0";
        let status = read_status(printed.split(|byte| *byte == 0));
        let expect = RepositoryStatus {
            commit: Some("0123".to_owned()),
            branch: Some("main".to_owned()),
            ahead: 2,
            behind: 3,
            changed: vec![b"a file.txt".to_vec(), b"new file".to_vec()],
            is_unmerged: true,
        };
        assert_eq!(status, expect);
        let printed = b"# branch.oid (initial)\0# branch.head (detached)\0";
        assert_eq!(read_status(printed.split(|byte| *byte == 0)), RepositoryStatus::default());
    }
}
