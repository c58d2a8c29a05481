//! `cargo xtask ci`: everything that is checked beside the tests.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::fixtures::{self, FixturesArguments};
use crate::repository::{Failure, Repository};
use crate::tidy::{self, TidyArguments};

/// Check formatting, lints, docs, house rules and generated files
///
/// Every step runs, also after one has failed.
#[derive(Debug, clap::Args)]
pub struct CiArguments {}

type Step<'a> = (&'static str, Box<dyn Fn() -> Result<(), Failure> + 'a>);

pub fn run(repository: &Repository, _: &CiArguments) -> Result<(), Failure> {
    let cargo = |arguments: &'static str| move || start_cargo(repository, arguments);
    let steps: [Step<'_>; 5] = [
        ("formatting", Box::new(cargo("fmt --all --check"))),
        ("lints", Box::new(cargo("clippy --workspace --all-targets --locked --quiet -- -D warnings"))),
        ("docs", Box::new(cargo("doc --workspace --no-deps --locked --quiet"))),
        ("house rules", Box::new(|| tidy::run(repository, &TidyArguments {}))),
        ("generated files", Box::new(|| fixtures::run(repository, &FixturesArguments { check: true }))),
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

/// Runs the cargo that runs this task, in the root. No argument holds a space.
fn start_cargo(repository: &Repository, arguments: &str) -> Result<(), Failure> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments.split(' '))
        .current_dir(repository.root())
        .env("RUSTDOCFLAGS", "-D warnings")
        .stdin(Stdio::null())
        .status()
        .map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`cargo {arguments}` ended with {status}")))
    }
}
