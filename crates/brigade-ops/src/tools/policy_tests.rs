//! Evaluates the tests of a policy.

use std::path::Path;

use brigade_access::builtin::definition;
use brigade_core::{ErrorCode, ErrorKind, NextStep, Report as _, Severity};
use brigade_fs::RelPath;
use brigade_policy::{ErrorLine, Failure, PolicyState, PolicyTest, TestSubject};
use brigade_workspace::{Config, POLICY, WorkspaceContext, gather, load};

use crate::Error;
use crate::report::{PolicyTestReport, PolicyTestRow};

/// The maximum size of a policy.
const FILE_LIMIT: u64 = 4 << 20;

/// Evaluates the tests of the policy, or of another file that may become the policy.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn test_policy(context: &WorkspaceContext, file: Option<&Path>) -> Result<PolicyTestReport, Error> {
    let (path, bytes) = match file {
        Some(file) => {
            let path = context.typed_path(file);
            let bytes = context.fs.read_outside(&path, FILE_LIMIT);
            (path.display().to_string(), bytes)
        }
        None => (POLICY.to_owned(), context.fs.read(&RelPath::from_static(POLICY), FILE_LIMIT)),
    };
    let bytes = match bytes {
        Err(error) if error.is_not_found() => {
            let failure = Failure::new(ErrorKind::NotFound, format!("the file `{path}` does not exist"));
            return Err(failure.coded(ErrorCode::PolicyMissing).hint(NextStep::InitPolicy).into());
        }
        bytes => bytes?,
    };
    let state = PolicyState::parse_untested(&path, &bytes);
    let config = gather::config(context)?;
    let tests = state.policy().map(|policy| policy.tests.as_slice()).unwrap_or_default();
    let tests: Vec<PolicyTestRow> = tests.iter().map(|test| row(&state, test, &config)).collect();
    let passed = tests.iter().filter(|test| test.passed).count();
    let errors = state.issues().iter().filter(|issue| issue.severity == Severity::Error);
    Ok(PolicyTestReport {
        schema: PolicyTestReport::SCHEMA,
        target: context.target(),
        policy_path: if file.is_some() { path } else { context.absolute(POLICY) },
        valid: state.policy().is_some(),
        errors: errors.map(ErrorLine::from).collect(),
        passed,
        failed: tests.len() - passed,
        tests,
    })
}

/// Evaluates a test.
fn row(state: &PolicyState, test: &PolicyTest, config: &Config) -> PolicyTestRow {
    let (id, tool) = match &test.subject {
        TestSubject::Inline(tool) => (tool.id.as_str(), Some(&**tool)),
        TestSubject::Catalog(id) => (id.as_str(), load::any_tool(&config.catalog, id).ok()),
    };
    let own = tool.and_then(|tool| definition(tool.id.as_str())).map(|row| row.approval);
    let result = tool.map(|tool| test.evaluate(state, tool, own));
    let missing = || vec![ErrorCode::ToolMissing.into()];
    PolicyTestRow {
        line: test.place.line,
        tool: id.to_owned(),
        expect: test.expect.to_string(),
        got: result.as_ref().map(|result| result.got.to_string()),
        because: test.because.clone(),
        passed: result.as_ref().is_some_and(|result| result.passed),
        codes: result.map_or_else(missing, |result| result.codes),
    }
}

#[cfg(test)]
mod tests;
