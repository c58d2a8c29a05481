//! Checks that examples parse and that they work in the sample workspace.

use std::collections::BTreeSet;
use std::ffi::OsString;

use brigade::command::Argv;
use brigade::{Env, Exit, Workspace};
use clap::CommandFactory as _;
use clap::Parser as _;

use super::*;
use crate::command_line::Arguments;
use crate::{Streams, Surroundings};

/// Returns the words of an example, up to redirections and pipes.
fn words(line: &str) -> Vec<String> {
    let words = Argv::parse(line).unwrap().words().to_vec();
    words.into_iter().take_while(|word| word != "<" && word != ">").collect()
}

#[test]
fn every_command_has_examples_of_itself() {
    fn walk(command: &Command, group: &str, seen: &mut BTreeSet<(String, String)>) {
        let name = command.get_name();
        if command.has_subcommands() {
            command.get_subcommands().for_each(|inner| walk(inner, name, seen));
            return;
        }
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let listed = all().find(|(named, _)| *named == format!("{group} {name}"));
        let Some((_, examples)) = listed else { panic!("no examples of {group} {name}") };
        assert_eq!(help, section(examples), "{group} {name}");
        assert!((1..=3).contains(&examples.lines().count()), "{group} {name}");
        let (first, _) = split(examples).next().unwrap();
        assert!(words(first).iter().any(|word| word == name), "{group} {name}");
        seen.insert((group.to_owned(), name.to_owned()));
    }
    let mut command = Arguments::command();
    command.build();
    // `brigade state` is `brigade tools state`.
    let mut seen = BTreeSet::new();
    walk(&command, "", &mut seen);
    assert_eq!(seen.len(), all().count());
}

#[test]
fn each_example_is_understood_and_fits_on_a_line() {
    for (_, examples) in all() {
        for (line, _) in split(examples) {
            if let Err(error) = Arguments::try_parse_from(words(line)) {
                panic!("{line}\n{error}");
            }
        }
        assert!(section(examples).lines().all(|line| line.len() <= 100), "{}", section(examples));
    }
}

#[test]
fn examples_without_ids_work_in_the_sample_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("sample");
    let mut files = crate::commands::sample_files();
    files.push(brigade::NewFile::new("args.json", r#"{"paths": ["README.md"]}"#));
    let github = r#"{"mcpServers": {"github": {"command": "npx", "args": ["-y", "server-github"]}}}"#;
    files.push(brigade::NewFile::new(".cursor/mcp.json", github));
    files.push(brigade::NewFile::new("tools-registry.yaml", "tools:\n  - id: fmt\n    name: fmt\n"));
    let server = r#"{"name": "io.example/weather", "version": "1.0.0", "packages": [{"registryType": "npm",
        "identifier": "weather", "version": "1.0.0", "transport": {"type": "stdio"}}]}"#;
    files.push(brigade::NewFile::new("server.json", server));
    files.push(brigade::NewFile::new("brigade/brigade.config", "MAX_PARALLEL=2\n"));
    Workspace::with_files(&workspace, &files, Env::of_process()).unwrap();
    let surroundings = Surroundings::for_test(workspace);
    let is_id = |word: &str| 2 < word.len() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    // Leaves out commands that start processes, write outside of the workspace, need a terminal or a server, or run
    // until they are stopped.
    let is_kept_out = |line: &str| {
        [
            "runtime start",
            "runtime restart",
            "--follow",
            "--always",
            "--live",
            "keys",
            "demo",
            "brigade setup",
            "brigade add",
            "registry add",
            "review",
            "--web",
            "brigade team",
            "--target",
            "~",
            "<",
        ]
        .iter()
        .any(|word| line.contains(word))
    };
    let mut ran = 0;
    for line in lines() {
        let words = words(line);
        if is_kept_out(line) || words.iter().any(|word| is_id(word.split('.').next().unwrap_or(word))) {
            continue;
        }
        let (mut output, mut error) = (Vec::new(), Vec::new());
        let streams = Streams { input: &mut std::io::empty(), output: &mut output, error: &mut error };
        let exit = crate::run(words.into_iter().map(OsString::from).collect(), &surroundings, streams);
        let exists = line.ends_with(" init") && exit == Exit::Usage;
        assert!(
            exists || matches!(exit, Exit::Done | Exit::Refused),
            "{line}\n{}",
            String::from_utf8_lossy(&error)
        );
        ran += 1;
    }
    assert!(40 < ran, "{ran}");
}
