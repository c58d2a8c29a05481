//! The observation of one run: prepared by the caller, started by the program's process, and done by the keeper.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::{Observation, PreparedSandbox};

use super::calls::NotifyFilter;
use super::handover::{self, FirstMessage};
use super::table::{Kind, List, SharedTable};
pub use super::watcher::Watcher;

/// The observation of one run. Clones share it.
#[derive(Clone, Debug)]
pub struct Observer(Result<Arc<Preparation>, String>);

/// What an observation needs.
#[derive(Debug)]
pub(super) struct Preparation {
    filter: NotifyFilter,
    shared: SharedTable,
    /// The path of the workspace, without links.
    workspace: Vec<u8>,
    pub(super) keys: RandomState,
}

impl Observer {
    /// Prepares the observation of a run in this workspace. If that fails, the run is not observed.
    pub fn new(workspace: &Path) -> Observer {
        Observer(Preparation::new(workspace).map(Arc::new))
    }

    /// Returns the result, after the keeper has ended.
    pub fn observation(&self) -> Observation {
        match &self.0 {
            Ok(preparation) => preparation.observation(),
            Err(reason) => Observation::Unavailable(reason.clone()),
        }
    }

    /// Opens the socket by which the program's process passes the listener to the keeper; `None` if the run cannot be
    /// observed. Makes only plain system calls.
    pub fn open_socket<'a>(&'a self, sandbox: &'a PreparedSandbox) -> io::Result<Option<ListenerSocket<'a>>> {
        let Ok(preparation) = &self.0 else { return Ok(None) };
        let (keeper_end, program_end) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok(Some(ListenerSocket { keeper_end, program_end, preparation, sandbox }))
    }
}

impl Preparation {
    /// The error says why a run cannot be observed.
    fn new(workspace: &Path) -> Result<Preparation, String> {
        let filter = NotifyFilter::new().map_err(str::to_owned)?;
        let shared =
            SharedTable::new().map_err(|error| format!("there is not enough memory to observe: {error}"))?;
        let workspace =
            workspace.canonicalize().map_err(|error| format!("the workspace was not found: {error}"))?;
        let workspace = workspace.as_os_str().as_bytes().to_vec();
        Ok(Preparation { filter, shared, workspace, keys: RandomState::new() })
    }

    fn observation(&self) -> Observation {
        let table = self.shared.table();
        match table.refusal {
            0 => Observation::Done(Box::new(table.observed())),
            libc::EBUSY => Observation::Unavailable(
                "Brigade itself is observed this buffer, and the kernel allows only one observer".to_owned(),
            ),
            errno => {
                let error = io::Error::from_raw_os_error(errno);
                Observation::Unavailable(format!(
                    "the kernel refused to report what the program opens: {error}"
                ))
            }
        }
    }

    /// Returns the part of a path below the workspace; empty for the workspace itself.
    pub(super) fn inside<'p>(&self, real: &'p [u8]) -> Option<&'p [u8]> {
        let rest = real.strip_prefix(self.workspace.as_slice())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
    }

    pub(super) fn key(&self, list: List, kind: Kind, path: &[u8], more: &[u8]) -> u64 {
        let mut hasher = self.keys.build_hasher();
        hasher.write(&[list as u8, kind.number()]);
        hasher.write_usize(path.len());
        hasher.write(path);
        hasher.write(more);
        hasher.finish()
    }
}

/// The socket by which the program's process passes the listener to the keeper.
#[derive(Debug)]
pub struct ListenerSocket<'a> {
    keeper_end: OwnedFd,
    program_end: OwnedFd,
    preparation: &'a Preparation,
    sandbox: &'a PreparedSandbox,
}

impl<'a> ListenerSocket<'a> {
    /// Installs the filter for this process, and sends the listener. This is the last step before exec. Makes only
    /// plain system calls.
    ///
    /// `program` is the open program: the memory of this process may be closed to the keeper, so the keeper could not
    /// find it alone.
    pub fn send(&self, program: Option<OwnedFd>) -> rustix::io::Result<()> {
        let sealed = self.sandbox.sealed_device();
        let listener = self.preparation.filter.install();
        let (errno, listener) = match &listener {
            Ok(listener) => (0, Some(listener.as_fd())),
            // The program also runs without the listener.
            Err(errno) => (errno.raw_os_error(), None),
        };
        let program = program.as_ref().map(AsFd::as_fd);
        handover::send(self.program_end.as_fd(), &FirstMessage { errno, sealed }, [listener, program])
    }

    /// Waits for the listener; `None` if the run is not observed, or if the program's process ended before.
    pub fn receive(self) -> Option<Watcher<'a>> {
        let ListenerSocket { keeper_end, program_end, preparation, sandbox } = self;
        drop(program_end);
        let table = preparation.shared.table_of_keeper();
        let (first, [listener, program]) = handover::receive(keeper_end.as_fd())?;
        table.refusal = first.errno;
        Some(Watcher::new(preparation, sandbox, table, listener?, program, first.sealed))
    }
}
