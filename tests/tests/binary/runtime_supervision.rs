//! Runtimes from start to stop.

#![allow(clippy::disallowed_methods, reason = "tests hold ports and processes themselves")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use brigade_testkit::Run;
use brigade_tests::{Site, processes_with, until};
use serde_json::{Value, json};

/// Listens on the port in its argument, prints a line, and answers requests with a line.
const SERVE: &str = r#"
import http.server, sys
print("listening", flush=True)
print("token=ghp_0123456789abcdefghijABCDEFGHIJ012345", flush=True)
print("\x1b[31mred", file=sys.stderr, flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"#;

/// A workspace with runtimes. They are stopped at the end of the test.
struct Runtimes {
    site: Site,
}

impl Drop for Runtimes {
    fn drop(&mut self) {
        let command = |words: &[&str]| self.site.brigade.command(words).output();
        let Ok(listed) = command(&["tools", "runtime", "list", "--json"]) else { return };
        let list: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        for runtime in list["runtimes"].as_array().into_iter().flatten() {
            let _ = command(&["tools", "runtime", "stop", runtime["id"].as_str().unwrap_or_default()]);
        }
    }
}

impl Runtimes {
    fn new(file: &str) -> Runtimes {
        let site = Site::empty();
        site.workspace.write("bin/serve.py", SERVE);
        site.workspace.write(".brigade/tools/runtimes.toml", file);
        Runtimes { site }
    }

    /// Returns a workspace with one runtime, `helper`, that listens on a free port.
    fn serving() -> Runtimes {
        let port = free_port();
        Runtimes::new(&format!(
            "[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'python3 bin/serve.py {port}'\nport = {port}\ntimeout = 20\n"
        ))
    }

    #[track_caller]
    fn text(&self, words: &[&str]) -> Run {
        self.site.tools(["runtime"].iter().chain(words))
    }

    /// Runs a command with `--json`, which must exit with this code.
    #[track_caller]
    fn json(&self, words: &[&str], code: i32) -> Value {
        self.site.json(["runtime"].iter().chain(words)).expect(code)
    }

    /// Starts `helper` and returns its process id.
    #[track_caller]
    fn start(&self) -> u64 {
        let started = self.json(&["start", "helper", "--wait", "60"], 0);
        assert_eq!(started["state"], "ready", "{started}");
        assert_eq!((&started["started"], &started["skipped"]), (&json!(1), &json!(0)), "{started}");
        started["pid"].as_u64().expect("what was started has a process")
    }

    #[track_caller]
    fn item(&self) -> Value {
        self.json(&["status"], 0)["runtimes"][0].clone()
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}

/// Returns whether a process is alive. A zombie counts as ended.
fn is_alive(pid: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn kill(signal: &str, pid: u64) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.expect("there is a program `kill`").success());
}

/// A process of the test that is not a runtime.
struct Stranger(Child);

impl Stranger {
    fn new() -> Stranger {
        Stranger::spawn(Command::new("sleep").arg("600"))
    }

    fn like_a_runtime() -> Stranger {
        Stranger::spawn(Command::new("setsid").args(["sleep", "600"]))
    }

    fn spawn(command: &mut Command) -> Stranger {
        Stranger(command.stdin(Stdio::null()).spawn().expect("the program is there"))
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().expect("it is our child").is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_runtime_is_started_once_restarted_and_stopped() {
    let runtimes = Runtimes::serving();
    let list = runtimes.json(&["list"], 0);
    assert_eq!((&list["counts"], &list["runtime_count"]), (&json!({"stopped": 1}), &json!(1)));
    assert_eq!(
        (&list["valid"], &list["issues"], &list["top_issue"]),
        (&json!(true), &json!([]), &json!(null))
    );
    assert!(!runtimes.site.workspace.exists(".brigade/tools/runtime"), "looking writes nothing");

    let pid = runtimes.start();
    let item = runtimes.item();
    assert_eq!(
        (&item["state"], &item["running"], &item["managed"], &item["health_ok"], &item["pid"]),
        (&json!("running"), &json!(true), &json!(true), &json!(true), &json!(pid))
    );
    let again = runtimes.json(&["start", "helper"], 0);
    assert_eq!((&again["started"], &again["skipped"], &again["pid"]), (&json!(0), &json!(1), &json!(pid)));
    assert_eq!(again["reason"], "the runtime is running already");
    for (path, bytes) in runtimes.site.workspace.files(".brigade/tools/runtime") {
        let mode = fs::metadata(runtimes.site.workspace.join(&path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
        let root = runtimes.site.workspace.path().to_str().unwrap().as_bytes();
        let names_root = bytes.windows(root.len()).any(|part| part == root);
        assert!(!names_root, "{path} could not be moved with its workspace");
    }

    let restarted = runtimes.json(&["restart", "helper"], 0);
    assert_eq!((&restarted["stop"]["stopped"], &restarted["start"]["started"]), (&json!(1), &json!(1)));
    assert_eq!(restarted["stop"]["pid"], pid);
    let new = restarted["start"]["pid"].as_u64().unwrap();
    assert!(new != pid && !is_alive(pid) && is_alive(new));
    assert_eq!(
        (&restarted["runtime"]["state"], &restarted["runtime"]["pid"]),
        (&json!("running"), &json!(new))
    );

    let stopped = runtimes.json(&["stop", "helper"], 0);
    assert_eq!((&stopped["stopped"], &stopped["pid"]), (&json!(1), &json!(new)));
    assert!(!is_alive(new));
    let nothing = runtimes.json(&["stop", "helper"], 0);
    assert_eq!((&nothing["stopped"], &nothing["reason"]), (&json!(0), &json!("the runtime is not running")));
}

#[test]
fn starter_with_metadata_health_can_be_stopped() {
    let runtimes = Runtimes { site: Site::empty() };
    runtimes.text(&["init"]).assert_code(0);
    runtimes.text(&["init"]).assert_code(2);
    runtimes.text(&["init", "--force"]).assert_code(0);
    assert!(runtimes.site.workspace.exists(".brigade/tools/runtime"));
    let port = free_port().to_string();
    let file = ".brigade/tools/runtimes.toml";
    let text = runtimes.site.workspace.read_text(file);
    runtimes.site.workspace.write(file, text.replace("8765", &port));

    runtimes.json(&["start", "local-helper"], 0);
    let item = runtimes.item();
    assert_eq!(item["health_path"], item["metadata_path"]);
    assert_eq!(
        (&item["managed"], &item["health_ok"], &item["metadata"]["health_ok"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert_eq!(item["metadata"]["command"], item["command"]);
    assert_eq!(runtimes.json(&["stop", "local-helper"], 0)["stopped"], 1);
}

#[test]
fn a_killed_runtime_is_stale_and_can_start_again() {
    let runtimes = Runtimes::serving();
    let pid = runtimes.start();
    kill("-9", pid);
    until("end of the process", || (!is_alive(pid)).then_some(()));
    let status = runtimes.json(&["status"], 0);
    let item = &status["runtimes"][0];
    assert_eq!(
        (&item["state"], &item["stale_pid"], &item["running"]),
        (&json!("stale"), &json!(true), &json!(false))
    );
    assert_eq!((&status["counts"], &item["health_ok"]), (&json!({"stale": 1}), &json!(null)));

    let doctor = runtimes.json(&["doctor"], 0);
    assert_eq!(doctor["top_issue"]["issue_type"], "runtime_stale_pid");
    assert_eq!(doctor["top_issue"]["fix"], "brigade tools runtime stop helper");
    runtimes.json(&["doctor", "--strict"], 1);
    runtimes.start();
    assert_eq!(runtimes.json(&["doctor", "--strict"], 0)["issue_count"], 0);
}

#[test]
fn a_reused_pid_in_a_stale_file_is_never_signalled() {
    let mut stranger = Stranger::new();
    let runtimes = Runtimes::serving();
    let pid = runtimes.start();
    kill("-9", pid);
    until("end of the process", || (!is_alive(pid)).then_some(()));
    runtimes.site.workspace.write(".brigade/tools/runtime/helper.pid", format!("{}\n", stranger.0.id()));
    let refused = runtimes.json(&["stop", "helper"], 1);
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains(&format!("process {} (`sleep`)", stranger.0.id())), "{refused:#}");
    assert_eq!(refused["runtime"]["state"], "stale");
    // A refused start does not write its own process id either.
    let refused = runtimes.json(&["start", "helper"], 1);
    assert_eq!(refused["blocker_details"][0]["code"], "runtime_unmanaged", "{refused:#}");
    // A command that would be refused is not suggested.
    let doctor = runtimes.json(&["doctor"], 0);
    assert_eq!(
        (&doctor["top_issue"]["issue_type"], &doctor["top_issue"]["fix"]),
        (&json!("runtime_unmanaged"), &json!("brigade tools runtime show helper"))
    );
    assert!(stranger.is_alive());
    let pid_file = ".brigade/tools/runtime/helper.pid";
    assert_eq!(runtimes.site.workspace.read_text(pid_file), format!("{}\n", stranger.0.id()));
    // A process id that is also in the record was written by Brigade.
    runtimes.site.workspace.write(pid_file, format!("{pid}\n"));
    let stopped = runtimes.json(&["stop", "helper"], 0);
    assert_eq!((&stopped["stopped"], &stopped["runtime"]["state"]), (&json!(0), &json!("stopped")));
    assert!(stopped["reason"].as_str().unwrap().contains("stale pid"), "{stopped}");
    assert!(!runtimes.site.workspace.exists(pid_file));
}

#[test]
fn unproven_process_is_left_alone() {
    // It has the right command and leads a session like a runtime, but its start is not recorded.
    let mut stranger = Stranger::like_a_runtime();
    let runtimes = Runtimes::new("[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'sleep 600'\n");
    until("the process's own command line", || {
        processes_with("sleep\x00600").contains(&stranger.0.id()).then_some(())
    });
    runtimes.site.workspace.write(".brigade/tools/runtime/helper.pid", format!("{}\n", stranger.0.id()));
    let item = runtimes.item();
    assert_eq!(
        (&item["state"], &item["managed"], &item["health_ok"]),
        (&json!("running"), &json!(false), &json!(null))
    );
    let refused = runtimes.json(&["stop", "helper"], 1);
    assert!(refused["error"].as_str().unwrap().contains("nothing proves"), "{refused}");
    let refused = runtimes.json(&["start", "helper"], 1);
    assert_eq!(refused["blocker_details"][0]["code"], "runtime_unmanaged");
    assert!(stranger.is_alive() && runtimes.site.workspace.exists(".brigade/tools/runtime/helper.pid"));
}

#[test]
fn the_holder_of_the_port_is_named() {
    let runtimes = Runtimes::serving();
    let port = runtimes.json(&["list"], 0)["runtimes"][0]["port"].as_u64().unwrap();
    let _listener = TcpListener::bind(("127.0.0.1", u16::try_from(port).unwrap())).unwrap();
    let refused = runtimes.json(&["start", "helper"], 1);
    let expect = format!("port {port} is in use by process {} (", std::process::id());
    let blocker = refused["blockers"][0].as_str().unwrap();
    assert!(blocker.contains(&expect), "{blocker}");
    assert_eq!(
        (&refused["started"], &refused["error"]),
        (&json!(0), &json!("the runtime may not be started"))
    );
    assert_eq!(refused["blocker_details"][0]["field"], "port");
    let text = runtimes.text(&["start", "helper"]);
    text.assert_code(1);
    assert!(text.stderr_text().contains(&expect) && text.stdout.is_empty(), "{text}");
    assert_eq!(runtimes.json(&["doctor"], 0)["top_issue"]["issue_type"], "runtime_port_conflict");
}

#[test]
fn a_start_that_fails_shows_the_end_of_the_log() {
    let runtimes = Runtimes::new(
        "[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'sh bin/broken.sh'\n\n\
         [[runtime]]\nid = 'slow'\nname = 'Slow'\ncommand = 'sh bin/slow.sh'\nport = 1\ntimeout = 0.3\n",
    );
    let script = "echo one\necho 'cannot open the database, password=hunter2EXAMPLE' >&2\nexit 3\n";
    runtimes.site.workspace.write("bin/broken.sh", script);
    let failed = runtimes.json(&["start", "helper"], 1);
    assert_eq!((&failed["stdout"], &failed["started"]), (&json!("one\n"), &json!(0)));
    assert!(failed["stderr"].as_str().unwrap().contains("cannot open the database"), "{failed}");
    assert!(failed["error"].as_str().unwrap().contains("ended"), "{failed}");
    let text = runtimes.text(&["start", "helper"]);
    text.assert_code(1);
    let said = text.stderr_text();
    assert!(said.contains("cannot open the database") && !said.contains("hunter2"), "{said}");
    assert!(said.contains("help: brigade tools runtime logs helper"), "{said}");
    assert_eq!(runtimes.item()["state"], "stopped");

    let mark = runtimes.site.workspace.join("bin/slow.sh");
    runtimes
        .site
        .workspace
        .write("bin/slow.sh", format!("echo up\nexec sh -c 'sleep 600; : {}'\n", mark.display()));
    let slow = || processes_with(mark.to_str().unwrap());
    let late = runtimes.json(&["start", "slow", "--wait", "0.3"], 1);
    assert_eq!((&late["state"], &late["started"]), (&json!("starting"), &json!(1)));
    assert_eq!(late["reason"], "not ready after 0.3 s: nothing listens on port 1");
    assert_eq!(late["error"], "the runtime is not ready: not ready after 0.3 s: nothing listens on port 1");
    assert_eq!(late["code"], "runtime_not_ready");
    assert_eq!(late["help"], "brigade tools runtime logs slow");
    assert_eq!(slow().len(), 1, "a runtime that lives is not ended for being slow");
    runtimes.json(&["stop", "slow"], 0);
    let starting = runtimes.json(&["start", "slow"], 0);
    assert_eq!((&starting["state"], &starting["runtime"]["state"]), (&json!("starting"), &json!("running")));
    let again = runtimes.json(&["start", "slow"], 0);
    assert_eq!((&again["skipped"], &again["state"]), (&json!(1), &json!(null)));
    let waited = runtimes.json(&["start", "slow", "--wait", "0.3"], 1);
    assert_eq!((&waited["skipped"], &waited["state"]), (&json!(1), &json!("starting")));
    assert_eq!((&waited["code"], &waited["pid"]), (&json!("runtime_not_ready"), &starting["pid"]));
    let restarted = runtimes.json(&["restart", "slow"], 0);
    assert_eq!(restarted["stop"]["runtime"]["state"], "stopped", "not the new process");
    assert_eq!((&restarted["start"]["state"], slow().len()), (&json!("starting"), 1));
    let text = runtimes.text(&["restart", "slow", "--wait", "0.1"]);
    text.assert_code(1);
    assert!(text.stdout_text().contains("starting: not ready after 0.1 s"), "{}", text.stdout_text());
    assert!(text.stderr_text().starts_with("error[runtime_not_ready]: the runtime is not ready"), "{text}");
}

#[test]
fn one_broken_entry_leaves_the_others_alone() {
    let runtimes = Runtimes::serving();
    let file = ".brigade/tools/runtimes.toml";
    let text = runtimes.site.workspace.read_text(file);
    let broken = "[[runtime]]\nid = 'broken'\nname = 'B'\ncommand = 'sleep 600'\nport = 99999\n\n\
                  [[runtime]]\nid = 'risky'\nname = 'R'\ncommand = \"bash -c 'sleep 600'\"\ncwd = 'nowhere'\n\n\
                  [[runtime]]\nid = 'off'\nname = 'O'\nenabled = false\ncommand = 'sleep 600'\n";
    runtimes.site.workspace.write(file, format!("{text}\n{broken}"));
    let list = runtimes.json(&["list"], 1);
    assert_eq!((&list["valid"], &list["runtime_count"]), (&json!(false), &json!(4)));
    let error = list["errors"][0].as_str().unwrap();
    assert!(
        error.contains("runtimes.toml:") && error.contains("broken") && error.contains("port"),
        "{error}"
    );
    let doctor = runtimes.json(&["doctor"], 1);
    let issues = doctor["issues"].as_array().unwrap();
    assert_eq!(doctor["issue_count"], issues.len());
    let found = |kind: &str, id: &str| {
        let is_it = |issue: &&Value| issue["issue_type"] == kind && issue["tool_id"] == id;
        issues.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} of {id}: {doctor}"))
    };
    assert_eq!(found("runtime_config", "broken")["field"], "port");
    assert_eq!(found("runtime_high_risk_command", "risky")["name"], "tool_runtime_high_risk_command");
    assert!(found("runtime_missing_cwd", "risky")["fingerprint"].is_string());

    let codes = |id: &str| {
        let refused = runtimes.json(&["start", id], 1);
        let details = refused["blocker_details"].as_array().unwrap();
        details.iter().map(|detail| detail["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(codes("broken").contains(&"runtime_config".to_owned()));
    assert_eq!(codes("risky"), ["runtime_high_risk_command", "runtime_missing_cwd"]);
    assert_eq!(codes("off"), ["runtime_disabled"]);
    let restart = runtimes.json(&["restart", "off"], 1);
    assert_eq!(
        (&restart["stop"], &restart["error"]),
        (&json!(null), &json!("the runtime may not be started"))
    );
    runtimes.start();
}

#[test]
fn a_missing_file_and_a_wrong_name_say_what_to_do() {
    let runtimes = Runtimes { site: Site::empty() };
    runtimes.site.workspace.write(".brigade/tools.toml", "");
    for words in [&["list"][..], &["status"], &["doctor"], &["show", "helper"], &["start", "helper"]] {
        let text = runtimes.text(words);
        text.assert_code(1);
        assert!(text.to_string().contains("brigade tools runtime init"), "{text}");
    }
    let runtimes = Runtimes::serving();
    for action in ["show", "start", "stop", "restart"] {
        let answer = runtimes.json(&[action, "helpr"], 1);
        assert!(answer["help"].as_str().unwrap().contains("did you mean `helper`?"), "{answer}");
        assert_eq!(answer["runtime"], json!(null));
    }
    // As in 0.30.0, where the stop failed.
    let restart = runtimes.json(&["restart", "helpr"], 1);
    assert_eq!((&restart["stop"]["stopped"], &restart["stop"]["error"]), (&json!(0), &restart["error"]));
    let shown = runtimes.json(&["show", "helpr"], 1);
    assert_eq!(
        (&shown["valid"], &shown["errors"], &shown["runtimes"]),
        (&json!(false), &json!(["runtime not found: helpr"]), &json!([]))
    );
    assert_eq!(runtimes.json(&["logs", "helpr"], 1)["kind"], "not-found");
}

#[test]
fn runtime_without_entry_can_be_seen_and_stopped() {
    let runtimes = Runtimes::serving();
    let pid = runtimes.start();
    runtimes.site.workspace.replace(".brigade/tools/runtimes.toml", "helper", "renamed");
    let status = runtimes.json(&["status"], 0);
    let items = status["runtimes"].as_array().unwrap();
    assert_eq!((&items[0]["id"], &items[0]["state"]), (&json!("renamed"), &json!("stopped")));
    assert_eq!((&items[1]["id"], &items[1]["pid"]), (&json!("helper"), &json!(pid)), "{status:#}");
    let left = |issues: &Value| {
        let issues = issues.as_array().unwrap().iter();
        issues
            .filter(|issue| issue["issue_type"] == "runtime_left")
            .map(|issue| issue["fix"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(left(&runtimes.json(&["doctor"], 0)["issues"]), ["brigade tools runtime stop helper"]);
    let doctor = runtimes.site.json(["doctor"]).json;
    assert_eq!(left(&doctor["issues"]), ["brigade tools runtime stop helper"], "{doctor:#}");
    assert_eq!(runtimes.json(&["stop", "helper"], 0)["stopped"], 1);
    assert!(!is_alive(pid));
    assert_eq!(left(&runtimes.json(&["doctor"], 0)["issues"]), [json!(null); 0]);
    assert!(runtimes.json(&["stop", "helper"], 1)["error"].is_string());
}

#[test]
fn changed_running_runtime_is_an_issue_until_restart() {
    let runtimes = Runtimes::new("[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'sleep 600'\n");
    runtimes.json(&["start", "helper"], 0);
    runtimes.site.workspace.replace(".brigade/tools/runtimes.toml", "sleep 600", "sleep 601");
    let again = runtimes.json(&["start", "helper"], 0);
    assert!(again["reason"].as_str().unwrap().contains("with an older entry"), "{again:#}");
    let doctor = runtimes.json(&["doctor"], 0);
    assert_eq!(
        (&doctor["top_issue"]["issue_type"], &doctor["top_issue"]["fix"]),
        (&json!("runtime_outdated"), &json!("brigade tools runtime restart helper"))
    );
    assert!(runtimes.site.json(["doctor"]).json.to_string().contains("runtime_outdated"));
    runtimes.json(&["restart", "helper"], 0);
    assert_eq!(runtimes.json(&["doctor"], 0)["issue_count"], 0);
}

#[test]
fn an_endless_log_is_cut_by_every_reader() {
    let runtimes = Runtimes::serving();
    runtimes.start();
    let folder = runtimes.site.workspace.join(".brigade/tools/runtime");
    let log = folder.join("helper.log.stdout");
    let older = folder.join("helper.log.stdout.1");
    let cap = 16 << 20;
    let grow = || {
        let file = fs::OpenOptions::new().append(true).open(&log).unwrap();
        // A sparse file: it has the length of a log, but contains only zeros.
        file.set_len(3 * cap).unwrap();
        std::io::Write::write_all(&mut &file, b"\nthe end\n").unwrap();
    };
    let length = |path: &std::path::Path| fs::metadata(path).unwrap().len();
    grow();
    let doctor = runtimes.json(&["doctor"], 0);
    assert_eq!(doctor["issues"][0]["issue_type"], "runtime_log_too_long", "{doctor:#}");
    assert_eq!((length(&log), length(&older)), (0, cap));
    assert_eq!(runtimes.json(&["logs", "helper", "--lines", "1"], 0)["lines"], json!(["the end"]));
    grow();
    runtimes.json(&["logs", "helper", "--lines", "1"], 0);
    assert_eq!(length(&log), 0, "a look at it is enough");
    grow();
    runtimes.json(&["stop", "helper"], 0);
    assert_eq!((length(&log), length(&older)), (0, cap));
}

#[test]
fn concurrent_starts_start_one_process() {
    let runtimes = Runtimes::serving();
    let starts: Vec<Child> = (0..4)
        .map(|_| {
            let mut command =
                runtimes.site.brigade.command(["tools", "runtime", "start", "helper", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let answers: Vec<Value> = starts
        .into_iter()
        .map(|child| serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    let sum = |key: &str| answers.iter().map(|answer| answer[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("started"), sum("skipped")), (1, 3), "{answers:?}");
}

#[test]
fn logs_are_masked_and_escaped() {
    let runtimes = Runtimes::serving();
    runtimes.start();
    let text = runtimes.text(&["logs", "helper"]);
    text.assert_code(0);
    assert_eq!(text.stdout_text(), "listening\ntoken=[redacted]\n");
    let last = runtimes.json(&["logs", "helper", "--lines", "1"], 0);
    assert_eq!((&last["lines"], &last["has_earlier"]), (&json!(["token=[redacted]"]), &json!(true)));
    let errors = runtimes.text(&["logs", "helper", "--stderr", "-n", "1000"]).stdout_text();
    assert!(errors.contains("\\u{1b}[31mred") && !errors.contains('\x1b'), "{errors:?}");
    runtimes.text(&["logs", "helper", "--follow", "--json"]).assert_code(2);
}

#[test]
fn a_log_is_followed_until_interrupted() {
    let runtimes = Runtimes::serving();
    runtimes.start();
    let mut command =
        runtimes.site.brigade.command(["tools", "runtime", "logs", "helper", "-f", "--lines", "1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("token=[redacted]"));
    let log = runtimes.site.workspace.join(".brigade/tools/runtime/helper.log.stdout");
    let mut file = fs::OpenOptions::new().append(true).open(log).unwrap();
    std::io::Write::write_all(&mut file, b"api_key: abc12").unwrap();
    std::io::Write::write_all(&mut file, b"def34\nmore\n").unwrap();
    assert_eq!(lines.next().as_deref(), Some("api_key: [redacted]"));
    assert_eq!(lines.next().as_deref(), Some("more"));
    kill("-TERM", u64::from(child.id()));
    assert_eq!((lines.next(), child.wait().unwrap().code()), (None, Some(0)));
}

#[test]
fn people_see_tables_and_the_next_step() {
    let runtimes = Runtimes::serving();
    let list = runtimes.text(&["list"]);
    assert!(list.stdout_text().contains("helper  stopped"), "{list}");
    assert!(list.stderr_text().contains("help: brigade tools runtime status"), "{list}");
    let start = runtimes.text(&["start", "helper"]);
    start.assert_code(0);
    assert!(start.stdout_text().contains("state:        running"), "{start}");
    assert!(!start.stderr_text().contains("waiting"), "progress is for terminals\n{start}");
    let status = runtimes.text(&["status"]);
    assert!(status.stdout_text().contains("helper  running  yes"), "{status}");
    let show = runtimes.text(&["show", "helper"]).stdout_text();
    assert!(show.contains("managed:     yes") && show.contains("healthy: "), "{show}");
    let doctor = runtimes.text(&["doctor"]).stdout_text();
    assert!(doctor.contains("issues:    none"), "{doctor}");
    let stop = runtimes.text(&["stop", "helper"]).stdout_text();
    assert!(stop.contains("stopped:  yes: 1 process\n"), "{stop}");
}
