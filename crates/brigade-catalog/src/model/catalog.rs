//! The tools of a file.

use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, ErrorCode, ErrorKind, Hint, NextStep, OperationError, Place, Severity};

use brigade_redact::Redactor;
use thiserror::Error;

use super::{Level, Masks, Reads, RegistrySettings, Runtimes, Settings, Tool};
use crate::levels::ShadowedEntry;

/// The tools of a catalog file, and its issues.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(crate) tools: Vec<Tool>,
    pub(crate) issues: Vec<ConfigIssue>,
    pub(crate) settings: Settings,
    /// Entries of the files that could not be read.
    pub(crate) lost: LostEntries,
    pub(crate) user_issues: Vec<ConfigIssue>,
    pub(crate) user_settings: Settings,
    pub(crate) shadowed: Vec<ShadowedEntry>,
    /// Indexes into `tools`, sorted by id, then by index.
    by_id: Vec<u32>,
}

/// The entries of a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LostEntries {
    /// Entries with these ids.
    Ids(Vec<String>),
    /// The file is not text, so they are unknown.
    Unknown,
}

impl Default for LostEntries {
    fn default() -> LostEntries {
        LostEntries::Ids(Vec::new())
    }
}

/// Why [`Catalog::find`] returns no tool.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolLookupError {
    /// The catalog has no readable entry. Contains its first issue.
    #[error("{}", ConfigIssue { hint: None, ..(**.0).clone() })]
    Unreadable(Box<ConfigIssue>),
    /// The tool is disabled.
    #[error("tool `{id}` is disabled")]
    Disabled {
        /// The id, safe to show.
        id: String,
        /// The place of its entry.
        place: Place,
    },
    /// No tool has this id.
    #[error("no tool has the id `{id}`")]
    Unknown {
        /// The id, safe to show.
        id: String,
        /// The enabled tool with the most similar id.
        near: Option<String>,
    },
    /// gateway.toml does not offer the resource or prompt that the arguments name.
    #[error("gateway.toml offers no such thing to `{}`", .reads.tool_id())]
    NotOffered {
        /// What the call reads.
        reads: Reads,
    },
}

impl OperationError for ToolLookupError {
    fn kind(&self) -> ErrorKind {
        match self {
            ToolLookupError::Unreadable(_) => ErrorKind::InvalidConfig,
            ToolLookupError::Disabled { .. }
            | ToolLookupError::Unknown { .. }
            | ToolLookupError::NotOffered { .. } => ErrorKind::NotFound,
        }
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            ToolLookupError::Unreadable(_) => None,
            ToolLookupError::Disabled { .. } => Some(ErrorCode::ToolDisabled),
            ToolLookupError::Unknown { .. } | ToolLookupError::NotOffered { .. } => {
                Some(ErrorCode::ToolMissing)
            }
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            ToolLookupError::Unreadable(issue) => issue.hint.iter().cloned().collect(),
            ToolLookupError::Disabled { place, .. } => {
                let line = place.line.map_or_else(String::new, |line| format!(" at line {line}"));
                vec![format!("set `enabled = true` in {}{line}", place.file).into()]
            }
            ToolLookupError::NotOffered { reads } => {
                let list = match reads {
                    Reads::Resource => "resources",
                    Reads::Prompt => "prompts",
                };
                let hint = format!("name it in `{list}` of its [[upstream]] in .brigade/tools/gateway.toml");
                vec![hint.into()]
            }
            ToolLookupError::Unknown { near: None, .. } => vec![NextStep::ListTools.into()],
            ToolLookupError::Unknown { near: Some(near), .. } => {
                vec![format!("did you mean `{near}`?").into()]
            }
        }
    }

    fn is_about_request(&self) -> bool {
        true
    }
}

/// Makes a typed id safe to show. It may be anything, even a misplaced secret.
fn shown(id: &str) -> String {
    escape_terminal(&Redactor::new(&[]).redact_str(id)).into_owned()
}

impl Catalog {
    /// Creates a catalog. If several tools have the same id, [`tool`](Catalog::tool) returns the first.
    pub fn new(tools: Vec<Tool>, issues: Vec<ConfigIssue>) -> Catalog {
        Catalog { tools, issues, ..Catalog::default() }.indexed()
    }

    /// Returns the catalog with the index of its tools.
    pub(crate) fn indexed(mut self) -> Catalog {
        let tools = &self.tools;
        let mut by_id: Vec<u32> = (0..tools.len() as u32).collect();
        by_id.sort_by(|a, b| tools[*a as usize].id.cmp(&tools[*b as usize].id));
        self.by_id = by_id;
        self
    }

    /// Returns the catalog with its lost entries.
    pub(crate) fn with_lost(self, lost: LostEntries) -> Catalog {
        Catalog { lost, ..self }
    }

    /// Returns the issues of the files of farther levels, in file order. They do not affect the project.
    pub fn user_issues(&self) -> &[ConfigIssue] {
        &self.user_issues
    }

    /// Returns the entries that entries of a nearer level hide.
    pub fn shadowed(&self) -> &[ShadowedEntry] {
        &self.shadowed
    }

    /// Returns whether a tool may be one of a remote server or of a container.
    pub fn names_servers(&self) -> bool {
        self.tools.iter().any(Tool::may_be_remote)
    }

    /// Gives tools of remote servers what they need to connect: command, labels and the effect `network`. Opens the
    /// containers of tools as their effects allow.
    #[must_use]
    pub fn connect(mut self, runtimes: &Runtimes) -> Catalog {
        for tool in self.tools.iter_mut().filter(|tool| tool.may_be_remote()) {
            let runtime = tool.runtime_id.as_deref().and_then(|id| runtimes.runtime(id));
            if let Some(runtime) = runtime.filter(|runtime| !runtime.is_broken) {
                tool.connect(runtime);
            }
        }
        self
    }

    /// Returns the catalog with these masks for showing its entries.
    #[must_use]
    pub fn masked_by(mut self, masks: &Masks) -> Catalog {
        if !masks.is_empty() {
            let hidden = self.shadowed.iter_mut().map(|shadowed| &mut shadowed.tool);
            self.tools.iter_mut().chain(hidden).for_each(|tool| tool.masks = masks.clone());
        }
        self
    }

    /// Returns the catalog with the settings of its file.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Catalog {
        Catalog { settings, ..self }
    }

    /// Returns the settings of the file.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the harnesses whose files discovery reads: those of the project's file, else of the user's file. `None`
    /// means all.
    pub fn harnesses(&self) -> Option<&[String]> {
        self.settings.harnesses.as_deref().or(self.user_settings.harnesses.as_deref())
    }

    /// Returns [`harnesses`](Catalog::harnesses), unless the list is invalid. An invalid list does not mean all
    /// harnesses.
    ///
    /// # Errors
    /// Returns [`ToolLookupError::Unreadable`] with the first error in the project's list, or in the user's list if the
    /// project has none.
    pub fn chosen_harnesses(&self) -> Result<Option<&[String]>, ToolLookupError> {
        let is_of_list = |issue: &&ConfigIssue| {
            issue.severity == Severity::Error
                && issue.entry.is_none()
                && issue
                    .field
                    .as_deref()
                    .is_some_and(|field| field == "registry" || field.starts_with("registry.harnesses"))
        };
        let of_user = self.user_issues.iter().filter(|_| self.settings.harnesses.is_none());
        match self.issues.iter().chain(of_user).find(is_of_list) {
            Some(issue) => Err(ToolLookupError::Unreadable(Box::new(issue.clone()))),
            None => Ok(self.harnesses()),
        }
    }

    /// Returns whether `find` includes tools that only a harness can run: the setting of the project, else of the user,
    /// else yes.
    pub fn offers_harness_tools(&self) -> bool {
        self.settings.harness_tools.or(self.user_settings.harness_tools).unwrap_or(true)
    }

    /// Returns the settings of the tools registries that are read in place, the nearest first.
    pub fn registry_settings(&self) -> RegistrySettings {
        self.user_settings.registry
    }

    /// Returns the place of `schema` in a tool's file, if it is newer than this version understands. Such a tool is
    /// only listed, never planned or run.
    pub fn newer_schema(&self, tool: &Tool) -> Option<&Place> {
        match tool.origin.level {
            Level::Project => self.settings.newer_schema(),
            Level::User | Level::Discovered => self.user_settings.newer_schema(),
            // A registry of a newer version has no entries.
            Level::ProjectRegistry | Level::UserRegistry => None,
        }
    }

    /// Returns all tools in file order, including disabled and broken ones.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Returns the issues in file order.
    pub fn issues(&self) -> &[ConfigIssue] {
        &self.issues
    }

    /// Returns the issue about an unknown key of a tool that probably means this field.
    pub fn misspelt(&self, tool: &Tool, field: &str) -> Option<&ConfigIssue> {
        let meant = Some(Hint::did_you_mean(field));
        self.issues_of(tool).find(|issue| {
            issue.severity == Severity::Warning
                && issue.hint == meant
                && issue.entry.as_deref() == Some(tool.id.as_str())
        })
    }

    /// Returns the tool with exactly this id.
    pub fn tool(&self, id: &str) -> Option<&Tool> {
        let at = self.by_id.partition_point(|at| self.tools[*at as usize].id.as_str() < id);
        self.by_id.get(at).map(|at| &self.tools[*at as usize]).filter(|tool| tool.id == id)
    }

    /// Finds an enabled tool by its id.
    ///
    /// # Errors
    /// Returns why there is no such tool.
    pub fn find(&self, id: &str) -> Result<&Tool, ToolLookupError> {
        self.usable(id.trim(), self.tool(id.trim()))
    }

    /// Finds an enabled tool by a typed name: an id, an alias or `<source>:<id>`, as [`named`](Catalog::named) does.
    ///
    /// # Errors
    /// Returns why there is no such tool.
    pub fn find_named(&self, name: &str, is_taken: impl Fn(&str) -> bool) -> Result<&Tool, ToolLookupError> {
        self.usable(name.trim(), self.named(name, is_taken))
    }

    fn usable<'c>(&'c self, id: &str, found: Option<&'c Tool>) -> Result<&'c Tool, ToolLookupError> {
        match (found, self.issues.first()) {
            (Some(tool), _) if tool.enabled => Ok(tool),
            (_, Some(issue)) if self.tools.is_empty() => {
                Err(ToolLookupError::Unreadable(Box::new(issue.clone())))
            }
            (Some(tool), _) => {
                Err(ToolLookupError::Disabled { id: shown(id), place: tool.origin.place.clone() })
            }
            (None, _) => {
                let enabled = self.tools.iter().filter(|tool| tool.enabled).map(|tool| tool.id.as_str());
                let near = brigade_core::closest(id, enabled).map(|near| escape_terminal(near).into_owned());
                Err(ToolLookupError::Unknown { id: shown(id), near })
            }
        }
    }

    /// Checks that the file has a readable entry or no errors.
    ///
    /// # Errors
    /// Returns [`ToolLookupError::Unreadable`] if no entry could be read because of an error.
    pub fn readable(&self) -> Result<(), ToolLookupError> {
        match self.issues.iter().find(|issue| issue.severity == Severity::Error) {
            Some(issue) if self.tools.is_empty() => Err(ToolLookupError::Unreadable(Box::new(issue.clone()))),
            _ => Ok(()),
        }
    }

    /// Returns the ids in file order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.id.as_str())
    }

    /// Returns whether no issue is an error.
    pub fn is_valid(&self) -> bool {
        self.issues.iter().all(|issue| issue.severity != Severity::Error)
    }
}

/// Folds case for searching: `ẞ`, `ß` and `ss` are equal, as are the forms of sigma.
pub(crate) fn fold(text: &str) -> String {
    text.to_lowercase().to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    fn catalog() -> Catalog {
        let tool = |id: &str, name: &str, description: &str| Tool {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            ..Tool::new(id, Family::SlashCommand).unwrap()
        };
        Catalog::new(
            vec![tool("b", "Straße", "Last one"), tool("a", "First", "Übung"), tool("b", "Again", "")],
            vec![],
        )
    }

    #[test]
    fn tools_are_found_by_exact_id_first_one_wins() {
        let catalog = catalog();
        assert_eq!(catalog.tool("b").map(|tool| tool.name.as_str()), Some("Straße"));
        assert_eq!(catalog.tool("a").map(|tool| tool.name.as_str()), Some("First"));
        assert!(catalog.tool("c").is_none());
        assert!(catalog.tool("").is_none());
        assert_eq!(catalog.ids().collect::<Vec<_>>(), ["b", "a", "b"]);
    }
}
