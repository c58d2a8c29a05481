//! The files that the paths of a call are relative to: those of the workspace, or of its session's lane.

use std::fmt::{self, Display};
use std::time::Duration;

use brigade_access::{LANES, lane_entry_lock, lane_of};
use brigade_core::{ErrorCode, ErrorKind};
use brigade_fs::{DiskFs, FileKind, Fs, FsError, Location, Lock, RelPath};
use brigade_policy::{Blocker, Failure};

use crate::host::Host;

/// The files that the paths of a call are relative to.
pub enum Files<'a> {
    /// Those of the workspace.
    Workspace(&'a dyn Fs),
    /// Those of a lane.
    Lane(DiskFs),
}

impl Files<'_> {
    /// Returns their file system.
    pub fn fs(&self) -> &dyn Fs {
        match self {
            Files::Workspace(fs) => *fs,
            Files::Lane(fs) => fs,
        }
    }
}

/// Why the files of a lane are not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneError {
    /// It no longer exists.
    Gone,
    /// Its directory is a link or not a worktree.
    NoWorktree,
}

impl LaneError {
    /// Returns the code of the refusal.
    pub fn code(self) -> ErrorCode {
        match self {
            LaneError::Gone => ErrorCode::Archived,
            LaneError::NoWorktree => ErrorCode::UnsafeRepository,
        }
    }
}

impl Display for LaneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LaneError::Gone => "the lane no longer exists; begin a session in another one",
            LaneError::NoWorktree => {
                "the directory of the lane is not a worktree any more; a person may look at it"
            }
        })
    }
}

/// Converts the problem into the refusal of a call.
impl From<LaneError> for Failure {
    fn from(none: LaneError) -> Failure {
        let reason = Blocker::new(none.code(), none.to_string());
        Failure::new(ErrorKind::Refused, "the call is blocked").because([reason])
    }
}

/// The result of [`Host::keep_lane`].
#[derive(Debug)]
pub enum KeptLane {
    /// The lane is not removed while this lock is held.
    Held(Lock),
    /// The lane cannot be used.
    Not(LaneError),
}

impl<'a> Host<'a> {
    /// Prevents the removal of an existing lane. `root` is its directory.
    ///
    /// # Errors
    /// Fails on a disk error, or if another process holds the lock for longer than `patience`.
    pub fn keep_lane(&self, root: &str, patience: Duration) -> Result<KeptLane, FsError> {
        let holder = format!("process {}", std::process::id());
        match self.fs.lock(&RelPath::composed(&lane_entry_lock(root)), &holder, patience) {
            Ok(lock) => Ok(self.files(Some(root)).map_or_else(KeptLane::Not, |_| KeptLane::Held(lock))),
            Err(error) if error.is_not_found() => Ok(KeptLane::Not(LaneError::Gone)),
            Err(error) => Err(error),
        }
    }

    /// Opens the files that the paths of a session are relative to. `root` is its lane's directory.
    ///
    /// # Errors
    /// Fails if the lane cannot be used. Never falls back to the workspace.
    pub fn files(&self, root: Option<&str>) -> Result<Files<'a>, LaneError> {
        let Some(root) = root else { return Ok(Files::Workspace(self.fs)) };
        let id = match lane_of(root) {
            Some(lane) if lane == root => &root[LANES.len() + 1..],
            Some(_) | None => return Err(LaneError::NoWorktree),
        };
        let lanes = match self.fs.resolve(LANES, None) {
            Ok(Location::Inside(path)) => path,
            Ok(Location::Outside(_)) => return Err(LaneError::NoWorktree),
            Err(_) => return Err(LaneError::Gone),
        };
        let kind = |path: &RelPath| match self.fs.link_metadata(path) {
            Ok(found) => Ok(found.kind),
            Err(error) if error.is_not_found() => Err(LaneError::Gone),
            Err(_) => Err(LaneError::NoWorktree),
        };
        let lane = lanes.join(id).map_err(|_| LaneError::NoWorktree)?;
        let entry = lane.join(".git").map_err(|_| LaneError::NoWorktree)?;
        if kind(&lane)? != FileKind::Directory || kind(&entry).ok() != Some(FileKind::File) {
            return Err(LaneError::NoWorktree);
        }
        let path = self.fs.root().join(lane.as_path());
        let files = DiskFs::open(&path).map_err(|_| LaneError::Gone)?;
        // A link may have replaced it since the check.
        if files.root() == path { Ok(Files::Lane(files)) } else { Err(LaneError::NoWorktree) }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes a lane")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use brigade_core::SystemClock;
    use brigade_exec::HostEnvironment;

    use super::*;
    use crate::digests::Digests;

    #[test]
    fn a_lane_is_a_directory_with_the_file_of_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskFs::open(folder.path()).unwrap();
        let (environment, digests) = (HostEnvironment::default(), Digests::default());
        let trust = crate::TrustStore::default();
        let host = Host {
            fs: &disk,
            environment: &environment,
            digests: &digests,
            trust: &trust,
            clock: &SystemClock,
            names: None,
        };
        let found = |root: &str| host.files(Some(root)).map(|files| files.fs().root().to_owned());
        assert_eq!(found(".brigade/lanes/lane-1"), Err(LaneError::Gone));
        let lane = disk.root().join(".brigade/lanes/lane-1");
        fs::create_dir_all(&lane).unwrap();
        assert_eq!(found(".brigade/lanes/lane-1"), Err(LaneError::NoWorktree));
        fs::write(lane.join(".git"), "gitdir: x\n").unwrap();
        assert_eq!(found(".brigade/lanes/lane-1"), Ok(lane.clone()));
        for root in
            [".brigade/lanes/lane-1/src", ".brigade/lanes", ".brigade", "src", "", ".brigade/lanes/.."]
        {
            assert_eq!(found(root), Err(LaneError::NoWorktree), "{root}");
        }
        symlink(&lane, disk.root().join(".brigade/lanes/link")).unwrap();
        assert_eq!(found(".brigade/lanes/link"), Err(LaneError::NoWorktree));
        fs::remove_file(lane.join(".git")).unwrap();
        symlink("elsewhere", lane.join(".git")).unwrap();
        assert_eq!(found(".brigade/lanes/lane-1"), Err(LaneError::NoWorktree));
        assert!(host.files(None).is_ok_and(|files| files.fs().root() == disk.root()));
    }

    #[test]
    fn a_lane_is_held_only_while_it_can_be_used() {
        let bench = crate::testing::Bench::on_disk(&[]);
        let keep = || bench.host().keep_lane(".brigade/lanes/lane-1", Duration::ZERO).unwrap();
        assert!(matches!(keep(), KeptLane::Not(LaneError::Gone)));
        bench.write(".brigade/lanes/lane-1/x", "");
        assert!(matches!(keep(), KeptLane::Not(LaneError::NoWorktree)));
        bench.write(".brigade/lanes/lane-1/.git", "gitdir: x\n");
        let held = keep();
        assert!(matches!(held, KeptLane::Held(_)));
        let busy = bench.host().keep_lane(".brigade/lanes/lane-1", Duration::ZERO).unwrap_err();
        assert!(busy.to_string().contains("locked"), "{busy}");
        drop(held);
        assert!(matches!(keep(), KeptLane::Held(_)));
    }

    #[test]
    fn a_lane_that_is_gone_is_refused_otherwise_than_a_strange_one() {
        let refused = |error: LaneError| {
            let failure = Failure::from(error);
            let reason = failure.blockers()[0].clone();
            (failure.kind(), reason.is(error.code()), reason.message == error.to_string())
        };
        assert_eq!(refused(LaneError::Gone), (ErrorKind::Refused, true, true));
        assert_eq!(refused(LaneError::NoWorktree), (ErrorKind::Refused, true, true));
        assert_ne!(LaneError::Gone.code(), LaneError::NoWorktree.code());
    }
}
