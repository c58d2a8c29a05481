//! A workspace for one test: a temporary directory that is removed when the test ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The name prefix of every temporary directory. The output filter relies on it.
pub(crate) const PREFIX: &str = "brigade-test-";

/// Returns the directory `fixtures/` of this repository.
pub fn fixtures() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    fs::canonicalize(&beside).unwrap_or_else(|e| panic!("{}: {e}", beside.display()))
}

/// A temporary directory with a workspace and an empty home directory.
///
/// Dropping it removes both. The path of the workspace is absolute and contains no links.
#[derive(Debug)]
pub struct TempWorkspace {
    _dir: TempDir,
    root: PathBuf,
    home: PathBuf,
}

impl TempWorkspace {
    /// Creates an empty workspace, without a `.brigade` directory.
    pub fn empty() -> TempWorkspace {
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir()
            .unwrap_or_else(|e| panic!("cannot create a temporary directory: {e}"));
        let base = fs::canonicalize(dir.path()).unwrap_or_else(|e| panic!("{}: {e}", dir.path().display()));
        let workspace = TempWorkspace { _dir: dir, root: base.join("workspace"), home: base.join("home") };
        for path in [&workspace.root, &workspace.home] {
            fs::create_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        workspace
    }

    /// Creates a copy of `fixtures/workspaces/NAME`, including file modes and links.
    pub fn fixture(name: &str) -> TempWorkspace {
        let source = fixtures().join("workspaces").join(name);
        assert!(source.is_dir(), "no fixture named `{name}` in {}", source.display());
        let workspace = TempWorkspace::empty();
        copy_tree(&source, &workspace.root);
        workspace
    }

    /// Returns the directory of the workspace.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Returns the home directory of programs that run in this workspace.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the absolute path of a file in the workspace, which need not exist.
    pub fn join(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Writes a file, creating its parent directories and replacing an existing file.
    pub fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
        }
        fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Reads a file.
    #[track_caller]
    pub fn read(&self, relative: impl AsRef<Path>) -> Vec<u8> {
        let path = self.join(relative);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Reads a UTF-8 file.
    #[track_caller]
    pub fn read_text(&self, relative: impl AsRef<Path>) -> String {
        let path = self.join(relative);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Replaces the only occurrence of `old` in a file. Panics unless `old` occurs exactly once.
    #[track_caller]
    pub fn replace(&self, relative: impl AsRef<Path>, old: &str, new: &str) {
        let text = self.read_text(&relative);
        let count = text.matches(old).count();
        assert_eq!(count, 1, "`{old}` occurs {count} times in {}", relative.as_ref().display());
        self.write(relative, text.replacen(old, new, 1));
    }

    /// Returns whether a file, a directory or a link, even a broken one, has this name.
    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        self.join(relative).symlink_metadata().is_ok()
    }

    /// Removes a file, or a directory with its content.
    #[track_caller]
    pub fn remove(&self, relative: impl AsRef<Path>) {
        let path = self.join(relative);
        let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Returns every regular file below a directory of the workspace (`""` for all), sorted by path.
    ///
    /// Used to compare whole trees, or to search all written files for a planted secret. Omits `.git`.
    pub fn files(&self, below: impl AsRef<Path>) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.root, &self.join(below), &mut found);
        found
    }

    /// Makes the workspace a git repository with one commit of all files, at a fixed time. Leaves out what does not
    /// count if git tracks it.
    pub fn git_init(&self) {
        self.git(["init", "--quiet", "--template=", "--initial-branch=main"]);
        let private = "/.brigade/tools/policy.toml\n/.brigade/tools/gateway.toml\n/.brigade/tools/calls.jsonl\n\
                       /.brigade/tools/state.db*\n/.brigade/tools/pins/\n";
        self.write(".git/info/exclude", private);
        self.git(["add", "--all"]);
        // The rules of a fixture may include it.
        self.git(["rm", "--cached", "--quiet", "--ignore-unmatch", ".brigade/tools/policy.toml"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message=Begin"]);
    }

    /// Runs git in the workspace with a fixed author and date and without user settings. Returns its output.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        const WHEN: &str = "2026-01-02T03:04:05+00:00";
        let output = Command::new("git")
            // Otherwise each commit starts another git, which finds nothing to do.
            .args(["-c", "maintenance.auto=false"])
            .args(args)
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs([("GIT_AUTHOR_NAME", "Ada Example"), ("GIT_AUTHOR_EMAIL", "ada@example.com")])
            .envs([("GIT_COMMITTER_NAME", "Ada Example"), ("GIT_COMMITTER_EMAIL", "ada@example.com")])
            .envs([("GIT_AUTHOR_DATE", WHEN), ("GIT_COMMITTER_DATE", WHEN)])
            .output()
            .unwrap_or_else(|e| panic!("cannot run git: {e}"));
        assert!(output.status.success(), "git failed: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in entries(from) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let copied = if kind.is_dir() {
            fs::create_dir(&target).map(|()| copy_tree(&source, &target))
        } else if kind.is_symlink() {
            fs::read_link(&source).and_then(|link| std::os::unix::fs::symlink(link, &target))
        } else {
            fs::copy(&source, &target).map(drop)
        };
        copied.unwrap_or_else(|e| panic!("{}: {e}", target.display()));
    }
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in entries(folder) {
        let path = entry.path();
        let kind = entry.file_type().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if kind.is_dir() && entry.file_name() != ".git" {
            collect(root, &path, found);
        } else if kind.is_file() {
            let relative = path.strip_prefix(root).expect("everything listed is below the root");
            let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            found.insert(relative.to_string_lossy().into_owned(), bytes);
        }
    }
}

fn entries(folder: &Path) -> Vec<fs::DirEntry> {
    fs::read_dir(folder)
        .and_then(Iterator::collect)
        .unwrap_or_else(|e: std::io::Error| panic!("{}: {e}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_removed_when_it_is_dropped() {
        let workspace = TempWorkspace::empty();
        workspace.write("a/b.txt", "text");
        let path = workspace.path().to_owned();
        assert_eq!(workspace.read_text("a/b.txt"), "text");
        drop(workspace);
        assert!(!path.parent().unwrap().exists());
    }

    #[test]
    fn a_fixture_is_copied_whole_and_stays_untouched() {
        let (one, two) = (TempWorkspace::fixture("seed"), TempWorkspace::fixture("seed"));
        assert_eq!(one.files(""), two.files(""));
        assert!(one.files("").contains_key(".brigade/tools.toml"));
        one.remove(".brigade");
        assert!(!one.exists(".brigade"));
        assert!(two.exists(".brigade") && fixtures().join("workspaces/seed/.brigade").is_dir());
    }

    #[test]
    fn replace_changes_the_only_occurrence() {
        let workspace = TempWorkspace::empty();
        workspace.write("a.txt", "one two");
        workspace.replace("a.txt", "two", "three");
        assert_eq!(workspace.read("a.txt"), b"one three");
    }

    #[test]
    fn git_commits_are_the_same_every_time() {
        let commit = || {
            let workspace = TempWorkspace::empty();
            workspace.write("a.txt", "text");
            workspace.git_init();
            workspace.git(["rev-parse", "HEAD"])
        };
        assert_eq!(commit(), commit());
    }
}
