//! Detects whether a process descends from a run.
//!
//! Every program of a run is a descendant of its keeper, because the keeper adopts orphans. The check reads the process
//! tree, not a variable that a program could change. Keepers and log writers have reserved process names. A program
//! that takes such a name only locks itself out.
//!
//! A process whose ancestors cannot be read counts as started by a run.

use std::path::Path;

#[cfg(target_os = "linux")]
use std::collections::HashSet;

#[cfg(target_os = "linux")]
use crate::private::owner_of;
#[cfg(target_os = "linux")]
use crate::progress::names_a_run;

/// The process name of keepers.
#[cfg(target_os = "linux")]
const KEEPER: &str = "brigade-keeper";

/// The process name of log writers, which start the programs that outlive their caller.
#[cfg(target_os = "linux")]
const LOG_WRITER: &str = "brigade-log";

/// Returns whether a run started this process, at any depth, unless `workspace` is in that run's private directory.
///
/// Linux only; elsewhere the answer is always no. A process that cannot read its own entry under `/proc` counts as
/// started by a run, because its ancestors may be hidden.
#[cfg(target_os = "linux")]
pub fn is_inside_run(workspace: &Path) -> bool {
    let pid = std::process::id();
    let is_own_entry = std::fs::read("/proc/self/stat").is_ok_and(|stat| is_of(&stat, pid));
    !is_own_entry || descends_from(pid, &[KEEPER], workspace)
}

/// Always returns false: this system has no way to find out.
#[cfg(not(target_os = "linux"))]
pub fn is_inside_run(_: &Path) -> bool {
    false
}

/// Returns whether another process belongs to a run or a runtime: it or an ancestor was started by one, or began with
/// the variables of one. The second finds processes of a run whose keeper was killed.
#[cfg(target_os = "linux")]
pub(crate) fn is_of_a_run(pid: u32, workspace: &Path) -> bool {
    descends_from(pid, &[KEEPER, LOG_WRITER], workspace) || began_in_a_run(pid)
}

/// Returns whether the process began with a variable that names a run.
#[cfg(target_os = "linux")]
fn began_in_a_run(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| {
        let name = variable.split(|byte| *byte == b'=').next().unwrap_or_default();
        std::str::from_utf8(name).is_ok_and(names_a_run)
    })
}

/// Returns whether the process has an ancestor with one of these names, unless `workspace` is in the private directory
/// of its run. Unknown ancestors count as such.
#[cfg(target_os = "linux")]
fn descends_from(mut pid: u32, names: &[&str], workspace: &Path) -> bool {
    let mut seen = HashSet::new();
    let Some(mut current) = parent_of(pid) else { return true };
    loop {
        let (name, parent) = &current;
        let parent = *parent;
        // The directory of a run is named after the process that started it: the parent of its keeper.
        let is_own = || workspace.ancestors().filter_map(owner_of).any(|owner| owner == parent);
        if names.contains(&name.as_str()) && !is_own() {
            return true;
        }
        // The first process of a namespace has the parent 0.
        if parent == 0 {
            return false;
        }
        if !seen.insert(pid) {
            return true;
        }
        match parent_of(parent) {
            Some(next) => (pid, current) = (parent, next),
            None if is_of_another_user(parent) => return false,
            // The parent may have ended a moment ago. Then the process has another one.
            None => match parent_of(pid) {
                Some(again) if again.1 != parent => {
                    seen.remove(&pid);
                    current = again;
                }
                _ => return true,
            },
        }
    }
}

/// Returns whether a process is alive and belongs to another user, who may hide it. No run has such an ancestor,
/// because runs have the user of their caller.
#[cfg(target_os = "linux")]
fn is_of_another_user(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

/// Returns whether this process state belongs to the given process id.
#[cfg(target_os = "linux")]
fn is_of(stat: &[u8], pid: u32) -> bool {
    stat.split(|byte| *byte == b' ').next() == Some(pid.to_string().as_bytes())
}

/// Returns the name of a process and its parent. `None` if they cannot be read.
#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<(String, u32)> {
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
        let own = std::process::id();
        let (name, parent) = parent_of(own).unwrap();
        assert!(!name.is_empty() && 0 < parent);
        // A test may itself run inside of a run; it never descends from its own name twice.
        assert!(descends_from(own, &[name.as_str()], Path::new("/")));
        assert!(!descends_from(own, &["no process has this name"], Path::new("/")));
    }

    #[test]
    fn unknown_processes_are_inside() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = child.id();
        child.wait().unwrap();
        assert!(is_of_a_run(ended, Path::new("/")) && is_of_a_run(0, Path::new("/")));
    }

    #[test]
    fn variables_of_a_run_mark_what_it_started() {
        let start = |name: &str| {
            let mut command = std::process::Command::new("sleep");
            command.arg("60").env_clear().env(name, "run-1").spawn().unwrap()
        };
        for (name, expect) in [("BRIGADE_TOOL_RUN_ID", true), ("BRIGADE_RUN_ID", true), ("RUN_ID", false)] {
            let mut child = start(name);
            let is_marked = began_in_a_run(child.id());
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(is_marked, expect, "{name}");
        }
    }

    #[test]
    fn a_process_knows_its_own_state() {
        let stat = std::fs::read("/proc/self/stat").unwrap();
        assert!(is_of(&stat, std::process::id()));
        // A process namespace that does not mount its own `/proc` shows the entry of another process.
        assert!(!is_of(&stat, std::process::id() + 1) && !is_of(b"", 1) && !is_of(b"12 (a) S", 1));
    }
}
