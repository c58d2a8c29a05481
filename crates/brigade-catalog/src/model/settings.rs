//! The settings of a catalog file.

use brigade_core::Place;

/// The newest `schema` of a catalog file that this version understands completely.
pub const SCHEMA: u64 = 1;

/// The keys of a catalog file that concern no single tool: `schema` and `[registry]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The schema of the file. `None` means 1; an invalid value becomes the maximum.
    pub schema: Option<u64>,
    /// The harnesses whose files discovery reads. Absent means all.
    pub harnesses: Option<Vec<String>>,
    /// Whether `find` includes tools that only a harness can run. Absent means yes.
    pub harness_tools: Option<bool>,
    /// The place of `schema`.
    pub schema_place: Option<Place>,
}

impl Settings {
    /// Returns the place of `schema` if it is newer than this version understands, or invalid.
    pub fn newer_schema(&self) -> Option<&Place> {
        self.schema.filter(|schema| SCHEMA < *schema)?;
        self.schema_place.as_ref()
    }
}
