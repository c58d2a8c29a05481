//! `brigade tools script`

use brigade::{Error, Exit};
use clap::Subcommand;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Script {
    /// Make a disabled tool of a script that an agent saved, for a review
    ///
    /// Writes the newest version of the script and a schema without arguments into `scripts/`, and an entry that asks
    /// for approval of each call. Read the script, declare its effects, and enable the entry.
    Promote {
        /// Id of the script, as `script.list` shows it
        #[arg(value_name = "SCRIPT")]
        script: String,
        /// Id of the tool, instead of one made of the script's name
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
}

pub(crate) fn run(
    command: &Script,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Script::Promote { script, id } => {
            output.finish(session.workspace()?.catalog().promote_script(script, id.as_deref())?)
        }
    })
}
