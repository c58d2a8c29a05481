//! The repository of the workspace: its state and its branches.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, Fs, FsError, FsErrorKind, OrAbsent, RelPath};
use thiserror::Error;

use super::settings::Seal;
use crate::workplace::{CommitId, PlaceError};
use brigade_git::{Git, GitDirectories, Identity, Settings};
use brigade_workspace::own_programs;

/// The repository that a workspace is in.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) git: Git,
    /// The root of the user's work tree.
    pub(crate) top: PathBuf,
    /// The path of the workspace below the root. It is empty or ends with `/`.
    pub(crate) prefix: String,
    /// The git directory of the user's work tree.
    pub(crate) git_dir: PathBuf,
    /// The git directory that all work trees share.
    pub(crate) common: DiskFs,
    pub(crate) settings: Settings,
    /// Paths where git would read settings of the user, including included files, whether they exist or not.
    places_of_user: Vec<PathBuf>,
    pub(crate) identity: Identity,
    /// The user's global list of ignored files.
    pub(crate) user_excludes: Option<Vec<u8>>,
    seal: Seal,
}

/// Why tasks are worked on in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InPlaceReason {
    /// Git is missing.
    #[error("git is not there")]
    NoProgram,
    /// The workspace is not in a repository, or the repository is bare.
    #[error("the workspace is in no git repository; `git init` and a first commit change that")]
    NoRepository,
    /// The repository has no commits.
    #[error("the git repository has no commit; a first commit changes that")]
    NoCommit,
}

impl InPlaceReason {
    /// Returns the note for people about work in place.
    pub(crate) fn note(self) -> String {
        format!("the tasks are worked on in place, one at a time and without a branch: {self}")
    }

    /// Finds the reason from the files of the repository, without starting git. Returns `None` if there is a commit, or
    /// only git can tell.
    pub(crate) fn from_files(fs: &dyn Fs) -> Option<InPlaceReason> {
        let root = fs.root();
        let Some(git) =
            root.ancestors().map(|path| path.join(".git")).find(|git| fs.metadata_outside(git).is_ok())
        else {
            return Some(InPlaceReason::NoRepository);
        };
        let read = |name: &str| fs.read_outside(&git.join(name), MAX_REFS_BYTES).ok();
        let head = String::from_utf8(read("HEAD")?).ok()?;
        let branch = head.trim().strip_prefix("ref: ")?;
        let config = String::from_utf8_lossy(&read("config")?).to_ascii_lowercase();
        let packed = read("packed-refs").unwrap_or_default();
        let is_packed = String::from_utf8_lossy(&packed).lines().any(|line| line.ends_with(branch));
        let has_commit = is_packed || config.contains("refstorage") || read(branch).is_some();
        (!has_commit).then_some(InPlaceReason::NoCommit)
    }
}

impl Repository {
    /// Opens the repository that contains the workspace.
    pub(crate) fn open(workspace: &dyn Fs, host: &HostEnvironment) -> Result<Repository, PlaceError> {
        let Some(git) = Git::find(&own_programs(workspace, host), workspace.root())? else {
            return Err(InPlaceReason::NoProgram.into());
        };
        git.check_version()?;
        let mut order = git.order("rev-parse").within(workspace.root());
        // These settings decide whether git may use another user's repository.
        for name in ["GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"] {
            order = order.without(name);
        }
        if let Some(home) = host.get("HOME") {
            order = order.variable("HOME", home);
        }
        let queries = ["--show-toplevel", "--git-dir", "--git-common-dir"];
        let answer = order.word("--path-format=absolute").words(queries).word("--show-prefix").ask()?;
        if answer.code != Some(0) {
            let message = answer.message();
            let is_plain =
                message.contains("not a git repository") || message.contains("must be run in a work tree");
            return Err(if is_plain { InPlaceReason::NoRepository.into() } else { answer.failure().into() });
        }
        // Git separates paths by line feeds, here and in the list of shared object directories.
        if answer.stdout.iter().filter(|byte| **byte == b'\n').count() != queries.len() + 1 {
            let way = "move the workspace or its repository, or set `worktrees = \"off\"`";
            let why = "the path of the repository has a line feed, and git cannot make worktrees for it";
            return Err(PlaceError::Nowhere(format!("{why}; {way}")));
        }
        let mut lines = answer.stdout.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        let mut path =
            || lines.next().map(OsString::from_vec).map(PathBuf::from).ok_or_else(|| answer.unclear());
        let (top, git_dir, common) = (path()?, path()?, path()?);
        let prefix = path()?.into_os_string().into_string().map_err(|_| answer.unclear())?;
        let settings = Settings::read(&git, workspace.root(), host)?;
        let identity = Identity::from_settings(&settings, host);
        let user_excludes = user_excludes(workspace, &settings, host);
        let mut repository = Repository {
            git,
            top,
            prefix,
            git_dir,
            common: DiskFs::open(&common)?,
            places_of_user: host.git_settings().into_iter().chain(settings.included(host)).collect(),
            settings,
            identity,
            user_excludes,
            seal: Seal::default(),
        };
        repository.seal = repository.take_seal()?;
        if repository.commit_of("HEAD")?.is_none() {
            return Err(InPlaceReason::NoCommit.into());
        }
        Ok(repository)
    }

    /// Returns the object directory.
    pub(crate) fn objects(&self) -> PathBuf {
        self.common.root().join("objects")
    }

    /// Returns the `shallow` file, if the repository is shallow.
    pub(crate) fn shallow(&self) -> Result<Option<PathBuf>, FsError> {
        let path = RelPath::from_static("shallow");
        Ok(self.common.exists(&path)?.then(|| self.common.root().join("shallow")))
    }

    /// Records the settings and hooks of the repository, its user and the system.
    pub(crate) fn take_seal(&self) -> Result<Seal, FsError> {
        let mut seal = Seal::default();
        seal.git_dir(&self.common, ".git")?;
        if self.git_dir != self.common.root() {
            seal.outside(&self.common, &self.git_dir.join("config.worktree"));
            seal.outside(&self.common, &self.git_dir.join("commondir"));
        }
        let own = self.common.root().join("config");
        let files = self.settings.files.iter().chain(&self.places_of_user);
        for file in files.filter(|file| **file != own) {
            seal.outside(&self.common, file);
        }
        if let Some(hooks) = self.settings.get("core.hookspath") {
            let folder = self.top.join(hooks);
            match DiskFs::open(&folder) {
                Ok(hooks) => {
                    let shown = folder.to_string_lossy().into_owned();
                    seal.hooks(&hooks, &shown, &RelPath::root())?;
                }
                Err(error) => {
                    seal.0.insert(folder.to_string_lossy().into_owned(), error.kind.to_string());
                }
            }
        }
        Ok(seal)
    }

    /// Lists the settings and hooks that changed since the service started.
    pub(crate) fn tampered(&self) -> Result<Vec<String>, FsError> {
        Ok(self.seal.differences(&self.take_seal()?))
    }

    /// Fails if settings or hooks changed.
    pub(crate) fn check(&self) -> Result<(), PlaceError> {
        match self.tampered()? {
            what if what.is_empty() => Ok(()),
            what => Err(PlaceError::Tampered { what }),
        }
    }

    /// Returns the git directories for work on branches.
    pub(crate) fn git_dirs(&self) -> GitDirectories {
        GitDirectories { git_dir: Some(self.git_dir.clone()), is_durable: true, ..GitDirectories::default() }
    }

    /// Returns the commit that a name refers to.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<CommitId>, PlaceError> {
        let order = self.git.order("rev-parse").in_dirs(&self.git_dirs());
        let answer =
            order.words(["--verify", "--quiet", "--end-of-options"]).word(format!("{name}^{{commit}}"));
        let answer = answer.ask()?;
        match answer.code {
            Some(0) => CommitId::new(answer.text()?.trim()).map(Some).ok_or_else(|| answer.unclear().into()),
            // Without a message, the name does not exist. A broken ref has a message.
            Some(1) if answer.message().is_empty() => Ok(None),
            _ => Err(answer.failure().into()),
        }
    }

    /// Returns the tip of a branch.
    pub(crate) fn tip(&self, branch: &str) -> Result<CommitId, PlaceError> {
        if let Some(tip) = self.loose_tip(branch) {
            return Ok(tip);
        }
        let gone = || PlaceError::BranchGone(branch.to_owned());
        self.commit_of(&format!("refs/heads/{branch}"))?.ok_or_else(gone)
    }

    /// Returns the tip of a branch from its loose ref file, which saves a start of git.
    fn loose_tip(&self, branch: &str) -> Option<CommitId> {
        if self.settings.text("extensions.refstorage").is_some_and(|storage| storage != "files") {
            return None;
        }
        let path: RelPath = format!("refs/heads/{branch}").parse().ok()?;
        let text = self.common.read(&path, MAX_ID_BYTES).ok()?;
        CommitId::new(std::str::from_utf8(&text).ok()?.strip_suffix('\n')?)
    }

    /// Moves refs atomically. Each has a name, a new value, and the required old value.
    pub(crate) fn update_refs(
        &self,
        reason: &str,
        updates: &[(String, &CommitId, Option<&CommitId>)],
    ) -> Result<bool, PlaceError> {
        let mut text = String::from("start\n");
        for (name, new, old) in updates {
            match old {
                Some(old) => text.push_str(&format!("update {name} {new} {old}\n")),
                None => text.push_str(&format!("create {name} {new}\n")),
            }
        }
        text.push_str("prepare\ncommit\n");
        let order = self.git.order("update-ref").in_dirs(&self.git_dirs());
        let order = self.signed(order).words(["-m", reason, "--no-deref", "--stdin"]);
        let answer = order.input(text).ask()?;
        match answer.code {
            Some(0) => Ok(true),
            _ if is_lost_race(&answer.message()) => Ok(false),
            _ => Err(answer.failure().into()),
        }
    }

    /// Sets the author and the committer.
    pub(crate) fn signed<'g>(&self, order: brigade_git::GitCommand<'g>) -> brigade_git::GitCommand<'g> {
        let Identity { name, email } = &self.identity;
        let both = [("GIT_AUTHOR_NAME", name), ("GIT_COMMITTER_NAME", name)];
        let mails = [("GIT_AUTHOR_EMAIL", email), ("GIT_COMMITTER_EMAIL", email)];
        both.into_iter().chain(mails).fold(order, |order, (name, value)| order.variable(name, value))
    }

    /// Returns the operation in progress, if it holds a branch.
    pub(crate) fn busy_with(&self, branch: &str) -> Option<&'static str> {
        let holds = |file: &str| {
            let text = self.common.read_outside(&self.git_dir.join(file), 4_096).ok()?;
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            (text.strip_prefix("refs/heads/") == Some(branch)).then_some("a rebase")
        };
        holds("rebase-merge/head-name").or_else(|| holds("rebase-apply/head-name"))
    }

    /// Returns the operation in progress.
    pub(crate) fn operation_in_progress(&self) -> Option<&'static str> {
        const STATES: [(&str, &str); 6] = [
            ("rebase-merge/head-name", "a rebase"),
            ("rebase-apply/head-name", "a rebase"),
            ("rebase-apply/applying", "applying patches"),
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
        ];
        let is_there = |file: &str| self.common.metadata_outside(&self.git_dir.join(file)).is_ok();
        STATES.into_iter().find(|(file, _)| is_there(file)).map(|(_, state)| state)
    }

    /// Lists the work trees that have a branch checked out.
    pub(crate) fn checkouts_of(&self, branch: &str) -> Result<Vec<Checkout>, PlaceError> {
        let expected = format!("ref: refs/heads/{branch}");
        let is_checked_out = |git_dir: &Path| -> Result<bool, PlaceError> {
            let head = self.common.read_outside(&git_dir.join("HEAD"), 4_096).or_absent()?;
            Ok(head.is_some_and(|head| head.strip_suffix(b"\n").unwrap_or(&head) == expected.as_bytes()))
        };
        if self.settings.text("extensions.refstorage").is_some_and(|storage| storage != "files") {
            return self.listed_checkouts(branch);
        }
        let mut found = Vec::new();
        if is_checked_out(&self.git_dir)? {
            found.push(Checkout { top: self.top.clone(), git_dir: self.git_dir.clone() });
        }
        let main = self.common.root();
        let is_bare = self.settings.text("core.bare") == Some("true");
        if main != self.git_dir
            && !is_bare
            && main.file_name() == Some(OsStr::new(".git"))
            && is_checked_out(main)?
        {
            let top = main.parent().unwrap_or(main).to_owned();
            found.push(Checkout { top, git_dir: main.to_owned() });
        }
        let others = RelPath::from_static("worktrees");
        let entries = self.common.list_dir(&others).or_absent()?.unwrap_or_default();
        for entry in entries {
            let git_dir = main.join("worktrees").join(&entry.name);
            if git_dir == self.git_dir || !is_checked_out(&git_dir)? {
                continue;
            }
            let link = self.common.read_outside(&git_dir.join("gitdir"), 65_536)?;
            let link = PathBuf::from(OsStr::from_bytes(link.strip_suffix(b"\n").unwrap_or(&link)));
            let top = git_dir.join(link).parent().map(Path::to_owned).unwrap_or_default();
            // A removed work tree does not hold its branch.
            if self.common.metadata_outside(&top).is_ok() {
                found.push(Checkout { top, git_dir });
            }
        }
        Ok(found)
    }

    fn listed_checkouts(&self, branch: &str) -> Result<Vec<Checkout>, PlaceError> {
        let answer = self
            .git
            .order("worktree")
            .in_dirs(&self.git_dirs())
            .words(["list", "--porcelain", "-z"])
            .run()?;
        let mut found = Vec::new();
        let mut top = PathBuf::new();
        for part in answer.parts() {
            if let Some(path) = part.strip_prefix(b"worktree ") {
                top = PathBuf::from(OsStr::from_bytes(path));
            } else if part.strip_prefix(b"branch refs/heads/") == Some(branch.as_bytes()) {
                let order = self.git.order("rev-parse").within(&top);
                let answer = order.words(["--absolute-git-dir"]).run()?;
                let git_dir = PathBuf::from(answer.text()?.trim_end_matches('\n'));
                found.push(Checkout { top: top.clone(), git_dir });
            }
        }
        Ok(found)
    }
}

/// A work tree of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkout {
    pub(crate) top: PathBuf,
    pub(crate) git_dir: PathBuf,
}

/// Reads the user's global list of ignored files, from where git looks for it.
fn user_excludes(fs: &dyn Fs, settings: &Settings, host: &HostEnvironment) -> Option<Vec<u8>> {
    let home = host.get("HOME").map(PathBuf::from);
    let named = settings.get("core.excludesfile").map(PathBuf::from);
    let path = match named {
        Some(path) => match path.strip_prefix("~") {
            Ok(rest) => home?.join(rest),
            Err(_) => fs.root().join(path),
        },
        None => match host.get("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()) {
            Some(folder) => Path::new(folder).join("git/ignore"),
            None => home?.join(".config/git/ignore"),
        },
    };
    fs.read_outside(&path, MAX_EXCLUDES_BYTES).ok()
}

/// The maximum size of a file with refs or settings.
const MAX_REFS_BYTES: u64 = 64 << 20;

/// The maximum size of a file with a commit id.
const MAX_ID_BYTES: u64 = 256;

/// The maximum size of the list of ignored files.
const MAX_EXCLUDES_BYTES: u64 = 1 << 20;

/// Returns whether git refused to move a ref because another process moved it or has locked it.
fn is_lost_race(message: &str) -> bool {
    [
        ": is at ",
        "but expected",
        "reference already exists",
        "unable to resolve reference",
        "reference is missing",
    ]
    .iter()
    .any(|text| message.contains(text))
}

/// Returns the error for a path that cannot be used below a root.
pub(crate) fn unsafe_name(name: &str) -> FsError {
    FsError::new("name", name, FsErrorKind::Outside)
}
