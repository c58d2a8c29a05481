//! `brigade kitchen receipts`

use brigade::Exit;
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
    Show(ShowArgs),
    Verify(VerifyArgs),
}

/// List the newest receipts
#[derive(Args, Debug)]
struct ListArgs {
    /// Maximum number of receipts
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Show a receipt
#[derive(Args, Debug)]
struct ShowArgs {
    /// Id of the run, or any unique prefix of it
    #[arg(value_name = "ID")]
    run: String,
}

/// Check every receipt against the chain, and the chain against the journals
///
/// Names each receipt that was changed, removed, moved or cut off, and exits with 1 if there is one.
#[derive(Args, Debug)]
struct VerifyArgs {}

const EXAMPLES: &str = "\
Examples:
  brigade kitchen receipts --limit 5   List what was started last
  brigade kitchen receipts verify      Check that no receipt was changed";

pub(crate) fn run(session: &Session<'_>, arguments: &ReceiptsArgs, output: &mut Output<'_, '_>) -> Exit {
    let kitchen = match session.workspace() {
        Ok(workspace) => workspace.kitchen(),
        Err(error) => return output.fail(&error),
    };
    match &arguments.command {
        None => output.finish(kitchen.receipts(arguments.list.limit)),
        Some(Receipts::List(list)) => output.finish(kitchen.receipts(list.limit)),
        Some(Receipts::Show(show)) => output.finish(kitchen.receipt(&show.run)),
        Some(Receipts::Verify(VerifyArgs {})) => output.finish(kitchen.verify_receipts()),
    }
}
