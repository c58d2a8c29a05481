//! Separates code, comments and literals of a formatted Rust file, line by line.
//!
//! Parses only enough of the language to search for words. A word in a string is neither code nor a comment.

use std::sync::LazyLock;

use regex::Regex;

/// A line of a file: its code, with literals blanked out, and its comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub code: String,
    pub comment: String,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub is_test: bool,
}

/// What is not code: comments, raw strings, strings, and characters. A lifetime is code.
static NOT_CODE: LazyLock<Regex> = LazyLock::new(|| {
    let raw = [r####"###".*?"###"####, r###"##".*?"##"###, r##"#".*?"#"##, r#"".*?""#].join("|[bc]?r");
    let text = format!(r#"(?s)//[^\n]*|/\*.*?\*/|\b[bc]?r{raw}|"(?:\\.|[^"\\])*"|'(?:\\.[^'\n]*|[^\\'\n])'"#);
    Regex::new(&text).expect("the expression is valid")
});

/// Splits a file. Never fails, but the result for a file that does not compile may be wrong.
pub fn split(text: &str) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    let mut add = |part: &str, put: fn(&mut Line, &str)| {
        for (index, piece) in part.split('\n').enumerate() {
            if 0 < index {
                lines.push(Line::default());
            }
            put(lines.last_mut().expect("begins with one line and grows"), piece);
        }
    };
    let mut at = 0;
    for found in NOT_CODE.find_iter(text) {
        add(&text[at..found.start()], |line, code| line.code.push_str(code));
        match found.as_str().starts_with('/') {
            true => add(found.as_str(), |line, comment| line.comment.push_str(comment)),
            false => add(found.as_str(), |line, _| line.code.push(' ')),
        }
        at = found.end();
    }
    add(&text[at..], |line, code| line.code.push_str(code));
    for line in &mut lines {
        line.code.truncate(line.code.trim_end().len());
    }
    mark_tests(&mut lines);
    lines
}

/// Marks the lines of each item under `#[cfg(test)]`: up to the `;` or `,` that ends its first line, or else to a line
/// that closes it.
fn mark_tests(lines: &mut [Line]) {
    let is_file_of_tests = lines.iter().any(|line| line.code.starts_with("#![cfg(test)]"));
    // The indentation of an open item, and whether only its attributes were read.
    let mut item: Option<(usize, bool)> = None;
    for line in lines {
        let code = line.code.trim_start();
        let indent = line.code.len() - code.len();
        if item.is_none() && code.starts_with("#[cfg(test)]") {
            item = Some((indent, true));
        }
        line.is_test = is_file_of_tests || item.is_some();
        let rest = code.strip_prefix("#[cfg(test)]").unwrap_or(code).trim();
        item = match item {
            Some((_, true)) if rest.is_empty() || rest.starts_with("#[") => item,
            Some((_, true)) if rest.ends_with([';', ',', '}']) => None,
            Some((opened, false)) if indent == opened && rest.starts_with('}') => None,
            Some((opened, _)) => Some((opened, false)),
            None => None,
        };
    }
}

/// Returns whether a text contains a word, consisting of letters, digits and `_`.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_literals_are_separated() {
        for (text, code, comment) in [
            ("let a = 1; // one", "let a = 1;", "// one"),
            ("/// Doc.\nfn a() {}", "fn a() {}", "/// Doc."),
            (r#"a("// no \" comment") + b"#, "a( ) + b", ""),
            (r##"a(r#"x " // y"#) // z"##, "a( )", "// z"),
            (r#"a(b"\\") // z"#, "a(b )", "// z"),
            ("a('\"', '\\'', '/') // z", "a( ,  ,  )", "// z"),
            ("\"one\ntwo // no\" // yes", "", "// yes"),
            ("fn a<'a>(b: &'a str, c: &'a str) {} // z", "fn a<'a>(b: &'a str, c: &'a str) {}", "// z"),
        ] {
            let lines = split(text);
            let joined = |part: fn(&Line) -> &str| lines.iter().map(part).collect::<Vec<_>>().join("\n");
            let found = (joined(|line| &line.code), joined(|line| &line.comment));
            assert_eq!((found.0.trim(), found.1.trim()), (code, comment), "{text}");
        }
    }

    #[test]
    fn an_item_under_cfg_test_has_an_end() {
        for (text, expect) in [
            ("#[cfg(test)]\nmod tests;\nfn a() {}\n", &[1, 2][..]),
            ("#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests {\n  fn b() {}\n}\nfn a() {}\n", &[1, 2, 3, 4, 5]),
            ("#[cfg(test)]\nfn b<A, B>(a: A, b: [u8; 2])\n{\n}\nfn a() {}\n", &[1, 2, 3, 4]),
            ("struct S {\n  #[cfg(test)]\n  a: u8,\n  b: u8,\n}\n", &[2, 3]),
            ("#[cfg(test)]\nconst A: &str = \"}\";\nfn a() {}\n", &[1, 2]),
            ("#![cfg(test)]\nfn a() {}", &[1, 2]),
            ("// #[cfg(test)]\n#[cfg(not(test))]\nfn a() {}", &[]),
        ] {
            let lines = split(text);
            let found = lines.iter().enumerate().filter(|(_, line)| line.is_test).map(|(index, _)| index + 1);
            assert_eq!(found.collect::<Vec<_>>(), expect, "{text}");
        }
    }

    #[test]
    fn words_end_where_letters_do() {
        assert!(has_word("an unsafe block", "unsafe") && has_word("unsafe{", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe") && !has_word("", "unsafe"));
    }
}
