//! Reads files of a workspace and its user, with limits.

use std::path::{Path, PathBuf};

use brigade_catalog::Masks;
use brigade_cmdline::find_program;
use brigade_exec::HostEnvironment;
use brigade_fs::{DirEntry, DiskFs, FileId, FileKind, Fs, FsError, FsErrorKind, Location, Metadata, RelPath};
use brigade_harness::Extent;
use brigade_workspace::{is_program, user_path};

/// The maximum number of names read from a directory.
const MAX_NAMES: usize = 2_000;

/// The files and variables that a search reads.
pub struct Machine<'m> {
    fs: &'m dyn Fs,
    environment: &'m HostEnvironment,
    /// The workspace, absolute.
    pub(super) workspace: String,
    /// Masks bound values in the result.
    pub(super) masks: Masks,
}

/// A path, and its place in the workspace.
#[derive(Clone, Debug)]
pub(super) struct MachinePath {
    /// The path, absolute.
    pub(super) path: PathBuf,
    /// The path as text.
    pub(super) shown: String,
    /// The path in the workspace, if it must stay there.
    inside: Option<RelPath>,
}

impl MachinePath {
    /// Returns the path of a name in this directory; `None` if the name is not valid.
    pub(super) fn inner(&self, name: &str) -> Option<MachinePath> {
        let inside = match &self.inside {
            Some(inside) => Some(inside.join(name).ok()?),
            None => None,
        };
        let path = self.path.join(name);
        Some(MachinePath { shown: path.display().to_string(), path, inside })
    }
}

/// The result of reading a path.
#[derive(Clone, Debug)]
pub(super) enum FileContent {
    Absent,
    Unreadable(String),
    /// It exists, but was not read because the budget is used up.
    Full,
    Read {
        bytes: Vec<u8>,
        id: Option<FileId>,
    },
}

/// The names of a directory.
pub(super) struct DirectoryNames {
    pub(super) names: Vec<String>,
    /// The number of further names.
    pub(super) others: u64,
    /// The number of names that are not UTF-8.
    pub(super) unnamed: u64,
}

impl<'m> Machine<'m> {
    /// Creates the view of a workspace and of the user with these variables. `masks` hides bound values in the result.
    pub fn new(fs: &'m dyn Fs, environment: &'m HostEnvironment, masks: Masks) -> Machine<'m> {
        Machine { fs, environment, workspace: fs.root().display().to_string(), masks }
    }

    /// Returns whether the home directory of the user is known.
    pub(super) fn has_home(&self) -> bool {
        self.environment.home().is_some()
    }

    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name)?.to_str().map(str::to_owned)
    }

    /// Makes a path of the table absolute; `None` if its base directory is unknown.
    pub(super) fn absolute(&self, path: &Path) -> Option<PathBuf> {
        user_path(self.environment, path)
    }

    /// Resolves a path of the table.
    pub(super) fn location(&self, path: &Path, extent: Extent) -> Option<MachinePath> {
        let (path, inside) = match extent {
            Extent::Project => (self.fs.root().join(path), Some(path.to_str()?.parse().ok()?)),
            Extent::User | Extent::Local | Extent::System => (self.absolute(path)?, None),
        };
        Some(MachinePath { shown: path.display().to_string(), path, inside })
    }

    /// Finds a program on PATH.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let is_program = |path: &Path| is_program(self.fs, path);
        find_program(name, self.fs.root(), self.environment.get("PATH"), is_program)
    }

    pub(super) fn is_folder(&self, path: &Path) -> bool {
        self.fs.metadata_outside(path).is_ok_and(|metadata| metadata.kind == FileKind::Directory)
    }

    /// Returns the identity of a directory.
    pub(super) fn folder_id(&self, location: &MachinePath) -> Option<FileId> {
        self.metadata(location).ok()?.0.id
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        self.fs.metadata_outside(path).is_ok()
    }

    /// Returns the metadata of a path without opening it, and its place in the workspace if links lead there.
    fn metadata(&self, location: &MachinePath) -> Result<(Metadata, Option<RelPath>), FsError> {
        let Some(inside) = &location.inside else {
            return Ok((self.fs.metadata_outside(&location.path)?, None));
        };
        match self.fs.metadata(inside) {
            Err(error) if error.kind == FsErrorKind::Outside => {
                // An absolute link may lead back into the workspace.
                match self.fs.resolve(inside.as_str(), None)? {
                    Location::Inside(real) => Ok((self.fs.metadata(&real)?, Some(real))),
                    Location::Outside(_) => Err(error),
                }
            }
            metadata => Ok((metadata?, Some(inside.clone()))),
        }
    }

    /// Reads a file. Only regular files are opened.
    pub(super) fn read(&self, location: &MachinePath, limit: u64) -> FileContent {
        let read = || {
            let (metadata, inside) = self.metadata(location)?;
            if metadata.kind != FileKind::File {
                return Err(FsError::new("read", location.shown.as_str(), FsErrorKind::NotAFile));
            }
            let file = match &inside {
                Some(inside) => self.fs.open(inside)?,
                None => self.fs.open_outside(&location.path)?,
            };
            if limit < file.len()? {
                return Err(FsError::new("read", location.shown.as_str(), FsErrorKind::TooLarge { limit }));
            }
            let bytes = file.read_range(0, limit as usize)?;
            Ok((bytes, file.id().ok()))
        };
        match read() {
            Ok((bytes, id)) => FileContent::Read { bytes, id },
            Err(error) if is_absent(&error) => FileContent::Absent,
            Err(error) => FileContent::Unreadable(why(&error)),
        }
    }

    /// Returns the place in the workspace that a path leads to.
    fn within(&self, path: &Path) -> Option<RelPath> {
        match self.fs.resolve(path.to_str()?, None).ok()? {
            Location::Inside(real) => Some(real),
            Location::Outside(_) => None,
        }
    }

    /// Lists a directory; `None` if it does not exist.
    pub(super) fn list(&self, location: &MachinePath) -> Result<Option<DirectoryNames>, String> {
        let list = || {
            let (metadata, inside) = self.metadata(location)?;
            if metadata.kind != FileKind::Directory {
                return Err(FsError::new("list", location.shown.as_str(), FsErrorKind::NotADirectory));
            }
            let elsewhere;
            // The home directory may be in the workspace.
            let (fs, folder): (&dyn Fs, RelPath) = match inside.or_else(|| self.within(&location.path)) {
                Some(inside) => (self.fs, inside),
                None => {
                    elsewhere = DiskFs::open(&location.path)?;
                    (&elsewhere, RelPath::root())
                }
            };
            let (entries, others) = fs.list_some(&folder, MAX_NAMES)?;
            // If there are more names than the limit, the unreadable ones are not counted.
            let unnamed = if others == 0 { fs.unreadable_names(&folder)?.len() as u64 } else { 0 };
            Ok((entries, others, unnamed))
        };
        match list() {
            Ok((entries, others, unnamed)) => {
                let is_listed = |entry: &DirEntry| entry.kind != FileKind::Other;
                let names = entries.into_iter().filter(is_listed).map(|entry| entry.name).collect();
                Ok(Some(DirectoryNames { names, others, unnamed }))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(why(&error)),
        }
    }
}

fn is_absent(error: &FsError) -> bool {
    matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory)
}

/// Returns why a file was not read, in words that do not assume that the user named it.
fn why(error: &FsError) -> String {
    match &error.kind {
        FsErrorKind::NotAFile => "it is not a file".to_owned(),
        FsErrorKind::NotADirectory => "it is not a directory".to_owned(),
        FsErrorKind::Outside => "a link leads out of the workspace, and is not followed".to_owned(),
        FsErrorKind::Permission => "permission denied".to_owned(),
        kind => kind.to_string(),
    }
}
