//! `brigade completions`

use brigade::Exit;
use clap::Args;
use clap_complete::Shell;
use serde::Serialize;

use crate::examples;
use crate::output::Output;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = examples::of(examples::PROGRAM, "completions").unwrap_or_default())]
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
    let shell = arguments.shell.to_string();
    output
        .document(&CompletionsReport { schema: "brigade.completions.v1", shell, script: &script }, Exit::Done)
}

/// `completions --json`.
#[derive(Serialize)]
struct CompletionsReport<'a> {
    schema: &'static str,
    shell: String,
    script: &'a str,
}
