//! Decides which paths built-in tools may use, from the text of a path only.

use brigade_core::{AgentFiles, ClosedPlace, ErrorCode, Glob, closed_place};
use brigade_policy::Blocker;
use thiserror::Error;

use super::Definition;

/// The name under which agents in containers know the workspace.
pub const WORKSPACE: &str = "/workspace";

/// Patterns of files that probably hold keys.
const KEYS: &[&str] = &[".env*", "*.pem", "id_*", "*.key", ".netrc"];

/// Patterns of files that built-in tools may not open, and the exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// More patterns of files that probably hold keys: `protected` of gateway.toml.
    pub protected: Vec<String>,
    /// Patterns of such files that may be read: `readable_secrets` of policy.toml.
    pub readable: Vec<String>,
    /// Whether files by which agent programs and editors start programs may be changed: `agent_files` of policy.toml.
    pub agent_files: AgentFiles,
}

/// What a tool does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUse {
    /// It reads the file.
    Read,
    /// It changes the file.
    Change,
    /// It lists or searches the directory.
    Search,
}

/// Why a path is refused. The messages do not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PathProblem {
    /// It leads out of the workspace.
    #[error("the path leads out of the workspace")]
    Outside,
    /// It belongs to git or Brigade, or probably holds keys.
    #[error("the path is protected: it belongs to git or Brigade, or looks like it holds keys")]
    Protected,
    /// No built-in tool changes it.
    #[error("the path is closed: it {}", .0.reason())]
    Closed(ClosedPlace),
}

impl PathProblem {
    /// Returns the code of the refusal.
    pub fn code(self) -> ErrorCode {
        match self {
            PathProblem::Outside => ErrorCode::PathOutside,
            PathProblem::Protected | PathProblem::Closed(_) => ErrorCode::ProtectedPath,
        }
    }

    /// Returns the problem as a blocker of a call, for this argument.
    pub fn blocker(self, argument: &str) -> Blocker {
        let field = format!("$.{argument}");
        Blocker::new(self.code(), format!("{field}: {self}")).field(field).hint(self.hint())
    }

    /// Returns what to do instead.
    pub fn hint(self) -> &'static str {
        match self {
            PathProblem::Outside => "name a path relative to the workspace, without a way out of it",
            PathProblem::Protected => {
                "a person may name it under `readable_secrets` in [paths] of .brigade/tools/policy.toml"
            }
            PathProblem::Closed(place) => place.hint(),
        }
    }
}

impl PathUse {
    /// Returns what a tool does with its paths.
    pub fn from_definition(row: &Definition) -> PathUse {
        match row.id {
            "fs.list" | "fs.grep" | "fs.glob" => PathUse::Search,
            _ if row.effects == ["local-read"] => PathUse::Read,
            _ if row.id.starts_with("proof.") => PathUse::Read,
            _ => PathUse::Change,
        }
    }
}

/// Returns a path relative to the workspace, without `.` and `..`. `None` if it leads out.
///
/// Accepts relative paths, absolute paths in the workspace, and paths in `/workspace`.
pub fn relative(path: &str, root: &str) -> Option<String> {
    let root = root.trim_end_matches('/');
    let below = |start: &str| match path.strip_prefix(start) {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    };
    let path = match path.starts_with('/') {
        false => path,
        true => below(root).or_else(|| below(WORKSPACE))?,
    };
    // Other programs read a leading `~` as the home directory. Elsewhere, `~` has no special meaning.
    if path == "~" || path.starts_with("~/") || path.contains('\0') {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

impl Guards {
    /// Returns the path relative to the workspace.
    ///
    /// # Errors
    /// Fails if it leads out or is protected. Links are checked when it is opened.
    pub fn check(&self, path: &str, root: &str, usage: PathUse) -> Result<String, PathProblem> {
        let path = relative(path, root).ok_or(PathProblem::Outside)?;
        self.refusal(&path, usage).map_or(Ok(path), Err)
    }

    /// Returns whether a path relative to the workspace is open.
    pub fn allows(&self, path: &str, usage: PathUse) -> bool {
        self.refusal(path, usage).is_none()
    }

    /// Returns why a path relative to the workspace is refused.
    pub fn refusal(&self, path: &str, usage: PathUse) -> Option<PathProblem> {
        let closed = closed_place(path, self.agent_files);
        match (usage, closed) {
            (_, Some(ClosedPlace::State | ClosedPlace::Git)) => Some(PathProblem::Protected),
            (PathUse::Change, Some(place)) => Some(PathProblem::Closed(place)),
            (PathUse::Change, None) => self.looks_secret(path).then_some(PathProblem::Protected),
            // Each file that a search finds is checked by its own path, too.
            (PathUse::Search | PathUse::Read, _) => {
                let is_closed = self.looks_secret(path) && !matches(&self.readable, path);
                is_closed.then_some(PathProblem::Protected)
            }
        }
    }

    /// Returns whether a file, or a directory above it, has a name of files that hold keys.
    fn looks_secret(&self, path: &str) -> bool {
        let is_key = |name: &str| {
            let name = name.to_ascii_lowercase();
            KEYS.iter().any(|key| Glob::new(key).matches(&name))
        };
        path.split('/').any(is_key) || matches(&self.protected, path)
    }
}

/// Returns whether a pattern matches the path, its name, or a directory above it.
fn matches(patterns: &[String], path: &str) -> bool {
    let has_name = |pattern: &Glob| path.split('/').any(|name| pattern.matches(name));
    patterns.iter().any(|pattern| {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        Glob::new(pattern).matches(path)
            || (!pattern.contains('/') && has_name(&Glob::new(pattern)))
            || Glob::new(&format!("{pattern}/**")).matches(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, usage: PathUse, expect: Result<&str, PathProblem>) {
        let guards = Guards {
            protected: vec!["secrets/**".to_owned(), "*.kdbx".to_owned()],
            readable: vec!["config/.env.example".to_owned()],
            ..Guards::default()
        };
        assert_eq!(guards.check(path, "/home/me/work", usage), expect.map(str::to_owned), "{path}");
    }

    #[test]
    fn paths_are_beneath_the_workspace() {
        use PathUse::Read;
        check("src/main.rs", Read, Ok("src/main.rs"));
        check("./src//./main.rs", Read, Ok("src/main.rs"));
        check("/workspace/src/a", Read, Ok("src/a"));
        check("/workspace", Read, Ok(""));
        check("/home/me/work/a", Read, Ok("a"));
        check("a/../b", Read, Ok("b"));
        check(".", Read, Ok(""));
        check("..", Read, Err(PathProblem::Outside));
        check("a/../../b", Read, Err(PathProblem::Outside));
        check("/workspace/../etc/passwd", Read, Err(PathProblem::Outside));
        check("/home/me/work2/a", Read, Err(PathProblem::Outside));
        check("/workspaces/a", Read, Err(PathProblem::Outside));
        check("/etc/passwd", Read, Err(PathProblem::Outside));
        check("~/.ssh/config", Read, Err(PathProblem::Outside));
        check("~t.txt", Read, Ok("~t.txt"));
        check("~", Read, Err(PathProblem::Outside));
        check("a\0b", Read, Err(PathProblem::Outside));
    }

    #[test]
    fn git_brigade_and_key_files_are_closed() {
        use PathUse::{Change, Read, Search};
        for path in [".git/config", "sub/.git", ".GIT/config", ".brigade/tools.toml", "a/.brigade/x"] {
            for usage in [Read, Change, Search] {
                check(path, usage, Err(PathProblem::Protected));
            }
        }
        for path in [
            ".env",
            "app/.env.local",
            "tls/server.pem",
            "ID_RSA",
            "id_ed25519",
            "a.key",
            ".netrc",
            "secrets/a",
            "x.kdbx",
            ".env.d/v",
            "app/ID_KEYS/a.txt",
            "x.kdbx/a",
        ] {
            check(path, Search, Err(PathProblem::Protected));
            check(path, Read, Err(PathProblem::Protected));
            check(path, Change, Err(PathProblem::Protected));
        }
        check("config/.env.example", Read, Ok("config/.env.example"));
        check("config/.env.example", Change, Err(PathProblem::Protected));
        check(".gitignore", Change, Ok(".gitignore"));
        for path in [".mcp.json", "a/.claude/settings.json", ".g\u{200b}it/x"] {
            let is_agents = !path.contains("it/x");
            let refusal =
                if is_agents { PathProblem::Closed(ClosedPlace::AgentFile) } else { PathProblem::Protected };
            check(path, Change, Err(refusal));
            check(path, Read, if is_agents { Ok(path) } else { Err(refusal) });
        }
        check("keys/readme.md", Read, Ok("keys/readme.md"));
        check("environment.rs", Read, Ok("environment.rs"));
    }
}
