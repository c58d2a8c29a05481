//! `cargo xtask features`: checks each library crate alone, with its default features and with none.
//!
//! A build of the whole workspace enables the features that any crate needs. So it does not show that each crate builds
//! alone. That all features compile together is shown by the lints.

use std::time::Instant;

use serde_json::Value;

use crate::cargo::{cargo, output, run_command};
use crate::repository::{Failure, Repository};

/// Check each library crate alone, with its default features and with none
#[derive(Debug, clap::Args)]
pub struct FeaturesArguments {}

pub fn run(repository: &Repository, _: &FeaturesArguments) -> Result<(), Failure> {
    let text =
        output(&mut cargo(repository, ["metadata", "--no-deps", "--format-version", "1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("cargo metadata wrote something else: {error}")))?;
    let began = Instant::now();
    let (mut count, mut failed) = (0, Vec::new());
    for words in metadata["packages"].as_array().into_iter().flatten().flat_map(checks) {
        count += 1;
        if run_command(&mut cargo(repository, words.iter())).is_err() {
            failed.push(words.join(" "));
        }
    }
    println!("features: {count} builds in {:.1} s", began.elapsed().as_secs_f64());
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("features: {}", failed.join("; ")))) }
}

/// Returns the command lines that check a package. Returns none if it has no library or is not published.
fn checks(package: &Value) -> Vec<Vec<String>> {
    let targets = package["targets"].as_array().into_iter().flatten();
    let is_library = targets.flat_map(|target| target["kind"].as_array()).flatten().any(|kind| kind == "lib");
    if !is_library || !package["publish"].is_null() {
        return Vec::new();
    }
    let default = package["features"]["default"].as_array();
    let has_default = default.is_some_and(|features| !features.is_empty());
    let variants: &[&str] = if has_default { &["", "--no-default-features"] } else { &[""] };
    let name = package["name"].as_str().unwrap_or_default();
    let line = |variant: &&str| {
        let fixed = ["check", "--quiet", "--locked", "--lib", "--package", name];
        fixed.into_iter().chain([*variant]).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    variants.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_published_library_is_checked_with_its_default_features_and_with_none() {
        let base = "check --quiet --locked --lib --package a";
        let none = format!("{base} --no-default-features");
        for (features, kind, publish, expect) in [
            (json!({}), "lib", Value::Null, vec![base]),
            (json!({"mcp": []}), "lib", Value::Null, vec![base]),
            (json!({"default": ["mcp"], "mcp": []}), "lib", Value::Null, vec![base, &none]),
            (json!({"default": ["mcp"], "mcp": []}), "bin", Value::Null, vec![]),
            (json!({}), "lib", json!([]), vec![]),
        ] {
            let targets = json!([{"kind": [kind]}]);
            let package = json!({"name": "a", "features": features, "targets": targets, "publish": publish});
            let lines: Vec<String> = checks(&package).iter().map(|words| words.join(" ")).collect();
            assert_eq!(lines, expect);
        }
    }
}
