//! Reads the files of the user, which all workspaces share, and tools registries in place.

use std::path::{Path, PathBuf};

use brigade_catalog::{Catalog, Level, MAX_REGISTRY_BYTES, RegistrySettings, Runtimes, UnsafeUserFile};
use brigade_core::{ConfigIssue, Place, Severity};
use brigade_fs::{FileKind, FsError, FsErrorKind, Metadata, Owner, RelPath};

use crate::config::{CONFIG_LIMIT, read_config};
use crate::host::Host;

/// The configuration file of runtimes.
pub const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

/// The tools registries of the workspace that are read in place, the nearest first.
pub const REGISTRIES: [&str; 2] = [".brigade/tools-registry.yaml", ".cub/tools-registry.yaml"];

/// The tools registry in the home directory of the user.
const USER_REGISTRY: &str = ".cub/tools-registry.yaml";

/// Returns the directory of the user's files: `brigade` in `XDG_CONFIG_HOME`, or in `~/.config`.
pub fn user_directory(host: &Host<'_>) -> Option<PathBuf> {
    Some(host.environment.config_folder()?.join("brigade"))
}

/// Reads the tools of the user. `None` without the file, which is usual and cheap.
pub fn read_user_catalog(host: &Host<'_>) -> Option<Catalog> {
    let path = user_directory(host)?.join("tools.toml");
    let file = path.display().to_string();
    match read(host, &path, CONFIG_LIMIT) {
        Ok(bytes) => Some(Catalog::parse(&file, Level::User, &bytes?)),
        Err(message) => Some(unread(&file, message)),
    }
}

/// Adds all farther levels to the catalog of a workspace: the tools registries of the workspace, the tools of the user,
/// and the registry of the user. Without a catalog, `missing` is the catalog if the workspace has no registry either.
pub fn with_levels(host: &Host<'_>, project: Result<Catalog, Catalog>) -> Catalog {
    let own: Vec<Catalog> = REGISTRIES.iter().filter_map(|file| read_registry(host, file)).collect();
    let of_user = read_user_registry(host);
    let is_used = |catalog: &Catalog| !catalog.tools().is_empty();
    let project =
        project.unwrap_or_else(|missing| if own.iter().any(is_used) { Catalog::default() } else { missing });
    let settings = own.iter().chain(&of_user).map(|catalog| catalog.settings().registry);
    let settings = settings.fold(RegistrySettings::default(), RegistrySettings::or);
    let user = read_user_catalog(host);
    let levels: Vec<Catalog> = match settings.prefer_local {
        Some(false) => user.into_iter().chain(of_user).chain(own).collect(),
        Some(true) | None => own.into_iter().chain(user).chain(of_user).collect(),
    };
    levels.into_iter().fold(project, Catalog::with_level)
}

/// Reads a tools registry of the workspace. `None` without the file.
fn read_registry(host: &Host<'_>, file: &str) -> Option<Catalog> {
    match host.fs.read(&RelPath::composed(file), MAX_REGISTRY_BYTES) {
        Ok(bytes) => Some(Catalog::parse_registry(file, Level::ProjectRegistry, &bytes)),
        Err(error) if is_absent(&error) => None,
        Err(error) => Some(unread(file, format!("cannot be read: {}", error.kind))),
    }
}

/// Reads the tools registry of the user. `None` without the file.
fn read_user_registry(host: &Host<'_>) -> Option<Catalog> {
    let path = host.home()?.join(USER_REGISTRY);
    let file = path.display().to_string();
    match read(host, &path, MAX_REGISTRY_BYTES) {
        Ok(bytes) => Some(Catalog::parse_registry(&file, Level::UserRegistry, &bytes?)),
        Err(message) => Some(unread(&file, message)),
    }
}

fn unread(file: &str, message: String) -> Catalog {
    Catalog::new(Vec::new(), vec![issue(file, message)])
}

/// Reads the runtimes of the user. `None` without such a file.
pub fn read_user_runtimes(host: &Host<'_>) -> Option<Runtimes> {
    let path = user_directory(host)?.join("tools/runtimes.toml");
    let file = path.display().to_string();
    match read(host, &path, CONFIG_LIMIT) {
        Ok(bytes) => Some(Runtimes::parse(&file, Level::User, &bytes?)),
        Err(message) => Some(Runtimes::new(Vec::new(), vec![issue(&file, message)])),
    }
}

/// Reads the runtimes of the workspace and the user. Without a file of the workspace, returns those of the user.
///
/// # Errors
/// Fails if the file of the workspace cannot be read, or if both files are missing.
pub fn read_runtimes(host: &Host<'_>) -> Result<Runtimes, FsError> {
    let user = read_user_runtimes(host);
    match read_config(host.fs, RUNTIMES) {
        Ok(bytes) => {
            let project = Runtimes::parse(RUNTIMES, Level::Project, &bytes);
            Ok(match user {
                Some(user) => project.with_user(user),
                None => project,
            })
        }
        Err(error) => {
            let user = user.filter(|user| !user.runtimes().is_empty() || !user.issues().is_empty());
            let user = user.filter(|_| error.is_not_found()).ok_or(error)?;
            Ok(Runtimes::default().with_user(user))
        }
    }
}

/// Reads a file of the user. `None` without the file. The error is a text for people.
fn read(host: &Host<'_>, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, String> {
    let reason = |error: &FsError| error.kind.to_string();
    let metadata = match host.fs.metadata_outside(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {}", reason(&error))),
    };
    if metadata.kind != FileKind::File {
        return Err("cannot be read: it is not a file".to_owned());
    }
    if let Some(why) = why_unsafe(&metadata) {
        return Err(why.message().to_owned());
    }
    let read = host.fs.read_outside(path, limit);
    read.map(Some).map_err(|error| format!("cannot be read: {}", reason(&error)))
}

fn is_absent(error: &FsError) -> bool {
    matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory)
}

/// Returns why a file of the user is not used. Another account may be able to write it.
pub fn why_unsafe(metadata: &Metadata) -> Option<UnsafeUserFile> {
    match metadata.owner() {
        Owner::Other => Some(UnsafeUserFile::Foreign),
        Owner::Us | Owner::Root => (metadata.mode & 0o002 != 0).then_some(UnsafeUserFile::Writable),
    }
}

fn issue(file: &str, message: String) -> ConfigIssue {
    let place = Place::file(file);
    ConfigIssue { severity: Severity::Error, place, entry: None, field: None, message, hint: None }
}

#[cfg(test)]
mod tests {
    use brigade_core::Timestamp;

    use super::*;

    #[test]
    fn a_file_is_used_if_nobody_else_can_have_written_it() {
        let of = |uid: Option<u32>, mode: u32| {
            let modified = Timestamp::from_unix_micros(0);
            why_unsafe(&Metadata { kind: FileKind::File, len: 0, modified, mode, uid, id: None })
        };
        assert_eq!((of(None, 0o600), of(Some(0), 0o644)), (None, None));
        assert_eq!(of(None, 0o666), Some(UnsafeUserFile::Writable));
        // The owner is reported, whatever the mode is.
        assert_eq!(of(Some(u32::MAX - 7), 0o600), Some(UnsafeUserFile::Foreign));
        assert_eq!(of(Some(u32::MAX - 7), 0o666), Some(UnsafeUserFile::Foreign));
    }
}
