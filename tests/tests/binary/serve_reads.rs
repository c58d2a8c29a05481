//! Resources and prompts of MCP servers through the gateway: listed, read immediately, approved by a person, or
//! unknown.

#![allow(clippy::disallowed_methods, reason = "the server is copied from the fixtures")]

use brigade_testkit::fixtures;
use brigade_tests::Site;
use serde_json::{Value, json};

use crate::serve_common::{
    BOUND, CATALOG, Client, GATEWAY, POLICY, about, assert_stands, id_of, late, site, text,
};

/// The agents: `ann` may only read, and `local` has the default rights.
const AGENTS: &str =
    "[[agent]]\nname = \"local\"\n\n[[agent]]\nname = \"ann\"\nprofiles = [\"permission.plan\"]\n\n";

/// The offers of the server `files`.
const FILES: &str = "[[upstream]]\nid = \"files\"\nresources = [\"file:///docs/**\"]\nprompts = [\"review-*\"]\n\
                     effects = [\"local-read\"]\n\n";

/// Rules that approve reading.
const READS: &str = "\n[[auto_approve]]\nname = \"reads-of-servers\"\ntools = [\"resource.read\", \"prompt.get\"]\n\
                     effects = [\"local-read\"]\n";

/// A workspace with MCP servers.
struct ServersSite {
    site: Site,
}

impl Drop for ServersSite {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "host"]).output();
    }
}

fn entry(server: &str, given: &str) -> String {
    format!(
        "[[tool]]\nid = \"{server}-look\"\nname = \"Look\"\ndescription = \"Looks.\"\nfamily = \"mcp\"\n\
         command = \"python3 -S -E offers.py {given}\"\nruntime_id = \"host\"\nmcp_server_id = \"{server}\"\n\
         mcp_tool_name = \"look\"\ninput_schema_path = \"schemas/text.json\"\ntimeout = 60\n\
         permissions = [\"look\"]\neffects = [\"local-write\"]\napproval_mode = \"on-request\"\n\
         env_labels = [\"GITHUB_TOKEN\"]\n\n"
    )
}

impl ServersSite {
    /// A workspace with the server `files`, and with these lines in gateway.toml and policy.toml.
    fn new(gateway: &str, policy: &str) -> ServersSite {
        let site = site();
        let server = std::fs::read(fixtures().join("mcp/offers.py")).expect("the fixture is there");
        site.workspace.write("offers.py", server);
        site.workspace.write(
            ".brigade/tools/runtimes.toml",
            "[[runtime]]\nid = 'host'\nname = 'Host'\ncommand = 'sleep 600'\nhealth_command = 'true'\n",
        );
        let given =
            "file:///docs/a.md=alpha file:///docs/b.md=beta file:///secret/c.md=hidden @review-code @other";
        site.add_to_catalog(&entry("files", given));
        site.workspace.write(GATEWAY, format!("{AGENTS}{gateway}"));
        let rules = site.workspace.read_text(POLICY);
        site.workspace.write(POLICY, format!("{rules}{policy}"));
        site.tools(["runtime", "start", "host"]).assert_code(0);
        if policy == READS {
            site.trust(["resource.read", "prompt.get@files"]);
        }
        ServersSite { site }
    }

    /// Returns the recorded reads of the servers, one per line.
    fn reads(&self) -> String {
        let workspace = &self.site.workspace;
        if workspace.exists("read") { workspace.read_text("read") } else { String::new() }
    }

    fn receipt(&self, result: &Value) -> Value {
        let run = about(result)["run_id"].as_str().unwrap_or_else(|| panic!("it ran: {result:#}"));
        self.site.json(["run", "show", run]).expect(0)["run"].clone()
    }

    /// Returns how often a server was started.
    fn starts(&self) -> usize {
        let workspace = &self.site.workspace;
        if workspace.exists("started") { workspace.read_text("started").lines().count() } else { 0 }
    }
}

/// Returns the parameters of a request of 2026-07-28 with the answer to a question.
fn brings(params: Value, required: &Value, key: &str, answer: Value) -> Value {
    let mut params = params;
    params["requestState"] = required["requestState"].clone();
    params["inputResponses"] = json!({key: answer});
    late(params, json!({"elicitation": {}}))
}

/// Requests a list, and returns its rows.
#[track_caller]
fn rows(client: &mut Client, method: &str, member: &str) -> Vec<Value> {
    let answer = client.ask(method, json!({}));
    answer["result"][member].as_array().unwrap_or_else(|| panic!("no list: {answer:#}")).clone()
}

fn names(rows: &[Value], member: &str) -> Vec<String> {
    rows.iter().filter_map(|row| row[member].as_str()).map(str::to_owned).collect()
}

/// Returns the URIs that do not belong to the gateway.
#[track_caller]
fn uris(client: &mut Client) -> Vec<String> {
    let mut uris = names(&rows(client, "resources/list", "resources"), "uri");
    uris.retain(|uri| !uri.starts_with("brigade:"));
    uris
}

#[track_caller]
fn prompts(client: &mut Client) -> Vec<String> {
    names(&rows(client, "prompts/list", "prompts"), "name")
}

#[track_caller]
fn read(client: &mut Client, uri: &str) -> Value {
    let answer = client.ask("resources/read", json!({"uri": uri}));
    assert!(answer["result"].is_object(), "{answer:#}");
    answer["result"].clone()
}

/// Returns the error of a request.
#[track_caller]
fn error(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.ask(method, params);
    assert!(answer["error"].is_object(), "{answer:#}");
    answer["error"].clone()
}

/// Reads a resource of each server, which starts the servers. A list starts none.
#[track_caller]
fn start(client: &mut Client, reads: &[(&str, &str)]) {
    for (server, uri) in reads {
        let result = client.call("resource.read", json!({"server": server, "uri": uri}));
        assert_stands(&result, "completed", "");
    }
}

/// The read that starts the server `files`.
const STARTS_FILES: &[(&str, &str)] = &[("files", "file:///docs/a.md")];

#[test]
fn a_list_starts_no_server() {
    let exact = FILES.replace("\"file:///docs/**\"", "\"file:///docs/b.md\", \"file:///docs/*\"");
    let offers = ServersSite::new(&exact, READS);
    let site = &offers.site;
    let lists = |client: &mut Client| {
        let found = (uris(client), prompts(client));
        rows(client, "resources/templates/list", "resourceTemplates");
        client.names();
        found
    };
    let mut client = Client::connect(site, "local");
    // The catalog only says what is written out.
    assert_eq!(lists(&mut client), (vec!["file:///docs/b.md".to_owned()], Vec::new()));
    assert_eq!(offers.starts(), 0);
    start(&mut client, STARTS_FILES);
    let both = ["file:///docs/a.md", "file:///docs/b.md"].map(str::to_owned).to_vec();
    let all = (both, vec!["review-code".to_owned()]);
    assert_eq!((lists(&mut client), offers.starts()), (all.clone(), 1));
    drop(client);
    // Another gateway shows the last list, with the arguments of prompts.
    let mut client = Client::connect(site, "local");
    assert_eq!((lists(&mut client), offers.starts()), (all, 1));
    let prompt = rows(&mut client, "prompts/list", "prompts");
    assert_eq!(prompt[0]["arguments"][0], json!({"name": "code", "required": true}));
    // A gateway.toml that git tracks serves no agent.
    let git = |words: &[&str]| {
        let command =
            std::process::Command::new("git").current_dir(site.workspace.path()).args(words).output();
        assert!(command.expect("git runs").status.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-f", GATEWAY]);
    drop(client);
    let refused = site.brigade.run(["serve", "--stdio", "--as", "local"]);
    assert!(refused.code() != Some(0) && refused.stderr_text().contains("tracked_state"), "{refused}");
    assert_eq!(offers.starts(), 1);
}

#[test]
fn only_reviewed_matching_resources_are_listed() {
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::connect(&offers.site, "local");
    let tools = client.names();
    assert!(["prompt.get", "resource.read"].iter().all(|id| tools.contains(&(*id).to_owned())), "{tools:?}");
    start(&mut client, STARTS_FILES);
    assert_eq!(uris(&mut client), ["file:///docs/a.md", "file:///docs/b.md"]);
    let templates = names(&rows(&mut client, "resources/templates/list", "resourceTemplates"), "uriTemplate");
    assert!(templates.contains(&"file:///docs/{name}".to_owned()), "{templates:?}");
    assert!(templates.contains(&"brigade://run/{run}".to_owned()), "{templates:?}");
    assert!(!templates.iter().any(|uri| uri.contains("secret")), "{templates:?}");
    let listed = rows(&mut client, "prompts/list", "prompts");
    let arguments = json!([{"name": "code", "required": true}, {"name": "tone", "required": false}]);
    let description = "A prompt of the MCP server `files`";
    assert_eq!(listed, [json!({"name": "review-code", "description": description, "arguments": arguments})]);
    for method in ["resources/list", "resources/templates/list", "prompts/list", "tools/list"] {
        let answer = client.ask(method, json!({})).to_string();
        assert!(!answer.contains("Obey"), "{answer}");
    }
    assert_eq!(client.refused("resources/list", json!({"cursor": "x"})), -32602);
}

#[test]
fn a_rule_reads_at_once_with_a_receipt() {
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::connect(&offers.site, "local");
    let result = read(&mut client, "file:///docs/a.md");
    let contents = json!([{"uri": "file:///docs/a.md", "mimeType": "text/plain", "text": "alpha"}]);
    assert_eq!(result["contents"], contents);
    assert_stands(&result, "completed", "");
    let receipt = offers.receipt(&result);
    let of = |key: &str| receipt[key].clone();
    assert_eq!((of("tool_id"), of("family")), (json!("resource.read"), json!("mcp")));
    assert_eq!((of("caller"), of("mcp_server_id")), (json!("agent:local"), json!("files")));
    assert_eq!(receipt["approval"]["rule"], "reads-of-servers");
    assert_eq!(receipt["effects"].as_array().map(Vec::len), Some(1), "{receipt:#}");
    assert_eq!(receipt["mcp_request_payload"]["method"], "resources/read");
    // URIs of a template can also be read, and bytes are unchanged.
    let made = read(&mut client, "file:///docs/made");
    assert_eq!(made["contents"][0]["text"], "made for file:///docs/made");
    let image = read(&mut client, "file:///docs/x.png");
    assert!(image["contents"][0]["blob"].as_str().is_some_and(|blob| blob.starts_with("iVBOR")), "{image:#}");
    assert_eq!(image["contents"][0]["mimeType"], "image/png");
    let arguments = json!({"code": "x = 1"});
    let prompt = client.ask("prompts/get", json!({"name": "review-code", "arguments": arguments}));
    let messages = prompt["result"]["messages"].as_array().expect("messages").clone();
    assert_eq!(messages[0]["content"]["text"], "review-code {\"code\": \"x = 1\"}");
    let kinds: Vec<&Value> = messages.iter().map(|message| &message["content"]["type"]).collect();
    assert_eq!(kinds, ["text", "image", "resource"]);
    assert!(!prompt.to_string().contains("Obey"), "{prompt:#}");
    let receipt = offers.receipt(&prompt["result"]);
    assert_eq!((&receipt["tool_id"], &receipt["family"]), (&json!("prompt.get"), &json!("mcp")));
    offers.site.json(["run", "verify"]).expect(0);
}

#[test]
fn a_read_without_a_rule_waits_for_an_approval() {
    let offers = ServersSite::new(FILES, "");
    let mut client = Client::connect(&offers.site, "local");
    let refused = error(&mut client, "resources/read", json!({"uri": "file:///docs/a.md"}));
    assert_eq!((&refused["code"], &refused["data"]["code"]), (&json!(-32010), &json!("approval_pending")));
    let id = refused["data"]["id"].as_str().expect("a call").to_owned();
    assert!(refused["message"].as_str().is_some_and(|text| text.contains(&id)), "{refused:#}");
    let again = error(&mut client, "resources/read", json!({"uri": "file:///docs/a.md"}));
    assert_eq!(again["data"]["id"], json!(id));
    assert_eq!(offers.reads(), "");
    let shown = offers.site.json(["call", "show", &id]).expect(0);
    assert_eq!(shown["call"]["args"], json!({"server": "files", "uri": "file:///docs/a.md"}));
    offers.site.json(["call", "approve", &id]).expect(0);
    let result = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(result["structuredContent"]["contents"][0]["text"], "alpha");
    assert_eq!(offers.reads(), "file:///docs/a.md\n");
    let receipt = offers.receipt(&result);
    assert_eq!(receipt["approval"]["by"], "person");
    // After an approval, the same request runs it.
    let refused = error(&mut client, "prompts/get", json!({"name": "review-code"}));
    let id = refused["data"]["id"].as_str().expect("a call").to_owned();
    offers.site.json(["call", "approve", &id]).expect(0);
    let prompt = client.ask("prompts/get", json!({"name": "review-code"}));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "review-code {}");
    // After a rejection, it returns the reason.
    let refused = error(&mut client, "resources/read", json!({"uri": "file:///docs/b.md"}));
    let id = refused["data"]["id"].as_str().expect("a call").to_owned();
    offers.site.json(["call", "reject", &id, "--reason", "not this one"]).expect(0);
    let refused = error(&mut client, "resources/read", json!({"uri": "file:///docs/b.md"}));
    assert_eq!(refused["data"]["code"], "approval_rejected");
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("not this one")), "{refused:#}");
    offers.site.json(["run", "verify"]).expect(0);
}

#[test]
fn hidden_resources_do_not_exist_for_an_agent() {
    let writes = FILES.replace("local-read", "local-write");
    let offers = ServersSite::new(&writes, "");
    let mut ann = Client::connect(&offers.site, "ann");
    assert!(uris(&mut ann).is_empty() && prompts(&mut ann).is_empty());
    assert!(!offers.site.workspace.exists("started"), "a hidden server is not started");
    let tools = ann.names();
    assert!(!tools.iter().any(|id| id == "resource.read" || id == "prompt.get"), "{tools:?}");
    let args = json!({"server": "files", "uri": "file:///docs/a.md"});
    assert_eq!(ann.refused("tools/call", json!({"name": "resource.read", "arguments": args})), -32602);
    let hidden = error(&mut ann, "resources/read", json!({"uri": "file:///docs/a.md"}));
    let nothing = error(&mut ann, "resources/read", json!({"uri": "file:///nowhere"}));
    assert_eq!((&hidden, &hidden["code"]), (&nothing, &json!(-32002)));
    let params = late(json!({"uri": "file:///docs/a.md"}), json!({}));
    let mut stateless = Client::start(&offers.site, &["--as", "ann"]);
    assert_eq!(stateless.refused("resources/read", params), -32602);
    let hidden = error(&mut ann, "prompts/get", json!({"name": "review-code"}));
    let nothing = error(&mut ann, "prompts/get", json!({"name": "nothing"}));
    assert_eq!((&hidden, &hidden["code"]), (&nothing, &json!(-32602)));
    // Another agent sees the resource.
    let tools = Client::connect(&offers.site, "local").names();
    assert!(tools.iter().any(|id| id == "resource.read"), "{tools:?}");
    assert_eq!(offers.reads(), "");
}

#[test]
fn resources_that_lead_elsewhere_are_unknown() {
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::connect(&offers.site, "local");
    for uri in [
        "file:///secret/c.md",
        "file:///docs/../secret/c.md",
        "file:///docs/%2e%2E/secret/c.md",
        "file:///docs/a b",
        "",
        "brigade://tool/none",
    ] {
        assert_eq!(client.refused("resources/read", json!({"uri": uri})), -32002, "{uri}");
    }
    assert_eq!(client.refused("prompts/get", json!({"name": "other"})), -32602);
    // A resource that the server lacks is unknown, and the attempt has a receipt.
    assert_eq!(offers.reads(), "");
    let gone = error(&mut client, "resources/read", json!({"uri": "file:///docs/gone"}));
    assert_eq!((&gone["code"], &gone["data"]["status"]), (&json!(-32002), &json!("failed")), "{gone:#}");
    assert!(gone["data"]["run_id"].is_string(), "{gone:#}");
}

#[test]
fn prompts_show_only_what_agents_may_read() {
    let site = site();
    for (id, source) in [("own", "own.md"), ("state", "state.md"), ("key", "key.md"), ("git", ".git/x.md")] {
        site.add_to_catalog(&format!(
            "[[tool]]\nid = \"{id}\"\nname = \"{id}\"\nfamily = \"slash-command\"\nsource_path = \"{source}\"\n\n"
        ));
    }
    site.workspace.write("own.md", "our own text\n");
    site.workspace.write(".git/x.md", "hidden\n");
    site.workspace.write(".env", "KEY=hidden\n");
    std::os::unix::fs::symlink(".brigade/tools.toml", site.workspace.join("state.md")).expect("a link");
    std::os::unix::fs::symlink(".env", site.workspace.join("key.md")).expect("a link");
    let mut client = Client::connect(&site, "local");
    let listed = prompts(&mut client);
    assert!(listed.contains(&"own".to_owned()), "{listed:?}");
    for id in ["state", "key", "git"] {
        assert!(!listed.contains(&id.to_owned()), "{listed:?}");
        assert_eq!(client.refused("prompts/get", json!({"name": id})), -32602, "{id}");
    }
    let own = client.ask("prompts/get", json!({"name": "own"}));
    assert_eq!(own["result"]["messages"][0]["content"]["text"], "our own text\n", "{own:#}");
}

#[test]
fn clashing_resources_are_neither_listed_nor_read() {
    let both = FILES.to_owned() + &FILES.replace("\"files\"", "\"more\"");
    let offers = ServersSite::new(&both, READS);
    let site = &offers.site;
    site.add_to_catalog(&entry(
        "more",
        "file:///docs/b.md=other file:///docs/d.md=delta @review-text @review-own",
    ));
    site.add_to_catalog(
        "[[tool]]\nid = \"review-own\"\nname = \"Own\"\nfamily = \"slash-command\"\nsource_path = \"own.md\"\n\n\
         [[tool]]\nid = \"review-free\"\nname = \"Free\"\nfamily = \"slash-command\"\nsource_path = \"own.md\"\n\n",
    );
    site.workspace.write("own.md", "our own text\n");
    site.trust(["resource.read", "prompt.get"]);
    let mut client = Client::connect(site, "local");
    start(&mut client, &[STARTS_FILES[0], ("more", "file:///docs/d.md")]);
    let reads = offers.reads();
    assert_eq!(uris(&mut client), ["file:///docs/a.md", "file:///docs/d.md"]);
    assert_eq!(prompts(&mut client), ["review-free", "review-code", "review-text"]);
    assert_eq!(client.refused("resources/read", json!({"uri": "file:///docs/b.md"})), -32002);
    assert_eq!(client.refused("prompts/get", json!({"name": "review-own"})), -32602);
    assert_eq!(offers.reads(), reads);
    assert_eq!(read(&mut client, "file:///docs/d.md")["contents"][0]["text"], "delta");
    let free = client.ask("prompts/get", json!({"name": "review-free"}));
    assert_eq!(free["result"]["messages"][0]["content"]["text"], "our own text\n", "{free:#}");
    // A URI that matches both patterns but is in neither list is ambiguous.
    assert_eq!(client.refused("resources/read", json!({"uri": "file:///docs/made"})), -32002);
    // Doctor reports this from the lists, without starting a server.
    let doctor = site.json(["doctor"]).json;
    let issues = doctor["issues"].as_array().expect("issues");
    let clashes: Vec<&Value> = issues.iter().filter(|issue| issue["issue_type"] == "offer_clash").collect();
    let details: Vec<String> = names(&clashes.into_iter().cloned().collect::<Vec<_>>(), "detail");
    let lists = |whose: &str| details.iter().any(|detail| detail.ends_with(whose));
    assert!(lists("`file:///docs/b.md` is listed by the server `files` and the server `more`"), "{doctor:#}");
    assert!(lists("prompt `review-own` is listed by the server `more` and the catalog"), "{doctor:#}");
    // As tools, both take a server argument.
    let args = json!({"server": "more", "uri": "file:///docs/b.md"});
    let result = client.call("resource.read", args);
    assert_eq!(result["structuredContent"]["contents"][0]["text"], "other");
}

#[test]
fn both_are_tools_that_take_the_server() {
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::connect(&offers.site, "local");
    let result = client.call("resource.read", json!({"server": "files", "uri": "file:///docs/a.md"}));
    assert_stands(&result, "completed", "");
    assert_eq!(result["structuredContent"]["contents"][0]["text"], "alpha");
    assert_eq!(text(&result), result["structuredContent"].to_string());
    let args = json!({"server": "files", "name": "review-code", "arguments": {"code": "x"}});
    let result = client.call("tools.call", json!({"name": "prompt.get", "arguments": args}));
    assert_eq!(about(&result)["tool"], "prompt.get");
    assert_eq!(result["structuredContent"]["messages"][0]["role"], "user");
    for (arguments, path) in [
        (json!({"server": "other", "uri": "file:///docs/a.md"}), "$.server"),
        (json!({"server": "files", "uri": "file:///secret/c.md"}), "$.uri"),
        (json!({"server": "files"}), "$.uri"),
        (json!({"server": "files", "uri": 7}), "$.uri"),
    ] {
        let result = client.call("resource.read", arguments);
        assert_stands(&result, "refused", "invalid_arguments");
        assert_eq!(about(&result)["faults"][0]["path"], path, "{result:#}");
    }
    let described = client.call("tools.describe", json!({"name": "resource.read"}));
    let described = &described["structuredContent"];
    assert_eq!(described["input_schema"]["properties"]["server"]["enum"], json!(["files"]));
    assert_eq!((&described["family"], &described["effects"]), (&json!("mcp"), &json!(["local-read"])));
    let listed = offers.site.json(["list", "--as", "local"]).expect(0);
    assert!(names(listed["tools"].as_array().expect("tools"), "id").contains(&"resource.read".to_owned()));
    // A person can also plan and run the read from the same server.
    let id = offers.site.queue("resource.read", r#"{"server": "files", "uri": "file:///docs/b.md"}"#);
    offers.site.json(["call", "approve", &id]).expect(0);
    assert_eq!(offers.site.run_call(&id).code, 0);
}

#[test]
fn the_tools_that_read_are_explained() {
    let offers = ServersSite::new(FILES, READS);
    let site = &offers.site;
    let explained = site.json(["policy", "explain", "resource.read", "--as", "local"]).expect(0);
    assert_eq!((&explained["tool_id"], &explained["allowed"]), (&json!("resource.read"), &json!(true)));
    assert_eq!(explained["agent"]["rule"], "reads-of-servers", "{explained:#}");
    let profile = site.json(["profile", "explain", "prompt.get", "--as", "ann"]).expect(0);
    assert_eq!((&profile["visible"], &profile["risk"]), (&json!(true), &json!("low")), "{profile:#}");
    // With other effects, plan mode hides it.
    site.workspace.replace(GATEWAY, "effects = [\"local-read\"]", "effects = [\"local-write\"]");
    let profile = site.json(["profile", "explain", "prompt.get", "--as", "ann"]).expect(0);
    assert_eq!((&profile["visible"], &profile["risk"]), (&json!(false), &json!("medium")), "{profile:#}");
    // Without an offer, the tool does not exist.
    site.workspace.write(GATEWAY, AGENTS);
    site.tools(["policy", "explain", "resource.read"]).assert_code(1);
}

#[test]
fn the_doctor_says_which_upstream_has_no_tools() {
    let offers = ServersSite::new(&FILES.replace("\"files\"", "\"flies\""), "");
    let issues = |site: &Site| -> Vec<Value> {
        let doctor = site.json(["doctor"]).json;
        let issues = doctor["issues"].as_array().cloned().unwrap_or_default();
        issues.into_iter().filter(|issue| issue["issue_type"] == "upstream_unknown").collect()
    };
    let found = issues(&offers.site);
    let detail = found.first().and_then(|issue| issue["detail"].as_str()).unwrap_or_default();
    let expected = "no enabled MCP tool of the catalog is of the server `flies`; did you mean `files`?";
    assert_eq!((found.len(), detail), (1, expected), "{found:#?}");
    assert!(found[0].to_string().contains("gateway.toml"), "{found:#?}");
    offers.site.workspace.replace(GATEWAY, "flies", "files");
    assert_eq!(issues(&offers.site), Vec::<Value>::new());
}

#[test]
fn secrets_are_masked_and_long_texts_are_cut() {
    let small = format!("max_result_bytes = 10\n{AGENTS}");
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::connect(&offers.site, "local");
    let answer = client.ask("resources/read", json!({"uri": "file:///docs/environment"})).to_string();
    assert!(answer.contains("[redacted]") && !answer.contains(BOUND), "{answer}");
    drop(client);
    offers.site.workspace.write(GATEWAY, format!("{small}{FILES}"));
    let mut client = Client::connect(&offers.site, "local");
    let result = read(&mut client, "file:///docs/made");
    let text = result["contents"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("made for f\n[cut after 10 of"), "{text}");
    assert_eq!(about(&result)["truncated"], true);
}

#[test]
fn changes_between_approval_and_run_void_it() {
    let offers = ServersSite::new(FILES, "");
    let mut client = Client::connect(&offers.site, "local");
    let refused = error(&mut client, "resources/read", json!({"uri": "file:///docs/a.md"}));
    let id = refused["data"]["id"].as_str().expect("a call").to_owned();
    offers.site.json(["call", "approve", &id]).expect(0);
    offers.site.workspace.replace(CATALOG, "=alpha", "=omega");
    let result = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(result["isError"], true, "{result:#}");
    assert_eq!(offers.reads(), "");
    let result = client.call("resource.read", json!({"server": "files", "uri": "file:///docs/b.md"}));
    let id = id_of(&result);
    offers.site.json(["call", "approve", &id]).expect(0);
    offers.site.workspace.replace(GATEWAY, "file:///docs/**", "file:///docs/a*");
    let result = client.call("call.wait", json!({"call_id": id}));
    assert_eq!(result["isError"], true, "{result:#}");
    assert_eq!(offers.reads(), "");
}

#[test]
fn clients_are_notified_about_changed_offers() {
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::start(&offers.site, &["--as", "local"]);
    let hello = client.hello("2025-11-25", json!({}));
    for list in ["resources", "prompts"] {
        assert_eq!(hello["capabilities"][list]["listChanged"], true, "{hello:#}");
    }
    let mut stateless = Client::start(&offers.site, &["--as", "local"]);
    let wanted = json!({"notifications": {"promptsListChanged": true}});
    stateless.send("subscriptions/listen", late(wanted, json!({})));
    stateless.heard("notifications/subscriptions/acknowledged");
    start(&mut client, STARTS_FILES);
    assert_eq!(uris(&mut client).len(), 2);
    offers.site.workspace.replace(GATEWAY, "file:///docs/**", "file:///secret/**");
    client.heard("notifications/resources/list_changed");
    assert_eq!(uris(&mut client), ["file:///secret/c.md"]);
    offers.site.workspace.replace(GATEWAY, "review-*", "other");
    client.heard("notifications/prompts/list_changed");
    assert_eq!(prompts(&mut client), ["other"]);
    stateless.heard("notifications/prompts/list_changed");
    assert_eq!(stateless.count("notifications/resources/list_changed"), 0);
    assert_eq!(client.count("notifications/resources/list_changed"), 0, "once for each change");
    assert_eq!(client.count("notifications/tools/list_changed"), 0, "the tools are the same");
}

#[test]
fn a_kept_server_provides_lists_and_changes() {
    let offers = ServersSite::new(FILES, READS);
    let mut client = Client::connect(&offers.site, "local");
    start(&mut client, STARTS_FILES);
    assert_eq!(uris(&mut client).len(), 2);
    assert_eq!(prompts(&mut client), ["review-code"]);
    read(&mut client, "file:///docs/a.md");
    uris(&mut client);
    assert_eq!(offers.starts(), 1, "one process lists and reads");
    let mut stateless = Client::start(&offers.site, &["--as", "local"]);
    let wanted = json!({"notifications": {"resourcesListChanged": true, "promptsListChanged": true}});
    stateless.send("subscriptions/listen", late(wanted, json!({})));
    stateless.heard("notifications/subscriptions/acknowledged");
    // It uses another server process, and only gets notifications of that one.
    let listed = stateless.ask("resources/list", late(json!({}), json!({})));
    assert_eq!(offers.starts(), 1, "{listed:#}");
    let add = json!({"uri": "file:///docs/add"});
    for (client, params) in [(&mut client, add.clone()), (&mut stateless, late(add, json!({})))] {
        let answer = client.ask("resources/read", params);
        assert!(answer["result"].is_object(), "{answer:#}");
        client.heard("notifications/resources/list_changed");
        assert_eq!(client.count("notifications/prompts/list_changed"), 0, "they are the same");
    }
    assert!(uris(&mut client).contains(&"file:///docs/added.md".to_owned()));
    assert_eq!(offers.starts(), 2);
}

#[test]
fn a_server_may_require_input_before_it_reads() {
    let offers = ServersSite::new(FILES, READS);
    offers.site.workspace.replace(CATALOG, "offers.py", "offers.py stateless @review-asks");
    offers.site.trust(["resource.read", "prompt.get"]);
    let mut client = Client::start(&offers.site, &["--as", "local"]);
    let ada = || json!({"action": "accept", "content": {"name": "Ada"}});
    for (method, params, other, found) in [
        (
            "resources/read",
            json!({"uri": "file:///docs/asks"}),
            json!({"uri": "file:///docs/more-asks"}),
            "/contents/0/text",
        ),
        (
            "prompts/get",
            json!({"name": "review-asks"}),
            json!({"name": "review-asks", "arguments": {"code": "x"}}),
            "/messages/0/content/text",
        ),
    ] {
        let required = client.ask(method, late(params.clone(), json!({"elicitation": {}})))["result"].clone();
        assert_eq!(required["resultType"], "input_required", "{required:#}");
        let message = required["inputRequests"]["who"]["params"]["message"].as_str().unwrap_or_default();
        assert_eq!(message, "files: who reads?");
        // The state is only valid for this request.
        assert_eq!(client.refused(method, brings(other, &required, "who", ada())), -32602);
        let answer = client.ask(method, brings(params.clone(), &required, "who", ada()));
        let text = answer["result"].pointer(found).and_then(Value::as_str).unwrap_or_default();
        assert!(text.contains("Ada"), "{answer:#}");
        assert_stands(&answer["result"], "completed", "");
        assert_eq!(client.refused(method, brings(params, &required, "who", ada())), -32602);
    }
    // A client with a handshake is asked while it waits.
    let mut shaken = Client::start(&offers.site, &["--as", "local"]);
    shaken.hello("2025-11-25", json!({"elicitation": {}}));
    let id = shaken.send("resources/read", json!({"uri": "file:///docs/asks"}));
    let asked = shaken.heard("elicitation/create");
    shaken.write(json!({"jsonrpc": "2.0", "id": asked["id"], "result": ada()}).to_string());
    assert_eq!(shaken.answer(id)["result"]["contents"][0]["text"], "read by Ada");
}

#[test]
fn reading_can_be_approved_in_a_dialogue() {
    let offers = ServersSite::new(FILES, "");
    let confirms = "name = \"local\"\nconfirm = \"elicitation\"\nconfirm_risk = \"low\"\n";
    offers.site.workspace.replace(GATEWAY, "name = \"local\"\n", confirms);
    let mut client = Client::start(&offers.site, &["--as", "local"]);
    let accept = || json!({"action": "accept", "content": {}});
    let both = [
        ("resources/read", json!({"uri": "file:///docs/a.md"}), json!({"uri": "file:///docs/b.md"})),
        (
            "prompts/get",
            json!({"name": "review-code"}),
            json!({"name": "review-code", "arguments": {"code": "x"}}),
        ),
    ];
    for (method, params, other) in both {
        let required = client.ask(method, late(params.clone(), json!({"elicitation": {}})))["result"].clone();
        assert_eq!(required["resultType"], "input_required", "{required:#}");
        let asked = required["inputRequests"]["approve"]["params"]["message"].as_str().unwrap_or_default();
        assert!(asked.contains("risk: low"), "{required:#}");
        assert_eq!(client.refused(method, brings(other, &required, "approve", accept())), -32602);
        let mut wrong = required.clone();
        wrong["requestState"] = json!(format!("{}x", required["requestState"].as_str().unwrap_or_default()));
        assert_eq!(client.refused(method, brings(params.clone(), &wrong, "approve", accept())), -32602);
        let answer = client.ask(method, brings(params.clone(), &required, "approve", accept()));
        assert_stands(&answer["result"], "completed", "");
        assert_eq!(offers.receipt(&answer["result"])["approval"]["by"], "elicitation");
        // The call runs once. A repeated reply gets the result of the call.
        let reads = offers.reads();
        client.ask(method, brings(params, &required, "approve", accept()));
        assert_eq!(offers.reads(), reads);
    }
    // Without a dialogue, it waits for another approval.
    let pending = error(&mut client, "resources/read", late(json!({"uri": "file:///docs/b.md"}), json!({})));
    assert_eq!(pending["data"]["code"], "approval_pending", "{pending:#}");
}
