//! Finds files that git would read without an end: named pipes and devices with names that git reads, and huge ones.

use std::path::{Path, PathBuf};

use brigade_fs::{DiskFs, FileKind, Fs, RelPath};

/// The maximum number of searched directories. Beyond it, only the limits of git commands help.
const MAX_DIRECTORIES: usize = 50_000;

/// The maximum size of a file with rules for git. Git itself reads at most 100 MiB of some of them.
const MAX_RULES_BYTES: u64 = 16 << 20;

/// Lists the files below a directory that git must not open. Follows no links.
pub fn special_files(fs: &dyn Fs) -> Vec<RelPath> {
    let mut found = Vec::new();
    let mut folders = vec![RelPath::root()];
    for _ in 0..MAX_DIRECTORIES {
        let Some(folder) = folders.pop() else { break };
        let is_in_git = folder.as_str().split('/').any(|part| part == ".git");
        for entry in fs.list_dir(&folder).unwrap_or_default() {
            let Ok(path) = folder.join(&entry.name) else { continue };
            let is_read = is_in_git || entry.name.starts_with(".git") || entry.name == ".mailmap";
            match entry.kind {
                FileKind::Directory => folders.push(path),
                FileKind::Other if is_read => found.push(path),
                FileKind::File if is_read && !is_in_git && MAX_RULES_BYTES < length(fs, &path) => {
                    found.push(path)
                }
                FileKind::File | FileKind::Link | FileKind::Other => {}
            }
        }
    }
    found
}

fn length(fs: &dyn Fs, path: &RelPath) -> u64 {
    fs.link_metadata(path).map_or(0, |metadata| metadata.len)
}

/// Returns the first such file below a directory.
pub(crate) fn special_file_in(directory: &Path) -> Option<PathBuf> {
    let fs = DiskFs::open(directory).ok()?;
    special_files(&fs).first().map(|path| directory.join(path.as_path()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test makes files that this program never makes")]
    fn only_files_that_git_reads_are_special() {
        let folder = tempfile::tempdir().unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let script = "mkdir -p a/b .git/info; mkfifo plain a/.gitignore a/b/.gitattributes .git/info/exclude\n\
            echo x > .gitignore; ln -s nowhere a/b/.gitignore; truncate -s 2G big a/.gitmodules";
        assert!(
            Command::new("sh").args(["-ec", script]).current_dir(folder.path()).status().unwrap().success()
        );
        let mut found: Vec<String> = special_files(&fs).iter().map(ToString::to_string).collect();
        found.sort();
        assert_eq!(found, [".git/info/exclude", "a/.gitignore", "a/.gitmodules", "a/b/.gitattributes"]);
    }
}
