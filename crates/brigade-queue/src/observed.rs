//! Observed runs of tools.

use brigade_call::{Receipt, RunObserved};

use crate::{QueueError, RunFilter, View};

/// The last runs of a tool, as far as they were observed.
#[derive(Clone, Debug, Default)]
pub struct ObservedRuns {
    /// Number of runs that were looked at.
    pub looked_at: usize,
    /// The observed ones, or the earlier equal runs that were observed in their place. Newest first, each once.
    pub runs: Vec<(Receipt, RunObserved)>,
}

impl View<'_> {
    /// Returns the observed run that stands for a run: itself, or the earlier equal one that it names. `None` if
    /// neither was observed, or the earlier one is gone.
    ///
    /// # Errors
    /// When the store fails.
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
            Some(Ok(stored)) => observation(&stored.receipt),
            Some(Err(_)) | None => None,
        })
    }

    /// Returns the observed ones of the last runs of a tool.
    ///
    /// # Errors
    /// When the store fails.
    pub fn observed_runs(&self, tool: &str, limit: usize) -> Result<ObservedRuns, QueueError> {
        let filter = RunFilter { tool: Some(tool.to_owned()), limit: Some(limit), ..RunFilter::default() };
        let mut found = ObservedRuns::default();
        for listed in self.list_runs(&filter, None)?.runs {
            let Some(Ok(stored)) = self.receipt(listed.stored_id())? else { continue };
            found.looked_at += 1;
            if let Some(run) = self.observed_run(&stored.receipt)?
                && !found.runs.iter().any(|(known, _)| known.id == run.0.id)
            {
                found.runs.push(run);
            }
        }
        Ok(found)
    }
}
