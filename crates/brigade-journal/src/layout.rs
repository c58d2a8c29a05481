//! Where the files of a journal are.

use brigade_fs::RelPath;

/// The paths of a journal and its ledger, beneath one directory.
///
/// `.brigade/tools` with the name `calls` has the journal `calls.jsonl`, its segments in `calls/`, and quarantines
/// `calls.quarantine-N.jsonl`. The ledger is in the directory of the documents that it chains.
#[derive(Clone, Debug)]
pub struct Layout {
    directory: RelPath,
    name: String,
    documents: RelPath,
    /// Other directories of the owner: what is not a directory is set aside, and temporary files are removed.
    beside: Vec<RelPath>,
}

/// Reads a path that this crate or a constant of its owner made.
fn path(text: &str) -> RelPath {
    text.parse().expect("paths made of checked names stay beneath the root")
}

impl Layout {
    /// Makes the paths of the journal `name` in a directory. `documents` and `beside` are directories in it.
    ///
    /// # Panics
    /// When the texts are not relative paths.
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

    /// The directory of everything.
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

    /// The lock that every writer takes.
    pub fn lock(&self) -> RelPath {
        self.inside("queue.lock")
    }

    /// A copy of the journal as an earlier program wrote it.
    pub fn original_copy(&self, program: &str, number: u64) -> RelPath {
        let journal = format!("{}.jsonl.{program}", self.name);
        self.inside(&if number == 0 { journal } else { format!("{journal}-{number}") })
    }

    /// How the names of temporary files of the journal start.
    pub(crate) fn temporary_prefix(&self) -> String {
        format!(".{}.", self.name)
    }

    /// A quarantine of unreadable lines.
    pub(crate) fn quarantine(&self, number: u64) -> RelPath {
        self.inside(&format!("{}.quarantine-{number}.jsonl", self.name))
    }

    /// The directory of segments and caches.
    pub fn segments(&self) -> RelPath {
        self.inside(&self.name)
    }

    /// The cache of places in the journal.
    pub(crate) fn journal_index(&self) -> RelPath {
        self.inside(&format!("{}/journal.index", self.name))
    }

    /// A file of finished records.
    pub(crate) fn segment(&self, number: u64) -> RelPath {
        self.inside(&format!("{}/{}", self.name, segment_name(number)))
    }

    /// The cache of places in a segment.
    pub(crate) fn segment_index(&self, number: u64) -> RelPath {
        self.inside(&format!("{}/segment-{number}.index", self.name))
    }

    /// The directories that must be directories.
    pub(crate) fn folders(&self) -> Vec<RelPath> {
        let mut folders = vec![self.segments(), self.documents.clone()];
        folders.extend(self.beside.iter().cloned());
        folders
    }
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("segment-{number}.jsonl")
}

/// Reads the number of a segment out of its file name.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("segment-")?.strip_suffix(".jsonl")?.parse().ok()
}
