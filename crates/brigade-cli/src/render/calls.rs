//! Lists of calls, printed as they are read, because there may be many.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use brigade::core::Timestamp;
use brigade::{Call, CallFilter, CallStatus, Error, Workspace};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use super::page::Page;
use super::table::{Fit, Table};
use super::text::{Text, Tone};
use super::{when, words};

/// The schema id of the list of calls.
pub(crate) const CALL_LIST: &str = "brigade.call-list.v1";

/// The document of `call list`; its calls are read while it is written.
pub(crate) struct CallList<'a> {
    workspace: &'a Workspace,
    filter: &'a CallFilter,
    counts: &'a BTreeMap<String, u64>,
    failure: RefCell<Option<Error>>,
    found: Cell<bool>,
}

impl<'a> CallList<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        filter: &'a CallFilter,
        counts: &'a BTreeMap<String, u64>,
    ) -> CallList<'a> {
        CallList { workspace, filter, counts, failure: RefCell::new(None), found: Cell::new(false) }
    }

    /// Returns why reading stopped early, after the document was written.
    pub(crate) fn failure(self) -> Option<Error> {
        self.failure.into_inner()
    }
}

impl Serialize for CallList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("schema", CALL_LIST)?;
        document.serialize_entry("target", &self.workspace.root().display().to_string())?;
        document.serialize_entry("calls_path", &self.workspace.calls().path())?;
        document.serialize_entry("counts", self.counts)?;
        document.serialize_entry("calls", &Calls(self))?;
        if let Some(tool) = self.filter.tool.as_ref().filter(|_| !self.found.get())
            && let Ok(Some(note)) = self.workspace.calls().note_on_tool(tool)
        {
            document.serialize_entry("notes", &[note])?;
        }
        if let Some(error) = &*self.failure.borrow() {
            document.serialize_entry("error", &error.to_string())?;
        }
        document.end()
    }
}

struct Calls<'a>(&'a CallList<'a>);

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let list = self.0;
        let mut elements = serializer.serialize_seq(None)?;
        let mut unwritten = None;
        let read = list.workspace.calls().for_each(list.filter, &mut |call| {
            list.found.set(true);
            match elements.serialize_element(&list.workspace.calls().shown(call)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    unwritten = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = unwritten {
            return Err(error);
        }
        *list.failure.borrow_mut() = read.err();
        elements.end()
    }
}

/// How many rows are printed at a time.
const PART: usize = 1_000;

/// The table of `call list`, in parts.
pub(crate) struct CallRows {
    table: Table,
    heading: Option<Text>,
    shown: usize,
    /// The first pending call without blockers.
    pending: Option<String>,
}

impl CallRows {
    pub(crate) fn new(counts: &BTreeMap<String, u64>) -> CallRows {
        let table = Table::new([
            ("call", Fit::Whole),
            ("tool", Fit::Whole),
            ("status", Fit::Whole),
            ("blockers", Fit::Whole),
            ("queued", Fit::Cut),
        ]);
        let heading =
            words::counts(counts).map(|counts| Text::new(Tone::Faint, "calls: ").then(Tone::Plain, &counts));
        CallRows { table, heading, shown: 0, pending: None }
    }

    /// Adds one call.
    pub(crate) fn add(&mut self, call: &Call, now: Timestamp) {
        let blockers = call.blockers.len();
        if call.status == CallStatus::Pending && blockers == 0 && self.pending.is_none() {
            self.pending = Some(call.id.to_string());
        }
        let tone = if blockers == 0 { Tone::Faint } else { Tone::Bad };
        self.table.row([
            Text::new(Tone::Accent, call.id.as_str()),
            Text::from(&call.tool_id),
            words::status(call.status.as_str()),
            Text::new(tone, &blockers.to_string()),
            call.created_at.map_or_else(Text::default, |at| when::at(at, now)),
        ]);
    }

    /// Returns whether there are enough rows to print a part.
    pub(crate) fn is_full(&self) -> bool {
        PART <= self.table.len()
    }

    /// Returns whether no call was printed.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Moves the rows so far to a page.
    pub(crate) fn part(&mut self, now: Timestamp) -> Page {
        let mut page = Page::new(now);
        if let Some(heading) = self.heading.take() {
            page.data.line(heading);
        }
        self.shown += self.table.len();
        page.data.table(self.table.part());
        page
    }

    /// Moves the last rows to a page, with notes and the next step.
    pub(crate) fn last(&mut self, now: Timestamp, filter: &CallFilter) -> Page {
        if self.shown == 0 && self.table.len() == 0 {
            let mut page = Page::new(now);
            page.data.line("no calls");
            page.next("brigade tools call queue ID --args JSON");
            return page;
        }
        let mut page = self.part(now);
        if filter.limit == Some(self.shown) {
            page.note(&format!("showing the newest {} calls; use --all to list every call", self.shown));
        }
        if let Some(call) = self.pending.take() {
            page.next(&format!("brigade tools call show {call}"));
        }
        page
    }
}
