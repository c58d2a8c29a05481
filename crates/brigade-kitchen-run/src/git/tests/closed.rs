//! Commits, integrations and merges at closed places, and with secrets.

use brigade_git::CommitRefusal;
use brigade_redact::SecretValue;

use super::*;

/// Writes files in the worktree of a task, and returns why its commit is refused.
#[track_caller]
fn refused(bench: &Bench, set_up: impl Fn(&Path)) -> Option<String> {
    let place = bench.open();
    let (at, _) = place.begin(&name("US-001")).unwrap();
    let guard = place.guard(&at).unwrap();
    set_up(&at.folder);
    let changes = place.look(&at, &guard).unwrap();
    let done = place.commit(&at, &changes, &run_id());
    let refusal = match done {
        Ok(_) => None,
        Err(PlaceError::Refused(refusal)) => Some(refusal.to_string()),
        Err(error) => panic!("{error}"),
    };
    place.finish(&at).unwrap();
    refusal
}

#[test]
fn commits_at_closed_places_are_refused() {
    let bench = Bench::new();
    bench.write("../home/.gitconfig", "[core]\nhooksPath = .githooks\n");
    for path in [
        ".brigade/tools/policy.toml",
        "deep/.Brigade/x",
        ".githooks/pre-commit",
        ".mcp.json",
        "deep/.codex/config.toml",
        ".vscode/tasks.json",
    ] {
        let why = refused(&bench, |folder| {
            write(&folder.join(path), "x");
            // The worker un-ignores what the user ignores.
            write(&folder.join(".gitignore"), "");
        });
        let why = why.unwrap_or_else(|| panic!("{path} was committed"));
        assert!(why.contains(&format!("`{path}`")), "{why}");
    }
    let link = refused(&bench, |folder| {
        std::os::unix::fs::symlink("../.git/hooks", folder.join("src/link")).unwrap();
    });
    assert!(link.is_some_and(|why| why.contains("`src/link`")));
    let bare = refused(&bench, |folder| {
        for file in ["HEAD", "objects/x", "refs/x", "config"] {
            write(&folder.join("bare").join(file), "ref: refs/heads/main\n");
        }
    });
    assert!(bare.is_some_and(|why| why.contains("`bare/")));
    assert_eq!(refused(&bench, |folder| write(&folder.join("src/free.rs"), "x")), None);
    let mut open = Bench::new();
    open.options.agent_files = AgentFiles::Open;
    assert_eq!(refused(&open, |folder| write(&folder.join(".vscode/tasks.json"), "x")), None);
}

#[test]
fn commits_with_secrets_are_refused() {
    let mut bench = Bench::new();
    bench.options.redactor = Redactor::new(&[SecretValue::from("blue-whale-77")]);
    let check = |bytes: &[u8], expect: Option<&str>| {
        let why = refused(&bench, |folder| {
            std::fs::write(folder.join("src/conf.txt"), bytes).unwrap();
        });
        match expect {
            Some(place) => assert!(why.as_ref().is_some_and(|why| why.contains(place)), "{why:?}"),
            None => assert_eq!(why, None),
        }
        assert!(!why.unwrap_or_default().contains("whale"));
    };
    check(b"one\nkey = blue-whale-77\n", Some("`src/conf.txt` line 2"));
    check(b"\0\0blue-whale-77\0", Some("`src/conf.txt` line 1"));
    check(b"a\n\nAKIAIOSFODNN7EXAMPLE", Some("`src/conf.txt` line 3"));
    let long = ["x".repeat(3 << 20), "blue-whale-77".to_owned()].concat();
    check(long.as_bytes(), Some("`src/conf.txt` line 1"));
    check(b"this.token = reply.accessToken;\npassword = \"hunter2\"\n", None);
}

#[test]
fn kept_commits_are_checked_one_by_one() {
    let mut bench = Bench::new();
    bench.options.commits = Commits::Keep;
    bench.options.redactor = Redactor::new(&[SecretValue::from("blue-whale-77")]);
    let place = bench.open();
    let (at, _) = place.begin(&name("US-001")).unwrap();
    let guard = place.guard(&at).unwrap();
    write(&at.folder.join("src/conf.txt"), "blue-whale-77\n");
    git(&at.folder, &["add", "-A"]);
    git(&at.folder, &["commit", "-q", "-m", "one"]);
    write(&at.folder.join("src/conf.txt"), "taken out\n");
    git(&at.folder, &["commit", "-q", "-a", "-m", "two"]);
    let changes = place.look(&at, &guard).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert_eq!(made.squashed, Some("one of them changes a closed place or adds a secret"));
}

#[test]
fn merges_overwrite_nothing_that_is_untracked() {
    for ignored in [true, false] {
        let bench = Bench::new();
        let place = bench.open();
        let (at, _) = place.begin(&name("US-001")).unwrap();
        let guard = place.guard(&at).unwrap();
        let file = if ignored { "notes.log" } else { "notes.txt" };
        write(&at.folder.join(".gitignore"), ".brigade/\n");
        write(&at.folder.join(file), "of the worker\n");
        let changes = place.look(&at, &guard).unwrap();
        let made = place.commit(&at, &changes, &run_id()).unwrap();
        assert!(matches!(place.integrate(&at, &made), Ok(Integration::Done(_))));
        bench.write(file, "of the user\n");
        let before = bench.git(&["rev-parse", "main"]);
        match place.merge(Some("main")) {
            Err(PlaceError::InTheWay { file: named, .. }) => assert_eq!(named, file),
            other => panic!("{other:?}"),
        }
        assert_eq!(read(&bench.root().join(file)), "of the user\n");
        assert_eq!(bench.git(&["rev-parse", "main"]), before);
    }
}

#[test]
fn merges_at_closed_places_are_refused() {
    let bench = Bench::new();
    let place = bench.open();
    bench.git(&["checkout", "-q", "feature/x"]);
    bench.write(".mcp.json", "{}");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-m", "by hand"]);
    bench.git(&["checkout", "-q", "main"]);
    match place.merge(Some("main")) {
        Err(PlaceError::Refused(CommitRefusal::Closed { path, .. })) => assert_eq!(path, ".mcp.json"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kept_commits_tell_no_secret_in_their_author() {
    let mut bench = Bench::new();
    bench.options.commits = Commits::Keep;
    bench.options.redactor = Redactor::new(&[SecretValue::from("blue-whale-77")]);
    let place = bench.open();
    let (at, _) = place.begin(&name("US-001")).unwrap();
    let guard = place.guard(&at).unwrap();
    write(&at.folder.join("src/conf.txt"), "fine\n");
    git(&at.folder, &["add", "-A"]);
    git(&at.folder, &["commit", "-q", "-m", "one", "--author=blue-whale-77 <a@b>"]);
    let changes = place.look(&at, &guard).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert_eq!(made.squashed, Some("the message or author of one of them holds a secret"));
}
