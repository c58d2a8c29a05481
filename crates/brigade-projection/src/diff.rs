//! Formats a change as a unified diff, for a dry run.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffTag, group_diff_ops};

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
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // Lines at both ends that do not differ cost nothing, so one change in a long file is cheap.
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = old.iter().zip(&new).take_while(same).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(same).count();
    if MAX_LINES < old.len() + new.len() - 2 * (start + end) {
        return format!("Files {old_name} and {new_name} differ: {} and {} lines\n", old.len(), new.len());
    }
    let mut hook = Compact::new(Replace::new(Capture::new()), &old[..], &new[..]);
    let Ok(()) = myers::diff(&mut hook, &old[..], 0..old.len(), &new[..], 0..new.len());
    let operations = hook.into_inner().into_inner().into_ops();
    let mut diff = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in group_diff_ops(operations, CONTEXT) {
        diff.push_str(&format!("{}\n", UnifiedHunkHeader::new(&hunk)));
        for operation in hunk {
            let (old, new) = (&old[operation.old_range()], &new[operation.new_range()]);
            match operation.tag() {
                DiffTag::Equal => add_lines(&mut diff, ' ', old),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    add_lines(&mut diff, '-', old);
                    add_lines(&mut diff, '+', new);
                }
            }
        }
    }
    diff
}

fn add_lines(diff: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        diff.push(sign);
        diff.push_str(line);
        if !line.ends_with('\n') {
            diff.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::TextDiff;

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
        let diff = unified("a.md", Some(b"one\ntwo"), Some(b"one\n2"));
        let hint = "\\ No newline at end of file\n";
        assert!(diff.ends_with(&format!(" one\n-two\n{hint}+2\n{hint}")), "{diff}");
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
