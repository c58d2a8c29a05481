//! `brigade completions`

use brigade::Exit;
use clap::Args;
use clap_complete::Shell;

use crate::output::Output;

/// Write completions for a shell
///
/// For bash: brigade completions bash > ~/.local/share/bash-completion/completions/brigade
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete in
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArgs, output: &mut Output<'_, '_>) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command(), "brigade", &mut script);
    output.text(&String::from_utf8_lossy(&script))
}
