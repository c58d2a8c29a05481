//! The environment of a command, as values.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use brigade::core::Clock;

/// What a command reads from its process.
#[derive(Clone)]
pub struct Surroundings {
    /// The current directory, or the error if it is unknown.
    pub current_directory: Result<PathBuf, io::ErrorKind>,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
    /// Whether `TERM` is `dumb`: the terminal has no escape sequences.
    pub dumb: bool,
    /// The value of `BRIGADE_LOG`, such as `debug` or `brigade=trace`.
    pub log: Option<String>,
    /// The value of `BRIGADE_GATEWAY` inside of a task: the directory of the pipes to its session.
    pub task_gateway: Option<PathBuf>,
    /// The environment variables that programs and policies see.
    pub variables: Variables,
    /// How far the time of this host is ahead of UTC, in minutes.
    pub local_offset_minutes: i32,
    /// The clock, for ages in the output and for records.
    pub clock: Arc<dyn Clock>,
    /// The directory for temporary files.
    pub temporary_directory: PathBuf,
    /// Whether standard input is a terminal.
    pub typed: bool,
    /// The terminal of standard output, if it is one.
    pub output: Option<Terminal>,
    /// The terminal of standard error, if it is one.
    pub error: Option<Terminal>,
    /// Shows a text in the person's pager, and returns whether it did; `None` without a person at a terminal.
    pub pager: Option<ShowInPager>,
}

/// Shows a text in a pager, and returns whether it did. The second argument finds a program that agents cannot write.
pub type ShowInPager = fn(&str, &dyn Fn(&str) -> Option<PathBuf>) -> bool;

/// A selection of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Variables {
    /// All.
    #[default]
    All,
    /// Only the variables that every run inherits, such as PATH and HOME.
    Usual,
    /// The usual ones, with this home directory.
    Home(PathBuf),
}

/// A terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// The number of columns, if known.
    pub width: Option<usize>,
    /// Returns the current numbers of columns and rows, if known. They change when the window is resized.
    pub measure: fn() -> Option<(usize, usize)>,
}

/// The standard streams.
pub struct Streams<'a> {
    /// Standard input.
    pub input: &'a mut dyn io::Read,
    /// Standard output.
    pub output: &'a mut dyn io::Write,
    /// Standard error. A service writes to it from several threads.
    pub error: &'a mut (dyn io::Write + Send),
}

#[cfg(test)]
impl Surroundings {
    /// A process without a terminal in this directory.
    pub(crate) fn for_test(folder: impl Into<PathBuf>) -> Surroundings {
        let folder = folder.into();
        Surroundings {
            current_directory: Ok(folder.clone()),
            no_color: false,
            dumb: false,
            log: None,
            task_gateway: None,
            variables: Variables::Usual,
            local_offset_minutes: 0,
            clock: Arc::new(brigade::core::SystemClock),
            temporary_directory: folder,
            typed: false,
            output: None,
            error: None,
            pager: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use brigade::core::Timestamp;
    use brigade::{Env, Exit, Workspace};

    use super::*;

    /// A clock that always shows this second.
    struct FixedClock(i64);

    impl Clock for FixedClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_unix_micros(self.0 * 1_000_000)
        }
    }

    /// Runs a command line at a second and returns its standard output.
    #[track_caller]
    fn run(folder: &std::path::Path, second: i64, line: &str) -> String {
        let surroundings =
            Surroundings { clock: Arc::new(FixedClock(second)), ..Surroundings::for_test(folder) };
        let (mut output, mut error) = (Vec::new(), Vec::new());
        let streams = Streams { input: &mut io::empty(), output: &mut output, error: &mut error };
        let exit = crate::run(line.split(' ').map(OsString::from).collect(), &surroundings, streams);
        assert_eq!(exit, Exit::Done, "{line}\n{}", String::from_utf8_lossy(&error));
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn ages_use_the_clock_of_the_records() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("sample");
        Workspace::with_files(&workspace, &crate::commands::sample_files(), Env::of_process()).unwrap();
        let queued = 1_800_000_000;
        let line = "brigade tools call queue count-words --args {\"paths\":[\"README.md\"]}";
        let queue = run(&workspace, queued, line);
        let id = queue.split_whitespace().find(|word| word.starts_with("call-")).unwrap();
        for (later, age) in [(120, "2 minutes ago"), (2 * 3_600, "2 hours ago"), (3 * 86_400, "3 days ago")] {
            let call = run(&workspace, queued + later, &format!("brigade tools call show {id}"));
            assert!(call.contains(age), "{call}");
        }
        let list = run(&workspace, queued, "brigade tools call list --json");
        assert!(list.contains("\"created_at\": \"2027-01-15T08:00:00+00:00\""), "{list}");
    }

    #[test]
    fn long_output_goes_to_the_pager_of_a_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let size = || Some((80, 10));
        let terminal = Terminal { width: Some(80), measure: size };
        let surroundings = Surroundings {
            output: Some(terminal),
            pager: Some(|_, _| true),
            ..Surroundings::for_test(folder.path())
        };
        let shown = |line: &str| {
            let (mut output, mut error) = (Vec::new(), Vec::new());
            let streams = Streams { input: &mut io::empty(), output: &mut output, error: &mut error };
            crate::run(line.split(' ').map(OsString::from).collect(), &surroundings, streams);
            !output.is_empty()
        };
        assert!(!shown("brigade --help"));
        assert!(shown("brigade --help --no-pager") && shown("brigade --version"));
        assert!(shown("brigade --version --json"));
    }
}
