//! `brigade tools run show`

use std::ops::ControlFlow;

use brigade::core::IdPrefix;
use brigade::core::text::escape_terminal_lines;
use brigade::records::LogReach;
use brigade::{Error, Exit, LogStream};
use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::render::characters::Characters;
use crate::session::Session;

/// Show the receipt or the output of a run
///
/// On a terminal, control characters in a log are escaped; in a file or a pipe, logs are copied byte for byte. With
/// --json, at most the last MiB is shown and secrets are masked.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the run, a unique prefix, or latest
    run: IdPrefix,

    /// Show this log instead of the receipt, also during the run
    #[arg(long, value_name = "STREAM")]
    log: Option<Log>,

    /// Show which files the run used, grouped by what covers them: approval, arguments, data or nothing
    #[arg(long, conflicts_with_all = ["log", "follow"])]
    inputs: bool,

    /// Follow the log until the run ends or Ctrl-C; shows stdout unless --log is given
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
}

/// Which log to show.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Log {
    /// Standard output
    Stdout,
    /// Standard error
    Stderr,
}

impl From<Log> for LogStream {
    fn from(log: Log) -> LogStream {
        match log {
            Log::Stdout => LogStream::Stdout,
            Log::Stderr => LogStream::Stderr,
        }
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ShowArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let stream = match arguments.log {
        Some(log) => LogStream::from(log),
        None if arguments.inputs => {
            return Ok(output.finish(session.workspace()?.runs().inputs(&arguments.run)?));
        }
        None if arguments.follow => LogStream::Stdout,
        None => return Ok(output.finish(session.workspace()?.runs().show(&arguments.run)?)),
    };
    if !output.is_json() {
        return show_log(session, arguments, stream, output);
    }
    Ok(output.document(&session.workspace()?.runs().log(&arguments.run, stream)?, Exit::Done))
}

/// Prints each part of the log as it arrives.
fn show_log(
    session: &Session<'_>,
    arguments: &ShowArgs,
    stream: LogStream,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let (workspace, reach) = if arguments.follow {
        (session.workspace_to_run()?, LogReach::EndOfRun)
    } else {
        (session.workspace()?, LogReach::Now)
    };
    let is_terminal = session.surroundings.output.is_some();
    let mut characters = Characters::default();
    output.pass(|write| {
        let passed = workspace.runs().log_bytes(&arguments.run, stream, reach, &mut |bytes| {
            if !is_terminal {
                return write(bytes);
            }
            write(escape_terminal_lines(&characters.take(bytes)).as_bytes())
        })?;
        let rest = characters.rest();
        if rest.is_empty() || passed.is_break() {
            return Ok(passed);
        }
        Ok(write(rest.as_bytes()).map_or_else(ControlFlow::Break, ControlFlow::Continue))
    })
}
