//! The core memory of an agent with an identity: a few lines about its work, which it rewrites.

use brigade_core::{ErrorCode, Timestamp};
use brigade_macros::part;
use brigade_redact::Redactor;
use rusqlite::{OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::rules::{MAX_CONTENT, has_secret};
use crate::error::StoreError;
use crate::store::{Store, list, stored, time};

/// The maximum number of rows of a list.
const MAX_ROWS: usize = 50;

/// What an agent records about its work.
#[part(Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CoreMemory {
    /// A summary of the project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project_summary: String,
    /// Rules that must always be followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_conventions: Vec<String>,
    /// Preferences of the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_preferences: Vec<String>,
    /// What the agent works on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_focus: Vec<String>,
    /// Everything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The core memory of an agent as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StoredCore {
    /// How often it was written.
    pub version: i64,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// Its text.
    #[serde(flatten)]
    pub memory: CoreMemory,
}

/// The core memory of an agent, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AgentCore {
    /// The agent.
    pub agent: String,
    /// Its core memory.
    #[serde(flatten)]
    pub core: StoredCore,
}

impl CoreMemory {
    /// Returns the parts with their names, as they are written: a text as one row. Empty parts have no rows.
    pub fn parts(&self) -> [(&'static str, &[String]); 5] {
        let summary = std::slice::from_ref(&self.project_summary);
        [
            ("projectSummary", if self.project_summary.is_empty() { &[] } else { summary }),
            ("criticalConventions", &self.critical_conventions),
            ("userPreferences", &self.user_preferences),
            ("activeFocus", &self.active_focus),
            ("notes", &self.notes),
        ]
    }
}

impl StoredCore {
    /// Returns it as Markdown.
    pub fn to_markdown(&self) -> String {
        const TITLES: [&str; 5] = ["Project", "Conventions", "Preferences of the user", "Focus", "Notes"];
        let mut text = String::new();
        for (title, (_, rows)) in TITLES.iter().zip(self.memory.parts()) {
            if !rows.is_empty() {
                let rows: Vec<String> =
                    rows.iter().map(|row| format!("- {}", row.replace('\n', "\n  "))).collect();
                text.push_str(&format!("{title}:\n{}\n", rows.join("\n")));
            }
        }
        text
    }
}

/// The parts to replace. `None` keeps a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CoreChange {
    /// A summary of the project.
    pub project_summary: Option<String>,
    /// Rules that must always be followed.
    pub critical_conventions: Option<Vec<String>>,
    /// Preferences of the user.
    pub user_preferences: Option<Vec<String>>,
    /// What the agent works on.
    pub active_focus: Option<Vec<String>>,
    /// Everything else.
    pub notes: Option<Vec<String>>,
}

impl CoreChange {
    /// Returns what it makes of a core memory.
    #[must_use]
    pub fn applied(&self, mut core: CoreMemory) -> CoreMemory {
        let CoreChange { project_summary, critical_conventions, user_preferences, active_focus, notes } =
            self.clone();
        let put = |slot: &mut Vec<String>, new: Option<Vec<String>>| {
            if let Some(new) = new {
                *slot = new;
            }
        };
        if let Some(summary) = project_summary {
            core.project_summary = summary;
        }
        put(&mut core.critical_conventions, critical_conventions);
        put(&mut core.user_preferences, user_preferences);
        put(&mut core.active_focus, active_focus);
        put(&mut core.notes, notes);
        core
    }

    /// Returns the names of the parts to replace.
    pub fn updated(&self) -> Vec<&'static str> {
        let parts = [
            ("projectSummary", self.project_summary.is_some()),
            ("criticalConventions", self.critical_conventions.is_some()),
            ("userPreferences", self.user_preferences.is_some()),
            ("activeFocus", self.active_focus.is_some()),
            ("notes", self.notes.is_some()),
        ];
        parts.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
    }

    fn check(&self, redactor: &Redactor) -> Result<(), StoreError> {
        if self.updated().is_empty() {
            return Err(StoreError::refused(ErrorCode::InvalidArguments, "at least one part must be given"));
        }
        let lists = [&self.critical_conventions, &self.user_preferences, &self.active_focus, &self.notes];
        if lists.into_iter().flatten().any(|rows| MAX_ROWS < rows.len()) {
            return Err(StoreError::refused(
                ErrorCode::TooLong,
                format!("a list has at most {MAX_ROWS} rows"),
            ));
        }
        for text in self.project_summary.iter().chain(lists.into_iter().flatten().flatten()) {
            if MAX_CONTENT < text.chars().count() {
                let message = format!("a text has at most {MAX_CONTENT} characters");
                return Err(StoreError::refused(ErrorCode::TooLong, message));
            }
            if has_secret(text, redactor) {
                return Err(StoreError::refused(
                    ErrorCode::Secret,
                    "a text contains a secret; secrets are never stored",
                ));
            }
        }
        Ok(())
    }
}

impl Store {
    /// Replaces parts of the core memory of an agent. Returns the new version.
    ///
    /// # Errors
    /// Returns `secret` or `too_long` if a text cannot be stored. Also fails on a disk error.
    pub fn update_core(
        &self,
        agent: &str,
        change: &CoreChange,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        change.check(redactor)?;
        self.change(|transaction| {
            let old: Option<(i64, CoreMemory)> = transaction
                .query_row("SELECT version, content FROM memory_core WHERE owner = ?1", [agent], |row| {
                    Ok((row.get("version")?, stored(row, "content")?))
                })
                .optional()?;
            let (version, core) = old.unwrap_or_default();
            let core = change.applied(core);
            let content =
                serde_json::to_string(&core).map_err(|error| StoreError::Database(error.to_string()))?;
            transaction.execute(
                "INSERT INTO memory_core (owner, version, content, updated_at) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (owner) DO UPDATE SET version = ?2, content = ?3, updated_at = ?4",
                params![agent, version + 1, content, now.unix_micros()],
            )?;
            Ok(version + 1)
        })
    }

    /// Returns the core memory of an agent, or `None` if it has none.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn core(&self, agent: &str) -> Result<Option<StoredCore>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT version, content, updated_at FROM memory_core WHERE owner = ?1";
            let read = |row: &Row<'_>| {
                let (version, updated_at) = (row.get("version")?, time(row, "updated_at")?);
                Ok(StoredCore { version, updated_at, memory: stored(row, "content")? })
            };
            Ok(transaction.query_row(sql, [agent], read).optional()?)
        })
    }

    /// Returns the core memories of all agents, or of one, by agent.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn core_memories(&self, agent: Option<&str>) -> Result<Vec<AgentCore>, StoreError> {
        let owners: Vec<String> = self.look(|transaction| {
            list(transaction, "SELECT owner FROM memory_core ORDER BY owner", [], |row| row.get(0))
        })?;
        let mut found = Vec::new();
        for owner in owners.into_iter().filter(|owner| agent.is_none_or(|agent| agent == owner)) {
            found.extend(self.core(&owner)?.map(|core| AgentCore { agent: owner, core }));
        }
        Ok(found)
    }
}
