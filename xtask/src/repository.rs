//! Access to the repository's files, by path relative to its root.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories that are never read: build output and git's own.
const SKIPPED: &[&str] = &["target", ".git", "node_modules", "__pycache__"];

/// Why a task failed, or the problem that it found.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }

    /// Adds the path to an I/O error.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Failure + '_ {
        move |error| Failure(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes a file, creating its parent directories.
pub fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Failure::at(parent))?;
    }
    fs::write(path, bytes).map_err(Failure::at(path))
}

/// The root of the checkout that this program was built from.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    pub fn of_this_build() -> Repository {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ is in the root");
        Repository { root: root.to_owned() }
    }

    /// Returns another directory as if it were a repository.
    pub fn at(root: PathBuf) -> Repository {
        Repository { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads every file below a directory (`""` for all), by path relative to the root of the repository.
    ///
    /// A missing directory has no files.
    pub fn files(&self, below: &str) -> Result<Tree, Failure> {
        let mut tree = Tree::default();
        let folder = self.root.join(below);
        if folder.is_dir() {
            self.collect(&folder, &mut tree)?;
        }
        Ok(tree)
    }

    fn collect(&self, folder: &Path, tree: &mut Tree) -> Result<(), Failure> {
        for entry in fs::read_dir(folder).map_err(Failure::at(folder))? {
            let entry = entry.map_err(Failure::at(folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(Failure::at(folder))?);
            if kind.is_dir() {
                if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                    self.collect(&path, tree)?;
                }
            } else if kind.is_file() {
                let relative = path.strip_prefix(&self.root).expect("listed below the root");
                let name = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
                tree.0.insert(name, fs::read(&path).map_err(Failure::at(&path))?);
            }
        }
        Ok(())
    }

    /// Writes a file, creating its parent directories.
    pub fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_file(&self.root.join(relative), bytes)
    }

    /// Removes a file.
    pub fn remove(&self, relative: &str) -> Result<(), Failure> {
        let path = self.root.join(relative);
        fs::remove_file(&path).map_err(Failure::at(&path))
    }
}

/// Files by path, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, Vec<u8>>);

impl Tree {
    /// Returns the UTF-8 files with the given file name ending.
    pub fn texts<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter(move |(path, _)| path.ends_with(ending)).filter_map(|(path, bytes)| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some((path.as_str(), text))
        })
    }

    /// Returns the text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Returns whether a file or directory has this path.
    pub fn holds(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty()
            || self.0.contains_key(path)
            || self
                .0
                .range(format!("{path}/")..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&format!("{path}/")))
    }
}

#[cfg(test)]
impl Tree {
    pub fn from_texts(files: &[(&str, &str)]) -> Tree {
        Tree(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_contains_files_and_their_directories() {
        let tree = Tree::from_texts(&[("a/b/c.md", ""), ("a-b", "")]);
        for path in ["", "a", "a/", "a/b", "a/b/c.md", "a-b"] {
            assert!(tree.holds(path), "{path}");
        }
        for path in ["b", "a/b/c", "a/c", "a-"] {
            assert!(!tree.holds(path), "{path}");
        }
    }

    #[test]
    fn this_repository_is_found() {
        let tree = Repository::of_this_build().files("xtask").unwrap();
        assert!(tree.holds("xtask/src/repository.rs"));
    }
}
