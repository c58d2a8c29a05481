//! Repositories, lanes, proofs and fleet commands, each stored as a JSON document.

use brigade_core::Timestamp;
use rusqlite::{Transaction, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::store::{Store, find, list, new_id};

/// A kind of document.
pub trait Record: Serialize + DeserializeOwned {
    /// The word of the kind, which also begins the ids.
    const KIND: &'static str;
    /// The name of the kind in messages.
    const NAME: &'static str;
}

/// A repository that was cloned into a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Its label.
    pub label: String,
    /// Its origin, without credentials.
    pub url: String,
    /// The volume with its files.
    pub volume: String,
    /// The checked-out branch; `None` for a commit or a tag.
    pub branch: Option<String>,
    /// The kind of the requested ref: `branch`, `tag` or `commit`.
    pub ref_kind: String,
    /// The name or id of the requested ref.
    pub ref_value: String,
    /// When it was last cloned or refreshed.
    pub cloned_at: Timestamp,
    /// The name of the credential that git logs in with, if the clone named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

impl Record for Repository {
    const KIND: &'static str = "git";
    const NAME: &'static str = "repository";
}

/// A lane: a branch with a separate worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// A description of its purpose.
    pub description: Option<String>,
    /// Its branch.
    pub branch: String,
    /// The commit that it started from.
    pub base: String,
    /// The branch that its work is merged into; `None` if the checkout had none.
    pub base_branch: Option<String>,
    /// The lane that it was created from.
    pub parent: Option<String>,
    /// Whether it is archived.
    pub is_archived: bool,
}

impl Record for Lane {
    const KIND: &'static str = "lane";
    const NAME: &'static str = "lane";
}

/// A file that is kept as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Where the file was.
    pub path: String,
    /// What it proves.
    pub description: Option<String>,
    /// The sha256 of its bytes.
    pub sha256: String,
    /// Its length, in bytes.
    pub bytes: u64,
}

impl Record for Proof {
    const KIND: &'static str = "proof";
    const NAME: &'static str = "proof";
}

/// One tool call that was made for several targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetCommand {
    /// The id of the tool.
    pub tool: String,
    /// The calls, one per target.
    pub calls: Vec<FleetCall>,
}

/// The call of a tool for one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetCall {
    /// The id of the lane or volume.
    pub target: String,
    /// The id of the call.
    pub call: String,
}

impl Record for FleetCommand {
    const KIND: &'static str = "fleet";
    const NAME: &'static str = "command";
}

/// A document with its id and owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord<R> {
    /// Its id.
    pub id: String,
    /// The agent that created it, or `a person`.
    pub owner: String,
    /// The document.
    pub record: R,
}

fn broken() -> StoreError {
    StoreError::Database("a stored document has the wrong type".to_owned())
}

fn by_id<R: Record>(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    id: &str,
) -> Result<StoredRecord<R>, StoreError> {
    let sql = "SELECT owner, document FROM record WHERE kind = ?1 AND id = ?2 AND (?3 IS NULL OR owner = ?3)";
    let (owner, document): (String, String) =
        find(transaction, R::NAME, sql, params![R::KIND, id, owner], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let record = serde_json::from_str(&document).map_err(|_| broken())?;
    Ok(StoredRecord { id: id.to_owned(), owner, record })
}

fn all<R: Record>(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
) -> Result<Vec<StoredRecord<R>>, StoreError> {
    let sql = "SELECT id FROM record WHERE kind = ?1 AND (?2 IS NULL OR owner = ?2) ORDER BY created_at, id";
    let ids: Vec<String> = list(transaction, sql, params![R::KIND, owner], |row| row.get(0))?;
    ids.iter().map(|id| by_id(transaction, owner, id)).collect()
}

impl Store {
    /// Returns an unused id.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn new_record_id<R: Record>(&self) -> Result<String, StoreError> {
        self.change(|transaction| new_id(transaction, R::KIND))
    }

    /// Adds a document or replaces its content. Keeps the owner.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn put_record<R: Record>(
        &self,
        id: &str,
        owner: &str,
        record: &R,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let document = serde_json::to_string(record).map_err(|_| broken())?;
        self.change(|transaction| {
            transaction.execute(
                "INSERT INTO record (kind, id, owner, document, created_at) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (kind, id) DO UPDATE SET document = ?4",
                params![R::KIND, id, owner, document, now.unix_micros()],
            )?;
            Ok(())
        })
    }

    /// Adds a document that depends on the others of its kind. `make` gets those, oldest first.
    ///
    /// # Errors
    /// Fails as `make` does, or on a disk error. Nothing is added then.
    pub fn add_record<R: Record>(
        &self,
        owner: &str,
        now: Timestamp,
        make: impl FnOnce(&[StoredRecord<R>]) -> Result<R, StoreError>,
    ) -> Result<StoredRecord<R>, StoreError> {
        self.change(|transaction| {
            let record = make(&all(transaction, None)?)?;
            let id = new_id(transaction, R::KIND)?;
            let document = serde_json::to_string(&record).map_err(|_| broken())?;
            transaction.execute(
                "INSERT INTO record (kind, id, owner, document, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![R::KIND, id, owner, document, now.unix_micros()],
            )?;
            Ok(StoredRecord { id, owner: owner.to_owned(), record })
        })
    }

    /// Changes a document of any owner in one transaction, so concurrent changes are kept. Returns the result of
    /// `change`.
    ///
    /// # Errors
    /// Returns `not_found`, or what `change` does. Also fails on a disk error. Nothing is changed then.
    pub fn change_record<R: Record, T>(
        &self,
        id: &str,
        change: impl FnOnce(&mut R) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.change(|transaction| {
            let mut kept = by_id::<R>(transaction, None, id)?;
            let result = change(&mut kept.record)?;
            let document = serde_json::to_string(&kept.record).map_err(|_| broken())?;
            let sql = "UPDATE record SET document = ?3 WHERE kind = ?1 AND id = ?2";
            transaction.execute(sql, params![R::KIND, id, document])?;
            Ok(result)
        })
    }

    /// Returns a document. `None` as owner finds those of all owners.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn record<R: Record>(&self, owner: Option<&str>, id: &str) -> Result<StoredRecord<R>, StoreError> {
        self.look(|transaction| by_id(transaction, owner, id))
    }

    /// Lists documents, oldest first. `None` as owner lists those of all owners.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn records<R: Record>(&self, owner: Option<&str>) -> Result<Vec<StoredRecord<R>>, StoreError> {
        self.look(|transaction| all(transaction, owner))
    }

    /// Removes a document. `None` as owner finds those of all owners.
    ///
    /// # Errors
    /// Returns `not_found`. Also fails on a disk error.
    pub fn remove_record<R: Record>(
        &self,
        owner: Option<&str>,
        id: &str,
    ) -> Result<StoredRecord<R>, StoreError> {
        self.change(|transaction| {
            let kept = by_id(transaction, owner, id)?;
            transaction.execute("DELETE FROM record WHERE kind = ?1 AND id = ?2", params![R::KIND, id])?;
            Ok(kept)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use brigade_core::ErrorCode;
    use brigade_fs::DiskFs;

    use super::*;

    #[test]
    fn rows_belong_to_their_owner_and_their_kind() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let now = Timestamp::from_unix_micros(1);
        let proof =
            |path: &str| Proof { path: path.to_owned(), description: None, sha256: "0".to_owned(), bytes: 1 };
        let id = store.new_record_id::<Proof>().unwrap();
        assert!(id.starts_with("proof-"));
        store.put_record(&id, "ada", &proof("a"), now).unwrap();
        store.put_record(&id, "ben", &proof("b"), now).unwrap();
        let kept = store.record::<Proof>(Some("ada"), &id).unwrap();
        assert_eq!((kept.owner.as_str(), &kept.record), ("ada", &proof("b")));
        assert_eq!(store.record::<Proof>(Some("ben"), &id).unwrap_err().answered_code(), ErrorCode::NotFound);
        assert_eq!(store.record::<Lane>(None, &id).unwrap_err().answered_code(), ErrorCode::NotFound);
        assert_eq!(store.records::<Proof>(None).unwrap(), [kept]);
        assert!(store.records::<Lane>(None).unwrap().is_empty());
        store.remove_record::<Proof>(None, &id).unwrap();
        assert!(store.records::<Proof>(None).unwrap().is_empty());
    }
}
