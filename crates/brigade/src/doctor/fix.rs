//! Mending what can be mended without asking: nothing that holds anybody's words is changed.

use std::collections::BTreeSet;

use brigade_core::NextStep;
use brigade_queue::{Damage, Mending};
use brigade_runtime::{Checks, RuntimeState, StopOutcome, Supervisor};

use super::modes::Which;
use super::runtimes::RuntimesFile;
use crate::doctor::Doctor;
use crate::error::{Error, ErrorKind};
use crate::exit::Exit;
use crate::gather;
use crate::inbox;
use crate::inbox::INBOX;
use crate::incoming;
use crate::litter;
use crate::report::{Fix, FixReport, Report as _};
use crate::room::{CALLS, Room};
use crate::runtimes;
use crate::state;

/// What was done so far.
struct Fixes {
    dry_run: bool,
    fixed: Vec<Fix>,
    failed: Vec<Fix>,
    /// How the worst failure ends the command.
    worst: Exit,
}

impl Fixes {
    /// Does one thing, unless it is only looked at what would be done.
    fn one(
        &mut self,
        kind: &'static str,
        path: String,
        detail: String,
        act: impl FnOnce() -> Result<(), Error>,
    ) {
        if !self.dry_run
            && let Err(error) = act()
        {
            self.worst = self.worst.max(error.exit());
            self.failed.push(Fix { kind, path, detail: error.to_string() });
        } else {
            self.fixed.push(Fix { kind, path, detail });
        }
    }
}

impl Doctor {
    /// Mends what needs no decision: modes of the state that are too wide, pid files of processes that are gone, locks
    /// that the Python program left behind, and lines of the queue and the inbox that cannot be read, which move to a
    /// quarantine.
    ///
    /// With `dry_run` it says what it would do. One thing that cannot be mended does not keep it from the others.
    ///
    /// # Errors
    /// When the disk fails while looking.
    pub fn fix(&self, dry_run: bool) -> Result<FixReport, Error> {
        let mut fixes = Fixes { dry_run, fixed: Vec::new(), failed: Vec::new(), worst: Exit::Done };
        fix_modes(&self.room, &mut fixes);
        fix_pid_files(&self.room, &mut fixes)?;
        fix_locks(&self.room, &mut fixes);
        fix_queue(&self.room, &mut fixes)?;
        fix_inbox(&self.room, &mut fixes)?;
        let Fixes { fixed, failed, worst, .. } = fixes;
        Ok(FixReport {
            schema: FixReport::SCHEMA,
            target: self.room.target(),
            dry_run,
            fixed_count: fixed.len(),
            failed_count: failed.len(),
            next_command: if dry_run && !fixed.is_empty() {
                self.room.spelled(NextStep::Fix)
            } else {
                self.room.spelled(NextStep::Diagnose)
            },
            fixed,
            failed,
            worst,
        })
    }
}

fn fix_modes(room: &Room, fixes: &mut Fixes) {
    // What lies in a folder goes first: once that is closed, it would not be found again.
    for wide in super::modes::wide_modes(room, Which::All).into_iter().rev() {
        let detail = format!("closed to others (mode {:04o})", wide.closed);
        fixes.one("mode", wide.path.to_string(), detail, || Ok(room.fs.set_mode(&wide.path, wide.closed)?));
    }
}

fn fix_pid_files(room: &Room, fixes: &mut Fixes) -> Result<(), Error> {
    let config = gather::config(room)?;
    let found = super::runtimes::find_runtimes(room, &config, Checks::Skip)?;
    let RuntimesFile::Read(read) = &found.file else { return Ok(()) };
    let host = runtimes::host_of_runtimes(room, &config.policy)?;
    let supervisor = Supervisor::new(&*room.fs, &*room.env.clock, &host);
    for facts in found.facts.iter().filter(|facts| facts.state == RuntimeState::Stale) {
        let Some(runtime) = read.runtime(&facts.id) else { continue };
        let detail = format!("removed what the ended process of runtime {} left", facts.id);
        fixes.one("pid-file", facts.pid_path.clone(), detail, || {
            // Started meanwhile by somebody else, it must not be stopped.
            let again = supervisor.facts_of_one(runtime, Checks::Skip, None);
            if again.state != RuntimeState::Stale {
                return Ok(());
            }
            match supervisor.stop(runtime, room.env.lock_timeout) {
                Ok(StopOutcome::Stopped { .. } | StopOutcome::NotRunning { .. }) => Ok(()),
                Ok(StopOutcome::Refused { issue }) => Err(Error::new(ErrorKind::Refused, issue.detail)),
                Ok(StopOutcome::Survived { .. }) => Err(Error::new(
                    ErrorKind::Refused,
                    format!("runtime {} could not be cleaned up", facts.id),
                )),
                Err(error) => Err(Error::new(ErrorKind::Environment, error.to_string())),
            }
        });
    }
    Ok(())
}

fn fix_locks(room: &Room, fixes: &mut Fixes) {
    for path in super::locks::left_locks(room) {
        let detail = "removed a lock that nobody holds any more".to_owned();
        fixes.one("lock", path.to_string(), detail, || super::locks::remove_lock(room, &path));
    }
}

fn fix_queue(room: &Room, fixes: &mut Fixes) -> Result<(), Error> {
    let Some(journal) = room.journal() else { return Ok(()) };
    let queue = room.queue();
    let (damaged, lost, checkpoints, left) = {
        let view = queue.read()?;
        let check = journal.check()?;
        let is_mended = |damage: &&Damage| damage.mending == Mending::SetAside;
        let has_receipt = |path: &&String| !check.lost_receipts.contains(path);
        // Of both kinds, some are in the other list, too.
        let mut temporary: BTreeSet<String> = check.temporary.iter().cloned().collect();
        temporary.extend(litter::left_temporary(room)?.iter().map(ToString::to_string));
        (
            check.damage.iter().filter(is_mended).count(),
            check.forgotten_receipts.iter().filter(has_receipt).count(),
            view.checkpoints()?.errors.iter().filter(|bad| bad.is_recorded).count(),
            temporary.len() + incoming::left_incoming(room, &view)?.len(),
        )
    };
    if damaged == 0 && lost == 0 && checkpoints == 0 && left == 0 {
        return Ok(());
    }
    let detail = format!(
        "set aside what cannot be read ({damaged}), brought calls back from receipts ({lost}), wrote \
         checkpoints anew ({checkpoints}) and removed what crashes left ({left})"
    );
    fixes.one("queue", CALLS.to_owned(), detail, || state::state_compact(room).map(drop));
    Ok(())
}

fn fix_inbox(room: &Room, fixes: &mut Fixes) -> Result<(), Error> {
    let damaged = inbox::file::read_inbox(room)?.unreadable();
    if 0 < damaged {
        let detail = format!("set aside what cannot be read ({damaged})");
        fixes.one("inbox", INBOX.to_owned(), detail, || inbox::file::change_inbox(room, |_| ()).map(drop));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_failure_ends_the_command() {
        let check = |kinds: &[ErrorKind], expect: Exit| {
            let mut fixes =
                Fixes { dry_run: false, fixed: Vec::new(), failed: Vec::new(), worst: Exit::Done };
            for kind in kinds {
                fixes.one("queue", String::new(), String::new(), || Err(Error::new(*kind, "no")));
            }
            assert_eq!((fixes.failed.len(), fixes.worst), (kinds.len(), expect));
        };
        check(&[], Exit::Done);
        check(&[ErrorKind::Refused], Exit::Refused);
        // A full disk is one, whatever else was refused.
        check(&[ErrorKind::Environment, ErrorKind::Refused], Exit::Environment);
    }
}
