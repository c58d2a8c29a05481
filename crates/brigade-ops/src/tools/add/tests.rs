use brigade_workspace::CATALOG;

use super::*;
use crate::testing::Bench;

fn runtime(fields: &str) -> Runtime {
    let text = format!("[[runtime]]\nid = \"r\"\nname = \"R\"\n{fields}\n");
    let runtimes = brigade_catalog::Runtimes::parse(RUNTIMES, Level::Project, text.as_bytes());
    runtimes.runtime("r").unwrap().clone()
}

#[test]
fn a_server_needs_its_family_and_what_it_reaches() {
    for (fields, effects, remotes, labels) in [
        ("command = \"server\"", "", "", ""),
        ("command = \"npx -y notes\"", "network", "", ""),
        ("command = \"server\"\nenv_labels = [\"TOKEN\"]", "", "", "TOKEN"),
        ("url = \"https://far.example/mcp\"", "network", "https://far.example", ""),
    ] {
        let needs = needs_of_server(&runtime(fields));
        let words = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(words(needs.families), "mcp");
        assert_eq!(
            (words(needs.effects).as_str(), words(needs.remotes).as_str(), words(needs.labels).as_str()),
            (effects, remotes, labels),
            "{fields}"
        );
    }
}

#[test]
fn a_command_that_downloads_its_package_is_known() {
    for (command, expect) in [
        ("npx -y notes", true),
        ("uvx notes", true),
        ("python3 server.py", false),
        ("npx 'broken", false),
        ("", false),
    ] {
        assert_eq!(downloads_package(command), expect, "{command}");
    }
}

#[test]
fn permissions_are_added_once_and_nothing_is_widened_without_a_policy() {
    let additions = PolicyAdditions {
        families: BTreeSet::from(["mcp".to_owned()]),
        effects: BTreeSet::from(["network".to_owned()]),
        ..PolicyAdditions::default()
    };
    let bench = Bench::new(&[]);
    allow(&bench.context, &additions).unwrap();
    assert_eq!(bench.read(POLICY), None);
    bench
        .write(POLICY, "# mine\nallowed_families = [\"script\"] # two\nallowed_effects = [\"local-read\"]\n");
    allow(&bench.context, &additions).unwrap();
    let text = bench.read(POLICY).unwrap();
    assert!(text.starts_with("# mine\nallowed_families = [\"script\", \"mcp\"] # two\n"), "{text}");
    assert!(text.contains("allowed_effects = [\"local-read\", \"network\"]\n"), "{text}");
    allow(&bench.context, &additions).unwrap();
    assert_eq!(bench.read(POLICY), Some(text));
}

#[test]
fn an_invalid_policy_is_not_edited() {
    for text in ["allowed_effects = 3\n", "[[auto_approve]\n"] {
        let bench = Bench::new(&[(POLICY, text)]);
        let error = allow(&bench.context, &PolicyAdditions::default()).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::InvalidConfig, ErrorCode::PolicyInvalid));
        let rule = RuleText { name: "r".to_owned(), ..RuleText::default() };
        assert!(add_policy_rule(&bench.context, &rule).is_err());
        assert_eq!(bench.read(POLICY).as_deref(), Some(text));
    }
}

#[test]
fn the_command_of_a_server_gets_the_path_of_its_program() {
    let mut bench = Bench::of_user(&[]);
    // The programs of a person are outside of the workspace.
    bench.program("bin/server", "#!/bin/sh\n");
    let command = |bench: &Bench, fields: &str| with_program(&bench.context, runtime(fields)).command;
    for fields in
        ["command = \"server -v\"", "command = \"gone\"", "command = \"./server\"", "command = \"'broken\""]
    {
        let before = runtime(fields).command;
        assert_eq!(command(&bench, fields), before, "a program of the workspace, none, or a path");
    }
    bench = bench.variable("PATH", "/usr/bin:/bin");
    assert_eq!(command(&bench, "command = \"server\""), "server", "the files in memory have no such program");
}

#[test]
fn the_runtime_of_an_entry_is_the_one_that_it_names() {
    let catalog = "[[tool]]\nid = \"notes\"\nname = \"N\"\nfamily = \"mcp\"\nruntime_id = \"other\"\n\
        [[tool]]\nid = \"plain\"\nname = \"P\"\nfamily = \"script\"\n";
    let bench = Bench::new(&[(CATALOG, catalog)]);
    for (id, expect) in [("notes", "other"), ("plain", "plain"), ("gone", "gone")] {
        assert_eq!(runtime_of_entry(&bench.context, id).unwrap(), expect);
    }
}

#[test]
fn tools_that_are_no_servers_are_registered_and_start_nothing() {
    let bench = Bench::of_user(&[(CATALOG, "")]);
    let text = "tools:\n- id: jq\n  source: {type: cli, command: jq}\n".to_owned();
    let source = RegisterSource::Text("r.yaml".to_owned(), text);
    let added = add_tools(&bench.context, &source, None, None).unwrap();
    assert_eq!((added.others, added.servers.len()), (vec!["jq".to_owned()], 0));
    let error = add_tools(&bench.context, &source, None, None).unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::Register(_))), "{error:?}");
}
