//! The closeout of projection issues that counts: the latest.

use std::collections::BTreeSet;

use brigade_core::{Json, Timestamp};
use brigade_fs::Fs as _;

use crate::error::Error;
use crate::files::{DOCUMENT_LIMIT, parse_json};
use crate::workspace::{Workspace, rel};

/// The folder with a folder for each closeout.
const CLOSEOUTS: &str = ".brigade/tools/parity-closeouts";

/// What a person has looked at and accepted.
pub(crate) struct Closeout {
    /// The document, as reports have it.
    pub(crate) document: Json,
    /// The fingerprints of the issues that it quiets.
    pub(crate) fingerprints: BTreeSet<String>,
}

impl Workspace {
    /// Reads the closeout that was made last; what cannot be read quiets nothing.
    pub(crate) fn latest_closeout(&self) -> Result<Option<Closeout>, Error> {
        let entries = match self.fs.list_dir(&rel(CLOSEOUTS)) {
            Ok(entries) => entries,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut latest: Option<(Option<Timestamp>, Json)> = None;
        for entry in entries {
            let Ok(path) = rel(CLOSEOUTS).join(&format!("{}/closeout.json", entry.name)) else { continue };
            let Ok(bytes) = self.fs.read(&path, DOCUMENT_LIMIT) else { continue };
            let Ok(document) = parse_json(&bytes) else { continue };
            let at = document.get("created_at").and_then(Json::as_str).and_then(|at| at.parse().ok());
            // Names begin with the time, so of two without one the later name is the later closeout.
            if latest.as_ref().is_none_or(|(before, _)| *before <= at) {
                latest = Some((at, document));
            }
        }
        Ok(latest.map(|(_, document)| {
            let listed = document.get("source_fingerprints").and_then(Json::as_array).unwrap_or_default();
            let fingerprints = listed.iter().filter_map(Json::as_str).map(str::to_owned).collect();
            Closeout { document, fingerprints }
        }))
    }
}
