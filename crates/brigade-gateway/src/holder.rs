//! Who listens on an address.

use std::fs;
use std::net::SocketAddr;

/// Describes the process that listens on an address, as far as the system tells.
pub(crate) fn of(address: &str) -> Option<String> {
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
            return Some(format!("process {pid} ({})", brigade::core::text::escape_terminal(name.trim())));
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
const LISTENS: &str = "00010000";

/// Returns the inode of the socket that listens at a path.
fn local(path: &str) -> Option<String> {
    let table = fs::read_to_string("/proc/net/unix").ok()?;
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Accepted connections have the same path.
        (words.get(7) == Some(&path) && words.get(3) == Some(&LISTENS))
            .then(|| words.get(6).map(|inode| (*inode).to_owned()))?
    })
}
