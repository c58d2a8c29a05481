//! The metadata file of a runtime, and its pid file.
//!
//! | key | meaning |
//! | --- | --- |
//! | `runtime_id command cwd started_at pid pid_path stdout_log_path stderr_log_path` | as 0.30.0 wrote them; paths are relative to the workspace |
//! | `stopped_at stop_reason` | when and why it was stopped |
//! | `command_fingerprint cwd_fingerprint` | of the exact text, if bound values are masked in `command` or `cwd` |
//! | `version` | 1; absent in what 0.30.0 wrote |
//! | `start_time boot_id` | with `pid`, the identity of the process |
//! | `instance` | the mark in the environment of all processes of this start |
//! | `log_writer` | `pid` and `start_time` of the process that writes the logs; absent if the runtime does |
//! | `starting` | while a process is being created: the start time of the starter, to find leftovers if it was killed |
//! | `health_ok health_detail health_checked_at` | the last health check, if no other file is configured for it |
//!
//! All other keys are kept unchanged.

use brigade_call::{LogWriter, RuntimeMetadata};
use brigade_catalog::{Masks, Runtime};
use brigade_core::json::pretty_text;
use brigade_core::{Dialect, Fingerprint, Json, Timestamp};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_process::ProcessIdentity;

/// The version that this program writes.
const VERSION: i64 = 1;

/// The maximum number of bytes that are read of a metadata or health file.
pub(crate) const LIMIT: u64 = 1 << 20;

/// The maximum number of bytes that are read of a pid file.
const PID_LIMIT: u64 = 64;

/// The content of a metadata file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// Its members; empty if the file is missing or unreadable.
    pub(crate) metadata: RuntimeMetadata,
    pub(crate) source: Source,
}

/// Where the content of a metadata file comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// There is no file.
    #[default]
    Missing,
    /// The file is not a JSON object.
    Unreadable,
    /// Written by 0.30.0, or by hand.
    Original,
    /// Written by this version.
    Current,
    /// Written by a newer version.
    Newer,
}

impl Record {
    pub(crate) fn read(fs: &dyn Fs, path: &RelPath) -> Result<Record, FsError> {
        match fs.read(path, LIMIT) {
            Ok(bytes) => Ok(Record::parse(&bytes)),
            Err(error) if error.is_not_found() => Ok(Record::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8]) -> Record {
        let Some(metadata) = parse(bytes) else {
            return Record { metadata: RuntimeMetadata::default(), source: Source::Unreadable };
        };
        let source = match metadata.version {
            None => Source::Original,
            Some(version) if version <= VERSION => Source::Current,
            Some(_) => Source::Newer,
        };
        Record { metadata, source }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.metadata.pid
    }

    pub(crate) fn command(&self) -> Option<&str> {
        some(&self.metadata.command)
    }

    /// Returns whether the recorded command differs. A masked command is compared by its fingerprint.
    pub(crate) fn is_of_other_command(&self, now: &str) -> bool {
        differs(COMMAND, self.metadata.command_fingerprint, self.command(), now)
    }

    /// Returns whether the recorded directory differs. A masked directory is compared by its fingerprint.
    pub(crate) fn is_of_other_directory(&self, now: &str) -> bool {
        differs(DIRECTORY, self.metadata.cwd_fingerprint, self.cwd(), now)
    }

    /// Returns the metadata for display.
    pub(crate) fn shown(&self, masks: &Masks) -> RuntimeMetadata {
        let mut shown = self.metadata.clone();
        shown.command = shown.command.map(|command| masks.shown_command(&command));
        let texts = [&mut shown.cwd, &mut shown.health_detail];
        texts.into_iter().flatten().for_each(|text| masks.hide(text));
        shown
    }

    /// Returns the metadata for writing. Values that were bound since the start are masked, too. Fingerprints remain
    /// those of the exact texts.
    fn written(&self, masks: &Masks) -> RuntimeMetadata {
        let mut written = self.metadata.clone();
        let record = |kind: Kind, text: &mut Option<String>, known: &mut Option<Fingerprint>| {
            if let Some(text) = text {
                let recorded = RecordedText::new(kind, text, masks);
                *known = known.or(recorded.fingerprint);
                *text = recorded.masked;
            }
        };
        record(COMMAND, &mut written.command, &mut written.command_fingerprint);
        record(DIRECTORY, &mut written.cwd, &mut written.cwd_fingerprint);
        if let Some(detail) = &mut written.health_detail {
            masks.hide(detail);
        }
        written
    }

    pub(crate) fn cwd(&self) -> Option<&str> {
        some(&self.metadata.cwd)
    }

    pub(crate) fn started_at(&self) -> Option<Timestamp> {
        self.metadata.started_at.or_else(|| self.metadata.extra.kept("started_at"))
    }

    /// Returns whether the recorded start was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.metadata.stopped_at.is_some() || self.metadata.extra.keeps("stopped_at")
    }

    /// Returns the identity of the process, if recorded.
    pub(crate) fn identity(&self) -> Option<ProcessIdentity> {
        ProcessIdentity::from_record(self.pid()?, self.metadata.start_time?, self.boot_id()?).ok()
    }

    fn boot_id(&self) -> Option<&str> {
        some(&self.metadata.boot_id)
    }

    /// Reconstructs the entry of the recorded start, to inspect and stop its process.
    pub(crate) fn runtime(&self) -> Option<Runtime> {
        let log = some(&self.metadata.stdout_log_path).and_then(|path| path.strip_suffix(".stdout"));
        let id = some(&self.metadata.runtime_id)?;
        let runtime = Runtime::new(id, self.command().unwrap_or_default()).ok()?;
        Some(Runtime {
            // A directory with masked parts is unknown.
            cwd: self.cwd().filter(|_| self.metadata.cwd_fingerprint.is_none()).map(str::to_owned),
            pid_path: some(&self.metadata.pid_path).map(str::to_owned),
            log_path: log.map(str::to_owned),
            ..runtime
        })
    }

    /// Returns the marker of this start.
    pub(crate) fn instance(&self) -> Option<&str> {
        some(&self.metadata.instance)
    }

    /// Returns an identity that no process has, with the start time of the starter. Together with the marker, it finds
    /// processes that a killed starter left.
    pub(crate) fn unfinished_start(&self) -> Option<ProcessIdentity> {
        let since = self.metadata.starting?;
        ProcessIdentity::from_record(i32::MAX as u32, since, self.boot_id()?).ok()
    }

    /// Returns whether the file has a newer version, so that it must not be rewritten.
    pub(crate) fn is_newer(&self) -> bool {
        self.source == Source::Newer
    }

    /// Returns the record at the beginning of a start, before the process exists.
    pub(crate) fn starting(&self, start: &Start<'_>, starter: &ProcessIdentity) -> Record {
        let mut extra = self.metadata.extra.clone();
        extra.forget(START_MEMBERS);
        let text = |text: &str| Some(text.to_owned());
        let metadata = RuntimeMetadata {
            version: Some(VERSION),
            runtime_id: text(start.runtime_id),
            command: text(&start.command.masked),
            command_fingerprint: start.command.fingerprint,
            cwd: text(&start.cwd.masked),
            cwd_fingerprint: start.cwd.fingerprint,
            started_at: Some(start.at),
            pid_path: text(start.pid_path),
            stdout_log_path: text(start.stdout_path),
            stderr_log_path: text(start.stderr_path),
            instance: text(start.instance),
            boot_id: text(starter.boot_id()),
            starting: Some(starter.start_time()),
            metadata_path: self.metadata.metadata_path.clone(),
            health_path: self.metadata.health_path.clone(),
            extra,
            ..RuntimeMetadata::default()
        };
        Record { metadata, source: Source::Current }
    }

    /// Returns the record after the process was created.
    pub(crate) fn started(mut self, program: &ProcessIdentity, writer: &ProcessIdentity) -> Record {
        let metadata = &mut self.metadata;
        metadata.starting = None;
        metadata.pid = Some(program.pid());
        metadata.start_time = Some(program.start_time());
        metadata.boot_id = Some(program.boot_id().to_owned());
        metadata.log_writer =
            Some(LogWriter { pid: writer.pid(), start_time: writer.start_time(), ..LogWriter::default() });
        self
    }

    /// Returns the log writer, if recorded.
    pub(crate) fn log_writer(&self) -> Option<ProcessIdentity> {
        let writer = self.metadata.log_writer.as_ref()?;
        ProcessIdentity::from_record(writer.pid, writer.start_time, self.boot_id()?).ok()
    }

    /// Returns the record after the process has ended.
    pub(crate) fn stopped(&self, at: Timestamp, reason: &str) -> Record {
        let mut metadata = self.metadata.clone();
        metadata.extra.forget(&["starting", "version", "stopped_at", "stop_reason"]);
        metadata.starting = None;
        metadata.version = Some(VERSION);
        metadata.stopped_at = Some(at);
        metadata.stop_reason = Some(reason.to_owned());
        Record { metadata, source: Source::Current }
    }

    /// Returns the bytes of the file. Its command, directory and health contain no value that is bound now.
    pub(crate) fn bytes(&self, masks: &Masks) -> Vec<u8> {
        let mut text = pretty_text(&self.written(masks)).expect("a record is JSON");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.into_bytes()
    }
}

/// The members that a start sets or removes.
const START_MEMBERS: &[&str] = &[
    "version",
    "runtime_id",
    "command",
    "command_fingerprint",
    "cwd",
    "cwd_fingerprint",
    "started_at",
    "pid_path",
    "stdout_log_path",
    "stderr_log_path",
    "instance",
    "boot_id",
    "starting",
    "pid",
    "start_time",
    "log_writer",
    "stopped_at",
    "stop_reason",
    "health_ok",
    "health_detail",
    "health_checked_at",
];

/// Parses a metadata or health file; `None` if it is not a JSON object.
pub(crate) fn parse(bytes: &[u8]) -> Option<RuntimeMetadata> {
    match Json::parse_bytes(bytes, Dialect::Lenient) {
        Ok(Json::Object(members)) => RuntimeMetadata::from_members(members).ok(),
        Ok(_) | Err(_) => None,
    }
}

/// Returns a text unless it is empty.
fn some(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// A recorded command or directory.
pub(crate) struct RecordedText {
    masked: String,
    /// The fingerprint of the exact text, if bound values are masked.
    fingerprint: Option<Fingerprint>,
}

/// The kind of a recorded text, and the domain of its fingerprint.
type Kind = (&'static str, &'static str);

const COMMAND: Kind = ("command", "brigade.runtime-command.v1");
const DIRECTORY: Kind = ("cwd", "brigade.runtime-directory.v1");

impl RecordedText {
    /// Masks the bound values in a command.
    pub(crate) fn command(command: &str, masks: &Masks) -> RecordedText {
        RecordedText::new(COMMAND, command, masks)
    }

    /// Masks the bound values in a directory.
    pub(crate) fn directory(directory: &str, masks: &Masks) -> RecordedText {
        RecordedText::new(DIRECTORY, directory, masks)
    }

    fn new(kind: Kind, exact: &str, masks: &Masks) -> RecordedText {
        let mut masked = exact.to_owned();
        masks.hide(&mut masked);
        let fingerprint = (masked != exact).then(|| fingerprint(kind, exact));
        RecordedText { masked, fingerprint }
    }
}

fn differs(kind: Kind, recorded: Option<Fingerprint>, shown: Option<&str>, now: &str) -> bool {
    match recorded {
        Some(recorded) => recorded != fingerprint(kind, now),
        None => shown.is_some_and(|shown| shown != now),
    }
}

fn fingerprint((name, domain): Kind, exact: &str) -> Fingerprint {
    Fingerprint::builder(domain).text(name, exact).finish()
}

/// The recorded data of a start.
pub(crate) struct Start<'a> {
    pub(crate) runtime_id: &'a str,
    pub(crate) command: RecordedText,
    pub(crate) cwd: RecordedText,
    pub(crate) at: Timestamp,
    pub(crate) pid_path: &'a str,
    pub(crate) stdout_path: &'a str,
    pub(crate) stderr_path: &'a str,
    pub(crate) instance: &'a str,
}

/// The content of a pid file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PidFile {
    Missing,
    Pid(u32),
    /// Empty, or a number that no process can have.
    Broken,
    /// Something else, which must not be removed.
    Foreign,
}

impl PidFile {
    pub(crate) fn read(fs: &dyn Fs, path: &RelPath) -> Result<PidFile, FsError> {
        match fs.read(path, PID_LIMIT) {
            Ok(bytes) => Ok(PidFile::parse(&bytes)),
            Err(error) if error.is_not_found() => Ok(PidFile::Missing),
            Err(FsError { kind: brigade_fs::FsErrorKind::TooLarge { .. }, .. }) => Ok(PidFile::Foreign),
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8]) -> PidFile {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if !bytes.iter().all(|b| b.is_ascii_digit() || b.is_ascii_whitespace()) {
            return PidFile::Foreign;
        }
        let pid = std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok());
        match pid {
            Some(pid) if 0 < pid && pid <= i32::MAX as u32 => PidFile::Pid(pid),
            Some(_) | None => PidFile::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn start(instance: &str) -> Start<'_> {
        Start {
            runtime_id: "r",
            command: RecordedText::command("serve", &Masks::default()),
            cwd: RecordedText::directory(".", &Masks::default()),
            at: Timestamp::from_unix_micros(0),
            pid_path: "r.pid",
            stdout_path: "r.log.stdout",
            stderr_path: "r.log.stderr",
            instance,
        }
    }

    #[test]
    fn a_start_round_trips_and_keeps_unknown_keys() {
        let old = Record::parse("\u{feff}{\"note\": NaN, \"stopped_at\": \"x\", \"pid\": 4}".as_bytes());
        assert_eq!((old.source, old.identity()), (Source::Original, None));
        let starter = ProcessIdentity::from_record(77, 5, "boot").unwrap();
        let starting = Record::parse(&old.starting(&start("i"), &starter).bytes(&Masks::default()));
        assert_eq!((starting.source, starting.identity()), (Source::Current, None));
        let leftover = starting.unfinished_start().unwrap();
        assert_eq!((leftover.start_time(), leftover.boot_id()), (5, "boot"));
        assert!(!leftover.is_alive());
        let identity = |pid| ProcessIdentity::from_record(pid, 6, "boot").unwrap();
        let (program, writer) = (identity(99), identity(98));
        let started = Record::parse(&starting.started(&program, &writer).bytes(&Masks::default()));
        assert_eq!((started.identity(), started.log_writer()), (Some(program), Some(writer)));
        assert_eq!(started.starting(&start("j"), &starter).log_writer(), None);
        assert_eq!(started.unfinished_start(), None);
        assert!(started.metadata.extra.keeps("note") && !started.is_stopped());
        let stopped = started.stopped(Timestamp::from_unix_micros(9_000_000), "stopped");
        assert_eq!(stopped.metadata.to_members()["stopped_at"].as_str(), Some("1970-01-01T00:00:09+00:00"));
    }

    #[test]
    fn newer_and_broken_files_are_known_as_such() {
        assert_eq!(Record::parse(b"{\"version\": 2}").source, Source::Newer);
        assert_eq!(Record::parse(b"[1]").source, Source::Unreadable);
        assert_eq!(Record::parse(b"{").source, Source::Unreadable);
    }

    #[test]
    fn only_numbers_make_a_pid_file() {
        assert_eq!(PidFile::parse(b"4711\n"), PidFile::Pid(4711));
        assert_eq!(PidFile::parse(b""), PidFile::Broken);
        // This process lives, and belongs to the system.
        assert_eq!(PidFile::parse(b"1"), PidFile::Pid(1));
        assert_eq!(PidFile::parse(b"0"), PidFile::Broken);
        assert_eq!(PidFile::parse(b"99999999999"), PidFile::Broken);
        assert_eq!(PidFile::parse(b"# Title"), PidFile::Foreign);
    }

    #[test]
    fn a_masked_directory_is_compared_by_its_fingerprint() {
        let masks = Masks::new(&["Zq7tail".into()]);
        let start = Start { cwd: RecordedText::directory("a/Zq7tail", &masks), ..start("i") };
        let record = Record::default().starting(&start, &ProcessIdentity::current().unwrap());
        assert_eq!(record.cwd(), Some("a/[redacted]"));
        assert!(!record.is_of_other_directory("a/Zq7tail") && record.is_of_other_directory("a/Zq8tail"));
        assert_eq!(record.runtime().unwrap().cwd, None);
    }

    #[test]
    fn values_bound_since_the_start_are_masked() {
        let unbound = Masks::default();
        let start = Start {
            command: RecordedText::command("serve Zq7tail Yp8tail", &unbound),
            cwd: RecordedText::directory("a/Zq7tail", &unbound),
            ..start("i")
        };
        let mut record = Record::default().starting(&start, &ProcessIdentity::current().unwrap());
        record.metadata.health_detail = Some("no Zq7tail".to_owned());
        let record = Record::parse(&record.bytes(&Masks::new(&["Zq7tail".into()])));
        // The first fingerprint is that of the exact text, and must not change.
        let bytes = record.bytes(&Masks::new(&["Zq7tail".into(), "Yp8tail".into()]));
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(
            !text.contains("7tail")
                && !text.contains("8tail")
                && text.contains("serve [redacted] [redacted]"),
            "{text}"
        );
        let record = Record::parse(&bytes);
        assert!(!record.is_of_other_command("serve Zq7tail Yp8tail"));
        assert!(record.is_of_other_command("serve Zq7tail Yp9tail"));
        assert!(!record.is_of_other_directory("a/Zq7tail") && record.is_of_other_directory("a/Zq8tail"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_record_and_a_pid_file(bytes in any::<Vec<u8>>()) {
            let record = Record::parse(&bytes);
            let _ = (record.identity(), record.log_writer(), record.started_at(), record.unfinished_start(), PidFile::parse(&bytes));
        }
    }
}
