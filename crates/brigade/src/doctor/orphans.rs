//! Projections that no tool asks for any more.

use std::collections::HashSet;

use brigade_fs::{FileKind, Fs as _, RelPath, read_many};
use brigade_projection::{FoundFile, Orphan, folders, orphans};

use crate::error::Error;
use crate::gather::Config;
use crate::workspace::{Workspace, rel};

/// How deep beneath a folder of a harness projections are looked for.
const DEPTH: usize = 3;

/// The largest file that is looked at.
const LIMIT: u64 = 16 << 20;

impl Workspace {
    /// Looks for managed files, where harnesses have theirs, that no tool asks for.
    pub(crate) fn orphaned(&self, config: &Config) -> Result<Vec<Orphan>, Error> {
        let tools = config.catalog.tools().iter().filter(|tool| tool.enabled || tool.is_broken);
        let claimed: HashSet<RelPath> =
            tools.flat_map(|tool| tool.projections.values()).filter_map(|path| path.parse().ok()).collect();
        let mut paths = Vec::new();
        for folder in folders() {
            self.files_in(&rel(folder), DEPTH, &mut paths);
        }
        paths.retain(|path| !claimed.contains(path));
        paths.sort_unstable();
        paths.dedup();
        let read = read_many(&*self.fs, &paths, LIMIT, |_, bytes| bytes.ok());
        let found = paths
            .iter()
            .zip(&read)
            .filter_map(|(path, bytes)| Some(FoundFile { path: path.as_str(), bytes: bytes.as_deref()? }));
        Ok(orphans(&self.target(), found, &config.catalog))
    }

    /// Lists the files of a folder; links are not followed.
    fn files_in(&self, folder: &RelPath, depth: usize, found: &mut Vec<RelPath>) {
        for entry in self.fs.list_dir(folder).unwrap_or_default() {
            let Ok(path) = folder.join(&entry.name) else { continue };
            match entry.kind {
                FileKind::File => found.push(path),
                FileKind::Directory if 0 < depth => self.files_in(&path, depth - 1, found),
                FileKind::Directory | FileKind::Link | FileKind::Other => {}
            }
        }
    }
}
