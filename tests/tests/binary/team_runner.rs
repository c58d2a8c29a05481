//! Runners of a team: offers, runs, and what happens to runs when a runner, its host or the database is away.

#![allow(clippy::disallowed_methods, reason = "the tests start and end runners")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use brigade_tests::{PATH, Site, processes_with, until};
use serde_json::{Value, json};

use super::serve_common::{self, Client, text};
use super::team::{Team, code};

/// Waits as long as `wait.txt` is there.
const BODY: &str = "echo \"ran $1\" >> ran.txt\nwhile [ -e wait.txt ]; do sleep 0.05; done\n";

/// Makes a team whose calls need one approval.
fn team(schema: &'static str) -> Option<Team> {
    let team = Team::with_checkouts(schema, || Site::script(BODY))?;
    team.owner.document(["team", "rule", "remove", "1", "--schema", schema]).expect(0);
    team.join_all();
    Some(team)
}

/// Gives the third checkout another shell than the others have.
fn give_another_shell(team: &mut Team) {
    let site = team.sites.pop().expect("there are three");
    let folder = site.beside("own-bin");
    std::fs::create_dir_all(&folder).expect("a temporary directory");
    std::fs::copy("/bin/sh", folder.join("sh")).expect("there is a shell");
    team.sites.push(site.env("PATH", format!("{}:{PATH}", folder.display())));
}

/// A runner that runs, and what it says.
struct Running {
    child: Child,
    events: Receiver<Value>,
}

impl Running {
    fn start(site: &Site, words: &[&str]) -> Running {
        let mut command = site.brigade.command([&["team", "runner", "--events"], words].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (send, events) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).expect("a line is an object")).is_err() {
                    return;
                }
            }
        });
        Running { child, events }
    }

    /// Waits for an event.
    #[track_caller]
    fn await_event(&self, kind: &str) -> Value {
        loop {
            let event = self.events.recv_timeout(Duration::from_secs(60)).expect(kind);
            if event["event"] == kind {
                return event;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("there is `kill`").success());
    }

    fn end(mut self) -> i32 {
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the program of a run has begun.
fn has_begun(host: &Site) {
    until("started program", || host.workspace.exists("ran.txt").then_some(()));
}

/// Runs a runner to its end, and returns its events.
#[track_caller]
fn events(site: &Site, words: &[&str]) -> Vec<Value> {
    let run = site.brigade.run([&["team", "runner", "--events"], words].concat());
    run.assert_code(0);
    run.stdout_text().lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

/// Queues a call for these arguments, and approves it.
fn approved(asker: &Site, reviewer: &Site, args: &str) -> String {
    let queued = asker.json(["call", "queue", "tool", "--args", args]).expect(0);
    let id = queued["call"]["id"].as_str().expect("an id").to_owned();
    reviewer.json(["call", "approve", &id]).expect(0);
    id
}

#[test]
fn a_runner_offers_and_runs_what_was_approved() {
    let Some(mut team) = team("bin_offers") else { return };
    give_another_shell(&mut team);
    let [asker, reviewer, host] = &team.sites[..] else { unreachable!() };
    let queued = asker.json(["call", "queue", "tool"]).expect(0);
    let id = queued["call"]["id"].as_str().expect("an id").to_owned();
    // Neither this host nor a runner can run it.
    reviewer.workspace.replace(
        ".brigade/tools/policy.toml",
        "denied_effects = [",
        "denied_effects = [\"local-read\", ",
    );
    reviewer.json(["call", "approve", &id]).refused("no runner is there");
    assert_eq!(kinds(&events(host, &["--once"])), ["ready", "offered", "stopped"]);
    let shown = reviewer.json(["call", "show", &id]).expect(0);
    let offer = &shown["offers"][0];
    let name = format!("{}@", team.login("rev-2"));
    assert!(offer["hosts"][0].as_str().expect("a host").starts_with(&name), "{offer:#}");
    let differs = offer["differs"].as_array().expect("a list");
    assert!(offer["covered"] == true && differs.contains(&json!("program path")), "{offer:#}");
    assert_ne!(offer["program"], shown["preview"]["binding"]["program"], "{offer:#}");
    let approved = reviewer.json(["call", "approve", &id]).expect(0);
    assert_eq!(approved["call"]["status"], json!("approved"));
    assert_eq!(approved["offers"].as_array().map(Vec::len), Some(1));
    // Another host has other programs or another policy, and passes it over.
    let passed = events(asker, &["--exit-when-idle"]);
    assert_eq!(kinds(&passed), ["ready", "passed_over", "stopped"]);
    assert!(passed[1]["reason"].as_str().expect("a reason").contains("PATH differs"), "{passed:#?}");
    let shown = host.json(["call", "show", &id]).expect(0);
    let over: Vec<&Value> = shown["offers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|group| !group["passed_over"].is_null())
        .collect();
    assert_eq!(over.len(), 1, "{shown:#}");
    let ran = events(host, &["--exit-when-idle"]);
    assert_eq!(kinds(&ran), ["ready", "claimed", "started", "finished", "stopped"]);
    assert_eq!((&ran[3]["status"], &ran[3]["call_id"]), (&json!("completed"), &json!(id)), "{ran:#?}");
    let keys: Vec<&String> = ran[3].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["at", "call_id", "event", "host", "reason", "run_id", "status"]);
    assert_eq!(asker.document(["team", "verify"]).expect(0)["valid"], json!(true));
    let status = asker.document(["team", "status"]).expect(0);
    let states: Vec<&Value> =
        status["runners"].as_array().expect("a list").iter().map(|runner| &runner["state"]).collect();
    assert_eq!(states, [&json!("stopped"), &json!("stopped")], "{status:#}");
    let idle = host.document(["team", "runner", "--exit-when-idle"]).expect(0);
    assert_eq!(idle["events"], json!({"ready": 1, "stopped": 1}), "{idle:#}");
}

#[test]
fn an_approval_is_given_again_for_a_host() {
    let Some(mut team) = team("bin_again") else { return };
    give_another_shell(&mut team);
    let [asker, reviewer, host] = &team.sites[..] else { unreachable!() };
    let id = approved(asker, reviewer, "{}");
    assert_eq!(kinds(&events(host, &["--once"])), ["ready", "passed_over", "stopped"]);
    let again = reviewer.json(["call", "approve", &id]).expect(0);
    assert_eq!(again["call"]["status"], json!("approved"), "{again:#}");
    reviewer.json(["call", "approve", &id]).expect(1);
    assert_eq!(kinds(&events(host, &["--once"])), ["ready", "claimed", "started", "finished", "stopped"]);
    assert_eq!(asker.status(&id), "completed");
    // What changed after the approval does not run.
    let id = approved(asker, reviewer, r#"{"n":2}"#);
    host.workspace.write("bin/tool.sh", "echo other\n");
    let passed = events(host, &["--exit-when-idle"]);
    assert_eq!(kinds(&passed), ["ready", "passed_over", "stopped"]);
    assert!(passed[1]["reason"].as_str().expect("a reason").contains("bin/tool.sh"), "{passed:#?}");
    let offer = reviewer.json(["call", "show", &id]).expect(0)["offers"][0].clone();
    assert_eq!(offer["covered"], json!(false), "its checkout is another one: {offer:#}");
    reviewer.json(["call", "approve", &id]).expect(1);
}

#[test]
fn a_runner_that_is_killed_runs_nothing_twice() {
    let Some(team) = team("bin_killed") else { return };
    let [asker, reviewer, host] = &team.sites[..] else { unreachable!() };
    host.workspace.write("wait.txt", "");
    let id = approved(asker, reviewer, "{}");
    let runner = Running::start(host, &["--lease", "2"]);
    let started = runner.await_event("started");
    assert_eq!((&started["call_id"], asker.status(&id).as_str()), (&json!(id), "running"));
    has_begun(host);
    runner.signal("-KILL");
    drop(runner);
    let tool = host.workspace.join("bin/tool.sh");
    until("end of the run", || processes_with(&tool.to_string_lossy()).is_empty().then_some(()));
    until("interrupted call", || (asker.status(&id) == "interrupted").then_some(()));
    assert_eq!(kinds(&events(host, &["--exit-when-idle"])), ["ready", "stopped"]);
    assert_eq!(host.workspace.read_text("ran.txt"), "ran \n");
    assert_eq!(asker.document(["team", "verify"]).expect(0)["valid"], json!(true));
    // A replay is a new pending call.
    let run = started["run_id"].as_str().expect("a run");
    let replay = asker.json(["run", "replay", run]).expect(0);
    assert_eq!(replay["call"]["status"], json!("pending"), "{replay:#}");
}

#[test]
fn a_stopped_runner_loses_its_lease_and_reports_late() {
    let Some(team) = team("bin_stopped") else { return };
    let [asker, reviewer, host] = &team.sites[..] else { unreachable!() };
    host.workspace.write("wait.txt", "");
    let id = approved(asker, reviewer, "{}");
    let runner = Running::start(host, &["--lease", "2"]);
    let started = runner.await_event("started");
    has_begun(host);
    runner.signal("-STOP");
    until("interrupted call", || (asker.status(&id) == "interrupted").then_some(()));
    // A writer records it, and nothing claims it again.
    let other = asker.json(["call", "queue", "tool", "--args", r#"{"n":2}"#]).expect(0);
    runner.signal("-CONT");
    runner.await_event("lease_lost");
    let late = runner.await_event("late");
    assert_eq!(late["run_id"], started["run_id"]);
    assert_eq!(asker.status(&id), "interrupted");
    let verified = asker.document(["team", "verify"]).expect(0);
    assert_eq!(verified["findings"][0]["problem"], json!("late"), "{verified:#}");
    runner.signal("-TERM");
    assert_eq!(runner.end(), 0);
    assert_eq!(host.workspace.read_text("ran.txt"), "ran \n");
    assert_eq!(other["call"]["status"], json!("pending"));
}

#[test]
fn a_runner_drains_and_a_second_request_ends_the_runs() {
    let Some(team) = team("bin_drain") else { return };
    let [asker, reviewer, host] = &team.sites[..] else { unreachable!() };
    for requests in [1, 2] {
        host.workspace.write("wait.txt", "");
        let [id, next] =
            [1, 2].map(|n| approved(asker, reviewer, &format!(r#"{{"n":{n},"requests":{requests}}}"#)));
        let runner = Running::start(host, &[]);
        runner.await_event("started");
        has_begun(host);
        runner.signal("-TERM");
        runner.await_event("draining");
        if requests == 1 {
            std::fs::remove_file(host.workspace.join("wait.txt")).expect("it was there");
        } else {
            runner.signal("-TERM");
        }
        let finished = runner.await_event("finished");
        let status = if requests == 1 { "completed" } else { "interrupted" };
        assert_eq!((&finished["status"], &finished["call_id"]), (&json!(status), &json!(id)), "{finished:#}");
        runner.await_event("stopped");
        assert_eq!(runner.end(), 0);
        assert_eq!(asker.status(&next), "approved", "nothing more was claimed");
        reviewer.json(["call", "reject", &next, "--reason", "enough"]).expect(0);
        std::fs::remove_file(host.workspace.join("ran.txt")).expect("it has run");
    }
}

#[test]
fn two_runners_run_each_call_once() {
    let Some(team) = team("bin_pair") else { return };
    let [asker, reviewer, host] = &team.sites[..] else { unreachable!() };
    let calls = 8;
    for n in 0..calls {
        approved(asker, reviewer, &format!(r#"{{"n":{n}}}"#));
    }
    let runners = [asker, host].map(|site| Running::start(site, &["--parallel", "3"]));
    until("end of all calls", || {
        let counts = reviewer.json(["call", "list"]).expect(0)["counts"].clone();
        (counts == json!({"completed": calls})).then_some(())
    });
    for runner in runners {
        runner.signal("-TERM");
        assert_eq!(runner.end(), 0);
    }
    let ran = [asker, host].map(|site| {
        let is_there = site.workspace.exists("ran.txt");
        if is_there { site.workspace.read_text("ran.txt").lines().count() } else { 0 }
    });
    assert_eq!(ran.iter().sum::<usize>(), calls);
    let verified = asker.document(["team", "verify"]).expect(0);
    assert_eq!((&verified["valid"], &verified["checked"]["receipts"]), (&json!(true), &json!(calls)));
}

#[test]
fn a_runner_needs_a_team_and_its_role() {
    let alone = Site::script(BODY);
    assert_eq!(code(&alone.document(["team", "runner", "--once"]).expect(1)), "team_not_joined");
    assert_eq!(code(&alone.document(["team", "accept-failover"]).expect(1)), "team_not_joined");
    alone.brigade.run(["team", "runner", "--lease", "1"]).assert_code(2);
    let Some(team) = team("bin_roles") else { return };
    let site = &team.sites[0];
    let name = team.login("asker");
    let words = ["team", "member", "add", &name, "--schema", "bin_roles", "--role", "queuer"];
    team.owner.document(words).expect(0);
    assert_eq!(code(&site.document(["team", "runner", "--once"]).expect(1)), "team_role");
    assert_eq!(code(&site.document(["team", "accept-failover"]).expect(1)), "team_role");
}

#[test]
fn a_rule_approves_calls_of_agents_with_the_account_s_key() {
    let Some(team) = Team::with_checkouts("bin_agents", serve_common::site) else { return };
    team.join_all();
    let [gateway, other, _] = &team.sites[..] else { unreachable!() };
    let mut client = Client::connect(gateway, "ann");
    let result = client.call("at-once", json!({"text": "hi"}));
    assert_eq!(text(&result), "said hi", "{result:#}");
    assert_eq!(other.json(["call", "list"]).expect(0)["counts"], json!({"completed": 1}));
    let verified = other.document(["team", "verify"]).expect(0);
    assert_eq!(verified["checked"], json!({"receipts": 1, "hosts": 1, "approvals": 1}), "{verified:#}");
    // Without the role, a person decides.
    let name = team.login("asker");
    let words = ["team", "member", "add", &name, "--schema", "bin_agents", "--role", "queuer"];
    team.owner.document([&words[..], &["--role", "runner"]].concat()).expect(0);
    client.call("at-once", json!({"text": "again"}));
    let counts = other.json(["call", "list"]).expect(0)["counts"].clone();
    assert_eq!(counts, json!({"completed": 1, "pending": 1}));
    // No runner runs calls of agents.
    assert_eq!(kinds(&events(other, &["--exit-when-idle"])), ["ready", "stopped"]);
}
