//! The observation of one run: prepared by Brigade, started by the program's process, and done by the keeper.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, ResolveFlags};

use super::calls::{self, Call, Flags, Telling};
use super::files::{self, Found, Hashed};
use super::table::{Kind, List, Shared, Table, Unseen};
use super::ways::{Lookup, Nothing};
use super::{Attempt, Observation};
use crate::launch::{Failure, Image, last_errno, read_full};
use crate::outcome::Step;

/// A prepared observation.
#[derive(Debug)]
pub(crate) struct Observer {
    telling: Telling,
    shared: Shared,
    /// The path of the workspace, without links.
    workspace: Vec<u8>,
    keys: RandomState,
}

impl Observer {
    /// Prepares the observation of a run in this workspace; fails if it cannot be observed.
    pub(crate) fn prepare(workspace: &Path) -> Result<Arc<Observer>, String> {
        let telling = Telling::prepare().map_err(str::to_owned)?;
        let shared = Shared::new().map_err(|error| format!("there is no memory to observe with: {error}"))?;
        let workspace =
            workspace.canonicalize().map_err(|error| format!("the workspace was not found: {error}"))?;
        let workspace = workspace.as_os_str().as_bytes().to_vec();
        Ok(Arc::new(Observer { telling, shared, workspace, keys: RandomState::new() }))
    }

    /// Returns the observation, after the keeper has ended.
    pub(crate) fn seen(&self) -> Observation {
        let table = self.shared.table();
        match table.refusal {
            0 => Observation::Done(Box::new(table.observed())),
            libc::EBUSY => Observation::Unavailable(
                "Brigade is observed itself in this way, and the kernel allows one observer".to_owned(),
            ),
            errno => {
                let error = io::Error::from_raw_os_error(errno);
                Observation::Unavailable(format!(
                    "the kernel refused to tell what the program opens: {error}"
                ))
            }
        }
    }

    /// Returns the part of a path below the workspace; empty for the workspace itself.
    fn inside<'p>(&self, real: &'p [u8]) -> Option<&'p [u8]> {
        let rest = real.strip_prefix(self.workspace.as_slice())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
    }

    fn key(&self, list: List, kind: Kind, path: &[u8], more: &[u8]) -> u64 {
        let mut hasher = self.keys.build_hasher();
        hasher.write(&[list as u8, kind.number()]);
        hasher.write_usize(path.len());
        hasher.write(path);
        hasher.write(more);
        hasher.finish()
    }
}

/// The socket by which the program's process passes the listener to the keeper.
pub(crate) struct Line(Option<(OwnedFd, OwnedFd)>);

impl Line {
    /// Opens the socket, if the run is observed.
    pub(crate) fn open(image: &Image) -> io::Result<Line> {
        if image.observer.is_none() {
            return Ok(Line(None));
        }
        let mut both = [0; 2];
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        // SAFETY: the place has room for two descriptors, which then belong to nobody else.
        unsafe {
            if libc::socketpair(libc::AF_UNIX, kind, 0, both.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Line(Some((OwnedFd::from_raw_fd(both[0]), OwnedFd::from_raw_fd(both[1])))))
        }
    }

    /// Installs the filter for this process, and sends the listener. This is the last step before exec. Makes only
    /// plain system calls.
    pub(crate) fn hand_over(&self, image: &Image) -> Result<(), Failure> {
        let (Some((_, theirs)), Some(observer)) = (&self.0, &image.observer) else { return Ok(()) };
        let listener = observer.telling.install();
        let (errno, descriptor) = match &listener {
            Ok(listener) => (0, Some(listener.as_raw_fd())),
            // The program also runs without it.
            Err(errno) => (*errno, None),
        };
        send(theirs.as_fd(), errno, descriptor).map_err(|errno| Failure { step: Step::Sandbox, errno })
    }

    /// Waits for the listener; `None` if the run is not observed, or the program's process ended before.
    pub(crate) fn receive(self, image: &Image) -> Option<Watcher<'_>> {
        let (ours, theirs) = self.0?;
        let observer = image.observer.as_deref()?;
        drop(theirs);
        let table = observer.shared.table_of_keeper();
        let (errno, listener) = take(ours.as_fd())?;
        table.refusal = errno;
        let listener = listener?;
        calls::wake_at_once(&listener);
        table.miss(Unseen::End);
        let sealed = Sealed::Unknown;
        Some(Watcher { listener: Some(listener), observer, image, table, sealed })
    }
}

/// Space for one descriptor in a message.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    descriptor: RawFd,
    padding: u32,
}

impl Control {
    fn new() -> Control {
        // SAFETY: the structure is plain data, for which all zeroes is a value.
        let mut control: Control = unsafe { std::mem::zeroed() };
        control.header.cmsg_level = libc::SOL_SOCKET;
        control.header.cmsg_type = libc::SCM_RIGHTS;
        control.header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<RawFd>()) as _;
        control.descriptor = -1;
        control
    }
}

/// Builds a message of one part, with space for a descriptor on request.
fn message(piece: &mut libc::iovec, control: Option<&mut Control>) -> libc::msghdr {
    // SAFETY: the structure is plain data, for which all zeroes is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    if let Some(control) = control {
        message.msg_control = std::ptr::from_mut(control).cast();
        message.msg_controllen = size_of::<Control>() as _;
    }
    message
}

fn send(line: BorrowedFd<'_>, errno: i32, descriptor: Option<RawFd>) -> Result<(), i32> {
    let mut bytes = errno.to_ne_bytes();
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control::new();
    let with = descriptor.map(|descriptor| {
        control.descriptor = descriptor;
        &mut control
    });
    let message = message(&mut piece, with);
    // SAFETY: all that the message points to outlives the call, with the lengths that it says.
    let sent = unsafe { libc::sendmsg(line.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(last_errno()) } else { Ok(()) }
}

fn take(line: BorrowedFd<'_>) -> Option<(i32, Option<OwnedFd>)> {
    let mut bytes = [0u8; 4];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control::new();
    let mut message = message(&mut piece, Some(&mut control));
    loop {
        // SAFETY: all that the message points to outlives the call, with the lengths that it says.
        let taken = unsafe { libc::recvmsg(line.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if taken < 0 && last_errno() == libc::EINTR {
            continue;
        }
        if taken != 4 {
            return None;
        }
        break;
    }
    let least = size_of::<libc::cmsghdr>() + size_of::<RawFd>();
    let has_descriptor = message.msg_controllen >= least as _;
    let descriptor = (has_descriptor && 0 <= control.descriptor)
        // SAFETY: the kernel made this descriptor for us.
        .then(|| unsafe { OwnedFd::from_raw_fd(control.descriptor) });
    Some((i32::from_ne_bytes(bytes), descriptor))
}

/// The keeper's side: receives each observed call, records it, and lets it continue.
pub(crate) struct Watcher<'a> {
    /// `None` if all observed processes have ended.
    listener: Option<OwnedFd>,
    observer: &'a Observer,
    image: &'a Image,
    table: &'a mut Table,
    sealed: Sealed,
}

/// The file system in memory that has the copies of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sealed {
    /// Nobody has looked yet.
    Unknown,
    /// There are no copies.
    Nowhere,
    /// On this device, wherever they are moved to.
    On(u64),
}

impl Watcher<'_> {
    /// Returns a descriptor that is readable if a process waits.
    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Marks the observation as complete.
    pub(crate) fn finish(&mut self) {
        self.table.found(Unseen::End);
    }

    /// Reads until the buffer is full or the input ends, and answers calls meanwhile.
    pub(crate) fn read_while_watching(&mut self, from: &OwnedFd, bytes: &mut [u8]) -> usize {
        while let Some(listener) = self.listener() {
            let mut watched = [PollFd::new(from, PollFlags::IN), PollFd::new(&listener, PollFlags::IN)];
            let polled = poll(&mut watched, None);
            let [from, told] = watched.map(|watched| watched.revents());
            if polled.is_ok() {
                if !told.is_empty() {
                    self.answer(told);
                }
                if !from.is_empty() {
                    break;
                }
            }
        }
        read_full(from, bytes)
    }

    /// Answers one process, if the listener is ready with these flags.
    pub(crate) fn answer(&mut self, ready: PollFlags) {
        let Some(listener) = &self.listener else { return };
        if !ready.contains(PollFlags::IN) {
            self.listener = None;
            return;
        }
        // A process that was killed meanwhile needs no answer.
        let Ok(told) = calls::receive(listener) else { return };
        if self.sealed == Sealed::Unknown {
            self.sealed = self.find_sealed(&told);
        }
        let call = Call::of(&told.data);
        match call {
            Call::Open { folder, path, flags } => self.open(&told, folder, path, flags),
            Call::Execute { folder, path, is_descriptor, follows } => {
                self.execute(&told, folder, path, is_descriptor, follows);
            }
            Call::Address { place, length, is_bound } => self.address(&told, place, length, is_bound),
            Call::Change { old, follows, new, is_folder } => {
                let kind = if is_folder { Kind::Folder } else { Kind::File };
                self.change(&told, (old, follows), new, kind);
            }
            Call::Other => {}
        }
        if let Some(listener) = &self.listener {
            calls::let_go_on(listener, &told);
        }
    }

    fn is_waiting(&self, told: &libc::seccomp_notif) -> bool {
        self.listener.as_ref().is_some_and(|listener| calls::is_waiting(listener, told))
    }

    /// Reads a path of the process, and returns its length.
    fn path(&mut self, told: &libc::seccomp_notif, place: u64) -> Option<usize> {
        let given = &mut self.table.scratch.given;
        let end = |given: &[u8]| given.iter().position(|byte| *byte == 0);
        let mut read = calls::read_memory(told.pid, place, given).unwrap_or(0);
        if end(&given[..read]).is_none() && read < given.len() && place != 0 {
            read = calls::read_any_memory(told.pid, place, given);
        }
        let length = end(&given[..read]);
        // The kernel refuses a longer path, too.
        if length.is_none() && read < given.len() && place != 0 && self.is_waiting(told) {
            self.table.miss(Unseen::Process);
        }
        length
    }

    /// Reads a value of the process that has exactly this length.
    fn value(&mut self, told: &libc::seccomp_notif, place: u64, bytes: &mut [u8]) -> bool {
        let is_read = calls::read_memory(told.pid, place, bytes).is_ok_and(|read| read == bytes.len())
            || place != 0 && calls::read_any_memory(told.pid, place, bytes) == bytes.len();
        if !is_read && place != 0 && self.is_waiting(told) {
            self.table.miss(Unseen::Process);
        }
        is_read
    }

    fn find(
        &mut self,
        told: &libc::seccomp_notif,
        folder: i32,
        length: usize,
        follows: bool,
        resolve: ResolveFlags,
    ) -> Result<Found, Nothing> {
        let scratch = &mut self.table.scratch;
        let path = &scratch.given[..length];
        let lookup = Lookup { process: told.pid, folder, path, follows, resolve };
        let found = files::find(&lookup, &mut scratch.way, &mut scratch.rest, &mut scratch.real);
        // Otherwise the number may belong to another process.
        if !self.is_waiting(told) {
            return Err(Nothing::Missing);
        }
        if found.as_ref().err() == Some(&Nothing::Unseen) {
            self.table.miss(Unseen::File);
        }
        found
    }

    fn open(&mut self, told: &libc::seccomp_notif, folder: i32, place: u64, flags: Flags) {
        let (flags, resolve) = match flags {
            Flags::Given(flags) => (flags, ResolveFlags::empty()),
            Flags::At(how) => {
                let mut bytes = [0u8; 24];
                if !self.value(told, how, &mut bytes) {
                    return;
                }
                let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
                (word(0) as libc::c_int, ResolveFlags::from_bits_retain(word(16)))
            }
        };
        if flags & libc::O_PATH != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE {
            return;
        }
        let Some(length) = self.path(told, place).filter(|length| 0 < *length) else { return };
        let access = flags & libc::O_ACCMODE;
        let reads = access != libc::O_WRONLY;
        let writes = access != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
        let creates = flags & libc::O_CREAT != 0;
        let exclusive = creates && flags & libc::O_EXCL != 0;
        let follows = flags & libc::O_NOFOLLOW == 0 && !exclusive;
        match self.find(told, folder, length, follows, resolve) {
            // The process gets an error.
            Ok(found) if exclusive || found.kind() == FileType::Symlink => {}
            Ok(found) => {
                let is_denied = |watcher: &mut Self, attempt: Attempt, mode: libc::c_int| {
                    watcher.is_denied(told, &found, attempt, mode)
                };
                let denied_read = reads && is_denied(self, Attempt::Read, libc::R_OK);
                let denied_write = writes && is_denied(self, Attempt::Write, libc::W_OK);
                if denied_read || denied_write {
                    // It is opened for both or not at all.
                    return;
                }
                if reads {
                    self.note(List::Read, &found);
                }
                if writes {
                    self.note(List::Written, &found);
                }
            }
            Err(Nothing::Missing) if creates => self.create(told, folder, length, resolve, Kind::File),
            Err(Nothing::Missing | Nothing::Unseen) => {}
        }
    }

    /// Records a created file or directory.
    fn create(
        &mut self,
        told: &libc::seccomp_notif,
        folder: i32,
        length: usize,
        resolve: ResolveFlags,
        kind: Kind,
    ) {
        let scratch = &mut self.table.scratch;
        let path = &scratch.given[..length];
        let lookup = Lookup { process: told.pid, folder, path, follows: true, resolve };
        let place = files::find_place(&lookup, &mut scratch.way, &mut scratch.rest, &mut scratch.real);
        if !self.is_waiting(told) {
            return;
        }
        let length = match place {
            Ok(length) => length,
            Err(Nothing::Missing) => return,
            Err(Nothing::Unseen) => return self.table.miss(Unseen::File),
        };
        let real = &self.table.scratch.real[..length];
        let is_granted = self.image.sandbox.as_ref().is_none_or(|sandbox| sandbox.lets_create(real));
        if is_granted {
            self.note_path(List::Written, kind, length, None);
        } else {
            self.note_path(List::Denied, Kind::Denied(Attempt::Write), length, None);
        }
    }

    /// Records what a call removes, moves or truncates, and what it makes, as written.
    fn change(
        &mut self,
        told: &libc::seccomp_notif,
        (old, follows): (Option<(i32, u64)>, bool),
        new: Option<(i32, u64)>,
        kind: Kind,
    ) {
        let resolve = ResolveFlags::empty();
        let moves = old.is_some();
        if let Some((folder, place)) = old {
            let Some(length) = self.name(told, place) else { return };
            let Ok(found) = self.find(told, folder, length, follows, resolve) else { return };
            self.note_change(told, &found, follows);
        }
        if let Some((folder, place)) = new {
            let Some(length) = self.name(told, place) else { return };
            match self.find(told, folder, length, false, resolve) {
                Ok(found) if moves => self.note_change(told, &found, false),
                // What is there already is not made again.
                Ok(_) | Err(Nothing::Unseen) => {}
                Err(Nothing::Missing) => self.create(told, folder, length, resolve, kind),
            }
        }
    }

    /// Reads a path of the process, and returns its length without slashes at its end.
    fn name(&mut self, told: &libc::seccomp_notif, place: u64) -> Option<usize> {
        let length = self.path(told, place)?;
        let name = &self.table.scratch.given[..length];
        let end = name.iter().rposition(|byte| *byte != b'/');
        (0 < length).then(|| end.map_or(1, |end| end + 1))
    }

    /// Records a file as written, if the rules permit that. Its own mode matters only to the call that truncates it.
    fn note_change(&mut self, told: &libc::seccomp_notif, found: &Found, is_truncated: bool) {
        let mode = if is_truncated { libc::W_OK } else { 0 };
        if !self.is_denied(told, found, Attempt::Write, mode) {
            self.note(List::Written, found);
        }
    }

    fn execute(
        &mut self,
        told: &libc::seccomp_notif,
        folder: i32,
        place: u64,
        is_descriptor: bool,
        follows: bool,
    ) {
        let Some(length) = self.path(told, place) else { return };
        if length == 0 && !is_descriptor {
            return;
        }
        let Ok(found) = self.find(told, folder, length, follows, ResolveFlags::empty()) else { return };
        if found.kind() == FileType::RegularFile
            && !self.is_denied(told, &found, Attempt::Execute, libc::X_OK)
        {
            self.note(List::Executed, &found);
        }
    }

    /// Looks where the copies of code are, before anything of the run has moved them.
    fn find_sealed(&mut self, told: &libc::seccomp_notif) -> Sealed {
        let Some(path) = self.image.sandbox.as_ref().and_then(|sandbox| sandbox.a_sealed_path()) else {
            return Sealed::Nowhere;
        };
        let (folder, resolve) = (libc::AT_FDCWD, ResolveFlags::empty());
        let lookup = Lookup { process: told.pid, folder, path, follows: true, resolve };
        let scratch = &mut self.table.scratch;
        match files::find(&lookup, &mut scratch.way, &mut scratch.rest, &mut scratch.real) {
            Ok(found) => Sealed::On(found.stat.st_dev),
            Err(_) => {
                self.table.miss(Unseen::File);
                Sealed::Nowhere
            }
        }
    }

    /// Tells whether the rules let the process have a file.
    fn lets(&mut self, told: &libc::seccomp_notif, found: &Found, attempt: Attempt) -> bool {
        let Some(sandbox) = &self.image.sandbox else { return true };
        if self.sealed == Sealed::On(found.stat.st_dev) {
            return attempt != Attempt::Write;
        }
        let scratch = &mut self.table.scratch;
        let (real, kind) = (&scratch.real[..found.length], found.kind());
        if sandbox.lets(real, kind, attempt) {
            return true;
        }
        // The rules are about files, and a file may have another path by now.
        let mut rights = 0;
        let is_granted = files::around(told.pid, found, &mut scratch.way, real, |identity| {
            rights |= sandbox.rights_of(identity);
            sandbox.suffice(rights, kind, attempt)
        });
        let is_let = is_granted.map(|is_granted| is_granted && sandbox.mounts_let(real, kind, attempt));
        is_let.unwrap_or_else(|| {
            self.table.miss(Unseen::File);
            false
        })
    }

    /// Tells whether the sandbox or the mode denies the access, and records a denial.
    fn is_denied(
        &mut self,
        told: &libc::seccomp_notif,
        found: &Found,
        attempt: Attempt,
        mode: libc::c_int,
    ) -> bool {
        // Paths of pipes and sockets do not start with `/`, and are never denied.
        let has_path = self.table.scratch.real[..found.length].starts_with(b"/");
        let is_denied = has_path && (!self.lets(told, found, attempt) || !found.is_permitted(mode));
        if is_denied {
            self.note_path(List::Denied, Kind::Denied(attempt), found.length, None);
        }
        is_denied
    }

    /// Records a file or directory by its path, and a regular file of the workspace with its sha256.
    fn note(&mut self, list: List, found: &Found) {
        let real = &self.table.scratch.real[..found.length];
        if self.observer.inside(real).is_none() {
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
    fn note_path(&mut self, list: List, kind: Kind, length: usize, hashed: Option<&Found>) {
        let real = &self.table.scratch.real[..length];
        let text = match self.observer.inside(real) {
            Some(inside) => inside,
            None if list == List::Denied => real,
            None => return self.table.count_outside(length),
        };
        let start = length - text.len();
        let stamp = hashed.map(|found| found.stamp(&self.observer.keys).to_ne_bytes());
        let key = self.observer.key(list, kind, text, stamp.as_ref().map_or(&[], |stamp| &stamp[..]));
        self.table.count(list);
        if self.table.recall(key).is_some() {
            return;
        }
        if self.table.is_full(list) {
            return self.table.truncate();
        }
        let sha256 = hashed.zip(stamp).and_then(|(found, stamp)| self.sha256(found, &stamp));
        let text = &self.table.scratch.real[start..length];
        // Same bytes as before, so it is the same entry.
        let by_bytes = sha256.map(|sha256| self.observer.key(list, kind, text, &sha256));
        let known = by_bytes.and_then(|key| self.table.recall(key));
        if let Some(entry) = known.or_else(|| self.table.add_real(list, kind, start..length, sha256)) {
            self.table.remember(key, entry);
            if let Some(key) = by_bytes {
                self.table.remember(key, entry);
            }
            if let (Some(stamp), Some(_)) = (stamp, sha256) {
                self.table.remember(self.observer.key(List::Read, Kind::File, b"", &stamp), entry);
            }
        }
    }

    /// Returns the sha256 of a file. Reads it only once.
    fn sha256(&mut self, found: &Found, stamp: &[u8]) -> Option<[u8; 32]> {
        let known = self.table.recall(self.observer.key(List::Read, Kind::File, b"", stamp));
        if let Some(entry) = known {
            return self.table.sha256(entry);
        }
        let scratch = &mut self.table.scratch;
        match files::hash(found, &mut self.table.hashed_bytes, &mut scratch.way, &mut scratch.piece) {
            Hashed::Sha256(sha256) => Some(sha256),
            Hashed::TooMuch => {
                self.table.miss(Unseen::Large);
                None
            }
            Hashed::Unreadable => {
                self.table.miss(Unseen::File);
                None
            }
        }
    }

    fn address(&mut self, told: &libc::seccomp_notif, place: u64, length: u64, is_bound: bool) {
        let mut bytes = [0u8; 128];
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
        if !self.value(told, place, &mut bytes[..length]) || !self.is_waiting(told) {
            return;
        }
        let mut text = [0u8; 128];
        let Some((length, port)) = address_text(&bytes[..length], &mut text) else { return };
        let kind = if is_bound { Kind::Bound } else { Kind::Connected };
        let text = &text[..length];
        let key = self.observer.key(List::Connected, kind, text, &port.to_ne_bytes());
        self.table.count(List::Connected);
        if self.table.recall(key).is_none()
            && let Some(entry) = self.table.add(List::Connected, kind, text, port, None)
        {
            self.table.remember(key, entry);
        }
    }
}

/// Writes an address as text, and returns its length and the port; `None` without an address, and for the kernel
/// itself.
fn address_text(bytes: &[u8], text: &mut [u8]) -> Option<(usize, u16)> {
    use std::io::Write;
    use std::net::{Ipv4Addr, Ipv6Addr};

    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    let room = text.len();
    let mut rest = &mut *text;
    let port = match family {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            write!(rest, "{}", Ipv4Addr::from(address)).ok()?;
            port()?
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            write!(rest, "{}", Ipv6Addr::from(address)).ok()?;
            port()?
        }
        libc::AF_UNIX => {
            let path = bytes.get(2..).filter(|path| !path.is_empty())?;
            let (sign, name) = match path.split_first()? {
                // An abstract socket; the rest is its name.
                (0, name) => (&b"@"[..], name),
                (_, _) => (&b""[..], path.split(|byte| *byte == 0).next()?),
            };
            rest.write_all(sign).ok()?;
            rest.write_all(name).ok()?;
            0
        }
        _ => return None,
    };
    let left = rest.len();
    Some((room - left, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expect: Option<(&str, u16)>) {
        let mut text = [0u8; 128];
        let found = address_text(bytes, &mut text);
        let found = found.map(|(length, port)| (std::str::from_utf8(&text[..length]).unwrap(), port));
        assert_eq!(found, expect, "{bytes:?}");
    }

    #[test]
    fn addresses_become_text() {
        let family = |family: i32| (family as u16).to_ne_bytes();
        let four = [&family(libc::AF_INET)[..], &[0x1f, 0x90, 127, 0, 0, 1, 0, 0]].concat();
        check(&four, Some(("127.0.0.1", 8080)));
        check(&four[..6], None);
        let mut six = [&family(libc::AF_INET6)[..], &[0, 53, 0, 0, 0, 0], &[0; 16], &[0; 4]].concat();
        six[23] = 1;
        check(&six, Some(("::1", 53)));
        let local = |path: &[u8]| [&family(libc::AF_UNIX)[..], path].concat();
        check(&local(b"/run/x\0rest"), Some(("/run/x", 0)));
        check(&local(b"\0bus"), Some(("@bus", 0)));
        check(&local(b""), None);
        check(&family(libc::AF_UNSPEC), None);
        check(&family(libc::AF_NETLINK), None);
        check(&[], None);
    }

    #[test]
    fn a_descriptor_is_handed_over() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let (read, write) = crate::launch::pipe().unwrap();
        send(theirs.as_fd(), 0, Some(write.as_raw_fd())).unwrap();
        drop(write);
        let (errno, copy) = take(ours.as_fd()).unwrap();
        crate::launch::write_all(copy.unwrap(), b"hi");
        let mut bytes = [0; 2];
        assert_eq!((errno, read_full(&read, &mut bytes), &bytes), (0, 2, b"hi"));
        send(theirs.as_fd(), libc::EBUSY, None).unwrap();
        let (errno, none) = take(ours.as_fd()).unwrap();
        assert!(errno == libc::EBUSY && none.is_none());
        drop(theirs);
        assert!(take(ours.as_fd()).is_none());
    }
}
