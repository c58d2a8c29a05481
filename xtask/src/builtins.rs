//! `cargo xtask builtins`: lists the built-in tools that are not implemented.

use crate::cargo::{cargo, output};
use crate::repository::{Failure, Repository};

/// Print which built-in tools are not built, by stage
#[derive(Debug, clap::Args)]
pub struct BuiltinsArguments {
    /// Compare the rows with the table of fixtures first
    #[arg(long)]
    check: bool,
}

/// Runs the task.
pub fn run(repository: &Repository, arguments: &BuiltinsArguments) -> Result<(), Failure> {
    if arguments.check {
        let words = "test --quiet --locked --package brigade-toolset --test contract";
        output(&mut cargo(repository, words.split(' ')))?;
    }
    let words = "run --quiet --locked --package brigade-toolset --example builtins";
    print!("{}", output(&mut cargo(repository, words.split(' ')))?);
    Ok(())
}
