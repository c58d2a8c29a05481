//! Compares a text with a snapshot file.

use std::fs;
use std::path::Path;

/// The variable that makes [`assert_snapshot`] update the file instead of comparing.
const UPDATE: &str = "BRIGADE_UPDATE_SNAPSHOTS";

/// Panics if a text differs from a file, and shows the lines that differ.
///
/// The text should be [normalized](crate::normalize) first. With `BRIGADE_UPDATE_SNAPSHOTS=1` in the environment the
/// file is updated instead, so that changes of output can be reviewed as changes of files. Build the path of the file
/// from `env!("CARGO_MANIFEST_DIR")`.
#[track_caller]
pub fn assert_snapshot(file: impl AsRef<Path>, actual: &str) {
    let file = file.as_ref();
    if std::env::var_os(UPDATE).is_some_and(|value| !value.is_empty()) {
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(file, actual))
            .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        return;
    }
    let expected = fs::read_to_string(file)
        .unwrap_or_else(|e| panic!("{}: {e}; {UPDATE}=1 writes it\n{actual}", file.display()));
    if expected != actual {
        panic!("{} differs; {UPDATE}=1 accepts it\n{}", file.display(), difference(&expected, actual));
    }
}

/// Returns the lines between the common start and the common end of two texts.
fn difference(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.split('\n').collect(), actual.split('\n').collect());
    let begin = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - begin;
    let end = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let mut shown = format!("at line {}:", begin + 1);
    for (mark, lines) in [('-', &old), ('+', &new)] {
        for line in &lines[begin..lines.len() - end] {
            shown.push_str(&format!("\n{mark} {line}"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_omits_common_first_and_last_lines() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "at line 2:\n- b\n+ x\n+ y");
        assert_eq!(difference("a\na\n", "a\na\na\n"), "at line 3:\n+ a");
        assert_eq!(difference("", "a"), "at line 1:\n- \n+ a");
    }

    #[test]
    fn an_equal_text_passes() {
        let workspace = crate::TempWorkspace::empty();
        workspace.write("a.txt", "one\n");
        assert_snapshot(workspace.join("a.txt"), "one\n");
    }

    #[test]
    #[should_panic(expected = "- one\n+ two")]
    fn a_different_text_fails() {
        let workspace = crate::TempWorkspace::empty();
        workspace.write("a.txt", "one\n");
        assert_snapshot(workspace.join("a.txt"), "two\n");
    }
}
