//! `brigade tools script promote`

use brigade::Error;
use brigade::report::RegisterReport;
use clap::Args;

use crate::session::Session;

/// Make a disabled tool of a script that an agent saved, for a review
///
/// Writes the newest version of the script and a schema without arguments into `scripts/`, and an entry that asks for
/// approval of each call. Read the script, declare its effects, and enable the entry.
#[derive(Args, Debug)]
pub(crate) struct PromoteArgs {
    /// Id of the script, as `script.list` shows it
    #[arg(value_name = "SCRIPT")]
    script: String,
    /// Id of the tool, instead of one made of the script's name
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PromoteArgs) -> Result<RegisterReport, Error> {
    session.workspace()?.catalog().promote_script(&arguments.script, arguments.id.as_deref())
}
