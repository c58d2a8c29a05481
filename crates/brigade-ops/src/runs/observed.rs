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

#[cfg(test)]
mod tests {
    use brigade_call::RunStatus;
    use brigade_fs::{FileMode, MemoryFs, RelPath};

    use super::*;
    use crate::testing::{CallBench, RunEnding};

    /// Says what is known of the start of a kept server with this record.
    fn reported(record: Option<&str>) -> ObservedRun {
        let fs = MemoryFs::new();
        if let Some(record) = record {
            let path: RelPath = ".brigade/tools/runtime/upstreams/start-1.json".parse().unwrap();
            fs.create_dir_all(&path.parent()).unwrap();
            fs.write_atomic(&path, record.as_bytes(), FileMode::Private).unwrap();
        }
        let receipt = Receipt::new("run-1".parse().unwrap(), "call-1".parse().unwrap(), RunStatus::Completed);
        of_start(&fs, "start-1", &receipt)
    }

    #[test]
    fn a_kept_server_needs_its_record() {
        for record in [None, Some("{"), Some("[]")] {
            let ObservedRun::Nothing(why) = reported(record) else { panic!("{record:?}") };
            assert_eq!(why, "its server was kept, but the record of that start (start-1) no longer exists");
        }
    }

    #[test]
    fn equal_runs_share_one_observation() {
        let bench = CallBench::new("");
        bench.ran(r#"{"a":1}"#, RunEnding::observed(&["docs/tool.md"], &[], &[]));
        bench.ran(r#"{"a":2}"#, RunEnding::completed());
        let queue = bench.context.queue();
        let view = queue.read().unwrap();
        let seen = seen_runs(&*bench.context.fs, &view, "tool", 5).unwrap();
        assert_eq!((seen.looked_at, seen.runs.len()), (2, 1));
        assert!(seen.why_not.is_some(), "the newest run has none");
        let newest = seen_runs(&*bench.context.fs, &view, "tool", 1).unwrap();
        assert_eq!((newest.looked_at, newest.runs.len()), (1, 0));
        let none = seen_runs(&*bench.context.fs, &view, "other", 5).unwrap();
        assert_eq!((none.looked_at, none.why_not), (0, None));
    }
}
