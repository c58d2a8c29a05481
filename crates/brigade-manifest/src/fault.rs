//! What is wrong with a manifest, and where.

use std::fmt;

use brigade_core::yaml::Position;

/// One fault or warning. It names the place and the field, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands in the text.
    pub at: Position,
    /// The path of the field, such as `spec.tools[1]`. Empty for the whole manifest.
    pub path: String,
    /// What is wrong, without a final stop.
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
