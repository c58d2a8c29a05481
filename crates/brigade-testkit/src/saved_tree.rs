//! A directory in memory, which tests write as often as they need it.

use std::fs;
use std::path::{Path, PathBuf};

/// The directories and regular files of a directory, parents first. It has no modes and no links.
#[derive(Debug)]
pub struct SavedTree(Vec<(PathBuf, Option<Vec<u8>>)>);

impl SavedTree {
    /// Fills a temporary directory, and keeps what is in it.
    pub fn new(fill: impl FnOnce(&Path)) -> SavedTree {
        let folder =
            tempfile::tempdir().unwrap_or_else(|e| panic!("cannot create a temporary directory: {e}"));
        fill(folder.path());
        let mut tree = SavedTree(Vec::new());
        tree.add(folder.path(), Path::new(""));
        tree
    }

    fn add(&mut self, root: &Path, below: &Path) {
        let folder = root.join(below);
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries.flatten() {
            let (path, relative) = (entry.path(), below.join(entry.file_name()));
            if path.is_dir() {
                self.0.push((relative.clone(), None));
                self.add(root, &relative);
            } else {
                let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                self.0.push((relative, Some(bytes)));
            }
        }
    }

    /// Writes everything into a directory that exists.
    pub fn write(&self, root: &Path) {
        for (relative, bytes) in &self.0 {
            let path = root.join(relative);
            let written = match bytes {
                Some(bytes) => fs::write(&path, bytes),
                None => fs::create_dir(&path),
            };
            written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}
