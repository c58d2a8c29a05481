//! Streams, JSON, colors, and foreign text in the output.

#![allow(clippy::disallowed_methods, reason = "tests hand odd streams to the binary and start a terminal")]

use std::fs::OpenOptions;
use std::io::pipe;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use brigade_testkit::{Brigade, Run, TempWorkspace};

/// A catalog with texts that contain terminal controls.
const HOSTILE: &str = r#"
[[tool]]
id = "evil"
name = "\u001B[2J\u001B]0;owned\u0007name"
family = "script"
description = "\u202Egnp.exe\r\u009B31m\nnext: rm -rf /"
command = "python3 \u001B[8mhidden"
effects = ["local-read\u001B[1A"]
env_labels = ["A\u0007B"]
supported_harnesses = ["claude\u0008"]
argument_template = { "a\u001B[2K" = "{b}" }
cwd = "\u2066x"
"#;

/// Checks that the output has no terminal controls other than line feeds and Brigade's own colors.
#[track_caller]
fn assert_harmless(run: &Run) {
    for text in [run.stdout_text(), run.stderr_text()] {
        let ours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"];
        let plain = ours.iter().fold(text, |text, code| text.replace(code, ""));
        let acts = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!plain.contains(acts), "{:?}\n{run}", plain.find(acts));
    }
}

#[test]
fn text_of_others_cannot_act_on_the_terminal() {
    let workspace = TempWorkspace::empty();
    workspace.write(".brigade/tools.toml", HOSTILE);
    let brigade = Brigade::new(&workspace);
    let shown = brigade.run(["tools", "describe", "evil"]).stdout_text();
    assert!(shown.contains(r"\u{1b}[2J") && shown.contains(r"\u{202e}gnp.exe\r"), "{shown}");
    for color in ["--color=always", "--color=never"] {
        for words in [
            &["tools", "list"][..],
            &["tools", "show", "evil"],
            &["tools", "search", "evil"],
            &["tools", "describe", "evil"],
            &["tools", "contracts"],
            &["tools", "call", "plan", "evil"],
            &["tools", "call", "queue", "evil", "--include-blocked"],
            &["tools", "call", "list"],
            &["tools", "policy", "explain", "evil"],
            &["tools", "show", "\x1b[31mnone\u{202e}"],
            &["tools", "call", "show", "\x1b]0;x\x07"],
            &["tools", "run", "show", "\r\x1b[2K"],
        ] {
            assert_harmless(&brigade.run(words.iter().copied().chain([color])));
        }
    }
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    let workspace = TempWorkspace::fixture("repo-tools");
    for (words, code) in [
        (&["tools", "list"][..], 0),
        (&["tools", "list", "--json"], 0),
        (&["tools", "call", "list", "--json"], 0),
        (&["--help"], 0),
        (&["completions", "bash"], 0),
        (&["tools", "show", "none", "--json"], 1),
        (&["tools", "call", "plan", "count-words"], 1),
        (&["tools", "nonsense", "--json"], 2),
    ] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let mut command = Brigade::new(&workspace).command(words);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(
            !said.contains("mistake") && !said.contains("panic") && !said.contains("pipe"),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn a_full_device_is_a_failure_of_the_environment() {
    let workspace = TempWorkspace::fixture("repo-tools");
    for words in [
        &["tools", "list"][..],
        &["tools", "list", "--json"],
        &["tools", "call", "list", "--json"],
        &["--version"],
        &["tools", "--help"],
        &["completions", "fish"],
        &["tools", "show", "none", "--json"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Brigade::new(&workspace).command(words);
        let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{words:?}: {said}");
    }
}

#[test]
fn a_closed_standard_error_changes_nothing() {
    let workspace = TempWorkspace::fixture("repo-tools");
    for (words, code) in [(&["tools", "list"][..], 0), (&["tools", "show", "none"], 1), (&["nonsense"], 2)] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let status =
            Brigade::new(&workspace).command(words).stdout(Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(code), "{words:?}");
    }
}

#[test]
fn json_is_one_indented_document_in_utf_8() {
    let workspace = TempWorkspace::empty();
    workspace
        .write(".brigade/tools.toml", "[[tool]]\nid = \"naïve\"\nname = \"日本語\"\nfamily = \"skill\"\n");
    let run = Brigade::new(&workspace).run(["tools", "show", "naïve", "--json"]);
    run.assert_code(0);
    let text = run.stdout_text();
    assert!(text.starts_with("{\n  \"schema\": \"brigade.tool.v1\",\n"), "{run}");
    assert!(text.ends_with("\n}\n") && text.contains("日本語"), "{run}");
    assert!(run.stderr.is_empty(), "{run}");
}

#[test]
fn json_stays_one_document_when_a_command_fails() {
    let workspace = TempWorkspace::fixture("repo-tools");
    for words in [
        &["tools", "show", "none"][..],
        &["tools", "describe", "none"],
        &["tools", "call", "plan", "none"],
        &["tools", "call", "plan", "count-words"],
        &["tools", "call", "plan", "count-words", "--args", "{"],
        &["tools", "call", "plan", "count-words", "--args-json", "nowhere.json"],
        &["tools", "call", "queue", "count-words"],
        &["tools", "call", "show", "none"],
        &["tools", "call", "approve", "none"],
        &["tools", "call", "reject", "none", "--reason", "x"],
        &["tools", "call", "run", "none"],
        &["tools", "call", "run", "--next"],
        &["tools", "run", "show", "none"],
        &["tools", "run", "latest"],
        &["tools", "run", "replay", "none"],
        &["tools", "checkpoint", "show", "none"],
        &["tools", "checkpoint", "resume", "none"],
        &["tools", "policy", "explain", "none"],
    ] {
        let run = Brigade::new(&workspace).run(words.iter().copied().chain(["--json"]));
        run.assert_code(1);
        let document = run.json();
        assert!(document["schema"].as_str().is_some_and(|schema| schema.starts_with("brigade.")), "{run}");
        let says = ["error", "reason", "blockers"].iter().any(|key| {
            document[*key].as_str().is_some_and(|text| !text.is_empty())
                || document[*key].as_array().is_some_and(|list| !list.is_empty())
        });
        assert!(says, "does not say why\n{run}");
        assert!(run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let is_coloured = |run: &Run| run.stdout.contains(&0x1b);
    assert!(!is_coloured(&brigade.run(["tools", "list"])));
    assert!(!is_coloured(&brigade.run(["tools", "list", "--color=never"])));
    assert!(is_coloured(&brigade.run(["--color", "always", "tools", "list"])));
    assert!(is_coloured(&brigade.run(["--color", "always", "tools", "--help"])));
    assert!(!is_coloured(&brigade.run(["--color", "always", "tools", "list", "--json"])));
}

#[test]
fn quiet_leaves_data_and_errors() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    assert!(brigade.run(["tools", "list"]).stderr_text().contains("help: "));
    let run = brigade.run(["tools", "list", "--quiet"]);
    assert!(run.stderr.is_empty() && run.stdout_text().contains("git-log"), "{run}");
    assert!(brigade.run(["-q", "tools", "show", "none"]).stderr_text().contains("error["));
}

#[test]
fn a_blocker_names_its_line_and_the_way_to_change_it() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let run = Brigade::new(&workspace).run(["tools", "call", "plan", "needs-token"]);
    run.assert_code(1);
    let text = run.stdout_text();
    assert!(text.contains(" --> .brigade/tools/policy.toml:9:33\n") && text.contains("\nhelp: "), "{run}");
}

#[test]
fn an_error_has_code_line_and_help_on_stderr() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["tools", "call", "queue", "needs-token"]);
    run.assert_code(1);
    let text = run.stderr_text();
    let line = "\n9 | env_bindings = { GITHUB_TOKEN = \"REPO_TOOLS_TOKEN\" }\n";
    assert!(text.starts_with("error[") && text.contains(line) && text.is_ascii(), "{run}");
    assert!(text.contains(" --> .brigade/tools/policy.toml:9:") && text.contains("\nhelp: "), "{run}");

    let document = brigade.run(["tools", "call", "queue", "needs-token", "--json"]).json();
    let label = &document["labels"][0];
    assert_eq!(
        (&label["file"], &label["line"]),
        (&".brigade/tools/policy.toml".into(), &9.into()),
        "{document}"
    );
    assert!(label["length"].is_u64() && document["code"].is_string(), "{document}");
    let document = brigade.run(["tools", "lst", "--json"]).json();
    assert_eq!((&document["code"], &document["labels"]), (&"usage".into(), &serde_json::json!([])));
}

#[test]
fn errors_of_a_file_are_in_order_and_counted() {
    let workspace = TempWorkspace::empty();
    workspace.write(".brigade/tools.toml", "[[tool]]\nid = \"a\"\nfamily = 3\ntimeout = \"soon\"\n");
    let run = Brigade::new(&workspace).run(["tools", "list"]);
    let text = run.stderr_text();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}\n{run}"));
    assert!(at("\n3 | family = 3\n  | ") < at("\n4 | timeout = \"soon\"\n  | "), "{run}");
    assert!(text.contains("\n\n3 errors\n"), "{run}");
}

/// Runs a command on a terminal with this number of columns, and returns the screen.
fn on_a_terminal(
    workspace: &TempWorkspace,
    columns: u16,
    variables: &[(&str, &str)],
    words: &[&str],
) -> String {
    const SCRIPT: &str = "
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.read(0, 1)
    os.execv(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
mode = termios.tcgetattr(terminal)
mode[3] &= ~termios.ECHO
termios.tcsetattr(terminal, termios.TCSANOW, mode)
os.write(terminal, b'\\n')
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
os.waitpid(pid, 0)
";
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT, &columns.to_string()]).arg(brigade_testkit::brigade_binary()).args(words);
    command
        .current_dir(workspace.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", workspace.home()).envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.output().expect("python3 is there");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("what is shown is UTF-8").replace("\r\n", "\n")
}

#[test]
fn tables_fit_the_terminal_and_are_whole_elsewhere() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let shown = on_a_terminal(&workspace, 60, &[("NO_COLOR", "1")], &["tools", "list", "-q"]);
    assert!(shown.contains('…') && shown.contains("always-fails"), "{shown}");
    assert!(shown.lines().all(|line| line.trim_start_matches('\0').chars().count() <= 60), "{shown}");
    let piped = Brigade::new(&workspace).run(["tools", "list", "-q"]).stdout_text();
    assert!(!piped.contains('…') && piped.contains("the first digits of its sha256."), "{piped}");
}

#[test]
fn a_terminal_is_coloured_unless_it_should_not_be() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let shown = |variables: &[(&str, &str)], words: &[&str]| {
        on_a_terminal(&workspace, 100, variables, words).contains('\x1b')
    };
    assert!(shown(&[("TERM", "xterm")], &["tools", "list"]));
    assert!(!shown(&[("TERM", "xterm"), ("NO_COLOR", "1")], &["tools", "list"]));
    assert!(!shown(&[("TERM", "dumb")], &["tools", "list"]));
    assert!(!shown(&[("TERM", "xterm")], &["tools", "list", "--color=never"]));
    assert!(shown(&[("NO_COLOR", "1")], &["tools", "list", "--color=always"]));
}

#[test]
fn doctor_groups_equal_projection_issues() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    brigade.run(["tools", "init", "--with-skills"]).assert_code(0);
    workspace.write(".claude/commands/frontend.md", "somebody's own words\n");
    let run = brigade.run(["tools", "doctor"]);
    run.assert_code(0);
    let text = run.stdout_text();
    let entries = |of: &str| text.lines().filter(|line| line.starts_with(of)).count();
    assert_eq!(entries("83 projections of 4 tools were never written"), 1, "{text}");
    assert_eq!(entries("warning[missing_projection]"), 0, "{text}");
    assert_eq!(entries("warning[unmanaged_projection]: frontend/claude: "), 1, "{text}");
    let report = brigade.run(["tools", "doctor", "--json", "--tool", "frontend"]).json();
    assert_eq!(report["issue_count"], 21, "{report}");
}

/// Issue 42: `.venv/bin` of the workspace is on `PATH`, and a run could have written a pager there.
#[test]
fn no_pager_comes_from_the_workspace() {
    let workspace = TempWorkspace::fixture("repo-tools");
    workspace.write(".venv/bin/pager-of-a-run", "#!/bin/sh\necho from the workspace\n");
    let bin = workspace.path().join(".venv/bin");
    std::fs::set_permissions(bin.join("pager-of-a-run"), std::fs::Permissions::from_mode(0o755))
        .expect("it is there");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    for words in
        [&["--help"][..], &["tools", "--help"], &["tools", "list"], &["tools", "show", "always-fails"]]
    {
        let shown = on_a_terminal(&workspace, 60, &[("PATH", &path), ("PAGER", "pager-of-a-run")], words);
        assert!(!shown.contains("from the workspace"), "{words:?}: {shown}");
    }
    let own = bin.join("pager-of-a-run").display().to_string();
    let shown = on_a_terminal(&workspace, 60, &[("PAGER", &own)], &["--help"]);
    assert_eq!(shown.trim_start_matches('\0'), "from the workspace\n", "a path is the person's choice");
}
