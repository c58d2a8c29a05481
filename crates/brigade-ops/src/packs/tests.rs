use super::*;
use crate::testing::Bench;
use crate::{DefaultsRequest, PACKS_ARCHIVE, add_default_tools};

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// Makes a workspace with four built-in tools, a comment, and an unknown key.
fn site() -> Bench {
    let mut bench = Bench::new(&[]);
    bench.context.files = Some(bench.context.fs.clone());
    let request = DefaultsRequest { dry_run: false, existing: OnExisting::Keep, ignore: Ignore::Skip };
    add_default_tools(&bench.context, request).map_err(|error| error.failure).unwrap();
    bench.replace(CATALOG, "name = \"Simplify\"", "name = \"Simplify\" # mine\nowner = { team = \"x\" }");
    bench
}

/// Makes a workspace that may import from its own directory `pack`.
fn empty() -> Bench {
    let mut bench = Bench::new(&[]);
    bench.context.files = Some(bench.context.fs.clone());
    bench
}

/// Copies a pack that was built into another workspace.
fn carry(from: &Bench, id: &str, to: &Bench) {
    let folder = format!("{PACKS}/{id}/");
    for path in from.paths() {
        if let Some(name) = path.strip_prefix(&folder) {
            to.write(&format!("pack/{name}"), &from.read(&path).unwrap());
        }
    }
}

/// Makes a workspace with a pack of entries in the format of v0.30.
fn with_pack(entries: &str, sources: &[(&str, &str)]) -> Bench {
    let bench = empty();
    let manifest = format!(
        r#"{{"call_queue": {{"counts": {{}}}}, "created_at": "2026-11-21T20:16:48.184878+00:00", "evidence_fingerprint": "131b6c46d9b5eb22",
        "issue_count": 0, "issues": [], "pack_id": "20261121-201648-tool-pack", "status": "built", "target": "/somewhere", "tool_count": 1,
        "portable_catalog": {{"entries": {entries}, "entry_errors": [], "source_files": []}}, "tools": [{{"id": "x"}}]}}"#
    );
    bench.write("pack/tool-pack.json", &manifest);
    sources.iter().for_each(|(path, text)| bench.write(&format!("pack/source-files/{path}"), text));
    bench
}

#[track_caller]
fn built(bench: &Bench) -> PackBuildReport {
    build(&bench.context).unwrap()
}

#[track_caller]
fn imported(bench: &Bench, existing: OnExisting) -> PackImportReport {
    import(&bench.context, Path::new("pack"), existing)
        .unwrap_or_else(|refused| panic!("{:#?}", refused.report))
}

/// Expects that an import is refused and writes nothing, and returns its report.
#[track_caller]
fn refused(bench: &Bench, existing: OnExisting) -> PackImportReport {
    let before = files(bench);
    let refused = import(&bench.context, Path::new("pack"), existing).unwrap_err();
    assert_eq!(files(bench), before);
    let report = *refused.report.unwrap_or_else(|| panic!("{}", refused.failure));
    assert_eq!((report.valid, report.imported_count, report.imported.len()), (false, 0, 0));
    assert!(!refused.failure.blockers().is_empty());
    report
}

/// Returns every file, except locks.
fn files(bench: &Bench) -> Vec<(String, Option<String>)> {
    let paths = bench.paths().into_iter().filter(|path| !path.ends_with(".lock"));
    paths.map(|path| (path.clone(), bench.read(&path))).collect()
}

#[test]
fn a_pack_holds_the_catalog_and_its_sources() {
    let bench = site();
    let report = built(&bench);
    assert!(report.pack_id.ends_with("-tool-pack"), "{}", report.pack_id);
    assert_eq!((&*report.status, report.tool_count), ("built", 4));
    let folder = format!("{PACKS}/{}", report.pack_id);
    assert_eq!(report.path, format!("/memory/{folder}"));
    for source in &report.portable_catalog.source_files {
        let path = source.pack_path.as_deref().expect("it is packed");
        assert_eq!(bench.read(&format!("{folder}/{path}")), bench.read(&source.source_path));
    }
    let stored = bench.read(&format!("{folder}/tool-pack.json")).unwrap();
    assert!(!stored.contains("/memory"), "{stored}");
    let entries = bench.read(&format!("{folder}/portable-tools.toml")).unwrap();
    assert!(entries.contains("owner = { team = \"x\" }"), "{entries}");
    assert_eq!(bench.read(&format!("{PACKS}/.gitignore")).as_deref(), Some("*\n"));
}

#[test]
fn the_fingerprint_of_a_pack_is_that_of_its_content() {
    let bench = site();
    let first = built(&bench).evidence_fingerprint;
    assert_eq!(built(&bench).evidence_fingerprint, first);
    bench.write("tools/simplify.md", "other\n");
    assert_ne!(built(&bench).evidence_fingerprint, first);
}

#[test]
fn packs_are_listed_newest_first_and_found_by_a_prefix() {
    let bench = site();
    let ids = [built(&bench), built(&bench)].map(|report| report.pack_id);
    let listed = list(&bench.context, 10).unwrap();
    let found: Vec<&str> = listed.packs.iter().map(|pack| pack.pack_id.as_str()).collect();
    assert_eq!((found, listed.pack_count), (vec![ids[1].as_str(), ids[0].as_str()], 2));
    assert_eq!(list(&bench.context, 1).unwrap().pack_count, 1);
    let shown = |id: &str| show(&bench.context, &IdPrefix::new(id)).map(|report| report.pack.pack_id);
    assert_eq!(shown("latest").unwrap(), ids[1]);
    assert_eq!(shown(&ids[0]).unwrap(), ids[0]);
    let several = shown(&ids[0][..4]).unwrap_err();
    assert_eq!(several.could_be().len(), 2);
    let none = shown("nope").unwrap_err();
    assert_eq!((none.kind(), none.code()), (ErrorKind::NotFound, ErrorCode::PackMissing));
    assert!(show(&Bench::new(&[]).context, &IdPrefix::new("latest")).is_err());
}

#[test]
fn an_archived_pack_is_gone_from_the_list_and_is_not_replaced() {
    let bench = site();
    let id = built(&bench).pack_id;
    let report = archive(&bench.context, &IdPrefix::new(&id)).unwrap();
    assert_eq!(report.archive_path, format!("/memory/.brigade/tools/packs-archive/{id}"));
    assert_eq!(list(&bench.context, 10).unwrap().pack_count, 0);
    // The pack was copied back.
    bench.write(&format!("{PACKS}/{id}/tool-pack.json"), "{}");
    let error = archive(&bench.context, &IdPrefix::new(&id)).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, ErrorCode::FileExists));
    assert!(bench.read(&format!("{PACKS_ARCHIVE}/{id}/TOOL_PACK.md")).is_some());
}

#[test]
fn an_import_brings_entries_and_sources_and_a_second_one_nothing() {
    let (from, to) = (site(), empty());
    carry(&from, &built(&from).pack_id, &to);
    let report = imported(&to, OnExisting::Keep);
    assert_eq!((report.valid, report.imported_count, report.copied_sources.len()), (true, 4, 4));
    assert_eq!(to.read("tools/simplify.md"), from.read("tools/simplify.md"));
    assert!(to.read(CATALOG).unwrap().contains("owner = { team = \"x\" }"));
    assert_eq!(report.gitignore, "created (.gitignore)");
    let before = files(&to);
    let again = imported(&to, OnExisting::Keep);
    assert_eq!((again.imported_count, again.skipped_existing_count), (0, 4));
    assert_eq!(files(&to), before);
}

#[test]
fn an_entry_or_source_that_differs_is_a_conflict_unless_it_is_replaced() {
    let (from, to) = (site(), empty());
    carry(&from, &built(&from).pack_id, &to);
    imported(&to, OnExisting::Keep);
    to.replace(CATALOG, "name = \"Simplify\"", "# a word\nname = \"Other\" # and one more");
    to.write("tools/frontend.md", "mine\n");
    let report = refused(&to, OnExisting::Keep);
    let about: Vec<_> = report.conflicts.iter().filter_map(|conflict| conflict.tool_id.as_deref()).collect();
    assert_eq!(about, ["simplify", "frontend"]);
    imported(&to, OnExisting::Overwrite);
    let catalog = to.read(CATALOG).unwrap();
    assert!(catalog.contains("# a word\nname = \"Simplify\" # and one more\n"), "{catalog}");
    assert_eq!(to.read("tools/frontend.md"), from.read("tools/frontend.md"));
    assert_eq!(imported(&to, OnExisting::Keep).skipped_existing_count, 4);
}

#[test]
fn a_pack_holds_no_secret_and_nothing_from_outside() {
    let bench = site();
    bench.write("tools/frontend.md", &format!("use {TOKEN}\n"));
    bench.replace(CATALOG, "tools/antislop.md", "../antislop.md");
    bench.remove("tools/simplify.md");
    let entry = "\n[[tool]]\nid = \"secret\"\nname = \"S\"\nfamily = \"script\"\ncommand = \"x --token hunter2hunter2\"\n";
    let catalog = bench.read(CATALOG).unwrap();
    bench.write(CATALOG, &format!("{catalog}{entry}password = \"{TOKEN}\"\n"));
    let report = built(&bench);
    let sources = &report.portable_catalog.source_files;
    let packed: Vec<&str> =
        sources.iter().filter(|source| source.packed).map(|source| source.tool_id.as_str()).collect();
    assert_eq!(packed, ["superpowers"], "{sources:#?}");
    let reason = |id: &str| {
        sources.iter().find(|source| source.tool_id == id).and_then(|source| source.reason.clone()).unwrap()
    };
    assert_eq!(reason("frontend"), "source seems to contain a secret");
    assert_eq!(reason("simplify"), "source missing");
    let errors = report.portable_catalog.entry_errors.join("; ");
    assert!(errors.contains("secret: command: a secret was left out"), "{errors}");
    let outside = [CATALOG, "tools/frontend.md"];
    bench.assert_nowhere(TOKEN, &outside);
    bench.assert_nowhere("hunter2hunter2", &outside);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a link is made on a real disk")]
fn a_link_out_of_the_workspace_is_not_packed() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("outside.md");
    std::fs::write(&file, "not of the workspace\n").unwrap();
    let entry = "[[tool]]\nid = \"x\"\nname = \"X\"\nfamily = \"skill\"\nsource_path = \"tools/x.md\"\n";
    let bench = Bench::on_disk(&[(CATALOG, entry), ("tools/y.md", "y\n")]);
    std::os::unix::fs::symlink(&file, bench.context.fs.root().join("tools/x.md")).unwrap();
    let report = built(&bench);
    assert!(report.portable_catalog.source_files.iter().all(|source| !source.packed), "{report:?}");
    let packs: Vec<String> = bench.paths().into_iter().filter(|path| path.contains("/packs/")).collect();
    assert!(!packs.is_empty());
    for path in packs {
        assert!(!bench.read(&path).unwrap().contains("not of the workspace"), "{path}");
    }
}

#[test]
fn a_source_outside_of_what_a_pack_may_write_is_refused() {
    for source in [
        "../x.md",
        "/memory/x.md",
        "~/x.md",
        ".brigade/tools/policy.toml",
        ".git/hooks/post-commit",
        ".envrc",
    ] {
        let entry = format!(r#"[{{"id": "x", "name": "X", "family": "skill", "source_path": "{source}"}}]"#);
        for existing in [OnExisting::Keep, OnExisting::Overwrite] {
            let bench = with_pack(&entry, &[("tools/x.md", "hello\n")]);
            assert_eq!(refused(&bench, existing).conflicts.len(), 1, "{source}");
        }
    }
}

#[test]
fn invalid_entries_of_a_pack_are_conflicts() {
    for entries in [
        r#"[{"name": "X", "family": "skill"}]"#,
        r#"[{"id": "x", "name": 3, "family": "skill"}]"#,
        r#"["x", null]"#,
        r#"[{"id": "bad"}]"#,
    ] {
        refused(&with_pack(entries, &[]), OnExisting::Keep);
    }
    let bench = with_pack("[]", &[]);
    bench.write("pack/portable-tools.toml", "[[tool]]\nid = \"bad\"\n");
    let report = refused(&bench, OnExisting::Keep);
    let errors: Vec<&String> = report.conflicts.iter().flat_map(|conflict| &conflict.errors).collect();
    assert!(errors.iter().any(|error| error.contains("portable-tools.toml:1:1: bad: ")), "{errors:?}");
}

#[test]
fn a_catalog_with_errors_takes_no_pack() {
    let entry = r#"[{"id": "x", "name": "X", "family": "skill"}]"#;
    for catalog in ["[[tool]\n", "[[tool]]\nid = \"own\"\nname = 3\n"] {
        let bench = with_pack(entry, &[]);
        bench.write(CATALOG, catalog);
        let report = refused(&bench, OnExisting::Keep);
        assert_eq!(report.conflicts[0].reason, "the catalog has errors");
    }
}

#[test]
fn a_pack_of_v030_is_imported() {
    let entries = r#"[{"argument_template": {"name": "{name}"}, "command": "sh bin/x.sh", "effects": ["local-read"], "family": "script",
        "id": "x", "name": "X", "owner": {"team": "y"}, "source_path": "tools/x.md", "timeout": 5}]"#;
    let bench = with_pack(entries, &[("tools/x.md", "hello\n")]);
    let report = imported(&bench, OnExisting::Keep);
    assert_eq!(report.pack_id, "20261121-201648-tool-pack");
    assert_eq!(report.imported[0].command.as_deref(), Some("sh bin/x.sh"));
    assert_eq!(bench.read("tools/x.md").as_deref(), Some("hello\n"));
    let catalog = bench.read(CATALOG).unwrap();
    assert!(catalog.contains("timeout = 5\n") && catalog.contains("owner = { team = \"y\" }"), "{catalog}");
    // Without entries in the manifest, the catalog in the pack counts.
    let other = with_pack("[]", &[]);
    other.write("pack/portable-tools.toml", &catalog);
    assert_eq!(imported(&other, OnExisting::Keep).imported_count, 1);
    assert_eq!(other.read("tools/x.md"), None, "its source is not in the pack");
}

#[test]
fn a_directory_that_is_no_pack_is_an_error_of_the_command() {
    for manifest in [None, Some("[]"), Some("{")] {
        let bench = with_pack("[]", &[]);
        match manifest {
            Some(text) => bench.write("pack/tool-pack.json", text),
            None => bench.remove("pack/tool-pack.json"),
        }
        let refused = import(&bench.context, Path::new("pack"), OnExisting::Keep).unwrap_err();
        assert_eq!(
            (refused.failure.kind(), refused.failure.code()),
            (ErrorKind::Usage, ErrorCode::PackInvalid)
        );
        assert!(refused.report.is_none());
    }
    let refused = import(&empty().context, Path::new("nowhere"), OnExisting::Keep).unwrap_err();
    assert_eq!(refused.failure.kind(), ErrorKind::Usage);
}
