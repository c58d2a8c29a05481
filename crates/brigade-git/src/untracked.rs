//! Finds files that git does not track and would overwrite.

use std::collections::BTreeSet;
use std::path::Path;

use brigade_fs::{DiskFs, FileKind, Fs as _, FsErrorKind, RelPath};

use crate::error::GitError;

/// Returns the first added path at which a directory of files has something that git does not track, ignored or not.
///
/// `changes` are letters and paths of `git diff-tree --name-status`. `holds_untracked` tells whether a directory has
/// files that git does not track.
///
/// # Errors
/// Fails if a file cannot be examined.
pub fn untracked_in_the_way<'p>(
    top: &Path,
    changes: &[(&[u8], &'p [u8])],
    holds_untracked: &mut dyn FnMut(&[u8]) -> Result<bool, GitError>,
) -> Result<Option<&'p [u8]>, GitError> {
    let fs = DiskFs::open(top)?;
    let kind = |path: &[u8]| -> Result<Option<FileKind>, GitError> {
        let name = std::str::from_utf8(path).ok().and_then(|path| path.parse::<RelPath>().ok());
        // A path that cannot be checked counts as an existing file.
        let Some(name) = name else { return Ok(Some(FileKind::Other)) };
        match fs.link_metadata(&name) {
            Ok(found) => Ok(Some(found.kind)),
            Err(error) if error.is_not_found() || error.kind == FsErrorKind::NotADirectory => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    let mut known = BTreeSet::new();
    for (_, path) in changes.iter().filter(|(letter, _)| *letter == b"A") {
        for (end, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let above = &path[..end];
            let is_new = known.insert(above.to_vec());
            let is_folder = matches!(kind(above)?, None | Some(FileKind::Directory));
            if is_new && !is_folder && !changes.contains(&(b"D", above)) {
                return Ok(Some(path));
            }
        }
        let is_free = match kind(path)? {
            None => true,
            Some(FileKind::Directory) => !holds_untracked(path)?,
            Some(_) => false,
        };
        if !is_free {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
