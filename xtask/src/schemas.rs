//! `cargo xtask schemas`: generates the JSON Schema of every `--json` document.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::cargo::{example, output};
use crate::generated::{self, OutdatedAction};
use crate::repository::{Failure, Repository, Tree};

/// Write the JSON Schemas of all documents, or check that they are up to date
#[derive(Debug, clap::Args)]
pub struct SchemasArguments {
    /// Change nothing; list the files that are out of date, and fail if there are any
    #[arg(long)]
    pub check: bool,
}

/// The directory of the schemas.
const FOLDER: &str = "docs/schemas";

/// The sources that contain the ids of documents.
const SOURCES: &[&str] =
    &["crates/brigade-cli/src", "crates/brigade-ops/src/report", "crates/brigade/src/report"];

pub fn run(repository: &Repository, arguments: &SchemasArguments) -> Result<(), Failure> {
    let text = output(&mut example(repository, "schemas")?)?;
    let schemas: Map<String, Value> = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("the schemas are not JSON: {error}")))?;
    let mut known = BTreeSet::new();
    for folder in SOURCES {
        known.extend(ids(&repository.files(folder)?));
    }
    let missing: Vec<&str> =
        known.iter().map(String::as_str).filter(|id| !schemas.contains_key(*id)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(Failure::new(format!("crates/brigade-cli/src/documents.rs does not know {missing}")));
    }
    let settle = OutdatedAction::from_check(arguments.check);
    let differing = generated::settle(repository, FOLDER, &tree(&schemas), settle)?;
    generated::verdict(differing, settle, "schemas")
}

/// Returns one file per schema.
fn tree(schemas: &Map<String, Value>) -> Tree {
    let file = |(id, schema): (&String, &Value)| {
        (format!("{FOLDER}/{id}.json"), format!("{schema:#}\n").into_bytes())
    };
    Tree(schemas.iter().map(file).collect())
}

/// Finds the ids of documents in sources: string literals `brigade.NAME.v1`.
fn ids(sources: &Tree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, text) in sources.texts(".rs") {
        for literal in text.split('"') {
            let name = literal.strip_prefix("brigade.").and_then(|rest| rest.strip_suffix(".v1"));
            if name.is_some_and(|name| name.bytes().all(|b| b == b'-' || b.is_ascii_lowercase())) {
                found.insert(literal.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_literals_alone() {
        let sources = Tree::from_texts(&[
            ("a.rs", "/// `brigade.other.v1`\nconst SCHEMA: &str = \"brigade.call-plan.v1\";"),
            ("b.rs", "f(\"brigade.<name>.v1\", \"brigade.error.v1\")"),
        ]);
        let expect = ["brigade.call-plan.v1", "brigade.error.v1"];
        assert_eq!(ids(&sources), expect.map(str::to_owned).into());
    }
}
