//! The skills of the kitchen: instructions for agents to write and change PRDs with a person.

use super::{Source, harnesses, projections};
use crate::model::{Catalog, Family, Tool};

/// The skills, in the order in which they are added.
pub const SKILLS: &[Source] = &[
    Source {
        tool_id: "brigade-generate-prd",
        path: "tools/brigade-generate-prd.md",
        text: include_str!("kitchen/brigade-generate-prd.md"),
    },
    Source {
        tool_id: "brigade-convert-prd-to-json",
        path: "tools/brigade-convert-prd-to-json.md",
        text: include_str!("kitchen/brigade-convert-prd-to-json.md"),
    },
    Source {
        tool_id: "brigade-update-prd",
        path: "tools/brigade-update-prd.md",
        text: include_str!("kitchen/brigade-update-prd.md"),
    },
];

/// Returns the entries of the skills, for the harnesses that the built-in tools of a catalog have, else for all.
pub fn skills(catalog: &Catalog) -> Vec<Tool> {
    let about = [
        ("Generate PRD", "Plan a feature with a person, and write it as a PRD."),
        ("Convert PRD to JSON", "Turn a plan in Markdown into the JSON of a PRD."),
        ("Update PRD", "Change a PRD as a person asks, and nothing else in it."),
    ];
    let beside = super::tools_beside(catalog);
    let chosen: Vec<&str> = match beside.first() {
        Some(tool) => tool.supported_harnesses.iter().map(String::as_str).collect(),
        None => harnesses().collect(),
    };
    SKILLS
        .iter()
        .zip(about)
        .map(|(source, (name, description))| Tool {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            source_path: Some(source.path.to_owned()),
            supported_harnesses: chosen.iter().map(|name| (*name).to_owned()).collect(),
            projections: projections(source.tool_id, Family::Skill, &chosen),
            ..Tool::new(source.tool_id, Family::Skill).expect("the ids of ours are usable")
        })
        .collect()
}
