//! Places in files, and the issues found there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Hint, NextStep, words};

/// A place in a file that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Place {
    /// The file, relative to the workspace if it is inside it.
    pub file: String,
    /// Line, from 1. Absent when the issue concerns the whole file.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
}

impl Place {
    /// Creates a place for a whole file.
    pub fn file(file: impl Into<String>) -> Place {
        Place { file: file.into(), line: None, column: None }
    }

    /// Creates a place from a line and column, both from 1.
    pub fn at(file: impl Into<String>, line: usize, column: usize) -> Place {
        Place { file: file.into(), line: Some(line), column: Some(column) }
    }
}

impl fmt::Display for Place {
    /// Writes `file`, `file:line` or `file:line:column`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}

words! {
    /// How serious an issue is.
    Severity {
        /// Information only; everything works.
        Info = "info",
        /// Something will not work as its author expects.
        Warning = "warning",
        /// The entry cannot be used.
        Error = "error",
    }
}

/// An issue in a configuration file. It never quotes a value from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigIssue {
    /// How serious the issue is. An error makes the entry unusable.
    pub severity: Severity,
    /// Where the issue is.
    pub place: Place,
    /// The id of the entry, if the entry has one.
    pub entry: Option<String>,
    /// The field, as a dotted path.
    pub field: Option<String>,
    /// What is wrong and what was expected.
    pub message: String,
    /// How to fix it.
    pub hint: Option<Hint>,
}

/// What is wrong with a file that git tracks.
pub const TRACKED: &str =
    "git tracks it, so it does not count on this host; take it out of the repository (`git rm --cached`)";

impl ConfigIssue {
    /// Reports a configuration file that git tracks and that no person of this host accepted.
    pub fn tracked(file: &str) -> ConfigIssue {
        ConfigIssue {
            severity: Severity::Error,
            place: Place::file(file),
            entry: None,
            field: None,
            message: TRACKED.to_owned(),
            hint: Some(Hint::to("accept it as it is", NextStep::AdoptState)),
        }
    }

    /// Returns whether git tracks the file, so that nothing in it counts.
    pub fn is_tracked(&self) -> bool {
        self.message == TRACKED
    }
}

impl fmt::Display for ConfigIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(entry) = &self.entry {
            write!(f, "{}: ", crate::text::escape_terminal(entry))?;
        }
        if let Some(field) = &self.field {
            write!(f, "{}: ", crate::text::escape_terminal(field))?;
        }
        f.write_str(&self.message)?;
        // A step is left out: each interface shows it in its own words as `help`.
        if let Some(advice) = self.hint.as_ref().filter(|hint| hint.step().is_none()) {
            write!(f, " ({advice})")?;
        }
        Ok(())
    }
}

/// Returns the most similar name, for a "did you mean" hint.
///
/// Returns `None` if more than a third of the letters differ from every name, unless the text is the beginning of
/// exactly one name.
pub fn closest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// The minimum number of letters for comparing with the beginnings of names.
    const BEGINNING: usize = 3;
    let typed = typed.to_lowercase();
    let mut nearest: Option<(usize, &str)> = None;
    let mut begun = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let distance = strsim::damerau_levenshtein(&typed, &lower);
        let is_near = distance * 3 <= name.chars().count().max(typed.chars().count());
        if is_near && nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, name));
        }
        if BEGINNING <= typed.len() && lower.starts_with(&typed) {
            begun.push(name);
        }
    }
    let only = || if let [name] = begun.as_slice() { Some(*name) } else { None };
    nearest.map(|(_, name)| name).or_else(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_form_that_editors_open() {
        assert_eq!(Place::file("a.toml").to_string(), "a.toml");
        assert_eq!(Place::at("a.toml", 3, 7).to_string(), "a.toml:3:7");
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["timeout", "command", "cwd"];
        assert_eq!(closest("timout", names), Some("timeout"));
        assert_eq!(closest("comand", names), Some("command"));
        assert_eq!(closest("banana", names), None);
        assert_eq!(closest("com", names), Some("command"));
        assert_eq!(closest("inline", ["inline_code", "outside"]), Some("inline_code"));
        assert_eq!(closest("read", ["read_paths_of_all", "read_only_for_now"]), None);
    }
}
