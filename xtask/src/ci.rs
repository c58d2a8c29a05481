//! `cargo xtask ci`: all checks except the tests.

use std::time::Instant;

use crate::cargo::{cargo, run_command};
use crate::dependencies;
use crate::docs::{self, DocsArguments};
use crate::features::{self, FeaturesArguments};
use crate::fixtures::{self, FixturesArguments};
use crate::interop;
use crate::pictures::{self, PicturesArguments};
use crate::repository::{Failure, Repository};
use crate::schemas::{self, SchemasArguments};
use crate::skills;
use crate::tidy::{self, TidyArguments};
use crate::torture;
use crate::web;

/// Check formatting, lints, docs, house rules and generated files
///
/// All steps run, even after one has failed.
#[derive(Debug, clap::Args)]
pub struct CiArguments {}

/// Includes the feature `schemas`, so all features are compiled.
const LINTS: &str =
    "clippy --workspace --all-targets --features brigade-cli/schemas --locked --quiet -- -D warnings";

type Step<'a> = (&'static str, Box<dyn Fn() -> Result<(), Failure> + 'a>);

pub fn run(repository: &Repository, _: &CiArguments) -> Result<(), Failure> {
    let start = |arguments: &'static str| move || start_cargo(repository, arguments);
    let steps: [Step<'_>; 14] = [
        ("formatting", Box::new(start("fmt --all --check"))),
        ("lints", Box::new(start(LINTS))),
        ("docs", Box::new(start("doc --workspace --no-deps --locked --quiet"))),
        ("crates alone", Box::new(|| features::run(repository, &FeaturesArguments {}))),
        ("dependencies", Box::new(|| dependencies::run_if_installed(repository))),
        ("house rules", Box::new(|| tidy::run(repository, &TidyArguments { fix: false }))),
        ("fixtures", Box::new(|| fixtures::run(repository, &FixturesArguments { check: true, seeds: None }))),
        ("schemas", Box::new(|| schemas::run(repository, &SchemasArguments { check: true }))),
        ("skills", Box::new(|| skills::run_if_installable(repository))),
        ("real MCP servers", Box::new(|| interop::run_if_installable(repository))),
        ("page in a browser", Box::new(|| web::run_if_installable(repository))),
        ("torture of a team", Box::new(|| torture::team_if_installed(repository))),
        ("manual and issues", Box::new(|| docs::run(repository, &DocsArguments { check: true }))),
        ("pictures", Box::new(|| pictures::run(repository, &PicturesArguments { check: true }))),
    ];
    let (began, count) = (Instant::now(), steps.len());
    let mut failed = Vec::new();
    for (name, step) in steps {
        let started = Instant::now();
        let outcome = match step() {
            Ok(()) => "ok".to_owned(),
            Err(failure) => {
                failed.push(name);
                format!("FAILED: {failure}")
            }
        };
        println!("xtask ci: {name}: {outcome} ({:.1} s)", started.elapsed().as_secs_f64());
    }
    let seconds = began.elapsed().as_secs_f64();
    if failed.is_empty() {
        println!("xtask ci: {count} steps passed in {seconds:.1} s");
        return Ok(());
    }
    let (bad, names) = (failed.len(), failed.join(", "));
    Err(Failure::new(format!("ci: {bad} of {count} steps failed in {seconds:.1} s: {names}")))
}

/// Runs cargo in the root of the repository. Arguments must not contain spaces.
fn start_cargo(repository: &Repository, arguments: &str) -> Result<(), Failure> {
    run_command(cargo(repository, arguments.split(' ')).env("RUSTDOCFLAGS", "-D warnings"))
}
