//! Lists calls as text, for lists as long as the history.

use std::ops::ControlFlow;

use brigade_call::Paths;
use serde::Serialize as _;
use serde_json::ser::{Formatter as _, PrettyFormatter};

use crate::journal::write_shown;
use crate::store::{CallQuery, CallRecord, Form, StoredCall};
use crate::{CallFilter, QueueError, View};

/// The depth of a list element in a document.
const LISTED_DEPTH: usize = 2;

impl View<'_> {
    /// Calls `found` with the JSON of each call, oldest first, as reports show it, indented as an element of a list at
    /// depth 1 of a document.
    ///
    /// A list of all calls copies the stored text and does not parse it into values.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn for_each_text(
        &self,
        filter: &CallFilter,
        paths: &impl Paths,
        found: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), QueueError> {
        let mut text = Vec::new();
        let write = |stored: StoredCall, text: &mut Vec<u8>| {
            let mut serializer = serde_json::Serializer::with_formatter(text, listed());
            stored.call.shown(paths).serialize(&mut serializer).expect("a call is JSON");
        };
        if *filter != CallFilter::default() {
            return self.list_calls(filter, &mut |stored| {
                text.clear();
                write(stored, &mut text);
                found(&text)
            });
        }
        let mut trouble = None;
        self.snapshot().calls(&CallQuery::Shown, &mut |CallRecord(form)| {
            text.clear();
            match form {
                Form::Line(line) => write_shown(line, LISTED_DEPTH, paths, &mut text),
                Form::Parsed(stored) => match self.current_state(stored) {
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
