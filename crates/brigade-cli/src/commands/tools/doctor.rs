//! `brigade tools doctor`

use std::path::PathBuf;

use brigade::health::DoctorRequest;
use brigade::{Error, Exit, Report as _};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Check tools, projections, runtimes, policy, calls, runs and the kitchen
///
/// Exits with 0 even if there are issues, unless the catalog is invalid. Use --strict to exit with 1.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Exit with 1 if there are issues
    #[arg(long)]
    strict: bool,

    /// Only report issues of this area (policy) or type (missing_source); can be repeated
    #[arg(long, value_name = "AREA|TYPE", value_delimiter = ',')]
    only: Vec<String>,

    /// Only report issues of this tool or runtime
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Also report failures of agents that are older than a day
    #[arg(long)]
    all: bool,

    /// List built-in tools with missing requirements, and how to meet them
    #[arg(long)]
    explain_missing: bool,

    /// Write the issues as SARIF to this file, or to standard output without a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    sarif: Option<PathBuf>,

    /// Fix what needs no decision: file modes, stale files, unreadable lines
    #[arg(long, conflicts_with_all = ["strict", "only", "tool", "sarif", "explain_missing"])]
    fix: bool,

    /// Show what --fix would do, without writing
    #[arg(long, requires = "fix")]
    dry_run: bool,

    /// End the notes on what behaves differently in brigade-cli 0.30.0
    #[arg(long, conflicts_with_all = ["strict", "only", "tool", "sarif", "explain_missing", "fix", "all"])]
    done_switching: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &DoctorArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let workspace = session.workspace()?;
    if arguments.done_switching {
        workspace.daily().done_switching()?;
        output.note("ended the notes on what behaves differently in brigade-cli 0.30.0");
    }
    if arguments.fix {
        return Ok(output.finish(workspace.doctor().fix(arguments.dry_run)?));
    }
    let request = DoctorRequest {
        strict: arguments.strict,
        only: arguments.only.clone(),
        tool: arguments.tool.clone(),
        explain_missing: arguments.explain_missing,
        all: arguments.all,
    };
    let report = workspace.doctor().check(&request)?;
    match &arguments.sarif {
        Some(file) if file.as_os_str() == "-" => return Ok(output.document(&report.sarif(), report.exit())),
        Some(file) => report.write_sarif(&session.absolute(file)?)?,
        None => {}
    }
    Ok(output.finish(report))
}
