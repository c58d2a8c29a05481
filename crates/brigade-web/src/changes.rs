//! Finds what any process changed in the workspace.
//!
//! Looks at the marks of a few files 25 times a second. Only when one of them differs, reads what is open now, and
//! compares it with what was open before.

use std::collections::BTreeMap;
use std::time::Duration;

use brigade::core::{IdPrefix, RunId};
use brigade::paths::{RUNS, RUNTIMES};
use brigade::records::OpenCall;
use brigade::records::RuntimeStatus;
use brigade::report::{WaitingKind, WaitingRow};
use brigade::{CancelToken, Error, RunStatus, Workspace};

use crate::events::{Change, ChangeKind, Events};

/// How often files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(40);

/// How many of the newest runs are compared.
const RUNS_COMPARED: usize = 50;

/// Of how many calls that are no longer open the end is looked up.
const MAX_ENDS: usize = 50;

/// The files that change with runs and runtimes, beside those of what waits.
const FILES: [&str; 3] = [RUNS, RUNTIMES, ".brigade/tools/runtime"];

/// The state of a thing: its status and revision.
type OpenThings = BTreeMap<(ChangeKind, String), (String, u64)>;

/// Tells of changes until `stop` is cancelled.
pub(crate) fn follow(workspace: &Workspace, events: &Events, stop: &CancelToken) {
    let (watch, daily) = (Watch { workspace }, workspace.daily());
    let mut marks = daily.marks(FILES);
    let mut known = OpenThings::new();
    watch.update(&mut known, |_, _| {});
    while !stop.wait(LOOK_INTERVAL) {
        let now = daily.marks(FILES);
        if now == marks {
            continue;
        }
        marks = now;
        watch.update(&mut known, |before, now| events.add(watch.changes(before, now)));
    }
}

/// A part of what is open: its kinds, and how it is read.
type Part<'w> = (&'static [ChangeKind], fn(&Watch<'w>) -> Result<OpenThings, Error>);

struct Watch<'w> {
    workspace: &'w Workspace,
}

impl<'w> Watch<'w> {
    /// Reads everything that is open, first what people wait for. Tells of each part as soon as it is read. What cannot
    /// be read stays as it was.
    fn update(&self, known: &mut OpenThings, mut report: impl FnMut(&OpenThings, &OpenThings)) {
        let parts: [Part<'w>; 4] = [
            (&[ChangeKind::Call], Watch::calls),
            (&[ChangeKind::Checkpoint, ChangeKind::Decision], Watch::questions),
            (&[ChangeKind::Run], Watch::runs),
            (&[ChangeKind::Runner, ChangeKind::Task], Watch::work),
        ];
        for (kinds, read) in parts {
            let now = match read(self) {
                Ok(now) => now,
                Err(error) => {
                    tracing::debug!(%error, "changes cannot be read");
                    continue;
                }
            };
            let before = known.extract_if(.., |(kind, _), _| kinds.contains(kind)).collect();
            report(&before, &now);
            known.extend(now);
        }
    }

    /// Returns the open calls.
    fn calls(&self) -> Result<OpenThings, Error> {
        let open = self.workspace.daily().open_calls()?.into_iter();
        let row =
            |call: OpenCall| ((ChangeKind::Call, call.id), (call.status.as_str().to_owned(), call.revision));
        Ok(open.map(row).collect())
    }

    fn runs(&self) -> Result<OpenThings, Error> {
        let newest = self.workspace.runs().newest(RUNS_COMPARED)?;
        let row = |(id, status): (RunId, RunStatus)| {
            ((ChangeKind::Run, id.to_string()), (status.as_str().to_owned(), 0))
        };
        Ok(newest.into_iter().map(row).collect())
    }

    /// Returns what waits and is not a call.
    fn questions(&self) -> Result<OpenThings, Error> {
        let rows = self.workspace.work().waiting()?.into_iter();
        let row = |row: WaitingRow| {
            let kind = match row.kind {
                WaitingKind::Approval | WaitingKind::Plan => return None,
                WaitingKind::Checkpoint => ChangeKind::Checkpoint,
                WaitingKind::Decision | WaitingKind::Question => ChangeKind::Decision,
            };
            Some(((kind, row.id), ("waiting".to_owned(), 0)))
        };
        Ok(rows.filter_map(row).collect())
    }

    /// Returns the local runtimes, and the services and tasks of the kitchen.
    fn work(&self) -> Result<OpenThings, Error> {
        let list = self.workspace.runtimes().list()?;
        let row =
            |runtime: &RuntimeStatus| ((ChangeKind::Runner, runtime.id.clone()), (runtime.state.clone(), 0));
        let mut known: OpenThings = list.summary.runtimes.iter().map(row).collect();
        let kitchen = self.workspace.kitchen();
        let names = if kitchen.is_there()? { kitchen.names()? } else { Vec::new() };
        for prd in names {
            // A PRD with errors has no tasks.
            let Ok(status) = kitchen.status(Some(&self.workspace.root().join(&prd.path))) else { continue };
            for task in status.tasks {
                let key = (ChangeKind::Task, format!("{}/{}", prd.name, task.id));
                known.insert(key, (task.status.as_str().to_owned(), task.attempts));
            }
            let service = if status.running { "running" } else { "stopped" };
            known.insert((ChangeKind::Runner, format!("kitchen/{}", prd.name)), (service.to_owned(), 0));
        }
        Ok(known)
    }

    /// Compares what was known with what is known now.
    fn changes(&self, before: &OpenThings, now: &OpenThings) -> Vec<Change> {
        let mut changes = Vec::new();
        for ((kind, id), state) in now {
            if before.get(&(*kind, id.clone())) != Some(state) {
                let (status, revision) = state.clone();
                changes.push(Change { kind: *kind, id: id.clone(), status, revision });
            }
        }
        let mut looked_up = 0;
        for (kind, id) in before.keys().filter(|key| !now.contains_key(*key)) {
            let (status, revision) = match kind {
                ChangeKind::Call if looked_up < MAX_ENDS => {
                    looked_up += 1;
                    self.end_of(id)
                }
                // Older runs are only no longer among the newest.
                ChangeKind::Run => continue,
                ChangeKind::Call => ("ended".to_owned(), 0),
                ChangeKind::Checkpoint | ChangeKind::Decision => ("answered".to_owned(), 0),
                ChangeKind::Runner | ChangeKind::Task => ("gone".to_owned(), 0),
            };
            changes.push(Change { kind: *kind, id: id.clone(), status, revision });
        }
        changes
    }

    /// Returns the status and revision of a call that is no longer open.
    fn end_of(&self, id: &str) -> (String, u64) {
        match self.workspace.calls().show_revision(IdPrefix::new(id)) {
            Ok((report, revision)) => (report.call.status.as_str().to_owned(), revision),
            Err(_) => ("ended".to_owned(), 0),
        }
    }
}
