//! Reads processes and sockets from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use brigade_core::Timestamp;
use brigade_process::{CancelToken, ProcessIdentity};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Dir, Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Holder, Holders};

/// The maximum number of bytes that are read of one file in `/proc`.
const LIMIT: u64 = 16 << 20;

/// The maximum number of parents that are followed, so that the search ends even if the table changes.
const MAX_PARENTS: usize = 256;

fn read(path: &str) -> Option<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    File::from(file).take(LIMIT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns when a process started, by the system's clock.
pub(super) fn started(identity: &ProcessIdentity) -> Option<Timestamp> {
    let booted = boot_time(&read("/proc/stat")?)?;
    let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).ok().filter(|ticks| 0 < *ticks)?;
    let since_boot = i64::try_from(identity.start_time()).ok()?.checked_mul(1_000_000)? / ticks;
    Some(Timestamp::from_unix_micros(booted.checked_mul(1_000_000)?.checked_add(since_boot)?))
}

fn boot_time(stat: &[u8]) -> Option<i64> {
    let line = stat.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"btime "))?;
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

pub(super) fn argv(pid: u32) -> Option<Vec<String>> {
    let bytes = read(&format!("/proc/{pid}/cmdline"))?;
    let words = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    Some(words.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Parent and session of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Relations {
    parent: u32,
    session: u32,
}

fn relations(pid: u32) -> Option<Relations> {
    parse_relations(&read(&format!("/proc/{pid}/stat"))?)
}

/// Parses the relations. The program's name may contain brackets and spaces, so fields count from the last `)`.
fn parse_relations(stat: &[u8]) -> Option<Relations> {
    let close = stat.iter().rposition(|b| *b == b')')?;
    let text = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Relations { parent, session })
}

pub(super) fn leads_session(pid: u32) -> Option<bool> {
    relations(pid).map(|relations| relations.session == pid)
}

pub(super) fn belongs(pid: u32, root: u32) -> bool {
    let mut pid = pid;
    for _ in 0..MAX_PARENTS {
        if pid == root {
            return true;
        }
        match relations(pid) {
            Some(relations) if relations.session == root => return true,
            Some(relations) if 1 < relations.parent => pid = relations.parent,
            Some(_) | None => return false,
        }
    }
    false
}

/// Finds the holders of these TCP ports. `first` are likely holders, which are checked before others.
pub(crate) fn holders(ports: &BTreeSet<u16>, first: &[u32]) -> Holders {
    let mut sockets = BTreeMap::new();
    if ports.is_empty() {
        return Holders::new();
    }
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for socket in read(table).map(|bytes| listening(&bytes)).unwrap_or_default() {
            if ports.contains(&socket.port) {
                sockets.insert(socket.inode, socket);
            }
        }
    }
    let mut found: BTreeMap<u64, u32> = BTreeMap::new();
    let mut look = |pid: u32| {
        if found.len() < sockets.len() {
            found.extend(open_sockets(pid).into_iter().filter(|i| sockets.contains_key(i)).map(|i| (i, pid)));
        }
    };
    if !sockets.is_empty() {
        first.iter().copied().for_each(&mut look);
        processes().into_iter().for_each(&mut look);
    }
    let mut holders = Holders::new();
    for socket in sockets.values() {
        let pid = found.get(&socket.inode).copied();
        let holder = holders.entry(socket.port).or_insert(Holder { pid, program: None, is_local: false });
        holder.is_local |= socket.is_local;
        // A port may have listeners on several addresses; the one that local clients reach names the holder.
        if holder.pid.is_none() || socket.is_local && pid.is_some() {
            holder.pid = pid;
        }
    }
    for holder in holders.values_mut() {
        holder.program = holder.pid.and_then(program_name);
    }
    holders
}

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    port: u16,
    inode: u64,
    is_local: bool,
}

/// Reads the listening sockets of `/proc/net/tcp` or `tcp6`. Skips lines in another format.
fn listening(table: &[u8]) -> Vec<Socket> {
    let parse = |line: &[u8]| -> Option<Socket> {
        let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        let (address, port) = fields.nth(1)?.split_once(':')?;
        if fields.nth(1)? != "0A" {
            return None;
        }
        let inode = fields.nth(5)?.parse().ok()?;
        Some(Socket { port: u16::from_str_radix(port, 16).ok()?, inode, is_local: is_local(address) })
    };
    table.split(|b| *b == b'\n').filter_map(parse).collect()
}

/// Returns whether local clients reach this address. Addresses are hexadecimal, each 32 bits in the byte order of the
/// machine.
fn is_local(address: &str) -> bool {
    let little = cfg!(target_endian = "little");
    let v4 = |address: &str| if little { address.ends_with("7F") } else { address.starts_with("7F") };
    let mapped = if little { "0000000000000000FFFF0000" } else { "00000000000000000000FFFF" };
    let loopback =
        if little { "00000000000000000000000001000000" } else { "00000000000000000000000000000001" };
    address.bytes().all(|b| b == b'0')
        || address == loopback
        || address.strip_prefix(mapped).is_some_and(v4)
        || address.len() == 8 && v4(address)
}

fn processes() -> Vec<u32> {
    names("/proc").into_iter().filter_map(|name| name.parse().ok()).collect()
}

fn names(folder: &str) -> Vec<String> {
    let open = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let Ok(entries) = open.and_then(Dir::read_from) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned())).collect()
}

fn open_sockets(pid: u32) -> Vec<u64> {
    let folder = format!("/proc/{pid}/fd");
    let socket = |name: String| -> Option<u64> {
        let target = rustix::fs::readlinkat(CWD, format!("{folder}/{name}"), Vec::new()).ok()?;
        target.to_str().ok()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    names(&folder).into_iter().filter_map(socket).collect()
}

fn program_name(pid: u32) -> Option<String> {
    let name = String::from_utf8_lossy(&read(&format!("/proc/{pid}/comm"))?).trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Waits until the process has ended or the token is triggered, at most this long.
pub(crate) fn wait(process: Option<&ProcessIdentity>, cancel: Option<&CancelToken>, at_most: Duration) {
    let held = process.and_then(|process| {
        let pid = Pid::from_raw(i32::try_from(process.pid()).ok()?)?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    });
    // Opened before the comparison, so that the pid cannot be reused meanwhile.
    if process.is_some_and(|process| !process.is_alive()) {
        return;
    }
    let mut watched = Vec::new();
    watched.extend(held.as_ref().map(|held| PollFd::from_borrowed_fd(held.as_fd(), PollFlags::IN)));
    watched.extend(cancel.map(|cancel| PollFd::from_borrowed_fd(cancel.as_fd(), PollFlags::IN)));
    let timeout = Timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos() as _ };
    let _ = poll(&mut watched, Some(&timeout));
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_holder_of_a_port_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = std::process::id();
        let holders = holders(&BTreeSet::from([port, 1]), &[]);
        let holder = &holders[&port];
        assert_eq!((holder.pid, holder.is_local), (Some(me), true));
        assert!(holder.program.is_some());
        assert_eq!(holder.belongs_to(&ProcessIdentity::current().unwrap()), Some(true));
    }

    #[test]
    fn only_listening_sockets_count() {
        let table = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0\n\
            \x20  1: 0101A8C0:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0\n\
            \x20  2: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 13 1 0\n";
        let expect = [
            Socket { port: 8080, inode: 4711, is_local: true },
            Socket { port: 80, inode: 12, is_local: false },
        ];
        assert_eq!(listening(table), expect);
    }

    #[test]
    fn facts_of_this_process_are_read() {
        let me = super::super::observe(std::process::id()).unwrap();
        assert!(me.argv.unwrap()[0].contains("brigade_runtime"));
        assert!(me.started.is_some());
        assert_eq!(boot_time(b"cpu 1\nbtime 99\n"), Some(99));
    }

    #[test]
    fn brackets_in_a_program_name_are_skipped() {
        let expect = Relations { parent: 7, session: 9 };
        assert_eq!(parse_relations(b"12 (a) b) R 1 (x) S 7 8 9 0 -1"), Some(expect));
        assert_eq!(parse_relations(b"12 (a"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(bytes in any::<Vec<u8>>(), text in "[0-9A-F: \n()]{0,200}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                let _ = (listening(bytes), parse_relations(bytes), boot_time(bytes));
            }
        }
    }
}
