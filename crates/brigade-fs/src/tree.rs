//! Removes directories whose content is arbitrary.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::{Errno, Result};

use crate::error::Explain;
use crate::{DiskFs, FsError, RelPath};

impl DiskFs {
    /// Removes a directory and its content, however deep it is and whatever its names are.
    pub(crate) fn remove_everything(&self, path: &RelPath) -> std::result::Result<(), FsError> {
        let (parent, name) = self.parent("remove", path)?;
        let empty = || {
            // The program may have removed its own permissions. A link has none, and is not followed.
            let found = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            if is_folder && found.st_mode & 0o700 != 0o700 {
                rustix::fs::chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
            }
            let top = open(&parent, name)?;
            // Deeper directories are moved up first, so that no path gets too long and no stack too deep.
            let mut moved = 0;
            loop {
                let entries = entries(&top)?;
                if entries.is_empty() {
                    break;
                }
                for (name, is_folder) in entries {
                    if is_folder { lift(&top, &name, &mut moved)? } else { remove_file(&top, &name)? }
                }
            }
            rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)
        };
        empty().explain("remove", path.as_str())
    }
}

fn open(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// Lists a directory: each name, and whether it is a directory.
fn entries(folder: &OwnedFd) -> Result<Vec<(CString, bool)>> {
    let mut found = Vec::new();
    let mut reader = Dir::read_from(folder)?;
    while let Some(entry) = reader.read() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        found.push((name.to_owned(), kind == FileType::Directory));
    }
    Ok(found)
}

/// Removes a directory in `top`. Its subdirectories are moved into `top`.
fn lift(top: &OwnedFd, name: &CStr, moved: &mut u64) -> Result<()> {
    // The program may have removed its own permissions.
    let _ = rustix::fs::chmodat(top, name, Mode::RWXU, AtFlags::empty());
    let folder = open(top, name)?;
    for (inner, is_folder) in entries(&folder)? {
        if !is_folder {
            remove_file(&folder, &inner)?;
            continue;
        }
        let _ = rustix::fs::chmodat(&folder, &*inner, Mode::RWXU, AtFlags::empty());
        loop {
            *moved += 1;
            match rustix::fs::renameat(&folder, &*inner, top, format!(".removed-{moved}")) {
                // The name is taken; try the next one.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                result => break result?,
            }
        }
    }
    rustix::fs::unlinkat(top, name, AtFlags::REMOVEDIR)
}

fn remove_file(folder: &OwnedFd, name: &CStr) -> Result<()> {
    rustix::fs::unlinkat(folder, name, AtFlags::empty())
}

#[cfg(test)]
mod tests {
    use std::ffi::{CString, OsStr};
    use std::os::unix::ffi::OsStrExt;

    use crate::Fs;

    use super::*;

    #[test]
    fn any_tree_that_a_program_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let path: RelPath = "run".parse().unwrap();
        fs.create_dir(&path).unwrap();
        let run = folder.path().join("run");
        std::fs::write(run.join(OsStr::from_bytes(b"\xff.json")), "x").unwrap();
        std::fs::write(folder.path().join("kept"), "x").unwrap();
        std::os::unix::fs::symlink("../kept", run.join("link")).unwrap();
        std::fs::create_dir_all(run.join(".removed-1/.removed-2")).unwrap();
        // Deeper than the longest path (4,096 bytes). Few directories with long names: some file
        // systems refuse thousands of new ones within a few seconds.
        let name = CString::new("deeper".repeat(40)).unwrap();
        let mut deep = open(rustix::fs::CWD, &run).unwrap();
        for _ in 0..40 {
            rustix::fs::mkdirat(&deep, &*name, Mode::RWXU).unwrap();
            deep = open(&deep, &name).unwrap();
        }
        rustix::fs::fchmod(&deep, Mode::empty()).unwrap();
        fs.remove_tree(&path).unwrap();
        let left: Vec<String> =
            fs.list_dir(&RelPath::root()).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(left, ["kept"]);
        assert!(fs.remove_tree(&path).unwrap_err().is_not_found());
    }

    #[test]
    fn names_that_are_not_utf_8_are_listed_separately() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        assert!(fs.unreadable_names(&RelPath::root()).unwrap().is_empty());
        std::fs::write(folder.path().join(OsStr::from_bytes(b"a\xff.json")), "x").unwrap();
        assert_eq!(fs.unreadable_names(&RelPath::root()).unwrap(), ["a\u{fffd}.json"]);
    }
}
