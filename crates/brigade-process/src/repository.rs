//! Opens the repository of a workspace for one run, without the files that git executes or takes settings from.
//!
//! git creates its lock files next to the files that it replaces, so a run that commits creates files directly in
//! `.git`. A file there with the right name (`commondir`, `rebase-merge/git-rebase-todo`) makes the next git command
//! start a program. So the run gets a private directory in place of `.git`:
//!
//! | entry of `.git` | for the run |
//! | --- | --- |
//! | [`OPEN`] | the original, writable, except for [`KEPT`] |
//! | [`COPIED`] and shared indexes | a copy; after the run, the changed copy replaces the original |
//! | all other existing entries | the original, read-only |
//! | other files that the run creates | removed with the run |
//!
//! The run cannot create symbolic links, because git writes to its logs through them.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use brigade_sandbox::ReplacedPath;

use crate::PrivateFolder;

/// The directory of git.
const GIT: &str = ".git";

/// Data directories, whose content git verifies by hash and format and never executes.
const OPEN: [&str; 4] = ["logs", "objects", "refs", "reftable"];

/// A path in them that stays closed, because it tells git where to find other objects.
const KEPT: &str = "objects/info";

/// Data files directly in `.git`.
const COPIED: [&str; 14] = [
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "ORIG_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "index",
    "packed-refs",
    "shallow",
];

/// The prefix of the names of shared indexes; a hash follows.
const SHARED_INDEX: &str = "sharedindex.";

/// The largest file that is copied.
const MAX_COPY_BYTES: u64 = 512 << 20;

/// How long another git may hold a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a lock is tried.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The repository of a workspace while a run may write to it.
#[derive(Debug)]
pub struct OpenedRepository {
    git: PathBuf,
    private: PrivateFolder,
    write: Vec<PathBuf>,
    read: Vec<PathBuf>,
}

impl OpenedRepository {
    /// Prepares the repository of a workspace, whose path must not have links.
    ///
    /// # Errors
    /// Returns one sentence that says why the repository stays closed.
    pub fn open(workspace: &Path) -> Result<OpenedRepository, String> {
        let git = workspace.join(GIT);
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if !is_folder(&git) {
            return Err("`.git` is not a directory, so it stays closed".to_owned());
        }
        let unread =
            |error: io::Error| format!("`.git` stays closed, because it cannot be prepared: {error}");
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&git).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().map_err(unread)?.is_symlink() || git.join(&name) != entry.path() {
                return Err(format!("`.git/{name}` is a link or has an odd name, so `.git` stays closed"));
            }
            names.insert(name);
        }
        let lacks = ["HEAD", "objects", "refs"].into_iter().find(|name| !names.contains(*name));
        if names.contains("commondir") || lacks.is_some() {
            return Err("`.git` is not a whole repository, so it stays closed".to_owned());
        }
        // Without it, git would create it in the private directory.
        if names.insert("logs".to_owned()) {
            fs::create_dir(git.join("logs")).map_err(unread)?;
        }
        let private = PrivateFolder::create().map_err(unread)?;
        let (write, rest): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| OPEN.contains(&name.as_str()) && is_folder(&git.join(name)));
        let (copied, read): (Vec<String>, Vec<String>) = rest.into_iter().partition(|name| is_copied(name));
        let paths = |names: Vec<String>| names.into_iter().map(|name| git.join(name)).collect::<Vec<_>>();
        let mut opened =
            OpenedRepository { write: paths(write), read: paths(read), private, git: git.clone() };
        opened.read.push(git.join(KEPT));
        for folder in [opened.entries(), opened.before()] {
            fs::DirBuilder::new().mode(0o700).create(&folder).map_err(unread)?;
            for name in &copied {
                if let Some(file) = Content::read(&git.join(name)).map_err(unread)? {
                    file.write_new(&folder.join(name)).map_err(unread)?;
                }
            }
        }
        Ok(opened)
    }

    /// Returns the directory that replaces `.git` for the run.
    pub fn replaced(&self) -> ReplacedPath {
        ReplacedPath {
            folder: self.git.clone(),
            by: self.entries(),
            write: self.write.clone(),
            read: self.read.clone(),
        }
    }

    /// Lists the paths of the repository that the run may write.
    pub fn writable(&self) -> Vec<PathBuf> {
        let copied = ["HEAD", "index"].map(|name| self.git.join(name));
        self.write.iter().cloned().chain(copied).collect()
    }

    /// Moves the changed copies into `.git`. Returns one sentence for each file that could not be moved.
    pub fn close(self) -> Vec<String> {
        let listed = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let names: BTreeSet<String> = listed(self.entries())
            .chain(listed(self.before()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_copied(name))
            .collect();
        names.iter().filter_map(|name| self.put_back(name).err()).collect()
    }

    fn entries(&self) -> PathBuf {
        self.private.path().join("entries")
    }

    fn before(&self) -> PathBuf {
        self.private.path().join("before")
    }

    /// Replaces one file as git does, unless another process changed it during the run.
    fn put_back(&self, name: &str) -> Result<(), String> {
        let failed = |why: String| format!("`.git/{name}` is as it was before the run, because {why}");
        let read = |path: PathBuf| Content::read(&path).map_err(|error| failed(error.to_string()));
        let (before, after) = (read(self.before().join(name))?, read(self.entries().join(name))?);
        if before == after {
            return Ok(());
        }
        if name == "HEAD" && !after.as_ref().is_some_and(|file| is_head(&file.bytes)) {
            return Err(failed("the run left no branch and no commit in it".to_owned()));
        }
        let path = self.git.join(name);
        let lock = Lock::take(&path).map_err(|error| failed(format!("it cannot be locked: {error}")))?;
        if read(path.clone())? != before {
            return Err(failed("another process changed it during the run".to_owned()));
        }
        let done = match after {
            Some(file) => file.write_to(&lock.file).and_then(|()| lock.replace(&path)),
            None => fs::remove_file(&path),
        };
        done.map_err(|error| failed(error.to_string()))
    }
}

/// Returns whether a file directly in `.git` is copied for a run.
fn is_copied(name: &str) -> bool {
    let is_hash = |text: &str| 40 <= text.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    COPIED.contains(&name) || name.strip_prefix(SHARED_INDEX).is_some_and(is_hash)
}

/// Returns whether `HEAD` names a branch or a commit.
fn is_head(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    let is_commit = matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit);
    is_commit || text.strip_prefix(b"ref:").is_some_and(|name| name.trim_ascii().starts_with(b"refs/"))
}

/// The content of a data file, with the time that git compares.
struct Content {
    bytes: Vec<u8>,
    modified: Option<SystemTime>,
}

impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        self.bytes == other.bytes
    }
}

impl Content {
    /// Reads a regular file without following links; `None` if it does not exist.
    fn read(path: &Path) -> io::Result<Option<Content>> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        if !found.is_file() || MAX_COPY_BYTES < found.len() {
            return Err(io::Error::other("it is not a file of at most 512 MiB"));
        }
        let mut bytes = Vec::new();
        (&mut file).take(MAX_COPY_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(Content { bytes, modified: found.modified().ok() }))
    }

    fn write_new(&self, path: &Path) -> io::Result<()> {
        self.write_to(&OpenOptions::new().write(true).create_new(true).open(path)?)
    }

    fn write_to(&self, mut file: &File) -> io::Result<()> {
        file.write_all(&self.bytes)?;
        match self.modified {
            Some(at) => file.set_times(FileTimes::new().set_modified(at)),
            None => Ok(()),
        }
    }
}

/// git's lock file for another file. Dropping it releases the lock.
struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    fn take(path: &Path) -> io::Result<Lock> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let began = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Lock { path, file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if LOCK_TIMEOUT < began.elapsed() {
                        return Err(io::Error::other("another git holds the lock"));
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn replace(&self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // After the rename the path is missing, or has the lock of another git, which must not be removed.
        let is_ours = |found: fs::Metadata| {
            use std::os::unix::fs::MetadataExt as _;
            self.file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
        };
        if self.path.symlink_metadata().is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(GIT);
        for name in ["objects/info", "refs/heads", "hooks", "info"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("index", "one"), ("config", "[core]\n")] {
            fs::write(git.join(name), text).unwrap();
        }
        (folder, git)
    }

    #[test]
    fn only_known_data_is_open() {
        let (folder, git) = repository();
        let opened = OpenedRepository::open(folder.path()).unwrap();
        let ReplacedPath { write, read, .. } = opened.replaced();
        let paths = |names: &[&str]| names.iter().map(|name| git.join(name)).collect::<Vec<_>>();
        assert_eq!(write, paths(&["logs", "objects", "refs"]));
        assert_eq!(read, paths(&["config", "hooks", "info", "objects/info"]));
    }

    #[test]
    fn only_known_files_are_put_back() {
        let (folder, git) = repository();
        let opened = OpenedRepository::open(folder.path()).unwrap();
        let entries = opened.entries();
        for name in
            ["index", "MERGE_HEAD", "config", "commondir", "config.worktree", "HEAD.lock", "rebase-merge"]
        {
            fs::write(entries.join(name), "two").unwrap();
        }
        symlink("/etc/passwd", entries.join("ORIG_HEAD")).unwrap();
        let problems = opened.close();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("`.git/ORIG_HEAD` is as it was"), "{problems:?}");
        let read = |name: &str| fs::read_to_string(git.join(name)).ok();
        assert_eq!((read("index").as_deref(), read("MERGE_HEAD").as_deref()), (Some("two"), Some("two")));
        assert_eq!(read("config").as_deref(), Some("[core]\n"));
        for name in ["commondir", "config.worktree", "HEAD.lock", "rebase-merge", "ORIG_HEAD", "index.lock"] {
            assert!(git.join(name).symlink_metadata().is_err(), "{name}");
        }
    }

    #[test]
    fn files_changed_by_others_are_not_replaced() {
        let (folder, git) = repository();
        let opened = OpenedRepository::open(folder.path()).unwrap();
        fs::write(opened.entries().join("index"), "of the run").unwrap();
        fs::write(opened.entries().join("HEAD"), "ref: /etc/passwd").unwrap();
        fs::write(git.join("index"), "of another").unwrap();
        let why: Vec<String> = opened.close();
        assert_eq!(
            why,
            [
                "`.git/HEAD` is as it was before the run, because the run left no branch and no commit in it",
                "`.git/index` is as it was before the run, because another process changed it during the run",
            ]
        );
        assert_eq!(fs::read_to_string(git.join("index")).unwrap(), "of another");
        assert!(git.join("index.lock").symlink_metadata().is_err());
    }

    #[test]
    fn files_removed_by_a_run_are_removed() {
        let (folder, git) = repository();
        fs::write(git.join("MERGE_HEAD"), "x").unwrap();
        let opened = OpenedRepository::open(folder.path()).unwrap();
        fs::remove_file(opened.entries().join("MERGE_HEAD")).unwrap();
        assert!(opened.close().is_empty());
        assert!(!git.join("MERGE_HEAD").exists());
    }

    #[test]
    fn other_layouts_stay_closed() {
        let check = |set_up: &dyn Fn(&Path), expect: &str| {
            let (folder, git) = repository();
            set_up(&git);
            let why = OpenedRepository::open(folder.path()).unwrap_err();
            assert!(why.contains(expect), "{why}");
        };
        let moved = |git: &Path| fs::rename(git, git.with_file_name("real.git")).unwrap();
        check(&|git| moved(git), "is not a directory");
        check(
            &|git| {
                moved(git);
                symlink("real.git", git).unwrap();
            },
            "is not a directory",
        );
        check(
            &|git| {
                moved(git);
                fs::write(git, "gitdir: real.git").unwrap();
            },
            "is not a directory",
        );
        check(&|git| symlink("config", git.join("packed-refs")).unwrap(), "`.git/packed-refs` is a link");
        check(&|git| fs::write(git.join("commondir"), "..").unwrap(), "not a whole repository");
        check(&|git| fs::remove_file(git.join("HEAD")).unwrap(), "not a whole repository");
    }
}
