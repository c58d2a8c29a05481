//! The table of harnesses: paths, formats, required front matter, and fidelity.
//!
//! The table lists possible targets of projections. `projections` in tools.toml sets the actual ones.

mod report;
mod table;

pub use report::{FrontMatterReport, HarnessLine, HarnessPlaceReport, HarnessTool};

pub(crate) use table::{CURSOR_FIELDS, SKILL_FIELDS};

use brigade_core::words;
use std::sync::LazyLock;

use brigade_catalog::Family;

words! {
    /// How well a harness supports a projection.
    Lossiness {
        /// It reads the source unchanged.
        Native = "native",
        /// It reads the content in another form: with added front matter, or wrapped.
        Adapted = "adapted",
        /// It does not read the path automatically, or only refers to the tool.
        ReferenceOnly = "reference-only",
    }
}

words! {
    /// The format of a file that a harness reads.
    PlaceFormat {
        /// `SKILL.md` in a separate directory, as agentskills.io describes it.
        AgentSkill = "agent-skill",
        /// A Markdown file whose front matter is optional.
        Markdown = "markdown",
        /// A Markdown file with front matter, with the extension `.mdc`.
        CursorRule = "cursor-rule",
        /// A Markdown file with front matter that defines a prompt.
        Prompt = "prompt",
        /// A TOML file with the key `prompt`.
        TomlCommand = "toml-command",
    }
}

/// The origin of a front matter field that the source lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// The name of the file's directory. The standard requires the two names to be equal.
    FolderName,
    /// The display name of the tool.
    Title,
    /// The description of the tool.
    Description,
    /// The description of the tool, if the source has no front matter. Some harnesses otherwise show line 1, which is
    /// the header.
    Summary,
    /// A fixed value.
    Fixed(&'static str),
    /// The field is left out, because the harness does not require it.
    Optional,
}

/// A front matter field that a harness reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatterField {
    /// The key.
    pub key: &'static str,
    /// The origin of its value.
    pub value: FieldValue,
}

impl FrontMatterField {
    /// Returns whether the harness requires the field.
    pub fn is_required(&self) -> bool {
        !matches!(self.value, FieldValue::Optional | FieldValue::Summary)
    }

    /// Returns whether the field is added when the source lacks it.
    pub(crate) fn is_supplied(&self) -> bool {
        self.value != FieldValue::Optional
    }
}

/// A kind of file that a harness reads in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarnessPlace {
    /// The families of tools that are stored there.
    pub families: &'static [Family],
    /// The path in the workspace, with `{id}` for the tool.
    pub path: &'static str,
    /// The form of the file.
    pub format: PlaceFormat,
    /// The front matter that the harness reads there.
    pub front_matter: &'static [FrontMatterField],
    /// The best support for such a tool.
    pub lossiness: Lossiness,
}

impl HarnessPlace {
    /// Returns the path for one tool.
    pub fn path_for(&self, id: &str) -> String {
        self.path.replace("{id}", id)
    }

    /// Returns whether a path, relative to the workspace, is of this kind. The path may have further directories in
    /// between.
    pub fn holds(&self, path: &str) -> bool {
        let (before, after) = self.path.split_once("{id}").unwrap_or((self.path, ""));
        path.strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|id| !id.is_empty() && !id.ends_with('/'))
    }
}

/// An agent program and the files that it reads in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harness {
    /// The name in tools.toml.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The kinds of files that it reads in a workspace, preferred kind first.
    pub places: &'static [HarnessPlace],
    /// A note for people.
    pub note: Option<&'static str>,
}

impl Harness {
    /// Returns the preferred kind of file for a family.
    pub fn place_for(&self, family: Family) -> Option<&'static HarnessPlace> {
        self.places.iter().find(|place| place.families.contains(&family))
    }

    /// Returns the kind of file at a path, if the harness reads it.
    pub fn place_at(&self, path: &str) -> Option<&'static HarnessPlace> {
        self.places.iter().find(|place| place.holds(path))
    }
}

/// Returns every harness of the table, in a stable order.
pub fn harnesses() -> &'static [Harness] {
    table::HARNESSES
}

/// Returns the directories, relative to a workspace, in which projections are usually found. Used to search for
/// orphans.
///
/// They are the directories of the table and those that earlier versions of `init` proposed. They are sorted, and none
/// is within another.
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

/// Returns whether a path is in a usual directory of projections.
pub(crate) fn is_usual(path: &str) -> bool {
    static USUAL_FOLDERS: LazyLock<Vec<&str>> = LazyLock::new(folders);
    let is_below = |folder: &&str| path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with('/'));
    USUAL_FOLDERS.iter().any(is_below)
}

/// Returns a harness by its name in tools.toml.
pub fn harness(name: &str) -> Option<&'static Harness> {
    table::HARNESSES.iter().find(|harness| harness.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comment_of;

    #[test]
    fn names_are_unique_and_paths_contain_the_id_once() {
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
