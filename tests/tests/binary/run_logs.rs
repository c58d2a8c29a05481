//! The logs of runs: finished runs, running runs, and a full disk.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use brigade_testkit::Brigade;
use brigade_tests::{PATH, Site, until};
use serde_json::json;

/// A run that writes `first`, waits for the file `go`, writes `last` and ends.
struct RunningCall {
    site: Site,
    call: String,
    run: String,
    child: Child,
}

impl RunningCall {
    fn start() -> RunningCall {
        let site =
            Site::script("echo first; echo aside >&2\nuntil [ -e go ]; do sleep 0.02; done\necho last\n");
        let call = site.approved("tool", "{}");
        let mut command = site.brigade.command(["tools", "call", "run", &call]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary is there");
        let run = until("line in each log of the run", || {
            if !site.workspace.join(".brigade/tools/runs").is_dir() {
                return None;
            }
            let files = site.workspace.files(".brigade/tools/runs");
            let log =
                |name: &str| files.iter().find(|(path, bytes)| path.ends_with(name) && !bytes.is_empty());
            let ((path, _), _) = log(".stdout.log").zip(log(".stderr.log"))?;
            Some(path.rsplit('/').next()?.strip_suffix(".stdout.log")?.to_owned())
        });
        RunningCall { site, call, run, child }
    }

    /// Follows the log, and returns after its first line.
    fn follow(&self, words: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
        let words = [&["tools", "run", "show", &self.run], words].concat();
        let mut child =
            self.site.brigade.command(words).stdout(Stdio::piped()).spawn().expect("the binary is there");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"))
            .lines()
            .map(|line| line.expect("logs of the tests are text"));
        (child, lines)
    }

    fn end(&mut self) {
        self.site.workspace.write("go", "");
        assert_eq!(self.child.wait().expect("it was started").code(), Some(0));
    }
}

#[test]
fn a_log_comes_byte_for_byte() {
    let site = Site::script("printf 'a\\033[31m\\377\\r\\ntoken=EXAMPLE123\\n'; echo aside >&2\n");
    let receipt = site.receipt_of("tool", "{}");
    let run = receipt["id"].as_str().unwrap();
    let shown = site.tools(["run", "show", run, "--log", "stdout"]);
    shown.assert_code(0);
    assert_eq!(shown.stdout, b"a\x1b[31m\xff\r\ntoken=EXAMPLE123\n");
    // Following a finished run shows the whole log.
    assert_eq!(site.tools(["run", "show", &run[..8], "--follow"]).stdout, shown.stdout);
    assert_eq!(site.tools(["run", "show", run, "--log", "stderr"]).stdout, b"aside\n");
    let document = site.json(["run", "show", run, "--log", "stdout"]).expect(0);
    assert_eq!(
        (&document["schema"], &document["run_id"], &document["stream"], &document["running"]),
        (&json!("brigade.run-log.v1"), &json!(run), &json!("stdout"), &json!(false))
    );
    assert_eq!(document["path"], receipt["stdout_log_path"]);
    assert_eq!(document["text"], "a\u{1b}[31m\u{fffd}\r\ntoken=[redacted]\n");
    assert_eq!((&document["bytes"], &document["omitted_bytes"]), (&json!(shown.stdout.len()), &json!(0)));
}

#[test]
fn a_log_is_one_stream_and_no_document_is_followed() {
    let site = Site::script("echo hi\n");
    site.tools(["run", "show", "run-1", "--follow", "--json"]).assert_code(2);
    site.tools(["run", "show", "run-1", "--log", "both"]).assert_code(2);
    assert_eq!(site.json(["run", "show", "nothing", "--log", "stdout"]).expect(1)["kind"], "not-found");
}

#[test]
fn on_a_terminal_a_log_cannot_act() {
    let site = Site::script("printf 'red \\033[31m\\303\\244\\n'\n");
    let run = site.receipt_of("tool", "{}")["id"].as_str().unwrap().to_owned();
    let binary = brigade_testkit::brigade_binary().display().to_string();
    let program = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let words = ["-c", program, &binary, "tools", "run", "show", &run, "--log", "stdout"];
    let shown = Brigade::for_program("python3", &site.workspace).env("PATH", PATH).run(words);
    shown.assert_code(0);
    assert_eq!(shown.stdout_text(), "red \\u{1b}[31m\u{e4}\r\n");
}

#[test]
fn a_followed_log_ends_with_its_run() {
    let mut running = RunningCall::start();
    let (mut follower, mut lines) = running.follow(&["--log", "stdout", "--follow"]);
    assert_eq!(lines.next().as_deref(), Some("first"));
    running.end();
    assert_eq!((lines.next().as_deref(), lines.next()), (Some("last"), None));
    assert_eq!(follower.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interrupt_of_a_followed_log_keeps_the_run() {
    let mut running = RunningCall::start();
    let (mut follower, mut lines) = running.follow(&["--follow"]);
    assert_eq!(lines.next().as_deref(), Some("first"));
    assert!(Command::new("kill").args(["-TERM", &follower.id().to_string()]).status().unwrap().success());
    assert_eq!((lines.next(), follower.wait().unwrap().code()), (None, Some(0)));
    assert_eq!(running.site.status(&running.call), "running");
    running.end();
}

#[test]
fn a_followed_log_ends_when_the_runner_is_killed() {
    let mut running = RunningCall::start();
    let (mut follower, mut lines) = running.follow(&["--follow"]);
    assert_eq!(lines.next().as_deref(), Some("first"));
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert_eq!((lines.next(), follower.wait().unwrap().code()), (None, Some(0)));
    // It has no receipt until a writer records it, but its log exists.
    let shown = running.site.json(["run", "show", &running.run]).expect(0);
    assert_eq!(
        (&shown["run"]["status"], &shown["run"]["recorded"], &shown["error"]),
        (&json!("interrupted"), &json!(false), &json!(null))
    );
    assert_eq!(running.site.tools(["run", "show", &running.run, "--follow"]).stdout, b"first\n");
    let log = running.site.json(["run", "show", &running.run, "--log", "stdout"]).expect(0);
    assert_eq!((&log["text"], &log["running"]), (&json!("first\n"), &json!(false)));
    running.site.queue("tool", r#"{"a":1}"#);
    let document = running.site.json(["run", "show", &running.run]).expect(0);
    assert_eq!(document["run"]["status"], "interrupted");
}

#[test]
fn a_run_that_is_running_is_found() {
    let mut running = RunningCall::start();
    let (site, run) = (&running.site, running.run.clone());
    // The run was claimed before its first output.
    for prefix in [&*run, &run[..6]] {
        let document = site.json(["run", "show", prefix]).expect(1);
        let error = document["error"].as_str().unwrap();
        assert!(error.contains("is still running"), "{error}");
        assert!(document["help"].as_str().unwrap().contains("--log stdout --follow"), "{document}");
        assert_eq!(document["run"], json!(null));
        assert_eq!(site.tools(["run", "show", prefix, "--log", "stdout"]).stdout, b"first\n");
        let log = site.json(["run", "show", prefix, "--log", "stderr"]).expect(0);
        assert_eq!(
            (&log["text"], &log["running"], &log["run_id"]),
            (&json!("aside\n"), &json!(true), &json!(run))
        );
    }
    running.end();
    let document = running.site.json(["run", "show", &run]).expect(0);
    assert_eq!(document["run"]["status"], "completed");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_death() {
    let site = Site::script("kill -s XFSZ $$; echo survived\n");
    let binary = brigade_testkit::brigade_binary().display().to_string();
    let limited = |line: &str| {
        let line = format!("ulimit -f 1; exec '{binary}' {line}");
        Brigade::for_program("sh", &site.workspace).env("PATH", PATH).run(["-c", &line])
    };
    let queued = limited("tools call queue tool --json");
    queued.assert_code(3);
    assert_eq!(queued.json()["kind"], "environment", "{queued}");
    assert!(queued.json()["error"].as_str().unwrap().contains("ulimit -f"), "{queued}");
    let queued = limited("tools call queue tool");
    queued.assert_code(3);
    assert!(queued.stderr_text().contains("ulimit -f"), "{queued}");
    // Standard output can also be a file.
    let listed = limited("tools show tool --json > shown.json");
    listed.assert_code(3);
    assert!(listed.stderr_text().contains("standard output"), "{listed}");
    // The state has no leftovers, and programs get the signal as usual.
    assert_eq!(site.json(["call", "list"]).expect(0)["counts"], json!({}));
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!((&receipt["status"], &receipt["exit_code"]), (&json!("failed"), &json!(-25)), "{receipt:#}");
    assert_eq!(site.log_text(&receipt, "stdout"), "");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn a_page_of_runs_names_the_next_one() {
    let site = Site::script("echo done\n");
    let [first, second] = [r#"{"n":1}"#, r#"{"n":2}"#]
        .map(|args| site.receipt_of("tool", args)["id"].as_str().expect("a run has an id").to_owned());
    let page = site.json(["run", "list", "--limit", "1"]).expect(0);
    assert_eq!((&page["runs"][0]["id"], &page["next_before"]), (&json!(second), &json!(second)));
    let page = site.json(["run", "list", "--limit", "1", "--before", &second]).expect(0);
    assert_eq!((&page["runs"][0]["id"], &page["next_before"]), (&json!(first), &json!(null)));
    let shown = site.tools(["run", "list", "--limit", "1"]);
    assert!(shown.stderr_text().contains(&format!("run list --before {second}")), "{shown}");
}
