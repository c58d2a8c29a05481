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

/// Matches a pattern with `*`, `?`, `[…]`, `\` and `**`.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // Each star can begin anywhere, so a pattern of many stars must not be tried in all ways: only the last one is.
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    match first {
        b'*' if pattern.starts_with(b"**/") => {
            let rest = &pattern[3..];
            let mut at = text;
            loop {
                if matches(rest, at) {
                    return true;
                }
                let Some(slash) = at.iter().position(|byte| *byte == b'/') else { return false };
                at = &at[slash + 1..];
            }
        }
        b'*' if pattern == b"**" => true,
        b'*' => {
            let rest = rest.strip_prefix(b"*").unwrap_or(rest);
            let end = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            // Literal text behind a star is looked for first, which keeps this from trying all ways.
            match rest.first() {
                None => end == text.len(),
                Some(next) if !b"*?[\\".contains(next) => {
                    (0..=end).filter(|at| text.get(*at) == Some(next)).any(|at| matches(rest, &text[at..]))
                }
                Some(_) => (0..=end).any(|at| matches(rest, &text[at..])),
            }
        }
        b'?' => text.split_first().is_some_and(|(byte, text)| *byte != b'/' && matches(rest, text)),
        b'[' => {
            let Some((byte, after)) = text.split_first() else { return false };
            match class(rest, *byte) {
                Some((is_in, rest)) => is_in && *byte != b'/' && matches(rest, after),
                None => *byte == b'[' && matches(rest, after),
            }
        }
        b'\\' if !rest.is_empty() => text.first() == rest.first() && matches(&rest[1..], &text[1..]),
        first => text.first() == Some(first) && matches(rest, &text[1..]),
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
        check(&format!("{}b", "a*".repeat(5)), &"a".repeat(40), false);
    }
}
