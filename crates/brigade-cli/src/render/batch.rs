//! Batches of calls: each call is answered while the next ones are read.

use std::cell::RefCell;
use std::io::{self, BufRead, Write};

use brigade::{BatchReport, BatchRow, Blocked, Error, Workspace};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use super::json;
use super::text::{Colour, Text, Tone};
use super::words;

/// A batch whose calls are queued while its answers are written.
pub(crate) struct Batch<'a> {
    workspace: &'a Workspace,
    blocked: Blocked,
    input: RefCell<&'a mut dyn BufRead>,
    result: RefCell<Option<Result<BatchReport, Error>>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(workspace: &'a Workspace, blocked: Blocked, input: &'a mut dyn BufRead) -> Batch<'a> {
        Batch { workspace, blocked, input: RefCell::new(input), result: RefCell::new(None) }
    }

    /// Returns the result, once the batch is written.
    pub(crate) fn result(self) -> Option<Result<BatchReport, Error>> {
        self.result.into_inner()
    }

    /// Writes one JSON document.
    pub(crate) fn write_document(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(out, self)
    }

    /// Writes a line for each call, then the counts.
    pub(crate) fn write_lines(&self, colour: Colour, out: &mut dyn Write) -> io::Result<()> {
        self.for_each(|row| {
            let mut text = String::new();
            line(row).write(colour, &mut text);
            writeln!(out, "{text}")
        })?;
        match &*self.result.borrow() {
            Some(Ok(report)) => writeln!(
                out,
                "{} queued, {} already queued, {} refused",
                report.created, report.skipped, report.refused
            ),
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Queues every line of the input, even after `take` has failed.
    fn for_each<E>(&self, mut take: impl FnMut(&BatchRow) -> Result<(), E>) -> Result<(), E> {
        let mut taken = Ok(());
        let result =
            self.workspace.calls().queue_lines(&mut **self.input.borrow_mut(), self.blocked, &mut |row| {
                if taken.is_ok() {
                    taken = take(row);
                }
            });
        *self.result.borrow_mut() = Some(result);
        taken
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
            let reasons = std::iter::once(error.as_deref().unwrap_or("refused"));
            let reasons = reasons.chain(row.blockers.iter().map(String::as_str)).collect::<Vec<_>>();
            start.then(Tone::Bad, "refused").then(Tone::Plain, &format!(": {}", reasons.join("; ")))
        }
    }
}

impl Serialize for Batch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("schema", <BatchReport as brigade::Report>::SCHEMA)?;
        document.serialize_entry("target", &self.workspace.root().display().to_string())?;
        document.serialize_entry("calls_path", &self.workspace.calls().path())?;
        document.serialize_entry("rows", &Rows(self))?;
        match &*self.result.borrow() {
            Some(Ok(report)) => {
                document.serialize_entry("created", &report.created)?;
                document.serialize_entry("skipped", &report.skipped)?;
                document.serialize_entry("refused", &report.refused)?;
            }
            Some(Err(error)) => document.serialize_entry("error", &error.to_string())?,
            None => {}
        }
        document.end()
    }
}

struct Rows<'a, 'b>(&'a Batch<'b>);

impl Serialize for Rows<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        self.0.for_each(|row| rows.serialize_element(row))?;
        rows.end()
    }
}
