//! Fixes that need no decision. No text that a user wrote is lost.

use brigade_core::words;
use brigade_macros::part;
use std::collections::BTreeSet;

use brigade_call::CALLS;
use brigade_fs::Fs;
use brigade_queue::{Damage, DamageRepair};
use brigade_runtime::{Checks, RuntimeState, StopOutcome};
use brigade_workspace::{Config, WorkspaceContext};

use crate::doctor::error::UpkeepError;
use crate::doctor::incoming::left_incoming;
use crate::doctor::locks::{left_locks, remove_lock};
use crate::doctor::modes::{ListExtent, wide_modes};
use crate::doctor::temporary::left_temporary;
use crate::inbox::{INBOX, InboxStore};
use crate::runtimes::host::{RuntimesFile, find_runtimes, machine_of};
use crate::state::compact::compact;

/// One fix, done or planned.
#[part(PartialEq, Eq)]
pub struct Fix {
    /// The object of the fix.
    pub kind: FixKind,
    /// The file or directory, relative to the workspace.
    pub path: String,
    /// The action, or why it failed, as a sentence without a final period.
    pub detail: String,
}

words! {
    /// The object of a fix.
    FixKind {
        /// The mode of a file or directory.
        Mode = "mode",
        /// The pid file of an ended process.
        PidFile = "pid-file",
        /// A lock that v0.30 left.
        Lock = "lock",
        /// The queue.
        Queue = "queue",
        /// The inbox.
        Inbox = "inbox",
    }
}

/// The fixes of one pass.
#[derive(Debug, Default)]
pub struct Fixes {
    dry_run: bool,
    /// Fixes that were done, or would be done.
    pub fixed: Vec<Fix>,
    /// Fixes that failed, with the reason.
    pub failed: Vec<(Fix, UpkeepError)>,
}

impl Fixes {
    /// Does one fix, or only records it in a dry run.
    fn one(
        &mut self,
        kind: FixKind,
        path: String,
        detail: String,
        act: impl FnOnce() -> Result<(), UpkeepError>,
    ) {
        let fix = Fix { kind, path, detail };
        match if self.dry_run { Ok(()) } else { act() } {
            Ok(()) => self.fixed.push(fix),
            Err(error) => self.failed.push((fix, error)),
        }
    }
}

/// Fixes what needs no decision.
///
/// Narrows file modes that are too open. Removes pid files of ended processes and locks that v0.30 left. Moves
/// unreadable lines of the queue and the inbox to a quarantine file.
///
/// A dry run changes nothing and lists the same fixes. A failed fix does not stop the others.
///
/// # Errors
/// Returns file, queue and runtime errors while looking for things to fix.
pub fn fix(context: &WorkspaceContext, config: &Config, dry_run: bool) -> Result<Fixes, UpkeepError> {
    let mut fixes = Fixes { dry_run, ..Fixes::default() };
    fix_modes(&*context.fs, &mut fixes);
    fix_pid_files(context, config, &mut fixes)?;
    fix_locks(context, &mut fixes);
    fix_queue(context, config, &mut fixes)?;
    fix_inbox(context, &mut fixes)?;
    Ok(fixes)
}

fn fix_modes(fs: &dyn Fs, fixes: &mut Fixes) {
    // The contents of a directory go first: `wide_modes` does not look into a closed directory.
    for wide in wide_modes(fs, ListExtent::All).into_iter().rev() {
        let detail = format!("closed to others (mode {:04o})", wide.closed);
        fixes.one(FixKind::Mode, wide.path.to_string(), detail, || Ok(fs.set_mode(&wide.path, wide.closed)?));
    }
}

fn fix_pid_files(context: &WorkspaceContext, config: &Config, fixes: &mut Fixes) -> Result<(), UpkeepError> {
    let found = find_runtimes(context, config, Checks::Skip)?;
    let RuntimesFile::Read(read) = &found.file else { return Ok(()) };
    let machine = machine_of(context.host(), &config.policy)?;
    let supervisor = machine.supervisor();
    for facts in found.facts.iter().filter(|facts| facts.state == RuntimeState::Stale) {
        let Some(runtime) = read.runtime(&facts.id) else { continue };
        let detail = format!("removed what the ended process of runtime {} left", facts.id);
        fixes.one(FixKind::PidFile, facts.pid_path.clone(), detail, || {
            // Another process may have started it meanwhile; then it must not be stopped.
            let again = supervisor.facts_of_one(runtime, Checks::Skip, None);
            if again.state != RuntimeState::Stale {
                return Ok(());
            }
            match supervisor.stop(runtime, context.timeout)? {
                StopOutcome::Stopped { .. } | StopOutcome::NotRunning { .. } => Ok(()),
                StopOutcome::Refused { issue } => Err(UpkeepError::LeftAlone(issue.detail)),
                StopOutcome::Survived { .. } => Err(UpkeepError::NotCleared(facts.id.clone())),
            }
        });
    }
    Ok(())
}

fn fix_locks(context: &WorkspaceContext, fixes: &mut Fixes) {
    for path in left_locks(&*context.fs, context.now()) {
        let detail = "removed a lock that is no longer held".to_owned();
        fixes.one(FixKind::Lock, path.to_string(), detail, || Ok(remove_lock(&*context.fs, &path)?));
    }
}

fn fix_queue(context: &WorkspaceContext, config: &Config, fixes: &mut Fixes) -> Result<(), UpkeepError> {
    let Some(journal) = context.journal() else { return Ok(()) };
    let (damaged, lost, checkpoints, left) = {
        let queue = context.queue();
        let view = queue.read()?;
        let check = journal.check()?;
        let is_mended = |damage: &&Damage| damage.mending == DamageRepair::SetAside;
        let has_receipt = |path: &&String| !check.lost_receipts.contains(path);
        // The two lists overlap.
        let mut temporary: BTreeSet<String> = check.temporary.iter().cloned().collect();
        temporary.extend(left_temporary(&*context.fs, &config.catalog).iter().map(ToString::to_string));
        (
            check.damage.iter().filter(is_mended).count(),
            check.forgotten_receipts.iter().filter(has_receipt).count(),
            view.checkpoints()?.errors.iter().filter(|bad| bad.is_recorded).count(),
            temporary.len() + left_incoming(&*context.fs, context.now(), &view)?.len(),
        )
    };
    if damaged == 0 && lost == 0 && checkpoints == 0 && left == 0 {
        return Ok(());
    }
    let detail = format!(
        "set aside what cannot be read ({damaged}), brought calls back from receipts ({lost}), wrote \
         checkpoints anew ({checkpoints}) and removed what crashes left ({left})"
    );
    fixes.one(FixKind::Queue, CALLS.to_owned(), detail, || compact(context, config).map(drop));
    Ok(())
}

fn fix_inbox(context: &WorkspaceContext, fixes: &mut Fixes) -> Result<(), UpkeepError> {
    let inbox = InboxStore::new(context);
    let damaged = inbox.read()?.unreadable();
    if 0 < damaged {
        let detail = format!("set aside what cannot be read ({damaged})");
        fixes.one(FixKind::Inbox, INBOX.to_owned(), detail, || Ok(inbox.change(|_| ()).map(drop)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_fix_does_not_stop_others() {
        let fail = || Err(UpkeepError::NotCleared("r".to_owned()));
        let mut fixes = Fixes::default();
        fixes.one(FixKind::Queue, String::new(), String::new(), fail);
        fixes.one(FixKind::Inbox, String::new(), String::new(), || Ok(()));
        assert_eq!((fixes.fixed.len(), fixes.failed.len()), (1, 1));
        assert_eq!(fixes.failed[0].1.to_string(), "runtime r could not be cleaned up");
        let mut dry = Fixes { dry_run: true, ..Fixes::default() };
        dry.one(FixKind::Queue, String::new(), String::new(), fail);
        assert_eq!((dry.fixed.len(), dry.failed.len()), (1, 0));
    }
}
