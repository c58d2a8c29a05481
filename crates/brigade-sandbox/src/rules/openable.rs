//! Opens a directory except for closed paths in it.
//!
//! A Landlock rule covers everything below a directory and cannot exclude a part of it. So every other entry on the
//! path to the closed one gets its own rule.

use std::path::{Path, PathBuf};

/// The part of a directory that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenableEntries {
    /// All of it: it contains no closed path.
    Whole,
    /// These entries, some of them further down. No links.
    Entries(Vec<PathBuf>),
    /// Nothing: the directory itself is closed.
    Nothing,
}

/// Returns the part of a path that can be opened without opening a closed path. No path has links.
pub(super) fn openable(path: &Path, closed: &[PathBuf]) -> OpenableEntries {
    if closed.iter().any(|closed| path.starts_with(closed)) {
        return OpenableEntries::Nothing;
    }
    let mut folders = vec![path.to_owned()];
    let mut entries = Vec::new();
    while let Some(folder) = folders.pop() {
        if !closed.iter().any(|closed| closed.starts_with(&folder)) {
            entries.push(folder);
            continue;
        }
        // A link would be followed, possibly to a closed path.
        let found = folder.read_dir().into_iter().flatten().flatten();
        let found = found.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
        folders.extend(found.map(|entry| entry.path()).filter(|entry| !closed.contains(entry)));
    }
    if entries == [path] { OpenableEntries::Whole } else { OpenableEntries::Entries(entries) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_opened_around_closed_paths() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["bin", "lib/deep", "work/one/in", "work/two"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("readme"), "x").unwrap();
        symlink("work", root.join("link")).unwrap();
        symlink("one", root.join("work/current")).unwrap();
        let check = |path: &str, closed: &[&str], expect: Option<&[&str]>| {
            let closed: Vec<PathBuf> = closed.iter().map(|path| root.join(path)).collect();
            let found = match openable(&root.join(path), &closed) {
                OpenableEntries::Entries(mut entries) => {
                    entries.sort();
                    Some(entries)
                }
                OpenableEntries::Whole => Some(vec![root.join(path)]),
                OpenableEntries::Nothing => None,
            };
            let expect = expect.map(|paths| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>());
            assert_eq!(found, expect, "{path}");
        };
        check("lib", &["work/one"], Some(&["lib"]));
        check("", &["work/one"], Some(&["bin", "lib", "readme", "work/two"]));
        check("work", &["work/one", "work/two"], Some(&[]));
        check("", &["work/one/in", "lib"], Some(&["bin", "readme", "work/two"]));
        check("work/one", &["work/one"], None);
        check("work/one/in", &["work/one"], None);
        check("work", &["work/one", "work/one/in"], Some(&["work/two"]));
        // One name is a prefix of the other.
        check("work/one", &["work/o"], Some(&["work/one"]));
    }
}
