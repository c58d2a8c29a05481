//! Caches the entries found in files of agent programs, and the definitions that tools were registered from.

use std::path::{Path, PathBuf};

use brigade_catalog::{Catalog, Masks, UnsafeUserFile};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, RelPath};
use brigade_harness::{RegistrationCache, RememberedEntries, RememberedFileError};
use brigade_workspace::why_unsafe;

use crate::RUNTIMES;
use crate::discovery::machine_view::hide_in;

/// The cache of discovered entries.
pub const DISCOVERED: &str = ".brigade/tools/discovered.json";

/// The cache of definitions that tools were registered from. It is in the directory of the runtimes of their level.
pub const REGISTERED: &str = "registered.json";

/// The largest file that is read.
const LIMIT: u64 = 64 << 20;

/// The state of the cache.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    /// The discovered entries.
    Found(Box<RememberedEntries>),
    /// There is no cache.
    Nothing,
    /// The cache cannot be used.
    Unfit(RememberedFileError),
}

/// Reads the cache. `masks` hides bound values, because a value may have been bound after the cache was written.
pub fn read_remembered(fs: &dyn Fs, masks: &Masks) -> Result<Memory, FsError> {
    let bytes = match fs.read(&RelPath::from_static(DISCOVERED), LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(Memory::Nothing),
        Err(FsError { kind: FsErrorKind::TooLarge { .. }, .. }) => {
            return Ok(Memory::Unfit(RememberedFileError::Damaged));
        }
        Err(error) => return Err(error),
    };
    Ok(match RememberedEntries::parse(&bytes) {
        Ok(mut found) => {
            hide_in(masks, &mut found.entries, &mut found.issues);
            Memory::Found(Box::new(found))
        }
        Err(why) => Memory::Unfit(why),
    })
}

/// Drops entries until the cache fits the size limit for reading, and adds an issue about it.
pub fn fit_to_remember(found: &mut RememberedEntries) {
    found.fit(LIMIT as usize);
}

/// Replaces the cache.
///
/// # Errors
/// Fails on a disk error. The earlier cache is then as it was.
pub fn remember(fs: &dyn Fs, found: &RememberedEntries) -> Result<(), FsError> {
    let path = RelPath::from_static(DISCOVERED);
    fs.create_dir_all(&path.parent())?;
    fs.write_atomic(&path, &found.to_text(), FileMode::Private)
}

/// The definitions that tools were registered from.
#[derive(Debug, Default)]
pub struct RegisteredDefinitions {
    /// The definitions.
    pub definitions: RegistrationCache,
    /// The file of the user that is not used, and why.
    pub not_used: Option<(PathBuf, UnsafeUserFile)>,
}

/// Reads the definitions that tools were registered from, of the project and of the user. `config` is the directory of
/// the user's settings.
///
/// An unreadable cache counts as empty. So does a cache of the user that others could have written. Tools are then
/// compared by their own fields.
pub fn registered_from(fs: &dyn Fs, config: Option<&Path>, catalog: &Catalog) -> RegisteredDefinitions {
    let is_registered = |tool: &brigade_catalog::Tool| {
        tool.source.as_ref().is_some_and(|source| source.fingerprint.is_some())
    };
    let mut found = RegisteredDefinitions::default();
    if !catalog.tools().iter().any(is_registered) {
        return found;
    }
    let of_project =
        fs.read(&RelPath::from_static(RUNTIMES).parent().join(REGISTERED).expect("a name is a path"), LIMIT);
    let of_user = config.map(|config| config.join("brigade/tools").join(REGISTERED));
    let why = of_user.as_ref().and_then(|path| why_unsafe(&fs.metadata_outside(path).ok()?));
    found.not_used = of_user.clone().zip(why);
    let of_user = of_user.filter(|_| why.is_none()).map(|path| fs.read_outside(&path, LIMIT));
    for bytes in [Some(of_project), of_user].into_iter().flatten().flatten() {
        found.definitions.add_all(&RegistrationCache::parse(&bytes));
    }
    found
}
