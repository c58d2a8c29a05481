//! Every `--json` document is valid against its schema, on success, refusal and misuse.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests read the schemas of the repository")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use brigade_cli::documents;
use brigade_schema::Schema;
use brigade_testkit::Run;
use brigade_tests::Site;
use serde_json::Value;

/// The generated schemas, and the ids of schemas that were used.
struct Schemas {
    all: BTreeMap<String, (Schema, BTreeSet<String>)>,
    named: RefCell<BTreeSet<String>>,
}

impl Schemas {
    fn read() -> Schemas {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let schema: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let keys = schema["properties"].as_object().unwrap().keys().cloned().collect();
            let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let compiled =
                Schema::compile_root(&schema).unwrap_or_else(|problems| panic!("{id}: {problems:?}"));
            all.insert(id, (compiled, keys));
        }
        Schemas { all, named: RefCell::default() }
    }

    /// Checks the only document of a command, and returns it.
    #[track_caller]
    fn check(&self, run: &Run) -> Value {
        let document = run.json();
        documents::check(&run.stdout_text()).unwrap_or_else(|problems| panic!("{problems}\n{run}"));
        self.describe(&document);
        document
    }

    /// Checks a document against its schema.
    #[track_caller]
    fn describe(&self, document: &Value) {
        let id = document["schema"].as_str().unwrap_or_else(|| panic!("no schema is named: {document:#}"));
        let (schema, keys) =
            self.all.get(id).unwrap_or_else(|| panic!("there is no docs/schemas/{id}.json: {document:#}"));
        let violations: Vec<String> = schema.violations(document).iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{id}: {violations:#?}\n{document:#}");
        // Scripts must accept unknown keys, but the schema must describe every key that this build writes.
        let unknown: Vec<&String> =
            document.as_object().unwrap().keys().filter(|key| !keys.contains(*key)).collect();
        assert!(unknown.is_empty(), "{id} does not describe {unknown:?}\n{document:#}");
        self.named.borrow_mut().insert(id.to_owned());
    }
}

/// Returns every command without subcommands.
fn commands() -> Vec<Vec<String>> {
    let mut whole = brigade_cli::command();
    whole.build();
    let (mut found, mut open) = (Vec::new(), vec![(Vec::<String>::new(), whole)]);
    while let Some((words, command)) = open.pop() {
        let shown =
            command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
        let below = shown.map(|below| ([&words[..], &[below.get_name().to_owned()]].concat(), below.clone()));
        let below: Vec<_> = below.collect();
        if below.is_empty() { found.push(words) } else { open.extend(below) }
    }
    found
}

#[test]
fn misuse_and_strange_words_are_documents_too() {
    let (schemas, site) = (Schemas::read(), Site::fixture("repo-tools"));
    let commands = commands();
    assert!(30 < commands.len(), "{commands:?}");
    for command in commands {
        if command[0] == "demo" {
            continue;
        }
        for more in [&["no-such-thing"][..], &[]] {
            // The standard output of a server carries messages for its client.
            if command[0] == "serve" && more.is_empty() {
                continue;
            }
            let words = command.iter().map(String::as_str).chain(more.iter().copied()).chain(["--json"]);
            schemas.check(&site.brigade.run(words));
        }
    }
    let strange = ["tools", "list", "--no-such-flag", "--json"];
    for words in
        [&strange[..], &["--json"], &["--version", "--json"], &["tools", "--json"], &["nonsense", "--json"]]
    {
        schemas.check(&site.brigade.run(words));
    }
}

#[test]
fn a_broken_or_missing_workspace_is_a_document_too() {
    let (schemas, site) = (Schemas::read(), Site::empty());
    let looks = ["list", "doctor", "contracts", "plan", "show x", "call list", "run list", "policy show"];
    let look = |say: &str| {
        for line in looks {
            let words = format!("tools {line} --json");
            let document = schemas.check(&site.brigade.run(words.split(' ')));
            assert!(document.is_object(), "{say}");
        }
    };
    look("nothing there");
    site.workspace.write(".brigade/tools.toml", "[[tool]]\nid = \"x\"\nfamily = 7\n[[tool]\n");
    site.workspace.write(".brigade/tools/policy.toml", "= 1\n");
    site.workspace.write(".brigade/tools/calls.jsonl", "{\"id\": nonsense\n\u{0}\n");
    look("everything is broken");
    schemas.check(&site.brigade.run(["tools", "list", "--json", "--target", "/nowhere/at/all"]));
}

#[test]
fn a_whole_way_names_every_schema() {
    let schemas = Schemas::read();
    let site = Site::script(
        "if [ \"$BRIGADE_TOOL_RESUME\" = 1 ]; then echo resumed; exit 0; fi\n\
         printf '%s' '{\"id\":\"ask\",\"reason\":\"r\",\"prompt\":\"go on?\",\"choices\":[\"yes\",\"no\"]}' \
         > \"$BRIGADE_TOOL_CHECKPOINT_DIR/ask.json\"\n",
    );
    site.add_to_catalog(&Site::entry(
        "projected",
        "sh bin/tool.sh",
        "family = \"skill\"\nsupported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/skills/p/SKILL.md\" }",
    ));
    let json = |line: &str| schemas.check(&site.brigade.run(line.split(' ').chain(["--json"])));
    let id = |document: &Value, key: &str| document[key]["id"].as_str().unwrap_or_default().to_owned();

    json("pending");
    json("log");
    json("explain usage");
    json("tools list");
    json("tools show tool");
    json("tools search tool");
    json("tools find --source script");
    json("tools check --all");
    json("tools install tool");
    site.workspace.write("tools.yaml", "tools:\n  - id: fmt\n    name: fmt\n");
    json(&format!("tools register {} --dry-run", site.workspace.join("tools.yaml").display()));
    json("tools stats");
    json("tools registry list");
    json("setup --yes --dry-run");
    json("tools describe tool");
    json("tools contracts");
    json("tools trust tool --yes");
    json("state adopt");
    json("tools policy show");
    json("tools policy doctor");
    json("tools policy explain tool");
    json("tools policy explain tool --as local");
    json("tools list --as local");
    json("tools cost --as local");
    json("tools profile list");
    json("tools profile show permission.edit");
    json("tools profile explain tool --as local");
    json("tools agent add ci");
    json("tools agent list");
    json("tools harness list");
    json("tools harness show claude");
    json("tools plan");
    json("tools sync plan");
    json("tools apply --all");
    json("tools sync apply");
    json("tools parity status");
    json("tools parity closeout --reason reviewed");
    json("tools defaults");
    json("tools connect cursor");
    json("tools discover");
    json("tools sync");
    let pack = json("tools pack build");
    json("tools pack list");
    json("tools pack show latest");
    json(&format!("tools pack import {}", pack["path"].as_str().unwrap_or_default()));
    json("tools pack archive latest");
    json("tools call plan tool --args {\"a\":1}");

    let call = id(&json("tools call queue tool --args {\"a\":1}"), "call");
    json("tools call list");
    json(&format!("tools call show {call}"));
    json(&format!("why {call}"));
    json(&format!("tools call hold {call} --reason later"));
    json(&format!("tools call approve {call}"));
    let run = json(&format!("tools call run {call}"));
    let receipt = id(&run, "receipt");
    json("tools checkpoint list");
    json("tools checkpoint show ask");
    json("tools checkpoint approve ask --choice yes");
    json("tools checkpoint resume ask");
    json("tools run list");
    json("tools run latest");
    json(&format!("tools run show {receipt} --log stdout"));
    json(&format!("tools run show {receipt} --inputs"));
    json("tools observe tool");
    json("tools run verify");
    json(&format!("tools run replay {receipt}"));
    json("tools keys init");
    // An envelope has its own data format. The result of its verification is a document.
    json(&format!("tools run export {receipt}"));
    let envelope = site.tools(["run", "export", &receipt]);
    site.workspace.write("envelope.json", &envelope.stdout);
    json("tools run verify --envelope envelope.json");
    let batch = site.brigade.clone().input("{\"tool\":\"tool\",\"args\":{\"b\":2}}\nnonsense\n");
    schemas.check(&batch.run(["tools", "call", "queue", "--stdin", "--json"]));

    json("tools pins list");
    json("tools pins show tool");
    json("tools doctor");
    json("tools doctor --fix");
    json("tools import-issues");
    let inbox = json("work inbox list");
    let row = inbox["items"][0]["id"].as_str().unwrap_or_default().to_owned();
    json(&format!("work inbox show {row}"));
    json("work brief");
    json("tools state check");
    json("tools state compact");
    json("tools state export");
    json("tools runtime list");
    json("tools runtime status");
    json("tools runtime doctor");
    json("tools runtime init --force");
    for verb in ["start", "show", "logs", "progress", "restart", "stop"] {
        json(&format!("tools runtime {verb} local-helper"));
    }
    site.workspace.write("server.py", fs::read(brigade_testkit::fixtures().join("mcp/server.py")).unwrap());
    let server = "[[runtime]]\nid = 'voice'\nname = 'Voice'\ncommand = 'python3 -S -E server.py'\n";
    site.workspace.write(".brigade/tools/runtimes.toml", server);
    site.workspace.replace(".brigade/tools/policy.toml", r#"["script"]"#, r#"["script", "mcp"]"#);
    json("tools import mcp voice --dry-run");
    json("tools enable * --dry-run");
    json("tools update --dry-run");
    let policy = "allowed_families = [\"builtin\"]\nallowed_effects = [\"memory-write\"]\n";
    site.workspace.write(".brigade/tools/policy.toml", policy);
    let memory = r#"{"content":"Tests-run-with-cargo-test.","category":"convention","importance":"high"}"#;
    let asked = json(&format!("tools call queue memory.add --args {memory}"));
    let call = asked["call"]["id"].as_str().unwrap();
    json(&format!("work answer {call} --choice approve"));
    assert_eq!(json(&format!("tools call run {call}"))["receipt"]["status"], "completed");
    let memories = json("work memory list");
    json(&format!("work memory show {}", memories["memories"][0]["id"].as_str().unwrap()));
    let turn = site.brigade.clone().input("Where do we stand?");
    schemas.check(&turn.run(["work", "turn", "--as", "local", "--json"]));
    json("demo");
    json("completions bash");
    json("tools policy test");
    json("--version");
    let fresh = Site::empty();
    schemas.check(&fresh.brigade.run(["tools", "init", "--json"]));

    // A pull request of a lane.
    let forge = Site::empty();
    let effects = r#"["local-read", "local-write", "state-write", "remote-mutation"]"#;
    let policy = format!("allowed_families = [\"builtin\"]\nallowed_effects = {effects}\n");
    forge.workspace.write(".brigade/tools/policy.toml", policy);
    forge.workspace.write(".brigade/tools.toml", "");
    forge.workspace.write(".gitignore", ".brigade/\n");
    forge.workspace.git_init();
    let on_forge = |words: &[&str]| schemas.check(&forge.brigade.run([words, &["--json"]].concat()));
    let act = |tool: &str, args: &str| {
        let asked = on_forge(&["tools", "call", "queue", tool, "--args", args]);
        let call = asked["call"]["id"].as_str().unwrap();
        on_forge(&["tools", "call", "approve", call]);
        assert_eq!(on_forge(&["tools", "call", "run", call])["receipt"]["status"], "completed", "{tool}");
    };
    act("lane.create", r#"{"name": "words"}"#);
    let lane = fs::read_dir(forge.workspace.join(".brigade/lanes")).unwrap().map(|entry| entry.unwrap());
    let lane = lane.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()).next().unwrap();
    let lane = lane.to_str().unwrap();
    forge.workspace.git([
        "-C",
        &format!(".brigade/lanes/{lane}"),
        "commit",
        "--allow-empty",
        "--message=Count",
    ]);
    act("pr.create", &format!(r#"{{"laneId": "{lane}"}}"#));
    assert_eq!(on_forge(&["work", "pr", "list"])["count"], 1);
    on_forge(&["work", "pr", "show", "1"]);

    // A task that its worker never ends, and the decision about it.
    let worker =
        "LINE_CMD='sh cook.sh'\nSOUS_CMD='sh cook.sh'\nEXECUTIVE_CMD='sh cook.sh'\nMAX_ITERATIONS=1\n";
    site.workspace.write("brigade/brigade.config", worker);
    let cook =
        "cat > /dev/null\nif [ \"$BRIGADE_ROLE\" = plan ]; then echo '{\"questions\": [\"Which?\"]}'; fi\n";
    site.workspace.write("cook.sh", cook);
    let prd = r#"{"featureName": "Words", "tasks": [{"id": "US-001", "title": "Count words", "complexity": "junior"}]}"#;
    site.workspace.write("brigade/tasks/prd-words.json", prd);
    json("kitchen init");
    let tiers = json("kitchen workers");
    json("kitchen map");
    json(&format!("kitchen approve --workers --fingerprint {}", tiers["fingerprint"].as_str().unwrap()));
    assert_eq!(json("kitchen plan more")["questions"][0]["number"], 1);
    json("kitchen service --dry-run");
    let validation = json("kitchen validate");
    json("kitchen approve");
    let served =
        json(&format!("kitchen service --fingerprint {}", validation["fingerprint"].as_str().unwrap()));
    assert_eq!(served["outcome"], "paused", "{served:#}");
    json("kitchen status");
    let waiting = json("kitchen decisions");
    json(&format!("kitchen answer {} retry", waiting["decisions"][0]["id"].as_str().unwrap()));
    assert_eq!(json("kitchen resume skip")["code"], "decision_missing", "it was answered");
    json("kitchen summary");
    json("kitchen cost");
    json("kitchen receipts list");
    json("kitchen receipts verify");
    json("kitchen log brigade/tasks/prd-words.json US-001");
    json("kitchen clean");

    // The only line of a server, read while the server runs.
    let server =
        crate::serve_common::Server::start(&site, &["--http", "127.0.0.1:0", "--no-token", "--as", "ci"]);
    schemas.describe(&server.line);

    let named = schemas.named.borrow();
    let silent: Vec<&String> =
        schemas.all.keys().filter(|id| !named.contains(*id) && !UNSHOWN.contains(&id.as_str())).collect();
    assert!(silent.is_empty(), "no command wrote {silent:?}");
}

/// Documents that the command line never writes, because they are for programs that embed Brigade or are stored on
/// disk; those of logins, registries and teams, which need a remote server; and files that people and workers write.
const UNSHOWN: &[&str] = &[
    "brigade.login.v1",
    "brigade.logout.v1",
    "brigade.prd.v1",
    "brigade.registry-info.v1",
    "brigade.registry-search.v1",
    "brigade.review-call.v1",
    "brigade.review-question.v1",
    "brigade.series.v1",
    "brigade.team-accept-failover.v1",
    "brigade.team-doctor.v1",
    "brigade.team-export.v1",
    "brigade.team-import.v1",
    "brigade.team-init.v1",
    "brigade.team-join.v1",
    "brigade.team-leave.v1",
    "brigade.team-member.v1",
    "brigade.team-migrate.v1",
    "brigade.team-prune.v1",
    "brigade.team-roster.v1",
    "brigade.team-rule.v1",
    "brigade.team-runner.v1",
    "brigade.team-status.v1",
    "brigade.team-verify.v1",
    "brigade.tool-lines.v1",
    "brigade.upstream-start.v1",
    "brigade.waiting.v1",
    "brigade.worker-result.v1",
];
