//! Adds the built-in tools to a catalog.

use brigade_core::{ErrorCode, ErrorKind, NextStep, Report as _};
use brigade_policy::{Blocker, Diagnosis, Failure, FailureReport};
use brigade_workspace::{CATALOG, WorkspaceContext, load};

use crate::defaults::DefaultsRequest;
use crate::report::DefaultsReport;
use crate::setup::Setup;

/// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
/// versions gain missing harnesses and projections.
///
/// # Errors
/// Returns the report if the catalog is invalid, or if another entry has the id of a built-in tool. Then nothing is
/// written, and the report lists the tools that would have been added. Also returns file errors.
pub fn add_default_tools(
    context: &WorkspaceContext,
    request: DefaultsRequest,
) -> Result<DefaultsReport, FailureReport<Box<DefaultsReport>>> {
    let defaults = Setup::new(context).add_defaults(request, |path| context.absolute(path))?;
    let diagnosis = match defaults.conflicts.first() {
        Some(conflict) => Some(Diagnosis {
            code: ErrorCode::EntryExists.into(),
            labels: Vec::new(),
            help: Some(context.words(&NextStep::ShowTool(conflict.tool_id.clone()))),
        }),
        None => load::diagnosis(context, &defaults.errors),
    };
    let report = DefaultsReport {
        schema: DefaultsReport::SCHEMA,
        target: context.target(),
        config_path: context.absolute(CATALOG),
        defaults,
        next_command: context.spelled(NextStep::ApplyAll),
        diagnosis,
    };
    if report.defaults.valid {
        return Ok(report);
    }
    let errors = report.defaults.errors.iter().map(Blocker::from);
    let conflicts = report.defaults.conflicts.iter().map(|conflict| {
        Blocker::new(ErrorCode::EntryExists, &conflict.detail)
            .field(&conflict.tool_id)
            .hint(NextStep::ShowTool(conflict.tool_id.clone()))
    });
    let kind = if report.defaults.errors.is_empty() { ErrorKind::Refused } else { ErrorKind::InvalidConfig };
    let failure = Failure::new(kind, "no built-in tool was added").because(errors.chain(conflicts));
    Err(FailureReport::refused(failure, Box::new(report)))
}
