//! Formats a change as a unified diff, for a dry run.

use similar::TextDiff;

/// The maximum number of lines to compare, old and new together. The time grows with the size of the difference.
const MAX_LINES: usize = 40_000;

/// The lines of context around a change.
const CONTEXT: usize = 3;

/// Formats the change of one file as a unified diff with three lines of context. `None` means that the file is absent.
///
/// Returns an empty text if nothing changes. Files that are binary or too long are named in one line. The diff contains
/// raw text: escape it before writing to a terminal.
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
    // Only the lines that differ are compared, with their context, so one change in a long file is cheap.
    let same = |pair: &(&str, &str)| pair.0 == pair.1;
    let (old_lines, new_lines) = (old.split_inclusive('\n'), new.split_inclusive('\n'));
    let before = old_lines.clone().zip(new_lines.clone()).take_while(same).count();
    let skipped = before.saturating_sub(CONTEXT);
    let most = lines(&old).min(lines(&new)).saturating_sub(before);
    let behind = old_lines.clone().rev().zip(new_lines.clone().rev()).take(most).take_while(same).count();
    let cut = |text: &str| -> String {
        let count = text.split_inclusive('\n').count();
        let until = count - behind.saturating_sub(CONTEXT);
        text.split_inclusive('\n').take(until).skip(skipped).collect()
    };
    let (near_old, near_new) = (cut(&old), cut(&new));
    if MAX_LINES < lines(&near_old) + lines(&near_new) {
        return format!(
            "Files {old_name} and {new_name} differ: {} and {} lines\n",
            lines(&old),
            lines(&new)
        );
    }
    let diff = TextDiff::from_lines(&near_old, &near_new);
    let diff = diff.unified_diff().context_radius(CONTEXT).header(&old_name, &new_name).to_string();
    if skipped == 0 { diff } else { diff.split_inclusive('\n').map(|line| moved(line, skipped)).collect() }
}

/// Adds the number of skipped lines to the line numbers of a hunk.
fn moved(line: &str, skipped: usize) -> String {
    let moved = |range: &str| {
        let (sign, numbers) = range.split_at_checked(1)?;
        let (first, rest) = numbers.split_at(numbers.find(',').unwrap_or(numbers.len()));
        Some(format!("{sign}{}{rest}", first.parse::<usize>().ok()? + skipped))
    };
    let mut words = line.strip_prefix("@@ ").into_iter().flat_map(|rest| rest.splitn(3, ' '));
    match (words.next().and_then(moved), words.next().and_then(moved), words.next()) {
        (Some(old), Some(new), Some(rest)) => format!("@@ {old} {new} {rest}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn added_and_removed(diff: &str) -> (usize, usize) {
        let count = |sign: char| diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
        (count('+'), count('-'))
    }

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
    fn binary_and_long_files_are_only_named() {
        assert_eq!(unified("a", Some(b"\xff"), Some(b"a")), "Binary files a/a and b/a differ\n");
        let long = "x\n".repeat(50_000);
        assert_eq!(
            unified("a", Some(long.as_bytes()), None),
            "Files a/a and /dev/null differ: 50000 and 0 lines\n"
        );
    }

    #[test]
    fn one_change_in_a_long_file_is_shown() {
        let long: String = (1..50_000).map(|number| format!("{number}\n")).collect();
        let changed = long.replace("\n30000\n", "\n30000\nx\n");
        assert_eq!(
            unified("a", Some(long.as_bytes()), Some(changed.as_bytes())),
            "--- a/a\n+++ b/a\n@@ -29998,6 +29998,7 @@\n 29998\n 29999\n 30000\n+x\n 30001\n 30002\n 30003\n"
        );
    }

    proptest! {
        #[test]
        fn skipped_lines_do_not_change_the_diff(
            before in "[ab]\n{0,3}[ab\n]{0,20}", old in "[ab\n]{0,6}", new in "[ab\n]{0,6}", behind in "[ab\n]{0,20}",
        ) {
            let (old, new) = (format!("{before}{old}{behind}"), format!("{before}{new}{behind}"));
            let whole = TextDiff::from_lines(&old, &new);
            let whole = whole.unified_diff().context_radius(CONTEXT).header("a/a", "b/a").to_string();
            let found = unified("a", Some(old.as_bytes()), Some(new.as_bytes()));
            prop_assert_eq!(added_and_removed(&found), added_and_removed(&whole));
        }

        #[test]
        fn arbitrary_bytes_never_panic(old in any::<Option<Vec<u8>>>(), new in any::<Option<Vec<u8>>>()) {
            let _ = unified("a", old.as_deref(), new.as_deref());
        }
    }
}
