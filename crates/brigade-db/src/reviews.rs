//! Local pull requests and their review threads. Agents and people change them concurrently.

use std::collections::BTreeMap;

use brigade_core::{ErrorCode, Timestamp};
use brigade_macros::part;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::records::{Record, StoredRecord};
use crate::store::Store;

/// The maximum number of comments of a thread.
pub const MAX_COMMENTS: usize = 500;

/// The maximum length of a pull request or a comment, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 << 10;

/// A request to merge the work of a lane into its base branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PullRequest {
    /// Its number, from 1.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The id of the lane.
    pub lane: String,
    /// The branch of the lane.
    pub branch: String,
    /// The branch, or otherwise the commit, that the work is merged into.
    pub base: String,
    /// The last call of each check.
    pub checks: BTreeMap<String, CheckCall>,
    /// Whether a person closed it.
    pub is_closed: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A call that checks a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CheckCall {
    /// The id of the call.
    pub call: String,
    /// Whether the check got the branch. Otherwise it checked the files of the workspace.
    pub is_of_branch: bool,
    /// The checked commit: of the branch, or of the workspace with a mark of its changes. Absent in records of versions
    /// that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Record for PullRequest {
    const KIND: &'static str = "pr";
    const NAME: &'static str = "pull request";
}

/// A thread of the review of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Thread {
    /// The id of the pull request.
    pub pull_request: String,
    /// The file that it is about.
    pub path: Option<String>,
    /// The line of the file.
    pub line: Option<u64>,
    /// Whether it is resolved.
    pub is_resolved: bool,
    /// The comments, the oldest first.
    pub comments: Vec<Comment>,
}

/// A comment.
#[part(PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: String,
    /// The agent that wrote it, or `a person`.
    pub author: String,
    /// Its text.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
}

impl Record for Thread {
    const KIND: &'static str = "thread";
    const NAME: &'static str = "thread";
}

impl Thread {
    /// Adds a comment. Returns its id.
    ///
    /// # Errors
    /// Returns `too_many` if the thread is full.
    pub fn comment(
        &mut self,
        thread: &str,
        author: &str,
        body: String,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        if MAX_COMMENTS <= self.comments.len() {
            let message = format!("the thread already has {MAX_COMMENTS} comments");
            return Err(StoreError::refused(ErrorCode::TooMany, message));
        }
        let id = format!("{thread}-{}", self.comments.len() + 1);
        self.comments.push(Comment { id: id.clone(), author: author.to_owned(), body, created_at: now });
        Ok(id)
    }
}

/// Refuses a second open pull request of a lane.
fn none_open(others: &[StoredRecord<PullRequest>], request: &PullRequest) -> Result<(), StoreError> {
    let is_open =
        |other: &&StoredRecord<PullRequest>| other.record.lane == request.lane && !other.record.is_closed;
    match others.iter().find(is_open) {
        Some(open) => {
            let message = format!("the lane already has a pull request: {}", open.id);
            Err(StoreError::refused(ErrorCode::AlreadyOpen, message))
        }
        None => Ok(()),
    }
}

impl Store {
    /// Adds a pull request with the next number.
    ///
    /// # Errors
    /// Returns `already_open` with the id of the pull request that the lane already has. Also fails on a disk error.
    pub fn open_pull_request(
        &self,
        owner: &str,
        request: PullRequest,
        now: Timestamp,
    ) -> Result<StoredRecord<PullRequest>, StoreError> {
        self.add_record(owner, now, |others: &[StoredRecord<PullRequest>]| {
            none_open(others, &request)?;
            let last = others.iter().map(|other| other.record.number).max().unwrap_or_default();
            Ok(PullRequest { number: last + 1, ..request })
        })
    }

    /// Refuses what [`Store::open_pull_request`] would refuse.
    ///
    /// # Errors
    /// Returns the same errors.
    pub fn check_pull_request(&self, request: &PullRequest) -> Result<(), StoreError> {
        none_open(&self.records(None)?, request)
    }

    /// Lists the threads of a pull request, oldest first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn threads(&self, pull_request: &str) -> Result<Vec<StoredRecord<Thread>>, StoreError> {
        let mut threads = self.records::<Thread>(None)?;
        threads.retain(|thread| thread.record.pull_request == pull_request);
        Ok(threads)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use brigade_fs::DiskFs;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_micros(1)
    }

    fn request(lane: &str) -> PullRequest {
        PullRequest {
            number: 0,
            title: "Log in".to_owned(),
            body: String::new(),
            lane: lane.to_owned(),
            branch: "brigade/log-in".to_owned(),
            base: "main".to_owned(),
            checks: BTreeMap::new(),
            is_closed: false,
            created_at: now(),
        }
    }

    #[test]
    fn a_lane_has_one_open_pull_request() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let first = store.open_pull_request("ada", request("lane-1"), now()).unwrap();
        assert_eq!((first.record.number, first.owner.as_str()), (1, "ada"));
        let again = store.open_pull_request("ben", request("lane-1"), now()).unwrap_err();
        assert_eq!(again.answered_code(), ErrorCode::AlreadyOpen);
        assert!(again.to_string().contains(&first.id), "{again}");
        assert_eq!(store.open_pull_request("ben", request("lane-2"), now()).unwrap().record.number, 2);
        store
            .change_record(&first.id, |request: &mut PullRequest| {
                request.is_closed = true;
                Ok(())
            })
            .unwrap();
        assert_eq!(store.open_pull_request("ben", request("lane-1"), now()).unwrap().record.number, 3);
    }

    #[test]
    fn no_comment_is_lost_between_writers() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::from_secs(20)).unwrap();
        let store = Arc::new(store);
        let empty = Thread {
            pull_request: "pr-1".to_owned(),
            path: None,
            line: None,
            is_resolved: false,
            comments: Vec::new(),
        };
        let id = store.add_record("ada", now(), |_: &[StoredRecord<Thread>]| Ok(empty)).unwrap().id;
        let writers = (0..4).map(|writer| {
            let (store, id) = (store.clone(), id.clone());
            thread::spawn(move || {
                for at in 0..10 {
                    let body = format!("{writer} {at}");
                    store
                        .change_record(&id, |thread: &mut Thread| thread.comment(&id, "ben", body, now()))
                        .unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.join().unwrap();
        }
        let thread = store.threads("pr-1").unwrap().pop().unwrap().record;
        let ids: std::collections::BTreeSet<_> = thread.comments.iter().map(|comment| &comment.id).collect();
        assert_eq!(ids.len(), 40);
        assert!(store.threads("pr-2").unwrap().is_empty());
        let full = |thread: &mut Thread| {
            while thread.comment(&id, "ben", String::new(), now()).is_ok() {}
            thread.comment(&id, "ben", String::new(), now()).map(drop)
        };
        assert_eq!(store.change_record(&id, full).unwrap_err().answered_code(), ErrorCode::TooMany);
        // A change that fails has no effect.
        assert_eq!(store.threads("pr-1").unwrap()[0].record.comments.len(), 40);
    }
}
