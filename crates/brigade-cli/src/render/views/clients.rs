//! The entry of a client.

use brigade::report::{ConnectReport, ConnectStatus};

use super::projections::show_diff;
use crate::render::View;
use crate::render::page::Page;
use crate::render::text::{Text, Tone};

impl View for ConnectReport {
    fn show(&self, page: &mut Page) {
        page.notes(&self.notes);
        if let Some(text) = &self.text {
            for line in text.lines() {
                page.data.line(line);
            }
            return;
        }
        page.data.field("client", Text::new(Tone::Strong, &self.title));
        page.data.field_if("file", self.path.as_deref().map(|path| Text::new(Tone::Accent, path)));
        let (words, tone) = match self.status {
            ConnectStatus::WouldWrite => ("not written yet", Tone::Warning),
            ConnectStatus::Written => ("written", Tone::Good),
            ConnectStatus::Unchanged => ("written already", Tone::Good),
            ConnectStatus::Removed => ("removed", Tone::Good),
            ConnectStatus::Absent => ("not there", Tone::Plain),
        };
        page.data.field("entry", Text::new(tone, words));
        show_diff(&self.diff, &mut page.data);
        if let Some(next) = &self.next_command {
            page.next(&next.to_string());
        }
    }
}
