//! Tests of changes in place.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests make files and look at them")]

use std::fs;
use std::path::Path;

use super::*;

fn name(task: &str) -> TaskName {
    TaskName { prd: "prd-x".parse().unwrap(), task: task.parse().unwrap(), title: "T".to_owned() }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn open(folder: &Path) -> InPlaceWorkplace {
    InPlaceWorkplace::new(Arc::new(DiskFs::open(folder).unwrap()), vec!["brigade/tasks".to_owned()])
}

fn bench() -> (tempfile::TempDir, InPlaceWorkplace) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.txt", "TODO old\nplain\n");
    write(folder.path(), ".gitignore", "*.log\nbuild/\n");
    write(folder.path(), "sub/b.txt", "b\n");
    let place = open(folder.path());
    (folder, place)
}

fn attempt(place: &InPlaceWorkplace, at: &Place, work: impl FnOnce(&Path)) -> Result<Changes, PlaceError> {
    let guard = place.guard(at)?;
    work(&at.folder);
    place.look(at, &guard)
}

fn files(changes: &Changes) -> Vec<String> {
    changes.files.iter().map(|file| format!("{:?} {}", file.kind, file.path)).collect()
}

#[test]
fn changes_are_found_by_comparing_files() {
    let (folder, place) = bench();
    let (at, begun) = place.begin(&name("a")).unwrap();
    assert_eq!(
        (begun, place.mode(), place.branch()),
        (FolderOrigin::New, brigade_kitchen::life::Workplace::InPlace, None)
    );
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
    let changes = attempt(&place, &at, |root| {
        write(root, "a.txt", "new\nTODO old\nplain\nXXX\n");
        write(root, "c/d.txt", "FIXME\n");
        write(root, "x.log", "ignored");
        write(root, "build/out", "ignored");
        write(root, "brigade/tasks/prd-x.json", "{}");
        fs::remove_dir_all(root.join("sub")).unwrap();
    })
    .unwrap();
    assert_eq!(files(&changes), ["Modified a.txt", "Added c/d.txt", "Deleted sub/b.txt"]);
    let markers: Vec<String> = changes.markers.iter().map(ToString::to_string).collect();
    assert_eq!(markers, ["a.txt:4: XXX", "c/d.txt:1: FIXME"], "an older one has only moved");
    let patch = place.patch(&at, &changes, 10_000).unwrap();
    assert!(patch.contains("Added: c/d.txt\n+FIXME") && patch.contains("Deleted: sub/b.txt"), "{patch}");

    // The result is the same after a restart, because the snapshot is stored.
    let place = open(folder.path());
    let (at, begun) = place.begin(&name("a")).unwrap();
    assert_eq!(begun, FolderOrigin::Found);
    assert_eq!(attempt(&place, &at, |_| {}).unwrap(), changes);
    let made = place.commit(&at, &changes, &"run-1".parse().unwrap()).unwrap();
    assert_eq!(place.integrate(&at, &made).unwrap(), Integration::Done(None));
    place.finish(&at).unwrap();
    assert_eq!(place.begin(&name("a")).unwrap().1, FolderOrigin::New);
    assert!(attempt(&place, &at, |_| {}).unwrap().is_empty());
}

#[test]
fn open_work_in_a_file_that_is_only_renamed_is_old() {
    let (folder, place) = bench();
    let (at, _) = place.begin(&name("a")).unwrap();
    let rename = |root: &Path| fs::rename(root.join("a.txt"), root.join("sub/z.txt")).unwrap();
    let changes = attempt(&place, &at, rename).unwrap();
    assert_eq!((files(&changes).len(), changes.markers), (2, vec![]));
    let copy = |root: &Path| write(root, "a.txt", "TODO old\nplain\n");
    assert_eq!(attempt(&place, &at, copy).unwrap().markers.len(), 1, "a copy adds its lines");
    drop(folder);
}

#[test]
fn a_change_that_keeps_length_and_time_is_found() {
    let (folder, place) = bench();
    let path = folder.path().join("a.txt");
    let (at, _) = place.begin(&name("a")).unwrap();
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let changes = attempt(&place, &at, |root| {
        write(root, "a.txt", "DOTO old\nplain\n");
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    })
    .unwrap();
    assert_eq!(files(&changes), ["Modified a.txt"]);
}

#[test]
fn settings_and_hooks_of_a_repository_are_compared() {
    let (folder, place) = bench();
    write(folder.path(), ".git/config", "[core]\n");
    let (at, _) = place.begin(&name("a")).unwrap();
    let tampered =
        attempt(&place, &at, |root| write(root, ".git/hooks/post-commit", "#!/bin/sh\n")).unwrap_err();
    let PlaceError::Tampered { what } = tampered else { panic!("{tampered}") };
    assert_eq!(what, [".git/hooks/post-commit"]);
}

#[test]
fn links_modes_and_names_in_any_bytes_count() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, place) = bench();
    let (at, _) = place.begin(&name("a")).unwrap();
    let changes = attempt(&place, &at, |root| {
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(root.join(std::ffi::OsStr::from_bytes(b"n\xff")), "x").unwrap();
        write(root, "inner/.git/HEAD", "ref: refs/heads/x\n");
    })
    .unwrap();
    assert_eq!(files(&changes), ["Modified a.txt", "Added link", "Added n\u{fffd}"]);
    assert_eq!(changes.nested, ["inner"]);
    assert!(matches!(place.commit(&at, &changes, &"r".parse().unwrap()), Err(PlaceError::Nested(_))));
}
