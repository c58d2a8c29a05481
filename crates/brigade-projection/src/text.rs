//! Text as projections compare it: without a byte order mark, and with line feeds alone.

use std::borrow::Cow;

/// Decodes a file: strict UTF-8, byte order mark dropped, CRLF and lone CR read as LF.
///
/// None when the bytes are not UTF-8. So a file that an editor or git gave other line endings is still the same.
pub(crate) fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(line_feeds(text.strip_prefix('\u{feff}').unwrap_or(text)))
}

/// Replaces CRLF and lone CR by LF.
pub(crate) fn line_feeds(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Returns the first line without its line feed, and the rest.
pub(crate) fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// Joins the words of a text by single spaces, so that it fits one line.
pub(crate) fn one_line(text: &str) -> String {
    // Most texts are such a line.
    let is_word = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_graphic);
    if text.as_bytes().split(|byte| *byte == b' ').all(is_word) {
        return text.to_owned();
    }
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        if word.bytes().all(|byte| byte.is_ascii_graphic()) {
            line.push_str(word);
        } else {
            line.extend(word.chars().filter(|c| !c.is_control()));
        }
    }
    line
}

/// Writes a text in double quotes, as both JSON and YAML read it.
///
/// Characters of 16 bits are escaped as `\uXXXX`, which keeps the bytes that earlier versions of these files have;
/// those beyond stand as they are, because YAML does not know surrogate pairs. Of three hyphens one is escaped: some
/// readers end front matter at the next `---`, wherever it stands.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '-' if out.ends_with("--") => out.push_str("\\u002d"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' | '\u{10000}'.. => out.push(c),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_endings_and_marks_do_not_count() {
        assert_eq!(decode(b"\xef\xbb\xbfa\r\nb\rc\n").as_deref(), Some("a\nb\nc\n"));
        assert_eq!(decode(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn quoted_text_is_json_in_one_line(text in prop_oneof![any::<String>(), "[-a]{0,9}"]) {
            let out = quoted(&text);
            prop_assert!(!out.contains('\n') && !out.contains("---"));
            prop_assert_eq!(Json::parse(&out).unwrap(), Json::from(text));
        }
    }
}
