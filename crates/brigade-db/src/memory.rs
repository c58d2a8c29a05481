//! The memories of agents: add, merge, evict, search and pin.

mod core;
mod rank;
mod rules;

use brigade_core::{ErrorCode, Timestamp, words};
use brigade_macros::part;
use brigade_redact::Redactor;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

pub use self::core::{AgentCore, CoreChange, CoreMemory, StoredCore};
pub use rank::search_words;
pub use rank::{Query, blank};
pub use rules::{MAX_CONTENT, Objection, normal, objection};

use crate::error::StoreError;
use crate::store::{Store, list, new_id, time};

words! {
    /// Who can see a memory.
    Scope {
        /// All agents of the workspace.
        Project = "project",
        /// One agent.
        Agent = "agent",
        /// One mission of one agent.
        Mission = "mission",
    }
}

impl Scope {
    /// Returns the maximum number of memories of one owner.
    pub const fn max_memories(self) -> i64 {
        match self {
            Scope::Project => 2_000,
            Scope::Agent => 500,
            Scope::Mission => 200,
        }
    }
}

words! {
    /// The category of a memory.
    Category {
        /// A fact.
        Fact = "fact",
        /// A convention of the project.
        Convention = "convention",
        /// A recurring pattern.
        Pattern = "pattern",
        /// A decision and its reasons.
        Decision = "decision",
        /// A surprise or pitfall.
        Gotcha = "gotcha",
        /// A preference of a person.
        Preference = "preference",
    }
}

impl Category {
    /// Returns whether a strict write accepts the category.
    pub const fn is_strict(self) -> bool {
        match self {
            Category::Convention | Category::Pattern | Category::Gotcha | Category::Decision => true,
            Category::Fact | Category::Preference => false,
        }
    }
}

words! {
    /// The importance of a memory.
    Importance {
        /// Low importance.
        Low = "low",
        /// Medium importance.
        Medium = "medium",
        /// High importance.
        High = "high",
    }
}

words! {
    /// How strictly a new memory is checked.
    WriteMode {
        /// The memory is stored as a candidate.
        Default = "default",
        /// The memory is promoted or rejected.
        Strict = "strict",
    }
}

words! {
    /// How long a memory is meant to last.
    Durability {
        /// It is evicted first when space runs out.
        Candidate = "candidate",
        /// It is kept.
        Promoted = "promoted",
        /// It is not stored.
        Rejected = "rejected",
    }
}

/// The maximum number of search results.
pub const MAX_FOUND: usize = 50;

/// A stored memory.
#[part(PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: String,
    /// Who can see it: `project`, `agent`, `mission`.
    pub scope: String,
    /// The agent, or the agent and its mission; empty for the project.
    pub owner: String,
    /// Its first author: an agent, or `person`.
    pub author: String,
    /// Its category.
    pub category: String,
    /// The text.
    pub content: String,
    /// Its importance: `low`, `medium`, `high`.
    pub importance: String,
    /// How certain it is, from 0 to 1. Each repetition raises it.
    pub confidence: f64,
    /// 1 means pinned, 2 promoted, 3 candidate.
    pub tier: i64,
    /// Whether it is never evicted.
    pub pinned: bool,
    /// `candidate` or `promoted`.
    pub status: String,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last repeated or pinned.
    pub updated_at: Timestamp,
    /// How often a search returned it.
    pub uses: i64,
}

/// A search result.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryMatch {
    /// The memory.
    pub memory: Memory,
    /// The score, from 0 to 1.
    pub score: f64,
}

/// A memory to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The text.
    pub content: String,
    /// Its category.
    pub category: Category,
    /// Who can see it.
    pub scope: Scope,
    /// Its owner; see [`owner`].
    pub owner: String,
    /// The author.
    pub author: String,
    /// Its importance.
    pub importance: Importance,
    /// Whether to pin it.
    pub pin: bool,
    /// How strictly to check it.
    pub mode: WriteMode,
}

impl NewMemory {
    /// Returns how strictly it is checked: strictly only in the categories that strict writes accept.
    pub fn effective_mode(&self) -> WriteMode {
        if self.category.is_strict() { self.mode } else { WriteMode::Default }
    }

    /// Returns whether the category makes a strict write a default one.
    pub fn falls_back(&self) -> bool {
        !self.pin && self.mode != self.effective_mode()
    }
}

/// The result of adding a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    /// It is stored.
    Stored {
        /// Its id.
        id: String,
        /// Its tier.
        tier: i64,
    },
    /// A near copy was already stored and now counts as repeated.
    Merged {
        /// The id of the existing memory.
        into: String,
        /// The tier of the existing memory.
        tier: i64,
    },
    /// It was not stored.
    Rejected(Objection),
}

/// Returns the owner of memories in a scope, as rows store it. A mission belongs to the agent that works on it.
pub fn owner(scope: Scope, agent: &str, mission: Option<&str>) -> String {
    match scope {
        Scope::Project => String::new(),
        Scope::Agent => agent.to_owned(),
        Scope::Mission => format!("{agent}/{}", mission.unwrap_or_default()),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Memory> {
    Ok(Memory {
        id: row.get("id")?,
        scope: row.get("scope")?,
        owner: row.get("owner")?,
        author: row.get("author")?,
        category: row.get("category")?,
        content: row.get("content")?,
        importance: row.get("importance")?,
        confidence: row.get("confidence")?,
        tier: row.get("tier")?,
        pinned: row.get("pinned")?,
        status: row.get("status")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
        uses: row.get("uses")?,
    })
}

/// Returns the durability of a tier.
fn durability(tier: i64) -> Durability {
    if tier < 3 { Durability::Promoted } else { Durability::Candidate }
}

impl AddOutcome {
    /// Returns how long the memory is meant to last.
    pub fn durability(&self) -> Durability {
        match self {
            AddOutcome::Stored { tier, .. } | AddOutcome::Merged { tier, .. } => durability(*tier),
            AddOutcome::Rejected(_) => Durability::Rejected,
        }
    }
}

impl Store {
    /// Stores a memory, merges it into a near copy, or rejects it. A memory with a secret is always rejected.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn add_memory(
        &self,
        new: &NewMemory,
        redactor: &Redactor,
        now: Timestamp,
    ) -> Result<AddOutcome, StoreError> {
        if let Some(objection) = objection(new, redactor) {
            return Ok(AddOutcome::Rejected(objection));
        }
        let (tier, confidence) = match (new.pin, new.effective_mode()) {
            (true, _) => (1, 1.0),
            (false, WriteMode::Strict) => (2, 0.9),
            (false, WriteMode::Default) => (3, 0.5),
        };
        self.change(|transaction| {
            if let Some((row, old)) = near_copy(transaction, new)? {
                let tier = tier.min(old.tier);
                let importance = Importance::from_word(&old.importance)
                    .map_or(new.importance, |importance| importance.max(new.importance));
                let surer = (old.confidence + 0.1).max(confidence).min(1.0);
                transaction.execute(
                    "UPDATE memory SET tier = ?2, pinned = pinned OR ?3, status = ?4, importance = ?5, confidence = ?6, \
                     updated_at = ?7 WHERE row = ?1",
                    params![
                        row,
                        tier,
                        new.pin,
                        durability(tier).as_str(),
                        importance.as_str(),
                        surer,
                        now.unix_micros()
                    ],
                )?;
                return Ok(AddOutcome::Merged { into: old.id, tier });
            }
            if !evict_one(transaction, new.scope, &new.owner)? {
                return Ok(AddOutcome::Rejected(Objection::NoRoom));
            }
            let id = new_id(transaction, "mem")?;
            let content = new.content.trim();
            transaction.execute(
                "INSERT INTO memory (id, scope, owner, author, category, content, importance, confidence, tier, pinned, \
                 status, words, uses, created_at, updated_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13, ?13)",
                params![
                    id,
                    new.scope.as_str(),
                    new.owner,
                    new.author,
                    new.category.as_str(),
                    content,
                    new.importance.as_str(),
                    confidence,
                    tier,
                    new.pin,
                    durability(tier).as_str(),
                    rules::count_words(content),
                    now.unix_micros()
                ],
            )?;
            let row = transaction.last_insert_rowid();
            transaction
                .execute("INSERT INTO memory_text (rowid, content) VALUES (?1, ?2)", params![row, content])?;
            Ok(AddOutcome::Stored { id, tier })
        })
    }

    /// Searches the memories of these owners, best first, and counts the uses of the results.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn search_memories(&self, query: &Query<'_>, now: Timestamp) -> Result<Vec<MemoryMatch>, StoreError> {
        let found = self.look(|transaction| rank::search(transaction, query, now))?;
        if !found.is_empty() {
            self.count_uses(&found);
        }
        Ok(found)
    }

    /// Counts uses of memories. Errors are ignored, and the write is not durable, because losing a count does no harm.
    fn count_uses(&self, found: &[MemoryMatch]) {
        if self.access() != crate::Access::Write {
            return;
        }
        let count = |connection: &mut Connection| -> rusqlite::Result<()> {
            connection.pragma_update(None, "synchronous", "normal")?;
            let transaction = connection.transaction()?;
            let mut statement =
                transaction.prepare_cached("UPDATE memory SET uses = uses + 1 WHERE id = ?1")?;
            for one in found {
                statement.execute([&one.memory.id])?;
            }
            drop(statement);
            transaction.commit()
        };
        let counted = || -> rusqlite::Result<()> {
            let mut connection = self.connection();
            let patience: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
            connection.busy_timeout(std::time::Duration::ZERO)?;
            let counted = count(&mut connection);
            // All other writes on this connection wait for locks and are durable, whatever happened here.
            connection.pragma_update(None, "synchronous", "full")?;
            connection
                .busy_timeout(std::time::Duration::from_millis(u64::try_from(patience).unwrap_or(0)))?;
            counted
        };
        if let Err(error) = counted() {
            tracing::debug!(%error, "uses of memories are not counted");
        }
    }

    /// Pins a memory (tier 1) or unpins it (tier 2). `owners` limits the change to memories that the caller may change.
    ///
    /// # Errors
    /// Returns `not_found` if the memory does not belong to these owners. Also fails on a disk error.
    pub fn pin_memory(
        &self,
        id: &str,
        pinned: bool,
        owners: &Owners<'_>,
        now: Timestamp,
    ) -> Result<Memory, StoreError> {
        self.change(|transaction| {
            let (row, old) = by_id(transaction, id, owners)?;
            let tier = if pinned { 1 } else { old.tier.max(2) };
            transaction.execute(
                "UPDATE memory SET pinned = ?2, tier = ?3, status = ?4, updated_at = ?5 WHERE row = ?1",
                params![row, pinned, tier, durability(tier).as_str(), now.unix_micros()],
            )?;
            Ok(by_id(transaction, id, owners)?.1)
        })
    }

    /// Removes a memory.
    ///
    /// # Errors
    /// Returns `not_found` if the memory does not belong to these owners. Also fails on a disk error.
    pub fn remove_memory(&self, id: &str, owners: &Owners<'_>) -> Result<Memory, StoreError> {
        self.change(|transaction| {
            let (row, old) = by_id(transaction, id, owners)?;
            remove(transaction, row, &old.content)?;
            Ok(old)
        })
    }

    /// Returns a memory by its id or a unique prefix of it.
    ///
    /// # Errors
    /// Returns `not_found` or `ambiguous`. Also fails on a disk error.
    pub fn memory(&self, id: &str, owners: &Owners<'_>) -> Result<Memory, StoreError> {
        self.look(|transaction| Ok(by_id(transaction, id, owners)?.1))
    }

    /// Lists memories: pinned first, then newest.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn memories(&self, scope: Option<Scope>, owners: &Owners<'_>) -> Result<Vec<Memory>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT * FROM memory ORDER BY tier, updated_at DESC, row DESC";
            let all = list(transaction, sql, [], read)?;
            let fits = |memory: &Memory| scope.is_none_or(|scope| scope.as_str() == memory.scope);
            Ok(all.into_iter().filter(|memory| fits(memory) && owners.have(memory)).collect())
        })
    }
}

/// The owners whose memories are visible.
#[derive(Clone, Copy, Debug)]
pub enum Owners<'a> {
    /// All owners; for a person.
    Everybody,
    /// The project and this agent.
    Seen(&'a str),
}

impl Owners<'_> {
    fn have(&self, memory: &Memory) -> bool {
        match self {
            Owners::Everybody => true,
            Owners::Seen(agent) => match Scope::from_word(&memory.scope) {
                Some(Scope::Project) => true,
                Some(Scope::Agent) => memory.owner == *agent,
                Some(Scope::Mission) => {
                    memory.owner.strip_prefix(agent).is_some_and(|rest| rest.starts_with('/'))
                }
                None => false,
            },
        }
    }
}

fn by_id(transaction: &Transaction<'_>, id: &str, owners: &Owners<'_>) -> Result<(i64, Memory), StoreError> {
    let sql = "SELECT * FROM memory WHERE id = ?1 OR substr(id, 1, ?2) = ?1 ORDER BY id = ?1 DESC";
    let length = id.chars().count() as i64;
    let mut found: Vec<(i64, Memory)> =
        list(transaction, sql, params![id, length], |row| Ok((row.get("row")?, read(row)?)))?;
    found.retain(|(_, memory)| owners.have(memory));
    let is_exact = found.first().is_some_and(|(_, memory)| memory.id == id);
    match found.len() {
        0 => Err(StoreError::missing("memory")),
        1 => Ok(found.remove(0)),
        _ if is_exact => Ok(found.remove(0)),
        count if id.is_empty() => {
            Err(StoreError::refused(ErrorCode::Ambiguous, format!("give an id; there are {count} memories")))
        }
        count => Err(StoreError::refused(
            ErrorCode::Ambiguous,
            format!("{count} memories share this prefix of an id"),
        )),
    }
}

/// Finds a near copy of the same owner, in any tier.
fn near_copy(transaction: &Transaction<'_>, new: &NewMemory) -> Result<Option<(i64, Memory)>, StoreError> {
    let sql =
        "SELECT * FROM memory WHERE scope = ?1 AND owner = ?2 AND words BETWEEN ?3 AND ?4 ORDER BY tier, row";
    let mut statement = transaction.prepare_cached(sql)?;
    // Texts whose lengths differ more cannot be near copies.
    let words = rules::count_words(&new.content);
    let range = (words * 85 / 100, words * 100 / 85 + 1);
    let mut rows = statement.query(params![new.scope.as_str(), new.owner, range.0, range.1])?;
    let new_words = rules::Words::new(&new.content);
    while let Some(row) = rows.next()? {
        let content = row.get_ref("content")?.as_str().unwrap_or_default();
        if new_words.are_near(&rules::Words::new(content)) {
            return Ok(Some((row.get("row")?, read(row)?)));
        }
    }
    Ok(None)
}

/// Evicts the oldest memories that are not pinned, candidates first. Returns whether there is space for one more.
fn evict_one(transaction: &Transaction<'_>, scope: Scope, owner: &str) -> Result<bool, StoreError> {
    loop {
        let count: i64 = transaction
            .prepare_cached("SELECT count(*) FROM memory WHERE scope = ?1 AND owner = ?2")?
            .query_row(params![scope.as_str(), owner], |row| row.get(0))?;
        if count < scope.max_memories() {
            return Ok(true);
        }
        let oldest = transaction
            .prepare_cached(
                "SELECT row, content FROM memory WHERE scope = ?1 AND owner = ?2 AND NOT pinned \
                 ORDER BY tier DESC, updated_at, row LIMIT 1",
            )?
            .query_row(params![scope.as_str(), owner], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))
            .optional()?;
        match oldest {
            Some((row, content)) => remove(transaction, row, &content)?,
            None => return Ok(false),
        }
    }
}

fn remove(transaction: &Transaction<'_>, row: i64, content: &str) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO memory_text (memory_text, rowid, content) VALUES ('delete', ?1, ?2)",
        params![row, content],
    )?;
    transaction.execute("DELETE FROM memory WHERE row = ?1", [row])?;
    Ok(())
}

#[cfg(test)]
mod tests;
