//! What is read again after a service: its receipts, and a status from the caches.

use brigade_core::ErrorCode;
use brigade_kitchen::show::{StatusReport, TaskStatus};

use super::*;
use crate::PrdSearch;

const RUNS: &str = ".brigade/kitchen/runs";
const LEDGER: &str = ".brigade/kitchen/runs/ledger.jsonl";

fn path(world: &World, path: &str) -> PathBuf {
    world.folder.join("work").join(path)
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(path(world, name)).unwrap()
}

fn write(world: &World, name: &str, text: &str) {
    fs::create_dir_all(path(world, name).parent().unwrap()).unwrap();
    fs::write(path(world, name), text).unwrap();
}

/// Returns the findings of a verification: run and problem.
fn findings(world: &World) -> Vec<(String, String)> {
    let report = world.kitchen().verify_receipts().unwrap();
    assert_eq!(report.valid, report.findings.is_empty());
    report.findings.into_iter().map(|finding| (finding.run, finding.what)).collect()
}

#[test]
fn every_changed_receipt_is_a_finding() {
    let prd = tasks(&[("a", "true", &[]), ("b", "true", &["a"])]);
    let world = World::new(&prd, "test_cmd = \"true\"", &format!("echo printed\n{WRITES}"));
    assert_eq!(findings(&world), []);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let listed = world.kitchen().receipts(9).unwrap();
    let of_task = [RunKind::Test, RunKind::Verification, RunKind::Attempt];
    let kinds: Vec<RunKind> = listed.receipts.iter().map(|receipt| receipt.kind).collect();
    assert_eq!(kinds, [of_task, of_task].concat());
    // The oldest first, as in the ledger.
    let ids: Vec<String> = listed.receipts.iter().rev().map(|receipt| receipt.id.to_string()).collect();
    assert_eq!(world.kitchen().receipts(2).unwrap().total, 6);
    assert_eq!(world.kitchen().receipt(&ids[3]).unwrap().receipts.len(), 1);
    assert_eq!(world.kitchen().receipt("nothing").unwrap_err().code(), ErrorCode::RunMissing);
    assert_eq!(world.kitchen().receipt("run-").unwrap_err().code(), ErrorCode::Ambiguous);
    assert_eq!(findings(&world), []);
    let ledger = read(&world, LEDGER);
    let lines: Vec<&str> = ledger.lines().collect();
    let receipt = |at: usize| format!("{RUNS}/{}.json", ids[at]);
    let named = |at: usize, what: &str| vec![(ids[at].clone(), what.to_owned())];
    // A receipt is changed, torn or removed.
    let whole = read(&world, &receipt(1));
    write(&world, &receipt(1), &whole.replace("\"exit_code\": 0", "\"exit_code\": 1"));
    assert_eq!(findings(&world), named(1, "the receipt was changed"));
    write(&world, &receipt(1), &whole[..whole.len() / 2]);
    assert_eq!(findings(&world), named(1, "the receipt was changed"));
    fs::remove_file(path(&world, &receipt(1))).unwrap();
    assert_eq!(findings(&world), named(1, "the receipt is missing"));
    assert_eq!(world.kitchen().receipts(9).unwrap().unreadable, [ids[1].clone()]);
    write(&world, &receipt(1), &whole);
    // A changed log is a finding. A deleted log is not.
    let log = format!("{RUNS}/{}.stdout.log", ids[0]);
    let printed = read(&world, &log);
    write(&world, &log, &format!("{printed}forged\n"));
    assert_eq!(findings(&world), named(0, "the log of standard output was changed"));
    fs::remove_file(path(&world, &log)).unwrap();
    assert_eq!(findings(&world), []);
    write(&world, &log, &printed);
    // A forged receipt.
    let foreign = format!("{RUNS}/run-20260101T000000Z-0123456789abcdef.json");
    write(&world, &foreign, &whole);
    assert_eq!(findings(&world).len(), 1);
    fs::remove_file(path(&world, &foreign)).unwrap();
    // A ledger entry is changed, moved, removed or torn.
    write(&world, LEDGER, &ledger.replacen("\"status\":\"completed\"", "\"status\":\"failed\"", 1));
    assert_eq!(findings(&world), named(0, "its entry in the ledger was changed"));
    let order = |order: &[usize]| {
        write(&world, LEDGER, &order.iter().map(|at| format!("{}\n", lines[*at])).collect::<String>());
        findings(&world)
    };
    assert!(order(&[0, 2, 1, 3, 4, 5]).iter().any(|(run, _)| *run == ids[2]));
    let missing = |at: usize| (ids[at].clone(), "the receipt is not in the chain".to_owned());
    assert!(order(&[0, 2, 3, 4, 5]).contains(&missing(1)));
    write(&world, LEDGER, &ledger[..ledger.len() - 40]);
    assert!(findings(&world).contains(&missing(5)));
    // The end of the ledger is removed with its receipts. The journal still has the runs.
    (3..6).for_each(|at| fs::remove_file(path(&world, &receipt(at))).unwrap());
    let cut = [(3, "attempt 1"), (4, "a verification"), (5, "a test")];
    let cut =
        cut.map(|(at, what)| (ids[at].clone(), format!("the receipt of {what} of a/b is not in the chain")));
    assert_eq!(order(&[0, 1, 2]), cut);
    fs::remove_file(path(&world, LEDGER)).unwrap();
    assert_eq!(findings(&world).len(), 6, "three receipts and three records without a chain");
}

/// Returns a status, after checking that it is the same without caches.
#[track_caller]
fn kept_status(world: &World) -> StatusReport {
    let shown = |search: PrdSearch| {
        let mut report = world.kitchen().status(&search).unwrap();
        report.tasks.iter_mut().for_each(|task| task.elapsed = None);
        report
    };
    let both = || [shown(PrdSearch::At(world.prd())), shown(PrdSearch::Any)];
    let (before, kept) = (both(), both());
    for cache in ["status.cache", "journal.cache", "glance.cache"] {
        let _ = fs::remove_file(path(world, &format!(".brigade/kitchen/prd-a/{cache}")));
    }
    let fresh = both();
    assert_eq!((&before, &kept), (&fresh, &fresh));
    let [fresh, _] = fresh;
    fresh
}

#[test]
fn a_long_status_that_is_kept_is_that_of_now() {
    let rows: [(&str, &str, &[&str]); 3] = [("a", "true", &[]), ("b", "true", &["a"]), ("c", "true", &["b"])];
    let long = format!("\"title\": \"Write c\", \"description\": \"{}\"", "a long text ".repeat(30_000));
    let prd = tasks(&rows).replace("\"title\": \"Write c\"", &long);
    let config = "max_iterations = 1\nescalation_enabled = false";
    let world = World::with_branch(&prd, config, &format!("[ $BRIGADE_TASK = b ] && exit 3\n{WRITES}"));
    assert_eq!(world.serve().outcome, Outcome::Paused);
    world.kitchen().status(&PrdSearch::At(world.prd())).unwrap();
    assert!(path(&world, ".brigade/kitchen/prd-a/status.cache").exists());
    let first = kept_status(&world);
    assert_eq!((first.tasks[0].status, first.completed_tasks), (TaskStatus::Complete, 1));
    let configure = |more: &str| world.configure(&format!("worktrees = \"on\"\n{config}\n{more}"));
    configure("cost_rate_line = 7.5");
    assert_ne!(kept_status(&world).budget, first.budget, "another price");
    configure("unknown_key = 1");
    assert_ne!(kept_status(&world).config_issues, first.config_issues);
    configure("");
    let policy = ".brigade/tools/policy.toml";
    write(&world, policy, "[kitchen]\nshell = \"never\"\nmax_minutes = 5\n");
    assert_ne!(kept_status(&world).fingerprint, first.fingerprint, "another policy");
    write(&world, policy, "no policy");
    assert_eq!(kept_status(&world).fingerprint, None, "a broken policy");
    fs::remove_file(path(&world, policy)).unwrap();
    assert_eq!(kept_status(&world), first, "as it was");
    world.answer("skip");
    assert_eq!(kept_status(&world).tasks[1].status, TaskStatus::Skipped);
    world.git(&["branch", "-f", "feature/x", "main"]);
    let issues = kept_status(&world).issues;
    assert!(issues.iter().any(|issue| issue.contains("feature/x")), "{issues:?}");
    let file = "brigade/tasks/prd-a.json";
    write(&world, file, &read(&world, file).replace("Write c", "Write d"));
    assert_eq!(kept_status(&world).tasks[2].title, "Write d");
    // The elapsed time of an unfinished task increases.
    let seen = world.kitchen().status(&PrdSearch::At(world.prd())).unwrap();
    assert!(seen.tasks[1].elapsed.is_some());
}
