//! Tracks the state of a run from the keeper's reports.

use std::io;
use std::time::Duration;

use crate::background::kill_without_keeper;
use crate::keeper::{Keeper, KeeperEvent, Report, exit_of};
use crate::own_limits::OwnLimits;
use crate::{Exit, ProcessIdentity, Spec, Usage};

/// Returns whether a variable identifies a run: `BRIGADE_RUN_ID` or `BRIGADE_…_RUN_ID`.
pub(crate) fn names_a_run(name: &str) -> bool {
    name.strip_prefix("BRIGADE_").is_some_and(|rest| rest == "RUN_ID" || rest.ends_with("_RUN_ID"))
}

/// How long the tree of a killed keeper has to end.
const GRACE_WITHOUT_KEEPER: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) exit: Exit,
    pub(crate) usage: Usage,
    pub(crate) outlived: u32,
    pub(crate) survivors: Vec<ProcessIdentity>,
    /// The main process ended.
    pub(crate) exited: bool,
    /// Every process has ended or counts as a survivor.
    pub(crate) finished: bool,
    /// The variable `NAME=value` that identifies processes of the run.
    marker: Option<String>,
    /// The limits of the caller before the program ran.
    pub(crate) limits: OwnLimits,
}

impl Progress {
    /// Starts to watch. Call it before the program starts, because the program may lower the limits of the caller.
    pub(crate) fn new(spec: &Spec) -> Progress {
        let marker = spec.environment.iter().find_map(|(name, value)| {
            let (name, value) = (name.to_str()?, value.to_str()?);
            (names_a_run(name) && !value.is_empty()).then(|| format!("{name}={value}"))
        });
        Progress {
            marker,
            limits: OwnLimits::now(),
            exit: Exit::Unknown,
            usage: Usage::default(),
            outlived: 0,
            survivors: Vec::new(),
            exited: false,
            finished: false,
        }
    }

    /// Reads all available reports.
    pub(crate) fn listen(&mut self, keeper: &Keeper) -> io::Result<()> {
        while !self.finished {
            match keeper.next()? {
                KeeperEvent::Nothing => return Ok(()),
                KeeperEvent::Report(report) => self.take(report, keeper),
                KeeperEvent::Gone => {
                    // The keeper was killed. The kernel then kills the main process. The rest of its session, and every
                    // process with the marker of the run, can still be found.
                    self.limits.restore();
                    let marker = self.marker.as_deref();
                    let ended = kill_without_keeper(keeper.identity(), marker, GRACE_WITHOUT_KEEPER);
                    self.survivors = ended.survivors;
                    self.finished = true;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, report: Report, keeper: &Keeper) {
        match report {
            Report::Exited { status, usage } => {
                self.exit = exit_of(status);
                self.usage = usage;
                self.exited = true;
            }
            Report::Survivor { pid, start_time } => {
                let boot = keeper.identity().boot_id();
                self.survivors.extend(ProcessIdentity::from_record(pid, start_time, boot));
            }
            Report::Finished { outlived } => {
                self.limits.restore();
                self.outlived = outlived;
                self.finished = true;
            }
            // This is always the first report, which was read at the start.
            Report::Started { .. } | Report::Failed { .. } => {}
        }
    }
}
