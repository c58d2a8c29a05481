//! Claims stored calls for a run.

use brigade_call::{Claim, VerifiedCall};
use brigade_core::{ErrorCode, Timestamp};
use brigade_exec::RunFiles;
use brigade_queue::{LockedQueue, StoredCall};
use brigade_workspace::WorkspaceContext;

use crate::error::{Error, ErrorKind};

/// A claim of a stored call.
pub struct StoredClaim<'a> {
    /// The call.
    pub call: &'a VerifiedCall,
    /// The revision that was verified.
    pub revision: u64,
    /// The files of the run.
    pub files: &'a RunFiles,
    /// The claim.
    pub claim: Claim,
    /// How many calls of the caller run at the same time; `None` without a limit.
    pub at_once: Option<u64>,
}

impl StoredClaim<'_> {
    /// Claims the call. Returns why it cannot be claimed now, if it cannot.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn claim(
        self,
        context: &WorkspaceContext,
        locked: &mut LockedQueue<'_>,
        now: Timestamp,
    ) -> Result<Option<Error>, Error> {
        let StoredClaim { call, revision, files, claim, at_once } = self;
        let run_id = claim.run_id.clone();
        let is_free = |locked: &LockedQueue<'_>| {
            let stored = locked.view().call(call.id())?;
            let is_same = stored.is_some_and(|now| now.revision == revision);
            Ok::<_, Error>(is_same && locked.view().receipt(run_id.as_str())?.is_none())
        };
        let waits = match at_once {
            Some(most) => {
                locked.lock_all()?;
                is_free(locked)? && !locked.view().is_its_turn(call.call(), most)?
            }
            None => false,
        };
        let claimed = if waits {
            Err(Error::new(ErrorKind::Refused, format!("call {} waits for its turn", call.id()))
                .coded(ErrorCode::NotItsTurn))
        } else if files.is_used && is_free(locked)? {
            let message =
                format!("call {} has been started already, as the logs of {run_id} show", call.id());
            Err(Error::new(ErrorKind::Refused, message).hint("queue it again if it is to run once more"))
        } else {
            locked.claim(call.id(), revision, claim, now).map_err(Error::from)
        };
        let Err(error) = claimed else { return Ok(None) };
        // Other attempts to run this call use the same files, so they stay if a run has started.
        let has_begun =
            |now: &StoredCall| now.call.claim.as_ref().is_some_and(|claim| claim.run_id == run_id);
        if !locked.view().call(call.id())?.as_ref().is_some_and(has_begun) {
            files.discard(&*context.fs);
        }
        if error.kind() == ErrorKind::Environment { Err(error) } else { Ok(Some(error)) }
    }
}
