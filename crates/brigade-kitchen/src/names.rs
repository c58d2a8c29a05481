//! Names of PRDs, tasks and tiers.

use brigade_core::explained_words;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The maximum length of a task id or a PRD name.
const MAX_NAME: usize = 64;

/// The maximum length of the prefix shown before task ids.
const MAX_PREFIX: usize = 20;

fn is_name(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    // `.` and `..` would be directories. Every other such name is a plain file name.
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(legal) && text != "." && text != ".."
}

/// A text that is not the id of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected 1 to 64 letters, digits, `.`, `_` or `-`, and neither `.` nor `..`")]
pub struct InvalidTaskId;

/// Names in the kitchen directory that are not PRDs.
const RESERVED: [&str; 3] = ["runs", "worktrees", ".gitignore"];

/// Why a PRD cannot get its name from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidPrdName {
    /// The name is not safe for a directory.
    #[error("expected a file name of letters, digits, `.`, `_` and `-`, at most 64 before `.json`")]
    Unsafe,
    /// Brigade uses this name for something else.
    #[error("Brigade keeps other files under the name `{0}`; give the file of the PRD another one")]
    Reserved(&'static str),
}

macro_rules! text_form {
    ($name:ident, $pattern:literal) => {
        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "schemas")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    };
}

pub(crate) use text_form;

/// The id of a task within a PRD.
///
/// It has 1 to 64 ASCII letters, digits, `.`, `_` and `-`, and is not `.` or `..`, so it is safe as a file name. It may
/// begin with `-`, so it is not safe as a separate argument of a command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

text_form!(TaskId, "^[A-Za-z0-9._-]{1,64}$");

impl FromStr for TaskId {
    type Err = InvalidTaskId;

    fn from_str(text: &str) -> Result<TaskId, InvalidTaskId> {
        if is_name(text) { Ok(TaskId(text.to_owned())) } else { Err(InvalidTaskId) }
    }
}

/// The name of a PRD: its file name without `.json`. The directory of its state has this name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrdName(String);

text_form!(PrdName, "^[A-Za-z0-9._-]{1,64}$");

impl FromStr for PrdName {
    type Err = InvalidPrdName;

    fn from_str(text: &str) -> Result<PrdName, InvalidPrdName> {
        if let Some(taken) = RESERVED.iter().find(|name| name.eq_ignore_ascii_case(text)) {
            return Err(InvalidPrdName::Reserved(taken));
        }
        if is_name(text) { Ok(PrdName(text.to_owned())) } else { Err(InvalidPrdName::Unsafe) }
    }
}

impl PrdName {
    /// Returns the name of the PRD at a path.
    ///
    /// # Errors
    /// Fails if the path has no file name, or one that is reserved or not safe for a directory.
    pub fn of_path(path: &str) -> Result<PrdName, InvalidPrdName> {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.strip_suffix(".json").unwrap_or(file).parse()
    }

    /// Returns the prefix shown before the ids of its tasks: the name without `prd-`, at most 20 characters.
    ///
    /// ```
    /// use brigade_kitchen::PrdName;
    ///
    /// let name = PrdName::of_path("brigade/tasks/prd-add-auth.json").unwrap();
    /// assert_eq!((name.as_str(), name.prefix()), ("prd-add-auth", "add-auth"));
    /// ```
    pub fn prefix(&self) -> &str {
        let plain = self.0.strip_prefix("prd-").filter(|rest| !rest.is_empty()).unwrap_or(&self.0);
        &plain[..plain.len().min(MAX_PREFIX)]
    }

    /// Returns the full name of a task for people: `add-auth/US-003`.
    pub fn shown(&self, task: &TaskId) -> String {
        format!("{}/{task}", self.prefix())
    }

    /// Returns the name of the state file, which is next to the PRD.
    pub fn state_file(&self) -> String {
        format!("{self}.state.json")
    }
}

explained_words! {
    /// A level of worker, from cheapest to most capable.
    Tier {
        /// The line cook: routine tasks.
        Line = "line",
        /// The sous chef: hard tasks.
        Sous = "sous",
        /// The executive chef: planning, review, and tasks that the lower tiers cannot do.
        Executive = "executive",
    }
}

impl Tier {
    /// Returns the name for people, such as `Sous Chef`.
    pub const fn title(self) -> &'static str {
        match self {
            Tier::Line => "Line Cook",
            Tier::Sous => "Sous Chef",
            Tier::Executive => "Executive Chef",
        }
    }

    /// Returns the next higher tier.
    pub const fn above(self) -> Option<Tier> {
        match self {
            Tier::Line => Some(Tier::Sous),
            Tier::Sous => Some(Tier::Executive),
            Tier::Executive => None,
        }
    }
}

/// Returns whether git accepts a name for a branch, and it cannot be confused with an option or a special ref.
pub fn is_branch_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_plain = |c: char| !c.is_control() && !" ~^:?*[\\\u{7f}".contains(c);
    !name.starts_with('-')
        && name != "@"
        && name != "HEAD"
        && name.len() <= 200
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(is_plain)
        && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_safe_file_names() {
        for id in ["US-001", "a", "--help", "...", "x.y_z", &"a".repeat(64)] {
            assert_eq!(id.parse::<TaskId>().unwrap().as_str(), id);
        }
        for id in ["", ".", "..", "a/b", "a b", "задача", "a\n", "a\0", &"a".repeat(65)] {
            assert_eq!(id.parse::<TaskId>(), Err(InvalidTaskId), "{id:?}");
        }
    }

    #[test]
    fn a_prefix_is_short() {
        let prefix = |path: &str| PrdName::of_path(path).unwrap().prefix().to_owned();
        assert_eq!(prefix("brigade/tasks/prd-add-auth.json"), "add-auth");
        assert_eq!(prefix("prd.json"), "prd");
        assert_eq!(prefix("prd-.json"), "prd-");
        assert_eq!(prefix("tasks/prd-a-very-long-name-of-a-feature.json"), "a-very-long-name-of-");
        assert_eq!(PrdName::of_path("a/.json"), Err(InvalidPrdName::Unsafe));
        assert_eq!(
            PrdName::of_path("a/..json").map(|name| name.as_str().to_owned()),
            Err(InvalidPrdName::Unsafe)
        );
        assert_eq!(PrdName::of_path("my prd.json"), Err(InvalidPrdName::Unsafe));
        assert_eq!(PrdName::of_path("tasks/runs.json"), Err(InvalidPrdName::Reserved("runs")));
        assert_eq!(PrdName::of_path("Worktrees.json"), Err(InvalidPrdName::Reserved("worktrees")));
        assert!(PrdName::of_path("prd-runs.json").is_ok());
    }

    #[test]
    fn tiers_go_up() {
        assert_eq!(Tier::Line.above().and_then(Tier::above), Some(Tier::Executive));
        assert!(Tier::Line < Tier::Sous && Tier::Sous < Tier::Executive);
    }
}
