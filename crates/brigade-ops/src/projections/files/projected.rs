//! Records projections that were written outside of the directories that the orphan search always covers.
//!
//! `.brigade/tools/projected.json` lists these files, so that they are found after their target left the catalog.
//! Files in the usual directories are not listed, because the search finds them.

use std::collections::BTreeSet;

use brigade_core::json::{from_json, pretty_text};
use brigade_core::{Dialect, Json};
use brigade_fs::{FileMode, Fs, FsError, RelPath};
use brigade_projection::folders;
use serde::{Deserialize, Serialize};

/// The file of the list.
const PROJECTED: &str = ".brigade/tools/projected.json";

/// The schema id of the file.
const SCHEMA: &str = "brigade.projected.v1";

/// The largest list that is read.
const LIMIT: u64 = 16 << 20;

/// The list of written files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectedFiles {
    pub(crate) paths: BTreeSet<RelPath>,
    /// Whether every file that was ever written is in the list or in a searched directory.
    pub(crate) is_complete: bool,
    /// Whether the list was read from disk.
    is_stored: bool,
}

impl ProjectedFiles {
    /// Reads the list. `was_applied` says whether projections were written here before.
    pub(crate) fn read(fs: &dyn Fs, was_applied: bool) -> ProjectedFiles {
        match fs.read(&RelPath::from_static(PROJECTED), LIMIT) {
            Ok(bytes) => ProjectedFiles::parse(&bytes),
            // Earlier versions wrote no list.
            Err(error) => ProjectedFiles {
                paths: BTreeSet::new(),
                is_complete: error.is_not_found() && !was_applied,
                is_stored: false,
            },
        }
    }

    /// Parses a list. Invalid paths are dropped, and make the list incomplete.
    fn parse(bytes: &[u8]) -> ProjectedFiles {
        let nothing = ProjectedFiles { paths: BTreeSet::new(), is_complete: false, is_stored: true };
        let document = Json::parse_bytes(bytes, Dialect::Strict).ok();
        let Some(Ok(document)) = document.map(|json| from_json::<Document>(&json)) else { return nothing };
        if document.schema != SCHEMA {
            return nothing;
        }
        let paths: BTreeSet<RelPath> = document.paths.iter().filter_map(|path| path.parse().ok()).collect();
        let is_complete = document.complete && paths.len() == document.paths.len();
        ProjectedFiles { is_complete, paths, is_stored: true }
    }

    fn to_text(&self) -> String {
        let paths = self.paths.iter().map(|path| path.as_str().to_owned()).collect();
        let document = Document { schema: SCHEMA.to_owned(), complete: self.is_complete, paths };
        pretty_text(&document).expect("a list of paths is JSON")
    }
}

/// The file.
#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    #[serde(default)]
    complete: bool,
    paths: Vec<String>,
}

/// Adds written files to the list. A new list also gets `known`, the files that the catalog wants.
pub(crate) fn remember(
    fs: &dyn Fs,
    mut list: ProjectedFiles,
    written: impl Iterator<Item = RelPath>,
    known: impl Iterator<Item = RelPath>,
) -> Result<(), FsError> {
    let before = list.paths.len();
    let searched: Vec<RelPath> = folders().into_iter().map(RelPath::from_static).collect();
    let is_found = |path: &RelPath| searched.iter().any(|folder| path.is_in(folder));
    list.paths.extend(written.filter(|path| !is_found(path)));
    if !list.is_stored {
        list.paths.extend(known.filter(|path| !is_found(path)));
    }
    if list.is_stored && list.paths.len() == before {
        return Ok(());
    }
    // Deleted files need no search.
    list.paths.retain(|path| fs.exists(path).unwrap_or(true));
    let text = list.to_text();
    fs.write_atomic(&RelPath::from_static(PROJECTED), text.as_bytes(), FileMode::KeepOr(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_back_and_an_invalid_one_is_incomplete() {
        let paths = BTreeSet::from([RelPath::from_static("docs/agents/a.md")]);
        let list = ProjectedFiles { paths, is_complete: true, is_stored: true };
        let text = list.to_text();
        assert_eq!(ProjectedFiles::parse(text.as_bytes()), list);
        for odd in [text.replace("docs/agents", "../out"), text.replace(".v1", ".v2"), "[]".to_owned()] {
            let read = ProjectedFiles::parse(odd.as_bytes());
            assert!(!read.is_complete && read.paths.is_empty(), "{odd}");
        }
    }
}
