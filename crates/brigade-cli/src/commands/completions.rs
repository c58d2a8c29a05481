//! `brigade completions`

use brigade::{Exit, Report, SchemaId};
use clap::Args;
use clap_complete::Shell;
use serde::{Deserialize, Serialize};

use crate::examples;
use crate::output::Output;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = examples::help_text(examples::PROGRAM, "completions").unwrap_or_default())]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs, output: &mut Output<'_, '_>) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command(), "brigade", &mut script);
    let script = String::from_utf8_lossy(&script);
    if !output.is_json() {
        return output.text(&script);
    }
    let report = CompletionsReport {
        schema: CompletionsReport::SCHEMA,
        shell: arguments.shell.to_string(),
        script: script.into_owned(),
    };
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
