//! Files of the state that other users can access.

use brigade_core::parallel::in_parallel;
use brigade_fs::{DirEntry, FileKind, Fs, RelPath};

/// The directories of the state. Configuration files in them are not secret, so they are skipped.
const STATE: [&str; 3] = [".brigade/tools", ".brigade/work", ".brigade/kitchen"];

/// The default directory of worktrees: files of the user, with their own modes.
const WORKTREES: &str = ".brigade/kitchen/worktrees";

/// The mode bits of group and others.
const OTHERS: u32 = 0o077;

/// A file or directory that is open to others.
pub(crate) struct ExposedFile {
    pub(crate) path: RelPath,
    /// The mode it should have.
    pub(crate) closed: u32,
}

/// Which files of a directory to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListExtent {
    /// All files.
    All,
    /// Only the first file.
    First,
}

/// Finds files and directories of the state that are open to others. A closed directory protects everything in it.
pub(crate) fn wide_modes(fs: &dyn Fs, which: ListExtent) -> Vec<ExposedFile> {
    let mut found = Vec::new();
    let is_closed = |path: &RelPath| fs.metadata(path).is_ok_and(|metadata| metadata.mode & OTHERS == 0);
    if is_closed(&RelPath::from_static(".brigade")) {
        return found;
    }
    for folder in STATE.map(RelPath::from_static) {
        if fs.link_metadata(&folder).is_ok_and(|metadata| metadata.kind == FileKind::Directory)
            && !is_closed(&folder)
        {
            wide_in(fs, &folder, which, &mut found);
        }
    }
    found
}

fn wide_in(fs: &dyn Fs, folder: &RelPath, which: ListExtent, found: &mut Vec<ExposedFile>) {
    // An unreadable directory is reported elsewhere.
    let entries = fs.list_dir(folder).unwrap_or_default();
    let paths_of = |kind: FileKind| -> Vec<RelPath> {
        let is_state = |entry: &&DirEntry| {
            entry.kind == kind && (kind == FileKind::Directory || !entry.name.ends_with(".toml"))
        };
        let paths = entries.iter().filter(is_state).filter_map(|entry| folder.join(&entry.name).ok());
        paths.filter(|path| path.as_str() != WORKTREES).collect()
    };
    let is_wide = |path: &RelPath| fs.link_metadata(path).is_ok_and(|metadata| metadata.mode & OTHERS != 0);
    for path in paths_of(FileKind::Directory).into_iter().filter(is_wide) {
        found.push(ExposedFile { path: path.clone(), closed: 0o700 });
        wide_in(fs, &path, which, found);
    }
    let files = paths_of(FileKind::File);
    let wide = |path: RelPath| ExposedFile { path, closed: 0o600 };
    match which {
        ListExtent::First => found.extend(files.into_iter().find(is_wide).map(wide)),
        ListExtent::All => {
            let are_wide = in_parallel(files.len(), |index| is_wide(&files[index]));
            let each = files.into_iter().zip(are_wide).filter(|(_, is_wide)| *is_wide);
            found.extend(each.map(|(path, _)| wide(path)));
        }
    }
}
