//! `cargo xtask docs`: the manual pages and the page of issues.

use std::fs;

use crate::cargo::{cargo, done, output};
use crate::generated::{self, Settle};
use crate::repository::{Failure, Repository, Tree};

/// Write the manual pages and the page of issues, or check that they are as they would be written
#[derive(Debug, clap::Args)]
pub struct DocsArguments {
    /// Change nothing; list the files that differ, and fail if there are any
    #[arg(long)]
    pub check: bool,
}

/// Where the manual pages are.
const PAGES: &str = "docs/man";

/// Where the issues are explained.
const ISSUES: &str = "docs/issues.md";

/// Where the codes of errors are explained.
const ERRORS: &str = "docs/errors.md";

pub fn run(repository: &Repository, arguments: &DocsArguments) -> Result<(), Failure> {
    let settle = Settle::of(arguments.check);
    let mut differing = generated::settle(repository, PAGES, &pages(repository)?, settle)?;
    let words = "run --quiet --locked --package brigade-cli --example issues";
    let issues = output(&mut cargo(repository, words.split(' ')))?;
    differing += generated::settle_file(repository, ISSUES, &issues, settle)?;
    let words = "run --quiet --locked --package brigade-cli --example errors";
    let errors = output(&mut cargo(repository, words.split(' ')))?;
    differing += generated::settle_file(repository, ERRORS, &errors, settle)?;
    generated::verdict(differing, settle, "docs")
}

/// Has the manual pages written into a folder of their own, and reads them.
fn pages(repository: &Repository) -> Result<Tree, Failure> {
    let folder =
        tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary folder: {error}")))?;
    let words = "run --quiet --locked --package brigade-cli --example manual --";
    done(cargo(repository, words.split(' ')).arg(folder.path()))?;
    let mut pages = Tree::default();
    for entry in fs::read_dir(folder.path()).map_err(Failure::at(folder.path()))? {
        let path = entry.map_err(Failure::at(folder.path()))?.path();
        let name = path.file_name().expect("a listed file has a name").to_string_lossy().into_owned();
        pages.0.insert(format!("{PAGES}/{name}"), fs::read(&path).map_err(Failure::at(&path))?);
    }
    Ok(pages)
}
