//! A life as bytes, for caches: reading a long journal again begins where the last reading ended.

use super::Life;
use crate::layout;

/// The layout of the bytes and the rules of the fold. A change of either takes the next number, so that no cache of an
/// older program is read as if it were of this one.
const LAYOUT: u32 = 9;

impl Life {
    /// Writes the life as bytes that only a program of the same layout reads.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        layout::to_bytes(LAYOUT, self)
    }

    /// Reads what [`Life::to_bytes`] wrote; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Life> {
        layout::from_bytes(LAYOUT, bytes)
    }
}
