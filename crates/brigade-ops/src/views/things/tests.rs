use brigade_workspace::{CATALOG, GATEWAY};

use super::*;
use crate::report::WaitingRow;
use crate::testing::{CallBench, RunEnding};

fn descriptions(daily: &Daily, word: &str) -> Vec<String> {
    daily.look_up(word).unwrap().iter().map(NamedThing::describe).collect()
}

#[test]
fn an_id_or_its_prefix_means_a_record() {
    let bench = CallBench::new("");
    let run = bench.ran("{}", RunEnding::waiting(&[("checkpoint-1", &["yes"]), ("gate", &["yes"])]));
    let (call, run) = (run.call.id.to_string(), run.receipt.id.to_string());
    let daily = bench.daily();
    for (word, expect) in [
        (call.as_str(), vec![call.clone()]),
        (&call[..9], vec![call.clone()]),
        (run.as_str(), vec![run.clone()]),
        (&run[..8], vec![run.clone()]),
        (" latest ", Vec::new()),
        ("checkpoint-1", vec!["checkpoint-1".to_owned()]),
        ("checkpoint-", vec!["checkpoint-1".to_owned()]),
        // A checkpoint that waits is found by any name.
        ("gate", vec!["gate".to_owned()]),
        ("", Vec::new()),
        ("  ", Vec::new()),
        ("call-nope", Vec::new()),
        ("run-nope", Vec::new()),
        ("nothing", Vec::new()),
    ] {
        assert_eq!(descriptions(&daily, word), expect, "{word}");
    }
}

#[test]
fn a_prefix_of_several_ids_means_all_of_them() {
    let bench = CallBench::new("");
    let [one, two] = [r#"{"a":1}"#, r#"{"a":2}"#].map(|args| bench.queue(args).to_string());
    let mut found = descriptions(&bench.daily(), "call-");
    found.sort();
    let mut expect = vec![one, two];
    expect.sort();
    assert_eq!(found, expect);
}

#[test]
fn a_number_means_what_was_shown_with_it() {
    let bench = CallBench::new("");
    let id = bench.queue("{}");
    let daily = bench.daily();
    assert_eq!(daily.look_up("1").unwrap(), []);
    daily.pending().unwrap();
    assert_eq!(daily.look_up("1").unwrap(), [NamedThing::Call(id)]);
    assert_eq!(daily.look_up("2").unwrap(), []);
}

#[test]
fn a_name_means_a_tool_a_runtime_or_an_agent() {
    let bench = CallBench::new("");
    bench.write(GATEWAY, "[[agent]]\nname = \"ann\"\n");
    bench.write(
        ".brigade/tools/runtimes.toml",
        "[[runtime]]\nid = \"docs\"\nname = \"Docs\"\ncommand = \"sleep 600\"\n",
    );
    let entry = "[[tool]]\nid = \"docs.search\"\nname = \"Search\"\nfamily = \"mcp\"\nmcp_server_id = \"server\"\n\
        mcp_tool_name = \"search\"\nruntime_id = \"docs\"\n";
    bench.add(CATALOG, entry);
    let daily = bench.daily();
    assert_eq!(descriptions(&daily, "tool"), ["tool tool"]);
    assert_eq!(descriptions(&daily, "docs"), ["runtime docs"]);
    // The id of its server also means the runtime.
    assert_eq!(descriptions(&daily, "server"), ["runtime docs"]);
    assert_eq!(descriptions(&daily, "docs.search"), ["tool docs.search"]);
    assert_eq!(descriptions(&daily, "ann"), ["agent ann"]);
}

#[test]
fn a_question_that_waits_is_found_by_its_prefix() {
    let bench = CallBench::new("");
    let question =
        WaitingRow::question("q-1234".to_owned(), ("ann", "s-1"), "Go on?", Vec::new(), bench.context.now());
    let daily = bench.daily_with(Vec::new(), vec![question]);
    assert_eq!(daily.look_up("q-12").unwrap(), [NamedThing::Waiting("q-1234".to_owned())]);
    assert_eq!(daily.look_up("q-2").unwrap(), []);
}

#[test]
fn prds_and_tasks_are_found_by_name_and_path() {
    let bench = CallBench::new("");
    bench.write("brigade/tasks/prd-login.json", "{}");
    bench.write("docs/other.json", "{}");
    let daily = bench.daily();
    assert_eq!(descriptions(&daily, "login"), ["PRD brigade/tasks/prd-login.json"]);
    assert_eq!(descriptions(&daily, "docs/other.json"), ["PRD docs/other.json"]);
    assert_eq!(descriptions(&daily, "login/T-1"), ["task T-1 of brigade/tasks/prd-login.json"]);
    assert_eq!(descriptions(&daily, "docs/tool.md"), [""; 0], "another file is not a PRD");
    assert_eq!(descriptions(&daily, "nope/T-1"), [""; 0]);
}

#[test]
fn a_row_of_the_inbox_is_found_last() {
    let bench = CallBench::new("");
    bench.write(".brigade/work/imports/inbox.jsonl", "{\"id\":\"2026-row\"}\n{\"id\":\"tool\"}\n");
    let daily = bench.daily();
    assert_eq!(daily.look_up("2026-").unwrap(), [NamedThing::InboxRow("2026-".to_owned())]);
    assert_eq!(descriptions(&daily, "tool"), ["tool tool"]);
}
