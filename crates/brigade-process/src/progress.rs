//! What the caller knows of a run so far, from the keeper's reports.

use std::io;
use std::time::Duration;

use crate::background::kill_known_session;
use crate::keeper::{Heard, Keeper, Report, exit_of};
use crate::{Exit, ProcessIdentity, Usage};

/// How long the tree of a keeper that was killed has to end.
const GRACE_WITHOUT_KEEPER: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) exit: Exit,
    pub(crate) usage: Usage,
    pub(crate) outlived: u32,
    pub(crate) survivors: Vec<ProcessIdentity>,
    /// The main process ended.
    pub(crate) exited: bool,
    /// Everything ended, or is a survivor.
    pub(crate) finished: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            exit: Exit::Unknown,
            usage: Usage::default(),
            outlived: 0,
            survivors: Vec::new(),
            exited: false,
            finished: false,
        }
    }

    /// Takes in every report that is there.
    pub(crate) fn listen(&mut self, keeper: &Keeper) -> io::Result<()> {
        while !self.finished {
            match keeper.next()? {
                Heard::Nothing => return Ok(()),
                Heard::Report(report) => self.take(report, keeper),
                Heard::Gone => {
                    // Somebody killed the keeper. The kernel then kills the main process; the rest of its session
                    // can still be found.
                    self.survivors = kill_known_session(keeper.identity(), GRACE_WITHOUT_KEEPER).survivors;
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
                self.outlived = outlived;
                self.finished = true;
            }
            // Only ever the first report, which was read at the start.
            Report::Started { .. } | Report::Failed { .. } => {}
        }
    }
}
