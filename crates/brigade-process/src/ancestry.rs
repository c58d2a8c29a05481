//! Detects whether this process descends from a run.
//!
//! Every program of a run is a descendant of its keeper, because the keeper adopts orphans. The check reads the process
//! tree, not a variable that a program could change. Keepers have a reserved process name. A program that takes this
//! name only locks itself out.

use std::path::Path;

#[cfg(target_os = "linux")]
use crate::private::owner_of;

/// The process name of keepers.
#[cfg(target_os = "linux")]
const KEEPER: &str = "brigade-keeper";

/// The maximum number of ancestors to read.
#[cfg(target_os = "linux")]
const GENERATIONS: usize = 1024;

/// Returns whether a run started this process, at any depth, unless `workspace` is in that run's private directory.
///
/// Linux only; elsewhere the answer is always no. A process that cannot read its own entry under `/proc` counts as
/// started by a run, because its ancestors may be hidden.
#[cfg(target_os = "linux")]
pub fn is_inside_run(workspace: &Path) -> bool {
    let mut pid = std::process::id();
    if !std::fs::read("/proc/self/stat").is_ok_and(|stat| is_of(&stat, pid)) {
        return true;
    }
    for _ in 0..GENERATIONS {
        let Some((name, parent)) = parent_of(pid) else { return false };
        // The directory of a run is named after the process that started it: the parent of its keeper.
        let is_own = || workspace.ancestors().filter_map(owner_of).any(|owner| owner == parent);
        if name == KEEPER && !is_own() {
            return true;
        }
        pid = parent;
    }
    false
}

/// Always returns false: this system has no way to find out.
#[cfg(not(target_os = "linux"))]
pub fn is_inside_run(_: &Path) -> bool {
    false
}

/// Returns whether this process state belongs to the given process id.
#[cfg(target_os = "linux")]
fn is_of(stat: &[u8], pid: u32) -> bool {
    stat.split(|byte| *byte == b' ').next() == Some(pid.to_string().as_bytes())
}

/// Returns the name of a process and its parent; `None` above the first process.
#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<(String, u32)> {
    if pid == 0 {
        return None;
    }
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (before, after) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(before + 1..after)?.to_owned();
    let parent = stat.get(after + 1..)?.split_whitespace().nth(1)?.parse().ok()?;
    Some((name, parent))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn tests_are_not_inside_a_run_of_theirs() {
        let (name, parent) = parent_of(std::process::id()).unwrap();
        assert!(!name.is_empty() && 0 < parent);
        assert_eq!(parent_of(0), None);
    }

    #[test]
    fn a_process_knows_its_own_state() {
        let stat = std::fs::read("/proc/self/stat").unwrap();
        assert!(is_of(&stat, std::process::id()));
        // A process namespace that does not mount its own `/proc` shows the entry of another process.
        assert!(!is_of(&stat, std::process::id() + 1) && !is_of(b"", 1) && !is_of(b"12 (a) S", 1));
    }
}
