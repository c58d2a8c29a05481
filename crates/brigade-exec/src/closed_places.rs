//! The one list of places in a workspace that nothing that acts for an agent changes: runs, built-in tools, commits and
//! merges ask it.

use std::path::{Path, PathBuf};

use brigade_core::{AgentFiles, ClosedPlace, STATE_FOLDER, closed_place, plain_path};
use brigade_sandbox::{ClosedPaths, Search, StateFolder};

use crate::environment::HostEnvironment;

/// Directories of the state with one entry for each call, run or task, or with copies of the workspace.
const DATA: &[&str] = &[
    "calls",
    "checkpoints",
    "lanes",
    "objects",
    "outcomes",
    "proofs",
    "runs",
    "tasks",
    "volumes",
    "worktrees",
];

/// Searches a workspace for the places that its files and the user's settings of git close.
pub(crate) fn search_closed(
    workspace: &Path,
    host: &HostEnvironment,
    agent_files: AgentFiles,
) -> ClosedPaths {
    ClosedPaths::find(Search {
        workspace,
        home: host.home(),
        settings: &host.git_settings(),
        state: StateFolder { entry: STATE_FOLDER, data: DATA },
        agent_files,
    })
}

/// The closed places of a workspace as it is now.
#[derive(Clone, Debug)]
pub struct ClosedPlaces {
    root: PathBuf,
    /// Paths below the root, in the spelling in which they are compared.
    found: Vec<String>,
    agent_files: AgentFiles,
}

impl ClosedPlaces {
    /// Finds the closed places of a directory of files, whose path has no links.
    pub fn find(root: &Path, host: &HostEnvironment, agent_files: AgentFiles) -> ClosedPlaces {
        let closed = search_closed(root, host, agent_files).closed;
        let inside = closed.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str());
        ClosedPlaces { root: root.to_owned(), found: inside.map(plain_path).collect(), agent_files }
    }

    /// Returns why a path, relative to the root and without links above its last part, is closed.
    pub fn closes(&self, path: &str) -> Option<ClosedPlace> {
        closed_place(path, self.agent_files).or_else(|| {
            let path = plain_path(path);
            let is_in = |place: &String| {
                place.is_empty()
                    || path
                        .strip_prefix(place.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            self.found.iter().any(is_in).then_some(ClosedPlace::Git)
        })
    }

    /// Returns why the target of a link at a path is closed.
    pub fn closes_link(&self, path: &str, target: &str) -> Option<ClosedPlace> {
        let at = self.root.join(path);
        let target = at.parent().unwrap_or(&self.root).join(target);
        let mut parts = Vec::new();
        for part in target.components() {
            match part {
                std::path::Component::ParentDir => drop(parts.pop()),
                std::path::Component::CurDir => {}
                part => parts.push(part),
            }
        }
        let target: PathBuf = parts.iter().collect();
        self.closes(target.strip_prefix(&self.root).ok()?.to_str()?)
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{DiskFs, Fs as _};

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test makes a link")]
    fn names_settings_and_links_close() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (home, work) = (root.join("home"), root.join("work"));
        let files = DiskFs::make(&root).unwrap();
        let write = |path: &str, text: &str| {
            let path = path.parse::<brigade_fs::RelPath>().unwrap();
            files.create_dir_all(&path.parent()).unwrap();
            files.write_cache(&path, text.as_bytes()).unwrap();
        };
        write("home/.gitconfig", "[includeIf \"gitdir:~/\"]\npath = more\n");
        write("home/more", "[core]\nhooksPath = .githooks\n");
        write("work/.git/HEAD", "ref: refs/heads/main\n");
        write("work/.githooks/pre-commit", "");
        write("work/sub/.git/config", "[include]\npath = ../own.cfg\n[core]\nhooksPath = hk\n");
        write("work/sub/hk/pre-commit", "");
        write("work/sub/own.cfg", "");
        write("work/bare/objects/x", "");
        write("work/bare/refs/x", "");
        write("work/bare/HEAD", "ref: refs/heads/main\n");
        write("work/conf/mcp.json", "{}");
        std::os::unix::fs::symlink("conf/mcp.json", work.join(".mcp.json")).unwrap();
        let host = HostEnvironment::new([("HOME".into(), home.into_os_string())]);
        let places = ClosedPlaces::find(&work, &host, AgentFiles::Closed);
        use ClosedPlace::{AgentFile, Git, State};
        for (path, expect) in [
            (".githooks/pre-commit", Some(Git)),
            (".GitHooks/new", Some(Git)),
            ("sub/hk/pre-commit", Some(Git)),
            ("sub/own.cfg", Some(Git)),
            ("sub/.githooks/x", Some(Git)),
            ("bare/config", Some(Git)),
            ("bare/hooks/post-update", Some(Git)),
            ("conf/mcp.json", Some(Git)),
            (".brigade/x", Some(State)),
            ("sub/.Git/x", Some(Git)),
            ("a/.codex/config.toml", Some(AgentFile)),
            ("sub/free", None),
            ("conf/other.json", None),
            ("barely", None),
        ] {
            assert_eq!(places.closes(path), expect, "{path}");
        }
        assert_eq!(places.closes_link("a/b/link", "../../.git/hooks"), Some(Git));
        assert_eq!(places.closes_link("link", "sub/hk"), Some(Git));
        assert_eq!(places.closes_link("a/link", "../.."), None);
        assert_eq!(places.closes_link("a/link", "b"), None);
    }
}
