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

/// Plans a call that must be blocked with this reason and code. Queueing it must store nothing.
#[track_caller]
fn blocked(site: &Site, args: &str, because: &str, code: &str) -> Value {
    let plan = site.json(["call", "plan", "tool", "--args", args]).expect(1);
    contains(&plan["blockers"], because);
    let details = plan["blocker_details"].as_array().expect("a list");
    assert_eq!(texts(&plan["blockers"]).len(), details.len());
    assert!(details.iter().any(|detail| detail["code"] == code), "no code {code}: {plan:#}");
    let human = site.tools(["call", "plan", "tool", "--args", args]);
    human.assert_code(1);
    assert!(format!("{}{}", human.stdout_text(), human.stderr_text()).contains(because), "{human}");
    let queued = site.json(["call", "queue", "tool", "--args", args]).expect(1);
    assert_eq!((&queued["created"], &queued["blocked"]), (&json!(0), &json!(1)));
    assert_eq!(queued["call"]["blockers"], queued["blockers"]);
    assert!(!site.workspace.exists(".brigade/tools/calls.jsonl"), "a blocked call is not stored");
    plan
}

#[test]
fn an_unknown_tool() {
    let site = Site::script(MARK);
    for command in ["plan", "queue"] {
        site.json(["call", command, "tolo"]).refused("did you mean `tool`?");
        let run = site.tools(["call", command, "tolo"]);
        run.assert_code(1);
        assert!(run.stderr_text().contains("no tool has the id `tolo`"), "{run}");
    }
    assert!(!site.workspace.exists(".brigade/tools/calls.jsonl"));
}

#[test]
fn a_projection_that_blocks_says_what_is_expected() {
    let more = "source_path = \"bin/tool.sh\"\nsupported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/commands/tool.md\" }\n";
    let site = Site::script_with(MARK, more);
    site.workspace.write(".claude/commands/tool.md", "mine\n");
    let planned = site.json(["plan", "tool"]).expect(0);
    let plan = site.json(["call", "plan", "tool", "--args", "{}"]).expect(1);
    let row = &plan["projection_blockers"][0];
    assert_eq!((&row["status"], &row["harness"]), (&json!("unmanaged"), &json!("claude")));
    assert!(row["expected_fingerprint"].is_string(), "{row:#}");
    for key in ["expected_fingerprint", "expected_projection_fingerprint"] {
        assert_eq!(row[key], planned["projections"][0][key], "{key}");
    }
}

#[test]
fn inline_code_needs_a_reviewed_command() {
    let site = Site::script(MARK);
    let command = r#"python3 -c 'open("ran.txt", "w").write("inline")'"#;
    site.add_to_catalog(&Site::entry("inline", command, "effects = [\"local-write\"]\n"));
    let id = site.approved("inline", "{}");
    site.run_call(&id).expect(0);
    assert_eq!(site.workspace.read_text("ran.txt"), "inline");
    let doctor = site.json(["doctor"]).expect(0);
    let issues = doctor["issues"].as_array().expect("a list").iter();
    let issue = issues.clone().find(|issue| issue["issue_type"] == "inline_code").expect("it is reported");
    assert_eq!((&issue["tool_id"], &issue["severity"]), (&json!("inline"), &json!("info")));
    // The approval covers the text.
    let id = site.approved("inline", "{}");
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml", catalog.replace(r#"\"inline\""#, r#"\"other\""#));
    site.run_call(&id).refused("contract");
    assert_eq!(site.workspace.read_text("ran.txt"), "inline");
    // The policy can refuse inline code. The refusal names the place.
    let policy = ".brigade/tools/policy.toml";
    site.workspace.write(policy, "[commands]\ninline_code = \"refuse\"\n");
    let plan = site.json(["call", "plan", "inline", "--args", "{}"]).expect(1);
    let detail = &plan["blocker_details"][0];
    assert_eq!((&detail["code"], &detail["line"]), (&json!("policy_inline_code"), &json!(2)), "{plan:#}");
    site.json(["call", "plan", "tool", "--args", "{}"]).expect(0);
    // A misspelled rule refuses everything.
    for rule in ["inline_code = \"refused\"", "inline = \"refuse\""] {
        site.workspace.write(policy, format!("[commands]\n{rule}\n"));
        let plan = site.json(["call", "plan", "tool", "--args", "{}"]).expect(1);
        assert_eq!(plan["blocker_details"][0]["code"], "policy_invalid", "{rule}");
    }
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
fn bad_arguments_are_all_reported_at_once() {
    let site = Site::script_with(MARK, r#"argument_template = { path = "{path}", mode = "--mode={mode}" }"#);
    site.workspace.write(
        "schemas/tool.json",
        r#"{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"},
            "mode":{"enum":["a","b"]},"n":{"type":"integer","minimum":3},"tags":{"type":"array","items":{"type":"string"}}}}"#,
    );
    let plan = blocked(&site, r#"{"mode":"c","n":1,"tags":["x",1],"extra":true}"#, "$.path", "invalid_args");
    for part in ["$.mode", "$.n", "$.tags[1]", "$.extra"] {
        contains(&plan["blockers"], part);
    }
    assert_eq!(texts(&plan["validation_errors"]).len(), 5, "{plan:#}");
    blocked(&site, r#"{"path":NaN}"#, "line 1", "invalid_args");
    // The message does not repeat values, because they may be secrets.
    let plan = blocked(&site, r#"{"path":"a","mode":"canary-4711"}"#, "$.mode", "invalid_args");
    assert!(!plan["blockers"].to_string().contains("canary-4711"));
}

#[test]
fn a_schema_that_is_missing_or_unsupported() {
    let site = Site::script(MARK);
    site.workspace.remove("schemas/tool.json");
    blocked(&site, "{}", "does not exist", "missing_input_schema");
    site.workspace.write("schemas/tool.json", "{");
    blocked(&site, "{}", "not JSON", "invalid_input_schema");
    site.workspace.write("schemas/tool.json", r#"{"type":"object","if":1}"#);
    blocked(&site, "{}", "if", "unsupported_input_schema");
    site.workspace.remove("schemas/tool.json");
    site.workspace.write("schemas/tool.json/file", "");
    blocked(&site, "{}", "schemas/tool.json", "invalid_input_schema");
}

#[test]
fn a_denial_by_the_policy_names_the_line() {
    let site = Site::script_with(MARK, r#"effects = ["secret-read", "odd"]"#);
    let plan = blocked(&site, "{}", "secret-read", "policy_denied_effect");
    contains(&plan["blockers"], "odd");
    for detail in plan["blocker_details"].as_array().unwrap() {
        assert_eq!(detail["file"], ".brigade/tools/policy.toml", "{detail:#}");
        assert!(detail["line"].is_u64() && detail["hint"].is_string(), "{detail:#}");
    }
}

#[test]
fn a_command_of_high_risk() {
    let site = Site::script(MARK);
    site.workspace.replace(".brigade/tools.toml", "sh bin/tool.sh", "sudo sh bin/tool.sh");
    blocked(&site, "{}", "sudo", "high_risk_command");
}

#[test]
fn a_call_runs_only_when_it_is_approved() {
    let site = Site::script(MARK);
    let id = site.queue("tool", "{}");
    let hint = format!("brigade approve {id}");
    site.run_call(&id).refused(&hint);
    site.json(["call", "hold", &id, "--reason", "later"]).expect(0);
    site.run_call(&id).refused(&hint);
    assert_eq!(site.json(["call", "show", &id]).expect(0)["call"]["review_reason"], "later");
    // A held call can be approved. A rejected call cannot.
    site.json(["call", "approve", &id]).expect(0);
    site.json(["call", "reject", &id, "--reason", "no"]).expect(0);
    site.run_call(&id).refused("rejected");
    site.json(["call", "approve", &id]).refused("rejected");
    assert!(!site.workspace.exists("ran.txt"));
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
fn rejected_call_returns_only_when_changed() {
    let site = Site::script_with(MARK, r#"argument_template = { a = "{a}" }"#);
    let id = site.queue("tool", r#"{"a":"1"}"#);
    site.json(["call", "reject", &id, "--reason", "no"]).expect(0);
    let again = site.json(["call", "queue", "tool", "--args", r#"{"a":"1"}"#]).expect(0);
    assert_eq!(
        (&again["created"], &again["skipped"], &again["call"]["id"]),
        (&json!(0), &json!(1), &json!(id))
    );
    assert!(again["reason"].as_str().unwrap().contains("rejected"));
    assert_ne!(site.queue("tool", r#"{"a":"2"}"#), id);
    site.workspace.replace(".brigade/tools.toml", "timeout = 30", "timeout = 29");
    assert_ne!(site.queue("tool", r#"{"a":"1"}"#), id);
}

#[test]
fn calls_that_ask_for_the_same_are_one() {
    let site = Site::script_with(MARK, r#"argument_template = { a = "{a}", b = "{b}" }"#);
    let id = site.queue("tool", r#"{"a":"1","b":"2"}"#);
    for _ in 0..2 {
        let again = site.json(["call", "queue", "tool", "--args", r#" {"b":"2", "a":"1"} "#]).expect(0);
        assert_eq!(
            (&again["created"], &again["skipped"], &again["call"]["id"]),
            (&json!(0), &json!(1), &json!(id))
        );
        site.json(["call", "approve", &id]).run.code();
    }
    assert_eq!(site.json(["call", "list"]).expect(0)["calls"].as_array().unwrap().len(), 1);
    // A completed call can be requested again, under another id.
    site.run_call(&id).expect(0);
    let next = site.queue("tool", r#"{"a":"1","b":"2"}"#);
    assert!(next.starts_with(&format!("{id}-queued-")), "{next}");
}

#[test]
fn a_completed_call_is_not_run_again() {
    let site = Site::script("echo once >> ran.txt\n");
    let id = site.approved("tool", "{}");
    site.run_call(&id).expect(0);
    site.run_call(&id).refused("brigade tools run replay run-");
    for (command, reason) in [("approve", None), ("hold", Some("x")), ("reject", Some("x"))] {
        let words =
            ["call", command, &id].into_iter().chain(reason.iter().flat_map(|reason| ["--reason", reason]));
        site.json(words).refused("completed");
    }
    assert_eq!(site.workspace.read_text("ran.txt"), "once\n");
    assert_eq!(site.json(["run", "list"]).expect(0)["run_count"], 1);
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
fn a_blocked_call_is_stored_only_on_request() {
    let site = Site::script(MARK);
    site.workspace.write("schemas/tool.json", r#"{"type":"object","required":["a"]}"#);
    let queued = site.json(["call", "queue", "tool", "--args", "{}", "--include-blocked"]).expect(0);
    assert_eq!((&queued["created"], &queued["blocked"]), (&json!(1), &json!(1)));
    contains(&queued["call"]["blockers"], "$.a");
    let id = queued["call"]["id"].as_str().unwrap();
    site.json(["call", "approve", id]).refused("$.a");
    assert_eq!(site.status(id), "pending");
    site.run_call(id).refused("$.a");
    assert!(!site.workspace.exists("ran.txt"));
}

#[test]
fn arguments_come_from_one_place() {
    let site = Site::script_with(MARK, r#"argument_template = { a = "{a}" }"#);
    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"path":{"type":"string"}}}"#);
    let wrong = site.tools(["call", "plan", "tool", "--args", r#"{"path": 3}"#]).to_string();
    assert!(wrong.contains("$.path: expected string\nhelp: {\"path\": 3}\nhelp:          ^"), "{wrong}");
    site.workspace.write("args.json", "\u{feff}{\"a\": \"1\"}\n");
    let plan = site.json(["call", "plan", "tool", "--args-json", "args.json"]).expect(0);
    assert_eq!(plan["plan"]["arguments"]["a"], "1");
    let both = site.json(["call", "plan", "tool", "--args", "{}", "--args-json", "args.json"]).expect(1);
    contains(&both["blockers"], "inline and in a file");
    let missing = site.json(["call", "plan", "tool", "--args-json", "nothing.json"]).expect(1);
    contains(&missing["blockers"], "cannot be read");
    site.workspace.write("broken.json", "{\n  \"a\": canary-4711}");
    let broken = site.json(["call", "plan", "tool", "--args-json", "broken.json"]).expect(1);
    contains(&broken["blockers"], "line 2");
    assert!(!broken.to_string().contains("canary-4711"), "a parser message does not quote: {broken:#}");
    site.workspace.write("bytes.json", b"{\"a\":\"\xff\"}");
    site.json(["call", "plan", "tool", "--args-json", "bytes.json"]).expect(1);
}

#[test]
fn replay_makes_a_pending_call_of_todays_facts() {
    let site = Site::script_with("echo \"$1\" >> ran.txt\n", r#"argument_template = { a = "{a}" }"#);
    let id = site.approved("tool", r#"{"a":"1"}"#);
    let run = site.run_call(&id).expect(0);
    let run_id = run["receipt"]["id"].as_str().unwrap();
    let (one, two) =
        (site.json(["run", "replay", run_id]).expect(0), site.json(["run", "replay", run_id]).expect(0));
    assert_ne!(one["call"]["id"], two["call"]["id"], "every replay is a separate call");
    let replayed = one["call"]["id"].as_str().unwrap();
    site.run_call(replayed).refused("approve");
    assert_eq!(site.workspace.read_text("ran.txt"), "1\n");
    site.json(["call", "approve", replayed]).expect(0);
    site.run_call(replayed).expect(0);
    assert_eq!(site.workspace.read_text("ran.txt"), "1\n1\n");

    site.workspace.write("schemas/tool.json", r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
    let refused = site.json(["run", "replay", run_id]).expect(1);
    assert_eq!((&refused["created"], &refused["executed"]), (&json!(0), &json!(0)));
    contains(&refused["blockers"], "$.a");
    site.json(["run", "replay", "nothing"]).expect(1);
}

#[test]
fn a_catalog_that_cannot_be_read() {
    let site = Site::script(MARK);
    let good = site.workspace.read(".brigade/tools.toml");
    site.workspace.remove(".brigade/tools.toml");
    site.json(["call", "plan", "tool"]).refused("brigade tools init");
    site.json(["list"]).refused("does not exist");
    // Bytes that are not UTF-8 invalidate only the entry that contains them.
    let bad = &b"\n[[tool]]\nid = \"bad\"\nname = \"\xff\"\nfamily = \"script\"\n"[..];
    site.workspace.write(".brigade/tools.toml", [&good, bad].concat());
    site.json(["call", "plan", "bad"]).expect(1);
    site.json(["call", "plan", "tool"]).expect(0);
    site.json(["list"]).expect(1);
    site.tools(["list"]).assert_code(1);
    site.workspace.write(".brigade/tools.toml", [&b"\xef\xbb\xbf"[..], &good].concat());
    site.json(["call", "plan", "tool"]).expect(0);
    site.workspace.remove(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml/file", "");
    site.json(["call", "plan", "tool"]).expect(1);
    site.json(["list"]).expect(1);
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
fn a_policy_that_is_not_understood_blocks_everything() {
    let site = Site::script(MARK);
    let id = site.approved("tool", "{}");
    let good = site.workspace.read(".brigade/tools/policy.toml");
    let broken: &[&[u8]] = &[b"allowed_families = [", b"\xff\xff"];
    for policy in broken {
        site.workspace.write(".brigade/tools/policy.toml", policy);
        let plan = site.json(["call", "plan", "tool"]).refused(".brigade/tools/policy.toml");
        assert_eq!(
            (&plan["policy"]["allowed"], &plan["policy"]["enabled"]),
            (&json!(false), &json!(true)),
            "{plan:#}"
        );
        site.run_call(&id).expect(1);
        site.json(["policy", "show"]).expect(1);
    }
    site.workspace.remove(".brigade/tools/policy.toml");
    site.workspace.write(".brigade/tools/policy.toml/file", "");
    site.json(["call", "plan", "tool"]).expect(1);
    site.run_call(&id).expect(1);
    site.workspace.remove(".brigade/tools/policy.toml");
    assert!(!site.workspace.exists("ran.txt"));
    site.workspace.write(".brigade/tools/policy.toml", good);
    site.run_call(&id).expect(0);
}

#[test]
fn a_missing_policy_changes_nothing_else() {
    let site = Site::script(MARK);
    site.workspace.remove(".brigade/tools/policy.toml");
    let plan = site.json(["call", "plan", "tool"]).expect(0);
    assert_eq!((&plan["policy"]["enabled"], &plan["policy"]["allowed"]), (&json!(false), &json!(true)));
    site.receipt_of("tool", "{}");
    assert!(site.workspace.exists("ran.txt"));
    assert_eq!(site.json(["policy", "show"]).run.code(), Some(1));
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
