//! `cargo xtask features`: checks each library crate alone, with default, no and all features.
//!
//! A build of the whole workspace enables the features that any crate needs. So it does not show that each crate builds
//! alone.

use std::time::Instant;

use serde::Deserialize;

use crate::cargo::{cargo, output, run_command};
use crate::repository::{Failure, Repository};

/// Check each library crate alone, with default, no and all features
#[derive(Debug, clap::Args)]
pub struct FeaturesArguments {}

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    features: serde_json::Map<String, serde_json::Value>,
    targets: Vec<Target>,
    /// The registries that it may be published to. Empty if it is not published.
    publish: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

pub fn run(repository: &Repository, _: &FeaturesArguments) -> Result<(), Failure> {
    let text =
        output(&mut cargo(repository, ["metadata", "--no-deps", "--format-version", "1", "--locked"]))?;
    let metadata: Metadata = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("cargo metadata wrote something else: {error}")))?;
    let began = Instant::now();
    let (mut count, mut failed) = (0, Vec::new());
    for words in metadata.packages.iter().flat_map(checks) {
        count += 1;
        if run_command(&mut cargo(repository, words.iter())).is_err() {
            failed.push(words.join(" "));
        }
    }
    println!("features: {count} builds in {:.1} s", began.elapsed().as_secs_f64());
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("features: {}", failed.join("; ")))) }
}

/// Returns the command lines that check a package. Returns none if it has no library or is not published.
fn checks(package: &Package) -> Vec<Vec<String>> {
    let is_library = package.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "lib"));
    if !is_library || package.publish.is_some() {
        return Vec::new();
    }
    let variants: &[&str] = match package.features.len() {
        0 => &[""],
        _ => &["", "--no-default-features", "--all-features"],
    };
    let line = |variant: &&str| {
        let fixed = ["check", "--quiet", "--locked", "--lib", "--package", package.name.as_str()];
        fixed.into_iter().chain([*variant]).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    variants.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(features: &[&str], kind: &str, publish: Option<Vec<String>>, expect: &[&str]) {
        let package = Package {
            name: "a".to_owned(),
            features: features.iter().map(|name| ((*name).to_owned(), serde_json::Value::Null)).collect(),
            targets: vec![Target { kind: vec![kind.to_owned()] }],
            publish,
        };
        let lines: Vec<String> = checks(&package).iter().map(|words| words.join(" ")).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn a_library_is_checked_with_each_feature_set() {
        let base = "check --quiet --locked --lib --package a";
        check(&[], "lib", None, &[base]);
        let (none, all) = (format!("{base} --no-default-features"), format!("{base} --all-features"));
        check(&["mcp"], "lib", None, &[base, &none, &all]);
    }

    #[test]
    fn programs_and_helpers_of_tests_are_not_checked() {
        check(&["mcp"], "bin", None, &[]);
        check(&[], "lib", Some(Vec::new()), &[]);
    }
}
