//! What tasks and workflows work with.

use std::sync::Arc;

use brigade_access::LiveSession;
use brigade_call::Caller;
use brigade_db::Stores;
use brigade_toolset::Steps;
use brigade_workspace::{TaskSessions, WorkspaceContext};

use crate::running::RunningTasks;

/// A workspace as one caller works in it, and what tasks need besides.
#[derive(Clone)]
pub struct TaskContext {
    /// The workspace, and who calls.
    pub context: Arc<WorkspaceContext>,
    /// The session of the caller.
    pub session: Option<Arc<LiveSession>>,
    /// Who serves the workers of tasks. Without it, they can call no tools.
    pub sessions: Option<Arc<dyn TaskSessions>>,
    /// Whether this process serves agents, and stays when the call is over.
    pub serves: bool,
    /// What built-in tools remember.
    pub stores: Arc<Stores>,
    /// What runs in this process.
    pub running: Arc<RunningTasks>,
    /// Who makes the calls of workflows.
    pub callers: Arc<dyn Callers>,
}

/// Makes calls in the names of those who began workflows.
pub trait Callers: Send + Sync {
    /// Returns who makes the calls of a caller in a session. `laid` are names of profiles that are laid over those of
    /// the caller, which only narrows.
    fn on_behalf(&self, caller: Caller, session: Arc<LiveSession>, laid: Vec<String>) -> CallerContext;
}

/// Who makes calls for somebody, and what that one works with.
pub struct CallerContext {
    /// The workspace as the caller works in it.
    pub desk: TaskContext,
    /// Makes the calls.
    pub steps: Box<dyn Steps + Send>,
}
