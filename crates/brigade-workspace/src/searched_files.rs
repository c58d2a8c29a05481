//! The file system as the search for a command's files sees it.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use brigade_cmdline::{Files, Kind, PathTarget};
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, Metadata};

/// The files of a workspace and of its host.
#[derive(Clone, Copy)]
pub(crate) struct SeenFiles<'a> {
    pub(crate) fs: &'a dyn Fs,
    pub(crate) path_variable: Option<&'a OsStr>,
}

/// The same files, noting what was looked up.
pub(crate) struct NotedFiles<'a> {
    pub(crate) files: SeenFiles<'a>,
    pub(crate) looked_for: RefCell<Vec<PathBuf>>,
}

impl Files for NotedFiles<'_> {
    fn root(&self) -> &Path {
        self.files.root()
    }

    fn path_variable(&self) -> Option<&OsStr> {
        self.files.path_variable()
    }

    fn look(&self, path: &Path) -> PathTarget {
        self.looked_for.borrow_mut().push(path.to_owned());
        self.files.look(path)
    }

    fn is_program(&self, path: &Path) -> bool {
        self.files.is_program(path)
    }

    fn head(&self, path: &Path, length: usize) -> Vec<u8> {
        self.files.head(path, length)
    }
}

impl Files for SeenFiles<'_> {
    fn root(&self) -> &Path {
        self.fs.root()
    }

    fn path_variable(&self) -> Option<&OsStr> {
        self.path_variable
    }

    fn look(&self, path: &Path) -> PathTarget {
        let Some(path) = path.to_str() else { return PathTarget::Nowhere };
        let seen = match self.fs.resolve(path, None) {
            Ok(Location::Inside(real)) => found(self.fs.metadata(&real)).map(PathTarget::Inside),
            Ok(Location::Outside(real)) => found(self.fs.metadata_outside(&real)).map(PathTarget::Outside),
            Err(error) => found(Err(error)).map(PathTarget::Outside),
        };
        seen.unwrap_or(PathTarget::Nowhere)
    }

    fn is_program(&self, path: &Path) -> bool {
        is_program(self.fs, path)
    }

    fn head(&self, path: &Path, length: usize) -> Vec<u8> {
        self.fs.open_outside(path).and_then(|file| file.read_range(0, length)).unwrap_or_default()
    }
}

/// Returns whether a path leads to a regular file that may be executed.
pub fn is_program(fs: &dyn Fs, path: &Path) -> bool {
    let metadata = fs.metadata_outside(path);
    metadata.is_ok_and(|metadata| metadata.kind == FileKind::File && metadata.mode & 0o111 != 0)
}

/// Returns whether a file of the workspace is a binary program or library, by its first bytes.
pub(crate) fn is_binary_code(fs: &dyn Fs, path: &str) -> bool {
    let head = SeenFiles { fs, path_variable: None }.head(&fs.root().join(path), 4);
    matches!(head.as_slice(), [b'M', b'Z', ..] | b"\x7fELF")
}

/// Returns whether a file of the workspace is a program or a script, by its mode or its first bytes.
pub fn is_code_file(fs: &dyn Fs, path: &str) -> bool {
    let path = fs.root().join(path);
    let begins = || SeenFiles { fs, path_variable: None }.head(&path, 4);
    is_program(fs, &path) || matches!(begins().as_slice(), [b'#', b'!', ..] | [b'M', b'Z', ..] | b"\x7fELF")
}

/// Returns the kind of an entry. `None` if it is unknown, `Some(None)` if nothing exists.
fn found(metadata: Result<Metadata, FsError>) -> Option<Option<Kind>> {
    match metadata {
        Ok(metadata) => Some(Some(kind(metadata.kind))),
        Err(error) if matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory) => Some(None),
        Err(_) => None,
    }
}

fn kind(kind: FileKind) -> Kind {
    match kind {
        FileKind::File => Kind::File,
        FileKind::Directory => Kind::Folder,
        FileKind::Link | FileKind::Other => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use brigade_cmdline::find_program;
    use brigade_fs::{DiskFs, FileMode, RelPath};

    use super::*;

    #[test]
    fn programs_are_regular_files_that_may_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let root = fs.root().to_owned();
        let rel = |path: &str| path.parse::<RelPath>().unwrap();
        for path in ["first", "second", "first/directory", "~"] {
            fs.create_dir(&rel(path)).unwrap();
        }
        for (path, mode) in [
            ("first/data", 0o644),
            ("second/data", 0o755),
            ("second/directory", 0o755),
            ("second/one", 0o755),
            ("~/one", 0o755),
            ("here", 0o755),
        ] {
            fs.write_atomic(&rel(path), b"#!/bin/sh\n", FileMode::Exactly(mode)).unwrap();
        }
        let path = format!("~:~/bin::{root}/first:{root}/second", root = root.display());
        let find = |word: &str| {
            let path_variable = Some(OsStr::new(&path));
            let found = find_program(word, &root, path_variable, |path| is_program(&fs, path))?;
            found.strip_prefix(&root).map(Path::to_owned).ok()
        };
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(find("one"), at("second/one"));
        assert_eq!(find("data"), at("second/data"), "a file that may not be executed is passed over");
        assert_eq!(find("directory"), at("second/directory"), "so is a directory");
        assert_eq!(find("here"), None, "an empty entry of PATH finds nothing");
        assert_eq!((find("./here"), find("second/one")), (at("here"), at("second/one")));
        assert_eq!((find("first/data"), find("first/directory"), find("first")), (None, None, None));
        assert_eq!(find("~/one"), at("~/one"), "`~` is a name like any other");
    }

    #[test]
    fn a_code_file_is_a_program_or_begins_like_one() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let files: [(&str, &[u8], u32); 5] = [
            ("script", b"#!/bin/sh", 0o644),
            ("run", b"text", 0o755),
            ("lib", b"\x7fELF", 0o644),
            ("note", b"# text", 0o644),
            ("e", b"", 0o644),
        ];
        for (path, bytes, mode) in files {
            fs.write_atomic(&path.parse().unwrap(), bytes, FileMode::Exactly(mode)).unwrap();
        }
        for (path, code, binary) in [
            ("script", true, false),
            ("run", true, false),
            ("lib", true, true),
            ("note", false, false),
            ("e", false, false),
            ("gone", false, false),
        ] {
            assert_eq!((is_code_file(&fs, path), is_binary_code(&fs, path)), (code, binary), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_inspected_is_not_taken_for_missing() {
        let missing = |kind| found(Err(FsError::new("read", "x", kind)));
        assert_eq!(missing(FsErrorKind::NotFound), Some(None));
        assert_eq!(missing(FsErrorKind::NotADirectory), Some(None));
        assert_eq!(missing(FsErrorKind::Permission), None);
    }
}
