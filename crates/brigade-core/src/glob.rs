//! The only pattern syntax for paths and ids.

use std::fmt;
use std::str::Chars;

/// A pattern that is matched against a whole path or id.
///
/// * `*` matches any text without `/`, and `**` matches any text; both may match nothing.
/// * `**/` at the start or after a `/` matches any number of directories, or none: `a/**/b` matches `a/b`.
/// * `?` matches one character other than `/`.
/// * `\` makes the next character literal. Every other character matches itself.
///
/// In ids, `/` has no special meaning: use [`Glob::of_ids`] for patterns of ids.
///
/// Matching takes time proportional to pattern length times text length.
///
/// ```
/// use brigade_core::Glob;
///
/// assert!(Glob::new("lib/**/*.py").matches("lib/x.py") && Glob::new("lib/**").matches("lib/a/b"));
/// assert!(!Glob::new("lib/*").matches("lib/a/b"));
/// assert!(Glob::of_ids("github.*").matches("github.issues/list"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Glob {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    This(char),
    /// `?`
    One,
    /// `?` in a pattern of ids, which also matches `/`.
    Any,
    /// `*`
    Name,
    /// `**`
    Text,
    /// `**/` at the start of a path component.
    Directories,
}

impl Glob {
    /// Reads a pattern. Every string is a valid pattern.
    pub fn new(text: &str) -> Glob {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let begins_name = matches!(parts.last(), None | Some(Part::This('/') | Part::Directories));
            let (part, length) = match c {
                '*' if rest.starts_with("**/") && begins_name => (Part::Directories, 3),
                '*' if rest.starts_with("**") => (Part::Text, 2),
                '*' => (Part::Name, 1),
                '?' => (Part::One, 1),
                '\\' => match rest[1..].chars().next() {
                    Some(escaped) => (Part::This(escaped), 1 + escaped.len_utf8()),
                    None => (Part::This('\\'), 1),
                },
                c => (Part::This(c), c.len_utf8()),
            };
            parts.push(part);
            rest = &rest[length..];
        }
        Glob { text: text.to_owned(), parts }
    }

    /// Reads a pattern of ids: `*` matches any text, and `?` any character.
    pub fn of_ids(text: &str) -> Glob {
        let part = |part| match part {
            Part::Name | Part::Text => vec![Part::Text],
            Part::One => vec![Part::Any],
            Part::Directories => vec![Part::Text, Part::This('/')],
            part @ (Part::This(_) | Part::Any) => vec![part],
        };
        let Glob { text, parts } = Glob::new(text);
        Glob { text, parts: parts.into_iter().flat_map(part).collect() }
    }

    /// Reads a pattern of paths in a directory. A leading `./` is ignored, so `./~/x` names a directory called `~`.
    pub fn beneath(text: &str) -> Glob {
        Glob::new(text.strip_prefix("./").unwrap_or(text))
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let mut rest = text.chars();
        let mut parts = &self.parts[..];
        // Most texts differ before the first star.
        while let Some((Part::This(expect), others)) = parts.split_first() {
            if rest.next() != Some(*expect) {
                return false;
            }
            parts = others;
        }
        match parts {
            [] => rest.next().is_none(),
            [Part::Name] => !rest.as_str().contains('/'),
            [Part::Text] => true,
            parts => all_match(parts, rest),
        }
    }
}

/// Returns whether parts match all of a text.
fn all_match(parts: &[Part], text: Chars<'_>) -> bool {
    // The parts that may match the next character. The last element is the end of the pattern.
    let mut stands = vec![false; parts.len() + 1];
    let mut next = stands.clone();
    enter(parts, &mut stands, 0);
    for c in text {
        next.fill(false);
        for (at, part) in parts.iter().enumerate().filter(|(at, _)| stands[*at]) {
            match part {
                Part::This(expect) if *expect == c => enter(parts, &mut next, at + 1),
                Part::One if c != '/' => enter(parts, &mut next, at + 1),
                Part::Any => enter(parts, &mut next, at + 1),
                Part::Name if c != '/' => enter(parts, &mut next, at),
                Part::Text => enter(parts, &mut next, at),
                Part::Directories => {
                    next[at] = true;
                    if c == '/' {
                        enter(parts, &mut next, at + 1);
                    }
                }
                Part::This(_) | Part::One | Part::Name => {}
            }
        }
        std::mem::swap(&mut stands, &mut next);
    }
    stands[parts.len()]
}

/// Activates a part, and the parts after it while they may match nothing.
fn enter(parts: &[Part], stands: &mut [bool], from: usize) {
    for (at, stand) in stands.iter_mut().enumerate().skip(from) {
        *stand = true;
        if !matches!(parts.get(at), Some(Part::Name | Part::Text | Part::Directories)) {
            break;
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let glob = Glob::new(pattern);
        let wrong =
            yes.iter().filter(|text| !glob.matches(text)).chain(no.iter().filter(|text| glob.matches(text)));
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&&str>::new(), "{pattern}");
    }

    #[test]
    fn one_star_stops_at_a_slash_and_two_cross_it() {
        check("*", &["", "a", "a.b", ".a"], &["/", "a/b"]);
        check("lib/*.py", &["lib/a.py", "lib/.py"], &["lib/a/b.py", "lib/a.pyc", "a.py"]);
        check("lib/**", &["lib/", "lib/a", "lib/a/b.py"], &["lib", "library/a"]);
        check("**", &["", "a", "a/b/c"], &[]);
        check("a**b", &["ab", "a/x/b"], &["a", "a/x"]);
        check("?.c", &["a.c", "ä.c"], &[".c", "/.c", "ab.c"]);
    }

    #[test]
    fn directories_may_be_none() {
        check("**/x", &["x", "a/x", "a/b/x"], &["ax", "a/bx", "x/y"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "a/x/yb"]);
        check("**/**/x", &["x", "a/x", "a/b/c/x"], &["yx"]);
        check("a**/b", &["a/b", "ax/y/b"], &["ab"]);
    }

    #[test]
    fn in_ids_a_slash_is_a_character_like_others() {
        let matches = |pattern: &str, id: &str| Glob::of_ids(pattern).matches(id);
        for (pattern, id) in [
            ("github.*", "github."),
            ("github.*", "github.issues/list"),
            ("*-read", "a/b-read"),
            ("*", "a/b"),
            ("a?b", "a/b"),
            ("**/b", "a/b"),
            (r"a\*", "a*"),
        ] {
            assert!(matches(pattern, id), "{pattern} {id}");
        }
        for (pattern, id) in
            [("github.*", "github"), ("*-read", "a-read-all"), ("a/b", "a-b"), (r"a\*", "ab")]
        {
            assert!(!matches(pattern, id), "{pattern} {id}");
        }
    }

    #[test]
    fn a_backslash_makes_the_next_character_literal() {
        check(r"\*\?", &["*?"], &["a?", "*a"]);
        check(r"a\", &[r"a\"], &["a"]);
        check("[a]{b}", &["[a]{b}"], &["a"]);
    }

    /// A simple, slow reference implementation.
    fn slow(parts: &[Part], text: &[char]) -> bool {
        let Some((part, rest)) = parts.split_first() else { return text.is_empty() };
        let up_to = |is_kind: fn(&char) -> bool| text.iter().take_while(|c| is_kind(c)).count();
        match part {
            Part::This(c) => text.first() == Some(c) && slow(rest, &text[1..]),
            Part::One => up_to(|c| *c != '/') != 0 && slow(rest, &text[1..]),
            Part::Any => !text.is_empty() && slow(rest, &text[1..]),
            Part::Name => (0..=up_to(|c| *c != '/')).any(|length| slow(rest, &text[length..])),
            Part::Text => (0..=text.len()).any(|length| slow(rest, &text[length..])),
            Part::Directories => {
                let ends = (1..=text.len()).filter(|length| text[length - 1] == '/');
                std::iter::once(0).chain(ends).any(|length| slow(rest, &text[length..]))
            }
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_reference(pattern in r"[ab/*?\\]{0,9}", text in "[ab/*]{0,9}") {
            let glob = Glob::new(&pattern);
            let chars: Vec<char> = text.chars().collect();
            prop_assert_eq!(glob.matches(&text), slow(&glob.parts, &chars));
        }

        #[test]
        fn a_text_without_wildcards_matches_only_itself(text in "[a-z/.-]{0,12}", other in "[a-z/.-]{0,12}") {
            prop_assert!(Glob::new(&text).matches(&text));
            prop_assert_eq!(Glob::new(&text).matches(&other), text == other);
        }

        #[test]
        fn many_stars_take_no_time(stars in 1usize..40) {
            let pattern = "*a".repeat(stars) + "b";
            prop_assert!(!Glob::new(&pattern).matches(&"a".repeat(400)));
        }
    }
}
