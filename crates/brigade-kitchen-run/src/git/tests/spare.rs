//! Tests of worktrees that later tasks reuse.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use brigade_testkit::run_trials;

use super::*;

/// Lists everything in a worktree except its git directory: path, kind, mode and content.
fn listing(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let shown = path.strip_prefix(root).unwrap().display().to_string();
        if shown == ".git" {
            continue;
        }
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            found.push(format!("{shown}/ {mode:o}"));
            listing(root, &path, found);
        } else if metadata.is_symlink() {
            found.push(format!("{shown} -> {}", std::fs::read_link(&path).unwrap().display()));
        } else if metadata.is_file() {
            found.push(format!("{shown} {mode:o} {} {:?}", metadata.nlink(), read(&path)));
        } else {
            found.push(format!("{shown} is something else"));
        }
    }
}

fn listed(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    listing(root, root, &mut found);
    found
}

/// What a worker or a verification does to a folder, and whether it can be reused afterwards.
type Case = (&'static str, bool, fn(&Path));

const CASES: &[Case] = &[
    ("nothing", true, |_| {}),
    ("ignored", true, |folder| {
        write(&folder.join("build/deep/out.o"), "o");
        write(&folder.join("x.log"), "log");
    }),
    ("untracked", true, |folder| write(&folder.join("src/new/x.rs"), "x")),
    ("empty", true, |folder| std::fs::create_dir_all(folder.join("a/b/c")).unwrap()),
    ("changed", true, |folder| write(&folder.join("README.md"), "HELLO\n")),
    ("times", true, |folder| {
        // Same length and times as before.
        let path = folder.join("README.md");
        let then = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "HELLO\n").unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    }),
    ("removed", true, |folder| std::fs::remove_dir_all(folder.join("src")).unwrap()),
    ("executable", true, |folder| {
        std::fs::set_permissions(folder.join("README.md"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("link", true, |folder| {
        std::fs::remove_file(folder.join("README.md")).unwrap();
        symlink("/etc/hostname", folder.join("README.md")).unwrap();
    }),
    ("folder", true, |folder| {
        std::fs::remove_dir_all(folder.join("src")).unwrap();
        std::fs::create_dir(folder.join("elsewhere")).unwrap();
        write(&folder.join("elsewhere/lib.rs"), "// TODO old\nfn a() {}\n");
        symlink("elsewhere", folder.join("src")).unwrap();
    }),
    ("file", true, |folder| {
        std::fs::remove_dir_all(folder.join("src")).unwrap();
        write(&folder.join("src"), "no folder\n");
    }),
    ("hooks", true, |folder| write(&folder.join(".git/hooks/post-checkout"), "#!/bin/sh\ntouch /tmp/evil\n")),
    ("no-git", true, |folder| std::fs::remove_dir_all(folder.join(".git")).unwrap()),
    ("nested", false, |folder| git(folder, &["init", "-q", "src/inner"]).truncate(0)),
    ("inner", false, |folder| write(&folder.join("src/.git"), "gitdir: /elsewhere\n")),
    ("attributes", false, |folder| write(&folder.join("src/.gitattributes"), "* text eol=crlf\n")),
    ("name", false, |folder| {
        std::fs::hard_link(folder.join("README.md"), folder.join("../kept")).unwrap();
    }),
    ("pipe", false, |folder| {
        assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    }),
    ("bits", true, |folder| {
        std::fs::set_permissions(folder.join("README.md"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    }),
    ("open", true, |folder| {
        for path in ["", "src", "src/lib.rs", "README.md"] {
            let mode = if path.ends_with(".rs") { 0o600 } else { 0o2777 };
            std::fs::set_permissions(folder.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        }
    }),
    ("future", true, |folder| {
        let then = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000_000);
        std::fs::File::options()
            .write(true)
            .open(folder.join("README.md"))
            .unwrap()
            .set_modified(then)
            .unwrap();
    }),
    ("closed", true, |folder| {
        for path in ["src", ".git/objects", ".git", ""] {
            std::fs::set_permissions(folder.join(path), std::fs::Permissions::from_mode(0o500)).unwrap();
        }
    }),
];

#[test]
fn a_worktree_that_is_taken_over_is_what_a_new_one_is() {
    run_trials(CASES, |(case, is_taken, spoil)| {
        let bench = Bench::new();
        let place = bench.open();
        let (at, _, _) = task(&place, "first", |folder| write(&folder.join("one.txt"), "1\n"));
        spoil(&at.folder);
        let made = |folder: &Path| {
            let metadata = std::fs::metadata(folder).unwrap();
            (metadata.ino(), metadata.created().unwrap())
        };
        let was = made(&at.folder);
        place.finish(&at).unwrap();
        assert!(!at.folder.exists(), "{case}");
        // Other commits move the branch meanwhile.
        bench.git(&["worktree", "add", "-q", "../other", "feature/x"]);
        let other = bench.folder.path().join("other");
        write(&other.join("README.md"), "hello again\n");
        std::fs::remove_file(other.join("one.txt")).unwrap();
        write(&other.join("src/two.rs"), "2\n");
        git(&other, &["add", "-A"]);
        git(&other, &["-c", "user.name=B", "-c", "user.email=b@example.org", "commit", "-qm", "theirs"]);
        bench.git(&["worktree", "remove", "--force", "../other"]);
        let (second, origin) = place.begin(&name("second")).unwrap();
        assert_eq!(origin, FolderOrigin::New, "{case}");
        assert_eq!(made(&second.folder) == was, *is_taken, "{case}: whether it was taken over");
        // No spare is left for a third task, so its worktree is new.
        let (third, _) = place.begin(&name("third")).unwrap();
        assert_eq!(listed(&second.folder), listed(&third.folder), "{case}");
        let mode = |folder: &Path| std::fs::metadata(folder).unwrap().permissions().mode();
        assert_eq!(mode(&second.folder), mode(&third.folder), "{case}");
        let modified = std::fs::metadata(second.folder.join("README.md")).unwrap().modified().unwrap();
        let age = std::time::SystemTime::now().duration_since(modified).unwrap();
        assert!(age < std::time::Duration::from_secs(600), "{case}: {age:?}");
        let nothing = attempt(&place, &second, |_| {}).unwrap();
        assert!(nothing.is_empty(), "{case}: {:?}", paths(&nothing));
        let seen =
            attempt(&place, &second, |folder| write(&folder.join("README.md"), "HELLO again\n")).unwrap();
        assert_eq!(paths(&seen), ["Modified README.md"], "{case}");
        place.finish(&second).unwrap();
        place.finish(&third).unwrap();
        place.leave(&name("x").prd, &|_| false).unwrap();
        let left = std::fs::read_dir(place.worktrees().join("prd-add-auth")).unwrap();
        let left: Vec<_> =
            left.map(|entry| entry.unwrap().file_name()).filter(|name| name != "kept").collect();
        assert!(left.is_empty(), "{case}: {left:?}");
        true
    });
}

#[test]
fn given_files_force_a_new_worktree() {
    let mut bench = Bench::new();
    bench.write(".env", "A=1\n");
    bench.options.copy = vec![".env".to_owned()];
    let place = bench.open();
    let (at, _, _) = task(&place, "first", |folder| write(&folder.join("one.txt"), "1\n"));
    place.finish(&at).unwrap();
    assert_eq!(place.spares(&"prd-add-auth".parse().unwrap()).unwrap(), [], "with files that were given");
    bench.options.copy.clear();
    bench.git(&["config", "core.autocrlf", "input"]);
    let place = bench.open();
    let (at, _, _) = task(&place, "second", |folder| write(&folder.join("two.txt"), "2\n"));
    place.finish(&at).unwrap();
    assert_eq!(place.spares(&"prd-add-auth".parse().unwrap()).unwrap(), [], "where line ends are converted");
}

#[test]
fn attributes_and_submodules_prevent_reuse() {
    for (case, make) in [
        (
            "attributes",
            (|other: &Path| write(&other.join("docs/.gitattributes"), "* text eol=crlf\n")) as fn(&Path),
        ),
        ("gitlink", |other| {
            let head = git(other, &["rev-parse", "HEAD"]);
            git(other, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},vendor/x")]);
        }),
    ] {
        let bench = Bench::new();
        let place = bench.open();
        let (at, ..) = task(&place, "first", |folder| write(&folder.join("one.txt"), "1\n"));
        write(&at.folder.join("vendor/x/left.txt"), "by the first\n");
        place.finish(&at).unwrap();
        assert_eq!(place.spares(&"prd-add-auth".parse().unwrap()).unwrap().len(), 1, "{case}");
        bench.git(&["worktree", "add", "-q", "../other", "feature/x"]);
        let other = bench.folder.path().join("other");
        make(&other);
        git(&other, &["add", "."]);
        if case == "gitlink" {
            make(&other);
        }
        git(&other, &["-c", "user.name=B", "-c", "user.email=b@example.org", "commit", "-qm", "theirs"]);
        bench.git(&["worktree", "remove", "--force", "../other"]);
        let (second, _) = place.begin(&name("second")).unwrap();
        assert!(!second.folder.join("vendor/x/left.txt").exists(), "{case}");
        if case == "attributes" {
            assert_eq!(place.spares(&"prd-add-auth".parse().unwrap()).unwrap(), [], "{case}");
        }
    }
}

#[test]
fn service_removes_leftover_folder_of_done_task() {
    let bench = Bench::new();
    let place = bench.open();
    let (at, ..) = task(&place, "a", |folder| write(&folder.join("a"), "a\n"));
    let (other, _) = place.begin(&name("b")).unwrap();
    place.leave(&at.name.prd, &|task| *task == at.name.task).unwrap();
    assert!(!at.folder.exists() && other.folder.exists());
}
