//! A workspace: the folder that holds `.brigade`.

use std::path::Path;
use std::sync::Arc;

use brigade_core::Timestamp;
use brigade_fs::{DiskFs, Fs, RelPath};
use brigade_queue::{JournalQueue, is_alive};

use crate::context::Context;
use crate::digests::Digests;
use crate::error::{Error, ErrorKind};

/// The catalog's file.
pub(crate) const CATALOG: &str = ".brigade/tools.toml";

/// The policy's file.
pub(crate) const POLICY: &str = ".brigade/tools/policy.toml";

/// The file of the runtimes.
pub(crate) const RUNTIMES: &str = ".brigade/tools/runtimes.toml";

/// The queue's file.
pub(crate) const CALLS: &str = ".brigade/tools/calls.jsonl";

/// The folder of receipts and logs.
pub(crate) const RUNS: &str = ".brigade/tools/runs";

/// The folder of checkpoints.
pub(crate) const CHECKPOINTS: &str = ".brigade/tools/checkpoints";

/// The folder that marks a workspace.
const MARKER: &str = ".brigade";

/// The largest configuration file that is read.
pub(crate) const CONFIG_LIMIT: u64 = 256 << 20;

/// An open workspace, and the operations on it.
///
/// Opening reads nothing but the folder; each operation reads the files that it needs, once.
pub struct Workspace {
    pub(crate) fs: Arc<DiskFs>,
    pub(crate) context: Context,
    pub(crate) digests: Digests,
}

impl Workspace {
    /// Opens a folder as a workspace, whether or not it holds `.brigade`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when it is no folder that can be opened.
    pub fn open(target: &Path, context: Context) -> Result<Workspace, Error> {
        let target = context.expand(target);
        let fs = DiskFs::open(&target)
            .map_err(|error| Error::new(ErrorKind::Usage, format!("the target cannot be used: {error}")))?;
        Ok(Workspace { fs: Arc::new(fs), context, digests: Digests::default() })
    }

    /// Opens the nearest folder that holds `.brigade`, from `start` upwards; `start` itself when none does.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when `start` is no folder that can be opened.
    pub fn discover(start: &Path, context: Context) -> Result<Workspace, Error> {
        let workspace = Workspace::open(start, context)?;
        let start = workspace.fs.root().to_owned();
        for folder in start.ancestors() {
            if folder == start && workspace.fs.exists(&rel(MARKER))? {
                break;
            }
            let candidate = DiskFs::open(folder);
            if let Ok(fs) = candidate
                && fs.exists(&rel(MARKER)).unwrap_or(false)
            {
                return Ok(Workspace { fs: Arc::new(fs), ..workspace });
            }
        }
        Ok(workspace)
    }

    /// Opens the workspace around the folder that this process is in, with the context of this process.
    ///
    /// # Errors
    /// When that folder cannot be opened.
    pub fn here() -> Result<Workspace, Error> {
        let start = brigade_process::current_dir().map_err(|error| {
            Error::new(
                ErrorKind::Environment,
                format!("the current folder cannot be found: {}", error.kind()),
            )
        })?;
        Workspace::discover(&start, Context::of_process())
    }

    /// Returns the absolute path of the workspace.
    pub fn root(&self) -> &Path {
        self.fs.root()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    /// Opens the queue; touches nothing.
    pub(crate) fn queue(&self) -> JournalQueue {
        let holder = format!("process {}, since {}", std::process::id(), self.now());
        JournalQueue::new(self.fs.clone(), holder, self.context.lock_timeout, Arc::new(is_alive))
    }

    /// Returns the workspace as reports name it.
    pub(crate) fn target(&self) -> String {
        self.fs.root().display().to_string()
    }

    /// Makes a path absolute, as reports have it; absolute ones stay.
    pub(crate) fn absolute(&self, path: &str) -> String {
        absolute(self.fs.root(), self.context.home(), path)
    }

    /// Returns what makes paths absolute, for rows that outlive the operation.
    pub(crate) fn absolute_paths(&self) -> impl Fn(&str) -> String + Clone + Send + Sync + 'static {
        let root = self.fs.root().to_owned();
        let home = self.context.home().map(Path::to_owned);
        move |path| absolute(&root, home.as_deref(), path)
    }
}

fn absolute(root: &Path, home: Option<&Path>, path: &str) -> String {
    match path.strip_prefix("~/").zip(home) {
        Some((rest, home)) => home.join(rest).display().to_string(),
        // Thousands of plain paths stand in one document.
        None => match root.to_str().filter(|root| *root != "/" && !path.starts_with('/')) {
            Some(root) => [root, "/", path].concat(),
            None => root.join(path).display().to_string(),
        },
    }
}

/// Makes a path of one that is written in this program.
pub(crate) fn rel(path: &str) -> RelPath {
    path.parse().expect("paths in the program stay inside the workspace")
}
