//! Creating a workspace: if any file cannot be written, nothing is written.

#![allow(clippy::disallowed_methods, reason = "tests make the links that are in the way, and look at modes")]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use brigade_testkit::{Brigade, TempWorkspace};

#[track_caller]
fn check_nothing_is_written(workspace: &TempWorkspace) {
    for words in [
        ["tools", "init", "--with-skills"].as_slice(),
        &["tools", "defaults"],
        &["tools", "init", "--with-skills", "--json"],
    ] {
        let before = workspace.files("");
        let run = Brigade::new(workspace).run(words);
        run.assert_code(3);
        assert_eq!(workspace.files(""), before, "{run}");
    }
}

#[test]
fn a_failed_init_leaves_nothing() {
    for folder in [".gitignore", ".brigade/tools.toml", "tools/frontend.md"] {
        let workspace = TempWorkspace::empty();
        std::fs::create_dir_all(workspace.join(folder).join("inner")).expect("the folder can be made");
        if folder == ".gitignore" {
            check_nothing_is_written(&workspace);
        } else {
            let before = workspace.files("");
            Brigade::new(&workspace).run(["tools", "init", "--with-skills", "--force"]).assert_code(3);
            assert_eq!(workspace.files(""), before);
        }
    }
    for file in ["tools", ".brigade"] {
        let workspace = TempWorkspace::empty();
        workspace.write(file, "in the way");
        check_nothing_is_written(&workspace);
    }
    let workspace = TempWorkspace::empty();
    let outside = workspace.home().join("ignored");
    std::fs::write(&outside, "mine\n").expect("the file can be written");
    symlink(&outside, workspace.join(".gitignore")).expect("the link can be made");
    check_nothing_is_written(&workspace);
    assert_eq!(std::fs::read(&outside).expect("it is there"), b"mine\n");
}

#[test]
fn a_workspace_within_another_one_is_said_to_be_one() {
    let workspace = TempWorkspace::empty();
    let brigade = Brigade::new(&workspace);
    let first = brigade.run(["tools", "init", "--empty", "--json"]);
    first.assert_code(0);
    assert!(first.stdout_text().contains("\"workspace_above\": null"), "{first}");
    let root = workspace.join("").canonicalize().expect("it is there");
    for inner in ["sub", "deep/er"] {
        std::fs::create_dir_all(workspace.join(inner)).expect("it can be made");
    }

    let made = brigade.run(["tools", "init", "--empty", "--target", "sub"]);
    made.assert_code(0);
    let said = made.stderr_text();
    assert_eq!(said.matches("workspace_nested").count(), 1, "{made}");
    let above = format!("is in the workspace `{}`", root.display());
    let way_out = format!("remove `{}`", root.join("sub/.brigade").display());
    let unfolded = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains(&above) && unfolded.contains(&way_out), "{made}");
    // It is a workspace already, so there is no note.
    let again = brigade.run(["tools", "init", "--empty", "--force", "--target", "sub"]);
    again.assert_code(0);
    assert!(!again.stderr_text().contains("workspace_nested"), "{again}");

    let document = brigade.run(["tools", "policy", "init", "--json", "--target", "deep/er"]);
    document.assert_code(0);
    let json: serde_json::Value = serde_json::from_str(&document.stdout_text()).expect("JSON");
    let nested = &json["workspace_above"];
    assert_eq!(nested["target"], serde_json::json!(root), "{json:#}");
    assert!(nested["message"].as_str().is_some_and(|message| message.contains(&above)), "{json:#}");
    assert!(nested["help"].as_str().is_some_and(|help| help.contains("deep/er/.brigade")), "{json:#}");

    let refused = brigade.run(["tools", "init", "--target", "sub"]);
    refused.assert_code(2);
    assert!(!refused.stderr_text().contains("workspace_nested"), "{refused}");
}

#[test]
fn sources_are_shared_and_the_state_is_private() {
    for words in [["tools", "init", "--with-skills"].as_slice(), &["tools", "defaults"]] {
        let workspace = TempWorkspace::empty();
        Brigade::new(&workspace).run(words).assert_code(0);
        let mode = |path: &str| {
            std::fs::metadata(workspace.join(path)).expect("it was made").permissions().mode() & 0o777
        };
        assert_eq!((mode("tools"), mode("tools/frontend.md")), (0o755, 0o644), "{words:?}");
        assert_eq!((mode(".brigade"), mode(".brigade/tools.toml")), (0o700, 0o600), "{words:?}");
    }
}
