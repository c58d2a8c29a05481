//! The files of a folder whose code a command runs, and one fingerprint of them all.

use std::collections::BTreeSet;
use std::path::Path;

use brigade_core::Fingerprint;
use brigade_fs::{FileKind, Fs, FsError, FsErrorKind, Location, RelPath};

/// How many files of a folder are read.
const MOST_FILES: usize = 10_000;

/// How many bytes of a folder are read.
const MOST_BYTES: u64 = 256 << 20;

/// What is never code: the state of Brigade and of git.
const LEFT_OUT: &[&str] = &[".brigade", ".git"];

/// What was found below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderFiles {
    /// Every regular file: by its path in the workspace, or an absolute one when a link leads out. Sorted.
    All(Vec<String>),
    /// There is more than can be read each time.
    TooMuch,
    /// This link leads to a directory outside of the workspace.
    LeadsOut(RelPath),
}

/// Lists every regular file below a folder of the workspace, links followed.
///
/// # Errors
/// When a folder cannot be read.
pub fn folder_files(fs: &dyn Fs, folder: &RelPath) -> Result<FolderFiles, FsError> {
    let mut files = BTreeSet::new();
    let mut bytes = 0u64;
    let mut visited = BTreeSet::from([folder.clone()]);
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs.list_dir(&folder)? {
            let Ok(path) = folder.join(&entry.name) else { continue };
            if LEFT_OUT.contains(&entry.name.as_str()) {
                continue;
            }
            match entry.kind {
                FileKind::Directory => {
                    if visited.insert(path.clone()) {
                        folders.push(path);
                    }
                }
                FileKind::File => {
                    bytes += fs.metadata(&path)?.len;
                    files.insert(path.as_str().to_owned());
                }
                FileKind::Link => match linked(fs, &path)? {
                    Linked::File(name, length) => {
                        bytes += length;
                        files.insert(name);
                    }
                    Linked::Folder(real) => {
                        if visited.insert(real.clone()) {
                            folders.push(real);
                        }
                    }
                    Linked::FolderElsewhere => return Ok(FolderFiles::LeadsOut(path)),
                    Linked::Nothing => {}
                },
                FileKind::Other => {}
            }
        }
        if MOST_FILES < files.len() || MOST_FILES < visited.len() || MOST_BYTES < bytes {
            return Ok(FolderFiles::TooMuch);
        }
    }
    Ok(FolderFiles::All(files.into_iter().collect()))
}

/// What a link leads to.
enum Linked {
    File(String, u64),
    Folder(RelPath),
    FolderElsewhere,
    Nothing,
}

fn linked(fs: &dyn Fs, link: &RelPath) -> Result<Linked, FsError> {
    let path = fs.root().join(link.as_path());
    let Some(path) = path.to_str() else { return Ok(Linked::Nothing) };
    Ok(match fs.resolve(path, None) {
        Ok(Location::Inside(real)) => match fs.metadata(&real) {
            Ok(metadata) if metadata.kind == FileKind::File => {
                Linked::File(link.as_str().to_owned(), metadata.len)
            }
            Ok(metadata) if metadata.kind == FileKind::Directory => Linked::Folder(real),
            Ok(_) | Err(_) => Linked::Nothing,
        },
        Ok(Location::Outside(real)) => match fs.open_outside(&real) {
            Ok(file) => Linked::File(real.to_string_lossy().into_owned(), file.len()?),
            Err(error) if error.kind == FsErrorKind::NotAFile => Linked::FolderElsewhere,
            Err(_) => Linked::Nothing,
        },
        Err(_) => Linked::Nothing,
    })
}

/// Reads what a command names: a file by its path in the workspace, or by an absolute one when a link leads out; a
/// folder, whose name ends with `/`, with all that is below it.
///
/// # Errors
/// When it cannot be read.
pub fn file_fingerprint(fs: &dyn Fs, path: &str) -> Result<Fingerprint, FsError> {
    let inside = path.strip_suffix('/').unwrap_or(path).parse::<RelPath>();
    match inside {
        Ok(folder) if path.ends_with('/') => {
            let FolderFiles::All(files) = folder_files(fs, &folder)? else {
                // It was less when it was bound.
                return Ok(Fingerprint::builder("brigade.folder.v1").text("files", None::<&str>).finish());
            };
            let mut table = Vec::with_capacity(files.len());
            for file in files {
                let fingerprint = file_fingerprint(fs, &file)?.to_hex();
                table.push((file, fingerprint));
            }
            Ok(Fingerprint::builder("brigade.folder.v1").table("files", table).finish())
        }
        Ok(file) => brigade_fs::fingerprint(&*fs.open(&file)?),
        Err(_) => brigade_fs::fingerprint(&*fs.open_outside(Path::new(path))?),
    }
}
