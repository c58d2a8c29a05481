//! `cargo xtask docs`: generates the manual pages and the pages of issues and errors.

use std::fs;

use crate::cargo::{example, output, run_command};
use crate::generated::{self, OutdatedAction};
use crate::repository::{Failure, Repository, Tree};

/// Write the manual pages and the pages of issues and errors, or check that they are up to date
#[derive(Debug, clap::Args)]
pub struct DocsArguments {
    /// Change nothing; list the files that are out of date, and fail if there are any
    #[arg(long)]
    pub check: bool,
}

/// The directory of the manual pages.
const PAGES: &str = "docs/man";

/// The page that explains the issues.
const ISSUES: &str = "docs/reference/issues.md";

/// The page that explains the error codes.
const ERRORS: &str = "docs/reference/errors.md";

pub fn run(repository: &Repository, arguments: &DocsArguments) -> Result<(), Failure> {
    let settle = OutdatedAction::from_check(arguments.check);
    let mut differing = generated::settle(repository, PAGES, &pages(repository)?, settle)?;
    let issues = output(&mut example(repository, "issues")?)?;
    differing += generated::settle_file(repository, ISSUES, &issues, settle)?;
    let errors = output(&mut example(repository, "errors")?)?;
    differing += generated::settle_file(repository, ERRORS, &errors, settle)?;
    generated::verdict(differing, settle, "docs")
}

/// Generates the manual pages in a temporary directory, and reads them.
fn pages(repository: &Repository) -> Result<Tree, Failure> {
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))?;
    run_command(example(repository, "manual")?.arg(folder.path()))?;
    let mut pages = Tree::default();
    for entry in fs::read_dir(folder.path()).map_err(Failure::at(folder.path()))? {
        let path = entry.map_err(Failure::at(folder.path()))?.path();
        let name = path.file_name().expect("a listed file has a name").to_string_lossy().into_owned();
        pages.0.insert(format!("{PAGES}/{name}"), fs::read(&path).map_err(Failure::at(&path))?);
    }
    Ok(pages)
}
