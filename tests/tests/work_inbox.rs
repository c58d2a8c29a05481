//! `brigade work` through the binary.

use brigade_testkit::{Brigade, TempWorkspace};

const CATALOG: &str = r#"
[[tool]]
id = "greet"
name = "Greet"
family = "script"
command = "sh bin/greet.sh"
input_schema_path = "greet.json"
effects = ["local-read"]
"#;

fn workspace() -> TempWorkspace {
    let workspace = TempWorkspace::empty();
    workspace.write(".brigade/tools.toml", CATALOG);
    workspace.write("greet.json", r#"{"type": "object"}"#);
    workspace.write("bin/greet.sh", "echo hello\n");
    workspace
}

#[test]
fn a_row_is_promoted_and_done_and_does_not_come_back() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let imported = brigade.run(["tools", "import-issues", "--json"]).assert_code(0).json();
    let id = imported["imports"][0]["id"].as_str().unwrap();
    let status = || {
        brigade.run(["work", "inbox", "show", id, "--json"]).assert_code(0).json()["item"]["status"].clone()
    };
    assert_eq!(status(), "pending");
    for (step, expect) in [("promote", "promoted"), ("done", "done"), ("dismiss", "dismissed")] {
        let mut words = vec!["work", "inbox", step, id];
        if step == "dismiss" {
            words.extend(["--reason", "known"]);
        }
        brigade.run(words.iter().copied()).assert_code(0);
        assert_eq!(status(), expect);
        brigade.run(words.iter().copied()).assert_code(1);
        let again = brigade.run(["tools", "import-issues", "--json"]).assert_code(0).json();
        assert_eq!(again["created"], 0);
    }
    brigade.run(["work", "inbox", "show", "nothing"]).assert_code(1);
    brigade.run(["work", "inbox", "list"]).assert_code(0);
}

#[test]
fn the_brief_names_what_waits_and_starts_nothing() {
    let workspace = workspace();
    let brigade = Brigade::new(&workspace);
    let next = || brigade.run(["work", "brief", "--json"]).assert_code(0).json()["next_command"].clone();
    assert_eq!(next(), "brigade tools policy init");
    let queued = brigade.run(["tools", "call", "queue", "greet", "--json"]).assert_code(0).json();
    let id = queued["call"]["id"].as_str().unwrap();
    let before = workspace.files(".");
    assert_eq!(next(), format!("brigade tools call show {id}"));
    brigade.run(["work", "brief"]).assert_code(0);
    assert_eq!(workspace.files("."), before);
    brigade.run(["tools", "call", "approve", id]).assert_code(0);
    assert_eq!(next(), "brigade tools call run --next");
}
