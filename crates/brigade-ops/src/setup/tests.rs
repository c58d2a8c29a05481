use std::time::Duration;

use brigade_fs::Fs as _;
use brigade_workspace::POLICY;

use super::*;
use crate::setup::init::{marked_workspace, write_starter};
use crate::testing::Bench;

#[test]
fn an_existing_file_is_replaced_only_on_request() {
    let bench = Bench::new(&[(POLICY, "mine")]);
    let starter = |existing| write_starter(&bench.context, (POLICY, "new"), existing, NextStep::ListTools);
    let refused = starter(OnExisting::Keep).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.code(), refused.hints().len()),
        (ErrorKind::Usage, ErrorCode::FileExists, 1)
    );
    assert_eq!(bench.read(POLICY).as_deref(), Some("mine"));
    let report = starter(OnExisting::Overwrite).unwrap();
    assert_eq!((report.config_path, report.gitignore.as_str()), (format!("/memory/{POLICY}"), "skipped"));
    assert_eq!(bench.read(POLICY).as_deref(), Some("new"));
}

#[test]
fn a_place_is_free_if_only_directories_are_above_it() {
    let bench = Bench::new(&[("a/file", "")]);
    let setup = Setup::new(&bench.context);
    for (path, expect) in [
        ("a/file", None),
        ("a/new", None),
        ("x/y/z", None),
        ("a", Some(FsErrorKind::NotAFile)),
        ("a/file/x", Some(FsErrorKind::NotADirectory)),
        ("a/file/x/y", Some(FsErrorKind::NotADirectory)),
    ] {
        assert_eq!(setup.check_place(path).err().map(|error| error.kind), expect, "{path}");
    }
}

#[test]
fn the_ignore_lines_are_added_to_any_bytes() {
    for (existing, word) in [
        (None, "created (.gitignore)"),
        (Some(&b"target\n"[..]), "updated (.gitignore)"),
        (Some(b"caf\xe9\n"), "updated (.gitignore)"),
        (Some(b".brigade/\n"), "skipped"),
    ] {
        let bench = Bench::new(&[]);
        let setup = Setup::new(&bench.context);
        let path = RelPath::from_static(GITIGNORE);
        if let Some(bytes) = existing {
            bench.context.fs.write_atomic(&path, bytes, FileMode::Private).unwrap();
        }
        let done = setup.write_ignore(setup.ignore_change(Ignore::Write).unwrap()).unwrap();
        assert_eq!(done, word);
        let bytes = bench.context.fs.read(&path, CONFIG_LIMIT).unwrap();
        assert!(bytes.starts_with(existing.unwrap_or_default()), "{bytes:?}");
        assert!(setup.ignore_change(Ignore::Write).unwrap().is_none(), "a second time changes nothing");
    }
    let bench = Bench::new(&[]);
    assert!(Setup::new(&bench.context).ignore_change(Ignore::Skip).unwrap().is_none());
}

#[test]
fn a_source_is_created_once() {
    let bench = Bench::new(&[]);
    let setup = Setup::new(&bench.context);
    assert!(setup.add_source("tools/a.md", "first").unwrap());
    assert!(!setup.add_source("tools/a.md", "second").unwrap());
    assert_eq!(bench.read("tools/a.md").as_deref(), Some("first"));
}

#[test]
fn lists_of_an_entry_are_edited_in_place() {
    let text = "# mine\n[[tool]]\nid = 'go'\nname = 'Go'\nfamily = 'script'\ncommand = 'x' # keep\n";
    let bench = Bench::new(&[(CATALOG, text)]);
    let setup = Setup::new(&bench.context);
    let list =
        |texts: &[&str]| vec![("code", texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())];
    assert!(setup.set_lists("go", &list(&["lib/**"])).unwrap());
    assert!(!setup.set_lists("go", &list(&["lib/**"])).unwrap(), "nothing changes");
    let edited = bench.read(CATALOG).unwrap();
    assert!(edited.starts_with(text.trim_end()) && edited.contains("lib/**"), "{edited}");
    assert!(setup.set_lists("gone", &list(&["x"])).is_err());
    assert_eq!(bench.read(CATALOG), Some(edited));
}

#[test]
fn a_catalog_that_is_not_text_is_not_edited() {
    let bench = Bench::new(&[]);
    let setup = Setup::new(&bench.context);
    assert_eq!(setup.text_of_catalog().unwrap(), "");
    let path = RelPath::from_static(CATALOG);
    bench.context.fs.create_dir_all(&path.parent()).unwrap();
    bench.context.fs.write_atomic(&path, b"\xff", FileMode::Private).unwrap();
    assert_eq!(setup.text_of_catalog().unwrap_err().kind(), ErrorKind::InvalidConfig);
}

#[test]
fn one_writer_at_a_time_changes_the_catalog() {
    let mut bench = Bench::new(&[]);
    bench.context.timeout = Duration::ZERO;
    let setup = Setup::new(&bench.context);
    let held = setup.lock_catalog().unwrap();
    let error = setup.lock_catalog().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("change of the catalog"), "{error}");
    drop(held);
    assert!(setup.lock_catalog().is_ok());
}

#[test]
fn a_starter_checks_every_place_before_it_writes() {
    let starter = Starter {
        text: "# catalog\n".to_owned(),
        files: vec![
            starter::File { path: "tools/a.md", text: "a" },
            starter::File { path: "bin/b", text: "b" },
        ],
        tool_count: 1,
        keeps_files: true,
    };
    let write = |files: &[(&str, &str)], keeps_files: bool| {
        let bench = Bench::new(files);
        let starter = Starter { keeps_files, ..starter.clone() };
        let done = Setup::new(&bench.context).write_starter(&starter, OnExisting::Keep, Ignore::Skip);
        (done.map(|(sources, _)| sources).map_err(|error| error.code()).ok(), bench.read(CATALOG).is_some())
    };
    let sources = |paths: &[&str]| Some(paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
    assert_eq!(write(&[], true), (sources(&["tools/a.md", "bin/b"]), true));
    assert_eq!(write(&[("tools/a.md", "mine")], true), (sources(&["bin/b"]), true));
    assert_eq!(write(&[("tools/a.md", "a")], false), (sources(&["bin/b"]), true));
    assert_eq!(write(&[("tools/a.md", "mine")], false), (None, false));
    assert_eq!(write(&[("bin", "a file")], true), (None, false));
    assert_eq!(write(&[(CATALOG, "mine")], true), (None, true));
}

#[test]
fn a_directory_is_a_workspace_if_it_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    assert!(marked_workspace(folder.path()).is_none());
    let fs = brigade_fs::DiskFs::open(folder.path()).unwrap();
    fs.create_dir(&RelPath::from_static(".brigade")).unwrap();
    assert!(marked_workspace(folder.path()).is_some());
    assert!(marked_workspace(&folder.path().join("gone")).is_none());
}
