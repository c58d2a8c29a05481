//! The state of the workspace, keys and envelopes.

use std::collections::BTreeSet;

use brigade::core::NextStep;
use brigade::report::{AdoptReport, CompactReport, EnvelopeReport, KeyReport, StateReport};

use crate::render::page::Page;
use crate::render::text::{Text, Tone};
use crate::render::{View, words};

impl View for StateReport {
    fn show(&self, page: &mut Page) {
        let sheet = &mut page.data;
        sheet.field("workspace", &self.target);
        sheet.field("valid", words::yes_no(self.valid));
        sheet.field("calls", words::counts(&self.calls).unwrap_or_else(|| "none".to_owned()));
        sheet.field("runs", words::counts(&self.runs).unwrap_or_else(|| "none".to_owned()));
        sheet.field(
            "journal",
            format!("{} bytes, {} files of finished calls", self.journal_bytes, self.segments),
        );
        for damage in &self.damage {
            let place =
                damage.line.map_or_else(|| damage.file.clone(), |line| format!("{}:{line}", damage.file));
            page.data.indented(
                2,
                Text::new(Tone::Bad, "- ")
                    .then(Tone::Accent, &place)
                    .then(Tone::Plain, &format!(": {}", damage.problem)),
            );
        }
        for file in &self.quarantined {
            let lines = if file.lines == 1 { "1 line".to_owned() } else { format!("{} lines", file.lines) };
            page.data.field("quarantine", format!("{}, {lines}", file.file));
        }
        for file in &self.unreadable_when_adopted {
            page.note(&format!("{file} could not be read when it was taken over, and is unchanged since"));
        }
        for file in &self.temporary {
            page.data.field("temporary", file);
        }
        if !self.adopted {
            page.note("this state was written by v0.30; the first write adopts it and keeps a copy");
        }
        let left = (!self.temporary.is_empty()).then_some("brigade tools state compact");
        let of_damage = self.damage.iter().filter_map(|damage| damage.next.as_ref()).map(ToString::to_string);
        let next: BTreeSet<String> = of_damage.chain(left.map(str::to_owned)).collect();
        for command in next {
            page.next(&command);
        }
    }
}

impl View for AdoptReport {
    fn show(&self, page: &mut Page) {
        for row in &self.records {
            let name = row.name.as_deref().map(|name| format!(" of {name}")).unwrap_or_default();
            let at = row.at.map(|at| format!(", {at}")).unwrap_or_default();
            let about = format!("{name}: {}, {}{at}", row.status, row.detail);
            let text = Text::new(Tone::Plain, &format!("{} ", row.kind)).then(Tone::Accent, &row.id);
            page.data.indented(0, text.then(Tone::Plain, &about));
        }
        for file in &self.tracked {
            page.error(brigade::ErrorCode::TrackedState, &format!("git tracks {file}, so it does not count"));
        }
        match (self.records.len(), self.adopted) {
            (0, _) if !self.tracked.is_empty() => {}
            (0, _) => page.note("every approval here was given on this host"),
            (count, true) => page.note(&format!("records that count on this host now: {count}")),
            (count, false) => {
                page.note(&format!("records not approved on this host: {count}"));
                page.next("brigade state adopt --yes");
            }
        }
    }
}

impl View for CompactReport {
    fn show(&self, page: &mut Page) {
        let sheet = &mut page.data;
        sheet.field("moved", format!("{} finished calls", self.moved));
        sheet.field("quarantined", format!("{} unreadable lines", self.quarantined));
        if 0 < self.restored {
            sheet.field("restored", format!("{} calls, from their receipts", self.restored));
        }
        if 0 < self.restored_checkpoints {
            let text =
                format!("{} checkpoint files, from the records of their calls", self.restored_checkpoints);
            sheet.field("restored", text);
        }
        sheet.field("removed", format!("{} files", self.removed));
        if self.adopted {
            sheet.field("adopted", "the state of v0.30; a copy of it is kept");
        }
        page.next_step(&NextStep::CheckState);
    }
}

impl View for KeyReport {
    fn show(&self, page: &mut Page) {
        page.data.field("private key", Text::new(Tone::Accent, &self.private_key_path));
        page.data.field("public key", Text::new(Tone::Accent, &self.public_key_path));
        page.data.field("key id", &self.key_id);
        page.note("keep the private key on this host; the public key can be shared");
        page.next("brigade tools run export RUN");
    }
}

impl View for EnvelopeReport {
    fn show(&self, page: &mut Page) {
        if let Some(problem) = &self.problem {
            page.error(brigade::ErrorCode::EnvelopeInvalid, problem);
        }
        page.data.field("envelope", Text::new(Tone::Accent, &self.envelope_path));
        page.data.field("valid", words::good_or_bad(self.valid));
        if let Some(statement) = &self.statement {
            let receipt = &statement.predicate;
            page.data.field_if("run", Some(receipt.id.as_str()));
            page.data.field_if("tool", Some(&receipt.tool_id));
            page.data.field_if("status", Some(words::status(receipt.status.as_str())));
        }
    }
}
