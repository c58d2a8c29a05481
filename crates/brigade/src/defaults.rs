//! Adds the built-in tools to a catalog.

use std::collections::BTreeSet;

use brigade_catalog::edit::{self, merge};
use brigade_catalog::{Catalog, Level, Tool, starter};
use brigade_core::{Json, NextStep};
use brigade_facts::{DOCUMENT_LIMIT, parse_json};
use brigade_fs::FileMode;
use brigade_policy::ErrorLine;

use crate::catalog::Tools;
use crate::codes;
use crate::error::Error;
use crate::load;
use crate::report::{DefaultConflict, DefaultSource, DefaultsReport, Report as _};
use crate::room::{CATALOG, CONFIG_LIMIT, Room, rel};
use crate::setup;
use crate::setup::{CATALOG_LOCK, Existing, Ignore};

/// The file with the user's selection of harnesses.
const SELECTION: &str = ".brigade/config.json";

/// The neutral harness, which every selection includes.
const NEUTRAL: &str = "scripts";

/// Options for adding the built-in tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultsRequest {
    /// Whether to only report what would be done.
    pub dry_run: bool,
    /// Whether to replace existing entries. Kept entries gain missing harnesses and projections. Existing sources are
    /// always kept.
    pub existing: Existing,
    /// Whether to write the ignore lines.
    pub ignore: Ignore,
}

impl Tools {
    /// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
    /// versions gain missing harnesses and projections.
    ///
    /// Writes nothing if the catalog is invalid, or if another entry has the id of a built-in tool. The report then
    /// lists what would have been added.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn defaults(&self, request: DefaultsRequest) -> Result<DefaultsReport, Error> {
        let scope = projection_scope(&self.room)?;
        let tools = scoped(scope.as_ref());
        let mut report = empty_defaults_report(&self.room, request, scope, tools.len());
        let _lock = if request.dry_run {
            None
        } else {
            // All checks come before the first write, including the lock.
            for path in starter::SOURCES.iter().map(|source| source.path).chain([CATALOG, CATALOG_LOCK]) {
                setup::check_place(&self.room, path)?;
            }
            if request.ignore == Ignore::Write {
                setup::ignore_change(&self.room)?;
            }
            Some(setup::lock_catalog(&self.room)?)
        };
        let text = match catalog_bytes(&self.room)?.map(String::from_utf8).transpose() {
            Ok(text) => text,
            Err(_) => {
                let problem = format!("{CATALOG}: the file is not UTF-8 text");
                report.errors.push(ErrorLine::new(codes::CONFIG_INVALID.as_str(), problem));
                return Ok(report);
            }
        };
        report.created = text.is_none();
        let before = text.clone().unwrap_or_default();
        // In an invalid catalog, added entries would not be read.
        report.errors = load::errors_of(&Catalog::parse(CATALOG, Level::Project, before.as_bytes()));
        if !report.errors.is_empty() {
            return Ok(report);
        }
        let existing = match request.existing {
            Existing::Keep => edit::Existing::Keep,
            Existing::Overwrite => edit::Existing::Replace,
        };
        let merged = match merge(&before, &tools, existing) {
            Ok(merged) => merged,
            Err(error) => {
                report
                    .errors
                    .push(ErrorLine::new(codes::CONFIG_INVALID.as_str(), format!("{CATALOG}: {error}")));
                return Ok(report);
            }
        };
        report.valid = merged.conflicts.is_empty();
        let ids = |ids: &[brigade_catalog::ToolId]| ids.iter().map(|id| id.as_str().to_owned()).collect();
        report.added = ids(&merged.added);
        report.updated = ids(&merged.updated);
        report.skipped = ids(&merged.skipped);
        report.conflicts = merged.conflicts.into_iter().map(conflict).collect();
        report.tool_count = Catalog::parse(CATALOG, Level::Project, merged.text.as_bytes()).tools().len();
        let write = !request.dry_run && report.conflicts.is_empty();
        let ignored = match request.ignore {
            Ignore::Write if write => Some(setup::ignore_change(&self.room)?),
            Ignore::Write | Ignore::Skip => None,
        };
        report.sources = default_sources(&self.room, write)?;
        let count = |action| report.sources.iter().filter(|source| source.action == action).count();
        (report.source_created_count, report.source_skipped_count) = (count("create"), count("skip"));
        if write && merged.text != before {
            let path = rel(CATALOG);
            self.room.fs.create_dir_all(&path.parent())?;
            self.room.fs.write_atomic(&path, merged.text.as_bytes(), FileMode::KeepOr(0o600))?;
        }
        if let Some(change) = ignored {
            report.gitignore = setup::write_ignore(&self.room, change)?;
        }
        Ok(report)
    }
}

/// Reads the catalog; `None` if the file is missing.
fn catalog_bytes(room: &Room) -> Result<Option<Vec<u8>>, Error> {
    match room.fs.read(&rel(CATALOG), CONFIG_LIMIT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads the selected harnesses of this workspace; `None` without a usable selection.
fn projection_scope(room: &Room) -> Result<Option<BTreeSet<String>>, Error> {
    let bytes = match room.fs.read(&rel(SELECTION), DOCUMENT_LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Ok(json) = parse_json(&bytes) else { return Ok(None) };
    let named = json.get("harnesses").and_then(Json::as_array).unwrap_or_default();
    let named = named.iter().filter_map(Json::as_str).filter(|name| !name.trim().is_empty());
    let mut scope: BTreeSet<String> = named.map(str::to_owned).collect();
    if scope.is_empty() {
        return Ok(None);
    }
    let owner = json.get("owner").and_then(Json::as_str).map(str::trim);
    scope.extend(owner.filter(|owner| !owner.is_empty()).map(str::to_owned));
    scope.insert(NEUTRAL.to_owned());
    Ok(Some(scope))
}

fn default_sources(room: &Room, write: bool) -> Result<Vec<DefaultSource>, Error> {
    let mut sources = Vec::new();
    for source in starter::SOURCES {
        let path = rel(source.path);
        let (action, detail) = if room.fs.exists(&path)? {
            ("skip", Some("source exists"))
        } else if write {
            setup::create_repository_folder(room, &path.parent())?;
            room.fs.write_atomic(&path, source.text.as_bytes(), FileMode::KeepOr(0o644))?;
            ("create", None)
        } else {
            ("would_create", None)
        };
        sources.push(DefaultSource {
            tool_id: source.tool_id.to_owned(),
            source_path: source.path.to_owned(),
            path: room.absolute(source.path),
            action: action.into(),
            detail: detail.map(Into::into),
        });
    }
    Ok(sources)
}

fn empty_defaults_report(
    room: &Room,
    request: DefaultsRequest,
    scope: Option<BTreeSet<String>>,
    default_count: usize,
) -> DefaultsReport {
    DefaultsReport {
        schema: DefaultsReport::SCHEMA,
        target: room.target(),
        config_path: room.absolute(CATALOG),
        valid: false,
        errors: Vec::new(),
        dry_run: request.dry_run,
        force: request.existing == Existing::Overwrite,
        created: false,
        added: Vec::new(),
        updated: Vec::new(),
        skipped: Vec::new(),
        conflicts: Vec::new(),
        sources: Vec::new(),
        source_created_count: 0,
        source_skipped_count: 0,
        tool_count: 0,
        default_count,
        projection_scope: scope.map(|scope| scope.into_iter().collect()),
        gitignore: "skipped".to_owned(),
        next_command: room.spelled(NextStep::ApplyAll),
    }
}

/// Returns the built-in tools with the selected harnesses.
fn scoped(scope: Option<&BTreeSet<String>>) -> Vec<Tool> {
    let mut tools = starter::tools();
    if let Some(scope) = scope {
        for tool in &mut tools {
            tool.supported_harnesses.retain(|harness| scope.contains(harness));
            tool.projections.retain(|harness, _| scope.contains(harness));
        }
    }
    tools
}

fn conflict(conflict: edit::Conflict) -> DefaultConflict {
    DefaultConflict {
        tool_id: conflict.id.as_str().to_owned(),
        existing_source_path: conflict.existing_source_path,
        default_source_path: conflict.given_source_path,
        detail: "the catalog has another tool of this id; rename it, or replace it with --force".to_owned(),
    }
}

#[cfg(test)]
mod tests;
