//! Stores the observations in memory shared by the keeper and Brigade.
//!
//! The keeper cannot allocate, so all sizes are fixed. The system provides pages on use. Brigade reads the table after
//! the keeper has ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::NonNull;

use crate::{Attempt, ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile, ObservedUse};

use super::lookup::PathBuffer;

/// The maximum number of entries in a list.
pub(super) const MAX_ENTRIES: usize = 2_000;

const LISTS: usize = 5;
const TEXT: usize = 4 << 20;
const SLOTS: usize = 1 << 15;
const MAX_TOPS: usize = 64;
const TOP_NAME: usize = 62;

/// The prefix of the names of files in memory.
const IN_MEMORY: &[u8] = b"memfd:";

/// One of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Read,
    Executed,
    Written,
    Connected,
    Denied,
}

/// An entry without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Connected,
    Bound,
    Denied(Attempt),
}

impl Kind {
    pub(super) fn number(self) -> u8 {
        match self {
            Kind::File => 0,
            Kind::Folder => 1,
            Kind::Connected => 2,
            Kind::Bound => 3,
            Kind::Denied(Attempt::Read) => 4,
            Kind::Denied(Attempt::Write) => 5,
            Kind::Denied(Attempt::Execute) => 6,
            Kind::Denied(Attempt::Create) => 7,
        }
    }

    fn attempt(number: u8) -> Attempt {
        match number {
            5 => Attempt::Write,
            6 => Attempt::Execute,
            7 => Attempt::Create,
            _ => Attempt::Read,
        }
    }
}

/// Why entries may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObservationGap {
    /// The memory or the directories of a process were unreadable.
    Process,
    /// A file could not be examined.
    File,
    /// A file, or all files together, were too large to hash.
    Large,
    /// The keeper ended early.
    End,
}

impl ObservationGap {
    const ALL: [ObservationGap; 4] =
        [ObservationGap::Process, ObservationGap::File, ObservationGap::Large, ObservationGap::End];

    fn bit(self) -> u32 {
        1 << self as u32
    }

    fn sentence(self) -> &'static str {
        match self {
            ObservationGap::Process => "the arguments of a call could not be read from the process",
            ObservationGap::File => "a file could not be examined",
            ObservationGap::Large => "a file was too large to be hashed, or there was too much to hash",
            ObservationGap::End => "the observing process was ended before the run",
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    text: u32,
    length: u32,
    kind: u8,
    is_hashed: u8,
    port: u16,
    sha256: [u8; 32],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    /// The list and position of the entry, plus one; 0 for a free slot.
    entry: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct TopEntry {
    count: u64,
    length: u16,
    name: [u8; TOP_NAME],
}

/// Space for one call.
#[repr(C)]
pub(super) struct Scratch {
    /// The path from the process.
    pub(super) given: [u8; 4097],
    /// The path by which the keeper finds the same file.
    pub(super) buffer: [u8; 4224],
    /// The rest of a path whose links are followed.
    pub(super) rest: PathBuffer,
    /// The path without links.
    pub(super) real: [u8; 4352],
    /// A part of a file.
    pub(super) piece: [u8; 65_536],
}

/// The table. It has only numbers, so all zeroes is an empty table.
#[repr(C)]
pub(super) struct Table {
    /// The error number if the kernel does not notify; 0 if it does.
    pub(super) refusal: i32,
    /// Bits of [`ObservationGap`].
    unseen: u32,
    is_truncated: u32,
    counts: [u64; LISTS],
    lengths: [u32; LISTS],
    text_length: u32,
    keys: u32,
    pub(super) hashed_bytes: u64,
    tops: [TopEntry; MAX_TOPS],
    entries: [[Entry; MAX_ENTRIES]; LISTS],
    slots: [Slot; SLOTS],
    text: [u8; TEXT],
    pub(super) scratch: Scratch,
}

impl Table {
    pub(super) fn count(&mut self, list: List) {
        self.counts[list as usize] += 1;
    }

    pub(super) fn add_gap(&mut self, gap: ObservationGap) {
        self.unseen |= gap.bit();
    }

    pub(super) fn remove_gap(&mut self, gap: ObservationGap) {
        self.unseen &= !gap.bit();
    }

    pub(super) fn is_full(&self, list: List) -> bool {
        self.lengths[list as usize] as usize == MAX_ENTRIES
    }

    pub(super) fn mark_truncated(&mut self) {
        self.is_truncated = 1;
    }

    /// Counts a file outside of the workspace by the first directory of the path with this length in [`Scratch::real`].
    pub(super) fn count_outside(&mut self, length: usize) {
        let real = &self.scratch.real[..length];
        // Pipes and sockets have no directory.
        let Some(rest) = real.strip_prefix(b"/") else { return };
        let name = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
        // Files in memory have names that the program chose, and no directory.
        let name = if name.starts_with(IN_MEMORY) { IN_MEMORY } else { &name[..name.len().min(TOP_NAME)] };
        for top in &mut self.tops {
            if top.count == 0 {
                top.name[..name.len()].copy_from_slice(name);
                top.length = name.len() as u16;
            }
            if &top.name[..usize::from(top.length)] == name {
                top.count += 1;
                return;
            }
        }
        self.is_truncated = 1;
    }

    fn slot(&self, key: u64) -> usize {
        let mut at = key as usize % SLOTS;
        while self.slots[at].entry != 0 && self.slots[at].key != key {
            at = (at + 1) % SLOTS;
        }
        at
    }

    /// Returns the entry for a key.
    pub(super) fn recall(&self, key: u64) -> Option<EntryId> {
        let entry = self.slots[self.slot(key)].entry;
        (entry != 0).then_some(EntryId(entry))
    }

    /// Adds a key for an entry. A full table drops old keys, which only costs time.
    pub(super) fn remember(&mut self, key: u64, entry: EntryId) {
        let at = self.slot(key);
        if self.slots[at].entry == 0 && SLOTS / 2 <= self.keys as usize {
            return;
        }
        self.keys += u32::from(self.slots[at].entry == 0);
        self.slots[at] = Slot { key, entry: entry.0 };
    }

    /// Returns the sha256 of an entry.
    pub(super) fn sha256(&self, entry: EntryId) -> Option<[u8; 32]> {
        let (list, place) = entry.place();
        let entry = self.entries[list][place];
        (entry.is_hashed != 0).then_some(entry.sha256)
    }

    /// Adds an entry, unless its list or the space for texts is full.
    pub(super) fn add(
        &mut self,
        list: List,
        kind: Kind,
        text: &[u8],
        port: u16,
        sha256: Option<[u8; 32]>,
    ) -> Option<EntryId> {
        let free = self.text.get_mut(self.text_length as usize..)?.get_mut(..text.len());
        let Some(free) = free else {
            self.is_truncated = 1;
            return None;
        };
        free.copy_from_slice(text);
        self.put(list, kind, text.len(), port, sha256)
    }

    /// Adds an entry with this part of the path in [`Scratch::real`] as text.
    pub(super) fn add_real(
        &mut self,
        list: List,
        kind: Kind,
        part: Range<usize>,
        sha256: Option<[u8; 32]>,
    ) -> Option<EntryId> {
        let length = part.len();
        let free = self.text.get_mut(self.text_length as usize..)?.get_mut(..length);
        let (Some(free), Some(text)) = (free, self.scratch.real.get(part)) else {
            self.is_truncated = 1;
            return None;
        };
        free.copy_from_slice(text);
        self.put(list, kind, length, 0, sha256)
    }

    /// Adds an entry whose text was appended before.
    fn put(
        &mut self,
        list: List,
        kind: Kind,
        length: usize,
        port: u16,
        sha256: Option<[u8; 32]>,
    ) -> Option<EntryId> {
        let place = self.lengths[list as usize] as usize;
        if place == MAX_ENTRIES {
            self.is_truncated = 1;
            return None;
        }
        let start = self.text_length;
        self.text_length += length as u32;
        self.entries[list as usize][place] = Entry {
            text: start,
            length: length as u32,
            kind: kind.number(),
            is_hashed: u8::from(sha256.is_some()),
            port,
            sha256: sha256.unwrap_or_default(),
        };
        self.lengths[list as usize] += 1;
        Some(EntryId::at(list as usize, place))
    }

    fn entries(&self, list: List) -> impl Iterator<Item = (&Entry, OsString)> {
        let length = (self.lengths[list as usize] as usize).min(MAX_ENTRIES);
        self.entries[list as usize][..length].iter().map(|entry| {
            let start = entry.text as usize;
            let text = self.text.get(start..start.saturating_add(entry.length as usize)).unwrap_or_default();
            (entry, OsString::from_vec(text.to_vec()))
        })
    }

    fn files(&self, list: List) -> Vec<ObservedFile> {
        self.entries(list)
            .map(|(entry, path)| ObservedFile {
                path: path.into(),
                is_folder: entry.kind == Kind::Folder.number(),
                sha256: (entry.is_hashed != 0).then_some(entry.sha256),
            })
            .collect()
    }

    /// Returns all observations.
    pub(super) fn observed(&self) -> ObservedUse {
        let count = |list: List| self.counts[list as usize];
        let mut outside: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for top in self.tops.iter().filter(|top| 0 < top.count) {
            let name = &top.name[..usize::from(top.length).min(TOP_NAME)];
            let path = OsString::from_vec([b"/", name].concat());
            *outside.entry(path.into()).or_default() += top.count;
        }
        ObservedUse {
            read: self.files(List::Read),
            executed: self.files(List::Executed),
            written: self.files(List::Written),
            connected: self
                .entries(List::Connected)
                .map(|(entry, text)| ObservedAddress {
                    address: text.to_string_lossy().into_owned(),
                    port: (entry.port != 0 || !text.as_encoded_bytes().starts_with(b"/"))
                        .then_some(entry.port),
                    is_bound: entry.kind == Kind::Bound.number(),
                })
                .collect(),
            denied: self
                .entries(List::Denied)
                .map(|(entry, path)| ObservedDenial { path: path.into(), what: Kind::attempt(entry.kind) })
                .collect(),
            counts: ObservedCounts {
                read: count(List::Read),
                executed: count(List::Executed),
                written: count(List::Written),
                connected: count(List::Connected),
                denied: count(List::Denied),
            },
            outside,
            is_truncated: self.is_truncated != 0,
            unseen: ObservationGap::ALL
                .into_iter()
                .filter(|unseen| self.unseen & unseen.bit() != 0)
                .map(ObservationGap::sentence)
                .collect(),
        }
    }
}

/// Encodes list and position of an entry, plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryId(u32);

impl EntryId {
    fn at(list: usize, place: usize) -> EntryId {
        EntryId((list * MAX_ENTRIES + place) as u32 + 1)
    }

    fn place(self) -> (usize, usize) {
        let number = self.0 as usize - 1;
        (number / MAX_ENTRIES, number % MAX_ENTRIES)
    }
}

/// A table in memory shared with all processes forked from this one.
#[derive(Debug)]
pub(super) struct SharedTable(NonNull<Table>);

// SAFETY: the table is plain memory. While the keeper writes it, no other process reads it; see `table` and
// `table_of_keeper`.
unsafe impl Send for SharedTable {}
// SAFETY: as above.
unsafe impl Sync for SharedTable {}

impl SharedTable {
    pub(super) fn new() -> io::Result<SharedTable> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: asks for fresh memory, which the kernel fills with zeroes and aligns to pages.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Table>(), protection, flags, -1, 0) };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(place.cast()).map(SharedTable).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Returns the table for the caller, after the keeper has ended.
    pub(super) fn table(&self) -> &Table {
        // SAFETY: the memory lives as long as `self`, and any bytes are valid numbers. The keeper, the only writer, has
        // ended.
        unsafe { self.0.as_ref() }
    }

    /// Returns the table for the keeper, a process with one thread that holds it once.
    #[expect(clippy::mut_from_ref, reason = "the memory is shared between processes, not within one")]
    pub(super) fn table_of_keeper(&self) -> &mut Table {
        // SAFETY: as above. The keeper's process calls this once, and the caller does not read before the keeper has
        // ended.
        unsafe { &mut *self.0.as_ptr() }
    }
}

impl Drop for SharedTable {
    fn drop(&mut self) {
        // SAFETY: no reference is left.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Table>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> SharedTable {
        SharedTable::new().unwrap()
    }

    #[test]
    fn added_entries_read_back() {
        let shared = table();
        let table = shared.table_of_keeper();
        table.count(List::Read);
        table.count(List::Read);
        let entry = table.add(List::Read, Kind::File, b"lib/a.py", 0, Some([7; 32])).unwrap();
        table.remember(5, entry);
        table.remember(5 + SLOTS as u64, entry);
        assert_eq!((table.recall(5), table.recall(5 + SLOTS as u64)), (Some(entry), Some(entry)));
        assert_eq!((table.recall(6), table.sha256(entry)), (None, Some([7; 32])));
        table.add(List::Read, Kind::Folder, b"lib", 0, None);
        table.add(List::Denied, Kind::Denied(Attempt::Write), b"/etc/x", 0, None);
        table.add(List::Connected, Kind::Bound, b"127.0.0.1", 80, None);
        table.add(List::Connected, Kind::Connected, b"/run/x", 0, None);
        let in_memory = b"/memfd:named by the program (deleted)";
        for path in [&b"/usr/lib/x"[..], b"/usr", b"/etc/x", b"pipe:[7]", in_memory, in_memory] {
            table.scratch.real[..path.len()].copy_from_slice(path);
            table.count_outside(path.len());
        }
        table.add_gap(ObservationGap::Large);
        table.add_gap(ObservationGap::End);
        table.remove_gap(ObservationGap::End);
        let file = |path: &str, is_folder, sha256| ObservedFile { path: path.into(), is_folder, sha256 };
        let address =
            |address: &str, port, is_bound| ObservedAddress { address: address.into(), port, is_bound };
        assert_eq!(
            shared.table().observed(),
            ObservedUse {
                read: vec![file("lib/a.py", false, Some([7; 32])), file("lib", true, None)],
                connected: vec![address("127.0.0.1", Some(80), true), address("/run/x", None, false)],
                denied: vec![ObservedDenial { path: "/etc/x".into(), what: Attempt::Write }],
                counts: ObservedCounts { read: 2, ..ObservedCounts::default() },
                outside: BTreeMap::from([("/etc".into(), 1), ("/memfd:".into(), 2), ("/usr".into(), 2)]),
                unseen: vec![ObservationGap::Large.sentence()],
                ..ObservedUse::default()
            }
        );
    }

    #[test]
    fn a_full_list_is_truncated() {
        let shared = table();
        let table = shared.table_of_keeper();
        for number in 0..MAX_ENTRIES {
            assert!(!table.is_full(List::Written) && table.is_truncated == 0);
            table.add(List::Written, Kind::File, number.to_string().as_bytes(), 0, None).unwrap();
        }
        assert!(table.is_full(List::Written));
        assert_eq!(table.add(List::Written, Kind::File, b"one more", 0, None), None);
        table.add(List::Read, Kind::File, b"another list", 0, None).unwrap();
        let observed = shared.table().observed();
        assert_eq!(
            (observed.written.len(), observed.read.len(), observed.is_truncated),
            (MAX_ENTRIES, 1, true)
        );
    }

    #[test]
    fn many_keys_are_forgotten_and_never_too_many() {
        let shared = table();
        let table = shared.table_of_keeper();
        let entry = table.add(List::Read, Kind::File, b"a", 0, None).unwrap();
        for key in 0..2 * SLOTS as u64 {
            table.remember(key, entry);
        }
        assert_eq!((table.recall(0), table.recall(SLOTS as u64 + 1)), (Some(entry), None));
    }
}
