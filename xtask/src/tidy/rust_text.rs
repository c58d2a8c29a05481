//! Separates code, comments and literals of a Rust file, line by line.
//!
//! Parses only enough of the language to search for words. A word in a string is neither code nor a comment.

/// A line of a file: its code, with literals blanked out, and its comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub code: String,
    pub comment: String,
    /// Whether it belongs to an item under `#[cfg(test)]`.
    pub is_test: bool,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    /// The nesting depth of block comments.
    BlockComment(usize),
    Text,
    /// The number of `#` that close the literal.
    RawText(usize),
}

/// Splits a file. Never fails, but the result for a file that does not compile may be wrong.
pub fn split(text: &str) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let line = lines.last_mut().expect("begins with one line and grows");
        let mut taken = next.len_utf8();
        match state {
            State::Code => match opening(rest, line.code.chars().last()) {
                Some((opened, length)) => {
                    state = opened;
                    taken = length;
                    line.code.push(' ');
                }
                None => {
                    taken = character_literal(rest).unwrap_or(taken);
                    line.code.push_str(if taken > next.len_utf8() { " " } else { &rest[..taken] });
                }
            },
            State::LineComment => line.comment.push(next),
            State::BlockComment(depth) => {
                if rest.starts_with("*/") {
                    (state, taken) =
                        (if depth == 1 { State::Code } else { State::BlockComment(depth - 1) }, 2);
                } else if rest.starts_with("/*") {
                    (state, taken) = (State::BlockComment(depth + 1), 2);
                } else {
                    line.comment.push(next);
                }
            }
            State::Text => match next {
                '\\' if !rest[1..].starts_with('\n') => {
                    taken += rest[1..].chars().next().map_or(0, char::len_utf8)
                }
                '"' => state = State::Code,
                _ => {}
            },
            State::RawText(hashes) => {
                if next == '"' && rest[1..].bytes().take_while(|byte| *byte == b'#').count() >= hashes {
                    (state, taken) = (State::Code, 1 + hashes);
                }
            }
        }
        if next == '\n' {
            line.code.truncate(line.code.trim_end().len());
            line.comment.truncate(line.comment.trim_end().len());
            if matches!(state, State::LineComment) {
                state = State::Code;
            }
            lines.push(Line::default());
        }
        rest = &rest[taken..];
    }
    mark_tests(&mut lines);
    lines
}

/// Keywords of items that may contain commas or line ends before their end.
const ITEMS: [&str; 12] = [
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "use",
];

/// Marks the lines of each item under `#[cfg(test)]`: up to the `;` or `,` that ends it, or to the end of its braces.
fn mark_tests(lines: &mut [Line]) {
    let mut item: Option<Item> = None;
    let is_file_of_tests = lines.iter().any(|line| dense(&line.code).contains("#![cfg(test)]"));
    for line in lines {
        let begins = dense(&line.code).contains("#[cfg(test)]");
        line.is_test = is_file_of_tests || begins || item.is_some();
        if begins && item.is_none() {
            item = Some(Item::default());
        }
        if item.as_mut().is_some_and(|item| item.ends_in(&line.code)) {
            item = None;
        }
    }
}

fn dense(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace()).collect()
}

/// An item under `#[cfg(test)]` that is being read.
#[derive(Default)]
struct Item {
    /// How many brackets of each kind are open.
    depth: usize,
    /// Whether a word of [`ITEMS`] was read, after which a comma does not end it.
    has_keyword: bool,
}

impl Item {
    /// Reads a line of the item, and returns whether it ends there.
    fn ends_in(&mut self, code: &str) -> bool {
        // Attributes come before the item.
        let mut rest = code.trim();
        while self.depth == 0
            && rest.starts_with("#[")
            && let Some(end) = rest.find(']')
        {
            rest = rest[end + 1..].trim_start();
        }
        self.has_keyword |= ITEMS.iter().any(|keyword| has_word(rest, keyword));
        for next in rest.chars() {
            match next {
                '{' | '(' | '[' => self.depth += 1,
                '}' | ')' | ']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if next == '}' && self.depth == 0 {
                        return true;
                    }
                }
                ';' if self.depth == 0 => return true,
                ',' if self.depth == 0 && !self.has_keyword => return true,
                _ => {}
            }
        }
        false
    }
}

/// Returns the comment or literal that starts here, and the length of its opening mark.
fn opening(rest: &str, before: Option<char>) -> Option<(State, usize)> {
    if rest.starts_with("//") {
        return Some((State::LineComment, 2));
    }
    if rest.starts_with("/*") {
        return Some((State::BlockComment(1), 2));
    }
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return rest.starts_with('"').then_some((State::Text, 1));
    }
    let prefix = rest.bytes().take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let hashes = rest[prefix..].bytes().take_while(|byte| *byte == b'#').count();
    let raw = rest[..prefix].contains('r');
    let quoted = prefix <= 2 && rest[prefix + hashes..].starts_with('"');
    match (quoted, raw) {
        (true, true) => Some((State::RawText(hashes), prefix + hashes + 1)),
        (true, false) if hashes == 0 => Some((State::Text, prefix + 1)),
        _ => None,
    }
}

/// Returns the length of a character literal that starts here. A lifetime is not one.
fn character_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let first = inner.chars().next()?;
    if first == '\\' {
        let escaped = 1 + inner[1..].chars().next()?.len_utf8();
        return inner[escaped..].find('\'').map(|end| 1 + escaped + end + 1);
    }
    inner[first.len_utf8()..].starts_with('\'').then_some(1 + first.len_utf8() + 1)
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

    #[track_caller]
    fn check(text: &str, code: &str, comment: &str) {
        let lines = split(text);
        let joined = |part: fn(&Line) -> &str| lines.iter().map(part).collect::<Vec<_>>().join("\n");
        assert_eq!((joined(|line| &line.code).trim(), joined(|line| &line.comment).trim()), (code, comment));
    }

    #[test]
    fn comments_are_separated_from_code() {
        check("let a = 1; // one", "let a = 1;", "one");
        check("a /* b /* c */ d */ e", "a   e", "b  c  d");
        check("/// Doc.\nfn a() {}", "fn a() {}", "/ Doc.");
    }

    #[test]
    fn literals_are_neither() {
        check(r#"a("// no \" comment") + b"#, "a( ) + b", "");
        check(r##"a(r#"x " // y"#) // z"##, "a( )", "z");
        check(r#"a(b"\\") // z"#, "a( )", "z");
        check("a('\"', '\\'', b'\"', '/') // z", "a( ,  , b ,  )", "z");
        check("\"one\ntwo // no\" // yes", "", "yes");
    }

    #[track_caller]
    fn check_tests(text: &str, expect: &[usize]) {
        let lines = split(text);
        let found = lines.iter().enumerate().filter(|(_, line)| line.is_test).map(|(index, _)| index + 1);
        assert_eq!(found.collect::<Vec<_>>(), expect, "{lines:#?}");
    }

    #[test]
    fn an_item_under_cfg_test_has_an_end() {
        check_tests("#[cfg(test)]\nmod tests;\nfn a() {}\n", &[1, 2]);
        check_tests(
            "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests {\n  fn b() {}\n}\nfn a() {}\n",
            &[1, 2, 3, 4, 5],
        );
        check_tests("#[cfg(test)]\nfn b<A, B>(a: A, b: [u8; 2])\n{\n}\nfn a() {}\n", &[1, 2, 3, 4]);
        check_tests("struct S {\n  #[cfg(test)]\n  a: u8,\n  b: u8,\n}\n", &[2, 3]);
        check_tests("#[cfg(test)] use a::{b, c};\nfn a() {}\n", &[1]);
        check_tests("#[cfg(test)]\nconst A: &str = \"}\";\nfn a() {}\n", &[1, 2]);
        check_tests("#![cfg(test)]\nfn a() {}", &[1, 2]);
        check_tests("// #[cfg(test)]\n#[cfg(not(test))]\nfn a() {}", &[]);
    }

    #[test]
    fn lifetimes_are_code() {
        check("fn a<'a>(b: &'a str, c: &'a str) {} // z", "fn a<'a>(b: &'a str, c: &'a str) {}", "z");
    }

    #[test]
    fn any_text_is_split() {
        for text in ["", "\"", "r#\"", "'", "'\\", "/*", "\\", "b", "rrr\"", "é'é'é", "\"\\"] {
            split(text);
        }
    }

    #[test]
    fn words_end_where_letters_do() {
        assert!(has_word("an unsafe block", "unsafe") && has_word("unsafe{", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe") && !has_word("", "unsafe"));
    }
}
