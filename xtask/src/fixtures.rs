//! `cargo xtask fixtures`: writes all generated fixtures.
//!
//! Each generator owns one directory under `fixtures/` and returns its content, which must always be the same.

mod generated_workspace;
mod specification;

use std::path::PathBuf;

use crate::generated::{self, OutdatedAction};
use crate::repository::{Failure, Repository, Tree};

/// Write the generated fixtures, or check that they are up to date
#[derive(Debug, clap::Args)]
pub struct FixturesArguments {
    /// Change nothing; list the files that are out of date, and fail if there are any
    #[arg(long)]
    pub check: bool,
    /// Directory of the specifications, which are not part of the repository
    #[arg(long, value_name = "DIRECTORY")]
    pub seeds: Option<PathBuf>,
}

/// The directory of the specifications, relative to the repository.
const SEEDS: &str = "../shared/seeds";

/// A directory and its generator. Paths are relative to the root of the repository.
type Generator = (&'static str, fn(&str) -> Tree);

const GENERATORS: &[Generator] = &[("fixtures/workspaces/generated-1000", generated_workspace::files)];

pub fn run(repository: &Repository, arguments: &FixturesArguments) -> Result<(), Failure> {
    let action = OutdatedAction::from_check(arguments.check);
    let mut differing = 0;
    for (folder, generate) in GENERATORS {
        differing += generated::settle(repository, folder, &generate(folder), action)?;
    }
    let seeds = arguments.seeds.clone().unwrap_or_else(|| repository.root().join(SEEDS));
    match specification::files(specification::FOLDER, &Repository::at(seeds).files("")?) {
        Some(tables) => {
            differing += generated::settle(repository, specification::FOLDER, &tables, action)?;
        }
        None => {
            eprintln!("{}: not compared, because the specifications are not there", specification::FOLDER)
        }
    }
    generated::verdict(differing, action, "fixtures")
}

#[cfg(test)]
mod tests {
    use brigade_schema::Schema;

    use super::*;

    #[test]
    fn generators_are_deterministic_and_stay_inside() {
        for (folder, generate) in GENERATORS {
            let tree = generate(folder);
            assert_eq!(tree, generate(folder));
            assert!(tree.0.keys().all(|path| path.starts_with(&format!("{folder}/"))));
        }
    }

    /// A directory that Brigade creates at run time and that no fixture contains.
    const STATE: &str = ".brigade/tools/runtime/";

    /// Returns every tool of every workspace, with the directory of the workspace.
    fn tools(tree: &Tree) -> Vec<(String, toml::Table)> {
        let mut tools = Vec::new();
        for (path, text) in tree.texts("/.brigade/tools.toml") {
            let folder = path.strip_suffix(".brigade/tools.toml").unwrap();
            let catalog: toml::Table = text.parse().unwrap();
            let entries = catalog["tool"].as_array().unwrap();
            tools.extend(entries.iter().map(|tool| (folder.to_owned(), tool.as_table().unwrap().clone())));
        }
        assert!(1_007 <= tools.len());
        tools
    }

    fn workspaces() -> Tree {
        Repository::of_this_build().files("fixtures/workspaces").unwrap()
    }

    fn json(tree: &Tree, path: &str) -> serde_json::Value {
        serde_json::from_str(tree.text(path).unwrap_or_else(|| panic!("{path}")))
            .unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    #[test]
    fn every_file_that_a_tool_names_is_there() {
        let tree = workspaces();
        for (folder, tool) in tools(&tree) {
            for (field, value) in tool.iter().filter(|(field, _)| field.ends_with("_path")) {
                let file = value.as_str().unwrap();
                let is_there = tree.holds(&format!("{folder}{file}")) || file.starts_with(STATE);
                assert!(is_there, "{folder}: {field} of {}", tool["id"]);
            }
        }
    }

    #[test]
    fn every_json_file_is_json() {
        let tree = workspaces();
        for (path, _) in tree.texts(".json") {
            json(&tree, path);
        }
    }

    #[test]
    fn every_example_is_a_valid_call() {
        let tree = workspaces();
        for (folder, tool) in tools(&tree) {
            let path =
                |field: &str| tool.get(field).map(|file| format!("{folder}{}", file.as_str().unwrap()));
            for schema in [path("input_schema_path"), path("output_schema_path")].into_iter().flatten() {
                Schema::compile_root(&json(&tree, &schema))
                    .unwrap_or_else(|problems| panic!("{schema}: {problems:?}"));
            }
            let (Some(schema), Some(examples)) = (path("input_schema_path"), path("examples_path")) else {
                continue;
            };
            let schema = Schema::compile_root(&json(&tree, &schema)).unwrap();
            for example in json(&tree, &examples).as_array().unwrap() {
                assert_eq!(schema.violations(&example["args"]), [], "{examples}");
            }
        }
    }
}
