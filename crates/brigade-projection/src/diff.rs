//! A change as a unified diff, for a dry run.

use similar::TextDiff;

/// The most lines, old and new together, that are compared; the time grows with how much differs.
const MOST_LINES: usize = 40_000;

/// Writes the change of one file as a unified diff with three lines of context; none is an absent file.
///
/// Empty when nothing changes. Files that are no text, or too long to compare, are named in one line. The text is as
/// the files have it: escape it before it goes to a terminal.
pub fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    if before == after {
        return String::new();
    }
    let old_name = before.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    let new_name = after.map_or_else(|| "/dev/null".to_owned(), |_| format!("b/{path}"));
    let text = |bytes: Option<&'_ [u8]>| String::from_utf8(bytes.unwrap_or_default().to_vec());
    let (Ok(old), Ok(new)) = (text(before), text(after)) else {
        return format!("Binary files {old_name} and {new_name} differ\n");
    };
    let lines = |text: &str| text.matches('\n').count();
    if MOST_LINES < lines(&old) + lines(&new) {
        return format!(
            "Files {old_name} and {new_name} differ: {} and {} lines\n",
            lines(&old),
            lines(&new)
        );
    }
    let diff = TextDiff::from_lines(&old, &new);
    diff.unified_diff().context_radius(3).header(&old_name, &new_name).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_change_is_shown_with_its_names() {
        let diff = unified("a.md", Some(b"one\ntwo\n"), Some(b"one\n2\n"));
        assert_eq!(diff, "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
        let diff = unified("a.md", None, Some(b"one\n"));
        assert!(diff.starts_with("--- /dev/null\n+++ b/a.md\n@@"), "{diff}");
        assert!(diff.ends_with("\n+one\n"), "{diff}");
        assert_eq!(unified("a.md", Some(b"same"), Some(b"same")), "");
    }

    #[test]
    fn what_is_no_text_or_too_long_is_only_named() {
        assert_eq!(unified("a", Some(b"\xff"), Some(b"a")), "Binary files a/a and b/a differ\n");
        let long = "x\n".repeat(50_000);
        assert_eq!(
            unified("a", Some(long.as_bytes()), None),
            "Files a/a and /dev/null differ: 50000 and 0 lines\n"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(old in any::<Option<Vec<u8>>>(), new in any::<Option<Vec<u8>>>()) {
            let _ = unified("a", old.as_deref(), new.as_deref());
        }
    }
}
