//! Finds the entries of a workspace that no run may write: the caller's own state, and everything by which git is
//! found.
//!
//! `.git` can be a link, or a file that names a directory, and that directory can name another one (`commondir`). A run
//! that could replace anything on one of these paths could make git read a foreign configuration, which can start
//! programs. So each path is followed the way the kernel follows it. Every direct entry of the workspace on it is kept,
//! with everything below.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use brigade_core::GIT_FOLDER;

use crate::system::first_bytes;

/// The maximum number of links on one path; the same as the kernel's.
const MAX_LINKS: usize = 40;

/// The longest file that names a directory of git.
const MAX_BYTES: u64 = 64 * 1024;

/// How much of the workspace can be writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WritableScope {
    /// The directory itself. Mounts protect the kept entries.
    Folder,
    /// Its other entries one by one, but no new entries. A kept entry is a link, which a mount cannot protect from
    /// being replaced.
    Entries,
    /// Nothing: git's directory is the workspace or contains it, or it could not be found.
    Nothing,
}

/// The protected entries of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedEntries {
    /// Direct entries of the workspace, existing or not.
    pub entries: Vec<PathBuf>,
    /// The same, by the workspace's path without links.
    real: Vec<PathBuf>,
    /// The workspace, without links.
    root: PathBuf,
    /// How much of the workspace can be writable.
    pub scope: WritableScope,
}

impl ProtectedEntries {
    /// Finds the protected entries of a workspace, as it is now.
    ///
    /// `state` are the paths, relative to the workspace, of the caller's own files there. The targets of links on them
    /// are protected, too.
    pub fn find(workspace: &Path, state: &[&str]) -> ProtectedEntries {
        let mut followed = FollowedPaths {
            root: workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned()),
            names: BTreeSet::new(),
            scope: WritableScope::Folder,
        };
        let root = followed.root.clone();
        for path in state {
            followed.walk(&root, Path::new(path));
        }
        followed.walk_to_git(&root);
        let below = |folder: &Path| followed.names.iter().map(|name| folder.join(name)).collect();
        ProtectedEntries { entries: below(workspace), real: below(&root), root, scope: followed.scope }
    }

    /// Returns whether a path leads to a protected entry, or to a file below one.
    pub fn protects(&self, path: &Path) -> bool {
        let leads_there =
            |path: &Path| self.entries.iter().chain(&self.real).any(|kept| path.starts_with(kept));
        leads_there(path) || path.canonicalize().is_ok_and(|real| leads_there(&real))
    }

    /// Returns whether a path, or a directory above it, is a protected entry.
    pub fn covers(&self, path: &Path) -> bool {
        self.entries.iter().any(|entry| path.starts_with(entry))
    }

    /// Returns the directory that a path leads to, if it contains the workspace or is the workspace. The result is a
    /// prefix of the workspace's own path.
    pub fn enclosing<'w>(&self, path: &Path, workspace: &'w Path) -> Option<&'w Path> {
        let real = path.canonicalize().ok().filter(|real| self.root.starts_with(real))?;
        let is_it = |folder: &&Path| folder.canonicalize().is_ok_and(|folder| folder == real);
        Some(workspace.ancestors().find(is_it).unwrap_or(workspace))
    }

    /// Returns whether a path leads into the workspace.
    pub fn is_inside(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        path.starts_with(&self.root) || real.is_ok_and(|real| real.starts_with(&self.root))
    }

    /// Lists the direct entries of the workspace that are neither protected nor links.
    pub fn other_entries(&self, workspace: &Path) -> Vec<PathBuf> {
        let entries = workspace.read_dir().into_iter().flatten().flatten();
        let is_link = |entry: &DirEntry| entry.file_type().map_or(true, |kind| kind.is_symlink());
        let mut others: Vec<PathBuf> = entries
            .filter(|entry| !is_link(entry))
            .map(|entry| entry.path())
            .filter(|path| !self.entries.contains(path))
            .collect();
        others.sort();
        others
    }
}

/// The followed paths.
struct FollowedPaths {
    /// The workspace, without links.
    root: PathBuf,
    /// The direct entries of the workspace on them.
    names: BTreeSet<OsString>,
    scope: WritableScope,
}

impl FollowedPaths {
    /// Follows the path to `.git`, to the directory that it names, and to the shared directory that this one names.
    fn walk_to_git(&mut self, root: &Path) {
        let Some(entry) = self.walk(root, Path::new(GIT_FOLDER)) else { return };
        let folder = match named(&entry, b"gitdir:") {
            Some(folder) => self.walk(entry.parent().unwrap_or(root), &folder),
            None => Some(entry),
        };
        if let Some(folder) = folder
            && let Some(shared) = named(&folder.join("commondir"), b"")
        {
            self.walk(&folder, &shared);
        }
    }

    /// Follows one path from a directory, which has no links, and returns where it ends. Returns `None` if it has too
    /// many links.
    fn walk(&mut self, from: &Path, path: &Path) -> Option<PathBuf> {
        let mut at = from.to_owned();
        let mut rest: Vec<PathBuf> = parts(path);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            match part.components().next() {
                Some(Component::RootDir) => at = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    at.pop();
                }
                Some(Component::Normal(name)) => {
                    let next = at.join(name);
                    let is_entry = at == self.root;
                    if is_entry {
                        self.names.insert(name.to_owned());
                    }
                    let Ok(target) = next.read_link() else {
                        at = next;
                        continue;
                    };
                    links += 1;
                    if is_entry {
                        self.scope = self.scope.max(WritableScope::Entries);
                    }
                    if MAX_LINKS < links {
                        self.scope = WritableScope::Nothing;
                        return None;
                    }
                    rest.extend(parts(&target));
                }
                Some(Component::CurDir | Component::Prefix(_)) | None => {}
            }
        }
        if self.root.starts_with(&at) {
            self.scope = WritableScope::Nothing;
        }
        Some(at)
    }
}

/// Returns the git directory that a worktree shares with the other worktrees, without links. `None` if it has none.
pub fn shared_git(files: &Path) -> Option<PathBuf> {
    let entry = files.join(GIT_FOLDER);
    let git = named(&entry, b"gitdir:").map_or(entry, |folder| files.join(folder));
    let shared = named(&git.join("commondir"), b"").map_or(git.clone(), |shared| git.join(shared));
    shared.canonicalize().ok().filter(|shared| shared.is_dir())
}

/// Lists the files of a directory that end in `.json`, sorted; empty if the directory cannot be read.
pub fn json_files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let mut files: Vec<PathBuf> = entries.filter(is_file).map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

/// Lists the directories in a directory, sorted; empty if it cannot be read. Links do not count.
pub fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut folders: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// Returns an existing path without links.
pub fn without_links(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Returns whether only root can have written an existing file and the directories on its path. The path has no links.
pub fn is_only_of_root(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let is_roots = |path: &Path| {
        path.symlink_metadata().is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
    };
    path.ancestors().all(is_roots)
}

/// Resolves a path as the kernel would until it enters the workspace. From there on, a link makes the result `None`.
pub fn without_links_below(path: &Path, workspace: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                match next.read_link() {
                    Ok(_) if at.starts_with(workspace) || MAX_LINKS <= links => return None,
                    Ok(target) => {
                        links += 1;
                        rest.extend(parts(&target));
                    }
                    Err(_) => at = next,
                }
            }
            Some(Component::CurDir | Component::Prefix(_)) | None => {}
        }
    }
    // Outside of the workspace the path keeps its name, because its links are under the owner's control.
    Some(if at.starts_with(workspace) { at } else { path.to_owned() })
}

/// Returns the parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Reads the path that a git file names after a prefix; `None` if the file does not have this form.
pub(super) fn named(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let bytes = first_bytes(file, MAX_BYTES).ok()?;
    let path = bytes.strip_prefix(prefix)?.trim_ascii();
    (!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path.to_owned())))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Checks which entries are kept in addition to those of every workspace, and how much can be writable.
    #[track_caller]
    fn check(set_up: impl Fn(&Path), entries: &[&str], scope: WritableScope) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir_all(workspace.join("deep/real")).unwrap();
        set_up(&workspace);
        let kept = ProtectedEntries::find(&workspace, &[".brigade", ".brigade/tools/policy.toml"]);
        let mut expect: Vec<PathBuf> =
            [".brigade", GIT_FOLDER].iter().chain(entries).map(|name| workspace.join(name)).collect();
        expect.sort();
        assert_eq!((kept.entries, kept.scope), (expect, scope));
    }

    fn git_file(text: &str) -> impl Fn(&Path) {
        move |workspace| fs::write(workspace.join(".git"), text).unwrap()
    }

    fn git_link(target: &str) -> impl Fn(&Path) {
        move |workspace| symlink(target, workspace.join(".git")).unwrap()
    }

    #[test]
    fn every_kind_of_git_entry_is_kept() {
        check(|_| {}, &[], WritableScope::Folder);
        check(|workspace| fs::create_dir(workspace.join(".git")).unwrap(), &[], WritableScope::Folder);
        check(git_file("gitdir: real.git\n"), &["real.git"], WritableScope::Folder);
        check(git_file("gitdir: ./deep/real\n"), &["deep"], WritableScope::Folder);
        check(git_file("gitdir: ../outside/.git/worktrees/one\n"), &[], WritableScope::Folder);
        check(git_file("gitdir: ../workspace/deep/../other"), &["deep", "other"], WritableScope::Folder);
        check(git_file("something else"), &[], WritableScope::Folder);
    }

    #[test]
    fn a_link_on_the_way_closes_the_folder() {
        check(git_link("deep/real"), &["deep"], WritableScope::Entries);
        check(git_link("gone"), &["gone"], WritableScope::Entries);
        check(git_link("/nowhere/at/all"), &[], WritableScope::Entries);
        let through_link = |workspace: &Path| {
            symlink("deep", workspace.join("link")).unwrap();
            fs::write(workspace.join(".git"), "gitdir: link/real").unwrap();
        };
        check(through_link, &["deep", "link"], WritableScope::Entries);
        check(
            |workspace: &Path| symlink("deep", workspace.join(".brigade")).unwrap(),
            &["deep"],
            WritableScope::Entries,
        );
    }

    #[test]
    fn targets_of_the_callers_links_are_kept() {
        let linked = |target: &'static str| {
            move |workspace: &Path| {
                fs::create_dir_all(workspace.join(".brigade/tools")).unwrap();
                symlink(target, workspace.join(".brigade/tools/policy.toml")).unwrap();
            }
        };
        check(linked("../../deep/policy.toml"), &["deep"], WritableScope::Folder);
        check(linked("../../policy.toml"), &["policy.toml"], WritableScope::Folder);
        check(linked("../../gone/policy.toml"), &["gone"], WritableScope::Folder);
        check(linked("../other.toml"), &[], WritableScope::Folder);
        check(linked("/nowhere/policy.toml"), &[], WritableScope::Folder);
    }

    #[test]
    fn a_workspace_inside_of_git_is_closed() {
        check(git_file("gitdir: ."), &[], WritableScope::Nothing);
        check(git_file("gitdir: .."), &[], WritableScope::Nothing);
        check(git_file("gitdir: /"), &[], WritableScope::Nothing);
        check(git_link("."), &[], WritableScope::Nothing);
        check(git_link(".git"), &[], WritableScope::Nothing);
    }

    #[test]
    fn paths_to_a_kept_entry_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path();
        fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
        symlink(".git", workspace.join("link")).unwrap();
        let kept = ProtectedEntries::find(workspace, &[".brigade"]);
        for (path, expect) in [
            (".git/hooks", true),
            ("link", true),
            ("link/hooks", true),
            (".brigade/new", true),
            ("x/../.git", false),
            ("out", false),
            (".", false),
        ] {
            assert_eq!(kept.protects(&workspace.join(path)), expect, "{path}");
        }
        assert_eq!(kept.enclosing(&workspace.join("."), workspace), Some(workspace));
        assert_eq!(kept.enclosing(&workspace.join(".git/../.."), workspace), workspace.parent());
        assert_eq!(kept.enclosing(&workspace.join(".git"), workspace), None);
        fs::create_dir(workspace.join("x")).unwrap();
        assert!(kept.protects(&workspace.join("x/../.git")), "now it leads there");
    }

    #[test]
    fn the_folder_that_several_share_is_kept() {
        let shared = |workspace: &Path| {
            fs::write(workspace.join(".git"), "gitdir: deep/real").unwrap();
            fs::write(workspace.join("deep/real/commondir"), "../../common\n").unwrap();
        };
        check(shared, &["common", "deep"], WritableScope::Folder);
    }
}
