//! Sets up a workspace: `tools init` and `policy init`.

use brigade_catalog::KNOWN_HARNESSES;
use brigade_catalog::starter::{self, NoStarter, StarterTools};
use brigade_core::{NextStep, closest};
use brigade_fs::{FileKind, FileMode, FsError, FsErrorKind, Lock, RelPath};

use crate::catalog::Tools;
use crate::codes;
use crate::error::{Error, ErrorKind};
use crate::gather;
use crate::policies::Policies;
use crate::report::{InitReport, Report as _};
use crate::room::{CATALOG, CONFIG_LIMIT, POLICY, Room, rel};

/// The ignore file that keeps local state out of the repository.
const GITIGNORE: &str = ".gitignore";

/// The lock for changing the catalog.
pub(crate) const CATALOG_LOCK: &str = ".brigade/tools/catalog.lock";

/// What to do with an existing file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    #[default]
    Keep,
    /// Replace it.
    Overwrite,
}

/// Whether to write the ignore lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignore {
    /// Write them.
    #[default]
    Write,
    /// Do not write them.
    Skip,
}

impl Tools {
    /// Writes a new catalog, its sources and the ignore lines. Existing sources are kept.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if a catalog exists and may not be replaced, or a harness is not known.
    pub fn init(
        &self,
        tools: &StarterTools,
        existing: Existing,
        ignore: Ignore,
    ) -> Result<InitReport, Error> {
        let host = gather::host(&self.room);
        let starter = tools.starter(&|program| host.has_program(program)).map_err(no_starter)?;
        refuse_existing(&self.room, CATALOG, existing)?;
        check_place(&self.room, CATALOG_LOCK)?;
        // All checks come before the first write.
        let ignored = match ignore {
            Ignore::Write => Some(ignore_change(&self.room)?),
            Ignore::Skip => None,
        };
        for path in starter.files.iter().map(|file| file.path).chain([CATALOG]) {
            check_place(&self.room, path)?;
        }
        let _lock = lock_catalog(&self.room)?;
        refuse_existing(&self.room, CATALOG, existing)?;
        let mut sources = Vec::new();
        for source in &starter.files {
            let path = rel(source.path);
            create_repository_folder(&self.room, &path.parent())?;
            if !self.room.fs.exists(&path)? {
                self.room.fs.write_atomic(&path, source.text.as_bytes(), FileMode::KeepOr(0o644))?;
                sources.push(source.path.to_owned());
            }
        }
        let gitignore = match ignored {
            Some(change) => write_ignore(&self.room, change)?,
            None => "skipped".to_owned(),
        };
        write_config(&self.room, CATALOG, &starter.text)?;
        Ok(InitReport {
            schema: InitReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(CATALOG),
            tool_count: starter.tool_count,
            sources,
            gitignore,
            next_command: self.room.spelled(NextStep::ListTools),
        })
    }
}

impl Policies {
    /// Writes a starter policy.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if a policy exists and may not be replaced.
    pub fn init(&self, existing: Existing) -> Result<InitReport, Error> {
        refuse_existing(&self.room, POLICY, existing)?;
        write_config(&self.room, POLICY, starter::POLICY_TOML)?;
        Ok(InitReport {
            schema: InitReport::SCHEMA,
            target: self.room.target(),
            config_path: self.room.absolute(POLICY),
            tool_count: 0,
            sources: Vec::new(),
            gitignore: "skipped".to_owned(),
            next_command: self.room.spelled(NextStep::CheckPolicy),
        })
    }
}

fn no_starter(none: NoStarter) -> Error {
    let error = Error::new(ErrorKind::Usage, none.to_string());
    match &none {
        NoStarter::UnknownHarness(name) => match closest(name, KNOWN_HARNESSES.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(NextStep::ListHarnesses),
        },
        NoStarter::NoneDetected => error.hint("name one with --harness, or use --empty"),
    }
}

pub(crate) fn refuse_existing(room: &Room, file: &str, existing: Existing) -> Result<(), Error> {
    if existing == Existing::Keep && room.fs.exists(&rel(file))? {
        let error =
            Error::new(ErrorKind::Usage, format!("`{file}` exists already")).coded(codes::FILE_EXISTS);
        return Err(error.hint("--force replaces it"));
    }
    Ok(())
}

/// Takes the lock of the catalog. A writer must read the catalog while it holds the lock.
pub(crate) fn lock_catalog(room: &Room) -> Result<Lock, Error> {
    let path = rel(CATALOG_LOCK);
    room.fs.create_dir_all(&path.parent())?;
    let holder = format!("process {} (change of the catalog), since {}", std::process::id(), room.now());
    Ok(room.fs.lock(&path, &holder, room.env.lock_timeout)?)
}

/// Creates a directory of the repository, which other users may read, unlike the state.
pub(crate) fn create_repository_folder(room: &Room, folder: &RelPath) -> Result<(), FsError> {
    if folder.is_root() || room.fs.exists(folder)? {
        return Ok(());
    }
    create_repository_folder(room, &folder.parent())?;
    room.fs.create_dir_all(folder)?;
    room.fs.set_mode(folder, 0o755)
}

pub(crate) fn write_config(room: &Room, file: &str, text: &str) -> Result<(), Error> {
    let path = rel(file);
    room.fs.create_dir_all(&path.parent())?;
    Ok(room.fs.write_atomic(&path, text.as_bytes(), FileMode::KeepOr(0o600))?)
}

/// Plans the change of `.gitignore`. Writes nothing.
pub(crate) fn ignore_change(room: &Room) -> Result<Option<NewIgnore>, Error> {
    let existing = match room.fs.read(&rel(GITIGNORE), CONFIG_LIMIT) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind == FsErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
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

/// Writes the ignore lines to `.gitignore`, and returns the result in words.
pub(crate) fn write_ignore(room: &Room, change: Option<NewIgnore>) -> Result<String, Error> {
    let Some(NewIgnore { bytes, word }) = change else {
        return Ok("skipped".to_owned());
    };
    room.fs.write_atomic(&rel(GITIGNORE), &bytes, FileMode::KeepOr(0o644))?;
    Ok(format!("{word} ({GITIGNORE})"))
}

/// Checks that a file could be written: its parents are directories, and it is not a directory.
pub(crate) fn check_place(room: &Room, file: &str) -> Result<(), Error> {
    let path = rel(file);
    let kind = |path: &RelPath| match room.fs.metadata(path) {
        Ok(metadata) => Ok(Some(metadata.kind)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    };
    if kind(&path)?.is_some_and(|kind| kind != FileKind::File) {
        return Err(FsError::new("write", file, FsErrorKind::NotAFile).into());
    }
    let mut above = path.parent();
    while !above.is_root() {
        if kind(&above)?.is_some_and(|kind| kind != FileKind::Directory) {
            return Err(FsError::new("write", file, FsErrorKind::NotADirectory).into());
        }
        above = above.parent();
    }
    Ok(())
}

/// The new content of `.gitignore`.
pub(crate) struct NewIgnore {
    bytes: Vec<u8>,
    /// `created` or `updated`.
    word: &'static str,
}
