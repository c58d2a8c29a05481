//! Reads processes from `/proc`, and holds them by descriptor before a signal.

use std::fs;
use std::io;

use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

use super::{Signal, SignalError};

/// The used fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// The processor time that it has used.
    pub(crate) processor_ticks: u64,
    pub(crate) start_time: u64,
}

impl Stat {
    /// Zombies and dead processes have ended.
    pub(crate) fn runs(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Parses `/proc/PID/stat`. The name in it may have spaces and brackets, so fields count from the last `)`.
///
/// Does not allocate, because the keeper uses it between fork and exec.
pub(crate) fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let close = bytes.iter().rposition(|&b| b == b')')?;
    let mut fields = bytes[close + 1..].split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    let mut number = || -> Option<i64> { std::str::from_utf8(fields.next()?).ok()?.parse().ok() };
    let parent = i32::try_from(number()?).ok()?;
    let group = i32::try_from(number()?).ok()?;
    let session = i32::try_from(number()?).ok()?;
    // Fields between these are skipped without parsing, because some kernels have values larger than i64.
    let mut number_after =
        |skipped| -> Option<u64> { std::str::from_utf8(fields.nth(skipped)?).ok()?.parse().ok() };
    let processor_ticks = number_after(7)?.saturating_add(number_after(0)?);
    let start_time = number_after(6)?;
    Some(Stat { state, parent, group, session, processor_ticks, start_time })
}

/// Reads the state of one process; `NotFound` if it does not exist.
pub(crate) fn stat_of(pid: u32) -> io::Result<Stat> {
    use std::io::Read as _;

    // The line has up to 52 numbers and a name of at most 64 bytes. One read returns all of it.
    let mut bytes = [0; 2048];
    let read = fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut bytes));
    let length = read.map_err(|error| match error.raw_os_error() {
        // The process ended between open and read.
        Some(libc::ESRCH) => io::ErrorKind::NotFound.into(),
        _ => error,
    })?;
    parse_stat(&bytes[..length]).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

pub(super) fn start_time(pid: u32) -> io::Result<u64> {
    stat_of(pid).map(|stat| stat.start_time)
}

pub(super) fn is_running(pid: u32, start_time: u64) -> bool {
    stat_of(pid).is_ok_and(|stat| stat.start_time == start_time && stat.runs())
}

pub(super) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

pub(super) fn signal(pid: u32, start_time: u64, signal: Signal) -> Result<(), SignalError> {
    let refused = |errno: rustix::io::Errno| match errno {
        rustix::io::Errno::SRCH => SignalError::Ended,
        other => SignalError::Refused(other.into()),
    };
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(SignalError::Ended)?;
    let held = pidfd_open(raw, PidfdFlags::empty()).map_err(refused)?;
    // Checked after the descriptor holds the process: from here on, the number cannot be reused.
    if !is_running(pid, start_time) {
        return Err(SignalError::Ended);
    }
    let number = match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Hangup => rustix::process::Signal::HUP,
        Signal::Stop => rustix::process::Signal::STOP,
        Signal::Continue => rustix::process::Signal::CONT,
    };
    pidfd_send_signal(held, number).map_err(refused)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &[u8], expect: Option<Stat>) {
        assert_eq!(parse_stat(text), expect);
    }

    #[test]
    fn fields_count_from_the_last_bracket() {
        let tail = b"S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 100";
        let expect =
            Stat { state: b'S', parent: 7, group: 8, session: 9, processor_ticks: 11, start_time: 4242 };
        for name in [&b"12 (sh) "[..], b"12 (a) b) R 1 (x) ", b"12 (\xff\n) "] {
            check(&[name, tail].concat(), Some(expect));
        }
        check(b"12 (sh) S 7 8", None);
        check(b"", None);
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_not(bytes: Vec<u8>) {
            let _ = parse_stat(&bytes);
        }
    }
}
