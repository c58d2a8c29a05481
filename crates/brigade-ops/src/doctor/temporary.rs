//! Temporary files that killed commands left before renaming them.
//!
//! The queue cleans its own directories. This module covers the others that Brigade writes to: the rest of `.brigade`,
//! the workspace root, and source directories, where `init` puts starters. A file stays while its process lives or
//! holds it, because that process may still be writing it.

use std::collections::BTreeSet;

use brigade_catalog::Catalog;
use brigade_fs::{FileKind, Fs, RelPath, is_left};

/// The directory of configuration and state.
const STATE: &str = ".brigade";

/// The maximum depth of the search below it.
const DEPTH: usize = 4;

/// Directories of the queue, of runtimes and of staged projections. Their owners clean them.
const OF_OTHERS: &[&str] = &[
    ".brigade/tools/calls",
    ".brigade/tools/checkpoints",
    ".brigade/tools/runs",
    ".brigade/tools/runtime",
    ".brigade/tools/staging",
];

/// Lists temporary files of ended commands. Unreadable directories are skipped.
pub fn left_temporary(fs: &dyn Fs, catalog: &Catalog) -> Vec<RelPath> {
    let mut folders: BTreeSet<RelPath> = BTreeSet::from([RelPath::root()]);
    for tool in catalog.tools() {
        let source = tool.source_path.as_deref().and_then(|path| path.parse::<RelPath>().ok());
        folders.extend(source.map(|source| source.parent()));
    }
    let mut found = Vec::new();
    for folder in folders {
        temporary_in(fs, &folder, 0, &mut found);
    }
    temporary_in(fs, &RelPath::from_static(STATE), DEPTH, &mut found);
    found.sort();
    found.dedup();
    found
}

fn temporary_in(fs: &dyn Fs, folder: &RelPath, depth: usize, found: &mut Vec<RelPath>) {
    for entry in fs.list_dir(folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else { continue };
        match entry.kind {
            // The queue cleans these.
            FileKind::File if folder.as_str() == ".brigade/tools" && entry.name.starts_with(".calls.") => {}
            FileKind::File if is_left(fs, &path) => found.push(path),
            FileKind::Directory if 0 < depth && !OF_OTHERS.contains(&path.as_str()) => {
                temporary_in(fs, &path, depth - 1, found);
            }
            FileKind::File | FileKind::Directory | FileKind::Link | FileKind::Other => {}
        }
    }
}
