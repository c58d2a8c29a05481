//! The lock that decides which process serves a PRD.
//!
//! The kernel holds the lock, so it is released whenever its holder dies. The file names the holder by its process
//! identity. That text is only shown; a lock is never broken because of it.
//!
//! Processes that a service started may outlive it for a short time. They hold a second lock, so the next service
//! begins only after they have ended.

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use brigade_fs::{Fs, FsError, FsErrorKind, Lock, OrAbsent};
use brigade_kitchen::PrdName;
use brigade_process::ProcessIdentity;
use thiserror::Error;

use crate::paths::PrdFiles;

/// The maximum size of the holder's text.
const MAX_HOLDER: u64 = 1_000;

/// The name of Brigade in locks.
pub(crate) const HOLDER: &str = include_str!("holder.txt");

/// How long a dead process may still hold its lock through a child that it was just starting.
const LEFT_BY_THE_DEAD: Duration = Duration::from_secs(5);

/// How long processes of a dead service may take to end: the grace period, plus the time for killing.
const LEFT_WORKERS: Duration = Duration::from_secs(15);

fn is_dead(holder: &str) -> bool {
    holder.trim().parse::<ProcessIdentity>().is_ok_and(|process| !process.is_alive())
}

/// The process that serves a PRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process, if the file names one.
    pub process: Option<ProcessIdentity>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.process {
            Some(process) => write!(f, "process {}", process.pid()),
            None => f.write_str("another process"),
        }
    }
}

/// Why this process cannot serve a PRD.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceLockError {
    /// Another service has it.
    #[error("{0} serves this PRD")]
    Held(Holder),
    /// A service was killed, and its processes have not ended.
    #[error("workers of a service that was killed ({0}) still run; end them, or wait until they have ended")]
    WorkersLeft(Holder),
    /// The identity of this process is unknown.
    #[error("this process could not be identified: {0}")]
    Identity(#[source] io::Error),
    /// A disk error.
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// The right to serve a PRD, until it is dropped.
#[must_use = "the PRD is free again when this is dropped"]
pub struct ServiceLock {
    fs: Arc<dyn Fs>,
    files: PrdFiles,
    process: ProcessIdentity,
    workers: Lock,
    _lock: Lock,
}

impl ServiceLock {
    /// Takes the lock of a PRD. Never waits for a live service, only for processes of a dead one.
    ///
    /// # Errors
    /// Fails if another process holds it, processes of a dead service do not end, or on a disk error.
    pub fn take(fs: Arc<dyn Fs>, name: &PrdName) -> Result<ServiceLock, ServiceLockError> {
        let files = PrdFiles::new(name);
        let process = ProcessIdentity::current().map_err(ServiceLockError::Identity)?;
        fs.create_dir_all(files.folder())?;
        let lock = |timeout| fs.lock(&files.service_lock(), &process.to_string(), timeout);
        let locked = match lock(Duration::ZERO) {
            Err(FsError { kind: FsErrorKind::Locked { holder, .. }, .. }) if is_dead(&holder) => {
                // A child that was just being started may still hold the file for a moment.
                lock(LEFT_BY_THE_DEAD)
            }
            locked => locked,
        };
        match locked {
            Ok(lock) => {
                let workers = match fs.lock(&files.workers_lock(), &process.to_string(), LEFT_WORKERS) {
                    Err(FsError { kind: FsErrorKind::Locked { holder, .. }, .. }) => {
                        let holder = Holder { process: holder.parse().ok() };
                        return Err(ServiceLockError::WorkersLeft(holder));
                    }
                    locked => locked?,
                };
                Ok(ServiceLock { fs, files, process, workers, _lock: lock })
            }
            Err(FsError { kind: FsErrorKind::Locked { holder, .. }, .. }) => {
                Err(ServiceLockError::Held(Holder { process: holder.parse().ok() }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the lock file that processes of this service hold open until they end.
    pub fn held(&self) -> Option<Arc<File>> {
        self.workers.file().cloned()
    }

    /// Returns the holder: this process.
    pub fn process(&self) -> &ProcessIdentity {
        &self.process
    }

    /// Returns the process that serves a PRD, without taking the lock.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn holder(fs: &dyn Fs, name: &PrdName) -> Result<Option<Holder>, FsError> {
        let Some(bytes) = fs.read(&PrdFiles::new(name).service_lock(), MAX_HOLDER).or_absent()? else {
            return Ok(None);
        };
        let process: Option<ProcessIdentity> =
            std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
        Ok(process.filter(ProcessIdentity::is_alive).map(|process| Holder { process: Some(process) }))
    }
}

impl Drop for ServiceLock {
    fn drop(&mut self) {
        // A process that serves several PRDs in turn no longer holds the earlier ones.
        let emptied = self.fs.open_append(&self.files.service_lock()).and_then(|mut file| file.truncate(0));
        if let Err(error) = emptied {
            tracing::debug!(%error, "the holder of a lock stays in its file");
        }
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{DiskFs, MemoryFs};

    use super::*;

    #[test]
    fn one_service_at_a_time_which_is_named_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let disks: [Arc<dyn Fs>; 2] =
            [Arc::new(DiskFs::open(folder.path()).unwrap()), Arc::new(MemoryFs::new())];
        for fs in disks {
            let (name, other): (PrdName, PrdName) = ("prd-a".parse().unwrap(), "prd-b".parse().unwrap());
            let held = ServiceLock::take(fs.clone(), &name).unwrap();
            let Err(ServiceLockError::Held(holder)) = ServiceLock::take(fs.clone(), &name) else { panic!() };
            assert_eq!(holder.process.as_ref(), Some(held.process()));
            assert_eq!(holder.to_string(), format!("process {}", std::process::id()));
            // Locks of other PRDs are free.
            drop(ServiceLock::take(fs.clone(), &other).unwrap());
            assert_eq!(ServiceLock::holder(&*fs, &other).unwrap(), None);
            drop(held);
            drop(ServiceLock::take(fs, &name).unwrap());
        }
    }

    #[test]
    fn a_dead_holder_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let fs: Arc<dyn Fs> = Arc::new(DiskFs::open(folder.path()).unwrap());
        let name: PrdName = "prd-a".parse().unwrap();
        let held = ServiceLock::take(fs.clone(), &name).unwrap();
        let text = held.process().to_string();
        assert_eq!(ServiceLock::holder(&*fs, &name).unwrap().unwrap().process.as_ref(), Some(held.process()));
        drop(held);
        let path = PrdFiles::new(&name).service_lock();
        let dead = text.replacen(&std::process::id().to_string(), "4194000", 1);
        fs.open_append(&path).unwrap().write(dead.as_bytes()).unwrap();
        assert_eq!(ServiceLock::holder(&*fs, &name).unwrap(), None);
        drop(ServiceLock::take(fs, &name).unwrap());
    }
}
