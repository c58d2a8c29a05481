//! Front matter: the block between two `---` lines that a text may begin with.

/// The front matter of a text, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatter<'t> {
    /// The opening line, with its line feed.
    pub opening: &'t str,
    /// The lines of the block, with their line feeds. Without a closing line, the block reaches to the end of the text.
    pub block: &'t str,
    /// What follows the closing line. `None` if there is no closing line.
    pub rest: Option<&'t str>,
}

/// Splits the front matter off a text. Returns `None` if the first line is not `---`. Spaces after the dashes are
/// ignored.
///
/// ```
/// use brigade_core::front_matter::split;
///
/// let found = split("---\nname: a\n---\nbody\n").expect("line 1 opens a block");
/// assert_eq!((found.block, found.rest), ("name: a\n", Some("body\n")));
/// assert_eq!(split("body\n---\n"), None);
/// ```
pub fn split(text: &str) -> Option<FrontMatter<'_>> {
    let is_rule = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| is_rule(line))?;
    let start = opening.len();
    let mut end = start;
    for line in lines {
        if is_rule(line) {
            let (block, rest) = (&text[start..end], &text[end + line.len()..]);
            return Some(FrontMatter { opening, block, rest: Some(rest) });
        }
        end += line.len();
    }
    Some(FrontMatter { opening, block: &text[start..], rest: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, &str, Option<&str>)>) {
        let found = split(text).map(|found| (found.opening, found.block, found.rest));
        assert_eq!(found, expect, "{text:?}");
    }

    #[test]
    fn a_block_is_between_two_lines_of_dashes() {
        check("---\na: b\n---\nrest\n", Some(("---\n", "a: b\n", Some("rest\n"))));
        check("---\n---\n", Some(("---\n", "", Some(""))));
        check("--- \r\na: b\r\n---\t\r\nrest", Some(("--- \r\n", "a: b\r\n", Some("rest"))));
        check("---\na: b\n---", Some(("---\n", "a: b\n", Some(""))));
        check("---\na: b\n ---\n----\n", Some(("---\n", "a: b\n ---\n----\n", None)));
        check("---", Some(("---", "", None)));
        check("", None);
        check("\n---\na: b\n---\n", None);
        check(" ---\na: b\n---\n", None);
    }
}
