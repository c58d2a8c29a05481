//! Which files do not count: the rules of `.gitignore` files.

/// One line of a `.gitignore` file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// The directory of the file, empty or with `/` at its end.
    folder: Vec<u8>,
    pattern: Vec<u8>,
    /// Whether it takes files in again.
    is_exception: bool,
    only_directories: bool,
    /// Whether it is compared with the whole path below the directory, not with a name.
    is_anchored: bool,
}

/// The rules of all `.gitignore` files on the way to a directory. Later ones win.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

impl Rules {
    /// Adds the rules of a file in a directory, which is empty or ends with `/`.
    pub(crate) fn add(&mut self, folder: &[u8], text: &[u8]) {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            self.0.extend(rule(folder, line.strip_suffix(b"\r").unwrap_or(line)));
        }
    }

    /// Tells whether a path does not count. Those of its directories do.
    pub(crate) fn ignore(&self, path: &[u8], is_directory: bool) -> bool {
        let fits = |rule: &&Rule| {
            (is_directory || !rule.only_directories)
                && path.strip_prefix(&*rule.folder).is_some_and(|inside| {
                    let name = inside.rsplit(|byte| *byte == b'/').next().unwrap_or(inside);
                    matches(&rule.pattern, if rule.is_anchored { inside } else { name })
                })
        };
        self.0.iter().rev().find(fits).is_some_and(|rule| !rule.is_exception)
    }
}

fn rule(folder: &[u8], line: &[u8]) -> Option<Rule> {
    let mut line = line;
    while let Some(rest) = line.strip_suffix(b" ") {
        if rest.ends_with(b"\\") {
            break;
        }
        line = rest;
    }
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let (is_exception, line) = match line.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (only_directories, line) = match line.strip_suffix(b"/") {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let is_anchored = line.contains(&b'/');
    let pattern = line.strip_prefix(b"/").unwrap_or(line);
    (!pattern.is_empty()).then(|| Rule {
        folder: folder.to_owned(),
        pattern: pattern.to_owned(),
        is_exception,
        only_directories,
        is_anchored,
    })
}

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'p> {
    /// This byte.
    Byte(u8),
    /// `?`: a byte of a name.
    Any,
    /// `[`: a byte of the class that begins behind the bracket.
    Class(&'p [u8]),
    /// `*`: bytes of a name.
    Name,
    /// `**/`: directories.
    Directories,
    /// `**` at the end: everything.
    Rest,
}

/// Matches a pattern with `*`, `?`, `[…]`, `\` and `**`.
///
/// It follows all ways at once, so the time is at most the product of both lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let mut rest = pattern;
    let mut last = None;
    // Whether the parts so far match the text up to a position.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    while let Some((part, after)) = next_part(rest) {
        rest = after;
        let is_same = last.replace(part) == Some(part);
        match part {
            Part::Byte(_) | Part::Any | Part::Class(_) => {
                for at in (0..text.len()).rev() {
                    reached[at + 1] = reached[at] && is_one(part, text[at]);
                }
                reached[0] = false;
                if !reached.contains(&true) {
                    return false;
                }
            }
            Part::Name | Part::Directories | Part::Rest if is_same => {}
            Part::Name => {
                for at in 0..text.len() {
                    reached[at + 1] |= reached[at] && text[at] != b'/';
                }
            }
            Part::Directories | Part::Rest => {
                let mut is_reached = false;
                for at in 0..text.len() {
                    is_reached |= reached[at];
                    reached[at + 1] |= is_reached && (part == Part::Rest || text[at] == b'/');
                }
            }
        }
    }
    reached[text.len()]
}

/// Splits the first part off.
fn next_part(pattern: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let (first, rest) = pattern.split_first()?;
    Some(match first {
        b'*' if pattern == b"**" => (Part::Rest, &[]),
        b'*' if pattern.starts_with(b"**/") => (Part::Directories, &pattern[3..]),
        b'*' => (Part::Name, rest.strip_prefix(b"*").unwrap_or(rest)),
        b'?' => (Part::Any, rest),
        b'[' => class(rest, 0).map_or((Part::Byte(b'['), rest), |(_, after)| (Part::Class(rest), after)),
        b'\\' if !rest.is_empty() => (Part::Byte(rest[0]), &rest[1..]),
        byte => (Part::Byte(*byte), rest),
    })
}

/// Returns whether a part for one byte matches it.
fn is_one(part: Part<'_>, byte: u8) -> bool {
    match part {
        Part::Byte(only) => byte == only,
        Part::Class(rest) => byte != b'/' && class(rest, byte).is_some_and(|(is_in, _)| is_in),
        _ => byte != b'/',
    }
}

/// Reads a class behind its bracket: whether the byte is in it, and what follows.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (is_not, mut rest) = match pattern.first() {
        Some(b'!' | b'^') => (true, &pattern[1..]),
        _ => (false, pattern),
    };
    let mut found = false;
    let mut is_first = true;
    loop {
        let (&first, after) = rest.split_first()?;
        rest = after;
        if first == b']' && !is_first {
            return Some((found != is_not, rest));
        }
        is_first = false;
        let low = if first == b'\\' {
            let (&escaped, after) = rest.split_first()?;
            rest = after;
            escaped
        } else {
            first
        };
        let high = match rest {
            [b'-', high, after @ ..] if *high != b']' => {
                rest = after;
                *high
            }
            _ => low,
        };
        found |= (low..=high).contains(&byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rules: &str, path: &str, expect: bool) {
        let mut all = Rules::default();
        all.add(b"", rules.as_bytes());
        let is_directory = path.ends_with('/');
        assert_eq!(
            all.ignore(path.trim_end_matches('/').as_bytes(), is_directory),
            expect,
            "{rules:?} {path}"
        );
    }

    #[test]
    fn names_match_at_any_depth_and_paths_where_they_stand() {
        check("*.log", "a/b/x.log", true);
        check("/x.log", "a/x.log", false);
        check("a/x", "b/a/x", false);
        check("**/a/x", "b/c/a/x", true);
        check("a/**", "a/b/c", true);
        check("a/**/b", "a/b", true);
        check("a/**/b", "a/x/y/b", true);
        check("a*c", "abbc", true);
        check("a*", "a/b", false);
    }

    #[test]
    fn later_rules_win_and_some_are_only_for_directories() {
        check("*.log\n!keep.log", "keep.log", false);
        check("build/", "build", false);
        check("build/", "build/", true);
        check("# no\n\\#yes", "#yes", true);
        check("a\\ ", "a ", true);
        check("a ", "a", true);
    }

    #[test]
    fn classes_match_one_byte() {
        check("[a-c]x", "bx", true);
        check("[!a-c]x", "bx", false);
        check("[]]x", "]x", true);
        check("[x", "[x", true);
    }

    #[test]
    fn a_rule_holds_below_its_file() {
        let mut all = Rules::default();
        all.add(b"sub/", b"/x\n*.tmp\n");
        assert!(all.ignore(b"sub/x", false) && all.ignore(b"sub/d/a.tmp", false));
        assert!(!all.ignore(b"x", false) && !all.ignore(b"a.tmp", false));
    }

    #[test]
    fn many_stars_cost_little() {
        check(&"a*".repeat(20), &"a".repeat(40), true);
        check(&format!("{}b", "*a".repeat(60)), &"a".repeat(255), false);
        check(&format!("{}b", "**/".repeat(60)), &"a/".repeat(60), false);
        check("a**b", "axxb", true);
        check("a**b", "ax/xb", false);
    }
}
