//! Adds the built-in tools to a catalog.

use brigade_core::{NextStep, Report as _, codes};
use brigade_facts::CATALOG;
use brigade_policy::{Diagnosis, Failure};

use crate::defaults::DefaultsRequest;
use crate::load;
use crate::report::DefaultsReport;
use crate::seams::Seams;

/// Adds the built-in tools and their sources. Other text in the catalog stays, including comments. Entries of older
/// versions gain missing harnesses and projections.
///
/// Writes nothing if the catalog is invalid, or if another entry has the id of a built-in tool. The report then
/// lists what would have been added.
///
/// # Errors
/// Returns file errors.
pub fn add_default_tools(seams: &Seams, request: DefaultsRequest) -> Result<DefaultsReport, Failure> {
    let defaults = seams.setup().add_defaults(request, |path| seams.absolute(path))?;
    let diagnosis = match defaults.conflicts.first() {
        Some(conflict) => Some(Diagnosis {
            code: codes::ENTRY_EXISTS.as_str().to_owned(),
            labels: Vec::new(),
            help: Some(seams.words(&NextStep::ShowTool(conflict.tool_id.clone()))),
        }),
        None => load::diagnosis(seams, &defaults.errors),
    };
    Ok(DefaultsReport {
        schema: DefaultsReport::SCHEMA,
        target: seams.target(),
        config_path: seams.absolute(CATALOG),
        defaults,
        next_command: seams.spelled(NextStep::ApplyAll),
        diagnosis,
    })
}
