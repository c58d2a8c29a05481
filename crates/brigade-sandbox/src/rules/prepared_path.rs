//! Opens the paths of a profile. In the workspace no links are followed.
//!
//! A run can replace files in the workspace at any time, so paths there are never followed through links. Paths
//! elsewhere belong to the owner and may have links.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;

use crate::SandboxError;

/// Returns a path in the form of system calls.
pub(super) fn c_string(path: &Path) -> Result<CString, SandboxError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| SandboxError::build("a path holds a NUL byte"))
}

/// Returns the parts of a path in the form of system calls.
pub(super) fn c_parts(path: &Path) -> Result<Vec<CString>, SandboxError> {
    path.components().map(|part| c_string(Path::new(part.as_os_str()))).collect()
}

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A path that is ready to be opened with plain system calls.
#[derive(Debug)]
pub(super) struct PreparedPath {
    /// The part that is opened with links followed.
    start: CString,
    /// The parts that are opened one by one and may not be links.
    parts: Vec<CString>,
}

impl PreparedPath {
    pub(super) fn new(path: &Path, workspace: Option<&Path>) -> Result<PreparedPath, SandboxError> {
        let below = workspace.and_then(|workspace| Some((workspace, path.strip_prefix(workspace).ok()?)));
        let Some((workspace, below)) = below else {
            return Ok(PreparedPath { start: c_string(path)?, parts: Vec::new() });
        };
        Ok(PreparedPath { start: c_string(workspace)?, parts: c_parts(below)? })
    }

    /// Opens the path for use by descriptor. Makes only plain system calls.
    pub(super) fn open(&self) -> Result<OwnedFd, Errno> {
        let (at, is_link) = self.open_last()?;
        if is_link { Err(Errno::LOOP) } else { Ok(at) }
    }

    /// Opens the path for use by descriptor, and the link itself if its last part is one. Makes only plain system
    /// calls.
    pub(super) fn open_itself(&self) -> Result<OwnedFd, Errno> {
        self.open_last().map(|(at, _)| at)
    }

    fn open_last(&self) -> Result<(OwnedFd, bool), Errno> {
        let mut at = open(self.start.as_c_str(), HANDLE, Mode::empty())?;
        let mut is_link = false;
        for part in &self.parts {
            if is_link {
                return Err(Errno::LOOP);
            }
            at = openat(&at, part.as_c_str(), HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
            is_link = FileType::from_raw_mode(fstat(&at)?.st_mode) == FileType::Symlink;
        }
        Ok((at, is_link))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_below_the_workspace_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let workspace = root.join("work");
        fs::create_dir_all(workspace.join("deep/er")).unwrap();
        symlink("deep", workspace.join("link")).unwrap();
        symlink("../er", workspace.join("deep/last")).unwrap();
        symlink(&workspace, root.join("other")).unwrap();
        let check = |path: &str, expect: Result<(), Errno>| {
            let found = PreparedPath::new(&root.join(path), Some(&workspace)).unwrap().open().map(drop);
            assert_eq!(found, expect, "{path}");
        };
        check("work", Ok(()));
        check("work/deep/er", Ok(()));
        check("work/link", Err(Errno::LOOP));
        check("work/deep/last", Err(Errno::LOOP));
        check("work/link/er", Err(Errno::LOOP));
        check("work/gone", Err(Errno::NOENT));
        check("other/link", Ok(()));
    }
}
