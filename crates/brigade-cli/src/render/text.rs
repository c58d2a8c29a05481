//! Text that is safe to print: escaped once, on creation.

use brigade::core::short_repeats;
use brigade::core::text::escape_terminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The meaning of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing in particular.
    Plain,
    /// A name or a title.
    Strong,
    /// Less important than the text around it.
    Faint,
    /// Done, allowed, healthy.
    Good,
    /// Waiting, or a possible problem.
    Warning,
    /// Failed, refused, broken.
    Bad,
    /// A command, an id or a path.
    Accent,
}

impl Tone {
    /// Returns the parameters of the escape sequence; `None` for plain text.
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Faint => Some("2"),
            Tone::Good => Some("32"),
            Tone::Warning => Some("33"),
            Tone::Bad => Some("31"),
            Tone::Accent => Some("36"),
        }
    }
}

/// Escapes a text, and shortens the ids of repeated calls in it.
fn shown(text: &str) -> String {
    short_repeats(&escape_terminal(text)).into_owned()
}

/// Whether to write escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Write them.
    On,
    /// Do not write them.
    Off,
}

/// One line of text in several tones.
///
/// Contains no control characters: all text is escaped on creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    spans: Vec<(Tone, String)>,
}

impl Text {
    /// Creates text of one tone.
    pub(crate) fn new(tone: Tone, text: &str) -> Text {
        Text { spans: vec![(tone, shown(text))] }
    }

    /// Adds text of another tone.
    #[must_use]
    pub(crate) fn then(mut self, tone: Tone, text: &str) -> Text {
        self.spans.push((tone, shown(text)));
        self
    }

    /// Adds another text.
    #[must_use]
    pub(crate) fn and(mut self, other: Text) -> Text {
        self.spans.extend(other.spans);
        self
    }

    /// Returns the pieces, each with its tone.
    #[cfg(feature = "tui")]
    pub(crate) fn spans(&self) -> &[(Tone, String)] {
        &self.spans
    }

    /// Returns whether the text is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.iter().all(|(_, text)| text.is_empty())
    }

    /// Returns the width of the text in terminal columns.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| text.width()).sum()
    }

    /// Cuts the text to at most `columns`, with `…` at the end if something was cut.
    #[must_use]
    pub(crate) fn cut(self, columns: usize) -> Text {
        if self.width() <= columns {
            return self;
        }
        let Some(mut left) = columns.checked_sub(1) else { return Text::default() };
        let mut spans = Vec::new();
        for (tone, text) in self.spans {
            let mut kept = String::new();
            for c in text.chars() {
                let width = c.width().unwrap_or(0);
                if left < width {
                    kept.push('…');
                    spans.push((tone, kept));
                    return Text { spans };
                }
                left -= width;
                kept.push(c);
            }
            spans.push((tone, kept));
        }
        Text { spans }
    }

    /// Appends the text to `out`.
    pub(crate) fn write(&self, colour: Colour, out: &mut String) {
        for (tone, text) in &self.spans {
            match tone.code().filter(|_| colour == Colour::On && !text.is_empty()) {
                Some(code) => {
                    out.push_str("\x1b[");
                    out.push_str(code);
                    out.push('m');
                    out.push_str(text);
                    out.push_str("\x1b[0m");
                }
                None => out.push_str(text),
            }
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(Tone::Plain, text)
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        Text::from(text.as_str())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &Text, colour: Colour) -> String {
        let mut out = String::new();
        text.write(colour, &mut out);
        out
    }

    #[test]
    fn whatever_comes_in_cannot_act_on_a_terminal() {
        let text = Text::new(Tone::Bad, "a\x1b[2Jb\u{202e}").then(Tone::Plain, "\nnext");
        assert_eq!(written(&text, Colour::Off), "a\\u{1b}[2Jb\\u{202e}\\nnext");
    }

    #[test]
    fn colour_surrounds_and_never_mixes_in() {
        let text = Text::new(Tone::Good, "yes").then(Tone::Plain, " and ").then(Tone::Good, "");
        assert_eq!(written(&text, Colour::On), "\x1b[32myes\x1b[0m and ");
        assert_eq!(written(&text, Colour::Off), "yes and ");
    }

    #[test]
    fn cutting_counts_columns_and_shows_that_it_cut() {
        let check = |text: &str, columns, expect: &str| {
            let cut = Text::from(text).cut(columns);
            assert_eq!(written(&cut, Colour::Off), expect);
            assert!(cut.width() <= columns);
        };
        check("abcdef", 6, "abcdef");
        check("abcdef", 5, "abcd…");
        check("abcdef", 1, "…");
        check("abcdef", 0, "");
        check("日本語", 6, "日本語");
        check("日本語", 5, "日本…");
        check("日本語", 4, "日…");
    }
}
