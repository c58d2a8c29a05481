//! The tour in the README works as shown.

#![allow(clippy::disallowed_methods, reason = "the README is read from the repository")]

use std::path::Path;

use brigade_testkit::{Brigade, TempWorkspace, brigade_binary, normalize};
use brigade_tests::PATH;

/// The directory of the tour in the README.
const DIRECTORY: &str = "/work/words";

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    std::fs::read_to_string(path).expect("the repository has a README")
}

/// Returns the contents of the code blocks of a language.
pub(crate) fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    let fence = format!("\n```{language}\n");
    while let Some((_, block)) = rest.split_once(&fence) {
        let (block, behind) = block.split_once("\n```\n").expect("every block ends");
        found.push(format!("{block}\n"));
        rest = behind;
    }
    found
}

/// Returns the commands of a block, each with its output.
pub(crate) fn commands(block: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => found.push((command.to_owned(), String::new())),
            None => {
                let (_, output) = found.last_mut().expect("a block starts with a command");
                output.push_str(line);
                output.push('\n');
            }
        }
    }
    found
}

/// Issue 13: the tour failed at its first call.
#[test]
fn the_tour_works_as_shown() {
    let workspace = TempWorkspace::empty();
    let programs = brigade_binary().parent().expect("the binary is in a directory").display().to_string();
    let shell = Brigade::for_program("/bin/sh", &workspace).env("PATH", format!("{programs}:{PATH}"));
    let directory = workspace.path().to_str().expect("the path is UTF-8");
    let blocks = blocks(&readme(), "console");
    assert!(3 < blocks.len(), "the tour has several blocks");
    for (command, expect) in blocks.iter().flat_map(|block| commands(block)) {
        let run = shell.run(["-c", &command]);
        let output = format!("{}{}", run.stdout_text(), run.stderr_text());
        assert_eq!(
            normalize(&output),
            normalize(&expect.replace(DIRECTORY, directory)),
            "$ {command}\n{run}"
        );
    }
    let entry = &blocks_of_entry()[0];
    assert!(workspace.read_text(".brigade/tools.toml").contains(entry.as_str()), "{entry}");
}

fn blocks_of_entry() -> Vec<String> {
    blocks(&readme(), "toml")
}
