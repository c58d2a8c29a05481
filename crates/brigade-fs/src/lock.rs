//! Advisory locks that name their holder.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::Explain;
use crate::{FsError, FsErrorKind, RelPath};

/// A lock that is held until it is dropped.
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct Lock {
    /// Dropping it releases the lock: it closes the file, or updates the [`crate::MemoryFs`].
    _held: Box<dyn LockGuard>,
    /// The locked file; `None` in memory.
    file: Option<Arc<File>>,
}

/// A guard that releases a lock when it is dropped.
pub(crate) trait LockGuard: Send + std::fmt::Debug {}

impl<T: Send + std::fmt::Debug> LockGuard for T {}

/// The maximum number of characters shown of the holder's text.
const HOLDER_LIMIT: usize = 200;

impl Lock {
    pub(crate) fn new(held: impl LockGuard + 'static) -> Lock {
        Lock { _held: Box::new(held), file: None }
    }

    /// Returns the locked file; `None` in memory.
    ///
    /// If this process dies, the lock is released when no process has the file open. So a process that was given the
    /// file holds the lock until it ends.
    pub fn file(&self) -> Option<&Arc<File>> {
        self.file.as_ref()
    }

    /// Acquires the lock of an open file if it is free. Leaves the content as it is.
    pub(crate) fn of_free(file: File) -> Option<Lock> {
        file.try_lock().ok()?;
        let file = Arc::new(file);
        Some(Lock { _held: Box::new(HeldFile(file.clone())), file: Some(file) })
    }

    /// Waits for the lock of an open file and writes the holder into it. `length` is the length of the file when it was
    /// opened.
    pub(crate) fn of_file(
        file: File,
        length: u64,
        path: &RelPath,
        holder: &str,
        timeout: Duration,
    ) -> Result<Lock, FsError> {
        let (file, length) = match file.try_lock() {
            Ok(()) => (file, Some(length)),
            Err(TryLockError::Error(error)) => return Err(FsError::io("lock", path.as_str(), &error)),
            // A waiting thread could acquire the lock for a moment after the caller has given up, so do not start one.
            Err(TryLockError::WouldBlock) if timeout.is_zero() => return Err(held(&file, path, timeout)),
            Err(TryLockError::WouldBlock) => (wait(file, path, timeout)?, None),
        };
        // The text is only informative; the kernel owns the lock. Errors here do not matter.
        let _ = name_holder(&file, length, holder);
        let file = Arc::new(file);
        Ok(Lock { _held: Box::new(HeldFile(file.clone())), file: Some(file) })
    }
}

/// Writes the holder into the file. Truncating waits for the disk, so the file is truncated only if it is longer than
/// the text. `length` is its current length, if known.
fn name_holder(file: &File, length: Option<u64>, holder: &str) -> std::io::Result<()> {
    file.write_all_at(holder.as_bytes(), 0)?;
    let length = length.map_or_else(|| file.metadata().map(|metadata| metadata.len()), Ok)?;
    let needed = holder.len() as u64;
    if length <= needed { Ok(()) } else { file.set_len(needed) }
}

/// A locked file.
#[derive(Debug)]
struct HeldFile(Arc<File>);

impl Drop for HeldFile {
    fn drop(&mut self) {
        // Closing is not enough: a child that was forked meanwhile keeps the file open until it executes its program.
        let _ = self.0.unlock();
    }
}

/// Returns the error that names the holder of a lock.
fn held(file: &File, path: &RelPath, waited: Duration) -> FsError {
    let mut words = vec![0; HOLDER_LIMIT];
    let count = file.read_at(&mut words, 0).unwrap_or(0);
    let holder = String::from_utf8_lossy(&words[..count]).trim().to_owned();
    let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
    FsError::new("lock", path.as_str(), FsErrorKind::Locked { holder, waited })
}

/// Waits in a separate thread, because the kernel's queue is fair but has no time limit.
fn wait(file: File, path: &RelPath, timeout: Duration) -> Result<File, FsError> {
    let reader = file.try_clone().explain("lock", path.as_str())?;
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("lock".to_owned())
        .spawn(move || {
            let locked = file.lock();
            // If the caller has given up, dropping the message closes the file and releases the lock.
            let _ = sender.send(locked.map(|()| file));
        })
        .explain("lock", path.as_str())?;
    match receiver.recv_timeout(timeout) {
        Ok(locked) => locked.explain("lock", path.as_str()),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(held(&reader, path, timeout)),
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
    fn every_waiter_gets_the_lock_in_turn() {
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
