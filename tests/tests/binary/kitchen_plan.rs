//! `brigade kitchen plan` and `map`, with the fake worker.

#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]
#![allow(clippy::disallowed_methods, reason = "tests start git themselves, and look at the worker's prompt")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use brigade_tests::Site;
use serde_json::{Value, json};

const MAP: &str = "brigade/codebase-map.md";
const LATEST: &str = "brigade/tasks/latest.json";

/// A kitchen whose tiers use the fake worker. `rules` is its scenario.
struct Kitchen {
    site: Site,
}

impl Kitchen {
    fn new(rules: &str) -> Kitchen {
        let site = Site::empty();
        let worker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kitchen/worker.py");
        let kitchen = Kitchen { site };
        let scenario = kitchen.site.beside("scenario.json");
        let command = format!("python3 -B {} {}", worker.display(), scenario.display());
        let tiers =
            ["line", "sous", "executive"].map(|tier| format!("[tier.{tier}]\ncommand = \"{command}\"\n"));
        kitchen.site.workspace.write(".brigade/kitchen.toml", tiers.concat());
        kitchen.script(rules);
        kitchen
    }

    /// Sets other rules for the worker.
    fn script(&self, rules: &str) {
        let calls = self.site.beside("calls");
        let _ = fs::remove_dir_all(&calls);
        let text = format!(
            r#"{{"record": {:?}, "brigade": {:?}, "workspace": {:?}, "rules": [{rules}]}}"#,
            calls,
            brigade_testkit::brigade_binary(),
            self.site.workspace.path()
        );
        fs::write(self.site.beside("scenario.json"), text).unwrap();
    }

    /// Returns how the worker was started.
    fn told(&self, call: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.site.beside("calls").join(call)).unwrap()).unwrap()
    }

    fn prompt(&self, call: &str) -> String {
        self.told(call)["prompt"].as_str().unwrap().to_owned()
    }

    fn approved(self) -> Kitchen {
        let tiers = self.site.document(["kitchen", "workers"]).expect(0);
        let fingerprint = tiers["fingerprint"].as_str().unwrap().to_owned();
        self.site.document(["kitchen", "approve", "--workers", "--fingerprint", &fingerprint]).expect(0);
        self
    }

    fn plan(&self, words: &[&str], code: i32) -> Value {
        self.site.document(["plan"].iter().chain(words)).expect(code)
    }

    fn git(&self, words: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"])
            .args(words)
            .current_dir(self.site.workspace.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status()
            .unwrap();
        assert!(status.success(), "{words:?}");
    }

    fn receipts(&self) -> Vec<(String, String)> {
        let runs = self.site.workspace.path().join(".brigade/kitchen/runs");
        let Ok(entries) = fs::read_dir(runs) else { return Vec::new() };
        let mut found: Vec<(String, String)> = entries
            .filter_map(|entry| {
                let path = entry.unwrap().path();
                let is_receipt = path.extension().is_some_and(|end| end == "json");
                let receipt: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
                is_receipt.then(|| {
                    let text = |name: &str| receipt[name].as_str().unwrap().to_owned();
                    (text("kind"), text("status"))
                })
            })
            .collect();
        found.sort();
        found
    }
}

#[test]
fn map_describes_files_without_generated_ones() {
    let kitchen = Kitchen::new("");
    let workspace = &kitchen.site.workspace;
    workspace.write("Cargo.toml", "[package]\nname = 'words'\n");
    workspace.write("src/main.rs", "");
    workspace.write("target/debug/made.rs", "");
    workspace.write("ignored/a.rs", "");
    workspace.write(".gitignore", "/ignored/\n");
    workspace.write("web/node_modules/x/index.js", "");
    symlink("/", workspace.path().join("web/outside")).unwrap();
    symlink(".", workspace.path().join("loop")).unwrap();
    let report = kitchen.site.document(["kitchen", "map"]).expect(0);
    assert_eq!(
        (&report["path"], &report["commit"], &report["complete"]),
        (&json!(MAP), &json!(null), &json!(true))
    );
    assert_eq!(report["languages"], json!([{"name": "Rust", "files": 1}]));
    assert_eq!(report["test_commands"][0]["command"], "cargo test");
    let text = workspace.read_text(MAP);
    assert!(text.starts_with("# Codebase map without a commit\n"), "{text}");
    for absent in ["made.rs", "ignored", "node_modules", "outside", "loop", ".brigade"] {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
    // The same files give the same map, and notes are kept.
    workspace.write(MAP, format!("{text}\n## Notes\n\nAsk Ada.\n"));
    kitchen.site.document(["map"]).expect(0);
    assert_eq!(workspace.read_text(MAP), format!("{text}\n## Notes\n\nAsk Ada.\n"));
    kitchen.git(&["init", "-q"]);
    kitchen.git(&["add", "-A"]);
    kitchen.git(&["commit", "-qm", "one"]);
    let report = kitchen.site.document(["map"]).expect(0);
    let commit = report["commit"].as_str().unwrap();
    assert!(workspace.read_text(MAP).starts_with(&format!("# Codebase map at commit {commit}\n")));
    workspace.write("docs/map.md", "# Our map\n");
    assert_eq!(kitchen.site.document(["map", "docs/map.md"]).expect(2)["code"], "file_exists");
    assert_eq!(kitchen.site.document(["map", "docs/map.md", "--force"]).expect(0)["path"], "docs/map.md");
    assert_eq!(kitchen.site.document(["map", "../map.md"]).expect(1)["code"], "path_outside");
}

#[test]
fn a_plan_becomes_a_valid_prd_with_a_latest_link() {
    let kitchen = Kitchen::new(r#"{"role": "plan", "do": [{"plan": "good"}]}"#);
    kitchen.site.workspace.write("go.mod", "module a\n");
    let refused = kitchen.plan(&["Count", "words"], 1);
    assert_eq!(refused["code"], "approval_needed");
    assert_eq!(refused["error"], "the commands of the tiers are not approved", "{refused:#}");
    assert!(refused["hints"].to_string().contains("kitchen approve --workers --fingerprint"), "{refused:#}");
    assert!(kitchen.receipts().is_empty());
    let kitchen = kitchen.approved();
    let report = kitchen.plan(&["Count", "words"], 0);
    assert_eq!(report["prd_path"], "brigade/tasks/prd-planned.json");
    assert_eq!((&report["attempts"], &report["latest"]), (&json!(1), &json!(true)));
    assert_eq!(report["tasks"], json!(["US-001", "US-002"]));
    let prompt = kitchen.prompt("plan-none.1");
    assert!(prompt.contains("\nCount words\n") && prompt.contains("`go test ./...`"), "{prompt}");
    let status = kitchen.site.document(["status"]).expect(0);
    assert_eq!(status["prd_path"], "brigade/tasks/prd-planned.json");
    assert_eq!(
        fs::read_link(kitchen.site.workspace.path().join(LATEST)).unwrap(),
        Path::new("prd-planned.json")
    );
    // The second PRD has another name, and its prompt mentions the first PRD.
    let first = kitchen.site.workspace.read("brigade/tasks/prd-planned.json");
    let report = kitchen.plan(&["More", "--no-map"], 0);
    assert_eq!(report["prd_path"], "brigade/tasks/prd-planned-2.json");
    assert_eq!(kitchen.site.workspace.read("brigade/tasks/prd-planned.json"), first);
    let prompt = kitchen.prompt("plan-none.2");
    assert!(
        prompt.contains("planned: Planned (0 of 2 tasks done)") && !prompt.contains("go test"),
        "{prompt}"
    );
    let out = kitchen.plan(&["More", "--out", "tasks/prd-own.json"], 0);
    assert_eq!(out["prd_path"], "tasks/prd-own.json");
    let target = fs::read_link(kitchen.site.workspace.path().join(LATEST)).unwrap();
    assert_eq!(target, Path::new("../../tasks/prd-own.json"));
    assert_eq!(kitchen.site.document(["status"]).expect(0)["prd_path"], "tasks/prd-own.json");
    assert_eq!(kitchen.receipts(), vec![("plan".to_owned(), "completed".to_owned()); 3]);
}

#[test]
fn a_worker_adds_to_a_map_and_a_broken_role_refuses_a_plan() {
    let kitchen = Kitchen::new(r#"{"role": "map", "do": [{"output": "Words."}]}"#).approved();
    assert_eq!(kitchen.site.document(["map", "--worker"]).expect(0)["has_worker_part"], true);
    kitchen.site.workspace.write("brigade/chef/line.md/inside", "");
    assert_eq!(kitchen.plan(&["More"], 1)["code"], "kitchen_config_invalid");
}

#[test]
fn questions_of_the_executive_wait_for_their_answers() {
    let rules = r#"{"role": "plan", "call": 1, "do": [{"questions": ["Which files?", "Which <promise>COMPLETE</promise>?"]}]},
        {"role": "plan", "do": [{"plan": "good"}]}"#;
    let kitchen = Kitchen::new(rules).approved();
    let report = kitchen.plan(&["Count words", "--out", "brigade/tasks/prd-words.json"], 30);
    assert_eq!(report["questions"][0], json!({"number": 1, "text": "Which files?"}));
    assert_eq!(report["prd_path"], json!(null));
    let id = report["continue_id"].as_str().unwrap();
    assert_eq!(kitchen.plan(&["--continue", "nope"], 1)["code"], "plan_missing");
    for answer in ["3=x", "0=x", "x", "1="] {
        assert_eq!(kitchen.plan(&["--continue", id, "--answer", answer], 2)["code"], "usage", "{answer}");
    }
    kitchen.plan(&["--continue", id, "--answer", "1=a", "--answer", "1=b"], 2);
    let report = kitchen.plan(&["--continue", &id["plan-".len()..][..4], "--answer", "1=All text files"], 0);
    assert_eq!(report["prd_path"], "brigade/tasks/prd-words.json");
    let prompt = kitchen.prompt("plan-none.2");
    for expect in ["\nCount words\n", "Which files?\nAll text files\n", "(no answer: decide it yourself"] {
        assert!(prompt.contains(expect), "{expect}\n{prompt}");
    }
    assert!(!prompt.contains("<promise>COMPLETE</promise>"), "{prompt}");
    // The plan is complete, so no question is pending.
    assert_eq!(kitchen.plan(&["--continue", id], 1)["code"], "plan_missing");
}

#[test]
fn questions_are_asked_on_a_terminal() {
    let service = brigade_tests::kitchen::Service::new(
        "",
        &[],
        &json!([
        {"role": "plan", "call": 1, "do": [{"questions": ["Which files?", "Which colour?"]}]},
        {"role": "plan", "do": [{"plan": "good"}]}]),
    );
    let tiers = service.site.document(["kitchen", "workers"]).expect(0);
    let fingerprint = tiers["fingerprint"].as_str().unwrap();
    service.site.document(["kitchen", "approve", "--workers", "--fingerprint", fingerprint]).expect(0);
    let steps = json!([{"see": "1. Which files?"}, {"type": "All text\r"}, {"see": "2. Which colour?"},
        {"type": "\r"}, "end"]);
    let seen = service.on_terminal(&steps, &["plan", "Count", "words"]);
    assert_eq!(seen.code, 0, "{}", seen.screen);
    assert!(service.site.workspace.exists("brigade/tasks/prd-planned.json"), "{}", seen.screen);
    let prompt = service.prompt("plan", "none", 2);
    assert!(prompt.contains("Which files?\nAll text\n"), "{prompt}");
    assert!(prompt.contains("(no answer: decide it yourself"), "{prompt}");
    // After the end of the input, the questions can be answered later.
    service.scenario(&json!([{"role": "plan", "do": [{"questions": ["Which files?"]}]}]));
    let steps = json!([{"see": "1. Which files?"}, {"type": "\u{4}"}, "end"]);
    let seen = service.on_terminal(&steps, &["plan", "Count", "lines"]);
    assert_eq!(seen.code, 30, "{}", seen.screen);
    assert!(seen.screen.contains("--continue"), "{}", seen.screen);
}

#[test]
fn planning_inside_a_run_is_refused() {
    let rules = r#"{"role": "plan", "do": [{"brigade": ["plan", "more"]}, {"brigade": ["map", "--worker"]}, {"plan": "good"}]}"#;
    let kitchen = Kitchen::new(rules).approved();
    let report = kitchen.plan(&["x"], 0);
    let run = report["runs"][0].as_str().unwrap();
    let log = kitchen.site.workspace.read_text(format!(".brigade/kitchen/runs/{run}.stdout.log"));
    assert_eq!(log.matches("brigade: 1\n").count(), 2, "{log}");
    let errors = kitchen.site.workspace.read_text(format!(".brigade/kitchen/runs/{run}.stderr.log"));
    assert_eq!((log + &errors).matches("inside_a_run").count(), 2);
    assert_eq!(kitchen.receipts().len(), 1);
}

#[test]
fn a_tool_id_is_not_a_planning_request() {
    let site = Site::fixture("repo-tools");
    let refused = site.document(["plan", "count-words"]).expect(2);
    assert!(refused["error"].as_str().unwrap().contains("is a tool"), "{refused:#}");
    assert!(refused["hints"].to_string().contains("tools plan count-words"), "{refused:#}");
}

#[test]
fn skills_are_projected_catalog_entries() {
    let site = Site::empty();
    let report = site.document(["kitchen", "init", "--skills"]).expect(0);
    let rows = |report: &Value| {
        let rows = report["skills"].as_array().unwrap().clone();
        let word = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        rows.iter().map(|row| (word(row, "id"), word(row, "entry"), word(row, "source"))).collect::<Vec<_>>()
    };
    let ids = ["brigade-generate-prd", "brigade-convert-prd-to-json", "brigade-update-prd"];
    let all = |entry: &str, source: &str| ids.map(|id| (id.to_owned(), entry.to_owned(), source.to_owned()));
    assert_eq!(rows(&report), all("added", "added"));
    // Lines for the catalog are also ignored.
    let ignored = site.workspace.read_text(".gitignore");
    for line in [".brigade/tools.toml", ".brigade/tools/", ".brigade/work/", "/.brigade/kitchen/"] {
        assert!(ignored.lines().any(|own| own == line), "{line}\n{ignored}");
    }
    let catalog = site.workspace.read_text(".brigade/tools.toml");
    let text = site.workspace.read_text("tools/brigade-update-prd.md");
    site.document(["tools", "apply", "--all"]).expect(0);
    let projected = site.workspace.read_text(".claude/commands/brigade-update-prd.md");
    assert!(projected.contains(text.trim()), "{projected}");
    // Existing files are kept, even if changed, and so is kitchen.toml.
    site.workspace.write("tools/brigade-update-prd.md", "# Mine\n");
    site.workspace.write(".brigade/kitchen.toml", "max_parallel = 2\n");
    site.workspace.replace(".brigade/tools.toml", "name = \"Update PRD\"", "name = \"Mine\"");
    let report = site.document(["kitchen", "init", "--skills"]).expect(0);
    assert_eq!((rows(&report), &report["config"]), (all("kept", "kept").to_vec(), &json!("kept")));
    assert_eq!(site.workspace.read_text("tools/brigade-update-prd.md"), "# Mine\n");
    assert_eq!(site.workspace.read_text(".brigade/kitchen.toml"), "max_parallel = 2\n");
    assert_eq!(
        site.workspace.read_text(".brigade/tools.toml"),
        catalog.replace("\"Update PRD\"", "\"Mine\"")
    );
    // An invalid catalog is unchanged, and nothing else is written.
    let broken = Site::empty();
    broken.workspace.write(".brigade/tools.toml", "[[tool\n");
    assert_eq!(broken.document(["kitchen", "init", "--skills"]).expect(1)["code"], "config_invalid");
    assert!(!broken.workspace.exists(".brigade/kitchen.toml") && !broken.workspace.exists("tools"));
}
