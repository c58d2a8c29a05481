//! Caches of what was found in the files of agent programs, and of what tools were registered from.

use std::path::{Path, PathBuf};

use brigade_catalog::{Catalog, Masks, UnsafeUserFile};
use brigade_fs::{FileMode, Fs, FsError, FsErrorKind, RelPath};
use brigade_harness::{RegistrationCache, RememberedEntries, RememberedFileError};
use brigade_workspace::why_unsafe;

use crate::RUNTIMES;
use crate::discovery::machine_view::hide_in;

/// The file.
pub const DISCOVERED: &str = ".brigade/tools/discovered.json";

/// The file of definitions that tools of a level were registered from, below the directory of its runtimes.
pub const REGISTERED: &str = "registered.json";

/// The largest file that is read.
const LIMIT: u64 = 64 << 20;

/// What the cache holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Memory {
    /// What was found.
    Found(Box<RememberedEntries>),
    /// There is no cache.
    Nothing,
    /// The cache cannot be used.
    Unfit(RememberedFileError),
}

/// Reads the cache. `masks` hides bound values: a value may have been bound since, or not have been set then.
///
/// # Errors
/// Fails on a disk error.
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

/// Leaves out what would make the cache larger than one that is read, and says so in an issue.
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
/// A cache that cannot be read holds nothing: then a tool's own text is its definition. So does one of the user
/// that others could have written.
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
