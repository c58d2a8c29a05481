//! Tests of the user's checkout, merging, pushing, and abandoning.

use brigade_git::GitError;

use super::*;
use crate::workplace::CleanedFolder;

fn prd() -> PrdName {
    "prd-add-auth".parse().unwrap()
}

#[test]
fn a_checked_out_branch_must_be_clean_and_follows() {
    let bench = Bench::new();
    bench.git(&["checkout", "-qb", "feature/x"]);
    bench.write("brigade/tasks/prd.json", "{}\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "prd"]);
    bench.write("untracked.txt", "mine\n");
    let place = bench.open();
    let work = |folder: &Path| {
        write(&folder.join("README.md"), "by the task\n");
        write(&folder.join("new/b"), "b\n");
        std::fs::remove_file(folder.join("src/lib.rs")).unwrap();
    };
    assert!(matches!(task(&place, "a", work).2, Integration::Done(_)));
    assert_eq!(read(&bench.root().join("README.md")), "by the task\n");
    assert_eq!(bench.git(&["status", "--porcelain"]), "?? untracked.txt");
    assert!(!bench.root().join("src").exists());

    // Brigade's changes to the PRD do not block.
    bench.write("brigade/tasks/prd.json", "{\"passes\": true}\n");
    assert!(matches!(task(&place, "b", |folder| write(&folder.join("c"), "c\n")).2, Integration::Done(_)));
    assert_eq!(bench.git(&["status", "--porcelain"]), " M brigade/tasks/prd.json\n?? untracked.txt");

    // Changes of the user block.
    bench.write("README.md", "by the user\n");
    let before = bench.users();
    let (at, _) = place.begin(&name("c")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("d"), "d\n")).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    let refused = place.integrate(&at, &made).unwrap_err();
    assert!(matches!(&refused, PlaceError::Dirty { files, .. } if files == &["README.md"]), "{refused}");
    assert!(matches!(bench.try_open(), Err(PlaceError::Dirty { .. })));
    assert_eq!(bench.users(), before);
    bench.git(&["checkout", "README.md"]);
    // Untracked files block if the task adds the same paths.
    bench.write("d", "mine\n");
    let refused = place.integrate(&at, &made).unwrap_err();
    assert!(matches!(&refused, PlaceError::InTheWay { file, .. } if file == "d"), "{refused}");
    assert_eq!(read(&bench.root().join("d")), "mine\n");
    std::fs::remove_file(bench.root().join("d")).unwrap();
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
    assert_eq!(read(&bench.root().join("d")), "d\n");
}

#[test]
fn a_checkout_in_another_worktree_is_updated() {
    let bench = Bench::new();
    bench.git(&["worktree", "add", "-q", "-b", "feature/x", "../second"]);
    let before = bench.users();
    let place = bench.open();
    assert!(matches!(task(&place, "a", |folder| write(&folder.join("b"), "b\n")).2, Integration::Done(_)));
    let second = bench.folder.path().join("second");
    assert_eq!(
        (read(&second.join("b")), git(&second, &["status", "--porcelain"])),
        ("b\n".into(), String::new())
    );
    assert_eq!(bench.users(), before);
    // The workspace itself may be such a worktree.
    git(&second, &["checkout", "-q", "--detach"]);
    let place = GitPlace::open(&second, &bench.host(), bench.options.clone()).unwrap();
    assert!(matches!(task(&place, "b", |folder| write(&folder.join("c"), "c\n")).2, Integration::Done(_)));
    assert!(!second.join("c").exists());
}

/// Returns a bench after a service was killed between moving the ref and updating the checkout.
fn interrupted(partly: bool) -> (Bench, GitPlace) {
    let bench = Bench::new();
    bench.git(&["checkout", "-qb", "feature/x"]);
    let old = bench.git(&["rev-parse", "HEAD"]);
    let place = bench.open();
    task(&place, "a", |folder| {
        write(&folder.join("README.md"), "by the task\n");
        write(&folder.join("b"), "b\n");
        std::fs::remove_file(folder.join("src/lib.rs")).unwrap();
    });
    let new = bench.git(&["rev-parse", "HEAD"]);
    bench.git(&["read-tree", "--reset", "-u", &old]);
    let (root, note) = (bench.root(), bench.root().join(".brigade/kitchen/+checkout.note"));
    let text = format!("feature/x\0{old}\0{new}\0{}\0{}\0", root.display(), root.join(".git").display());
    write(&note, &text);
    if partly {
        bench.write("README.md", "by the task\n");
        bench.write("b", "b\n");
    }
    (bench, place)
}

#[test]
fn a_stale_checkout_is_updated_at_the_next_start() {
    for partly in [false, true] {
        let (bench, _) = interrupted(partly);
        assert_ne!(bench.git(&["status", "--porcelain"]), "");
        bench.open();
        assert_eq!(bench.git(&["status", "--porcelain"]), "", "{partly}");
        assert_eq!(read(&bench.root().join("README.md")), "by the task\n");
        assert!(!bench.root().join("src/lib.rs").exists());
    }
}

#[test]
fn changes_of_the_user_after_a_crash_are_kept() {
    let (bench, _) = interrupted(true);
    bench.write("README.md", "by the user\n");
    assert!(matches!(bench.try_open(), Err(PlaceError::Dirty { .. })));
    assert_eq!(read(&bench.root().join("README.md")), "by the user\n");
    let (bench, _) = interrupted(false);
    bench.write(".gitignore", "mine\n");
    assert!(matches!(bench.try_open(), Err(PlaceError::Dirty { .. })));
    assert_eq!(read(&bench.root().join(".gitignore")), "mine\n");
}

#[test]
fn a_filter_of_the_user_writes_no_file_of_a_checkout() {
    let bench = Bench::new();
    bench.write(".gitattributes", "*.bin filter=lfs\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "attributes"]);
    bench.git(&["config", "filter.lfs.smudge", "false"]);
    bench.git(&["config", "filter.lfs.clean", "cat"]);
    bench.git(&["checkout", "-qb", "feature/x"]);
    let place = bench.open();
    assert!(matches!(task(&place, "a", |folder| write(&folder.join("b"), "b\n")).2, Integration::Done(_)));
    let (at, _) = place.begin(&name("b")).unwrap();
    let changes = attempt(&place, &at, |folder| write(&folder.join("a.bin"), "b\n")).unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    let refused = place.integrate(&at, &made).unwrap_err().to_string();
    assert!(refused.contains("a.bin"), "{refused}");
    bench.git(&["checkout", "-q", "main"]);
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
}

#[test]
fn merging_moves_the_default_branch_and_never_forces() {
    let bench = Bench::new();
    bench.git(&["checkout", "-q", "--detach"]);
    let place = bench.open();
    let main = || bench.git(&["rev-parse", "main"]);
    task(&place, "a", |folder| write(&folder.join("b"), "b\n"));
    let (into, tip) = place.merge(None).unwrap();
    assert_eq!((into.as_str(), main()), ("main", tip.to_string()), "a fast-forward");
    assert_eq!(place.merge(None).unwrap().1, tip, "again changes nothing");
    // After another commit on `main`, it becomes a merge.
    bench.git(&["checkout", "-q", "main"]);
    bench.write("c", "c\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-qm", "other"]);
    task(&place, "b", |folder| write(&folder.join("d"), "d\n"));
    let (_, tip) = place.merge(Some("main")).unwrap();
    assert_eq!(bench.git(&["rev-list", "--parents", "-1", "main"]).split(' ').count(), 3);
    assert_eq!((main(), read(&bench.root().join("d"))), (tip.to_string(), "d\n".to_owned()));
    assert_eq!(bench.git(&["status", "--porcelain"]), "");
    // A conflict needs a person.
    bench.write("README.md", "by the user\n");
    bench.git(&["commit", "-qam", "mine"]);
    task(&place, "c", |folder| write(&folder.join("README.md"), "by the task\n"));
    let before = (main(), bench.users());
    assert!(matches!(place.merge(None), Err(PlaceError::Conflict(files)) if files == ["README.md"]));
    assert_eq!((main(), bench.users()), before);
    assert!(matches!(place.merge(Some("--force")), Err(PlaceError::BranchName(_))));
    assert!(matches!(place.merge(Some("absent")), Err(PlaceError::BranchGone(_))));
}

#[test]
fn pushing_never_forces() {
    let bench = Bench::new();
    assert!(matches!(bench.open().push(), Err(PlaceError::Nowhere(_))));
    let remote = bench.folder.path().join("remote.git");
    git(bench.folder.path(), &["init", "-q", "--bare", "remote.git"]);
    bench.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let place = bench.open();
    task(&place, "a", |folder| write(&folder.join("b"), "b\n"));
    assert_eq!(place.push().unwrap(), "origin");
    assert_eq!(git(&remote, &["rev-parse", "feature/x"]), bench.git(&["rev-parse", "feature/x"]));
    assert_eq!(
        git(&remote, &["for-each-ref", "--format=%(refname)"]),
        "refs/heads/feature/x",
        "only the branch"
    );
    assert_eq!(place.push().unwrap(), "origin");
    let words =
        ["-c", "user.name=x", "-c", "user.email=x", "commit-tree", "feature/x^{tree}", "-m", "theirs"];
    let theirs = git(&remote, &words);
    git(&remote, &["update-ref", "refs/heads/feature/x", &theirs]);
    assert!(matches!(place.push(), Err(PlaceError::Git(GitError::Failed { operation: "push", .. }))));
    assert_eq!(git(&remote, &["rev-parse", "feature/x"]), theirs);
}

#[test]
fn only_integrated_worktrees_are_cleaned() {
    let bench = Bench::new();
    let place = bench.open();
    task(&place, "done", |folder| write(&folder.join("a"), "a\n"));
    let (open, _) = place.begin(&name("open")).unwrap();
    write(&open.folder.join("b"), "b\n");
    place.begin(&name("empty")).unwrap();
    let (nested, _) = place.begin(&name("nested")).unwrap();
    write(&nested.folder.join("inner/x"), "x\n");
    git(&nested.folder.join("inner"), &["init", "-q", "."]);
    let cleaned = place.clean(&prd()).unwrap();
    let shown: Vec<(String, bool)> =
        cleaned.iter().map(|CleanedFolder { task, kept, .. }| (task.to_string(), kept.is_some())).collect();
    let expect = [("done", false), ("empty", false), ("nested", true), ("open", true)];
    assert_eq!(shown, expect.map(|(task, kept)| (task.to_owned(), kept)));
    assert_eq!(read(&open.folder.join("b")), "b\n");
    assert!(!place.worktrees().join("prd-add-auth/done").exists());
    assert_eq!(place.clean(&"prd-other".parse().unwrap()).unwrap(), []);
}

#[test]
fn work_that_is_given_up_is_kept_under_a_ref() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a..b")).unwrap();
    write(&at.folder.join("b"), "b\n");
    let kept = place.abandon(&prd(), &"a..b".parse().unwrap()).unwrap().unwrap();
    assert!(kept.starts_with("refs/brigade/abandoned/prd-add-auth/a%2E%2Eb/"), "{kept}");
    assert_eq!(bench.git(&["show", &format!("{kept}:b")]), "b");
    assert!(!at.folder.exists());
    assert_eq!(place.abandon(&prd(), &"a..b".parse().unwrap()).unwrap(), None);
    assert_eq!(bench.git(&["fsck", "--strict"]), "");
}

#[test]
fn a_refused_push_says_why_once_on_one_line() {
    let bench = Bench::new();
    bench.git(&["init", "-q", "--bare", "../remote.git"]);
    let remote = bench.folder.path().join("remote.git").display().to_string();
    bench.git(&["remote", "add", "origin", &remote]);
    bench.git(&["checkout", "-q", "-b", "other"]);
    bench.git(&["commit", "-q", "--allow-empty", "-m", "elsewhere"]);
    bench.git(&["push", "-q", "origin", "other:feature/x"]);
    bench.git(&["checkout", "-q", "main"]);
    let place = bench.open();
    task(&place, "a", |folder| write(&folder.join("a"), "a\n"));
    let error = place.push().unwrap_err().to_string();
    assert!(error.contains("[rejected]") && !error.contains('\n'), "{error}");
    assert!(!error.contains("), [rejected]"), "{error}");
    assert!(!error.contains("hint") && error.matches("failed to push").count() == 1, "{error}");
}
