//! The options that every command has, and the tree of commands.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, ValueEnum};

use crate::commands::Command;

/// See which tools agents may call, approve calls, run exactly what was approved
///
/// Brigade reads the tools of a workspace from .brigade/tools.toml, plans calls against their schemas and the host's
/// policy, keeps a queue for a person to decide on, runs what was approved, and writes a receipt of every run.
/// Everything is local files; nothing starts by itself.
#[derive(Debug, Parser)]
#[command(name = "brigade", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_subcommand = true, args_override_self = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  brigade demo                       Watch the whole way of a call, on real scripts
  brigade tools init                 Begin a catalog in this folder
  brigade tools list                 See the tools
  brigade tools call plan ID         See what a call would do, and what speaks against it

Exit codes:
  0 done; 1 refused, blocked, not found, or the run failed; 2 usage; 3 disk or environment;
  70 a mistake in brigade";

/// Options that every command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Work on this folder instead of the nearest one that holds .brigade
    #[arg(long, short, global = true, value_name = "PATH")]
    pub(crate) target: Option<PathBuf>,

    /// Write one JSON document instead of text, on failure too
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Colour text: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, global = true, value_name = "auto|always|never", value_enum, hide_possible_values = true)]
    #[arg(default_value_t = ColorWhen::Auto, hide_default_value = true)]
    pub(crate) color: ColorWhen,

    /// Leave out notes and next steps
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Say on standard error what is being done
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,

    /// Wait at most this long for another brigade that writes
    #[arg(long, global = true, value_name = "SECONDS")]
    pub(crate) lock_timeout: Option<Seconds>,
}

/// When text is coloured. The values have no help of their own, which would make every help page a long one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// A time that was typed as seconds: zero or more, with a fraction if need be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Seconds, Self::Err> {
        let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
        Duration::try_from_secs_f64(seconds)
            .map(Seconds)
            .map_err(|_| "expected a number of seconds from zero up")
    }
}

/// Reads how many of something are asked for.
pub(crate) fn count(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|count| 0 < *count).ok_or("expected a whole number from 1 up")
}

/// Returns the description of all arguments, for completions and manual pages.
pub fn command() -> clap::Command {
    Arguments::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        let mut command = command();
        command.build();
        command.debug_assert();
    }

    #[test]
    fn help_is_imperative_and_without_a_final_stop() {
        fn check(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.ends_with('.'), "{}: {about}", command.get_name());
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.ends_with('.'), "{} {}: {help}", command.get_name(), argument.get_id());
                assert!(!help.is_empty(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        let mut command = command();
        command.build();
        check(&command);
    }

    #[test]
    fn global_options_stand_anywhere_and_the_last_one_counts() {
        for line in [
            "brigade --json -t /x tools list",
            "brigade tools list --target /x --json",
            "brigade tools -t /y --json list --target=/x --json",
        ] {
            let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(arguments.globals.target, Some("/x".into()), "{line}");
            assert!(arguments.globals.json, "{line}");
        }
    }

    #[test]
    fn flags_are_not_guessed_from_prefixes() {
        for line in ["brigade tools list --js", "brigade tools lis", "brigade --targ / tools list"] {
            assert!(Arguments::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }

    #[test]
    fn seconds_are_zero_or_more() {
        assert_eq!("1.5".parse(), Ok(Seconds(Duration::from_millis(1_500))));
        for text in ["", "-1", "nan", "inf", "1e300", "ten"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }
}
