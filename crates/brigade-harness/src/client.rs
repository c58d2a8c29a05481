//! The table of clients: where each one keeps MCP servers, and how it spells an entry.
//!
//! The source of the facts is named at each row. A file whose location is unconfirmed is read but never written.

use brigade_core::words;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};

use crate::entry::{HttpForm, Part};
use crate::harness::clients;

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// Returns the operating system of this build.
    pub const fn of_this_build() -> Platform {
        if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::MacOs
        } else {
            Platform::Linux
        }
    }
}

words! {
    /// Whether a file belongs to the workspace or the user.
    Scope {
        /// A file in the workspace.
        Project = "project",
        /// A file of the user, for all workspaces.
        User = "user",
    }
}

words! {
    /// How a client reaches the server.
    Transport {
        /// It starts a process.
        Stdio = "stdio",
        /// It connects to a running server.
        Http = "http",
    }
}

/// The evidence for the location of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// The vendor's documentation or source.
    Vendor,
    /// Other programs that write the same file.
    Observed,
    /// There is no evidence.
    Unconfirmed,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    #[default]
    /// JSON. Existing comments are kept, although the client may not accept them.
    Json,
    /// JSON with comments, and without trailing commas.
    JsonWithComments,
    /// JSON with comments and trailing commas.
    JsonWithCommas,
    /// TOML.
    Toml,
}

/// The files of one scope, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// Paths on Linux: relative to the workspace, or beginning with `~/`.
    pub linux: &'static [&'static str],
    /// Paths on macOS.
    pub macos: &'static [&'static str],
    /// Paths on Windows, with `/` as separator. `%APPDATA%/` is replaced by that directory.
    pub windows: &'static [&'static str],
    /// A variable that names another directory, and the directory that it replaces.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// The evidence for the location.
    pub grade: Grade,
}

impl Files {
    pub(crate) const fn same(paths: &'static [&'static str], grade: Grade) -> Files {
        Files { linux: paths, macos: paths, windows: paths, moved_by: None, grade }
    }

    pub(crate) const fn moved_by(self, variable: &'static str, directory: &'static str) -> Files {
        Files { moved_by: Some((variable, directory)), ..self }
    }

    /// Returns whether the files may be written.
    pub fn are_confirmed(&self) -> bool {
        self.grade != Grade::Unconfirmed
    }

    /// Returns the paths on a platform in order of preference: relative to the workspace, absolute, or beginning with
    /// `~/` or `%APPDATA%/`.
    pub fn paths(&self, platform: Platform, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let paths = match platform {
            Platform::Linux => self.linux,
            Platform::MacOs => self.macos,
            Platform::Windows => self.windows,
        };
        paths.iter().map(|path| moved(path, self.moved_by, &variable)).collect()
    }
}

/// Returns a path of the table. If its variable names an absolute directory, the path is in that directory.
pub(crate) fn moved(
    path: &str,
    moved_by: Option<(&str, &str)>,
    variable: impl Fn(&str) -> Option<String>,
) -> PathBuf {
    let moved = moved_by.and_then(|(name, directory)| Some((variable(name)?, directory)));
    let moved = moved.filter(|(to, _)| Path::new(to).is_absolute());
    let inside = |(to, directory): (String, &str)| {
        let rest = Path::new(path).strip_prefix(directory).ok()?;
        Some(if rest.as_os_str().is_empty() { PathBuf::from(to) } else { Path::new(&to).join(rest) })
    };
    moved.and_then(inside).unwrap_or_else(|| PathBuf::from(path))
}

/// A program that can use MCP servers, and the form of its entries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Where the facts are from.
    #[serde(default, rename = "source")]
    _source: IgnoredAny,
    /// The name on the command line.
    pub label: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The user's files.
    pub user: Option<Files>,
    /// The workspace's files.
    pub project: Option<Files>,
    /// The format of the files.
    #[serde(default)]
    pub format: Format,
    /// The key of the object that holds the servers.
    pub container: &'static str,
    /// A key within the container that holds the servers in newer versions of the file.
    pub(crate) nested: Option<&'static str>,
    /// How the workspace's file names the directory of the workspace, for a client that does not start servers in it.
    pub folder: Option<&'static str>,
    #[serde(default = "program_and_arguments")]
    pub(crate) stdio: Vec<(&'static str, Part)>,
    #[serde(default)]
    pub(crate) http: HttpForm,
    /// Keys that the client accepts with one transport only. With the other one it rejects the whole file.
    #[serde(default)]
    pub(crate) only: Vec<(Transport, Vec<&'static str>)>,
}

fn program_and_arguments() -> Vec<(&'static str, Part)> {
    vec![("command", Part::Program), ("args", Part::Arguments)]
}

impl Client {
    /// Returns the files of a scope.
    pub fn files(&self, scope: Scope) -> Option<&Files> {
        match scope {
            Scope::Project => self.project.as_ref(),
            Scope::User => self.user.as_ref(),
        }
    }

    /// Returns the default scope: the workspace, unless only the user's files may be written.
    pub fn usual_scope(&self) -> Scope {
        match (&self.project, &self.user) {
            (Some(project), _) if project.are_confirmed() => Scope::Project,
            (_, Some(_)) => Scope::User,
            _ => Scope::Project,
        }
    }

    /// Returns whether the client has files. The generic client has none.
    pub fn has_files(&self) -> bool {
        self.user.is_some() || self.project.is_some()
    }
}

/// Returns a client by its label.
pub fn client(label: &str) -> Option<&'static Client> {
    clients().iter().find(|client| client.label == label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_project_files_are_in_the_workspace() {
        for client in clients() {
            for files in [&client.project, &client.user].into_iter().flatten() {
                assert!(!files.linux.is_empty() && !files.macos.is_empty() && !files.windows.is_empty());
            }
            let project = client.project.iter().flat_map(|files| files.linux);
            assert!(project.clone().all(|path| !path.starts_with(['~', '/', '%'])), "{}", client.label);
            let user = client.user.iter().flat_map(|files| files.linux.iter().chain(files.macos));
            assert!(user.clone().all(|path| path.starts_with("~/")), "{}", client.label);
        }
    }

    #[test]
    fn variables_move_the_files_of_the_user() {
        let paths = |label: &str, variable: &str, value: &str| {
            let files = client(label).unwrap().user.unwrap();
            let set = |name: &str| (name == variable).then(|| value.to_owned());
            let paths = files.paths(Platform::Linux, set);
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(paths("codex", "CODEX_HOME", "/srv/codex"), ["/srv/codex/config.toml"]);
        assert_eq!(paths("codex", "CODEX_HOME", "srv"), ["~/.codex/config.toml"]);
        assert_eq!(paths("claude", "CLAUDE_CONFIG_DIR", "/c"), ["/c/.claude.json"]);
        assert_eq!(paths("zed", "XDG_CONFIG_HOME", "/x"), ["/x/zed/settings.json"]);
        assert_eq!(paths("cursor", "XDG_CONFIG_HOME", "/x"), ["~/.cursor/mcp.json"]);
    }

    #[test]
    fn unconfirmed_files_make_the_user_scope_the_default() {
        let of_user: Vec<&str> = clients()
            .iter()
            .filter(|client| client.usual_scope() == Scope::User)
            .map(|client| client.label)
            .collect();
        assert_eq!(of_user, ["zed"]);
    }
}
