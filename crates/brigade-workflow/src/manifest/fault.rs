//! A fault or warning in a manifest, with its position.

use std::fmt;

use brigade_core::yaml::Position;

/// One fault or warning. It names the position and the field, but never quotes a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position in the text.
    pub at: Position,
    /// The path of the field, such as `spec.tools[1]`. Empty for the whole manifest.
    pub path: String,
    /// The problem, without a final stop.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.at.line, self.at.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
