//! A person at a terminal: `brigade` alone, and the questions of `brigade approve`.

use std::ffi::OsString;

use brigade::{Env, Exit, Workspace};

use crate::surroundings::{Streams, Surroundings, Terminal};

/// A temporary workspace with the sample tools, and a person at its terminal.
struct ReviewBench {
    _folder: tempfile::TempDir,
    surroundings: Surroundings,
}

impl ReviewBench {
    fn new() -> ReviewBench {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("sample");
        Workspace::with_files(&workspace, &crate::commands::sample_files(), Env::of_process()).unwrap();
        let terminal = Terminal { width: Some(200), measure: || Some((200, 50)) };
        let mut surroundings = Surroundings::for_test(workspace);
        surroundings.typed = true;
        surroundings.dumb = true;
        (surroundings.output, surroundings.error) = (Some(terminal), Some(terminal));
        ReviewBench { _folder: folder, surroundings }
    }

    /// Runs a command line while the person types these lines. Returns everything that was printed.
    #[track_caller]
    fn types(&self, line: &str, typed: &str) -> String {
        let (mut output, mut error) = (Vec::new(), Vec::new());
        let streams = Streams { input: &mut typed.as_bytes(), output: &mut output, error: &mut error };
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let exit = crate::run(words, &self.surroundings, streams);
        let printed = format!("{}{}", String::from_utf8_lossy(&output), String::from_utf8_lossy(&error));
        assert!(matches!(exit, Exit::Done), "{line}: {exit:?}\n{printed}");
        printed
    }

    fn queue(&self, path: &str) {
        self.types(&format!("brigade tools call queue count-words --args {{\"paths\":[\"{path}\"]}}"), "");
    }

    #[track_caller]
    fn check_statuses(&self, expect: &[&str]) {
        let list = self.types("brigade tools call list --json", "");
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let calls = list["calls"].as_array().unwrap();
        let statuses: Vec<&str> = calls.iter().map(|call| call["status"].as_str().unwrap()).collect();
        assert_eq!(statuses, expect);
    }
}

/// Issue 45: approving takes a key for each kind of call.
#[test]
fn a_walk_asks_about_each_call() {
    let bench = ReviewBench::new();
    for path in ["README.md", "docs/git-log.md", "docs/count-words.md", "docs/find-todos.md"] {
        bench.queue(path);
    }
    let said = bench.types("brigade approve", "?\nd\ny\nn too broad\nh\nq\n");
    assert!(said.contains("[1/4] Approve count-words?") && said.contains("put it on hold"), "{said}");
    assert!(said.contains("1 approved, 1 rejected, 1 held"), "{said}");
    bench.check_statuses(&["approved", "rejected", "held", "pending"]);
}

#[test]
fn all_calls_of_a_tool_are_approved_with_one_answer() {
    let bench = ReviewBench::new();
    for path in ["README.md", "docs/git-log.md", "docs/count-words.md"] {
        bench.queue(path);
    }
    let said = bench.types("brigade approve", "a\n");
    assert!(said.contains("3 approved"), "{said}");
    bench.check_statuses(&["approved", "approved", "approved"]);
    assert!(bench.types("brigade approve", "").contains("nothing waits"));
}

#[test]
fn the_program_alone_shows_what_waits_or_how_to_begin() {
    let bench = ReviewBench::new();
    bench.queue("README.md");
    let brief = bench.types("brigade", "");
    assert!(brief.contains("pending calls:") && brief.contains("1 (oldest"), "{brief}");
    let nowhere = tempfile::tempdir().unwrap();
    let surroundings =
        Surroundings { current_directory: Ok(nowhere.path().to_owned()), ..bench.surroundings.clone() };
    let elsewhere = ReviewBench { _folder: nowhere, surroundings };
    let beginning = elsewhere.types("brigade", "");
    assert_eq!(beginning.lines().count(), 4, "{beginning}");
    assert!(beginning.contains("brigade discover"), "{beginning}");
}
