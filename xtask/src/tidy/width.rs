//! Checks and wraps the width of comments, which the formatter does not change.

use std::collections::VecDeque;

use super::rust_text::split;

/// The maximum number of columns of a comment line.
pub const WIDEST: usize = 120;

/// A line that contains only a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comment {
    /// The part before the text, such as `    ///`.
    head: String,
    /// The text, with leading spaces.
    text: String,
}

impl Comment {
    fn parse(line: &str) -> Option<Comment> {
        let indent = line.len() - line.trim_start().len();
        let marker = ["//!", "///", "//"].into_iter().find(|marker| line[indent..].starts_with(marker))?;
        let (head, text) = line.split_at(indent + marker.len());
        Some(Comment { head: head.to_owned(), text: text.to_owned() })
    }

    fn line(&self) -> String {
        format!("{}{}", self.head, self.text)
    }

    /// Returns whether this line continues the paragraph of a line whose next lines have this indent.
    fn continues(&self, head: &str, indent: &str) -> bool {
        let blanks = self.text.len() - self.text.trim_start().len();
        let text = &self.text[blanks..];
        self.head == head
            && self.text[..blanks] == *indent
            && !text.is_empty()
            && item(text).is_none()
            && !text.starts_with(['|', '#', '>'])
            && !text.starts_with("```")
            && !(text.starts_with('[') && text.contains("]: "))
    }
}

/// Returns the length of a list marker at the start of a text.
fn item(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_item =
        text.starts_with("* ") || text.starts_with("- ") || text[digits..].starts_with(". ") && 0 < digits;
    is_item.then_some(digits + 2)
}

/// Lists the comment lines, from 1, that are too wide. Table rows may have any width.
pub fn too_wide(text: &str) -> Vec<usize> {
    let comments = split(text);
    let is_wide = |(index, line): &(usize, &str)| {
        WIDEST < line.chars().count()
            && comments.get(*index).is_some_and(|line| line.code.is_empty() && !line.comment.is_empty())
            && Comment::parse(line).is_none_or(|comment| !comment.text.trim_start().starts_with('|'))
    };
    text.lines().enumerate().filter(is_wide).map(|(index, _)| index + 1).collect()
}

/// Wraps the comments that are too wide. Tables and code examples are not changed.
pub fn wrap(text: &str) -> String {
    let wide = too_wide(text);
    if wide.is_empty() {
        return text.to_owned();
    }
    let mut rest: VecDeque<(String, bool)> = text
        .lines()
        .enumerate()
        .map(|(index, line)| (line.to_owned(), wide.contains(&(index + 1))))
        .collect();
    let (mut done, mut is_code) = (String::new(), false);
    while let Some((line, is_wide)) = rest.pop_front() {
        let comment = Comment::parse(&line);
        let fence = comment.as_ref().is_some_and(|comment| comment.text.trim_start().starts_with("```"));
        is_code = comment.is_some() && (is_code ^ fence);
        let parts =
            comment.filter(|_| is_wide && !is_code && !fence).and_then(|comment| split_comment(&comment));
        let Some((kept, left, indent)) = parts else {
            done.push_str(&line);
            done.push('\n');
            continue;
        };
        done.push_str(&kept.line());
        done.push('\n');
        let next = rest.front().and_then(|(line, _)| Comment::parse(line));
        let next = next.filter(|next| next.continues(&kept.head, &indent));
        let text = match &next {
            Some(next) => format!("{indent}{left} {}", next.text.trim_start()),
            None => format!("{indent}{left}"),
        };
        if next.is_some() {
            rest.pop_front();
        }
        let line = Comment { head: kept.head, text }.line();
        let is_wide = WIDEST < line.chars().count();
        rest.push_front((line, is_wide));
    }
    if !text.ends_with('\n') {
        done.pop();
    }
    done
}

/// Cuts a line at the last space that fits, but not within code. Returns the first part, the rest, and its indent.
fn split_comment(comment: &Comment) -> Option<(Comment, String, String)> {
    let trimmed = comment.text.trim_start();
    let blanks = &comment.text[..comment.text.len() - trimmed.len()];
    let begin = blanks.len() + item(trimmed).unwrap_or(0);
    let room = WIDEST.checked_sub(comment.head.chars().count())?;
    let (mut is_code, mut place) = (false, None);
    for (column, (at, next)) in comment.text.char_indices().enumerate() {
        if room < column {
            break;
        }
        is_code ^= next == '`';
        if next == ' ' && begin < at && !is_code {
            place = Some(at);
        }
    }
    let place = place?;
    let kept = Comment { head: comment.head.clone(), text: comment.text[..place].to_owned() };
    Some((kept, comment.text[place + 1..].to_owned(), " ".repeat(begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that comment lines, with `~` for 60 letters, are wrapped as expected.
    #[track_caller]
    fn check(lines: &str, expect: &str) {
        let long = "x".repeat(60);
        let found = wrap(&lines.replace('~', &long));
        assert_eq!(found.replace(&long, "~"), expect);
        assert_eq!(wrap(&found), found);
    }

    #[test]
    fn narrow_comments_stay() {
        check("/// a\n/// b\nfn f() {}\n", "/// a\n/// b\nfn f() {}\n");
        check("// ~ abc", "// ~ abc");
    }

    #[test]
    fn a_long_line_wraps_into_its_paragraph() {
        check("    // ~ ~ a\n    // b\n    f();\n", "    // ~\n    // ~ a b\n    f();\n");
        check("/// ~ ~\n///\n/// b\n", "/// ~\n/// ~\n///\n/// b\n");
        check("/// ~ ~ ~\n/// b\n", "/// ~\n/// ~\n/// ~ b\n");
        check("//! ~ ~\n/// b\n", "//! ~\n//! ~\n/// b\n");
        check("/// ~ ~\n/// `b` c\n", "/// ~\n/// ~ `b` c\n");
        check("/// ~ ~\n/// [b]: c\n", "/// ~\n/// ~\n/// [b]: c\n");
    }

    #[test]
    fn items_of_lists_are_indented() {
        check("/// * ~ ~\n/// * b\n", "/// * ~\n///   ~\n/// * b\n");
        check("/// * ~ ~\n///   b\n", "/// * ~\n///   ~ b\n");
        check("/// 1. ~ ~\n", "/// 1. ~\n///    ~\n");
        check("/// ~ ~\n/// * b\n", "/// ~\n/// ~\n/// * b\n");
    }

    #[test]
    fn code_and_tables_stay() {
        check("/// | ~ | ~ |\n", "/// | ~ | ~ |\n");
        check("/// ```\n/// ~ ~\n/// ```\n/// ~ ~\n", "/// ```\n/// ~ ~\n/// ```\n/// ~\n/// ~\n");
        check("/// ~ `a b ~`\n", "/// ~\n/// `a b ~`\n");
        check("let a = \"// ~ ~\";\n", "let a = \"// ~ ~\";\n");
    }

    #[test]
    fn only_comments_are_too_wide() {
        let long = "x ".repeat(61);
        assert_eq!(too_wide(&format!("// {long}\nlet a = \"{long}\"; // {long}\n//! {long}\n")), [1, 3]);
        assert!(too_wide(&format!("let a = \"\n// {long}\";\n")).is_empty());
    }
}
