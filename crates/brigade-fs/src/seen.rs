//! Records the state of a file, to detect later whether it changed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The state of a file: modification time and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    modified: SystemTime,
    len: u64,
}

impl FileVersion {
    /// Reads the state of a file or directory, following links. `None` if it does not exist or cannot be read.
    pub fn at(path: &Path) -> Option<FileVersion> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileVersion { modified: metadata.modified().ok()?, len: metadata.len() })
    }

    /// Returns whether the file had no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the file is unchanged for this long, so that a further change would show.
    pub fn is_settled(&self, age: Duration) -> bool {
        SystemTime::now().duration_since(self.modified).is_ok_and(|since| age <= since)
    }
}

/// The identity and state of a file: device, inode, length and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Device, inode, length.
    identity: [u64; 3],
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    /// Reads the mark of a file or directory, following links. `None` if it does not exist or cannot be read.
    pub fn at(path: &Path) -> Option<Mark> {
        Some(Mark::from_metadata(&std::fs::metadata(path).ok()?))
    }

    /// Like [`Mark::at`], but for a directory only its identity, so that changes of its entries do not matter.
    pub fn of_entry(path: &Path) -> Option<Mark> {
        Some(Mark::entry_of(&std::fs::metadata(path).ok()?))
    }

    /// Returns the marks of [`Mark::of_entry`] and [`Mark::at`] from a single read.
    pub(crate) fn both(path: &Path) -> [Option<Mark>; 2] {
        match std::fs::metadata(path) {
            Ok(metadata) => [Some(Mark::entry_of(&metadata)), Some(Mark::from_metadata(&metadata))],
            Err(_) => [None; 2],
        }
    }

    fn entry_of(metadata: &std::fs::Metadata) -> Mark {
        let mark = Mark::from_metadata(metadata);
        let [device, inode, _] = mark.identity;
        match metadata.is_dir() {
            true => Mark { identity: [device, inode, 0], modified: (0, 0), changed: (0, 0) },
            false => mark,
        }
    }

    fn from_metadata(metadata: &std::fs::Metadata) -> Mark {
        Mark {
            identity: [metadata.dev(), metadata.ino(), metadata.len()],
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns the change time, in microseconds since 1970.
    pub fn changed_micros(&self) -> i64 {
        self.changed.0.saturating_mul(1_000_000).saturating_add(self.changed.1 / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_file_looks_different() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(FileVersion::at(&path), None);
        std::fs::write(&path, "a").unwrap();
        let before = FileVersion::at(&path).unwrap();
        assert!(!before.is_settled(Duration::from_secs(60)));
        std::fs::write(&path, "ab").unwrap();
        assert_ne!(FileVersion::at(&path), Some(before));
    }

    #[test]
    fn a_file_that_was_replaced_has_another_mark() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        assert_eq!(Mark::at(&path), None);
        std::fs::write(&path, "a").unwrap();
        std::fs::write(&other, "b").unwrap();
        let before = Mark::at(&path);
        assert_eq!(Mark::at(&path), before);
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(Mark::at(&path), before);
    }
}
