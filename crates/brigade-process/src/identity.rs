//! The identity of a process: process id, start time and boot id, because process ids are reused.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::OnceLock;

use thiserror::Error;

#[cfg(target_os = "linux")]
#[path = "identity/linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "identity/unix.rs"]
mod platform;

#[cfg(target_os = "linux")]
pub(crate) use platform::{Stat, parse_stat};

/// Identifies one process uniquely: process id, start time and boot.
///
/// Two identities are equal only if they name the same process. The start time is in a unit of the system (clock ticks
/// since boot on Linux, microseconds since 1970 elsewhere) and is only compared. The text form `pid:start_time:boot_id`
/// and the three accessors are for records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    pid: u32,
    start_time: u64,
    boot_id: String,
}

/// Signals that this crate sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGTERM`: terminate.
    Terminate,
    /// `SIGKILL`: kill.
    Kill,
    /// `SIGINT`: like Ctrl-C.
    Interrupt,
    /// `SIGHUP`: often means to reload the configuration.
    Hangup,
    /// `SIGSTOP`: pause.
    Stop,
    /// `SIGCONT`: continue.
    Continue,
}

impl Signal {
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn number(self) -> i32 {
        match self {
            Signal::Terminate => libc::SIGTERM,
            Signal::Kill => libc::SIGKILL,
            Signal::Interrupt => libc::SIGINT,
            Signal::Hangup => libc::SIGHUP,
            Signal::Stop => libc::SIGSTOP,
            Signal::Continue => libc::SIGCONT,
        }
    }
}

/// Why a signal was not sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The process has ended. Its number may belong to another process, which was not signalled.
    #[error("the process has ended")]
    Ended,
    /// The system refused the signal.
    #[error("could not signal the process: {0}")]
    Refused(io::Error),
}

/// A text that is not `pid:start_time:boot_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not the identity of a process")]
pub struct ParseIdentityError;

impl ProcessIdentity {
    /// Creates an identity from a record. Refuses the process ids 0 and 1, and a boot id that is empty or has `:`,
    /// spaces or control characters.
    pub fn from_record(
        pid: u32,
        start_time: u64,
        boot_id: &str,
    ) -> Result<ProcessIdentity, ParseIdentityError> {
        let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
        let plausible = 1 < pid && pid <= i32::MAX as u32;
        if !plausible || boot_id.is_empty() || 64 < boot_id.len() || !boot_id.bytes().all(legal) {
            return Err(ParseIdentityError);
        }
        Ok(ProcessIdentity { pid, start_time, boot_id: boot_id.to_owned() })
    }

    /// Identifies the process that has this id now. Fails with `NotFound` if no process has it. A zombie still counts.
    pub fn from_pid(pid: u32) -> io::Result<ProcessIdentity> {
        let start_time = platform::start_time(pid)?;
        Ok(ProcessIdentity { pid, start_time, boot_id: boot_id()?.to_owned() })
    }

    /// Identifies the calling process.
    pub fn current() -> io::Result<ProcessIdentity> {
        ProcessIdentity::from_pid(std::process::id())
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the start time, in the unit of the system.
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// Returns the id of the boot in which the process started.
    pub fn boot_id(&self) -> &str {
        &self.boot_id
    }

    /// Returns whether exactly this process still runs. A zombie has ended.
    pub fn is_alive(&self) -> bool {
        self.is_this_boot() && platform::is_running(self.pid, self.start_time)
    }

    /// Signals exactly this process, never another one with its number.
    ///
    /// Linux holds the process by a descriptor, checks its identity, and signals that descriptor. Other systems have a
    /// gap between check and signal.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        if !self.is_this_boot() {
            return Err(SignalError::Ended);
        }
        platform::signal(self.pid, self.start_time, signal)
    }

    pub(crate) fn is_this_boot(&self) -> bool {
        boot_id().is_ok_and(|id| id == self.boot_id)
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.pid, self.start_time, self.boot_id)
    }
}

impl FromStr for ProcessIdentity {
    type Err = ParseIdentityError;

    fn from_str(text: &str) -> Result<ProcessIdentity, ParseIdentityError> {
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next().ok_or(ParseIdentityError);
        let pid = next()?.parse().map_err(|_| ParseIdentityError)?;
        let start_time = next()?.parse().map_err(|_| ParseIdentityError)?;
        ProcessIdentity::from_record(pid, start_time, next()?)
    }
}

/// Returns the id of the current boot of the machine.
pub fn boot_id() -> io::Result<&'static str> {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    if let Some(id) = BOOT_ID.get() {
        return Ok(id);
    }
    let id = platform::boot_id()?;
    Ok(BOOT_ID.get_or_init(|| id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn own_process_is_alive_and_survives_the_text_form() {
        let me = ProcessIdentity::current().unwrap();
        assert!(me.is_alive());
        assert_eq!(me.to_string().parse(), Ok(me.clone()));
        assert_eq!(ProcessIdentity::from_record(me.pid(), me.start_time(), me.boot_id()), Ok(me));
    }

    #[test]
    fn another_start_time_or_boot_is_another_process() {
        let me = ProcessIdentity::current().unwrap();
        let other_start = ProcessIdentity { start_time: me.start_time + 1, ..me.clone() };
        let other_boot = ProcessIdentity { boot_id: "another".to_owned(), ..me };
        for other in [other_start, other_boot] {
            assert!(!other.is_alive());
            // A signal to the wrong process would end this test.
            assert!(matches!(other.signal(Signal::Kill), Err(SignalError::Ended)));
        }
    }

    #[test]
    fn a_zombie_has_ended() {
        let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
        let identity = ProcessIdentity::from_pid(child.id()).unwrap();
        // Waits without collecting, so the zombie stays.
        let mut options = rustix::process::WaitIdOptions::EXITED;
        options |= rustix::process::WaitIdOptions::NOWAIT;
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert!(!identity.is_alive());
        child.wait().unwrap();
        assert!(!identity.is_alive());
    }

    #[test]
    fn ids_that_signal_everything_are_refused() {
        for pid in [0, 1, u32::MAX] {
            assert_eq!(ProcessIdentity::from_record(pid, 5, "b"), Err(ParseIdentityError));
        }
        assert_eq!("12:5:".parse::<ProcessIdentity>(), Err(ParseIdentityError));
        assert_eq!("12:5:a b".parse::<ProcessIdentity>(), Err(ParseIdentityError));
    }

    proptest! {
        #[test]
        fn any_text_parses_or_not(text in ".*") {
            if let Ok(identity) = text.parse::<ProcessIdentity>() {
                prop_assert_eq!(identity.to_string().parse(), Ok(identity));
            }
        }
    }
}
