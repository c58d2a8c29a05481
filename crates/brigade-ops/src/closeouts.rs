//! Closeouts: files that record which projection issues a person reviewed and accepted.

use std::collections::BTreeSet;

use crate::find_orphans;
use brigade_core::Timestamp;
use brigade_core::json::pretty_text;
use brigade_core::text::escape_terminal;
use brigade_doctor::{Closeout, ConfigFile, Issue, Snapshot, ToolIssues, ToolState, diagnose, diagnose_tool};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_projection::Depth;
use brigade_workspace::{Config, DOCUMENT_LIMIT, Host, Places, parse_json, plan_projections};

/// The directory of closeouts.
pub const CLOSEOUTS: &str = ".brigade/tools/parity-closeouts";

/// The suffix of every closeout directory.
const SUFFIX: &str = "tool-parity-closeout";

/// The closeouts of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Closeouts {
    /// The latest closeout as stored; its `path` is relative to the workspace.
    pub latest: Option<Closeout>,
    /// Closeouts that cannot be read.
    pub errors: Vec<BrokenCloseout>,
}

/// An unreadable closeout: its path and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenCloseout(pub String);

impl Closeouts {
    /// Returns the fingerprints in the latest closeout.
    pub fn fingerprints(&self) -> Option<BTreeSet<String>> {
        Some(self.latest.as_ref()?.source_fingerprints.iter().cloned().collect())
    }
}

/// Reads the closeouts.
pub fn closeouts(fs: &dyn Fs) -> Closeouts {
    let mut found = Closeouts::default();
    let mut latest: Option<(Option<Timestamp>, String)> = None;
    let folder = RelPath::from_static(CLOSEOUTS);
    let entries = match fs.list_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return found,
        Err(error) => {
            found.errors.push(BrokenCloseout(format!("`{folder}`: {}", error.kind)));
            return found;
        }
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
            found.errors.push(BrokenCloseout(format!("`{shown}` is not a closeout")));
            continue;
        };
        let key = (closeout.created_at.parse().ok(), entry.name);
        if latest.as_ref().is_none_or(|latest| *latest < key) {
            latest = Some(key);
            found.latest = Some(Closeout { path: Some(file.to_string()), ..closeout });
        }
    }
    found
}

/// Stores a closeout under a new id. Returns the stored closeout and its file.
pub fn store_closeout(fs: &dyn Fs, now: Timestamp, record: Closeout) -> Result<(Closeout, RelPath), FsError> {
    let (closeout_id, folder) = new_closeout(fs, now)?;
    let record = Closeout { closeout_id, created_at: now.to_string(), ..record };
    let file = closeout_file(&folder);
    fs.create_new_durable(&file, pretty_text(&record).expect("a record is JSON").as_bytes())?;
    Ok((record, file))
}

/// Creates a directory for a closeout. A number is added if the name is taken.
fn new_closeout(fs: &dyn Fs, now: Timestamp) -> Result<(String, RelPath), FsError> {
    let parent = RelPath::from_static(CLOSEOUTS);
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

/// Diagnoses projections only.
pub fn projection_issues(host: Host<'_>, config: &Config) -> Vec<Issue> {
    let places = Places::new(host.fs, host.root());
    let (catalog, now) = (&config.catalog, host.clock.now());
    let tools: Vec<_> = catalog.tools().iter().filter(|tool| tool.enabled).collect();
    let orphans = find_orphans(host, config, &places).orphans;
    let items = plan_projections(host, config, &tools, &places, Depth::Full, |item| item);
    let mut of_tools = ToolIssues::default();
    for projections in items.chunk_by(|left, right| left.tool_id == right.tool_id) {
        if let Some(tool) = catalog.tool(projections[0].tool_id.as_str()) {
            let (home, files, policy, presence) = (host.home(), None, None, None);
            let state = ToolState { catalog, tool, files, home, projections, policy, presence };
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

#[cfg(test)]
mod tests {
    use brigade_fs::MemoryFs;

    use super::*;

    fn write(fs: &MemoryFs, path: &str, text: &str) {
        let path: RelPath = format!("{CLOSEOUTS}/{path}").parse().unwrap();
        fs.create_dir_all(&path.parent()).unwrap();
        fs.write_atomic(&path, text.as_bytes(), brigade_fs::FileMode::Private).unwrap();
    }

    fn record(fingerprint: &str) -> Closeout {
        let text = format!(
            r#"{{"closeout_id": "", "created_at": "", "status": "reviewed", "reason": null, "issue_count": 1,
                "source_fingerprints": ["{fingerprint}"], "safe_summary": ""}}"#
        );
        let members = parse_json(text.as_bytes()).unwrap().as_object().cloned().unwrap();
        Closeout::from_members(members).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_latest_closeout_counts() {
        let fs = MemoryFs::new();
        assert_eq!(closeouts(&fs).fingerprints(), None);
        store_closeout(&fs, at("2026-01-02T00:00:00Z"), record("second")).unwrap();
        store_closeout(&fs, at("2026-01-01T00:00:00Z"), record("first")).unwrap();
        let found = closeouts(&fs);
        assert_eq!(found.fingerprints(), Some(BTreeSet::from(["second".to_owned()])));
        let latest = found.latest.unwrap();
        assert_eq!(latest.created_at, "2026-01-02T00:00:00+00:00");
        let path = format!("{CLOSEOUTS}/{}/closeout.json", latest.closeout_id);
        assert_eq!((latest.path, found.errors.len()), (Some(path), 0));
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let fs = MemoryFs::new();
        let now = at("2026-01-02T00:00:00Z");
        let ids = ["a", "b", "c"].map(|text| store_closeout(&fs, now, record(text)).unwrap().0.closeout_id);
        assert_eq!(ids[1], format!("{}-2", ids[0]));
        assert_eq!(ids[2], format!("{}-3", ids[0]));
        assert!(ids[0].ends_with("-tool-parity-closeout"), "{ids:?}");
    }

    #[test]
    fn what_is_not_a_closeout_is_only_an_error() {
        let fs = MemoryFs::new();
        for (name, text) in [("a", "{"), ("b", "[]"), ("c", "7")] {
            write(&fs, &format!("{name}/closeout.json"), text);
        }
        // A directory without a closeout is left by a crash.
        write(&fs, "d/other.json", "");
        write(&fs, "e/closeout.json/file", "");
        let found = closeouts(&fs);
        assert!(found.latest.is_none());
        let errors: Vec<&str> = found.errors.iter().map(|error| error.0.as_str()).collect();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert_eq!(errors[0], format!("`{CLOSEOUTS}/a/closeout.json` is not a closeout"));
        assert!(errors[3].starts_with(&format!("`{CLOSEOUTS}/e/closeout.json`: ")), "{errors:?}");
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_an_error() {
        let fs = MemoryFs::new();
        let path: RelPath = CLOSEOUTS.parse().unwrap();
        fs.create_dir_all(&path.parent()).unwrap();
        fs.write_atomic(&path, b"", brigade_fs::FileMode::Private).unwrap();
        assert_eq!(closeouts(&fs).errors.len(), 1);
    }
}
