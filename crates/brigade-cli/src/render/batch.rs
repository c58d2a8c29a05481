//! Batches of calls: each call is answered while the next ones are read.

use std::io::{self, BufRead, Write};

use brigade::core::json::DocumentWriter;
use brigade::policy::ErrorLine;
use brigade::records::StoreKind;
use brigade::report::{BatchReport, BatchRow, SchemaId};
use brigade::{Error, OnBlocked, Report, Workspace};
use serde::{Deserialize, Serialize};

use super::text::{Colour, Text, Tone};
use super::words;

/// A batch whose calls are queued while the answers are written.
pub(crate) struct Batch<'a> {
    workspace: &'a Workspace,
    blocked: OnBlocked,
    input: &'a mut dyn BufRead,
}

/// The result of a batch.
pub(crate) type BatchResult = Result<BatchReport, Error>;

impl<'a> Batch<'a> {
    pub(crate) fn new(workspace: &'a Workspace, blocked: OnBlocked, input: &'a mut dyn BufRead) -> Batch<'a> {
        Batch { workspace, blocked, input }
    }

    /// Writes one JSON document.
    pub(crate) fn write_document(&mut self, out: &mut dyn Write) -> io::Result<BatchResult> {
        let mut document = DocumentWriter::new(out);
        document.member("schema", BatchReport::SCHEMA)?;
        document.member("target", &self.workspace.root().display().to_string())?;
        let (calls_path, store) = self.workspace.calls_path();
        document.member("calls_path", &calls_path)?;
        document.member("store", &store)?;
        let queued = document.list("rows", |rows| self.for_each(|row| rows.element(row)))?;
        match &queued {
            Ok(report) => {
                document.member("created", &report.created)?;
                document.member("skipped", &report.skipped)?;
                document.member("refused", &report.refused)?;
            }
            Err(error) => document.member("error", &error.to_string())?,
        }
        document.end()?;
        Ok(queued)
    }

    /// Writes a line for each call, then the counts.
    pub(crate) fn write_lines(&mut self, colour: Colour, out: &mut dyn Write) -> io::Result<BatchResult> {
        let queued = self.for_each(|row| {
            let mut text = String::new();
            line(row).write(colour, &mut text);
            if let Some(help) = &row.help {
                text.push('\n');
                Text::new(Tone::Good, "help: ").then(Tone::Accent, help).write(colour, &mut text);
            }
            writeln!(out, "{text}")
        })?;
        if let Ok(report) = &queued {
            let BatchReport { created, skipped, refused, .. } = report;
            writeln!(out, "{created} queued, {skipped} already queued, {refused} refused")?;
        }
        Ok(queued)
    }

    /// Queues every line of the input, even after `take` has failed.
    fn for_each(&mut self, mut take: impl FnMut(&BatchRow) -> io::Result<()>) -> io::Result<BatchResult> {
        let mut taken = Ok(());
        let queued = self.workspace.calls().queue_lines(self.input, self.blocked, &mut |row| {
            if taken.is_ok() {
                taken = take(row);
            }
        });
        taken.map(|()| queued)
    }
}

/// Formats the answer to one line of the input.
fn line(row: &BatchRow) -> Text {
    let start = Text::new(Tone::Faint, &format!("line {}: ", row.line));
    match (&row.call_id, &row.error) {
        (Some(call), _) => start
            .then(Tone::Accent, call)
            .then(Tone::Plain, " ")
            .and(words::status(row.status.as_deref().unwrap_or("")))
            .then(Tone::Plain, if row.created { "" } else { " (already queued)" }),
        (None, error) => {
            let reasons = std::iter::once(error.as_ref().map_or("refused", ErrorLine::as_str));
            let reasons = reasons.chain(row.blockers.iter().map(String::as_str)).collect::<Vec<_>>();
            start.then(Tone::Bad, "refused").then(Tone::Plain, &format!(": {}", reasons.join("; ")))
        }
    }
}

/// `call queue --stdin`: the result of each line, written while the lines are read.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct BatchDocument {
    #[serde(deserialize_with = "BatchReport::read_schema")]
    schema: SchemaId,
    /// The workspace.
    target: String,
    /// The queue's file.
    calls_path: String,
    /// What calls are stored in.
    store: StoreKind,
    /// The lines that are not empty, in order.
    rows: Vec<BatchRow>,
    /// Calls that were stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<usize>,
    /// Calls that were there, or were rejected before.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<usize>,
    /// Lines that are not a call, or whose call is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<usize>,
    /// Why it stopped early.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for BatchDocument {
    const SCHEMA: SchemaId = BatchReport::SCHEMA;
}
