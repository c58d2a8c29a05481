//! One `check` of the kinds, subjects and next steps of issues.

use brigade_core::{ErrorCode, Severity};
use brigade_kitchen::Tier;
use brigade_kitchen::health::JournalDamage;
use brigade_kitchen::life::{Answer, AnsweredBy, Decision, DecisionKind, Life, Record};
use brigade_kitchen::prd::{Lints, read};
use brigade_kitchen::service::Outcome;
use brigade_policy::Blocker;

use super::*;
use crate::{diagnose, source_item_key};

const PRD: &[u8] = br#"{"featureName": "F", "tasks": [
    {"id": "a", "title": "A", "passes": true}, {"id": "b", "title": "B", "dependsOn": ["a"]}]}"#;

fn at(hours: i64) -> Timestamp {
    Timestamp::from_unix_micros(hours * 3_600_000_000)
}

fn life(records: &[Record]) -> Life {
    let mut life = Life::default();
    for record in records {
        life.apply(at(1), record);
    }
    life
}

fn prd(records: &[Record], is_served: bool) -> PrdHealth {
    let life = life(records);
    let mut health = PrdHealth::new(
        "prd-x".parse().unwrap(),
        ".brigade/kitchen/prd-x/journal.jsonl".into(),
        &life,
        is_served,
    );
    health.path = Some("brigade/tasks/prd-x.json".to_owned());
    health.with_file(&read("prd-x.json", PRD, Lints::ALL).valid().unwrap(), &life);
    health
}

fn approved() -> Record {
    Record::Approved {
        fingerprint: brigade_core::Fingerprint::of_bytes(b"x"),
        items: [("task.a".to_owned(), "1".to_owned())].into(),
        passed: vec!["a".parse().unwrap()],
        by: None,
        path: None,
    }
}

fn started() -> Record {
    let service = "s".to_owned();
    Record::ServiceStarted { service, process: None, walkaway: false, branch: None, total: 2 }
}

fn failed() -> Record {
    let (task, reason) = ("b".parse().unwrap(), Some("3 attempts without success".to_owned()));
    Record::TaskEnded { task, outcome: TaskOutcome::Failed, reason, stuck: false }
}

fn asked() -> Record {
    Record::DecisionAsked {
        decision: Decision {
            id: "d-0123456789ab".parse().unwrap(),
            about: DecisionKind::Failure,
            task: Some("b".parse().unwrap()),
            context: "it failed".to_owned(),
            created_at: at(1),
        },
    }
}

/// Checks the issues, as `kind subject → step`, at this hour.
#[track_caller]
fn check(kitchen: &KitchenHealth, hour: i64, expect: &[&str]) {
    let snapshot = Snapshot { kitchen: Some(kitchen), ..Snapshot::new(at(hour)) };
    let issues = diagnose(snapshot);
    let mark = |issue: &Issue| {
        assert!(!issue.detail.ends_with('.') && !issue.detail.is_empty(), "{issue:?}");
        format!("{} {} → {}", issue.kind.code(), issue.subject, issue.next_step().name())
    };
    assert_eq!(issues.iter().map(mark).collect::<Vec<_>>(), expect, "{issues:#?}");
    let keys: std::collections::BTreeSet<String> = issues.iter().map(source_item_key).collect();
    assert_eq!(keys.len(), issues.len());
}

fn kitchen_health(prd: PrdHealth) -> KitchenHealth {
    KitchenHealth { prds: vec![prd], ledger: "ledger.jsonl".to_owned(), ..KitchenHealth::default() }
}

#[test]
fn a_kitchen_in_order_has_no_issues() {
    check(&KitchenHealth::default(), 1, &[]);
    check(&kitchen_health(prd(&[], false)), 1, &[]);
    check(&kitchen_health(prd(&[approved(), started()], true)), 1, &[]);
    let ended = Record::ServiceEnded {
        service: "s".to_owned(),
        outcome: Outcome::Complete,
        reason: None,
        used: vec![],
    };
    check(&kitchen_health(prd(&[approved(), started(), ended], false)), 1, &[]);
}

#[test]
fn a_kitchen_needs_no_tools() {
    let kitchen = KitchenHealth::default();
    let catalog = Some(crate::ConfigFile::Missing { file: "tools.toml" });
    let missing = |kitchen| diagnose(Snapshot { catalog: catalog.clone(), kitchen, ..Snapshot::new(at(1)) });
    assert_eq!(missing(None).len(), 1);
    assert_eq!(missing(Some(&kitchen)), []);
}

#[test]
fn configuration_policy_and_programs_are_named() {
    let issue = |severity, field: &str| ConfigIssue {
        severity,
        place: Place::at(".brigade/kitchen.toml", 3, 1),
        entry: None,
        field: Some(field.to_owned()),
        message: "expected a number".to_owned(),
        hint: None,
    };
    let kitchen = KitchenHealth {
        config: vec![issue(Severity::Error, "tier.line.command"), issue(Severity::Info, "modules")],
        refusals: vec![Blocker::new(ErrorCode::PolicyWorker, "line tier: the policy does not list `x`")],
        missing: vec![(Tier::Line, "x".to_owned()), (Tier::Sous, "y".to_owned())],
        receipts: vec![("run-1".to_owned(), "the receipt was changed".to_owned())],
        ..KitchenHealth::default()
    };
    let expect = [
        "kitchen_config tier.line.command → edit",
        "kitchen_config_warning modules → edit",
        "kitchen_refused line tier: the policy does not list `x` → list-workers",
        "kitchen_worker_missing line → list-workers",
        "kitchen_worker_missing sous → list-workers",
        "kitchen_receipts_broken run-1 → verify-kitchen-receipts",
    ];
    check(&kitchen, 1, &expect);
}

#[test]
fn a_killed_service_and_failed_tasks_are_reported() {
    let records = [approved(), started(), failed()];
    let expect = ["kitchen_interrupted  → resume-prd", "kitchen_task_failed b → retry-prd"];
    check(&kitchen_health(prd(&records, false)), 1, &expect);
    check(&kitchen_health(prd(&records, true)), 1, &[]);
    // Without the file, there is nothing to resume.
    let gone = PrdHealth { path: None, ..prd(&records, false) };
    check(
        &kitchen_health(gone),
        1,
        &["kitchen_interrupted  → read-file", "kitchen_task_failed b → read-file"],
    );
}

#[test]
fn a_branch_without_finished_work_is_reported() {
    let way = "`git branch -f feature/x 0123abc` brings it back";
    let kitchen = kitchen_health(PrdHealth { branch: Some(way.to_owned()), ..prd(&[], false) });
    let issues = diagnose(Snapshot { kitchen: Some(&kitchen), ..Snapshot::new(at(1)) });
    let [issue] = issues.as_slice() else { panic!("{issues:#?}") };
    assert_eq!(
        (issue.kind.code(), issue.detail.contains(way)),
        ("kitchen_branch_lost_work", true),
        "{issue:?}"
    );
}

#[test]
fn approvals_of_another_host_are_reported() {
    let copied = PrdHealth { unsigned: 2, ..prd(&[], false) };
    check(&kitchen_health(copied), 1, &["not_approved_here  → adopt-state"]);
}

#[test]
fn a_decision_is_an_issue_after_three_days() {
    let records = [approved(), failed(), asked()];
    check(&kitchen_health(prd(&records, false)), 73, &[]);
    check(
        &kitchen_health(prd(&records, false)),
        74,
        &["kitchen_decision_stale d-0123456789ab → answer-decision"],
    );
    let answer = Answer {
        choice: "abort".to_owned(),
        by: AnsweredBy::Person,
        reason: None,
        guidance: None,
        is_clear: true,
    };
    let answered = Record::DecisionAnswered { id: "d-0123456789ab".parse().unwrap(), answer, used: vec![] };
    let [approved, failed, asked] = records;
    check(
        &kitchen_health(prd(&[approved, failed, asked, answered], false)),
        74,
        &["kitchen_task_failed b → retry-prd"],
    );
}

#[test]
fn changed_kitchen_files_are_reported() {
    let mut found = prd(&[approved()], false);
    found.changed = (1..8).map(|number| format!("task.t-{number}")).collect();
    found.left = vec!["a".parse().unwrap()];
    found.damage = vec![
        JournalDamage { line: Some(3), problem: "not a record".to_owned(), is_loss: false },
        JournalDamage { line: Some(4), problem: "not a record".to_owned(), is_loss: false },
        JournalDamage { line: Some(9), problem: "the records 7 to 8 are missing".to_owned(), is_loss: true },
    ];
    found.set_aside = vec!["aside.jsonl".to_owned()];
    found.newer = 1;
    let expect = [
        "kitchen_approval_stale  → approve-prd",
        "kitchen_worktree_left  → clean-kitchen",
        "kitchen_journal_damaged  → read-file",
        "kitchen_journal_lost  → read-file",
        "kitchen_lines_set_aside aside.jsonl → read-file",
        "kitchen_journal_newer  → read-file",
    ];
    check(&kitchen_health(found), 1, &expect);
    // The tasks in the file are ignored until the PRD is approved again.
    let not_passed = Record::Approved {
        fingerprint: brigade_core::Fingerprint::of_bytes(b"x"),
        items: [].into(),
        passed: vec![],
        by: None,
        path: None,
    };
    check(&kitchen_health(prd(&[not_passed], false)), 1, &["kitchen_marked  → approve-prd"]);
    let faults = read("prd-x.json", b"{\"tasks\": []}", Lints::ALL).valid().unwrap_err();
    let broken = PrdHealth { faults, ..prd(&[], false) };
    check(&kitchen_health(broken), 1, &["kitchen_prd_invalid  → validate-prd"]);
}
