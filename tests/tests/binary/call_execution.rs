//! Execution: exact arguments, empty input, working directory, end of all processes, sandbox and logs.

#![allow(
    clippy::disallowed_methods,
    reason = "tests look at processes and at the files that the binary wrote"
)]

use std::fs;
use std::process::Stdio;

use brigade_tests::{Site, processes_with, until};
use serde_json::{Value, json};

/// Prints every argument on a separate line, with its length in bytes.
const WORDS: &str = r#"
LC_ALL=C
for word in "$@"; do printf '%s:%s|' "${#word}" "$word"; done
"#;

#[test]
fn every_value_is_exactly_one_word() {
    let lines = r#"argument_template = { a = "{a}", b = "--b={b}", c = "{c}{c}", d = "x {d} y" }
allow_option_values = ["a"]"#;
    let site = Site::script_with(WORDS, lines);
    site.workspace.write(
        "schemas/tool.json",
        r#"{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{}},"required":["a"]}"#,
    );
    let odd = "it's \"quoted\" \\ `x` $(touch evil) ${HOME} ; touch evil & | > evil";
    let args = json!({"a": odd, "b": "line\nbreak\ttab\r", "c": "ünï😀\u{202e}", "d": "*"});
    let receipt = site.receipt_of("tool", &args.to_string());
    let words = [odd, "--b=line\nbreak\ttab\r", "ünï😀\u{202e}ünï😀\u{202e}", "x * y"];
    let expect: String = words.iter().map(|word| format!("{}:{word}|", word.len())).collect();
    assert_eq!(site.log_text(&receipt, "stdout"), expect);
    assert!(!site.workspace.exists("evil"));

    // A null byte cannot be passed to a program, so planning refuses it.
    site.json(["call", "plan", "tool", "--args", r#"{"a":"x\u0000y"}"#]).refused("cannot be passed");
}

#[test]
fn standard_input_is_empty_whatever_brigade_is_given() {
    let site = Site::script("cat; echo end; readlink /proc/self/fd/0\n");
    let id = site.approved("tool", "{}");
    let run = site.brigade.clone().input("canary-4711\n").run(["tools", "call", "run", &id]);
    run.assert_code(0);
    let receipt = site.json(["run", "latest"]).expect(0)["run"].clone();
    assert_eq!(site.log_text(&receipt, "stdout"), "end\n/dev/null\n");
}

#[test]
fn the_directory_is_the_one_of_the_catalog() {
    let site = Site::script_with("pwd\n", r#"cwd = "docs/../lib""#);
    site.workspace.write("lib/tool.sh", "pwd\n");
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "sh tool.sh");
    let receipt = site.receipt_of("tool", "{}");
    let lib = site.workspace.join("lib");
    assert_eq!(site.log_text(&receipt, "stdout").trim_end(), lib.to_str().unwrap());
    assert_eq!(receipt["cwd"], lib.to_str().unwrap());
    site.workspace.replace(".brigade/tools.toml", "docs/../lib", "nowhere");
    site.json(["call", "plan", "tool"]).refused("cwd");
}

#[test]
fn exit_codes_and_signals_are_on_the_receipt() {
    let site =
        Site::script_with("echo out; echo err >&2; eval \"$1\"\n", r#"argument_template = { a = "{a}" }"#);
    for (end, code) in [("exit 7", 7), ("exit 255", 255), ("kill -9 $$", -9), ("kill -11 $$", -11)] {
        let id = site.approved("tool", &json!({"a": end}).to_string());
        let run = site.run_call(&id).expect(1);
        assert_eq!((&run["receipt"]["exit_code"], &run["call"]["exit_code"]), (&json!(code), &json!(code)));
        assert_eq!(run["call"]["status"], "failed");
        assert_eq!(
            (&run["receipt"]["stdout_summary"], &run["receipt"]["stderr_summary"]),
            (&json!("out"), &json!("err"))
        );
    }
}

#[test]
fn output_that_is_not_text_is_kept_unchanged() {
    let site = Site::script(r"printf 'a\377\000\376b\n\033[31m\r'; printf '\200' >&2");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(site.log(&receipt, "stdout"), b"a\xff\x00\xfeb\n\x1b[31m\r");
    assert_eq!(site.log(&receipt, "stderr"), b"\x80");
    for words in [&["run", "latest"][..], &["run", "list"]] {
        let run = site.tools(words);
        assert!(!run.stdout.contains(&0x1b) && !run.stdout.contains(&0), "{run}");
    }
}

#[test]
fn long_output_is_capped_and_counted() {
    let site = Site::script("head -c 50000000 /dev/zero | tr '\\0' x\necho end >&2\n");
    site.workspace.replace(
        ".brigade/tools/policy.toml",
        "max_timeout",
        "max_output_bytes = 100000\nmax_timeout",
    );
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(receipt["status"], "completed");
    let stdout = &receipt["output"]["stdout"];
    assert_eq!((&stdout["bytes"], &stdout["dropped"]), (&json!(100_000), &json!(49_900_000)));
    assert_eq!(receipt["output"]["stderr"]["dropped"], 0);
    let log = site.log(&receipt, "stdout");
    assert!(log.len() < 101_000 && log[..100_000].iter().all(|byte| *byte == b'x'), "{}", log.len());
    assert_eq!(site.log(&receipt, "stderr"), b"end\n");
    let shown = site.tools(["run", "latest"]).stdout_text();
    assert!(shown.contains("kept output") && shown.contains("49900000 more bytes were dropped"), "{shown}");
    assert!(shown.contains("full errors") && !shown.contains("full output"), "{shown}");
    assert_eq!(
        receipt["output_compaction"]["raw_retrievable"], false,
        "what was dropped cannot be had: {receipt:#}"
    );
}

#[test]
fn files_of_a_run_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let site = Site::script("echo hi\n");
    site.receipt_of("tool", "{}");
    for path in site.workspace.files(".brigade/tools").keys() {
        if path.ends_with("policy.toml") {
            continue;
        }
        let mode = fs::metadata(site.workspace.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{path}");
    }
    for folder in ["runs", "checkpoints"] {
        let mode =
            fs::metadata(site.workspace.join(".brigade/tools").join(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}

/// A script that starts a child, a grandchild in another session, and a process that ignores signals, then waits.
///
/// The tests find these processes by the workspace path in their command lines.
const TREE: &str = r#"
sh "$PWD/bin/child.sh" one &
setsid sh "$PWD/bin/child.sh" two &
sh -c 'trap "" TERM INT HUP; exec sh "$0/bin/child.sh" three' "$PWD" &
"#;
const CHILD: &str = "echo $1 >> started.txt\nwhile :; do sleep 600; done\n";

fn tree(body: &str, lines: &str) -> Site {
    let site = Site::script_with(&format!("{TREE}{body}"), lines);
    site.workspace.write("bin/child.sh", CHILD);
    site
}

fn all_started(site: &Site) {
    until("three children", || {
        let text = fs::read_to_string(site.workspace.join("started.txt")).unwrap_or_default();
        (text.lines().count() == 3).then_some(())
    });
}

#[track_caller]
fn nothing_lives(site: &Site) {
    let mark = format!("{}/bin/child.sh", site.workspace.path().display());
    until("end of the tree", || processes_with(&mark).is_empty().then_some(()));
}

#[test]
fn at_the_timeout_the_whole_tree_ends() {
    let site =
        tree("while [ \"$(wc -l < started.txt)\" -lt 3 ]; do :; done\necho ready\nwait\n", "timeout = 3");
    let id = site.approved("tool", "{}");
    let run = site.run_call(&id).expect(1);
    assert_eq!(
        (&run["call"]["status"], &run["receipt"]["status"]),
        (&json!("timed-out"), &json!("timed-out"))
    );
    assert_eq!((&run["receipt"]["timed_out"], &run["receipt"]["exit_code"]), (&json!(true), &json!(null)));
    nothing_lives(&site);
    assert_eq!(site.json(["run", "list"]).expect(0)["counts"], json!({"timed-out": 1}));
}

#[test]
fn processes_of_a_script_end_with_it() {
    let site = tree("while [ \"$(wc -l < started.txt)\" -lt 3 ]; do :; done\necho done\n", "");
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!((&receipt["status"], &receipt["exit_code"]), (&json!("completed"), &json!(0)), "{receipt:#}");
    assert!(receipt["process"]["outlived"].as_u64().unwrap() >= 3, "{receipt:#}");
    assert_eq!(site.log_text(&receipt, "stdout"), "done\n");
    nothing_lives(&site);
}

#[test]
fn an_interrupt_ends_the_tree_and_is_recorded() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let site = tree("wait\n", "");
        let id = site.approved("tool", "{}");
        let mut command = site.brigade.command(["tools", "call", "run", &id, "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        all_started(&site);
        assert_eq!(site.status(&id), "running");
        site.json(["call", "approve", &id]).refused("running");
        site.json(["call", "run", &id]).expect(1);
        let killed =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let output = child.wait_with_output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{document:#}");
        assert_eq!(
            (&document["call"]["status"], &document["receipt"]["status"]),
            (&json!("interrupted"), &json!("interrupted"))
        );
        nothing_lives(&site);
        assert_eq!(site.status(&id), "interrupted");
        site.run_call(&id).refused("run replay");
    }
}

#[test]
fn a_runner_that_is_killed_leaves_an_interrupted_call() {
    let site = tree("echo '{\"id\":\"ask\"}' > \"$BRIGADE_TOOL_CHECKPOINT_DIR/a.json\"\nwait\n", "");
    let id = site.approved("tool", "{}");
    let mut command = site.brigade.command(["tools", "call", "run", &id]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    all_started(&site);
    child.kill().unwrap();
    child.wait().unwrap();
    // No process continues without its keeper. Every reader sees the interruption, and the next writer records it.
    nothing_lives(&site);
    assert_eq!(site.status(&id), "interrupted");
    assert_eq!(site.json(["call", "list"]).expect(0)["counts"], json!({"interrupted": 1}));
    site.run_call(&id).expect(1);
    site.queue("tool", r#"{"b":1}"#);
    let list = site.json(["run", "list"]).expect(0);
    assert_eq!(list["counts"], json!({"interrupted": 1}), "{list:#}");
    assert_eq!(site.json(["checkpoint", "list"]).expect(0)["checkpoint_count"], 0);
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
    let run_id = list["runs"][0]["id"].as_str().unwrap();
    assert_eq!(site.json(["run", "show", run_id]).expect(0)["run"]["call_id"], id);
    site.json(["run", "replay", run_id]).expect(0);
    // Files that the script left are removed by the next run.
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "sh bin/other.sh");
    site.workspace.write(
        "bin/other.sh",
        "cd \"$BRIGADE_TOOL_CHECKPOINT_DIR\"; mkdir -p a/b; echo x > a/b/c; ln -s / d\n",
    );
    site.receipt_of("tool", r#"{"c":1}"#);
    let incoming = site.workspace.join(".brigade/tools/checkpoints/incoming");
    let left: Vec<_> = fs::read_dir(incoming).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn private_directory_is_removed_after_killed_runner() {
    let body = r#"
mkdir -p "$TMPDIR/deep/er"; echo x > "$TMPDIR/deep/er/file"; ln -s "$PWD/kept" "$TMPDIR/link"
echo "$TMPDIR" > where.txt
[ -e quick ] || { trap '' TERM; sleep 300 & wait; sleep 300; }
"#;
    let site = Site::script(body);
    let temporary = site.beside("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let site = site.env("TMPDIR", &temporary);
    site.workspace.write("kept/file", "x");
    let left = || fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let id = site.approved("tool", "{}");
    let mut command = site.brigade.command(["tools", "call", "run", &id]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("private folder", || site.workspace.exists("where.txt").then_some(()));
    until("one folder", || (left().len() == 1).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    until("end of the private folder", || left().is_empty().then_some(()));
    assert!(site.workspace.exists("kept/file"), "what a link leads to stays");

    // A run that ends normally removes only its own files.
    site.workspace.write("quick", "");
    fs::create_dir(temporary.join("brigade-run-x")).unwrap();
    site.receipt_of("tool", "{}");
    assert_eq!(left(), [temporary.join("brigade-run-x")]);
    assert!(site.workspace.read_text("where.txt").starts_with(temporary.to_str().unwrap()));
}

#[test]
fn one_approval_is_one_run_however_many_try() {
    let site = Site::script("echo ran >> ran.txt\n");
    let id = site.approved("tool", "{}");
    let start = || {
        let mut command = site.brigade.command(["tools", "call", "run", &id, "--json"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..6).map(|_| start()).collect();
    let codes: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, 0 | 1)), "{codes:?}");
    assert_eq!(site.workspace.read_text("ran.txt"), "ran\n");
    assert_eq!(site.json(["run", "list"]).expect(0)["run_count"], 1);
    let logs = site.workspace.files(".brigade/tools/runs");
    assert_eq!(logs.keys().filter(|path| path.ends_with(".log")).count(), 2, "{:?}", logs.keys());
}

/// A script that tries its argument and prints whether it worked.
const TRY: &str = "if (eval \"$1\") 2>/dev/null; then echo worked; else echo failed; fi\n";

fn confined(mode: &str, effects: &str) -> Site {
    let lines = format!("argument_template = {{ a = \"{{a}}\" }}\neffects = {effects}");
    let site = Site::script_with(TRY, &lines);
    site.add_to_policy(&format!("[sandbox]\nmode = \"{mode}\"\n"));
    site.workspace.write(".git/config", "[core]\n");
    site.workspace.write("data.txt", "data\n");
    fs::write(site.workspace.home().join("private.txt"), "canary-4711\n").expect("the home is there");
    site
}

#[test]
fn sandboxed_reader_writes_nowhere() {
    let site = confined("enforce", r#"["local-read"]"#);
    let outside = site.beside("outside.txt");
    site.tries("cat data.txt", "worked");
    site.tries("echo x > \"$TMPDIR/x\" && cat \"$TMPDIR/x\"", "worked");
    for what in [
        "echo x > data.txt",
        "echo x > new.txt",
        "rm data.txt",
        "mv data.txt other.txt",
        "ln -s data.txt link.txt",
        "chmod 777 data.txt",
        "echo x > .brigade/tools.toml",
        "echo x >> .brigade/tools/calls.jsonl",
        "echo x > .git/config",
        &format!("echo x > '{}'", outside.display()),
        &format!("cat '{}/private.txt'", site.workspace.home().display()),
        "ls /root",
    ] {
        site.tries(what, "failed");
    }
    assert!(!outside.exists() && !site.workspace.exists("new.txt"));
    assert_eq!(site.workspace.read_text("data.txt"), "data\n");
    assert_eq!(site.json(["run", "verify"]).expect(0)["valid"], true);
}

#[test]
fn local_write_does_not_open_state_or_git() {
    let site = confined("enforce", r#"["local-read", "local-write"]"#);
    let outside = site.beside("outside.txt");
    site.tries("echo x > new.txt && mkdir sub && echo y > sub/z && rm data.txt", "worked");
    assert_eq!(site.workspace.read_text("new.txt"), "x\n");
    for what in [
        "echo x > .git/config",
        "echo x > .git/hook",
        "echo x > .brigade/tools/policy.toml",
        "echo x > .brigade/new",
        "mv .brigade moved",
        "mv .git moved",
        "rm -r .git",
        "ln .brigade/tools/policy.toml copy && echo x > copy",
        "ln -s .git/config link && echo x > link",
        &format!("echo x > '{}'", outside.display()),
        &format!("cat '{}/private.txt'", site.workspace.home().display()),
    ] {
        site.tries(what, "failed");
    }
    assert!(!outside.exists());
    assert_eq!(site.workspace.read_text(".git/config"), "[core]\n");
}

#[test]
fn the_network_is_open_to_its_effects_only() {
    let python = "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()'";
    for (effects, expect) in [(r#"["local-read"]"#, "failed"), (r#"["local-read", "network"]"#, "worked")] {
        confined("enforce", effects).tries(python, expect);
    }
}

#[test]
fn the_receipt_says_what_was_enforced() {
    for (mode, confined_to) in [("enforce", true), ("best-effort", true), ("off", false)] {
        let site = confined(mode, r#"["local-read"]"#);
        let receipt = site.receipt_of("tool", r#"{"a":"echo x > data.txt"}"#);
        assert_eq!(receipt["sandbox"]["mode"], mode);
        let enforced = receipt["sandbox"]["enforced"].as_array().map_or(0, Vec::len);
        assert_eq!(0 < enforced, confined_to, "{receipt:#}");
        let expect = if confined_to { "failed" } else { "worked" };
        assert_eq!(site.log_text(&receipt, "stdout").trim_end(), expect);
    }
}
