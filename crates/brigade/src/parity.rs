//! Closeouts: issues of projections that a person has looked at and accepted.

use std::collections::BTreeSet;
use std::sync::Arc;

use brigade_apply::find_orphans;
use brigade_core::{Json, Timestamp};
use brigade_doctor::{
    Closeout, ConfigFile, Issue, Snapshot, ToolIssues, ToolState, diagnose, diagnose_tool, quiet,
};
use brigade_facts::{DOCUMENT_LIMIT, parse_json, plan_projections};
use brigade_fs::RelPath;
use brigade_projection::Depth;
use brigade_redact::Redactor;

use crate::calls;
use crate::catalog;
use crate::catalog::enabled;
use crate::codes;
use crate::error::Error;
use crate::fault::ErrorLine;
use crate::gather;
use crate::projections;
use crate::report::{CloseoutReport, ParityReport, Report as _};
use crate::room::{Room, rel};

/// The folder of closeouts.
const CLOSEOUTS: &str = ".brigade/tools/parity-closeouts";

/// What every closeout's folder ends with.
const SUFFIX: &str = "tool-parity-closeout";

/// Whether the issues of a closeout are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They were looked at and are accepted.
    Reviewed,
    /// They are put off.
    Deferred,
}

/// The closeouts of a workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closeouts {
    /// The last one as it stands in its file, with its `path`.
    pub(crate) latest: Option<Closeout>,
    /// Those that cannot be read.
    pub(crate) errors: Vec<ErrorLine>,
}

impl Closeouts {
    /// Returns the fingerprints that the last closeout lists.
    pub(crate) fn fingerprints(&self) -> Option<BTreeSet<String>> {
        Some(self.latest.as_ref()?.source_fingerprints.iter().cloned().collect())
    }
}

/// Compares the projections of all harnesses.
#[derive(Clone)]
pub struct Parity {
    pub(crate) room: Arc<Room>,
}

impl Parity {
    /// Tells which issues of projections count, and which the last closeout quiets.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn status(&self) -> Result<ParityReport, Error> {
        let closeouts = closeouts(&self.room)?;
        let listed = closeouts.fingerprints();
        let divided = quiet(projection_issues(&self.room)?, listed.as_ref(), &self.room.target());
        let [issues, quieted_issues, changed_issues] = [&divided.issues, &divided.quieted, &divided.changed]
            .map(|issues| catalog::shown_issues(&self.room, issues));
        Ok(ParityReport {
            schema: ParityReport::SCHEMA,
            target: self.room.target(),
            closeouts_path: self.room.absolute(CLOSEOUTS),
            latest_closeout: closeouts.latest,
            projection_issue_count: issues.len(),
            quieted_issue_count: quieted_issues.len(),
            changed_issue_count: changed_issues.len(),
            issues,
            quieted_issues,
            changed_issues,
            errors: closeouts.errors,
        })
    }

    /// Accepts the issues of projections as they are now, so that only new and changed ones count.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn closeout(&self, reason: Option<&str>, verdict: Verdict) -> Result<CloseoutReport, Error> {
        let issues = projection_issues(&self.room)?;
        let source_fingerprints: Vec<String> =
            issues.iter().map(|issue| issue.fingerprint().to_hex()).collect();
        let now = self.room.now();
        let status = match verdict {
            Verdict::Reviewed => "reviewed",
            Verdict::Deferred => "deferred",
        };
        let reason =
            Redactor::new(&calls::telling_values(&self.room)?).redact_str(reason.unwrap_or_default().trim());
        let safe_summary = format!("{} tool projection parity issue(s) {status}", issues.len());
        let (closeout_id, folder) = new_closeout(&self.room, now)?;
        let record = Closeout {
            closeout_id: closeout_id.clone(),
            created_at: now.to_string(),
            status: status.to_owned(),
            reason: Some(reason.clone()),
            issue_count: issues.len() as u64,
            source_fingerprints: source_fingerprints.clone(),
            safe_summary: safe_summary.clone(),
            ..Closeout::default()
        };
        let file = closeout_file(&folder);
        self.room.fs.create_new_durable(&file, Json::Object(record.to_members()).to_pretty().as_bytes())?;
        Ok(CloseoutReport {
            schema: CloseoutReport::SCHEMA,
            target: self.room.target(),
            closeout_id,
            created_at: now.to_string(),
            status,
            reason,
            issue_count: issues.len(),
            source_fingerprints,
            safe_summary,
            path: self.room.absolute(file.as_str()),
        })
    }
}

/// Reads the closeouts.
pub(crate) fn closeouts(room: &Room) -> Result<Closeouts, Error> {
    let mut found = Closeouts::default();
    let mut latest: Option<(Option<Timestamp>, String)> = None;
    let folder = rel(CLOSEOUTS);
    let entries = match room.fs.list_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(found),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let file = closeout_file(&folder.join(&entry.name).expect("a name without slashes is a path"));
        let shown = brigade_core::text::escape_terminal(file.as_str());
        let bytes = match room.fs.read(&file, DOCUMENT_LIMIT) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                found.errors.push(ErrorLine::new(
                    codes::CLOSEOUT_INVALID.as_str(),
                    format!("`{shown}`: {}", error.kind),
                ));
                continue;
            }
        };
        let members = parse_json(&bytes).ok().and_then(|json| json.as_object().cloned());
        let Some(closeout) = members.and_then(|members| Closeout::from_members(members).ok()) else {
            found
                .errors
                .push(ErrorLine::new(codes::CLOSEOUT_INVALID.as_str(), format!("`{shown}` is no closeout")));
            continue;
        };
        let key = (closeout.created_at.parse().ok(), entry.name);
        if latest.as_ref().is_none_or(|latest| *latest < key) {
            latest = Some(key);
            let path = Some(room.absolute(file.as_str()));
            found.latest = Some(Closeout { path, ..closeout });
        }
    }
    Ok(found)
}

/// Makes a folder for a closeout; a name that is taken gets a number.
fn new_closeout(room: &Room, now: Timestamp) -> Result<(String, RelPath), Error> {
    let parent = rel(CLOSEOUTS);
    room.fs.create_dir_all(&parent)?;
    let name = format!("{}-{SUFFIX}", now.compact());
    let mut number = 1;
    loop {
        let id = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let folder = parent.join(&id).expect("a stamp is a name");
        match room.fs.create_dir(&folder) {
            Ok(()) => {
                room.fs.sync_dir(&parent)?;
                return Ok((id, folder));
            }
            Err(error) if error.is_exists() => number += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Diagnoses projections and nothing else.
fn projection_issues(room: &Room) -> Result<Vec<Issue>, Error> {
    let config = gather::config(room)?;
    let places = projections::places(room);
    let tools = enabled(&config.catalog);
    let orphans = find_orphans(gather::host(room), &config, &places).orphans;
    let items = plan_projections(gather::host(room), &config, &tools, &places, Depth::Full, |item| item);
    let (catalog, now) = (&config.catalog, room.now());
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
    Ok(issues)
}

fn closeout_file(folder: &RelPath) -> RelPath {
    folder.join("closeout.json").expect("a name is a path")
}

#[cfg(test)]
mod tests;
