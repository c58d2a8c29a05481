//! `brigade demo`, completions, and arguments that come through standard input.

#![allow(clippy::disallowed_methods, reason = "a test opens the full device")]

use std::fs::OpenOptions;
use std::process::Stdio;

use brigade_testkit::{Brigade, TempWorkspace};

#[test]
fn the_demo_runs_all_steps_and_keeps_its_workspace() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["demo", "catalog", "--in", "demo"]);
    run.assert_code(0);
    let text = run.stdout_text();
    for expect in [
        "$ brigade tools list",
        "did you mean `paths`?",
        "  approved, asked by command-line",
        "completed",
        "bin/count_words.py",
        "run list",
    ] {
        assert!(text.contains(expect), "no `{expect}`\n{run}");
    }
    assert!(!text.contains("Expected exit code"), "{run}");
    assert!(run.stderr_text().contains("\nhelp: cd "), "{run}");
    brigade.current_dir("demo").run(["tools", "list"]).assert_code(0);
}

#[test]
fn the_demo_tells_the_story_of_the_first_minutes() {
    let workspace = TempWorkspace::empty();
    let run = Brigade::new(&workspace).run(["demo", "--in", "demo"]);
    run.assert_code(0);
    let text = run.stdout_text();
    for expect in [
        "$ brigade discover",
        "$ brigade setup --yes",
        "completed: buy milk",
        "waits for a person (call-",
        "completed: added",
        "brigade tools trust notes-find",
        "$ brigade pending",
        "$ brigade approve 1",
        "$ brigade log",
    ] {
        assert!(text.contains(expect), "no `{expect}`\n{run}");
    }
    assert!(!text.contains("Expected exit code"), "{run}");
}

#[test]
fn the_demo_is_the_same_whatever_is_set_around_it() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace).env("REPO_TOOLS_TOKEN", "README.md").env("BRIGADE_LOG", "");
    let run = brigade.run(["demo", "catalog", "--in", "demo"]);
    run.assert_code(0);
    assert!(!run.stdout_text().contains("Expected exit code"), "{run}");
}

#[test]
fn the_demo_refuses_a_directory_with_files() {
    let workspace = TempWorkspace::empty();
    workspace.write("demo/mine.txt", "mine");
    let before = workspace.files("");
    let run = Brigade::new(&workspace).run(["demo", "--in", "demo", "--json"]);
    run.assert_code(2);
    assert_eq!(run.json()["error"], "the directory is not empty");
    assert_eq!(workspace.files(""), before);
}

#[test]
fn the_demo_as_json_holds_every_answer() {
    let workspace = TempWorkspace::empty();
    let run = Brigade::new(&workspace).env("TMPDIR", workspace.home()).run(["demo", "catalog", "--json"]);
    run.assert_code(0);
    let document = run.json();
    assert!(document["target"].as_str().unwrap().starts_with(workspace.home().to_str().unwrap()), "{run}");
    let codes: Vec<_> =
        document["steps"].as_array().unwrap().iter().map(|step| step["exit_code"].as_u64()).collect();
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(1)), "{run}");
}

#[test]
fn a_demo_that_cannot_be_shown_says_so_once() {
    let workspace = TempWorkspace::empty();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Brigade::new(&workspace).command(["demo", "catalog", "--in", "demo"]);
    let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.matches("cannot write to standard output").count(), 1, "{said}");
}

#[test]
fn completions_as_json_are_one_document() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    let run = brigade.run(["completions", "bash", "--json"]);
    run.assert_code(0);
    let document = run.json();
    assert_eq!((&document["schema"], &document["shell"]), (&"brigade.completions.v1".into(), &"bash".into()));
    let script = brigade.run(["completions", "bash"]);
    assert_eq!(document["script"], script.stdout_text());
}

#[test]
fn every_shell_has_completions() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = brigade.run(["completions", shell]);
        run.assert_code(0);
        let asks = matches!(shell, "bash" | "fish" | "zsh");
        assert!(run.stdout_text().contains(if asks { "complete" } else { "checkpoint" }), "{run}");
    }
}

/// Issue 45: completions were a static script, and ids had to be copied.
#[test]
fn the_program_completes_ids_of_the_workspace() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let first = |words: &[&str]| {
        let run = brigade.run(["complete", "--"].iter().chain(words));
        run.assert_code(0);
        run.stdout_text().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(first(&["tools", "show", "count-w"]), ["count-words"]);
    assert_eq!(first(&["tools", "call", "approve", ""]), [""; 0]);
    let queued = ["tools", "call", "queue", "count-words", "--args", "{\"paths\":[\"README.md\"]}", "--json"];
    let queued = brigade.run(queued).json();
    let id = queued["call"]["id"].as_str().unwrap().to_owned();
    assert_eq!(first(&["tools", "call", "approve", ""]), std::slice::from_ref(&id));
    assert_eq!(first(&["tools", "call", "approve", &id[..6]]), [id]);
    assert_eq!(first(&["tools", "call", "run", ""]), [""; 0]);
    // Bash asks with the words before the cursor.
    let script = brigade.run(["completions", "bash"]).stdout_text();
    let line = "COMP_WORDS=(brigade tools show count-w); COMP_CWORD=3; _brigade; echo \"${COMPREPLY[@]}\"";
    let programs = brigade_testkit::brigade_binary().parent().unwrap().display().to_string();
    let shell = Brigade::for_program("/bin/bash", &workspace)
        .env("PATH", format!("{programs}:{}", brigade_tests::PATH));
    let run = shell.run(["-c", &format!("{script}\n{line}")]);
    assert_eq!(run.stdout_text(), "count-words\n", "{run}");
}

#[test]
fn arguments_come_from_standard_input_too() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace).input("\u{feff}{\"paths\": [\"README.md\"]}");
    let words = ["tools", "call", "plan", "count-words", "--args-json", "-", "--json"];
    let run = brigade.run(words);
    run.assert_code(0);
    assert_eq!(run.json()["plan"]["args"]["paths"][0], "README.md");
    brigade.input(vec![0xff, 0xfe]).run(words).assert_code(2);
}

#[test]
fn without_python_the_demo_says_so_and_makes_nothing() {
    let workspace = TempWorkspace::empty();
    let run = Brigade::new(&workspace).env("PATH", "/nonexistent").run(["demo", "catalog", "--in", "demo"]);
    run.assert_code(3);
    assert!(run.stderr_text().contains("Python 3") && run.stdout.is_empty(), "{run}");
    assert!(!workspace.exists("demo"));
}
