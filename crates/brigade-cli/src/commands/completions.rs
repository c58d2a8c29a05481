//! `brigade completions`

use brigade::report::SchemaId;
use brigade::{Exit, Report};
use clap::Args;
use clap_complete::Shell;
use serde::{Deserialize, Serialize};

use crate::output::Output;

/// The scripts that ask the program. Without an answer, the shell offers files.
const BASH: &str = include_str!("completions/brigade.bash");
const ZSH: &str = include_str!("completions/brigade.zsh");
const FISH: &str = include_str!("completions/brigade.fish");

/// Print a completion script for a shell
///
/// In bash, zsh and fish, it asks Brigade, so ids of calls, tools, agents, PRDs and tasks are completed, too.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs, output: &mut Output<'_, '_>) -> Exit {
    let script = match arguments.shell {
        Shell::Bash => BASH.to_owned(),
        Shell::Zsh => ZSH.to_owned(),
        Shell::Fish => FISH.to_owned(),
        shell => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut crate::command(), "brigade", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    if !output.is_json() {
        return output.text(&script);
    }
    let report =
        CompletionsReport { schema: CompletionsReport::SCHEMA, shell: arguments.shell.to_string(), script };
    output.document(&report, Exit::Done)
}

/// `completions`: the script that a shell reads.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct CompletionsReport {
    #[serde(deserialize_with = "CompletionsReport::read_schema")]
    schema: SchemaId,
    /// The shell.
    shell: String,
    /// Its text.
    script: String,
}

impl Report for CompletionsReport {
    const SCHEMA: SchemaId = "brigade.completions.v1";
}
