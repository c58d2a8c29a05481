//! Command groups whose arguments are built only when they are used.
//!
//! Building the whole command tree takes longer than most commands run. So a group is built only after its name was
//! parsed, or for help, completions and manual pages. While [`sparing`] parses a command line, a group has only the
//! commands whose names occur in that line, because clap copies every global option into each command of a group.

use std::cell::RefCell;
use std::ffi::OsString;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

use crate::examples;

/// A command group that is built on demand.
///
/// The help text is on the enum variant that holds the group, because help is shown without building it.
#[derive(Debug)]
pub(crate) struct Lazy<T>(pub(crate) T);

impl<T: FromArgMatches> FromArgMatches for Lazy<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Lazy<T>, Error> {
        T::from_arg_matches(matches).map(Lazy)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Lazy<T>, Error> {
        T::from_arg_matches_mut(matches).map(Lazy)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Lazy<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| examples::attach(T::augment_args(command)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(|command| examples::attach(T::augment_args_for_update(command)))
    }
}

impl<T: Subcommand> Subcommand for Lazy<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(group::<T>)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(|command| examples::attach(T::augment_subcommands_for_update(command)))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

thread_local! {
    /// The words of the command line that [`sparing`] parses.
    static WORDS: RefCell<Vec<OsString>> = const { RefCell::new(Vec::new()) };
}

/// Parses a command line with groups that have only the commands which it may name. If `parse` succeeds, the result is
/// the same as with whole groups, because commands are found by exact names. After an error, and for help, parse again
/// without this function: messages would mention only these commands.
pub(crate) fn sparing<T>(words: &[OsString], parse: impl FnOnce() -> T) -> T {
    WORDS.set(words.to_vec());
    let parsed = parse();
    WORDS.take();
    parsed
}

/// Builds a group, with all commands or only those that the line may name.
fn group<T: Subcommand>(command: Command) -> Command {
    let words = WORDS.with_borrow(Clone::clone);
    if !words.is_empty() {
        let is_named = |name: &str| words.iter().any(|word| word == name);
        let whole = T::augment_subcommands(Command::new("group"));
        let meant = whole
            .get_subcommands()
            .filter(|command| is_named(command.get_name()) || command.get_all_aliases().any(is_named));
        let meant: Vec<Command> = meant.cloned().collect();
        if !meant.is_empty() {
            return command.subcommands(meant);
        }
    }
    examples::attach(T::augment_subcommands(command))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command_line::Arguments;

    #[test]
    fn a_line_means_the_same_in_groups_with_few_commands() {
        let lines = examples::lines().chain([
            "brigade tools --target list show x",
            "brigade tools info call --json",
            "brigade -t tools tools call list",
            "brigade work answer list --choice show",
        ]);
        let mut parsed = 0;
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = Arguments::try_parse_from(&words).map(|arguments| format!("{arguments:?}"));
            let few = sparing(&words, || Arguments::try_parse_from(&words));
            let few = few.map(|arguments| format!("{arguments:?}"));
            assert_eq!(few.as_ref().ok(), whole.as_ref().ok(), "{line}");
            parsed += usize::from(whole.is_ok());
        }
        assert!(100 < parsed, "{parsed}");
    }
}
