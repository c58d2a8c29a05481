//! Files written after the journal, for people and other programs: the state file, supervisor files, the activity log,
//! `passes` in the PRD, learnings and backlog. Each can be deleted, and is then written again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use brigade_core::json::{from_json, to_json};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_fs::{
    FileKind, FileMode, Fs, FsError, FsErrorKind, Location, Lock, OrAbsent, RelPath, WriteFile,
};
use brigade_kitchen::life::{ForeignState, Life, Line, Record};
use brigade_kitchen::prd::{ValidPrd, set_passes};
use brigade_kitchen::show::{
    EventLine, StateFile, TaskNote, View, activity, brief, events, list_entries, list_with,
};
use brigade_kitchen::{PrdName, TaskId, Tier};
use brigade_redact::Redactor;
use serde::Deserialize;

use crate::lock::HOLDER;
use crate::paths::KITCHEN;

/// The maximum size of a file that is read before it is rewritten.
const MAX_FILE: u64 = 64 << 20;

/// How long to wait for another service that writes the same lists.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum length of a line in a file that lines are appended to.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The paths of a PRD's derived files.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    prd: RelPath,
    state: RelPath,
    status: Option<RelPath>,
    events: Option<RelPath>,
    activity: Option<RelPath>,
    learnings: RelPath,
    backlog: RelPath,
}

/// Identifies the record of a line in the events file. The event may be one of a newer version.
#[derive(Deserialize)]
struct EventKey {
    prd: String,
    seq: u64,
}

/// Writes the derived files of a PRD.
pub(crate) struct Projections {
    fs: Arc<dyn Fs>,
    name: PrdName,
    targets: Targets,
    redactor: Redactor,
    offset: i32,
    learnings_max: usize,
    /// Files that were not written, each with its first error.
    failed: BTreeMap<String, String>,
    /// Files to which lines were appended.
    appended: HashSet<RelPath>,
}

/// Returns the path of a configured file; `None` if it is off or outside of the workspace.
pub(crate) fn configured_path(fs: &dyn Fs, path: &str, prefix: Option<&PrdName>) -> Option<RelPath> {
    if path.is_empty() {
        return None;
    }
    let Ok(Location::Inside(path)) = fs.resolve(path, None) else { return None };
    match prefix {
        Some(name) => path.parent().join(&format!("{}-{}", name.prefix(), path.name())).ok(),
        None => Some(path),
    }
}

/// The key for the directory of named logs.
const LOG_DIR: &str = "worker_log_dir";

/// The key for the file with answers of a supervisor.
const COMMAND_FILE: &str = "supervisor_cmd_file";

/// Why such a file is not read at another place.
const NOT_CLOSED: &str = "agents can write this path, so no answer is read from it; the file belongs below \
    `.brigade` now, for example at `.brigade/kitchen/command.json`";

/// Lists configured paths that cannot be used: they are outside of the workspace, something else has the name, or
/// agents could write the file. Returns the keys and the reasons.
pub(crate) fn unusable_paths(
    fs: &dyn Fs,
    settings: &brigade_kitchen::config::Settings,
) -> Vec<(&'static str, &'static str)> {
    let paths = [
        ("supervisor_status_file", &settings.supervisor_status_file),
        ("supervisor_events_file", &settings.supervisor_events_file),
        (COMMAND_FILE, &settings.supervisor_cmd_file),
        ("activity_log", &settings.activity_log),
        (LOG_DIR, &settings.worker_log_dir),
    ];
    let problem = |key: &str, path: &str| match configured_path(fs, path, None) {
        None if path.is_empty() => None,
        None => Some("the path leads out of the workspace, so the setting has no effect"),
        Some(path) if key == COMMAND_FILE && !is_closed_to_agents(fs, &path, settings) => Some(NOT_CLOSED),
        Some(path) if key == LOG_DIR => {
            let is_taken = fs.metadata(&path).is_ok_and(|found| found.kind != FileKind::Directory);
            is_taken.then_some("a file has this name, so the setting has no effect; name a folder")
        }
        Some(_) => None,
    };
    paths.into_iter().filter_map(|(key, path)| Some((key, problem(key, path)?))).collect()
}

/// Returns whether no worker and no agent can write a file: it is below `.brigade`, and not in a worktree, a lane or a
/// volume.
pub(crate) fn is_closed_to_agents(
    fs: &dyn Fs,
    path: &RelPath,
    settings: &brigade_kitchen::config::Settings,
) -> bool {
    let is_in_worktree = match fs.resolve(&settings.worktree_path, None) {
        Ok(Location::Inside(worktrees)) => path.as_path().starts_with(worktrees.as_path()),
        Ok(Location::Outside(_)) | Err(_) => false,
    };
    let path = path.as_path();
    path.starts_with(".brigade") && !path.starts_with(".brigade/tools") && !is_in_worktree
}

impl Targets {
    pub(crate) fn new(
        fs: &dyn Fs,
        prd: &RelPath,
        name: &PrdName,
        settings: &brigade_kitchen::config::Settings,
    ) -> Targets {
        let prefix = settings.supervisor_prd_scoped.then_some(name);
        let beside = |file: &str| prd.parent().join(file);
        let state = beside(&name.state_file()).unwrap_or_else(|_| prd.clone());
        Targets {
            learnings: beside(&settings.learnings_file).unwrap_or_else(|_| state.clone()),
            backlog: beside(&settings.backlog_file).unwrap_or_else(|_| state.clone()),
            prd: prd.clone(),
            state,
            status: configured_path(fs, &settings.supervisor_status_file, prefix),
            events: configured_path(fs, &settings.supervisor_events_file, prefix),
            activity: configured_path(fs, &settings.activity_log, None),
        }
    }

    /// Lists the files that Brigade writes in the workspace. They never count as changed by a task.
    pub(crate) fn own_files(&self) -> Vec<String> {
        let paths = [Some(&self.prd), Some(&self.state), Some(&self.learnings), Some(&self.backlog)];
        let optional = [self.status.as_ref(), self.events.as_ref(), self.activity.as_ref()];
        paths.into_iter().chain(optional).flatten().map(ToString::to_string).collect()
    }
}

impl Projections {
    pub(crate) fn new(
        fs: Arc<dyn Fs>,
        name: PrdName,
        targets: Targets,
        redactor: Redactor,
        offset: i32,
        learnings_max: u64,
    ) -> Projections {
        let learnings_max = usize::try_from(learnings_max).unwrap_or(usize::MAX);
        Projections {
            fs,
            name,
            targets,
            redactor,
            offset,
            learnings_max,
            failed: BTreeMap::new(),
            appended: HashSet::new(),
        }
    }

    /// Writes to other files from now on, because settings changed. New files begin with what they lack.
    pub(crate) fn retarget(&mut self, targets: Targets, learnings_max: u64) {
        self.targets = targets;
        self.learnings_max = usize::try_from(learnings_max).unwrap_or(usize::MAX);
    }

    /// Records a failed write for the report.
    pub(crate) fn written(&mut self, path: &RelPath, written: Result<(), FsError>) {
        if let Err(error) = written {
            self.is_not_written(path, error.kind.to_string());
        }
    }

    fn is_not_written(&mut self, path: &RelPath, why: String) {
        if let Entry::Vacant(first) = self.failed.entry(path.to_string()) {
            tracing::warn!(file = %path, why, "a file for people and other programs is not written");
            first.insert(why);
        }
    }

    /// Lists the files that were not written completely.
    pub(crate) fn issues(&self) -> impl Iterator<Item = String> {
        self.failed.iter().map(|(path, why)| format!("`{path}` was not written: {why}"))
    }

    fn replace(&mut self, path: &RelPath, bytes: &[u8]) {
        let written = self.fs.create_dir_all(&path.parent()).and_then(|()| self.fs.write_cache(path, bytes));
        self.written(path, written);
    }

    fn append(&mut self, path: &RelPath, text: &str) {
        let is_first = self.appended.insert(path.clone());
        let append = || -> Result<(), FsError> {
            self.fs.create_dir_all(&path.parent())?;
            let torn = if is_first { torn_line(&*self.fs, path)? } else { FileEnd::Nothing };
            let mut file = open_or_create(&*self.fs, path)?;
            if let FileEnd::From(offset) = torn {
                file.truncate(offset)?;
            }
            let length = file.length()?;
            let begin = if torn == FileEnd::NoLineFeed { "\n" } else { "" };
            file.write(format!("{begin}{text}").as_bytes()).inspect_err(|_| {
                // A partial line would corrupt the next one.
                let _ = file.truncate(length);
            })
        };
        let written = append();
        self.written(path, written);
    }

    /// Writes all files for new records. `view` is the state after the records. Returns the events. If the events file
    /// is missing, it is written again from `all` records.
    pub(crate) fn after(
        &mut self,
        view: &View<'_>,
        lines: &[Line],
        all: &dyn Fn() -> Result<Vec<Line>, FsError>,
    ) -> Vec<EventLine> {
        self.state(view.life);
        self.status(view);
        let happened: Vec<EventLine> =
            lines.iter().flat_map(|line| events(&self.name, view.prd, view.life, line)).collect();
        if self.lacks_events() {
            self.write_missed_events(view.prd, all, 0);
        } else if let Some(path) = self.targets.events.clone() {
            let text: String = happened.iter().map(|event| self.event_text(event)).collect();
            if !text.is_empty() {
                self.append(&path, &text);
            }
        }
        if let Some(path) = self.targets.activity.clone() {
            let text: String = lines
                .iter()
                .filter_map(|line| self.activity(view.life, line))
                .map(|line| line + "\n")
                .collect();
            if !text.is_empty() {
                self.append(&path, &text);
            }
        }
        happened
    }

    /// Returns whether an events file is missing.
    pub(crate) fn lacks_events(&self) -> bool {
        self.targets.events.as_ref().is_some_and(|path| matches!(self.fs.exists(path), Ok(false)))
    }

    /// Returns the number of the last record in the events file, as found at its end.
    pub(crate) fn last_written_seq(&self) -> Option<u64> {
        let file = self.fs.open(self.targets.events.as_ref()?).ok()?;
        let from = file.len().ok()?.saturating_sub(MAX_LINE_BYTES);
        let tail = file.read_range(from, usize::try_from(MAX_LINE_BYTES).unwrap_or(usize::MAX)).ok()?;
        tail.rsplit(|byte| *byte == b'\n').find_map(|line| {
            let key: EventKey = from_json(&Json::parse_bytes(line, Dialect::Strict).ok()?).ok()?;
            (key.prd == self.name.prefix()).then_some(key.seq)
        })
    }

    /// Writes the events of records after a number, which the events file lacks.
    pub(crate) fn write_missed_events(
        &mut self,
        prd: &ValidPrd,
        all: &dyn Fn() -> Result<Vec<Line>, FsError>,
        seq: u64,
    ) {
        let Some(path) = self.targets.events.clone() else { return };
        let lines = match all() {
            Ok(lines) => lines,
            Err(error) => return self.written(&path, Err(error)),
        };
        let (mut life, mut text) = (Life::default(), String::new());
        for line in &lines {
            life.seq = line.seq;
            life.apply(line.at, &line.record);
            if seq < line.seq {
                let happened = events(&self.name, prd, &life, line);
                text.extend(happened.iter().map(|event| self.event_text(event)));
            }
        }
        if !text.is_empty() {
            self.append(&path, &text);
        }
    }

    fn event_text(&self, event: &EventLine) -> String {
        let json = to_json(event).unwrap_or_default();
        self.redactor.redact_json(&json).to_compact() + "\n"
    }

    /// Writes an event that has no record.
    pub(crate) fn event(&mut self, event: &EventLine) {
        if let Some(path) = self.targets.events.clone() {
            let text = self.event_text(event);
            self.append(&path, &text);
        }
    }

    fn state(&mut self, life: &Life) {
        let path = self.targets.state.clone();
        let text = StateFile::from_life(life).to_text();
        let masked = self.redactor.redact_str(&text);
        // A value outside of JSON strings, such as a number, is masked as a string.
        let text = match (Json::parse(&masked), Json::parse(&text)) {
            (Err(_), Ok(json)) => self.redactor.redact_json(&json).to_pretty() + "\n",
            _ => masked,
        };
        self.replace(&path, text.as_bytes());
    }

    pub(crate) fn status(&mut self, view: &View<'_>) {
        if let Some(path) = self.targets.status.clone() {
            let json = to_json(&brief(view)).unwrap_or_default();
            let text = ordered(&json, &self.redactor);
            self.replace(&path, text.as_bytes());
        }
    }

    fn activity(&self, life: &Life, line: &Line) -> Option<String> {
        let (at, offset, name) = (line.at, self.offset, &self.name);
        let tier_of = |task: &TaskId| life.tasks.get(task).and_then(|own| own.tier).unwrap_or(Tier::Line);
        match &line.record {
            Record::TaskEnded { task, outcome, reason, .. } if !outcome.is_done() => {
                let why = self.redactor.redact_str(reason.as_deref().unwrap_or(outcome.as_str()));
                Some(activity(at, offset, name, task, tier_of(task), TaskNote::Failed(&why)))
            }
            Record::TaskEnded { task, .. } => {
                let own = life.task(task);
                let seconds = own.started_at.map_or(0, |started| at.since(started).as_secs());
                Some(activity(at, offset, name, task, tier_of(task), TaskNote::Done(seconds)))
            }
            Record::Escalated { task, from, to, reason } => {
                let why = self.redactor.redact_str(reason);
                Some(activity(at, offset, name, task, *from, TaskNote::Escalated(*to, &why)))
            }
            _ => None,
        }
    }

    /// Writes activity lines for running attempts.
    pub(crate) fn working(&mut self, now: Timestamp, running: &[(TaskId, Tier, u64)]) {
        let Some(path) = self.targets.activity.clone() else { return };
        let line = |(task, tier, seconds): &(TaskId, Tier, u64)| {
            activity(now, self.offset, &self.name, task, *tier, TaskNote::Working(*seconds)) + "\n"
        };
        let text: String = running.iter().map(line).collect();
        if !text.is_empty() {
            self.append(&path, &text);
        }
    }

    /// Writes a line to the activity log.
    pub(crate) fn note(&mut self, text: &str) {
        if let Some(path) = self.targets.activity.clone() {
            self.append(&path, &format!("{text}\n"));
        }
    }

    /// Sets `passes` of every finished task. Everything else in the PRD is unchanged. Returns the fingerprints before
    /// and after, if the file was written.
    pub(crate) fn passes(
        &mut self,
        prd: &ValidPrd,
        life: &Life,
        known: &mut HashSet<TaskId>,
    ) -> Option<(Fingerprint, Fingerprint)> {
        let is_open = |task: &&brigade_kitchen::prd::Task| !task.passes && life.is_done(&task.id);
        let due: Vec<TaskId> = prd
            .tasks
            .iter()
            .filter(is_open)
            .map(|task| task.id.clone())
            .filter(|task| !known.contains(task))
            .collect();
        if due.is_empty() {
            return None;
        }
        let path = self.targets.prd.clone();
        let set = || -> Result<(Fingerprint, Fingerprint), FsError> {
            let before = self.fs.read(&path, MAX_FILE)?;
            let mut bytes = before.clone();
            for task in &due {
                // A task that was removed or duplicated has no `passes` to set.
                if let Ok(set) = set_passes(&bytes, task) {
                    bytes = set;
                }
            }
            if bytes != before {
                self.fs.write_atomic(&path, &bytes, FileMode::KeepOr(0o644))?;
            }
            Ok((Fingerprint::of_bytes(&before), Fingerprint::of_bytes(&bytes)))
        };
        match set() {
            Ok(written) => {
                known.extend(due);
                Some(written)
            }
            Err(error) => {
                self.written(&path, Err(error));
                None
            }
        }
    }

    /// Returns the learnings, the newest first.
    pub(crate) fn learnings(&self) -> Vec<String> {
        let mut entries = self.entries(&self.targets.learnings);
        entries.reverse();
        entries
    }

    /// Moves the learnings to `archive/`, under the name of the PRD.
    pub(crate) fn archive_learnings(&mut self) {
        let path = self.targets.learnings.clone();
        let archive = || -> Result<(), FsError> {
            let _lock = self.lock_lists()?;
            // Only a regular file is moved.
            if self.fs.link_metadata(&path).or_absent()?.is_none_or(|found| found.kind != FileKind::File) {
                return Ok(());
            }
            let folder = path.parent().join("archive").expect("a name in a directory is a path");
            self.fs.create_dir_all(&folder)?;
            for number in 1.. {
                let number = if number == 1 { String::new() } else { format!("-{number}") };
                let name = format!("{}{number}-{}", self.name, path.name());
                let aside = folder.join(&name).expect("a name in a directory is a path");
                if !self.fs.exists(&aside)? {
                    return self.fs.rename(&path, &aside);
                }
            }
            Ok(())
        };
        let archived = archive();
        self.written(&path, archived);
    }

    fn entries(&self, path: &RelPath) -> Vec<String> {
        let bytes = self.fs.read(path, MAX_FILE).unwrap_or_default();
        String::from_utf8(bytes).map(|text| list_entries(&text)).unwrap_or_default()
    }

    /// Adds learnings and findings, masked and without duplicates.
    pub(crate) fn keep(&mut self, learned: &[String], found: &[String]) {
        let lists = [
            (self.targets.learnings.clone(), "# Learnings", learned, self.learnings_max),
            (self.targets.backlog.clone(), "# Backlog", found, usize::MAX),
        ];
        for (path, title, new, most) in lists {
            let new: Vec<String> = new.iter().map(|text| self.redactor.redact_str(text.trim())).collect();
            if new.is_empty() {
                continue;
            }
            match self.add_to_list(&path, title, &new, most) {
                Ok(ListOutcome::InFile) => {}
                Ok(ListOutcome::NoText) => self.is_not_written(&path, "it is not UTF-8 text".to_owned()),
                Err(error) => self.written(&path, Err(error)),
            }
        }
    }

    fn add_to_list(
        &self,
        path: &RelPath,
        title: &str,
        new: &[String],
        most: usize,
    ) -> Result<ListOutcome, FsError> {
        let _lock = self.lock_lists()?;
        let bytes = self.fs.read(path, MAX_FILE).or_absent()?.unwrap_or_default();
        let Ok(text) = String::from_utf8(bytes) else { return Ok(ListOutcome::NoText) };
        let Some(with) = list_with(&text, title, new, most) else { return Ok(ListOutcome::InFile) };
        self.fs.create_dir_all(&path.parent())?;
        match with.strip_prefix(&text) {
            Some(added) => append_whole(&*self.fs, path, added.as_bytes())?,
            None => self.fs.write_atomic(path, with.as_bytes(), FileMode::KeepOr(0o600))?,
        }
        Ok(ListOutcome::InFile)
    }

    /// Waits for other services that write the same lists.
    fn lock_lists(&self) -> Result<Lock, FsError> {
        let folder = RelPath::from_static(KITCHEN);
        self.fs.create_dir_all(&folder)?;
        let path = folder.join("lists.lock").expect("a file name in a directory is a path");
        self.fs.lock(&path, HOLDER, LOCK_TIMEOUT)
    }
}

/// The result of adding entries.
enum ListOutcome {
    /// The file has the entries.
    InFile,
    /// The file is unchanged, because it is not text.
    NoText,
}

fn open_or_create(fs: &dyn Fs, path: &RelPath) -> Result<Box<dyn WriteFile>, FsError> {
    fs.open_append(path).or_absent()?.map_or_else(|| fs.create(path, 0o600), Ok)
}

/// Appends all bytes, or none.
fn append_whole(fs: &dyn Fs, path: &RelPath, bytes: &[u8]) -> Result<(), FsError> {
    let mut file = open_or_create(fs, path)?;
    let length = file.length()?;
    file.write(bytes).inspect_err(|_| {
        let _ = file.truncate(length);
    })
}

/// The end of a file that lines are appended to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileEnd {
    /// A complete line, or the file is empty.
    Nothing,
    /// A line of Brigade that a crash cut off, from this offset.
    From(u64),
    /// Other text without a line feed.
    NoLineFeed,
}

fn torn_line(fs: &dyn Fs, path: &RelPath) -> Result<FileEnd, FsError> {
    let Some(file) = fs.open(path).or_absent()? else { return Ok(FileEnd::Nothing) };
    let from = file.len()?.saturating_sub(MAX_LINE_BYTES);
    let tail = file.read_range(from, usize::try_from(MAX_LINE_BYTES).unwrap_or(usize::MAX))?;
    if tail.last().is_none_or(|last| *last == b'\n') {
        return Ok(FileEnd::Nothing);
    }
    let begin = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let is_ours = tail[begin..].starts_with(b"{") && (0 < begin || from == 0);
    let is_torn = is_ours && Json::parse_bytes(&tail[begin..], Dialect::Strict).is_err();
    Ok(if is_torn { FileEnd::From(from + begin as u64) } else { FileEnd::NoLineFeed })
}

fn ordered(json: &Json, redactor: &Redactor) -> String {
    const ORDER: [&str; 7] = ["done", "total", "current", "worker", "elapsed", "attention", "reason"];
    let json = redactor.redact_json(json);
    let members =
        ORDER.iter().filter_map(|name| Some(format!("\"{name}\":{}", json.get(name)?.to_compact())));
    format!("{{{}}}\n", members.collect::<Vec<_>>().join(","))
}

/// The state file of another program. It is adopted if there is no journal.
pub(crate) enum ForeignStateFile {
    /// It does not exist.
    None,
    /// Its content.
    State(ForeignState),
    /// It is invalid.
    Unusable(UnusableState),
}

/// An invalid state file.
pub(crate) struct UnusableState {
    path: RelPath,
    /// What is wrong, without a final stop.
    problem: String,
    /// Whether it is a readable file, so that it can be kept.
    is_file: bool,
}

impl std::fmt::Display for UnusableState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is ignored: {}", self.path, self.problem)
    }
}

impl UnusableState {
    /// Renames the file before a new one is written in its place. Returns a note for people.
    pub(crate) fn set_aside(&self, fs: &dyn Fs) -> Result<Option<String>, FsError> {
        if !self.is_file {
            return Ok(None);
        }
        for number in 1.. {
            let name = format!("{}.damaged-{number}", self.path.name());
            let aside = self.path.parent().join(&name).expect("a file name with a suffix is a file name");
            if !fs.exists(&aside)? {
                fs.rename(&self.path, &aside)?;
                return Ok(Some(format!("{self}; it is kept as `{aside}`")));
            }
        }
        Ok(None)
    }
}

/// Reads the state file next to a PRD.
pub(crate) fn foreign_state(fs: &dyn Fs, prd: &RelPath, name: &PrdName) -> Result<ForeignStateFile, FsError> {
    let Ok(path) = prd.parent().join(&name.state_file()) else { return Ok(ForeignStateFile::None) };
    let unusable = |problem, is_file| {
        Ok(ForeignStateFile::Unusable(UnusableState { path: path.clone(), problem, is_file }))
    };
    match fs.read(&path, MAX_FILE) {
        Ok(bytes) => match ForeignState::read(&bytes) {
            Ok(state) => Ok(ForeignStateFile::State(state)),
            Err(problem) => unusable(problem, true),
        },
        Err(error) if error.is_not_found() => Ok(ForeignStateFile::None),
        Err(error) => match error.kind {
            FsErrorKind::TooLarge { .. } => unusable(error.kind.to_string(), true),
            FsErrorKind::NotAFile | FsErrorKind::Outside | FsErrorKind::DanglingLink => {
                unusable(error.kind.to_string(), false)
            }
            _ => Err(error),
        },
    }
}
