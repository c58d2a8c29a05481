//! The first phase: everything that a run needs before it is claimed.

use std::path::PathBuf;
use std::sync::Arc;

use brigade_call::{Refusal as NotVerified, VerifiedCall};
use brigade_catalog::Family;
use brigade_exec::OpenedProgram;
use brigade_fs::Fs;
use brigade_mcp::ServerHold;
use brigade_mcp::{McpOfCall, PinLookupError, PinRecord};
use brigade_ops::Error;
use brigade_ops::upstreams::{KeptServer, ServerLookup};
use brigade_policy::Blocker;
use brigade_queue::{Durability, LockedQueue, Queue, QueueError};
use brigade_workspace::{Config, DeferredSync, SyncGuard, gather, gather::PlannedCall};

use super::NotStarted;
use crate::workspace_inner::WorkspaceInner;

/// A verified call whose program, server and pin are known. Nothing is written yet.
pub(super) struct PreparedRun<'a> {
    pub(super) inner: &'a WorkspaceInner,
    pub(super) config: &'a Arc<Config>,
    pub(super) call: VerifiedCall,
    /// The program; `None` for a tool that is part of Brigade.
    pub(super) program: Option<OpenedProgram>,
    pub(super) directory: PathBuf,
    /// What an MCP call names, with its pin.
    pub(super) mcp: Option<McpOfCall<'a>>,
    pub(super) pinned: Option<Arc<PinRecord>>,
    /// The kept server that makes the call. It does not end while it is held.
    pub(super) kept: Option<(Arc<KeptServer>, ServerHold)>,
    /// Syncs the records of the run, if that may wait.
    pub(super) deferred: Option<&'a DeferredSync>,
    _sync: Option<SyncGuard<'a>>,
}

impl<'a> PreparedRun<'a> {
    pub(super) fn new(
        inner: &'a WorkspaceInner,
        call: VerifiedCall,
        planned: PlannedCall,
        config: &'a Arc<Config>,
    ) -> Result<PreparedRun<'a>, NotStarted> {
        let refused = |blockers: Vec<Blocker>| {
            NotStarted::refused(&call, NotVerified { blockers, changes: Vec::new(), moved: None })
        };
        let (mcp, pinned) = match brigade_ops::pin_of_call(inner, config, &call) {
            Ok(Some((mcp, pinned))) => (Some(mcp), pinned),
            Ok(None) => (None, None),
            Err(PinLookupError::Files(error)) => return Err(Error::from(error).into()),
            Err(PinLookupError::Unreadable(blocker)) => return Err(refused(vec![*blocker])),
        };
        let kept = match find_kept_server(inner, config, &call)? {
            None => None,
            Some(ServerLookup::Ready(kept, hold)) => Some((kept, hold)),
            Some(ServerLookup::Refused(mut blockers)) => {
                blockers.iter_mut().for_each(|blocker| blocker.spell(&*inner.env.speller));
                return Err(refused(blockers));
            }
        };
        debug_assert!(
            planned.program.is_some() != call.plan().acts_inside(),
            "a verified call has its program open, or is built in"
        );
        let may_wait = call.call().approved_without_person().is_some() && call.resume().is_none();
        let deferred = inner.late_for(&call.call().contract.effects).filter(|_| may_wait);
        Ok(PreparedRun {
            inner,
            config,
            call,
            program: planned.program,
            directory: planned.directory,
            mcp,
            pinned,
            kept,
            deferred,
            _sync: deferred.map(DeferredSync::soon_after),
        })
    }

    /// Returns the files that the logs are written to.
    pub(super) fn fs(&self) -> &dyn Fs {
        match self.deferred {
            Some(deferred) => &**deferred.files(),
            None => &*self.inner.fs,
        }
    }

    /// Locks the queue with the durability of the run's records.
    pub(super) fn lock<'q>(&self, queue: &'q Queue) -> Result<LockedQueue<'q>, QueueError> {
        let now = self.inner.now();
        let durability = if self.deferred.is_some() { Durability::Soon } else { Durability::AtOnce };
        queue.lock_for_run(now, durability)
    }
}

/// Returns the server that makes a call of an agent, if servers are kept.
fn find_kept_server(
    inner: &WorkspaceInner,
    config: &Config,
    call: &VerifiedCall,
) -> Result<Option<ServerLookup>, Error> {
    let (Some(upstreams), Some(_)) = (&inner.env.upstreams, call.call().caller.agent()) else {
        return Ok(None);
    };
    let entry = gather::entry(inner, config, &call.call().tool_id, call.plan().args());
    let tool = entry.ok().filter(|tool| tool.family == Some(Family::Mcp));
    // A resumed call gets a new process, which receives the answer.
    let Some(tool) = tool.filter(|_| call.resume().is_none()) else { return Ok(None) };
    Ok(Some(upstreams.server_for(inner, config, tool, call)?))
}
