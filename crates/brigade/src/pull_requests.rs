//! Pull requests of the local forge, for the people who review them.

use std::sync::Arc;

use brigade_core::{ErrorCode, ErrorKind, NextStep, Report as _, Timestamp};
use brigade_db::records::StoredRecord;
use brigade_db::reviews::{Comment, MAX_TEXT_BYTES, PullRequest, Thread};
use brigade_db::{Store, StoreError};
use brigade_macros::{document, part};
use brigade_ops::Error;
use brigade_redact::Redactor;
use brigade_workspace::gather;

use crate::workspace_inner::WorkspaceInner;

/// Who a person is in the records of the forge. No agent can have this name.
const PERSON: &str = "a person";

/// Operations on the pull requests of a workspace.
#[derive(Clone)]
pub struct PullRequests {
    pub(crate) inner: Arc<WorkspaceInner>,
}

/// A pull request, without its checks, which are calls.
#[part(PartialEq)]
pub struct PullRequestRow {
    /// Its id.
    pub id: String,
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// The agent that made it, or `a person`.
    pub author: String,
    /// The id of the lane.
    pub lane: String,
    /// The branch of the lane.
    pub branch: String,
    /// The branch, or else the commit, that the work goes to.
    pub base: String,
    /// Whether a person closed it.
    pub is_closed: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// The number of its threads that are not resolved.
    pub open_threads: usize,
}

/// A thread of a review.
#[part(PartialEq)]
pub struct ThreadRow {
    /// Its id.
    pub id: String,
    /// The file that it is about.
    pub path: Option<String>,
    /// The line of the file.
    pub line: Option<u64>,
    /// Whether it is resolved.
    pub is_resolved: bool,
    /// Its comments, the oldest first.
    pub comments: Vec<Comment>,
}

/// `work pr list`.
#[document("brigade.pull-request-list.v1")]
#[derive(PartialEq)]
pub struct PullRequestListReport {
    /// The workspace root.
    pub target: String,
    /// How many there are.
    pub count: usize,
    /// The pull requests, the oldest first.
    pub pull_requests: Vec<PullRequestRow>,
}

/// `work pr show`, `comment`, `reply`, `resolve` and `close`.
#[document("brigade.pull-request.v1")]
#[derive(PartialEq)]
pub struct PullRequestReport {
    /// The workspace root.
    pub target: String,
    /// The pull request.
    pub pull_request: PullRequestRow,
    /// What it says.
    pub body: String,
    /// The threads of its review, the oldest first.
    pub threads: Vec<ThreadRow>,
}

/// A comment that begins a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewThread {
    /// What it says.
    pub text: String,
    /// The file that it is about.
    pub path: Option<String>,
    /// The line of the file.
    pub line: Option<u64>,
}

fn row(kept: &StoredRecord<PullRequest>, threads: &[StoredRecord<Thread>]) -> PullRequestRow {
    let request = &kept.record;
    let is_open =
        |thread: &&StoredRecord<Thread>| thread.record.pull_request == kept.id && !thread.record.is_resolved;
    PullRequestRow {
        id: kept.id.clone(),
        number: request.number,
        title: request.title.clone(),
        author: kept.owner.clone(),
        lane: request.lane.clone(),
        branch: request.branch.clone(),
        base: request.base.clone(),
        is_closed: request.is_closed,
        created_at: request.created_at,
        open_threads: threads.iter().filter(is_open).count(),
    }
}

fn missing(what: &str) -> Error {
    let error = Error::new(ErrorKind::NotFound, format!("there is no {what} with this id"));
    error.coded(ErrorCode::PullRequestMissing).hint(NextStep::ListPullRequests)
}

impl PullRequests {
    fn reading(&self) -> Result<Option<Arc<Store>>, Error> {
        Ok(self.inner.stores.reading(&*self.inner.fs)?)
    }

    /// Opens the store for a person. Does not inside of a run.
    fn writing(&self) -> Result<Arc<Store>, Error> {
        self.inner.require_outside_run()?;
        Ok(self.inner.stores.writing(&*self.inner.fs)?)
    }

    fn find(&self, id: &str) -> Result<StoredRecord<PullRequest>, Error> {
        let all = match self.reading()? {
            Some(store) => store.records::<PullRequest>(None)?,
            None => Vec::new(),
        };
        let number: Option<u64> = id.trim_start_matches('#').parse().ok();
        let is_meant = |kept: &StoredRecord<PullRequest>| kept.id == id || Some(kept.record.number) == number;
        all.into_iter().find(is_meant).ok_or_else(|| missing("pull request"))
    }

    fn report(&self, id: &str) -> Result<PullRequestReport, Error> {
        let kept = self.find(id)?;
        let threads = match self.reading()? {
            Some(store) => store.threads(&kept.id)?,
            None => Vec::new(),
        };
        let thread = |kept: &StoredRecord<Thread>| ThreadRow {
            id: kept.id.clone(),
            path: kept.record.path.clone(),
            line: kept.record.line,
            is_resolved: kept.record.is_resolved,
            comments: kept.record.comments.clone(),
        };
        Ok(PullRequestReport {
            schema: PullRequestReport::SCHEMA,
            target: self.inner.target(),
            pull_request: row(&kept, &threads),
            body: kept.record.body,
            threads: threads.iter().map(thread).collect(),
        })
    }

    /// Returns a text as it is kept.
    fn kept(&self, text: &str) -> Result<String, Error> {
        if text.trim().is_empty() || MAX_TEXT_BYTES < text.len() {
            let message = format!("a comment has 1 to {MAX_TEXT_BYTES} bytes");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(Redactor::new(&gather::secrets(&self.inner)).redact_str(text))
    }

    /// Changes a thread, and shows its pull request.
    fn change(
        &self,
        thread: &str,
        change: impl FnOnce(&mut Thread) -> Result<(), StoreError>,
    ) -> Result<PullRequestReport, Error> {
        let store = self.writing()?;
        let known = store.record::<Thread>(None, thread).map_err(|error| match error.answered_code() {
            ErrorCode::NotFound => missing("thread"),
            _ => error.into(),
        })?;
        store.change_record(thread, change)?;
        self.report(&known.record.pull_request)
    }

    /// Lists the pull requests.
    ///
    /// # Errors
    /// Returns file errors.
    pub fn list(&self) -> Result<PullRequestListReport, Error> {
        let pull_requests: Vec<PullRequestRow> = match self.reading()? {
            Some(store) => {
                let threads = store.records::<Thread>(None)?;
                store.records::<PullRequest>(None)?.iter().map(|kept| row(kept, &threads)).collect()
            }
            None => Vec::new(),
        };
        Ok(PullRequestListReport {
            schema: PullRequestListReport::SCHEMA,
            target: self.inner.target(),
            count: pull_requests.len(),
            pull_requests,
        })
    }

    /// Shows a pull request by its id or number.
    ///
    /// # Errors
    /// Fails if it does not exist, or on a file error.
    pub fn show(&self, id: &str) -> Result<PullRequestReport, Error> {
        self.report(id)
    }

    /// Begins a thread of its review. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if the pull does not exist request, the text is empty or too long, or on a file error.
    pub fn comment(&self, id: &str, new: &NewThread) -> Result<PullRequestReport, Error> {
        let text = self.kept(&new.text)?;
        let (kept, store, now) = (self.find(id)?, self.writing()?, self.inner.now());
        let thread = Thread {
            pull_request: kept.id.clone(),
            path: new.path.clone(),
            line: new.line,
            is_resolved: false,
            comments: Vec::new(),
        };
        let begun = store.add_record(PERSON, now, |_: &[StoredRecord<Thread>]| Ok(thread))?;
        store.change_record(&begun.id, |thread: &mut Thread| thread.comment(&begun.id, PERSON, text, now))?;
        self.report(&kept.id)
    }

    /// Replies to a thread. Does not inside of a run.
    ///
    /// # Errors
    /// As [`PullRequests::comment`].
    pub fn reply(&self, thread: &str, text: &str) -> Result<PullRequestReport, Error> {
        let (text, now) = (self.kept(text)?, self.inner.now());
        self.change(thread, |record| record.comment(thread, PERSON, text, now).map(drop))
    }

    /// Resolves a thread, or opens it again. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if the thread does not exist, or on a file error.
    pub fn resolve(&self, thread: &str, is_resolved: bool) -> Result<PullRequestReport, Error> {
        self.change(thread, |record| {
            record.is_resolved = is_resolved;
            Ok(())
        })
    }

    /// Closes a pull request, so that its lane may have another one. Does not inside of a run.
    ///
    /// # Errors
    /// Fails if the pull does not exist request, or on a file error.
    pub fn close(&self, id: &str) -> Result<PullRequestReport, Error> {
        let (kept, store) = (self.find(id)?, self.writing()?);
        store.change_record(&kept.id, |request: &mut PullRequest| {
            request.is_closed = true;
            Ok(())
        })?;
        self.report(&kept.id)
    }
}
