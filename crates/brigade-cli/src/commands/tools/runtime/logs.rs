//! `brigade tools runtime logs`

use std::io::ErrorKind;
use std::ops::ControlFlow;

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

pub(crate) fn run(session: &Session<'_>, arguments: &LogsArgs, output: &mut Output<'_, '_>) -> Exit {
    let stream = if arguments.stderr { LogStream::Stderr } else { LogStream::Stdout };
    if !arguments.follow {
        let logs =
            |workspace: brigade::Workspace| workspace.runtimes().logs(&arguments.id, stream, arguments.lines);
        return output.finish(session.workspace().and_then(logs));
    }
    match follow(session, arguments, stream, output) {
        Ok(exit) => exit,
        Err(error) => output.fail(&error),
    }
}

/// Prints each line as it arrives.
fn follow(
    session: &Session<'_>,
    arguments: &LogsArgs,
    stream: LogStream,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let workspace = session.workspace_to_run()?;
    let mut exit = Exit::Done;
    let followed = workspace.runtimes().follow(&arguments.id, stream, arguments.lines, &mut |line| {
        let line = format!("{}\n", escape_terminal(line));
        let mut written = Ok(());
        exit = output.write(Exit::Done, |out| {
            written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
            // The output reports the failure; the follower only has to stop.
            match &written {
                Ok(()) => Ok(()),
                Err(error) => Err(error.kind().into()),
            }
        });
        written
    })?;
    match followed {
        ControlFlow::Continue(()) => Ok(Exit::Done),
        ControlFlow::Break(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Done),
        ControlFlow::Break(_) => Ok(exit),
    }
}
