//! Creates the folders of a task from the tip of the branch, or finds existing ones.

use std::os::unix::ffi::OsStrExt as _;

use brigade_fs::{FileKind, Fs, FsError, OrAbsent, RelPath};

use super::GitPlace;
use super::task_dir::{TaskDir, boot, child_path, make_dirs, missing_folder, remove_any};
use crate::workplace::{CommitId, FolderOrigin, Guard, Place, PlaceError, TaskName};
use brigade_git::GitDirectories;

/// The list of ignored files to copy, in the format of `.gitignore`.
const INCLUDE: &str = ".worktreeinclude";

/// The maximum size of a copied file, and of a list.
const MAX_COPY_BYTES: u64 = 1 << 30;

/// The file that lists the copied and linked paths, one per line.
const GIVEN: &str = "given";

impl GitPlace {
    pub(super) fn begin_task(&self, name: &TaskName) -> Result<(Place, FolderOrigin), PlaceError> {
        self.repository.check()?;
        let dir = self.folders.task_dir(&name.prd, &name.task)?;
        let made_in = self.folders.made_in(&dir)?;
        if let (Some(then), Some(base), true) =
            (&made_in, self.folders.base(&dir)?, self.folders.has_tree(&dir)?)
        {
            if *then != boot() {
                self.fill_anew(&dir, &base)?;
            }
            return Ok((self.folders.place(&self.repository, &dir, name, base), FolderOrigin::Found));
        }
        let base = self.make_task(&dir)?;
        let origin = if made_in.is_some() { FolderOrigin::Remade } else { FolderOrigin::New };
        Ok((self.folders.place(&self.repository, &dir, name, base), origin))
    }

    fn make_task(&self, dir: &TaskDir) -> Result<CommitId, PlaceError> {
        let base = self.repository.tip(&self.options.branch)?;
        self.require_done(&base)?;
        self.folders.remove(dir)?;
        let given = self.files_to_give()?;
        self.folders.make_ours(&self.repository, dir, &base, &self.below_top(&given.paths()))?;
        if self.take_spare(dir, &base)? {
            self.note_none_ignored(dir)?;
        } else {
            make_dirs(&self.folders.worktrees, &dir.tree)?;
            let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
            let order = self.repository.git.order("read-tree").in_dirs(&git_dirs);
            order.words(["--reset", "-u", base.as_str()]).run()?;
        }
        self.give(dir, &given)?;
        let excluded = self.below_top(&given.paths());
        self.folders.make_workers(&self.repository, dir, &self.options.branch, &base, &excluded)?;
        let list = given.paths().join("\n");
        self.folders.kitchen.write_cache(&child_path(&dir.ours, GIVEN)?, list.as_bytes())?;
        self.folders.set_ready(dir)?;
        Ok(base)
    }

    /// Fills Brigade's git directory again after a power loss, which may have lost unsynced files.
    fn fill_anew(&self, dir: &TaskDir, base: &CommitId) -> Result<(), PlaceError> {
        let given = self.given(dir)?;
        let excluded = self.below_top(&given);
        self.keeping_setup(dir, || self.folders.make_ours(&self.repository, dir, base, &excluded))?;
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        self.repository.git.order("read-tree").in_dirs(&git_dirs).word(base.as_str()).run()?;
        let excluded = [excluded, self.new_by_setup(dir)?].concat();
        self.folders.make_workers(&self.repository, dir, &self.options.branch, base, &excluded)?;
        self.folders.kitchen.write_cache(&child_path(&dir.ours, GIVEN)?, given.join("\n").as_bytes())?;
        Ok(self.folders.set_ready(dir)?)
    }

    /// Lists what was copied and linked into a worktree.
    pub(super) fn given(&self, dir: &TaskDir) -> Result<Vec<String>, FsError> {
        let list = self
            .folders
            .kitchen
            .read(&child_path(&dir.ours, GIVEN)?, MAX_COPY_BYTES)
            .or_absent()?
            .unwrap_or_default();
        Ok(String::from_utf8_lossy(&list).lines().map(str::to_owned).collect())
    }

    /// Lists the same paths relative to the root of the repository. Brigade's git does not count them as work.
    pub(super) fn excluded(&self, dir: &TaskDir) -> Result<Vec<String>, FsError> {
        Ok(self.below_top(&self.given(dir)?))
    }

    /// Lists paths that the worker's git does not show as untracked, including files of the setup. Brigade's git does
    /// show files of the setup, because a worker may change them.
    pub(super) fn excluded_for_worker(&self, dir: &TaskDir) -> Result<Vec<String>, FsError> {
        Ok([self.excluded(dir)?, self.new_by_setup(dir)?].concat())
    }

    fn below_top(&self, paths: &[String]) -> Vec<String> {
        paths.iter().map(|path| format!("{}{path}", self.repository.prefix)).collect()
    }

    pub(super) fn take_guard(&self, place: &Place) -> Result<Guard, PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        if !self.folders.has_tree(&dir)? {
            return Err(missing_folder(&dir));
        }
        self.repository.check()?;
        self.folders.write_settings(&self.repository, &dir, &self.excluded(&dir)?)?;
        let excluded = self.excluded_for_worker(&dir)?;
        match self.folders.workers_head(&dir)? {
            Some(_) => self.folders.restore_workers(&self.repository, &dir, &excluded)?,
            // Without a valid git directory of the task, the worker's git would use the repository of the workspace.
            None => {
                let base = super::attempt::base_of(place)?;
                self.folders.make_workers(&self.repository, &dir, &self.options.branch, &base, &excluded)?;
            }
        }
        self.note_ignored(&dir)?;
        Ok(Guard(self.folders.seal(&dir)?))
    }

    /// Fails if settings or hooks changed. Does not run git.
    pub(super) fn check_guard(&self, dir: &TaskDir, guard: &Guard) -> Result<(), PlaceError> {
        let mut what = self.repository.tampered()?;
        what.extend(guard.0.differences(&self.folders.seal(dir)?));
        if what.is_empty() { Ok(()) } else { Err(PlaceError::Tampered { what }) }
    }

    /// Lists the ignored files of the workspace to copy or link.
    fn files_to_give(&self) -> Result<IgnoredFiles, PlaceError> {
        let include = RelPath::from_static(INCLUDE);
        let mut patterns = self.workspace.read(&include, 1 << 20).or_absent()?.unwrap_or_default();
        for pattern in &self.options.copy {
            patterns.push(b'\n');
            patterns.extend_from_slice(pattern.as_bytes());
        }
        let link = self.options.link.iter().filter_map(|path| path.parse::<RelPath>().ok());
        let link: Vec<RelPath> = link.filter(|path| !path.is_root() && is_given(path)).collect();
        if patterns.iter().all(u8::is_ascii_whitespace) {
            return Ok(IgnoredFiles { copy: Vec::new(), link: self.present(link)? });
        }
        // Relative to the workspace; only untracked and ignored files.
        let git_dirs = GitDirectories {
            git_dir: Some(self.repository.git_dir.clone()),
            work_tree: Some(self.repository.top.clone()),
            ..GitDirectories::default()
        };
        let git = &self.repository.git;
        let order = git.order("ls-files").in_dirs(&git_dirs).within(self.workspace.root());
        let patterns = String::from_utf8_lossy(&patterns).into_owned();
        let patterns = patterns.lines().map(str::trim_end);
        let patterns = patterns.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let patterns = patterns.map(|pattern| format!("--exclude={pattern}"));
        let named = order.words(["-z", "--others", "--ignored"]).words(patterns).run()?;
        let mut paths = Vec::new();
        for path in named.parts() {
            paths.extend_from_slice(path);
            paths.push(0);
        }
        let order = git.order("check-ignore").in_dirs(&git_dirs).within(self.workspace.root());
        // Git takes paths from standard input literally, and rejects this variable.
        let order = order.without("GIT_LITERAL_PATHSPECS");
        let answer = order.words(["-z", "--stdin"]).input(paths).ask()?;
        let ignored = if answer.code == Some(1) { Vec::new() } else { answer.succeeded()?.stdout };
        let copy = ignored.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        let copy = copy.filter_map(|path| path.parse::<RelPath>().ok());
        let copy = copy.filter(|path| !path.is_root() && is_given(path)).collect();
        Ok(IgnoredFiles { copy, link: self.present(link)? })
    }

    fn present(&self, paths: Vec<RelPath>) -> Result<Vec<RelPath>, FsError> {
        let mut present = Vec::new();
        for path in paths {
            if self.workspace.exists(&path)? {
                present.push(path);
            }
        }
        Ok(present)
    }

    /// Copies or links ignored files of the workspace into a worktree. Existing files are kept.
    fn give(&self, dir: &TaskDir, given: &IgnoredFiles) -> Result<(), PlaceError> {
        if given.copy.is_empty() && given.link.is_empty() {
            return Ok(());
        }
        let tree = brigade_fs::DiskFs::open(&dir.tree_path)?;
        let prefix: RelPath = self.repository.prefix.parse().map_err(|_| super::unsafe_name("prefix"))?;
        for path in given.copy.iter().chain(&given.link) {
            let target = child_path(&prefix, path.as_str())?;
            if tree.exists(&target)? {
                continue;
            }
            make_dirs(&tree, &target.parent())?;
            if given.link.contains(path) {
                let from = self.workspace.root().join(path.as_path());
                let to = tree.root().join(target.as_path());
                if let Err(error) = rustix::fs::symlink(&from, &to) {
                    let kind = brigade_fs::FsErrorKind::Other {
                        kind: std::io::ErrorKind::Other,
                        text: std::io::Error::from(error).to_string(),
                    };
                    return Err(FsError::new("link", to.to_string_lossy(), kind).into());
                }
                continue;
            }
            let found = self.workspace.link_metadata(path)?;
            if found.kind == FileKind::File {
                let bytes = self.workspace.read(path, MAX_COPY_BYTES)?;
                tree.write_cache(&target, &bytes)?;
                tree.set_mode(&target, found.mode & 0o755)?;
            }
        }
        Ok(())
    }

    /// Removes a file from the task's directory of Brigade.
    pub(super) fn forget(&self, dir: &TaskDir, name: &str) -> Result<(), FsError> {
        remove_any(&self.folders.kitchen, &child_path(&dir.ours, name)?)
    }
}

/// Returns whether an ignored file may be given to a worker. Files of git and Brigade may not.
fn is_given(path: &RelPath) -> bool {
    let first = path.as_str().split('/').next().unwrap_or_default();
    !first.eq_ignore_ascii_case(".git")
        && first != ".brigade"
        && !path.as_path().as_os_str().as_bytes().contains(&b'\n')
}

/// The ignored files of the workspace for a worktree.
struct IgnoredFiles {
    copy: Vec<RelPath>,
    link: Vec<RelPath>,
}

impl IgnoredFiles {
    fn paths(&self) -> Vec<String> {
        self.copy.iter().chain(&self.link).map(ToString::to_string).collect()
    }
}
