//! Normalizes text for comparison: no byte order mark, and line feeds only.

use std::borrow::Cow;

/// Decodes a file as strict UTF-8. Removes a byte order mark and converts CRLF and CR to LF.
///
/// Returns `None` if the bytes are not UTF-8. So line endings changed by an editor or git make no difference.
pub(crate) fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(line_feeds(text.strip_prefix('\u{feff}').unwrap_or(text)))
}

/// Replaces CRLF and CR by LF.
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

/// Joins the words of a text with single spaces, so that it fits on one line.
pub(crate) fn one_line(text: &str) -> String {
    // Most texts already have this form.
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

/// Formats a text in double quotes, valid in both JSON and YAML.
///
/// Characters of 16 bits are escaped as `\uXXXX`, which keeps files of earlier versions unchanged. Larger characters
/// are not escaped, because YAML has no surrogate pairs. One of three consecutive hyphens is escaped, because some
/// readers end front matter at any `---`.
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
