//! Mistakes in requests are always reported.

use brigade_tests::Site;
use serde_json::{Value, json};

#[test]
fn a_status_that_is_none_is_a_mistake() {
    let site = Site::script("echo ran\n");
    site.receipt_of("tool", "{}");
    for (words, near) in [
        (["call", "list", "--status", "pendin"], "did you mean `pending`?"),
        (["run", "list", "--status", "fail"], "statuses are"),
        (["run", "list", "--status", "faild"], "did you mean `failed`?"),
    ] {
        let document = site.json(words).expect(2);
        assert!(document["hints"].to_string().contains(near), "{document:#}");
        site.tools(words).assert_code(2);
    }
    assert_eq!(site.json(["call", "list", "--status", "held"]).expect(0)["calls"], json!([]));
    assert_eq!(
        site.json(["run", "list", "--status", "completed"]).expect(0)["runs"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_tool_that_is_not_there_is_noted() {
    let site = Site::script("echo ran\n");
    site.queue("tool", "{}");
    for list in [["call", "list", "--tool"], ["run", "list", "--tool"]] {
        let words = |tool| list.into_iter().chain([tool]).collect::<Vec<_>>();
        let run = site.tools(words("tol"));
        run.assert_code(0);
        assert!(run.stderr_text().contains("did you mean `tool`?"), "{run}");
        let document = site.json(words("tol")).expect(0);
        assert!(document["notes"].to_string().contains("no tool has the id `tol`"), "{document:#}");
        assert!(!site.tools(words("tool")).stderr_text().contains("no tool"));
    }
}

#[test]
fn a_count_is_at_least_one() {
    let site = Site::script("echo ran\n");
    for list in ["call", "run"] {
        for count in ["0", "-1", "x"] {
            let document = site.json([list, "list", "--limit", count]).expect(2);
            assert!(document["error"].to_string().contains("1 or more"), "{document:#}");
        }
        site.json([list, "list", "--limit", "1"]).expect(0);
    }
}

/// Queues lines, and returns the rows.
fn rows(site: &Site, lines: &str) -> Vec<Value> {
    let run = site.brigade.clone().input(lines).run(["tools", "call", "queue", "--stdin", "--json"]);
    let text = site.brigade.clone().input(lines).run(["tools", "call", "queue", "--stdin"]);
    let numbers: Vec<String> = text
        .stdout_text()
        .lines()
        .filter(|line| line.starts_with("line "))
        .map(|line| line.split(':').next().unwrap_or(line).replace("line ", ""))
        .collect();
    let rows = run.json()["rows"].as_array().expect("rows").clone();
    assert_eq!(numbers, rows.iter().map(|row| row["line"].to_string()).collect::<Vec<_>>(), "{text}");
    rows
}

#[test]
fn lines_are_answered_in_order() {
    let site = Site::script("echo ran\n");
    let rows = rows(
        &site,
        "{\"tool\":\"tool\",\"args\":{\"a\":1}}\n{\"tool\":\"tol\"}\n\n{\"tool_id\":\"tool\",\"argz\":{}}\n{\"tool\":\"tool\"}\nx\n",
    );
    let lines: Vec<&Value> = rows.iter().map(|row| &row["line"]).collect();
    assert_eq!(lines, [&json!(1), &json!(2), &json!(4), &json!(5), &json!(6)]);
    let created: Vec<&Value> = rows.iter().map(|row| &row["created"]).collect();
    assert_eq!(created, [&json!(true), &json!(false), &json!(false), &json!(true), &json!(false)]);
    assert!(rows[2]["help"].to_string().contains("did you mean `args`?"), "{}", rows[2]);
}

#[test]
fn impossible_arguments_are_not_queued() {
    let site = Site::script_with("echo ran\n", "argument_template = { a = \"{a}\" }\n");
    for (size, code) in [(131_071, 0), (131_072, 1), (3_000_000, 1)] {
        site.workspace.write("args.json", json!({"a": "x".repeat(size)}).to_string());
        let document = site.json(["call", "plan", "tool", "--args-json", "args.json"]).expect(code);
        assert_eq!(
            document["blocker_details"][0]["code"] == "arguments_too_long",
            code == 1,
            "{}",
            document["blockers"]
        );
        let run = site.tools(["call", "plan", "tool", "--args-json", "args.json"]);
        assert!(run.stdout_text().len() + run.stderr_text().len() < 10_000);
    }
    site.workspace.write("args.json", json!({"a": "x".repeat(131_071)}).to_string());
    let id = site.json(["call", "queue", "tool", "--args-json", "args.json"]).expect(0)["call"]["id"].clone();
    let id = id.as_str().expect("an id");
    assert!(site.tools(["call", "show", id]).stdout_text().len() < 10_000);
    site.json(["call", "approve", id]).expect(0);
    site.run_call(id).expect(0);
}

#[test]
fn shown_runs_have_every_key_of_their_summary() {
    let site = Site::script("echo ran\n");
    let run = site.receipt_of("tool", "{}")["id"].clone();
    for document in [
        site.json(["run", "latest"]).expect(0),
        site.json(["run", "show", run.as_str().expect("an id")]).expect(0),
    ] {
        for key in ["mcp_request_id", "mcp_response_summary", "output_compaction"] {
            assert!(document["run"].get(key).is_some(), "no {key}: {document:#}");
        }
    }
}
