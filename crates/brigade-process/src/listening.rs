//! Opens sockets that only their user can connect to, and finds the processes at the ends of sockets.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, pidfd_open};

#[cfg(target_os = "linux")]
use crate::ancestry::is_of_a_run;

/// The mode bits of a socket, after applying [`KIND`].
const SOCKET: u32 = 0o140_000;
/// The mask of the file type in a mode.
const KIND: u32 = 0o170_000;

/// A Unix socket with mode 0600 in a directory that only this user can write to. Dropping it removes the socket.
#[derive(Debug)]
pub struct OwnSocket {
    /// The listening socket. Accepting does not block.
    pub listener: UnixListener,
    /// The path of the socket.
    pub path: PathBuf,
    inode: u64,
}

impl OwnSocket {
    /// Listens at a path. Replaces a socket there if no process listens on it.
    ///
    /// # Errors
    /// Fails with [`io::ErrorKind::PermissionDenied`] if others may write in the directory, with
    /// [`io::ErrorKind::AddrInUse`] if another process listens on the socket, with [`io::ErrorKind::AlreadyExists`] if
    /// the path is not a socket, and with errors of the system.
    pub fn bind(path: &Path) -> io::Result<OwnSocket> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let metadata = fs::metadata(folder)?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if let Ok(there) = fs::symlink_metadata(path) {
            if there.mode() & KIND != SOCKET {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            if UnixStream::connect(path).is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            fs::remove_file(path)?;
        }
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = listener?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let inode = fs::symlink_metadata(path)?.ino();
        Ok(OwnSocket { listener, path: path.to_owned(), inode })
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|there| there.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Describes the process that listens on an address, if the system allows finding it.
pub fn listener_of(address: &str) -> Option<String> {
    let inode = match address.parse::<SocketAddr>() {
        Ok(address) => listening(&address)?,
        Err(_) => local(address)?,
    };
    // The children that it has just started hold the socket, too.
    let pid = holders_of(&inode).last()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim().escape_debug()))
}

/// Finds the processes that have a socket open, as far as the system allows it. The youngest is first.
fn holders_of(inode: &str) -> impl Iterator<Item = u32> {
    let socket_name = format!("socket:[{inode}]");
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by_key(|pid| std::cmp::Reverse(*pid));
    pids.into_iter().filter(move |pid| has_open(*pid, &socket_name))
}

/// Returns whether a process has something open, by its name in `/proc/PID/fd`.
fn has_open(pid: u32, socket_name: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut targets = open.filter_map(|fd| fs::read_link(fd.path()).ok());
    targets.any(|target| target.to_str() == Some(socket_name))
}

/// A socket in a table of the kernel.
struct TableRow {
    local: SocketAddr,
    remote: SocketAddr,
    is_listening: bool,
    user: u32,
    inode: String,
}

impl TableRow {
    fn parse(line: &str) -> Option<TableRow> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(TableRow {
            local: table_address(words.get(1)?)?,
            remote: table_address(words.get(2)?)?,
            is_listening: *words.get(3)? == "0A",
            user: words.get(7)?.parse().ok()?,
            inode: (*words.get(9)?).to_owned(),
        })
    }
}

/// Parses an address of a table: words of four bytes in the order of the machine, and the port.
fn table_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let mut bytes = Vec::with_capacity(16);
    for place in (0..address.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(address.get(place..place + 8)?, 16).ok()?.to_ne_bytes());
    }
    let address = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(address.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

/// Finds a TCP socket of this network namespace by its port.
fn table_row(port: u16, is_it: &dyn Fn(&TableRow) -> bool) -> Option<TableRow> {
    // There may be thousands of closed connections, and parsing takes longer than searching.
    let port = format!(":{port:04X} ");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        let mut rows = table.lines().filter(|line| line.contains(&port)).filter_map(TableRow::parse);
        rows.find(|row| is_it(row))
    })
}

/// Returns the inode of the socket that listens on a port of this machine.
fn listening(address: &SocketAddr) -> Option<String> {
    let is_its = |row: &TableRow| row.is_listening && row.local.port() == address.port();
    let row = table_row(address.port(), &is_its)?;
    Some(row.inode)
}

/// The other end of an accepted connection.
#[derive(Clone, Debug)]
pub enum PeerAddress {
    /// A TCP socket.
    Tcp {
        /// The address of this end.
        own: SocketAddr,
        /// The address of the other end.
        peer: SocketAddr,
    },
    /// A Unix socket, with the process that connected it, if that is known and alive.
    Unix(Option<Arc<PeerProcess>>),
}

/// The process that connected a Unix socket. Its id cannot come to mean another process.
#[derive(Debug)]
pub struct PeerProcess {
    #[cfg(target_os = "linux")]
    pid: u32,
    #[cfg(target_os = "linux")]
    handle: OwnedFd,
}

#[cfg(target_os = "linux")]
impl PeerProcess {
    fn of_socket(socket: BorrowedFd<'_>) -> Option<PeerProcess> {
        let pid = rustix::net::sockopt::socket_peercred(socket).ok()?.pid;
        let handle = match peer_handle(socket) {
            Ok(handle) => handle,
            // Before Linux 6.5.
            Err(rustix::io::Errno::NOPROTOOPT) => pidfd_open(pid, PidfdFlags::empty()).ok()?,
            Err(_) => return None,
        };
        Some(PeerProcess { pid: u32::try_from(pid.as_raw_nonzero().get()).ok()?, handle })
    }

    fn has_ended(&self) -> bool {
        let mut handle = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut handle, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

/// Returns the pidfd of the process that connected a Unix socket.
#[cfg(target_os = "linux")]
fn peer_handle(socket: BorrowedFd<'_>) -> Result<OwnedFd, rustix::io::Errno> {
    let mut handle: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of_val(&handle)).unwrap_or_default();
    // SAFETY: `handle` and `length` live during the call, and `length` is the size of `handle`.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut handle).cast(),
            &raw mut length,
        )
    };
    match done {
        // SAFETY: the kernel has just made this descriptor for the caller.
        0 => Ok(unsafe { OwnedFd::from_raw_fd(handle) }),
        _ => {
            Err(rustix::io::Errno::from_io_error(&io::Error::last_os_error())
                .unwrap_or(rustix::io::Errno::INVAL))
        }
    }
}

impl PeerAddress {
    /// Returns the other end of an accepted Unix socket.
    pub fn of_unix_socket(socket: BorrowedFd<'_>) -> PeerAddress {
        #[cfg(target_os = "linux")]
        let process = PeerProcess::of_socket(socket).map(Arc::new);
        #[cfg(not(target_os = "linux"))]
        let process = {
            let _ = socket;
            None
        };
        PeerAddress::Unix(process)
    }

    /// Returns whether a program of a run or runtime made the connection, unless `workspace` is in that run's private
    /// directory. A connection of this machine whose process cannot be found, or has ended, counts as made by a run.
    /// Linux only; elsewhere the answer is always no.
    pub fn is_of_a_run(&self, workspace: &Path) -> bool {
        self.look(workspace).unwrap_or(true)
    }

    /// Like [`PeerAddress::is_of_a_run`], but a process that cannot be found does not count. The processes of an ssh
    /// tunnel are such. For connections that also need a secret.
    pub fn is_known_of_a_run(&self, workspace: &Path) -> bool {
        self.look(workspace).unwrap_or(false)
    }

    /// Returns whether a run made or has the connection. `None` if no process of it can be found.
    #[cfg(target_os = "linux")]
    fn look(&self, workspace: &Path) -> Option<bool> {
        let (own, peer) = match self {
            PeerAddress::Unix(process) => {
                let process = process.as_ref()?;
                return Some(is_of_a_run(process.pid, workspace) || process.has_ended());
            }
            PeerAddress::Tcp { own, peer } => (own, peer),
        };
        let canonical = |address: &SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let (own, peer) = (canonical(own), canonical(peer));
        let me = rustix::process::geteuid();
        let Some(row) = table_row(peer.port(), &|row| row.local == peer && row.remote == own) else {
            return (!is_of_this_machine(peer.ip())).then_some(false);
        };
        // Runs have the user of their caller, who cannot look into processes of others.
        if !me.is_root() && row.user != me.as_raw() {
            return Some(false);
        }
        let socket_name = format!("socket:[{}]", row.inode);
        // What this process itself connected is also open in the runs that it is just starting.
        let this = std::process::id();
        if has_open(this, &socket_name) {
            return Some(is_of_a_run(this, workspace));
        }
        let mut is_found = false;
        // A closed socket has the inode 0, and no holder.
        for pid in holders_of(&row.inode) {
            is_found = true;
            // A child that a client has just started may have ended by now.
            if is_of_a_run(pid, workspace) && has_open(pid, &socket_name) {
                return Some(true);
            }
        }
        is_found.then_some(false)
    }

    /// This system has no way to find out.
    #[cfg(not(target_os = "linux"))]
    fn look(&self, _: &Path) -> Option<bool> {
        Some(false)
    }
}

/// Returns whether an address belongs to this machine.
#[cfg(target_os = "linux")]
fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// The flags of a Unix socket that listens.
const LISTENING_FLAGS: &str = "00010000";

/// Returns the inode of the socket that listens at a path.
fn local(path: &str) -> Option<String> {
    let table = fs::read_to_string("/proc/net/unix").ok()?;
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Accepted connections have the same path.
        (words.get(7) == Some(&path) && words.get(3) == Some(&LISTENING_FLAGS))
            .then(|| words.get(6).map(|inode| (*inode).to_owned()))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_tables_are_read() {
        let check = |text: &str, expect: Option<&str>| {
            let expect = expect.map(|text| text.parse::<SocketAddr>().unwrap());
            assert_eq!(table_address(text), expect, "{text}");
        };
        if cfg!(target_endian = "little") {
            check("0100007F:1F90", Some("127.0.0.1:8080"));
            check("0000000000000000FFFF00000100007F:0001", Some("127.0.0.1:1"));
            check("00000000000000000000000001000000:FFFF", Some("[::1]:65535"));
        }
        for broken in ["", ":1", "0100007F", "0100007:1F90", "0100007F:1FFFF", "0100007F0100007F:1"] {
            check(broken, None);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_process_of_a_connection_is_found() {
        use std::net::{TcpListener, TcpStream};

        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, peer) = listener.accept().unwrap();
            let own = accepted.local_addr().unwrap();
            let row = table_row(peer.port(), &|row| row.local == peer && row.remote == own).unwrap();
            assert!(holders_of(&row.inode).any(|pid| pid == std::process::id()));
            // Nothing holds a socket that was closed at once, so its process is unknown.
            drop(client);
            assert!(PeerAddress::Tcp { own, peer }.is_of_a_run(Path::new("/")));
        }
        assert!(PeerAddress::Unix(None).is_of_a_run(Path::new("/")));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_ended_process_counts_as_a_run() {
        use std::os::fd::AsFd as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let program = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); input()";
        let mut client = std::process::Command::new("python3")
            .args(["-c", program])
            .arg(&path)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let peer = PeerAddress::of_unix_socket(accepted.as_fd());
        let root = Path::new("/");
        assert_eq!(peer.is_of_a_run(root), is_of_a_run(std::process::id(), root));
        client.kill().unwrap();
        client.wait().unwrap();
        assert!(peer.is_of_a_run(root));
        assert!(PeerAddress::of_unix_socket(accepted.as_fd()).is_of_a_run(root));
    }

    #[test]
    fn each_refused_socket_has_its_error_kind() {
        let folder = tempfile::tempdir().unwrap();
        let own = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        let refused = |name: &str| OwnSocket::bind(&folder.path().join(name)).err().map(|error| error.kind());
        own(0o700);
        fs::write(folder.path().join("plain"), "x").unwrap();
        assert_eq!(refused("plain"), Some(io::ErrorKind::AlreadyExists));
        let held = OwnSocket::bind(&folder.path().join("held")).unwrap();
        assert_eq!(refused("held"), Some(io::ErrorKind::AddrInUse));
        drop(held);
        assert_eq!(refused("held"), None);
        own(0o777);
        assert_eq!(refused("held"), Some(io::ErrorKind::PermissionDenied));
    }
}
