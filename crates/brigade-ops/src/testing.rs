//! A workspace in memory, for tests of operations.

mod calls;
mod host_files;

use std::sync::Arc;

use brigade_fs::{FileMode, MemoryFs, RelPath};
use brigade_testkit::TickingClock;
use brigade_workspace::WorkspaceContext;

pub(crate) use calls::{CallBench, RunEnding};

/// The largest file that a test reads.
const LIMIT: u64 = 1 << 20;

/// A workspace in memory whose clock advances by a second with each reading.
pub(crate) struct Bench {
    pub(crate) context: WorkspaceContext,
}

impl Bench {
    /// Creates a workspace with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Bench {
        let mut context = WorkspaceContext::new(Arc::new(MemoryFs::new()));
        context.clock = Arc::new(TickingClock::new());
        let bench = Bench { context };
        files.iter().for_each(|(path, text)| bench.write(path, text));
        bench
    }

    /// Writes a file, with the directories above it.
    #[track_caller]
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path: RelPath = path.parse().unwrap();
        self.context.fs.create_dir_all(&path.parent()).unwrap();
        self.context.fs.write_atomic(&path, text.as_bytes(), FileMode::Private).unwrap();
    }

    /// Reads a file; `None` if it is missing.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        match self.context.fs.read(&path.parse().unwrap(), LIMIT) {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap()),
            Err(error) if error.is_not_found() => None,
            Err(error) => panic!("{error}"),
        }
    }
}
