//! `frontend.*` and `fleet.*` are available only if the workspace has the resources that they use.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests set up files and programs, and one that cannot read an answer fails"
)]

use brigade_tests::{Site, until};
use serde_json::{Value, json};

use crate::serve_common::{Client, GATEWAY, POLICY, about, assert_stands, done, text};

/// A policy whose rule covers everything except deletion.
const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "local-delete", "state-write", "process-exec", "process-control"]

[[auto_approve]]
name = "work"
tools = ["*"]
effects = ["local-read", "local-write", "state-write", "process-control"]
"#;

fn site(profiles: &str) -> Site {
    let site = Site::empty();
    site.workspace.write(POLICY, RULES);
    site.workspace.write(".brigade/tools.toml", "");
    let agent = |name: &str| format!("[[agent]]\nname = \"{name}\"\nprofiles = [{profiles}]\n");
    site.workspace.write(GATEWAY, format!("{}{}", agent("local"), agent("ben")));
    site
}

#[track_caller]
fn fails(client: &mut Client, tool: &str, args: Value, code: &str) -> Value {
    let answer = client.call(tool, args.clone());
    assert_eq!(about(&answer)["code"], code, "{tool} {args}: {answer:#}");
    assert_eq!(answer["isError"], true);
    answer
}

#[test]
fn a_web_application_shows_its_tools_and_its_files() {
    let site = site("\"permission.plan\"");
    site.workspace.write("package.json", r#"{"dependencies": {"left-pad": "1"}}"#);
    let mut client = Client::connect(&site, "local");
    let absent = fails(&mut client, "frontend.routes", json!({}), "not_available_here");
    assert!(text(&absent).contains("web.framework"), "{absent:#}");
    assert!(!client.names().iter().any(|name| name.starts_with("frontend.")));
    for path in [
        "src/app/page.tsx",
        "src/app/users/[id]/page.tsx",
        "src/app/layout.tsx",
        "src/app/page.test.tsx",
        "src/pages/api/hello.ts",
        "src/pages/_app.tsx",
        "src/pages/about.tsx",
        "src/lib/util.ts",
        "gone/src/main.tsx",
        "node_modules/x/src/main.ts",
        "next.config.mjs",
    ] {
        site.workspace.write(path, "");
    }
    site.workspace.write(".gitignore", "gone/\n");
    site.workspace.write("package.json", r#"{"dependencies": {"next": "15", "react": "19"}}"#);
    until("the tools are listed", || client.names().contains(&"frontend.routes".to_owned()).then_some(()));
    let pages = done(&mut client, "findPageComponents", json!({}));
    let expect = ["src/app/page.tsx", "src/app/users/[id]/page.tsx", "src/pages/about.tsx"];
    assert_eq!(pages, json!({"files": expect, "total": 3}));
    let routes = done(&mut client, "findRoutingFiles", json!({"path": "src/app"}));
    let expect = ["src/app/layout.tsx", "src/app/page.tsx", "src/app/users/[id]/page.tsx"];
    assert_eq!(routes["files"], json!(expect), "{routes:#}");
    let entries = done(&mut client, "findAppEntryPoints", json!({}));
    let expect = ["next.config.mjs", "src/app/layout.tsx", "src/pages/_app.tsx"];
    assert_eq!(entries["files"], json!(expect), "{entries:#}");
    let summary = client.call("summarizeFrontendStructure", json!({"path": "/workspace"}));
    assert!(text(&summary).starts_with("frameworks of package.json: Next.js, React\n"), "{summary:#}");
    assert_eq!(summary["structuredContent"]["total"], 7, "{summary:#}");
    fails(&mut client, "frontend.pages", json!({"path": "../x"}), "path_outside");
}

#[test]
fn a_tool_is_called_for_each_target_by_itself() {
    let site = site("\"permission.full-auto\", \"access.operator\"");
    site.workspace.write(".gitignore", ".brigade/\n");
    site.workspace.git_init();
    let mut client = Client::connect(&site, "local");
    let args = json!({"target": {"kind": "volume"}});
    fails(&mut client, "fleet.list", args.clone(), "not_available_here");
    let volume = |client: &mut Client, label: &str| {
        let made = done(client, "volume.create", json!({"label": label, "size_limit_bytes": 1000}));
        made["volume_id"].as_str().unwrap().to_owned()
    };
    let (a, b) = (volume(&mut client, "data a"), volume(&mut client, "data b"));
    volume(&mut client, "other");
    let lane = done(&mut client, "lane.create", json!({"name": "data lane"}))["lane_id"].clone();
    until("the tools are listed", || client.names().contains(&"fleet.list".to_owned()).then_some(()));

    let found = done(&mut client, "edge.fleet.list", json!({"target": {"name": "data*"}}));
    let ids: Vec<&Value> = found["resolved"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&lane, &json!(a), &json!(b)], "{found:#}");
    for (target, code) in [
        (json!({}), "invalid_arguments"),
        (json!({"kind": "house"}), "invalid_arguments"),
        (json!({"colour": "red"}), "invalid_arguments"),
        (json!({"nodes": ["a"]}), "not_available_here"),
    ] {
        fails(&mut client, "fleet.list", json!({"target": target}), code);
    }

    // A rule approves each of these calls. Each call has a separate receipt.
    let args = json!({"path": "a.txt", "content": "for each"});
    let target = json!({"kind": "volume", "name": "data*"});
    let args = json!({"target": target, "tool_name": "aegis.file.write", "args": args});
    let invoked = done(&mut client, "fleet.invoke", args);
    let calls = invoked["calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 2, "{invoked:#}");
    for (call, id) in calls.iter().zip([&a, &b]) {
        assert_eq!((&call["target"]["id"], &call["status"]), (&json!(id), &json!("approved")));
        let ran = client.call("call.wait", json!({"call_id": call["call_id"]}));
        assert_stands(&ran, "completed", "");
        let read = done(&mut client, "file.read", json!({"volume_id": id, "path": "a.txt"}));
        assert_eq!(read["content"], "for each");
    }
    let id = invoked["fleet_command_id"].clone();
    fails(&mut client, "fleet.cancel", json!({"fleet_command_id": id}), "already_ended");

    // A person decides about deletions per target. The whole command can be withdrawn.
    let args = json!({"target": {"id": [a, b]}, "tool_name": "volume.delete"});
    let invoked = done(&mut client, "fleet.invoke", args);
    let calls = invoked["calls"].as_array().unwrap().clone();
    assert!(calls.iter().all(|call| call["status"] == "pending"), "{invoked:#}");
    let id = invoked["fleet_command_id"].clone();
    let mut other = Client::connect(&site, "ben");
    fails(&mut other, "fleet.cancel", json!({"fleet_command_id": id}), "not_found");
    site.json(["call", "approve", calls[0]["call_id"].as_str().unwrap()]).expect(0);
    let cancelled = done(&mut client, "fleet.cancel", json!({"fleet_command_id": id}));
    assert_eq!(cancelled, json!({"cancelled": true}));
    for call in &calls {
        let ended = client.call("call.wait", json!({"call_id": call["call_id"]}));
        assert_stands(&ended, "rejected", "approval_rejected");
    }
    // Volumes of others are not targets. Without a matching target, nothing happens.
    let target = json!({"kind": "volume"});
    let args = json!({"target": target, "tool_name": "volume.delete"});
    fails(&mut other, "fleet.invoke", args, "not_found");
    let args = json!({"target": {"kind": "lane"}, "tool_name": "fs.read", "args": {"path": "a"}});
    fails(&mut client, "fleet.invoke", args, "not_available_here");
    let args = json!({"target": target, "tool_name": "volume.delete", "args": {"volume_id": "x"}});
    fails(&mut client, "fleet.invoke", args, "invalid_arguments");
    for tool in ["fleet.invoke", "tools.call", "at-once", "createTerminal"] {
        let answer = client.call("fleet.invoke", json!({"target": target, "tool_name": tool}));
        assert_eq!(answer["isError"], true, "{tool}: {answer:#}");
    }
}

#[test]
fn a_narrowed_session_calls_no_more_for_targets() {
    let site = site("\"permission.full-auto\", \"access.operator\"");
    let mut client = Client::connect(&site, "local");
    done(&mut client, "volume.create", json!({"label": "a", "size_limit_bytes": 1000}));
    let guarded = "[[profile]]\nname = \"guard.files\"\nhide = [\"id:file.write\"]\n";
    site.workspace.write(".brigade/tools/profiles.toml", guarded);
    let mut narrow = Client::start(&site, &["--as", "local", "--profile", "guard.files"]);
    narrow.hello("2025-11-25", json!({}));
    let args = json!({"path": "a.txt", "content": "x"});
    let args = json!({"target": {"kind": "volume"}, "tool_name": "file.write", "args": args});
    fails(&mut narrow, "fleet.invoke", args.clone(), "not_found");
    done(&mut client, "fleet.invoke", args);
}
