//! Files of the state that others can read.

use brigade_fs::{FileKind, Fs, RelPath, in_parallel};

use crate::workspace::{Workspace, rel};

/// The folders of the state. Configuration in them is not secret, and is left out.
const STATE: [&str; 2] = [".brigade/tools", ".brigade/work"];

/// Bits that belong to others.
const OTHERS: u32 = 0o077;

/// A file or folder that is open to others.
pub(crate) struct Wide {
    pub(crate) path: RelPath,
    /// The mode that it should have.
    pub(crate) closed: u32,
}

impl Workspace {
    /// Finds files and folders of the state that are open to others. What lies in a folder that is closed is closed, too.
    pub(crate) fn wide_modes(&self) -> Vec<Wide> {
        let mut found = Vec::new();
        let is_closed =
            |path: &RelPath| self.fs.metadata(path).is_ok_and(|metadata| metadata.mode & OTHERS == 0);
        if is_closed(&rel(".brigade")) {
            return found;
        }
        for folder in STATE.map(rel) {
            if self.fs.link_metadata(&folder).is_ok_and(|metadata| metadata.kind == FileKind::Directory)
                && !is_closed(&folder)
            {
                self.wide_in(&folder, &mut found);
            }
        }
        found
    }

    fn wide_in(&self, folder: &RelPath, found: &mut Vec<Wide>) {
        // A folder that cannot be listed has other issues.
        let entries = self.fs.list_dir(folder).unwrap_or_default();
        let paths: Vec<(RelPath, FileKind)> = entries
            .iter()
            .filter(|entry| entry.kind == FileKind::Directory || !entry.name.ends_with(".toml"))
            .filter_map(|entry| Some((folder.join(&entry.name).ok()?, entry.kind)))
            .collect();
        let modes = in_parallel(paths.len(), |index| match paths[index].1 {
            FileKind::File | FileKind::Directory => self.fs.link_metadata(&paths[index].0).ok(),
            FileKind::Link | FileKind::Other => None,
        });
        for ((path, kind), metadata) in paths.into_iter().zip(modes) {
            if metadata.is_none_or(|metadata| metadata.mode & OTHERS == 0) {
                continue;
            }
            let is_folder = kind == FileKind::Directory;
            found.push(Wide { path: path.clone(), closed: if is_folder { 0o700 } else { 0o600 } });
            if is_folder {
                self.wide_in(&path, found);
            }
        }
    }
}
