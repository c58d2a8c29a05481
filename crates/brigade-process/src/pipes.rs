//! Two named pipes that let a program in the sandbox talk to one outside without a socket.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, fcntl_getfl, fcntl_setfl, flock, mknodat};

/// The pipe that the other side writes.
const TO: &str = "to";
/// The pipe that the other side reads.
const FROM: &str = "from";

/// The two pipes, on the side that created them.
///
/// Both are opened once, when they are created. So later changes of their names have no effect.
#[derive(Debug)]
pub struct NamedPipes {
    /// Reads what the other side wrote. It ends when [`NamedPipes::open`] was dropped and no writer is left.
    pub input: File,
    /// Writes what the other side reads. Fails when `open` was dropped and no reader is left.
    pub output: File,
    /// Keeps both pipes open while the other side is not connected.
    pub open: OpenPipes,
}

/// Keeps pipes open while the other side is not connected.
#[derive(Debug)]
pub struct OpenPipes {
    _kept: [File; 2],
}

impl NamedPipes {
    /// Creates both pipes in a directory that does not have these names yet. Only this user can open them.
    ///
    /// # Errors
    /// Fails with errors of the system.
    pub fn create(directory: &Path) -> io::Result<NamedPipes> {
        let make = |name: &str| -> io::Result<(File, std::path::PathBuf)> {
            let path = directory.join(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            // Opened for reading and writing, so that neither the next open nor a write waits for the other side.
            Ok((pipe(&path, OpenOptions::new().read(true).write(true))?, path))
        };
        let (kept_to, to) = make(TO)?;
        let (kept_from, from) = make(FROM)?;
        Ok(NamedPipes {
            input: pipe(&to, OpenOptions::new().read(true))?,
            output: pipe(&from, OpenOptions::new().write(true))?,
            open: OpenPipes { _kept: [kept_to, kept_from] },
        })
    }

    /// Connects to the pipes of a directory from the other side: returns the pipe to read and the pipe to write.
    ///
    /// # Errors
    /// Fails if the pipes do not exist or their creator has ended, and with [`io::ErrorKind::WouldBlock`] if another
    /// process is connected already.
    pub fn connect(directory: &Path) -> io::Result<(File, File)> {
        let to = pipe(&directory.join(TO), OpenOptions::new().write(true))?;
        flock(&to, FlockOperation::NonBlockingLockExclusive)?;
        let from = pipe(&directory.join(FROM), OpenOptions::new().read(true))?;
        Ok((from, to))
    }
}

/// Opens a pipe without waiting for the other side. Later reads and writes wait.
fn pipe(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a pipe"));
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn each_side_reads_what_the_other_writes() {
        let folder = tempfile::tempdir().unwrap();
        let mut ours = NamedPipes::create(folder.path()).unwrap();
        for round in [*b"one", *b"two"] {
            let (mut from, mut to) = NamedPipes::connect(folder.path()).unwrap();
            let second = NamedPipes::connect(folder.path()).unwrap_err();
            assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
            to.write_all(&round).unwrap();
            let mut read = [0; 3];
            ours.input.read_exact(&mut read).unwrap();
            ours.output.write_all(&read).unwrap();
            from.read_exact(&mut read).unwrap();
            assert_eq!(read, round);
        }
        let NamedPipes { mut input, mut output, open } = ours;
        drop(open);
        assert_eq!(input.read(&mut [0; 3]).unwrap(), 0, "no writer is left");
        assert_eq!(output.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn nothing_else_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(NamedPipes::connect(folder.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let target = folder.path().join("target");
        fs::write(&target, "mine").unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join(TO)).unwrap();
        assert!(NamedPipes::connect(folder.path()).is_err());
        fs::remove_file(folder.path().join(TO)).unwrap();
        fs::write(folder.path().join(TO), "").unwrap();
        assert!(NamedPipes::connect(folder.path()).is_err());
        assert!(NamedPipes::create(folder.path()).is_err(), "existing pipes are not reused");
        assert_eq!(fs::read_to_string(target).unwrap(), "mine");
    }

    #[test]
    fn pipes_without_a_creator_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(NamedPipes::create(folder.path()).unwrap());
        assert!(NamedPipes::connect(folder.path()).is_err());
    }
}
