//! Reads .gitignore files.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The maximum length of a line, in bytes. No path is longer.
const MAX_PATH_BYTES: usize = 4 << 10;

/// Parses the .gitignore file of a directory. Skips lines that are not valid patterns.
pub fn gitignore(folder: &Path, text: &[u8]) -> Gitignore {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(text).lines().filter(|line| line.len() <= MAX_PATH_BYTES) {
        let _ = builder.add_line(None, &without_alternatives(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Escapes braces, which git treats like other characters. The glob library would expand nested alternatives without a
/// limit.
fn without_alternatives(line: &str) -> String {
    let mut written = String::with_capacity(line.len());
    let (mut is_in_class, mut is_escaped) = (false, false);
    for c in line.chars() {
        if matches!(c, '{' | '}') && !is_in_class && !is_escaped {
            written.push('\\');
        }
        is_in_class = !is_escaped && (c == '[' || (is_in_class && c != ']'));
        is_escaped = c == '\\' && !is_escaped;
        written.push(c);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, path: &str, expect: bool) {
        let found = gitignore(Path::new(""), line.as_bytes()).matched(path, false).is_ignore();
        assert_eq!(found, expect, "{line} {path}");
    }

    #[test]
    fn braces_are_characters_like_others() {
        check("{a,b}", "a", false);
        check("{a,b}", "{a,b}", true);
        check("\\{a", "{a", true);
        check("x[{]y", "x{y", true);
        check("x[{]y", "x\\y", false);
        check("\u{feff}a", "a", true);
    }

    /// Issue 17: nested alternatives crashed the process.
    #[test]
    fn a_line_of_any_length_is_read() {
        for count in [1_000, 100_000] {
            let text = format!("{}{}\nplain\n", "{a,".repeat(count), "}".repeat(count));
            check(&text, "plain", true);
        }
    }
}
