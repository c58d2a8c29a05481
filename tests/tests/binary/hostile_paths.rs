//! Paths that lead out, links in the place of directories, disk errors, and closed pipes.

#![allow(clippy::disallowed_methods, reason = "tests build hostile trees and hold the binary's pipes")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use brigade_tests::Site;
use serde_json::json;

const MARK: &str = "echo ran > ran.txt\n";
const CATALOG: &str = ".brigade/tools.toml";

#[test]
fn a_state_link_that_leads_out_is_not_followed() {
    for part in [".brigade", ".brigade/tools", ".brigade/tools/runs", ".brigade/tools/checkpoints"] {
        let site = Site::script(MARK);
        let elsewhere = site.beside("elsewhere");
        if part.ends_with("runs") || part.ends_with("checkpoints") {
            fs::create_dir(&elsewhere).unwrap();
        } else {
            fs::rename(site.workspace.join(part), &elsewhere).unwrap();
        }
        symlink(&elsewhere, site.workspace.join(part)).unwrap();
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let before = names();
        let queued = site.json(["call", "queue", "tool"]);
        if queued.code == 0 {
            let id = queued.json["call"]["id"].as_str().unwrap();
            site.json(["call", "approve", id]);
            let run = site.run_call(id);
            assert_ne!(run.code, 0, "{part}\n{}", run.run);
        }
        assert_eq!(names(), before, "{part}: something was written through the link");
        assert!(!site.workspace.exists("ran.txt"), "{part}");
    }
}

#[test]
fn linked_state_files_are_not_written_through() {
    for file in ["calls.jsonl", "queue.lock", "runs/ledger.jsonl"] {
        let site = Site::script(MARK);
        let victim = site.beside("victim.txt");
        fs::write(&victim, "precious\n").unwrap();
        fs::create_dir_all(site.workspace.join(".brigade/tools/runs")).unwrap();
        symlink(&victim, site.workspace.join(".brigade/tools").join(file)).unwrap();
        let queued = site.json(["call", "queue", "tool"]);
        if queued.code == 0 {
            let id = queued.json["call"]["id"].as_str().unwrap();
            site.json(["call", "approve", id]);
            site.run_call(id);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n", "{file}");
    }
}

#[test]
fn ids_of_tools_cannot_play_with_the_terminal() {
    let site = Site::script(MARK);
    for id in [r"a\u001b[31mb", r"a\nb", r"a\u202eb", r"a\u0000b"] {
        let entry = Site::entry("PLACE", "sh bin/tool.sh", "").replace("PLACE", id);
        site.workspace.write(CATALOG, format!("{}\n{entry}", Site::entry("tool", "sh bin/tool.sh", "")));
        for words in [&["list"][..], &["describe", "a"], &["contracts"]] {
            let run = site.tools(words);
            let said = format!("{}{}", run.stdout_text(), run.stderr_text());
            let is_bad = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
            assert!(!said.chars().any(is_bad), "{said:?}");
        }
        site.json(["call", "plan", "tool"]).expect(0);
    }
    let run = site.tools(["show", "a\u{1b}[31mb\u{202e}"]);
    run.assert_code(1);
    assert!(!run.stderr.contains(&0x1b) && !run.stderr_text().contains('\u{202e}'), "{run}");
}

#[test]
fn names_of_files_may_hold_anything() {
    let name = "a \n\t'\"`$(x)é.sh";
    let site = Site::script(MARK);
    site.workspace.write(name, "echo strange > ran.txt\n");
    let quoted = name.replace('\'', r"'\''");
    let command = format!("sh '{quoted}'");
    let entry =
        Site::entry("tool", "PLACE", "").replace("\"PLACE\"", &serde_json::to_string(&command).unwrap());
    site.workspace.write(CATALOG, entry);
    let id = site.approved("tool", "{}");
    site.workspace.write(name, "echo evil > ran.txt\n");
    let run = site.tools(["call", "run", &id]);
    run.assert_code(1);
    assert!(!run.stderr_text().contains('\t'), "{run}");
    site.workspace.write(name, "echo strange > ran.txt\n");
    site.run_call(&id).expect(0);
    assert_eq!(site.workspace.read_text("ran.txt"), "strange\n");
}

#[test]
fn a_workspace_may_have_any_name() {
    let site = Site::script(MARK);
    let moved = site.beside("x").parent().unwrap().join(std::ffi::OsStr::from_bytes(b"sp ace\n\xff"));
    fs::rename(site.workspace.path(), &moved).unwrap();
    fs::create_dir(site.workspace.path()).unwrap();
    let mut words: Vec<std::ffi::OsString> =
        ["tools", "call", "queue", "tool", "--json", "--target"].map(Into::into).into();
    words.push(moved.into_os_string());
    let run = site.brigade.run(&words);
    // Whether such a name is supported or refused, the answer is one document without a crash.
    assert!(matches!(run.code(), Some(0..=3)), "{run}");
    run.json();
}

#[test]
fn unusable_state_is_a_disk_error() {
    let site = Site::script(MARK);
    site.workspace.write(".brigade/tools/queue.lock/x", "");
    let queued = site.json(["call", "queue", "tool"]);
    assert_eq!(queued.code, 3, "the lock is a folder\n{}", queued.run);
    assert_eq!(queued.json["kind"], "environment", "{}", queued.run);
    let run = site.tools(["call", "queue", "tool"]);
    run.assert_code(3);
    assert!(run.stderr_text().starts_with("error[") && run.stdout.is_empty(), "{run}");
    // If a file is in place of a directory, nothing runs, and the approval stays.
    for folder in ["runs", "checkpoints"] {
        let site = Site::script(MARK);
        let id = site.approved("tool", "{}");
        let path = format!(".brigade/tools/{folder}");
        if site.workspace.exists(&path) {
            site.workspace.remove(&path);
        }
        site.workspace.write(&path, "a file");
        let run = site.run_call(&id);
        assert_eq!(run.code, 3, "{folder}\n{}", run.run);
        assert!(!site.workspace.exists("ran.txt"));
        site.workspace.remove(&path);
        assert_eq!(site.status(&id), "approved");
        site.run_call(&id).expect(0);
    }
}

#[test]
fn arguments_of_any_depth_and_size_are_answered() {
    let site = Site::script(MARK);
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    site.workspace.write("deep.json", &deep);
    let plan = site.json(["call", "plan", "tool", "--args-json", "deep.json"]);
    assert_eq!(plan.code, 1, "{}", plan.code);
    site.workspace.write("schemas/tool.json", deep);
    site.json(["call", "plan", "tool"]).expect(1);
    site.workspace.write("schemas/tool.json", r##"{"type":"object","$ref":"#"}"##);
    site.json(["call", "plan", "tool"]).expect(1);
    site.workspace.write(CATALOG, format!("a = {}", "[".repeat(100_000)));
    site.json(["list"]).expect(1);
}

#[test]
fn an_argument_too_long_for_the_kernel_fails_the_run() {
    let site = Site::script_with(MARK, r#"argument_template = { a = "{a}" }"#);
    site.workspace.write("args.json", json!({"a": "x".repeat(3_000_000)}).to_string());
    let queued = site.json(["call", "queue", "tool", "--args-json", "args.json"]);
    if queued.code == 0 {
        let id = queued.json["call"]["id"].as_str().unwrap();
        site.json(["call", "approve", id]).expect(0);
        let run = site.run_call(id).expect(1);
        assert_eq!(run["call"]["status"], "failed");
    }
    assert!(!site.workspace.exists("ran.txt"));
}

#[test]
fn a_full_disk_is_an_error_but_a_closed_pipe_is_not() {
    let site = Site::script(MARK);
    let id = site.approved("tool", "{}");
    for words in
        [&["tools", "list"][..], &["tools", "call", "show", &id, "--json"], &["tools", "call", "run", &id]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = site.brigade.command(words).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("mistake"), "{said}");
    }
    assert_eq!(site.status(&id), "completed");
    for words in [&["tools", "list"][..], &["tools", "call", "show", &id, "--json"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = site.brigade.command(words).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn output_of_a_tool_cannot_control_the_terminal() {
    let site = Site::script("printf '\\033]0;evil\\007\\033[2J\\r\\342\\200\\256text'\n");
    let id = site.approved("tool", "{}");
    for words in [&["call", "run", &id][..], &["run", "latest"], &["run", "list"], &["call", "show", &id]] {
        let run = site.tools(words);
        run.assert_code(0);
        let is_bad = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
        assert!(!run.stdout_text().chars().any(is_bad), "{run}");
    }
}
