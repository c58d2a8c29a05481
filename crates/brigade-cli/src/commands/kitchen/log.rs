//! `brigade kitchen log`

use std::path::PathBuf;

use brigade::core::text::escape_terminal_lines;
use brigade::kitchen::{KitchenLogReach, LogRequest};
use brigade::process::OutputStream;
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::render::characters::Characters;
use crate::session::Session;

/// Show what an attempt of a task printed
///
/// A line such as `==> stderr <==` marks where the output changes from one stream to the other. Secrets are masked. Of
/// a long log, the first and the last part are kept. While the attempt runs, the last two kibibytes are held back until
/// more follows, because they may be the start of a secret.
#[derive(Args, Debug)]
#[command(allow_missing_positional = true)]
pub(crate) struct LogArgs {
    /// PRD, by its file or name; by default the PRD in progress, or the one that has the task
    prd: Option<PathBuf>,

    /// Task, such as T3 or calc/T3
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    task: String,

    /// Number of the attempt, over all tiers; by default the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    attempt: Option<u64>,

    /// Follow the log until the attempt ends or Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
}

impl LogArgs {
    /// The newest attempt of a task.
    pub(crate) fn newest(prd: Option<PathBuf>, task: String) -> LogArgs {
        LogArgs { prd, task, attempt: None, follow: false }
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &LogArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let request = LogRequest { task: &arguments.task, attempt: arguments.attempt };
    if output.is_json() {
        let report = session.workspace()?.kitchen().log(arguments.prd.as_deref(), request)?;
        return Ok(output.document(&report, Exit::Done));
    }
    let (workspace, reach) = if arguments.follow {
        (session.workspace_to_run()?, KitchenLogReach::EndOfAttempt)
    } else {
        (session.workspace()?, KitchenLogReach::Now)
    };
    let is_terminal = session.surroundings.output.is_some();
    let mut shown = LogProgress::default();
    output.pass(|write| {
        workspace.kitchen().pass_log(arguments.prd.as_deref(), request, reach, &mut |stream, bytes| {
            let text = shown.take(stream, bytes);
            if is_terminal { write(escape_terminal_lines(&text).as_bytes()) } else { write(text.as_bytes()) }
        })
    })
}

/// The state of the output so far.
#[derive(Default)]
struct LogProgress {
    stream: Option<OutputStream>,
    stdout: Characters,
    stderr: Characters,
    /// Whether the output ends within a line.
    is_inside: bool,
}

impl LogProgress {
    /// Returns the text of a piece, with a heading if the stream changed.
    fn take(&mut self, stream: OutputStream, bytes: &[u8]) -> String {
        let (characters, head) = match stream {
            OutputStream::Stdout => (&mut self.stdout, "==> stdout <==\n"),
            OutputStream::Stderr => (&mut self.stderr, "==> stderr <==\n"),
        };
        let text = characters.take(bytes);
        if text.is_empty() {
            return text;
        }
        let mut shown = String::new();
        if self.stream.unwrap_or(OutputStream::Stdout) != stream {
            shown.push_str(if self.is_inside { "\n" } else { "" });
            shown.push_str(head);
        }
        self.stream = Some(stream);
        self.is_inside = !text.ends_with('\n');
        shown + &text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_marks_a_change_of_the_stream() {
        use OutputStream::{Stderr, Stdout};
        let mut shown = LogProgress::default();
        let pieces = [
            (Stdout, "a\n".as_bytes()),
            (Stdout, "b".as_bytes()),
            (Stderr, "c\n".as_bytes()),
            (Stderr, &"ä".as_bytes()[..1]),
            (Stdout, "d".as_bytes()),
            (Stderr, &"ä".as_bytes()[1..]),
        ];
        let text: String = pieces.iter().map(|(stream, bytes)| shown.take(*stream, bytes)).collect();
        assert_eq!(text, "a\nb\n==> stderr <==\nc\n==> stdout <==\nd\n==> stderr <==\nä");
        assert_eq!(LogProgress::default().take(Stderr, b"x"), "==> stderr <==\nx");
    }
}
