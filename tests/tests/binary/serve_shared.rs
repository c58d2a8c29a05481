//! Entries that share a kept server process. Calls of each entry bind and show what the process can open. Its observed
//! files are known to all entries.

use brigade_tests::until;
use serde_json::{Value, json};

use crate::mcp_common::close;
use crate::serve_common::{Client, assert_stands, id_of, site, text, trust_reads};
use crate::serve_upstream::KeptServerSite;

/// A server that opens the files in its argument, and executes those that end with `.sh`.
const OPENS: &str = r#"import json, subprocess, sys
def open_it(path):
    try:
        if path.endswith(".sh"):
            return subprocess.run(["sh", path], capture_output=True, text=True).stdout.strip() or "closed"
        return open(path).read().strip()
    except OSError: return "closed"
def answer(method, params):
    if method == "initialize":
        known = {"name": "opens", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": known}
    if method == "tools/list":
        return {"tools": [{"name": "open", "description": "Opens", "inputSchema": {"type": "object"}}]}
    if method != "tools/call": return {}
    said = [open_it(path) for path in params["arguments"]["text"].split()]
    return {"content": [{"type": "text", "text": " ".join(said)}]}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// The other entry of the server, with additional code and data.
const OTHER: &str = "code = [\"helper.sh\"]\ndata = [\"secret.txt\"]";

/// Returns a closed workspace with a server that opens requested files. `read-two` has these lines, `read-one` has
/// none.
fn shared(lines: &str) -> KeptServerSite {
    let kept = KeptServerSite::serving(site(), &[]);
    close(&kept.site);
    kept.site.workspace.write("kept.py", OPENS);
    kept.site.workspace.write("helper.sh", "echo approved\n");
    kept.site.workspace.write("other.txt", "other\n");
    kept.add("one", "data = [\"data/**\"]");
    kept.add("two", lines);
    kept
}

impl KeptServerSite {
    fn add(&self, id: &str, lines: &str) {
        let entry = crate::serve_upstream::entry("open", "", lines);
        self.site.add_to_catalog(&entry.replace("read-open", &format!("read-{id}")));
        trust_reads(&self.site);
    }

    /// Makes calls of the server wait for a person.
    fn asks(&self) {
        self.site.workspace.replace(
            ".brigade/tools/policy.toml",
            "tools = [\"at-once\", \"read-*\"]",
            "tools = [\"at-once\"]",
        );
    }
}

/// Returns the server's answer about files.
fn opened(client: &mut Client, tool: &str, files: &str) -> Value {
    client.call(tool, json!({"text": files}))
}

#[test]
fn files_of_entries_with_one_process_are_bound() {
    let kept = shared(OTHER);
    kept.asks();
    let mut client = Client::connect(&kept.site, "local");
    let files = "helper.sh secret.txt other.txt data/x.txt";
    let pending = opened(&mut client, "read-one", files);
    assert_stands(&pending, "pending", "approval_pending");
    let id = id_of(&pending);
    let shown = kept.site.json(["call", "show", &id]).expect(0);
    let code = &shown["preview"]["bound_code"];
    assert_eq!(code["data"], json!(["data/**", "secret.txt"]), "{shown:#}");
    let helper = json!({"path": "helper.sh", "by": "code"});
    assert!(code["files"].as_array().is_some_and(|files| files.contains(&helper)), "{shown:#}");
    assert!(kept.site.tools(["call", "show", &id]).stdout_text().contains("secret.txt"));
    kept.site.tools(["call", "approve", &id]).assert_code(0);
    // Only the approved bytes run.
    let done = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(text(&done), "approved secret closed datum", "{done:#}");
    let receipt = kept.receipt(&done);
    assert!(receipt["binding"]["files"].get("helper.sh").is_some(), "{receipt:#}");
    // A changed file of the other entry invalidates the approval.
    let id = id_of(&opened(&mut client, "read-one", &format!("{files} 1")));
    kept.site.tools(["call", "approve", &id]).assert_code(0);
    kept.site.workspace.write("helper.sh", "echo changed\n");
    let refused = client.call("call.wait", json!({"call_id": id}));
    assert!(text(&refused).contains("file helper.sh"), "{refused:#}");
}

#[test]
fn declarations_of_the_other_entries_are_bound() {
    let kept = shared("code = [\"helper.sh\"]");
    kept.asks();
    let mut client = Client::connect(&kept.site, "local");
    let id = id_of(&opened(&mut client, "read-one", "other.txt"));
    kept.site.tools(["call", "approve", &id]).assert_code(0);
    kept.site.workspace.replace(
        ".brigade/tools.toml",
        "code = [\"helper.sh\"]",
        "code = [\"helper.sh\"]\ndata = [\"**\"]",
    );
    let refused = client.call("call.wait", json!({"call_id": id}));
    assert!(text(&refused).contains("what the server's process may do"), "{refused:#}");
}

#[test]
fn an_entry_that_the_policy_refuses_opens_nothing() {
    let kept = shared(&format!("{OTHER}\neffects = [\"local-read\", \"remote-mutation\"]"));
    let mut client = Client::connect(&kept.site, "local");
    let result = opened(&mut client, "read-one", "helper.sh secret.txt data/x.txt");
    assert_eq!(text(&result), "closed closed datum", "{result:#}");
    let record = &kept.records()[0];
    assert_eq!(record["tools"], json!(["read-one"]), "{record:#}");
    assert_eq!(record["effects"], json!(["local-read"]), "{record:#}");
}

#[test]
fn unneeded_grants_end_with_the_process() {
    let kept = shared(OTHER);
    let mut client = Client::connect(&kept.site, "local");
    let files = "helper.sh secret.txt data/x.txt";
    assert_eq!(text(&opened(&mut client, "read-one", files)), "approved secret datum");
    kept.site.workspace.replace(".brigade/tools.toml", &format!("{OTHER}\n"), "enabled = false\n");
    kept.site.trust(["read-one"]);
    let result = opened(&mut client, "read-one", files);
    assert_eq!(text(&result), "closed closed datum", "{result:#}");
    kept.site.workspace.replace(".brigade/tools.toml", "enabled = false\n", "code = [\"helper.sh\"]\n");
    kept.site.trust(["read-one"]);
    assert_eq!(text(&opened(&mut client, "read-one", files)), "approved closed datum");
    kept.site.workspace.replace(".brigade/tools.toml", "code = [\"helper.sh\"]\n", "");
    kept.site.trust(["read-one"]);
    assert_eq!(text(&opened(&mut client, "read-one", files)), "closed closed datum");
    assert_eq!(kept.records().len(), 4, "each had a separate process");
}

/// Waits until the record of the only start has its end.
fn ended(kept: &KeptServerSite) -> Value {
    until("the end of the server", || kept.records().pop().filter(|record| !record["ended_at"].is_null()))
}

/// Returns the paths of a list of files.
fn paths(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()).collect()
}

#[test]
fn calls_know_what_an_ended_kept_server_used() {
    let kept = shared(OTHER);
    kept.site.workspace.write("tool.py", "word = 'x'\n");
    let mut client = Client::connect(&kept.site, "local");
    let result = opened(&mut client, "read-one", "other.txt tool.py secret.txt data/x.txt helper.sh");
    assert_eq!(text(&result), "closed closed secret datum approved");
    opened(&mut client, "read-one", "data/x.txt");
    let run = kept.receipt(&result)["id"].as_str().expect("it has an id").to_owned();
    // While it runs, this is the only reason.
    let inputs = kept.site.json(["run", "show", &run, "--inputs"]).expect(0);
    let reason = inputs["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("its server still runs"), "{inputs:#}");
    let summed = kept.site.json(["observe", "read-one"]).expect(0);
    assert_eq!(summed["reason"], reason, "{summed:#}");
    client.close_input();
    client.ended();
    let record = ended(&kept);
    let start = record["id"].as_str().expect("it has an id");
    let warnings = record["warnings"].to_string();
    for said in ["denied: other.txt; add it to", "tools observe read-one --write"] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
    let inputs = kept.site.json(["run", "show", &run, "--inputs"]).expect(0);
    assert_eq!((&inputs["observed_run_id"], &inputs["reason"]), (&json!(start), &Value::Null), "{inputs:#}");
    assert!(paths(&inputs["bound"]).contains(&"helper.sh"), "{inputs:#}");
    let mut data = paths(&inputs["data"]);
    data.sort_unstable();
    assert_eq!(data, ["data/x.txt", "secret.txt"], "{inputs:#}");
    assert_eq!(paths(&inputs["denied"]), ["other.txt", "tool.py"], "{inputs:#}");
    let summed = kept.site.json(["observe", "read-one"]).expect(0);
    assert_eq!((&summed["run_count"], &summed["observed_run_ids"]), (&json!(2), &json!([start])));
    assert_eq!(paths(&summed["unbound"]), ["other.txt", "tool.py"], "{summed:#}");
    let found = kept.site.tools(["doctor", "--json"]).stdout_text();
    assert!(found.contains("tool_reads_unbound") && found.contains("tool.py"), "{found}");
    // Every command names the source.
    let shown = |words: &[&str]| kept.site.tools(words).to_string();
    for said in [shown(&["observe", "read-one"]), shown(&["run", "show", &run, "--inputs"]), found] {
        assert!(said.contains("the calls of all its entries"), "{said}");
    }
    let pending = kept.site.json(["call", "plan", "read-one", "--args", "{}"]);
    assert!(pending.json["bound_code"]["unbound"].to_string().contains("tool.py"), "{:#}", pending.json);
}
