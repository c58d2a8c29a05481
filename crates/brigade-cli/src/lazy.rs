//! Command groups whose arguments are built only when they are used.
//!
//! Building the whole command tree takes longer than most commands run. So a group is built when its name has been
//! parsed, or for help, completions and manual pages.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

use crate::examples;

/// A command group that is built when it is needed.
///
/// Its help text is on the enum variant that holds it, because that is shown without building the group.
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
        command.defer(|command| examples::attach(T::augment_subcommands(command)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(|command| examples::attach(T::augment_subcommands_for_update(command)))
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
