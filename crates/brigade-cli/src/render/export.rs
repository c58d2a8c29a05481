//! The export of all calls and receipts, written as they are read.

use std::io::{self, Write};
use std::ops::ControlFlow;

use brigade::core::json::{DocumentWriter, to_json};
use brigade::records::ExportLine;
use brigade::report::SchemaId;
use brigade::{Call, Error, Receipt, Report, Workspace};
use serde::{Deserialize, Serialize};

/// `state export`: everything that the state holds, written while it is read.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct ExportReport {
    #[serde(deserialize_with = "ExportReport::read_schema")]
    schema: SchemaId,
    /// The workspace.
    target: String,
    /// The records.
    records: Vec<Record>,
    /// Why reading stopped early.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for ExportReport {
    const SCHEMA: SchemaId = "brigade.state-export.v1";
}

/// One record of an export: one of these.
#[derive(Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Record {
    /// A call.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<Box<Call>>,
    /// The receipt of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<Box<Receipt>>,
}

/// Writes the document. Returns why reading stopped early.
pub(crate) fn write_document(workspace: &Workspace, out: &mut dyn Write) -> io::Result<Option<Error>> {
    let mut document = DocumentWriter::new(out);
    document.member("schema", ExportReport::SCHEMA)?;
    document.member("target", &workspace.root().display().to_string())?;
    let failure = document.list("records", |list| for_each(workspace, |record| list.element(&record)))?;
    if let Some(error) = &failure {
        document.member("error", &error.to_string())?;
    }
    document.end()?;
    Ok(failure)
}

/// Writes one record on each line. Returns why reading stopped early.
pub(crate) fn write_lines(workspace: &Workspace, out: &mut dyn Write) -> io::Result<Option<Error>> {
    for_each(workspace, |record| writeln!(out, "{}", to_json(&record).unwrap_or_default().to_compact()))
}

/// Passes each record to `take`, until one fails.
fn for_each(
    workspace: &Workspace,
    mut take: impl FnMut(Record) -> io::Result<()>,
) -> io::Result<Option<Error>> {
    let mut taken = Ok(());
    let read = workspace.state().export(&mut |exported| {
        taken = take(match exported {
            ExportLine::Call(call) => Record { call: Some(call), ..Record::default() },
            ExportLine::Receipt(receipt) => Record { receipt: Some(receipt), ..Record::default() },
        });
        if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    taken.map(|()| read.err())
}
