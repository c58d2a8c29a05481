//! What a person sees when deciding about a call, and decisions about several calls.

use brigade_tests::Site;
use serde_json::{Value, json};

fn site() -> Site {
    let lines = "argument_template = { path = \"{path}\", limit = \"--limit={limit}\" }\neffects = [\"local-read\", \"network\"]";
    let site = Site::script_with("echo \"$@\"\n", lines);
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}"#;
    site.workspace.write("schemas/tool.json", schema);
    site
}

#[track_caller]
fn said(site: &Site, words: &[&str]) -> String {
    let run = site.tools(words);
    run.assert_code(0);
    run.stdout_text()
}

/// Issue 13: `approve` did not show what it approved.
#[test]
fn approve_and_show_name_command_and_access() {
    let site = site();
    let first = site.queue("tool", r#"{"path":"a.txt"}"#);
    let shown = said(&site, &["call", "show", &first, "--full"]);
    for line in [
        "runs:           sh bin/tool.sh a.txt\n",
        "reads:          workspace\n",
        "writes:         nothing\n",
        "network:        yes\n",
        "sandbox:        off, so nothing enforces this\n",
        ", bin/tool.sh\n",
        "asked by:       command-line\n",
        "last approved:  none among the newest runs\n",
    ] {
        assert!(shown.contains(line), "no `{line}`\n{shown}");
    }
    // Issue 45: without `--full`, what a person decides on comes first, and the rest is folded.
    let approved = said(&site, &["call", "approve", &first]);
    assert!(approved.starts_with("tool:  tool\narguments:\n  path = \"a.txt\"\neffects: "), "{approved}");
    let may = "may:            read workspace; write nothing; use the network; sandbox: off, so nothing enforces this\n";
    assert!(
        approved.contains(may)
            && approved.contains(", bin/tool.sh\nmay also load:  anything in the workspace\n"),
        "{approved}"
    );
    assert!(approved.contains("runs:           sh bin/tool.sh a.txt\n"), "{approved}");
    assert!(approved.contains("effects:        local-read, network\n"), "{approved}");

    // Each word is on a separate line, because one contains a blank.
    let second = site.queue("tool", r#"{"path":"b c.txt","limit":3}"#);
    let shown = said(&site, &["call", "show", &second]);
    assert!(shown.contains("runs:\n  sh\n  bin/tool.sh\n  --limit=3\n  b c.txt\n"), "{shown}");
    let differs = format!(
        "last approved:  {first}, which differs in:\n  limit: not given -> 3\n  path: \"a.txt\" -> \"b c.txt\"\n"
    );
    assert!(shown.contains(&differs), "{shown}");
    let document = site.json(["call", "show", &second]).expect(0);
    let preview = &document["preview"];
    assert_eq!(preview["argv"], json!(["sh", "bin/tool.sh", "--limit=3", "b c.txt"]));
    assert_eq!(
        preview["access"],
        json!({"read": ["workspace"], "write": [], "network": true, "sandbox": "off"})
    );
    assert!(preview["binding"]["files"]["bin/tool.sh"].is_string(), "{preview:#}");
    assert_eq!(preview["last_approved"]["call_id"], json!(first));
}

#[test]
fn several_calls_are_decided_at_once() {
    let site = site();
    let [a, b, c] = ["a", "b", "c"].map(|path| site.queue("tool", &json!({"path": path}).to_string()));
    let document = site.json(["call", "approve", &a, "call-nope", &b]).expect(1);
    assert_eq!(document["schema"], "brigade.call-review.v1");
    let calls = document["calls"].as_array().unwrap();
    assert_eq!((&calls[0]["call"]["id"], &calls[0]["call"]["status"]), (&json!(a), &json!("approved")));
    assert_eq!(calls[1]["id"], "call-nope");
    assert!(calls[1]["error"].as_str().unwrap().contains("no call matches `call-nope`"), "{document:#}");
    assert_eq!(calls[2]["call"]["id"], json!(b));
    assert_eq!((site.status(&a), site.status(&b)), ("approved".to_owned(), "approved".to_owned()));

    let run = site.tools(["call", "reject", &a, &c, "--reason", "no"]);
    run.assert_code(0);
    assert!(run.stdout_text().contains(&a) && run.stdout_text().contains(&c), "{run}");
    let held = site.json(["call", "hold", &b, &c, "--reason", "later"]).expect(1);
    let errors: Vec<&Value> = held["calls"].as_array().unwrap().iter().map(|row| &row["error"]).collect();
    assert!(errors[0].is_null() && errors[1].as_str().unwrap().contains("rejected"), "{held:#}");
}

/// Issue 13: a call named twice was an error, or confirmed a reported change.
#[test]
fn a_call_that_is_named_twice_is_decided_once() {
    let site = site();
    let [a, b] = ["a", "b"].map(|path| site.queue("tool", &json!({"path": path}).to_string()));
    let document = site.json(["call", "approve", &a, &a, &b, &a]).expect(0);
    let ids: Vec<&Value> =
        document["calls"].as_array().unwrap().iter().map(|row| &row["call"]["id"]).collect();
    assert_eq!(ids, [&json!(a), &json!(b)], "{document:#}");
    let unknown = site.json(["call", "approve", "call-nope", "call-nope"]).expect(1);
    assert_eq!(unknown["calls"].as_array().unwrap().len(), 1, "{unknown:#}");
    let start = &b[..b.len() - 1];
    site.tools(["call", "reject", &b, start, "--reason", "no"]).assert_code(0);

    let source = Site::script_with("echo ran\n", "source_path = \"docs/tool.md\"\n");
    source.workspace.write("docs/tool.md", "Says ran.\n");
    let changed = source.queue("tool", "{}");
    source.workspace.write("docs/tool.md", "Says something else.\n");
    source.json(["call", "approve", &changed, &changed]).expect(1);
    assert_eq!(source.status(&changed), "pending");
}

/// Issue 13: `approve` showed fewer facts than `show`.
#[test]
fn approve_and_show_report_the_same_facts() {
    let lines =
        "effects = [\"local-read\"]\nenv_labels = [\"GREETING\"]\npermissions = [\"greet\"]\ntimeout = 7\n";
    let site = Site::script_with("echo ran\n", lines);
    site.workspace.write(".brigade/tools/policy.toml", "env_bindings = { GREETING = \"HOME\" }\n");
    let id = site.queue("tool", "{}");
    let shown = said(&site, &["call", "show", &id, "--full"]);
    let approved = said(&site, &["call", "approve", &id, "--full"]);
    let facts =
        ["family:", "command:", "approval mode:", "permissions:", "effects:", "env labels:", "timeout:"];
    for fact in facts {
        let line = |text: &str| text.lines().find(|line| line.starts_with(fact)).map(str::to_owned);
        let (in_show, in_approve) = (line(&shown), line(&approved));
        assert!(in_show.is_some() && in_show == in_approve, "{fact}\n{shown}\n{approved}");
    }
}

/// Issue 13: calls that v0.30 ran did not count as approved.
#[test]
fn a_call_is_compared_with_one_that_v030_approved() {
    let site = site();
    let call = json!({
        "id": "call-old", "status": "completed", "tool_id": "tool", "created_at": "2026-01-01T00:00:00+00:00",
        "reviewed_at": "2026-01-01T00:00:01+00:00", "run_id": "run-old", "args": {"path": "a.txt"},
        "contract": {"effects": ["local-read", "network"]},
    });
    site.workspace.write(".brigade/tools/calls.jsonl", format!("{call}\n"));
    let receipt = json!({
        "id": "run-old", "call_id": "call-old", "status": "completed", "tool_id": "tool",
        "started_at": "2026-01-01T00:00:02+00:00", "completed_at": "2026-01-01T00:00:03+00:00",
    });
    site.workspace.write(".brigade/tools/runs/run-old.json", receipt.to_string());
    let id = site.queue("tool", r#"{"path":"b.txt"}"#);
    let difference = &site.json(["call", "show", &id]).expect(0)["preview"]["last_approved"];
    assert_eq!((&difference["call_id"], &difference["is_unbound"]), (&json!("call-old"), &json!(true)));
    let changed = json!([{"name": "path", "before": "a.txt", "value": "b.txt"}]);
    assert_eq!((&difference["arguments"], &difference["changed"]), (&changed, &json!([])), "{difference:#}");
    let shown = said(&site, &["call", "approve", &id]);
    assert!(shown.contains("call-old by Brigade 0.30, which bound no files; it differs in:\n"), "{shown}");
}

/// Issue 13: the only suggestion for a blocked call was to queue it anyway.
#[test]
fn a_blocked_call_says_its_reasons_and_one_next_step() {
    let site = site();
    let run = site.tools(["call", "queue", "tool", "--args", r#"{"limit":"x","other":1}"#]);
    run.assert_code(1);
    let text = run.stderr_text();
    assert!(text.contains("$.limit: "), "{run}");
    // The line of the arguments, and the mark below it.
    assert!(text.contains("^^^"), "{run}");
    assert_eq!(text.matches("help: ").count(), 2, "{run}");
    assert!(!text.contains("include-blocked"), "{run}");
}
