//! The map of the code base: scans the files, writes the map, and updates it for `plan`.

use std::sync::Arc;

use brigade_core::{ErrorCode, ErrorKind, NextStep};
use brigade_fs::{FileKind, FileMode, Fs, FsError, FsErrorKind, Location, RelPath};
use brigade_kitchen::PrdName;
use brigade_kitchen::config::Settings;
use brigade_kitchen::map::{
    CodeMap, EarlierMap, KitchenMapReport, MAP_FILE, Survey, draw, excerpt, is_generated, is_wanted,
};
use brigade_kitchen::plan::{OtherPrd, line, related};
use brigade_kitchen::prd::{Lints, Prd, read};
use brigade_kitchen::prompt;
use brigade_kitchen::signal::{Exit, Role, mapped, missing_verdict_reason};
use brigade_policy::Failure;
use brigade_process::CancelToken;

use crate::executive::ExecutiveRequest;
use crate::gather::leads_out;
use crate::git::repository::Repository;
use crate::in_place::ignore::Rules;
use crate::init::TASKS;
use crate::kitchen::Kitchen;
use crate::workplace::PlaceError;

/// Limits of a scan: the number of files and directories, and their depth.
const MAX_FILES: usize = 50_000;
const MAX_FOLDERS: usize = 10_000;
const MAX_DEPTH: usize = 40;

/// The maximum number of entries in one directory.
const MAX_ENTRIES: usize = 20_000;

/// The maximum size of a manifest, and the number that is read.
const MANIFEST_LIMIT: u64 = 256 << 10;
const MAX_MANIFESTS: usize = 500;

/// The maximum size of a map or a `.gitignore`.
const MAP_LIMIT: u64 = 1 << 20;

/// How much of the map goes into a worker's prompt.
const EXCERPT: usize = 6 << 10;

/// How much of the map goes into the prompt for planning.
const PLAN_EXCERPT: usize = 24 << 10;

/// The maximum number of other PRDs that are read, and their maximum size.
const MAX_OTHERS: usize = 50;
const OTHER_LIMIT: u64 = 4 << 20;

/// The options of `map`.
#[derive(Clone, Debug, Default)]
pub struct MapRequest {
    /// The file; without one, [`MAP_FILE`].
    pub file: Option<RelPath>,
    /// Whether the executive adds a part.
    pub worker: bool,
    /// Whether to replace a file that Brigade did not write.
    pub may_replace: bool,
    /// Cancels the executive.
    pub cancel: Option<CancelToken>,
}

/// The parts of prompts that are not about the task: an excerpt of the map, and related PRDs.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptContext {
    pub(crate) map: Option<String>,
    pub(crate) related: Vec<String>,
}

/// A file that may be a map.
enum MapFile {
    Nothing,
    Ours(EarlierMap),
    Foreign,
}

/// The git commit of the workspace.
struct GitPosition {
    repository: Option<Repository>,
    commit: Option<String>,
    /// Why the commit is unknown.
    problem: Option<String>,
}

impl GitPosition {
    fn read(kitchen: &Kitchen<'_>) -> GitPosition {
        let opened = Repository::open(&*kitchen.fs, kitchen.environment);
        let (repository, problem) = match opened {
            Ok(repository) => (Some(repository), None),
            Err(PlaceError::WithoutGit(_)) => (None, None),
            Err(error) => (None, Some(format!("the commit is not known: {error}"))),
        };
        let head = repository.as_ref().and_then(|repository| repository.commit_of("HEAD").ok()?);
        GitPosition { commit: head.map(|commit| commit.to_string()), repository, problem }
    }

    /// Returns the number of commits since an ancestor; `None` if it is not an ancestor.
    fn behind(&self, commit: &str) -> Option<u64> {
        let repository = self.repository.as_ref()?;
        let order = repository.git.order("rev-list").in_dirs(&repository.git_dirs());
        let order = order.words(["--count", "--end-of-options"]).word(format!("{commit}..HEAD"));
        let answer = order.ask().ok().filter(|answer| answer.code == Some(0))?;
        answer.text().ok()?.trim().parse().ok()
    }
}

impl Kitchen<'_> {
    /// Writes the map of the code base. Parts that the executive and people wrote are kept.
    ///
    /// # Errors
    /// Fails if Brigade did not write the existing file, the executive is not approved or gives no result, or on a disk
    /// error.
    pub fn map(&self, request: &MapRequest) -> Result<KitchenMapReport, Failure> {
        let path = match &request.file {
            Some(file) => self.inside(file)?,
            None => RelPath::from_static(MAP_FILE),
        };
        let mut known = match self.found_map(&path)? {
            MapFile::Nothing => EarlierMap::default(),
            MapFile::Ours(known) => known,
            MapFile::Foreign if request.may_replace => EarlierMap::default(),
            MapFile::Foreign => {
                let message = format!("`{path}` exists and was not written by Brigade");
                let failure = Failure::new(ErrorKind::Usage, message).coded(ErrorCode::FileExists);
                return Err(failure.hint(NextStep::Replace));
            }
        };
        let executive = if request.worker { Some(self.executive()?) } else { None };
        let position = GitPosition::read(self);
        let map = self.draw_map(&position)?;
        let mut run = None;
        let mut was_interrupted = false;
        if let Some(executive) = &executive {
            let facts = map.text(&EarlierMap::default());
            let closed = self.closed_prds()?;
            let ask = ExecutiveRequest {
                role: Role::Map,
                number: 1,
                closed: &closed,
                cancel: request.cancel.as_ref(),
                map: None,
                related: &[],
            };
            let reply = executive.ask(&ask, &|input| prompt::map(input, &facts))?;
            let evidence = reply.attempted.evidence();
            was_interrupted = evidence.exit == Exit::Interrupted;
            match mapped(&evidence) {
                Some(text) => {
                    let text = executive.host.redactor().for_output().redact_str(&text);
                    known.set_worker(map.commit.as_deref(), &text);
                    run = Some(reply.run.to_string());
                }
                None if was_interrupted => {}
                None => {
                    let why = missing_verdict_reason(&evidence);
                    return Err(executive
                        .failed(&reply.run, format!("the executive wrote no part of the map: {why}")));
                }
            }
        }
        self.write_map(&path, &map, &known)?;
        let mut report = KitchenMapReport::new(self.target(), path.to_string(), &map);
        report.has_worker_part = known.worker.is_some();
        report.interrupted = was_interrupted;
        report.run = run;
        report.notes.extend(position.problem);
        Ok(report)
    }

    /// Resolves the path of a file in the workspace.
    pub(crate) fn inside(&self, file: &RelPath) -> Result<RelPath, Failure> {
        match self.fs.resolve(file.as_str(), None)? {
            Location::Inside(file) => Ok(file),
            Location::Outside(_) => Err(leads_out(file)),
        }
    }

    fn found_map(&self, path: &RelPath) -> Result<MapFile, FsError> {
        match self.fs.read(path, MAP_LIMIT) {
            Ok(bytes) => Ok(String::from_utf8(bytes)
                .ok()
                .and_then(|text| EarlierMap::read(&text))
                .map_or(MapFile::Foreign, MapFile::Ours)),
            Err(error) if matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory) => {
                Ok(MapFile::Nothing)
            }
            Err(error) if matches!(error.kind, FsErrorKind::TooLarge { .. }) => Ok(MapFile::Foreign),
            Err(error) => Err(error),
        }
    }

    fn draw_map(&self, position: &GitPosition) -> Result<CodeMap, FsError> {
        let mut scan = SurveyScan { fs: &self.fs, found: Survey::default(), folders: 0 };
        let mut rules = Rules::default();
        if let Ok(exclude) = self.fs.read(&RelPath::from_static(".git/info/exclude"), MAP_LIMIT) {
            rules.add(b"", &exclude);
        }
        scan.folder(&RelPath::root(), &rules, 0)?;
        let mut survey = scan.found;
        survey.paths.sort();
        survey.commit.clone_from(&position.commit);
        Ok(draw(&survey))
    }

    fn write_map(&self, path: &RelPath, map: &CodeMap, known: &EarlierMap) -> Result<(), Failure> {
        self.create_shared_dir(path.parent().as_str())?;
        let text = self.redactor(&self.configuration()?).redact_str(&map.text(known));
        self.fs.write_atomic(path, text.as_bytes(), FileMode::KeepOr(0o644))?;
        Ok(())
    }

    /// Updates the map if it is missing or too many commits old. Returns the excerpt for planning, and notes.
    pub(crate) fn map_for_plan(&self, settings: &Settings) -> Result<(Option<String>, Vec<String>), Failure> {
        let path = RelPath::from_static(MAP_FILE);
        let mut notes = Vec::new();
        let limit = settings.map_stale_commits;
        let found = self.found_map(&path)?;
        if 0 < limit && !matches!(found, MapFile::Foreign) {
            let position = GitPosition::read(self);
            let (why, known) = match found {
                MapFile::Ours(known) => {
                    let behind = known.commit.as_deref().map(|commit| position.behind(commit));
                    let why = match behind {
                        Some(Some(behind)) if behind < limit => None,
                        Some(Some(behind)) => Some(format!("it was {behind} commits old")),
                        Some(None) => Some("its commit is not an ancestor of the current one".to_owned()),
                        None if position.commit.is_none() => None,
                        None => Some("it was made without a commit".to_owned()),
                    };
                    (why, known)
                }
                MapFile::Nothing | MapFile::Foreign => {
                    (Some("it was missing".to_owned()), EarlierMap::default())
                }
            };
            if let Some(why) = why {
                let map = self.draw_map(&position)?;
                self.write_map(&path, &map, &known)?;
                notes.push(format!("made the map {path}: {why}"));
            }
        }
        Ok((self.map_excerpt(PLAN_EXCERPT), notes))
    }

    /// Returns the start of the map, even if a person wrote it.
    fn map_excerpt(&self, limit: usize) -> Option<String> {
        let bytes = self.fs.read(&RelPath::from_static(MAP_FILE), MAP_LIMIT).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(excerpt(&text, limit)).filter(|text| !text.trim().is_empty())
    }

    /// Returns the map excerpt and the related PRDs for prompts.
    pub(crate) fn prompt_context(&self, own: Option<(&PrdName, &Prd)>, settings: &Settings) -> PromptContext {
        let map = self.map_excerpt(EXCERPT);
        let most = usize::try_from(settings.cross_prd_max_related).unwrap_or(usize::MAX);
        if !settings.cross_prd_context_enabled || most == 0 {
            return PromptContext { map, related: Vec::new() };
        }
        let others = self.other_prds(own.map(|(name, _)| name));
        let others: Vec<OtherPrd<'_>> =
            others.iter().map(|(name, prd, done)| OtherPrd { name, prd, done: *done }).collect();
        let related = match own {
            Some((_, prd)) => related(prd, &others, most),
            None => others.iter().take(most).map(line).collect(),
        };
        PromptContext { map, related }
    }

    /// Reads the other PRDs, the newest first. Skips unreadable ones.
    fn other_prds(&self, own: Option<&PrdName>) -> Vec<(PrdName, Prd, usize)> {
        let mut candidates = self.candidates().unwrap_or_default();
        candidates.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        let mut found: Vec<(PrdName, Prd, usize)> = Vec::new();
        for candidate in candidates.into_iter().take(MAX_OTHERS) {
            let Ok(name) = PrdName::of_path(candidate.path.as_str()) else { continue };
            if own == Some(&name) || found.iter().any(|(known, ..)| *known == name) {
                continue;
            }
            let Ok(bytes) = self.fs.read(&candidate.path, OTHER_LIMIT) else { continue };
            let prd = read(candidate.path.as_str(), &bytes, Lints::NONE).prd;
            if prd.tasks.is_empty() {
                continue;
            }
            let life = self.life(&name).unwrap_or_default();
            let is_done = |task: &&brigade_kitchen::prd::Task| {
                if life.approval.is_some() { life.is_done(&task.id) } else { task.passes }
            };
            let done = prd.tasks.iter().filter(is_done).count();
            found.push((name, prd, done));
        }
        found
    }
}

struct SurveyScan<'w> {
    fs: &'w Arc<dyn Fs>,
    found: Survey,
    folders: usize,
}

impl SurveyScan<'_> {
    fn folder(&mut self, folder: &RelPath, rules: &Rules, depth: usize) -> Result<(), FsError> {
        if depth == MAX_DEPTH || MAX_FOLDERS <= self.folders || MAX_FILES <= self.found.paths.len() {
            self.found.is_cut = true;
            return Ok(());
        }
        self.folders += 1;
        let (mut entries, others) = match self.fs.list_some(folder, MAX_ENTRIES) {
            Ok(listed) => listed,
            // Only the workspace directory itself must be readable.
            Err(error) if depth == 0 => return Err(error),
            Err(_) => {
                self.found.is_cut = true;
                return Ok(());
            }
        };
        self.found.is_cut |= 0 < others;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let mut inner = None;
        if entries.iter().any(|entry| entry.name == ".gitignore" && entry.kind == FileKind::File)
            && let Ok(path) = folder.join(".gitignore")
            && let Ok(text) = self.fs.read(&path, MANIFEST_LIMIT)
        {
            let prefix = if folder.is_root() { String::new() } else { format!("{folder}/") };
            inner = Some(rules.with(prefix.as_bytes(), &text));
        }
        let rules = inner.as_ref().unwrap_or(rules);
        let beside: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for entry in &entries {
            let Ok(path) = folder.join(&entry.name) else { continue };
            let is_folder = entry.kind == FileKind::Directory;
            if rules.ignore(path.as_str().as_bytes(), is_folder) || matches!(path.as_str(), TASKS | MAP_FILE)
            {
                continue;
            }
            if is_folder {
                if !is_generated(&entry.name, &beside) {
                    self.folder(&path, rules, depth + 1)?;
                }
            } else if entry.kind == FileKind::File {
                self.file(path);
            }
        }
        Ok(())
    }

    fn file(&mut self, path: RelPath) {
        if MAX_FILES <= self.found.paths.len() {
            self.found.is_cut = true;
            return;
        }
        if is_wanted(path.as_str())
            && self.found.texts.len() < MAX_MANIFESTS
            && let Ok(bytes) = self.fs.read(&path, MANIFEST_LIMIT)
            && let Ok(text) = String::from_utf8(bytes)
        {
            self.found.texts.insert(path.to_string(), text);
        }
        self.found.paths.push(path.to_string());
    }
}
