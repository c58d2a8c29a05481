#![allow(clippy::disallowed_methods, reason = "links are made on a real disk")]

use super::*;
use crate::testing::Bench;

/// Makes a workspace with links, and calls a function with its places.
fn with_places<T>(get: impl FnOnce(&Places<'_>) -> T) -> T {
    let files = [("docs/a.md", "a"), (".git/config", ""), (".brigade/tools.toml", "")];
    let bench = Bench::on_disk(&files);
    for (link, to) in [
        ("to-docs", "docs"),
        ("to-a", "docs/a.md"),
        ("to-git", ".git"),
        ("to-state", ".brigade"),
        ("to-new", "docs/new.md"),
        ("out", "/etc"),
    ] {
        std::os::unix::fs::symlink(to, bench.path(link)).unwrap();
    }
    get(&Places::new(&*bench.context.fs, bench.host().root()))
}

#[test]
fn links_lead_anywhere_but_out_and_into_git_and_state() {
    let refused = |refusal| (TargetFacts::Refused(refusal), None);
    let moved = |facts: TargetFacts, path: &str| (facts, Some(path.to_owned()));
    let a = || TargetFacts::File(b"a".to_vec());
    for (path, expect) in [
        ("docs/a.md", (a(), None)),
        ("docs/b.md", (TargetFacts::Absent, None)),
        ("new/deep/b.md", (TargetFacts::Absent, None)),
        ("docs", (TargetFacts::Directory, None)),
        ("to-a", moved(a(), "docs/a.md")),
        ("to-docs/a.md", moved(a(), "docs/a.md")),
        ("to-docs/b.md", moved(TargetFacts::Absent, "docs/b.md")),
        ("docs/a.md/b", refused(PathRefusal::ParentIsFile)),
        ("to-a/b", refused(PathRefusal::ParentIsFile)),
        ("to-git/hooks/x", refused(PathRefusal::InGit)),
        ("to-state/x", refused(PathRefusal::InBrigade)),
        ("out/x", refused(PathRefusal::SymlinkOut)),
        ("out", refused(PathRefusal::SymlinkOut)),
        ("../x", refused(PathRefusal::OutsideWorkspace)),
    ] {
        let found = with_places(|places| {
            let facts = places.look(path);
            (facts, places.moved(path).map(|path| path.as_str().to_owned()))
        });
        assert_eq!(found, expect, "{path}");
    }
}

#[test]
fn only_a_directory_without_links_on_the_way_is_plain() {
    for (path, expect) in
        [("docs", true), ("to-docs", false), ("docs/a.md", false), ("gone", false), ("out", false)]
    {
        assert_eq!(with_places(|places| places.is_plain_folder(&path.parse().unwrap())), expect, "{path}");
    }
}

#[test]
fn a_listed_directory_is_not_inspected_again() {
    let bench = Bench::new(&[("docs/a.md", "")]);
    let places = Places::new(&*bench.context.fs, bench.host().root());
    let listed = DirEntry { name: "b.md".to_owned(), kind: FileKind::File };
    places.remember("docs".parse().unwrap(), [listed]);
    let spot = |path: &str| places.spot(&path.parse().unwrap());
    let there = |path: &str| ResolvedPath::There(path.parse().unwrap(), FileKind::File);
    assert_eq!(spot("docs/b.md"), there("docs/b.md"));
    // What is not listed may still exist, in other letters.
    assert_eq!(spot("docs/a.md"), there("docs/a.md"));
    assert_eq!(spot("docs/c.md"), ResolvedPath::Absent("docs/c.md".parse().unwrap()));
    assert_eq!(spot("."), ResolvedPath::There(RelPath::root(), FileKind::Directory));
}
