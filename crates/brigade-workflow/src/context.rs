//! What tasks and workflows need from their workspace and process.

use std::sync::Arc;

use brigade_access::LiveSession;
use brigade_call::Caller;
use brigade_db::Stores;
use brigade_workspace::{TaskSessions, WorkspaceContext};

use crate::engine::Steps;
use crate::running::RunningTasks;

/// A workspace as one caller sees it, and what its tasks need.
#[derive(Clone)]
pub struct TaskContext {
    /// The workspace and its caller.
    pub workspace: Arc<WorkspaceContext>,
    /// The session of the caller.
    pub session: Option<Arc<LiveSession>>,
    /// Serves the workers of tasks. Without it, workers cannot call tools.
    pub sessions: Option<Arc<dyn TaskSessions>>,
    /// Whether this process serves agents and so keeps running after the call.
    pub serves: bool,
    /// The stores of the built-in tools.
    pub stores: Arc<Stores>,
    /// The tasks and workflows that run in this process.
    pub running: Arc<RunningTasks>,
    /// Makes the contexts of those who began workflows.
    pub callers: Arc<dyn CallerContexts>,
}

/// Makes contexts for the callers that began workflows.
pub trait CallerContexts: Send + Sync {
    /// Returns a context that makes calls for a caller in a session. `profiles` names further profiles for the caller;
    /// they can only narrow its rights.
    fn context_for(&self, caller: Caller, session: Arc<LiveSession>, profiles: Vec<String>) -> CallerContext;
}

/// The context of calls that are made on behalf of a caller.
pub struct CallerContext {
    /// The workspace as the caller sees it.
    pub tasks: TaskContext,
    /// Makes the calls.
    pub steps: Box<dyn Steps + Send>,
}
