//! `brigade tools install`

use brigade::report::InstallReport;
use brigade::tools::{InstallRequest, InstallSelection};
use brigade::{Error, OnBlocked};
use clap::Args;

use crate::session::Session;

/// Queue the installation of tools for approval, without running anything
///
/// An installation is a call like any other: it is approved, run in the sandbox and has a receipt. It is refused unless
/// the policy names `install` in allowed_effects, and fails unless the tool is there afterwards.
#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    /// Ids of the tools
    #[arg(value_name = "ID", required_unless_present = "all_missing")]
    ids: Vec<String>,
    /// Install all enabled tools that are missing
    #[arg(long, conflicts_with = "ids")]
    all_missing: bool,
    /// Take the install command of this program, instead of the first one on PATH
    #[arg(long, value_name = "PROGRAM")]
    with: Option<String>,
    /// Show what would be queued, without writing
    #[arg(long)]
    dry_run: bool,
    /// Queue installations even if they are blocked; a blocked call cannot be approved
    #[arg(long)]
    include_blocked: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &InstallArgs) -> Result<InstallReport, Error> {
    let tools = match arguments.all_missing {
        true => InstallSelection::AllMissing,
        false => InstallSelection::Named(arguments.ids.clone()),
    };
    session.workspace()?.calls().install(&InstallRequest {
        tools,
        with: arguments.with.clone(),
        dry_run: arguments.dry_run,
        blocked: if arguments.include_blocked { OnBlocked::Include } else { OnBlocked::Refuse },
    })
}
