//! Lists of calls, printed as they are read, because there may be many.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;

use brigade::core::json::DocumentWriter;
use brigade::core::{CallId, NextStep};
use brigade::daily::{arguments_line, caller_name};
use brigade::report::CallListReport;
use brigade::{Call, CallList, CallStatus, Error, Report as _};

use super::page::Page;
use super::table::Table;
use super::text::{Text, Tone};
use super::when::Now;
use super::words;

/// Writes the document of `call list` while the calls are read. Returns why reading stopped early.
pub(crate) fn write_list(list: &CallList, out: &mut dyn Write) -> io::Result<Option<Error>> {
    let mut document = DocumentWriter::new(out);
    document.member("calls_path", &list.calls_path)?;
    document.member("store", &list.store)?;
    document.member("counts", &list.counts)?;
    document.member("schema", CallListReport::SCHEMA)?;
    document.member("target", &list.target)?;
    let mut is_found = false;
    let failure = document.list("calls", |calls| {
        stream(|write| {
            list.for_each_text(&mut |call| {
                is_found = true;
                write(calls.text(call))
            })
        })
    })?;
    let notes = if is_found { Vec::new() } else { list.notes().unwrap_or_default() };
    if !notes.is_empty() {
        document.member("notes", &notes)?;
    }
    if let Some(error) = &failure {
        document.member("error", &error.to_string())?;
    }
    document.end()?;
    Ok(failure)
}

/// Writes records while they are read, and returns why reading stopped early. A failed write ends it.
fn stream(
    read: impl FnOnce(&mut dyn FnMut(io::Result<()>) -> ControlFlow<()>) -> Result<(), Error>,
) -> io::Result<Option<Error>> {
    let mut unwritten = Ok(());
    let read = read(&mut |written| {
        unwritten = written;
        if unwritten.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    unwritten.map(|()| read.err())
}

/// How many rows are printed at a time.
const BATCH_ROWS: usize = 1_000;

/// The table of `call list`, in parts.
pub(crate) struct CallRows {
    table: Table,
    heading: Option<Text>,
    row_count: usize,
    /// The first pending call without blockers.
    pending: Option<CallId>,
}

impl CallRows {
    pub(crate) fn new(counts: &BTreeMap<String, u64>) -> CallRows {
        let table = Table::new(["time", "call", "who", "tool", "arguments…", "effects…", "status"]);
        let heading =
            words::counts(counts).map(|counts| Text::new(Tone::Faint, "calls: ").then(Tone::Plain, &counts));
        CallRows { table, heading, row_count: 0, pending: None }
    }

    /// Adds one call with a short form of its id.
    pub(crate) fn add(&mut self, call: &Call, short_id: &str, now: Now) {
        let blockers = call.blockers.len();
        if call.status == CallStatus::Pending && blockers == 0 && self.pending.is_none() {
            self.pending = Some(call.id.clone());
        }
        let status = words::status(call.status.as_str());
        let status = match blockers {
            0 => status,
            count => status.then(Tone::Bad, &format!(", blocked ({count})")),
        };
        let status = match call.is_approved_elsewhere() {
            true => status.then(Tone::Warning, ", not approved on this host"),
            false => status,
        };
        self.table.row([
            Text::new(Tone::Faint, &call.created_at.map_or_else(String::new, |at| now.brief(at))),
            Text::new(Tone::Accent, short_id),
            Text::from(caller_name(&call.caller)),
            words::tool_of(&call.tool_id, call.kind().as_str()),
            Text::from(arguments_line(&call.args)),
            Text::from(call.contract.effects.join(", ")),
            status,
        ]);
    }

    /// Returns whether there are enough rows to print a part.
    pub(crate) fn is_full(&self) -> bool {
        BATCH_ROWS <= self.table.len()
    }

    /// Returns whether no call was printed.
    pub(crate) fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Moves the rows so far to an empty page.
    pub(crate) fn part(&mut self, mut page: Page) -> Page {
        if let Some(heading) = self.heading.take() {
            page.data.line(heading);
        }
        self.row_count += self.table.len();
        page.data.table(self.table.part());
        page
    }

    /// Moves the last rows to an empty page, with notes and the next step.
    pub(crate) fn last(&mut self, mut page: Page, limit: Option<usize>) -> Page {
        if self.row_count == 0 && self.table.len() == 0 {
            page.data.line("no calls");
            page.next("brigade tools call queue ID --args JSON");
            return page;
        }
        let mut page = self.part(page);
        if limit == Some(self.row_count) {
            page.note(&format!("showing the newest {} calls; use --all to list every call", self.row_count));
        }
        if let Some(call) = self.pending.take() {
            page.next_step(&NextStep::ShowCall(call));
        }
        page
    }
}
