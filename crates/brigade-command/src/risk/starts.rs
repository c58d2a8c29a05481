//! The commands that a command line starts, for those who bind what they read, or compare them with what is allowed.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::{Reading, Risk, Standing, Started};
use crate::Argv;

/// Lists the commands that a command line starts, in the order they are found: itself, then commands after wrappers, in
/// texts that a program splits or passes to a shell, and in settings. What a shell sends their output to is none of
/// their words.
pub(crate) fn started(words: &[String]) -> Vec<Started> {
    starts(words).commands
}

/// Reads what a command line starts.
pub(crate) fn starts(words: &[String]) -> Starts {
    let reading = Reading { leaves_outputs: true, ..Reading::new(false) }.read(words);
    Starts { commands: reading.started, written: reading.written, is_unread: reading.is_unread }
}

/// Tells whether a command line has a command in a text that cannot be read before the run.
pub(crate) fn is_unread(words: &[String]) -> bool {
    starts(words).is_unread
}

/// What a command line starts.
pub(crate) struct Starts {
    /// The commands, in the order they are found.
    pub(crate) commands: Vec<Started>,
    /// What shells send output to, relative to the directory of the command line.
    pub(crate) written: Vec<PathBuf>,
    /// Whether a command is in a text that cannot be read before the run.
    pub(crate) is_unread: bool,
}

/// Lists the words of the commands that certainly start, outermost first: the command line itself, then commands after
/// wrappers and in the text of a shell.
///
/// ```
/// use brigade_command::{Argv, risk};
///
/// let argv = Argv::parse("sh -c 'cd src && timeout 5 make test'")?;
/// let commands = risk::started_commands(&argv);
/// assert_eq!(commands.last().unwrap().words, ["make", "test"]);
/// # Ok::<(), brigade_command::argv::InvalidCommand>(())
/// ```
pub fn started_commands(argv: &Argv) -> Vec<StartedCommand> {
    let started = Reading::of(argv.words()).started.into_iter();
    let certain = started.filter(|started| started.standing != Standing::Guessed);
    let shown = |started: Started| StartedCommand {
        is_elsewhere: started.standing == Standing::Moved || !started.directory.as_os_str().is_empty(),
        words: started.words,
    };
    certain.map(shown).collect()
}

/// A command that certainly starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCommand {
    /// Its words.
    pub words: Vec<String>,
    /// It starts in another working directory than the command line, or may have another root: its words name other
    /// files there.
    pub is_elsewhere: bool,
}

/// Lists which words hold code for an interpreter or text for a shell, by the positions of the first and the last one.
pub(crate) fn words_of_code(words: &[String]) -> Vec<RangeInclusive<usize>> {
    let range = |risk: Risk| match risk {
        Risk::InlineCode { word, end, .. } => Some(word..=end),
        Risk::ShellText { word, .. } => Some(word..=word + 1),
        _ => None,
    };
    Reading::of(words).risks.into_iter().filter_map(range).collect()
}
