//! The tutorial in docs/kitchen.md works as shown.

#![allow(clippy::disallowed_methods, reason = "the page is read from the repository")]

use std::path::Path;

use brigade_testkit::{Brigade, TempWorkspace, brigade_binary, normalize};
use brigade_tests::PATH;

use crate::readme_tour::{blocks, commands};

/// Replaces commit ids and other values that differ between runs.
fn comparable(text: &str) -> String {
    let is_commit = |word: &str| {
        let word = word.trim_matches(['(', ')']);
        matches!(word.len(), 10 | 40) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let word = |word: &str| if is_commit(word) { "[COMMIT]".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    normalize(&text.lines().map(line).collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_tutorial_works_as_shown() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kitchen.md");
    let page = std::fs::read_to_string(page).expect("the repository has the page");
    let workspace = TempWorkspace::empty();
    let programs = brigade_binary().parent().expect("the binary is in a directory").display().to_string();
    let shell = Brigade::for_program("/bin/sh", &workspace).env("PATH", format!("{programs}:{PATH}"));
    let blocks = blocks(&page, "console");
    assert!(3 < blocks.len(), "the tutorial has several blocks");
    for (command, expect) in blocks.iter().flat_map(|block| commands(block)) {
        // Joins the streams, as a person sees them.
        let run = shell.run(["-c", &format!("{{ {command}\n}} 2>&1")]);
        let output = run.stdout_text();
        assert_eq!(comparable(&output), comparable(&expect), "$ {command}\n{run}");
    }
}
