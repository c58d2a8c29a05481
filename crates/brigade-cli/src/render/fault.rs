//! Errors and warnings: message and code, the line of the file with the place underlined, and help.
//!
//! Every error looks the same, on terminals and in pipes:
//!
//! ```text
//! error[config_invalid]: timeout is not a number
//!  --> .brigade/tools.toml:3:11
//!   |
//! 3 | timeout = "soon"
//!   |           ^^^^^^
//! help: write seconds
//! ```

use brigade::core::text::{escape_terminal, escape_terminal_lines};
use brigade::core::{Hint, Place, Severity};
use brigade::gateway::SourceFiles;
use brigade::policy::Fault;
use unicode_width::UnicodeWidthStr;

use super::page::{Sheet, TextFormat};
use super::text::{Colour, Text, Tone};

/// The line width if the width of the terminal is not known.
const USUAL_WIDTH: usize = 100;

/// Columns around the line of a file.
const FRAME: usize = 10;

/// Adds faults in the order of their files and lines, then their count if there are several.
pub(crate) fn list(mut faults: Vec<Fault>, sheet: &mut Sheet) {
    Fault::sort(&mut faults);
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error).count();
    for fault in faults {
        sheet.fault(fault);
    }
    if 1 < errors {
        sheet.gap();
        sheet.line(Text::new(Tone::Bad, &format!("{errors} errors")));
    }
}

/// Writes one fault.
pub(crate) fn write(fault: &Fault, look: TextFormat, sources: Option<&SourceFiles>, out: &mut String) {
    let mut fault = safe(fault);
    if let Some(sources) = sources {
        sources.look_up(&mut fault);
    }
    let width = look.width.unwrap_or(USUAL_WIDTH);
    if let Some(line) = &mut fault.line {
        line.excerpt = line.excerpt.cut(width.saturating_sub(FRAME));
        line.place.file = escape_terminal(&line.place.file).into_owned();
    }
    spell(&fault, look.colour, out);
}

/// Escapes all texts of a fault.
fn safe(fault: &Fault) -> Fault {
    let mut safe = fault.clone();
    let escape = |text: &mut String| *text = escape_terminal(text).into_owned();
    escape(&mut safe.message);
    safe.field.iter_mut().for_each(escape);
    safe.help = safe.help.map(|help| Hint::from(escape_terminal_lines(&help.to_string()).into_owned()));
    safe
}

/// Writes a fault whose texts are safe.
fn spell(fault: &Fault, colour: Colour, out: &mut String) {
    let mut line = |text: Text| {
        text.write(colour, out);
        out.push('\n');
    };
    let tone = tone(fault.severity);
    let head = format!("{}[{}]", fault.severity.as_str(), fault.code);
    line(Text::new(tone, &head).then(Tone::Plain, ": ").then(Tone::Strong, &fault.message));
    let number = fault.line.as_ref().and_then(|line| line.place.line).map(|line| line.to_string());
    let gutter = " ".repeat(number.as_ref().map_or(1, String::len));
    if let Some(place) = location(fault) {
        line(Text::new(Tone::Faint, &format!("{gutter}--> ")).then(Tone::Accent, &place));
    }
    if let (Some(source), Some(number)) = (&fault.line, number) {
        let excerpt = &source.excerpt;
        let before = excerpt.text()[..excerpt.marked().start].width();
        let marks = "^".repeat(excerpt.text()[excerpt.marked()].width().max(1));
        let bar = format!("{gutter} |");
        line(Text::new(Tone::Faint, &bar));
        line(match excerpt.text() {
            "" => Text::new(Tone::Faint, &format!("{number} |")),
            text => Text::new(Tone::Faint, &format!("{number} | ")).then(Tone::Plain, text),
        });
        line(Text::new(Tone::Faint, &bar).then(tone, &format!(" {}{marks}", " ".repeat(before))));
    }
    for help in fault.help.iter().map(ToString::to_string).collect::<String>().lines() {
        line(Text::new(Tone::Good, "help: ").then(Tone::Plain, help));
    }
}

/// Returns the location of a fault: a place in a file, or an argument.
fn location(fault: &Fault) -> Option<String> {
    let unsaid = |field: &&String| !fault.message.contains(field.as_str());
    match &fault.place {
        Some(place) => Some(place_text(place)),
        None => fault.field.as_ref().filter(|field| field.starts_with('$')).filter(unsaid).cloned(),
    }
}

fn place_text(place: &Place) -> String {
    escape_terminal(&place.to_string()).into_owned()
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warning,
        Severity::Info => Tone::Faint,
    }
}

#[cfg(test)]
mod tests;
