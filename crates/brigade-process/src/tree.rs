//! Reads the table of processes and their descent.
//!
//! Usable between fork and exec: it uses memory reserved before, and only plain system calls.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use brigade_sandbox::system::{decimal, join_path, read_full};
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal, waitid,
};

use crate::identity::{Stat, parse_stat};

/// One process at the time of the last read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) pid: i32,
    pub(crate) stat: Stat,
    pub(crate) member: bool,
}

/// A table of processes with a fixed capacity.
#[derive(Debug)]
pub(crate) struct Table {
    entries: Vec<Entry>,
}

impl Table {
    /// Reserves capacity. Processes beyond it are read after some of the others have ended.
    pub(crate) fn with_room() -> Table {
        Table { entries: Vec::with_capacity(1 << 15) }
    }

    /// Reads all processes again. No process is a member at first.
    pub(crate) fn read(&mut self) {
        self.entries.clear();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(folder) = rustix::fs::open(c"/proc", flags, Mode::empty()) else {
            return;
        };
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut names = RawDir::new(folder, &mut buffer);
        while let Some(Ok(name)) = names.next() {
            if self.entries.len() == self.entries.capacity() {
                break;
            }
            let Some(pid) = number(name.file_name().to_bytes()) else {
                continue;
            };
            if let Some(stat) = stat(pid) {
                self.entries.push(Entry { pid, stat, member: false });
            }
        }
    }

    /// Marks all descendants of `root`, but not `root`.
    pub(crate) fn mark_descendants(&mut self, root: i32) {
        self.mark(|entry| entry.stat.parent == root);
    }

    /// Marks the processes that `chosen` accepts, and all their descendants.
    pub(crate) fn mark(&mut self, chosen: impl Fn(&Entry) -> bool) {
        for entry in &mut self.entries {
            entry.member |= chosen(entry);
        }
        loop {
            let mut changed = false;
            for index in 0..self.entries.len() {
                let entry = self.entries[index];
                if entry.member {
                    continue;
                }
                // A child is never older than its parent. An older process only seems to be a child, because the number
                // was reused while the table was read.
                let is_child =
                    |parent: &Entry| parent.member && parent.stat.start_time <= entry.stat.start_time;
                if self.find(entry.stat.parent).is_some_and(is_child) {
                    self.entries[index].member = true;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns whether the table contains this process.
    pub(crate) fn holds(&self, pid: i32) -> bool {
        self.find(pid).is_some()
    }

    fn find(&self, pid: i32) -> Option<&Entry> {
        // `/proc` lists by number, so the table is sorted.
        let index = self.entries.binary_search_by_key(&pid, |entry| entry.pid).ok()?;
        self.entries.get(index)
    }

    /// Returns the members that have not ended.
    pub(crate) fn living(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.member && entry.stat.runs())
    }
}

/// Signals exactly the process of this entry. `child_of_ours` is true for uncollected children of the caller, whose
/// number cannot be reused.
pub(crate) fn signal(entry: &Entry, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(entry.pid) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => {
            let same =
                stat(entry.pid).is_some_and(|now| now.start_time == entry.stat.start_time && now.runs());
            same && pidfd_send_signal(held, signal).is_ok()
        }
        Err(rustix::io::Errno::NOSYS) => {
            // Before Linux 5.3, only the number can be checked.
            let same =
                stat(entry.pid).is_some_and(|now| now.start_time == entry.stat.start_time && now.runs());
            same && kill_process(pid, signal).is_ok()
        }
        Err(_) => false,
    }
}

/// The open directory `/proc`, kept in case no more descriptors can be opened.
#[derive(Debug)]
pub(crate) struct Numbers(OwnedFd);

impl Numbers {
    /// Opens the directory.
    pub(crate) fn open() -> Option<Numbers> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(c"/proc", flags, Mode::empty()).ok().map(Numbers)
    }

    /// Kills every living child of the caller. If the caller adopts orphans, it then gets their children. Needs no
    /// other descriptor and no table of descendants.
    pub(crate) fn kill_children(&self) {
        if rustix::fs::seek(&self.0, SeekFrom::Start(0)).is_err() {
            return;
        }
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut names = RawDir::new(&self.0, &mut buffer);
        while let Some(Ok(name)) = names.next() {
            let Some(pid) = number(name.file_name().to_bytes()).and_then(Pid::from_raw) else {
                continue;
            };
            // The number cannot be reused before the process is collected, and this call does not collect it.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if let Ok(None) = waitid(WaitId::Pid(pid), options) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Reads the state of one process.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    let mut digits = [0u8; 10];
    let mut path = [0u8; 64];
    let path = join_path(&mut path, &[b"/proc/", decimal(pid, &mut digits), b"/stat"])?;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = [0u8; 1024];
    let length = read_full(&file, &mut bytes);
    parse_stat(&bytes[..length])
}

fn number(bytes: &[u8]) -> Option<i32> {
    if !bytes.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_members_and_parents_are_not() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let me = std::process::id() as i32;
        let mut table = Table::with_room();
        table.read();
        table.mark_descendants(me);
        assert!(table.living().any(|entry| entry.pid == child.id() as i32));
        assert!(!table.living().any(|entry| entry.pid == me || entry.pid == 1));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn children_are_killed_without_opening_anything() {
        // Runs in its own process, so all children belong to it.
        let child = brigade_sandbox::system::fork_into(|| {
            // SAFETY: plain system calls; the limit outlives the call.
            unsafe {
                libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
                for _ in 0..2 {
                    if libc::fork() == 0 {
                        // A grandchild that this process adopts after its parent is killed.
                        libc::fork();
                        loop {
                            libc::pause();
                        }
                    }
                }
                let Some(numbers) = Numbers::open() else { libc::_exit(2) };
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_NOFILE, &none);
                if Numbers::open().is_some() {
                    libc::_exit(3);
                }
                // Ends only after every descendant has ended.
                while libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) != -1 {
                    numbers.kill_children();
                }
                libc::_exit(0)
            }
        });
        assert_eq!(brigade_sandbox::system::reap(child.unwrap()), Some(0));
    }

    #[test]
    fn older_processes_are_not_children() {
        let stat = |parent, start_time| Stat {
            state: b'S',
            parent,
            group: 1,
            session: 1,
            processor_ticks: 0,
            start_time,
        };
        let entry = |pid, parent, start_time| Entry { pid, stat: stat(parent, start_time), member: false };
        let mut table =
            Table { entries: vec![entry(5, 1, 50), entry(6, 5, 60), entry(7, 5, 40), entry(8, 6, 60)] };
        table.mark(|entry| entry.pid == 5);
        let members: Vec<i32> = table.living().map(|entry| entry.pid).collect();
        assert_eq!(members, [5, 6, 8]);
    }
}
