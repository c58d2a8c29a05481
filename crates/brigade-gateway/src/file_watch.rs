//! Sees when a listing may have changed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use brigade::paths::{CATALOG, GATEWAY, PACKAGE, PINS, POLICY, PROFILES, TARGETS};
use brigade::{FileVersion, Mark, Workspace};

use crate::blocking::blocking;
use crate::gateway::{Gateway, Stamp};

/// It says whether git tracks the policy.
const GIT_INDEX: &str = ".git/index";

/// How often files are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// How long a file must have been left alone before its times tell whether it changed.
const SETTLED: Duration = Duration::from_millis(100);

/// The files that say who the agents are.
const AGENTS: [&str; 2] = [GATEWAY, PROFILES];

/// Returns what the files look like that decide about listings, those of the agents first.
pub(crate) fn stamp(workspace: &Workspace) -> Stamp {
    let others = [CATALOG, POLICY, GIT_INDEX, PINS, PACKAGE];
    looked_at(workspace, AGENTS.iter().chain(&others).chain(&TARGETS))
}

/// Returns what the files look like that say who the agents are.
pub(crate) fn agents_stamp(workspace: &Workspace) -> Stamp {
    looked_at(workspace, &AGENTS)
}

/// Returns the part of a [`stamp`] that [`agents_stamp`] returns alone.
pub(crate) fn of_agents(stamp: &Stamp) -> &[Option<FileVersion>] {
    &stamp[..AGENTS.len()]
}

fn looked_at<'p>(workspace: &Workspace, files: impl IntoIterator<Item = &'p &'p str>) -> Stamp {
    files.into_iter().map(|path| FileVersion::at(&workspace.root().join(path))).collect()
}

/// Returns whether all files have been left alone for a while.
pub(crate) fn is_settled(stamp: &[Option<FileVersion>]) -> bool {
    stamp.iter().flatten().all(|seen| seen.is_settled(SETTLED))
}

/// Notes what the files of all listings look like, and returns whether one moved since the last look.
fn files_moved(gateway: &Gateway, known: &mut HashMap<PathBuf, Option<Mark>>) -> bool {
    let mut moved = false;
    let started_from = gateway.started_from();
    for path in gateway.files() {
        // Files come and go in a directory, and it stays the same.
        let now = Mark::of_entry(&gateway.workspace.root().join(&path));
        let was_there = started_from.get(&path);
        moved |= match known.insert(path, now) {
            Some(before) => before != now,
            // The listing was made before this first look.
            None => was_there.is_some_and(|was_there| *was_there != now.is_some()),
        };
    }
    moved
}

/// Reads gateway.toml again when it changes, and tells sessions when their listing did, until the server ends.
pub(crate) async fn follow(gateway: Arc<Gateway>) {
    let mut before = stamp(&gateway.workspace);
    let mut files = HashMap::new();
    let mut is_even = false;
    let mut pending = false;
    loop {
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = gateway.stop.cancelled() => return,
        }
        gateway.relist();
        gateway.end_requested().await;
        let now = stamp(&gateway.workspace);
        // There may be many files, so they are looked at half as often.
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
            // What is broken now may be right when its writer is done.
            drop(gateway.reload());
            continue;
        }
        if !pending {
            continue;
        }
        // Nothing moved since the last look, so a batch of changes is reported once.
        pending = false;
        if let Err(error) = gateway.reload() {
            gateway.say(&format!("the last good gateway.toml stays in use: {error}"));
        }
        gateway.changed.notify_waiters();
        gateway.notify_listeners().await;
    }
}
