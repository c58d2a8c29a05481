//! The table of harnesses: which files of an agent program say what it can use.
//!
//! A harness that is also a [client](crate::Client) has its MCP files there; this table adds the others, and the
//! directories of skills and commands. Files whose place is not confirmed are read when they are there.

mod table;

use brigade_core::words;
use std::path::{Path, PathBuf};

use crate::client::{Client, Files, Format, Scope, client, moved};
use crate::program::Program;
use crate::spelling::Spelling;
use crate::switches::SwitchFile;
use table::HARNESSES;

words! {
    /// For whom a file is.
    Extent {
        /// The user, in all workspaces.
        User = "user",
        /// The user, in one workspace.
        Local = "local",
        /// Everybody in the workspace.
        Project = "project",
        /// Everybody on the machine.
        System = "system",
    }
}

impl Extent {
    /// Returns whether a request for the files of a scope means this one. What is local counts as the workspace's, and
    /// what is the machine's as the user's.
    pub fn is_of(self, scope: Scope) -> bool {
        let is_project = matches!(self, Extent::Local | Extent::Project);
        is_project == (scope == Scope::Project)
    }
}

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// One of the forms of JSON. All are read with comments and trailing commas; those that the program itself may not
    /// read are an issue.
    Json(Format),
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// What stands at a path of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathContent {
    /// A file.
    File,
    /// A directory of files with these endings.
    Directory(&'static [&'static str]),
    /// A program that would have to run to say something.
    Program,
}

/// The key of the workspace's own path, in the table.
pub(crate) const WORKSPACE: &str = "<workspace>";

/// The keys that lead to the servers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPaths {
    /// One key.
    Key(&'static str),
    /// One of these ways, each of several keys.
    Keys(&'static [&'static [&'static str]]),
}

impl KeyPaths {
    /// Returns the ways, with the path of a workspace in place of its mark.
    pub(crate) fn in_workspace(self, workspace: &str) -> Vec<Vec<&str>> {
        let key = |key: &'static str| if key == WORKSPACE { workspace } else { key };
        match self {
            KeyPaths::Key(only) => vec![vec![key(only)]],
            KeyPaths::Keys(ways) => {
                ways.iter().map(|way| way.iter().map(|step| key(step)).collect()).collect()
            }
        }
    }
}

/// A file with MCP servers, or a directory of such files.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// For whom it is.
    pub extent: Extent,
    /// Where it is.
    pub files: Files,
    /// What stands there.
    pub place: PathContent,
    pub(crate) syntax: Syntax,
    pub(crate) ways: KeyPaths,
    /// A key below the container that holds the servers in a later form of the file.
    pub(crate) nested: Option<&'static str>,
    pub(crate) spelling: &'static Spelling,
}

impl Config {
    /// Returns how many bytes of the file are read at most.
    ///
    /// JSON is read without building a tree of the file. The others are, so a larger file is refused.
    pub fn limit(&self) -> u64 {
        match self.syntax {
            Syntax::Json(_) => 16 << 20,
            Syntax::Toml | Syntax::Yaml => 1 << 20,
        }
    }
}

/// A directory with skills or commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillDirectory {
    /// For whom it is.
    pub extent: Extent,
    /// Its path: in the workspace, or beginning with `~/`; empty if only a variable names it.
    pub path: &'static str,
    /// A variable that names another directory, and the directory that it replaces.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// What is in it.
    pub holds: FolderContent,
}

/// What a directory of the table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderContent {
    /// Directories with a `SKILL.md`.
    Skills,
    /// Commands as Markdown, in directories of any depth.
    Commands,
    /// Commands as TOML, in directories of any depth.
    TomlCommands,
}

/// An agent program, and where it keeps what it can use.
#[derive(Clone, Copy, Debug)]
pub struct Harness {
    /// The program.
    pub program: Program,
    /// Directories that show that the program is here, where no variable moves them.
    pub(crate) folders: &'static [&'static str],
    /// Directories with skills and commands.
    pub shelves: &'static [SkillDirectory],
    /// The names of its own tools, as its documentation has them; empty if the list is not confirmed.
    pub natives: &'static [&'static str],
    /// Whether it is shown only where it is found: a home of skills, but no agent program of the table.
    pub is_guest: bool,
    /// Files that list servers which the program does not start.
    pub switches: &'static [SwitchFile],
    more: &'static [Config],
    spelling: &'static Spelling,
}

impl Harness {
    /// Returns the label.
    pub fn label(&self) -> &'static str {
        self.program.label
    }

    /// Returns the files with MCP servers: those of the user before those of the workspace.
    pub fn configs(&self) -> Vec<Config> {
        let known = client(self.label());
        let of_client = known.into_iter().flat_map(|client| of_client(client, self.spelling));
        let mut configs: Vec<Config> = of_client.chain(self.more.iter().copied()).collect();
        configs.sort_by_key(|config| config.extent);
        configs
    }
}

impl Harness {
    /// Returns the directories that show that the program is here, absolute or beginning with `~/`: where a variable
    /// moves its files, the directory moves with them.
    pub fn folders(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let of_configs = self.configs().into_iter().filter_map(|config| config.files.moved_by);
        let of_shelves = self.shelves.iter().filter_map(|shelf| shelf.moved_by);
        let mut moves: Vec<(&str, &str)> = of_configs.chain(of_shelves).collect();
        // The nearest directory counts.
        moves.sort_by_key(|(_, directory)| std::cmp::Reverse(directory.len()));
        let folder = |folder: &&str| {
            let of_folder = |(_, directory): &&(&str, &str)| {
                !directory.is_empty() && Path::new(folder).starts_with(directory)
            };
            moved(folder, moves.iter().find(of_folder).copied(), &variable)
        };
        self.folders.iter().map(folder).collect()
    }
}

/// Returns the files that are in the table of clients.
fn of_client(client: &'static Client, spelling: &'static Spelling) -> impl Iterator<Item = Config> {
    let syntax = match client.format {
        Format::Toml => Syntax::Toml,
        json => Syntax::Json(json),
    };
    let files = [(Extent::User, client.user), (Extent::Project, client.project)];
    let files = files.into_iter().filter_map(|(extent, files)| Some((extent, files?)));
    files.map(move |(extent, files)| Config {
        extent,
        files,
        place: PathContent::File,
        syntax,
        ways: KeyPaths::Key(client.container),
        nested: client.nested,
        spelling,
    })
}

/// Returns every harness, in the order of reports.
pub fn harnesses() -> &'static [Harness] {
    HARNESSES
}

/// Returns a harness by its label.
pub fn harness(label: &str) -> Option<&'static Harness> {
    HARNESSES.iter().find(|harness| harness.label() == label)
}

impl SkillDirectory {
    /// Returns the path: in the workspace, absolute, or beginning with `~/`. `None` if no variable names it.
    pub fn path(&self, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let moved = moved(self.path, self.moved_by, variable);
        (!moved.as_os_str().is_empty()).then_some(moved)
    }

    const fn moved_by(self, variable: &'static str, directory: &'static str) -> SkillDirectory {
        SkillDirectory { moved_by: Some((variable, directory)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seventeen_are_there_in_their_order() {
        let labels: Vec<&str> =
            harnesses().iter().filter(|harness| !harness.is_guest).map(Harness::label).collect();
        assert_eq!(
            labels,
            [
                "claude",
                "claude-desktop",
                "codex",
                "cursor",
                "vscode",
                "copilot",
                "opencode",
                "gemini",
                "qwen",
                "windsurf",
                "zed",
                "goose",
                "continue",
                "amp",
                "crush",
                "cline",
                "factory"
            ]
        );
        for label in labels {
            assert!(!harness(label).unwrap().configs().is_empty(), "{label}");
        }
    }

    #[test]
    fn paths_begin_where_their_scope_says() {
        for harness in harnesses() {
            for config in harness.configs() {
                let files = &config.files;
                for path in files.linux.iter().chain(files.macos) {
                    let is_right = match config.extent {
                        Extent::User | Extent::Local => path.starts_with("~/"),
                        Extent::Project => !path.starts_with(['~', '/']),
                        Extent::System => path.starts_with('/'),
                    };
                    assert!(is_right, "{} {path}", harness.label());
                }
            }
            for shelf in harness.shelves {
                let is_of_user = shelf.path.starts_with('~') || shelf.path.is_empty();
                assert_eq!(is_of_user, shelf.extent == Extent::User, "{}", shelf.path);
            }
        }
    }

    #[test]
    fn a_directory_moves_with_the_files() {
        let folders = |label: &str, name: &str| {
            harness(label).unwrap().folders(|asked| (asked == name).then(|| "/x".to_owned()))
        };
        let moved = |label: &str, name: &str| folders(label, name)[0].display().to_string();
        for (label, folder) in [
            ("zed", "/x/zed"),
            ("claude-desktop", "/x/Claude"),
            ("vscode", "/x/Code"),
            ("opencode", "/x/opencode"),
            ("goose", "/x/goose"),
            ("crush", "/x/crush"),
            ("amp", "/x/amp"),
            ("cursor", "~/.cursor"),
        ] {
            assert_eq!(moved(label, "XDG_CONFIG_HOME"), folder);
        }
        assert_eq!(
            (moved("claude", "CLAUDE_CONFIG_DIR"), moved("codex", "CODEX_HOME")),
            ("/x".into(), "/x".into())
        );
        assert_eq!(moved("zed", "OTHER"), "~/.config/zed");
    }
}
