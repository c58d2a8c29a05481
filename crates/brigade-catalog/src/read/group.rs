//! The slots of the tables of known fields: `[tool.source]`, `[tool.install]` and `[tool.cost]`.

use super::entry::Slot;
use crate::fields::{self, Fields};
use crate::model::{Cost, Install, SourceDetail};

/// A table of known fields of an entry.
pub(super) trait Group {
    /// Returns the fields.
    fn fields(&self) -> Fields;
    /// Returns the slot of a field, by its index in [`Group::fields`].
    fn slot(&mut self, field: u8) -> Slot<'_>;
}

impl Group for SourceDetail {
    fn fields(&self) -> Fields {
        fields::SOURCE
    }

    fn slot(&mut self, field: u8) -> Slot<'_> {
        match field {
            0 => Slot::ToolSource(&mut self.kind),
            1 => Slot::Text(&mut self.provider),
            2 => Slot::Text(&mut self.server),
            3 => Slot::Transport(&mut self.transport),
            4 => Slot::Text(&mut self.skill_id),
            5 => Slot::Text(&mut self.entry),
            6 => Slot::Text(&mut self.path),
            7 => Slot::Text(&mut self.reference),
            _ => Slot::Text(&mut self.fingerprint),
        }
    }
}

impl Group for Install {
    fn fields(&self) -> Fields {
        fields::INSTALL
    }

    fn slot(&mut self, field: u8) -> Slot<'_> {
        match field {
            0 => Slot::Text(&mut self.check),
            1 => Slot::Lines(&mut self.command),
            _ => Slot::Text(&mut self.docs),
        }
    }
}

impl Group for Cost {
    fn fields(&self) -> Fields {
        fields::COST
    }

    fn slot(&mut self, field: u8) -> Slot<'_> {
        match field {
            0 => Slot::Amount(&mut self.per_call),
            _ => Slot::Text(&mut self.unit),
        }
    }
}
