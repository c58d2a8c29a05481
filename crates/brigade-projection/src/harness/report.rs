//! Harnesses in documents.

use std::borrow::Cow;
use std::collections::BTreeMap;

use brigade_catalog::{Family, Tool};
use brigade_macros::part;

use super::{FrontMatterField, Harness, HarnessPlace, Lossiness, PlaceFormat, folders_of, harnesses};
use crate::facts::wanted;

/// One harness in a list.
#[part]
pub struct HarnessLine {
    /// The name in tools.toml.
    pub name: String,
    /// The display name.
    pub title: String,
    /// Whether the files of the harness are known.
    pub known: bool,
    /// Number of enabled tools that support it.
    pub tool_count: usize,
    /// The directories that it reads in a workspace.
    pub folders: Vec<Cow<'static, str>>,
    /// Notes.
    pub note: Option<Cow<'static, str>>,
}

impl HarnessLine {
    /// Lists the known harnesses, then others that these tools name.
    pub fn all<'t>(tools: impl IntoIterator<Item = &'t Tool>) -> Vec<HarnessLine> {
        let mut supported: BTreeMap<&str, usize> = BTreeMap::new();
        for wanted in tools.into_iter().flat_map(wanted) {
            *supported.entry(wanted.harness).or_default() += 1;
        }
        let known = |harness: &Harness| HarnessLine {
            name: harness.name.to_owned(),
            title: harness.title.to_owned(),
            known: true,
            tool_count: supported.remove(harness.name).unwrap_or_default(),
            folders: folders_of(harness.places).into_iter().map(Into::into).collect(),
            note: harness.note.map(Into::into),
        };
        let mut lines: Vec<HarnessLine> = harnesses().iter().map(known).collect();
        lines.extend(supported.into_iter().map(|(name, tool_count)| HarnessLine {
            name: name.to_owned(),
            title: name.to_owned(),
            known: false,
            tool_count,
            folders: Vec::new(),
            note: None,
        }));
        lines
    }
}

/// A kind of file that a harness reads.
#[part]
pub struct HarnessPlaceReport {
    /// The path in the workspace, with `{id}` for the tool.
    pub path: Cow<'static, str>,
    /// The form of the file.
    pub format: PlaceFormat,
    /// The families of tools that use it by default.
    pub families: Vec<Family>,
    /// The front matter that the harness reads.
    pub front_matter: Vec<FrontMatterReport>,
    /// The best support by the harness.
    pub lossiness: Lossiness,
}

impl From<&HarnessPlace> for HarnessPlaceReport {
    fn from(place: &HarnessPlace) -> HarnessPlaceReport {
        HarnessPlaceReport {
            path: place.path.into(),
            format: place.format,
            families: place.families.to_vec(),
            front_matter: place.front_matter.iter().map(FrontMatterReport::from).collect(),
            lossiness: place.lossiness,
        }
    }
}

/// A field of front matter.
#[part]
pub struct FrontMatterReport {
    /// The key.
    pub key: Cow<'static, str>,
    /// Whether the harness requires it. A required field is added if the source lacks it.
    pub required: bool,
}

impl From<&FrontMatterField> for FrontMatterReport {
    fn from(field: &FrontMatterField) -> FrontMatterReport {
        FrontMatterReport { key: field.key.into(), required: field.is_required() }
    }
}

/// A tool that supports a harness.
#[part]
pub struct HarnessTool {
    /// The tool.
    pub tool_id: String,
    /// The configured projection path, if any.
    pub projection_path: Option<String>,
    /// The default path, if no path is configured.
    pub suggested_path: Option<String>,
}

impl HarnessTool {
    /// Returns the projection of a tool for a harness; `None` if the tool does not support it.
    pub fn from_tool(tool: &Tool, harness: &Harness) -> Option<HarnessTool> {
        let wanted = wanted(tool).into_iter().find(|wanted| wanted.harness == harness.name)?;
        let place = tool.family.and_then(|family| harness.place_for(family));
        Some(HarnessTool {
            tool_id: tool.id.as_str().to_owned(),
            projection_path: wanted.path.map(str::to_owned),
            suggested_path: place
                .filter(|_| wanted.path.is_none())
                .map(|place| place.path_for(tool.id.as_str())),
        })
    }
}
