//! Tool packs: build, list, show, archive and import.

#![allow(clippy::disallowed_methods, reason = "tests make links and large files, and look at modes")]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use brigade_testkit::{Brigade, Run, TempWorkspace};
use serde_json::{Value, json};

const CATALOG: &str = ".brigade/tools.toml";

fn pack(workspace: &TempWorkspace, words: &[&str]) -> Run {
    Brigade::new(workspace).run(["tools", "pack"].iter().chain(words).chain(&["--json"]))
}

fn done(workspace: &TempWorkspace, words: &[&str]) -> Value {
    let run = pack(workspace, words);
    run.assert_code(0);
    run.json()
}

/// Returns a workspace with four built-in tools, a comment, and an unknown key.
fn workspace() -> TempWorkspace {
    let workspace = TempWorkspace::empty();
    Brigade::new(&workspace).run(["tools", "init", "--with-skills"]).assert_code(0);
    workspace.replace(CATALOG, "name = \"Simplify\"", "name = \"Simplify\" # mine\nowner = { team = \"x\" }");
    workspace
}

/// Writes a pack of entries in the format of v0.30.
fn write_pack(workspace: &TempWorkspace, entries: &Value, sources: &[(&str, &str)]) -> String {
    let manifest = json!({
        "call_queue": {"counts": {}}, "created_at": "2026-11-21T20:16:48.184878+00:00",
        "evidence_fingerprint": "131b6c46d9b5eb22", "issue_count": 0, "issues": [], "pack_id": "20261121-201648-tool-pack",
        "portable_catalog": {"entries": entries, "entry_errors": [], "source_files": []},
        "status": "built", "target": "/somewhere", "tool_count": 1, "tools": [{"id": "x"}],
    });
    workspace.write("pack/tool-pack.json", serde_json::to_string_pretty(&manifest).expect("it is JSON"));
    workspace.write("pack/TOOL_PACK.md", "# Tool Pack\n");
    for (path, text) in sources {
        workspace.write(format!("pack/source-files/{path}"), text);
    }
    workspace.join("pack").display().to_string()
}

#[test]
fn a_pack_is_built_listed_shown_and_archived() {
    let workspace = workspace();
    assert_eq!(done(&workspace, &["list"])["pack_count"], 0);
    pack(&workspace, &["show", "latest"]).assert_code(1);

    let built = done(&workspace, &["build"]);
    let id = built["pack_id"].as_str().expect("it has an id");
    assert!(id.ends_with("-tool-pack"), "{id}");
    assert_eq!((&built["status"], &built["tool_count"]), (&json!("built"), &json!(4)));
    let folder = format!(".brigade/tools/packs/{id}");
    assert_eq!(built["path"], json!(workspace.join(&folder)));
    for source in built["portable_catalog"]["source_files"].as_array().expect("it is a list") {
        let path = source["pack_path"].as_str().expect("it is packed");
        assert_eq!(
            workspace.read(format!("{folder}/{path}")),
            workspace.read(source["source_path"].as_str().unwrap_or_default())
        );
    }
    let stored = workspace.read_text(format!("{folder}/tool-pack.json"));
    assert!(!stored.contains(&workspace.path().display().to_string()), "{stored}");
    assert!(
        workspace.read_text(format!("{folder}/portable-tools.toml")).contains("owner = { team = \"x\" }")
    );
    let mode = |path: &str| {
        std::fs::metadata(workspace.join(path)).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!(mode(&format!("{folder}/tool-pack.json")), 0o600);
    assert_eq!((mode(&folder), mode(&format!("{folder}/source-files/tools"))), (0o700, 0o700));
    assert_eq!(workspace.read_text(".brigade/tools/packs/.gitignore"), "*\n");

    let second = done(&workspace, &["build"]);
    let second = second["pack_id"].as_str().expect("it has an id");
    assert_ne!(second, id);
    let list = done(&workspace, &["list"]);
    assert_eq!((&list["pack_count"], &list["packs"][0]["pack_id"]), (&json!(2), &json!(second)));
    assert_eq!(done(&workspace, &["list", "--limit", "1"])["pack_count"], 1);
    assert_eq!(done(&workspace, &["show", "latest"])["pack"]["pack_id"], json!(second));
    assert_eq!(done(&workspace, &["show", id])["pack"]["pack_id"], json!(id));

    let ambiguous = pack(&workspace, &["show", &id[..4]]);
    ambiguous.assert_code(1);
    let candidates = ambiguous.json()["candidates"].as_array().map(Vec::len);
    assert_eq!(candidates, Some(2), "{ambiguous}");
    pack(&workspace, &["archive", "nope"]).assert_code(1);

    let other = TempWorkspace::empty();
    let folder_of_pack = workspace.join(&folder).display().to_string();
    assert_eq!(done(&other, &["import", &folder_of_pack])["imported_count"], 4);
    Brigade::new(&other).run(["tools", "show", "simplify"]).assert_code(0);

    let archived = done(&workspace, &["archive", id]);
    assert_eq!(archived["archive_path"], json!(workspace.join(format!(".brigade/tools/packs-archive/{id}"))));
    assert!(!workspace.exists(&folder));
    // The pack was copied back, so the archived one is kept.
    workspace.write(format!("{folder}/tool-pack.json"), "{}");
    pack(&workspace, &["archive", id]).assert_code(2);
    assert!(workspace.exists(format!(".brigade/tools/packs-archive/{id}/TOOL_PACK.md")));
}

#[test]
fn a_hostile_pack_writes_nothing() {
    let workspace = TempWorkspace::empty();
    let outside = workspace.home().join("outside.md");
    std::fs::write(&outside, "of somebody else\n").expect("the file can be written");
    let entry = |source: &str| json!([{"id": "x", "name": "X", "family": "skill", "source_path": source}]);
    let refused = |entries: &Value, prepare: &dyn Fn(&Path)| {
        let folder = write_pack(&workspace, entries, &[("tools/x.md", "hello\n")]);
        prepare(Path::new(&folder));
        for words in [&["import", &folder][..], &["import", &folder, "--force"]] {
            let run = pack(&workspace, words);
            run.assert_code(1);
            assert_eq!(run.json()["valid"], false, "{run}");
            assert!(!workspace.exists(CATALOG) && !workspace.exists("tools/x.md"), "{run}");
        }
        workspace.remove("pack");
    };
    refused(&entry("tools/x.md"), &|folder| {
        let source = folder.join("source-files/tools/x.md");
        std::fs::remove_file(&source).expect("it was there");
        symlink(&outside, &source).expect("the link can be made");
    });
    refused(&entry("tools/x.md"), &|folder| {
        std::fs::rename(folder.join("source-files/tools"), folder.join("real")).expect("it was there");
        symlink(folder.join("real"), folder.join("source-files/tools")).expect("the link can be made");
    });
    // A link in the workspace cannot lead out either.
    std::fs::create_dir(workspace.home().join("elsewhere")).expect("the directory can be made");
    symlink(workspace.home().join("elsewhere"), workspace.join("linked")).expect("the link can be made");
    let folder = write_pack(&workspace, &entry("linked/x.md"), &[("linked/x.md", "hello\n")]);
    pack(&workspace, &["import", &folder, "--force"]).assert_code(1);
    assert!(!workspace.home().join("elsewhere/x.md").exists());

    let not_a_pack = |manifest: &dyn Fn(&Path)| {
        std::fs::remove_file(workspace.join("pack/tool-pack.json")).expect("it was there");
        manifest(&workspace.join("pack/tool-pack.json"));
        pack(&workspace, &["import", &folder]).assert_code(2);
    };
    not_a_pack(&|path| std::fs::write(path, "[]").expect("the file can be written"));
    not_a_pack(&|path| std::fs::write(path, "{").expect("the file can be written"));
    not_a_pack(&|path| symlink(&outside, path).expect("the link can be made"));
    not_a_pack(&|path| {
        let file = std::fs::File::create(path).expect("the file can be made");
        file.set_len(1 << 40).expect("the file can be grown");
    });
    pack(&workspace, &["import", "nowhere"]).assert_code(2);
    assert_eq!(std::fs::read(&outside).expect("it is there"), b"of somebody else\n");
}
