//! Advisory locks that tell who holds them.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::Explain;
use crate::{FsError, FsErrorKind, RelPath};

/// A lock that is held until this is dropped.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct Lock {
    /// Dropping it releases: closes the file, or tells the memory.
    _held: Box<dyn Held>,
}

/// What releases a lock when it is dropped.
pub(crate) trait Held: Send + std::fmt::Debug {}

impl<T: Send + std::fmt::Debug> Held for T {}

/// How much of the holder's words is shown.
const HOLDER_LIMIT: usize = 200;

impl Lock {
    pub(crate) fn new(held: impl Held + 'static) -> Lock {
        Lock { _held: Box::new(held) }
    }

    /// Waits for the lock of an open file and writes the holder into it.
    pub(crate) fn of_file(
        file: File,
        path: &RelPath,
        holder: &str,
        timeout: Duration,
    ) -> Result<Lock, FsError> {
        let file = match file.try_lock() {
            Ok(()) => file,
            Err(TryLockError::Error(error)) => return Err(FsError::io("lock", path.as_str(), &error)),
            Err(TryLockError::WouldBlock) => wait(file, path, timeout)?,
        };
        // Only words for the others: the lock itself is the kernel's, so what fails here does not matter.
        let _ = file.set_len(0).and_then(|()| file.write_all_at(holder.as_bytes(), 0));
        Ok(Lock::new(file))
    }
}

/// Waits in line in a thread of its own, because the kernel's queue is fair and has no time limit.
fn wait(file: File, path: &RelPath, timeout: Duration) -> Result<File, FsError> {
    let reader = file.try_clone().explain("lock", path.as_str())?;
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("lock".to_owned())
        .spawn(move || {
            let locked = file.lock();
            // When nobody waits any more, the file is dropped with the message, which releases the lock.
            let _ = sender.send(locked.map(|()| file));
        })
        .explain("lock", path.as_str())?;
    match receiver.recv_timeout(timeout) {
        Ok(locked) => locked.explain("lock", path.as_str()),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let mut words = vec![0; HOLDER_LIMIT];
            let count = reader.read_at(&mut words, 0).unwrap_or(0);
            let holder = String::from_utf8_lossy(&words[..count]).trim().to_owned();
            let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
            Err(FsError::new("lock", path.as_str(), FsErrorKind::Locked { holder, waited: timeout }))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::{DiskFs, Fs, MemoryFs};

    fn both(check: impl Fn(&dyn Fs)) {
        let folder = tempfile::tempdir().unwrap();
        check(&DiskFs::open(folder.path()).unwrap());
        check(&MemoryFs::new());
    }

    #[test]
    fn a_waiting_writer_learns_who_holds_the_lock() {
        both(|fs| {
            let path: RelPath = "queue.lock".parse().unwrap();
            let held = fs.lock(&path, "4711 brigade call queue", Duration::ZERO).unwrap();
            let error = fs.lock(&path, "4712", Duration::from_millis(5)).err().unwrap();
            assert!(error.to_string().contains("by 4711 brigade call queue; wait"), "{error}");
            drop(held);
            drop(fs.lock(&path, "4712", Duration::from_secs(60)).unwrap());
        });
    }

    #[test]
    fn only_one_holds_it_and_everybody_gets_it() {
        both(|fs| {
            let path: RelPath = "queue.lock".parse().unwrap();
            let inside = AtomicU32::new(0);
            let done = AtomicU32::new(0);
            std::thread::scope(|scope| {
                for _ in 0..64 {
                    scope.spawn(|| {
                        let held = fs.lock(&path, "a thread", Duration::from_secs(60)).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                        drop(held);
                    });
                }
            });
            assert_eq!(done.into_inner(), 64);
        });
    }
}
