//! Tests of worktrees, commits and the branch, in real repositories.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests make repositories and look at them"
)]

mod closed;
mod cost;
mod done;
mod faults;
mod hostile;
mod landing;
mod setup;
mod spare;
mod way;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use brigade_core::RunId;
use brigade_testkit::SavedTree;

use super::*;
use crate::workplace::{Changes, FolderOrigin, Guard, Integration, Place, PlaceError, TaskCommit};

/// A repository of one commit.
static REPOSITORY: LazyLock<SavedTree> = LazyLock::new(|| {
    SavedTree::new(|root| {
        git(root, &["init", "-q", "--template=", "-b", "main", "."]);
        git(root, &["config", "user.name", "Ada"]);
        git(root, &["config", "user.email", "ada@example.org"]);
        git(root, &["config", "maintenance.auto", "false"]);
        write(&root.join("README.md"), "hello\n");
        write(&root.join("src/lib.rs"), "// TODO old\nfn a() {}\n");
        write(&root.join(".gitignore"), ".brigade/\n*.log\nbuild/\n.env\nnode_modules\n");
        git(root, &["add", "-A"]);
        git(root, &["commit", "-q", "-m", "first"]);
    })
});

/// A workspace with a repository of one commit.
struct Bench {
    folder: tempfile::TempDir,
    options: GitOptions,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench {
            options: GitOptions {
                branch: "feature/x".to_owned(),
                worktrees: ".brigade/kitchen/worktrees".to_owned(),
                copy: Vec::new(),
                link: Vec::new(),
                commits: Commits::Squash,
                default_branch: None,
                own_files: vec!["brigade".to_owned()],
                done: Vec::new(),
                agent_files: AgentFiles::Closed,
                redactor: Redactor::new(&[]),
            },
            folder,
        };
        std::fs::create_dir_all(bench.root()).unwrap();
        REPOSITORY.write(&bench.root());
        bench
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn host(&self) -> HostEnvironment {
        let path = std::env::var_os("PATH").unwrap();
        let home = self.folder.path().join("home").into_os_string();
        HostEnvironment::new([(OsString::from("PATH"), path), (OsString::from("HOME"), home)])
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    fn git(&self, words: &[&str]) -> String {
        git(&self.root(), words)
    }

    fn try_open(&self) -> Result<GitPlace, PlaceError> {
        GitPlace::open(&self.root(), &self.host(), self.options.clone())
    }

    fn open(&self) -> GitPlace {
        self.try_open().unwrap()
    }

    /// Returns the user's state: files, index, stash, branch and untracked files.
    fn users(&self) -> Vec<String> {
        vec![
            self.git(&["status", "--porcelain", "-b"]),
            self.git(&["stash", "list"]),
            self.git(&["rev-parse", "HEAD"]),
            self.git(&["ls-files", "-s"]),
        ]
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Runs git like a user or worker.
fn git(folder: &Path, words: &[&str]) -> String {
    let (worked, text) = try_git(folder, words);
    assert!(worked, "git {words:?}: {text}");
    text
}

fn try_git(folder: &Path, words: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let both = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&both).trim_end().to_owned())
}

fn name(task: &str) -> TaskName {
    TaskName {
        prd: "prd-add-auth".parse().unwrap(),
        task: task.parse().unwrap(),
        title: format!("Title of {task}"),
    }
}

fn run_id() -> RunId {
    "run-1".parse().unwrap()
}

/// Runs one attempt: a worker changes the folder, then the changes are collected.
fn attempt(place: &GitPlace, at: &Place, work: impl FnOnce(&Path)) -> Result<Changes, PlaceError> {
    let guard: Guard = place.guard(at)?;
    work(&at.folder);
    place.look(at, &guard)
}

/// Runs a whole task, including integration.
fn task(place: &GitPlace, id: &str, work: impl FnOnce(&Path)) -> (Place, TaskCommit, Integration) {
    let (at, _) = place.begin(&name(id)).unwrap();
    let changes = attempt(place, &at, work).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    let integration = place.integrate(&at, &made).unwrap();
    (at, made, integration)
}

fn paths(changes: &Changes) -> Vec<String> {
    changes.files.iter().map(|file| format!("{:?} {}", file.kind, file.path)).collect()
}
