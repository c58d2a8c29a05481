//! Adds the built-in tools to a catalog.

pub(crate) mod starters;

use std::borrow::Cow;
use std::collections::BTreeSet;

use brigade_catalog::edit::{self, merge};
use brigade_catalog::{Catalog, Level, Tool, ToolId, starter};
use brigade_core::json::from_json;
use brigade_core::{ConfigIssue, ErrorCode, Json, Severity, words};
use brigade_fs::RelPath;
use brigade_macros::part;
use brigade_policy::{ErrorLine, Failure};
use brigade_workspace::{CATALOG, CONFIG_LIMIT, DOCUMENT_LIMIT, errors_of, parse_json};
use serde::Deserialize;

use crate::setup::{CATALOG_LOCK, Ignore, OnExisting, Setup};

/// The file with the user's selection of harnesses.
const SELECTION: &str = ".brigade/config.json";

/// The used part of that file. Entries that are not texts are ignored.
#[derive(Deserialize)]
struct Selection {
    harnesses: Vec<Json>,
    #[serde(default)]
    owner: Json,
}

/// The neutral harness, which every selection includes.
const NEUTRAL: &str = "scripts";

/// Options for adding the built-in tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultsRequest {
    /// Whether to only report what would be done.
    pub dry_run: bool,
    /// Whether to replace existing entries. Kept entries of older versions gain missing harnesses and projections.
    /// Existing sources are always kept.
    pub existing: OnExisting,
    /// Whether to write the ignore lines.
    pub ignore: Ignore,
}

/// The result of adding the built-in tools.
#[part(Default)]
pub struct Defaults {
    /// Whether the catalog could be changed.
    pub valid: bool,
    /// Why the catalog could not be changed.
    pub errors: Vec<ErrorLine>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether existing entries were replaced.
    pub force: bool,
    /// Whether the catalog was missing.
    pub created: bool,
    /// Added tools.
    pub added: Vec<String>,
    /// Updated tools.
    pub updated: Vec<String>,
    /// Unchanged tools.
    pub skipped: Vec<String>,
    /// Conflicting tools. With a conflict, nothing is written.
    pub conflicts: Vec<DefaultConflict>,
    /// The sources of the tools.
    pub sources: Vec<DefaultSource>,
    /// Number of written sources.
    pub source_created_count: usize,
    /// Number of existing sources.
    pub source_skipped_count: usize,
    /// Number of entries in the catalog afterwards.
    pub tool_count: usize,
    /// Number of built-in tools.
    pub default_count: usize,
    /// The harnesses of the built-in tools, if `.brigade/config.json` selects some.
    pub projection_scope: Option<Vec<String>>,
    /// The result for the ignore lines: `created (.gitignore)`, `updated (.gitignore)` or `skipped`.
    pub gitignore: String,
}

/// A catalog tool with the id of a built-in tool and another source.
#[part]
pub struct DefaultConflict {
    /// The id.
    pub tool_id: String,
    /// The source in the catalog.
    pub existing_source_path: Option<String>,
    /// The built-in source.
    pub default_source_path: Option<String>,
    /// How to resolve the conflict.
    pub detail: String,
}

words! {
    /// The action for the source of a built-in tool.
    SourceAction {
        /// It is written.
        Create = "create",
        /// It would be written.
        WouldCreate = "would_create",
        /// It is not changed.
        Skip = "skip",
    }
}

/// The source of a built-in tool.
#[part]
pub struct DefaultSource {
    /// The tool.
    pub tool_id: String,
    /// The file, relative to the workspace.
    pub source_path: String,
    /// The file.
    pub path: String,
    /// The action.
    pub action: SourceAction,
    /// The reason for the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Cow<'static, str>>,
}

impl Setup<'_> {
    /// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
    /// versions gain missing harnesses and projections; those that a person chose stay. Paths of sources are made
    /// absolute with `absolute`.
    ///
    /// Writes nothing if the built-in tools could not be read afterwards, or if another entry has the id of one. The
    /// result then lists what would have been added. Faults of other entries do not matter.
    pub fn add_defaults(
        &self,
        request: DefaultsRequest,
        absolute: impl Fn(&str) -> String,
    ) -> Result<Defaults, Failure> {
        let scope = self.projection_scope()?;
        let mut done = Defaults {
            dry_run: request.dry_run,
            force: request.existing == OnExisting::Overwrite,
            default_count: starter::SOURCES.len(),
            projection_scope: scope.clone().map(|scope| scope.into_iter().collect()),
            gitignore: "skipped".to_owned(),
            ..Defaults::default()
        };
        let invalid = |problem: String| vec![ErrorLine::new(ErrorCode::ConfigInvalid, problem)];
        let _lock = if request.dry_run {
            None
        } else {
            // All checks come before the first write, including the lock.
            for path in starter::SOURCES.iter().map(|source| source.path).chain([CATALOG, CATALOG_LOCK]) {
                self.check_place(path)?;
            }
            self.ignore_change(request.ignore)?;
            Some(self.lock_catalog()?)
        };
        let bytes = match self.context.fs.read(&RelPath::from_static(CATALOG), CONFIG_LIMIT) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        done.created = bytes.is_none();
        let Ok(before) = String::from_utf8(bytes.unwrap_or_default()) else {
            done.created = false;
            done.errors = invalid(format!("{CATALOG}: the file is not UTF-8 text"));
            return Ok(done);
        };
        let catalog = Catalog::parse(CATALOG, Level::Project, before.as_bytes());
        // An error of the whole file also affects the built-in tools. An error of another entry does not.
        let is_of_file = |issue: &ConfigIssue| issue.severity == Severity::Error && issue.entry.is_none();
        if catalog.issues().iter().any(is_of_file) {
            done.errors = errors_of(&catalog);
            return Ok(done);
        }
        let tools = match request.existing {
            OnExisting::Keep => starter::tools_beside(&catalog),
            OnExisting::Overwrite => starter::tools(),
        };
        let tools = scoped(tools, scope.as_ref());
        let merged = match merge(&before, &tools, request.existing) {
            Ok(merged) => merged,
            Err(error) => {
                let errors = errors_of(&catalog);
                done.errors = if errors.is_empty() { invalid(format!("{CATALOG}: {error}")) } else { errors };
                return Ok(done);
            }
        };
        let after = Catalog::parse(CATALOG, Level::Project, merged.text.as_bytes());
        let is_usable = |tool: &Tool| after.tool(tool.id.as_str()).is_some_and(|read| !read.is_broken);
        if !tools.iter().all(is_usable) {
            done.errors = errors_of(&after);
            return Ok(done);
        }
        done.valid = merged.conflicts.is_empty();
        let ids = |ids: &[ToolId]| ids.iter().map(|id| id.as_str().to_owned()).collect();
        (done.added, done.updated) = (ids(&merged.added), ids(&merged.updated));
        done.skipped = ids(&merged.skipped);
        done.conflicts = merged.conflicts.into_iter().map(conflict).collect();
        done.tool_count = after.tools().len();
        let write = !request.dry_run && done.conflicts.is_empty();
        let ignored = if write { self.ignore_change(request.ignore)? } else { None };
        for source in starter::SOURCES {
            let (action, detail) = match (self.context.fs.exists(&RelPath::composed(source.path))?, write) {
                (true, _) => (SourceAction::Skip, Some("source exists".into())),
                (false, true) => (SourceAction::Create, None),
                (false, false) => (SourceAction::WouldCreate, None),
            };
            if action == SourceAction::Create {
                self.add_source(source.path, source.text)?;
            }
            done.sources.push(DefaultSource {
                tool_id: source.tool_id.to_owned(),
                source_path: source.path.to_owned(),
                path: absolute(source.path),
                action,
                detail,
            });
        }
        if write && merged.text != before {
            self.write_config(CATALOG, &merged.text)?;
        }
        if write {
            done.gitignore = self.write_ignore(ignored)?;
        }
        let count = |action| done.sources.iter().filter(|source| source.action == action).count();
        (done.source_created_count, done.source_skipped_count) =
            (count(SourceAction::Create), count(SourceAction::Skip));
        Ok(done)
    }

    /// Reads the selected harnesses of this workspace; `None` without a usable selection.
    fn projection_scope(&self) -> Result<Option<BTreeSet<String>>, Failure> {
        let bytes = match self.context.fs.read(&RelPath::from_static(SELECTION), DOCUMENT_LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Ok(json) = parse_json(&bytes) else { return Ok(None) };
        let Ok(selection) = from_json::<Selection>(&json) else { return Ok(None) };
        let named = selection.harnesses.iter().filter_map(Json::as_str);
        let named = named.filter(|name| !name.trim().is_empty());
        let mut scope: BTreeSet<String> = named.map(str::to_owned).collect();
        if scope.is_empty() {
            return Ok(None);
        }
        let owner = selection.owner.as_str().map(str::trim);
        scope.extend(owner.filter(|owner| !owner.is_empty()).map(str::to_owned));
        scope.insert(NEUTRAL.to_owned());
        Ok(Some(scope))
    }
}

/// Leaves only the selected harnesses of tools.
fn scoped(mut tools: Vec<Tool>, scope: Option<&BTreeSet<String>>) -> Vec<Tool> {
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
        detail: "the catalog has another tool of this id; rename it, or replace it by force".to_owned(),
    }
}

#[cfg(test)]
mod tests;
