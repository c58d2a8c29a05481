//! A workspace in memory, for tests of operations.

mod calls;
mod host_files;

use std::path::Path;
use std::sync::Arc;

use brigade_exec::HostEnvironment;
use brigade_fs::{DiskFs, FileKind, FileMode, Fs, MemoryFs, RelPath};
use brigade_testkit::TickingClock;
use brigade_workspace::WorkspaceContext;
use tempfile::TempDir;

pub(crate) use calls::{CallBench, RunEnding};

/// The largest file that a test reads.
const LIMIT: u64 = 4 << 20;

/// A workspace in memory whose clock advances by a second with each reading.
pub(crate) struct Bench {
    pub(crate) context: WorkspaceContext,
    /// The directory, if the files are on the disk.
    _folder: Option<TempDir>,
}

/// Variables of a user whose home directory and programs are in the workspace.
const VARIABLES: [(&str, &str); 2] = [("HOME", "home"), ("PATH", "bin")];

impl Bench {
    /// Creates a workspace with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Bench {
        Bench::over(Arc::new(MemoryFs::new()), None, files)
    }

    fn over(fs: Arc<dyn Fs>, folder: Option<TempDir>, files: &[(&str, &str)]) -> Bench {
        let mut context = WorkspaceContext::new(fs);
        context.clock = Arc::new(TickingClock::new());
        let bench = Bench { context, _folder: folder };
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

    /// Creates a workspace whose user has the home directory `home` and the programs in `bin`.
    pub(crate) fn of_user(files: &[(&str, &str)]) -> Bench {
        Bench::new(files).with_user()
    }

    /// Like [`Bench::of_user`], but on the disk, because a plan opens the program of its command there.
    pub(crate) fn on_disk(files: &[(&str, &str)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let fs = Arc::new(DiskFs::open(folder.path()).unwrap());
        Bench::over(fs, Some(folder), files).with_user()
    }

    fn with_user(self) -> Bench {
        let root = self.context.target();
        VARIABLES.iter().fold(self, |bench, (name, path)| bench.variable(name, &format!("{root}/{path}")))
    }

    /// Sets a variable of the host.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Bench {
        let known = self.context.environment.variables().map(|(name, value)| (name.clone(), value.clone()));
        let all = known.chain([(name.into(), value.into())]).collect::<Vec<_>>();
        self.context.environment = Arc::new(HostEnvironment::new(all));
        self
    }

    /// Returns the same workspace for operations that share it, with the same keys.
    pub(crate) fn shared(&self) -> Arc<WorkspaceContext> {
        let context = &self.context;
        Arc::new(WorkspaceContext {
            key: context.key.clone(),
            trust: context.trust.clone(),
            files_of_calls: context.files_of_calls.clone(),
            ..context.over(context.fs.clone())
        })
    }

    /// Writes a program, or makes a file one.
    #[track_caller]
    pub(crate) fn program(&self, path: &str, text: &str) {
        self.write(path, text);
        self.context.fs.set_mode(&path.parse().unwrap(), 0o755).unwrap();
    }

    /// Changes the text of a file.
    #[track_caller]
    pub(crate) fn replace(&self, path: &str, old: &str, new: &str) {
        let text = self.read(path).expect("the file is there");
        assert!(text.contains(old), "no `{old}` in {text}");
        self.write(path, &text.replace(old, new));
    }

    /// Removes a file.
    #[track_caller]
    pub(crate) fn remove(&self, path: &str) {
        self.context.fs.remove(&path.parse().unwrap()).unwrap();
    }

    /// Copies a directory of the disk, such as one of the fixtures.
    #[track_caller]
    pub(crate) fn copy(&self, from: &Path, to: &str) {
        let disk = DiskFs::open(from).unwrap();
        for path in paths(&disk) {
            let bytes = disk.read(&path.parse().unwrap(), LIMIT).unwrap();
            let target = if to.is_empty() { path } else { format!("{to}/{path}") };
            self.write(&target, &String::from_utf8(bytes).unwrap());
        }
    }

    /// Returns the paths of all files, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        paths(&*self.context.fs)
    }

    /// Checks that only these files contain a text.
    #[track_caller]
    pub(crate) fn assert_nowhere(&self, text: &str, except: &[&str]) {
        for path in self.paths().iter().filter(|path| !except.contains(&path.as_str())) {
            let bytes = self.context.fs.read(&path.parse().unwrap(), LIMIT).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(text), "{path} holds {text}");
        }
    }
}

/// Returns the paths of all files, sorted.
fn paths(fs: &dyn Fs) -> Vec<String> {
    let (mut paths, mut folders) = (Vec::new(), vec![RelPath::root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs.list_dir(&folder).unwrap() {
            let path = folder.join(&entry.name).unwrap();
            match entry.kind {
                FileKind::Directory => folders.push(path),
                _ => paths.push(path.to_string()),
            }
        }
    }
    paths.sort();
    paths
}
