use std::collections::BTreeMap;

use brigade_core::{Fingerprint, Json, Timestamp};

use super::*;
use crate::config::Settings;
use crate::life::{
    AttemptEnd, Decision, DecisionKind, Entry, Life, Limits, Line, Record, ReviewResult, TaskOutcome,
    Workplace,
};
use crate::names::{PrdName, TaskId, Tier};
use crate::prd::{Lints, ValidPrd, read};
use crate::service::Outcome;
use crate::signal::Signal;

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_micros(1_768_824_000_000_000 + seconds * 1_000_000)
}

fn prd() -> ValidPrd {
    let text = r#"{"featureName":"Login","branchName":"feature/login","tasks":[
        {"id":"US-1","title":"One","complexity":"junior"},{"id":"US-2","title":"Two","complexity":"senior","passes":true},
        {"id":"US-3","title":"Three","dependsOn":["US-2"]},{"id":"US-4","title":"Four","dependsOn":["US-3"]}]}"#;
    read("prd-login.json", text.as_bytes(), Lints::ALL).valid().unwrap()
}

/// Returns a journal: US-1 is done and reviewed, US-2 runs after an escalation, and US-3 was skipped.
fn journal() -> Vec<Line> {
    let run: brigade_core::RunId = "r1".parse().unwrap();
    let decision = Decision {
        id: "d-0123456789ab".parse().unwrap(),
        about: DecisionKind::Failure,
        task: Some(id("US-3")),
        context: "it \"failed\"\n".to_owned(),
        created_at: at(60),
    };
    let answer = crate::life::Answer {
        choice: "skip".to_owned(),
        by: crate::life::AnsweredBy::Executive,
        reason: Some("no".to_owned()),
        guidance: None,
        is_clear: true,
    };
    let start = |task: &str, tier, attempt, run: &str| Record::AttemptStarted {
        task: id(task),
        run: run.parse().unwrap(),
        tier,
        attempt,
        process: None,
    };
    let records = vec![
        Record::Approved {
            fingerprint: Fingerprint::of_bytes(b"x"),
            items: BTreeMap::new(),
            passed: vec![],
            by: None,
            path: None,
        },
        Record::ServiceStarted {
            service: "s1".to_owned(),
            process: None,
            walkaway: true,
            branch: Some("feature/login".to_owned()),
            total: 4,
        },
        Record::TaskStarted { task: id("US-1"), tier: Tier::Line, base: None, worktree: None },
        start("US-1", Tier::Line, 1, "r1"),
        Record::AttemptEnded {
            setup: None,
            task: id("US-1"),
            run: run.clone(),
            how: AttemptEnd::Said,
            miss: None,
            signal: Some(Signal::Complete),
            reason: None,
            seconds: 30.0,
            cost_usd: Some(0.25),
            tokens: None,
            changed: true,
            tree: None,
            approach: None,
            until: None,
        },
        Record::Review {
            receipt: None,
            task: id("US-1"),
            run: run.clone(),
            result: ReviewResult::Pass,
            reason: Some("good".to_owned()),
            seconds: 1.0,
            cost_usd: Some(0.0),
        },
        Record::Integrated {
            task: id("US-1"),
            run,
            commit: Some("c1".to_owned()),
            conflict: vec![],
            moved: false,
            tree: None,
        },
        Record::TaskEnded { task: id("US-1"), outcome: TaskOutcome::Complete, reason: None, stuck: false },
        Record::Escalated {
            task: id("US-2"),
            from: Tier::Sous,
            to: Tier::Executive,
            reason: "why".to_owned(),
        },
        start("US-2", Tier::Executive, 6, "r2"),
        Record::DecisionAsked { decision: decision.clone() },
        Record::DecisionAnswered { id: decision.id, answer, used: vec![] },
    ];
    records
        .into_iter()
        .enumerate()
        .map(|(seq, record)| Line::new(seq as u64 + 1, at(10 * seq as i64), record))
        .collect()
}

fn life(lines: &[Line]) -> Life {
    Life::from_entries(lines.iter().map(|line| Entry::Known(Box::new(line.clone()))))
}

fn with<T>(lines: &[Line], running: bool, read: impl FnOnce(&View<'_>) -> T) -> T {
    let (prd, life, settings) = (prd(), life(lines), Settings::default());
    let name = PrdName::of_path("prd-login.json").unwrap();
    read(&View {
        prd: &prd,
        name: &name,
        path: "brigade/tasks/prd-login.json",
        life: &life,
        settings: &settings,
        workplace: Workplace::Worktrees,
        fingerprint: Some(Fingerprint::of_bytes(b"x")),
        running,
        limits: Limits::default(),
        now: at(215),
    })
}

#[test]
fn a_status_has_the_state_of_every_task() {
    let status = with(&journal(), true, status);
    let rows: Vec<(&str, TaskStatus, &str)> =
        status.tasks.iter().map(|row| (row.id.as_str(), row.status, row.marker.as_str())).collect();
    assert_eq!(
        rows,
        [
            ("US-1", TaskStatus::Complete, "✓"),
            ("US-2", TaskStatus::Running, "→"),
            ("US-3", TaskStatus::Skipped, "○"),
            ("US-4", TaskStatus::Unreachable, "○"),
        ]
    );
    assert_eq!((status.completed_tasks, status.pending_tasks, status.total_tasks), (1, 3, 4));
    assert_eq!(
        status.current_task.as_ref().map(|task| (task.id.as_str(), task.worker)),
        Some(("US-2", Tier::Executive))
    );
    assert_eq!((status.escalations, status.approved, status.needs_attention), (1, true, false));
    assert_eq!((status.commit.as_deref(), status.branch.as_deref()), (Some("c1"), Some("feature/login")));
    assert!((status.budget.cost_usd - 0.25).abs() < 1e-9 && status.budget.attempts == 3);
    // A `passes` that Brigade did not set is reported and does not count.
    assert_eq!(status.issues.len(), 1);
    assert!(status.issues[0].starts_with("login/US-2: `passes`"));
    let text = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<StatusReport>(&text).unwrap(), status);
    assert!(text.starts_with(r#"{"schema":"brigade.kitchen-status.v1","target":"#), "{text}");
    assert!(
        text.contains(r#""feature_name":"Login","prd_path":"brigade/tasks/prd-login.json","total_tasks":4,"#)
    );
}

#[test]
fn a_service_that_is_gone_was_interrupted() {
    let status = with(&journal(), false, status);
    assert_eq!(
        (status.outcome, status.tasks[1].status),
        (Some(Outcome::Interrupted), TaskStatus::Interrupted)
    );
    assert_eq!(status.attention_reason.as_deref(), Some("the service was interrupted"));
    // Ctrl-C is recorded as the end of the service.
    let mut lines = journal();
    let ended = Record::ServiceEnded {
        service: "s1".to_owned(),
        outcome: Outcome::Interrupted,
        reason: Some("it was interrupted".to_owned()),
        used: Vec::new(),
    };
    lines.push(Line::new(lines.len() as u64 + 1, lines[lines.len() - 1].at, ended));
    let brief = with(&lines, false, brief);
    assert_eq!((brief.attention, brief.reason.as_deref()), (true, Some("the service was interrupted")));
}

#[test]
fn the_brief_form_has_six_members_in_their_order() {
    let brief_of = |running| serde_json::to_string(&with(&journal(), running, brief)).unwrap();
    assert_eq!(
        brief_of(true),
        r#"{"done":1,"total":4,"current":"US-2","worker":"executive","elapsed":125,"attention":false}"#
    );
    assert_eq!(
        brief_of(false),
        r#"{"done":1,"total":4,"current":null,"worker":null,"elapsed":0,"attention":true,"reason":"the service was interrupted"}"#
    );
}

#[test]
fn an_idle_task_is_current_only_during_a_service() {
    let mut lines = journal();
    let record = Record::AttemptEnded {
        setup: None,
        miss: None,
        task: id("US-2"),
        run: "r2".parse().unwrap(),
        how: AttemptEnd::Iteration,
        signal: None,
        reason: None,
        seconds: 1.0,
        cost_usd: None,
        tokens: None,
        changed: false,
        tree: None,
        approach: None,
        until: None,
    };
    lines.push(Line::new(lines.len() as u64 + 1, at(200), record));
    for running in [true, false] {
        let status = with(&lines, running, status);
        assert_eq!(status.tasks[1].status, TaskStatus::Waiting);
        assert_eq!((status.tasks[1].is_current, status.current_task.is_some()), (running, running));
    }
}

#[test]
fn a_paused_service_needs_attention_until_answered() {
    let mut lines = journal();
    let mut write = |record| {
        lines.push(Line::new(lines.len() as u64 + 1, at(200), record));
        let status = with(&lines, false, status);
        assert_eq!(with(&lines, false, brief).reason, status.attention_reason);
        (status.outcome, status.attention_reason)
    };
    let reason = "what would be executed changed, and is not approved";
    let (service, said) = ("s1".to_owned(), Some(reason.to_owned()));
    let ended = Record::ServiceEnded { service, outcome: Outcome::Paused, reason: said, used: vec![] };
    let paused = (Some(Outcome::Paused), Some(reason.to_owned()));
    assert_eq!(write(ended.clone()), paused);
    assert_eq!(write(Record::Revoked { by: None }), paused);
    let approved = Record::Approved {
        fingerprint: Fingerprint::of_bytes(b"x"),
        items: BTreeMap::new(),
        passed: vec![],
        by: None,
        path: None,
    };
    assert_eq!(write(approved), (Some(Outcome::Incomplete), None));
    assert_eq!(write(ended), paused);
}

#[test]
fn events_are_json_with_their_members() {
    let (prd, name) = (prd(), PrdName::of_path("prd-login.json").unwrap());
    let mut life = Life::default();
    let mut texts = Vec::new();
    for line in journal() {
        life.apply(line.at, &line.record);
        texts.extend(events(&name, &prd, &life, &line).iter().map(EventLine::to_text));
    }
    let words: Vec<String> = texts
        .iter()
        .map(|text| Json::parse(text).unwrap().get("event").and_then(Json::as_str).unwrap().to_owned())
        .collect();
    assert_eq!(
        words,
        [
            "service_start",
            "task_start",
            "review",
            "task_complete",
            "escalation",
            "task_start",
            "decision_needed",
            "attention",
            "decision_received",
            "task_skipped",
        ]
    );
    assert_eq!(
        texts[4],
        r#"{"event":"escalation","from":"sous","prd":"login","reason":"why","seq":9,"task":"US-2","to":"executive","ts":"2026-01-19T12:01:20+00:00"}"#
    );
    let needed = Json::parse(&texts[6]).unwrap();
    assert_eq!(needed.get("type").and_then(Json::as_str), Some("failure"));
    assert_eq!(needed.get("choices").map(Json::to_compact).as_deref(), Some(r#"["retry","skip","abort"]"#));
    assert_eq!(needed.get("context").and_then(Json::as_str), Some("it \"failed\"\n"));
    let complete = Json::parse(&texts[3]).unwrap();
    assert_eq!(complete.get("duration").and_then(Json::as_i64), Some(50));
    for text in texts {
        assert!(!text.contains('\n'));
    }
}

#[test]
fn the_state_file_follows_the_specification() {
    let state = StateFile::from_life(&life(&journal()));
    let json = Json::parse(&state.to_text()).unwrap();
    for member in [
        "sessionId",
        "startedAt",
        "lastStartTime",
        "currentTask",
        "taskHistory",
        "escalations",
        "reviews",
        "absorptions",
        "phaseReviews",
        "scopeDecisions",
        "walkawayDecisions",
    ] {
        assert!(json.get(member).is_some(), "{member}");
    }
    assert_eq!((state.session_id.as_deref(), state.current_task.as_deref()), (Some("s1"), Some("US-2")));
    let first = |rows: &[brigade_core::Object]| Json::Object(rows[0].clone()).to_compact();
    assert_eq!(
        first(&state.escalations),
        r#"{"from":"sous","reason":"why","taskId":"US-2","timestamp":"2026-01-19T12:01:20+00:00","to":"executive"}"#
    );
    assert_eq!(
        first(&state.reviews),
        r#"{"reason":"good","result":"PASS","taskId":"US-1","timestamp":"2026-01-19T12:00:50+00:00"}"#
    );
    let words: Vec<&str> = state.task_history.iter().filter_map(|row| row["status"].as_str()).collect();
    assert_eq!(words, ["started", "complete", "skipped"]);
    assert_eq!(state.walkaway_decisions.len(), 1);
}

#[test]
fn the_state_of_another_program_is_kept_before_ours() {
    let theirs = r#"{"sessionId":"old","startedAt":"2025-12-01T00:00:00Z","taskHistory":[{"taskId":"US-0","worker":"line",
        "status":"complete","timestamp":"x","theirs":1}],"escalations":[],"unknown":{"a":1}}"#;
    let mut lines = journal();
    lines.insert(
        0,
        Line::new(0, at(-1), Record::Adopted { state: Json::parse(theirs).unwrap().try_into().unwrap() }),
    );
    let state = StateFile::from_life(&life(&lines));
    assert_eq!(state.started_at.as_deref(), Some("2025-12-01T00:00:00Z"));
    assert_eq!(state.session_id.as_deref(), Some("s1"));
    assert_eq!(state.task_history.len(), 4);
    assert_eq!(state.task_history[0]["theirs"].as_i64(), Some(1));
}

#[test]
fn a_state_file_holds_the_newest_thousand() {
    let review = |seq: u64| {
        let (task, run) = (id("US-1"), "r1".parse().unwrap());
        let reason = Some(seq.to_string());
        Line::new(
            seq,
            at(0),
            Record::Review {
                task,
                run,
                result: ReviewResult::Fail,
                reason,
                seconds: 0.0,
                cost_usd: None,
                receipt: None,
            },
        )
    };
    let lines: Vec<Line> = (1..=3500).map(review).collect();
    let state = StateFile::from_life(&life(&lines));
    assert_eq!(state.reviews.len(), 1000);
    assert_eq!(state.reviews[999]["reason"].as_str(), Some("3500"));
}

#[test]
fn activity_lines_follow_the_specification() {
    let name = PrdName::of_path("prd-add-auth.json").unwrap();
    let (task, now) = (id("US-005"), at(2730));
    assert_eq!(
        activity(now, 0, &name, &task, Tier::Sous, TaskNote::Working(225)),
        "[12:45:30] add-auth/US-005: Sous Chef working (3m 45s)"
    );
    assert_eq!(
        activity(now, 60, &name, &task, Tier::Sous, TaskNote::Done(225)),
        "[13:45:30] add-auth/US-005: Sous Chef completed (225s)"
    );
    assert_eq!(
        activity(now, 0, &name, &task, Tier::Line, TaskNote::Escalated(Tier::Sous, "a\n\u{1b}[2J")),
        "[12:45:30] add-auth/US-005: Line Cook escalated to Sous Chef (a\\n\\u{1b}[2J)"
    );
    assert_eq!(
        activity(now, 0, &name, &task, Tier::Line, TaskNote::Failed("the review failed")),
        "[12:45:30] add-auth/US-005: Line Cook failed (the review failed)"
    );
    assert_eq!(
        slow(&name, &task, Tier::Sous, 45, 20),
        "⚠️ add-auth/US-005 running 45m (expected ~20m for Sous Chef)"
    );
    assert_eq!(worker_log(&name, &task, Tier::Sous, now, 1), "add-auth-US-005-sous-2026-01-19-124530.log");
    assert_eq!(worker_log(&name, &task, Tier::Sous, now, 2), "add-auth-US-005-sous-2026-01-19-124530-2.log");
}

/// A cache with another layout must not be read. If this fails, the layout or the contents of a status changed:
/// increase the version in `kept.rs`, then update the hash here.
#[test]
fn a_kept_status_has_its_layout_and_current_times() {
    let lines = journal();
    let life = life(&lines);
    let tip = Some(("feature/login".to_owned(), "c".repeat(40)));
    let kept = with(&lines, false, |view| {
        KeptStatus::new(&status(view), view.prd, view.life, tip, crate::approval::PrdOrigin::Interrupted)
    });
    let bytes = kept.to_bytes().unwrap();
    assert_eq!(KeptStatus::from_bytes(&bytes).as_ref(), Some(&kept));
    assert_eq!(KeptStatus::from_bytes(&[&[99], &bytes[1..]].concat()), None);
    assert_eq!(KeptStatus::from_bytes(&bytes[..bytes.len() - 1]), None);
    assert_eq!(Fingerprint::of_bytes(&bytes).short(), "24a07a42eec3f785");
    let (first, later) = (at(1_000), at(1_060));
    let (before, after) = (kept.clone().into_report(first), kept.into_report(later));
    let elapsed = |report: &StatusReport, row: usize| report.tasks[row].elapsed;
    assert_eq!(elapsed(&before, 0), elapsed(&after, 0), "it has ended");
    assert_eq!(elapsed(&before, 1).map(|seconds| seconds + 60), elapsed(&after, 1));
    let mut fresh = with(&lines, false, |view| status(&View { now: later, ..*view }));
    assert!(life.tasks[&id("US-2")].ended_at.is_none());
    fresh.target = after.target.clone();
    assert_eq!(after, fresh);
}
