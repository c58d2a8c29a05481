//! What a setup wrote, so that it can be taken back.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_fs::{FileKind, FileMode, Fs, FsError, RelPath, StagedChange, StagedFs};
use brigade_harness::{Scope, Transport};
use brigade_mcp::PINS;
use brigade_projection::unified;
use brigade_workspace::{GATEWAY, POLICY, TRUSTED, WorkspaceContext, load};
use serde::{Deserialize, Serialize};

use super::Onboarding;
use super::stage::{changed_since_shown, remove_empty};
use crate::DISCOVERED;
use crate::clients::{CONNECTED, Clients, ConnectRequest, ConnectStatus, ConnectStep};
use crate::error::{Error, ErrorKind};
use crate::report::{ConnectReport, SetupAction, SetupChange, SetupProgram, SetupReport, SetupState};
use crate::setup::init::MARKER;
use crate::setup::{GITIGNORE, Setup};

/// The file.
const RECORD: &str = ".brigade/tools/setup.json";

/// The schema id of the file, and the domain of its MAC.
const SCHEMA: &str = "brigade.setup-record.v1";

/// The largest file that is read.
const LIMIT: u64 = 64 << 20;

/// Files that are taken back each by itself. All others but pins are one catalog, and pins go only with it.
const APART: [&str; 4] = [POLICY, GATEWAY, DISCOVERED, GITIGNORE];

/// What was written, and what was there before. The MAC of this host shows that no cloned repository brought it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    schema: String,
    files: Vec<RecordedFile>,
    entries: Vec<RecordedEntry>,
    written_at: Option<Timestamp>,
    #[serde(default)]
    mac: String,
}

/// A file that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecordedFile {
    path: String,
    /// The text before; `null` if there was no file.
    before: Option<String>,
    /// The fingerprint of what was written.
    after: Fingerprint,
}

/// An entry in the file of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RecordedEntry {
    client: String,
    title: String,
    scope: String,
    path: String,
}

impl SetupRecord {
    /// Reads the record. Without one of this host, nothing was written.
    ///
    /// # Errors
    /// Fails if the record is damaged, and on file errors.
    pub(super) fn read(context: &WorkspaceContext) -> Result<SetupRecord, Error> {
        let schema = SCHEMA.to_owned();
        let (files, entries) = (Vec::new(), Vec::new());
        let empty = SetupRecord { schema, files, entries, written_at: None, mac: String::new() };
        let bytes = match context.fs.read(&RelPath::from_static(RECORD), LIMIT) {
            Err(error) if error.is_not_found() => return Ok(empty),
            read => read?,
        };
        let record: Option<SetupRecord> =
            Json::parse_bytes(&bytes, Dialect::Strict).ok().and_then(|json| from_json(&json).ok());
        let record = record.ok_or_else(|| {
            let message = format!("{RECORD} is damaged, and without it nothing can be taken back");
            Error::new(ErrorKind::InvalidConfig, message).hint("put the file back, or delete it")
        })?;
        let is_own = context.key.verify(SCHEMA, &record.content(), Some(&record.mac));
        Ok(if record.schema == SCHEMA && is_own { record } else { empty })
    }

    /// Returns what the MAC covers.
    fn content(&self) -> Vec<u8> {
        let bare = SetupRecord { mac: String::new(), ..self.clone() };
        pretty_text(&bare).expect("texts and fingerprints are JSON").into_bytes()
    }

    /// Adds files. The text before the first change is kept.
    pub(super) fn add_files<'c>(&mut self, changes: impl Iterator<Item = &'c StagedChange>) {
        for change in changes {
            let Some(after) = change.after.as_ref().map(|bytes| Fingerprint::of_bytes(bytes)) else {
                continue;
            };
            match self.files.iter_mut().find(|file| file.path == change.path.as_str()) {
                Some(file) => file.after = after,
                None => {
                    let before = change.before.clone().map(String::from_utf8);
                    // A file that is not text cannot be put back.
                    if let Ok(before) = before.transpose() {
                        self.files.push(RecordedFile { path: change.path.to_string(), before, after });
                    }
                }
            }
        }
    }

    /// Adds an entry that is to be written.
    pub(super) fn add_entry(&mut self, shown: &ConnectReport) {
        let entry = RecordedEntry {
            client: shown.client.clone(),
            title: shown.title.clone(),
            scope: shown.scope.unwrap_or(Scope::Project).as_str().to_owned(),
            path: shown.path.clone().unwrap_or_default(),
        };
        if shown.status == ConnectStatus::WouldWrite && !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
    }

    /// Writes the record, or removes it if it is empty.
    pub(super) fn store(&mut self, context: &WorkspaceContext) -> Result<(), FsError> {
        let fs = &*context.fs;
        let path = RelPath::from_static(RECORD);
        if self.files.is_empty() && self.entries.is_empty() {
            return match fs.remove(&path) {
                Err(error) if !error.is_not_found() => Err(error),
                _ => Ok(()),
            };
        }
        self.written_at = Some(context.now());
        self.mac = context.key.sign(SCHEMA, &self.content())?;
        let text = pretty_text(&*self).expect("texts and fingerprints are JSON");
        fs.create_dir_all(&path.parent())?;
        fs.write_atomic(&path, text.as_bytes(), FileMode::Private)
    }
}

/// What a setup wrote, to be taken back after a yes.
pub struct SetupUndo {
    onboarding: Onboarding,
    record: SetupRecord,
    changes: Vec<StagedChange>,
    /// Home directories in which no server stored anything.
    homes: Vec<RelPath>,
    report: SetupReport,
}

impl Onboarding {
    /// Prepares taking back what was written: the entries in the files of programs, and each file that is still as it
    /// was written. Catalog, runtimes, schemas and pins are taken back together or not at all. While others stay, so do
    /// the policy and the ignore lines.
    ///
    /// # Errors
    /// Fails inside a run, and on file errors.
    pub fn undo(&self) -> Result<SetupUndo, Error> {
        self.context.require_outside_run()?;
        let fs = &*self.context.fs;
        let mut record = SetupRecord::read(&self.context)?;
        let now = |file: &RecordedFile| fs.read(&RelPath::composed(&file.path), LIMIT).ok();
        // A setup that was killed did not write all of its files.
        let is_back = |file: &RecordedFile| now(file) == file.before.clone().map(String::into_bytes);
        record.files.retain(|file| !is_back(file));
        let is_same =
            |file: &&RecordedFile| now(file).is_some_and(|now| Fingerprint::of_bytes(&now) == file.after);
        let is_apart = |file: &RecordedFile| APART.contains(&file.path.as_str());
        let is_pin = |file: &RecordedFile| Path::new(&file.path).starts_with(PINS);
        let of_catalog = |file: &&RecordedFile| !is_apart(file) && !is_pin(file);
        let is_catalog_same = record.files.iter().filter(of_catalog).all(|file| is_same(&file));
        let changed = |file: &RecordedFile| match (is_same(&file), is_apart(file) || is_catalog_same) {
            (true, true) => None,
            (false, _) => Some("it changed since, so it stays"),
            (true, false) => Some("another file of the catalog changed since, so it stays"),
        };
        let is_gone = |file: &&RecordedFile| file.before.is_none() && changed(file).is_none();
        let gone = record.files.iter().filter(is_gone).map(|file| file.path.as_str()).collect();
        let has_rest = has_more(fs, MARKER, &gone);
        // Without a policy, calls of tools that stay would not be confined.
        let is_needed = |file: &RecordedFile| {
            has_rest && (file.path == GITIGNORE || file.path == POLICY && file.before.is_none())
        };
        let (mut changes, mut rows) = (Vec::new(), Vec::new());
        for file in &record.files {
            let path = self.context.absolute(&file.path);
            let needed = || is_needed(file).then_some("what else stays in .brigade needs it");
            if let Some(why) = changed(file).or_else(needed) {
                let (action, detail) = (SetupAction::Keep, Some(why.to_owned()));
                rows.push(SetupChange { path, action, diff: String::new(), detail });
                continue;
            }
            let (before, after) = (now(file), file.before.clone().map(String::into_bytes));
            let (action, diff) = match &after {
                Some(after) => {
                    (SetupAction::Change, unified(&file.path, before.as_deref(), Some(after.as_slice())))
                }
                None => (SetupAction::Remove, String::new()),
            };
            rows.push(SetupChange { path, action, diff, detail: None });
            changes.push(StagedChange { path: RelPath::composed(&file.path), before, after, mode: 0o600 });
        }
        for entry in &record.entries {
            let detail = Some("only the entry `brigade` is removed".to_owned());
            let (path, action) = (entry.path.clone(), SetupAction::Change);
            rows.push(SetupChange { path, action, diff: String::new(), detail });
        }
        let runtimes = load::runtimes(&self.context).unwrap_or_default();
        let homes = runtimes.runtimes().iter().filter_map(brigade_catalog::Runtime::home_path);
        let is_there = |home: &String| fs.exists(&RelPath::composed(home)).unwrap_or_default();
        let is_empty =
            |home: &String| fs.list_dir(&RelPath::composed(home)).is_ok_and(|entries| entries.is_empty());
        let (empty, used): (Vec<String>, Vec<String>) = homes.filter(is_there).partition(is_empty);
        for home in used.into_iter().filter(|_| !changes.is_empty()) {
            let detail = Some("it has what the server stored, so it stays until you delete it".to_owned());
            let (path, action) = (self.context.absolute(&home), SetupAction::Keep);
            rows.push(SetupChange { path, action, diff: String::new(), detail });
        }
        rows.sort_by(|one, other| one.path.cmp(&other.path));
        let programs = record.entries.iter().map(|entry| SetupProgram {
            program: entry.client.clone(),
            title: entry.title.clone(),
            agent: None,
            state: SetupState::Known,
            path: Some(entry.path.clone()),
            detail: None,
        });
        let programs = programs.collect();
        let change_count = changes.len() + record.entries.len();
        let notes = self.kept(&rows).into_iter().collect();
        let report =
            SetupReport { undo: true, programs, change_count, changes: rows, notes, ..self.report() };
        let homes = empty.iter().filter(|_| is_catalog_same).map(|home| RelPath::composed(home)).collect();
        Ok(SetupUndo { onboarding: self.clone(), record, changes, homes, report })
    }

    /// Says what stays, and how to remove that, too.
    fn kept(&self, rows: &[SetupChange]) -> Option<String> {
        const SHOWN: usize = 3;
        let root = self.context.absolute("");
        let short = |row: &SetupChange| row.path.strip_prefix(&root).unwrap_or(&row.path).to_owned();
        let kept = rows.iter().filter(|row| row.action == SetupAction::Keep).map(short);
        let mut kept: Vec<String> = kept.collect();
        kept.sort_by_key(|path| path.matches('/').count());
        let names = kept.get(..SHOWN).unwrap_or(&kept).join(", ");
        let more = match kept.len().saturating_sub(SHOWN) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let ignore = self.context.absolute(GITIGNORE);
        let lines = match kept.iter().any(|path| path == GITIGNORE) {
            true => format!(" and the lines of Brigade in {ignore}"),
            false => String::new(),
        };
        let place = self.context.absolute(MARKER);
        (!kept.is_empty()).then(|| format!("kept {names}{more}; to finish, delete {place}{lines}"))
    }
}

/// Returns whether a folder has files other than these, locks, what a person reviewed, and lists of what was written.
fn has_more(fs: &dyn Fs, folder: &str, gone: &BTreeSet<&str>) -> bool {
    let Ok(entries) = fs.list_dir(&RelPath::composed(folder)) else {
        return fs.exists(&RelPath::composed(folder)).unwrap_or(true);
    };
    entries.iter().any(|entry| {
        let path = format!("{folder}/{}", entry.name);
        match entry.kind {
            FileKind::Directory => has_more(fs, &path, gone),
            _ => {
                let is_own = path.ends_with(".lock") || [TRUSTED, RECORD, CONNECTED].contains(&path.as_str());
                !is_own && !gone.contains(path.as_str())
            }
        }
    })
}

impl SetupUndo {
    /// Returns what would be taken back.
    pub fn report(&self) -> &SetupReport {
        &self.report
    }

    /// Returns the report as a proposal only.
    pub fn propose(self) -> SetupReport {
        SetupReport { dry_run: true, ..self.report }
    }

    /// Takes it back.
    ///
    /// # Errors
    /// Fails if a file changed since it was shown; then nothing was taken back. Fails if the entry of a program cannot
    /// be removed; then what the entry starts stays. Also fails on a disk error.
    pub fn write(mut self) -> Result<SetupReport, Error> {
        let context = &self.onboarding.context;
        let _lock = Setup::new(context).lock_catalog()?;
        let trial = Arc::new(StagedFs::new(context.fs.clone()));
        if let Some(path) = StagedFs::new(trial).write(&self.changes)? {
            return Err(changed_since_shown(path.as_str()));
        }
        let (mut left, mut failed) = (Vec::new(), None);
        for (entry, program) in self.record.entries.iter().zip(&mut self.report.programs) {
            let request = ConnectRequest {
                client: entry.client.clone(),
                scope: entry.scope.parse().ok(),
                transport: Transport::Stdio,
                agent: entry.client.clone(),
                step: ConnectStep::Remove,
            };
            match Clients::new(context.clone()).connect(&request) {
                Ok(_) => program.state = SetupState::Offered,
                Err(error) => {
                    left.push(entry.clone());
                    failed.get_or_insert(error);
                }
            }
        }
        self.record.entries = left;
        if let Some(error) = failed {
            self.record.store(context)?;
            return Err(error);
        }
        if let Some(path) = StagedFs::new(context.fs.clone()).write(&self.changes)? {
            return Err(changed_since_shown(path.as_str()));
        }
        let changes = &self.changes;
        let is_back = |file: &RecordedFile| changes.iter().any(|change| change.path.as_str() == file.path);
        self.record.files.retain(|file| !is_back(file));
        self.record.store(context)?;
        for folder in changes.iter().map(|change| change.path.parent()).chain(self.homes) {
            remove_empty(&*context.fs, folder);
        }
        let is_there = context.fs.exists(&RelPath::from_static(MARKER)).unwrap_or_default();
        if is_there && !has_more(&*context.fs, MARKER, &BTreeSet::new()) {
            let place = context.absolute(MARKER);
            self.report
                .notes
                .push(format!("only locks and empty lists are left in {place}: delete it to finish"));
        }
        self.report.written = true;
        Ok(self.report)
    }
}
