//! The header of managed projections: where it is written, and how it is found.
//!
//! The header is one line: a comment in the syntax of the file that contains `brigade-tool-projection: {json}`. It is
//! placed where readers of the file ignore it:
//!
//! | the body begins with | the header is |
//! | --- | --- |
//! | front matter | `# …` on line 2, inside of it |
//! | `#!`, an encoding line, `<?xml`, `<!doctype`, a parser directive | a comment after that line |
//! | anything else | a comment on line 1 |
//!
//! Every comment syntax is accepted in every file. So headers of v0.30 are found, too: `<!-- -->` on line 1 of any
//! file, `# …` inside front matter. The fingerprints in the header cover the text without the header line.

use brigade_core::front_matter::{FrontMatter, split};
use brigade_core::json::{compact_text, from_json};
use brigade_core::{Json, StoredFingerprint};
use serde::{Deserialize, Deserializer, Serialize};

use crate::comment::Comment;
use crate::front_matter;
use crate::text::first_line;

/// The start of a header within its comment.
const MARKER: &str = "brigade-tool-projection:";

/// The maximum length of a header line.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The maximum number of lines before a header outside front matter.
const PROLOGUE: usize = 3;

/// The metadata of a managed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Header {
    /// The family of the tool when the file was written.
    pub family: String,
    /// When the file was written, as the header says.
    #[serde(default, deserialize_with = "text_or_nothing")]
    pub generated_at: String,
    /// The harness that it was written for.
    pub harness: String,
    /// The fingerprint of the body, which is the file without the header line.
    pub projection_fingerprint: StoredFingerprint,
    /// The fingerprint of the source text.
    pub source_fingerprint: StoredFingerprint,
    /// The tool that it was written for.
    pub tool_id: String,
}

/// Deserializes a text. Any other value becomes an empty text.
fn text_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Json::deserialize(deserializer)?.as_str().unwrap_or_default().to_owned())
}

/// The parts of a managed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagedFile {
    pub(crate) header: Header,
    /// The comment syntax of the header.
    pub(crate) comment: Comment,
    /// The byte offset of the header line.
    pub(crate) start: usize,
    /// The byte offset after the header line and its line feed.
    pub(crate) end: usize,
}

impl ManagedFile {
    /// Returns whether `text` without the header line equals `body`.
    pub(crate) fn body_is(&self, text: &str, body: &str) -> bool {
        text.len() - (self.end - self.start) == body.len()
            && body.is_char_boundary(self.start)
            && text[..self.start] == body[..self.start]
            && text[self.end..] == body[self.start..]
    }

    /// Returns the text without the header line.
    pub(crate) fn body(&self, text: &str) -> String {
        let mut body = String::with_capacity(text.len());
        body.push_str(&text[..self.start]);
        body.push_str(&text[self.end..]);
        body
    }
}

impl Header {
    /// Reads the header of a file. Returns it with the body: normalized line endings, without the header line.
    ///
    /// Returns `None` if the file is not managed: it is not UTF-8 or has no valid header.
    pub fn read(bytes: &[u8]) -> Option<(Header, String)> {
        let text = crate::text::decode(bytes)?;
        let managed = find(&text)?;
        let body = managed.body(&text);
        Some((managed.header, body))
    }

    /// Formats the header line with its line feed.
    pub(crate) fn line(&self, comment: Comment) -> String {
        let json = guarded(&compact_text(self).expect("a header is JSON"));
        let mut line = comment.write(&format!("{MARKER} {json}"));
        line.push('\n');
        line
    }
}

/// Escapes JSON so that it cannot end a comment or a line: ASCII only, no `<`, `>`, `--` or `*/`.
///
/// In the JSON of a header these occur only within strings, so escapes are valid.
fn guarded(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut before = ' ';
    for c in json.chars() {
        match c {
            '<' | '>' | '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            '-' if before == '-' => out.push_str("\\u002d"),
            '/' if before == '*' => out.push_str("\\u002f"),
            c if c.is_ascii() => out.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        before = c;
    }
    out
}

/// Returns the offset and the comment syntax for the header of a body.
pub(crate) fn place(body: &str, comment: Comment) -> (usize, Comment) {
    if (comment.holds_prose() || comment == Comment::Hash) && front_matter::split(body).is_some() {
        return (front_matter::OPENING, Comment::Hash);
    }
    let mut offset = 0;
    for index in 0..PROLOGUE {
        let (line, _) = first_line(&body[offset..]);
        let complete = offset + line.len() < body.len();
        if !complete || !is_prologue(line, index, Some(comment)) {
            break;
        }
        offset += line.len() + 1;
    }
    (offset, comment)
}

/// Finds the header in a text with normalized line endings.
pub(crate) fn find(text: &str) -> Option<ManagedFile> {
    if let Some(front) = split(text) {
        return find_in_front_matter(&front);
    }
    let mut offset = 0;
    for index in 0..=PROLOGUE {
        let (line, rest) = first_line(&text[offset..]);
        let end = text.len() - rest.len();
        if let Some((header, comment)) = parse_line(line, &Comment::ALL) {
            return Some(ManagedFile { header, comment, start: offset, end });
        }
        if rest.is_empty() || !is_prologue(line, index, None) {
            return None;
        }
        offset = end;
    }
    None
}

fn find_in_front_matter(front: &FrontMatter<'_>) -> Option<ManagedFile> {
    let mut start = front.opening.len();
    for line in front.block.split_inclusive('\n') {
        let end = start + line.len();
        if let Some((header, comment)) = parse_line(line.trim_end_matches('\n'), &[Comment::Hash]) {
            return Some(ManagedFile { header, comment, start, end });
        }
        start = end;
    }
    None
}

fn parse_line(line: &str, comments: &[Comment]) -> Option<(Header, Comment)> {
    if MAX_LINE_BYTES < line.len() {
        return None;
    }
    comments.iter().find_map(|comment| {
        let json = comment.read(line)?.strip_prefix(MARKER)?;
        Some((from_json(&Json::parse(json.trim()).ok()?).ok()?, *comment))
    })
}

/// Returns whether a line must stay before the header. `comment` is `None` for any format.
///
/// A line that could be read as a header never counts. Otherwise the written header would not be the one that is found.
fn is_prologue(line: &str, index: usize, comment: Option<Comment>) -> bool {
    let of = |wanted| comment.is_none_or(|comment| comment == wanted);
    if MAX_LINE_BYTES < line.len() || line.contains(MARKER) {
        return false;
    }
    let low = line.get(..32.min(line.len())).unwrap_or("").to_ascii_lowercase();
    (index == 0 && line.starts_with("#!"))
        || (of(Comment::Hash) && index < 2 && line.starts_with('#') && names_encoding(line))
        || (of(Comment::Hash) && is_parser_directive(&low))
        || (of(Comment::Html)
            && (low.starts_with("<?xml") || low.starts_with("<!doctype"))
            && line.contains('>'))
        || (of(Comment::Block) && low.starts_with("@charset") && line.contains(';'))
}

/// Returns whether a line declares an encoding, by the rule of Python and Ruby.
fn names_encoding(line: &str) -> bool {
    line.split("coding").skip(1).any(|rest| rest.starts_with([':', '=']))
}

/// Returns whether a line is a parser directive, which must be at the start of a Dockerfile.
fn is_parser_directive(line: &str) -> bool {
    let Some(name) = line.strip_prefix('#').and_then(|rest| rest.split_once('=')) else { return false };
    matches!(name.0.trim(), "syntax" | "escape" | "check")
}

#[cfg(test)]
mod tests {
    use brigade_core::Fingerprint;
    use proptest::prelude::*;

    use super::*;

    fn header(tool_id: &str) -> Header {
        Header {
            tool_id: tool_id.to_owned(),
            family: "skill".to_owned(),
            harness: "claude".to_owned(),
            source_fingerprint: Fingerprint::of_bytes(b"source").into(),
            projection_fingerprint: Fingerprint::of_bytes(b"body").into(),
            generated_at: "2026-11-21T20:27:14.890099+00:00".to_owned(),
        }
    }

    fn insert(body: &str, comment: Comment, header: &Header) -> String {
        let (at, comment) = place(body, comment);
        format!("{}{}{}", &body[..at], header.line(comment), &body[at..])
    }

    #[track_caller]
    fn check(comment: Comment, body: &str, line: usize, open: &str) {
        let text = insert(body, comment, &header("a"));
        let found = text.lines().nth(line - 1).unwrap();
        assert!(found.starts_with(&format!("{open} {MARKER} {{\"family\":")), "{text}");
        let managed = find(&text).unwrap();
        assert_eq!((managed.body(&text).as_str(), &managed.header), (body, &header("a")));
        assert!(managed.body_is(&text, body));
    }

    #[test]
    fn the_header_is_placed_where_readers_ignore_it() {
        check(Comment::Html, "# Title\n", 1, "<!--");
        check(Comment::Html, "---\nname: a\n---\ntext\n", 2, "#");
        check(Comment::Html, "---\n---\n", 2, "#");
        check(Comment::Html, "---\na rule, not front matter\n", 1, "<!--");
        check(Comment::Mdx, "---\nname: a\n---\n", 2, "#");
        check(Comment::Mdx, "# Title\n", 1, "{/*");
        check(Comment::Html, "<?xml version=\"1.0\"?>\n<a/>\n", 2, "<!--");
        check(Comment::Html, "<!DOCTYPE html>\n<html>\n", 2, "<!--");
        check(Comment::Hash, "a = 1\n", 1, "#");
        check(Comment::Hash, "#!/bin/sh\necho\n", 2, "#");
        check(Comment::Hash, "#!/usr/bin/env python3\n# -*- coding: latin-1 -*-\nx\n", 3, "#");
        check(Comment::Hash, "# syntax=docker/dockerfile:1\nFROM a\n", 2, "#");
        check(Comment::Slashes, "#!/usr/bin/env node\nx\n", 2, "//");
        check(Comment::Block, "@charset \"utf-8\";\na{}\n", 2, "/*");
        check(Comment::Rem, "echo\n", 1, "REM");
    }

    #[test]
    fn headers_of_v030_are_found_in_every_file() {
        let json = r#"{"family":"skill","generated_at":"2026-11-21T20:27:14+00:00","harness":"claude","projection_fingerprint":"131b6c46d9b5eb22","source_fingerprint":"f85606f23a3c8e89","tool_id":"simplify"}"#;
        let check = |text: String, body: &str| {
            let (header, found) = Header::read(text.as_bytes()).unwrap();
            assert_eq!((header.tool_id.as_str(), found.as_str()), ("simplify", body));
            assert_eq!(header.projection_fingerprint.as_str(), "131b6c46d9b5eb22");
        };
        check(format!("<!-- {MARKER} {json} -->\n# Title\n"), "# Title\n");
        check(format!("<!-- {MARKER} {json} -->\r\n# Title\r\n"), "# Title\n");
        check(format!("\u{feff}<!-- {MARKER} {json} -->\n---\nname: x\n---\n"), "---\nname: x\n---\n");
        check(format!("<!-- {MARKER} {json} -->\na = 1\n"), "a = 1\n");
        check(format!("---\nname: x\n# {MARKER} {json}\n---\n"), "---\nname: x\n---\n");
        check(format!("<!-- {MARKER} {json} -->"), "");
    }

    #[test]
    fn an_invalid_header_does_not_manage_a_file() {
        let lines = [
            "<!-- brigade-tool-projection: {} -->",
            "<!-- brigade-tool-projection: [] -->",
            "<!-- brigade-tool-projection: nonsense -->",
            "<!-- brigade-tool-projection -->",
            "# Title",
        ];
        for line in lines {
            assert_eq!(Header::read(line.as_bytes()), None, "{line}");
        }
        let late = format!("# Title\n{}", header("a").line(Comment::Html));
        assert_eq!(Header::read(late.as_bytes()), None);
        let behind = format!("---\na: b\n---\n{}", header("a").line(Comment::Hash));
        assert_eq!(Header::read(behind.as_bytes()), None);
    }

    #[test]
    fn an_id_cannot_end_the_comment() {
        let id = "a--> <script> */ \u{2028}\n*/} -- é 😀";
        for comment in Comment::ALL {
            let line = header(id).line(comment);
            assert!(line.is_ascii(), "{line}");
            let inside = comment.read(&line).unwrap();
            assert!(["-->", "*/", "\n", "--"].iter().all(|end| !inside.contains(end)), "{line}");
            assert_eq!(parse_line(&line, &[comment]).unwrap().0, header(id));
        }
    }

    fn any_comment() -> impl Strategy<Value = Comment> {
        prop::sample::select(Comment::ALL.to_vec())
    }

    /// Generates texts from the relevant parts.
    fn any_body() -> impl Strategy<Value = String> {
        let forged = header("forged");
        let pieces = vec![
            "---".to_owned(),
            "--- ".to_owned(),
            "name: a".to_owned(),
            "#!/bin/sh".to_owned(),
            "# coding: utf-8".to_owned(),
            "# escape=`".to_owned(),
            "<?xml?>".to_owned(),
            "@charset 'a';".to_owned(),
            String::new(),
            "text é".to_owned(),
            forged.line(Comment::Html).trim_end().to_owned(),
            forged.line(Comment::Hash).trim_end().to_owned(),
            header("coding: x").line(Comment::Hash).trim_end().to_owned(),
        ];
        prop::collection::vec(prop::sample::select(pieces), 0..7).prop_map(|lines| lines.join("\n") + "\n")
    }

    proptest! {
        #[test]
        fn a_written_header_is_found(body in any_body(), comment in any_comment(), id in ".{1,12}") {
            let header = header(&id);
            let text = insert(&body, comment, &header);
            let managed = find(&text).expect("a header was written");
            prop_assert_eq!(&managed.header, &header);
            prop_assert_eq!(managed.body(&text), body.clone());
            prop_assert!(managed.body_is(&text, &body));
        }

        #[test]
        fn shebang_and_front_matter_stay_first(body in any_body(), comment in any_comment()) {
            let text = insert(&body, comment, &header("a"));
            if body.starts_with("#!") {
                prop_assert!(text.starts_with("#!"));
            }
            if comment == Comment::Html && let Some(front) = front_matter::split(&body) {
                let after = front_matter::split(&text).expect("the block is still one");
                prop_assert_eq!(after.rest, front.rest);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let _ = Header::read(&bytes);
        }
    }
}
