//! Finds and ends a process tree through `/proc`, without being its parent.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::tree::{Entry, Table, signal};
use crate::{KillMethod, ProcessIdentity};

use super::{KILL_LIMIT, TreeEnd};

/// The state of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The root counts only while it is alive.
    Checked,
    /// The root was alive a moment ago.
    JustEnded,
}

/// The identity of a process: number and start time.
type Key = (i32, u64);

struct Hunt<'a> {
    root: Key,
    marker: Option<&'a str>,
    /// The process whose children are members.
    adopter: Option<&'a ProcessIdentity>,
    /// Whether the number of the root still identifies its session and group.
    session: bool,
    /// All members ever found. They stay members after their parents end.
    known: HashSet<Key>,
    table: Table,
}

pub(super) fn kill_tree(
    identity: &ProcessIdentity,
    adopter: Option<&ProcessIdentity>,
    marker: Option<&str>,
    grace: Duration,
    root: Root,
) -> TreeEnd {
    let mut ended =
        TreeEnd { signalled: 0, killed: 0, survivors: Vec::new(), method: KillMethod::ProcessTree };
    if !identity.is_this_boot() {
        return ended;
    }
    let Ok(pid) = i32::try_from(identity.pid()) else {
        return ended;
    };
    let mut hunt = Hunt {
        root: (pid, identity.start_time()),
        marker,
        adopter,
        session: root == Root::JustEnded || identity.is_alive(),
        known: HashSet::new(),
        table: Table::with_room(),
    };
    let mut signalled = HashSet::new();
    let until = Instant::now().checked_add(grace);
    loop {
        let living = hunt.look();
        let mut fresh = Vec::new();
        for entry in &living {
            if signalled.insert(key(entry)) {
                fresh.push(*entry);
            }
        }
        for entry in &fresh {
            signal(entry, Signal::TERM);
            signal(entry, Signal::CONT);
        }
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        let Some(first) = living.first().filter(|_| !left.is_zero()) else {
            break;
        };
        wait_for(first, left.min(Duration::from_millis(50)));
    }
    let mut killed = HashSet::new();
    let until = Instant::now() + KILL_LIMIT;
    loop {
        let living = hunt.look();
        for entry in &living {
            killed.insert(key(entry));
            signal(entry, Signal::KILL);
        }
        let left = until.saturating_duration_since(Instant::now());
        match living.first() {
            None => break,
            Some(_) if left.is_zero() => {
                ended.survivors = living.iter().filter_map(|entry| survivor(entry, identity)).collect();
                break;
            }
            Some(first) => wait_for(first, left.min(Duration::from_millis(10))),
        }
    }
    ended.killed = killed.len() as u32;
    ended.signalled = signalled.union(&killed).count() as u32;
    ended
}

impl Hunt<'_> {
    /// Returns all living members.
    fn look(&mut self) -> Vec<Entry> {
        self.table.read();
        let me = std::process::id() as i32;
        let (root, session, marker, known) = (self.root, self.session, self.marker, &self.known);
        // Checked after the table was read: while the process lives, its number is unique.
        let adopter = self.adopter.filter(|adopter| adopter.is_alive()).map(|adopter| adopter.pid() as i32);
        let chosen = |entry: &Entry| {
            let own = session && (entry.stat.session == root.0 || entry.stat.group == root.0);
            let younger = root.1 <= entry.stat.start_time;
            entry.pid != me
                && (key(entry) == root
                    || known.contains(&key(entry))
                    || adopter == Some(entry.stat.parent)
                    || younger && (own || marker.is_some_and(|marker| carries(entry.pid, marker))))
        };
        self.table.mark(chosen);
        let living: Vec<Entry> =
            self.table.living().filter(|entry| entry.pid != me && 1 < entry.pid).copied().collect();
        self.known.extend(living.iter().map(key));
        living
    }
}

fn key(entry: &Entry) -> Key {
    (entry.pid, entry.stat.start_time)
}

fn survivor(entry: &Entry, like: &ProcessIdentity) -> Option<ProcessIdentity> {
    ProcessIdentity::from_record(entry.pid as u32, entry.stat.start_time, like.boot_id()).ok()
}

/// Returns whether the process started with this `NAME=value` in its environment.
fn carries(pid: i32, marker: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|&b| b == 0).any(|pair| pair == marker.as_bytes()))
}

/// Waits until this process ends, up to a limit.
fn wait_for(entry: &Entry, at_most: Duration) {
    let held = Pid::from_raw(entry.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    let timeout = Timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos() as _ };
    match held {
        Some(Ok(held)) => {
            let _ = poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&timeout));
        }
        Some(Err(rustix::io::Errno::NOSYS)) => {
            let _ = poll(&mut [], Some(&timeout));
        }
        Some(Err(_)) | None => {}
    }
}
