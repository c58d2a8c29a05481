//! `brigade kitchen init`

use brigade::Error;
use brigade::kitchen::{InitRequest, KitchenInitReport};
use clap::Args;

use crate::session::Session;

/// Create the configuration of the kitchen
///
/// Writes .brigade/kitchen.toml with the keys that most people set, the directory brigade/tasks for PRDs, and lines for
/// .gitignore.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Translate brigade/brigade.config or brigade.config, without executing it
    #[arg(long)]
    import: bool,

    /// List every key in the configuration
    #[arg(long)]
    full: bool,

    /// Add skills for agent programs that write, convert and change PRDs to the catalog of tools
    #[arg(long)]
    skills: bool,

    /// Overwrite an existing configuration
    #[arg(long)]
    force: bool,

    /// Do not change .gitignore
    #[arg(long)]
    no_gitignore: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InitArgs) -> Result<KitchenInitReport, Error> {
    let InitArgs { import, full, skills, force, no_gitignore } = *arguments;
    let request = InitRequest { import, full, force, keep_ignore: no_gitignore, skills };
    session.workspace_to_make()?.kitchen().init(request)
}
