//! What of a workspace git and the caller run or believe besides their own directories: repositories and workspaces
//! within it, and directories of hooks.
//!
//! A submodule, a worktree or another repository below the workspace has a `.git` of its own; who could write there
//! would have their hooks and settings used by the next git command in it. The same holds for a directory that
//! `core.hooksPath` names, and for a repository without files to work on, which is found by what it consists of. A
//! workspace within has the caller's state in its own directory, with rules that the next command there would believe.
//! All of them are found by looking, as things are before a run.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::regular::first_bytes;

use super::kept::{Kept, named};

/// The maximum number of searched directories.
const MOST_FOLDERS: usize = 10_000;

/// The maximum number of links on one path.
const MOST_LINKS: usize = 40;

/// The maximum number of closed paths.
const MOST_PLACES: usize = 512;

/// The largest settings file that is read.
const LONGEST_SETTINGS: u64 = 1 << 20;

/// Directories with very many others, in which nobody keeps a repository to work in.
const PASSED_OVER: &[&str] =
    &[".brigade", ".git", ".tox", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// What a repository without files to work on consists of, besides its settings and hooks.
const BARE: &[&str] = &["HEAD", "objects", "refs"];

/// Paths to protect in a writable workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repositories {
    /// Files and directories that no run may write. Each exists, or its parent does.
    pub closed: BTreeSet<PathBuf>,
    /// The directories on the path to them, which may be written but not moved.
    pub pinned: BTreeSet<PathBuf>,
    /// Whether more may exist than were found.
    pub extent: Extent,
}

/// How much of a workspace was searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// As many directories as can be looked at before each run.
    Part,
}

impl Repositories {
    /// Looks for repositories, directories of hooks and other workspaces below a workspace; `home` is where git's own
    /// settings are, and `state` the entry in which each workspace keeps its own.
    pub fn of(workspace: &Path, home: Option<&Path>, state: &str) -> Repositories {
        let mut found = Repositories::default();
        let mut settings: Vec<PathBuf> = vec![PathBuf::from("/etc/gitconfig")];
        settings.extend(
            home.into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]),
        );
        found.hooks(workspace, workspace, &settings);
        let mut seen = BTreeSet::new();
        for repository in listed(workspace) {
            found.repository(workspace, &repository, &settings, &mut seen);
        }
        let mut folders = VecDeque::from([workspace.to_owned()]);
        let mut looked = 0usize;
        while let Some(folder) = folders.pop_front() {
            looked += 1;
            if MOST_FOLDERS < looked || MOST_PLACES < found.closed.len() {
                found.extent = Extent::Part;
                break;
            }
            let mut parts = 0;
            let mut below = Vec::new();
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                parts += usize::from(name.to_str().is_some_and(|name| BARE.contains(&name)));
                if name == ".git" && folder != workspace {
                    found.repository(workspace, &folder, &settings, &mut seen);
                } else if name == state && folder != workspace {
                    found.close_entry(workspace, &folder, state);
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && !name.to_str().is_some_and(|name| PASSED_OVER.contains(&name))
                {
                    below.push(entry.path());
                }
            }
            let is_bare = parts == BARE.len();
            if is_bare && folder == workspace {
                // Its work is to be written; what git runs is not.
                for name in ["config", "hooks"] {
                    found.close(workspace, &folder.join(name));
                }
            } else if is_bare {
                found.close(workspace, &folder);
                continue;
            }
            folders.extend(below);
        }
        found
    }

    /// Closes what a repository is found by, and its hooks.
    fn repository(
        &mut self,
        workspace: &Path,
        folder: &Path,
        settings: &[PathBuf],
        seen: &mut BTreeSet<PathBuf>,
    ) {
        let git = folder.join(".git");
        if folder == workspace || !seen.insert(folder.to_owned()) || git.symlink_metadata().is_err() {
            return;
        }
        self.close_entry(workspace, folder, ".git");
        self.hooks(workspace, folder, settings);
        if let Some(target) = named(&git, b"gitdir:") {
            let target = folder.join(target);
            self.close(workspace, &target);
            if let Some(shared) = named(&target.join("commondir"), b"") {
                self.close(workspace, &target.join(shared));
            }
        }
    }

    /// Closes an entry of a directory that leads somewhere.
    fn close_entry(&mut self, workspace: &Path, folder: &Path, name: &str) {
        self.close(workspace, &folder.join(name));
    }

    /// Closes the directory that `core.hooksPath` names for a repository.
    fn hooks(&mut self, workspace: &Path, repository: &Path, settings: &[PathBuf]) {
        let git = repository.join(".git");
        let folder = named(&git, b"gitdir:").map_or(git, |target| repository.join(target));
        let mut files = vec![folder.join("config"), folder.join("config.worktree")];
        files.extend(named(&folder.join("commondir"), b"").map(|shared| folder.join(shared).join("config")));
        for file in files.iter().chain(settings) {
            let text = first_bytes(file, LONGEST_SETTINGS).unwrap_or_default();
            for path in hooks_paths(&String::from_utf8_lossy(&text)) {
                if path.starts_with('~') {
                    continue;
                }
                let mut folder = repository.join(path);
                // Husky's own directory only leads to the one around it.
                if folder.file_name().is_some_and(|name| name == "_") {
                    folder.pop();
                }
                // Hooks that lie directly in the workspace can have any name that git will know.
                if inside(workspace, &folder).is_some_and(|inside| inside.as_os_str().is_empty()) {
                    self.closed.insert(workspace.to_owned());
                }
                self.close(workspace, &folder);
            }
        }
    }

    /// Closes a path of the workspace, and pins the directories on the way there. Where a directory is missing on the
    /// way, its place is closed. Of a link, which nothing can be mounted over, the directory that holds it is closed,
    /// and where it leads.
    fn close(&mut self, workspace: &Path, path: &Path) {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
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
                    // Directly in the workspace it stays where it is when nothing is made or removed there.
                    if holder != workspace {
                        pinned.pop();
                        at = holder;
                    }
                    break;
                }
                // What is missing or no directory can only be closed as it is.
                if parts.as_path().as_os_str().is_empty() || !at.is_dir() {
                    break;
                }
                pinned.push(at.clone());
            }
            let is_closed = self.closed.iter().any(|closed| at.starts_with(closed) && !closed.is_symlink());
            if at != workspace && !is_closed {
                self.closed.insert(at);
                self.pinned.extend(pinned);
            }
            match target {
                Some(target) if is_workspace(workspace, &target) => {
                    self.closed.insert(workspace.to_owned());
                    return;
                }
                Some(target) => path = target,
                None => return,
            }
        }
    }

    /// Tells whether something that is closed is a link directly in the workspace: nothing may be made or removed
    /// there.
    pub fn closes_the_top(&self, workspace: &Path) -> bool {
        self.closed.iter().any(|closed| closed.parent() == Some(workspace) && closed.is_symlink())
    }
}

/// Tells whether a path leads to the workspace or around it.
fn is_workspace(workspace: &Path, path: &Path) -> bool {
    let real = path.canonicalize();
    real.is_ok_and(|real| workspace.canonicalize().is_ok_and(|workspace| workspace.starts_with(real)))
}

/// Gives the part of a path behind the workspace, with `..` and links resolved as far as there is something.
fn inside(workspace: &Path, path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                // Of a link the directory that it leads to counts.
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
    let modules = first_bytes(&workspace.join(".gitmodules"), LONGEST_SETTINGS).unwrap_or_default();
    let modules = String::from_utf8_lossy(&modules);
    for line in modules.lines() {
        if let Some((name, value)) = line.split_once('=')
            && name.trim() == "path"
        {
            found.push(workspace.join(unquoted(value)));
        }
    }
    let git = workspace.join(".git");
    let folder = named(&git, b"gitdir:").map_or(git, |target| workspace.join(target));
    let shared = named(&folder.join("commondir"), b"").map_or(folder.clone(), |shared| folder.join(shared));
    for entry in fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten() {
        // It names the `.git` of the worktree.
        let git = named(&entry.path().join("gitdir"), b"").map(|git| entry.path().join(git));
        found.extend(git.and_then(|git| git.parent().map(Path::to_owned)));
    }
    found.retain(|folder| inside(workspace, folder).is_some_and(|inside| !inside.as_os_str().is_empty()));
    found
}

/// Lists the values of `core.hooksPath` in a git settings file.
fn hooks_paths(text: &str) -> Vec<String> {
    let mut in_core = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((section, behind)) = rest.split_once(']') else { continue };
            in_core = section.trim().eq_ignore_ascii_case("core");
            line = behind.trim();
        }
        if let Some((name, value)) = line.split_once('=').filter(|_| in_core)
            && name.trim().eq_ignore_ascii_case("hookspath")
        {
            found.push(unquoted(value));
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

/// Removes quotes and comments from a value.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in value.trim().chars() {
        match c {
            c if escaped => {
                text.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            c => text.push(c),
        }
    }
    text.trim_end().to_owned()
}

impl Kept {
    /// Tells whether a path is kept anyway, or beneath one that is.
    pub fn covers(&self, path: &Path) -> bool {
        self.entries.iter().any(|kept| path.starts_with(kept))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Checks what is closed and pinned of a workspace.
    #[track_caller]
    fn check(set_up: impl Fn(&Path), closed: &[&str], pinned: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir_all(workspace.join(".git")).unwrap();
        fs::create_dir_all(workspace.join("deep/er")).unwrap();
        set_up(&workspace);
        let found = Repositories::of(&workspace, Some(folder.path()), ".state");
        let paths = |names: &[&str]| names.iter().map(|name| workspace.join(name)).collect::<BTreeSet<_>>();
        assert_eq!((found.closed, found.pinned), (paths(closed), paths(pinned)));
    }

    fn write(path: &str, text: &str) -> impl Fn(&Path) {
        move |workspace| fs::write(workspace.join(path), text).unwrap()
    }

    #[test]
    fn repositories_below_are_closed() {
        check(|_| {}, &[], &[]);
        check(
            write("deep/er/.git", "gitdir: ../../.git/modules/x"),
            &["deep/er/.git", ".git/modules"],
            &["deep", "deep/er", ".git"],
        );
        check(
            |workspace| fs::create_dir_all(workspace.join("deep/er/.git/hooks")).unwrap(),
            &["deep/er/.git"],
            &["deep", "deep/er"],
        );
        check(
            |workspace| symlink("elsewhere", workspace.join("deep/er/.git")).unwrap(),
            &["deep/er"],
            &["deep"],
        );
        check(
            |workspace| {
                fs::create_dir_all(workspace.join("real/hooks")).unwrap();
                symlink("../../real", workspace.join("deep/er/.git")).unwrap();
            },
            &["deep/er", "real"],
            &["deep"],
        );
        let worktree = |workspace: &Path| {
            let git = workspace.join("bare/worktrees/one");
            fs::create_dir_all(&git).unwrap();
            fs::write(git.join("commondir"), "../..").unwrap();
            fs::write(workspace.join("deep/.git"), format!("gitdir: {}", git.display())).unwrap();
        };
        check(worktree, &["deep/.git", "bare", "bare/worktrees/one"], &["deep", "bare", "bare/worktrees"]);
        check(|workspace| fs::create_dir_all(workspace.join("node_modules/x/.git")).unwrap(), &[], &[]);
    }

    #[test]
    fn repositories_without_files_and_workspaces_are_closed() {
        let bare = |path: &'static str| {
            move |workspace: &Path| {
                for folder in ["objects", "refs/heads", "hooks"] {
                    fs::create_dir_all(workspace.join(path).join(folder)).unwrap();
                }
                fs::write(workspace.join(path).join("HEAD"), "ref: refs/heads/main").unwrap();
            }
        };
        check(bare("deep/bare.git"), &["deep/bare.git"], &["deep"]);
        check(bare(""), &["config", "hooks"], &[]);
        check(|workspace| fs::create_dir(workspace.join("deep/objects")).unwrap(), &[], &[]);
        check(
            |workspace| fs::create_dir_all(workspace.join("deep/er/.state/x/.git")).unwrap(),
            &["deep/er/.state"],
            &["deep", "deep/er"],
        );
        check(|workspace| symlink("x", workspace.join("deep/er/.state")).unwrap(), &["deep/er"], &["deep"]);
        check(|workspace| fs::create_dir(workspace.join(".state")).unwrap(), &[], &[]);
    }

    #[test]
    fn links_close_more() {
        let modules = |text: &'static str| write(".gitmodules", text);
        let linked = |target: &'static str| {
            move |workspace: &Path| {
                symlink(target, workspace.join("docs")).unwrap();
                fs::create_dir_all(workspace.join("deep/.git")).unwrap();
                modules("[submodule \"docs\"]\n\tpath = docs\n")(workspace);
            }
        };
        // `docs/.git` is the workspace's own, which is kept anyway.
        check(linked("."), &["docs", ".git", "deep/.git"], &["deep"]);
        check(linked("deep"), &["docs", "deep/.git"], &["deep"]);
        check(linked("../elsewhere"), &["deep/.git"], &["deep"]);
        let hooks = |target: &'static str| {
            move |workspace: &Path| {
                symlink(target, workspace.join("hooks")).unwrap();
                write(".git/config", "[core]\nhooksPath = hooks\n")(workspace);
            }
        };
        check(hooks("deep/er"), &["hooks", "deep/er"], &["deep"]);
        check(hooks("."), &["hooks", ""], &[]);
        check(hooks("hooks"), &["hooks"], &[]);
        check(write(".git/config", "[core]\nhooksPath = .\n"), &[""], &[]);
        let folder = tempfile::tempdir().unwrap();
        symlink("x", folder.path().join("hooks")).unwrap();
        let closed = |name: &str| Repositories {
            closed: BTreeSet::from([folder.path().join(name)]),
            ..Repositories::default()
        };
        assert!(closed("hooks").closes_the_top(folder.path()));
        assert!(!closed("deep").closes_the_top(folder.path()));
    }

    #[test]
    fn folders_of_hooks_are_closed() {
        let config = |text: &'static str| write(".git/config", text);
        check(config("[core]\n\thooksPath = .githooks\n"), &[".githooks"], &[]);
        check(config("[Core] HooksPath=\"deep/er\" ; why\n"), &["deep/er"], &["deep"]);
        check(config("[core]\nhooksPath = gone/a/b\n"), &["gone"], &[]);
        check(config("[core]\nhooksPath = .husky/_\n"), &[".husky"], &[]);
        check(config("[core \"x\"]\nhooksPath = deep\n[other]\nhooksPath = deep\n"), &[], &[]);
        check(config("[core]\nhooksPath = ../outside\n[core]\nhooksPath = ~/hooks\n"), &[], &[]);
        check(write("../.gitconfig", "[core]\nhooksPath = deep/er\n"), &["deep/er"], &["deep"]);
    }
}
