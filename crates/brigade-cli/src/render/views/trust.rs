//! What a person reviews.

use brigade::report::{TrustReport, TrustRow, TrustState};

use crate::render::View;
use crate::render::page::Page;
use crate::render::text::{Text, Tone};

impl View for TrustReport {
    fn show(&self, page: &mut Page) {
        for (index, thing) in self.things.iter().enumerate() {
            if 0 < index {
                page.data.gap();
            }
            show_thing(thing, page);
        }
        let is_waiting = |thing: &TrustRow| matches!(thing.state, TrustState::Never | TrustState::Changed);
        if self.trusted {
            page.data.gap();
            page.data.line(Text::new(Tone::Good, "recorded as reviewed"));
        } else if self.things.iter().any(is_waiting) {
            page.next("brigade tools trust TOOL --yes");
        }
    }
}

fn show_thing(thing: &TrustRow, page: &mut Page) {
    let sheet = &mut page.data;
    sheet.field(&thing.kind, Text::new(Tone::Strong, &thing.id));
    let (tone, state) = match thing.state {
        TrustState::NotNeeded => (Tone::Good, "no review is needed: no agent can write its files"),
        TrustState::Reviewed => (Tone::Good, "reviewed"),
        TrustState::Never => (Tone::Warning, "no person has seen it"),
        TrustState::Changed => (Tone::Warning, "changed since a person saw it"),
    };
    sheet.field("state", Text::new(tone, state));
    sheet.field_if("command", thing.command.as_ref());
    if let Some(contract) = &thing.contract {
        sheet.field("effects", contract.effects.join(", "));
        sheet.field_if("approval", contract.approval_mode.as_ref());
        sheet.field_if("directory", contract.cwd.as_ref());
        sheet.field_if("secrets", Some(contract.env_labels.join(", ")).filter(|labels| !labels.is_empty()));
    }
    for part in &thing.parts {
        let is_changed = thing.changed.contains(&part.name);
        let tone = if is_changed { Tone::Warning } else { Tone::Plain };
        let digest = format!(" {}", part.sha256.short());
        page.data.indented(2, Text::new(tone, &part.name).then(Tone::Faint, &digest));
    }
    let is_gone = |name: &&String| thing.parts.iter().all(|part| part.name != **name);
    for name in thing.changed.iter().filter(is_gone) {
        page.data.indented(2, Text::new(Tone::Warning, name).then(Tone::Faint, " (gone)"));
    }
}
