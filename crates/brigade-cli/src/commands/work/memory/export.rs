//! `brigade work memory export`

use brigade::core::json::to_json;
use brigade::{Exit, MemoryFilter};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Print all memories, one JSON object on each line
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ExportArgs, output: &mut Output<'_, '_>) -> Exit {
    let listed =
        session.workspace().and_then(|workspace| workspace.memories().list(&MemoryFilter::default()));
    match listed {
        Ok(report) if output.is_json() => output.document(&report, Exit::Done),
        Ok(report) => output.write(Exit::Done, |out| {
            for memory in &report.memories {
                writeln!(out, "{}", to_json(memory).unwrap_or_default().to_compact())?;
            }
            Ok(())
        }),
        Err(error) => output.fail(&error),
    }
}
