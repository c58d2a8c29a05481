//! What a file looked like, to see later whether it may have changed.

use std::path::Path;
use std::time::{Duration, SystemTime};

/// What a file looked like: when it was modified, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    modified: SystemTime,
    len: u64,
}

impl Seen {
    /// Looks at a file or directory, following links. `None` if there is nothing, or it cannot be looked at.
    pub fn at(path: &Path) -> Option<Seen> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Seen { modified: metadata.modified().ok()?, len: metadata.len() })
    }

    /// Returns whether the file was left alone this long, so that another change would show.
    pub fn is_settled(&self, age: Duration) -> bool {
        SystemTime::now().duration_since(self.modified).is_ok_and(|since| age <= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_file_looks_different() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(Seen::at(&path), None);
        std::fs::write(&path, "a").unwrap();
        let before = Seen::at(&path).unwrap();
        assert!(!before.is_settled(Duration::from_secs(60)));
        std::fs::write(&path, "ab").unwrap();
        assert_ne!(Seen::at(&path), Some(before));
    }
}
