//! Tests real processes that are started and stopped.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::workspace::{LONG_TIMEOUT, ProcessEnder, Workspace, free_port, options, until};
use brigade_core::Json;
use brigade_doctor::IssueType;
use brigade_process::{CancelToken, Exit, ProcessIdentity};
use brigade_runtime::{
    Checks, RuntimeError, RuntimeState, StartFailure, StartOptions, StartOutcome, StartProgress, StopOutcome,
};

/// The example of the documentation, with a free port.
fn seed_example(port: u16) -> Workspace {
    Workspace::new(&format!(
        "[[runtime]]\nid = 'r'\nname = 'Local Helper'\nenabled = true\ncommand = 'python3 -m http.server {port} --bind 127.0.0.1'\n\
         cwd = '.'\nport = {port}\nhealth_command = 'python3 --version'\nhealth_path = '.brigade/tools/runtime/r.json'\n\
         pid_path = '.brigade/tools/runtime/r.pid'\nlog_path = '.brigade/tools/runtime/r.log'\ntimeout = 30\n"
    ))
}

#[test]
fn the_documented_example_starts_serves_and_stops() {
    let port = free_port();
    let workspace = seed_example(port);
    let before = workspace.facts(Checks::Run);
    assert_eq!((before.state, before.issues.len(), before.health), (RuntimeState::Stopped, 0, None));
    let mut seen = Vec::new();
    let outcome = workspace.start_noting(&mut |step| seen.push(step));
    let StartOutcome::Started { process, health, .. } = outcome else { panic!("{outcome:?}") };
    assert!(health.ok);
    assert_eq!(seen[0], StartProgress::Spawned { pid: process.pid() });
    std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let facts = workspace.facts(Checks::Run);
    assert!(facts.is_usable() && facts.issues.is_empty(), "{facts:?}");
    assert_eq!(facts.pid, Some(process.pid()));
    // Health and metadata share one file, and neither overwrites the other.
    let metadata = workspace.metadata();
    assert_eq!(metadata.get("health_ok"), Some(&Json::Bool(true)));
    assert_eq!(metadata.get("cwd").and_then(Json::as_str), Some("."));
    assert_eq!(metadata.get("pid_path").and_then(Json::as_str), Some(".brigade/tools/runtime/r.pid"));
    assert_eq!(workspace.read(".brigade/tools/runtime/r.pid"), format!("{}\n", process.pid()));
    for (file, mode) in
        [("", 0o700), ("/r.pid", 0o600), ("/r.json", 0o600), ("/r.log.stdout", 0o600), ("/r.lock", 0o600)]
    {
        let path = workspace.path(&format!(".brigade/tools/runtime{file}"));
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, mode, "{file}");
    }
    let outcome = workspace.stop();
    assert!(matches!(outcome, StopOutcome::Stopped { killed: 0, .. }), "{outcome:?}");
    assert!(!process.is_alive());
    let facts = workspace.facts(Checks::Run);
    assert_eq!((facts.state, facts.issues.len()), (RuntimeState::Stopped, 0));
    assert!(facts.last_health.unwrap().ok, "what was found last is still told");
    assert!(!workspace.path(".brigade/tools/runtime/r.pid").exists());
    assert!(workspace.metadata().get("stopped_at").is_some());
    assert!(matches!(workspace.stop(), StopOutcome::NotRunning { .. }));
}

#[test]
fn a_second_start_starts_nothing() {
    let workspace = Workspace::one("sleep 300", "");
    let outcomes: Vec<StartOutcome> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| workspace.start())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let started = outcomes.iter().filter(|outcome| matches!(outcome, StartOutcome::Started { .. })).count();
    let skipped =
        outcomes.iter().filter(|outcome| matches!(outcome, StartOutcome::AlreadyRunning { .. })).count();
    assert_eq!((started, skipped), (1, 7), "{outcomes:?}");
}

#[test]
fn a_stop_ends_the_whole_tree() {
    let workspace = Workspace::one("python3 tree.py", "");
    workspace.write(
        "tree.py",
        "import os, signal, time\n\
         def note(name):\n    open(name + '.new', 'w').write(str(os.getpid()))\n    os.rename(name + '.new', name)\n\
         if os.fork() == 0:\n    os.setsid()\n    note('left-session')\n    time.sleep(300)\n\
         if os.fork() == 0:\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    note('ignores-term')\n    time.sleep(300)\n\
         if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        note('daemon')\n        time.sleep(300)\n    os._exit(0)\n\
         time.sleep(300)\n",
    );
    let root = workspace.must_start();
    let names = ["left-session", "ignores-term", "daemon"];
    until(|| names.iter().all(|name| workspace.path(name).exists()));
    let members: Vec<ProcessIdentity> = names
        .iter()
        .map(|name| ProcessIdentity::from_pid(workspace.read(name).parse().unwrap()).unwrap())
        .collect();
    let outcome = workspace.stop();
    let StopOutcome::Stopped { processes, killed, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!((processes, killed), (4, 1));
    assert!(!root.is_alive() && members.iter().all(|member| !member.is_alive()));
}

#[test]
fn a_reused_number_is_neither_running_nor_signalled() {
    let workspace = Workspace::one("sleep 300", "");
    let process = ProcessEnder(workspace.must_start());
    for change in
        [("start_time", Json::from(process.0.start_time() + 1)), ("boot_id", Json::from("another-boot"))]
    {
        let before = workspace.metadata();
        workspace.edit_metadata(&[change]);
        let facts = workspace.facts(Checks::Run);
        assert_eq!((facts.state, facts.managed, facts.running()), (RuntimeState::Stale, false, false));
        assert_eq!(workspace.issue_types(), ["runtime_stale_pid"]);
        // The mark and the log writer also identify processes; here they are as outdated as the pid.
        let instance = ("instance", Json::from("of-another-start"));
        workspace.edit_metadata(&[instance, ("log_writer", Json::Null)]);
        assert!(matches!(workspace.stop(), StopOutcome::NotRunning { .. }));
        assert!(process.0.is_alive());
        assert_eq!(workspace.facts(Checks::Run).state, RuntimeState::Stopped);
        workspace.write(".brigade/tools/runtime/r.json", &before.to_pretty());
        workspace.write(".brigade/tools/runtime/r.pid", &process.0.pid().to_string());
    }
    assert!(workspace.facts(Checks::Run).managed);
}

#[test]
fn a_start_clears_a_stale_pid_file() {
    let workspace = Workspace::one("sleep 300", "");
    let first = workspace.must_start();
    first.signal(brigade_process::Signal::Kill).unwrap();
    until(|| !first.is_alive());
    assert_eq!(workspace.facts(Checks::Skip).state, RuntimeState::Stale);
    let mut steps = Vec::new();
    let outcome = workspace.start_noting(&mut |step| steps.push(step));
    assert!(matches!(outcome, StartOutcome::Started { .. }), "{outcome:?}");
    assert_eq!(steps[0], StartProgress::Cleared);
}

#[test]
fn remaining_processes_are_reported_and_ended() {
    let workspace = Workspace::one("sh parent.sh", "");
    workspace.write("parent.sh", "env -i setsid /bin/sleep 300 &\nexec sleep 300\n");
    let first = workspace.must_start();
    first.signal(brigade_process::Signal::Kill).unwrap();
    until(|| !first.is_alive());
    let issue = &workspace.facts(Checks::Skip).issues[0];
    assert_eq!(
        issue.detail,
        "its process ended, but processes that it started are still running; a stop ends them"
    );
    let StopOutcome::NotRunning { reason } = workspace.stop() else { panic!("it did not run") };
    assert!(reason.ends_with("and 1 process that was still running was ended"), "{reason}");
}

#[test]
fn leftovers_of_a_killed_starter_are_found() {
    let workspace = Workspace::one("sleep 300", "");
    let process = workspace.must_start();
    let me = ProcessIdentity::current().unwrap();
    workspace.edit_metadata(&[
        ("pid", Json::Null),
        ("start_time", Json::Null),
        ("starting", Json::from(me.start_time())),
    ]);
    std::fs::remove_file(workspace.path(".brigade/tools/runtime/r.pid")).unwrap();
    let second = workspace.must_start();
    assert!(!process.is_alive() && second.is_alive());
}

#[test]
fn output_of_a_failed_start_is_reported() {
    // With a port to wait for, it cannot count as started before it has failed, however slow the machine is.
    let workspace = Workspace::one("python3 fails.py", &format!("port = {}\ntimeout = 60", free_port()));
    workspace
        .write("fails.py", "import sys\nprint('hello')\nsys.exit('no such key: password=hunter2example')\n");
    let StartOutcome::Failed { reason, log, survivors } = workspace.start() else {
        panic!("it ends at once")
    };
    assert!(matches!(reason, StartFailure::Ended { exit: Exit::Code(1), .. }), "{reason:?}");
    assert!(reason.to_string().starts_with("its process ended with exit code 1 after "), "{reason}");
    assert_eq!((log.stdout.as_str(), survivors.len()), ("hello\n", 0));
    assert!(log.stderr.starts_with("no such key") && !log.stderr.contains("hunter2"), "{}", log.stderr);
}

#[test]
fn a_slow_runtime_keeps_running() {
    for entry in ["health_command = 'false'\ntimeout = 0.3".to_owned(), format!("port = {}", free_port())] {
        let workspace = Workspace::one("sleep 300", &entry);
        let options = StartOptions { wait: Some(Duration::from_millis(300)), ..options() };
        let outcome = workspace.supervisor().start(&workspace.runtimes[0], &options, &mut |_| ()).unwrap();
        let StartOutcome::Starting { process, waited, health } = outcome else { panic!("{outcome:?}") };
        let detail = &health.detail;
        let is_told = detail.starts_with("the health command ") || detail.starts_with("nothing listens");
        assert!(!health.ok && is_told, "{health:?}");
        let unchecked = workspace.facts(Checks::Skip).status(&brigade_core::NeutralWords);
        assert_eq!((unchecked.health_ok, unchecked.health_detail.as_ref()), (Some(false), Some(detail)));
        assert!(process.is_alive() && waited == Duration::from_millis(300));
        let facts = workspace.facts(Checks::Run);
        assert_eq!(
            (facts.state, facts.managed, facts.status(&brigade_core::NeutralWords).health_ok),
            (RuntimeState::Running, true, Some(false))
        );
        assert!(matches!(workspace.stop(), StopOutcome::Stopped { .. }));
    }
}

#[test]
fn a_health_command_has_its_whole_timeout() {
    let workspace = Workspace::one("sleep 300", "health_command = 'sleep 0.4'\ntimeout = 30");
    let options = StartOptions { wait: Some(Duration::from_millis(1)), ..options() };
    let outcome = workspace.supervisor().start(&workspace.runtimes[0], &options, &mut |_| ()).unwrap();
    assert!(matches!(outcome, StartOutcome::Started { .. }), "{outcome:?}");
}

#[test]
fn a_port_that_opens_late_is_waited_for() {
    let port = free_port();
    let workspace = Workspace::one("python3 late.py", &format!("port = {port}\ntimeout = 30"));
    workspace.write(
        "late.py",
        &format!(
            "import os, socket, time\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n\
             s = socket.create_server(('127.0.0.1', {port}))\ntime.sleep(300)\n"
        ),
    );
    let mut waits = 0;
    let outcome = workspace.start_noting(&mut |step| {
        if let StartProgress::Waiting { detail, .. } = step {
            assert_eq!(detail, format!("nothing listens on port {port}"));
            waits += 1;
            workspace.write("go", "");
        }
    });
    assert!(matches!(outcome, StartOutcome::Started { .. }), "{outcome:?}");
    assert!(1 <= waits);
}

#[test]
fn an_interrupted_start_leaves_nothing() {
    let workspace = Workspace::one("sleep 300", &format!("port = {}\ntimeout = 60", free_port()));
    let cancel = CancelToken::new().unwrap();
    let options = StartOptions { cancel: Some(cancel.clone()), ..options() };
    let mut process = None;
    let outcome = workspace.supervisor().start(&workspace.runtimes[0], &options, &mut |step| {
        if let StartProgress::Spawned { pid } = step {
            process = Some(ProcessIdentity::from_pid(pid).unwrap());
            cancel.cancel();
        }
    });
    let outcome = outcome.unwrap();
    assert!(matches!(outcome, StartOutcome::Failed { reason: StartFailure::Interrupted, .. }), "{outcome:?}");
    assert!(!process.unwrap().is_alive());
}

#[test]
fn a_port_in_use_is_refused_with_its_holder() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let workspace = Workspace::one("sleep 300", &format!("port = {port}"));
    let StartOutcome::Refused { blockers } = workspace.start() else { panic!("the port is in use") };
    assert_eq!(blockers.len(), 1);
    assert_eq!(blockers[0].issue_type, IssueType::RuntimePortConflict);
    let expect = format!("port {port} is in use by process {} (", std::process::id());
    assert!(blockers[0].detail.starts_with(&expect), "{}", blockers[0].detail);
    assert_eq!(workspace.issue_types(), ["runtime_port_conflict"]);
}

#[test]
fn all_blockers_are_reported_and_nothing_is_written() {
    let workspace =
        Workspace::one("sh -c 'sleep 300'", "cwd = 'none'\npid_path = '../r.pid'\nhealth_command = \"x 'y\"");
    let types = |outcome| match outcome {
        StartOutcome::Refused { blockers } => {
            blockers.iter().map(|issue| issue.issue_type.code()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let expect =
        ["runtime_high_risk_command", "runtime_bad_command", "runtime_outside_path", "runtime_missing_cwd"];
    assert_eq!(types(workspace.start()), expect);
    let workspace = Workspace::one("sleep 300", "pid_path = 'README.md'");
    workspace.write("README.md", "# Title\n");
    assert_eq!(types(workspace.start()), ["runtime_config"]);
    assert_eq!(workspace.read("README.md"), "# Title\n");
    assert!(!workspace.path(".brigade").exists());
}

#[test]
fn a_runtime_gets_few_variables_and_a_silent_input() {
    let workspace = Workspace::one("python3 env.py", "");
    workspace.write(
        "env.py",
        "import os, select, sys, time\nsaid = select.select([sys.stdin], [], [], 0)[0]\n\
         print(sorted(os.environ), bool(said), os.getsid(0) == os.getpid(), flush=True)\ntime.sleep(300)\n",
    );
    workspace.must_start();
    let log = ".brigade/tools/runtime/r.log.stdout";
    until(|| workspace.read(log).ends_with('\n'));
    let text = workspace.read(log);
    // Python adds LC_CTYPE to an environment without a locale.
    let text = text.replace("'LC_CTYPE', ", "");
    // On other systems the input ends at once, which counts as readable.
    let said = if cfg!(target_os = "linux") { "False" } else { "True" };
    assert_eq!(text, format!("['BRIGADE_RUNTIME_INSTANCE', 'HOME', 'PATH'] {said} True\n"));
}

#[test]
fn a_v030_process_is_managed_only_with_proof() {
    let workspace = Workspace::one("sleep 300", "");
    let process = workspace.must_start();
    let older = [
        ("version", Json::Null),
        ("start_time", Json::Null),
        ("boot_id", Json::Null),
        ("instance", Json::Null),
    ];
    workspace.edit_metadata(&older);
    let lock = workspace.path(".brigade/tools/runtime/r.lock");
    std::fs::remove_file(&lock).unwrap();
    let facts = workspace.facts(Checks::Run);
    assert!(facts.managed && facts.is_usable(), "start time, command and session fit");
    assert!(!lock.exists(), "reading the facts creates no lock");
    // Without a check, its health is the one that v0.30 would report.
    let health = |facts: &brigade_runtime::RuntimeFacts| {
        let status = facts.status(&brigade_core::NeutralWords);
        (status.health_ok, status.health_detail.unwrap())
    };
    let gone = ["health_ok", "health_detail", "health_checked_at"].map(|key| (key, Json::Null));
    workspace.edit_metadata(&gone);
    assert_eq!(health(&workspace.facts(Checks::Skip)), (Some(true), "not configured".to_owned()));
    let mut runtime = workspace.runtimes[0].clone();
    runtime.health_path = Some("health.json".to_owned());
    let seen = |runtime: &_| health(&workspace.supervisor().facts_of_one(runtime, Checks::Skip, None));
    assert_eq!(seen(&runtime), (Some(false), "health path missing: health.json".to_owned()));
    workspace.write("health.json", "up");
    assert_eq!(seen(&runtime), (Some(true), "health path present: health.json".to_owned()));
    // The health file of the default configuration replaces the metadata.
    let whole = workspace.metadata();
    workspace.edit_metadata(&[("command", Json::Null), ("cwd", Json::Null), ("pid_path", Json::Null)]);
    assert!(workspace.facts(Checks::Run).managed);
    // The start time differs, so the pid belongs to another process now.
    workspace.edit_metadata(&[("started_at", Json::from("2020-01-01T00:00:00+00:00"))]);
    assert_eq!(workspace.facts(Checks::Run).state, RuntimeState::Stale);
    // Without metadata the process may be ours, but that is not proven.
    std::fs::remove_file(workspace.path(".brigade/tools/runtime/r.json")).unwrap();
    let facts = workspace.facts(Checks::Run);
    assert_eq!((facts.running(), facts.managed), (true, false));
    assert_eq!(workspace.issue_types(), ["runtime_unmanaged"]);
    assert!(matches!(workspace.stop(), StopOutcome::Refused { .. }));
    assert!(matches!(workspace.start(), StartOutcome::Refused { .. }));
    assert!(process.is_alive());
    workspace.write(".brigade/tools/runtime/r.json", &whole.to_pretty());
    assert!(matches!(workspace.stop(), StopOutcome::Stopped { .. }));
    assert!(!process.is_alive());
    assert_eq!(workspace.read(".brigade/tools/runtime/r.json.0.30.0"), whole.to_pretty());
}

#[test]
fn newer_metadata_is_read_and_not_rewritten() {
    let workspace = Workspace::one("sleep 300", "");
    let process = ProcessEnder(workspace.must_start());
    workspace.edit_metadata(&[("version", Json::from(2))]);
    let before = workspace.read(".brigade/tools/runtime/r.json");
    assert!(workspace.facts(Checks::Run).managed);
    let stopped = workspace.supervisor().stop(&workspace.runtimes[0], LONG_TIMEOUT);
    assert!(matches!(stopped, Err(RuntimeError::Newer { .. })), "{stopped:?}");
    assert!(process.0.is_alive());
    assert_eq!(workspace.read(".brigade/tools/runtime/r.json"), before);
}

#[test]
fn a_restart_does_not_stop_what_it_could_not_start() {
    let mut workspace = Workspace::one("sleep 300", "");
    let first = workspace.must_start();
    let restarted = workspace.supervisor().restart(&workspace.runtimes[0], &options(), &mut |_| ()).unwrap();
    assert!(restarted.stop.unwrap().is_stopped());
    let Some(StartOutcome::Started { process: second, .. }) = restarted.start else { panic!() };
    assert!(!first.is_alive() && second.is_alive());
    workspace.runtimes[0].command = "sudo sleep 300".to_owned();
    let restarted = workspace.supervisor().restart(&workspace.runtimes[0], &options(), &mut |_| ()).unwrap();
    assert!(restarted.stop.is_none() && matches!(restarted.start, Some(StartOutcome::Refused { .. })));
    assert!(second.is_alive());
}

#[test]
fn health_is_stored_with_other_members_of_the_file() {
    let workspace =
        Workspace::one("sleep 300", "health_command = 'test -e healthy'\nhealth_path = 'state/health.json'");
    workspace.write("healthy", "");
    workspace.write("state/health.json", "{\"note\": 1}");
    workspace.must_start();
    let health = || Json::parse(&workspace.read("state/health.json")).unwrap();
    assert_eq!(health().get("health_ok"), Some(&Json::Bool(true)));
    assert_eq!(health().get("note"), Some(&Json::from(1)));
    assert_eq!(health().get("runtime_id").and_then(Json::as_str), Some("r"));
    std::fs::remove_file(workspace.path("healthy")).unwrap();
    let listed = workspace.facts(Checks::Skip);
    assert!(listed.health.is_none() && listed.last_health.unwrap().ok, "a list runs no command");
    let facts = workspace.facts(Checks::Run);
    assert!(!facts.health.unwrap().ok);
    assert_eq!(facts.issues[0].issue_type, IssueType::RuntimeHealthFailed);
    assert_eq!(health().get("health_ok"), Some(&Json::Bool(false)));
}

#[test]
fn a_health_command_has_a_time_limit() {
    let workspace = Workspace::one("sleep 300", "");
    workspace.must_start();
    let mut runtime = workspace.runtimes[0].clone();
    runtime.health_command = Some("sleep 300".to_owned());
    runtime.timeout = Some(brigade_catalog::Seconds::new(0.2).unwrap());
    let health = workspace.supervisor().facts_of_one(&runtime, Checks::Run, None).health.unwrap();
    assert_eq!((health.ok, health.detail.as_str()), (false, "the health command took longer than 0.2 s"));
    runtime.health_command = Some("sh -c true".to_owned());
    let health = workspace.supervisor().facts_of_one(&runtime, Checks::Run, None).health.unwrap();
    assert!(health.detail.starts_with("the health command was not run: "), "{}", health.detail);
}

#[test]
fn fifty_runtimes_are_checked_in_parallel() {
    let entries: Vec<String> = (0..50)
        .map(|n| {
            format!(
                "[[runtime]]\nid = 'r{n}'\nname = 'R'\ncommand = 'sleep 300'\nhealth_command = 'sleep 0.5'\n"
            )
        })
        .collect();
    let mut workspace = Workspace::new(&entries.concat());
    for runtime in &mut workspace.runtimes {
        runtime.health_command = None;
    }
    std::thread::scope(|scope| {
        for runtime in &workspace.runtimes {
            let supervisor = workspace.supervisor();
            scope.spawn(move || supervisor.start(runtime, &options(), &mut |_| ()).unwrap());
        }
    });
    for runtime in &mut workspace.runtimes {
        runtime.health_command = Some("sleep 0.5".to_owned());
    }
    let start = Instant::now();
    let facts = workspace.supervisor().facts(&workspace.runtimes, Checks::Run, None);
    let took = start.elapsed();
    assert!(facts.iter().all(|facts| facts.is_usable()), "{facts:#?}");
    // One after the other they would take 25 s; the machine may be busy with other tests.
    assert!(took < Duration::from_secs(20), "{took:?}");
    eprintln!("50 runtimes: {took:?}");
}
