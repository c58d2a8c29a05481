//! `brigade tools policy test`

use std::path::PathBuf;

use brigade::Error;
use brigade::report::PolicyTestReport;
use clap::Args;

use crate::session::Session;

/// Evaluate the tests in the policy
///
/// A `[[test]]` table names a tool, or its family and effects, and what the policy decides about calls of it: allowed,
/// blocked, asks or rule:NAME. Exits with 1 if one fails.
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// File to test instead of the policy
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &TestArgs) -> Result<PolicyTestReport, Error> {
    session.workspace()?.policy().test(arguments.file.as_deref())
}
