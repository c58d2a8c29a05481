//! A workspace with an approved call, and the expected refusals.

use brigade_tests::Site;
use serde_json::{Value, json};

/// The script that the tool runs.
pub const BODY: &str = "echo ran >> ran.txt\n";
const LINES: &str = r#"argument_template = { a = "{a}" }
supported_harnesses = ["claude"]
projections = { claude = ".claude/commands/tool.md" }
env_labels = ["GITHUB_TOKEN"]
auth_label = "local-user"
cwd = "."
"#;

/// The arguments of the approved call.
pub const ARGS: &str = r#"{"a":"1"}"#;

/// The catalog's file.
pub const CATALOG: &str = ".brigade/tools.toml";

/// Returns a workspace with one tool that has a schema, a source, a projection and labels.
pub fn site() -> Site {
    let site =
        Site::script_with(BODY, LINES).env("CANARY", "canary-value-4711").env("OTHER", "other-value-0815");
    site.workspace.write("lib/helper.sh", "echo help\n");
    site
}

/// Runs a call that must be refused because of exactly these changes.
#[track_caller]
pub fn refused(site: &Site, id: &str, changed: &[&str]) -> Value {
    let document = site.run_call(id).expect(1);
    assert_eq!(document["changed"], json!(changed), "{document:#}");
    assert_eq!(document["receipt"], json!(null));
    let run = site.tools(["call", "run", id]);
    run.assert_code(1);
    for name in changed {
        assert!(run.stderr_text().contains(name), "the text does not name `{name}`\n{run}");
    }
    assert!(!site.workspace.exists("ran.txt"), "something ran");
    assert_eq!(site.status(id), "approved");
    assert_eq!(site.json(["run", "list"]).expect(0)["run_count"], 0);
    document
}
