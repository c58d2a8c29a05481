//! The paths of a journal's files.

use brigade_fs::RelPath;

/// The paths of a journal and its ledger within one directory.
///
/// For example, the directory `.brigade/tools` and the name `calls` give the journal `calls.jsonl`, segments in
/// `calls/`, and quarantines `calls.quarantine-N.jsonl`. The ledger is in the directory of the documents that it
/// chains.
#[derive(Clone, Debug)]
pub struct Layout {
    directory: RelPath,
    name: String,
    documents: RelPath,
    /// Other directories of the owner. Anything else with their names is moved to a quarantine, and temporary files in
    /// them are removed.
    beside: Vec<RelPath>,
}

/// Parses a path from this crate or from a constant of the owner.
fn path(text: &str) -> RelPath {
    RelPath::composed(text)
}

impl Layout {
    /// Builds the paths of the journal `name` in a directory. `documents` and `beside` are its subdirectories.
    ///
    /// # Panics
    /// Panics if an argument is not a relative path.
    pub fn new(directory: &str, name: &str, documents: &str, beside: &[&str]) -> Layout {
        let inside = |folder: &str| path(&format!("{directory}/{folder}"));
        Layout {
            directory: path(directory),
            name: name.to_owned(),
            documents: inside(documents),
            beside: beside.iter().map(|folder| inside(folder)).collect(),
        }
    }

    fn inside(&self, rest: &str) -> RelPath {
        path(&format!("{}/{rest}", self.directory))
    }

    /// The directory that contains everything.
    pub fn directory(&self) -> &RelPath {
        &self.directory
    }

    /// The directory of the documents that the ledger chains.
    pub fn documents(&self) -> &RelPath {
        &self.documents
    }

    /// The journal.
    pub fn journal(&self) -> RelPath {
        self.inside(&format!("{}.jsonl", self.name))
    }

    /// The lock file that every writer acquires.
    pub fn lock(&self) -> RelPath {
        self.inside("queue.lock")
    }

    /// A copy of the journal as an earlier program left it.
    pub fn original_copy(&self, program: &str, number: u64) -> RelPath {
        let journal = format!("{}.jsonl.{program}", self.name);
        self.inside(&if number == 0 { journal } else { format!("{journal}-{number}") })
    }

    /// The prefix of temporary file names of the journal.
    pub(crate) fn temporary_prefix(&self) -> String {
        format!(".{}.", self.name)
    }

    /// A quarantine file of unreadable lines.
    pub(crate) fn quarantine(&self, number: u64) -> RelPath {
        self.inside(&format!("{}.quarantine-{number}.jsonl", self.name))
    }

    /// The directory of segments and indexes.
    pub fn segments(&self) -> RelPath {
        self.inside(&self.name)
    }

    /// The index of the journal.
    pub(crate) fn journal_index(&self) -> RelPath {
        self.inside(&format!("{}/journal.index", self.name))
    }

    /// A file of finished records.
    pub(crate) fn segment(&self, number: u64) -> RelPath {
        self.inside(&format!("{}/{}", self.name, segment_name(number)))
    }

    /// The index of a segment.
    pub(crate) fn segment_index(&self, number: u64) -> RelPath {
        self.inside(&format!("{}/segment-{number}.index", self.name))
    }

    /// The paths that must be directories.
    pub(crate) fn directories(&self) -> Vec<RelPath> {
        let mut directories = vec![self.segments(), self.documents.clone()];
        directories.extend(self.beside.iter().cloned());
        directories
    }
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("segment-{number}.jsonl")
}

/// Parses the number of a segment from its file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("segment-")?.strip_suffix(".jsonl")?.parse().ok()
}
