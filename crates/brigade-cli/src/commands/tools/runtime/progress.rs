//! Progress messages of a start, on a terminal.

use brigade::Exit;
use brigade::tools::StartProgress;

use crate::output::Output;
use crate::render::runtimes::step;
use crate::session::Session;

/// Prints each step once.
pub(super) struct ProgressPrinter<'a, 'o, 's> {
    output: &'a mut Output<'o, 's>,
    id: String,
    /// Whether messages are shown: on a terminal, and not with `--json`.
    is_watched: bool,
    last_text: Option<String>,
}

impl<'a, 'o, 's> ProgressPrinter<'a, 'o, 's> {
    pub(super) fn new(
        session: &Session<'_>,
        output: &'a mut Output<'o, 's>,
        id: &str,
    ) -> ProgressPrinter<'a, 'o, 's> {
        let is_watched = session.surroundings.error.is_some() && !output.is_json();
        ProgressPrinter { output, id: id.to_owned(), is_watched, last_text: None }
    }

    pub(super) fn show(&mut self, progress: &StartProgress) {
        if !self.is_watched {
            return;
        }
        let words = step(progress);
        if self.last_text.as_ref() == Some(&words) {
            return;
        }
        let mut page = self.output.new_page();
        page.note(&format!("{}: {words}", self.id));
        // A note that cannot be written does not stop the start.
        let _: Exit = self.output.page(&page, Exit::Done);
        self.last_text = Some(words);
    }
}
