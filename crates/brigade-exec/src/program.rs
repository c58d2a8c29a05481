//! Opens the program of a command, and reads its bytes.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use brigade_core::{Fingerprint, FingerprintStream};
use brigade_fs::{BoundFileLimit, ReadTimer};
use brigade_process::{Program, is_sealed};

/// An open program and the sha256 of its bytes.
#[derive(Clone, Debug)]
pub struct OpenedProgram {
    program: Program,
    fingerprint: Fingerprint,
    stamp: FileStamp,
}

/// Metadata that changes with the bytes of a file, and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Device, inode, length.
    identity: [u64; 3],
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
    /// Whether its bytes cannot be changed, even by root.
    is_sealed: bool,
}

impl FileStamp {
    /// Takes device, inode and length, the times of modification and change in seconds and nanoseconds, and
    /// whether the bytes cannot be changed.
    pub fn new(identity: [u64; 3], modified: (i64, i64), changed: (i64, i64), is_sealed: bool) -> FileStamp {
        FileStamp { identity, modified, changed, is_sealed }
    }

    /// Returns a text that differs whenever the bytes differ.
    pub fn key(&self) -> String {
        let [device, inode, length] = self.identity;
        let ((modified, modified_part), (changed, changed_part)) = (self.modified, self.changed);
        format!("{device}:{inode}:{length}:{modified}.{modified_part:09}:{changed}.{changed_part:09}")
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        self.identity[2]
    }

    /// Returns the change time of the file, in microseconds.
    pub fn changed_micros(&self) -> i64 {
        self.changed.0.saturating_mul(1_000_000).saturating_add(self.changed.1 / 1_000)
    }

    /// Tells whether the bytes cannot be changed, even by root. Times alone cannot tell: bytes that are written
    /// through a mapping leave them as they are.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }
}

/// A cache of sha256 digests of files.
pub trait KnownDigests {
    /// Returns the largest program that is read, in bytes.
    fn limit(&self) -> u64 {
        BoundFileLimit::DEFAULT
    }

    /// Returns the sha256 of a file if it is certainly known.
    fn recall(&self, stamp: &FileStamp) -> Option<Fingerprint>;

    /// Stores the sha256 of a file that was read completely and did not change meanwhile.
    fn learn(&self, stamp: &FileStamp, digest: Fingerprint);
}

/// Caches nothing, so every program is read.
impl KnownDigests for () {
    fn recall(&self, _: &FileStamp) -> Option<Fingerprint> {
        None
    }

    fn learn(&self, _: &FileStamp, _: Fingerprint) {}
}

impl OpenedProgram {
    /// Opens a program and reads it completely.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or read, or is not a regular file.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<OpenedProgram> {
        OpenedProgram::open_known(path, &())
    }

    /// Opens a program, and reads it completely unless its sha256 is known.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or read, or is not a regular file.
    pub fn open_known(path: impl Into<PathBuf>, known: &dyn KnownDigests) -> io::Result<OpenedProgram> {
        let program = Program::open(path)?;
        let stamp = stamp(&program)?;
        if let Some(fingerprint) = known.recall(&stamp) {
            return Ok(OpenedProgram { program, fingerprint, stamp });
        }
        let limit = known.limit();
        let too_large = || {
            let why = format!("it is larger than {limit} bytes; see `max_bound_file` in the policy");
            io::Error::new(io::ErrorKind::FileTooLarge, why)
        };
        if limit < stamp.length() {
            return Err(too_large());
        }
        let mut file = program.file().ok_or(io::ErrorKind::NotFound)?.take(limit.saturating_add(1));
        let mut hasher = FingerprintStream::new();
        let mut buffer = vec![0; 256 * 1024];
        let timer = ReadTimer::new();
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            timer.check()?;
        }
        if file.limit() == 0 {
            return Err(too_large());
        }
        let opened = OpenedProgram { program, fingerprint: hasher.finish(), stamp };
        if opened.is_unchanged() {
            known.learn(&stamp, opened.fingerprint);
        }
        Ok(opened)
    }

    /// Returns the path it was opened with.
    pub fn path(&self) -> &Path {
        self.program.path()
    }

    /// Returns the sha256 of its bytes.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Tells whether it begins with `#!`, so that an interpreter opens it by its path.
    pub(crate) fn is_script(&self) -> bool {
        use std::os::unix::fs::FileExt as _;

        let mut start = [0; 2];
        let file = self.program.file();
        file.is_some_and(|file| file.read_exact_at(&mut start, 0).is_ok()) && start == *b"#!"
    }

    /// Tells whether the open file still has the same bytes.
    pub(crate) fn is_unchanged(&self) -> bool {
        stamp(&self.program).is_ok_and(|now| now == self.stamp)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}

fn stamp(program: &Program) -> io::Result<FileStamp> {
    let file = program.file().ok_or(io::ErrorKind::NotFound)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(FileStamp {
        identity: [metadata.dev(), metadata.ino(), metadata.len()],
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        is_sealed: is_sealed(file),
    })
}
