//! The files that each harness reads, and the projections for them.

use brigade_core::{ErrorCode, ErrorKind, NextStep, Report as _};
use brigade_policy::Failure;
use brigade_projection::{HarnessLine, HarnessPlaceReport, HarnessTool, harnesses};

use crate::report::{HarnessListReport, HarnessReport};
use brigade_workspace::{WorkspaceContext, load};

/// Lists the known harnesses, and others that the catalog names.
pub(crate) fn list_harnesses(context: &WorkspaceContext) -> Result<HarnessListReport, Failure> {
    let catalog = load::catalog(context)?;
    let lines = HarnessLine::all(load::enabled(&catalog));
    Ok(HarnessListReport {
        schema: HarnessListReport::SCHEMA,
        target: context.target(),
        harness_count: lines.len(),
        harnesses: lines,
    })
}

/// Shows the files that a harness reads, and the tools projected for it.
///
/// # Errors
/// Returns [`ErrorKind::NotFound`] for an unknown harness.
pub(crate) fn harness(context: &WorkspaceContext, name: &str) -> Result<HarnessReport, Failure> {
    let found = brigade_projection::harness(name.trim()).ok_or_else(|| unknown(name))?;
    let catalog = load::catalog(context)?;
    let tools: Vec<HarnessTool> =
        load::enabled(&catalog).into_iter().filter_map(|tool| HarnessTool::from_tool(tool, found)).collect();
    Ok(HarnessReport {
        schema: HarnessReport::SCHEMA,
        target: context.target(),
        name: found.name.to_owned(),
        title: found.title.into(),
        places: found.places.iter().map(HarnessPlaceReport::from).collect(),
        note: found.note.map(Into::into),
        tool_count: tools.len(),
        tools,
    })
}

fn unknown(name: &str) -> Failure {
    let shown = brigade_core::text::escape_terminal(name);
    let error = Failure::new(ErrorKind::NotFound, format!("no harness `{shown}` is known"))
        .coded(ErrorCode::HarnessMissing);
    match brigade_core::closest(name, harnesses().iter().map(|harness| harness.name)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(NextStep::ListHarnesses),
    }
}
