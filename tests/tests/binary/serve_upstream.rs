//! Server processes that `brigade serve` keeps for calls of agents.

#![allow(
    clippy::disallowed_methods,
    reason = "the server is copied from the fixtures, and processes are looked at"
)]

use std::path::Path;

use brigade_testkit::fixtures;
use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::mcp_common::{READS, close};
use crate::serve_common::{
    BOUND, Client, GATEWAY, about, agents, assert_stands, id_of, late, signal, site, text, trust_reads,
};

/// Returns an entry for a tool of the fixture server.
pub fn entry(tool: &str, features: &str, lines: &str) -> String {
    let effects = if lines.contains("effects") { "" } else { "effects = [\"local-read\"]\n" };
    format!(
        "[[tool]]\nid = \"read-{tool}\"\nname = \"{tool}\"\ndescription = \"Does {tool}.\"\nfamily = \"mcp\"\n\
         command = \"python3 -S -E kept.py {features}\"\nruntime_id = \"voice\"\nmcp_server_id = \"files\"\n\
         mcp_tool_name = \"{tool}\"\ninput_schema_path = \"schemas/text.json\"\napproval_mode = \"on-request\"\n\
         timeout = 30\npermissions = [\"local-read\"]\nenv_labels = [\"GITHUB_TOKEN\"]\n{effects}{lines}\n"
    )
}

/// A workspace with the fixture server, a rule for its tools, and its runtime.
pub struct KeptServerSite {
    pub site: Site,
}

impl Drop for KeptServerSite {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "voice"]).output();
    }
}

impl KeptServerSite {
    /// Returns a workspace with these tools of the fixture server, which has these features.
    pub fn new(features: &str, tools: &[&str]) -> KeptServerSite {
        let entries: Vec<String> = tools.iter().map(|tool| entry(tool, features, "")).collect();
        KeptServerSite::serving(site(), &entries)
    }

    /// Returns a workspace with these entries and a running runtime.
    pub fn serving(site: Site, entries: &[String]) -> KeptServerSite {
        let server = std::fs::read(fixtures().join("mcp/kept.py")).expect("the fixture is there");
        site.workspace.write("kept.py", server);
        site.workspace.write(
            ".brigade/tools/runtimes.toml",
            "[[runtime]]\nid = 'voice'\nname = 'Voice'\ncommand = 'sleep 600'\nhealth_command = 'true'\n",
        );
        site.workspace.replace(
            ".brigade/tools/policy.toml",
            "max_timeout = 120",
            "max_timeout = 120\nallowed_runtimes = [\"voice\"]",
        );
        for entry in entries {
            site.add_to_catalog(entry);
        }
        site.tools(["runtime", "start", "voice"]).assert_code(0);
        if !entries.is_empty() {
            trust_reads(&site);
        }
        KeptServerSite { site }
    }

    /// Sets `[[upstream]]` of the server.
    fn upstream(&self, lines: &str) {
        agents(&self.site, "");
        let agents = self.site.workspace.read_text(GATEWAY);
        let upstream = format!("{agents}\n[[upstream]]\nid = \"files\"\n{lines}\n");
        self.site.workspace.write(GATEWAY, upstream);
    }

    /// Returns the lines of the server's trace with this prefix.
    fn noted(&self, line: &str) -> Vec<String> {
        let exists = self.site.workspace.exists("kept.log");
        let log = if exists { self.site.workspace.read_text("kept.log") } else { String::new() };
        log.lines().filter(|noted| noted.starts_with(line)).map(str::to_owned).collect()
    }

    /// Returns the started processes.
    fn started(&self) -> Vec<u32> {
        let pid = |line: &String| line.trim_start_matches("started ").parse().expect("it is a number");
        self.noted("started").iter().map(pid).collect()
    }

    /// Waits until the server has ended with all of its processes.
    #[track_caller]
    fn gone(&self, pid: u32) {
        until("end of the server", || (!is_running(pid)).then_some(()));
    }

    /// Returns the records of starts.
    pub fn records(&self) -> Vec<Value> {
        let files = self.site.workspace.files(".brigade/tools/runtime/upstreams");
        let records = files.iter().filter(|(path, _)| path.ends_with(".json"));
        records.map(|(_, bytes)| serde_json::from_slice(bytes).expect("a record is JSON")).collect()
    }

    pub fn receipt(&self, result: &Value) -> Value {
        let run = about(result)["run_id"].as_str().unwrap_or_else(|| panic!("no run: {result:#}"));
        self.site.json(["run", "show", run]).expect(0)["run"].clone()
    }
}

fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[track_caller]
fn pid(client: &mut Client) -> u32 {
    let result = client.call("read-pid", json!({}));
    text(&result).parse().unwrap_or_else(|_| panic!("{result:#}"))
}

#[test]
fn calls_use_one_process_and_each_has_its_receipt() {
    let kept = KeptServerSite::new("", &["count", "pid"]);
    let mut client = Client::connect(&kept.site, "local");
    let first = client.call("read-pid", json!({}));
    assert_stands(&first, "completed", "");
    let process: u32 = text(&first).parse().unwrap();
    let ids: Vec<u64> = (0..3).map(|n| client.send_call("read-count", json!({"n": n}))).collect();
    let mut counts: Vec<String> = ids.into_iter().map(|id| text(&client.result(id))).collect();
    counts.sort();
    assert_eq!(counts, ["1", "2", "3"]);
    assert_eq!(pid(&mut client), process);
    assert_eq!((kept.started(), kept.noted("lists").len()), (vec![process], 1));

    let receipt = kept.receipt(&first);
    assert_eq!(receipt["process"]["pid"], process);
    assert_eq!(receipt["status"], "completed");
    assert_eq!(receipt["approval"]["by"], "rule");
    let record = &kept.records()[0];
    assert_eq!(record["id"], receipt["mcp_start_id"]);
    assert_eq!(record["pid"], process);
    assert_eq!((&record["agent"], &record["ended_at"]), (&json!("local"), &Value::Null));
    assert_eq!(record["effects"], json!(["local-read"]));
    assert!(record["files"]["kept.py"].is_string(), "{record:#}");

    client.close_input();
    assert_eq!(client.ended().0, Some(0));
    assert!(!is_running(process));
    let record = &kept.records()[0];
    assert!(record["ended_at"].is_string() && record["failure"].is_null(), "{record:#}");
    kept.site.tools(["run", "verify"]).assert_code(0);
}

#[test]
fn agents_have_separate_processes_by_default() {
    let kept = KeptServerSite::new("", &["pid"]);
    let tokens = ["ann", "ben"].map(|agent| crate::serve_common::token(&kept.site, agent));
    let server = crate::serve_common::Server::start(&kept.site, &["--http", "127.0.0.1:0"]);
    let pids = |tokens: &[String; 2]| {
        tokens.each_ref().map(|token| {
            let mut session = crate::serve_common::Session::open(&server.place, Some(token));
            text(&session.call("read-pid", json!({})))
        })
    };
    let [ann, ben] = pids(&tokens);
    assert_ne!(ann, ben);
    let file = kept.site.workspace.read_text(GATEWAY);
    kept.site
        .workspace
        .write(GATEWAY, format!("{file}\n[[upstream]]\nid = \"files\"\nshare = \"workspace\"\n"));
    until("one process", || {
        let [ann, ben] = pids(&tokens);
        (ann == ben).then_some(())
    });
}

/// Issue 14: a log message after the answer to one agent was sent to another agent with a running call.
#[test]
fn late_log_messages_reach_no_other_agent() {
    let kept = KeptServerSite::new("", &["after", "hears"]);
    let tokens = ["ann", "ben"].map(|agent| crate::serve_common::token(&kept.site, agent));
    let file = kept.site.workspace.read_text(GATEWAY);
    let shared = format!("{file}\n[[upstream]]\nid = \"files\"\nshare = \"workspace\"\n");
    kept.site.workspace.write(GATEWAY, shared);
    let server = crate::serve_common::Server::start(&kept.site, &["--http", "127.0.0.1:0"]);
    let asked = |token: &String, name: &str| {
        let mut params = late(json!({"name": name, "arguments": {}}), json!({}));
        params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let token = format!("Bearer {token}");
        let head = [
            ("Authorization", token.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ];
        server.place.send("POST", "/mcp", &head, &request.to_string())
    };
    let [ann, ben] = &tokens;
    for (other, hears) in [(ann, false), (ben, true)] {
        assert_eq!(text(&asked(other, "read-after").message()["result"]), "answered");
        let heard = asked(ben, "read-hears");
        assert_eq!(text(&heard.message()["result"]), "heard");
        assert_eq!(heard.body.contains("of an answered call"), hears, "{heard:?}");
    }
}

#[test]
fn a_server_is_kept_as_long_as_it_says() {
    let kept = KeptServerSite::new("", &["pid"]);
    kept.upstream("keep = 0");
    let mut client = Client::connect(&kept.site, "local");
    let first = pid(&mut client);
    kept.gone(first);
    let second = pid(&mut client);
    assert_ne!(first, second);
    kept.gone(second);
    assert!(kept.records().iter().all(|record| record["failure"].is_null()));
}

#[test]
fn a_killed_server_fails_its_call_and_no_other() {
    let kept = KeptServerSite::new("", &["die", "pid", "sleep"]);
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    let waits = client.send_call("read-sleep", json!({}));
    until("the call", || (!kept.noted("sleeps").is_empty()).then_some(()));
    signal(process, "KILL");
    let failed = client.result(waits);
    assert_stands(&failed, "failed", "upstream_failed");
    assert_eq!(failed["isError"], true);
    let next = pid(&mut client);
    assert_ne!(next, process);
    // An idle server that dies is also restarted.
    signal(next, "KILL");
    kept.gone(next);
    let last = pid(&mut client);
    assert!(last != next && is_running(last));
    let died = client.call("read-die", json!({}));
    assert_stands(&died, "failed", "upstream_failed");
    assert_ne!(pid(&mut client), last);
}

#[test]
fn a_changed_server_file_ends_the_server() {
    let kept = KeptServerSite::new("", &["pid"]);
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    // Only touched: the bytes are the same.
    let server = kept.site.workspace.read_text("kept.py");
    kept.site.workspace.write("kept.py", &server);
    assert_eq!(pid(&mut client), process);
    kept.site.workspace.write("kept.py", format!("{server}# more\n"));
    let asked = client.call("read-pid", json!({"n": 1}));
    assert_stands(&asked, "pending", "approval_pending");
    assert!(text(&asked).contains("a person saw it: file kept.py"), "{asked:#}");
    trust_reads(&kept.site);
    let refused = client.call("read-pid", json!({}));
    assert_stands(&refused, "refused", "changed_file");
    assert!(text(&refused).contains("file kept.py changed since"), "{refused:#}");
    // Issue 12: it names the stored call.
    let id = id_of(&refused);
    assert!(text(&refused).contains(&id), "{refused:#}");
    kept.site.json(["call", "show", &id]).expect(0);
    kept.gone(process);
    let next = pid(&mut client);
    assert_ne!(next, process);
    assert_eq!(kept.started().len(), 2);
}

#[test]
fn changed_listing_is_reread_and_changed_pin_refused() {
    let kept = KeptServerSite::new("", &["change", "pid", "relist"]);
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    client.call("read-relist", json!({}));
    assert_eq!(pid(&mut client), process);
    assert_eq!(kept.noted("lists").len(), 2);
    client.call("read-change", json!({}));
    let refused = client.call("read-pid", json!({}));
    assert_stands(&refused, "failed", "changed_pin");
    // The new listing is shown to people.
    let run = about(&refused)["run_id"].as_str().unwrap_or_default().to_owned();
    let id = id_of(&refused);
    assert!(text(&refused).contains("the tool changed since it was approved: description"), "{refused:#}");
    let mut read = vec![refused, client.call("call.status", json!({"call_id": id}))];
    read.push(client.call("call.wait", json!({"call_id": id})));
    read.push(client.call("output.read", json!({"run_id": run})));
    for uri in [format!("brigade://run/{run}"), format!("brigade://run/{run}/stdout")] {
        read.push(client.ask("resources/read", json!({"uri": uri}))["result"].clone());
    }
    for read in read {
        assert!(read.is_object() && !read.to_string().contains("something else"), "{read:#}");
    }
    let shown = kept.site.tools(["run", "show", &run]).assert_code(0).stdout_text();
    assert!(shown.contains("Does something else."), "{shown}");
    let shown = kept.site.tools(["pins", "show", "read-pid"]).assert_code(0).stdout_text();
    assert!(shown.contains("Does something else."), "{shown}");
    // The next call shows the change to a person, and no rule approves it.
    assert_stands(&client.call("read-pid", json!({})), "pending", "approval_pending");
    assert_eq!(kept.started(), [process]);
}

#[test]
fn the_server_survives_a_cancelled_call() {
    let kept = KeptServerSite::new("", &["pid", "sleep"]);
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    let id = client.send_call("read-sleep", json!({}));
    until("the call", || (!kept.noted("sleeps").is_empty()).then_some(()));
    client.tell("notifications/cancelled", json!({"requestId": id}));
    until("the server's word", || (!kept.noted("cancelled").is_empty()).then_some(()));
    assert_eq!(pid(&mut client), process);
    let calls = client.call("call.list", json!({}));
    let calls = calls["structuredContent"]["calls"].as_array().cloned().unwrap_or_default();
    let slept = calls.iter().find(|call| call["tool"] == "read-sleep" || call["tool_id"] == "read-sleep");
    assert_eq!(slept.map(|call| &call["status"]), Some(&json!("interrupted")), "{calls:#?}");
}

#[test]
fn a_call_that_takes_too_long_fails_alone() {
    let kept = KeptServerSite::new("", &["pid", "sleep"]);
    kept.site.workspace.write(
        ".brigade/tools.toml",
        kept.site.workspace.read_text(".brigade/tools.toml").replace("timeout = 30", "timeout = 2"),
    );
    trust_reads(&kept.site);
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    assert_stands(&client.call("read-sleep", json!({})), "timed-out", "upstream_timeout");
    until("the server's word", || (!kept.noted("cancelled").is_empty()).then_some(()));
    assert_eq!(pid(&mut client), process);
}

#[test]
fn no_server_survives_a_killed_gateway() {
    let kept = KeptServerSite::new("", &["pid", "sleep"]);
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    client.send_call("read-sleep", json!({}));
    until("the call", || (!kept.noted("sleeps").is_empty()).then_some(()));
    signal(client.pid(), "KILL");
    kept.gone(process);
    // A gateway that ends during a call also ends its server in time.
    let mut client = Client::connect(&kept.site, "local");
    let process = pid(&mut client);
    client.send_call("read-sleep", json!({"n": 1}));
    until("the call", || (kept.noted("sleeps").len() == 2).then_some(()));
    signal(client.pid(), "TERM");
    assert_eq!(client.ended().0, Some(0));
    assert!(!is_running(process));
}

#[test]
fn an_approval_binds_the_sandbox_of_all_entries() {
    let kept = KeptServerSite::new("", &["pid"]);
    kept.site.add_to_catalog(
        &entry("roots", "", "effects = [\"local-read\"]\nlimits = 1\n").replace("limits = 1\n", ""),
    );
    kept.site.add_to_catalog(&entry("flood", "", "effects = [\"local-read\", \"local-write\"]\n"));
    let mut client = Client::connect(&kept.site, "local");
    let pending = client.call("read-flood", json!({}));
    assert_stands(&pending, "pending", "approval_pending");
    // Calls of the server's other tools also show what the process may do.
    kept.site.workspace.replace(
        ".brigade/tools/policy.toml",
        "tools = [\"at-once\", \"read-*\"]",
        "tools = [\"at-once\"]",
    );
    let pending = client.call("read-pid", json!({}));
    assert_stands(&pending, "pending", "approval_pending");
    let id = id_of(&pending);
    let shown = kept.site.json(["call", "show", &id]).expect(0);
    assert_eq!(shown["preview"]["server_effects"], json!(["local-read", "local-write"]), "{shown:#}");
    assert_eq!(shown["preview"]["access"]["write"], json!(["workspace"]), "{shown:#}");
    kept.site.tools(["call", "approve", &id]).assert_code(0);
    kept.site.workspace.replace(
        ".brigade/tools.toml",
        "effects = [\"local-read\", \"local-write\"]",
        "effects = [\"local-read\"]",
    );
    let refused = client.call("call.wait", json!({"call_id": id}));
    assert!(text(&refused).contains("what the server's process may do"), "{refused:#}");
    assert!(kept.started().is_empty());
}

/// Answers the next question of the server.
#[track_caller]
fn answer(client: &mut Client, method: &str, result: &Value) -> Value {
    let request = client.heard(method);
    client.write(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string());
    request["params"].clone()
}

fn ada() -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

#[test]
fn a_server_asks_the_client_of_its_call() {
    for features in ["", "stateless"] {
        let kept = KeptServerSite::new(features, &["elicit", "elicit-twice", "sample"]);
        let mut client = Client::start(&kept.site, &["--as", "local"]);
        client.hello("2025-11-25", json!({"elicitation": {}, "sampling": {}}));
        let id = client.send_call("read-elicit", json!({}));
        let asked = answer(&mut client, "elicitation/create", &ada());
        let message = asked["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("files: who? ") && !message.contains(BOUND), "{asked:#}");
        assert_eq!(asked["requestedSchema"]["required"], json!(["name"]));
        let result = client.result(id);
        assert_stands(&result, "completed", "");
        assert!(text(&result).contains("Ada"), "{result:#}");
        let id = client.send_call("read-elicit-twice", json!({}));
        answer(&mut client, "elicitation/create", &ada());
        answer(&mut client, "elicitation/create", &json!({"action": "decline"}));
        assert!(text(&client.result(id)).contains("decline"));
        // The client's model is not asked, and neither is a client without a dialogue.
        let sampled = client.call("read-sample", json!({}));
        assert_eq!(client.count("sampling/createMessage"), 0, "{sampled:#}");
        let mut plain = Client::connect(&kept.site, "local");
        let result = plain.call("read-elicit", json!({}));
        assert_eq!(plain.count("elicitation/create"), 0, "{result:#}");
    }
}

#[test]
fn allowed_server_may_sample_the_client() {
    let kept = KeptServerSite::new("", &["capabilities", "sample"]);
    kept.upstream("sampling = true");
    let mut client = Client::start(&kept.site, &["--as", "local"]);
    client.hello("2025-11-25", json!({"sampling": {}}));
    let id = client.send_call("read-sample", json!({}));
    let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi there"}});
    let asked = answer(&mut client, "sampling/createMessage", &said);
    assert_eq!(asked["maxTokens"], 10, "{asked:#}");
    assert!(text(&client.result(id)).contains("hi there"));
    assert!(text(&client.call("read-capabilities", json!({}))).contains("sampling"));
}

#[test]
fn a_question_is_a_result_without_a_handshake() {
    for features in ["", "stateless"] {
        let kept = KeptServerSite::new(features, &["elicit"]);
        let mut client = Client::start(&kept.site, &["--as", "local"]);
        let capabilities = || json!({"elicitation": {}});
        let call = |extra: Value| {
            let mut params = json!({"name": "read-elicit", "arguments": {}});
            if let (Some(params), Value::Object(extra)) = (params.as_object_mut(), extra) {
                params.extend(extra);
            }
            late(params, capabilities())
        };
        let required = client.ask("tools/call", call(json!({})))["result"].clone();
        assert_eq!(required["resultType"], "input_required", "{required:#}");
        let requests = required["inputRequests"].as_object().expect("there is a question").clone();
        let (key, request) = requests.iter().next().expect("there is one");
        assert_eq!(request["method"], "elicitation/create");
        let message = request["params"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("files: who? ") && !message.contains(BOUND), "{request:#}");
        let state = required["requestState"].clone();
        // A modified state is rejected, and the call stays pending.
        let wrong = format!("{}x", state.as_str().unwrap_or_default());
        assert_eq!(
            client.refused("tools/call", call(json!({"requestState": wrong, "inputResponses": {}}))),
            -32602
        );
        // Without the reply, the question is asked again.
        let again =
            client.ask("tools/call", call(json!({"requestState": state, "inputResponses": {}})))["result"]
                .clone();
        assert_eq!(again["resultType"], "input_required", "{again:#}");
        let replies = json!({key.as_str(): ada()});
        let brought = call(json!({"requestState": again["requestState"], "inputResponses": replies}));
        let result = client.ask("tools/call", brought)["result"].clone();
        assert!(text(&result).contains("Ada"), "{result:#}");
        assert_stands(&result, "completed", "");
        // The call runs once.
        assert_eq!(
            client.refused("tools/call", call(json!({"requestState": state, "inputResponses": {}}))),
            -32602
        );
    }
}

#[test]
fn the_client_sets_the_level_of_log_messages() {
    let kept = KeptServerSite::new("", &["log"]);
    let mut client = Client::connect(&kept.site, "local");
    client.call("read-log", json!({}));
    let mut levels = Vec::new();
    for _ in 0..3 {
        let heard = client.heard("notifications/message");
        assert!(!heard.to_string().contains(BOUND), "{heard:#}");
        levels.push(heard["params"]["level"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(levels, ["debug", "info", "error"]);
    client.ask("logging/setLevel", json!({"level": "warning"}));
    client.call("read-log", json!({}));
    assert_eq!(client.heard("notifications/message")["params"]["level"], "error");
    assert_eq!(client.count("notifications/message"), 0);
    assert_eq!(kept.noted("level"), ["level warning"]);
    // Without a handshake, a client that sets no level gets no messages.
    let mut silent = Client::start(&kept.site, &["--as", "local"]);
    silent.ask("tools/call", late(json!({"name": "read-log", "arguments": {}}), json!({})));
    assert_eq!(silent.count("notifications/message"), 0);
}

/// Returns the parameters of a call without a handshake.
fn late_call(tool: &str, arguments: Value, back: Value, capabilities: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if let (Some(params), Value::Object(back)) = (params.as_object_mut(), back) {
        params.extend(back);
    }
    late(params, capabilities)
}

fn model() -> Value {
    json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi there"}})
}

#[test]
fn questions_of_one_result_are_passed_on_together() {
    let kept = KeptServerSite::new("stateless", &["several"]);
    kept.upstream("sampling = true");
    let capabilities = || json!({"elicitation": {}, "sampling": {}});
    let mut client = Client::start(&kept.site, &["--as", "local"]);
    let mut call = |arguments: Value, back: Value| {
        client.ask("tools/call", late_call("read-several", arguments, back, capabilities()))
    };
    let required = call(json!({}), json!({}))["result"].clone();
    let methods = |required: &Value| -> Vec<String> {
        let requests = required["inputRequests"].as_object().cloned().unwrap_or_default();
        requests
            .iter()
            .map(|(key, one)| format!("{key} {}", one["method"].as_str().unwrap_or_default()))
            .collect()
    };
    assert_eq!(methods(&required), ["model sampling/createMessage", "who elicitation/create"]);
    let back = |required: &Value, replies: Value| json!({"requestState": required["requestState"], "inputResponses": replies});
    // Other arguments are another call.
    let other = call(json!({"n": 1}), back(&required, json!({"who": ada()})));
    assert_eq!(other["error"]["code"], -32602, "{other:#}");
    // Only unanswered questions are asked again.
    let again = call(json!({}), back(&required, json!({"who": ada(), "more": ada()})))["result"].clone();
    assert_eq!(methods(&again), ["model sampling/createMessage"]);
    let result = call(json!({}), back(&again, json!({"model": model()})))["result"].clone();
    assert_stands(&result, "completed", "");
    assert!(text(&result).contains("Ada") && text(&result).contains("hi there"), "{result:#}");
    let spent = call(json!({}), back(&required, json!({"who": ada()})));
    assert_eq!(spent["error"]["code"], -32602, "{spent:#}");
    // With a handshake, questions come one after the other.
    let mut shaken = Client::start(&kept.site, &["--as", "local"]);
    shaken.hello("2025-11-25", capabilities());
    let id = shaken.send_call("read-several", json!({}));
    answer(&mut shaken, "sampling/createMessage", &model());
    answer(&mut shaken, "elicitation/create", &ada());
    let result = shaken.result(id);
    assert!(text(&result).contains("Ada") && text(&result).contains("hi there"), "{result:#}");
}

#[test]
fn a_call_that_ended_before_its_reply_is_reported() {
    let kept = KeptServerSite::new("stateless", &["elicit"]);
    let catalog = kept.site.workspace.read_text(".brigade/tools.toml");
    kept.site.workspace.write(".brigade/tools.toml", catalog.replace("timeout = 30", "timeout = 1"));
    trust_reads(&kept.site);
    let mut client = Client::start(&kept.site, &["--as", "local"]);
    let mut call = |back| {
        client.ask("tools/call", late_call("read-elicit", json!({}), back, json!({"elicitation": {}})))
    };
    let required = call(json!({}))["result"].clone();
    assert_eq!(required["resultType"], "input_required", "{required:#}");
    until("end of the call", || {
        let calls = kept.site.json(["call", "list"]).json;
        calls.to_string().contains("timed-out").then_some(())
    });
    let back = json!({"requestState": required["requestState"], "inputResponses": {"who": ada()}});
    assert_stands(&call(back.clone())["result"], "timed-out", "upstream_timeout");
    assert_eq!(call(back)["error"]["code"], -32602);
}

#[test]
fn client_capabilities_of_the_server_are_required() {
    for features in ["", "stateless"] {
        let kept = KeptServerSite::new(features, &["lacks"]);
        kept.upstream("sampling = true");
        let mut client = Client::start(&kept.site, &["--as", "local"]);
        let mut call = |capabilities| {
            client.ask("tools/call", late_call("read-lacks", json!({}), json!({}), capabilities))
        };
        let refused = call(json!({"elicitation": {}}));
        assert_eq!(refused["error"]["code"], -32021, "{refused:#}");
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
        // A client that declares it gets another kind of request from the server.
        assert_stands(&call(json!({"sampling": {}}))["result"], "failed", "upstream_failed");
    }
}

/// Posts a request of 2026-07-28, and returns the messages of the response.
#[track_caller]
fn posted(server: &crate::serve_common::Server, name: &str, params: &Value) -> Vec<Value> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)];
    let answer = server.place.send("POST", "/mcp", &headers, &message);
    assert_eq!(answer.status, 200, "{answer:?}");
    let events = answer.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let events: Vec<Value> = events.filter_map(|data| serde_json::from_str(data).ok()).collect();
    if events.is_empty() { vec![answer.message()] } else { events }
}

#[test]
fn log_and_progress_come_on_the_stream_of_the_request() {
    for features in ["", "stateless"] {
        let kept = KeptServerSite::new(features, &["tells"]);
        let words = ["--http", "127.0.0.1:0", "--no-token", "--as", "local"];
        let server = crate::serve_common::Server::start(&kept.site, &words);
        let asked = |text: &str, level: Option<&str>, back: Value| {
            let mut params = late_call("read-tells", json!({"text": text}), back, json!({"elicitation": {}}));
            params["_meta"]["progressToken"] = json!("p1");
            if let Some(level) = level {
                params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
            }
            posted(&server, "read-tells", &params)
        };
        let of = |messages: &[Value], method: &str, member: &str| -> Vec<Value> {
            let heard = messages.iter().filter(|message| message["method"] == method);
            heard.map(|message| message["params"][member].clone()).collect()
        };
        let (log, progress) = ("notifications/message", "notifications/progress");
        let silent = asked("", None, json!({}));
        assert!(of(&silent, log, "level").is_empty(), "{silent:#?}");
        assert_eq!(of(&silent, progress, "progress"), [json!(1.0), json!(2.0), json!(3.0)], "{silent:#?}");
        assert_eq!(of(&silent, progress, "progressToken"), ["p1", "p1", "p1"]);
        assert_stands(&silent.last().expect("an answer")["result"], "completed", "");
        let loud = asked("", Some("info"), json!({}));
        assert_eq!(of(&loud, log, "level"), ["info", "error"], "{loud:#?}");
        assert!(!format!("{loud:?}").contains(BOUND), "{loud:#?}");
        // The request with the reply gets the messages that follow it.
        let required = asked("ask", Some("error"), json!({}));
        let required = &required.last().expect("an answer")["result"];
        let key = required["inputRequests"].as_object().and_then(|requests| requests.keys().next().cloned());
        let key = key.unwrap_or_else(|| panic!("no question: {required:#}"));
        let back = json!({"requestState": required["requestState"], "inputResponses": {key: ada()}});
        let rest = asked("ask", Some("error"), back);
        assert_eq!(of(&rest, log, "level"), ["error"], "{rest:#?}");
        assert_eq!(of(&rest, progress, "progress").len(), 3, "{rest:#?}");
        assert_stands(&rest.last().expect("an answer")["result"], "completed", "");
    }
}

/// Issue 12: a kept server can read the same files as a server of one call.
#[test]
fn closed_kept_server_reads_bound_files_and_data() {
    let kept = KeptServerSite::new("", &["echo"]);
    close(&kept.site);
    kept.site.workspace.write("kept.py", READS);
    let catalog = kept.site.workspace.read_text(".brigade/tools.toml");
    let others = catalog.split("[[tool]]").filter(|entry| !entry.contains("mcp_server_id = \"files\""));
    let others = others.collect::<Vec<_>>().join("[[tool]]");
    kept.site.workspace.write(".brigade/tools.toml", others);
    let lines = "code = [\"lib/**\"]\ndata = [\"data/**\"]";
    kept.site.add_to_catalog(&entry("echo", "", lines));
    trust_reads(&kept.site);
    let mut client = Client::connect(&kept.site, "local");
    for named in ["secret.txt", "docs"] {
        let result = client.call("read-echo", json!({"text": named}));
        assert_eq!(text(&result), "approved datum closed closed closed", "{result:#}");
        let used = kept.receipt(&result)["sandbox"].clone();
        assert_eq!((&used["reads"], &used["race"]), (&json!("closed"), &json!("none")), "{used:#}");
    }
    assert_eq!(kept.records().len(), 1, "one process answered both");
}
