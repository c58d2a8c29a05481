use super::*;
use crate::testing::Bench;
use crate::{CATALOG, GATEWAY, POLICY, RUNTIMES};

fn served(id: &str, lines: &str) -> String {
    format!(
        "[[tool]]\nid = '{id}'\nname = 'N'\nfamily = 'mcp'\ncommand = 'serve x'\nmcp_server_id = 's'\n\
             mcp_tool_name = '{id}'\n{lines}\n"
    )
}

/// Returns the ids of the entries that the process of the tool `own` serves.
#[track_caller]
fn check(files: &[(&str, &str)], expect: &[&str]) {
    let bench = Bench::new(files);
    let config = bench.config();
    let tool = config.catalog.tool("own").unwrap();
    let ids: Vec<&str> =
        config.served_with(&bench.host(), tool).iter().map(|tool| tool.id.as_str()).collect();
    assert_eq!(ids, expect);
}

#[test]
fn entries_share_a_process_if_it_is_started_alike() {
    let catalog = [
        served("later", ""),
        served("own", "env_labels = ['B', 'A']"),
        served("same", "env_labels = ['A', 'B', 'A']\ncwd = '.'\neffects = ['network']"),
        served("labels", "env_labels = ['A']"),
        served("place", "env_labels = ['A', 'B']\ncwd = 'sub'"),
        served("off", "env_labels = ['A', 'B']\nenabled = false"),
        "[[tool]]\nid = 'script'\nname = 'N'\nfamily = 'script'\ncommand = 'serve x'\nenv_labels = ['A', 'B']\n".to_owned(),
    ];
    check(&[(CATALOG, &catalog.concat())], &["own", "same"]);
}

#[test]
fn an_entry_that_the_policy_refuses_is_not_served() {
    let catalog =
        [served("own", "effects = ['local-read']"), served("net", "effects = ['network']")].concat();
    let policy = "allowed_effects = ['local-read']\n";
    check(&[(CATALOG, &catalog), (POLICY, policy)], &["own"]);
    check(&[(CATALOG, &catalog)], &["own", "net"]);
}

#[test]
fn offers_of_the_server_are_served_too() {
    let gateway = "[[upstream]]\nid = 's'\nresources = ['file:///srv/**']\neffects = ['local-read']\n";
    check(&[(CATALOG, &served("own", "")), (GATEWAY, gateway)], &["own", "resource.read"]);
}

#[test]
fn the_runtime_of_a_tool_is_the_one_with_its_command() {
    let runtime = |command: &str| format!("[[runtime]]\nid = 'r'\nname = 'r'\ncommand = '{command}'\n");
    for (command, lines, expect) in [
        ("serve x", "runtime_id = 'r'", true),
        ("serve y", "runtime_id = 'r'", false),
        ("serve x", "runtime_id = 'gone'", false),
        ("serve x", "", false),
    ] {
        let bench = Bench::new(&[(CATALOG, &served("own", lines)), (RUNTIMES, &runtime(command))]);
        let config = bench.config();
        let found = config.runtime_of(&bench.host(), config.catalog.tool("own").unwrap());
        assert_eq!(found.is_some(), expect, "{command} {lines}");
    }
}

#[test]
fn an_approval_binds_the_code_and_data_of_every_served_entry() {
    let catalog = [
        served("own", "code = ['a/*']\ndata = ['shared/**']"),
        served("more", "code = ['b/*']\ndata = ['d/**']\neffects = ['network']"),
    ]
    .concat();
    let bench = Bench::new(&[(CATALOG, &catalog), ("a/1", ""), ("b/2", "")]);
    let config = bench.config();
    let reader = FactReader::new(bench.host(), &config);
    let tool = config.catalog.tool("own").unwrap();
    let (mut decision, mut named) = (config.decision_on(&bench.host(), tool), NamedFiles::default());
    let fact = reader.share(tool, &mut decision, &mut named).unwrap().unwrap();
    assert_eq!(named.files.keys().collect::<Vec<_>>(), ["b/2"]);
    assert_eq!(fact.tools.iter().collect::<Vec<_>>(), ["more", "own"]);
    assert_eq!(fact.effects.iter().collect::<Vec<_>>(), ["network"]);
    assert_eq!(fact.data.iter().collect::<Vec<_>>(), ["d/**"]);
}
