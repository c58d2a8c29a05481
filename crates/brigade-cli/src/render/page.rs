//! The text output of a command: data for standard output, everything else for standard error.

use brigade::ErrorCode;
use brigade::core::NextStep;
use brigade::gateway::SourceFiles;
use brigade::policy::Fault;

use super::fault;
use super::next::CommandWords;
use super::table::{Fit, Table};
use super::text::{Colour, Text, Tone};
use super::when::Now;

/// How text is formatted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFormat {
    /// Whether to use colour.
    pub colour: Colour,
    /// The number of columns; `None` for no limit.
    pub width: Option<usize>,
}

/// A sequence of output blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sheet {
    blocks: Vec<Block>,
    words: CommandWords,
}

#[derive(Clone, Debug)]
enum Block {
    Line { indent: usize, text: Text },
    Fields(Vec<Field>),
    Table(Table),
    Fault(Box<Fault>),
    Gap,
}

#[derive(Clone, Debug)]
struct Field {
    key: String,
    value: Text,
    fit: Fit,
}

impl Sheet {
    fn new(words: &CommandWords) -> Sheet {
        Sheet { blocks: Vec::new(), words: words.clone() }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, text: impl Into<Text>) {
        self.indented(0, text);
    }

    /// Adds an indented line.
    pub(crate) fn indented(&mut self, indent: usize, text: impl Into<Text>) {
        self.blocks.push(Block::Line { indent, text: text.into() });
    }

    /// Adds an empty line, unless the sheet is empty or ends with one.
    pub(crate) fn gap(&mut self) {
        if !matches!(self.blocks.last(), None | Some(Block::Gap)) {
            self.blocks.push(Block::Gap);
        }
    }

    /// Adds `key: value`. The values of adjacent fields are aligned.
    pub(crate) fn field(&mut self, key: &str, value: impl Into<Text>) {
        self.add_field(key, value.into(), Fit::Whole);
    }

    /// Adds a field with a row for each line of a text, if there is one.
    pub(crate) fn lines_if(&mut self, key: &str, text: &str) {
        for (index, line) in text.lines().map(str::trim_end).filter(|line| !line.is_empty()).enumerate() {
            self.field(if index == 0 { key } else { "" }, line);
        }
    }

    /// Adds a field whose value is cut to the width of the terminal.
    pub(crate) fn short_field(&mut self, key: &str, value: impl Into<Text>) {
        self.add_field(key, value.into(), Fit::Cut);
    }

    fn add_field(&mut self, key: &str, value: Text, fit: Fit) {
        let field = Field { key: key.to_owned(), value, fit };
        match self.blocks.last_mut() {
            Some(Block::Fields(fields)) => fields.push(field),
            Some(_) | None => self.blocks.push(Block::Fields(vec![field])),
        }
    }

    /// Adds `key: value` if there is a value.
    pub(crate) fn field_if(&mut self, key: &str, value: Option<impl Into<Text>>) {
        if let Some(value) = value.map(Into::into).filter(|value| !value.is_empty()) {
            self.field(key, value);
        }
    }

    /// Adds a table.
    pub(crate) fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a fault, separated from a fault before it by an empty line.
    pub(crate) fn fault(&mut self, mut fault: Fault) {
        fault.help = fault.help.map(|help| self.words.spelled(help));
        if matches!(self.blocks.last(), Some(Block::Fault(_))) {
            self.gap();
        }
        self.blocks.push(Block::Fault(Box::new(fault)));
    }

    /// Returns whether a fault proposes a command.
    fn proposes(&self, command: &str) -> bool {
        let says = |fault: &Fault| fault.help.as_ref().is_some_and(|help| help.to_string() == command);
        self.blocks.iter().any(|block| matches!(block, Block::Fault(fault) if says(fault)))
    }

    /// Returns whether any fault has help.
    pub(crate) fn helps(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Fault(fault) if fault.help.is_some()))
    }

    /// Returns whether any fault has a place in a file.
    pub(crate) fn names_places(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Fault(fault) if fault.place.is_some()))
    }

    /// Formats everything as text, with lines from `sources`.
    pub(crate) fn write(&self, look: TextFormat, sources: Option<&SourceFiles>) -> String {
        let mut out = String::new();
        for block in &self.blocks {
            match block {
                Block::Line { indent, text } => {
                    if !text.is_empty() {
                        out.extend(std::iter::repeat_n(' ', *indent));
                    }
                    text.write(look.colour, &mut out);
                    out.push('\n');
                }
                Block::Fields(fields) => write_fields(fields, look, &mut out),
                Block::Table(table) => table.write(look.colour, look.width, &mut out),
                Block::Fault(fault) => fault::write(fault, look, sources, &mut out),
                Block::Gap => out.push('\n'),
            }
        }
        out
    }
}

fn write_fields(fields: &[Field], look: TextFormat, out: &mut String) {
    // A field without a key continues the previous one.
    let label = |key: &str| if key.is_empty() { String::new() } else { format!("{key}:") };
    let keys: Vec<Text> = fields.iter().map(|field| Text::new(Tone::Faint, &label(&field.key))).collect();
    let widest = keys.iter().map(Text::width).max().unwrap_or(0);
    for (key, field) in keys.iter().zip(fields) {
        key.write(look.colour, out);
        if !field.value.is_empty() {
            out.extend(std::iter::repeat_n(' ', widest - key.width() + 2));
            match look.width.filter(|_| field.fit == Fit::Cut) {
                Some(width) => {
                    field.value.clone().cut(width.saturating_sub(widest + 2)).write(look.colour, out)
                }
                None => field.value.write(look.colour, out),
            }
        }
        out.push('\n');
    }
}

/// The text output of one command.
#[derive(Debug)]
pub(crate) struct Page {
    /// Data, for standard output.
    pub data: Sheet,
    /// Errors, for standard error.
    pub trouble: Sheet,
    /// Notes and next steps, for standard error; left out with `--quiet`.
    pub notes: Sheet,
    /// The current time, for ages.
    pub now: Now,
    /// Whether details are shown that are usually folded.
    pub is_full: bool,
    words: CommandWords,
}

impl Page {
    /// Creates an empty page. `words` formats the proposed commands.
    pub(crate) fn new(now: impl Into<Now>, words: CommandWords) -> Page {
        let sheet = || Sheet::new(&words);
        Page { data: sheet(), trouble: sheet(), notes: sheet(), now: now.into(), is_full: false, words }
    }

    /// Adds an error.
    pub(crate) fn error(&mut self, code: ErrorCode, message: &str) {
        self.trouble.fault(Fault::new(code, message));
    }

    /// Adds the next command, in the form of an error's help, unless an error or issue already proposes it.
    pub(crate) fn next(&mut self, command: &str) {
        let Some(command) = self.words.command(command) else { return };
        let command = &*command;
        if self.data.proposes(command) || self.trouble.proposes(command) {
            return;
        }
        self.notes.line(Text::new(Tone::Good, "help: ").then(Tone::Accent, command));
    }

    /// Adds the next step to take.
    pub(crate) fn next_step(&mut self, step: &NextStep) {
        let command = self.words.step(step);
        self.next(&command);
    }

    /// Returns whether there is a workspace. If not, this was already reported.
    pub(crate) fn has_workspace(&self) -> bool {
        self.words.has_workspace()
    }

    /// Adds a note.
    pub(crate) fn note(&mut self, text: &str) {
        self.notes.line(Text::new(Tone::Faint, "note: ").then(Tone::Plain, text));
    }

    pub(crate) fn notes(&mut self, notes: impl IntoIterator<Item: AsRef<str>>) {
        notes.into_iter().for_each(|note| self.note(note.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_follow_each_other_line_up() {
        let mut sheet = Sheet::default();
        sheet.gap();
        sheet.field("id", "a");
        sheet.field("description", "b");
        sheet.field_if("nothing", None::<&str>);
        sheet.gap();
        sheet.gap();
        sheet.indented(2, "- item");
        sheet.field("next", "");
        let look = TextFormat { colour: Colour::Off, width: None };
        assert_eq!(sheet.write(look, None), "id:           a\ndescription:  b\n\n  - item\nnext:\n");
    }
}
