//! Writes registrations to the files of a level.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{REGISTERED, RUNTIMES};
use brigade_catalog::{Catalog, Level, Tool};
use brigade_core::{ErrorCode, ErrorKind, IssueType};
use brigade_fs::{DiskFs, FileMode, Fs, FsError, Location, Lock, NewFile, RelPath, write_together};
use brigade_harness::{DiscoveredEntry, RegistrationCache};
use brigade_policy::Failure;
use brigade_workspace::{CATALOG, WorkspaceContext, why_unsafe};

use super::{LIMIT, refusal};
use crate::report::RegisterErrorRow;

/// The files of a level.
pub(super) struct Target {
    level: Level,
    /// The directory; `None` if it does not exist.
    pub(super) fs: Option<Arc<dyn Fs>>,
    /// The same directory, absolute.
    folder: PathBuf,
    catalog: RelPath,
    runtimes: RelPath,
    registered: RelPath,
    lock: RelPath,
    pub(super) paths: DisplayPaths,
    /// The definitions registered from files of agent programs.
    pub(super) definitions: Vec<DiscoveredEntry>,
}

/// The paths of the files, as messages show them.
pub(super) struct DisplayPaths {
    pub(super) catalog: String,
    pub(super) runtimes: String,
    pub(super) config_path: String,
}

/// The texts of the files of a level.
pub(super) struct Texts {
    pub(super) catalog: String,
    pub(super) runtimes: String,
}

impl Target {
    pub(super) fn for_level(context: &WorkspaceContext, level: Level) -> Result<Target, Failure> {
        if level == Level::Project {
            return Ok(Target {
                level,
                fs: Some(context.fs.clone()),
                folder: context.fs.root().to_owned(),
                catalog: RelPath::from_static(CATALOG),
                registered: registered_file(&RelPath::from_static(RUNTIMES)),
                runtimes: RelPath::from_static(RUNTIMES),
                lock: RelPath::from_static(crate::CATALOG_LOCK),
                paths: DisplayPaths {
                    catalog: CATALOG.to_owned(),
                    runtimes: RUNTIMES.to_owned(),
                    config_path: context.absolute(CATALOG),
                },
                definitions: Vec::new(),
            });
        }
        let folder = context.config_folder()?.join("brigade");
        let (catalog, runtimes) =
            (RelPath::from_static("tools.toml"), RelPath::from_static("tools/runtimes.toml"));
        let [catalog_path, runtimes_path] =
            [&catalog, &runtimes].map(|path| folder.join(path.as_path()).display().to_string());
        let fs: Option<Arc<dyn Fs>> = match DiskFs::open(&folder) {
            Ok(fs) => Some(Arc::new(fs)),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Target {
            level,
            fs,
            folder,
            catalog,
            registered: registered_file(&runtimes),
            runtimes,
            lock: RelPath::from_static("tools/catalog.lock"),
            paths: DisplayPaths {
                config_path: catalog_path.clone(),
                catalog: catalog_path,
                runtimes: runtimes_path,
            },
            definitions: Vec::new(),
        })
    }

    /// Returns the new cache of definitions: the ones registered now, and those of remaining tools.
    fn remembered(&self, fs: &dyn Fs, after: &Texts) -> Result<Option<NewFile>, Failure> {
        if self.definitions.is_empty() {
            return Ok(None);
        }
        let path = self.real(fs, &self.registered)?;
        let mut kept =
            fs.read(&path, LIMIT).map(|bytes| RegistrationCache::parse(&bytes)).unwrap_or_default();
        self.definitions.iter().for_each(|definition| kept.add(definition));
        let catalog = Catalog::parse(&self.paths.catalog, Level::Project, after.catalog.as_bytes());
        let of_tool = |tool: &Tool| tool.source.as_ref()?.fingerprint.clone();
        let fingerprints: Vec<String> = catalog.tools().iter().filter_map(of_tool).collect();
        kept.keep(&fingerprints.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(Some((path, kept.to_text(), FileMode::Private)))
    }

    /// Creates the directory of the user.
    pub(super) fn make(&mut self) -> Result<(), Failure> {
        self.fs = Some(Arc::new(DiskFs::make(&self.folder)?));
        Ok(())
    }

    pub(super) fn lock(&self, context: &WorkspaceContext) -> Result<Option<Lock>, Failure> {
        let Some(fs) = &self.fs else { return Ok(None) };
        fs.create_dir_all(&self.lock.parent()).map_err(|error| self.with_shown_path(error))?;
        let holder = format!("process {} (register), since {}", std::process::id(), context.now());
        Ok(Some(fs.lock(&self.lock, &holder, context.timeout).map_err(|error| self.with_shown_path(error))?))
    }

    /// Returns errors for files of the user that others can write. Writing to them would make their content trusted.
    pub(super) fn not_used(&self) -> Vec<RegisterErrorRow> {
        let Some(fs) = self.fs.as_ref().filter(|_| self.level == Level::User) else { return Vec::new() };
        let row = |path: &RelPath| {
            // A file without metadata cannot be read either, and reading reports it.
            let why = why_unsafe(&fs.metadata(path).ok()?)?;
            let message = format!("{}; {} first", why.message(), why.remedy());
            let file = Some(self.folder.join(path.as_path()).display().to_string());
            Some(RegisterErrorRow { file, ..refusal(IssueType::UserCatalogUnsafe, String::new(), &message) })
        };
        [&self.catalog, &self.runtimes, &self.registered].into_iter().filter_map(row).collect()
    }

    pub(super) fn read(&self) -> Result<Texts, Failure> {
        let Some(fs) = &self.fs else {
            return Ok(Texts { catalog: String::new(), runtimes: String::new() });
        };
        let text = |path: &RelPath, shown: &str| match fs.read(&self.real(&**fs, path)?, LIMIT * 16) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
                let message = format!("{shown}: the file is not UTF-8 text");
                Failure::new(ErrorKind::InvalidConfig, message)
            }),
            Err(error) if error.is_not_found() => Ok(String::new()),
            Err(error) => Err(self.with_shown_path(error).into()),
        };
        Ok(Texts {
            catalog: text(&self.catalog, &self.paths.catalog)?,
            runtimes: text(&self.runtimes, &self.paths.runtimes)?,
        })
    }

    /// Resolves a path of the level. A link of the user is kept, and its target is written, if the target is a file of
    /// the level.
    fn real(&self, fs: &dyn Fs, path: &RelPath) -> Result<RelPath, Failure> {
        // Nothing of the project is written outside of the directory of its catalog.
        let home = (self.level != Level::User).then(|| self.catalog.parent());
        let is_at_home =
            |real: &RelPath| home.as_ref().is_none_or(|home| real.as_path().starts_with(home.as_path()));
        let target = match fs.resolve(path.as_str(), None).map_err(|error| self.with_shown_path(error))? {
            Location::Inside(real) if is_at_home(&real) => return Ok(real),
            Location::Inside(real) => self.folder.join(real.as_path()),
            Location::Outside(target) => target,
        };
        let message = format!(
            "cannot write {}: it is a link to {}, which leads out of {}; write the entry into that file, or put a copy \
             of it in place of the link",
            self.folder.join(path.as_path()).display(),
            target.display(),
            home.map_or_else(|| self.folder.clone(), |home| self.folder.join(home.as_path())).display()
        );
        Err(Failure::new(ErrorKind::Environment, message).coded(ErrorCode::PathOutside))
    }

    /// Writes all files, or none. The catalog is written last, so that a crash leaves no tool without its runtime. A
    /// disabled runtime without a tool has no effect.
    pub(super) fn write(&self, before: &Texts, after: &Texts) -> Result<(), Failure> {
        let Some(fs) = &self.fs else { return Ok(()) };
        let (catalog, runtimes) = (self.real(&**fs, &self.catalog)?, self.real(&**fs, &self.runtimes)?);
        let changed =
            [(runtimes, &before.runtimes, &after.runtimes), (catalog, &before.catalog, &after.catalog)];
        let changed = changed.into_iter().filter(|(_, before, after)| before != after);
        let changed = changed.map(|(path, _, text)| (path, text.clone().into(), FileMode::KeepOr(0o600)));
        let files: Vec<NewFile> = self.remembered(&**fs, after)?.into_iter().chain(changed).collect();
        write_together(&**fs, &files, LIMIT * 16).map_err(|error| self.with_shown_path(error))?;
        Ok(())
    }

    /// Makes the path of a user's file absolute in an error. It is relative to a directory that messages do not show.
    fn with_shown_path(&self, error: FsError) -> FsError {
        if self.level == Level::User { error.below(&self.folder) } else { error }
    }
}

/// Returns the file of definitions beside a file of runtimes.
fn registered_file(runtimes: &RelPath) -> RelPath {
    runtimes.parent().join(REGISTERED).expect("a name is a path")
}
