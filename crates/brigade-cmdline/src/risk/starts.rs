//! Lists the commands that a command line starts, for comparison with allowed commands.

use super::{Certainty, Reading, StartedWords};
use crate::Argv;

/// Lists the words of the commands that certainly start, outermost first: the command line itself, then commands after
/// wrappers and in the text of a shell.
///
/// ```
/// use brigade_cmdline::{Argv, risk};
///
/// let argv = Argv::parse("sh -c 'cd src && timeout 5 make test'")?;
/// let commands = risk::started_commands(&argv);
/// assert_eq!(commands.last().unwrap().words, ["make", "test"]);
/// # Ok::<(), brigade_cmdline::argv::InvalidCommand>(())
/// ```
pub fn started_commands(argv: &Argv) -> Vec<StartedCommand> {
    let started = Reading::new(argv.words()).started.into_iter();
    let certain = started.filter(|started| started.certainty != Certainty::Guessed);
    let shown = |started: StartedWords| StartedCommand {
        is_elsewhere: started.certainty == Certainty::Moved || !started.directory.as_os_str().is_empty(),
        words: started.words,
    };
    certain.map(shown).collect()
}

/// A command that certainly starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedCommand {
    /// Its words.
    pub words: Vec<String>,
    /// Whether it starts in another working directory than the command line, or may have another root, so that its
    /// words name other files.
    pub is_elsewhere: bool,
}
