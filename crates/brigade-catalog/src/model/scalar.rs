//! Validated values of single fields.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The id of a tool in the catalog.
///
/// Any non-empty string without surrounding whitespace and control characters. It fits on one line of a terminal, but
/// it is not safe as a file name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId(String);

/// A string that is not a valid tool id. Does not contain the string itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an id is non-empty text without control characters")]
pub struct InvalidToolId;

impl ToolId {
    /// A placeholder for an id that is not read yet. Never leaves the reader.
    pub(crate) fn unset() -> ToolId {
        ToolId(String::new())
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolId {
    type Err = InvalidToolId;

    /// Trims whitespace, then validates.
    fn from_str(text: &str) -> Result<Self, InvalidToolId> {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.chars().any(char::is_control) {
            return Err(InvalidToolId);
        }
        Ok(ToolId(trimmed.to_owned()))
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for ToolId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ToolId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ToolId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for ToolId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// A duration in seconds, finite and greater than 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Seconds(f64);

/// A number that is not a valid duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a finite number of seconds greater than 0")]
pub struct InvalidSeconds;

impl Seconds {
    /// Validates a number of seconds.
    pub fn new(seconds: f64) -> Result<Seconds, InvalidSeconds> {
        if seconds.is_finite() && seconds > 0.0 { Ok(Seconds(seconds)) } else { Err(InvalidSeconds) }
    }

    /// Returns the number of seconds.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Converts to a duration. A value that is too large becomes the maximum.
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or(Duration::MAX)
    }
}

impl fmt::Display for Seconds {
    /// Writes the shortest number, without a unit: `30`, `0.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_id(text: &str, expect: Option<&str>) {
        assert_eq!(text.parse::<ToolId>().ok().as_ref().map(ToolId::as_str), expect);
    }

    #[test]
    fn any_text_of_one_line_is_an_id() {
        check_id("simplify", Some("simplify"));
        check_id("  two words ", Some("two words"));
        check_id("föö/../bar", Some("föö/../bar"));
        check_id(" ", None);
        check_id("a\u{1b}[2Jb", None);
        check_id("a\nb", None);
        check_id("a\u{7f}", None);
    }

    #[test]
    fn seconds_are_finite_and_positive() {
        for wrong in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Seconds::new(wrong), Err(InvalidSeconds));
        }
        assert_eq!(Seconds::new(30.0).map(|seconds| seconds.to_string()), Ok("30".to_owned()));
        assert_eq!(Seconds::new(1e300).map(Seconds::duration), Ok(Duration::MAX));
    }
}
