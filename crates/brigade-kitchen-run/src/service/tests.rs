#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests make workspaces and start themselves"
)]

mod approvals;
mod attacks;
mod branch;
mod budgets;
mod chains;
mod commands;
mod cut;
mod derived;
mod disk;
mod faults;
mod flags;
mod kept;
mod keys;
mod killed;
mod lists;
mod lost;
mod phase;
mod planning;
mod reports;
mod secrets;
mod setup;
mod taken;
mod tickets;
mod validated;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use brigade_core::SystemClock;
use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, Fs, WorkspaceKey};
use brigade_kitchen::PrdName;
use brigade_kitchen::life::{Answer, AnsweredBy, Decision, Life, Line, Record, TaskOutcome};
use brigade_kitchen::service::Outcome;
use std::time::Duration;

use super::*;
use crate::receipts::{Receipts, RunKind};

fn key() -> Arc<WorkspaceKey> {
    Arc::new(WorkspaceKey::for_given_files())
}

/// A workspace with a PRD and a worker that is a shell script.
struct World {
    folder: PathBuf,
    environment: HostEnvironment,
    _kept: Option<tempfile::TempDir>,
}

/// The start of every worker script. `n` counts the starts of this role for this task, and the prompt is stored.
const HEAD: &str = r#"#!/bin/sh
D="$(dirname "$0")/../notes"
f="$D/$BRIGADE_ROLE-$BRIGADE_TASK"
n=$(cat "$f" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$f"
cat > "$D/prompt-$BRIGADE_ROLE-$BRIGADE_TASK-$n"
env > "$D/env-$BRIGADE_ROLE-$BRIGADE_TASK-$n"
result() { printf '{"nonce":"%s",%s}' "$BRIGADE_NONCE" "$1" > "$BRIGADE_RESULT_FILE"; }
done_() { echo "<promise>COMPLETE</promise>"; }
"#;

const CONFIG: &str = r#"worktrees = "off"
review_enabled = false
[tier.line]
command = "TOOLS/worker.sh"
[tier.sous]
command = "TOOLS/worker.sh"
[tier.executive]
command = "TOOLS/worker.sh"
"#;

fn tasks(rows: &[(&str, &str, &[&str])]) -> String {
    let row = |(id, verification, needs): &(&str, &str, &[&str])| {
        let needs: Vec<String> = needs.iter().map(|need| format!("\"{need}\"")).collect();
        format!(
            r#"{{"id": "{id}", "title": "Write {id}", "acceptanceCriteria": ["it is there"], "complexity": "junior",
             "verification": [{}], "dependsOn": [{}], "passes": false}}"#,
            if verification.is_empty() {
                String::new()
            } else {
                format!("{{\"type\": \"unit\", \"cmd\": \"{verification}\"}}")
            },
            needs.join(", ")
        )
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    format!("{{\"featureName\": \"F\", \"tasks\": [{}]}}", rows.join(",\n"))
}

impl World {
    fn at(folder: &Path) -> World {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment = HostEnvironment::new([("PATH".into(), path), ("SECRET".into(), "x".into())]);
        World { folder: folder.to_owned(), environment, _kept: None }
    }

    fn new(prd: &str, config: &str, script: &str) -> World {
        let kept = tempfile::tempdir().unwrap();
        let folder = kept.path().canonicalize().unwrap();
        for name in ["work/brigade/tasks", "work/.brigade", "notes", "tools"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let mut world = World::at(&folder);
        world._kept = Some(kept);
        world.script(script);
        fs::write(folder.join("work/brigade/tasks/prd-a.json"), prd).unwrap();
        world.configure(config);
        world
    }

    fn configure(&self, more: &str) {
        let tools = self.folder.join("tools").display().to_string();
        let config = format!("{more}\n{}", CONFIG.replace("TOOLS", &tools));
        // Keys in the text replace the default ones.
        let keys: Vec<&str> =
            more.lines().filter_map(|line| line.split_once(" = ").map(|(key, _)| key)).collect();
        let mut kept = String::new();
        for (number, line) in config.lines().enumerate() {
            let key = line.split_once(" = ").map(|(key, _)| key);
            let is_again = more.lines().count() <= number && key.is_some_and(|key| keys.contains(&key));
            if !is_again {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        fs::write(self.folder.join("work/.brigade/kitchen.toml"), kept).unwrap();
    }

    fn script(&self, script: &str) {
        let path = self.folder.join("tools/worker.sh");
        fs::write(&path, format!("{HEAD}{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn fs(&self) -> Arc<dyn Fs> {
        Arc::new(DiskFs::open(&self.folder.join("work")).unwrap())
    }

    fn kitchen(&self) -> Kitchen<'_> {
        let lock_timeout = Duration::from_secs(60);
        Kitchen {
            fs: self.fs(),
            key: key(),
            trust: Arc::default(),
            clock: Arc::new(SystemClock),
            environment: &self.environment,
            lock_timeout,
        }
    }

    fn prd(&self) -> RelPath {
        "brigade/tasks/prd-a.json".parse().unwrap()
    }

    fn journal(&self) -> PrdJournal {
        let name = "prd-a".parse().unwrap();
        PrdJournal::open(
            self.fs(),
            &key(),
            PrdFiles::new(&name),
            Arc::new(SystemClock),
            Duration::from_secs(60),
        )
        .unwrap()
    }

    fn approve(&self) {
        let served = ServedPrd::read(&self.kitchen(), &self.prd()).unwrap();
        let (fingerprint, items) = (served.fingerprint, served.items.clone());
        self.journal()
            .append(Record::Approved { fingerprint, items, passed: vec![], by: None, path: None })
            .unwrap();
    }

    fn try_serve(
        &self,
        options: &ServiceOptions,
        follower: &dyn Follower,
    ) -> Result<ServiceReport, ServeError> {
        let kitchen = self.kitchen();
        kitchen.serve(&self.prd(), options, follower, &|order| kitchen.open_place(order))
    }

    #[track_caller]
    fn serve(&self) -> ServiceReport {
        self.try_serve(&ServiceOptions::default(), &NoFollower).unwrap()
    }

    fn note(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join("notes").join(name)).unwrap_or_default()
    }

    fn starts(&self, role: &str, task: &str) -> u32 {
        self.note(&format!("{role}-{task}")).trim().parse().unwrap_or(0)
    }

    fn life(&self) -> Life {
        self.journal().life().clone()
    }

    fn outcome(&self, task: &str) -> Option<TaskOutcome> {
        self.life().outcome(&task.parse().unwrap())
    }

    fn answer(&self, choice: &str) {
        let mut journal = self.journal();
        let id = journal.life().waiting().next().unwrap().id.clone();
        let answer = Answer {
            choice: choice.to_owned(),
            by: AnsweredBy::Person,
            reason: None,
            guidance: Some("try harder".to_owned()),
            is_clear: true,
        };
        journal.append(Record::DecisionAnswered { id, answer, used: Vec::new() }).unwrap();
    }

    fn receipts(&self, wanted: RunKind) -> usize {
        let fs = self.fs();
        let receipts = Receipts::new(&*fs);
        assert_eq!(receipts.verify().unwrap().1, []);
        let entries = receipts.entries().unwrap();
        let read = |run: &String| receipts.read(&run.parse().unwrap()).unwrap().unwrap();
        entries.iter().filter(|entry| read(&entry.run_id).kind == wanted).count()
    }
}

fn ids(report: &[brigade_kitchen::TaskId]) -> Vec<&str> {
    report.iter().map(brigade_kitchen::TaskId::as_str).collect()
}

const WRITES: &str = "echo text > \"$BRIGADE_TASK.txt\"\ndone_";

#[test]
fn tasks_run_in_order_and_journal_is_first() {
    let prd = tasks(&[("b", "test -f b.txt", &["a"]), ("a", "test -f a.txt", &[])]);
    let config = "supervisor_status_file = \"brigade/status.json\"\nsupervisor_events_file = \"brigade/events.jsonl\"\n\
        activity_log = \"brigade/activity.log\"\nworker_log_dir = \"brigade/logs\"";
    let script = format!("echo '<learning>use\ntabs</learning>'\n{WRITES}");
    let world = World::new(&prd, config, &script);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done, report.total, report.attempts), (Outcome::Complete, 2, 2, 2));
    assert_eq!(report.reason, None);
    assert_eq!(ids(&report.completed), ["b", "a"]);
    let read = |path: &str| fs::read_to_string(world.folder.join("work/brigade").join(path)).unwrap();
    assert_eq!(read("tasks/prd-a.json"), prd.replace("\"passes\": false", "\"passes\": true"));
    let state = read("tasks/prd-a.state.json");
    assert!(state.contains("\"status\": \"complete\"") && state.contains("\"currentTask\": null"), "{state}");
    assert_eq!(
        read("status.json"),
        "{\"done\":2,\"total\":2,\"current\":null,\"worker\":null,\"elapsed\":0,\"attention\":false}\n"
    );
    let events = read("events.jsonl");
    let words: Vec<String> = events
        .lines()
        .map(|line| {
            let json = brigade_core::Json::parse(line).unwrap();
            json.get("event").and_then(brigade_core::Json::as_str).unwrap().to_owned()
        })
        .collect();
    let of_task = ["task_start", "verification", "task_complete"];
    assert_eq!(words, [&["service_start"][..], &of_task, &of_task, &["service_complete"]].concat());
    assert!(read("activity.log").lines().all(|line| line.contains(": Line Cook completed (")));
    assert_eq!(read("tasks/archive/prd-a-brigade-learnings.md"), "# Learnings\n\n- use\n  tabs\n");
    assert!(world.note("prompt-work-b-1").contains("use\n  tabs"));
    assert_eq!(fs::read_dir(world.folder.join("work/brigade/logs")).unwrap().count(), 2);
    assert_eq!((world.receipts(RunKind::Attempt), world.receipts(RunKind::Verification)), (2, 2));
    // Nothing is left to do, and nothing is repeated.
    assert_eq!((world.serve().attempts, world.starts("work", "a")), (0, 1));
}

#[test]
fn worker_gets_clean_environment_and_prompt_file() {
    let script = format!(
        "cat /proc/$$/cmdline > \"$D/argv\"\ntest -e \"$BRIGADE_RESULT_FILE\" || echo absent > \"$D/absent\"\n{WRITES}"
    );
    let world = World::new(&tasks(&[("a", "true", &[])]), "", &script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let environment = world.note("env-work-a-1");
    for line in
        ["BRIGADE_ROLE=work", "BRIGADE_PRD=prd-a", "BRIGADE_TASK=a", "BRIGADE_TIER=line", "BRIGADE_ATTEMPT=1"]
    {
        assert!(environment.lines().any(|found| found == line), "{line}");
    }
    let nonce = environment.lines().find_map(|line| line.strip_prefix("BRIGADE_NONCE=")).unwrap();
    assert!(nonce.len() == 32 && world.note("prompt-work-a-1").contains(nonce), "the prompt has the nonce");
    assert!(!environment.contains("SECRET="));
    assert!(!world.note("argv").contains("Write a"));
    assert_eq!(world.note("absent"), "absent\n");
    let prompt = environment.lines().find_map(|line| line.strip_prefix("BRIGADE_PROMPT_FILE=")).unwrap();
    assert!(!Path::new(prompt).exists(), "it goes with the attempt");
}

#[test]
fn the_next_prompt_names_the_failure() {
    let script = "case $n in 1) echo x > a.txt;; 2) echo good > a.txt; echo 'HACK' >> a.txt;; *) echo good > a.txt;; esac\ndone_";
    let world = World::new(&tasks(&[("a", "grep -q good a.txt", &[])]), "", script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.note("prompt-work-a-2").contains("PREVIOUS ATTEMPT: a verification command exited with 1"));
    assert!(world.note("prompt-work-a-3").contains("a.txt:2: HACK"));
    assert_eq!(world.starts("work", "a"), 3);
}

#[test]
fn a_claim_needs_a_change_or_a_verification() {
    let world = World::new(&tasks(&[("a", "", &[]), ("b", "true", &[])]), "max_iterations = 2", "done_");
    world.approve();
    let report = world.serve();
    assert_eq!(
        (world.outcome("a"), world.outcome("b")),
        (Some(TaskOutcome::Failed), Some(TaskOutcome::AlreadyDone))
    );
    assert_eq!((report.outcome, report.decisions.len()), (Outcome::Paused, 1));
    assert_eq!(report.reason.as_deref(), Some("a decision waits"));
}

#[test]
fn the_next_prompt_has_the_reason_of_the_review() {
    let script = "if [ $BRIGADE_ROLE = review ]; then case $n in 1) echo hm;; 2) result '\"review\":\"fail\",\"reason\":\"no tests\"';; \
        *) result '\"review\":\"pass\"';; esac; exit 0; fi\necho $n > a.txt\ndone_";
    let world = World::new(&tasks(&[("a", "true", &[])]), "review_enabled = true", script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.note("prompt-work-a-2").contains("PREVIOUS ATTEMPT FAILED EXECUTIVE REVIEW: no tests"));
    assert!(world.note("prompt-review-a-1").contains("a.txt"));
    assert_eq!((world.starts("review", "a"), world.starts("work", "a")), (3, 2));
    assert_eq!(world.receipts(RunKind::Review), 3);
}

#[test]
fn a_review_that_is_unclear_twice_is_none() {
    let script = "if [ $BRIGADE_ROLE = review ]; then echo 'looks <review>PASS</review> to me'; exit 0; fi\necho $n > a.txt\ndone_";
    let world =
        World::new(&tasks(&[("a", "true", &[])]), "review_enabled = true\nmax_iterations = 1", script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Paused);
    assert_eq!((world.starts("review", "a"), world.outcome("a")), (2, Some(TaskOutcome::Failed)));
}

#[test]
fn tiers_take_over_and_the_last_one_blocks() {
    let world = World::new(
        &tasks(&[("a", "true", &[]), ("b", "true", &["a"]), ("c", "true", &[])]),
        "escalation_after = 2",
        "echo $BRIGADE_TIER >> \"$D/tiers-$BRIGADE_TASK\"\n[ $BRIGADE_TASK = c ] && { echo x > c.txt; done_; exit 0; }\n\
         [ $BRIGADE_TIER = line ] && exit 0\nexit 32",
    );
    world.approve();
    let report = world.serve();
    assert_eq!(world.note("tiers-a"), "line\nline\nsous\nexecutive\n");
    assert_eq!((report.outcome, ids(&report.blocked)), (Outcome::Paused, vec!["a"]));
    assert_eq!(ids(&report.completed), ["c"], "what does not depend on it is done");
    assert_eq!(world.starts("work", "b"), 0);
    assert!(world.note("prompt-work-a-4").contains("Why you have this task"));
    // A skip does not unblock dependents, and ends nothing else.
    world.answer("skip");
    let report = world.serve();
    assert_eq!(
        (report.outcome, ids(&report.skipped), ids(&report.unreachable)),
        (Outcome::Incomplete, vec!["a"], vec!["b"])
    );
    assert_eq!((world.starts("work", "a"), world.starts("work", "b")), (4, 0));
}

#[test]
fn a_retry_continues_in_its_tier_with_the_guidance() {
    let script =
        "[ -e \"$D/good\" ] && { echo x > a.txt; echo $BRIGADE_TIER > \"$D/tier\"; done_; exit 0; }\nexit 32";
    let world = World::new(&tasks(&[("a", "test -f a.txt", &[])]), "", script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Paused);
    fs::write(world.folder.join("notes/good"), "").unwrap();
    world.answer("retry");
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.note("tier"), "executive\n");
    assert!(world.note("prompt-work-a-4").contains("try harder"));
}

#[test]
fn nothing_starts_unapproved_and_a_change_pauses() {
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), "", WRITES);
    let refused = world.try_serve(&ServiceOptions::default(), &NoFollower);
    assert!(matches!(&refused, Err(ServeError::NotApproved { changes }) if changes.is_empty()));
    world.approve();
    // The worker itself edits later tasks of the PRD.
    let edit = "sed -i 's/test -f nothing/x/; s/\"Write b\"/\"Write more\"/' brigade/tasks/prd-a.json";
    world.script(&format!("{edit}\n{WRITES}"));
    let report = world.serve();
    assert_eq!((report.outcome, ids(&report.completed)), (Outcome::Paused, vec!["a"]));
    assert!(report.reason.unwrap().contains("not approved"));
    assert_eq!(world.starts("work", "b"), 0);
    let refused = world.try_serve(&ServiceOptions::default(), &NoFollower);
    let Err(ServeError::NotApproved { changes }) = refused else { panic!() };
    assert_eq!(changes[0].field, "task.b.title");
}

#[test]
fn settings_are_read_again_between_tasks() {
    let script =
        format!("[ $BRIGADE_TASK = a ] && sed -i '1i max_iterations = 7' .brigade/kitchen.toml\n{WRITES}");
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), "", &script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let text = fs::read_to_string(world.folder.join("work/.brigade/kitchen/prd-a/journal.jsonl")).unwrap();
    assert!(text.contains("\"keys\":[\"max_iterations\"]"), "{text}");
    // An unreadable configuration pauses the service, with the place of the error.
    world.script(&format!("echo 'stall = ' >> .brigade/kitchen.toml\n{WRITES}"));
    fs::remove_dir_all(world.folder.join("work/.brigade/kitchen")).unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 1));
    let reason = report.reason.unwrap();
    assert!(reason.contains(".brigade/kitchen.toml:"), "{reason}");
}

#[test]
fn in_walkaway_the_executive_decides() {
    let script = "if [ $BRIGADE_ROLE = decide ]; then case $n in \
        1) result '\"decision\":\"retry\",\"guidance\":\"use the other way\"';; *) result '\"decision\":\"skip\",\"reason\":\"useless\"';; \
        esac; exit 0; fi\nexit 0";
    let config = "walkaway_mode = true\nmax_iterations = 1";
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), config, script);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, ids(&report.skipped)), (Outcome::Incomplete, vec!["a"]));
    assert!(world.note("prompt-work-a-2").contains("use the other way"));
    assert_eq!(
        (world.starts("decide", "a"), world.starts("work", "a"), world.starts("work", "b")),
        (2, 2, 0)
    );
    assert_eq!(world.receipts(RunKind::Decision), 2);
}

#[test]
fn the_executive_answers_questions_about_scope() {
    let script = "if [ $BRIGADE_ROLE = scope ]; then result '\"answer\":\"only the first\"'; exit 0; fi\n\
        if [ $n = 1 ]; then result '\"signal\":\"question\",\"question\":\"both?\"'; exit 0; fi\necho x > a.txt\ndone_";
    let world = World::new(&tasks(&[("a", "true", &[])]), "walkaway_mode = true", script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let prompt = world.note("prompt-work-a-2");
    assert!(prompt.contains("both?") && prompt.contains("only the first"), "{prompt}");
    assert_eq!(world.life().history.scope_decisions.len(), 1);
}

#[test]
fn two_services_do_not_work_at_once() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    world.approve();
    struct SecondService<'w>(&'w World, Mutex<u32>);
    impl Follower for SecondService<'_> {
        fn recorded(&self, _: &PrdName, line: &Line, _: &Life) {
            if matches!(line.record, Record::AttemptStarted { .. }) {
                let refused = self.0.try_serve(&ServiceOptions::default(), &NoFollower);
                let Err(ServeError::Lock(ServiceLockError::Held(holder))) = refused else { panic!() };
                assert_eq!(holder.process.unwrap().pid(), std::process::id());
                *self.1.lock().unwrap() += 1;
            }
        }
    }
    let second = SecondService(&world, Mutex::new(0));
    assert_eq!(world.try_serve(&ServiceOptions::default(), &second).unwrap().outcome, Outcome::Complete);
    assert_eq!(second.1.into_inner().unwrap(), 1);
}

#[test]
fn budgets_end_what_would_begin() {
    let prd = tasks(&[("a", "true", &[]), ("b", "true", &[]), ("c", "true", &[])]);
    let world = World::new(&prd, "budget.attempts = 2", WRITES);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done, report.attempts), (Outcome::Paused, 2, 2));
    assert_eq!(report.reason.as_deref(), Some("the budget `attempts` is used up"));
    // Of several ready tasks, no more start than the budget allows.
    let world = World::new(&prd, "budget.attempts = 1\nmax_parallel = 3", WRITES);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done, report.attempts), (Outcome::Paused, 1, 1));
}

#[test]
fn only_some_tasks_are_served_when_that_is_asked() {
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), "", WRITES);
    world.approve();
    let options = ServiceOptions { only: vec!["b".to_owned()], ..ServiceOptions::default() };
    let report = world.try_serve(&options, &NoFollower).unwrap();
    assert_eq!((report.outcome, report.total, ids(&report.completed)), (Outcome::Complete, 1, vec!["b"]));
    assert_eq!(world.starts("work", "a"), 0);
    let options = ServiceOptions { only: vec!["x".to_owned()], ..ServiceOptions::default() };
    assert!(matches!(world.try_serve(&options, &NoFollower), Err(ServeError::NoSuchTasks(_))));
}

#[test]
fn an_interrupt_ends_the_tree_and_is_recorded() {
    let script = "sh -c 'trap \"\" TERM; echo $$ > \"$0/child\"; while :; do sleep 1; done' \"$D\" &\nwait\n";
    let world = World::new(&tasks(&[("a", "true", &[])]), "", script);
    world.approve();
    let cancel = CancelToken::new().unwrap();
    struct CancellingFollower<'w>(&'w World, CancelToken);
    impl Follower for CancellingFollower<'_> {
        fn running(&self, scene: &ServiceView) {
            if !scene.rows.is_empty() && !self.0.note("child").is_empty() {
                self.1.cancel();
            }
        }
    }
    let options = ServiceOptions { cancel: Some(cancel.clone()), ..ServiceOptions::default() };
    let report = world.try_serve(&options, &CancellingFollower(&world, cancel)).unwrap();
    assert_eq!((report.outcome, report.decisions.len()), (Outcome::Interrupted, 0));
    let pid = world.note("child").trim().to_owned();
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "a worker outlived the service");
    let own = world.life().task(&"a".parse().unwrap());
    assert!(own.interrupted && own.iterations == 0);
    // It continues automatically, and the worker knows why.
    world.script(WRITES);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.note("prompt-work-a-2").contains("was interrupted"));
}

#[test]
fn time_limits_differ_from_limits_of_providers() {
    let world = World::new(
        &tasks(&[("a", "true", &[])]),
        "task_timeout_junior = 1\nescalation_to_exec = false",
        "echo $BRIGADE_TIER >> \"$D/tiers\"\n[ $BRIGADE_TIER = line ] && exec sleep 60\necho x > a.txt\ndone_",
    );
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.note("tiers"), "line\nsous\n");

    let adapter = "[[adapter]]\nid = \"worker\"\nprogram = \"worker.sh\"\nprompt = \"stdin\"\nanswer = \"text\"\n\
        limit = ['limit reached until (?P<reset>[0-9]+)']\n";
    let script = "if [ $n = 1 ]; then echo limit reached until $(($(date +%s) + 2)); exit 1; fi\necho x > a.txt\ndone_";
    let world = World::new(&tasks(&[("a", "true", &[])]), "", script);
    let path = world.folder.join("work/.brigade/kitchen.toml");
    fs::write(&path, fs::read_to_string(&path).unwrap() + adapter).unwrap();
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let own = world.life().task(&"a".parse().unwrap());
    assert_eq!((own.attempts, own.iterations, own.failures), (2, 1, 0), "it is not a failure of the task");
}

#[test]
fn missing_workers_are_reported_before_a_start() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    fs::remove_file(world.folder.join("tools/worker.sh")).unwrap();
    world.approve();
    let missing = world.try_serve(&ServiceOptions::default(), &NoFollower).unwrap_err();
    assert!(
        missing.to_string().starts_with("not found: `") && missing.to_string().contains("of the line tier")
    );
    assert_eq!(world.life().service, None);
    // A program that is not executable is reported as such.
    let path = world.folder.join("tools/worker.sh");
    fs::write(&path, "#!/bin/sh").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let missing = world.try_serve(&ServiceOptions::default(), &NoFollower).unwrap_err();
    assert!(missing.to_string().starts_with("not executable: `"), "{missing}");
}

#[test]
fn any_output_is_handled_and_its_last_line_counts() {
    let script = "head -c 300000 /dev/urandom\nyes x | head -c 2000000\necho\necho x > a.txt\nprintf '<promise>COMPLETE</promise>'";
    let world = World::new(&tasks(&[("a", "true", &[])]), "max_log_bytes = 65536", script);
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let runs = world.folder.join("work/.brigade/kitchen/runs");
    let longest =
        fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).max().unwrap();
    assert!(longest < 70_000, "{longest}");
}

#[test]
fn a_hanging_notification_delays_nothing() {
    let config = "notify.events = [\"attention\"]\nnotify.timeout = 1\nmax_iterations = 1\n\
        notify.command = \"cat >> NOTES/told; exec sleep 60\"";
    let world = World::new(&tasks(&[("a", "true", &[])]), "", "exit 0");
    let notes = world.folder.join("notes").display().to_string();
    world.configure(&config.replace("NOTES", &notes));
    world.approve();
    let report = world.serve();
    assert_eq!(report.outcome, Outcome::Paused);
    let told = world.note("told");
    assert!(
        told.starts_with('{') && told.contains("\"event\":\"attention\"") && told.lines().count() == 1,
        "{told}"
    );
    assert_eq!(world.receipts(RunKind::Notification), 1);
}

#[test]
fn a_person_at_the_terminal_is_asked_and_waited_for() {
    let world = World::new(
        &tasks(&[("a", "true", &[])]),
        "max_iterations = 1",
        "[ $n = 1 ] && exit 0\necho x > a.txt\ndone_",
    );
    world.approve();
    struct Person;
    impl Follower for Person {
        fn can_ask(&self) -> bool {
            true
        }
        fn ask(&self, _: &PrdName, decision: &Decision, _: &CancelToken) -> Option<Answer> {
            assert_eq!(decision.about.choices(), ["retry", "skip", "abort"]);
            let (choice, by) = ("retry".to_owned(), AnsweredBy::Person);
            Some(Answer { choice, by, reason: None, guidance: None, is_clear: true })
        }
    }
    let report = world.try_serve(&ServiceOptions::default(), &Person).unwrap();
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Complete, 2));
}

#[test]
fn an_abort_ends_the_service() {
    let world = World::new(
        &tasks(&[("a", "true", &[]), ("b", "true", &[])]),
        "max_iterations = 1",
        "[ $BRIGADE_TASK = a ] && exit 0\necho x > b.txt\ndone_",
    );
    world.approve();
    struct Person;
    impl Follower for Person {
        fn can_ask(&self) -> bool {
            true
        }
        fn ask(&self, _: &PrdName, _: &Decision, _: &CancelToken) -> Option<Answer> {
            let (choice, by) = ("abort".to_owned(), AnsweredBy::Person);
            Some(Answer { choice, by, reason: None, guidance: None, is_clear: true })
        }
    }
    let report = world.try_serve(&ServiceOptions::default(), &Person).unwrap();
    assert_eq!(report.outcome, Outcome::Aborted);
}

#[test]
fn the_executive_reviews_the_prd_now_and_then() {
    let script = "if [ $BRIGADE_ROLE = phase ]; then result '\"status\":\"needs_attention\",\"content\":\"look here\"'; exit 0; fi\n\
        echo x > \"$BRIGADE_TASK.txt\"\ndone_";
    let config = "phase_review_enabled = true\nphase_review_after = 1\nphase_review_action = \"pause\"";
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &["a"])]), config, script);
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, report.done, report.decisions.len()), (Outcome::Paused, 1, 1));
    assert_eq!(report.decisions[0].context, "look here");
    assert_eq!(world.life().history.phase_reviews[0].status, "needs_attention");
    world.answer("continue");
    assert_eq!(world.serve().done, 2);
}
