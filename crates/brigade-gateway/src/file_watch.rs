//! Watches the files that listings depend on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brigade::paths::{CATALOG, GATEWAY, PACKAGE, PINS, POLICY, PROFILES, TARGETS, TRUSTED};
use brigade::{FileVersion, Mark, Workspace};

use crate::blocking::blocking;
use crate::gateway::{Gateway, Stamp};

/// The git index. It shows whether git tracks the policy.
const GIT_INDEX: &str = ".git/index";

/// How often files are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long a file must be unchanged before its times can prove that it did not change.
const SETTLED: Duration = Duration::from_millis(100);

/// The files that define the agents.
const AGENTS: [&str; 2] = [GATEWAY, PROFILES];

/// The files of a project that narrows the gateway of the user.
const OF_PROJECT: [&str; 3] = [POLICY, GIT_INDEX, TRUSTED];

/// Returns the versions of the files that decide about listings, those of the agents first.
pub(crate) fn stamp(workspace: &Workspace) -> Stamp {
    let others = [CATALOG, POLICY, GIT_INDEX, PINS, PACKAGE, TRUSTED];
    let mut stamp = stamp_of(workspace.root(), AGENTS.iter().chain(&others).chain(&TARGETS));
    stamp.extend(workspace.project_root().into_iter().flat_map(|root| stamp_of(root, &OF_PROJECT)));
    stamp
}

/// Returns the versions of the files that define the agents.
pub(crate) fn agents_stamp(workspace: &Workspace) -> Stamp {
    stamp_of(workspace.root(), &AGENTS)
}

/// Returns the part of a [`stamp`] that [`agents_stamp`] returns.
pub(crate) fn of_agents(stamp: &Stamp) -> &[Option<FileVersion>] {
    &stamp[..AGENTS.len()]
}

fn stamp_of<'p>(root: &Path, files: impl IntoIterator<Item = &'p &'p str>) -> Stamp {
    files.into_iter().map(|path| FileVersion::at(&root.join(path))).collect()
}

/// Returns whether no file changed recently.
pub(crate) fn is_settled(stamp: &[Option<FileVersion>]) -> bool {
    stamp.iter().flatten().all(|file| file.is_settled(SETTLED))
}

/// Records the versions of the files of all views, and returns whether one changed since the last check.
fn files_moved(gateway: &Gateway, known: &mut HashMap<PathBuf, Option<Mark>>) -> bool {
    let mut moved = false;
    let started_from = gateway.started_from();
    for path in gateway.files() {
        // A directory counts as the same while its files come and go.
        let now = Mark::of_entry(&gateway.workspace.root().join(&path));
        let was_there = started_from.get(&path);
        moved |= match known.insert(path, now) {
            Some(before) => before != now,
            // The view was made before this first check.
            None => was_there.is_some_and(|was_there| *was_there != now.is_some()),
        };
    }
    moved
}

/// Reads gateway.toml again when it changes, and notifies sessions whose lists changed, until the server ends.
pub(crate) async fn follow(gateway: Arc<Gateway>) {
    let mut before = stamp(&gateway.workspace);
    let mut files = HashMap::new();
    let mut is_even = false;
    let mut pending = false;
    let mut reported = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = gateway.stop.cancelled() => return,
        }
        gateway.relist();
        gateway.end_requested().await;
        let now = stamp(&gateway.workspace);
        // There may be many files, so they are checked half as often.
        is_even = !is_even;
        if is_even {
            let (gateway_of, mut known) = (gateway.clone(), std::mem::take(&mut files));
            let moved;
            (moved, files) = blocking(move || (files_moved(&gateway_of, &mut known), known)).await;
            if moved {
                gateway.forget_views();
                pending = true;
                continue;
            }
        }
        if now != before {
            before = now;
            pending = true;
            // A broken file may be correct once its writer is done, so the error is not reported yet.
            drop(gateway.reload());
            continue;
        }
        if !pending {
            continue;
        }
        // Nothing changed since the last check, so a batch of changes is reported once.
        pending = false;
        if let Err(error) = gateway.reload() {
            gateway.say(&format!("the last good gateway.toml stays in use: {error}"));
        }
        gateway.changed.notify_waiters();
        gateway.notify_listeners().await;
        let refusal = gateway.refusal().await;
        refusal.iter().filter(|_| refusal != reported).for_each(|refusal| gateway.say(refusal));
        reported = refusal;
    }
}
