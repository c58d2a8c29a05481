//! Paths that no policy opens for writing, and advice for writes that the sandbox refused.

use brigade_core::{AgentFiles, ClosedPlace, GIT_FOLDER, STATE_FOLDER, closed_place};

use crate::{GIT_EFFECT, WRITE_EFFECT};

/// The directories of git and of Brigade. No path in one of them is opened by `write_paths`.
pub const ALWAYS_CLOSED: [&str; 2] = [STATE_FOLDER, GIT_FOLDER];

/// Returns the closed directory that contains a path. The path is as written in a policy, or relative to the workspace.
pub fn always_closed(path: &str) -> Option<&'static str> {
    match closed_place(&plain_parts(path).join("/"), AgentFiles::Open)? {
        ClosedPlace::State => Some(STATE_FOLDER),
        _ => Some(GIT_FOLDER),
    }
}

/// Returns the parts of a path without `.` and `..`.
fn plain_parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts
}

/// What a run may already write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writable {
    /// Whether the workspace is open.
    pub workspace: bool,
    /// Whether the repository of the workspace is open, except for what git executes or takes settings from.
    pub git: bool,
}

/// A write that the sandbox of a run refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedWrite<'a> {
    /// The path: relative in the workspace, absolute outside.
    pub path: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// What the run may write.
    pub writable: Writable,
}

/// Returns what would allow a refused write, as a sentence without a final stop.
pub fn refused_write(refused: RefusedWrite<'_>) -> String {
    let RefusedWrite { path, tool, writable } = refused;
    let parts = plain_parts(path);
    // Built-in tools have a dot in their names, and fixed effects.
    let is_own = tool.contains('.');
    let table = if is_own { format!("[sandbox.tool.\"{tool}\"]") } else { format!("[sandbox.tool.{tool}]") };
    let is_inside = !path.starts_with('/');
    match always_closed(path) {
        Some(".git") if is_inside && parts.first() == Some(&".git") => match writable.git {
            false if is_own => "`.git` stays closed: the tool `git.commit` commits".to_owned(),
            false => format!(
                "`.git` stays closed: the tool `git.commit` commits, and `git = \"write\"` in {table} opens it to a \
                 tool with the effect `{GIT_EFFECT}`"
            ),
            true => "what git executes or takes settings from stays closed".to_owned(),
        },
        Some(name) => format!("`{name}` stays closed, and no key opens it"),
        None if is_inside && writable.workspace => match closed_place(path, AgentFiles::Closed) {
            Some(place) => format!("it {}; {}", place.reason(), place.hint()),
            None => "what git or Brigade executes or takes settings from stays closed".to_owned(),
        },
        None if is_inside => format!("the effect `{WRITE_EFFECT}` of the tool opens the workspace"),
        None if writable.workspace => format!("`write_paths` in {table} opens it"),
        None => format!("`write_paths` in {table}, and the effect `{WRITE_EFFECT}` of the tool, open it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_git_or_brigade_is_closed() {
        for (path, expect) in [
            (".git", Some(".git")),
            ("./.git/", Some(".git")),
            ("out/../.git/refs", Some(".git")),
            ("sub/.git", Some(".git")),
            ("/srv/work/.git/hooks", Some(".git")),
            ("~/work/.brigade/tools", Some(".brigade")),
            (".brigade", Some(".brigade")),
            (".git/..", None),
            (".github", None),
            ("real.git", None),
            (".", None),
            ("~/.cache", None),
        ] {
            assert_eq!(always_closed(path), expect, "{path}");
        }
    }

    #[test]
    fn a_refused_write_says_what_would_allow_it() {
        let check = |path, workspace, git, expect: &str| {
            let refused = RefusedWrite { path, tool: "ship", writable: Writable { workspace, git } };
            assert_eq!(refused_write(refused), expect, "{path}");
        };
        let git = "`.git` stays closed: the tool `git.commit` commits, and `git = \"write\"` in [sandbox.tool.ship] \
                   opens it to a tool with the effect `git-write`";
        check(".git/index.lock", false, false, git);
        check(".git/index.lock", true, false, git);
        check(".git/hooks/pre-commit", true, true, "what git executes or takes settings from stays closed");
        check("sub/.git/config", true, true, "`.git` stays closed, and no key opens it");
        check(".brigade/tools.toml", true, true, "`.brigade` stays closed, and no key opens it");
        check("out.txt", false, true, "the effect `local-write` of the tool opens the workspace");
        let hooks = "what git or Brigade executes or takes settings from stays closed";
        check("hooks/pre-commit", true, false, hooks);
        let agents = "it starts programs of agents or editors; a person may set `agent_files = \"open\"` in [paths] of \
                      .brigade/tools/policy.toml";
        check(".husky/pre-commit", true, false, agents);
        check("/home/ada/.cache/x", true, false, "`write_paths` in [sandbox.tool.ship] opens it");
        let of_command = RefusedWrite {
            path: ".git/x",
            tool: "cmd.run",
            writable: Writable { workspace: true, git: false },
        };
        assert_eq!(refused_write(of_command), "`.git` stays closed: the tool `git.commit` commits");
        let both = "`write_paths` in [sandbox.tool.ship], and the effect `local-write` of the tool, open it";
        check("/home/ada/.cache/x", false, false, both);
    }
}
