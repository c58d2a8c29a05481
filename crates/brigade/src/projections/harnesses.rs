//! The files that each harness reads, and the projections for them.

use brigade_core::NextStep;
use brigade_projection::{harness, harnesses};

use crate::error::{Error, ErrorKind};
use crate::projections::Projections;
use crate::report::{
    HarnessLine, HarnessListReport, HarnessPlaceReport, HarnessReport, HarnessTool, Report as _,
};
use brigade_core::codes;
use brigade_upkeep::load;

impl Projections {
    /// Lists the known harnesses, and others that the catalog names.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn harnesses(&self) -> Result<HarnessListReport, Error> {
        let catalog = load::catalog(&self.room)?;
        let lines = HarnessLine::all(load::enabled(&catalog));
        Ok(HarnessListReport {
            schema: HarnessListReport::SCHEMA,
            target: self.room.target(),
            harness_count: lines.len(),
            harnesses: lines,
        })
    }

    /// Shows the files that a harness reads, and the tools projected for it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`] for an unknown harness.
    pub fn harness(&self, name: &str) -> Result<HarnessReport, Error> {
        let found = harness(name.trim()).ok_or_else(|| unknown(name))?;
        let catalog = load::catalog(&self.room)?;
        let tools: Vec<HarnessTool> =
            load::enabled(&catalog).into_iter().filter_map(|tool| HarnessTool::of(tool, found)).collect();
        Ok(HarnessReport {
            schema: HarnessReport::SCHEMA,
            target: self.room.target(),
            name: found.name.to_owned(),
            title: found.title.into(),
            places: found.places.iter().map(HarnessPlaceReport::from).collect(),
            note: found.note.map(Into::into),
            tool_count: tools.len(),
            tools,
        })
    }
}

fn unknown(name: &str) -> Error {
    let shown = brigade_core::text::escape_terminal(name);
    let error = Error::new(ErrorKind::NotFound, format!("no harness `{shown}` is known"))
        .coded(codes::HARNESS_MISSING);
    match brigade_core::closest(name, harnesses().iter().map(|harness| harness.name)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(NextStep::ListHarnesses),
    }
}
