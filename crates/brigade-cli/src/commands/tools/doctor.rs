//! `brigade tools doctor`

use std::path::PathBuf;

use brigade::{DoctorRequest, Exit, Report as _};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Look for trouble in tools, files, projections, runtimes, policy, calls and runs
///
/// Ends with 0 also when there are issues, unless the catalog is invalid; --strict makes issues count.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// End with 1 when there are issues
    #[arg(long)]
    strict: bool,

    /// Only issues of this area, such as policy, or type, such as missing_source; may be repeated
    #[arg(long, value_name = "AREA|TYPE", value_delimiter = ',')]
    only: Vec<String>,

    /// Only issues of this tool or runtime
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Write the issues as SARIF, for editors and code hosts, to this file, or instead of the report
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    sarif: Option<PathBuf>,

    /// Mend what can be mended without a decision: modes, stale files, unreadable lines
    #[arg(long, conflicts_with_all = ["strict", "only", "tool", "sarif"])]
    fix: bool,

    /// Say what --fix would do
    #[arg(long, requires = "fix")]
    dry_run: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DoctorArgs, output: &mut Output<'_, '_>) -> Exit {
    let workspace = session.workspace();
    if arguments.fix {
        return output.finish(workspace.and_then(|workspace| workspace.doctor().fix(arguments.dry_run)));
    }
    let request = DoctorRequest {
        strict: arguments.strict,
        only: arguments.only.clone(),
        tool: arguments.tool.clone(),
    };
    let report = workspace.and_then(|workspace| workspace.doctor().check(&request));
    match (report, &arguments.sarif) {
        (Ok(report), Some(file)) if file.as_os_str() == "-" => {
            output.document(&report.sarif(), report.exit())
        }
        (Ok(report), Some(file)) => {
            let written = session.absolute(file).and_then(|file| report.write_sarif(&file));
            output.finish(written.map(|()| report))
        }
        (report, _) => output.finish(report),
    }
}
