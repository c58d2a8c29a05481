//! `init`: creates the files of a kitchen.

use brigade_catalog::edit::{self, EditError};
use brigade_catalog::starter::{IgnoreChange, SKILLS, StarterTools, merge_ignore, skills};
use brigade_catalog::{Catalog, Level};
use brigade_core::{ConfigIssue, ErrorCode, ErrorKind, Hint, NextStep, Report, Severity, StepFormatter};
use brigade_fs::{FileMode, FsError, OrAbsent, RelPath};
use brigade_kitchen::config::{ConfigFile, StarterKeys, import, starter};
use brigade_macros::{document, part};
use brigade_policy::{ErrorLine, Failure};
use brigade_workspace::CATALOG;
use serde::{Deserialize, Serialize};

use crate::gather::{KITCHEN_TOML, SHELL_CONFIGS};
use crate::kitchen::Kitchen;

/// The directory of PRDs.
pub(crate) const TASKS: &str = "brigade/tasks";

/// The ignore file of the workspace, and its lines for files that the kitchen writes among people's files.
const GITIGNORE: &str = ".gitignore";
const IGNORED: [&str; 5] = [
    "/.brigade/kitchen/",
    "/brigade/tasks/*.state.json",
    "/brigade/tasks/latest.json",
    "/brigade/tasks/archive/",
    "/brigade/tasks/activity.log",
];

/// The maximum size of a `brigade.config` that is imported.
const CONFIG_LIMIT: u64 = 4 << 20;

/// The options of `kitchen init`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitRequest {
    /// Whether to import a `brigade.config`.
    pub import: bool,
    /// Whether to list all keys, instead of those that most people set.
    pub full: bool,
    /// Whether to replace an existing `kitchen.toml`.
    pub force: bool,
    /// Whether to leave `.gitignore` unchanged.
    pub keep_ignore: bool,
    /// Whether to add the skills that write PRDs to the catalog. Then an existing `kitchen.toml` is kept.
    pub skills: bool,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemas", schemars(rename = "Written"))]
pub enum WriteOutcome {
    /// It was added.
    Added,
    /// It existed, and was kept unchanged.
    Kept,
}

/// A skill for writing PRDs.
#[part(PartialEq, Eq)]
pub struct SkillRow {
    /// The id of its entry in the catalog.
    pub id: String,
    /// The result for the entry.
    pub entry: WriteOutcome,
    /// The file with its text, relative to the workspace.
    pub source_path: String,
    /// The result for the file.
    pub source: WriteOutcome,
}

/// The report of `kitchen init`.
#[document("brigade.kitchen-init.v1")]
#[derive(PartialEq)]
pub struct KitchenInitReport {
    /// The workspace root.
    pub target: String,
    /// The configuration, relative to the workspace.
    pub config_path: String,
    /// The result for the configuration.
    pub config: WriteOutcome,
    /// The directory of PRDs, relative to the workspace.
    pub tasks_path: String,
    /// The imported file, relative to the workspace.
    pub imported: Option<String>,
    /// How many keys it sets.
    pub imported_keys: usize,
    /// What was not imported, and what has no effect.
    pub issues: Vec<ErrorLine>,
    /// The skills, if requested.
    pub skills: Vec<SkillRow>,
    /// The result for the ignore lines: `created (.gitignore)`, `updated (.gitignore)` or `skipped`.
    pub gitignore: String,
    /// The next command to try.
    pub next_command: Hint,
}

impl KitchenInitReport {
    /// Writes the next command in the words of one interface.
    #[must_use]
    pub fn spelled(self, speller: &dyn StepFormatter) -> KitchenInitReport {
        KitchenInitReport { next_command: self.next_command.spelled(speller, None), ..self }
    }
}

impl Kitchen<'_> {
    /// Creates `kitchen.toml` with its keys explained, the directory of PRDs, and the ignore lines.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`] if `kitchen.toml` exists and must not be replaced, or there is no `brigade.config`
    /// to import. Also fails on a disk error.
    pub fn init(&self, request: InitRequest) -> Result<KitchenInitReport, Failure> {
        let path = RelPath::from_static(KITCHEN_TOML);
        let is_there = self.fs.exists(&path)?;
        let keeps_config = is_there && request.skills && !request.force && !request.import;
        if is_there && !request.force && !keeps_config {
            let failure = Failure::new(ErrorKind::Usage, format!("`{KITCHEN_TOML}` exists already"));
            return Err(failure.coded(ErrorCode::FileExists).hint(NextStep::Replace));
        }
        let mut imported = None;
        let keys = if request.full { StarterKeys::Full } else { StarterKeys::Short };
        let (mut text, mut imported_keys, mut issues) = (starter(keys), 0, Vec::new());
        if request.import {
            let (name, bytes) = self.shell_config()?;
            let translated = import(ConfigFile { name, bytes: &bytes }, keys);
            (text, imported_keys) = (translated.text, translated.keys);
            issues = translated.issues.iter().map(ErrorLine::from).collect();
            imported = Some(name.to_owned());
        }
        // Steps that can fail come before the first write.
        let ignore = if request.keep_ignore { None } else { self.ignore_lines(request.skills)? };
        let catalog = if request.skills { Some(self.catalog_with_skills()?) } else { None };
        self.create_shared_dir(TASKS)?;
        self.fs.create_dir_all(&path.parent())?;
        if !keeps_config {
            self.fs.write_atomic(&path, text.as_bytes(), FileMode::KeepOr(0o600))?;
        }
        let skills = catalog.map(|catalog| self.write_skills(catalog)).transpose()?.unwrap_or_default();
        let gitignore = match ignore {
            None => "skipped".to_owned(),
            Some((bytes, word)) => {
                self.fs.write_atomic(&RelPath::from_static(GITIGNORE), &bytes, FileMode::KeepOr(0o644))?;
                format!("{word} ({GITIGNORE})")
            }
        };
        Ok(KitchenInitReport {
            schema: KitchenInitReport::SCHEMA,
            target: self.target(),
            config_path: KITCHEN_TOML.to_owned(),
            config: if keeps_config { WriteOutcome::Kept } else { WriteOutcome::Added },
            tasks_path: TASKS.to_owned(),
            imported,
            imported_keys,
            issues,
            gitignore,
            next_command: match skills.iter().any(|row| row.entry == WriteOutcome::Added) {
                true => NextStep::ApplyAll.into(),
                false => NextStep::ListWorkers.into(),
            },
            skills,
        })
    }

    /// Returns the catalog text with the missing skills, and the result for each skill.
    fn catalog_with_skills(&self) -> Result<(Option<String>, Vec<SkillRow>), Failure> {
        let path = RelPath::from_static(CATALOG);
        let before = self.fs.read(&path, CONFIG_LIMIT).or_absent()?;
        let invalid = |message: String| {
            Failure::new(ErrorKind::InvalidConfig, format!("`{CATALOG}`: {message}"))
                .coded(ErrorCode::ConfigInvalid)
        };
        let text = match &before {
            Some(bytes) => {
                let text = std::str::from_utf8(bytes)
                    .map_err(|_| invalid("the file is not UTF-8 text".to_owned()))?;
                text.to_owned()
            }
            None => {
                let empty = StarterTools::Empty.starter(&|_| false);
                empty.map_err(|error| invalid(error.to_string()))?.text
            }
        };
        let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        // Entries with errors are left to their authors. A file that is not TOML is not changed.
        let of_file = |issue: &&ConfigIssue| issue.severity == Severity::Error && issue.entry.is_none();
        if let Some(issue) = catalog.issues().iter().find(of_file) {
            let failure = Failure::new(ErrorKind::InvalidConfig, issue.to_string());
            return Err(failure.coded(ErrorCode::ConfigInvalid));
        }
        let mut changed = text.clone();
        let mut rows = Vec::new();
        for (tool, source) in skills(&catalog).iter().zip(SKILLS) {
            let entry = match edit::add_tool(&changed, tool) {
                Ok(text) => {
                    changed = text;
                    WriteOutcome::Added
                }
                Err(EditError::Exists) => WriteOutcome::Kept,
                Err(error) => return Err(invalid(error.to_string())),
            };
            let is_there = self.fs.exists(&RelPath::composed(source.path))?;
            let found = if is_there { WriteOutcome::Kept } else { WriteOutcome::Added };
            let (id, source_path) = (source.tool_id.to_owned(), source.path.to_owned());
            rows.push(SkillRow { id, entry, source_path, source: found });
        }
        let is_new = before.is_none() || changed != text;
        Ok((is_new.then_some(changed), rows))
    }

    /// Writes missing texts of skills, and the catalog.
    fn write_skills(&self, (text, rows): (Option<String>, Vec<SkillRow>)) -> Result<Vec<SkillRow>, Failure> {
        for (row, source) in rows.iter().zip(SKILLS).filter(|(row, _)| row.source == WriteOutcome::Added) {
            let path = RelPath::composed(&row.source_path);
            self.create_shared_dir(path.parent().as_str())?;
            self.fs.write_atomic(&path, source.text.as_bytes(), FileMode::KeepOr(0o644))?;
        }
        if let Some(text) = text {
            self.fs.write_atomic(&RelPath::from_static(CATALOG), text.as_bytes(), FileMode::KeepOr(0o600))?;
        }
        Ok(rows)
    }

    fn shell_config(&self) -> Result<(&'static str, Vec<u8>), Failure> {
        for name in SHELL_CONFIGS {
            if let Some(bytes) = self.fs.read(&RelPath::composed(name), CONFIG_LIMIT).or_absent()? {
                return Ok((name, bytes));
            }
        }
        let message = format!("there is neither `{}` nor `{}`", SHELL_CONFIGS[0], SHELL_CONFIGS[1]);
        Err(Failure::new(ErrorKind::Usage, message).coded(ErrorCode::FileMissing))
    }

    /// Creates a directory that other users may read, unlike the state directory.
    pub(crate) fn create_shared_dir(&self, path: &str) -> Result<(), FsError> {
        let path = RelPath::composed(path);
        if path.is_root() || self.fs.exists(&path)? {
            return Ok(());
        }
        self.create_shared_dir(path.parent().as_str())?;
        self.fs.create_dir_all(&path)?;
        self.fs.set_mode(&path, 0o755)
    }

    /// Returns the new `.gitignore` if lines are missing, and whether the file is new. If there is a catalog, the lines
    /// for tools are included.
    fn ignore_lines(&self, with_tools: bool) -> Result<Option<(Vec<u8>, &'static str)>, FsError> {
        let before = self.fs.read(&RelPath::from_static(GITIGNORE), CONFIG_LIMIT).or_absent()?;
        let word = if before.is_some() { "updated" } else { "created" };
        let mut bytes = before.unwrap_or_default();
        let has = |rule: &str| {
            let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            let plain = rule.trim_start_matches('/').as_bytes();
            lines.any(|line| line == plain || line == rule.as_bytes())
        };
        // The shell program ignored the whole directory.
        let covers = |line: &&&str| line.starts_with("/brigade/") && has("/brigade/") || has(line);
        let missing: Vec<&str> = IGNORED.iter().filter(|line| !covers(line)).copied().collect();
        let has_own = missing.is_empty();
        if !has_own {
            add_lines(&mut bytes, &missing);
        }
        let text = if with_tools { std::str::from_utf8(&bytes).ok() } else { None };
        match text.map(|text| merge_ignore(Some(text))) {
            Some(IgnoreChange::Created(text) | IgnoreChange::Updated(text)) => {
                Ok(Some((text.into_bytes(), word)))
            }
            Some(IgnoreChange::Skipped) | None => Ok((!has_own).then_some((bytes, word))),
        }
    }
}

/// Appends lines to an ignore file, after an empty line.
fn add_lines(bytes: &mut Vec<u8>, missing: &[&str]) {
    let is_windows = bytes.windows(2).any(|pair| pair == b"\r\n");
    let end: &[u8] = if is_windows { b"\r\n" } else { b"\n" };
    if !bytes.is_empty() {
        if !bytes.ends_with(b"\n") {
            bytes.extend_from_slice(end);
        }
        bytes.extend_from_slice(end);
    }
    for line in std::iter::once(&"# What the kitchen of Brigade writes").chain(missing) {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(end);
    }
}
