//! The export of all calls and receipts, written as they are read.

use std::cell::RefCell;
use std::io::{self, Write};
use std::ops::ControlFlow;

use brigade::core::json::to_json;
use brigade::{Call, Error, Exported, Receipt, Workspace};
use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer};

/// One record of an export.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Record {
    Call(Box<Call>),
    Receipt(Box<Receipt>),
}

/// The document of `state export`; its records are read while it is written.
pub(crate) struct Export<'a> {
    workspace: &'a Workspace,
    failure: RefCell<Option<Error>>,
}

impl<'a> Export<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Export<'a> {
        Export { workspace, failure: RefCell::new(None) }
    }

    /// Returns why reading stopped early, after everything was written.
    pub(crate) fn failure(self) -> Option<Error> {
        self.failure.into_inner()
    }

    /// Writes one record on each line.
    pub(crate) fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        self.for_each(|record| writeln!(out, "{}", to_json(&record).unwrap_or_default().to_compact()))
    }

    /// Passes each record to `take`, until one fails.
    fn for_each<E>(&self, mut take: impl FnMut(Record) -> Result<(), E>) -> Result<(), E> {
        let mut untaken = None;
        let read = self.workspace.state().export(&mut |exported| {
            let record = match exported {
                Exported::Call(call) => Record::Call(Box::new(self.workspace.calls().shown(call))),
                Exported::Receipt(receipt) => Record::Receipt(receipt),
            };
            match take(record) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    untaken = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        *self.failure.borrow_mut() = read.err();
        untaken.map_or(Ok(()), Err)
    }
}

impl Serialize for Export<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("schema", "brigade.state-export.v1")?;
        document.serialize_entry("target", &self.workspace.root().display().to_string())?;
        document.serialize_entry("records", &Records(self))?;
        if let Some(error) = &*self.failure.borrow() {
            document.serialize_entry("error", &error.to_string())?;
        }
        document.end()
    }
}

struct Records<'a>(&'a Export<'a>);

impl Serialize for Records<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut records = serializer.serialize_seq(None)?;
        self.0.for_each(|record| records.serialize_element(&record))?;
        records.end()
    }
}
