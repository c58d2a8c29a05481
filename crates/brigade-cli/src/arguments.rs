//! The global options and the command tree.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, CommandFactory as _, Parser, ValueEnum};

use crate::commands::Command;

/// Manage, approve and run the tools that coding agents may call
///
/// Brigade reads the tools of a workspace from .brigade/tools.toml. It checks each requested call against the tool's
/// schema and the host's policy, and queues it for approval. It runs exactly what was approved and writes a receipt for
/// every run. All state is in local files, and nothing starts on its own.
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
  brigade demo                       See the whole story on made-up servers, in a minute
  brigade discover                   Show which servers the agent programs of this machine have
  brigade setup                      Put them behind the gateway
  brigade approve                    Decide what waits, one question each
  brigade log --since yesterday      Show what ran

Exit codes:
  0 success; 1 refused, blocked, not found, or the run failed; 2 usage error;
  3 disk or environment error; 70 bug in brigade";

/// Options of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Use the workspace at this path instead of the nearest directory with .brigade
    #[arg(long, short, global = true, value_name = "PATH")]
    pub(crate) target: Option<PathBuf>,

    /// Print one JSON document instead of text, also on failure
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colour; auto colours terminals unless NO_COLOR is set
    #[arg(long, global = true, value_name = "auto|always|never", value_enum, hide_possible_values = true)]
    #[arg(default_value_t = ColorWhen::Auto, hide_default_value = true)]
    pub(crate) color: ColorWhen,

    /// Do not show long output in a pager (BRIGADE_PAGER, PAGER or less)
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,

    /// Do not print notes and next steps
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Print log messages to standard error
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,

    /// Wait at most this long for another brigade process to release its lock
    #[arg(long, global = true, value_name = "SECONDS")]
    pub(crate) lock_timeout: Option<Seconds>,
}

/// When text is coloured. The values have no help texts, because clap would then print the long form of every page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// A duration in seconds: zero or more, optionally with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Seconds, Self::Err> {
        let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds")?;
        Duration::try_from_secs_f64(seconds)
            .map(Seconds)
            .map_err(|_| "expected a number of seconds, zero or more")
    }
}

/// Parses a count of at least one.
pub(crate) fn count(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|count| 0 < *count).ok_or("expected a whole number, 1 or more")
}

/// Returns the command tree, for completions and manual pages.
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
    fn global_options_may_be_anywhere_and_the_last_counts() {
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
