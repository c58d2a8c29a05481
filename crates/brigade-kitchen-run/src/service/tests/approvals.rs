//! Approvals and decisions of a person, and what is shown of them.

use brigade_core::ErrorCode;
use brigade_core::json::to_json;
use brigade_kitchen::show::{Marker, TaskStatus};

use super::*;
use crate::{AnswerRequest, ApproveStep, ApproveWhat, DecisionFilter, PrdSearch};

const POLICY: &str = ".brigade/tools/policy.toml";
const JOURNAL: &str = ".brigade/kitchen/prd-a/journal.jsonl";
const PRD: &str = "brigade/tasks/prd-a.json";

fn text<T: serde::Serialize>(report: &T) -> String {
    to_json(report).unwrap().to_compact()
}

impl World {
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.join("work").join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(super) fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path);
        assert!(text.contains(old), "no `{old}` in {text}");
        self.write(path, &text.replacen(old, new, 1));
    }

    fn search(&self) -> PrdSearch {
        PrdSearch::At(self.prd())
    }

    fn shown(&self) -> brigade_kitchen::approval::ApprovalReport {
        self.kitchen().approve(&ApproveWhat::Prd(self.search()), &ApproveStep::Show).unwrap()
    }

    fn try_approve(&self, typed: &str) -> Result<bool, ErrorCode> {
        let step = ApproveStep::Approve(typed.to_owned());
        let report = self.kitchen().approve(&ApproveWhat::Prd(self.search()), &step);
        report.map(|report| report.approved).map_err(|failure| failure.code())
    }

    fn status(&self) -> brigade_kitchen::show::StatusReport {
        self.kitchen().status(&self.search()).unwrap()
    }

    fn answered(
        &self,
        id: &str,
        choice: &str,
        guidance: Option<&str>,
    ) -> Result<crate::AnswerReport, Failure> {
        let guidance = guidance.map(str::to_owned);
        self.kitchen().answer(&AnswerRequest {
            id: id.to_owned(),
            choice: choice.to_owned(),
            reason: Some("later".to_owned()),
            guidance,
        })
    }
}

fn crew() -> World {
    World::new(
        &tasks(&[("a", "test -f a.txt", &[]), ("b", "true", &["a"]), ("c", "true", &["b"])]),
        "",
        WRITES,
    )
}

/// A PRD whose first task failed, with a pending decision.
fn failed() -> World {
    let config = "max_iterations = 2\nescalation_enabled = false\nstuck_after = 0";
    let rows: [(&str, &str, &[&str]); 3] =
        [("a", "test -f a.txt", &[]), ("b", "true", &["a"]), ("c", "true", &["b"])];
    let world = World::new(&tasks(&rows), config, "printf 'it \\033[31mbroke'; exit 3");
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Paused);
    world
}

#[test]
fn changes_after_an_approval_are_named() {
    let world = crew();
    let first = world.shown();
    assert_eq!((first.approved, first.changes.len()), (false, 0));
    let argv: Vec<String> = first.commands.iter().map(|row| row.argv.join(" ")).collect();
    assert!(argv.contains(&"test -f a.txt".to_owned()), "{argv:?}");
    world.approve();
    assert!(world.shown().approved && world.status().approved);
    let fields = || world.shown().changes.into_iter().map(|change| change.field).collect::<Vec<_>>();
    let config = ".brigade/kitchen.toml";
    for (file, old, new, field) in [
        (PRD, "test -f a.txt", "test -e a.txt", "task.a.verification"),
        (PRD, "[\"a\"]", "[]", "task.b.dependsOn"),
        (config, "worker.sh", "worker.sh fast", "worker.line.argv"),
        (config, "[tier.line]", "test_timeout = 5\n[tier.line]", "config.test_timeout"),
        (config, "[tier.line]\n", "[tier.line]\nenv_labels = [\"KEY\"]\n", "worker.line.env_labels"),
    ] {
        let before = world.read(file);
        world.replace(file, old, new);
        assert!(fields().contains(&field.to_owned()), "{field}: {:?}", fields());
        assert!(!world.shown().approved && !world.status().approved, "{field}");
        world.write(file, &before);
    }
    for (file, text, field) in [
        ("brigade/chef/line.md", "Cook.", "chef.line.md"),
        (POLICY, "[kitchen]\nmax_minutes = 5\n", "policy.max_minutes"),
        (POLICY, "[sandbox]\nmode = \"enforce\"\n", "policy.sandbox"),
    ] {
        world.write(file, text);
        assert!(fields().contains(&field.to_owned()), "{field}: {:?}", fields());
        fs::remove_file(world.path(file)).unwrap();
    }
    assert_eq!(fields(), [""; 0]);
}

#[test]
fn an_approval_needs_the_fingerprint_that_was_shown() {
    let world = crew();
    let own = world.shown().fingerprint.unwrap().to_string();
    assert_eq!(world.try_approve(&"0".repeat(64)), Err(ErrorCode::ChangedMeanwhile));
    for typed in ["0123", "", "no hex digits"] {
        assert_eq!(world.try_approve(typed), Err(ErrorCode::Usage), "{typed}");
    }
    assert!(!world.path(JOURNAL).exists());
    assert_eq!(world.try_approve(&own[..16]), Ok(true));
    assert_eq!(world.read(".brigade/kitchen/.gitignore"), "*\n");
    // A repeated approval records nothing.
    let journal = world.read(JOURNAL);
    assert_eq!(world.try_approve(&own), Ok(true));
    assert_eq!(world.read(JOURNAL), journal);
}

#[test]
fn an_approval_can_be_revoked_once() {
    let world = crew();
    world.approve();
    let revoke = || world.kitchen().approve(&ApproveWhat::Prd(world.search()), &ApproveStep::Revoke);
    let revoked = revoke().unwrap();
    assert_eq!((revoked.approved, revoked.revoked, world.status().approved), (false, true, false));
    assert_eq!(revoke().unwrap_err().code(), ErrorCode::WrongState);
}

#[test]
fn the_tiers_have_a_separate_approval() {
    let world = crew();
    let kitchen = world.kitchen();
    let step = |step: ApproveStep| kitchen.approve(&ApproveWhat::Workers, &step).unwrap();
    let tiers = kitchen.workers().unwrap();
    assert!(!tiers.approved);
    step(ApproveStep::Approve(tiers.fingerprint.unwrap().to_string()));
    assert!(kitchen.workers().unwrap().approved && !world.shown().approved);
    world.replace(".brigade/kitchen.toml", "[tier.sous]\ncommand = \"", "[tier.sous]\ncommand = \"sh ");
    let changes = step(ApproveStep::Show).changes;
    assert!(changes.iter().any(|change| change.field == "worker.sous.argv"), "{changes:?}");
    assert!(step(ApproveStep::Revoke).revoked);
}

#[test]
fn an_invalid_prd_or_a_refusal_blocks_approval() {
    let world = crew();
    let refused =
        || world.kitchen().approve(&ApproveWhat::Prd(world.search()), &ApproveStep::Show).unwrap_err();
    let prd = world.read(PRD);
    world.replace(PRD, "[\"a\"]", "[\"z\"]");
    let codes: Vec<String> = refused().blockers().iter().map(|blocker| (*blocker.code).to_owned()).collect();
    assert_eq!(codes, ["unknown_dependency"]);
    world.write(PRD, &prd);
    world.write(POLICY, "[kitchen]\nworkers = []\n");
    assert_eq!(refused().code(), ErrorCode::KitchenRefused);
    let places: Vec<String> = refused().places().map(ToString::to_string).collect();
    assert!(places.iter().any(|place| place.contains("policy.toml")), "{places:?}");
}

/// The state file of the shell program.
const STATE: &str = r#"{"sessionId": "1768824000-77", "startedAt": "2026-01-19T12:00:00+00:00", "currentTask": "b",
  "taskHistory": [
    {"taskId": "a", "worker": "line", "status": "complete", "timestamp": "2026-01-19T12:05:01+00:00", "duration": 300},
    {"taskId": "b", "worker": "sous", "status": "started", "timestamp": "2026-01-19T12:05:02+00:00"}, {"taskId": 5}],
  "escalations": [{"taskId": "b", "from": "line", "to": "sous", "reason": "3 failures", "timestamp": "2026-01-19T12:05:02+00:00"}]}"#;

#[test]
fn the_state_of_the_shell_program_is_shown_before_its_approval() {
    let world = crew();
    world.replace(PRD, "\"passes\": false", "\"passes\": true");
    world.write("brigade/tasks/prd-a.state.json", STATE);
    let check = || {
        let status = world.status();
        let rows: Vec<_> = status.tasks.iter().map(|row| (row.status, row.marker, row.completed)).collect();
        assert_eq!(rows[0].1, Marker::Done);
        assert_eq!(rows[1].0, TaskStatus::Interrupted);
        assert_eq!((rows[2].0, rows[2].2), (TaskStatus::Pending, false));
        assert_eq!((status.completed_tasks, status.escalations), (1, 1));
    };
    check();
    assert!(!world.path(".brigade/kitchen").exists(), "looking writes nothing");
    let own = world.shown().fingerprint.unwrap().to_string();
    assert_eq!(world.try_approve(&own), Ok(true));
    // Now the journal has the state.
    world.write("brigade/tasks/prd-a.state.json", "{");
    check();
}

#[test]
fn an_unusable_state_file_is_kept_beside_the_new_one() {
    for state in ["{broken", "[]", "{\"taskHistory\": 3}"] {
        let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
        let path = "brigade/tasks/prd-a.state.json";
        world.write(path, state);
        assert!(text(&world.status().issues).contains("prd-a.state.json"));
        let step = ApproveStep::Approve(world.shown().fingerprint.unwrap().to_string());
        let approved = world.kitchen().approve(&ApproveWhat::Prd(world.search()), &step).unwrap();
        let kept = format!("{path}.damaged-1");
        assert!(text(&approved.notes).contains(&kept), "{:?}", approved.notes);
        assert_eq!(world.read(&kept), state);
        // A state file that appears later is set aside by the service.
        world.write(path, state);
        let report = world.serve();
        assert!(text(&report.issues).contains(&format!("{path}.damaged-2")), "{report:?}");
        assert_eq!(world.read(&format!("{path}.damaged-2")), state);
    }
}

#[test]
fn damage_of_the_journal_is_reported_and_nothing_is_lost() {
    let world = crew();
    world.approve();
    let journal = world.read(JOURNAL);
    world.write(JOURNAL, &format!("not a record\n{journal}{{\"v\": 1, \"seq\": 2, \"ki"));
    let status = world.status();
    assert_eq!((status.approved, status.issues.len()), (true, 2), "{:?}", status.issues);
    assert!(text(&status.issues).contains("line 1"), "{:?}", status.issues);
    // A record of a newer version is kept unchanged.
    world.write(JOURNAL, &format!("{journal}{{\"v\":9,\"seq\":2,\"kind\":\"blessed\"}}\n"));
    let before = world.read(JOURNAL);
    let revoked = world.kitchen().approve(&ApproveWhat::Prd(world.search()), &ApproveStep::Revoke);
    assert_eq!(revoked.unwrap_err().code(), ErrorCode::NewerVersion);
    assert_eq!(world.read(JOURNAL), before);
    assert!(world.status().approved);
    // A directory in place of the journal is reported.
    fs::remove_file(world.path(JOURNAL)).unwrap();
    world.write(&format!("{JOURNAL}/x"), "");
    assert!(text(&world.status()).contains("not a file"), "{:?}", world.status());
}

#[test]
fn later_passes_count_after_the_next_approval() {
    let world = crew();
    world.approve();
    world.replace(PRD, "\"passes\": false", "\"passes\": true");
    let status = world.status();
    assert_eq!((status.completed_tasks, status.approved), (0, true));
    assert!(text(&status.issues).contains("a"), "{:?}", status.issues);
    let own = world.shown().fingerprint.unwrap().to_string();
    assert_eq!(world.try_approve(&own), Ok(true));
    assert_eq!(world.status().completed_tasks, 1);
}

#[test]
fn a_decision_is_answered_once_and_then_applied() {
    let world = failed();
    let listed = world.kitchen().decisions(None, DecisionFilter::Waiting).unwrap();
    let [row] = listed.decisions.as_slice() else { panic!("{listed:?}") };
    assert_eq!((listed.waiting, &row.choices[..]), (1, &["retry", "skip", "abort"].map(str::to_owned)[..]));
    let id = row.id.to_string();
    let code = |id: &str, choice: &str| world.answered(id, choice, None).unwrap_err();
    assert_eq!(code("d-ffff", "retry").code(), ErrorCode::DecisionMissing);
    assert!(code(&id, "maybe").to_string().contains("retry, skip, abort"));
    let secret = "token ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let answered = world.answered(&id[..6], "retry", Some(secret)).unwrap();
    assert_eq!(answered.decision.choice.as_deref(), Some("retry"));
    assert_eq!(answered.decision.by, Some(AnsweredBy::Person));
    assert!(!text(&answered).contains("0123456789abcdefghij"));
    assert!(!world.read(JOURNAL).contains("0123456789abcdefghij"));
    assert_eq!(code(&id, "skip").code(), ErrorCode::WrongState);
    assert!(world.kitchen().decisions(None, DecisionFilter::Waiting).unwrap().decisions.is_empty());
    let all = world.kitchen().decisions(Some(&world.search()), DecisionFilter::All).unwrap();
    assert_eq!((all.waiting, all.decisions[0].choice.as_deref()), (0, Some("retry")));
    let status = world.status();
    assert_eq!((status.needs_attention, status.tasks[0].status), (false, TaskStatus::Waiting));
}

#[test]
fn dependents_of_a_skipped_task_are_unreachable() {
    let world = failed();
    let id = world.life().waiting().next().unwrap().id.to_string();
    world.answered(&id, "skip", None).unwrap();
    let status = world.status();
    let states: Vec<_> = status.tasks.iter().map(|row| row.status).collect();
    assert_eq!(states, [TaskStatus::Skipped, TaskStatus::Unreachable, TaskStatus::Unreachable]);
    assert_eq!(status.outcome, Some(Outcome::Incomplete));
    let summary = world.kitchen().summary(&world.search(), None, false).unwrap().text;
    assert!(summary.contains("skip by a person: later"), "{summary}");
}

#[test]
fn costs_and_summaries_count_what_was_recorded() {
    let world = failed();
    let cost = world.kitchen().cost(&world.search()).unwrap();
    assert_eq!((cost.attempts, cost.tasks.len()), (2, 1));
    assert_eq!((cost.tiers[0].attempts, cost.tasks[0].attempts), (2, 2));
    let summary = |path: &str| world.kitchen().summary(&world.search(), Some(&path.parse().unwrap()), false);
    // A summary is written and replaced by a later one. Other files are not replaced.
    for _ in 0..2 {
        let report = summary("report.md").unwrap();
        assert_eq!(report.path.as_deref(), Some("report.md"));
        assert!(report.text.starts_with("# Summary of F\n") && !report.text.contains('\u{1b}'), "{report:?}");
        assert_eq!(world.read("report.md"), report.text);
    }
    world.write("README.md", "# Mine\n");
    assert_eq!(summary("README.md").unwrap_err().code(), ErrorCode::FileExists);
    assert_eq!(world.read("README.md"), "# Mine\n");
}

#[test]
fn a_rehearsal_shows_waves_and_needs_no_approval() {
    let world = crew();
    world.write("brigade/tasks/prd-b.json", &world.read(PRD));
    let rehearse =
        |searches: &[PrdSearch], options: ServiceOptions| world.kitchen().rehearse(searches, &options);
    let names = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>();
    let waves = |options: ServiceOptions| {
        let report = rehearse(&[world.search()], options).unwrap();
        let waves = report.waves.unwrap();
        waves.iter().map(|wave| ids(wave).join(" ")).collect::<Vec<_>>()
    };
    let all = ServiceOptions::default();
    assert_eq!(waves(all.clone()), ["a", "b", "c"]);
    assert_eq!(waves(ServiceOptions { only: names(&["b", "c"]), ..all.clone() }), ["b", "c"]);
    let until = Some("b".to_owned());
    assert_eq!(waves(ServiceOptions { skip: names(&["a"]), until, ..all.clone() }), ["b"]);
    assert_eq!(waves(ServiceOptions { from: Some("c".to_owned()), ..all.clone() }), ["c"]);
    let unknown = rehearse(&[world.search()], ServiceOptions { only: names(&["bb"]), ..all.clone() });
    assert!(unknown.unwrap_err().to_string().contains("bb"));
    // Two PRDs, in order.
    let both = [world.search(), PrdSearch::At("brigade/tasks/prd-b.json".parse().unwrap())];
    assert_eq!(rehearse(&both, all.clone()).unwrap().prds.len(), 2);
    // For an unattended service, checks of texts do not count as verification.
    world.replace(
        PRD,
        "\"type\": \"unit\", \"cmd\": \"test -f a.txt\"",
        "\"type\": \"pattern\", \"cmd\": \"grep -q x y\"",
    );
    let unattended = ServiceOptions { flags: Flags { walkaway: true, ..Flags::default() }, ..all.clone() };
    let refused = rehearse(&[world.search()], unattended).unwrap_err();
    assert_eq!(&*refused.blockers()[0].code, "walkaway_pattern_only");
    rehearse(&[world.search()], all).unwrap();
    assert!(!world.path(".brigade/kitchen").exists(), "a rehearsal writes nothing");
    // Without one, an approval is needed.
    let refused = world.try_serve(&ServiceOptions::default(), &NoFollower);
    assert!(matches!(refused, Err(ServeError::NotApproved { .. })), "{refused:?}");
}
