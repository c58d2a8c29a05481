//! Sample workspaces.

use std::path::Path;

use brigade_fs::{DiskFs, FileMode, Fs, FsErrorKind, RelPath};
use brigade_ops::{Error, ErrorKind};

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The path, relative to the workspace.
    pub path: &'static str,
    /// The content.
    pub text: String,
}

impl NewFile {
    /// Creates a file from path and text.
    pub fn new(path: &'static str, text: impl Into<String>) -> NewFile {
        NewFile { path, text: text.into() }
    }
}

/// Writes files, replacing existing ones.
pub(crate) fn write_files(fs: &dyn Fs, files: &[NewFile]) -> Result<(), Error> {
    for file in files {
        let path = RelPath::composed(file.path);
        fs.create_dir_all(&path.parent())?;
        fs.write_atomic(&path, file.text.as_bytes(), FileMode::KeepOr(0o644))?;
    }
    Ok(())
}

/// Creates a directory and its missing parents.
///
/// A path through a file cannot name a directory. What else fails is a failure of the disk or the environment.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Error> {
    DiskFs::make(folder).map(drop).map_err(|error| match error.kind {
        FsErrorKind::NotADirectory => Error::new(ErrorKind::Usage, error.to_string()),
        _ => Error::from(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Env;
    use crate::workspace::Workspace;

    fn make(folder: &Path) -> Result<Workspace, Error> {
        Workspace::with_files(folder, &[NewFile::new("a/b.txt", "text")], Env::of_process())
    }

    #[test]
    fn only_an_empty_folder_becomes_a_sample() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = make(&folder.path().join("new/sample")).unwrap();
        assert_eq!(workspace.inner.fs.read(&RelPath::from_static("a/b.txt"), 100).unwrap(), b"text");
        let again = make(&folder.path().join("new/sample"));
        assert_eq!(again.err().map(|error| error.kind()), Some(ErrorKind::Usage));
        let beneath_a_file = make(&folder.path().join("new/sample/a/b.txt/c"));
        assert_eq!(beneath_a_file.err().map(|error| error.kind()), Some(ErrorKind::Usage));
    }

    #[test]
    fn an_unwritable_place_is_an_environment_failure() {
        let kind = make_folder(Path::new("/proc/sample")).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Environment));
    }
}
