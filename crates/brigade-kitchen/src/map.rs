//! The map of a code base, derived from file names and manifests without a model.
//!
//! [`draw`] makes a [`CodeMap`] from a [`Survey`], and [`CodeMap::text`] renders it as Markdown. The same files give
//! the same map. File names and texts are foreign input, so each is shown as code on one line.

mod commands;
mod facts;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use brigade_core::{Exit, Report, SchemaId};
use brigade_macros::part;

pub use facts::{is_generated, is_wanted};
pub use text::{EarlierMap, excerpt};

use commands::Project;

/// The file of the map, relative to the workspace.
pub const MAP_FILE: &str = "brigade/codebase-map.md";

/// The maximum number of rows in each part.
const MAX_ROWS: usize = 40;

/// The maximum depth of folders that are shown.
const DEPTH: usize = 2;

/// The files of a code base.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The commit of the files.
    pub commit: Option<String>,
    /// The paths of the files, relative to the root, sorted.
    pub paths: Vec<String>,
    /// The texts of files for which [`is_wanted`] is true.
    pub texts: BTreeMap<String, String>,
    /// Whether some files were left out because there are too many.
    pub is_cut: bool,
}

/// A language, and its number of files.
#[part(PartialEq, Eq)]
pub struct Language {
    /// The name.
    pub name: String,
    /// The files.
    pub files: u64,
}

/// A folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The path.
    pub path: String,
    /// The files in it and below.
    pub files: u64,
    /// The language of most files, if there is one.
    pub language: Option<String>,
}

/// A file that describes a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The path.
    pub path: String,
    /// What it describes.
    pub what: String,
}

/// A command that runs tests.
#[part(PartialEq, Eq)]
pub struct TestCommand {
    /// The command.
    pub command: String,
    /// The folder where it is run; empty for the root.
    pub folder: String,
    /// The file that declares the command.
    pub from: String,
}

/// A convention of the code base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convention {
    /// The file that describes it.
    pub path: String,
    /// A description.
    pub what: String,
}

/// The map of a code base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeMap {
    /// The commit of the files.
    pub commit: Option<String>,
    /// The number of files.
    pub files: u64,
    /// Whether some files were left out because there are too many.
    pub is_cut: bool,
    /// The languages, the most used first.
    pub languages: Vec<Language>,
    /// The folders.
    pub layout: Vec<Folder>,
    /// Files where programs start.
    pub entry_points: Vec<String>,
    /// The manifests.
    pub manifests: Vec<Manifest>,
    /// The commands that run tests.
    pub test_commands: Vec<TestCommand>,
    /// The conventions.
    pub conventions: Vec<Convention>,
}

/// What `map` reports.
#[part(PartialEq)]
pub struct KitchenMapReport {
    /// The schema id.
    #[serde(deserialize_with = "KitchenMapReport::read_schema")]
    pub schema: SchemaId,
    /// The workspace root.
    pub target: String,
    /// The file that was written, relative to the workspace.
    pub path: String,
    /// The commit of the files.
    pub commit: Option<String>,
    /// The number of files.
    pub files: u64,
    /// Whether no file was left out.
    pub complete: bool,
    /// The languages, the most used first.
    pub languages: Vec<Language>,
    /// The commands that run tests.
    pub test_commands: Vec<TestCommand>,
    /// Whether the map has a part written by the executive.
    pub has_worker_part: bool,
    /// The run that wrote that part, if this command started one.
    pub run: Option<String>,
    /// Whether a person interrupted the executive, so that it added nothing.
    pub interrupted: bool,
    /// Problems while making the map.
    pub notes: Vec<String>,
}

impl Report for KitchenMapReport {
    const SCHEMA: SchemaId = "brigade.kitchen-map.v1";

    fn exit(&self) -> Exit {
        if self.interrupted { Exit::Interrupted } else { Exit::Done }
    }
}

impl KitchenMapReport {
    /// Makes the report for a written map.
    pub fn new(target: String, path: String, map: &CodeMap) -> KitchenMapReport {
        KitchenMapReport {
            schema: KitchenMapReport::SCHEMA,
            target,
            path,
            commit: map.commit.clone(),
            files: map.files,
            complete: !map.is_cut,
            languages: map.languages.clone(),
            test_commands: map.test_commands.clone(),
            has_worker_part: false,
            run: None,
            interrupted: false,
            notes: Vec::new(),
        }
    }
}

/// Returns the folder of a path, empty for the root, and its name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Joins a folder, which is empty for the root, and a name.
fn inside(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Makes the map of a code base.
pub fn draw(survey: &Survey) -> CodeMap {
    let paths = &survey.paths;
    let known: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let projects: Vec<Project<'_>> = Project::all(survey, &known);
    let mut manifests: Vec<Manifest> = projects.iter().map(Project::manifest).collect();
    let mut test_commands: Vec<TestCommand> = Vec::new();
    for command in projects.iter().flat_map(Project::test_commands) {
        let is_same = |own: &TestCommand| (&own.command, &own.folder) == (&command.command, &command.folder);
        if !test_commands.iter().any(is_same) {
            test_commands.push(command);
        }
    }
    // Paths nearer to the root come first.
    let depth = |path: &str| path.split('/').count();
    manifests.sort_by_key(|manifest| (depth(&manifest.path), manifest.path.clone()));
    test_commands.sort_by_key(|own| (depth(&own.folder), own.folder.clone(), own.from.clone()));
    let mut entry_points: Vec<String> = projects.iter().flat_map(Project::entry_points).collect();
    entry_points.extend(paths.iter().filter(|path| facts::is_entry_point(path)).cloned());
    entry_points.sort_by_key(|path| (depth(path), path.clone()));
    entry_points.dedup();
    let mut conventions: Vec<Convention> = paths.iter().filter_map(|path| facts::convention(path)).collect();
    conventions.sort_by_key(|convention| (depth(&convention.path), convention.path.clone()));
    conventions.extend(facts::tests_beside(paths));
    CodeMap {
        commit: survey.commit.clone(),
        files: paths.len() as u64,
        is_cut: survey.is_cut,
        languages: facts::languages(paths.iter().map(String::as_str)),
        layout: facts::layout(paths, DEPTH, MAX_ROWS),
        entry_points,
        manifests,
        test_commands,
        conventions,
    }
}

#[cfg(test)]
mod tests;
