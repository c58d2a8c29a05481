//! Which program a command names, and its bytes.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use brigade_core::{Fingerprint, FingerprintStream};
use brigade_process::Program;

/// A program that is open, and the sha256 of what was read from it.
#[derive(Clone, Debug)]
pub struct OpenedProgram {
    program: Program,
    fingerprint: Fingerprint,
    stamp: Stamp,
}

/// What changes when a file's bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

impl OpenedProgram {
    /// Opens a program and reads it whole.
    ///
    /// # Errors
    /// When it cannot be opened or read, or is no regular file.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<OpenedProgram> {
        let program = Program::open(path)?;
        let stamp = stamp(&program)?;
        let mut file = program.file().ok_or(io::ErrorKind::NotFound)?;
        let mut hasher = FingerprintStream::new();
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
        }
        let fingerprint = hasher.finish();
        Ok(OpenedProgram { program, fingerprint, stamp })
    }

    /// Returns the path that it was opened by.
    pub fn path(&self) -> &Path {
        self.program.path()
    }

    /// Returns the sha256 of its bytes.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Tells whether the open file still has the bytes that were read.
    pub(crate) fn is_unchanged(&self) -> bool {
        stamp(&self.program).is_ok_and(|now| now == self.stamp)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

fn stamp(program: &Program) -> io::Result<Stamp> {
    let metadata = program.file().ok_or(io::ErrorKind::NotFound)?.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(Stamp {
        length: metadata.len(),
        modified: metadata.modified().ok(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Finds the program that the first word of a command names: a path, relative to the folder that the command starts in, or
/// a name on `PATH`.
///
/// `is_program` tells of a path whether it is a file that can be executed.
pub fn resolve_program(
    word: &str,
    directory: &Path,
    path_variable: Option<&OsStr>,
    is_program: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    if word.contains('/') {
        let path = directory.join(word);
        return is_program(&path).then_some(path);
    }
    let folders = path_variable.map(std::env::split_paths).into_iter().flatten();
    folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(word))
        .find(|path| is_program(path))
}
