//! What people and scripts see: the only place that decides how a report looks.
//!
//! Pages are made of [`Text`](text::Text), which is escaped when it is made, so nothing that came from a file, an agent
//! or a tool can act on the terminal.

pub(crate) mod batch;
pub(crate) mod blockers;
pub(crate) mod calls;
pub(crate) mod export;
pub(crate) mod failure;
pub(crate) mod fault;
pub(crate) mod json;
mod next;
pub(crate) mod page;
pub(crate) mod refusals;
pub(crate) mod runtimes;
pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod text;
mod views;
pub(crate) mod when;
mod words;

use std::io::{self, Write};

use serde::Serialize;

pub use next::CommandLine;
use page::Page;

/// A report that people can read.
pub(crate) trait View {
    /// Puts the report on a page.
    fn show(&self, page: &mut Page);

    /// Writes the report as a document.
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()>
    where
        Self: Serialize + Sized,
    {
        json::write(out, self)
    }
}
