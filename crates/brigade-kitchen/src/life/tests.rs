use super::*;
use crate::config::Settings;
use crate::prd::{Lints, ValidPrd, read};
use crate::service::Outcome;
use crate::signal::{Choice, Ending, Exit, FailureDecision as Said, Iteration, SignalSource};
use brigade_core::{Fingerprint, Json, Timestamp};

mod approved;
mod chance;
mod ends;
mod equal;

/// Returns a PRD whose tasks have these additional members.
fn prd(tasks: &[(&str, &str)]) -> ValidPrd {
    let row = |(id, members): &(&str, &str)| format!("{{\"id\":\"{id}\",\"title\":\"t\"{members}}}");
    let tasks: Vec<String> = tasks.iter().map(row).collect();
    let text = format!("{{\"featureName\":\"x\",\"tasks\":[{}]}}", tasks.join(","));
    read("prd-x.json", text.as_bytes(), Lints::ALL).valid().unwrap()
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

/// A journal that is written line by line, and the life computed from it.
struct TestJournal {
    prd: ValidPrd,
    settings: Settings,
    lines: Vec<Line>,
    life: Life,
    place: Workplace,
}

impl TestJournal {
    fn new(prd: ValidPrd) -> TestJournal {
        let settings = Settings { test_cmd: None, review_enabled: false, ..Settings::default() };
        TestJournal { prd, settings, lines: Vec::new(), life: Life::default(), place: Workplace::Worktrees }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros(1_800_000_000_000_000 + self.lines.len() as i64 * 1_000_000)
    }

    fn write(&mut self, record: Record) {
        let line = Line::new(self.lines.len() as u64 + 1, self.now(), record);
        self.life.apply(line.at, &line.record);
        self.life.seq = line.seq;
        self.lines.push(line);
    }

    fn step(&self, task: &str) -> Step {
        next(self.prd.task(&id(task)).unwrap(), &self.life, &self.settings, self.place)
    }

    fn begin(&mut self, task: &str) -> RunId {
        let Step::Attempt { tier, number } = self.step(task) else { panic!("{:?}", self.step(task)) };
        let run: RunId = format!("{task}-{number}").parse().unwrap();
        let record =
            Record::AttemptStarted { task: id(task), run: run.clone(), tier, attempt: number, process: None };
        self.write(record);
        run
    }

    fn end(&mut self, task: &str, run: &RunId, ending: &Ending, changed: bool) {
        let judged = judge(ending, changed, self.prd.task(&id(task)).unwrap(), &self.life, &self.settings);
        self.write(Record::AttemptEnded {
            setup: None,
            task: id(task),
            run: run.clone(),
            how: judged.how,
            signal: judged.signal,
            reason: judged.reason,
            miss: judged.miss,
            seconds: 60.0,
            cost_usd: None,
            tokens: None,
            changed,
            tree: Some(if changed { format!("tree-{run}") } else { "base".to_owned() }),
            approach: Some(format!("approach {run}")),
            until: None,
        });
    }

    /// Writes one attempt with this ending.
    fn attempt(&mut self, task: &str, ending: &Ending, changed: bool) -> RunId {
        let run = self.begin(task);
        self.end(task, &run, ending, changed);
        run
    }

    fn said(&mut self, task: &str, signal: Signal, changed: bool) -> RunId {
        self.attempt(task, &Ending::Said { signal, by: SignalSource::Tag }, changed)
    }

    fn verified(&mut self, task: &str, run: &RunId, index: u64, result: CommandResult) {
        self.write(Record::Verification {
            receipt: None,
            task: id(task),
            run: run.clone(),
            index,
            command: "npm test".to_owned(),
            result,
            exit_code: (result == CommandResult::Failed).then_some(1),
            output: String::new(),
        });
    }

    /// Starts a service.
    fn serve(&mut self) {
        let service = format!("s-{}", self.lines.len());
        let (process, walkaway, branch, total) = (None, false, None, 1);
        self.write(Record::ServiceStarted { service, process, walkaway, branch, total });
    }

    fn ask(&mut self, task: &str) -> DecisionId {
        let Step::Ask(ask) = self.step(task) else { panic!("{:?}", self.step(task)) };
        let decision = Decision {
            id: DecisionId::of_random((self.lines.len() as u64).to_be_bytes()),
            about: ask.about,
            task: Some(id(task)),
            context: ask.context,
            created_at: self.now(),
        };
        self.write(Record::DecisionAsked { decision: decision.clone() });
        decision.id
    }

    fn answer(&mut self, id: &DecisionId, choice: &str, by: AnsweredBy) {
        let answer = Answer {
            choice: choice.to_owned(),
            by,
            reason: Some("because".to_owned()),
            guidance: Some("try the other way".to_owned()),
            is_clear: true,
        };
        self.write(Record::DecisionAnswered { id: id.clone(), answer, used: vec![] });
    }

    /// Executes a step that needs no worker.
    fn bookkeep(&mut self, task: &str) -> bool {
        match self.step(task) {
            Step::Escalate { from, to, reason } => {
                self.write(Record::Escalated { task: id(task), from, to, reason });
            }
            Step::End { outcome, reason, stuck, absorbed_by } => {
                if let Some(absorbed_by) = absorbed_by {
                    self.write(Record::Absorbed { task: id(task), absorbed_by });
                }
                self.write(Record::TaskEnded { task: id(task), outcome, reason, stuck });
            }
            _ => return false,
        }
        true
    }

    fn progress(&self) -> Progress {
        progress(&self.prd, &self.life, &self.settings, &RunSet::all(&self.prd), self.place)
    }

    fn chosen(&self) -> Vec<(usize, Tier)> {
        let set = RunSet::all(&self.prd);
        let chosen = select(&self.prd, &self.life, &self.settings, &set, self.place, self.now());
        chosen.iter().map(|begin| (begin.task, begin.tier)).collect()
    }

    /// Returns the life computed from the journal's text.
    fn again(&self) -> Life {
        let entries = self
            .lines
            .iter()
            .map(|line| Entry::read(Json::parse(&line.to_text().unwrap()).unwrap()).unwrap());
        Life::from_entries(entries)
    }
}

fn no_signal() -> Ending {
    Ending::Iteration(Iteration::NoSignal)
}

const SENIOR: &str = ",\"complexity\":\"senior\"";
const JUNIOR: &str = ",\"complexity\":\"junior\"";
const VERIFIED: &str = ",\"complexity\":\"junior\",\"verification\":[\"npm test\",\"npm test -- b\"]";

#[test]
fn a_task_goes_the_whole_way() {
    let mut book = TestJournal::new(prd(&[("a", VERIFIED)]));
    book.settings.test_cmd = Some(crate::Command::parse("npm test").unwrap());
    book.settings.review_enabled = true;
    let run = book.said("a", Signal::Complete, true);
    assert_eq!(book.step("a"), Step::Verify { from: 0 });
    book.verified("a", &run, 0, CommandResult::Passed);
    assert_eq!(book.step("a"), Step::Verify { from: 1 });
    book.verified("a", &run, 1, CommandResult::Passed);
    assert_eq!(book.step("a"), Step::Scan);
    book.write(Record::Todo { task: id("a"), run: run.clone(), found: vec![] });
    assert_eq!(book.step("a"), Step::Test);
    let (command, output) = ("npm test".to_owned(), String::new());
    let result = CommandResult::Passed;
    book.write(Record::Test {
        task: id("a"),
        run: run.clone(),
        command,
        result,
        exit_code: Some(0),
        output,
        receipt: None,
    });
    assert_eq!(book.step("a"), Step::Review);
    let review = |result| Record::Review {
        receipt: None,
        task: id("a"),
        run: run.clone(),
        result,
        reason: None,
        seconds: 3.0,
        cost_usd: Some(0.5),
    };
    book.write(review(ReviewResult::Unclear));
    assert_eq!(book.step("a"), Step::Review);
    book.write(review(ReviewResult::Pass));
    assert_eq!(book.step("a"), Step::Commit);
    let committed = |commit: &str| Record::Committed {
        task: id("a"),
        run: run.clone(),
        commit: Some(commit.to_owned()),
        refused: None,
    };
    book.write(committed("c1"));
    assert_eq!(book.step("a"), Step::Integrate);
    // Another task moved the branch, so this one is moved to the new tip and verified there again.
    let integrated = |commit: Option<&str>, moved| Record::Integrated {
        task: id("a"),
        run: run.clone(),
        commit: commit.map(str::to_owned),
        conflict: vec![],
        moved,
        tree: moved.then(|| "moved".to_owned()),
    };
    book.write(integrated(None, true));
    assert_eq!(book.step("a"), Step::Verify { from: 0 });
    assert_eq!(book.life.task(&id("a")).tree.as_deref(), Some("moved"));
    book.verified("a", &run, 0, CommandResult::Passed);
    book.verified("a", &run, 1, CommandResult::Passed);
    assert_eq!(book.step("a"), Step::Test);
    let (command, output) = ("npm test".to_owned(), String::new());
    book.write(Record::Test {
        task: id("a"),
        run: run.clone(),
        command,
        result,
        exit_code: Some(0),
        output,
        receipt: None,
    });
    book.write(committed("c2"));
    book.write(integrated(Some("c2"), false));
    assert!(book.bookkeep("a"));
    assert_eq!(book.step("a"), Step::Ended(TaskOutcome::Complete));
    let task = book.life.task(&id("a"));
    assert_eq!((task.commit.as_deref(), task.reviewed, task.attempts), (Some("c2"), true, 1));
    assert_eq!(book.progress().outcome(), Outcome::Complete);
    assert_eq!(book.life, book.again());
    // Two reviews reported 50 cents each, and a minute of the line costs 5.
    assert!((book.life.spent.cost_usd(&book.settings) - 1.05).abs() < 1e-9);
}

#[test]
fn every_failure_is_an_iteration_with_its_feedback() {
    let mut book = TestJournal::new(prd(&[("a", VERIFIED)]));
    book.settings.escalation_after = 100;
    let feedback = |book: &TestJournal| book.life.task(&id("a")).feedback.unwrap().class();
    book.attempt("a", &no_signal(), true);
    assert_eq!(feedback(&book), "no_signal");
    let run = book.said("a", Signal::Complete, true);
    book.verified("a", &run, 0, CommandResult::Failed);
    assert_eq!(feedback(&book), "verification");
    let run = book.said("a", Signal::Complete, true);
    book.verified("a", &run, 0, CommandResult::Passed);
    book.verified("a", &run, 1, CommandResult::Passed);
    book.write(Record::Todo { task: id("a"), run, found: vec!["a.ts:3: TODO".to_owned()] });
    assert_eq!(feedback(&book), "markers");
    let run = book.said("a", Signal::Complete, true);
    let (conflict, task) = (vec!["a.ts".to_owned()], id("a"));
    book.write(Record::Integrated { task, run, commit: None, conflict, moved: false, tree: None });
    assert_eq!(feedback(&book), "conflict");
    let task = book.life.task(&id("a"));
    assert_eq!((task.failures, task.iterations, task.attempts), (4, 4, 4));
    let words: Vec<&str> = book.life.history.tasks.iter().map(|event| event.status.as_str()).collect();
    assert_eq!(words, ["iteration_1", "verification_failed", "todo_warnings", "conflict"]);
    // A record of an older run has no effect.
    book.verified("a", &"a-1".parse().unwrap(), 0, CommandResult::Failed);
    assert_eq!(book.life.task(&id("a")).failures, 4);
}

#[test]
fn two_unclear_reviews_are_a_failure() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    book.settings.review_enabled = true;
    book.settings.todo_scan_enabled = false;
    let run = book.said("a", Signal::Complete, true);
    for _ in 0..2 {
        assert_eq!(book.step("a"), Step::Review);
        let (task, run) = (id("a"), run.clone());
        let result = ReviewResult::Unclear;
        book.write(Record::Review {
            task,
            run,
            result,
            reason: None,
            seconds: 1.0,
            cost_usd: None,
            receipt: None,
        });
    }
    assert_eq!(book.step("a"), Step::Attempt { tier: Tier::Line, number: 2 });
    assert_eq!(book.life.task(&id("a")).feedback.unwrap().class(), "review");
    // The shown reviews are also a failure with its reason.
    let reviews: Vec<_> =
        book.life.history.reviews.iter().map(|(.., result, why)| (*result, why.as_str())).collect();
    let fail = (ReviewResult::Fail, "the review gave no clear verdict twice");
    assert_eq!(reviews, [(ReviewResult::Unclear, ""), fail]);
    let state = StateFile::from_life(&book.life);
    assert_eq!(state.reviews.len(), 1);
    let name = "prd-x".parse().unwrap();
    let events = crate::show::events(&name, &book.prd, &book.life, book.lines.last().unwrap());
    assert!(events[0].to_text().contains("\"result\":\"FAIL\"") && events[0].to_text().contains(fail.1));
}

#[test]
fn an_unchanged_claim_counts_as_already_done() {
    let mut book = TestJournal::new(prd(&[("a", VERIFIED), ("b", JUNIOR), ("c", JUNIOR)]));
    let run = book.said("a", Signal::Complete, false);
    assert_eq!(book.step("a"), Step::Verify { from: 0 });
    book.verified("a", &run, 0, CommandResult::Passed);
    book.verified("a", &run, 1, CommandResult::Passed);
    assert!(book.bookkeep("a"));
    assert_eq!(book.life.outcome(&id("a")), Some(TaskOutcome::AlreadyDone));
    // Without verification, nothing proves that it is done.
    book.said("b", Signal::Complete, false);
    assert_eq!(book.step("b"), Step::Attempt { tier: Tier::Line, number: 2 });
    // The absorbing task must be done.
    book.said("c", Signal::Absorbed(id("b")), false);
    assert_eq!(book.step("c"), Step::Attempt { tier: Tier::Line, number: 2 });
    book.said("c", Signal::Absorbed(id("c")), false);
    assert_eq!(book.life.task(&id("c")).failures, 2);
    book.said("c", Signal::Absorbed(id("a")), false);
    assert!(book.bookkeep("c"));
    let task = book.life.task(&id("c"));
    assert_eq!((task.outcome(), task.absorbed_by), (Some(TaskOutcome::Absorbed), Some(id("a"))));
    // With changes, all checks run.
    book.said("b", Signal::AlreadyDone, true);
    assert_eq!(book.step("b"), Step::Scan);
}

#[test]
fn a_task_escalates_after_failures_or_when_blocked() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    for _ in 0..3 {
        book.attempt("a", &no_signal(), true);
    }
    assert!(matches!(book.step("a"), Step::Escalate { from: Tier::Line, to: Tier::Sous, .. }));
    assert!(book.bookkeep("a"));
    assert_eq!(book.step("a"), Step::Attempt { tier: Tier::Sous, number: 4 });
    // The life is the same after a restart.
    assert_eq!(book.again(), book.life);
    book.attempt("a", &Ending::TimeLimit, true);
    assert!(matches!(book.step("a"), Step::Escalate { from: Tier::Sous, to: Tier::Executive, .. }));
    book.bookkeep("a");
    book.said("a", Signal::Blocked, true);
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::Blocked, .. }));
    book.bookkeep("a");
    assert!(matches!(book.step("a"), Step::Ask(Question { about: DecisionKind::Failure, .. })));
    assert_eq!(book.life.history.escalations.len(), 2);
    assert_eq!(book.progress().outcome(), Outcome::Paused);
}

#[test]
fn the_time_of_a_tier_is_that_of_all_attempts_in_it() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    book.settings.task_timeout_junior = 120;
    book.attempt("a", &no_signal(), true);
    assert!(matches!(book.step("a"), Step::Attempt { .. }));
    book.attempt("a", &no_signal(), true);
    assert!(matches!(book.step("a"), Step::Escalate { .. }));
}

#[test]
fn attempts_are_bounded_in_all_tiers_together() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    book.settings.max_iterations = 4;
    book.settings.escalation_enabled = false;
    for _ in 0..4 {
        book.attempt("a", &no_signal(), true);
    }
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::Failed, stuck: false, .. }));
}

#[test]
fn a_task_blocked_in_the_last_attempt_is_blocked() {
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    book.settings.max_iterations = 1;
    book.settings.escalation_enabled = false;
    book.said("a", Signal::Blocked, true);
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::Blocked, .. }));
    // The tier above is switched off, so the task failed.
    let mut book = TestJournal::new(prd(&[("a", JUNIOR)]));
    book.settings.max_iterations = 1;
    book.said("a", Signal::Blocked, true);
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::Failed, .. }));
}

#[test]
fn a_retried_task_continues_in_its_tier() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR), ("b", ",\"dependsOn\":[\"a\"]")]));
    book.settings.max_iterations = 1;
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    assert_eq!(book.step("a"), Step::Wait(decision.clone()));
    assert_eq!((book.progress().waiting, book.progress().held), (vec![0], vec![1]));
    book.answer(&decision, "retry", AnsweredBy::Person);
    assert_eq!(book.step("a"), Step::Attempt { tier: Tier::Sous, number: 2 });
    assert_eq!(book.life.task(&id("a")).guidance.as_deref(), Some("try the other way"));
    // A second answer has no effect.
    book.answer(&decision, "skip", AnsweredBy::Person);
    assert_eq!(book.step("a"), Step::Attempt { tier: Tier::Sous, number: 2 });
    book.attempt("a", &no_signal(), true);
    book.bookkeep("a");
    let decision = book.ask("a");
    book.answer(&decision, "skip", AnsweredBy::Person);
    assert_eq!(book.step("a"), Step::Ended(TaskOutcome::Skipped));
    assert_eq!(unreachable(&book.prd, &book.life), [false, true]);
    assert_eq!(book.chosen(), []);
    let progress = book.progress();
    assert_eq!((progress.skipped.as_slice(), progress.unreachable.as_slice()), (&[0][..], &[1][..]));
    assert_eq!((progress.is_at_end(), progress.outcome()), (true, Outcome::Incomplete));
}

#[test]
fn in_walkaway_the_executive_answers() {
    let settings = Settings { walkaway_max_retries: 2, ..Settings::default() };
    let own = |retries, unclear| TaskLife { retries, unclear_decisions: unclear, ..TaskLife::default() };
    let said = |choice| Some(Said { choice, reason: None, guidance: Some("g".to_owned()) });
    let answer = |said, own: TaskLife| walkaway_answer(said, &own, &settings);
    assert_eq!(answer(said(Choice::Abort), own(0, 0)).choice, "abort");
    assert_eq!(answer(said(Choice::Retry), own(1, 0)).choice, "retry");
    assert_eq!(answer(said(Choice::Retry), own(2, 0)).choice, "skip");
    let unclear = answer(None, own(0, 0));
    assert_eq!((unclear.choice.as_str(), unclear.is_clear), ("retry", false));
    assert_eq!(answer(None, own(1, 1)).choice, "skip");
}

#[test]
fn a_question_about_scope_waits_for_its_answer() {
    let mut book = TestJournal::new(prd(&[("a", SENIOR)]));
    book.said("a", Signal::Question("Which?".to_owned()), true);
    let decision = book.ask("a");
    assert_eq!(book.life.decision_of(&id("a")).unwrap().about, DecisionKind::Scope);
    book.answer(&decision, "the second", AnsweredBy::Person);
    assert_eq!(book.life.task(&id("a")).scope, [("Which?".to_owned(), "the second".to_owned())]);
    assert_eq!(book.step("a"), Step::Attempt { tier: Tier::Sous, number: 2 });
    assert_eq!(book.life.task(&id("a")).failures, 0);
}

#[test]
fn a_person_checks_by_hand() {
    let mut book = TestJournal::new(prd(&[("a", ",\"manualVerification\":\"look\"")]));
    book.settings.manual_verification_enabled = true;
    book.settings.todo_scan_enabled = false;
    book.said("a", Signal::Complete, true);
    let decision = book.ask("a");
    assert_eq!(book.step("a"), Step::Wait(decision.clone()));
    book.answer(&decision, "pass", AnsweredBy::Person);
    assert_eq!(book.step("a"), Step::Commit);
    book.place = Workplace::InPlace;
    assert!(matches!(book.step("a"), Step::End { outcome: TaskOutcome::Complete, .. }));
}

#[test]
fn tasks_begin_as_there_is_room() {
    let mut book = TestJournal::new(prd(&[
        ("a", ",\"complexity\":\"senior\",\"exclusive\":\"db\""),
        ("b", SENIOR),
        ("c", ",\"complexity\":\"junior\",\"exclusive\":\"db\""),
        ("d", JUNIOR),
        ("e", JUNIOR),
        ("f", ",\"complexity\":\"junior\",\"dependsOn\":[\"d\"]"),
        ("g", JUNIOR),
    ]));
    // One senior task, not the other task of `db`, three in total.
    assert_eq!(book.chosen(), [(0, Tier::Sous), (3, Tier::Line), (4, Tier::Line)]);
    book.settings.parallel_line = Some(1);
    assert_eq!(book.chosen(), [(0, Tier::Sous), (3, Tier::Line)]);
    book.settings.parallel_sous = 2;
    assert_eq!(book.chosen(), [(0, Tier::Sous), (1, Tier::Sous), (3, Tier::Line)]);
    let run = book.begin("a");
    assert_eq!(book.chosen(), [(1, Tier::Sous), (3, Tier::Line)]);
    // A task being checked keeps its exclusive name, but needs no slot for attempts.
    book.end("a", &run, &Ending::Said { signal: Signal::Complete, by: SignalSource::Tag }, true);
    book.settings.parallel_line = None;
    assert_eq!(book.chosen(), [(1, Tier::Sous), (3, Tier::Line), (4, Tier::Line)]);
    book.place = Workplace::InPlace;
    assert_eq!(book.chosen(), []);
}

#[test]
fn a_run_set_is_typed_by_ids() {
    let prd = prd(&[("US-1", ""), ("US-2", ""), ("US-3", ""), ("US-4", "")]);
    let set = |only: &[&str], skip: &[&str], from, until| {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        RunSet::select(&prd, &owned(only), &owned(skip), from, until)
    };
    let has = |set: RunSet| (0..4).filter(|at| set.has(*at)).collect::<Vec<_>>();
    assert_eq!(has(set(&[], &["US-2"], None, Some("US-3")).unwrap()), [0, 2]);
    assert_eq!(has(set(&["US-4", "US-1"], &[], Some("US-2"), None).unwrap()), [3]);
    let error = set(&["US-9"], &["x/y"], None, None).unwrap_err();
    let SelectTasksError::Unknown(unknown) = &error else { panic!("{error}") };
    assert_eq!(unknown.unknown, ["US-9", "x/y"]);
    assert!(error.to_string().contains("did you mean `US-1`") && error.to_string().contains("US-4"));
    // An empty selection must not count as complete.
    let empty =
        |only: &[&str], skip: &[&str], from, until| set(only, skip, from, until).unwrap_err().to_string();
    assert!(empty(&["US-1"], &["US-1"], None, None).ends_with("only US-1, skip US-1"));
    assert!(empty(&[], &[], Some("US-3"), Some("US-1")).ends_with("from US-3, until US-1"));
}

#[test]
fn tasks_passed_at_the_approval_are_done() {
    let mut book = TestJournal::new(prd(&[("a", ",\"passes\":true"), ("b", ",\"dependsOn\":[\"a\"]")]));
    // Before the approval, `passes` does not count.
    assert_eq!(book.chosen().len(), 1);
    book.write(Record::Approved {
        fingerprint: Fingerprint::of_bytes(b"x"),
        items: BTreeMap::new(),
        passed: vec![id("a")],
        by: None,
        path: None,
    });
    assert_eq!(book.chosen().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1]);
    book.write(Record::Revoked { by: None });
    assert_eq!(book.life.approval, None);
}

#[test]
fn budgets_warn_and_end() {
    let settings = Settings { max_cost_usd: Some(10.0), max_attempts: Some(5), ..Settings::default() };
    let ceiling = Limits { cost_usd: Some(2.0), minutes: Some(100.0), attempts: None };
    let limits = Limits::from_settings(&settings, ceiling);
    assert_eq!(limits, Limits { cost_usd: Some(2.0), minutes: Some(100.0), attempts: Some(5) });
    let mut spent = Usage::default();
    assert_eq!(budget(&spent, &limits, &settings), []);
    spent.add(Tier::Executive, 300.0, None);
    spent.add(Tier::Sous, 60.0, Some(0.2));
    assert!((spent.cost_usd(&settings) - 1.7).abs() < 1e-9);
    (0..5).for_each(|_| spent.start(Tier::Line));
    assert_eq!(
        budget(&spent, &limits, &settings),
        [("cost_usd", Budget::Warning), ("attempts", Budget::Reached)]
    );
    let warn = Settings { cost_warn_threshold: Some(1.0), ..Settings::default() };
    assert_eq!(budget(&spent, &Limits::default(), &warn), [("cost_usd", Budget::Warning)]);
}

#[test]
fn lines_are_as_the_reference_has_them() {
    let line = Line::new(
        7,
        "2026-01-19T12:00:00Z".parse().unwrap(),
        Record::Escalated { task: id("a"), from: Tier::Line, to: Tier::Sous, reason: "r".to_owned() },
    );
    let text = r#"{"at":"2026-01-19T12:00:00+00:00","from":"line","kind":"escalated","reason":"r","seq":7,"task":"a","to":"sous","v":1}"#;
    assert_eq!(line.to_text().unwrap(), text);
    assert_eq!(Entry::read(Json::parse(text).unwrap()), Ok(Entry::Known(Box::new(line))));
    assert_eq!(
        Record::KINDS,
        [
            "approved",
            "revoked",
            "service_started",
            "service_ended",
            "task_started",
            "attempt_started",
            "attempt_ended",
            "verification",
            "test",
            "todo",
            "review",
            "committed",
            "integrated",
            "task_ended",
            "escalated",
            "absorbed",
            "decision_asked",
            "decision_answered",
            "scope_decided",
            "phase_review",
            "phase_gate",
            "limit_wait",
            "budget",
            "config_reloaded",
            "interrupted",
            "adopted",
        ]
    );
}

#[test]
fn newer_records_are_kept_and_foreign_ones_refused() {
    let read = |text: &str| Entry::read(Json::parse(text).unwrap());
    for text in [r#"{"v":2,"seq":3,"kind":"approved"}"#, r#"{"v":1,"seq":3,"kind":"renamed","x":1.50}"#] {
        let Ok(Entry::Newer { seq: 3, json }) = read(text) else { panic!("{text}") };
        assert_eq!(json, Json::parse(text).unwrap());
    }
    for text in ["{}", "[]", r#"{"v":1,"seq":3,"kind":"escalated"}"#, r#"{"v":1,"kind":"revoked"}"#] {
        assert!(read(text).is_err(), "{text}");
    }
    let life = Life::from_entries([read(r#"{"v":2,"seq":3,"kind":"approved"}"#).unwrap()]);
    assert_eq!((life.seq, life.newer), (3, 1));
}

#[test]
fn a_decision_takes_only_its_choices() {
    let decision = |about| Decision {
        id: "d-0123456789ab".parse().unwrap(),
        about,
        task: None,
        context: String::new(),
        created_at: Timestamp::from_unix_micros(0),
    };
    assert_eq!(decision(DecisionKind::Failure).accepts("retry"), Ok(()));
    assert!(decision(DecisionKind::Failure).accepts("pass").is_err());
    assert_eq!(decision(DecisionKind::Scope).accepts("the second"), Ok(()));
    assert_eq!(decision(DecisionKind::Scope).accepts(" "), Err(AnswerFault::Empty));
    assert!("d-../../x0000".parse::<DecisionId>().is_err() && "d-0123".parse::<DecisionId>().is_err());
}

/// A cache with another layout must not be read. If this fails, the layout or the fold changed: increase the version in
/// `saved.rs`, then update the hash here.
#[test]
fn a_saved_life_is_that_of_its_layout() {
    let mut book = TestJournal::new(prd(&[("a", ""), ("b", ",\"dependsOn\":[\"a\"]")]));
    let run = book.begin("a");
    book.end("a", &run, &no_signal(), true);
    let run = book.begin("a");
    book.end("a", &run, &Ending::Said { signal: Signal::Blocked, by: SignalSource::Tag }, false);
    let decision = Decision {
        id: "d-0123456789ab".parse().unwrap(),
        about: DecisionKind::Failure,
        task: Some(id("a")),
        context: "it failed".to_owned(),
        created_at: book.now(),
    };
    book.write(Record::DecisionAsked { decision });
    book.answer(&"d-0123456789ab".parse().unwrap(), "skip", AnsweredBy::Executive);
    let bytes = book.life.to_bytes().unwrap();
    assert_eq!(Life::from_bytes(&bytes), Some(book.life));
    assert_eq!(Fingerprint::of_bytes(&bytes).short(), "e165521dda51756a");
    assert_eq!(Life::from_bytes(&[&[99], &bytes[1..]].concat()), None);
}

#[test]
fn sequential_task_waits_for_branch_not_person() {
    let manual = ",\"manualVerification\":[\"look at it\"]";
    let claims = |place| {
        let mut book = TestJournal::new(prd(&[("a", manual), ("b", ""), ("c", "")]));
        (book.place, book.settings.max_parallel) = (place, 1);
        book.settings.manual_verification_enabled = true;
        let run = book.begin("a");
        book.end("a", &run, &Ending::Said { signal: Signal::Complete, by: SignalSource::Tag }, true);
        (book, run)
    };
    let chosen = |book: &TestJournal, set: &RunSet| {
        let begins = select(&book.prd, &book.life, &book.settings, set, book.place, book.now());
        begins.iter().map(|begin| begin.task).collect::<Vec<_>>()
    };
    for (place, while_it_waits) in [(Workplace::Worktrees, vec![1]), (Workplace::InPlace, vec![])] {
        let (mut book, run) = claims(place);
        let all = RunSet::all(&book.prd);
        assert_eq!(chosen(&book, &all), [0; 0], "{place:?}");
        // A service of other tasks does not wait for it.
        let others = RunSet::select(&book.prd, &[], &["a".to_owned()], None, None).unwrap();
        assert_eq!(chosen(&book, &others), [1], "{place:?}");
        book.write(Record::Todo { task: id("a"), run, found: vec![] });
        book.ask("a");
        assert_eq!(chosen(&book, &all), while_it_waits, "{place:?}");
    }
    let (mut book, _) = claims(Workplace::Worktrees);
    book.settings.max_parallel = 2;
    assert_eq!(chosen(&book, &RunSet::all(&book.prd)), [1, 2]);
}
