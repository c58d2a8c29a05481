//! Tests of files that the setup command makes.

use super::*;

/// Begins a task with this setup.
fn set_up(place: &GitPlace, id: &str, setup: impl FnOnce(&Path)) -> Place {
    let (at, _) = place.begin(&name(id)).unwrap();
    assert!(place.begin_setup(&at).unwrap());
    setup(&at.folder);
    place.end_setup(&at, &place.guard(&at).unwrap()).unwrap();
    assert!(!place.begin_setup(&at).unwrap(), "it succeeded");
    at
}

fn makes_all(folder: &Path) {
    write(&folder.join("generated.txt"), "generated\n// TODO of the generator\n");
    write(&folder.join("README.md"), "hello\nset up\n");
    std::fs::remove_file(folder.join("src/lib.rs")).unwrap();
    write(&folder.join("build/out"), "ignored\n");
    write(&folder.join("node_modules/x"), "ignored\n");
}

#[test]
fn files_of_the_setup_are_neither_changes_nor_commits() {
    let bench = Bench::new();
    let place = bench.open();
    let at = set_up(&place, "a", makes_all);
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
    assert!(place.drop_ignored(&at).unwrap().is_empty(), "ignored files of the setup stay, too");
    let changes = attempt(&place, &at, |folder| {
        assert_eq!(git(folder, &["status", "--porcelain", "--", "generated.txt"]), "");
        write(&folder.join("b.txt"), "b\n");
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Added b.txt"]);
    assert!(changes.markers.is_empty());
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    place.integrate(&at, &made).unwrap();
    assert_eq!(bench.git(&["diff", "--name-status", "main", "feature/x"]), "A\tb.txt");
    assert_eq!(read(&at.folder.join("generated.txt")), "generated\n// TODO of the generator\n");
}

#[test]
fn changes_to_files_of_the_setup_count() {
    let bench = Bench::new();
    let place = bench.open();
    let at = set_up(&place, "a", makes_all);
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("generated.txt"), "by the worker\n");
        write(&folder.join("README.md"), "hello\nset up\nby the worker\n");
        write(&folder.join("src/lib.rs"), "other\n");
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Modified README.md", "Added generated.txt", "Modified src/lib.rs"]);
    assert_eq!(place.recall(&at, &changes.tree).unwrap().map(|seen| seen.files), Some(changes.files));
}

#[test]
fn files_of_the_setup_survive_a_new_base() {
    let bench = Bench::new();
    let place = bench.open();
    let at = set_up(&place, "a", |folder| {
        makes_all(folder);
        write(&folder.join("theirs.txt"), "of the setup\n");
    });
    let changes = attempt(&place, &at, |folder| write(&folder.join("a.txt"), "a\n")).unwrap();
    task(&place, "b", |folder| {
        write(&folder.join("theirs.txt"), "of the branch\n");
        write(&folder.join("b.txt"), "b\n");
    });
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    let Integration::Moved { place: at, changes } = place.integrate(&at, &made).unwrap() else { panic!() };
    assert_eq!(paths(&changes), ["Added a.txt"]);
    assert_eq!(read(&at.folder.join("generated.txt")), "generated\n// TODO of the generator\n");
    assert_eq!(read(&at.folder.join("README.md")), "hello\nset up\n");
    assert_eq!(read(&at.folder.join("theirs.txt")), "of the branch\n");
    assert_eq!(paths(&attempt(&place, &at, |_| {}).unwrap()), ["Added a.txt"]);
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert!(matches!(place.integrate(&at, &made).unwrap(), Integration::Done(_)));
    assert_eq!(bench.git(&["diff", "--name-only", "main", "feature/x"]), "a.txt\nb.txt\ntheirs.txt");
}

#[test]
fn failed_setup_runs_again() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    assert!(place.begin_setup(&at).unwrap());
    write(&at.folder.join("half.txt"), "half\n");
    // Another service finds the worktree.
    let place = bench.open();
    let (at, origin) = place.begin(&name("a")).unwrap();
    assert_eq!(origin, FolderOrigin::Found);
    assert!(place.begin_setup(&at).unwrap());
    write(&at.folder.join("whole.txt"), "whole\n");
    place.end_setup(&at, &place.guard(&at).unwrap()).unwrap();
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
}

#[test]
fn work_from_before_the_setup_stays_work() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    attempt(&place, &at, |folder| write(&folder.join("work.txt"), "work\n")).unwrap();
    set_up(&place, "a", |folder| write(&folder.join("made.txt"), "made\n"));
    assert_eq!(paths(&attempt(&place, &at, |_| {}).unwrap()), ["Added work.txt"]);
    // After a power loss, the files of the setup are still known.
    write(&bench.root().join(".brigade/kitchen/prd-add-auth/git/a/ready"), "another boot");
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    assert!(!place.begin_setup(&at).unwrap());
    assert_eq!(paths(&attempt(&place, &at, |_| {}).unwrap()), ["Added work.txt"]);
}

#[test]
fn commits_that_hold_what_the_setup_made_are_not_kept() {
    let mut bench = Bench::new();
    bench.options.commits = Commits::Keep;
    let place = bench.open();
    let at = set_up(&place, "a", makes_all);
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("a.txt"), "a\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "all"]);
    })
    .unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert_eq!(made.squashed, Some("they have what the setup command made"));
    let at = set_up(&place, "b", |folder| write(&folder.join("generated.txt"), "x\n"));
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("b.txt"), "b\n");
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-qm", "mine"]);
    })
    .unwrap();
    let made = place.commit(&at, &changes, &run_id()).unwrap();
    assert_eq!(made.squashed, None, "git of the worker does not take files of the setup by itself");
    place.integrate(&at, &made).unwrap();
    assert_eq!(bench.git(&["log", "--format=%s", "main..feature/x"]), "b: Title of b\nmine");
    assert_eq!(bench.git(&["diff", "--name-only", "main", "feature/x"]), "b.txt");
}

#[test]
fn a_worktree_without_changes_is_put_on_the_tip() {
    let bench = Bench::new();
    let place = bench.open();
    let at = set_up(&place, "a", makes_all);
    let (other, _) = place.begin(&name("c")).unwrap();
    attempt(&place, &other, |folder| write(&folder.join("c.txt"), "c\n")).unwrap();
    assert_eq!(place.freshen(&at).unwrap(), None, "its base is the tip");
    task(&place, "b", |folder| write(&folder.join("b.txt"), "b\n"));
    let at = place.freshen(&at).unwrap().unwrap();
    assert_eq!(at.base.as_ref().map(CommitId::as_str), Some(&*bench.git(&["rev-parse", "feature/x"])));
    assert_eq!(
        (read(&at.folder.join("b.txt")), read(&at.folder.join("README.md"))),
        ("b\n".into(), "hello\nset up\n".into())
    );
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
    assert_eq!(place.begin(&name("a")).unwrap().0, at);
    assert_eq!(place.freshen(&other).unwrap(), None, "work stays where it is");
    assert!(!other.folder.join("b.txt").exists());
}

#[test]
fn lines_that_a_rename_moves_are_not_added() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |folder| {
        std::fs::rename(folder.join("src/lib.rs"), folder.join("src/other.rs")).unwrap();
    })
    .unwrap();
    assert_eq!(paths(&changes), ["Deleted src/lib.rs", "Added src/other.rs"]);
    assert!(changes.markers.is_empty());
    let changes = attempt(&place, &at, |folder| {
        write(&folder.join("src/other.rs"), "// TODO old\nfn a() {}\n// FIXME new\n");
        write(&folder.join("t\u{e9}\t.rs"), "XXX\n");
    })
    .unwrap();
    let markers: Vec<String> = changes.markers.iter().map(ToString::to_string).collect();
    assert_eq!(markers, ["src/other.rs:3: FIXME", "té\\t.rs:1: XXX"]);
}
