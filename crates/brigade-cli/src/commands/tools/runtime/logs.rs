//! `brigade tools runtime logs`

use brigade::core::text::escape_terminal;
use brigade::{Error, Exit, LogStream};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Show the last lines of a runtime's log
///
/// Logs are rotated at 16 MiB while the runtime runs; the previous part has the suffix `.1`. Lines are taken from both
/// parts, and --follow continues after a rotation.
#[derive(Args, Debug)]
pub(crate) struct LogsArgs {
    /// Id of the runtime
    #[arg(value_name = "RUNTIME")]
    id: String,

    /// Follow the log until Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,

    /// Show standard error instead of standard output
    #[arg(long)]
    stderr: bool,

    /// Number of lines to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    lines: usize,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &LogsArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let stream = if arguments.stderr { LogStream::Stderr } else { LogStream::Stdout };
    if !arguments.follow {
        let runtimes = session.workspace()?.runtimes();
        return Ok(output.finish(runtimes.logs(&arguments.id, stream, arguments.lines)?));
    }
    let workspace = session.workspace_to_run()?;
    output.pass(|write| {
        workspace.runtimes().follow(&arguments.id, stream, arguments.lines, &mut |line| {
            write(format!("{}\n", escape_terminal(line)).as_bytes())
        })
    })
}
