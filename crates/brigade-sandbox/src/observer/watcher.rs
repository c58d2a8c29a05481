//! Receives each observed call, finds what it uses, and records that.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, ResolveFlags};

use crate::system::read_full;
use crate::{Attempt, PreparedSandbox};

use super::addresses::address_text;
use super::calls::{self, Call, Flags};
use super::files::{self, HashResult, OpenedFile};
use super::lookup::{Lookup, LookupError};
use super::platform::Preparation;
use super::table::{Kind, List, ObservationGap, Table};

/// Returns whether every process that could wait for an answer has ended.
///
/// The kernel reports an error when a signal interrupted its check. The listener must then stay open. Otherwise waiting
/// processes would get the error that the system call does not exist.
fn has_ended(ready: PollFlags) -> bool {
    ready.intersects(PollFlags::HUP | PollFlags::NVAL)
}

/// The keeper's side: receives each observed call, records it, and lets it continue.
pub struct Watcher<'a> {
    /// `None` if all observed processes have ended.
    listener: Option<OwnedFd>,
    preparation: &'a Preparation,
    sandbox: &'a PreparedSandbox,
    table: &'a mut Table,
    /// The device of the copies of code, wherever they are moved to; 0 for none.
    sealed: u64,
    start: Start,
}

/// The progress of the program's process.
#[derive(Debug)]
enum Start {
    /// It is about to execute this program.
    Program(OwnedFd),
    /// It is about to execute the program, but the program could not be opened.
    Unknown,
    /// It executes the program. It may have to try again.
    Tried,
    /// The program runs.
    Done,
}

impl<'a> Watcher<'a> {
    /// Watches what this listener reports. `program` is the program that the first process is about to execute.
    pub(super) fn new(
        preparation: &'a Preparation,
        sandbox: &'a PreparedSandbox,
        table: &'a mut Table,
        listener: OwnedFd,
        program: Option<OwnedFd>,
        sealed: u64,
    ) -> Watcher<'a> {
        calls::enable_direct_switch(&listener);
        table.add_gap(ObservationGap::End);
        let start = program.map_or(Start::Unknown, Start::Program);
        Watcher { listener: Some(listener), preparation, sandbox, table, sealed, start }
    }

    /// Returns a descriptor that is readable if a process waits.
    pub fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Marks the observation as complete.
    pub fn finish(&mut self) {
        self.table.remove_gap(ObservationGap::End);
    }

    /// Reads until the buffer is full or the input ends, and answers calls meanwhile.
    pub fn read_while_watching(&mut self, from: &OwnedFd, bytes: &mut [u8]) -> usize {
        while let Some(listener) = self.listener() {
            let mut watched = [PollFd::new(from, PollFlags::IN), PollFd::new(&listener, PollFlags::IN)];
            let polled = poll(&mut watched, None);
            let [from, ready] = watched.map(|watched| watched.revents());
            if polled.is_ok() {
                if !ready.is_empty() {
                    self.answer(ready);
                }
                if !from.is_empty() {
                    break;
                }
            }
        }
        read_full(from, bytes)
    }

    /// Answers one process, if the listener is ready with these flags.
    pub fn answer(&mut self, ready: PollFlags) {
        let Some(listener) = &self.listener else { return };
        if !ready.contains(PollFlags::IN) {
            if has_ended(ready) {
                self.listener = None;
            }
            return;
        }
        // A process that was killed meanwhile needs no answer.
        let Ok(notification) = calls::receive(listener) else { return };
        let call = Call::new(&notification.data);
        if !matches!(call, Call::Execute { .. }) {
            self.start = Start::Done;
        }
        match call {
            Call::Open { folder, path, flags } => self.open(&notification, folder, path, flags),
            Call::Execute { folder, path, is_descriptor, follows } => {
                self.execute(&notification, folder, path, is_descriptor, follows);
            }
            Call::Address { place, length, is_bound } => self.address(&notification, place, length, is_bound),
            Call::Send { headers, count, step } => {
                for number in 0..count {
                    self.message(&notification, headers.wrapping_add(number * step));
                }
            }
            Call::Change { old, follows, new, is_folder } => {
                let kind = if is_folder { Kind::Folder } else { Kind::File };
                self.change(&notification, (old, follows), new, kind);
            }
            Call::Other => {}
        }
        if let Some(listener) = &self.listener {
            calls::continue_call(listener, &notification);
        }
    }

    fn is_waiting(&self, notification: &libc::seccomp_notif) -> bool {
        self.listener.as_ref().is_some_and(|listener| calls::is_waiting(listener, notification))
    }

    /// Reads a path from the memory of the process, and returns its length.
    fn path(&mut self, notification: &libc::seccomp_notif, place: u64) -> Option<usize> {
        let given = &mut self.table.scratch.given;
        let end = |given: &[u8]| given.iter().position(|byte| *byte == 0);
        let mut read = calls::read_memory(notification.pid, place, given).unwrap_or(0);
        if end(&given[..read]).is_none() && read < given.len() && place != 0 {
            read = calls::read_any_memory(notification.pid, place, given);
        }
        let length = end(&given[..read]);
        // The kernel refuses a longer path, too.
        if length.is_none() && read < given.len() && place != 0 && self.is_waiting(notification) {
            self.table.add_gap(ObservationGap::Process);
        }
        length
    }

    /// Reads a value of exactly this length from the memory of the process.
    fn value(&mut self, notification: &libc::seccomp_notif, place: u64, bytes: &mut [u8]) -> bool {
        let is_read = calls::read_memory(notification.pid, place, bytes)
            .is_ok_and(|read| read == bytes.len())
            || place != 0 && calls::read_any_memory(notification.pid, place, bytes) == bytes.len();
        if !is_read && place != 0 && self.is_waiting(notification) {
            self.table.add_gap(ObservationGap::Process);
        }
        is_read
    }

    fn find(
        &mut self,
        notification: &libc::seccomp_notif,
        folder: i32,
        length: usize,
        follows: bool,
        resolve: ResolveFlags,
    ) -> Result<OpenedFile, LookupError> {
        let scratch = &mut self.table.scratch;
        let path = &scratch.given[..length];
        let lookup = Lookup { process: notification.pid, folder, path, follows, resolve };
        let found = files::find(&lookup, &mut scratch.buffer, &mut scratch.rest, &mut scratch.real);
        // Otherwise the number may belong to another process.
        if !self.is_waiting(notification) {
            return Err(LookupError::Missing);
        }
        if found.as_ref().err() == Some(&LookupError::Unseen) {
            self.table.add_gap(ObservationGap::File);
        }
        found
    }

    fn open(&mut self, notification: &libc::seccomp_notif, folder: i32, place: u64, flags: Flags) {
        let (flags, resolve) = match flags {
            Flags::Given(flags) => (flags, ResolveFlags::empty()),
            Flags::At(address_of_how) => {
                let mut bytes = [0u8; 24];
                if !self.value(notification, address_of_how, &mut bytes) {
                    return;
                }
                let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
                (word(0) as libc::c_int, ResolveFlags::from_bits_retain(word(16)))
            }
        };
        if flags & libc::O_PATH != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE {
            return;
        }
        let Some(length) = self.path(notification, place).filter(|length| 0 < *length) else { return };
        let access = flags & libc::O_ACCMODE;
        let reads = access != libc::O_WRONLY;
        let writes = access != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
        let creates = flags & libc::O_CREAT != 0;
        let exclusive = creates && flags & libc::O_EXCL != 0;
        let follows = flags & libc::O_NOFOLLOW == 0 && !exclusive;
        match self.find(notification, folder, length, follows, resolve) {
            // The open fails for the process.
            Ok(found) if exclusive || found.kind() == FileType::Symlink => {}
            Ok(found) => {
                let is_denied = |watcher: &mut Self, attempt: Attempt, mode: libc::c_int| {
                    watcher.is_denied(notification, &found, attempt, mode)
                };
                let denied_read = reads && is_denied(self, Attempt::Read, libc::R_OK);
                let denied_write = writes && is_denied(self, Attempt::Write, libc::W_OK);
                if denied_read || denied_write {
                    // Opening for reading and writing succeeds or fails as a whole.
                    return;
                }
                if reads {
                    self.note(List::Read, &found);
                }
                if writes {
                    self.note(List::Written, &found);
                }
            }
            Err(LookupError::Missing) if creates => {
                self.create(notification, folder, length, resolve, (Kind::File, reads));
            }
            Err(LookupError::Missing) => self.note_left_out(notification, folder, length, Attempt::Read),
            Err(LookupError::Unseen) => {}
        }
    }

    /// Records a created file or directory, and whether it is opened for reading, too.
    fn create(
        &mut self,
        notification: &libc::seccomp_notif,
        folder: i32,
        length: usize,
        resolve: ResolveFlags,
        (kind, reads): (Kind, bool),
    ) {
        let scratch = &mut self.table.scratch;
        let path = &scratch.given[..length];
        let lookup = Lookup { process: notification.pid, folder, path, follows: true, resolve };
        let place = files::find_place(&lookup, &mut scratch.buffer, &mut scratch.rest, &mut scratch.real);
        if !self.is_waiting(notification) {
            return;
        }
        let length = match place {
            Ok(length) => length,
            Err(LookupError::Missing) => return,
            Err(LookupError::Unseen) => return self.table.add_gap(ObservationGap::File),
        };
        let real = &self.table.scratch.real[..length];
        let allows = |reads| self.sandbox.allows_create(real, reads);
        let (list, kind) = match (allows(false), allows(reads)) {
            (true, true) => (List::Written, kind),
            // The kernel creates the file and then refuses to open it.
            (true, false) => (List::Denied, Kind::Denied(Attempt::Create)),
            (false, _) => (List::Denied, Kind::Denied(Attempt::Write)),
        };
        self.note_path(list, kind, length, None);
    }

    /// Records the files that a call removes, moves, truncates or creates as written.
    fn change(
        &mut self,
        notification: &libc::seccomp_notif,
        (old, follows): (Option<(i32, u64)>, bool),
        new: Option<(i32, u64)>,
        kind: Kind,
    ) {
        let resolve = ResolveFlags::empty();
        let moves = old.is_some();
        if let Some((folder, place)) = old {
            let Some(length) = self.name(notification, place) else { return };
            let Ok(found) = self.find(notification, folder, length, follows, resolve) else { return };
            self.note_change(notification, &found, follows);
        }
        if let Some((folder, place)) = new {
            let Some(length) = self.name(notification, place) else { return };
            match self.find(notification, folder, length, false, resolve) {
                Ok(found) if moves => self.note_change(notification, &found, false),
                // An existing file is not created again.
                Ok(_) | Err(LookupError::Unseen) => {}
                Err(LookupError::Missing) => {
                    self.create(notification, folder, length, resolve, (kind, false))
                }
            }
        }
    }

    /// Reads a path of the process, and returns its length without trailing slashes.
    fn name(&mut self, notification: &libc::seccomp_notif, place: u64) -> Option<usize> {
        let length = self.path(notification, place)?;
        let name = &self.table.scratch.given[..length];
        let end = name.iter().rposition(|byte| *byte != b'/');
        (0 < length).then(|| end.map_or(1, |end| end + 1))
    }

    /// Records a file as written if the rules permit that. The mode of the file matters only to a call that truncates
    /// it.
    fn note_change(&mut self, notification: &libc::seccomp_notif, found: &OpenedFile, is_truncated: bool) {
        let mode = if is_truncated { libc::W_OK } else { 0 };
        if !self.is_denied(notification, found, Attempt::Write, mode) {
            self.note(List::Written, found);
        }
    }

    fn execute(
        &mut self,
        notification: &libc::seccomp_notif,
        folder: i32,
        place: u64,
        is_descriptor: bool,
        follows: bool,
    ) {
        let found = match std::mem::replace(&mut self.start, Start::Tried) {
            Start::Program(program) => {
                let scratch = &mut self.table.scratch;
                files::opened(program, &mut scratch.buffer, &mut scratch.real).ok()
            }
            // The memory is still a copy of Brigade's, so it may be closed to the keeper.
            Start::Tried if !self.is_readable(notification, place) => None,
            Start::Unknown | Start::Tried => {
                self.found_to_execute(notification, folder, place, is_descriptor, follows)
            }
            Start::Done => {
                self.start = Start::Done;
                self.found_to_execute(notification, folder, place, is_descriptor, follows)
            }
        };
        let Some(found) = found else { return };
        if found.kind() == FileType::RegularFile
            && !self.is_denied(notification, &found, Attempt::Execute, libc::X_OK)
        {
            self.note(List::Executed, &found);
        }
    }

    fn found_to_execute(
        &mut self,
        notification: &libc::seccomp_notif,
        folder: i32,
        place: u64,
        is_descriptor: bool,
        follows: bool,
    ) -> Option<OpenedFile> {
        let length = self.path(notification, place)?;
        if length == 0 && !is_descriptor {
            return None;
        }
        match self.find(notification, folder, length, follows, ResolveFlags::empty()) {
            Ok(found) => Some(found),
            Err(LookupError::Missing) => {
                self.note_left_out(notification, folder, length, Attempt::Execute);
                None
            }
            Err(LookupError::Unseen) => None,
        }
    }

    fn is_readable(&self, notification: &libc::seccomp_notif, place: u64) -> bool {
        calls::read_memory(notification.pid, place, &mut [0]).is_ok_and(|read| read == 1)
    }

    /// Records workspace files as denied that are hidden from the run or missing in its view.
    fn note_left_out(
        &mut self,
        notification: &libc::seccomp_notif,
        folder: i32,
        length: usize,
        attempt: Attempt,
    ) {
        let sandbox = self.sandbox;
        let scratch = &mut self.table.scratch;
        let base = if scratch.given.starts_with(b"/") {
            0
        } else {
            let resolve = ResolveFlags::empty();
            let lookup = Lookup { process: notification.pid, folder, path: b"", follows: true, resolve };
            match files::find(&lookup, &mut scratch.buffer, &mut scratch.rest, &mut scratch.real) {
                Ok(found) => found.length,
                Err(_) => return,
            }
        };
        let Some(length) = files::append(&mut scratch.real, base, &scratch.given[..length]) else { return };
        let real = &scratch.real[..length];
        let is_inside = self.preparation.inside(real).is_some_and(|inside| !inside.is_empty());
        if !is_inside || !files::exists(real, &mut scratch.buffer) {
            return;
        }
        if sandbox.has_view() && !sandbox.hides(real) {
            return self.note_path(List::Denied, Kind::Denied(attempt), length, None);
        }
        // A link may lead to a hidden file.
        let Some(length) = files::without_links(&mut scratch.real, length, &mut scratch.buffer) else {
            return;
        };
        if sandbox.hides(&scratch.real[..length]) {
            self.note_path(List::Denied, Kind::Denied(attempt), length, None);
        }
    }

    /// Returns whether the rules let the process access a file.
    fn is_allowed(
        &mut self,
        notification: &libc::seccomp_notif,
        found: &OpenedFile,
        attempt: Attempt,
    ) -> bool {
        let sandbox = self.sandbox;
        if self.sealed == found.stat.st_dev {
            // A file without any mode is the placeholder of a closed file.
            let is_name = found.kind() != FileType::Directory && found.stat.st_mode & 0o777 == 0;
            return attempt != Attempt::Write && !is_name;
        }
        let scratch = &mut self.table.scratch;
        let (real, kind) = (&scratch.real[..found.length], found.kind());
        let identity = (found.stat.st_dev, found.stat.st_ino);
        if sandbox.allows(real, identity, kind, attempt) {
            return true;
        }
        // The rules apply to files, and a file may have been moved to another path.
        let mut rights = 0;
        let is_granted = files::around(notification.pid, found, &mut scratch.buffer, real, |identity| {
            rights |= sandbox.rights_of(identity);
            sandbox.suffice(rights, kind, attempt)
        });
        let is_allowed = is_granted.map(|is_granted| is_granted && sandbox.mounts_allow(real, kind, attempt));
        is_allowed.unwrap_or_else(|| {
            self.table.add_gap(ObservationGap::File);
            false
        })
    }

    /// Returns whether the sandbox or the mode denies the access, and records a denial.
    fn is_denied(
        &mut self,
        notification: &libc::seccomp_notif,
        found: &OpenedFile,
        attempt: Attempt,
        mode: libc::c_int,
    ) -> bool {
        // Paths of pipes and sockets do not start with `/`, and are never denied.
        let real = &self.table.scratch.real[..found.length];
        let has_path = real.starts_with(b"/") && !found.is_in_memory(real);
        let is_denied =
            has_path && (!self.is_allowed(notification, found, attempt) || !found.is_permitted(mode));
        if is_denied {
            self.note_path(List::Denied, Kind::Denied(attempt), found.length, None);
        }
        is_denied
    }

    /// Records a file or directory by its path, and a regular file of the workspace with its sha256.
    fn note(&mut self, list: List, found: &OpenedFile) {
        let real = &self.table.scratch.real[..found.length];
        if self.preparation.inside(real).is_none() {
            self.table.count_outside(found.length);
            return;
        }
        match found.kind() {
            FileType::Directory => self.note_path(list, Kind::Folder, found.length, None),
            FileType::RegularFile if list != List::Written => {
                self.note_path(list, Kind::File, found.length, Some(found));
            }
            _ => self.note_path(list, Kind::File, found.length, None),
        }
    }

    /// Records the path with this length in `real`, with its sha256 on request.
    fn note_path(&mut self, list: List, kind: Kind, length: usize, hashed: Option<&OpenedFile>) {
        let real = &self.table.scratch.real[..length];
        let text = match self.preparation.inside(real) {
            Some(inside) => inside,
            None if list == List::Denied => real,
            None => return self.table.count_outside(length),
        };
        let start = length - text.len();
        let stamp = hashed.map(|found| found.stamp(&self.preparation.keys).to_ne_bytes());
        let key = self.preparation.key(list, kind, text, stamp.as_ref().map_or(&[], |stamp| &stamp[..]));
        self.table.count(list);
        if self.table.recall(key).is_some() {
            return;
        }
        if self.table.is_full(list) {
            return self.table.mark_truncated();
        }
        let sha256 = hashed.zip(stamp).and_then(|(found, stamp)| self.sha256(found, &stamp));
        let text = &self.table.scratch.real[start..length];
        // The bytes are the same as before, so the entry is the same.
        let by_bytes = sha256.map(|sha256| self.preparation.key(list, kind, text, &sha256));
        let entry = by_bytes.and_then(|key| self.table.recall(key));
        if let Some(entry) = entry.or_else(|| self.table.add_real(list, kind, start..length, sha256)) {
            self.table.remember(key, entry);
            if let Some(key) = by_bytes {
                self.table.remember(key, entry);
            }
            if let (Some(stamp), Some(_)) = (stamp, sha256) {
                self.table.remember(self.preparation.key(List::Read, Kind::File, b"", &stamp), entry);
            }
        }
    }

    /// Returns the sha256 of a file. Reads it only once.
    fn sha256(&mut self, found: &OpenedFile, stamp: &[u8]) -> Option<[u8; 32]> {
        let entry = self.table.recall(self.preparation.key(List::Read, Kind::File, b"", stamp));
        if let Some(entry) = entry {
            return self.table.sha256(entry);
        }
        let scratch = &mut self.table.scratch;
        match files::hash(found, &mut self.table.hashed_bytes, &mut scratch.buffer, &mut scratch.piece) {
            HashResult::Sha256(sha256) => Some(sha256),
            HashResult::TooMuch => {
                self.table.add_gap(ObservationGap::Large);
                None
            }
            HashResult::Unreadable => {
                self.table.add_gap(ObservationGap::File);
                None
            }
        }
    }

    /// Records the address of a message, if it has one.
    fn message(&mut self, notification: &libc::seccomp_notif, header: u64) {
        // The first two members of `struct msghdr`.
        let mut bytes = [0u8; 12];
        if !self.value(notification, header, &mut bytes) {
            return;
        }
        let place = bytes[..8].try_into().map_or(0, u64::from_ne_bytes);
        let length = bytes[8..].try_into().map_or(0, u32::from_ne_bytes);
        if place != 0 && length != 0 {
            self.address(notification, place, length.into(), false);
        }
    }

    fn address(&mut self, notification: &libc::seccomp_notif, place: u64, length: u64, is_bound: bool) {
        let mut bytes = [0u8; 128];
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
        if !self.value(notification, place, &mut bytes[..length]) || !self.is_waiting(notification) {
            return;
        }
        let mut text = [0u8; 128];
        let Some((length, port)) = address_text(&bytes[..length], &mut text) else { return };
        let kind = if is_bound { Kind::Bound } else { Kind::Connected };
        let text = &text[..length];
        let key = self.preparation.key(List::Connected, kind, text, &port.to_ne_bytes());
        self.table.count(List::Connected);
        if self.table.recall(key).is_none()
            && let Some(entry) = self.table.add(List::Connected, kind, text, port, None)
        {
            self.table.remember(key, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 12: an interrupted call ended the observation, and the program could no longer open files.
    #[test]
    fn a_signal_does_not_end_the_observation() {
        assert!(!has_ended(PollFlags::ERR));
        assert!(!has_ended(PollFlags::OUT));
        assert!(has_ended(PollFlags::HUP) && has_ended(PollFlags::NVAL | PollFlags::ERR));
    }
}
