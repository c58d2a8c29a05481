//! The table of harnesses: the files that define what an agent program can use.
//!
//! For a harness that is also a [client](crate::Client), that table has its MCP files. This table adds other files, and
//! the directories of skills and commands. Files whose location is unconfirmed are read if they exist.

mod rows;

use brigade_catalog::Program;
use brigade_core::words;
use std::path::{Path, PathBuf};

use crate::client::{Client, Files, Format, Platform, Scope, client, moved};
use crate::plugins::PluginStore;
use crate::spelling::Spelling;
use crate::switches::SwitchFile;

pub use rows::{clients, harnesses};

words! {
    /// Who a file applies to.
    Extent {
        /// The user, in all workspaces.
        User = "user",
        /// The user, in one workspace.
        Local = "local",
        /// All users of the workspace.
        Project = "project",
        /// All users of the machine.
        System = "system",
    }
}

impl Extent {
    /// Returns who the file at a path of the table applies to.
    fn of_path(path: &str) -> Extent {
        match path {
            path if path.starts_with("~/") => Extent::User,
            path if path.starts_with('/') => Extent::System,
            _ => Extent::Project,
        }
    }

    /// Returns whether a request for a scope includes this one. `Local` counts as project, and `System` counts as user.
    pub fn is_of(self, scope: Scope) -> bool {
        let is_project = matches!(self, Extent::Local | Extent::Project);
        is_project == (scope == Scope::Project)
    }
}

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A form of JSON. All forms are read with comments and trailing commas. An issue reports those that the program
    /// may not accept.
    Json(Format),
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// What a path of the table refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathContent {
    /// A file.
    File,
    /// A directory of files with these endings.
    Directory(&'static [&'static str]),
    /// A program that would have to run. Discovery does not run it.
    Program,
}

/// A placeholder for the path of the workspace in key paths.
pub(crate) const WORKSPACE: &str = "<workspace>";

/// The keys that lead to the servers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPaths {
    /// One key.
    Key(&'static str),
    /// Several paths, each of several keys.
    Keys(&'static [&'static [&'static str]]),
    /// One key. Without it, the file holds the servers at its outermost level.
    KeyOrRoot(&'static str),
    /// The path of a single server, and the key of its name.
    Single { way: &'static [&'static str], name: &'static str },
}

impl KeyPaths {
    /// Returns the paths, with the path of the workspace in place of the placeholder.
    pub(crate) fn in_workspace(self, workspace: &str) -> Vec<Vec<&str>> {
        let key = |key: &'static str| if key == WORKSPACE { workspace } else { key };
        match self {
            KeyPaths::Key(only) | KeyPaths::KeyOrRoot(only) => vec![vec![key(only)]],
            KeyPaths::Single { way, .. } => vec![way.to_vec()],
            KeyPaths::Keys(ways) => {
                ways.iter().map(|way| way.iter().map(|step| key(step)).collect()).collect()
            }
        }
    }
}

/// A file with MCP servers, or a directory of such files.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Who it applies to.
    pub extent: Extent,
    /// Where it is.
    pub files: Files,
    /// What the path refers to.
    pub place: PathContent,
    pub(crate) syntax: Syntax,
    pub(crate) ways: KeyPaths,
    /// A key within the container that holds the servers in newer versions of the file.
    pub(crate) nested: Option<&'static str>,
    pub(crate) spelling: &'static Spelling,
}

impl Config {
    /// The maximum number of bytes to read.
    ///
    /// JSON is read without a tree. The other formats need one, so the number of their values is limited.
    pub const LIMIT: u64 = 64 << 20;
}

/// A directory with skills or commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillDirectory {
    /// Who it applies to.
    pub extent: Extent,
    /// Its path: relative to the workspace, or beginning with `~/`. Empty if only a variable names it.
    pub path: &'static str,
    /// A variable that names another directory, and the directory that it replaces.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// What it contains.
    pub holds: FolderContent,
    /// How many levels below it have skills. Commands are read from all levels.
    pub depth: usize,
    /// Whether the directory itself can be a skill.
    pub has_own: bool,
}

/// The content of a directory in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FolderContent {
    /// Directories with a `SKILL.md`.
    Skills,
    /// Commands in Markdown, including subdirectories.
    Commands,
    /// Commands in TOML, including subdirectories.
    TomlCommands,
}

/// An agent program and the files that it uses.
#[derive(Debug)]
pub struct Harness {
    /// The program.
    pub program: Program,
    /// Directories whose existence shows that the program is installed.
    pub(crate) folders: Vec<&'static str>,
    /// Directories with skills and commands.
    pub shelves: Vec<SkillDirectory>,
    /// The names of its built-in tools, as documented. Empty if the list is unconfirmed.
    pub natives: Vec<&'static str>,
    /// Whether to show it only if it is found: it has skills, but is not an agent program of the table.
    pub is_guest: bool,
    /// Files that list servers which the program does not start.
    pub switches: Vec<SwitchFile>,
    /// Where it keeps plugins.
    pub plugins: Vec<PluginStore>,
    more: Vec<Config>,
    pub(crate) spelling: &'static Spelling,
}

impl Harness {
    /// Returns the label.
    pub fn label(&self) -> &'static str {
        self.program.label
    }

    /// Returns whether files of the program are read. Others are only known by name.
    pub fn is_read(&self) -> bool {
        !self.configs().is_empty() || !self.shelves.is_empty()
    }

    /// Returns the files with MCP servers, first the user's and then the workspace's.
    pub fn configs(&self) -> Vec<Config> {
        let known = client(self.label());
        let of_client = known.into_iter().flat_map(|client| of_client(client, self.spelling));
        let mut configs: Vec<Config> = of_client.chain(self.more.iter().copied()).collect();
        configs.sort_by_key(|config| config.extent);
        configs
    }
}

impl Harness {
    /// Returns the directories that show that the program is installed, absolute or beginning with `~/`. A variable
    /// that moves the files also moves the directory.
    pub fn folders(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
        let of_configs = self.configs().into_iter().filter_map(|config| config.files.moved_by);
        let of_shelves = self.shelves.iter().filter_map(|shelf| shelf.moved_by);
        let mut moves: Vec<(&str, &str)> = of_configs.chain(of_shelves).collect();
        // The innermost directory counts.
        moves.sort_by_key(|(_, directory)| std::cmp::Reverse(directory.len()));
        let folder = |folder: &&str| {
            let of_folder = |(_, directory): &&(&str, &str)| {
                !directory.is_empty() && Path::new(folder).starts_with(directory)
            };
            moved(folder, moves.iter().find(of_folder).copied(), &variable)
        };
        self.folders.iter().map(folder).collect()
    }

    /// Returns the user's files with MCP servers that no other program reads. Each shows that the program was used.
    pub fn own_files(
        &self,
        platform: Platform,
        variable: impl Fn(&str) -> Option<String> + Copy,
    ) -> Vec<PathBuf> {
        let of_user = |harness: &Harness| -> Vec<PathBuf> {
            let configs = harness.configs().into_iter();
            let files = configs
                .filter(|config| config.extent == Extent::User && config.place == PathContent::File)
                .flat_map(|config| config.files.paths(platform, variable));
            files.collect()
        };
        let others = harnesses().iter().filter(|other| other.label() != self.label());
        let others: Vec<PathBuf> = others.flat_map(of_user).collect();
        of_user(self).into_iter().filter(|file| !others.contains(file)).collect()
    }
}

/// Returns the files from the table of clients.
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

/// Returns a harness by its label.
pub fn harness(label: &str) -> Option<&'static Harness> {
    harnesses().iter().find(|harness| harness.label() == label)
}

impl SkillDirectory {
    /// Returns the path: relative to the workspace, absolute, or beginning with `~/`. `None` if its variable is not
    /// set.
    pub fn path(&self, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let moved = moved(self.path, self.moved_by, variable);
        (!moved.as_os_str().is_empty()).then_some(moved)
    }
}

impl Files {
    /// Returns who they apply to.
    pub fn extent(&self) -> Extent {
        Extent::of_path(self.macos.first().copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::{AgentFiles, ClosedPlace, closed_place};

    use super::*;

    #[test]
    fn the_twenty_are_there_in_their_order() {
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
                "factory",
                "kiro",
                "roo",
                "antigravity"
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
            for shelf in &harness.shelves {
                let is_of_user = shelf.path.starts_with('~') || shelf.path.is_empty();
                assert_eq!(is_of_user, shelf.extent == Extent::User, "{}", shelf.path);
            }
        }
    }

    #[test]
    fn each_program_is_shown_by_a_file_of_its_own() {
        let files = |label: &str| harness(label).unwrap().own_files(Platform::Linux, |_| None);
        assert_eq!(files("claude"), [Path::new("~/.claude.json")]);
        for client in clients().iter().filter(|client| client.has_files()) {
            assert!(!files(client.label).is_empty(), "{}", client.label);
        }
    }

    /// Issue 42: an agent that writes there has a program started at the next start of the agent program.
    #[test]
    fn project_files_are_closed_to_agents() {
        for harness in harnesses() {
            let of_project = |config: &Config| config.extent == Extent::Project;
            for config in harness.configs().into_iter().filter(of_project) {
                for path in config.files.linux.iter().chain(config.files.macos) {
                    let closed = closed_place(path, AgentFiles::Closed);
                    assert_eq!(closed, Some(ClosedPlace::AgentFile), "{} {path}", harness.label());
                }
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
