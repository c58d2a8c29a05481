//! Executions of agent manifests: their input, status, output and messages.

use brigade_core::{ErrorCode, Json, Timestamp, words};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use crate::error::StoreError;
use crate::events::{Event, EventSubject, StoredEvent, add_event, page};
use crate::manifests::{DeployedManifest, Revision};
use crate::store::{self, Store, find, json, list, new_id, time};

words! {
    /// The status of an execution.
    ExecutionStatus {
        /// It has not begun.
        Pending = "pending",
        /// It runs.
        Running = "running",
        /// It succeeded.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

impl ExecutionStatus {
    /// Returns whether the execution has ended.
    pub fn is_over(self) -> bool {
        match self {
            ExecutionStatus::Pending | ExecutionStatus::Running => false,
            ExecutionStatus::Completed | ExecutionStatus::Failed | ExecutionStatus::Cancelled => true,
        }
    }
}

/// One execution of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Its id.
    pub id: String,
    /// The owner, who began it.
    pub owner: String,
    /// The id of the manifest.
    pub manifest: String,
    /// The name of the manifest.
    pub name: String,
    /// The revision of the manifest.
    pub revision: i64,
    /// The version of the manifest.
    pub version: String,
    /// The task in words.
    pub intent: Option<String>,
    /// The input.
    pub input: Json,
    /// The status.
    pub status: ExecutionStatus,
    /// The number of tries so far.
    pub iterations: i64,
    /// The output of the last try.
    pub output: Option<String>,
    /// The code of the failure.
    pub error_code: Option<String>,
    /// Why it failed, or why the last try was rejected.
    pub error: Option<String>,
    /// The process that runs it.
    pub gateway: String,
    /// The task or workflow execution that began it.
    pub parent: Option<String>,
    /// The number of executions above it.
    pub depth: i64,
    /// The directory of the lane in which it works.
    pub root: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// An execution to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewExecution<'a> {
    /// The owner.
    pub owner: &'a str,
    /// The manifest.
    pub manifest: &'a DeployedManifest,
    /// The revision of the manifest.
    pub revision: &'a Revision,
    /// The task in words.
    pub intent: Option<&'a str>,
    /// The input.
    pub input: &'a Json,
    /// The directory of the lane in which it works.
    pub root: Option<&'a str>,
    /// The process that runs it.
    pub gateway: &'a str,
    /// The execution that begins it.
    pub parent: Option<&'a Parent>,
    /// An execution that is ended to make room for this one.
    pub instead_of: Option<&'a str>,
}

/// An execution that begins another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its id.
    pub id: String,
    /// The number of executions above it.
    pub depth: i64,
}

/// The maximum depth of nested executions.
pub const MAX_DEPTH: i64 = 8;

/// The maximum number of open tasks of one owner. Each has a worker.
const MAX_TASKS: i64 = 64;

impl Parent {
    /// Returns the depth of an execution that this one begins. Runs in the transaction that adds the new execution, so
    /// nothing begins after the parent has ended.
    ///
    /// # Errors
    /// Returns `already_ended` or `too_deep`. Also fails on a disk error.
    pub(crate) fn depth_below(
        transaction: &Transaction<'_>,
        parent: Option<&Parent>,
    ) -> Result<i64, StoreError> {
        if let Some(parent) = parent {
            let sql = "SELECT status IN ('pending', 'running') FROM execution WHERE id = ?1 UNION ALL \
                       SELECT status = 'running' FROM flow WHERE id = ?1";
            let is_open = transaction.query_row(sql, [&parent.id], |row| row.get(0)).optional()?;
            if is_open != Some(true) {
                return Err(StoreError::refused(ErrorCode::AlreadyEnded, "the calling execution has ended"));
            }
        }
        match parent.map_or(0, |parent| parent.depth + 1) {
            depth if depth < MAX_DEPTH => Ok(depth),
            _ => {
                let message = format!("executions can be nested at most {MAX_DEPTH} deep");
                Err(StoreError::refused(ErrorCode::TooDeep, message))
            }
        }
    }
}

/// Refuses another execution of an owner who already has `open` executions of its kind.
///
/// # Errors
/// Returns `busy`.
pub(crate) fn check_open(open: i64, most: i64) -> Result<(), StoreError> {
    if open < most {
        return Ok(());
    }
    let message = format!("{open} executions are under way; wait for one, or cancel one");
    Err(StoreError::refused(ErrorCode::Busy, message))
}

/// The end of an execution.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionEnd<'a> {
    /// The final status.
    pub status: ExecutionStatus,
    /// The code and message of the failure.
    pub error: Option<(&'a str, &'a str)>,
}

fn read(row: &Row<'_>) -> rusqlite::Result<Execution> {
    let status: String = row.get("status")?;
    let at = |column: &str| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_unix_micros))
    };
    Ok(Execution {
        id: row.get("id")?,
        owner: row.get("owner")?,
        manifest: row.get("manifest")?,
        name: row.get("name")?,
        revision: row.get("revision")?,
        version: row.get("version")?,
        intent: row.get("intent")?,
        input: json(row, "input")?,
        status: ExecutionStatus::from_word(&status).unwrap_or(ExecutionStatus::Failed),
        iterations: row.get("iterations")?,
        output: row.get("output")?,
        error_code: row.get("error_code")?,
        error: row.get("error")?,
        gateway: row.get("gateway")?,
        parent: row.get("parent")?,
        depth: row.get("depth")?,
        root: row.get("root")?,
        created_at: time(row, "created_at")?,
        started_at: at("started_at")?,
        ended_at: at("ended_at")?,
    })
}

/// Finds an execution. `owner` is `None` for a person, who sees every execution.
fn by_id(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<Execution, StoreError> {
    let sql = "SELECT * FROM execution WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)";
    find(transaction, "execution", sql, params![id, owner], read)
}

fn note(
    transaction: &Transaction<'_>,
    execution: &Execution,
    event: &Event<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let about = EventSubject { manifest: Some(&execution.manifest), execution: Some(&execution.id) };
    add_event(transaction, &about, event, now)
}

impl Store {
    /// Returns the task or workflow execution of this owner with this id.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn parent(&self, owner: Option<&str>, id: &str) -> Result<Option<Parent>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT id, depth FROM execution WHERE id = ?1 AND (?2 IS NULL OR owner = ?2) UNION ALL \
                       SELECT id, depth FROM flow WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)";
            let read = |row: &Row<'_>| Ok(Parent { id: row.get(0)?, depth: row.get(1)? });
            Ok(transaction.query_row(sql, params![id, owner], read).optional()?)
        })
    }

    /// Records an execution that is about to begin.
    ///
    /// # Errors
    /// Returns `already_ended`, `too_deep` or `busy`. Also fails on a disk error.
    pub fn begin_execution(&self, new: &NewExecution<'_>, now: Timestamp) -> Result<Execution, StoreError> {
        self.change(|transaction| {
            let depth = Parent::depth_below(transaction, new.parent)?;
            let sql = "SELECT count(*) FROM execution WHERE owner = ?1 AND status IN ('pending', 'running') \
                       AND (?2 IS NULL OR id <> ?2)";
            let open = transaction.query_row(sql, params![new.owner, new.instead_of], |row| row.get(0))?;
            check_open(open, MAX_TASKS)?;
            let id = new_id(transaction, "task")?;
            transaction.execute(
                "INSERT INTO execution (id, owner, manifest, name, revision, version, intent, input, status, iterations, \
                 gateway, created_at, parent, depth, root) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'pending', 0, ?9, ?10, ?11, ?12, ?13)",
                params![
                    id,
                    new.owner,
                    new.manifest.id,
                    new.manifest.name,
                    new.revision.revision,
                    new.revision.version,
                    new.intent,
                    new.input.to_compact(),
                    new.gateway,
                    now.unix_micros(),
                    new.parent.map(|parent| parent.id.as_str()),
                    depth,
                    new.root
                ],
            )?;
            let execution = by_id(transaction, None, &id)?;
            let version = &new.revision.version;
            let event = Event::TaskCreated { execution_id: &id, by: new.owner, version };
            note(transaction, &execution, &event, now)?;
            Ok(execution)
        })
    }

    /// Returns an execution. `None` as owner finds those of all owners.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn execution(&self, owner: Option<&str>, id: &str) -> Result<Execution, StoreError> {
        self.look(|transaction| by_id(transaction, owner, id))
    }

    /// Lists executions, newest first. `None` as owner lists those of all owners.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn executions(
        &self,
        owner: Option<&str>,
        manifest: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Execution>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT * FROM execution WHERE (?1 IS NULL OR owner = ?1) \
                       AND (?2 IS NULL OR manifest = ?2 OR name = ?2) ORDER BY created_at DESC, rowid DESC LIMIT ?3";
            list(transaction, sql, params![owner, manifest, store::limit(limit)], read)
        })
    }

    /// Lists executions that have not ended: all, or those that `parent` began.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn open_executions(&self, parent: Option<&str>) -> Result<Vec<Execution>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT * FROM execution WHERE status IN ('pending', 'running') AND (?1 IS NULL OR parent = ?1)";
            list(transaction, sql, [parent], read)
        })
    }

    /// Records the start of a try and returns the unread messages. Returns `None` if the execution has ended.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn begin_iteration(
        &self,
        id: &str,
        run: &str,
        now: Timestamp,
    ) -> Result<Option<Vec<String>>, StoreError> {
        self.change(|transaction| {
            let execution = by_id(transaction, None, id)?;
            if execution.status.is_over() {
                return Ok(None);
            }
            let at = now.unix_micros();
            transaction.execute(
                "UPDATE execution SET status = 'running', iterations = iterations + 1, \
                 started_at = coalesce(started_at, ?2) WHERE id = ?1",
                params![id, at],
            )?;
            if execution.status == ExecutionStatus::Pending {
                note(transaction, &execution, &Event::TaskStarted { run_id: run }, now)?;
            }
            let iteration = execution.iterations.unsigned_abs() + 1;
            let event = Event::IterationStarted { iteration, run_id: run };
            note(transaction, &execution, &event, now)?;
            let sql = "SELECT text FROM message WHERE execution = ?1 AND read_at IS NULL ORDER BY created_at, rowid";
            let texts = list(transaction, sql, [id], |row| row.get(0))?;
            transaction.execute(
                "UPDATE message SET read_at = ?2 WHERE execution = ?1 AND read_at IS NULL",
                params![id, at],
            )?;
            Ok(Some(texts))
        })
    }

    /// Records the output of a try and why it was rejected.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn end_iteration(
        &self,
        id: &str,
        output: Option<&str>,
        lacks: Option<&str>,
        event: &Event<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.change(|transaction| {
            let execution = by_id(transaction, None, id)?;
            transaction.execute(
                "UPDATE execution SET output = coalesce(?2, output), error = ?3 WHERE id = ?1",
                params![id, output, lacks],
            )?;
            note(transaction, &execution, event, now)
        })
    }

    /// Ends an execution. Returns false if it had already ended; the first end is kept.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn end_execution(
        &self,
        id: &str,
        ending: &ExecutionEnd<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.change(|transaction| {
            let execution = by_id(transaction, None, id)?;
            if execution.status.is_over() {
                return Ok(false);
            }
            let (code, error) = ending.error.unzip();
            transaction.execute(
                "UPDATE execution SET status = ?2, error_code = ?3, error = ?4, ended_at = ?5 WHERE id = ?1",
                params![id, ending.status.as_str(), code, error, now.unix_micros()],
            )?;
            let event = Event::TaskEnded { status: ending.status.as_str(), code, message: error };
            note(transaction, &execution, &event, now)?;
            Ok(true)
        })
    }

    /// Lists the events of an execution: a page, oldest first, and the total number.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn execution_events(
        &self,
        owner: Option<&str>,
        id: &str,
        limit: usize,
        offset: usize,
    ) -> Result<(Execution, Vec<StoredEvent>, usize), StoreError> {
        self.look(|transaction| {
            let execution = by_id(transaction, owner, id)?;
            let (events, total) = page(transaction, "execution", id, limit, offset)?;
            Ok((execution, events, total))
        })
    }

    /// Stores a message for the next try and returns its id.
    ///
    /// # Errors
    /// Returns `not_found` or `already_ended`. Also fails on a disk error.
    pub fn send_message(
        &self,
        owner: Option<&str>,
        id: &str,
        author: &str,
        text: &str,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        self.change(|transaction| {
            let execution = by_id(transaction, owner, id)?;
            if execution.status.is_over() {
                return Err(StoreError::refused(ErrorCode::AlreadyEnded, "the execution has ended"));
            }
            let message = new_id(transaction, "msg")?;
            transaction.execute(
                "INSERT INTO message (id, execution, author, text, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![message, id, author, text, now.unix_micros()],
            )?;
            let event = Event::MessageSent { message_id: &message, by: author };
            note(transaction, &execution, &event, now)?;
            Ok(message)
        })
    }

    /// Removes an ended execution with its messages and events. Keeps the events of its manifest.
    ///
    /// # Errors
    /// Returns `not_found` or `not_ended`. Also fails on a disk error.
    pub fn remove_execution(&self, owner: Option<&str>, id: &str) -> Result<Execution, StoreError> {
        self.change(|transaction| {
            let execution = by_id(transaction, owner, id)?;
            if !execution.status.is_over() {
                return Err(StoreError::refused(
                    ErrorCode::NotEnded,
                    "the execution has not ended; cancel it first",
                ));
            }
            transaction.execute("UPDATE event SET execution = NULL WHERE execution = ?1", [id])?;
            transaction.execute("DELETE FROM execution WHERE id = ?1", [id])?;
            Ok(execution)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use brigade_fs::DiskFs;

    use super::*;
    use crate::manifests::NewManifest;

    #[test]
    fn an_execution_ends_once_and_belongs_to_who_began_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let (now, labels) = (Timestamp::from_unix_micros(0), BTreeMap::new());
        let new = NewManifest {
            kind: "agent",
            name: "greeter",
            version: "1.0.0",
            description: None,
            labels: &labels,
            text: "",
            author: "ada",
            force: false,
        };
        store.deploy_manifest(&new, now).unwrap();
        let (manifest, revision) = store.manifest("agent", "greeter", None).unwrap();
        let input = Json::object([("a", Json::from(1))]);
        let new = NewExecution {
            owner: "ada",
            manifest: &manifest,
            revision: &revision,
            intent: Some("Greet"),
            input: &input,
            root: None,
            gateway: "1",
            parent: None,
            instead_of: None,
        };
        let id = store.begin_execution(&new, now).unwrap().id;
        let code = |result: Result<Execution, StoreError>| result.unwrap_err().answered_code();
        assert_eq!(code(store.execution(Some("bob"), &id)), ErrorCode::NotFound);
        store.send_message(Some("ada"), &id, "ada", "Be polite", now).unwrap();
        assert_eq!(store.begin_iteration(&id, "run-1", now).unwrap(), Some(vec!["Be polite".to_owned()]));
        let event = Event::IterationEnded {
            iteration: 1,
            run_id: "run-1",
            exit_code: Some(0),
            code: None,
            message: Some("too short"),
        };
        store.end_iteration(&id, Some("Hi"), Some("too short"), &event, now).unwrap();
        assert_eq!(store.begin_iteration(&id, "run-2", now).unwrap(), Some(Vec::new()));
        assert_eq!(code(store.remove_execution(Some("ada"), &id)), ErrorCode::NotEnded);
        assert_eq!(store.open_executions(None).unwrap().len(), 1);
        let parent = store.parent(Some("ada"), &id).unwrap().unwrap();
        assert_eq!((parent.depth, store.parent(Some("bob"), &id).unwrap()), (0, None));
        let mut parent = Some(parent);
        let mut depths = Vec::new();
        let refused = loop {
            match store.begin_execution(&NewExecution { parent: parent.as_ref(), ..new }, now) {
                Ok(child) => {
                    depths.push(child.depth);
                    parent = store.parent(None, &child.id).unwrap();
                }
                Err(error) => break error,
            }
        };
        assert_eq!((depths, refused.answered_code()), (vec![1, 2, 3, 4, 5, 6, 7], ErrorCode::TooDeep));
        let many = std::iter::repeat_with(|| store.begin_execution(&new, now));
        let begun = many.take_while(Result::is_ok).count();
        assert_eq!(begun + 8, 64);
        assert_eq!(code(store.begin_execution(&new, now)), ErrorCode::Busy);
        assert_eq!(store.open_executions(Some(&id)).unwrap().len(), 1);
        let ending = ExecutionEnd { status: ExecutionStatus::Cancelled, error: None };
        assert!(store.end_execution(&id, &ending, now).unwrap());
        let late = ExecutionEnd { status: ExecutionStatus::Completed, error: None };
        assert!(!store.end_execution(&id, &late, now).unwrap());
        // An execution that begins after the end of its parent is refused.
        let ended = store.parent(None, &id).unwrap();
        assert_eq!(
            code(store.begin_execution(&NewExecution { parent: ended.as_ref(), ..new }, now)),
            ErrorCode::AlreadyEnded
        );
        assert_eq!(store.begin_iteration(&id, "run-3", now).unwrap(), None);
        let sent = store.send_message(Some("ada"), &id, "ada", "x", now);
        assert_eq!(sent.unwrap_err().answered_code(), ErrorCode::AlreadyEnded);
        let (execution, events, total) = store.execution_events(Some("ada"), &id, 3, 1).unwrap();
        assert_eq!((execution.status, execution.iterations), (ExecutionStatus::Cancelled, 2));
        assert_eq!((events.len(), events[0].sequence, total), (3, 2, 7));
        store.remove_execution(Some("ada"), &id).unwrap();
        // The events of the other executions are still there.
        assert_eq!(store.manifest_events(&manifest.id, 1, 0).unwrap().1, 8 + begun + 7);
    }
}
