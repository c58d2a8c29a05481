//! What all connections of a page share.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use brigade::report::ServedPage;
use brigade::{Error, Workspace};
use tokio::sync::{Mutex, Semaphore};

use crate::answer;
use crate::events::Events;
use crate::logins::Sessions;
use crate::page_hosts::PageHosts;

/// Writes an error as the document that `--json` writes.
pub type DescribeError = Arc<dyn Fn(&Error) -> String + Send + Sync>;

/// Whether the page takes decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reviews {
    /// It does.
    Allowed,
    /// It only shows.
    LookOnly,
}

/// The limits of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long the head of a request may take, and also its body.
    pub(crate) request: Duration,
    /// The maximum length of a body.
    pub(crate) body_bytes: usize,
    /// The maximum number of open streams.
    pub(crate) streams: usize,
    /// The maximum number of connections.
    pub(crate) connections: usize,
    /// The maximum number of wrong logins that wait for their answer.
    pub(crate) logins: usize,
}

impl Limits {
    pub(crate) const USUAL: Limits = Limits {
        request: Duration::from_secs(10),
        body_bytes: 1 << 20,
        streams: 64,
        connections: 256,
        logins: 16,
    };
}

/// The state of a page.
pub(crate) struct Page {
    pub(crate) workspace: Workspace,
    pub(crate) served: ServedPage,
    pub(crate) hosts: PageHosts,
    pub(crate) reviews: Reviews,
    pub(crate) sessions: Sessions,
    /// Held while the answer to a wrong login waits, so that several do not wait at the same time.
    pub(crate) login_turn: Mutex<()>,
    pub(crate) logins: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) events: Arc<Events>,
    pub(crate) limits: Limits,
    pub(crate) describe: DescribeError,
    /// The name of the cookie, which has the port. Browsers send cookies to all ports of a host.
    pub(crate) cookie: String,
}

impl Page {
    /// Writes an error as a document.
    pub(crate) fn describe(&self, error: &Error) -> String {
        (self.describe)(error)
    }

    /// Answers with what blocking work returns.
    pub(crate) async fn work<T: Send + 'static>(
        self: Arc<Page>,
        work: impl FnOnce(&Workspace) -> Result<T, Error> + Send + 'static,
        answer: impl FnOnce(T) -> Response + Send + 'static,
    ) -> Response {
        let done = tokio::task::spawn_blocking(move || match work(&self.workspace) {
            Ok(value) => answer(value),
            Err(error) => answer::failed(&self, &error),
        });
        match done.await {
            Ok(answer) => answer,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
