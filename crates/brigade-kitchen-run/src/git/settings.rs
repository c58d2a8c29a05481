//! Records git settings and hooks, to notice when they change.
//!
//! Git never runs with settings of the user, the system or a repository that name programs. A few settings about the
//! format of files and commits are copied to the git directories of tasks. Files with settings and hooks are compared
//! before git runs in the repository of the workspace, and around each attempt.

use std::collections::BTreeMap;
use std::path::Path;

use brigade_core::Fingerprint;
use brigade_fs::{FileKind, Fs, FsError, OrAbsent, RelPath};

/// The maximum size of a compared settings file or hook.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The maximum number of compared entries in a hooks directory.
const MAX_HOOKS: usize = 1_000;

/// The value for a missing file.
const ABSENT: &str = "absent";

/// The recorded state of files and directories, by display name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seal(pub(crate) BTreeMap<String, String>);

impl Seal {
    /// Records a file.
    pub(crate) fn file(&mut self, fs: &dyn Fs, shown: &str, path: &RelPath) -> Result<(), FsError> {
        let state = match fs.link_metadata(path).or_absent()? {
            Some(found) => self.state(fs, path, found.kind, found.mode)?,
            None => ABSENT.to_owned(),
        };
        self.0.insert(shown.to_owned(), state);
        Ok(())
    }

    fn state(&self, fs: &dyn Fs, path: &RelPath, kind: FileKind, mode: u32) -> Result<String, FsError> {
        Ok(match kind {
            FileKind::File => {
                let bytes = fs.read(path, MAX_FILE_BYTES)?;
                let bytes = if path.name() == "config" { without_branches(bytes) } else { bytes };
                format!("{:o} {}", mode & 0o111, Fingerprint::of_bytes(&bytes))
            }
            FileKind::Directory => "directory".to_owned(),
            FileKind::Link => "link".to_owned(),
            FileKind::Other => "other".to_owned(),
        })
    }

    /// Records a file at any path.
    pub(crate) fn outside(&mut self, fs: &dyn Fs, path: &Path) {
        // Git cannot read an unreadable file either, so it only has to stay unreadable.
        let state = match fs.read_outside(path, MAX_FILE_BYTES) {
            Ok(bytes) => Fingerprint::of_bytes(&without_branches(bytes)).to_hex(),
            Err(error) => error.kind.to_string(),
        };
        self.0.insert(path.to_string_lossy().into_owned(), state);
    }

    /// Records a hooks directory with its entries.
    pub(crate) fn hooks(&mut self, fs: &dyn Fs, shown: &str, path: &RelPath) -> Result<(), FsError> {
        let Some(found) = fs.link_metadata(path).or_absent()? else { return Ok(()) };
        if found.kind != FileKind::Directory {
            return self.file(fs, shown, path);
        }
        let (entries, others) = fs.list_some(path, MAX_HOOKS)?;
        for entry in entries {
            if let Ok(inside) = path.join(&entry.name)
                && !entry.name.ends_with(".sample")
            {
                self.file(fs, &format!("{shown}/{}", entry.name), &inside)?;
            }
        }
        if 0 < others {
            self.0.insert(shown.to_owned(), format!("{others} others"));
        }
        Ok(())
    }

    /// Records the settings and hooks of a git directory.
    pub(crate) fn git_dir(&mut self, fs: &dyn Fs, shown: &str) -> Result<(), FsError> {
        for name in [
            "config",
            "config.worktree",
            "commondir",
            "info/attributes",
            "info/exclude",
            "info/grafts",
            "info/sparse-checkout",
            "objects/info/alternates",
            "objects/info/http-alternates",
        ] {
            if let Ok(path) = name.parse() {
                self.file(fs, &format!("{shown}/{name}"), &path)?;
            }
        }
        match "hooks".parse() {
            Ok(path) => self.hooks(fs, &format!("{shown}/hooks"), &path),
            Err(_) => Ok(()),
        }
    }

    /// Lists the differences.
    pub(crate) fn differences(&self, other: &Seal) -> Vec<String> {
        let absent = ABSENT.to_owned();
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let state = |seal: &Seal, name: &String| seal.0.get(name).unwrap_or(&absent).clone();
        let differ: Vec<&String> =
            names.into_iter().filter(|name| state(self, name) != state(other, name)).collect();
        // Entries below a path that was removed or replaced are not listed.
        let is_above = |name: &str, above: &String| {
            name.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let outer = differ.iter().filter(|name| !differ.iter().any(|above| is_above(name, above)));
        outer.map(|name| (*name).clone()).collect()
    }
}

/// Removes the settings of which branches track which. They change when a user creates or pushes a branch, and make git
/// run nothing.
fn without_branches(bytes: Vec<u8>) -> Vec<u8> {
    const INERT: [&str; 5] = ["remote", "merge", "pushremote", "description", "vscode-merge-base"];
    let Ok(text) = std::str::from_utf8(&bytes) else { return bytes };
    let mut kept = String::new();
    let mut is_branch = false;
    let mut goes_on = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let continues = std::mem::replace(&mut goes_on, line.ends_with('\\'));
        if !continues && trimmed.starts_with('[') {
            let name = trimmed.strip_prefix("[branch \"").and_then(|rest| rest.strip_suffix("\"]"));
            is_branch = name.is_some_and(|name| !name.contains(['"', ']', '\\']));
            if is_branch {
                continue;
            }
        }
        let is_inert = trimmed.split_once('=').is_some_and(|(key, value)| {
            let key = key.trim().to_ascii_lowercase();
            INERT.contains(&key.as_str()) && !value.contains(['\\', '"', '['])
        });
        if is_branch && !continues && !goes_on && (is_inert || trimmed.is_empty()) {
            continue;
        }
        if is_branch {
            kept.push_str("branch ");
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_tracking_settings_do_not_count() {
        let kept = |text: &str| String::from_utf8(without_branches(text.as_bytes().to_vec())).unwrap();
        let plain = "[core]\n\tbare = false\n";
        let with = format!("{plain}[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n");
        assert_eq!(kept(&with), kept(plain));
        for evil in [
            "[branch \"x\"]\n\tmergeoptions = --strategy=evil\n",
            "[branch \"x\"]\n[core]\n\tfsmonitor = evil\n",
            "[branch \"x\"] fsmonitor = evil\n",
            "[branch \"x\"]\n\tremote = a \\\n[core]\n\tfsmonitor = evil\n",
        ] {
            assert_ne!(kept(&format!("{plain}{evil}")), kept(plain), "{evil}");
        }
    }
}
