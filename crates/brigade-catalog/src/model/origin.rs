//! The origin of an entry.

use brigade_core::{Place, words};

words! {
    /// The layer of the catalog that an entry belongs to, nearest first.
    Level {
        /// The workspace's own file.
        Project = "project",
        /// A tools registry of the workspace that is read in place.
        ProjectRegistry = "project-registry",
        /// The user's file, shared by workspaces.
        User = "user",
        /// A tools registry of the user that is read in place.
        UserRegistry = "user-registry",
        /// Discovered in the configuration of a harness.
        Discovered = "discovered",
    }
}

impl Level {
    /// Returns whether the layer is a tools registry that is read in place. It may be part of a clone, so a person
    /// approves each call of its tools, and nothing else starts what it names.
    pub fn is_registry(self) -> bool {
        matches!(self, Level::ProjectRegistry | Level::UserRegistry)
    }
}

/// The origin of an entry: the layer, the place of its header, and the places of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The layer.
    pub level: Level,
    /// The place of the entry's header.
    pub place: Place,
    fields: Vec<FieldPlace>,
}

/// The place of a field, or of an element of a list or table.
///
/// `element` 0 is the field itself; n is the n-th element of a list, or the n-th key of a table in sorted order. The
/// struct has 12 bytes, because there are a dozen for each of perhaps thousands of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPlace {
    pub(crate) field: u8,
    pub(crate) element: u16,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl FieldPlace {
    /// Packs a place. Values that are too large are clamped.
    pub(crate) fn new(field: u8, element: usize, line: usize, column: usize) -> FieldPlace {
        FieldPlace {
            field,
            element: u16::try_from(element).unwrap_or(u16::MAX),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

impl Origin {
    /// An origin without places for individual fields.
    pub fn new(level: Level, place: Place) -> Origin {
        Origin { level, place, fields: Vec::new() }
    }

    pub(crate) fn with_fields(level: Level, place: Place, fields: Vec<FieldPlace>) -> Origin {
        Origin { level, place, fields }
    }

    /// Returns the place of a field's element, or else of the field, or else of the entry.
    pub(crate) fn find(&self, field: u8, element: u16) -> Place {
        let at = |element| self.fields.iter().find(|place| place.field == field && place.element == element);
        match at(element).or_else(|| at(0)) {
            Some(place) => Place::at(&self.place.file, place.line as usize, place.column as usize),
            None => self.place.clone(),
        }
    }
}
