//! Every refusal of a call: its message, its exit code, and that nothing is stored or run.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::Site;
use serde_json::{Value, json};

/// A script that leaves a mark when it runs.
const MARK: &str = "echo ran > ran.txt\n";

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().expect("a list").iter();
    texts.map(|text| text.as_str().expect("a list of texts").to_owned()).collect()
}

#[track_caller]
fn contains(list: &Value, part: &str) {
    assert!(texts(list).iter().any(|text| text.contains(part)), "nothing says `{part}`: {list:#}");
}

#[test]
fn a_refusal_is_one_complete_document() {
    let site = Site::script_with(MARK, "enabled = false\n");
    site.add_to_catalog(&Site::entry("net", "sh bin/tool.sh", "effects = [\"secret-read\"]\n"));
    site.add_to_catalog(&Site::entry(
        "bare",
        "sh bin/tool.sh",
        "input_schema_path = \"schemas/none.json\"\n",
    ));
    for (id, args) in
        [("nope", "{}"), ("tool", "{}"), ("../x", "{}"), ("net", "{}"), ("bare", "{}"), ("net", "[")]
    {
        let plan = site.json(["call", "plan", id, "--args", args]).expect(1);
        assert_eq!((&plan["schema"], &plan["tool_id"]), (&json!("brigade.call-plan.v1"), &json!(id)));
        for flag in
            [None, Some("--include-blocked")].into_iter().filter(|flag| flag.is_none() || id == "nope")
        {
            let words = ["call", "queue", id, "--args", args].into_iter().chain(flag);
            let queue = site.json(words).expect(1);
            assert_eq!(
                (&queue["created"], &queue["skipped"], &queue["blocked"], &queue["call"]["tool_id"]),
                (&json!(0), &json!(0), &json!(1), &json!(id)),
                "{queue:#}"
            );
            assert_eq!(
                (&queue["call"]["blockers"], &queue["blockers"]),
                (&plan["blockers"], &plan["blockers"])
            );
            assert_eq!(queue["call"]["status"], "pending");
        }
    }
    // The document does not contain the secret.
    let document =
        site.json(["call", "queue", "net", "--args", r#"{"password":"EXAMPLE-canary-1"}"#]).expect(1);
    assert!(document["call"].is_object() && !document.to_string().contains("canary"), "{document:#}");
    assert!(!site.workspace.exists(".brigade/tools/calls.jsonl"));
    // The hint suggests a command that works.
    let run = site.tools([
        "call",
        "queue",
        "net",
        "--args",
        r#"{"password":"EXAMPLE-canary-1"}"#,
        "--include-blocked",
    ]);
    assert!(!run.stderr_text().contains("use --include-blocked"), "{run}");
}

#[test]
fn a_reason_is_needed() {
    let site = Site::script(MARK);
    let id = site.queue("tool", "{}");
    for command in ["hold", "reject"] {
        site.json(["call", command, &id]).expect(2);
        site.json(["call", command, &id, "--reason", "  "]).expect(2);
    }
    site.json(["checkpoint", "reject", "x"]).expect(2);
    assert_eq!(site.status(&id), "pending");
}

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let site = Site::script_with(MARK, r#"argument_template = { a = "{a}" }"#);
    let first = site.approved("tool", r#"{"a":"1"}"#);
    site.run_call(&first).expect(0);
    let second = site.queue("tool", r#"{"a":"1"}"#);
    assert!(second.starts_with(&first));
    assert_eq!(site.json(["call", "show", &first]).expect(0)["call"]["id"], first);
    assert_eq!(site.json(["call", "show", &second[..second.len() - 3]]).expect(0)["call"]["id"], second);

    let prefix = &first[..first.len() - 1];
    let document = site.json(["call", "show", prefix]).expect(1);
    assert_eq!(texts(&document["candidates"]), [first.clone(), second.clone()], "{document:#}");
    // Only calls that the command can run are candidates. The first one is completed.
    let document = site.json(["call", "run", prefix]).refused("none can be run");
    assert_eq!(document["candidates"], json!([]));
    let third = site.queue("tool", r#"{"a":"2"}"#);
    for words in [&["call", "approve", "call-"][..], &["call", "hold", "call-", "--reason", "x"]] {
        let document = site.json(words).expect(1);
        let mut candidates = texts(&document["candidates"]);
        candidates.sort();
        let mut expect = [second.clone(), third.clone()];
        expect.sort();
        assert_eq!(candidates, expect, "{document:#}");
    }
    assert_eq!(site.json(["call", "approve", prefix]).expect(0)["call"]["id"], second);
    let run = site.tools(["call", "show", "call-"]);
    run.assert_code(1);
    // People see the short form of the id of a repeated call.
    let own = second.strip_prefix(&format!("{first}-queued-")).expect("it repeats the first call");
    let short = format!("{}~{}", &first[.."call-1234".len()], &own[..8]);
    assert!(run.stderr_text().contains(&first) && run.stderr_text().contains(&short), "{run}");
    assert_eq!(site.json(["call", "show", &short]).expect(0)["call"]["id"], second);
    site.json(["call", "show", ""]).expect(1);
    site.json(["call", "show", "../../x"]).expect(1);
}

#[test]
fn next_passes_over_what_is_stale() {
    let site = Site::script_with("echo \"$1\" >> ran.txt\n", r#"argument_template = { a = "{a}" }"#);
    site.add_to_catalog(&Site::entry("other", "sh bin/other.sh", ""));
    site.workspace.write("bin/other.sh", "echo other >> ran.txt\n");
    let nothing = site.json(["call", "run", "--next"]);
    assert_eq!(nothing.expect(1)["receipt"], json!(null));

    let stale = site.approved("other", "{}");
    let pending = site.queue("tool", r#"{"a":"0"}"#);
    let first = site.approved("tool", r#"{"a":"1"}"#);
    let second = site.approved("tool", r#"{"a":"2"}"#);
    site.workspace.write("bin/other.sh", "echo changed >> ran.txt\n");

    let run = site.json(["call", "run", "--next"]).expect(0);
    assert_eq!(run["call"]["id"], first);
    assert_eq!(run["passed_over"][0]["call_id"], stale);
    contains(&run["passed_over"][0]["reasons"], "bin/other.sh");

    let human = site.tools(["call", "run", "--next"]);
    human.assert_code(0);
    assert!(human.stderr_text().contains(&stale) && human.stderr_text().contains("bin/other.sh"), "{human}");
    assert_eq!(site.workspace.read_text("ran.txt"), "1\n2\n");
    for (id, status) in
        [(&stale, "approved"), (&pending, "pending"), (&first, "completed"), (&second, "completed")]
    {
        assert_eq!(site.status(id), status);
    }
    let nothing = site.json(["call", "run", "--next"]).expect(1);
    assert_eq!(nothing["passed_over"][0]["call_id"], stale);
    site.json(["call", "run"]).expect(2);
    site.json(["call", "run", &stale, "--next"]).expect(2);
}

#[test]
fn one_broken_entry_does_not_take_the_others_down() {
    let site = Site::script(MARK);
    for broken in [
        "[[tool]]\nid = \"bad\"\nname = \"Bad\"\nfamily = \"scrpt\"\n",
        "[[tool]]\nid = \"bad\"\nname = 3\nfamily = \"script\"\n",
        "[[tool]]\nid = \"bad\"\nname = \"canary-4711\nfamily = \"script\"\n",
        "[[tool]]\nid = \"bad\"\nname = \"Bad\"\nfamily = \"script\"\ntimeout = -1\n",
        "[[tool]]\nname = \"No id\"\nfamily = \"script\"\n",
    ] {
        let catalog = Site::entry("tool", "sh bin/tool.sh", "");
        for text in [format!("{catalog}\n{broken}"), format!("{broken}\n{catalog}")] {
            site.workspace.write(".brigade/tools.toml", &text);
            let list = site.json(["list"]).expect(1);
            assert!(!texts(&list["errors"]).is_empty());
            assert!(
                texts(&list["errors"]).iter().all(|error| error.contains(".brigade/tools.toml")),
                "{list:#}"
            );
            assert!(!list["errors"].to_string().contains("canary-4711"), "{list:#}");
            site.json(["call", "plan", "tool"]).expect(0);
            site.json(["call", "plan", "bad"]).expect(1);
        }
    }
}

#[test]
fn usage_errors_are_documents_too() {
    let site = Site::script(MARK);
    for words in [&["call", "plan"][..], &["call", "fly"], &["call", "list", "--nonsense"], &["nothing"]] {
        let answer = site.json(words);
        assert_eq!(answer.expect(2)["kind"], "usage");
    }
    for target in ["/nowhere/at/all", "/dev/null"] {
        site.json(["call", "list", "--target", target]).expect(2);
    }
}

#[test]
fn faults_of_arguments_and_schemas_show_their_line() {
    // Issue 44.
    let site = Site::script("true");
    let typed = site.tools(["call", "plan", "tool", "--args", r#"{"path": nothing}"#]).to_string();
    assert!(typed.contains("help: {\"path\": nothing}\nhelp:          ^"), "{typed}");
    site.workspace.write("args.json", "{\n  \"path\": nothing\n}\n");
    let named = site.tools(["call", "plan", "tool", "--args-json", "args.json"]).to_string();
    assert!(named.contains("2 |   \"path\": nothing\n  |           ^"), "{named}");
    site.workspace.write("schemas/tool.json", "{\n  \"type\": nothing\n}\n");
    let schema = site.tools(["call", "plan", "tool", "--args", "{}"]).to_string();
    assert!(schema.contains("2 |   \"type\": nothing\n  |           ^"), "{schema}");
}
