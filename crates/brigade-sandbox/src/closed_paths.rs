//! Finds nested repositories and workspaces whose hooks or configuration would be trusted.
//!
//! A submodule, a worktree or another repository below the workspace has its own `.git`. A run that could write there
//! could set hooks and settings that the next git command in it would use. The same holds for:
//! * the directory that `core.hooksPath` names,
//! * a bare repository, which is found by its entries,
//! * a nested workspace, whose state has rules that the next command there would trust,
//! * the files that settings include, and files of the workspace that other settings name,
//! * files by which agent programs and editors start programs,
//! * the targets of links in all these.
//!
//! The search sees the files as they are before a run. Where it ends early, the rest is closed.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use brigade_core::{AgentFiles, ClosedPlace, GIT_FOLDER, closed_place, reserved_agent_files};

use crate::git_settings::{MAX_SETTINGS_BYTES, Settings, value_of};
use crate::protected::named;
use crate::system::first_bytes;

/// The maximum number of searched directories.
const MAX_FOLDERS: usize = 50_000;

/// The maximum number of links on one path.
const MAX_LINKS: usize = 40;

/// The maximum number of closed paths.
const MAX_PLACES: usize = 2_048;

/// The maximum number of entries of all searched directories.
const MAX_ALL_ENTRIES: usize = 1_000_000;

/// The maximum number of directories that were not searched and are closed one by one.
const MAX_UNSEARCHED: usize = 256;

/// Names of directories with very many entries. People do not keep a repository to work in there.
const PASSED_OVER: &[&str] =
    &[".brigade", ".git", ".tox", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// The maximum number of entries of a directory that are searched for links.
const MAX_ENTRIES: usize = 10_000;

/// Directories of git with very many entries, from which it executes nothing and reads no settings.
const DATA_OF_GIT: &[&str] = &["lfs", "logs", "objects"];

/// Directories of agent programs with very many entries.
const DATA_OF_AGENTS: &[&str] = &["node_modules"];

/// Directories of git from which it executes files or reads settings.
const PARTS_OF_GIT: &[&str] = &["hooks", "info", "modules", "worktrees"];

/// The entries of a bare repository, without its settings and hooks.
const BARE: &[&str] = &["HEAD", "objects", "refs"];

/// Paths to protect in a writable workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedPaths {
    /// Files and directories that no run may write. Each exists, or its parent does.
    pub closed: BTreeSet<PathBuf>,
    /// The directories on the path to them, which may be written but not moved.
    pub pinned: BTreeSet<PathBuf>,
    /// Missing files directly in the workspace that no run may create.
    pub missing: BTreeSet<PathBuf>,
    /// Whether the search was complete.
    pub extent: Extent,
}

/// What is searched.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The workspace.
    pub workspace: &'a Path,
    /// The home directory of the user.
    pub home: Option<&'a Path>,
    /// The files with the user's own settings of git.
    pub settings: &'a [PathBuf],
    /// Where the caller keeps its state.
    pub state: StateFolder<'a>,
    /// Whether files by which agent programs and editors start programs stay open.
    pub agent_files: AgentFiles,
}

/// How much of a workspace was searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// A part, because the workspace has more directories than can be searched before each run. The rest is closed.
    Part,
}

/// Where the caller keeps its own state in each workspace.
#[derive(Clone, Copy, Debug)]
pub struct StateFolder<'a> {
    /// The entry of the workspace.
    pub entry: &'a str,
    /// Names of directories in it that grow and whose content the caller checks before use.
    pub data: &'a [&'a str],
}

/// Which directories hold data with very many entries.
#[derive(Clone, Copy)]
enum Data<'a> {
    /// All directories: git executes the entries of a hooks directory, but nothing below them.
    All,
    /// Directories with these names.
    Named(&'a [&'a str]),
    /// The directories of [`DATA_OF_GIT`] in git's own directory. A submodule may have such a name, too.
    OfGit,
}

impl Data<'_> {
    fn is(self, folder: &Path, name: &OsStr) -> bool {
        let is_one_of = |names: &[&str]| name.to_str().is_some_and(|name| names.contains(&name));
        match self {
            Data::All => true,
            Data::Named(names) => is_one_of(names),
            Data::OfGit => is_one_of(DATA_OF_GIT) && folder.join("HEAD").symlink_metadata().is_ok(),
        }
    }
}

impl ClosedPaths {
    /// Finds repositories, directories of hooks, agent files and other workspaces below a workspace.
    pub fn find(search: Search<'_>) -> ClosedPaths {
        let Search { workspace, home, settings, state, agent_files } = search;
        let mut finder = Finder {
            workspace,
            state,
            agent_files,
            settings: Settings::new(home, settings),
            visited: BTreeSet::new(),
            found: ClosedPaths::default(),
        };
        finder.hooks(workspace);
        finder.links(&workspace.join(state.entry), Data::Named(state.data));
        for repository in listed(workspace) {
            finder.repository(&repository);
        }
        finder.folders();
        let mut found = finder.found;
        if agent_files == AgentFiles::Closed {
            let reserved = reserved_agent_files().map(|path| workspace.join(path));
            found.missing = reserved.filter(|path| path.symlink_metadata().is_err()).collect();
        }
        found
    }

    /// Returns whether a closed path is a link directly in the workspace. Then no entries may be created or removed
    /// there.
    pub fn closes_the_top(&self, workspace: &Path) -> bool {
        self.closed.iter().any(|closed| closed.parent() == Some(workspace) && closed.is_symlink())
    }
}

/// A search in progress.
struct Finder<'a> {
    workspace: &'a Path,
    state: StateFolder<'a>,
    agent_files: AgentFiles,
    settings: Settings<'a>,
    /// The repositories that were looked at.
    visited: BTreeSet<PathBuf>,
    found: ClosedPaths,
}

impl Finder<'_> {
    /// Searches all directories of the workspace, nearest first.
    fn folders(&mut self) {
        let mut folders = VecDeque::from([self.workspace.to_owned()]);
        let (mut looked, mut entries) = (0usize, 0usize);
        while let Some(folder) = folders.pop_front() {
            looked += 1;
            if MAX_FOLDERS < looked || MAX_PLACES < self.found.closed.len() || MAX_ALL_ENTRIES < entries {
                folders.push_front(folder);
                return self.close_rest(folders.into());
            }
            match fs::read_dir(&folder) {
                Ok(listed) => folders.extend(self.folder(&folder, listed, &mut entries)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // A run may make its directory readable again.
                Err(_) => self.close_rest(vec![folder]),
            }
        }
    }

    /// Closes entries of a directory, counts its entries, and returns the directories in it that are to be searched.
    fn folder(&mut self, folder: &Path, listed: fs::ReadDir, entries: &mut usize) -> Vec<PathBuf> {
        let is_top = folder == self.workspace;
        let mut parts = 0;
        let mut below = Vec::new();
        for entry in listed.flatten() {
            *entries += 1;
            let name = entry.file_name();
            let is_one_of = |names: &[&str]| name.to_str().is_some_and(|name| names.contains(&name));
            parts += usize::from(is_one_of(BARE));
            if name == GIT_FOLDER && !is_top {
                self.repository(folder);
            } else if name == self.state.entry && !is_top {
                self.close(&entry.path());
                self.links(&entry.path(), Data::Named(self.state.data));
            } else if is_agent_file(self.workspace, folder, &name, self.agent_files) {
                self.close(&entry.path());
                self.links(&entry.path(), Data::Named(DATA_OF_AGENTS));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_one_of(PASSED_OVER) {
                below.push(entry.path());
            }
        }
        if parts < BARE.len() {
            return below;
        }
        // A bare repository.
        if is_top {
            // The run may write the repository, but not the files that git executes.
            for name in ["config", "hooks"] {
                self.close(&folder.join(name));
            }
        } else {
            self.close(folder);
            below.clear();
        }
        self.hooks_of(folder, folder);
        below
    }

    fn close_workspace(&mut self) {
        self.found.closed.insert(self.workspace.to_owned());
    }

    /// Closes directories that were not searched. If they are many, the directories that contain them are closed
    /// instead.
    fn close_rest(&mut self, folders: Vec<PathBuf>) {
        let workspace = self.workspace;
        self.found.extent = Extent::Part;
        let mut rest: BTreeSet<PathBuf> = folders.into_iter().collect();
        let depth = |path: &PathBuf| path.components().count();
        while MAX_UNSEARCHED < rest.len() {
            let deepest = rest.iter().map(depth).max().unwrap_or_default();
            let above = |path: PathBuf| match path.parent() {
                Some(parent) if depth(&path) == deepest && path != workspace => parent.to_owned(),
                _ => path,
            };
            rest = rest.into_iter().map(above).collect();
        }
        if rest.contains(workspace) {
            self.close_workspace();
        }
        rest.iter().for_each(|folder| self.close(folder));
    }

    /// Closes the entries by which a repository is found, and its hooks.
    fn repository(&mut self, folder: &Path) {
        let git = folder.join(GIT_FOLDER);
        if folder == self.workspace
            || !self.visited.insert(folder.to_owned())
            || git.symlink_metadata().is_err()
        {
            return;
        }
        self.close(&git);
        self.hooks(folder);
        if let Some(target) = named(&git, b"gitdir:") {
            let target = folder.join(target);
            self.close(&target);
            if let Some(shared) = named(&target.join("commondir"), b"") {
                self.close(&target.join(shared));
            }
        }
    }

    /// Closes what links in git's directory lead to, the settings that its settings include, and the directory that
    /// `core.hooksPath` names.
    fn hooks(&mut self, repository: &Path) {
        let git = repository.join(GIT_FOLDER);
        let folder = named(&git, b"gitdir:").map_or(git, |target| repository.join(target));
        self.hooks_of(repository, &folder);
    }

    /// Does the same for one directory of git. Paths of hooks are relative to `base`.
    fn hooks_of(&mut self, base: &Path, git: &Path) {
        let shared = named(&git.join("commondir"), b"").map(|shared| git.join(shared));
        let mut files = vec![git.join("config"), git.join("config.worktree")];
        files.extend(shared.iter().map(|shared| shared.join("config")));
        for folder in [git].into_iter().chain(shared.as_deref()) {
            // If the workspace is a bare repository, the run may write the rest of the directory.
            if folder == self.workspace {
                let parts = PARTS_OF_GIT.iter().map(|part| folder.join(part));
                parts.for_each(|part| self.links(&part, Data::OfGit));
            } else {
                self.links(folder, Data::OfGit);
            }
        }
        let read = self.settings.with(files);
        for file in &read.included {
            self.close_target(file);
        }
        // Git starts programs in the directory of the files.
        let named = read.words.iter().map(|word| base.join(word));
        for file in named.filter(|path| path.is_file()) {
            self.close(&file);
        }
        for path in read.hooks {
            let mut folder = base.join(path);
            // Husky's own directory only refers to the one that contains it.
            if folder.file_name().is_some_and(|name| name == "_") {
                folder.pop();
            }
            // Hooks directly in the workspace can have any name that git will use.
            if inside(self.workspace, &folder).is_some_and(|inside| inside.as_os_str().is_empty()) {
                self.close_workspace();
            }
            self.close(&folder);
            self.links(&folder, Data::All);
        }
    }

    /// Closes the targets of links in a directory, at any depth, and of links in the directories that they lead to.
    /// Data directories are not searched.
    fn links(&mut self, folder: &Path, data: Data<'_>) {
        let mut folders = VecDeque::from([folder.to_owned()]);
        let mut visited = BTreeSet::new();
        while let Some(folder) = folders.pop_front() {
            // A link may lead back to a directory that was searched.
            if !folder.canonicalize().is_ok_and(|real| visited.insert(real)) {
                continue;
            }
            let mut entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            for entry in entries.by_ref().take(MAX_ENTRIES) {
                let Ok(kind) = entry.file_type() else { continue };
                let is_searched = || !data.is(&folder, &entry.file_name());
                if kind.is_symlink() {
                    let Ok(target) = entry.path().read_link().map(|link| folder.join(link)) else { continue };
                    let is_directory = target.is_dir();
                    if matches!(data, Data::All) && is_directory {
                        continue;
                    }
                    self.close_target(&target);
                    if is_directory && is_searched() && !is_workspace(self.workspace, &target) {
                        folders.push_back(target);
                    }
                } else if kind.is_dir() && is_searched() {
                    folders.push_back(entry.path());
                }
            }
            if entries.next().is_some() || MAX_FOLDERS < visited.len() || MAX_PLACES < self.found.closed.len()
            {
                // The links that are left may lead anywhere.
                return self.close_rest(vec![self.workspace.to_owned()]);
            }
        }
    }

    /// Closes the target of a link or setting.
    ///
    /// If the target is the workspace, all of it is closed. If the target is missing, the nearest existing directory
    /// above it is closed, unless that is the workspace. No placeholder is created, because it would confuse git.
    fn close_target(&mut self, target: &Path) {
        if is_workspace(self.workspace, target) {
            self.close_workspace();
        } else if target.symlink_metadata().is_ok() {
            self.close(target);
        } else if let Some(above) = target.ancestors().skip(1).find(|above| above.is_dir())
            && !is_workspace(self.workspace, above)
        {
            self.close(above);
        }
    }

    /// Closes a path of the workspace, and pins the directories above it.
    ///
    /// If one of these directories is missing, its path is closed. A mount cannot cover a link, so for a link its
    /// target and the directory that contains it are closed.
    fn close(&mut self, path: &Path) {
        let workspace = self.workspace;
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let Some(inside) = inside(workspace, &path) else { return };
            let mut at = workspace.to_owned();
            let mut pinned = Vec::new();
            let mut target = None;
            let mut parts = inside.components();
            while let Some(part) = parts.next() {
                let holder = at.clone();
                at.push(part);
                if let Ok(link) = at.read_link() {
                    target = Some(holder.join(link).join(parts.as_path()));
                    // A link directly in the workspace is safe, because no entries can be created or removed there.
                    if holder != workspace {
                        pinned.pop();
                        at = holder;
                    }
                    break;
                }
                // A missing path, or one that is not a directory, can only be closed as a whole.
                if parts.as_path().as_os_str().is_empty() || !at.is_dir() {
                    break;
                }
                pinned.push(at.clone());
            }
            let is_closed =
                self.found.closed.iter().any(|closed| at.starts_with(closed) && !closed.is_symlink());
            if at != workspace && !is_closed {
                self.found.closed.insert(at);
                self.found.pinned.extend(pinned);
            }
            match target {
                Some(target) if is_workspace(workspace, &target) => return self.close_workspace(),
                Some(target) => path = target,
                None => return,
            }
        }
    }
}

/// Returns whether agent programs or editors start programs by an entry of a directory.
fn is_agent_file(workspace: &Path, folder: &Path, name: &OsStr, agent_files: AgentFiles) -> bool {
    let above = folder.file_name().filter(|_| folder != workspace).unwrap_or_default();
    let path = Path::new(above).join(name);
    path.to_str().is_some_and(|path| closed_place(path, agent_files) == Some(ClosedPlace::AgentFile))
}

/// Returns whether a path is the workspace or a directory above it.
fn is_workspace(workspace: &Path, path: &Path) -> bool {
    let real = path.canonicalize();
    real.is_ok_and(|real| workspace.canonicalize().is_ok_and(|workspace| workspace.starts_with(real)))
}

/// Returns the part of a path below the workspace, with `..` and links resolved as far as the path exists.
fn inside(workspace: &Path, path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                // For a link, the directory that it leads to counts.
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    if let Ok(inside) = plain.strip_prefix(workspace) {
        return Some(inside.to_owned());
    }
    let root = workspace.canonicalize().ok()?;
    plain.canonicalize().unwrap_or(plain).strip_prefix(root).ok().map(Path::to_owned)
}

/// Lists the submodules and worktrees of the workspace's repository.
fn listed(workspace: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let modules = first_bytes(&workspace.join(".gitmodules"), MAX_SETTINGS_BYTES).unwrap_or_default();
    let modules = String::from_utf8_lossy(&modules);
    for line in modules.lines() {
        if let Some((name, value)) = line.split_once('=')
            && name.trim() == "path"
        {
            found.push(workspace.join(value_of(value).0));
        }
    }
    let git = workspace.join(GIT_FOLDER);
    let folder = named(&git, b"gitdir:").map_or(git, |target| workspace.join(target));
    let shared = named(&folder.join("commondir"), b"").map_or(folder.clone(), |shared| folder.join(shared));
    for entry in fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten() {
        // The file names the `.git` of the worktree.
        let git = named(&entry.path().join("gitdir"), b"").map(|git| entry.path().join(git));
        found.extend(git.and_then(|git| git.parent().map(Path::to_owned)));
    }
    found.retain(|folder| inside(workspace, folder).is_some_and(|inside| !inside.as_os_str().is_empty()));
    found
}

#[cfg(test)]
mod tests;
