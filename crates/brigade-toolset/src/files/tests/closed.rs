//! Every tool that changes files, at every kind of closed place.

use brigade_access::builtin::{PathUse, definitions};
use brigade_exec::HostEnvironment;

use super::*;

/// Arguments of each tool that changes a named path; `PATH` is replaced by it.
const WRITERS: &[(&str, &str)] = &[
    ("file.delete", r#"{"volume_id": "v", "path": "PATH", "recursive": true}"#),
    ("file.mkdir", r#"{"volume_id": "v", "path": "PATH"}"#),
    ("file.write", r#"{"volume_id": "v", "path": "PATH", "content": "x", "encoding": "utf8"}"#),
    ("fs.create_dir", r#"{"path": "PATH"}"#),
    ("fs.delete", r#"{"path": "PATH", "recursive": true}"#),
    ("fs.edit", r#"{"path": "PATH", "target_content": "a", "replacement_content": "b"}"#),
    ("fs.multi_edit", r#"{"path": "PATH", "edits": []}"#),
    ("fs.write", r#"{"path": "PATH", "content": "x"}"#),
    ("git.commit", r#"{"binding_id": "workspace", "message": "m", "paths": ["PATH"]}"#),
];

/// Places that their names close, in workspaces, lanes and volumes.
const NAMED: &[&str] = &[
    ".brigade/tools/policy.toml",
    "deep/.brigade/x",
    ".git/hooks/pre-commit",
    "deep/.git/config",
    ".GIT/config",
    ".g\u{200c}it/config",
    ".mcp.json",
    "deep/.mcp.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".Cursor/mcp.json",
    ".vscode/tasks.json",
    ".envrc",
    ".husky/pre-commit",
    ".devcontainer/devcontainer.json",
];

/// Places that files of the workspace and settings of the user close.
const FOUND: &[&str] = &[
    ".githooks/pre-commit",
    "deep/.githooks/new",
    "deep/hk/pre-commit",
    "deep/own.cfg",
    "bare/config",
    "bare/hooks/post-update",
    "conf/policy.toml",
    "conf/hook",
    "conf/mcp.json",
    "link-to-git/x",
    "conf/monitor.sh",
];

fn open_workspace() -> Work {
    let work = Work::new();
    let home = work.folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".gitconfig"), "[include]\npath = more\n").unwrap();
    std::fs::write(home.join("more"), "[core]\nhooksPath = .githooks\n").unwrap();
    for (path, text) in [
        (".git/config", "[core]\nfsmonitor = conf/monitor.sh\n"),
        (".githooks/pre-commit", "x"),
        ("deep/.git/config", "[core]\nhooksPath = hk\n[include]\npath = ../own.cfg\n"),
        ("deep/.githooks/old", "x"),
        ("deep/hk/pre-commit", "x"),
        ("deep/own.cfg", ""),
        ("bare/HEAD", "ref: refs/heads/main\n"),
        ("bare/objects/x", ""),
        ("bare/refs/x", ""),
        ("conf/policy.toml", "x"),
        ("conf/hook", "x"),
        ("conf/mcp.json", "{}"),
        ("conf/monitor.sh", "x"),
        ("deep/conf/x", "x"),
        (".brigade/tools/x", ""),
        ("free/file", "a"),
    ] {
        work.put(path, text.as_bytes());
    }
    std::fs::create_dir_all(work.at(".git/hooks")).unwrap();
    symlink("../../conf/policy.toml", work.at(".brigade/tools/policy.toml")).unwrap();
    symlink("../../conf/hook", work.at(".git/hooks/post-checkout")).unwrap();
    symlink("../conf/mcp.json", work.at("deep/.mcp.json")).unwrap();
    symlink(".git/hooks", work.at("link-to-git")).unwrap();
    work
}

#[test]
fn no_tool_changes_a_closed_place() {
    let work = open_workspace();
    let home = work.folder.path().join("home").into_os_string();
    let host = HostEnvironment::new([("HOME".into(), home)]);
    let redactor = Redactor::new(&[]);
    let stores = Stores::new(Duration::from_secs(1), Arc::new(brigade_fs::WorkspaceKey::temporary()));
    let call = |id: &str, args: &str, agent_files| {
        let mut context = Context {
            guards: Guards { agent_files, ..Guards::default() },
            environment: Some(&host),
            ..Context::new(&work.fs, "agent:a", &SystemClock, &redactor, &stores)
        };
        run(definition(id).unwrap(), &Json::parse(args).unwrap(), &mut context)
    };
    let code = |id: &str, args: &str| call(id, args, AgentFiles::Closed).map_err(|failure| failure.code);
    for (id, args) in WRITERS {
        // Tools of the workspace also ask what only the disk shows. `git.commit` does so when it has found the changes.
        let found = if id.starts_with("fs.") { FOUND } else { &[] };
        for path in NAMED.iter().chain(found) {
            let args = args.replace("PATH", path);
            assert_eq!(code(id, &args), Err(ErrorCode::ProtectedPath), "{id} {args}");
        }
        if id.starts_with("fs.") {
            let opened = call(id, &args.replace("PATH", ".vscode/tasks.json"), AgentFiles::Open);
            assert_ne!(opened.map_err(|failure| failure.code), Err(ErrorCode::ProtectedPath), "{id}");
        }
    }
    for folder in ["conf", "deep", "bare"] {
        let args = format!(r#"{{"path": "{folder}", "recursive": true}}"#);
        assert_eq!(code("fs.delete", &args), Err(ErrorCode::ProtectedPath), "{folder}");
    }
    for path in ["conf/policy.toml", ".githooks/pre-commit", ".vscode/tasks.json"] {
        assert!(code("fs.read", &format!(r#"{{"path": "{path}"}}"#)).is_ok(), "{path}");
    }
    for path in ["conf/other.toml", "free/file", "hk/pre-commit", ".github/workflows/ci.yml"] {
        assert!(code("fs.write", &format!(r#"{{"path": "{path}", "content": "y"}}"#)).is_ok(), "{path}");
    }
}

#[test]
fn the_table_has_every_tool_that_changes_a_path() {
    let changes = |row: &&brigade_access::builtin::Definition| {
        let writes = row.effects.iter().any(|effect| ["local-write", "local-delete"].contains(effect));
        let names =
            |name: &str| row.input_schema().get("properties").is_some_and(|all| all.get(name).is_some());
        writes && PathUse::from_definition(row) == PathUse::Change && (names("path") || names("paths"))
    };
    let mut ids: Vec<&str> = definitions().iter().filter(changes).map(|row| row.id).collect();
    ids.sort_unstable();
    let table: Vec<&str> = WRITERS.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, table);
}
