//! Deployed manifests with all their revisions. All agents of a workspace share them.

mod search;

use std::collections::BTreeMap;

use brigade_core::{ErrorCode, Timestamp};
use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use crate::error::StoreError;
use crate::events::{Event, EventSubject, add_event};
use crate::store::{self, Store, list, new_id, stored, time};

pub use search::{ManifestQuery, ScoredManifest};

/// The maximum number of manifests of one kind.
const MAX_MANIFESTS: i64 = 2_000;

/// A deployed manifest, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedManifest {
    /// Its id.
    pub id: String,
    /// The kind, such as `agent`.
    pub kind: String,
    /// Its name, which is unique among manifests of its kind.
    pub name: String,
    /// The version that was deployed last.
    pub version: String,
    /// The number of revisions so far.
    pub revision: i64,
    /// A description of its purpose.
    pub description: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its status: `active`.
    pub status: String,
    /// Its scope: `user`, `tenant` (the workspace) or `global`.
    pub scope: String,
    /// The author of the last revision.
    pub author: String,
    /// When it was first deployed.
    pub created_at: Timestamp,
    /// When it was last deployed.
    pub updated_at: Timestamp,
}

/// A manifest to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewManifest<'a> {
    /// The kind, such as `agent`.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// A description of its purpose.
    pub description: Option<&'a str>,
    /// Its labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The unchanged source text.
    pub text: &'a str,
    /// The author.
    pub author: &'a str,
    /// Whether an existing version may be replaced.
    pub force: bool,
}

/// A revision of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub revision: i64,
    /// Its version.
    pub version: String,
    /// The unchanged source text.
    pub text: String,
    /// The author.
    pub author: String,
    /// When it was written.
    pub created_at: Timestamp,
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<DeployedManifest> {
    Ok(DeployedManifest {
        id: row.get("id")?,
        kind: row.get("kind")?,
        name: row.get("name")?,
        version: row.get("version")?,
        revision: row.get("revision")?,
        description: row.get("description")?,
        labels: stored(row, "labels")?,
        status: row.get("status")?,
        scope: row.get("scope")?,
        author: row.get("author")?,
        created_at: time(row, "created_at")?,
        updated_at: time(row, "updated_at")?,
    })
}

fn read_revision(row: &Row<'_>) -> rusqlite::Result<Revision> {
    Ok(Revision {
        revision: row.get("revision")?,
        version: row.get("version")?,
        text: row.get("text")?,
        author: row.get("author")?,
        created_at: time(row, "created_at")?,
    })
}

/// Finds a manifest by id or name.
fn find(transaction: &Transaction<'_>, kind: &str, id: &str) -> Result<Option<DeployedManifest>, StoreError> {
    let sql = "SELECT * FROM manifest WHERE kind = ?1 AND (id = ?2 OR name = ?2) AND deleted_at IS NULL \
               ORDER BY id = ?2 DESC LIMIT 1";
    Ok(transaction.query_row(sql, params![kind, id], read).optional()?)
}

fn found(transaction: &Transaction<'_>, kind: &str, id: &str) -> Result<DeployedManifest, StoreError> {
    find(transaction, kind, id)?.ok_or_else(|| StoreError::missing(kind))
}

fn json(labels: &BTreeMap<String, String>) -> Result<String, StoreError> {
    serde_json::to_string(labels).map_err(|error| StoreError::Database(error.to_string()))
}

/// Returns the labels as text for the search index.
fn words(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key} {value}\n")).collect()
}

/// Adds a revision to an existing manifest.
fn write(
    transaction: &Transaction<'_>,
    id: &str,
    revision: i64,
    new: &NewManifest<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let at = now.unix_micros();
    transaction.execute(
        "INSERT INTO manifest_revision (manifest, revision, version, text, author, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![id, revision, new.version, new.text, new.author, at],
    )?;
    transaction.execute(
        "UPDATE manifest SET version = ?2, revision = ?3, description = ?4, labels = ?5, author = ?6, updated_at = ?7 \
         WHERE id = ?1",
        params![id, new.version, revision, new.description, json(new.labels)?, new.author, at],
    )?;
    let row: i64 = transaction.query_row("SELECT row FROM manifest WHERE id = ?1", [id], |row| row.get(0))?;
    transaction.execute("DELETE FROM manifest_text WHERE rowid = ?1", [row])?;
    transaction.execute(
        "INSERT INTO manifest_text (rowid, name, description, labels) VALUES (?1, ?2, ?3, ?4)",
        params![row, new.name, new.description.unwrap_or_default(), words(new.labels)],
    )?;
    let (version, by) = (new.version, new.author);
    let event = match revision {
        1 => Event::Deployed { version, by },
        _ => Event::Updated { version, by },
    };
    add_event(transaction, &EventSubject::manifest(id), &event, now)
}

/// Refuses a version that already exists.
fn refuse_version(transaction: &Transaction<'_>, id: &str, version: &str) -> Result<(), StoreError> {
    let taken: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM manifest_revision WHERE manifest = ?1 AND version = ?2)",
        [id, version],
        |row| row.get(0),
    )?;
    let message = "this version already exists; use another version, or set `force`";
    if taken { Err(StoreError::refused(ErrorCode::VersionTaken, message)) } else { Ok(()) }
}

impl Store {
    /// Deploys a new manifest. With `force`, an existing one of the same name gets a new revision.
    ///
    /// # Errors
    /// Returns `name_taken` or `too_many`. Also fails on a disk error.
    pub fn deploy_manifest(
        &self,
        new: &NewManifest<'_>,
        now: Timestamp,
    ) -> Result<DeployedManifest, StoreError> {
        self.change(|transaction| {
            if let Some(old) = find(transaction, new.kind, new.name)? {
                if !new.force {
                    let message = format!("another {} has this name; update it, or set `force`", new.kind);
                    return Err(StoreError::refused(ErrorCode::NameTaken, message));
                }
                write(transaction, &old.id, old.revision + 1, new, now)?;
                return found(transaction, new.kind, &old.id);
            }
            let count: i64 = transaction.query_row(
                "SELECT count(*) FROM manifest WHERE kind = ?1 AND deleted_at IS NULL",
                [new.kind],
                |row| row.get(0),
            )?;
            if MAX_MANIFESTS <= count {
                return Err(StoreError::refused(ErrorCode::TooMany, format!("there are already {count} manifests")));
            }
            let id = new_id(transaction, new.kind)?;
            transaction.execute(
                "INSERT INTO manifest (id, kind, name, version, revision, labels, status, author, created_at, updated_at) \
                 VALUES (?1, ?2, ?3, ?4, 1, '{}', 'active', ?5, ?6, ?6)",
                params![id, new.kind, new.name, new.version, new.author, now.unix_micros()],
            )?;
            write(transaction, &id, 1, new, now)?;
            found(transaction, new.kind, &id)
        })
    }

    /// Deploys another version of a manifest. Keeps the earlier revisions.
    ///
    /// # Errors
    /// Returns `not_found`, or `version_taken` if the version exists and `force` is not set. Also fails on a disk
    /// error.
    pub fn update_manifest(
        &self,
        new: &NewManifest<'_>,
        now: Timestamp,
    ) -> Result<DeployedManifest, StoreError> {
        self.change(|transaction| {
            let sql = "SELECT * FROM manifest WHERE kind = ?1 AND name = ?2 AND deleted_at IS NULL";
            let old = store::find(transaction, new.kind, sql, [new.kind, new.name], read)?;
            if !new.force {
                refuse_version(transaction, &old.id, new.version)?;
            }
            write(transaction, &old.id, old.revision + 1, new, now)?;
            found(transaction, new.kind, &old.id)
        })
    }

    /// Lists the manifests of a kind, by name.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn manifests(&self, kind: &str) -> Result<Vec<DeployedManifest>, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT * FROM manifest WHERE kind = ?1 AND deleted_at IS NULL ORDER BY name";
            list(transaction, sql, [kind], read)
        })
    }

    /// Returns a manifest by id or name, with its last revision, or the last one of `version`.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn manifest(
        &self,
        kind: &str,
        id: &str,
        version: Option<&str>,
    ) -> Result<(DeployedManifest, Revision), StoreError> {
        self.look(|transaction| {
            let deployed = found(transaction, kind, id)?;
            let revision = transaction
                .query_row(
                    "SELECT revision, version, text, author, created_at FROM manifest_revision \
                     WHERE manifest = ?1 AND (?2 IS NULL OR version = ?2) ORDER BY revision DESC LIMIT 1",
                    params![deployed.id, version],
                    read_revision,
                )
                .optional()?;
            let missing =
                || StoreError::refused(ErrorCode::NotFound, format!("the {kind} has no such version"));
            Ok((deployed, revision.ok_or_else(missing)?))
        })
    }

    /// Sets the scope of a manifest.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn set_scope(
        &self,
        id: &str,
        scope: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<DeployedManifest, StoreError> {
        self.change(|transaction| {
            transaction.execute("UPDATE manifest SET scope = ?2 WHERE id = ?1", [id, scope])?;
            add_event(transaction, &EventSubject::manifest(id), &Event::ScopeChanged { scope, by }, now)?;
            Ok(transaction.query_row("SELECT * FROM manifest WHERE id = ?1", [id], read)?)
        })
    }

    /// Returns a revision, even of a deleted manifest.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn revision(&self, id: &str, revision: i64) -> Result<Revision, StoreError> {
        self.look(|transaction| {
            let sql = "SELECT revision, version, text, author, created_at FROM manifest_revision WHERE manifest = ?1 AND \
                       revision = ?2";
            store::find(transaction, "revision", sql, params![id, revision], read_revision)
        })
    }

    /// Deletes a manifest. Keeps its revisions and events, and frees its name.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn delete_manifest(
        &self,
        kind: &str,
        id: &str,
        author: &str,
        now: Timestamp,
    ) -> Result<DeployedManifest, StoreError> {
        self.change(|transaction| {
            let deployed = found(transaction, kind, id)?;
            transaction.execute(
                "DELETE FROM manifest_text WHERE rowid = (SELECT row FROM manifest WHERE id = ?1)",
                [&deployed.id],
            )?;
            transaction.execute(
                "UPDATE manifest SET deleted_at = ?2 WHERE id = ?1",
                params![deployed.id, now.unix_micros()],
            )?;
            add_event(
                transaction,
                &EventSubject::manifest(&deployed.id),
                &Event::Deleted { by: author },
                now,
            )?;
            Ok(deployed)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use brigade_fs::DiskFs;

    use super::*;

    fn new<'a>(name: &'a str, version: &'a str, labels: &'a BTreeMap<String, String>) -> NewManifest<'a> {
        NewManifest {
            kind: "agent",
            name,
            version,
            description: Some("Greets people"),
            labels,
            text: version,
            author: "ada",
            force: false,
        }
    }

    fn code<T: std::fmt::Debug>(result: Result<T, StoreError>) -> ErrorCode {
        result.unwrap_err().answered_code()
    }

    #[test]
    fn revisions_stay_and_a_deleted_name_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let (now, labels) = (Timestamp::from_unix_micros(0), BTreeMap::new());
        let first = store.deploy_manifest(&new("greeter", "1.0.0", &labels), now).unwrap();
        assert_eq!(code(store.deploy_manifest(&new("greeter", "2.0.0", &labels), now)), ErrorCode::NameTaken);
        assert_eq!(
            code(store.update_manifest(&new("greeter", "1.0.0", &labels), now)),
            ErrorCode::VersionTaken
        );
        assert_eq!(code(store.update_manifest(&new("other", "1.0.0", &labels), now)), ErrorCode::NotFound);
        // An update finds manifests by name only.
        assert_eq!(code(store.update_manifest(&new(&first.id, "1.0.0", &labels), now)), ErrorCode::NotFound);
        let second = store.update_manifest(&new("greeter", "2.0.0", &labels), now).unwrap();
        assert_eq!((second.id.as_str(), second.revision), (first.id.as_str(), 2));
        let again = NewManifest { text: "anew", force: true, ..new("greeter", "1.0.0", &labels) };
        assert_eq!(store.update_manifest(&again, now).unwrap().revision, 3);
        let text = |version| store.manifest("agent", "greeter", version).unwrap().1.text;
        assert_eq!(
            (text(None), text(Some("1.0.0")), text(Some("2.0.0"))),
            ("anew".into(), "anew".into(), "2.0.0".into())
        );
        assert_eq!(code(store.manifest("agent", "greeter", Some("3.0.0"))), ErrorCode::NotFound);
        assert_eq!(code(store.manifest("workflow", "greeter", None)), ErrorCode::NotFound);
        store.delete_manifest("agent", &first.id, "ada", now).unwrap();
        assert_eq!(code(store.manifest("agent", "greeter", None)), ErrorCode::NotFound);
        assert_ne!(store.deploy_manifest(&new("greeter", "1.0.0", &labels), now).unwrap().id, first.id);
        let (events, total) = store.manifest_events(&first.id, 2, 0).unwrap();
        assert_eq!((events.len(), total, events[1].event_type.as_str()), (2, 4, "updated"));
    }
}
