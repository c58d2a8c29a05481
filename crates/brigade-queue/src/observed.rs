//! Observed runs of tools.

use brigade_call::{Receipt, RunObserved};

use crate::{FoundReceipt, QueueError, View};

impl View<'_> {
    /// Returns the observed run for a run: the run itself, or the earlier equal one that it names. `None` if neither
    /// was observed, or the earlier one is gone.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn observed_run(&self, run: &Receipt) -> Result<Option<(Receipt, RunObserved)>, QueueError> {
        let observation = |run: &Receipt| {
            let observed = run.observed.clone().filter(RunObserved::is_observed)?;
            Some((run.clone(), observed))
        };
        if let Some(found) = observation(run) {
            return Ok(Some(found));
        }
        let Some(earlier) = run.observed.as_ref().and_then(|own| own.run_id.as_deref()) else {
            return Ok(None);
        };
        Ok(match self.receipt(earlier)? {
            Some(FoundReceipt::Good(stored)) => observation(&stored.receipt),
            Some(FoundReceipt::Bad(_)) | None => None,
        })
    }
}
