//! Opens sockets that only their user can connect to, and finds the process that listens on an address.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

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
    let wanted = format!("socket:[{inode}]");
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(open) = fs::read_dir(entry.path().join("fd")) else { continue };
        let holds = open
            .flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target.to_str() == Some(wanted.as_str())));
        if holds {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            return Some(format!("process {pid} ({})", name.trim().escape_debug()));
        }
    }
    None
}

/// Returns the inode of the socket that listens on a port of this machine.
fn listening(address: &SocketAddr) -> Option<String> {
    let port = format!(":{:04X}", address.port());
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        table.lines().skip(1).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Local address, then the state (0A listens), then the inode.
            (words.get(1)?.ends_with(&port) && *words.get(3)? == "0A")
                .then(|| words.get(9).map(|inode| (*inode).to_owned()))?
        })
    })
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
