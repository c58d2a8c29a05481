//! Determines whether a runtime is running, and whether that is verified.

use brigade_cmdline::argv::Argv;
use brigade_core::Timestamp;
use brigade_process::ProcessIdentity;

use crate::record::{PidFile, Record};
use crate::system::{self, ObservedProcess};

/// How much the recorded start time may differ from the system's. v0.30 recorded it shortly after the start, and clocks
/// are adjusted.
const TOLERANCE_MICROS: i64 = 5_000_000;

/// The state of a runtime's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// Not running.
    Stopped,
    /// The recorded process is running.
    Running(ProcessIdentity),
    /// A process may be the runtime but cannot be verified; it is never signalled.
    Unmanaged(u32),
    /// A stale pid file: its process has ended, or is another one.
    Stale(Option<u32>),
}

/// Determines the state. `command` is the configured one.
pub(crate) fn process_state(pid_file: PidFile, record: &Record, command: &str) -> ProcessState {
    if let Some(identity) = record.identity() {
        if identity.is_alive() {
            return ProcessState::Running(identity);
        }
        return match pid_file {
            PidFile::Missing | PidFile::Foreign => ProcessState::Stopped,
            PidFile::Pid(pid) => ProcessState::Stale(Some(pid)),
            PidFile::Broken => ProcessState::Stale(None),
        };
    }
    match pid_file {
        PidFile::Missing | PidFile::Foreign => ProcessState::Stopped,
        PidFile::Broken => ProcessState::Stale(None),
        PidFile::Pid(pid) => match system::observe(pid) {
            None => ProcessState::Stale(Some(pid)),
            Some(process) => match compare(&process, record, command) {
                Verdict::Same => ProcessState::Running(process.identity),
                Verdict::Unknown => ProcessState::Unmanaged(pid),
                Verdict::Different => ProcessState::Stale(Some(pid)),
            },
        },
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    Unknown,
    Different,
}

/// Compares a process with a record without a start time. It matches if it leads a session and was started at the
/// recorded time by the recorded command.
fn compare(process: &ObservedProcess, record: &Record, command: &str) -> Verdict {
    let is_recorded = record.pid() == Some(process.identity.pid());
    let time = match (process.started, record.started_at()) {
        (Some(started), Some(recorded)) if is_recorded => Some(is_near(started, recorded)),
        _ => None,
    };
    let command = Argv::parse(record.command().unwrap_or(command)).ok();
    let command = match (&process.argv, &command) {
        (Some(argv), Some(command)) => Some(is_command(argv, command)),
        _ => None,
    };
    if time == Some(false)
        || process.leads_session == Some(false)
        || command == Some(false) && time != Some(true)
    {
        return Verdict::Different;
    }
    match (time, command, process.leads_session) {
        (Some(true), Some(true), Some(true)) => Verdict::Same,
        _ => Verdict::Unknown,
    }
}

fn is_near(one: Timestamp, other: Timestamp) -> bool {
    (one.unix_micros() - other.unix_micros()).abs() <= TOLERANCE_MICROS
}

/// Returns whether these arguments match the command, possibly after interpreters.
fn is_command(argv: &[String], command: &Argv) -> bool {
    fn base(word: &str) -> &str {
        word.rsplit('/').next().unwrap_or(word)
    }
    argv.strip_suffix(command.args())
        .and_then(<[String]>::last)
        .is_some_and(|program| base(program) == base(command.program()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_command(argv: &[&str], command: &str, expect: bool) {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(is_command(&argv, &Argv::parse(command).unwrap()), expect);
    }

    #[test]
    fn interpreters_and_full_paths_do_not_hide_a_command() {
        check_command(&["python3", "-m", "http.server"], "python3 -m http.server", true);
        check_command(&["/opt/bin/python3", "-m", "http.server"], "python3 -m http.server", true);
        check_command(&["/bin/sh", "./serve.sh", "8"], "./serve.sh 8", true);
        check_command(&["/bin/sh", "./serve.sh", "8"], "./serve.sh 9", false);
        check_command(&["sleep", "47"], "python3 -m http.server", false);
        check_command(&[], "sleep", false);
    }

    const STARTED: i64 = 1_000_000_000_000_000;

    #[track_caller]
    fn check(argv: &[&str], leads: bool, json: &str, expect: Verdict) {
        let process = ObservedProcess {
            identity: ProcessIdentity::from_record(50, 1, "b").unwrap(),
            started: Some(Timestamp::from_unix_micros(STARTED)),
            argv: Some(argv.iter().map(|word| (*word).to_owned()).collect()),
            leads_session: Some(leads),
        };
        let fs = brigade_fs::MemoryFs::new();
        let path = "m.json".parse().unwrap();
        brigade_fs::Fs::write_cache(&fs, &path, json.as_bytes()).unwrap();
        assert_eq!(compare(&process, &Record::read(&fs, &path).unwrap(), "serve 1"), expect);
    }

    #[test]
    fn an_older_record_must_match_in_every_way() {
        let at = |seconds: i64| Timestamp::from_unix_micros(STARTED + seconds * 1_000_000);
        let record = |pid: u32, seconds| format!("{{\"pid\":{pid},\"started_at\":\"{}\"}}", at(seconds));
        check(&["serve", "1"], true, &record(50, 1), Verdict::Same);
        check(&["serve", "1"], false, &record(50, 1), Verdict::Different);
        check(&["serve", "1"], true, &record(50, 60), Verdict::Different);
        check(&["sleep", "1"], true, &record(51, 1), Verdict::Different);
        check(&["serve", "1"], true, &record(51, 1), Verdict::Unknown);
        check(&["changed its name"], true, &record(50, 1), Verdict::Unknown);
        check(&["serve", "1"], true, "{}", Verdict::Unknown);
        check(&["sleep", "47"], true, "{}", Verdict::Different);
    }
}
