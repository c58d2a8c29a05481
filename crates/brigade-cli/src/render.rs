//! Rendering of reports as text and JSON.
//!
//! Pages consist of [`Text`](text::Text), which is escaped on creation. So no text from a file, an agent or a tool can
//! control the terminal.

pub(crate) mod attention;
pub(crate) mod batch;
pub(crate) mod blockers;
pub(crate) mod calls;
pub(crate) mod characters;
pub(crate) mod export;
pub(crate) mod failure;
pub(crate) mod fault;
pub(crate) mod happened;
mod next;
pub(crate) mod page;
pub(crate) mod refusals;
pub(crate) mod reviews;
pub(crate) mod runtimes;
pub(crate) mod setup_steps;
pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod views;
pub(crate) mod when;
pub(crate) mod words;

use std::io::{self, Write};

use brigade::core::json::write_document;
use serde::Serialize;

pub use next::CommandLine;
pub(crate) use next::CommandWords;
use page::Page;
pub(crate) use views::{
    Escalations, imported_line, next_of_approval, show_status, show_task, task_lines, waiting_line,
};

/// A report that can be shown as text.
pub(crate) trait View {
    /// Adds the report to a page.
    fn show(&self, page: &mut Page);

    /// Writes the report as a document.
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()>
    where
        Self: Serialize + Sized,
    {
        write_document(out, self)
    }
}
