//! The table of harnesses: paths, formats, required front matter, and fidelity.
//!
//! The table lists where a projection *could* go; `projections` in tools.toml defines where it *does* go.

mod report;
mod table;

pub use report::{FrontMatterReport, HarnessLine, HarnessPlaceReport, HarnessTool};

pub(crate) use table::{CURSOR_FIELDS, SKILL_FIELDS};

use brigade_core::words;
use std::sync::LazyLock;

use brigade_catalog::Family;

words! {
    /// How well a harness reads a projection.
    Lossiness {
        /// It reads the source as it is written.
        Native = "native",
        /// It reads the source's content in another form: front matter is added, or the text is wrapped.
        Adapted = "adapted",
        /// It does not read this path automatically, or can only be pointed to the tool.
        ReferenceOnly = "reference-only",
    }
}

words! {
    /// The form of a file that a harness reads.
    PlaceFormat {
        /// `SKILL.md` in a directory of its own, as agentskills.io describes it.
        AgentSkill = "agent-skill",
        /// A Markdown file whose front matter is optional.
        Markdown = "markdown",
        /// A Markdown file with front matter, with the extension `.mdc`.
        CursorRule = "cursor-rule",
        /// A Markdown file that front matter turns into a prompt.
        Prompt = "prompt",
        /// A TOML file with the key `prompt`.
        TomlCommand = "toml-command",
    }
}

/// Where the value of a front matter field comes from when the source has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// The directory that the file is in, which the standard wants the name to be.
    FolderName,
    /// The tool's name for people.
    Title,
    /// The tool's description.
    Description,
    /// The tool's description, where the source has no front matter at all; without it some harnesses show line 1
    /// instead, which would be the header.
    Summary,
    /// Always the same.
    Fixed(&'static str),
    /// Left out: the harness does without it.
    Optional,
}

/// A field of the front matter that a harness reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatterField {
    /// The key.
    pub key: &'static str,
    /// Where its value comes from.
    pub value: FieldValue,
}

impl FrontMatterField {
    /// Returns whether the harness needs the field.
    pub fn is_required(&self) -> bool {
        !matches!(self.value, FieldValue::Optional | FieldValue::Summary)
    }

    /// Returns whether the field is ever written where the source has none.
    pub(crate) fn is_supplied(&self) -> bool {
        self.value != FieldValue::Optional
    }
}

/// A kind of file that a harness reads in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarnessPlace {
    /// The families of tools that belong there.
    pub families: &'static [Family],
    /// The path in the workspace, with `{id}` for the tool.
    pub path: &'static str,
    /// The form of the file.
    pub format: PlaceFormat,
    /// The front matter that the harness reads there.
    pub front_matter: &'static [FrontMatterField],
    /// What the harness makes of such a tool at best.
    pub lossiness: Lossiness,
}

impl HarnessPlace {
    /// Returns the path for one tool.
    pub fn path_for(&self, id: &str) -> String {
        self.path.replace("{id}", id)
    }

    /// Returns whether a path, relative to the workspace, is of this kind; directories may stand between.
    pub fn holds(&self, path: &str) -> bool {
        let (before, after) = self.path.split_once("{id}").unwrap_or((self.path, ""));
        path.strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|id| !id.is_empty() && !id.ends_with('/'))
    }
}

/// A program that connects a language model with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harness {
    /// The name in tools.toml.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it reads in a workspace, the preferred kind first.
    pub places: &'static [HarnessPlace],
    /// A note.
    pub note: Option<&'static str>,
}

impl Harness {
    /// Returns the kind of file that suits a family best.
    pub fn place_for(&self, family: Family) -> Option<&'static HarnessPlace> {
        self.places.iter().find(|place| place.families.contains(&family))
    }

    /// Returns the kind of file that a path is, if the harness reads it.
    pub fn place_at(&self, path: &str) -> Option<&'static HarnessPlace> {
        self.places.iter().find(|place| place.holds(path))
    }
}

/// Returns every harness of the table, in a stable order.
pub fn harnesses() -> &'static [Harness] {
    table::HARNESSES
}

/// Returns the directories, relative to a workspace, where projections are usually found; for looking for orphans.
///
/// They are those of the table, and those that earlier versions of `init` proposed. Sorted, none within another.
pub fn folders() -> Vec<&'static str> {
    let places = table::HARNESSES.iter().flat_map(|harness| harness.places);
    let mut folders = folders_of(places);
    folders.extend(table::EARLIER_FOLDERS);
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// Returns the directories of places, sorted.
fn folders_of<'p>(places: impl IntoIterator<Item = &'p HarnessPlace>) -> Vec<&'static str> {
    let of_place = |place: &HarnessPlace| place.path.split("/{id}").next().unwrap_or(place.path);
    let mut folders: Vec<&str> = places.into_iter().map(of_place).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// Returns whether a path is where projections usually are.
pub(crate) fn is_usual(path: &str) -> bool {
    static USUAL_FOLDERS: LazyLock<Vec<&str>> = LazyLock::new(folders);
    let is_below = |folder: &&str| path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with('/'));
    USUAL_FOLDERS.iter().any(is_below)
}

/// Returns a harness by the name that tools.toml has.
pub fn harness(name: &str) -> Option<&'static Harness> {
    table::HARNESSES.iter().find(|harness| harness.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comment_of;

    #[test]
    fn names_are_unique_and_paths_have_one_place_for_the_id() {
        for (index, harness) in harnesses().iter().enumerate() {
            assert!(
                harnesses()[index + 1..].iter().all(|other| other.name != harness.name),
                "{}",
                harness.name
            );
            for place in harness.places {
                assert_eq!(place.path.matches("{id}").count(), 1, "{}", place.path);
                assert!(place.holds(&place.path_for("some-tool")), "{}", place.path);
                assert!(!place.holds(&place.path_for("")), "{}", place.path);
                assert!(comment_of(place.path, "").is_some(), "{}", place.path);
            }
        }
    }

    #[test]
    fn every_harness_has_a_place_for_every_family() {
        for harness in harnesses() {
            for family in Family::of_entries() {
                assert!(harness.place_for(family).is_some(), "{} {family}", harness.name);
            }
        }
    }

    #[test]
    fn directories_are_sorted_and_none_is_within_another() {
        let folders = folders();
        for pair in folders.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
        }
        for folder in &folders {
            assert!(!folder.contains('{') && !folder.ends_with('/'), "{folder}");
            assert!(folders.iter().all(|other| !folder.starts_with(&format!("{other}/"))), "{folder}");
        }
        assert!(folders.contains(&".claude/commands") && folders.contains(&".aider/commands"));
    }

    #[test]
    fn skills_everywhere_have_name_and_description() {
        for place in harnesses().iter().flat_map(|harness| harness.places) {
            let is_skill = place.path.ends_with("/{id}/SKILL.md");
            assert_eq!(is_skill, place.format == PlaceFormat::AgentSkill, "{}", place.path);
            if is_skill {
                let required =
                    |key| place.front_matter.iter().any(|field| field.key == key && field.is_required());
                assert!(required("name") && required("description"), "{}", place.path);
            }
        }
    }
}
