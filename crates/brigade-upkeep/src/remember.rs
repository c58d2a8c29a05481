//! The cache of what was found in the files of agent programs.

use brigade_discovery::{NotRemembered, Remembered};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind};

use crate::rel;

/// The file.
pub const DISCOVERED: &str = ".brigade/tools/discovered.json";

/// The largest file that is read.
const LIMIT: u64 = 64 << 20;

/// What the cache holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    /// What was found.
    Found(Box<Remembered>),
    /// There is no cache.
    Nothing,
    /// The cache cannot be used.
    Unfit(NotRemembered),
}

/// Reads the cache.
///
/// # Errors
/// Fails on a disk error.
pub fn remembered(fs: &dyn Fs) -> Result<Memory, FsError> {
    let bytes = match fs.read(&rel(DISCOVERED), LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(Memory::Nothing),
        Err(FsError { kind: FsErrorKind::TooLarge { .. }, .. }) => {
            return Ok(Memory::Unfit(NotRemembered::Damaged));
        }
        Err(error) => return Err(error),
    };
    Ok(match Remembered::parse(&bytes) {
        Ok(found) => Memory::Found(Box::new(found)),
        Err(why) => Memory::Unfit(why),
    })
}

/// Replaces the cache.
///
/// # Errors
/// Fails on a disk error. The earlier cache is then as it was.
pub fn remember(fs: &dyn Fs, found: &Remembered) -> Result<(), FsError> {
    let path = rel(DISCOVERED);
    fs.create_dir_all(&path.parent())?;
    fs.write_atomic(&path, &found.to_text(), FileMode::Private)
}
