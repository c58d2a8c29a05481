//! What the hosts of a team would run for a call.

use brigade::report::OfferGroup;

use crate::render::page::Page;
use crate::render::text::{Text, Tone};

/// Shows what hosts offer, and which of them an approval covers.
pub(in crate::render) fn show(offers: &[OfferGroup], page: &mut Page) {
    for group in offers {
        page.data.field("offered by", line(group));
        if page.is_full {
            let files = group.files.iter().map(|(path, sha256)| format!("{path} {sha256}"));
            let program = group.program.iter().map(|program| format!("{} {}", program.path, program.sha256));
            for fact in program.chain(files) {
                page.data.field("there", fact);
            }
        }
    }
}

/// Writes an offer in one line.
pub(crate) fn line(group: &OfferGroup) -> Text {
    let hosts = Text::new(Tone::Strong, &group.hosts.join(", "));
    let text = match &group.passed_over {
        Some(reason) => hosts.then(Tone::Warning, &format!(" passed it over: {reason}")),
        None if !group.blockers.is_empty() => {
            hosts.then(Tone::Bad, &format!(" cannot: {}", group.blockers.join("; ")))
        }
        None if group.differs.is_empty() && group.covered => {
            hosts.then(Tone::Plain, " would run the same as this host")
        }
        None => {
            let program = group.program.as_ref().map_or("its own code", |program| program.path.as_str());
            hosts.then(Tone::Plain, &format!(" would run {program}"))
        }
    };
    let text = match group.differs.as_slice() {
        [] => text,
        differs => text.then(Tone::Faint, &format!(" (differs from this host: {})", differs.join(", "))),
    };
    if group.covered { text } else { text.then(Tone::Warning, ", not covered by an approval here") }
}
