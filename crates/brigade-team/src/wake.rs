//! Wakes runners when the queue of their workspace changes.
//!
//! One channel for each workspace, and nothing in the notification. It is sent in a separate statement after the
//! commit: a pending notification would serialize the commits of the whole server.

use std::time::Duration;

use brigade_core::Fingerprint;
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator as _;

use crate::error::TeamError;
use crate::store::{Core, TeamStore};

/// Waits for changes of a workspace's queue.
pub struct Wakes(Client);

impl Core {
    /// Returns the name of the workspace's channel.
    pub(crate) fn channel(&self) -> String {
        let name = Fingerprint::builder("brigade.team-channel.v1")
            .text("team", self.options.team_id.as_str())
            .text("workspace", self.options.workspace.as_str())
            .finish();
        format!("brigade_{}", &name.to_hex()[..32])
    }
}

impl TeamStore {
    /// Listens for changes of the queue.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub fn listen(&self) -> Result<Wakes, TeamError> {
        let mut client = self.core().options.connection.connect()?;
        client.batch_execute(&format!("LISTEN {}", self.core().channel()))?;
        Ok(Wakes(client))
    }
}

impl Wakes {
    /// Waits for a change, at most this long. Returns whether there was one. Many at once are one.
    ///
    /// # Errors
    /// Fails if the connection is lost.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, TeamError> {
        let is_woken = self.0.notifications().timeout_iter(timeout).next()?.is_some();
        while self.0.notifications().iter().next()?.is_some() {}
        match self.0.is_closed() {
            true => Err(TeamError::Unreachable("the connection was closed".to_owned())),
            false => Ok(is_woken),
        }
    }
}
