//! Ignored files of a worktree: those before the first attempt, and later ones.

use std::collections::BTreeSet;

use brigade_fs::{DiskFs, Fs as _, OrAbsent, RelPath};

use super::GitPlace;
use super::task_dir::{TaskDir, child_path, remove_any};
use crate::workplace::{Place, PlaceError, shown_path};

/// The file that lists the ignored paths before the first attempt. NUL ends each path, and directories end with `/`.
pub(super) const BEFORE: &str = "ignored";

/// The maximum size of such a list.
const MAX_LIST_BYTES: u64 = 64 << 20;

impl GitPlace {
    /// Records the ignored files before the first attempt in the worktree.
    pub(super) fn note_ignored(&self, dir: &TaskDir) -> Result<(), PlaceError> {
        let path = child_path(&dir.ours, BEFORE)?;
        if self.folders.kitchen.exists(&path)? {
            return Ok(());
        }
        let mut list = Vec::new();
        for path in self.ignored(dir)? {
            list.extend_from_slice(&path);
            list.push(0);
        }
        Ok(self.folders.kitchen.write_cache(&path, &list)?)
    }

    /// Records that there are no ignored files.
    pub(super) fn note_none_ignored(&self, dir: &TaskDir) -> Result<(), PlaceError> {
        Ok(self.folders.kitchen.write_cache(&child_path(&dir.ours, BEFORE)?, b"")?)
    }

    /// Lists ignored files. A fully ignored directory is one entry.
    fn ignored(&self, dir: &TaskDir) -> Result<BTreeSet<Vec<u8>>, PlaceError> {
        let git_dirs = self.folders.git_dirs(&self.repository, dir)?;
        let order = self.repository.git.order("ls-files").in_dirs(&git_dirs);
        let order = order.words(["-z", "--others", "--ignored", "--exclude-standard", "--directory"]);
        Ok(order.run()?.parts().map(<[u8]>::to_vec).collect())
    }

    pub(super) fn drop_new_ignored(&self, place: &Place) -> Result<Vec<String>, PlaceError> {
        let dir = self.folders.task_dir(&place.name.prd, &place.name.task)?;
        // A worktree of an older version has no list.
        let Some(before) =
            self.folders.kitchen.read(&child_path(&dir.ours, BEFORE)?, MAX_LIST_BYTES).or_absent()?
        else {
            return Ok(Vec::new());
        };
        let before: BTreeSet<&[u8]> = before.split(|byte| *byte == 0).collect();
        let tree = DiskFs::open(&dir.tree_path)?;
        let mut removed = Vec::new();
        for path in self.ignored(&dir)?.iter().filter(|path| !before.contains(path.as_slice())) {
            let shown = shown_path(path);
            let parsed = std::str::from_utf8(path).ok().and_then(|path| {
                path.trim_end_matches('/').parse::<RelPath>().ok().filter(|path| !path.is_root())
            });
            let Some(path) = parsed else {
                return Err(PlaceError::Nested(vec![shown]));
            };
            remove_any(&tree, &path)?;
            removed.push(shown);
        }
        Ok(removed)
    }
}
