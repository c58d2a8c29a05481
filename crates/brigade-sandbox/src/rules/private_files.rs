//! Finds files of the machine that only a privileged user may read.
//!
//! Every run may read the settings of the machine. A run of a privileged user reads only those that everybody may read.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::SandboxProfile;

/// The directories with settings of the machine among the paths that every run may read. What the system installs in
/// others, such as `/usr/lib`, is the same on every machine.
const SETTINGS: [&str; 3] = ["/etc", "/opt", "/usr/local/etc"];

/// The maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 50_000;

/// The bits of a mode that let everybody read a file, and enter a directory.
const READ: u32 = 0o4;
const ENTER: u32 = 0o1;

/// Returns the files of the machine that not everybody may read, if this is a privileged user. Leaves out those of the
/// workspace and those that the policy names by a path below the settings. Links are not followed, because what they
/// lead to is found where it is.
pub(super) fn closed_to_run(profile: &SandboxProfile) -> Vec<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    closed_below(&SETTINGS.map(PathBuf::from), &|path| {
        profile.workspace.as_ref().is_some_and(|workspace| path.starts_with(workspace))
            || profile.read.iter().chain(&profile.write).any(|named| {
                path.starts_with(named) && !SETTINGS.iter().any(|all| Path::new(all).starts_with(named))
            })
    })
}

fn closed_below(settings: &[PathBuf], is_opened: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut closed = Vec::new();
    // Directories, with whether everybody may enter them.
    let mut folders: Vec<(PathBuf, bool)> = settings.iter().map(|path| (path.clone(), true)).collect();
    let mut looked_at = 0;
    while let Some((folder, is_open)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            let Ok(metadata) = entry.metadata() else { continue };
            let (path, mode) = (entry.path(), metadata.mode());
            if metadata.is_dir() {
                if looked_at < MAX_ENTRIES {
                    folders.push((path, is_open && mode & ENTER != 0));
                }
            } else if metadata.is_file() && !(is_open && mode & READ != 0) && !is_opened(&path) {
                closed.push(path);
            }
        }
    }
    closed
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn files_that_not_everybody_may_read_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let put = |name: &str, mode: u32| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for (name, mode) in [
            ("open", 0o644),
            ("key", 0o640),
            ("opened", 0o600),
            ("ssl/private/key", 0o644),
            ("ssl/cert", 0o444),
        ] {
            put(name, mode);
        }
        fs::set_permissions(root.join("ssl/private"), fs::Permissions::from_mode(0o710)).unwrap();
        std::os::unix::fs::symlink("key", root.join("link")).unwrap();
        let mut found = closed_below(&[root.to_owned()], &|path| path.ends_with("opened"));
        found.sort();
        assert_eq!(found, [root.join("key"), root.join("ssl/private/key")]);
    }
}
