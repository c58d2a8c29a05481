use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn rel(path: &str) -> RelPath {
    path.parse().unwrap()
}

#[test]
fn no_link_is_followed_wherever_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("root/real")).unwrap();
    std::fs::create_dir(at("outside")).unwrap();
    std::fs::write(at("outside/secret"), "s").unwrap();
    std::fs::write(at("root/real/file"), "inside").unwrap();
    symlink("../outside", at("root/out")).unwrap();
    symlink("real", at("root/in")).unwrap();
    symlink("file", at("root/real/link")).unwrap();
    let root = Folder::root(&at("root")).unwrap();
    let kind = |result: Result<Folder, FsError>| result.map(drop).map_err(|error| error.kind);
    assert_eq!(kind(root.beneath(&rel("out"))), Err(FsErrorKind::Outside));
    assert_eq!(kind(root.beneath(&rel("in"))), Err(FsErrorKind::Outside));
    assert_eq!(kind(root.make_beneath(&rel("out/new"))), Err(FsErrorKind::Outside));
    assert!(!at("outside/new").exists());
    let real = root.beneath(&rel("real")).unwrap();
    assert_eq!(real.open("link").map(drop).map_err(|error| error.kind), Err(FsErrorKind::Outside));
    assert_eq!(real.open("file").unwrap().rest(100).unwrap(), b"inside");
    assert!(real.open("file").unwrap().rest(3).is_err());
}

#[test]
fn replacing_keeps_the_mode_and_other_hard_links() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("run.sh"), "one").unwrap();
    std::fs::set_permissions(at("run.sh"), std::fs::Permissions::from_mode(0o754)).unwrap();
    std::fs::hard_link(at("run.sh"), at("second")).unwrap();
    let root = Folder::root(folder.path()).unwrap();
    let old = root.look("run.sh").unwrap();
    root.replace("run.sh", b"two", Some(&old)).unwrap();
    assert_eq!(std::fs::read(at("run.sh")).unwrap(), b"two");
    assert_eq!(std::fs::metadata(at("run.sh")).unwrap().mode() & 0o777, 0o754);
    assert_eq!(std::fs::read(at("second")).unwrap(), b"one");
    // The file is not `old` any more. In the other call a file exists where none was expected.
    assert!(root.replace("run.sh", b"three", Some(&old)).is_err_and(|error| error.is_exists()));
    assert!(root.replace("second", b"three", None).is_err_and(|error| error.is_exists()));
    root.replace("new", b"n", None).unwrap();
    let names: Vec<_> = root.entries().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["new", "run.sh", "second"]);
}

#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let root = Folder::root(folder.path()).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    rustix::fs::mknodat(&root.folder, "pipe", FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    for name in ["socket", "pipe", "folder"] {
        assert_eq!(
            root.open(name).map(drop).map_err(|error| error.kind),
            Err(FsErrorKind::NotAFile),
            "{name}"
        );
    }
}
