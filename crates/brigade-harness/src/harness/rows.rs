//! Reads the tables of harnesses, clients and spellings from their data. The tables live as long as the program.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use brigade_catalog::program;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::{Config, Extent, FolderContent, Harness, KeyPaths, PathContent, SkillDirectory, Syntax};
use crate::client::{Client, Files, Format, Grade};
use crate::plugins::PluginStore;
use crate::spelling::Spelling;
use crate::switches::SwitchFile;

/// Returns every harness, in the order of reports.
pub fn harnesses() -> &'static [Harness] {
    static HARNESSES: OnceLock<Vec<Harness>> = OnceLock::new();
    HARNESSES.get_or_init(|| {
        let rows: Vec<HarnessRow> = read(include_str!("../tables/harnesses.json"));
        rows.into_iter().map(Harness::from).collect()
    })
}

/// Returns every client, in a stable order.
pub fn clients() -> &'static [Client] {
    static CLIENTS: OnceLock<Vec<Client>> = OnceLock::new();
    CLIENTS.get_or_init(|| read(include_str!("../tables/clients.json")))
}

fn spelling(name: &str) -> &'static Spelling {
    static SPELLINGS: OnceLock<BTreeMap<&str, Spelling>> = OnceLock::new();
    &SPELLINGS.get_or_init(|| read(include_str!("../tables/spellings.json")))[name]
}

fn read<T: Deserialize<'static>>(table: &'static str) -> T {
    serde_json::from_str(table).expect("the tables have the form of their types")
}

/// A row of the table of harnesses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HarnessRow {
    /// Where the facts are from.
    #[serde(default, rename = "source")]
    _source: IgnoredAny,
    program: &'static str,
    spelling: &'static str,
    #[serde(default)]
    is_guest: bool,
    #[serde(default)]
    folders: Vec<&'static str>,
    #[serde(default)]
    natives: Vec<&'static str>,
    #[serde(default)]
    servers: Vec<ConfigRow>,
    #[serde(default)]
    shelves: Vec<SkillDirectory>,
    #[serde(default)]
    switches: Vec<SwitchFile>,
    #[serde(default)]
    plugins: Vec<PluginStore>,
}

impl From<HarnessRow> for Harness {
    fn from(row: HarnessRow) -> Harness {
        let config = |own: ConfigRow| Config {
            extent: own.extent.unwrap_or_else(|| own.files.extent()),
            files: own.files,
            place: match own.directory {
                Some(endings) => PathContent::Directory(endings.leak()),
                None if own.is_program => PathContent::Program,
                None => PathContent::File,
            },
            syntax: own.format,
            ways: own.ways,
            nested: None,
            spelling: spelling(own.spelling.unwrap_or(row.spelling)),
        };
        Harness {
            program: *program(row.program).expect("the table of programs has it"),
            folders: row.folders,
            shelves: row.shelves,
            natives: row.natives,
            is_guest: row.is_guest,
            switches: row.switches,
            plugins: row.plugins,
            more: row.servers.into_iter().map(config).collect(),
            spelling: spelling(row.spelling),
        }
    }
}

/// A file with servers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigRow {
    /// Given only if it is not that of its first path.
    extent: Option<Extent>,
    files: Files,
    /// The endings of the files, if the path is a directory.
    directory: Option<Vec<&'static str>>,
    #[serde(default)]
    is_program: bool,
    #[serde(default)]
    format: Syntax,
    #[serde(default)]
    ways: KeyPaths,
    #[serde(borrow)]
    spelling: Option<&'static str>,
}

impl Default for Syntax {
    fn default() -> Syntax {
        Syntax::Json(Format::Json)
    }
}

impl<'de> Deserialize<'de> for Syntax {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Syntax, D::Error> {
        Ok(match <&str>::deserialize(deserializer)? {
            "yaml" => Syntax::Yaml,
            "json-with-comments" => Syntax::Json(Format::JsonWithComments),
            "json-with-commas" => Syntax::Json(Format::JsonWithCommas),
            _ => return Err(D::Error::custom("not a format of the table")),
        })
    }
}

/// The files of one scope. Paths that a platform lacks are those of all platforms.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesRow {
    #[serde(default)]
    paths: Vec<&'static str>,
    linux: Option<Vec<&'static str>>,
    macos: Option<Vec<&'static str>>,
    windows: Option<Vec<&'static str>>,
    #[serde(borrow)]
    moved_by: Option<(&'static str, &'static str)>,
    grade: Grade,
}

impl From<FilesRow> for Files {
    fn from(row: FilesRow) -> Files {
        let all: &'static [&'static str] = row.paths.leak();
        let of = |own: Option<Vec<&'static str>>| own.map_or(all, |own| own.leak());
        let (linux, macos, windows) = (of(row.linux), of(row.macos), of(row.windows));
        Files { linux, macos, windows, moved_by: row.moved_by, grade: row.grade }
    }
}

macro_rules! read_from_rows {
    ($($name:ident from $row:ident),*) => {
        $(impl Deserialize<'static> for $name {
            fn deserialize<D: Deserializer<'static>>(deserializer: D) -> Result<$name, D::Error> {
                $row::deserialize(deserializer).map($name::from)
            }
        })*
    };
}

read_from_rows!(Files from FilesRow, KeyPaths from KeyPathsRow, SkillDirectory from DirectoryRow);

/// The keys that lead to the servers in a file.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeyPathsRow {
    Key(&'static str),
    Keys(Vec<Vec<&'static str>>),
    Single { way: Vec<&'static str>, name: &'static str },
}

impl From<KeyPathsRow> for KeyPaths {
    fn from(row: KeyPathsRow) -> KeyPaths {
        match row {
            KeyPathsRow::Key(key) => KeyPaths::Key(key),
            KeyPathsRow::Keys(ways) => {
                let ways: Vec<&'static [&'static str]> = ways.into_iter().map(|way| &*way.leak()).collect();
                KeyPaths::Keys(ways.leak())
            }
            KeyPathsRow::Single { way, name } => KeyPaths::Single { way: way.leak(), name },
        }
    }
}

impl Default for KeyPaths {
    fn default() -> KeyPaths {
        KeyPaths::Key("mcpServers")
    }
}

/// A directory, named by what it contains.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DirectoryRow {
    #[serde(borrow)]
    skills: Option<&'static str>,
    commands: Option<&'static str>,
    toml_commands: Option<&'static str>,
    /// One level, if it is not given.
    depth: Option<usize>,
    #[serde(default)]
    has_own: bool,
    moved_by: Option<(&'static str, &'static str)>,
}

impl From<DirectoryRow> for SkillDirectory {
    fn from(row: DirectoryRow) -> SkillDirectory {
        let commands = row.commands.map(|path| (FolderContent::Commands, path));
        let toml_commands = row.toml_commands.map(|path| (FolderContent::TomlCommands, path));
        let skills = (FolderContent::Skills, row.skills.unwrap_or_default());
        let (holds, path) = commands.or(toml_commands).unwrap_or(skills);
        SkillDirectory {
            extent: if path.is_empty() { Extent::User } else { Extent::of_path(path) },
            path,
            moved_by: row.moved_by,
            holds,
            depth: row.depth.unwrap_or(1),
            has_own: row.has_own,
        }
    }
}
