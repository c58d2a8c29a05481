//! Finds changed files and markers in diffs of git.

use brigade_git::{AddedText, PatchFile, PatchSink};

use crate::workplace::{
    CONFLICT, ChangeKind, ChangedFile, CommitId, MARKERS, Marker, OWN_CONFLICT, shown_path,
};

/// The maximum number of markers that are kept.
const MAX_MARKERS: usize = 1_000;

/// Collects the changed files of a diff, and the markers in its added lines.
#[derive(Debug, Default)]
pub(crate) struct FoundChanges {
    pub(crate) files: Vec<ChangedFile>,
    pub(crate) nested: Vec<String>,
    pub(crate) markers: Vec<Marker>,
}

impl PatchSink for FoundChanges {
    fn file(&mut self, file: &PatchFile) {
        if let Some(from) = &file.from {
            self.files.push(ChangedFile { path: shown_path(from), kind: ChangeKind::Deleted });
        }
        let path = shown_path(&file.path);
        let kind = match file.status {
            b'A' | b'R' => ChangeKind::Added,
            b'D' => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        if file.mode == "160000" {
            self.nested.push(path.clone());
        }
        self.files.push(ChangedFile { path, kind });
    }

    fn added(&mut self, text: AddedText<'_>) {
        if self.markers.len() < MAX_MARKERS
            && let Some(word) = marker(text.bytes)
        {
            self.markers.push(Marker { path: shown_path(&text.file.path), line: text.line, word });
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

#[cfg(test)]
mod tests {
    use brigade_git::PatchReader;

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
        let mut reader = PatchReader::new(FoundChanges::default());
        // The input may be split anywhere.
        for part in text.as_bytes().chunks(7) {
            reader.take(part);
        }
        let found: Vec<String> = reader.sink.markers.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["src/a.rs:3: FIXME", "src/a.rs:4: XXX", "b:1: HACK"]);
        assert_eq!(reader.sink.files.len(), 2);
        assert_eq!(reader.sink.files[1].kind, ChangeKind::Added);
    }
}
