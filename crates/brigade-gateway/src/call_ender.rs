//! Ends the run of a call, in this process or in another process of the workspace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade::core::CallId;
use brigade::gateway::CallEnder;
use brigade::{CallStatus, Workspace};

use crate::blocking::blocking;
use crate::call::POLL_INTERVAL;
use crate::gateway::{Gateway, Speaker};

/// How long another process may take to accept a request to end a run.
const TAKES: Duration = Duration::from_secs(5);

/// How long the process tree of the run may take to end after that.
const ENDS: Duration = Duration::from_secs(10);

/// Ends calls of an agent, for its other calls.
pub(crate) struct Ender {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) agent: Speaker,
}

impl CallEnder for Ender {
    fn end(&self, call: &CallId, ended_by: &str) -> bool {
        let elsewhere = || {
            let workspace = self.agent.workspace(&self.gateway.workspace, None);
            let ends = self.gateway.end_elsewhere(&workspace, call);
            // Built-in tools run on threads that may block.
            tokio::runtime::Handle::try_current().is_ok_and(|runtime| runtime.block_on(ends).is_ok())
        };
        self.gateway.end(call, ended_by) || elsewhere()
    }
}

impl Gateway {
    /// Ends the calls of this process that other processes asked to end.
    pub(crate) async fn end_requested(self: &Arc<Self>) {
        let running = self.running_calls();
        if running.is_empty() {
            return;
        }
        let workspace = self.workspace.clone();
        // After a read error, the next poll reads the requests again.
        let taken =
            blocking(move || workspace.calls().take_requested_ends(&running)).await.unwrap_or_default();
        for (id, ended_by) in taken {
            self.end(&id, &ended_by);
        }
    }

    /// Asks the process that runs a call of the workspace's agent to end it, and waits until it has.
    ///
    /// # Errors
    /// Says why the call is not ended.
    pub(crate) async fn end_elsewhere(&self, workspace: &Workspace, id: &CallId) -> Result<(), String> {
        let (asks, its_id) = (workspace.calls(), id.clone());
        let requested =
            blocking(move || asks.request_end(&its_id)).await.map_err(|error| error.to_string())?;
        let Some(run) = requested else { return Err("it does not run".to_owned()) };
        let started = Instant::now();
        loop {
            let (agent, calls) = (workspace.agent_calls(), workspace.calls());
            let (its_id, its) = (id.clone(), run.clone());
            let (shown, waits) = blocking(move || (agent.show(&its_id), calls.is_end_requested(&its))).await;
            let call = shown.map_err(|error| error.to_string())?.call;
            match call.status {
                CallStatus::Running => {}
                CallStatus::Interrupted => return Ok(()),
                other => return Err(format!("it ended meanwhile and is {}", other.as_str())),
            }
            if waits && TAKES <= started.elapsed() {
                let (calls, its) = (workspace.calls(), run.clone());
                if blocking(move || calls.withdraw_end(&its)).await {
                    return Err("another process runs it, and did not take the request to end it".to_owned());
                }
            }
            if ENDS <= started.elapsed() {
                return Err("another process is ending it; `call.wait` tells when it has ended".to_owned());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
