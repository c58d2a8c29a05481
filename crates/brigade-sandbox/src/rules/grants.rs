//! A table of the Landlock rules. An observed run looks up each file that it opens.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A file or directory with the rights on it and below it.
#[derive(Debug)]
pub(super) struct GrantedPath {
    /// Its path without links when the rule was made.
    pub(super) path: PathBuf,
    /// Its device and inode, by which the kernel identifies it wherever it is moved to.
    pub(super) identity: (u64, u64),
    pub(super) rights: u64,
}

/// All grants of a ruleset. A workspace may have thousands of data files, each with its own rule.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// Sorted by their paths.
    by_path: Vec<GrantedPath>,
    /// Sorted.
    by_identity: Vec<((u64, u64), u64)>,
}

impl Grants {
    pub(super) fn new(mut granted: Vec<GrantedPath>) -> Grants {
        granted.sort_unstable_by(|one, other| plain(&one.path).cmp(plain(&other.path)));
        let mut by_identity: Vec<_> =
            granted.iter().map(|granted| (granted.identity, granted.rights)).collect();
        by_identity.sort_unstable();
        Grants { by_path: granted, by_identity }
    }

    /// Returns the rights on an absolute path without links whose file is `identity` (device and inode). Does not
    /// allocate.
    pub(super) fn rights(&self, path: &[u8], identity: Option<(u64, u64)>) -> u64 {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let folders = ends.map(|end| (&path[..end], None));
        // A rule for a file applies to that file, and its path may have another file now.
        folders.chain([(path, identity)]).fold(0, |all, (folder, identity)| all | self.at(folder, identity))
    }

    /// Returns the rights of the grants for exactly this path.
    fn at(&self, path: &[u8], identity: Option<(u64, u64)>) -> u64 {
        let first = self.by_path.partition_point(|granted| plain(&granted.path) < path);
        let granted = self.by_path[first..].iter().take_while(|granted| plain(&granted.path) == path);
        let is_it = |granted: &&GrantedPath| identity.is_none_or(|identity| identity == granted.identity);
        granted.filter(is_it).fold(0, |all, granted| all | granted.rights)
    }

    /// Returns the rights of the grants for exactly this device and inode. Does not allocate.
    pub(super) fn rights_of(&self, identity: (u64, u64)) -> u64 {
        let first = self.by_identity.partition_point(|(known, _)| *known < identity);
        let granted = self.by_identity[first..].iter().take_while(|(known, _)| *known == identity);
        granted.fold(0, |all, (_, rights)| all | rights)
    }
}

/// Returns the bytes of a path; no bytes for the root.
fn plain(path: &Path) -> &[u8] {
    let path = path.as_os_str().as_bytes();
    path.strip_suffix(b"/").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(list: &[(&str, u64, u64)]) -> Grants {
        let granted = |(path, inode, rights): &(&str, u64, u64)| GrantedPath {
            path: path.into(),
            identity: (1, *inode),
            rights: *rights,
        };
        Grants::new(list.iter().map(granted).collect())
    }

    #[test]
    fn paths_have_the_rights_of_all_parents() {
        let grants = grants(&[
            ("/work/data/a", 4, 8),
            ("/work", 2, 1),
            ("/usr/", 3, 2),
            ("/work", 2, 4),
            ("/work-more", 5, 16),
            ("/work/data/a", 4, 32),
        ]);
        let check = |path: &str, identity: Option<u64>, expect: u64| {
            let rights = grants.rights(path.as_bytes(), identity.map(|inode| (1, inode)));
            assert_eq!(rights, expect, "{path}");
        };
        check("/work", None, 5);
        check("/work/data/a", Some(4), 45);
        check("/work/data/a", Some(7), 5);
        check("/work/data/a/below", Some(7), 45);
        check("/work/data/ab", None, 5);
        check("/work-more/x", None, 16);
        check("/work-", None, 0);
        check("/usr", Some(3), 2);
        check("/usr", Some(4), 0);
        check("/usr/lib/x", None, 2);
        check("/", None, 0);
        assert_eq!(
            (grants.rights_of((1, 4)), grants.rights_of((1, 2)), grants.rights_of((2, 4))),
            (40, 5, 0)
        );
    }

    #[test]
    fn a_rule_for_the_root_is_one_for_everything() {
        let grants = grants(&[("/", 1, 1), ("/a", 2, 2)]);
        assert_eq!((grants.rights(b"/a/b", None), grants.rights(b"/", None)), (3, 1));
    }

    /// Issue 12: each open file of an observed run was compared with every rule. That would take minutes here.
    #[test]
    fn each_of_many_rules_is_found() {
        let names: Vec<String> = (0..20_000).map(|number| format!("/work/data/{number}.txt")).collect();
        let list: Vec<(&str, u64, u64)> =
            names.iter().zip(10..).map(|(name, inode)| (name.as_str(), inode, 1)).collect();
        let grants = grants(&list);
        for (name, inode, rights) in &list {
            assert_eq!(grants.rights(name.as_bytes(), Some((1, *inode))), *rights);
            assert_eq!(grants.rights_of((1, *inode)), *rights);
        }
    }
}
