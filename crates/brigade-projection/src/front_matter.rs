//! Front matter: a block of YAML between `---` lines at the start of a file.
//!
//! This is not a YAML parser. It finds only the end of the block and the one-line values of top-level keys. A key with
//! any other value counts as present, so that it is never added twice.

use brigade_core::front_matter;

/// A file's front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrontMatter<'a> {
    /// The lines between the two markers, including the last line feed.
    pub(crate) block: &'a str,
    /// The text after the line of the closing marker.
    pub(crate) rest: &'a str,
}

/// The value of a top-level key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A one-line text, without quotes.
    Text(String),
    /// A value in a form that is not parsed.
    Other,
}

/// The length of the opening line `---` with its line feed.
pub(crate) const OPENING: usize = 4;

/// Splits the front matter from a text with normalized line endings.
///
/// Returns `None` unless line 1 and a later line are `---`.
pub(crate) fn split(text: &str) -> Option<FrontMatter<'_>> {
    let found = front_matter::split(text).filter(|found| found.opening.len() == OPENING)?;
    Some(FrontMatter { block: found.block, rest: found.rest? })
}

impl FrontMatter<'_> {
    /// Returns the value of a top-level key; `None` if it is missing or empty.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        let mut lines = self.block.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(value) = value_of(line, key) else { continue };
            let continued =
                lines.peek().is_some_and(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty());
            return match (value, continued) {
                ("" | "~" | "null", false) => None,
                (_, true) => Some(Value::Other),
                (value, false) => match scalar(value) {
                    Value::Text(text) if text.trim().is_empty() => None,
                    value => Some(value),
                },
            };
        }
        None
    }
}

/// A top-level line that some YAML readers cannot parse.
const NOT_A_FIELD: &str = "a line is not `key: value`";

impl<'a> FrontMatter<'a> {
    /// Returns the top-level keys, without their quotes.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.block.lines().filter_map(|line| Some(field_of(line)?.0))
    }

    /// Returns whether YAML would read a one-line value as something other than a string.
    pub(crate) fn is_misread(&self, key: &str) -> bool {
        let is_bad = |value: &str| value.contains("---") || problem_of_value(value, false).is_some();
        self.block.lines().filter_map(field_of).any(|(name, value)| name == key && is_bad(value))
    }

    /// Returns whether a list or a table is written on one line. This is valid YAML, but the validator of Agent Skills
    /// rejects it.
    pub(crate) fn has_flow_style(&self) -> bool {
        self.block.lines().filter_map(field_of).any(|(_, value)| value.starts_with(['[', '{']))
    }

    /// Returns why YAML readers would reject the block; `None` if no reason is found.
    ///
    /// Does not check values that span several lines.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let mut seen: Vec<&str> = Vec::new();
        let mut lines = self.block.lines().peekable();
        while let Some(line) = lines.next() {
            // The header is such a line but does not contain `---`.
            if line.contains("---") {
                return Some("some readers end it at the `---` within a line");
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with('\t') {
                return Some("a line is indented by a tab");
            }
            if line.starts_with(' ') || line.starts_with("- ") {
                if seen.is_empty() {
                    return Some(NOT_A_FIELD);
                }
                continue;
            }
            let Some((key, value)) = field_of(line) else { return Some(NOT_A_FIELD) };
            if seen.contains(&key) {
                return Some("a key appears twice");
            }
            seen.push(key);
            let goes_on = lines.peek().is_some_and(|next| next.starts_with([' ', '\t']));
            if let Some(problem) = problem_of_value(value, goes_on) {
                return Some(problem);
            }
        }
        None
    }
}

/// Splits a top-level line into its unquoted key and its value.
fn field_of(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t', '#', '-']) {
        return None;
    }
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end();
    let bare =
        ['"', '\''].iter().find_map(|mark| key.strip_prefix(*mark)?.strip_suffix(*mark)).unwrap_or(key);
    let is_field = !bare.is_empty() && (value.is_empty() || value.starts_with([' ', '\t']));
    is_field.then(|| (bare, without_comment(value.trim())))
}

/// Returns the problem of a value. `goes_on` says that the next line continues it.
fn problem_of_value(value: &str, goes_on: bool) -> Option<&'static str> {
    match value.chars().next()? {
        '[' => (!value.ends_with(']')).then_some("a list is not closed in its line"),
        '{' => (!value.ends_with('}')).then_some("a table is not closed in its line"),
        '&' | '*' | '!' | '%' | '@' | '`' => {
            Some("a value begins with a character that means something else in YAML")
        }
        mark @ ('"' | '\'') => {
            let is_closed = 1 < value.len() && value.ends_with(mark);
            (!is_closed && !goes_on && !value.contains(&format!("{mark} #")))
                .then_some("a quoted value is not closed")
        }
        '|' | '>' => None,
        _ => (value.contains(": ") || value.ends_with(':'))
            .then_some("a value holds a colon and is not quoted"),
    }
}

/// Returns the text after `key:` in a line that begins with it.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let bare = line.strip_prefix(key);
    let quoted = |mark: char| line.strip_prefix(mark)?.strip_prefix(key)?.strip_prefix(mark);
    let rest = bare.or_else(|| quoted('"')).or_else(|| quoted('\''))?;
    let value = rest.trim_start().strip_prefix(':')?;
    (value.is_empty() || value.starts_with([' ', '\t'])).then(|| without_comment(value.trim()))
}

/// Removes a comment after an unquoted value.
fn without_comment(value: &str) -> &str {
    if value.starts_with(['"', '\'']) {
        return value;
    }
    if value.starts_with('#') {
        return "";
    }
    value.split(" #").next().unwrap_or(value).trim_end()
}

/// Parses a one-line value.
fn scalar(value: &str) -> Value {
    for mark in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(mark) {
            return match inside.strip_suffix(mark) {
                Some(inside) if !inside.contains([mark, '\\']) => Value::Text(inside.to_owned()),
                _ => Value::Other,
            };
        }
    }
    if value.starts_with(['|', '>', '&', '*', '!', '[', '{', '%', '@', '`']) {
        Value::Other
    } else {
        Value::Text(value.to_owned())
    }
}

/// Adds `key: value` lines for keys that are missing in the front matter. Creates a missing block.
///
/// The values must already be YAML. The lines are added at the top; the rest is unchanged. Returns `None` if no key is
/// missing.
pub(crate) fn complete(text: &str, wanted: &[(&str, String)]) -> Option<String> {
    let present = split(text);
    let mut lacking = String::new();
    for (key, value) in wanted.iter().filter(|(key, _)| present.is_none_or(|block| block.get(key).is_none()))
    {
        lacking.extend([*key, ": ", value, "\n"]);
    }
    match present {
        _ if lacking.is_empty() => None,
        None => Some(["---\n", &lacking, "---\n", text].concat()),
        Some(front) => {
            // This avoids a second `name:` if the first is empty.
            let is_lacking = |line: &&str| {
                !wanted
                    .iter()
                    .any(|(key, _)| value_of(line.trim_end(), key).is_some() && front.get(key).is_none())
            };
            let kept: String = front.block.split_inclusive('\n').filter(is_lacking).collect();
            Some(["---\n", &lacking, &kept, &text[OPENING + front.block.len()..]].concat())
        }
    }
}

/// Replaces the one-line value of a top-level key. `value` must already be YAML.
///
/// Returns `None` if there is no such line, or if the value continues on the next line.
pub(crate) fn replace(text: &str, key: &str, value: &str) -> Option<String> {
    let front = split(text)?;
    let mut offset = OPENING;
    let mut lines = front.block.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if value_of(line.trim_end(), key).is_some() {
            let goes_on =
                lines.peek().is_some_and(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty());
            let end = offset + line.len();
            return (!goes_on).then(|| format!("{}{key}: {value}\n{}", &text[..offset], &text[end..]));
        }
        offset += line.len();
    }
    None
}

/// Returns a text without its front matter.
pub(crate) fn without(text: &str) -> &str {
    split(text).map_or(text, |front| front.rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, key: &str, expect: Option<&str>) {
        let value = split(text).and_then(|front| front.get(key));
        assert_eq!(value, expect.map(|text| Value::Text(text.to_owned())), "{text:?}");
    }

    #[test]
    fn keys_are_read_where_they_are_in_one_line() {
        check("---\nname: a\n---\nb", "name", Some("a"));
        check("---\nname: \"a b\"\n---\n", "name", Some("a b"));
        check("---\n'name' : 'a'\n---\n", "name", Some("a"));
        check("---\nname: a # remark\n---\n", "name", Some("a"));
        check("---\nname:\n---\n", "name", None);
        check("---\nname: \"\"\n---\n", "name", None);
        check("---\nnames: a\n  name: b\n---\n", "name", None);
        check("---\nname: a\nno closing", "name", None);
        check("text\n---\nname: a\n---\n", "name", None);
    }

    #[test]
    fn values_over_several_lines_are_there_but_not_read() {
        let front = split("---\ndescription: >\n  a\n  b\nname: x\n---\n").unwrap();
        assert_eq!(front.get("description"), Some(Value::Other));
        assert_eq!(front.get("name"), Some(Value::Text("x".to_owned())));
    }

    #[test]
    fn a_value_in_one_line_is_replaced_and_nothing_else() {
        let text = "---\na: b\nname: x y # remark\nc: d\n---\nname: z\n";
        let expect = "---\na: b\nname: n\nc: d\n---\nname: z\n";
        assert_eq!(replace(text, "name", "n").as_deref(), Some(expect));
        assert_eq!(replace("---\nname: >\n  x\n---\n", "name", "n"), None);
        assert_eq!(replace("---\na: b\n---\nname: x\n", "name", "n"), None);
        assert_eq!(replace("name: x\n", "name", "n"), None);
    }

    #[test]
    fn yaml_that_readers_reject_is_reported() {
        let check = |block: &str, expect: bool| {
            let text = format!("---\n{block}---\nbody\n");
            assert_eq!(split(&text).unwrap().problem().is_some(), expect, "{block}");
        };
        for good in [
            "",
            "name: a\ndescription: b # c\n",
            "# remark\n\nname: \"a: b\"\n",
            "description: >\n  a: b\n  [c\nname: a\n",
            "description: \"a\n  b\"\n",
            "metadata:\n  a: b\n",
            "tools:\n- a\n- b\n",
            "tools: [a, b] # c\nother: {a: b}\n",
            "'name': a\nurl: http://a\nsaid: 'it''s' # so\n",
        ] {
            check(good, false);
        }
        for bad in [
            "name: [unclosed\n",
            "name: a\ndescription: use it: now\n",
            "name: \"a\n",
            "name a\n",
            "  name: a\n",
            "name: a\n\tb\n",
            "name: a\nname: b\n",
            "name: a --- b\n",
            "name: *a\n",
        ] {
            check(bad, true);
        }
    }

    #[test]
    fn only_missing_keys_are_added() {
        let wanted = [("name", "n".to_owned()), ("description", "d".to_owned())];
        let complete = |text| complete(text, &wanted);
        assert_eq!(complete("body\n").as_deref(), Some("---\nname: n\ndescription: d\n---\nbody\n"));
        assert_eq!(complete("---\nname: x\ndescription: y\n---\nbody\n"), None);
        assert_eq!(
            complete("---\ntools: a\nname:\n---\nbody\n").as_deref(),
            Some("---\nname: n\ndescription: d\ntools: a\n---\nbody\n")
        );
    }
}
