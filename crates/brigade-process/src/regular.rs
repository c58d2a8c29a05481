//! Reads files that others may replace at any time. Only regular files are opened, so a pipe cannot make the reader
//! wait.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading. Follows links.
///
/// # Errors
/// Fails if the file cannot be opened or is not a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads the first bytes of a regular file. Follows links.
///
/// # Errors
/// Fails if the file cannot be read or is not a regular file.
pub(crate) fn first_bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_regular_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "0123").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        for (name, read) in [("file", Some(&b"012"[..])), ("link", Some(b"012")), ("pipe", None), (".", None)]
        {
            assert_eq!(first_bytes(&path(name), 3).ok().as_deref(), read, "{name}");
        }
    }
}
