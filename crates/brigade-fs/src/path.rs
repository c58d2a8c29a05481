//! Relative paths that cannot leave the root lexically.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

/// A path relative to the root: names separated by `/`, none of them empty, `.` or `..`. The empty path is the root.
///
/// A link that leads outside is detected only when the path is opened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// A text that is not a path below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a relative path without `..`")]
pub struct InvalidPath;

impl RelPath {
    /// Returns the root.
    pub fn root() -> RelPath {
        RelPath(String::new())
    }

    /// Returns a path that is written in the program.
    ///
    /// # Panics
    /// Panics if the text is not a path below the root. Parse texts from other sources instead.
    pub fn from_static(path: &'static str) -> RelPath {
        path.parse().expect("paths in the program stay beneath the root")
    }

    /// Returns a path that the program composed of checked names.
    ///
    /// # Panics
    /// Panics if the text is not a path below the root. Parse texts from files and users instead.
    pub fn composed(path: &str) -> RelPath {
        path.parse().expect("paths of checked names stay beneath the root")
    }

    /// Returns the path, with `/` between names.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path for system calls, `.` for the root.
    pub fn as_path(&self) -> &Path {
        Path::new(if self.0.is_empty() { "." } else { &self.0 })
    }

    /// Returns the parent directory. The root is its own parent.
    pub fn parent(&self) -> RelPath {
        RelPath(self.0.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned()))
    }

    /// Returns the last name, which is empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Appends a path.
    ///
    /// # Errors
    /// Fails if `rest` is not a path beneath the root.
    pub fn join(&self, rest: &str) -> Result<RelPath, InvalidPath> {
        let rest: RelPath = rest.parse()?;
        Ok(match (self.is_root(), rest.is_root()) {
            (true, _) => rest,
            (_, true) => self.clone(),
            (false, false) => RelPath([self.0.as_str(), "/", &rest.0].concat()),
        })
    }

    /// Returns whether this is `folder` or a path beneath it.
    pub fn is_in(&self, folder: &RelPath) -> bool {
        folder.is_root()
            || self.0.strip_prefix(&folder.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FromStr for RelPath {
    type Err = InvalidPath;

    /// Reads a relative path. `.` components and repeated or trailing slashes are removed.
    fn from_str(text: &str) -> Result<RelPath, InvalidPath> {
        if text.starts_with('/') || text.contains('\0') {
            return Err(InvalidPath);
        }
        let mut path = String::with_capacity(text.len());
        for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." {
                return Err(InvalidPath);
            }
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
        }
        Ok(RelPath(path))
    }
}

impl TryFrom<&Path> for RelPath {
    type Error = InvalidPath;

    fn try_from(path: &Path) -> Result<RelPath, InvalidPath> {
        path.to_str().ok_or(InvalidPath)?.parse()
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(text.parse::<RelPath>().unwrap().as_str(), expect);
    }

    #[test]
    fn paths_are_normalised() {
        check("", "");
        check(".", "");
        check("./a//b/./c/", "a/b/c");
        check("...", "...");
    }

    #[test]
    fn parent_components_and_absolute_paths_are_refused() {
        for text in ["..", "a/..", "a/../b", "/etc/passwd", "a\0b"] {
            assert_eq!(text.parse::<RelPath>(), Err(InvalidPath), "{text:?}");
        }
    }

    #[test]
    fn a_directory_contains_the_paths_beneath_it() {
        let path: RelPath = ".brigade/tools/x".parse().unwrap();
        assert!(path.is_in(&".brigade".parse().unwrap()));
        assert!(path.is_in(&RelPath::root()));
        assert!(!path.is_in(&".brig".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn joined_parts_give_the_whole_path(text in "[a-c./]{0,12}") {
            if let Ok(path) = text.parse::<RelPath>() {
                prop_assert_eq!(path.parent().join(path.name()).unwrap(), path.clone());
                prop_assert_eq!(path.as_str().parse::<RelPath>().unwrap(), path);
            }
        }
    }
}
