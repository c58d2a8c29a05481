//! Parses diffs of git.

use crate::workplace::{
    CONFLICT, ChangeKind, ChangedFile, CommitId, MARKERS, Marker, OWN_CONFLICT, shown_path,
};

/// The maximum length of a line that is searched.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The maximum number of markers that are kept.
const MAX_MARKERS: usize = 1_000;

/// Parses the output of `git diff-tree -r --raw -p --unified=0` while it is read. Git prints a line for each file, then
/// the diffs in the same order.
#[derive(Debug, Default)]
pub(crate) struct DiffReader {
    line: Vec<u8>,
    state: State,
    pub(crate) files: Vec<ChangedFile>,
    pub(crate) nested: Vec<String>,
    pub(crate) markers: Vec<Marker>,
    /// The paths of the following diffs. A file whose type changed has two diffs.
    expected: Vec<String>,
    current: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    List,
    Head,
    /// Inside a hunk: the remaining removed lines, the remaining added lines, and the number of the next added line.
    Hunk {
        old: u64,
        new: u64,
        line: u64,
    },
}

impl DiffReader {
    /// Parses the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.line(&line);
        }
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &[u8]) {
        match self.state {
            State::List if line.is_empty() => self.state = State::Head,
            State::List => self.listed(line),
            State::Hunk { old, new, line: number } if 0 < old || 0 < new => match line.first() {
                Some(b'-') => self.state = State::Hunk { old: old.saturating_sub(1), new, line: number },
                Some(b'+') => {
                    self.added(&line[1..], number);
                    self.state = State::Hunk { old, new: new.saturating_sub(1), line: number + 1 };
                }
                // A note that the line feed at the end of a file is missing.
                _ => {}
            },
            State::Head | State::Hunk { .. } => {
                if line.starts_with(b"diff --git ") {
                    self.current += 1;
                    self.state = State::Head;
                } else if let Some((old, new, first)) = hunk(line) {
                    self.state = State::Hunk { old, new, line: first };
                }
            }
        }
    }

    fn listed(&mut self, line: &[u8]) {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { return };
        let head = String::from_utf8_lossy(&line[..tab]);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [_, new_mode, _, _, status] = words[..] else { return };
        let names = &line[tab + 1..];
        // A renamed file has two names. Only its changed lines are shown as added.
        let (from, to) = match names.iter().position(|byte| *byte == b'\t') {
            Some(tab) if status.starts_with('R') => (Some(&names[..tab]), &names[tab + 1..]),
            _ => (None, names),
        };
        if let Some(from) = from {
            let path = shown_path(&unquote(from));
            self.files.push(ChangedFile { path, kind: ChangeKind::Deleted });
        }
        let path = shown_path(&unquote(to));
        let kind = match status.as_bytes().first() {
            Some(b'A' | b'R') => ChangeKind::Added,
            Some(b'D') => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        if new_mode == "160000" {
            self.nested.push(path.clone());
        }
        self.expected.push(path.clone());
        if status.starts_with('T') {
            self.expected.push(path.clone());
        }
        self.files.push(ChangedFile { path, kind });
    }

    fn added(&mut self, line: &[u8], number: u64) {
        let path =
            || self.current.checked_sub(1).and_then(|at| self.expected.get(at)).cloned().unwrap_or_default();
        if self.markers.len() < MAX_MARKERS
            && let Some(word) = marker(line)
        {
            self.markers.push(Marker { path: path(), line: number, word });
        }
    }
}

/// Returns the marker in a line, if there is one.
pub(crate) fn marker(line: &[u8]) -> Option<&'static str> {
    if let Some(label) = line.strip_prefix(b"<<<<<<< ") {
        let names_commit =
            std::str::from_utf8(label).is_ok_and(|label| CommitId::new(label.trim_end()).is_some());
        return Some(if names_commit { OWN_CONFLICT } else { CONFLICT });
    }
    MARKERS.into_iter().find(|word| has_word(line, word.as_bytes()))
}

fn has_word(line: &[u8], word: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    line.windows(word.len()).enumerate().any(|(at, found)| {
        let before = at.checked_sub(1).and_then(|at| line.get(at));
        found == word && !before.is_some_and(is_part) && !line.get(at + word.len()).is_some_and(is_part)
    })
}

/// Parses `@@ -1,2 +3,4 @@`: the number of removed lines, the number of added lines, and the first added line number.
fn hunk(line: &[u8]) -> Option<(u64, u64, u64)> {
    let text = String::from_utf8_lossy(line.strip_prefix(b"@@ ")?);
    let (ranges, _) = text.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let range = |text: &str, sign: char| -> Option<(u64, u64)> {
        let text = text.strip_prefix(sign)?;
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let ((_, old), (first, new)) = (range(old, '-')?, range(new, '+')?);
    Some((old, new, first))
}

/// Unquotes a path that git printed.
fn unquote(path: &[u8]) -> Vec<u8> {
    let Some(inner) = path.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return path.to_owned();
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((escape, after)) = rest.split_first() else { break };
        rest = after;
        match escape {
            b'0'..=b'7' => {
                let digits = [Some(*escape), rest.first().copied(), rest.get(1).copied()];
                let value = digits.iter().flatten().fold(0u32, |value, digit| {
                    value.wrapping_mul(8).wrapping_add(u32::from(digit.saturating_sub(b'0')))
                });
                rest = rest.get(2..).unwrap_or_default();
                bytes.push(value.to_le_bytes()[0]);
            }
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b't' => bytes.push(b'\t'),
            b'n' => bytes.push(b'\n'),
            b'v' => bytes.push(11),
            b'f' => bytes.push(12),
            b'r' => bytes.push(b'\r'),
            other => bytes.push(*other),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<&str>) {
        assert_eq!(marker(line.as_bytes()), expect, "{line}");
    }

    #[test]
    fn a_marker_is_a_word() {
        check("// TODO: later", Some("TODO"));
        check("x(); # XXX", Some("XXX"));
        check("FIXME", Some("FIXME"));
        check("mktemp /tmp/a.XXXXXX", None);
        check("let todo = HACKS;", None);
        check("TODO_LIST", None);
        check("<<<<<<< ours", Some(CONFLICT));
    }

    #[test]
    fn quoted_paths_are_read() {
        assert_eq!(unquote(b"plain name"), b"plain name");
        assert_eq!(unquote(br#""a\tb\"c\\\303\251\n""#), "a\tb\"c\\é\n".as_bytes());
        assert_eq!(unquote(br#""\377""#), b"\xff");
    }

    #[test]
    fn only_added_lines_are_searched() {
        let text = "\
:100644 100644 a b M\tsrc/a.rs
:000000 100644 0 c A\tb

diff --git a/src/a.rs b/src/a.rs
index a..b 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -3,2 +3,2 @@ fn x() {
-TODO gone
-diff --git a/evil b/evil
+// FIXME here
++++ b/evil XXX
\\ No newline at end of file
diff --git a/b b/b
new file mode 100644
--- /dev/null
+++ b/b
@@ -0,0 +1 @@
+HACK
";
        let mut reader = DiffReader::default();
        // The input may be split anywhere.
        for part in text.as_bytes().chunks(7) {
            reader.take(part);
        }
        let found: Vec<String> = reader.markers.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["src/a.rs:3: FIXME", "src/a.rs:4: XXX", "b:1: HACK"]);
        assert_eq!(reader.files.len(), 2);
        assert_eq!(reader.files[1].kind, ChangeKind::Added);
    }
}
