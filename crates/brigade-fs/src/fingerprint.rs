//! Computes the sha256 of a file of any size, and of files that may be anything.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use brigade_core::{Fingerprint, FingerprintStream};

use crate::{Fs, FsError, FsErrorKind, ReadFile};

/// The number of bytes read at a time.
const CHUNK: usize = 256 * 1024;

/// How long reading one bound file may take.
const MAX_READ_TIME: Duration = Duration::from_secs(60);

/// The largest file that is bound, in bytes. A sparse file may claim any length.
#[derive(Debug)]
pub struct BoundFileLimit(AtomicU64);

impl BoundFileLimit {
    /// The limit of a policy that sets none.
    pub const DEFAULT: u64 = 1 << 30;

    /// Creates the limit of a policy that sets none.
    pub const fn new() -> BoundFileLimit {
        BoundFileLimit(AtomicU64::new(BoundFileLimit::DEFAULT))
    }

    /// Returns the limit.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Changes the limit to that of a policy.
    pub fn set(&self, limit: Option<u64>) {
        self.0.store(limit.unwrap_or(BoundFileLimit::DEFAULT), Ordering::Relaxed);
    }
}

impl Default for BoundFileLimit {
    fn default() -> BoundFileLimit {
        BoundFileLimit::new()
    }
}

type IsCancelled = Box<dyn Fn() -> bool>;

thread_local! {
    /// Tells whether reading in this thread should end. Files are hashed far below the operation that is cancelled.
    static IS_CANCELLED: RefCell<Option<IsCancelled>> = const { RefCell::new(None) };
}

/// While it exists, reading a bound file in this thread fails with [`io::ErrorKind::Interrupted`] once the operation is
/// cancelled.
#[must_use]
pub struct CancelReading {
    before: Option<IsCancelled>,
    of_thread: PhantomData<*const ()>,
}

impl CancelReading {
    /// Sets what tells whether the operation is cancelled.
    pub fn when(is_cancelled: impl Fn() -> bool + 'static) -> CancelReading {
        let before = IS_CANCELLED.replace(Some(Box::new(is_cancelled)));
        CancelReading { before, of_thread: PhantomData }
    }
}

impl Drop for CancelReading {
    fn drop(&mut self) {
        IS_CANCELLED.replace(self.before.take());
    }
}

/// The time that reading one bound file takes.
#[derive(Debug)]
pub struct ReadTimer(Instant);

impl ReadTimer {
    /// Starts.
    #[allow(clippy::new_without_default, reason = "a timer starts when it is made")]
    pub fn new() -> ReadTimer {
        ReadTimer(Instant::now())
    }

    /// Fails if reading takes too long, or the operation of this thread is cancelled.
    ///
    /// # Errors
    /// Fails with `TimedOut` or `Interrupted`.
    pub fn check(&self) -> io::Result<()> {
        if MAX_READ_TIME < self.0.elapsed() {
            let text = format!("reading it took longer than {} s", MAX_READ_TIME.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        if IS_CANCELLED.with_borrow(|it| it.as_ref().is_some_and(|is_cancelled| is_cancelled())) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled while it was read"));
        }
        Ok(())
    }
}

/// Returns the sha256 of a file's bytes, in constant memory.
///
/// # Errors
/// Fails on a disk error.
pub fn fingerprint(file: &dyn ReadFile) -> Result<Fingerprint, FsError> {
    read_all("", file, u64::MAX, None)
}

/// Returns the sha256 of a file that others wrote, of at most [`Fs::bound_file_limit`] bytes.
///
/// # Errors
/// Fails if the file is larger, if reading it takes too long or is cancelled, and on a disk error.
pub fn bound_fingerprint(fs: &dyn Fs, name: &str, file: &dyn ReadFile) -> Result<Fingerprint, FsError> {
    read_all(name, file, fs.bound_file_limit().get(), Some(ReadTimer::new()))
}

fn read_all(
    name: &str,
    file: &dyn ReadFile,
    limit: u64,
    timer: Option<ReadTimer>,
) -> Result<Fingerprint, FsError> {
    let too_large = || FsError::new("bind", name, FsErrorKind::TooLarge { limit });
    let mut stream = FingerprintStream::new();
    let length = file.len()?;
    if limit < length {
        return Err(too_large());
    }
    // One byte more, so that the end of a short file is seen in the first read.
    let length = usize::try_from(length).unwrap_or(CHUNK);
    let mut buffer = vec![0; length.saturating_add(1).min(CHUNK)];
    let mut offset = 0;
    loop {
        match file.read_at(offset, &mut buffer)? {
            0 => return Ok(stream.finish()),
            count => {
                stream.update(&buffer[..count]);
                offset += count as u64;
            }
        }
        if limit < offset {
            return Err(too_large());
        }
        if let Some(Err(error)) = timer.as_ref().map(ReadTimer::check) {
            let kind = FsErrorKind::Other { kind: error.kind(), text: error.to_string() };
            return Err(FsError::new("bind", name, kind));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::{DiskFs, RelPath};

    #[test]
    fn a_sparse_giant_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("giant")).unwrap().set_len(8 << 40).unwrap();
        std::fs::write(folder.path().join("small"), "12345").unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let open = |name: &str| fs.open(&name.parse::<RelPath>().unwrap()).unwrap();
        let refused = |limit| Some(FsErrorKind::TooLarge { limit });
        let giant = bound_fingerprint(&fs, "a", &*open("giant")).err().map(|error| error.kind);
        assert_eq!(giant, refused(BoundFileLimit::DEFAULT));
        assert!(bound_fingerprint(&fs, "a", &*open("small")).is_ok());
        fs.bound_file_limit().set(Some(4));
        assert_eq!(bound_fingerprint(&fs, "a", &*open("small")).err().map(|error| error.kind), refused(4));
        assert!(fingerprint(&*open("small")).is_ok());
    }

    #[test]
    fn a_cancelled_operation_reads_no_further() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small"), "12345").unwrap();
        let fs = DiskFs::open(folder.path()).unwrap();
        let read = || bound_fingerprint(&fs, "a", &*fs.open(&RelPath::from_static("small")).unwrap());
        let cancelled = CancelReading::when(|| true);
        assert!(read().is_err_and(|error| error.is_cancelled()));
        drop(CancelReading::when(|| false));
        assert!(read().is_err(), "the outer one holds again");
        drop(cancelled);
        assert!(read().is_ok());
    }
}
