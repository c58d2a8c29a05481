//! Finds managed files that no catalog entry needs any more.

use std::collections::{BTreeSet, HashSet};

use brigade_catalog::Tool;
use brigade_core::parallel::in_parallel;
use brigade_fs::{FileKind, Fs, RelPath, is_temporary};
use brigade_projection::{FoundFile, Header, Orphan, folders, orphans, relative_path};
use brigade_workspace::{Config, Host, Places, ResolvedPath};

use crate::projections::files::apply_lock::was_applied;
use crate::projections::files::projected::ProjectedFiles;

/// The maximum depth of the search below a projection directory.
const DEPTH: usize = 6;

/// The maximum number of names in one search.
const MAX_NAMES: usize = 200_000;

/// The maximum number of files in a directory that is not only for projections.
const MAX_OTHER_FILES: usize = 1_000;

/// How many bytes are read first to tell whether a file may be managed.
const PEEK_BYTES: usize = 64 << 10;

/// The largest file that is read completely.
const FILE_LIMIT: u64 = 64 << 20;

/// Text in every header.
const MARK: &[u8] = b"brigade-tool-projection:";

/// Directories that are never searched.
const SKIPPED: &[&str] = &[".git", ".brigade", "node_modules", "target"];

/// The result of a search.
pub struct OrphanSearch {
    /// Managed files that no entry wants, by path.
    pub orphans: Vec<Orphan>,
    /// Whether the search covered every place.
    pub is_complete: bool,
}

/// Finds orphans: in the usual directories, beside projections in the catalog, at the targets of disabled tools, and
/// in the list of written files. Follows no links.
pub fn find_orphans(host: Host<'_>, config: &Config, places: &Places<'_>) -> OrphanSearch {
    let catalog = &config.catalog;
    if catalog.tools().is_empty() && !catalog.is_valid() {
        // The catalog cannot be read, so it is unknown which files it wants.
        return OrphanSearch { orphans: Vec::new(), is_complete: true };
    }
    let (mut files, is_searched) = unclaimed_files(host.fs, config, places);
    let root = places.root();
    let written = ProjectedFiles::read(host.fs, was_applied(host));
    let is_complete = is_searched && written.is_complete;
    files.extend(written.paths.into_iter().filter(
        |path| matches!(places.spot(path), ResolvedPath::There(real, FileKind::File) if real == *path),
    ));
    files.extend(neighbours(host.fs, config, places));
    for tool in catalog.tools().iter().filter(|tool| !tool.enabled) {
        for path in places_of(tool, root) {
            if matches!(places.spot(&path), ResolvedPath::There(real, FileKind::File) if real == path) {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    files.dedup();
    files.retain(|path| config.claims.holder(path.as_str()).is_none());
    let read = in_parallel(files.len(), |index| read_if_managed(host.fs, &files[index]));
    let found = files
        .iter()
        .zip(&read)
        .filter_map(|(path, bytes)| Some(FoundFile { path: path.as_str(), bytes: bytes.as_deref()? }));
    let mut orphans = orphans(root, found, catalog);
    if !orphans.is_empty() {
        let used = wanted_through_links(config, places, root);
        orphans.retain(|orphan| !used.contains(orphan.path.as_str()));
    }
    OrphanSearch { orphans, is_complete }
}

/// Lists files in the usual directories that are not targets of a tool, and whether all were listed.
fn unclaimed_files(fs: &dyn Fs, config: &Config, places: &Places<'_>) -> (Vec<RelPath>, bool) {
    let start = folders().into_iter().map(RelPath::from_static);
    let mut ahead: Vec<RelPath> = start.filter(|folder| places.is_plain_folder(folder)).collect();
    let mut files = Vec::new();
    let mut names = 0;
    for _ in 0..DEPTH {
        let listed = in_parallel(ahead.len(), |index| fs.list_dir(&ahead[index]));
        let mut next = Vec::new();
        for (folder, entries) in ahead.iter().zip(listed) {
            // A missing or unreadable directory has nothing to remove.
            let Ok(entries) = entries else { continue };
            for entry in &entries {
                names += 1;
                if MAX_NAMES < names {
                    return (files, false);
                }
                let Ok(path) = folder.join(&entry.name) else { continue };
                match entry.kind {
                    FileKind::Directory if !SKIPPED.contains(&entry.name.as_str()) => next.push(path),
                    FileKind::File
                        if !is_temporary(&entry.name) && config.claims.holder(path.as_str()).is_none() =>
                    {
                        files.push(path);
                    }
                    FileKind::Directory | FileKind::File | FileKind::Link | FileKind::Other => {}
                }
            }
            places.remember(folder.clone(), entries);
        }
        if next.is_empty() {
            return (files, true);
        }
        ahead = next;
    }
    (files, false)
}

/// Lists the files beside catalog projections outside of the usual directories.
fn neighbours(fs: &dyn Fs, config: &Config, places: &Places<'_>) -> Vec<RelPath> {
    let usual: Vec<RelPath> = folders().into_iter().map(RelPath::from_static).collect();
    let root = places.root();
    let is_beneath = |path: &str, folder: &RelPath| {
        path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    // Nearly all paths start with a usual directory; this test avoids parsing thousands of them.
    let is_usual = |path: &str| !path.contains("..") && usual.iter().any(|folder| is_beneath(path, folder));
    let paths = config.catalog.tools().iter().flat_map(|tool| tool.projections.values());
    let others = paths.filter(|path| !is_usual(path)).filter_map(|path| within(path, root));
    let unusual = others.filter(|path| !usual.iter().any(|folder| path.is_in(folder)));
    let beside: BTreeSet<RelPath> = unusual.map(|path| path.parent()).collect();
    let mut files = Vec::new();
    for folder in beside.iter().filter(|folder| folder.is_root() || places.is_plain_folder(folder)) {
        let entries = fs.list_dir(folder).unwrap_or_default();
        let named = entries.iter().filter(|entry| entry.kind == FileKind::File && !is_temporary(&entry.name));
        files.extend(named.take(MAX_OTHER_FILES).filter_map(|entry| folder.join(&entry.name).ok()));
    }
    files
}

fn read_if_managed(fs: &dyn Fs, path: &RelPath) -> Option<Vec<u8>> {
    let file = fs.open(path).ok()?;
    let start = file.read_range(0, PEEK_BYTES).ok()?;
    if !start.windows(MARK.len()).any(|window| window == MARK) {
        return None;
    }
    let bytes = if start.len() < PEEK_BYTES { start } else { fs.read(path, FILE_LIMIT).ok()? };
    Header::read(&bytes).is_some().then_some(bytes)
}

/// Lists the paths of a tool's projections, without resolving links.
pub(crate) fn places_of(tool: &Tool, root: &str) -> Vec<RelPath> {
    tool.projections.values().filter_map(|path| within(path, root)).collect()
}

/// Returns the path of a projection inside the workspace, without resolving links; `None` if it is outside.
fn within(path: &str, root: &str) -> Option<RelPath> {
    relative_path(root, path).ok()?.parse().ok()
}

/// Lists the files that wanted projections reach through links.
fn wanted_through_links(config: &Config, places: &Places<'_>, root: &str) -> HashSet<String> {
    let tools = config.catalog.tools().iter().filter(|tool| tool.enabled || tool.is_broken);
    let real = |path: RelPath| match places.spot(&path) {
        ResolvedPath::There(real, _) | ResolvedPath::Absent(real) if real != path => {
            Some(real.as_str().to_owned())
        }
        ResolvedPath::There(..)
        | ResolvedPath::Absent(_)
        | ResolvedPath::Refused(_)
        | ResolvedPath::Unreadable => None,
    };
    tools.flat_map(|tool| places_of(tool, root)).filter_map(real).collect()
}
