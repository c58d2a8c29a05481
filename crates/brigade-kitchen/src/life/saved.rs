//! Encodes a life for caches, so that only new records of a long journal have to be read.

use super::Life;
use crate::layout;

/// The version of the layout and of the fold's rules. Increase it when either changes, so that old caches are not used.
const LAYOUT: u32 = 11;

impl Life {
    /// Encodes the life for programs with the same layout.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        layout::to_bytes(LAYOUT, self)
    }

    /// Decodes bytes of [`Life::to_bytes`]; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Life> {
        layout::from_bytes(LAYOUT, bytes)
    }
}
