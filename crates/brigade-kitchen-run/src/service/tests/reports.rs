//! Reports about the configuration, the journal and the PRD file.

use brigade_core::Severity;
use brigade_kitchen::life::TaskOutcome;

use super::*;
use crate::approve::{ApproveStep, ApproveWhat};
use crate::gather::PrdSearch;

#[derive(Default)]
struct WarningLog(Mutex<Vec<String>>);

impl Follower for WarningLog {
    fn warned(&self, _: &PrdName, warning: &str) {
        self.0.lock().unwrap().push(warning.to_owned());
    }
}

#[test]
fn unused_values_are_reported_on_each_read() {
    let script =
        format!("[ $BRIGADE_TASK = a ] && sed -i '1i max_iterations = 5000' .brigade/kitchen.toml\n{WRITES}");
    let prd = tasks(&[("a", "true", &[]), ("b", "true", &["a"])]);
    let world = World::new(&prd, "max_parallel = 500", &script);
    world.approve();
    let search = [PrdSearch::At(world.prd())];
    let rehearsed = world.kitchen().rehearse(&search, &ServiceOptions::default()).unwrap();
    let is_about = |issue: &&String, key: &str| {
        issue.starts_with(".brigade/kitchen.toml:")
            && issue.contains(&format!("{key}: expected a whole number"))
    };
    assert_eq!(rehearsed.issues.iter().filter(|issue| is_about(issue, "max_parallel")).count(), 1);
    let follower = WarningLog::default();
    let report = world.try_serve(&ServiceOptions::default(), &follower).unwrap();
    assert_eq!(report.outcome, Outcome::Complete);
    for key in ["max_parallel", "max_iterations"] {
        assert_eq!(report.issues.iter().filter(|issue| is_about(issue, key)).count(), 1, "{report:?}");
    }
    let told = follower.0.into_inner().unwrap();
    assert!(is_about(&&told[0], "max_parallel"), "{told:?}");
    assert!(told.iter().any(|warning| is_about(&warning, "max_iterations")), "{told:?}");
}

#[test]
fn worktrees_lie_where_nothing_else_does() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    let listed = world.folder.join("elsewhere");
    fs::create_dir_all(&listed).unwrap();
    fs::create_dir_all(world.folder.join("work/.git")).unwrap();
    std::os::unix::fs::symlink(".git", world.folder.join("work/link")).unwrap();
    fs::create_dir_all(world.folder.join("work/.brigade/tools")).unwrap();
    let policy = format!("[paths]\noutside = [\"{}\"]\n", listed.display());
    fs::write(world.folder.join("work/.brigade/tools/policy.toml"), policy).unwrap();
    let listed = listed.display();
    let check = |path: &str, is_refused: bool| {
        world.configure(&format!("worktrees = \"on\"\nworktree.path = \"{path}\""));
        let configuration = world.kitchen().configuration().unwrap();
        let found: Vec<_> = configuration.config.issues.iter().collect();
        if !is_refused {
            assert!(found.is_empty(), "{path}: {found:?}");
            return;
        }
        let [issue] = found.as_slice() else { panic!("{path}: {found:?}") };
        assert_eq!((issue.severity, issue.field.as_deref()), (Severity::Error, Some("worktree.path")));
        assert!(issue.place.to_string().starts_with(".brigade/kitchen.toml:2:"), "{path}: {issue:?}");
        let refused = world.try_serve(&ServiceOptions::default(), &NoFollower).unwrap_err();
        assert!(refused.to_string().contains("refuses to start workers"), "{refused}");
    };
    for path in [".git", ".git/wt", "a/.git/wt", "link/wt", ".brigade", ".brigade/tools", ".brigade/kitchen"]
    {
        check(path, true);
    }
    for path in [
        ".brigade/kitchen/runs/x",
        ".brigade/kitchen/prd-a",
        ".brigade/kitchen/+workers",
        "brigade",
        "brigade/tasks/wt",
        "../out",
        "/",
        ".",
    ] {
        check(path, true);
    }
    check(&format!("{listed}/../out"), true);
    check(&format!("{listed}/wt"), false);
    for path in [".brigade/kitchen/worktrees", ".brigade/kitchen/trees", "wt", "brigade/wt", "../work/wt"] {
        check(path, false);
    }
}

#[test]
fn quarantined_journal_is_reported_while_present() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    world.approve();
    let journal = world.folder.join("work/.brigade/kitchen/prd-a/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{text}garbage\n")).unwrap();
    let is_told = |issues: &[String]| issues.iter().any(|issue| issue.contains("journal.quarantine-1.jsonl"));
    let report = world.serve();
    assert_eq!(report.outcome, Outcome::Complete);
    assert!(is_told(&report.issues), "{report:?}");
    let search = PrdSearch::At(world.prd());
    let status = || world.kitchen().status(&search).unwrap().issues;
    assert!(is_told(&status()), "{:?}", status());
    fs::remove_file(journal.with_file_name("journal.quarantine-1.jsonl")).unwrap();
    assert_eq!(status(), Vec::<String>::new());
}

/// Approves the current state. Returns the notes of the approval.
fn approve_again(world: &World) -> Vec<String> {
    let what = ApproveWhat::Prd(PrdSearch::At(world.prd()));
    let shown = world.kitchen().approve(&what, &ApproveStep::Show).unwrap();
    let step = ApproveStep::Approve(shown.fingerprint.unwrap().to_string());
    let report = world.kitchen().approve(&what, &step).unwrap();
    assert!(report.approved);
    report.notes
}

#[test]
fn approval_reports_obstructed_journal() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    fs::create_dir_all(world.folder.join("work/.brigade/kitchen/prd-a/journal.jsonl/x")).unwrap();
    let notes = approve_again(&world);
    assert!(notes.iter().any(|note| note.contains("journal.quarantine-1.jsonl")), "{notes:?}");
}

#[test]
fn a_failed_task_marked_as_done_needs_no_answer() {
    let world =
        World::new(&tasks(&[("a", "false", &[]), ("b", "true", &["a"])]), "max_iterations = 1", WRITES);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Paused);
    let file = world.folder.join("work/brigade/tasks/prd-a.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"passes\": false", "\"passes\": true", 1)).unwrap();
    let notes = approve_again(&world);
    assert!(notes.iter().any(|note| note.starts_with("a counts as done")), "{notes:?}");
    assert_eq!((world.outcome("a"), world.life().waiting().count()), (Some(TaskOutcome::AlreadyDone), 0));
    assert_eq!(world.kitchen().status(&PrdSearch::At(world.prd())).unwrap().issues, Vec::<String>::new());
    let report = world.serve();
    assert_eq!((report.outcome, report.done, world.starts("work", "a")), (Outcome::Complete, 2, 1));
}

#[test]
fn work_on_a_task_marked_as_done_is_kept() {
    let world = World::with_branch(&tasks(&[("a", "false", &[])]), "max_iterations = 1", WRITES);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Paused);
    let file = world.folder.join("work/brigade/tasks/prd-a.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"passes\": false", "\"passes\": true", 1)).unwrap();
    approve_again(&world);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let made = world.folder.join("work/.brigade/kitchen/worktrees/prd-a/a");
    assert!(made.exists(), "its work is in no branch");
}
