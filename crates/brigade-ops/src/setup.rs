//! Writes configuration files, their sources and the ignore lines. Checks come before the first write.

pub(crate) mod init;

pub use brigade_catalog::edit::OnExisting;
use brigade_catalog::starter::{self, Starter};
use brigade_catalog::{Catalog, Level, edit};
use brigade_core::{ErrorCode, ErrorKind, NextStep};
use brigade_fs::{FileKind, FileMode, FsError, FsErrorKind, Lock, RelPath};
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, CONFIG_LIMIT, WorkspaceContext};

/// The ignore file that keeps local state out of the repository.
pub(crate) const GITIGNORE: &str = ".gitignore";

/// The lock for changing the catalog.
pub const CATALOG_LOCK: &str = ".brigade/tools/catalog.lock";

/// Whether to write the ignore lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignore {
    /// Write them.
    #[default]
    Write,
    /// Do not write them.
    Skip,
}

/// The configuration files of a workspace, for writing.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    pub(crate) context: &'a WorkspaceContext,
}

/// The new content of `.gitignore`.
pub struct NewIgnore {
    bytes: Vec<u8>,
    /// `created` or `updated`.
    word: &'static str,
}

impl<'a> Setup<'a> {
    /// Writes below the root of a context.
    pub fn new(context: &'a WorkspaceContext) -> Setup<'a> {
        Setup { context }
    }
}

impl Setup<'_> {
    /// Writes a new catalog, its sources and the ignore lines. Existing sources are kept. Returns the written sources,
    /// and the result for the ignore lines as text.
    ///
    /// # Errors
    /// Fails if a catalog exists and may not be replaced, or on a disk error.
    pub fn write_starter(
        &self,
        starter: &Starter,
        existing: OnExisting,
        ignore: Ignore,
    ) -> Result<(Vec<String>, String), Failure> {
        self.refuse_existing(CATALOG, existing)?;
        self.check_place(CATALOG_LOCK)?;
        // All checks come before the first write.
        let ignored = self.ignore_change(ignore)?;
        for path in starter.files.iter().map(|file| file.path).chain([CATALOG]) {
            self.check_place(path)?;
        }
        if !starter.keeps_files {
            self.refuse_others(&starter.files)?;
        }
        let _lock = self.lock_catalog()?;
        self.refuse_existing(CATALOG, existing)?;
        let mut sources = Vec::new();
        for source in &starter.files {
            if self.add_source(source.path, source.text)? {
                sources.push(source.path.to_owned());
            }
        }
        let gitignore = self.write_ignore(ignored)?;
        self.write_config(CATALOG, &starter.text)?;
        Ok((sources, gitignore))
    }

    /// Refuses files that already exist with other content.
    fn refuse_others(&self, files: &[starter::File]) -> Result<(), Failure> {
        for file in files {
            match self.context.fs.read(&RelPath::composed(file.path), CONFIG_LIMIT) {
                Ok(bytes) if bytes == file.text.as_bytes() => {}
                Err(error) if error.is_not_found() => {}
                Ok(_) | Err(_) => {
                    let message = format!("`{}` already exists and is not the example's", file.path);
                    let failure = Failure::new(ErrorKind::Usage, message).coded(ErrorCode::FileExists);
                    return Err(failure.hint("rename it, or try the example in another directory"));
                }
            }
        }
        Ok(())
    }

    /// Refuses to replace a file unless that is allowed.
    ///
    /// # Errors
    /// Fails if the file exists and may not be replaced, or on a disk error.
    pub fn refuse_existing(&self, file: &str, existing: OnExisting) -> Result<(), Failure> {
        if existing == OnExisting::Keep && self.context.fs.exists(&RelPath::composed(file))? {
            let failure = Failure::new(ErrorKind::Usage, format!("`{file}` exists already"));
            return Err(failure.coded(ErrorCode::FileExists).hint(NextStep::Replace));
        }
        Ok(())
    }

    /// Takes the lock of the catalog. A writer must read the catalog while it holds the lock.
    ///
    /// # Errors
    /// Fails if the lock is not free in time, or on a disk error.
    pub fn lock_catalog(&self) -> Result<Lock, FsError> {
        let path = RelPath::from_static(CATALOG_LOCK);
        self.context.fs.create_dir_all(&path.parent())?;
        let now = self.context.clock.now();
        let holder = format!("process {} (change of the catalog), since {now}", std::process::id());
        self.context.fs.lock(&path, &holder, self.context.timeout)
    }

    /// Reads the text of the catalog; empty if the file is missing.
    ///
    /// # Errors
    /// Fails if the file is not UTF-8, or on a disk error.
    pub fn text_of_catalog(&self) -> Result<String, Failure> {
        self.text_of(CATALOG)
    }

    /// Reads the text of a configuration file; empty if it is missing.
    pub(crate) fn text_of(&self, file: &'static str) -> Result<String, Failure> {
        match self.context.fs.read(&RelPath::from_static(file), CONFIG_LIMIT) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
                Failure::new(ErrorKind::InvalidConfig, format!("{file}: the file is not UTF-8 text"))
            }),
            Err(error) if error.is_not_found() => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets lists of an entry of the catalog. Returns whether that changed the file.
    ///
    /// # Errors
    /// Fails if the catalog cannot be edited, or on a disk error.
    pub fn set_lists(&self, tool_id: &str, lists: &[(&str, Vec<String>)]) -> Result<bool, Failure> {
        let before = self.text_of_catalog()?;
        let mut text = before.clone();
        for (field, texts) in lists {
            text = edit::set_list(&text, tool_id, field, texts)
                .map_err(|error| Failure::new(ErrorKind::InvalidConfig, format!("{CATALOG}: {error}")))?;
        }
        if text == before {
            return Ok(false);
        }
        debug_assert!(Catalog::parse(CATALOG, Level::Project, text.as_bytes()).tool(tool_id).is_some());
        self.write_config(CATALOG, &text)?;
        Ok(true)
    }

    /// Creates a source and its directories unless it exists; returns whether it did.
    pub fn add_source(&self, file: &str, text: &str) -> Result<bool, FsError> {
        let path = RelPath::composed(file);
        self.create_folder(&path.parent())?;
        let is_new = !self.context.fs.exists(&path)?;
        if is_new {
            self.context.fs.write_atomic(&path, text.as_bytes(), FileMode::KeepOr(0o644))?;
        }
        Ok(is_new)
    }

    /// Creates a directory of the repository, which other users may read, unlike the state.
    pub fn create_folder(&self, folder: &RelPath) -> Result<(), FsError> {
        if folder.is_root() || self.context.fs.exists(folder)? {
            return Ok(());
        }
        self.create_folder(&folder.parent())?;
        self.context.fs.create_dir_all(folder)?;
        self.context.fs.set_mode(folder, 0o755)
    }

    /// Writes a configuration file.
    pub fn write_config(&self, file: &str, text: &str) -> Result<(), FsError> {
        let path = RelPath::composed(file);
        self.context.fs.create_dir_all(&path.parent())?;
        self.context.fs.write_atomic(&path, text.as_bytes(), FileMode::KeepOr(0o600))
    }

    /// Plans the change of `.gitignore`; `None` if nothing changes. Writes nothing.
    pub fn ignore_change(&self, ignore: Ignore) -> Result<Option<NewIgnore>, FsError> {
        if ignore == Ignore::Skip {
            return Ok(None);
        }
        let existing = match self.context.fs.read(&RelPath::from_static(GITIGNORE), CONFIG_LIMIT) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind == FsErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // A file that is not UTF-8 is kept byte by byte, and the added text is ASCII.
        let (text, is_text) = match existing.map(String::from_utf8).transpose() {
            Ok(text) => (text, true),
            Err(error) => (Some(error.as_bytes().iter().map(|byte| char::from(*byte)).collect()), false),
        };
        let (text, word) = match starter::merge_ignore(text.as_deref()) {
            starter::IgnoreChange::Created(text) => (text, "created"),
            starter::IgnoreChange::Updated(text) => (text, "updated"),
            starter::IgnoreChange::Skipped => return Ok(None),
        };
        let byte = |character| u8::try_from(character).unwrap_or(b'?');
        let bytes = if is_text { text.into_bytes() } else { text.chars().map(byte).collect() };
        Ok(Some(NewIgnore { bytes, word }))
    }

    /// Writes the ignore lines to `.gitignore`, and returns the result as text.
    pub fn write_ignore(&self, change: Option<NewIgnore>) -> Result<String, FsError> {
        let Some(NewIgnore { bytes, word }) = change else {
            return Ok("skipped".to_owned());
        };
        self.context.fs.write_atomic(&RelPath::from_static(GITIGNORE), &bytes, FileMode::KeepOr(0o644))?;
        Ok(format!("{word} ({GITIGNORE})"))
    }

    /// Checks that a file could be written: its parents are directories, and it is not a directory.
    ///
    /// # Errors
    /// Fails if it could not, or on a disk error.
    pub fn check_place(&self, file: &str) -> Result<(), FsError> {
        let path = RelPath::composed(file);
        let kind = |path: &RelPath| match self.context.fs.metadata(path) {
            Ok(metadata) => Ok(Some(metadata.kind)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        };
        if kind(&path)?.is_some_and(|kind| kind != FileKind::File) {
            return Err(FsError::new("write", file, FsErrorKind::NotAFile));
        }
        let mut above = path.parent();
        while !above.is_root() {
            if kind(&above)?.is_some_and(|kind| kind != FileKind::Directory) {
                return Err(FsError::new("write", file, FsErrorKind::NotADirectory));
            }
            above = above.parent();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
