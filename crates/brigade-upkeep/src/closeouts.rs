//! Closeouts: files that say which issues of projections a person has looked at and accepted.

use std::collections::BTreeSet;

use brigade_apply::find_orphans;
use brigade_core::text::escape_terminal;
use brigade_core::{Json, Timestamp};
use brigade_doctor::{Closeout, ConfigFile, Issue, Snapshot, ToolIssues, ToolState, diagnose, diagnose_tool};
use brigade_facts::{Config, DOCUMENT_LIMIT, Host, Places, parse_json, plan_projections};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::Depth;

use crate::rel;

/// The folder of closeouts.
pub const CLOSEOUTS: &str = ".brigade/tools/parity-closeouts";

/// What every closeout's folder ends with.
const SUFFIX: &str = "tool-parity-closeout";

/// The closeouts of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Closeouts {
    /// The last one as it stands in its file, with the `path` of that relative to the workspace.
    pub latest: Option<Closeout>,
    /// Those that cannot be read.
    pub errors: Vec<BrokenCloseout>,
}

/// A closeout that cannot be read: which, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenCloseout(pub String);

impl Closeouts {
    /// Returns the fingerprints that the last closeout lists.
    pub fn fingerprints(&self) -> Option<BTreeSet<String>> {
        Some(self.latest.as_ref()?.source_fingerprints.iter().cloned().collect())
    }
}

/// Reads the closeouts.
///
/// # Errors
/// When their folder cannot be listed.
pub fn closeouts(fs: &dyn Fs) -> Result<Closeouts, FsError> {
    let mut found = Closeouts::default();
    let mut latest: Option<(Option<Timestamp>, String)> = None;
    let folder = rel(CLOSEOUTS);
    let entries = match fs.list_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let file = closeout_file(&folder.join(&entry.name).expect("a name without slashes is a path"));
        let shown = escape_terminal(file.as_str());
        let bytes = match fs.read(&file, DOCUMENT_LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                found.errors.push(BrokenCloseout(format!("`{shown}`: {}", error.kind)));
                continue;
            }
        };
        let members = parse_json(&bytes).ok().and_then(|json| json.as_object().cloned());
        let Some(closeout) = members.and_then(|members| Closeout::from_members(members).ok()) else {
            found.errors.push(BrokenCloseout(format!("`{shown}` is no closeout")));
            continue;
        };
        let key = (closeout.created_at.parse().ok(), entry.name);
        if latest.as_ref().is_none_or(|latest| *latest < key) {
            latest = Some(key);
            found.latest = Some(Closeout { path: Some(file.to_string()), ..closeout });
        }
    }
    Ok(found)
}

/// Stores a closeout under an id of its own; returns it with that id, and its file.
///
/// # Errors
/// When the disk fails.
pub fn store_closeout(fs: &dyn Fs, now: Timestamp, record: Closeout) -> Result<(Closeout, RelPath), FsError> {
    let (closeout_id, folder) = new_closeout(fs, now)?;
    let record = Closeout { closeout_id, created_at: now.to_string(), ..record };
    let file = closeout_file(&folder);
    fs.create_new_durable(&file, Json::Object(record.to_members()).to_pretty().as_bytes())?;
    Ok((record, file))
}

/// Makes a folder for a closeout; a name that is taken gets a number.
fn new_closeout(fs: &dyn Fs, now: Timestamp) -> Result<(String, RelPath), FsError> {
    let parent = rel(CLOSEOUTS);
    fs.create_dir_all(&parent)?;
    let name = format!("{}-{SUFFIX}", now.compact());
    let mut number = 1;
    loop {
        let id = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let folder = parent.join(&id).expect("a stamp is a name");
        match fs.create_dir(&folder) {
            Ok(()) => {
                fs.sync_dir(&parent)?;
                return Ok((id, folder));
            }
            Err(error) if error.is_exists() => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Diagnoses projections and nothing else.
pub fn projection_issues(host: Host<'_>, config: &Config) -> Vec<Issue> {
    let places = Places::new(host.fs, host.root());
    let (catalog, now) = (&config.catalog, host.clock.now());
    let tools: Vec<_> = catalog.tools().iter().filter(|tool| tool.enabled).collect();
    let orphans = find_orphans(host, config, &places).orphans;
    let items = plan_projections(host, config, &tools, &places, Depth::Full, |item| item);
    let mut of_tools = ToolIssues::default();
    for projections in items.chunk_by(|left, right| left.tool_id == right.tool_id) {
        if let Some(tool) = catalog.tool(projections[0].tool_id.as_str()) {
            let state = ToolState { catalog, tool, files: None, projections, policy: None };
            diagnose_tool(&state, now, &mut of_tools);
        }
    }
    let mut issues = diagnose(Snapshot {
        catalog: Some(ConfigFile::Read(catalog)),
        tools: Some(of_tools),
        orphans: &orphans,
        ..Snapshot::new(now)
    });
    issues.retain(|issue| issue.projection.is_some());
    issues
}

fn closeout_file(folder: &RelPath) -> RelPath {
    folder.join("closeout.json").expect("a name is a path")
}
