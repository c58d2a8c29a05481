//! `brigade kitchen receipts`

use brigade::{Error, Exit};
use clap::{Args, Subcommand};

use crate::output::Output;
use crate::session::Session;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct ReceiptsArgs {
    #[command(subcommand)]
    command: Option<Receipts>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Receipts {
    List(ListArgs),
    /// Show a receipt
    Show {
        /// Id of the run, or any unique prefix of it
        #[arg(value_name = "ID")]
        run: String,
    },
    /// Check every receipt against the chain, and the chain against the journals
    ///
    /// Names each receipt that was changed, removed, moved or cut off, and exits with 1 if there is one.
    Verify,
}

/// List the newest receipts
#[derive(Args, Debug)]
struct ListArgs {
    /// Maximum number of receipts
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

const EXAMPLES: &str = "\
Examples:
  brigade kitchen receipts --limit 5   List what was started last
  brigade kitchen receipts verify      Check that no receipt was changed";

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ReceiptsArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let kitchen = session.workspace()?.kitchen();
    Ok(match &arguments.command {
        None => output.finish(kitchen.receipts(arguments.list.limit)?),
        Some(Receipts::List(list)) => output.finish(kitchen.receipts(list.limit)?),
        Some(Receipts::Show { run }) => output.finish(kitchen.receipt(run)?),
        Some(Receipts::Verify) => output.finish(kitchen.verify_receipts()?),
    })
}
