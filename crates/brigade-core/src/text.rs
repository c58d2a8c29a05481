//! Makes text safe and short enough to show.
//!
//! Names, reasons and output come from files, agents and tools. A control character in them could move the cursor or
//! change the title of a terminal, a bidirectional control could disguise a command, and a character that is not drawn
//! could make two words look the same. Such characters are therefore shown as visible escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes every character that a terminal would act on, including line breaks and tabs, for text on one line.
///
/// Escapes control characters (C0, DEL, C1), bidirectional controls, every character that Unicode lets a terminal leave
/// out (default-ignorable: zero-width characters, fillers, variation selectors, tags), and line and paragraph
/// separators. `\n`, `\r` and `\t` keep their short form; others look like `\u{202e}`. Backslashes are not escaped, so
/// the result cannot be parsed back.
///
/// ```
/// use brigade_core::text::escape_terminal;
///
/// assert_eq!(escape_terminal("plain"), "plain");
/// assert_eq!(escape_terminal("a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
/// ```
pub fn escape_terminal(text: &str) -> Cow<'_, str> {
    escape(text, AllowedControls::Nothing)
}

/// Like [`escape_terminal`], but keeps line feeds and tabs, for text on several lines.
///
/// Carriage returns are escaped, because they would overwrite the start of the line.
pub fn escape_terminal_lines(text: &str) -> Cow<'_, str> {
    escape(text, AllowedControls::LinesAndTabs)
}

/// Like [`escape_terminal`], but also escapes every blank other than the space. For words in which every character
/// matters.
///
/// ```
/// use brigade_core::text::escape_blanks;
///
/// assert_eq!(escape_blanks("a b"), "a b");
/// assert_eq!(escape_blanks("a\u{a0}b"), "a\\u{a0}b");
/// ```
pub fn escape_blanks(text: &str) -> Cow<'_, str> {
    escape(text, AllowedControls::OnlySpaces)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedControls {
    OnlySpaces,
    Nothing,
    LinesAndTabs,
}

fn escape(text: &str, keep: AllowedControls) -> Cow<'_, str> {
    let Some(first) = text.find(|c| acts(c, keep)) else { return Cow::Borrowed(text) };
    let mut escaped = String::with_capacity(text.len() + 16);
    escaped.push_str(&text[..first]);
    for c in text[first..].chars() {
        match c {
            c if !acts(c, keep) => escaped.push(c),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c => write!(escaped, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string cannot fail"),
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether a terminal would act on the character, or may leave it out, instead of showing it.
fn acts(c: char, keep: AllowedControls) -> bool {
    match c {
        ' ' => false,
        '\n' | '\t' => keep != AllowedControls::LinesAndTabs,
        c if c.is_ascii() => c.is_control(),
        c if keep == AllowedControls::OnlySpaces && is_blank(c) => true,
        // Separators of lines and paragraphs; marks of annotations; controls of Egyptian hieroglyphs.
        '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}' => true,
        c => c.is_control() || is_ignorable(c),
    }
}

/// Returns whether the character is default-ignorable in Unicode, so that terminals may not draw it. This includes all
/// bidirectional controls.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether the character looks like a space: Unicode whitespace, the empty Braille pattern, the empty note
/// head.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{2800}' | '\u{1d159}')
}

/// Returns whether nothing of the text is drawn: it is empty, or has only blanks, control and invisible characters.
///
/// ```
/// use brigade_core::text::shows_nothing;
///
/// assert!(shows_nothing(" \u{200b}\u{2800}\n"));
/// assert!(!shows_nothing(" no "));
/// ```
pub fn shows_nothing(text: &str) -> bool {
    text.chars().all(|c| c == ' ' || acts(c, AllowedControls::OnlySpaces))
}

/// Collapses each run of whitespace to one space, trims, and truncates to at most `limit` characters.
///
/// A longer text keeps its first `limit - 3` characters, without trailing whitespace, followed by `...`. With a `limit`
/// below 3 the result is still `...`. Characters are counted, not bytes.
///
/// ```
/// use brigade_core::text::short;
///
/// assert_eq!(short("  a \n\t b ", 96), "a b");
/// assert_eq!(short("abcdef ghijk", 10), "abcdef...");
/// ```
pub fn short(text: &str, limit: usize) -> String {
    let mut collapsed = String::new();
    let mut kept = 0usize;
    let mut cut_at = None;
    let mut is_gap = false;
    for c in text.chars() {
        if is_space(c) {
            is_gap = !collapsed.is_empty();
            continue;
        }
        for c in std::mem::take(&mut is_gap).then_some(' ').into_iter().chain([c]) {
            if kept == limit.saturating_sub(3) {
                cut_at = Some(collapsed.len());
            }
            if kept == limit {
                collapsed.truncate(cut_at.unwrap_or(0));
                let end = collapsed.trim_end().len();
                collapsed.truncate(end);
                collapsed.push_str("...");
                return collapsed;
            }
            collapsed.push(c);
            kept += 1;
        }
    }
    collapsed
}

/// Whitespace as in Python's `str.split`: Unicode whitespace and the four ASCII separators.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_a_terminal_acts_on_are_escaped() {
        for (text, shown) in [
            ("", ""),
            ("größe 日本", "größe 日本"),
            ("a\tb\r\n", "a\\tb\\r\\n"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("user\u{202e}txt.exe", "user\\u{202e}txt.exe"),
            ("\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}", "\\u{2066}\\u{2069}\\u{200e}\\u{200f}\\u{61c}"),
            ("a\u{200b}b\u{feff}c\u{2060}", "a\\u{200b}b\\u{feff}c\\u{2060}"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
        ] {
            assert_eq!(escape_terminal(text), shown);
        }
        // Issue 12: characters that are not drawn.
        for code in [
            0xad, 0x34f, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x180f, 0x2064, 0x2065, 0x206a, 0x3164,
            0xfe00, 0xfe0f, 0xffa0, 0xfff0, 0xfffb, 0x1bca0, 0x1d173, 0x1343f, 0xe0001, 0xe0041, 0xe0100,
            0xe01ef, 0xe0fff,
        ] {
            let text = format!("a{}b", char::from_u32(code).unwrap());
            assert_eq!(escape_terminal(&text), format!("a\\u{{{code:x}}}b"));
            assert_eq!(escape_terminal_lines(&text), escape_terminal(&text));
        }
        for blank in ["\u{a0}", "\u{2000}", "\u{202f}", "\u{205f}", "\u{3000}", "\u{1680}", "\u{2800}"] {
            assert_eq!(escape_terminal(blank), blank);
            assert_ne!(escape_blanks(blank), blank);
        }
        assert_eq!(escape_blanks("a b\tc\u{ad}"), "a b\\tc\\u{ad}");
        assert_eq!(escape_terminal_lines("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
        assert!(matches!(escape_terminal("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn short_counts_characters_and_trims_before_the_dots() {
        assert_eq!(short("", 5), "");
        assert_eq!(short("ab cd", 5), "ab cd");
        assert_eq!(short("ab cdx", 5), "ab...");
        assert_eq!(short("äöüäöü", 6), "äöüäöü");
        assert_eq!(short("äöüäöüß", 6), "äöü...");
        assert_eq!(short("abcdef", 2), "...");
        assert_eq!(short("a\u{1f}b\u{a0}c", 9), "a b c");
    }

    proptest! {
        #[test]
        fn escaped_text_has_nothing_left_to_act_on(text in any::<String>()) {
            let escaped = escape_terminal(&text);
            prop_assert!(!escaped.chars().any(|c| acts(c, AllowedControls::Nothing)));
            prop_assert_eq!(escape_terminal(&escaped), escaped.as_ref());
        }

        #[test]
        fn short_text_is_never_over_the_limit(text in any::<String>(), limit in 0usize..40) {
            let cut = short(&text, limit);
            prop_assert!(cut.chars().count() <= limit.max(3));
            let whole = text.split(is_space).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
            if whole.chars().count() <= limit {
                prop_assert_eq!(cut, whole);
            } else {
                prop_assert!(cut.ends_with("..."));
            }
        }
    }
}
