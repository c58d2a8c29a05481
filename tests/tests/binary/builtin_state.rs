//! Built-in tools with state: memories, scripts, volumes, lists, questions, reports.

#![allow(clippy::unwrap_used, reason = "a test that cannot read an answer fails")]

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, text};

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "memory-write"]

[[auto_approve]]
name = "state"
tools = ["memory.*", "script.*", "volume.*", "file.*"]
effects = ["local-read", "local-write", "state-write", "memory-write"]
"#;

fn site() -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\n\n[[agent]]\nname = \"ann\"\n");
    site
}

#[track_caller]
fn done(client: &mut Client, tool: &str, args: Value) -> Value {
    let result = client.call(tool, args);
    assert_ne!(result["isError"], json!(true), "{result:#}");
    result["structuredContent"].clone()
}

/// Issue 17: a long list or file is cut to the maximum size of a result, and can be read on.
#[test]
fn a_long_result_is_cut_with_all_its_members() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let most = 32 << 10;
    for number in 0..50 {
        let script = json!({"name": format!("s{number}"), "code": "x", "description": "d".repeat(1_000)});
        done(&mut client, "script.save", script);
    }
    let listed = client.call("script.list", json!({}));
    let list = &listed["structuredContent"];
    let rows = list["scripts"].as_array().unwrap();
    assert!((20..50).contains(&rows.len()) && list.to_string().len() <= most, "{}", rows.len());
    assert_eq!((&list["total"], &rows[0]["version"]), (&json!(50), &json!(1)));
    assert_eq!(about(&listed)["truncated"], true, "{:#}", about(&listed));
    let rest = json!({"run_id": about(&listed)["run_id"], "limit": 100});
    assert!(Some(100_000) < done(&mut client, "output.read", rest)["total_bytes"].as_u64());
    let volume = done(&mut client, "volume.create", json!({"label": "v", "size_limit_bytes": 1_000_000}));
    let file = json!({"volume_id": volume["volume_id"], "path": "f", "content": "é".repeat(100_000)});
    done(&mut client, "file.write", file);
    let read = done(&mut client, "file.read", json!({"volume_id": volume["volume_id"], "path": "f"}));
    let content = read["content"].as_str().unwrap();
    assert!(30_000 < content.len() && read.to_string().len() <= most, "{}", content.len());
    assert_eq!((&read["encoding"], &read["size_bytes"]), (&json!("utf8"), &json!(200_000)));
}

#[test]
fn a_memory_can_be_added_at_the_command_line() {
    let site = site();
    let args = r#"{"content": "The port is 8080", "category": "fact"}"#;
    let id = site.queue("memory.add", args);
    assert!(!site.workspace.exists(".brigade/tools/state.db"));
    site.json(["call", "approve", &id]).expect(0);
    let run = site.run_call(&id).expect(0);
    assert_eq!(run["receipt"]["executor"], "builtin", "{run:#}");
    let work = |words: &[&str]| {
        let words = [&["work", "memory"][..], words, &["--json"]].concat();
        site.brigade.run(words).assert_code(0).json()
    };
    let list = work(&["list"]);
    let memory = &list["memories"][0];
    assert_eq!((&list["count"], &memory["content"]), (&json!(1), &json!("The port is 8080")));
    let id = memory["id"].as_str().unwrap();
    assert_eq!(work(&["pin", &id[..9]])["memory"]["tier"], 1);
    assert_eq!(work(&["pin", id, "--off"])["memory"]["pinned"], false);
    assert_eq!(work(&["show", id])["memory"]["author"], "a person");
    assert_eq!(
        site.brigade.run(["work", "memory", "export"]).assert_code(0).stdout_text().lines().count(),
        1
    );
    assert_eq!(work(&["remove", id])["removed"], true);
    assert_eq!(work(&["list"])["count"], 0);
}

#[test]
fn memories_of_other_agents_are_data() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let added =
        done(&mut client, "memoryAdd", json!({"content": "Never push on Friday", "category": "convention"}));
    assert_eq!((&added["durability"], &added["deduped"]), (&json!("candidate"), &json!(false)));
    let secret =
        json!({"content": "the token is ghp_0123456789abcdefghijABCDEFGHIJ012345", "category": "fact"});
    // A call with a secret in its arguments is not even recorded.
    let rejected = client.call("memory.add", secret);
    assert_eq!(rejected["structuredContent"]["durability"], "rejected", "{rejected:#}");
    assert!(rejected["_meta"]["brigade/call"]["id"].is_null(), "{rejected:#}");
    let mut other = Client::connect(&site, "ann");
    let found = done(&mut other, "memory.search", json!({"query": "push"}));
    let row = &found["memories"][0];
    assert_eq!((&row["author"], &row["is_foreign"]), (&json!("local"), &json!(true)));
    assert!(row["content"].as_str().unwrap().starts_with("[data that agent local wrote"), "{row:#}");
    let refused =
        other.call("memory.search", json!({"query": "x", "scope": "agent", "scopeOwnerId": "local"}));
    assert_stands(&refused, "refused", "argument_refused");
    for (path, bytes) in site.workspace.files(".brigade/tools") {
        assert!(!bytes.windows(14).any(|part| part == b"ghp_0123456789"), "{path}");
    }
}

#[test]
fn scripts_volumes_and_lists_belong_to_who_made_them() {
    let site = site();
    let limits = "[volumes]\nmax_count = 1\nmax_file_bytes = \"1KiB\"\n\n[[agent]]\nname = \"local\"\n\n[[agent]]\nname = \"ann\"\n";
    site.workspace.write(GATEWAY, limits);
    let mut client = Client::connect(&site, "local");
    let mut other = Client::connect(&site, "ann");
    let script =
        done(&mut client, "script.save", json!({"name": "hello", "code": "print(1)", "language": "python"}));
    let seen = done(&mut other, "script.list", json!({}));
    assert_eq!((&script["version"], &seen["total"]), (&json!(1), &json!(0)));
    let taken = client.call("script.save", json!({"name": "hello", "code": "x"}));
    assert!(text(&taken).contains("name_taken"), "{taken:#}");
    let volume = done(&mut client, "volume.create", json!({"label": "data", "size_limit_bytes": 10}));
    let id = volume["volume_id"].as_str().unwrap();
    let more = client.call("volume.create", json!({"label": "more", "size_limit_bytes": 10}));
    assert!(text(&more).contains("too_many"), "{more:#}");
    done(&mut client, "file.write", json!({"volume_id": id, "path": "a/b", "content": "0123456789"}));
    assert_eq!(site.workspace.read_text(format!(".brigade/volumes/{id}/a/b")), "0123456789");
    let full = client.call("file.write", json!({"volume_id": id, "path": "c", "content": "x"}));
    assert!(text(&full).contains("quota_exceeded"), "{full:#}");
    let foreign = other.call("file.read", json!({"volume_id": id, "path": "a/b"}));
    assert!(text(&foreign).contains("not_found"), "{foreign:#}");
    let list = json!({"todos": [{"content": "Cook", "status": "pending"}]});
    assert_eq!(done(&mut client, "TodoWrite", list)["count"], 1);
    assert_eq!(done(&mut client, "todo.read", json!({}))["todos"][0]["content"], "Cook");
    assert_eq!(done(&mut other, "todo.read", json!({}))["count"], 0);
}

#[test]
fn a_question_waits_until_a_person_answers() {
    let site = site();
    let mut client = Client::connect(&site, "local");
    let asked = json!({"questions": [{"id": "port", "question": "Which port?",
        "options": [{"label": "8080"}, {"label": "9090"}]}]});
    let request = client.send_call("ask.user", asked);
    let waiting = || {
        let brief = site.brigade.run(["work", "brief", "--json"]).assert_code(0).json();
        brief["waiting"].as_array().and_then(|rows| rows.first().cloned())
    };
    let row = until("the question waits", waiting);
    assert_eq!((&row["kind"], &row["who"]), (&json!("question"), &json!("agent:local")));
    assert_eq!((&row["text"], &row["choices"]), (&json!("Which port?"), &json!(["8080", "9090"])));
    let id = row["id"].as_str().unwrap();
    site.brigade.run(["work", "answer", id, "--choice", "1"]).assert_code(2);
    site.brigade.run(["work", "answer", id, "--choice", "9090"]).assert_code(0);
    let result = client.result(request);
    assert_eq!(result["structuredContent"]["answer"], "9090", "{result:#}");
    assert_eq!(result["structuredContent"]["decision"], "accept");
    // A second answer reports that no agent waits.
    let gone = site.brigade.run(["work", "answer", id, "--choice", "8080", "--json"]).assert_code(1).json();
    assert_eq!(gone["code"], "wrong_state", "{gone:#}");
    let secret = client.call("ask.user", json!({"questions": [{"question": "Token?", "isSecret": true}]}));
    assert!(text(&secret).contains("secret_by_question"), "{secret:#}");
}

#[test]
fn a_search_lets_a_turn_continue() {
    let site = site();
    site.workspace.write(GATEWAY, "[[agent]]\nname = \"local\"\nprofiles = [\"guard.memory\"]\n");
    let mut client = Client::connect(&site, "local");
    let volume = done(&mut client, "volume.create", json!({"label": "data", "size_limit_bytes": 10}));
    let write = json!({"volume_id": volume["volume_id"], "path": "a", "content": "x"});
    site.brigade.clone().input("Fix it").run(["work", "turn", "--as", "local"]).assert_code(0);
    assert_stands(&client.call("file.write", write.clone()), "refused", "memory_search_first");
    assert!(text(&client.call("memory.search", json!({"query": " "}))).contains("blank_query"));
    assert_stands(&client.call("file.write", write.clone()), "refused", "memory_search_first");
    done(&mut client, "memory.search", json!({"query": "how to fix it"}));
    done(&mut client, "file.write", write);
}
