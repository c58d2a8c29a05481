//! The store of a workspace that has joined a team, in a build without teams.

use std::sync::Arc;
use std::time::Duration;

use brigade_call::TEAM;
use brigade_core::{ErrorCode, ErrorKind, Timestamp};
use brigade_exec::HostEnvironment;
use brigade_fs::{Fs, RelPath, WorkspaceKey};
use brigade_process::CancelToken;
use brigade_queue::{Durability, QueueError, Snapshot, Store, Transaction};

/// Returns a store that refuses everything if the workspace has joined a team: nothing is queued in the files instead.
pub fn joined_store(
    fs: &Arc<dyn Fs>,
    _: &Arc<WorkspaceKey>,
    _: &Arc<HostEnvironment>,
    _: Duration,
    _: Option<CancelToken>,
) -> Option<Arc<dyn Store>> {
    let is_joined = fs.exists(&RelPath::from_static(TEAM)).unwrap_or(true);
    is_joined.then(|| Arc::new(RefusingStore) as Arc<dyn Store>)
}

/// The store of a joined workspace.
struct RefusingStore;

fn refused() -> QueueError {
    QueueError::Shared {
        kind: ErrorKind::Environment,
        code: ErrorCode::TeamNotJoined,
        message: "the workspace has joined a team, and this build has no teams".to_owned(),
    }
}

impl Store for RefusingStore {
    fn read(&self) -> Result<Arc<dyn Snapshot>, QueueError> {
        Err(refused())
    }

    fn begin(&self, _: Timestamp, _: Durability) -> Result<Box<dyn Transaction + '_>, QueueError> {
        Err(refused())
    }

    fn shared_name(&self) -> Option<String> {
        Some(TEAM.to_owned())
    }
}
