//! The whole command line: the global options and a command.

use clap::{CommandFactory as _, Parser};

use crate::arguments::Globals;
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
}
