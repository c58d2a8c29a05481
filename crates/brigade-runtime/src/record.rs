//! The metadata file of a runtime, and its pid file.
//!
//! | key | meaning |
//! | --- | --- |
//! | `runtime_id command cwd started_at pid pid_path stdout_log_path stderr_log_path` | as 0.30.0 wrote them; paths are relative to the workspace |
//! | `stopped_at stop_reason` | when and why it was stopped |
//! | `version` | 1; absent in what 0.30.0 wrote |
//! | `start_time boot_id` | with `pid`, who the process is |
//! | `instance` | the mark in the environment of everything that this start brought up |
//! | `log_writer` | `pid` and `start_time` of the process that writes the logs; absent where the runtime writes them itself |
//! | `starting` | when a process is being created: when the starter itself started, to find what it left if it was killed |
//! | `health_ok health_detail health_checked_at` | the last health check, when no other file is configured for it |
//!
//! All other keys are kept as they are.

use brigade_catalog::Runtime;
use brigade_core::{Dialect, Json, Object, Timestamp};
use brigade_fs::{Fs, FsError, RelPath};
use brigade_process::{Detached, ProcessIdentity};

/// The version that this program writes.
const VERSION: i64 = 1;

/// The most bytes that are read of a metadata or health file.
pub(crate) const LIMIT: u64 = 1 << 20;

/// The most bytes that are read of a pid file.
const PID_LIMIT: u64 = 64;

/// A metadata file, as it was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The whole object; empty when there is no file, or none that can be read.
    pub(crate) json: Object,
    pub(crate) source: Source,
}

/// What a metadata file was found to be.
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
        let Ok(Json::Object(json)) = Json::parse_bytes(bytes, Dialect::Lenient) else {
            return Record { json: Object::new(), source: Source::Unreadable };
        };
        let source = match json.get("version").and_then(Json::as_i64) {
            None => Source::Original,
            Some(version) if version <= VERSION => Source::Current,
            Some(_) => Source::Newer,
        };
        Record { json, source }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.json.get(key).and_then(Json::as_str).filter(|text| !text.is_empty())
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.json.get(key).and_then(Json::as_i64).and_then(|number| u64::try_from(number).ok())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.number("pid").and_then(|pid| u32::try_from(pid).ok())
    }

    pub(crate) fn command(&self) -> Option<&str> {
        self.text("command")
    }

    pub(crate) fn cwd(&self) -> Option<&str> {
        self.text("cwd")
    }

    pub(crate) fn started_at(&self) -> Option<Timestamp> {
        self.text("started_at")?.parse().ok()
    }

    /// Returns the identity of the process, if recorded.
    pub(crate) fn identity(&self) -> Option<ProcessIdentity> {
        ProcessIdentity::from_record(self.pid()?, self.number("start_time")?, self.text("boot_id")?).ok()
    }

    /// Reconstructs the entry of the recorded start, to inspect and stop its process.
    pub(crate) fn runtime(&self) -> Option<Runtime> {
        let log = self.text("stdout_log_path").and_then(|path| path.strip_suffix(".stdout"));
        let runtime = Runtime::new(self.text("runtime_id")?, self.command().unwrap_or_default()).ok()?;
        Some(Runtime {
            cwd: self.text("cwd").map(str::to_owned),
            pid_path: self.text("pid_path").map(str::to_owned),
            log_path: log.map(str::to_owned),
            ..runtime
        })
    }

    /// Returns the marker of this start.
    pub(crate) fn instance(&self) -> Option<&str> {
        self.text("instance")
    }

    /// Returns an identity that no process has, with the start time of the starter. Together with the marker, it finds
    /// processes that a killed starter left.
    pub(crate) fn unfinished_start(&self) -> Option<ProcessIdentity> {
        let since = self.number("starting")?;
        ProcessIdentity::from_record(i32::MAX as u32, since, self.text("boot_id")?).ok()
    }

    /// Returns whether the file may be rewritten.
    pub(crate) fn is_newer(&self) -> bool {
        self.source == Source::Newer
    }

    /// Returns the record at the beginning of a start, before the process exists.
    pub(crate) fn starting(&self, start: &Start<'_>, starter: &ProcessIdentity) -> Record {
        let mut json = self.json.clone();
        for gone in [
            "pid",
            "start_time",
            "log_writer",
            "stopped_at",
            "stop_reason",
            "health_ok",
            "health_detail",
            "health_checked_at",
        ] {
            json.remove(gone);
        }
        json.extend(
            [
                ("version", Json::from(VERSION)),
                ("runtime_id", start.runtime_id.into()),
                ("command", start.command.into()),
                ("cwd", start.cwd.into()),
                ("started_at", start.at.to_string().into()),
                ("pid_path", start.pid_path.into()),
                ("stdout_log_path", start.stdout_path.into()),
                ("stderr_log_path", start.stderr_path.into()),
                ("instance", start.instance.into()),
                ("boot_id", starter.boot_id().into()),
                ("starting", starter.start_time().into()),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        );
        Record { json, source: Source::Current }
    }

    /// Returns the record once the process exists.
    pub(crate) fn started(mut self, begun: &Detached) -> Record {
        self.json.remove("starting");
        self.set_identity(&begun.program);
        let writer =
            [("pid", Json::from(begun.writer.pid())), ("start_time", begun.writer.start_time().into())];
        let writer = writer.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
        self.json.insert("log_writer".to_owned(), Json::Object(writer));
        self
    }

    /// Returns the log writer, if recorded.
    pub(crate) fn log_writer(&self) -> Option<ProcessIdentity> {
        let writer = self.json.get("log_writer")?.as_object()?;
        let number = |key: &str| u64::try_from(writer.get(key)?.as_i64()?).ok();
        let pid = u32::try_from(number("pid")?).ok()?;
        ProcessIdentity::from_record(pid, number("start_time")?, self.text("boot_id")?).ok()
    }

    fn set_identity(&mut self, identity: &ProcessIdentity) {
        self.json.insert("pid".to_owned(), identity.pid().into());
        self.json.insert("start_time".to_owned(), identity.start_time().into());
        self.json.insert("boot_id".to_owned(), identity.boot_id().into());
    }

    /// Returns the record after the process has ended.
    pub(crate) fn stopped(&self, at: Timestamp, reason: &str) -> Record {
        let mut json = self.json.clone();
        json.remove("starting");
        json.insert("version".to_owned(), VERSION.into());
        json.insert("stopped_at".to_owned(), at.to_string().into());
        json.insert("stop_reason".to_owned(), reason.into());
        Record { json, source: Source::Current }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = Json::Object(self.json.clone()).to_pretty();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.into_bytes()
    }
}

/// What is recorded of a start.
pub(crate) struct Start<'a> {
    pub(crate) runtime_id: &'a str,
    pub(crate) command: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) at: Timestamp,
    pub(crate) pid_path: &'a str,
    pub(crate) stdout_path: &'a str,
    pub(crate) stderr_path: &'a str,
    pub(crate) instance: &'a str,
}

/// A pid file, as it was found.
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
            command: "serve",
            cwd: ".",
            at: Timestamp::from_unix_micros(0),
            pid_path: "r.pid",
            stdout_path: "r.log.stdout",
            stderr_path: "r.log.stderr",
            instance,
        }
    }

    #[test]
    fn a_start_goes_through_the_file_and_keeps_unknown_keys() {
        let old = Record::parse("\u{feff}{\"note\": NaN, \"stopped_at\": \"x\", \"pid\": 4}".as_bytes());
        assert_eq!((old.source, old.identity()), (Source::Original, None));
        let starter = ProcessIdentity::from_record(77, 5, "boot").unwrap();
        let starting = Record::parse(&old.starting(&start("i"), &starter).bytes());
        assert_eq!((starting.source, starting.identity()), (Source::Current, None));
        let leftover = starting.unfinished_start().unwrap();
        assert_eq!((leftover.start_time(), leftover.boot_id()), (5, "boot"));
        assert!(!leftover.is_alive());
        let identity = |pid| ProcessIdentity::from_record(pid, 6, "boot").unwrap();
        let begun = Detached { program: identity(99), writer: identity(98) };
        let started = Record::parse(&starting.started(&begun).bytes());
        assert_eq!((started.identity(), started.log_writer()), (Some(begun.program), Some(begun.writer)));
        assert_eq!(started.starting(&start("j"), &starter).log_writer(), None);
        assert_eq!(started.unfinished_start(), None);
        assert!(started.json.contains_key("note") && !started.json.contains_key("stopped_at"));
        let stopped = started.stopped(Timestamp::from_unix_micros(9_000_000), "stopped");
        assert_eq!(stopped.text("stopped_at"), Some("1970-01-01T00:00:09+00:00"));
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
        // It lives, and belongs to the system.
        assert_eq!(PidFile::parse(b"1"), PidFile::Pid(1));
        assert_eq!(PidFile::parse(b"0"), PidFile::Broken);
        assert_eq!(PidFile::parse(b"99999999999"), PidFile::Broken);
        assert_eq!(PidFile::parse(b"# Title"), PidFile::Foreign);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_record_and_a_pid_file(bytes in any::<Vec<u8>>()) {
            let record = Record::parse(&bytes);
            let _ = (record.identity(), record.log_writer(), record.started_at(), record.unfinished_start(), PidFile::parse(&bytes));
        }
    }
}
