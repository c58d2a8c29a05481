//! Whether git tracks the policy, compared with what git itself writes.

#![allow(clippy::disallowed_methods, reason = "the test makes repositories with git")]
#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::path::Path;
use std::process::Command;

use brigade_fs::DiskFs;
use brigade_workspace::{TrustStore, read_policy};

const POLICY: &str = ".brigade/tools/policy.toml";

fn git(directory: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is installed");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn write(directory: &Path, path: &str) {
    let path = directory.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "x").unwrap();
}

fn tracked(workspace: &Path) -> bool {
    let fs = DiskFs::open(workspace).unwrap();
    let policy = read_policy(&fs, &TrustStore::default());
    policy.issues().iter().any(brigade_core::ConfigIssue::is_tracked)
}

/// Makes a repository with many files, and says what is found before and after the policy is added.
#[track_caller]
fn check(init: &[&str], prepare: &[&[&str]]) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &[&["init", "-q"], init].concat());
    write(root, POLICY);
    for index in 0..40 {
        write(root, &format!("a/{index}/{}", "name".repeat(1 + index)));
    }
    git(root, &["add", "a"]);
    for arguments in prepare {
        git(root, arguments);
    }
    assert!(!tracked(root), "{prepare:?}");
    git(root, &["add", "-f", POLICY]);
    assert!(tracked(root), "{prepare:?}");
    git(root, &["rm", "-q", "--cached", POLICY]);
    assert!(!tracked(root), "{prepare:?}");
}

#[test]
fn every_version_of_the_index_is_read() {
    check(&[], &[]);
    check(&[], &[&["update-index", "--index-version", "4"]]);
    check(&["--object-format=sha256"], &[]);
    check(&["--object-format=sha256"], &[&["update-index", "--index-version", "4"]]);
    // Version 3 has more flags: of files that are only meant to be added.
    check(&[], &[&["rm", "-q", "-r", "--cached", "a"], &["add", "-N", "a"]]);
}

#[test]
fn a_file_of_the_same_name_elsewhere_is_another() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q"]);
    write(folder.path(), POLICY);
    write(folder.path(), &format!("sub/{POLICY}"));
    git(folder.path(), &["add", "-f", "sub"]);
    assert!(!tracked(folder.path()));
    assert!(tracked(&folder.path().join("sub")));
}

#[test]
fn no_repository_tracks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), POLICY);
    assert!(!tracked(folder.path()));
    git(folder.path(), &["init", "-q"]);
    assert!(!tracked(folder.path()));
}

#[test]
fn split_and_sparse_indexes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    write(root, POLICY);
    write(root, "a");
    git(root, &["add", "-f", "."]);
    git(root, &["update-index", "--split-index"]);
    assert!(tracked(root));
    git(root, &["rm", "-q", "--cached", "a"]);
    assert!(tracked(root));

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    write(root, POLICY);
    write(root, "keep/a");
    git(root, &["add", "-f", "."]);
    git(root, &["commit", "-q", "-m", "all"]);
    git(root, &["sparse-checkout", "set", "--cone", "--sparse-index", "keep"]);
    write(root, POLICY);
    assert!(tracked(root));
}

#[test]
fn worktrees_and_submodules_have_a_separate_index() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("main");
    std::fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    write(&main, POLICY);
    git(&main, &["add", "-f", "."]);
    git(&main, &["commit", "-q", "-m", "all"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    let tree = folder.path().join("tree");
    assert!(tracked(&tree));
    git(&tree, &["rm", "-q", "--cached", POLICY]);
    assert!(!tracked(&tree) && tracked(&main));

    let outer = folder.path().join("outer");
    std::fs::create_dir(&outer).unwrap();
    git(&outer, &["init", "-q"]);
    git(&outer, &["submodule", "--quiet", "add", "../main", "sub"]);
    assert!(tracked(&outer.join("sub")));
    git(&outer.join("sub"), &["rm", "-q", "--cached", POLICY]);
    assert!(!tracked(&outer.join("sub")));
}

#[test]
fn a_link_to_a_tracked_file_is_tracked() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    write(root, "config/policy.toml");
    std::fs::create_dir_all(root.join(".brigade/tools")).unwrap();
    std::os::unix::fs::symlink("../../config/policy.toml", root.join(POLICY)).unwrap();
    assert!(!tracked(root));
    git(root, &["add", "config"]);
    assert!(tracked(root));
}

#[test]
fn a_tracked_link_on_the_way_tracks_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    write(root, "state/tools/policy.toml");
    std::os::unix::fs::symlink("state", root.join(".brigade")).unwrap();
    assert!(!tracked(root));
    git(root, &["add", ".brigade"]);
    assert!(tracked(root));
}

#[test]
fn an_index_that_cannot_be_read_tracks_everything() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    write(root, POLICY);
    write(root, "a");
    git(root, &["add", "a"]);
    let index = root.join(".git/index");
    let bytes = std::fs::read(&index).unwrap();
    assert!(!tracked(root));
    for length in 1..bytes.len() {
        std::fs::write(&index, &bytes[..length]).unwrap();
        assert!(tracked(root), "{length} of {} bytes", bytes.len());
    }
    std::fs::write(root.join(".git/index"), "DIRC\0\0\0\x05").unwrap();
    assert!(tracked(root));
}
