//! The folders of a task: its worktree, with the worker's git directory, and Brigade's git directory.
//!
//! | directory | written by | used by |
//! | --- | --- | --- |
//! | `worktrees/PRD/ID/` | the worker | the worker, verification, and Brigade's git as plain files |
//! | `worktrees/PRD/ID/.git/` | the worker | the worker's git. Brigade reads only its objects and refs, as data |
//! | `PRD/git/ID/` | Brigade | Brigade's git: `HEAD` is the base commit of the work |
//!
//! Both git directories use the objects of the repository as alternates, and write new objects only to themselves.
//! Nothing is written to the workspace's `.git` before integration. These folders need not survive a power loss. After
//! a reboot, Brigade's git directory is filled again from the worktree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use brigade_fs::{DiskFs, FileKind, Fs, FsError, FsErrorKind, OrAbsent, RelPath};
use brigade_kitchen::{PrdName, TaskId};

use super::repository::{Repository, unsafe_name};
use super::settings::Seal;
use crate::workplace::{CommitId, Place, PlaceError};
use brigade_git::GitDirectories;

/// Written last, with the boot id at that time.
const READY_FILE: &str = "ready";

/// The trees of earlier looks, each with its base commit.
const SEEN_FILE: &str = "seen";

/// The maximum size of a copied index or list.
const MAX_COPY_BYTES: u64 = 1 << 30;

/// The maximum size of a file with refs.
const MAX_REFS_BYTES: u64 = 64 << 20;

/// The prefix of the folders of reviewers. It cannot occur in a task id.
pub(crate) const REVIEW: &str = "+review-";

/// The folders of all tasks.
#[derive(Debug)]
pub(crate) struct Folders {
    /// `.brigade/kitchen`.
    pub(crate) kitchen: DiskFs,
    /// The directory of worktrees.
    pub(crate) worktrees: DiskFs,
    /// That directory relative to the workspace, if it is inside.
    pub(crate) inside: Option<RelPath>,
}

/// The folders of one task.
#[derive(Clone, Debug)]
pub(crate) struct TaskDir {
    /// The directory of Brigade, below `kitchen`.
    pub(crate) ours: RelPath,
    /// The worktree, below `worktrees`.
    pub(crate) tree: RelPath,
    pub(crate) our_path: PathBuf,
    pub(crate) tree_path: PathBuf,
}

impl Folders {
    /// Returns the folders of a task.
    pub(crate) fn task_dir(&self, prd: &PrdName, task: &TaskId) -> Result<TaskDir, FsError> {
        let path = |text: String| text.parse::<RelPath>().map_err(|_| unsafe_name(&text));
        let (ours, tree) = (path(format!("{prd}/git/{task}"))?, path(format!("{prd}/{task}"))?);
        let our_path = self.kitchen.root().join(ours.as_path());
        let tree_path = self.worktrees.root().join(tree.as_path());
        Ok(TaskDir { ours, tree, our_path, tree_path })
    }

    /// Returns the folders of the reviewer of a task.
    pub(crate) fn of_review(task: TaskDir) -> Result<TaskDir, FsError> {
        let beside = |path: &RelPath| child_path(&path.parent(), &format!("{REVIEW}{}", path.name()));
        let named = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.with_file_name(format!("{REVIEW}{name}"))
        };
        Ok(TaskDir {
            ours: beside(&task.ours)?,
            tree: beside(&task.tree)?,
            our_path: named(&task.our_path),
            tree_path: named(&task.tree_path),
        })
    }

    /// Returns the boot id when the folders were completed; `None` if they are incomplete.
    pub(crate) fn made_in(&self, dir: &TaskDir) -> Result<Option<String>, FsError> {
        let boot = self.kitchen.read(&child_path(&dir.ours, READY_FILE)?, 4_096).or_absent()?;
        Ok(boot.map(|boot| String::from_utf8_lossy(&boot).into_owned()))
    }

    /// Marks the folders as complete.
    pub(crate) fn set_ready(&self, dir: &TaskDir) -> Result<(), FsError> {
        self.kitchen.write_cache(&child_path(&dir.ours, READY_FILE)?, boot().as_bytes())
    }

    /// Marks the folders as incomplete.
    pub(crate) fn set_not_ready(&self, dir: &TaskDir) -> Result<(), FsError> {
        remove_any(&self.kitchen, &child_path(&dir.ours, READY_FILE)?)
    }

    /// Returns whether the worktree is a directory.
    pub(crate) fn has_tree(&self, dir: &TaskDir) -> Result<bool, FsError> {
        let found = self.worktrees.link_metadata(&dir.tree).or_absent()?;
        Ok(found.is_some_and(|found| found.kind == FileKind::Directory))
    }

    /// Removes both folders, after marking them as incomplete.
    pub(crate) fn remove(&self, dir: &TaskDir) -> Result<(), FsError> {
        self.set_not_ready(dir)?;
        remove_any(&self.worktrees, &dir.tree)?;
        remove_any(&self.kitchen, &dir.ours)
    }

    /// Creates Brigade's git directory, without an index.
    pub(crate) fn make_ours(
        &self,
        repository: &Repository,
        dir: &TaskDir,
        base: &CommitId,
        excluded: &[String],
    ) -> Result<(), FsError> {
        remove_any(&self.kitchen, &dir.ours)?;
        for name in ["info", "objects/pack", "refs/heads"] {
            make_dirs(&self.kitchen, &child_path(&dir.ours, name)?)?;
        }
        self.write_settings(repository, dir, excluded)?;
        self.set_base(dir, base)
    }

    /// Writes the settings of Brigade's git directory.
    pub(crate) fn write_settings(
        &self,
        repository: &Repository,
        dir: &TaskDir,
        excluded: &[String],
    ) -> Result<(), FsError> {
        let write = |name: &str, text: &[u8]| self.kitchen.write_cache(&child_path(&dir.ours, name)?, text);
        write("config", repository.settings.of_task(None).as_bytes())?;
        write("info/exclude", &exclude(repository, excluded)?)
    }

    /// Returns the base commit of the work.
    pub(crate) fn base(&self, dir: &TaskDir) -> Result<Option<CommitId>, FsError> {
        let Some(head) = self.kitchen.read(&child_path(&dir.ours, "HEAD")?, 4_096).or_absent()? else {
            return Ok(None);
        };
        Ok(CommitId::new(String::from_utf8_lossy(&head).trim()))
    }

    /// Sets the base commit of the work.
    pub(crate) fn set_base(&self, dir: &TaskDir, base: &CommitId) -> Result<(), FsError> {
        self.kitchen.write_cache(&child_path(&dir.ours, "HEAD")?, format!("{base}\n").as_bytes())
    }

    /// Resets the worker's git directory to this commit. Its objects are kept.
    pub(crate) fn make_workers(
        &self,
        repository: &Repository,
        dir: &TaskDir,
        branch: &str,
        head: &CommitId,
        excluded: &[String],
    ) -> Result<(), FsError> {
        self.restore_workers(repository, dir, excluded)?;
        let tree = self.inside_tree(dir)?;
        let branch = format!("refs/heads/{branch}");
        let tip = in_git(&branch)?;
        remove_other_than_dirs(&tree, &tip)?;
        make_dirs(&tree, &tip.parent())?;
        tree.write_cache(&tip, format!("{head}\n").as_bytes())?;
        for name in ["HEAD", "index"] {
            remove_any(&tree, &in_git(name)?)?;
        }
        tree.write_cache(&in_git("HEAD")?, format!("ref: {branch}\n").as_bytes())?;
        let index = self.kitchen.read(&child_path(&dir.ours, "index")?, MAX_COPY_BYTES)?;
        tree.write_cache(&in_git("index")?, &index)?;
        // Kept to know later whether the worker changed its index.
        self.kitchen.write_cache(&child_path(&dir.ours, "worker.index")?, &index)
    }

    /// Restores the settings of the worker's git directory, and removes its hooks.
    pub(crate) fn restore_workers(
        &self,
        repository: &Repository,
        dir: &TaskDir,
        excluded: &[String],
    ) -> Result<(), FsError> {
        let tree = self.inside_tree(dir)?;
        for name in ["", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads"] {
            let path = in_git(name)?;
            if matches!(tree.link_metadata(&path), Ok(found) if found.kind != FileKind::Directory) {
                tree.remove(&path)?;
            }
            make_dirs(&tree, &path)?;
        }
        for name in [
            "config.worktree",
            "commondir",
            "hooks",
            "info/attributes",
            "info/grafts",
            "info/sparse-checkout",
            "objects/info/http-alternates",
        ] {
            remove_any(&tree, &in_git(name)?)?;
        }
        let mut alternates = Vec::new();
        for path in [&repository.objects(), &dir.our_path.join("objects")] {
            alternates.extend_from_slice(path.as_os_str().as_bytes());
            alternates.push(b'\n');
        }
        let config = repository.settings.of_task(Some(&repository.identity));
        let mut files = vec![
            ("config", config.into_bytes()),
            ("objects/info/alternates", alternates),
            ("info/exclude", exclude(repository, excluded)?),
        ];
        if let Some(path) = repository.shallow()? {
            files.push(("shallow", self.kitchen.read_outside(&path, MAX_COPY_BYTES)?));
        }
        for (name, bytes) in files {
            let path = in_git(name)?;
            let is_file = matches!(tree.link_metadata(&path), Ok(found) if found.kind == FileKind::File);
            if !is_file || tree.read(&path, MAX_COPY_BYTES).ok().as_deref() != Some(&*bytes) {
                remove_any(&tree, &path)?;
                tree.write_cache(&path, &bytes)?;
            }
        }
        Ok(())
    }

    /// Records the tree of a look.
    pub(crate) fn note_look(&self, dir: &TaskDir, base: &CommitId, tree: &str) -> Result<(), FsError> {
        let path = child_path(&dir.ours, SEEN_FILE)?;
        let mut text = self.kitchen.read(&path, MAX_REFS_BYTES).or_absent()?.unwrap_or_default();
        let line = seen_line(base, tree);
        if text.windows(line.len()).any(|part| part == line.as_bytes()) {
            return Ok(());
        }
        text.extend_from_slice(line.as_bytes());
        self.kitchen.write_cache(&path, &text)
    }

    /// Lists the trees of looks at this base commit, the newest last.
    pub(crate) fn seen(&self, dir: &TaskDir, base: &CommitId) -> Result<Vec<String>, FsError> {
        let text = self
            .kitchen
            .read(&child_path(&dir.ours, SEEN_FILE)?, MAX_REFS_BYTES)
            .or_absent()?
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let trees = text.lines().filter_map(|line| line.strip_prefix(base.as_str())?.strip_prefix(' '));
        Ok(trees.map(str::to_owned).collect())
    }

    /// Opens the worktree so that no link leads out of it.
    fn inside_tree(&self, dir: &TaskDir) -> Result<DiskFs, FsError> {
        if !self.has_tree(dir)? {
            return Err(FsError::new("open", dir.tree.as_str(), FsErrorKind::NotADirectory));
        }
        DiskFs::open(&dir.tree_path)
    }

    /// Records the settings and hooks of both git directories.
    pub(crate) fn seal(&self, dir: &TaskDir) -> Result<Seal, FsError> {
        let mut seal = Seal::default();
        let shown = match &self.inside {
            Some(inside) => {
                inside.join(dir.tree.as_str()).map_or_else(|_| String::new(), |path| path.to_string())
            }
            None => dir.tree_path.to_string_lossy().into_owned(),
        };
        let git = dir.tree_path.join(".git");
        let shown = format!("{shown}/.git");
        match self.worktrees.link_metadata(&child_path(&dir.tree, ".git")?).or_absent()? {
            Some(found) if found.kind == FileKind::Directory => {
                seal.git_dir(&DiskFs::open(&git)?, &shown)?;
            }
            found => {
                let state = found.map_or_else(|| "removed".to_owned(), |found| format!("{:?}", found.kind));
                seal.0.insert(shown, state);
            }
        }
        let ours = DiskFs::open(&dir.our_path)?;
        seal.git_dir(&ours, &format!(".brigade/kitchen/{}", dir.ours))?;
        Ok(seal)
    }

    /// Returns the git directories for Brigade's git of a task.
    pub(crate) fn git_dirs(&self, repository: &Repository, dir: &TaskDir) -> Result<GitDirectories, FsError> {
        Ok(GitDirectories {
            git_dir: Some(dir.our_path.clone()),
            work_tree: Some(dir.tree_path.clone()),
            alternates: vec![repository.objects()],
            shallow: repository.shallow()?,
            ..GitDirectories::default()
        })
    }

    /// Returns the worker's index, if the worker changed it.
    pub(crate) fn used_index(&self, dir: &TaskDir) -> Result<Option<PathBuf>, FsError> {
        let now = self.inside_tree(dir)?.read(&in_git("index")?, MAX_COPY_BYTES).ok();
        let then = self.kitchen.read(&child_path(&dir.ours, "worker.index")?, MAX_COPY_BYTES).ok();
        Ok((now.is_some() && now != then).then(|| dir.tree_path.join(".git/index")))
    }

    /// Reads the current commit of the worker's git directory.
    pub(crate) fn workers_head(&self, dir: &TaskDir) -> Result<Option<CommitId>, FsError> {
        let tree = self.inside_tree(dir)?;
        let read = |name: &str| -> Option<String> {
            let bytes = tree.read(&in_git(name).ok()?, MAX_REFS_BYTES).ok()?;
            String::from_utf8(bytes).ok()
        };
        let Some(head) = read("HEAD") else { return Ok(None) };
        let Some(name) = head.trim().strip_prefix("ref: ") else { return Ok(CommitId::new(head.trim())) };
        if let Some(commit) = read(name).and_then(|text| CommitId::new(text.trim())) {
            return Ok(Some(commit));
        }
        let packed = read("packed-refs").unwrap_or_default();
        Ok(packed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(_, of)| *of == name)
            .and_then(|(commit, _)| CommitId::new(commit)))
    }

    /// Returns the place of a task.
    pub(crate) fn place(
        &self,
        repository: &Repository,
        dir: &TaskDir,
        name: &crate::workplace::TaskName,
        base: CommitId,
    ) -> Place {
        let worktree = self.inside.as_ref().and_then(|inside| inside.join(dir.tree.as_str()).ok());
        Place {
            name: name.clone(),
            folder: match repository.prefix.trim_end_matches('/') {
                "" => dir.tree_path.clone(),
                prefix => dir.tree_path.join(prefix),
            },
            worktree: worktree.map(|path| path.to_string()),
            root: Some(dir.tree_path.clone()),
            base: Some(base),
        }
    }
}

/// Returns the list of untracked files that do not count: those excluded by the repository, and the copied ones.
fn exclude(repository: &Repository, excluded: &[String]) -> Result<Vec<u8>, FsError> {
    let path = RelPath::from_static("info/exclude");
    let mut text = repository.common.read(&path, MAX_REFS_BYTES).or_absent()?.unwrap_or_default();
    // The user's global list is configured in settings that Brigade's git does not read.
    if let Some(own) = &repository.user_excludes {
        text.push(b'\n');
        text.extend_from_slice(own);
    }
    for path in excluded {
        text.extend_from_slice(format!("\n/{}", escaped_pattern(path)).as_bytes());
    }
    text.push(b'\n');
    Ok(text)
}

fn escaped_pattern(path: &str) -> String {
    let mut text = String::new();
    for c in path.chars() {
        if "*?[\\!# ".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// Returns the boot id of the machine, which tells files from before a power loss.
pub(crate) fn boot() -> String {
    brigade_process::boot_id().map(|boot| boot.to_string()).unwrap_or_default()
}

fn seen_line(base: &CommitId, tree: &str) -> String {
    format!("{base} {tree}\n")
}

/// Returns a path in the worker's git directory, relative to the worktree.
fn in_git(name: &str) -> Result<RelPath, FsError> {
    format!(".git/{name}").parse().map_err(|_| unsafe_name(name))
}

/// Joins two paths.
pub(crate) fn child_path(path: &RelPath, rest: &str) -> Result<RelPath, FsError> {
    path.join(rest).map_err(|_| unsafe_name(rest))
}

/// Creates a directory and its parents, without syncing.
pub(crate) fn make_dirs(fs: &dyn Fs, path: &RelPath) -> Result<(), FsError> {
    if path.is_root() {
        return Ok(());
    }
    match fs.create_dir(path) {
        Err(error) if error.is_exists() => Ok(()),
        Err(error) if error.is_not_found() => {
            make_dirs(fs, &path.parent())?;
            match fs.create_dir(path) {
                Err(error) if error.is_exists() => Ok(()),
                made => made,
            }
        }
        made => made,
    }
}

/// Removes a file or directory tree, if it exists.
pub(crate) fn remove_any(fs: &dyn Fs, path: &RelPath) -> Result<(), FsError> {
    let removed = match fs.link_metadata(path) {
        Ok(found) if found.kind == FileKind::Directory => fs.remove_tree(path),
        Ok(_) => fs.remove(path),
        Err(error) => Err(error),
    };
    removed.or_absent().map(|_| ())
}

/// Removes anything in the way of a file: at its path, or a file in place of a parent directory.
fn remove_other_than_dirs(fs: &dyn Fs, path: &RelPath) -> Result<(), FsError> {
    let mut at = path.parent();
    while !at.is_root() {
        if matches!(fs.link_metadata(&at), Ok(found) if found.kind != FileKind::Directory) {
            fs.remove(&at)?;
        }
        at = at.parent();
    }
    remove_any(fs, path)
}

/// Returns whether a path in a worktree is a file or a link.
pub(crate) fn is_file_or_link(root: &Path, path: &[u8]) -> bool {
    use rustix::fs::FileType;
    let stat = rustix::fs::lstat(root.join(OsStr::from_bytes(path)));
    stat.is_ok_and(|stat| {
        matches!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile | FileType::Symlink)
    })
}

/// Returns whether a file is larger than what Brigade reads of the work on a task, or lets git read.
pub(crate) fn is_huge(stat: &rustix::fs::Stat) -> bool {
    i64::try_from(MAX_WORK_FILE_BYTES).is_ok_and(|most| most < stat.st_size)
}

/// The maximum size of a file that an attempt may leave for the commit.
const MAX_WORK_FILE_BYTES: u64 = 1 << 30;

/// Returns whether a path in a worktree is a directory.
pub(crate) fn is_directory(root: &Path, path: &[u8]) -> bool {
    use rustix::fs::FileType;
    let stat = rustix::fs::lstat(root.join(OsStr::from_bytes(path)));
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// Returns the error for a task whose folders are missing.
pub(crate) fn missing_folder(dir: &TaskDir) -> PlaceError {
    PlaceError::Gone(dir.tree.to_string())
}
