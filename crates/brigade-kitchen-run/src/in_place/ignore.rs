//! The rules of `.gitignore` files, which decide which files do not count.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use brigade_git::{Gitignore, gitignore};

/// The rules of all `.gitignore` files from the root to a directory. Later rules win.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(Vec<Arc<File>>);

/// The rules of one file.
#[derive(Debug)]
struct File {
    /// The directory of the file. It is empty or ends with `/`.
    folder: Vec<u8>,
    rules: Gitignore,
}

impl Rules {
    /// Adds the rules of a file in a directory, which is empty or ends with `/`.
    pub(crate) fn add(&mut self, folder: &[u8], text: &[u8]) {
        let rules = gitignore(Path::new(""), text);
        if !rules.is_empty() {
            self.0.push(Arc::new(File { folder: folder.to_owned(), rules }));
        }
    }

    /// Returns these rules and those of a folder.
    pub(crate) fn with(&self, folder: &[u8], text: &[u8]) -> Rules {
        let mut rules = self.clone();
        rules.add(folder, text);
        rules
    }
    /// Returns whether a path is ignored. Its parent directories must not be ignored.
    pub(crate) fn ignore(&self, path: &[u8], is_directory: bool) -> bool {
        let mut found = self.0.iter().rev().filter_map(|file| {
            let inside = path.strip_prefix(&*file.folder)?;
            let found = file.rules.matched(Path::new(OsStr::from_bytes(inside)), is_directory);
            (!found.is_none()).then(|| found.is_ignore())
        });
        found.next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rules: &str, path: &str, expect: bool) {
        let mut all = Rules::default();
        all.add(b"", rules.as_bytes());
        let is_directory = path.ends_with('/');
        assert_eq!(
            all.ignore(path.trim_end_matches('/').as_bytes(), is_directory),
            expect,
            "{rules:?} {path}"
        );
    }

    #[test]
    fn names_match_at_any_depth_and_paths_only_in_place() {
        check("*.log", "a/b/x.log", true);
        check("/x.log", "a/x.log", false);
        check("a/x", "b/a/x", false);
        check("**/a/x", "b/c/a/x", true);
        check("a/**", "a/b/c", true);
        check("a/**/b", "a/b", true);
        check("a/**/b", "a/x/y/b", true);
        check("a*c", "abbc", true);
        check("a*", "a/b", false);
    }

    #[test]
    fn later_rules_win_and_some_are_only_for_directories() {
        check("*.log\n!keep.log", "keep.log", false);
        check("build/", "build", false);
        check("build/", "build/", true);
        check("# no\n\\#yes", "#yes", true);
        check("a\\ ", "a ", true);
        check("a ", "a", true);
    }

    #[test]
    fn classes_match_one_byte() {
        check("[a-c]x", "bx", true);
        check("[!a-c]x", "bx", false);
        check("[]]x", "]x", true);
        check("[x", "[x", true);
    }

    #[test]
    fn a_rule_holds_below_its_file() {
        let mut all = Rules::default();
        all.add(b"sub/", b"/x\n*.tmp\n");
        assert!(all.ignore(b"sub/x", false) && all.ignore(b"sub/d/a.tmp", false));
        assert!(!all.ignore(b"x", false) && !all.ignore(b"a.tmp", false));
    }

    #[test]
    fn many_stars_cost_little() {
        check(&"a*".repeat(20), &"a".repeat(40), true);
        check(&format!("{}b", "*a".repeat(60)), &"a".repeat(255), false);
        check(&format!("{}b", "**/".repeat(60)), &"a/".repeat(60), false);
        check("a**b", "axxb", true);
        check("a**b", "ax/xb", false);
        check("*/x", "caf\u{e9}/x", true);
    }
}
