//! Lists of calls as text, for lists as long as the history.

use std::ops::ControlFlow;

use brigade_call::Paths;
use brigade_core::json::{Shown, reprint};
use serde::Serialize as _;
use serde_json::ser::{Formatter as _, PrettyFormatter};

use crate::journal::{JournalStore, ListedCall, OWN_MEMBERS};
use crate::store::StoredCall;
use crate::{CallFilter, QueueError, View};

/// The depth of a list element in a document.
const LISTED_DEPTH: usize = 2;

impl View<'_> {
    /// Passes on the JSON of calls, oldest first, as reports show them, indented as elements of a list at depth 1 of a
    /// document. A list of all calls copies what the journal has stored, and does not parse it into values.
    ///
    /// # Errors
    /// Fails on a disk error, or if the journal is not a file.
    pub fn for_each_text(
        &self,
        journal: Option<&JournalStore>,
        filter: &CallFilter,
        paths: &impl Paths,
        found: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        let target = paths.target();
        let mut text = Vec::new();
        let write = |stored: StoredCall, text: &mut Vec<u8>| {
            let mut serializer = serde_json::Serializer::with_formatter(text, listed());
            stored.call.shown(paths).serialize(&mut serializer).expect("a call is JSON");
        };
        let Some(journal) = journal.filter(|_| *filter == CallFilter::default()) else {
            return self.list_calls(filter, &mut |stored| {
                text.clear();
                write(stored, &mut text);
                found(&text)
            });
        };
        let mut trouble = None;
        journal.list_calls(&mut |call| {
            text.clear();
            match call {
                ListedCall::AsStored(record) => {
                    let reprinted =
                        reprint(record, LISTED_DEPTH, &mut text, |key, value| match (key, value) {
                            ("record_version", _) => Shown::No,
                            (key, _) if OWN_MEMBERS.contains(&key) => Shown::No,
                            ("receipt_path", Some(path)) => Shown::Text(paths.absolute(path)),
                            ("policy" | "projection_summary", _) => Shown::Beneath(target.clone()),
                            _ => Shown::AsWritten,
                        });
                    reprinted.expect("the journal passes on records that it has checked");
                }
                ListedCall::Parsed(stored) => match self.as_it_stands(*stored) {
                    Ok(stored) => write(stored, &mut text),
                    Err(error) => {
                        trouble = Some(error);
                        return ControlFlow::Break(());
                    }
                },
            }
            found(&text)
        })?;
        trouble.map_or(Ok(()), Err)
    }
}

/// Returns the formatter for a list element in a document.
fn listed() -> PrettyFormatter<'static> {
    let mut formatter = PrettyFormatter::new();
    for _ in 0..LISTED_DEPTH {
        formatter.begin_object(&mut std::io::sink()).expect("nothing is written");
    }
    formatter
}
