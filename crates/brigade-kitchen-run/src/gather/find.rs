//! Finds and reads PRDs.

use std::path::Path;

use brigade_core::{ErrorCode, ErrorKind, Timestamp, closest};
use brigade_fs::{FileKind, FsError, Location, OrAbsent, RelPath};
use brigade_kitchen::approval::PrdOrigin;
use brigade_kitchen::life::{Life, Stage};
use brigade_kitchen::prd::{Lints, Prd, PrdReading, ValidPrd, read};
use brigade_kitchen::{PrdName, TaskId};
use brigade_policy::{Blocker, Failure};

use crate::journal::{JournalState, PrdJournal};
use crate::kitchen::Kitchen;
use crate::paths::PrdFiles;

/// The directories that are searched for PRDs, in this order. The empty one is the workspace.
const DIRECTORIES: [&str; 3] = ["brigade/tasks", "tasks", ""];

/// The link to the last planned PRD.
pub(crate) const LATEST: &str = "latest.json";

/// The maximum size of a PRD.
pub(crate) const PRD_LIMIT: u64 = 64 << 20;

/// The maximum number of errors that an error message repeats.
const MAX_REASONS: usize = 20;

/// A PRD file.
pub struct PrdFile {
    /// Its path, with links followed.
    pub path: RelPath,
    /// Its name.
    pub name: PrdName,
    /// How it was found.
    pub taken: PrdOrigin,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Its content.
    pub reading: PrdReading,
}

impl PrdFile {
    /// Returns the PRD if it has no errors.
    ///
    /// # Errors
    /// Returns its errors.
    pub fn valid(self) -> Result<ValidPrd, Failure> {
        let path = self.path;
        self.reading.valid().map_err(|errors| {
            let message = match errors.len() {
                1 => format!("`{path}` has an error"),
                count => format!("`{path}` has {count} errors"),
            };
            let reason = |fault: &brigade_kitchen::prd::Fault| {
                let task = fault.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
                Blocker::new(fault.code, format!("{task}{}", fault.message)).at(fault.place.clone())
            };
            Failure::new(ErrorKind::InvalidConfig, message)
                .coded(ErrorCode::PrdInvalid)
                .because(errors.iter().take(MAX_REASONS).map(reason))
        })
    }
}

/// Selects a PRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrdSearch {
    /// The one at this path.
    At(RelPath),
    /// The one in progress, or the next one to work on.
    Any,
    /// Like [`PrdSearch::Any`], or the newest one if nothing is pending.
    AnyAtAll,
}

impl PrdSearch {
    /// Returns the search of a read-only command, which also accepts a PRD whose tasks are all done.
    pub(crate) fn to_show(&self) -> PrdSearch {
        match self {
            PrdSearch::At(path) => PrdSearch::At(path.clone()),
            PrdSearch::Any | PrdSearch::AnyAtAll => PrdSearch::AnyAtAll,
        }
    }
}

/// The names of a PRD and of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrdNames {
    /// The short name.
    pub name: String,
    /// The path, relative to the workspace.
    pub path: String,
    /// The ids and titles of the tasks.
    pub tasks: Vec<(String, String)>,
}

/// A file that may be a PRD.
pub(crate) struct Candidate {
    pub(crate) path: RelPath,
    pub(crate) modified: Timestamp,
}

impl Kitchen<'_> {
    /// Returns the search for a typed path. A relative path is looked up in `directory`, then in the workspace. A word
    /// may also be the name of a PRD, such as `calc` for `prd-calc.json`, or `calc/T3` for one of its tasks.
    ///
    /// # Errors
    /// Fails if the path leads out of the workspace, or on a disk error.
    pub fn search(&self, typed: Option<&Path>, directory: Option<&Path>) -> Result<PrdSearch, Failure> {
        let Some(typed) = typed else { return Ok(PrdSearch::Any) };
        let outside = || leads_out(typed.display());
        let resolve = |path: &Path| match path.to_str().map(|path| self.fs.resolve(path, None)).transpose()? {
            Some(Location::Inside(path)) => Ok::<_, FsError>(Some(path)),
            Some(Location::Outside(_)) | None => Ok(None),
        };
        if typed.is_absolute() {
            return resolve(typed)?.map(PrdSearch::At).ok_or_else(outside);
        }
        let near = directory.map(|directory| resolve(&directory.join(typed))).transpose()?.flatten();
        if let Some(path) = near.as_ref().filter(|path| self.fs.exists(path).unwrap_or(false)) {
            return Ok(PrdSearch::At(path.clone()));
        }
        let in_workspace = resolve(typed)?.filter(|path| self.fs.exists(path).unwrap_or(false));
        let named = match (&in_workspace, typed.to_str()) {
            (None, Some(word)) => self.named(word)?,
            _ => None,
        };
        in_workspace.or(named).or(near).map(PrdSearch::At).ok_or_else(outside)
    }

    /// Returns the PRD that a word names.
    fn named(&self, word: &str) -> Result<Option<RelPath>, FsError> {
        let word = word
            .split_once('/')
            .filter(|(_, task)| task.parse::<TaskId>().is_ok())
            .map_or(word, |(prd, _)| prd);
        let named = self.candidates()?.into_iter().find(|candidate| {
            PrdName::of_path(candidate.path.as_str())
                .is_ok_and(|name| name.as_str() == word || name.prefix() == word)
        });
        Ok(named.map(|candidate| candidate.path))
    }

    /// Returns the names of the PRDs and of their tasks.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn names(&self) -> Result<Vec<PrdNames>, Failure> {
        let read = |candidate: Candidate| self.prd_at(&candidate.path, PrdOrigin::Named, Lints::NONE).ok();
        let names = |found: PrdFile| PrdNames {
            name: found.name.prefix().to_owned(),
            path: found.path.to_string(),
            tasks: found
                .reading
                .prd
                .tasks
                .into_iter()
                .map(|task| (task.id.to_string(), task.title))
                .collect(),
        };
        Ok(self.candidates()?.into_iter().filter_map(read).map(names).collect())
    }

    /// Returns the search for the PRD of a typed task, and the id in it: `T3` of a named PRD, `calc/T3`, or `T3` alone,
    /// which is a task of the PRD in progress, or else of the only PRD that has one with this id.
    ///
    /// # Errors
    /// Same as [`Kitchen::search`]. Also fails if several PRDs have the task, or none.
    pub fn search_task<'t>(
        &self,
        prd: Option<&Path>,
        task: &'t str,
        directory: Option<&Path>,
    ) -> Result<(PrdSearch, &'t str), Failure> {
        if prd.is_some() {
            return Ok((self.search(prd, directory)?, task));
        }
        if let Some((prd, task)) = task.rsplit_once('/') {
            return Ok((self.search(Some(Path::new(prd)), directory)?, task));
        }
        let has = |found: &PrdFile| found.reading.prd.tasks.iter().any(|known| known.id.as_str() == task);
        let current = self.prd(&PrdSearch::AnyAtAll, Lints::NONE);
        if current.as_ref().is_ok_and(has) {
            return Ok((PrdSearch::AnyAtAll, task));
        }
        let read = |candidate: Candidate| self.prd_at(&candidate.path, PrdOrigin::Named, Lints::NONE).ok();
        let mut others: Vec<PrdFile> = self.candidates()?.into_iter().filter_map(read).filter(has).collect();
        match (others.len(), task.parse::<TaskId>()) {
            (1, _) => Ok((PrdSearch::At(others.remove(0).path), task)),
            (2.., Ok(id)) => {
                let named: Vec<String> = others.iter().map(|found| found.name.shown(&id)).collect();
                let failure = Failure::new(ErrorKind::Usage, format!("several PRDs have a task `{id}`"));
                Err(failure.hint(format!("name the PRD: {}", named.join(", "))))
            }
            // The error then names the tasks of the PRD in progress.
            _ => current.map(|_| (PrdSearch::AnyAtAll, task)),
        }
    }

    /// Resolves a typed path of an output file. A relative path starts in `directory`.
    ///
    /// # Errors
    /// Fails if the path leads out of the workspace, or on a disk error.
    pub fn file(&self, typed: &Path, directory: Option<&Path>) -> Result<RelPath, Failure> {
        let path = directory.map_or_else(|| typed.to_owned(), |directory| directory.join(typed));
        match path.to_str().map(|path| self.fs.resolve(path, None)).transpose()? {
            Some(Location::Inside(path)) => Ok(path),
            Some(Location::Outside(_)) | None => Err(leads_out(typed.display())),
        }
    }

    /// Reads a PRD: the named one, else the target of a valid `latest.json`, else one with an interrupted task, else
    /// the newest one with pending tasks. [`PrdSearch::AnyAtAll`] falls back to the newest one.
    ///
    /// # Errors
    /// Fails if no PRD exists, its file name is not safe, or on a disk error. A PRD with errors is also returned.
    pub fn prd(&self, search: &PrdSearch, lints: Lints) -> Result<PrdFile, Failure> {
        match search {
            PrdSearch::At(path) => self.prd_at(path, PrdOrigin::Named, lints),
            PrdSearch::Any => self.any_prd(lints, false),
            PrdSearch::AnyAtAll => self.any_prd(lints, true),
        }
    }

    /// Reads a PRD and its journal. Reads a named PRD concurrently with its journal, because both may be long.
    ///
    /// # Errors
    /// Same as [`Kitchen::prd`], and a disk error of the journal.
    pub(crate) fn prd_and_journal(
        &self,
        search: &PrdSearch,
        lints: Lints,
    ) -> Result<(PrdFile, JournalState), Failure> {
        let named = match search {
            PrdSearch::At(path) => match self.fs.resolve(path.as_str(), None) {
                Ok(Location::Inside(path)) => PrdName::of_path(path.as_str()).ok(),
                Ok(Location::Outside(_)) | Err(_) => None,
            },
            PrdSearch::Any | PrdSearch::AnyAtAll => None,
        };
        let Some(name) = named else {
            let found = self.prd(search, lints)?;
            let recorded = PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(&found.name))?;
            return Ok((found, recorded));
        };
        let read = || PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(&name));
        let (found, recorded) = std::thread::scope(|scope| {
            let journal = std::thread::Builder::new().spawn_scoped(scope, read);
            let found = self.prd(search, lints);
            // If no thread can be created, reads them one after the other.
            let recorded = match journal {
                Ok(journal) => journal.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(_) => read(),
            };
            (found, recorded)
        });
        Ok((found?, recorded?))
    }

    fn prd_at(&self, path: &RelPath, taken: PrdOrigin, lints: Lints) -> Result<PrdFile, Failure> {
        let path = self.inside(path)?;
        let Some(bytes) = self.fs.read(&path, PRD_LIMIT).or_absent()? else {
            return Err(self.missing(&path)?);
        };
        let name = PrdName::of_path(path.as_str()).map_err(|error| {
            let message = format!("`{path}` cannot be the file of a PRD: {error}");
            Failure::new(ErrorKind::InvalidConfig, message).coded(ErrorCode::PrdInvalid)
        })?;
        let reading = read(path.as_str(), &bytes, lints);
        Ok(PrdFile { path, name, taken, bytes, reading })
    }

    /// Returns the error for a missing PRD. It names the existing ones.
    fn missing(&self, path: &RelPath) -> Result<Failure, FsError> {
        let existing: Vec<String> =
            self.candidates()?.into_iter().map(|found| found.path.to_string()).collect();
        let failure = Failure::new(ErrorKind::NotFound, format!("no PRD exists at `{path}`"));
        let failure = failure.coded(ErrorCode::PrdMissing);
        let near = closest(path.as_str(), existing.iter().map(String::as_str));
        Ok(match (near, existing.first()) {
            (Some(near), _) => failure.hint(format!("did you mean `{near}`?")),
            (None, Some(_)) => failure.hint(format!("there are {}", existing.join(", "))),
            (None, None) => failure.hint(brigade_core::NextStep::InitKitchen),
        })
    }

    fn any_prd(&self, lints: Lints, also_done: bool) -> Result<PrdFile, Failure> {
        for latest in self.latest() {
            if let Ok(found) = self.prd_at(&latest, PrdOrigin::Latest, lints)
                && found.reading.errors.is_empty()
            {
                return Ok(found);
            }
        }
        let mut pending: Option<(Timestamp, PrdFile)> = None;
        let mut done: Option<(Timestamp, PrdFile)> = None;
        for candidate in self.candidates()? {
            let Ok(mut found) = self.prd_at(&candidate.path, PrdOrigin::Newest, lints) else { continue };
            let life = self.life(&found.name)?;
            if is_interrupted(&life) || self.state_names_a_task(&found) && life.seq == 0 {
                found.taken = PrdOrigin::Interrupted;
                return Ok(found);
            }
            let newest = if has_pending(&found.reading.prd, &life) { &mut pending } else { &mut done };
            if newest.as_ref().is_none_or(|(modified, _)| *modified < candidate.modified) {
                *newest = Some((candidate.modified, found));
            }
        }
        // The caller says what is wrong in a PRD that cannot be read.
        let is_broken = |found: &PrdFile| !found.reading.errors.is_empty();
        let done = done.filter(|(_, found)| also_done || is_broken(found)).map(|(modified, mut found)| {
            found.taken = PrdOrigin::Done;
            (modified, found)
        });
        pending.or(done).map(|(_, found)| found).ok_or_else(|| {
            let message =
                "there is no PRD with pending tasks in `brigade/tasks`, `tasks` or the workspace itself";
            let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::PrdMissing);
            failure.hint("name the file of one")
        })
    }

    /// Lists the links to the last planned PRD.
    pub(crate) fn latest(&self) -> impl Iterator<Item = RelPath> {
        let link = |directory| {
            RelPath::composed(directory).join(LATEST).expect("a file name in a directory is a path")
        };
        DIRECTORIES
            .iter()
            .map(move |directory| link(directory))
            .filter(|link| self.fs.exists(link).unwrap_or(false))
    }

    /// Lists the files that may be PRDs, by directory and name.
    pub(crate) fn candidates(&self) -> Result<Vec<Candidate>, FsError> {
        let mut found = Vec::new();
        for directory in DIRECTORIES {
            let directory = RelPath::composed(directory);
            let Ok(entries) = self.fs.list_dir(&directory) else { continue };
            for entry in entries {
                let is_prd = entry.name.starts_with("prd")
                    && entry.name.ends_with(".json")
                    && !entry.name.ends_with(".state.json");
                if !is_prd || !matches!(entry.kind, FileKind::File | FileKind::Link) {
                    continue;
                }
                let Ok(path) = directory.join(&entry.name) else { continue };
                let Ok(metadata) = self.fs.metadata(&path) else { continue };
                if metadata.kind == FileKind::File && PrdName::of_path(path.as_str()).is_ok() {
                    found.push(Candidate { path, modified: metadata.modified });
                }
            }
        }
        Ok(found)
    }

    /// Returns the life of a PRD. A PRD without a journal has not started.
    pub(crate) fn life(&self, name: &PrdName) -> Result<Life, FsError> {
        Ok(PrdJournal::read(&*self.fs, &self.key, &PrdFiles::new(name))?.life)
    }

    /// Returns whether the state file next to a PRD names a task that runs or waits. Another program may have written
    /// it.
    fn state_names_a_task(&self, found: &PrdFile) -> bool {
        let path = found.path.parent().join(&found.name.state_file());
        let bytes = path.ok().and_then(|path| self.fs.read(&path, PRD_LIMIT).ok());
        let json = bytes.and_then(|bytes| brigade_core::Json::parse(&String::from_utf8(bytes).ok()?).ok());
        json.is_some_and(|json| json.get("currentTask").is_some_and(|task| task.as_str().is_some()))
    }
}

/// Refuses a path outside of the workspace.
pub(crate) fn leads_out(path: impl std::fmt::Display) -> Failure {
    let message = format!("`{path}` leads out of the workspace");
    Failure::new(ErrorKind::Refused, message).coded(ErrorCode::PathOutside)
}

/// Returns whether a service ended without finishing its work.
fn is_interrupted(life: &Life) -> bool {
    life.service.as_ref().is_some_and(|service| service.ended.is_none())
        || life.tasks.values().any(|own| own.interrupted || matches!(own.stage, Stage::Attempting { .. }))
}

fn has_pending(prd: &Prd, life: &Life) -> bool {
    let is_done = |task: &brigade_kitchen::prd::Task| {
        if life.approval.is_some() { life.is_done(&task.id) } else { task.passes }
    };
    prd.tasks.iter().any(|task| !is_done(task))
}

/// Returns how the only PRD of a workspace is found. Its journal has records.
pub(crate) fn taken_alone(prd: &Prd, life: &Life) -> PrdOrigin {
    match (is_interrupted(life), has_pending(prd, life)) {
        (true, _) => PrdOrigin::Interrupted,
        (false, true) => PrdOrigin::Newest,
        (false, false) => PrdOrigin::Done,
    }
}
