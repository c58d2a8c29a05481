//! The files of the user, which all workspaces share.

use std::path::{Path, PathBuf};

use brigade_catalog::{Catalog, Level, Runtimes, UNSAFE_USER_FILE};
use brigade_core::{ConfigIssue, Place, Severity};
use brigade_fs::{FileKind, FsError, FsErrorKind, Metadata, Owner};

use crate::config::CONFIG_LIMIT;
use crate::host::Host;

/// Returns the directory of the user's files: `brigade` in `XDG_CONFIG_HOME`, or in `~/.config`.
pub fn user_directory(host: &Host<'_>) -> Option<PathBuf> {
    Some(host.environment.config_folder()?.join("brigade"))
}

/// Reads the tools of the user. `None` without such a file, which is the rule and costs one look.
pub fn read_user_catalog(host: &Host<'_>) -> Option<Catalog> {
    let path = user_directory(host)?.join("tools.toml");
    let file = path.display().to_string();
    Some(match read(host, &path)? {
        Ok(bytes) => Catalog::parse(&file, Level::User, &bytes),
        Err(message) => Catalog::new(Vec::new(), vec![issue(&file, message)]),
    })
}

/// Reads the runtimes of the user. `None` without such a file.
pub fn read_user_runtimes(host: &Host<'_>) -> Option<Runtimes> {
    let path = user_directory(host)?.join("tools/runtimes.toml");
    let file = path.display().to_string();
    Some(match read(host, &path)? {
        Ok(bytes) => Runtimes::parse(&file, Level::User, &bytes),
        Err(message) => Runtimes::new(Vec::new(), vec![issue(&file, message)]),
    })
}

/// Reads a file of the user, or says why not.
fn read(host: &Host<'_>, path: &Path) -> Option<Result<Vec<u8>, String>> {
    let reason = |error: &FsError| error.kind.to_string();
    let metadata = match host.fs.metadata_outside(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return None,
        Err(error) => return Some(Err(format!("cannot be read: {}", reason(&error)))),
    };
    if metadata.kind != FileKind::File {
        return Some(Err("cannot be read: it is not a file".to_owned()));
    }
    if is_open_to_others(&metadata) {
        return Some(Err(UNSAFE_USER_FILE.to_owned()));
    }
    let read = host.fs.read_outside(path, CONFIG_LIMIT);
    Some(read.map_err(|error| format!("cannot be read: {}", reason(&error))))
}

fn is_absent(error: &FsError) -> bool {
    matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory)
}

/// Returns whether other users could write a file of the user, so that it is not used.
pub fn is_open_to_others(metadata: &Metadata) -> bool {
    metadata.mode & 0o002 != 0 || metadata.owner() == Owner::Other
}

fn issue(file: &str, message: String) -> ConfigIssue {
    let place = Place::file(file);
    ConfigIssue { severity: Severity::Error, place, entry: None, field: None, message, hint: None }
}
