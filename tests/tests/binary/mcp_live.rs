//! Requests to servers outside of calls: `--live` and `import mcp`.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use std::process::Stdio;

use serde_json::{Value, json};

use crate::mcp_common::{HELLO, VoiceSite, entry};

const ECHO: &str = r#"{"type":"object","properties":{"text":{"type":"string","description":"what to say"}},"required":["text"]}"#;

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().expect("the key holds a text")
}

/// Returns the codes of issues. Codes for information are in brackets.
fn codes(issues: &Value) -> Vec<String> {
    let code = |issue: &Value| match text(issue, "severity") {
        "info" => format!("[{}]", text(issue, "code")),
        _ => text(issue, "code").to_owned(),
    };
    issues.as_array().expect("issues are a list").iter().map(code).collect()
}

#[test]
fn a_contract_is_compared_with_what_the_server_lists() {
    let spoken = VoiceSite::stopped("echo", "mark=called", "");
    let site = &spoken.site;
    site.workspace.write("schemas/tool.json", ECHO);
    let described = site.json(["describe", "say", "--live"]).expect(0);
    assert_eq!(codes(&described["live"]["issues"]), ["[mcp_tool_new]"]);
    let tool = &described["live"]["tools"][0];
    assert_eq!((&tool["is_listed"], &tool["pin"]), (&json!(true), &json!("none")));
    assert_eq!(tool["description"], "Says it again.");

    spoken.serve("echo", "mark=called added-parameter", "");
    let described = site.json(["describe", "say", "--live"]).expect(1);
    assert_eq!(codes(&described["live"]["issues"]), ["mcp_contract_differs", "[mcp_tool_new]"]);
    assert!(described["live"]["tools"][0]["contract_changes"][0].as_str().unwrap().contains("note"));
    // The hint does not suggest the same command. It suggests to fix the schema.
    let hint = described["live"]["issues"][0]["hint"].as_str().unwrap();
    assert!(hint.contains("schemas/tool.json") && !hint.contains("--live"), "{hint}");
    let shown = site.tools(["describe", "say", "--live"]);
    assert!(!shown.stdout_text().contains("--live") && !shown.stderr_text().contains("--live"), "{shown}");
    let contracts = site.json(["contracts", "--live"]).expect(1);
    assert_eq!(contracts["live"]["issues"], described["live"]["issues"]);
    assert_eq!(site.json(["contracts"]).expect(0)["live"], json!(null));
    assert_eq!(spoken.called(), "", "nothing is called");
    assert!(!site.workspace.exists(".brigade/tools/pins"), "nothing is pinned");
}

#[test]
fn a_server_is_only_asked_as_the_policy_allows() {
    let spoken = VoiceSite::stopped("echo", "trace", "effects = [\"secret-read\"]");
    let described = spoken.site.json(["describe", "say", "--live"]).expect(1);
    assert_eq!(codes(&described["live"]["issues"]), ["mcp_server_failed"]);
    let error = described["live"]["servers"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("not started: ") && error.contains("secret-read"), "{error}");

    spoken.serve("echo", "exits-at-once", "");
    let described = spoken.site.json(["describe", "say", "--live"]).expect(1);
    assert_eq!(codes(&described["live"]["issues"]), ["mcp_server_failed"]);
    spoken.serve("echo", "never-starts", "timeout = 1");
    let described = spoken.site.json(["describe", "say", "--live"]).expect(1);
    assert!(described["live"]["servers"][0]["error"].as_str().unwrap().contains("in time"));

    let script = VoiceSite::stopped("echo", "", "");
    script.site.workspace.replace(".brigade/tools.toml", "\"mcp\"", "\"script\"");
    script.site.json(["describe", "say", "--live"]).refused("names no MCP server");
}

#[test]
fn bound_values_are_masked_in_server_output() {
    let lines = "env_labels = [\"GITHUB_TOKEN\"]";
    let spoken = VoiceSite::stopped("echo", "leaks-in-listing", lines);
    let server = spoken.site.workspace.read_text("server.py");
    let leaky = server.replace("'VOICE'", "'GITHUB_TOKEN'").replace("\"VOICE\"", "\"GITHUB_TOKEN\"");
    let prints = "import os, sys\nprint(os.environ.get('GITHUB_TOKEN'), file=sys.stderr, flush=True)\n";
    spoken
        .site
        .workspace
        .write("server.py", leaky.replace("import json\n", &format!("{prints}import json\n")));
    let leaky = spoken
        .site
        .workspace
        .read_text("server.py")
        .replace("\"name\": \"misbehaving\"", "\"name\": os.environ.get(\"GITHUB_TOKEN\")");
    let leaky = leaky.replace(
        "for name in others]",
        "for name in [*others, \"x-\" + str(os.environ.get(\"GITHUB_TOKEN\"))]]",
    );
    spoken.site.workspace.write("server.py", leaky);
    for faults in ["leaks-in-listing", "exits-at-once"] {
        spoken.serve("echo", faults, lines);
        let run = spoken.site.tools(["describe", "say", "--live", "--json"]);
        assert!(run.stdout_text().contains("redacted"), "{run}");
        for text in [run.stdout_text(), run.stderr_text()] {
            assert!(!text.contains("canary-EXAMPLE-value"), "{text}");
        }
    }
}

#[test]
fn pins_are_compared_with_what_the_server_lists() {
    let spoken = VoiceSite::fickle("echo");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let pin = site.workspace.read(".brigade/tools/pins/voice--echo.json");
    let live = site.json(["pins", "list", "--live"]).expect(0);
    assert_eq!((codes(&live["issues"]), &live["is_live"]), (vec!["[mcp_tool_new]".to_owned()], &json!(true)));

    spoken.turn("good", "widened-parameter");
    let live = site.json(["pins", "list", "--live"]).expect(1);
    assert_eq!(codes(&live["issues"]), ["mcp_tool_changed", "[mcp_tool_new]"]);
    assert_eq!(live["issues"][0]["changes"].as_array().unwrap().len(), 1);
    let offered = live["pins"][0]["offered_fingerprint"].as_str().unwrap();
    let accept = format!("brigade tools pins accept voice--echo --fingerprint {}", &offered[..16]);
    assert_eq!(live["issues"][0]["hint"], accept);
    assert_eq!(live["pins"][0]["changes"], live["issues"][0]["changes"], "what is shown can be accepted");
    assert_eq!(
        codes(&site.json(["describe", "say", "--live"]).json["live"]["issues"])[0],
        "mcp_tool_changed"
    );

    spoken.turn("widened-parameter", "unlisted");
    let live = site.json(["pins", "list", "--live"]).expect(1);
    assert_eq!(codes(&live["issues"]), ["mcp_tool_vanished", "[mcp_tool_new]"]);
    spoken.turn("unlisted", "reordered");
    site.json(["pins", "list", "--live"]).expect(0);
    assert_eq!(site.workspace.read(".brigade/tools/pins/voice--echo.json"), pin, "looking accepts nothing");
    spoken.turn("reordered", "unlisted");

    site.workspace.replace(".brigade/tools.toml", "\"echo\"", "\"add\"");
    let live = site.json(["pins", "list", "--live"]).expect(1);
    assert_eq!(
        codes(&live["issues"]),
        ["mcp_tool_vanished", "[mcp_tool_new]"],
        "the pin of a tool without entry"
    );
    site.workspace.write(".brigade/tools.toml", "");
    assert_eq!(codes(&site.json(["pins", "list", "--live"]).expect(0)["issues"]), ["[mcp_no_server]"]);
}

/// Returns the types of MCP issues in a document, and the commands that fix them.
fn mcp_issues(document: &Value) -> Vec<(String, String)> {
    let issues = document["issues"].as_array().expect("issues are a list");
    let of_servers = issues.iter().filter(|issue| text(issue, "issue_type").starts_with("mcp_"));
    of_servers.map(|issue| (text(issue, "issue_type").to_owned(), text(issue, "fix").to_owned())).collect()
}

#[test]
fn new_and_vanished_tools_are_issues() {
    let spoken = VoiceSite::fickle("echo");
    let site = &spoken.site;
    assert_eq!(spoken.say(HELLO).0, 0);
    let list = site.json(["pins", "list"]).expect(0);
    let server = &list["servers"][0];
    assert_eq!((&server["id"], &server["state"]), (&json!("servers/voice"), &json!("known")));
    assert_eq!((&server["tool_count"], &list["issue_count"]), (&json!(12), &json!(0)));

    spoken.turn("good", "more-tools");
    assert_eq!(spoken.say(HELLO).0, 0, "the tool itself is as it was");
    let show = "brigade tools pins show servers/voice".to_owned();
    let appeared = ("mcp_tool_appeared".to_owned(), show.clone());
    let appeared = [appeared];
    assert_eq!(mcp_issues(&site.json(["doctor"]).json), appeared);
    assert_eq!(mcp_issues(&site.json(["contracts"]).expect(0)), appeared);
    let list = site.json(["pins", "list"]).expect(0);
    assert_eq!(
        (codes(&list["issues"]), &list["is_live"]),
        (vec!["mcp_tool_appeared".to_owned()], &json!(false))
    );
    assert_eq!((&list["issues"][0]["tool"], &list["issues"][0]["hint"]), (&json!("whisper"), &json!(show)));
    let words = site.tools(["pins", "list"]).assert_code(0).stdout_text();
    assert!(words.contains("the tool `whisper` appeared in the server's list"), "{words}");
    let live = site.json(["pins", "list", "--live"]).expect(1);
    assert_eq!(codes(&live["issues"]), ["[mcp_tool_new]", "mcp_tool_appeared"]);

    let shown = site.tools(["pins", "show", "servers/voice"]);
    shown.assert_code(0);
    assert!(shown.stdout_text().contains("`whisper` appeared"), "{shown}");
    assert!(shown.stderr_text().contains("help: brigade tools pins accept servers/voice"), "{shown}");
    let accepted = site.json(["pins", "accept", "servers/voice"]).expect(0);
    assert_eq!((&accepted["accepted"], &accepted["server"]["state"]), (&json!(true), &json!("known")));
    site.json(["pins", "accept", "servers/voice"]).refused("has no changes");
    assert_eq!(mcp_issues(&site.json(["doctor"]).json), []);
    site.json(["pins", "list", "--live"]).expect(0);

    // Only visible by asking the servers. `whisper` and `numbers` are not pinned.
    spoken.turn("more-tools", "fewer-tools");
    site.json(["contracts", "--live"]).expect(1);
    let vanished = ("mcp_tool_vanished".to_owned(), show);
    assert_eq!(mcp_issues(&site.json(["doctor"]).json), [vanished]);
    let list = site.json(["pins", "list"]).expect(0);
    assert_eq!(list["servers"][0]["vanished"], json!(["numbers", "whisper"]));
    site.json(["pins", "accept", "servers/voice"]).expect(0);
    assert_eq!(mcp_issues(&site.json(["doctor"]).json), []);

    spoken.turn("fewer-tools", "good");
    assert_eq!(spoken.say(HELLO).0, 0);
    assert_eq!(site.json(["pins", "list"]).expect(0)["servers"][0]["appeared"], json!(["numbers"]));
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    site.workspace.write(".brigade/tools.toml", catalog + &entry("count", "numbers", "", ""));
    assert_eq!(mcp_issues(&site.json(["doctor"]).json), [], "the catalog has it now");
}

#[test]
fn the_first_import_pins_the_listing() {
    let spoken = importable("");
    let site = &spoken.site;
    site.json(["import", "mcp", "voice", "--tool", "echo", "--dry-run"]).expect(0);
    assert_eq!(site.json(["pins", "list"]).expect(0)["server_count"], 0);
    site.json(["import", "mcp", "voice", "--tool", "echo"]).expect(0);
    assert_eq!(site.json(["pins", "list"]).expect(0)["servers"][0]["tool_count"], 12);
    site.workspace.replace("server.py", "FAULTS = sys.argv[1:]", "FAULTS = ['more-tools']");
    site.json(["import", "mcp", "voice", "--tool", "add"]).expect(0);
    assert_eq!(codes(&site.json(["pins", "list"]).expect(0)["issues"]), ["mcp_tool_appeared"]);
    site.json(["import", "mcp", "voice", "--tool", "whisper"]).expect(0);
    assert_eq!(codes(&site.json(["pins", "list"]).expect(0)["issues"]), [""; 0]);
}

#[test]
fn servers_with_a_shared_runtime_have_separate_pins() {
    let spoken = VoiceSite::new("echo", "mark=called", "");
    let site = &spoken.site;
    let one = entry("say", "echo", "mark=called", "");
    let other = entry("shout", "echo", "mark=called changed-description", "");
    let names = || {
        let files = site.workspace.files(".brigade/tools/pins").into_keys();
        files.filter(|path| path.ends_with(".json") && !path.contains("servers")).collect::<Vec<_>>()
    };
    assert_eq!(spoken.say(HELLO).0, 0);
    let first = site.workspace.read(".brigade/tools/pins/voice--echo.json");
    // A pin of an older version does not name its entry, so it belongs to the first one.
    let mut older: Value = serde_json::from_slice(&first).unwrap();
    older.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "command" | "variant"));
    site.workspace.write(".brigade/tools/pins/voice--echo.json", older.to_string());
    let adopted = site.json(["state", "adopt", "--yes"]).expect(0);
    assert_eq!(
        (&adopted["records"][0]["kind"], &adopted["records"][0]["id"]),
        (&json!("pin"), &json!("voice--echo"))
    );

    site.workspace.write(".brigade/tools.toml", format!("{one}\n{other}"));
    let shouted = site.receipt_of("shout", HELLO);
    assert_eq!(
        (&shouted["status"], &shouted["mcp_pin"]["state"]),
        (&json!("completed"), &json!("first use"))
    );
    assert_eq!(names().len(), 2, "{:?}", names());
    assert_eq!(site.receipt_of("say", HELLO)["mcp_pin"]["state"], "unchanged");
    assert_eq!(site.receipt_of("shout", HELLO)["mcp_pin"]["state"], "unchanged");
    let ids = ["say", "shout"].map(|id| site.json(["pins", "show", id]).expect(0)["pin"]["id"].clone());
    assert_eq!(ids[0], "voice--echo");
    assert!(text(&json!({"id": ids[1]}), "id").starts_with("voice--echo--"), "{ids:?}");
    let live = site.json(["pins", "list", "--live"]).expect(0);
    assert_eq!(codes(&live["issues"]), ["[mcp_tool_new]", "[mcp_tool_new]"], "{live:#}");

    // Reversed in the file, alone, or with an edited command, each entry keeps its pin.
    site.workspace.write(".brigade/tools.toml", format!("{other}\n{one}"));
    assert_eq!(site.receipt_of("say", HELLO)["mcp_pin"]["state"], "unchanged");
    site.workspace.write(".brigade/tools.toml", &other);
    assert_eq!(site.receipt_of("shout", HELLO)["mcp_pin"]["state"], "unchanged");
    site.workspace.write(".brigade/tools.toml", entry("say", "echo", "mark=called text-ids reordered", ""));
    assert_eq!(site.receipt_of("say", HELLO)["mcp_pin"]["state"], "unchanged");
    assert_eq!(names().len(), 2);
    site.workspace.write(".brigade/tools.toml", entry("say", "echo", "mark=called added-parameter", ""));
    let (code, run) = spoken.say(HELLO);
    assert_eq!((code, &run["receipt"]["mcp_error_kind"]), (1, &json!("pin_changed")), "{run:#}");
}

/// Returns a workspace without tools, whose runtime is the server itself.
fn importable(faults: &str) -> VoiceSite {
    let spoken = VoiceSite::stopped("echo", "", "");
    spoken.site.workspace.write(".brigade/tools.toml", "# Ours\n");
    spoken.site.workspace.write(
        ".brigade/tools/runtimes.toml",
        format!("[[runtime]]\nid = 'voice'\nname = 'Voice'\ncommand = 'python3 -S -E server.py {faults}'\n"),
    );
    spoken
}

#[test]
fn imported_tools_are_off_until_they_are_reviewed() {
    let spoken = importable("mark=called");
    let site = &spoken.site;
    let words = ["import", "mcp", "voice", "--tool", "echo", "--tool", "add"];
    let dry = site.json(words.into_iter().chain(["--dry-run"])).expect(0);
    assert_eq!((&dry["added_count"], &dry["tools"][0]["action"]), (&json!(2), &json!("would-add")));
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), "# Ours\n");
    assert!(!site.workspace.exists(".brigade/tools/schemas"));

    let imported = site.json(words).expect(0);
    assert_eq!((&imported["added_count"], &imported["listed_count"]), (&json!(2), &json!(12)));
    assert_eq!(imported["tools"][0]["schema_problems"], json!([]));
    assert_eq!(spoken.called(), "");
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    assert!(catalog.starts_with("# Ours\n") && catalog.matches("enabled = false").count() == 2, "{catalog}");
    let schema: Value =
        serde_json::from_slice(&site.workspace.read(".brigade/tools/schemas/voice-echo.input.json")).unwrap();
    assert_eq!(schema, serde_json::from_str::<Value>(ECHO).unwrap());
    site.json(["call", "plan", "voice-echo", "--args", HELLO])
        .refused("set `enabled = true` in .brigade/tools.toml");
    let described = site.json(["describe", "voice-echo"]).expect(0);
    assert_eq!(
        (&described["tool"]["enabled"], &described["arguments"][0]["name"]),
        (&json!(false), &json!("text"))
    );
    assert_eq!(site.json(["show", "voice-echo"]).expect(0)["tool"]["id"], "voice-echo");
    for action in ["describe", "show"] {
        let shown = site.tools([action, "voice-echo"]);
        shown.assert_code(0);
        assert!(shown.to_string().contains("the tool is disabled; set `enabled = true` in"), "{shown}");
    }

    let again = site.json(words).expect(0);
    assert_eq!((&again["added_count"], &again["skipped_count"]), (&json!(0), &json!(2)));
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), catalog);
    let rest = site.json(["import", "mcp", "voice"]).expect(0);
    assert_eq!((&rest["added_count"], &rest["skipped_count"]), (&json!(10), &json!(2)));
    assert_eq!(site.json(["list"]).expect(0)["valid"], true);
}

#[test]
fn a_reviewed_import_runs() {
    let spoken = importable("");
    let site = &spoken.site;
    site.json(["import", "mcp", "voice", "--tool", "echo"]).expect(0);
    site.workspace.replace(".brigade/tools.toml", "enabled = false", "enabled = true");
    let plan = site.json(["call", "plan", "voice-echo", "--args", HELLO]).expect(1);
    let codes: Vec<&Value> =
        plan["blocker_details"].as_array().unwrap().iter().map(|detail| &detail["code"]).collect();
    assert_eq!(codes, ["mcp_missing_effects"]);
    let entry = site.workspace.read_text(".brigade/tools.toml");
    let reviewed = "approval_mode = \"on-request\"\neffects = [\"local-read\"]";
    site.workspace.write(".brigade/tools.toml", entry.replace("approval_mode = \"on-request\"", reviewed));
    // The runtime is a server that waits for input. Each call starts a separate server.
    site.tools(["runtime", "start", "voice"]).assert_code(0);
    let receipt = site.receipt_of("voice-echo", HELLO);
    assert_eq!((&receipt["status"], &receipt["mcp_response_text"]), (&json!("completed"), &json!("hello")));
    assert_eq!(site.json(["runtime", "status"]).expect(0)["counts"]["running"], 1);
}

#[test]
fn seen_change_can_be_accepted_before_a_call() {
    let spoken = VoiceSite::fickle("echo");
    assert_eq!(spoken.say(HELLO).0, 0);
    spoken.turn("good", "changed-description");
    spoken.site.json(["pins", "accept", "say"]).refused("has no changes");
    spoken.site.json(["pins", "list", "--live"]).expect(1);
    let shown = spoken.site.json(["pins", "show", "say"]).expect(0);
    assert_eq!(shown["offered"]["name"], "echo", "all that is offered is there");
    assert!(text(&shown["offered"], "description").ends_with("pass it as `note`."));
    assert!(shown["offered"]["input_schema"]["properties"]["text"].is_object());
    let fingerprint = text(&shown["offered"], "fingerprint");
    spoken.site.json(["pins", "accept", "say", "--fingerprint", "00000000"]).refused("a different change");
    spoken.site.json(["pins", "accept", "say", "--fingerprint", &fingerprint[..7]]).refused("8 digits");
    let accepted = spoken.site.json(["pins", "accept", "say", "--fingerprint", &fingerprint[..16]]).expect(0);
    assert_eq!((&accepted["offered"], &accepted["accepted"]), (&shown["offered"], &json!(true)));
    assert_eq!(spoken.say(HELLO).0, 0);
    spoken.site.json(["pins", "list", "--live"]).expect(0);
}

#[test]
fn imports_at_the_same_time_lose_no_entry() {
    let spoken = importable("");
    let names = ["echo", "add", "env", "fail", "image", "audio"];
    let imports: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command =
                spoken.site.brigade.command(["tools", "import", "mcp", "voice", "--tool", name]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    for mut import in imports {
        assert!(import.wait().expect("it ends").success());
    }
    let catalog = spoken.site.workspace.read_text(".brigade/tools.toml");
    for name in names {
        assert_eq!(catalog.matches(&format!("id = \"voice-{name}\"\n")).count(), 1, "{name}: {catalog}");
    }
}

#[test]
fn duplicate_names_and_broken_catalogs_are_reported() {
    let spoken = importable("twice");
    let site = &spoken.site;
    let imported = site.json(["import", "mcp", "voice", "--tool", "echo"]).expect(0);
    assert_eq!((&imported["added_count"], &imported["skipped_count"]), (&json!(0), &json!(1)));
    assert_eq!(imported["tools"][0]["detail"], "the server lists it 2 times, so it is never called");
    let broken = "[[tool]]\nid = \"a\"\nname = \n";
    site.workspace.write(".brigade/tools.toml", broken);
    site.json(["import", "mcp", "voice", "--tool", "add"]).refused("line 3: the TOML is broken there");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), broken);
    assert!(!site.workspace.exists(".brigade/tools/schemas"));
    let other = "# mine\n[tool]\nid = \"x\"\n";
    site.workspace.write(".brigade/tools.toml", other);
    let refused = site.json(["import", "mcp", "voice", "--tool", "add"]);
    refused.refused("line 2: `tool` is not a list of entries there");
    assert_eq!(site.workspace.read_text(".brigade/tools.toml"), other);
    // In the form of a TOML key, the tools are also a list.
    let list = "tool = [ {id = \"x\", name = \"x\", family = \"script\", command = \"true\"} ]\n";
    site.workspace.write(".brigade/tools.toml", list);
    assert_eq!(site.json(["import", "mcp", "voice", "--tool", "add"]).expect(0)["added_count"], 1);
    let listed = site.json(["list"]).expect(0);
    assert_eq!(
        (&listed["tool_count"], &listed["tools"][1]["enabled"]),
        (&json!(2), &json!(false)),
        "{listed:#}"
    );
    assert!(site.workspace.read_text(".brigade/tools.toml").contains("mcp_tool_name = \"add\""));
}

#[test]
fn names_that_no_entry_can_say_are_not_imported() {
    let spoken = importable("blank-names");
    let imported = spoken.site.json(["import", "mcp", "voice"]).expect(0);
    assert_eq!((&imported["added_count"], &imported["skipped_count"]), (&json!(12), &json!(3)));
    let again = spoken.site.json(["import", "mcp", "voice"]).expect(0);
    assert_eq!((&again["added_count"], &again["skipped_count"]), (&json!(0), &json!(15)));
}

#[test]
fn tools_that_cannot_be_imported_are_reported() {
    let spoken = importable("");
    let site = &spoken.site;
    site.json(["import", "mcp", "voic"]).refused("did you mean `voice`?");
    site.json(["import", "mcp", "voice", "--tool", "ecco"]).refused("did you mean `echo`?");
    site.workspace.write(".brigade/tools/schemas/voice-echo.input.json", "{}");
    let kept = site.json(["import", "mcp", "voice", "--tool", "echo"]).expect(0);
    assert_eq!((&kept["added_count"], &kept["tools"][0]["action"]), (&json!(0), &json!("skip")));
    assert_eq!(site.workspace.read_text(".brigade/tools/schemas/voice-echo.input.json"), "{}");
    site.workspace.write(".brigade/tools.toml", entry("mine", "echo", "", ""));
    let known = site.json(["import", "mcp", "voice", "--tool", "echo"]).expect(0);
    assert_eq!(known["tools"][0]["detail"], "the catalog has it as `mine`");
    let off = importable("refuses");
    let refused = off.site.json(["import", "mcp", "voice"]).refused("listed no tools");
    assert!(!refused.to_string().contains("policy doctor"), "{refused:#}");
}
