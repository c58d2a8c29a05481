//! Finds the observations of runs: of the run itself, of an earlier equal run, or of the server process that made the
//! call.

use brigade_call::{Receipt, RunObserved, SeenRun};
use brigade_fs::Fs;
use brigade_process::ProcessIdentity;
use brigade_queue::{FoundReceipt, QueueError, RunFilter, View};

use crate::upstreams::start_of;

/// The observations of a tool's last runs.
#[derive(Clone, Debug, Default)]
pub struct SeenRuns {
    /// Number of examined runs.
    pub looked_at: usize,
    /// Their observations, newest first, without duplicates.
    pub runs: Vec<SeenRun>,
    /// Why the newest run has no observation.
    pub why_not: Option<String>,
}

/// The observation of a run.
#[derive(Clone, Debug)]
pub enum ObservedRun {
    /// The observation of the run itself, or of another run or process.
    Run(Box<SeenRun>),
    /// No observation. The text is the reason.
    Nothing(String),
}

impl ObservedRun {
    /// Returns the observation, if there is one.
    pub fn run(self) -> Option<SeenRun> {
        match self {
            ObservedRun::Run(run) => Some(*run),
            ObservedRun::Nothing(_) => None,
        }
    }
}

/// Returns the observation of a run.
pub fn seen_run(fs: &dyn Fs, view: &View<'_>, receipt: &Receipt) -> Result<ObservedRun, QueueError> {
    if let Some(start) = &receipt.mcp_start_id {
        return Ok(of_start(fs, start, receipt));
    }
    Ok(match view.observed_run(receipt)? {
        Some((receipt, observed)) => ObservedRun::Run(Box::new(SeenRun::new(receipt, observed))),
        None => ObservedRun::Nothing(receipt.observed.clone().unwrap_or_default().why_not()),
    })
}

/// Returns the observation of the kept server that made a call.
fn of_start(fs: &dyn Fs, id: &str, receipt: &Receipt) -> ObservedRun {
    let Some(start) = start_of(fs, id) else {
        return ObservedRun::Nothing(format!(
            "its server was kept, but the record of that start ({id}) no longer exists"
        ));
    };
    let lives = || {
        let process = start.process.as_deref().and_then(|process| process.parse::<ProcessIdentity>().ok());
        process.is_some_and(|process| process.is_alive())
    };
    match start.observed {
        Some(observed) if observed.is_observed() => ObservedRun::Run(Box::new(SeenRun {
            id: start.id,
            receipt: receipt.clone(),
            observed,
            effects: start.effects,
            data: start.data,
        })),
        Some(observed) => ObservedRun::Nothing(observed.why_not()),
        None if start.ended_at.is_none() && lives() => ObservedRun::Nothing(format!(
            "its server still runs: what the process used is known when it has ended (start {id})"
        )),
        None if start.ended_at.is_none() => ObservedRun::Nothing(format!(
            "the gateway was killed before its server had ended (start {id}), so nothing was kept"
        )),
        None => ObservedRun::Nothing(RunObserved::default().why_not()),
    }
}

/// Returns the observations of the last runs of a tool.
pub fn seen_runs(fs: &dyn Fs, view: &View<'_>, tool: &str, limit: usize) -> Result<SeenRuns, QueueError> {
    let filter = RunFilter { tool: Some(tool.to_owned()), limit: Some(limit), ..RunFilter::default() };
    let mut found = SeenRuns::default();
    for listed in view.list_runs(&filter, None)?.runs {
        let Some(FoundReceipt::Good(stored)) = view.receipt(listed.stored_id())? else { continue };
        found.looked_at += 1;
        match seen_run(fs, view, &stored.receipt)? {
            ObservedRun::Run(run) if found.runs.iter().any(|known| known.id == run.id) => {}
            ObservedRun::Run(run) => found.runs.push(*run),
            ObservedRun::Nothing(why) if found.looked_at == 1 => found.why_not = Some(why),
            ObservedRun::Nothing(_) => {}
        }
    }
    Ok(found)
}
