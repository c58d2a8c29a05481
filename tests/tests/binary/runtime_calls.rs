//! Calls of tools that need a runtime.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::Site;
use serde_json::{Value, json};

/// A workspace whose tool has these lines, with a runtime `helper` that is healthy while the file `healthy` exists.
struct RuntimeToolSite {
    site: Site,
}

impl Drop for RuntimeToolSite {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "helper"]).output();
    }
}

impl RuntimeToolSite {
    fn new(lines: &str) -> RuntimeToolSite {
        let site = Site::script_with("echo done\n", lines);
        site.workspace.write("healthy", "");
        site.workspace.write(
            ".brigade/tools/runtimes.toml",
            "[[runtime]]\nid = 'helper'\nname = 'Helper'\ncommand = 'sleep 600'\nhealth_command = 'test -e healthy'\ntimeout = 10\n",
        );
        RuntimeToolSite { site }
    }

    #[track_caller]
    fn start(&self) {
        self.site.tools(["runtime", "start", "helper"]).assert_code(0);
    }

    /// Runs a call that must be refused for exactly one reason, and returns the reason. The call stays approved.
    #[track_caller]
    fn refused(&self, id: &str) -> Value {
        let run = self.site.run_call(id).expect(1);
        assert_eq!(run["receipt"], json!(null));
        assert_eq!(run["blocker_details"].as_array().map(Vec::len), Some(1), "{run}");
        assert_eq!(self.site.status(id), "approved");
        run["blocker_details"][0].clone()
    }
}

#[test]
fn a_call_waits_for_its_runtime() {
    let needy = RuntimeToolSite::new("runtime_id = \"helper\"\nrequires_runtime = true");
    let id = needy.site.approved("tool", "{}");
    let blocker = needy.refused(&id);
    assert_eq!(
        (&blocker["code"], &blocker["message"], &blocker["field"], &blocker["hint"]),
        (
            &json!("runtime_stopped"),
            &json!("the runtime `helper` is not running"),
            &json!("runtime_id"),
            &json!("brigade tools runtime start helper")
        )
    );
    assert_eq!(blocker["file"], ".brigade/tools.toml");

    needy.start();
    needy.site.workspace.remove("healthy");
    let blocker = needy.refused(&id);
    assert_eq!(blocker["code"], "runtime_unhealthy");
    assert_eq!(blocker["hint"], "brigade tools runtime restart helper");
    let next = needy.site.json(["call", "run", "--next"]).expect(1);
    assert_eq!(next["passed_over"][0]["call_id"], id);

    needy.site.workspace.write("healthy", "");
    let run = needy.site.run_call(&id).expect(0);
    let runtime = &run["receipt"]["runtime"];
    assert_eq!(
        (&runtime["id"], &runtime["state"], &runtime["managed"], &runtime["health_ok"]),
        (&json!("helper"), &json!("running"), &json!(true), &json!(true))
    );
    let root = needy.site.workspace.path().to_str().unwrap();
    assert_eq!(runtime["cwd"], root);
    assert!(runtime["pid_path"].as_str().unwrap().starts_with(root));
    let path = run["receipt"]["receipt_path"].as_str().unwrap();
    let stored: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(stored["runtime"]["pid_path"], ".brigade/tools/runtime/helper.pid");
    let shown = needy.site.json(["run", "latest"]).expect(0);
    assert_eq!(&shown["run"]["runtime"], runtime);
}

#[test]
fn a_runtime_that_is_not_configured_or_off_is_missing() {
    let needy = RuntimeToolSite::new("runtime_id = \"helpr\"\nrequires_runtime = true");
    let id = needy.site.approved("tool", "{}");
    let blocker = needy.refused(&id);
    assert_eq!(
        (&blocker["code"], &blocker["hint"]),
        (&json!("runtime_missing"), &json!("did you mean `helper`?"))
    );
    needy.site.workspace.remove(".brigade/tools/runtimes.toml");
    assert_eq!(needy.refused(&id)["hint"], "brigade tools runtime init");

    let off = "[[runtime]]\nid = 'helpr'\nname = 'H'\nenabled = false\ncommand = 'sleep 600'\n";
    needy.site.workspace.write(".brigade/tools/runtimes.toml", off);
    let blocker = needy.refused(&id);
    assert_eq!((&blocker["code"], &blocker["line"]), (&json!("runtime_missing"), &json!(4)));
}

#[test]
fn a_tool_that_needs_a_runtime_must_name_one() {
    let needy = RuntimeToolSite::new("requires_runtime = true");
    let id = needy.site.approved("tool", "{}");
    assert_eq!(needy.refused(&id)["code"], "runtime_missing");
}

#[test]
fn named_runtime_is_recorded_and_blocks_nothing() {
    let needy = RuntimeToolSite::new("runtime_id = \"helper\"");
    needy.site.workspace.remove("healthy");
    let receipt = needy.site.receipt_of("tool", "{}");
    assert_eq!((&receipt["status"], &receipt["runtime"]["state"]), (&json!("completed"), &json!("stopped")));
    assert_eq!(receipt["runtime"]["health_ok"], json!(null));
    assert!(!needy.site.workspace.exists(".brigade/tools/runtime"), "nothing was started or checked");
}
