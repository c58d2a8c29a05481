//! Output, streams and exit codes of the commands around calls.

use brigade_testkit::{Brigade, Run, TempWorkspace};

/// Runs a command line, split at blanks.
#[track_caller]
fn run(brigade: &Brigade, line: &str) -> Run {
    brigade.run(line.split(' '))
}

/// Queues and approves one call, and returns its id.
#[track_caller]
fn approved(brigade: &Brigade, args: &str) -> String {
    let queued = brigade.run(["tools", "call", "queue", "count-words", "--args", args, "--json"]);
    queued.assert_code(0);
    let call = queued.json()["call"]["id"].as_str().expect("a queued call has an id").to_owned();
    run(brigade, &format!("tools call approve {call}")).assert_code(0);
    call
}

#[test]
fn list_text_is_catalog_and_json_is_health() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let text = run(&brigade, "tools list").stdout_text();
    assert!(text.starts_with("ID            FAMILY  HARNESSES      DESCRIPTION\n"), "{text}");
    let listed = run(&brigade, "tools list --json");
    let document = listed.assert_code(0).json();
    for key in
        ["tools", "raw_issues", "top_issue", "parity", "call_queue", "run_history", "checkpoints", "policy"]
    {
        assert!(!document[key].is_null() || key == "top_issue", "no `{key}`\n{listed}");
    }
}

#[test]
fn a_missing_catalog_suggests_init() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    let listed = run(&brigade, "tools list");
    listed.assert_code(1);
    assert!(listed.stderr_text().contains("brigade tools init"), "{listed}");
    run(&brigade, "tools init").assert_code(0);
    run(&brigade, "tools list").assert_code(0);
    run(&brigade, "tools init").assert_code(2);
    run(&brigade, "tools init --force").assert_code(0);
}

#[test]
fn doctor_fails_on_issues_only_when_it_should() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let healthy = run(&brigade, "tools doctor");
    healthy.assert_code(0);
    assert!(healthy.stdout_text().contains("issues:"), "{healthy}");
    run(&brigade, "tools doctor --strict").assert_code(1);
    assert_eq!(run(&brigade, "tools doctor --sarif").assert_code(0).json()["version"], "2.1.0");
    run(&brigade, "tools doctor --only nonsense").assert_code(2);
    run(&brigade, "tools doctor --dry-run").assert_code(2);
    run(&brigade, "tools doctor --fix --dry-run").assert_code(0);
}

#[test]
fn projections_are_planned_shown_and_written() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    run(&brigade, "tools apply").assert_code(2);
    run(&brigade, "tools apply git-log --all").assert_code(2);
    let planned = run(&brigade, "tools plan git-log");
    planned.assert_code(0);
    assert!(planned.stdout_text().contains(".claude/commands/git-log.md"), "{planned}");
    let dry = run(&brigade, "tools apply git-log --dry-run");
    dry.assert_code(0);
    assert!(dry.stdout_text().contains("would write .claude/commands/git-log.md"), "{dry}");
    assert!(!workspace.exists(".claude/commands/git-log.md"));
    let applied = run(&brigade, "tools apply --all");
    applied.assert_code(0);
    assert!(applied.stdout_text().contains("wrote .claude/commands/git-log.md"), "{applied}");
    assert!(workspace.exists(".claude/commands/git-log.md"));
    workspace.write(".claude/commands/git-log.md", "my own words\n");
    let refused = run(&brigade, "tools apply git-log");
    refused.assert_code(1);
    assert!(refused.stderr_text().contains("not written: .claude/commands/git-log.md"), "{refused}");
    run(&brigade, "tools sync apply git-log --write").assert_code(1);
    assert_eq!(workspace.read(".claude/commands/git-log.md"), b"my own words\n");
}

#[test]
fn a_run_shows_its_receipt_and_a_failed_one_fails() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let call = approved(&brigade, r#"{"paths": ["README.md"]}"#);
    let ran = run(&brigade, &format!("tools call run {call}"));
    ran.assert_code(0);
    assert!(ran.stdout_text().contains("status:       completed"), "{ran}");
    run(&brigade, &format!("tools call run {call}")).assert_code(1);

    let call = approved(&brigade, r#"{"paths": ["nowhere.md"]}"#);
    let failed = run(&brigade, "tools call run --next");
    failed.assert_code(1);
    assert!(failed.stdout_text().contains(&call) && failed.stdout_text().contains("failed"), "{failed}");
    assert!(failed.stderr_text().contains("brigade tools run replay"), "{failed}");
    run(&brigade, "tools run verify").assert_code(0);
    let listed = run(&brigade, "tools run list --limit 1");
    assert_eq!(listed.stdout_text().matches("run-").count(), 1, "{listed}");
}

#[test]
fn prefixes_that_fit_several_calls_list_them() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let calls = [r#"{"paths": ["a"]}"#, r#"{"paths": ["b"]}"#].map(|args| approved(&brigade, args));
    let shown = run(&brigade, "tools call show call-");
    shown.assert_code(1);
    for call in &calls {
        assert!(shown.stderr_text().contains(call), "{shown}");
    }
    let document = run(&brigade, "tools call show call- --json").json();
    assert_eq!(document["candidates"].as_array().unwrap().len(), 2);
}

#[test]
fn calls_are_listed_in_order_as_text_and_json() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let lines: Vec<String> =
        (0..1_200).map(|n| format!(r#"{{"tool": "count-words", "args": {{"paths": ["{n}"]}}}}"#)).collect();
    let brigade = Brigade::new(&workspace);
    let queued = brigade.clone().input(lines.join("\n")).run(["tools", "call", "queue", "--stdin"]);
    queued.assert_code(0);
    assert!(queued.stdout_text().ends_with("1200 queued, 0 already queued, 0 refused\n"), "{queued}");

    let document = run(&brigade, "tools call list --json").assert_code(0).json();
    assert_eq!(document["counts"]["pending"], 1_200);
    let paths: Vec<_> =
        document["calls"].as_array().unwrap().iter().map(|call| &call["args"]["paths"][0]).collect();
    assert_eq!(paths.len(), 1_200);
    assert!(paths.iter().enumerate().all(|(n, path)| path.as_str() == Some(&n.to_string())));

    let newest = run(&brigade, "tools call list").stdout_text();
    assert_eq!(newest.matches("pending").count(), 51, "people see the newest 50");
    let row = newest.lines().last().unwrap_or_default();
    assert!(row.contains("you  count-words  paths=[\"1199\"]") && !row.contains("-queued-"), "{newest}");
    let text = run(&brigade, "tools call list --all").stdout_text();
    assert_eq!(text.matches("CALL").count(), 1, "one header");
    assert_eq!(text.matches("pending").count(), 1_201);
    let newest = run(&brigade, "tools call list --limit 1 --json").json();
    assert_eq!(newest["calls"][0]["args"]["paths"][0], "1199");

    let exported = run(&brigade, "tools state export");
    exported.assert_code(0);
    assert_eq!(exported.stdout_text().lines().count(), 1_200);
    assert_eq!(run(&brigade, "tools state export --json").json()["records"].as_array().unwrap().len(), 1_200);
}

#[test]
fn a_batch_answers_every_line() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let good = r#"{"tool": "count-words", "args": {"paths": ["README.md"]}}"#;
    let brigade =
        Brigade::new(&workspace).input(format!("{good}\nnonsense\n\n{good}\n{{\"tool\": \"none\"}}\n"));
    let queued = run(&brigade, "tools call queue --stdin --json");
    queued.assert_code(1);
    let document = queued.json();
    assert_eq!(
        (&document["created"], &document["skipped"], &document["refused"]),
        (&1.into(), &1.into(), &2.into())
    );
    let lines: std::collections::BTreeSet<_> =
        document["rows"].as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines.into_iter().collect::<Vec<_>>(), [1, 2, 4, 5]);
    run(&brigade, "tools call queue git-log --stdin").assert_code(2);
    run(&brigade, "tools call queue").assert_code(2);
}

#[test]
fn issues_become_work_once() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let imported = run(&brigade, "tools import-issues --json").assert_code(0).json();
    assert!(0 < imported["created"].as_u64().unwrap(), "{imported}");
    assert_eq!(run(&brigade, "tools import-issues --json").json()["created"], 0);
    let listed = run(&brigade, "work inbox list --json").assert_code(0).json();
    let row = listed["items"][0]["id"].as_str().unwrap().to_owned();
    run(&brigade, &format!("work inbox show {row}")).assert_code(0);
    run(&brigade, &format!("work inbox dismiss {row} --reason no")).assert_code(0);
    let brief = run(&brigade, "work brief");
    brief.assert_code(0);
    assert!(brief.stdout_text().contains("next:"), "{brief}");
}

#[test]
fn logging_is_for_those_who_ask() {
    let workspace = TempWorkspace::fixture("repo-tools");
    let brigade = Brigade::new(&workspace);
    let quiet = run(&brigade, "tools contracts -q");
    assert!(quiet.stderr.is_empty(), "{quiet}");
    run(&brigade, "tools contracts --verbose").assert_code(0);
    brigade.env("BRIGADE_LOG", "no such=level=at all").run(["tools", "list"]).assert_code(0);
}
