//! The table of what each harness reads, and what the catalog makes of it.

use std::collections::BTreeMap;

use brigade_catalog::Tool;
use brigade_core::NextStep;
use brigade_projection::{Harness, HarnessPlace, harness, harnesses, wanted};

use crate::catalog::enabled;
use crate::codes;
use crate::error::{Error, ErrorKind};
use crate::load;
use crate::projections::Projections;
use crate::report::{
    FrontMatterReport, HarnessLine, HarnessListReport, HarnessPlaceReport, HarnessReport, HarnessTool,
    Report as _,
};

impl Projections {
    /// Lists the harnesses that are known, and those that only the catalog names.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn harnesses(&self) -> Result<HarnessListReport, Error> {
        let catalog = load::catalog(&self.room)?;
        let mut supported: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in enabled(&catalog) {
            for wanted in wanted(tool) {
                *supported.entry(wanted.harness).or_default() += 1;
            }
        }
        let line = |harness: &Harness| HarnessLine {
            name: harness.name.to_owned(),
            title: harness.title.to_owned(),
            known: true,
            tool_count: supported.remove(harness.name).unwrap_or_default(),
            folders: folders(harness).into_iter().map(Into::into).collect(),
            note: harness.note.map(Into::into),
        };
        let mut lines: Vec<HarnessLine> = harnesses().iter().map(line).collect();
        lines.extend(supported.into_iter().map(|(name, tool_count)| HarnessLine {
            name: name.to_owned(),
            title: name.to_owned(),
            known: false,
            tool_count,
            folders: Vec::new(),
            note: None,
        }));
        Ok(HarnessListReport {
            schema: HarnessListReport::SCHEMA,
            target: self.room.target(),
            harness_count: lines.len(),
            harnesses: lines,
        })
    }

    /// Shows what a harness reads, and which tools are projected for it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when no harness of that name is known.
    pub fn harness(&self, name: &str) -> Result<HarnessReport, Error> {
        let found = harness(name.trim()).ok_or_else(|| unknown(name))?;
        let catalog = load::catalog(&self.room)?;
        let tool = |tool: &&Tool| {
            let wanted = wanted(tool).into_iter().find(|wanted| wanted.harness == found.name)?;
            let place = tool.family.and_then(|family| found.place_for(family));
            Some(HarnessTool {
                tool_id: tool.id.as_str().to_owned(),
                projection_path: wanted.path.map(str::to_owned),
                suggested_path: place
                    .filter(|_| wanted.path.is_none())
                    .map(|place| place.path_for(tool.id.as_str())),
            })
        };
        let tools: Vec<HarnessTool> = enabled(&catalog).iter().filter_map(tool).collect();
        Ok(HarnessReport {
            schema: HarnessReport::SCHEMA,
            target: self.room.target(),
            name: found.name.to_owned(),
            title: found.title.into(),
            places: found.places.iter().map(place).collect(),
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

fn folders(harness: &Harness) -> Vec<&'static str> {
    let folder = |place: &HarnessPlace| place.path.split("/{id}").next().unwrap_or(place.path);
    let mut folders: Vec<&str> = harness.places.iter().map(folder).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

fn place(place: &HarnessPlace) -> HarnessPlaceReport {
    let field = |field: &brigade_projection::FrontMatterField| FrontMatterReport {
        key: field.key.into(),
        required: field.is_required(),
    };
    HarnessPlaceReport {
        path: place.path.into(),
        format: place.format.as_str().into(),
        families: place.families.iter().map(|family| family.as_str().into()).collect(),
        front_matter: place.front_matter.iter().map(field).collect(),
        lossiness: place.lossiness.as_str().into(),
    }
}
