//! Parses diffs of git.

/// The longest line, or part of an added line, that is handed on at once.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The arguments of `git diff-tree` for the diffs that [`PatchReader`] parses, without the trees.
pub const PATCH_ARGUMENTS: [&str; 10] = [
    "-r",
    "--raw",
    "-p",
    "--unified=0",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFile {
    /// Its path.
    pub path: Vec<u8>,
    /// Its earlier path, if it was renamed.
    pub from: Option<Vec<u8>>,
    /// Its new mode in octal digits, such as `100644`.
    pub mode: String,
    /// The letter of the change, such as `A`.
    pub status: u8,
}

/// A part of an added line.
#[derive(Clone, Copy, Debug)]
pub struct AddedText<'t> {
    /// The file.
    pub file: &'t PatchFile,
    /// The number of the line in it.
    pub line: u64,
    /// The text, without a line feed.
    pub bytes: &'t [u8],
    /// Whether the line ends here. Only very long lines have several parts.
    pub is_end: bool,
}

/// Takes what a [`PatchReader`] finds.
pub trait PatchSink {
    /// Takes a changed file. All files of a commit come before their added lines.
    fn file(&mut self, file: &PatchFile);

    /// Takes an added line, or a part of it.
    fn added(&mut self, text: AddedText<'_>);
}

/// Parses the output of `git diff-tree` with [`PATCH_ARGUMENTS`] while it is read, also with `--stdin` for several
/// commits. Git prints a line for each file, then the diffs in the same order.
#[derive(Debug, Default)]
pub struct PatchReader<S> {
    /// Takes what is found.
    pub sink: S,
    line: Vec<u8>,
    /// Whether parts of the line were handed on already.
    is_cut: bool,
    state: State,
    /// The files of the following diffs. A file whose type changed has two diffs.
    expected: Vec<PatchFile>,
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

impl<S: PatchSink> PatchReader<S> {
    /// Creates a reader for one output of git.
    pub fn new(sink: S) -> PatchReader<S> {
        PatchReader {
            sink,
            line: Vec::new(),
            is_cut: false,
            state: State::List,
            expected: Vec::new(),
            current: 0,
        }
    }

    /// Parses the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.line(&line);
            self.is_cut = false;
        }
        self.keep(rest);
    }

    fn keep(&mut self, mut bytes: &[u8]) {
        loop {
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
            let (fitting, rest) = bytes.split_at(bytes.len().min(room));
            self.line.extend_from_slice(fitting);
            let is_added = self.is_cut || self.line.first() == Some(&b'+');
            let State::Hunk { old, new, line } = self.state else { return };
            if rest.is_empty() || !is_added || (old, new) == (0, 0) {
                return;
            }
            let part = std::mem::take(&mut self.line);
            self.added(if self.is_cut { &part } else { &part[1..] }, line, false);
            self.is_cut = true;
            bytes = rest;
        }
    }

    fn line(&mut self, line: &[u8]) {
        match self.state {
            State::List if line.is_empty() => self.state = State::Head,
            State::List => self.listed(line),
            State::Hunk { old, new, line: number } if 0 < old || 0 < new => match line.first() {
                _ if self.is_cut => self.added_line(line, (old, new, number)),
                Some(b'-') => self.state = State::Hunk { old: old.saturating_sub(1), new, line: number },
                Some(b'+') => self.added_line(&line[1..], (old, new, number)),
                // A note that the line feed at the end of a file is missing.
                _ => {}
            },
            State::Head | State::Hunk { .. } => {
                if line.starts_with(b"diff --git ") {
                    self.current += 1;
                    self.state = State::Head;
                } else if line.starts_with(b":") {
                    // The next commit.
                    (self.state, self.current) = (State::List, 0);
                    self.expected.clear();
                    self.listed(line);
                } else if let Some((old, new, first)) = hunk(line) {
                    self.state = State::Hunk { old, new, line: first };
                }
            }
        }
    }

    fn added_line(&mut self, text: &[u8], (old, new, number): (u64, u64, u64)) {
        self.added(text, number, true);
        self.state = State::Hunk { old, new: new.saturating_sub(1), line: number + 1 };
    }

    fn listed(&mut self, line: &[u8]) {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { return };
        let head = String::from_utf8_lossy(&line[..tab]);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [_, mode, _, _, status] = words[..] else { return };
        let names = &line[tab + 1..];
        // A renamed file has two names. Only its changed lines are shown as added.
        let (from, to) = match names.iter().position(|byte| *byte == b'\t') {
            Some(tab) if status.starts_with('R') => (Some(unquote(&names[..tab])), &names[tab + 1..]),
            _ => (None, names),
        };
        let status = status.bytes().next().unwrap_or_default();
        let file = PatchFile { path: unquote(to), from, mode: mode.to_owned(), status };
        self.sink.file(&file);
        if status == b'T' {
            self.expected.push(file.clone());
        }
        self.expected.push(file);
    }

    fn added(&mut self, bytes: &[u8], line: u64, is_end: bool) {
        if let Some(file) = self.current.checked_sub(1).and_then(|at| self.expected.get(at)) {
            self.sink.added(AddedText { file, line, bytes, is_end });
        }
    }
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

    #[derive(Default)]
    struct Recorder(Vec<String>);

    impl PatchSink for Recorder {
        fn file(&mut self, file: &PatchFile) {
            self.0.push(format!(
                "{} {} {}",
                file.status as char,
                file.mode,
                String::from_utf8_lossy(&file.path)
            ));
        }

        fn added(&mut self, text: AddedText<'_>) {
            let path = String::from_utf8_lossy(&text.file.path);
            let bytes = String::from_utf8_lossy(text.bytes);
            self.0.push(format!("{path}:{}: {bytes}", text.line));
        }
    }

    #[test]
    fn quoted_paths_are_read() {
        assert_eq!(unquote(b"plain name"), b"plain name");
        assert_eq!(unquote(br#""a\tb\"c\\\303\251\n""#), "a\tb\"c\\é\n".as_bytes());
        assert_eq!(unquote(br#""\377""#), b"\xff");
    }

    #[test]
    fn files_and_added_lines_are_found() {
        let text = "\
:100644 100644 a b M\tsrc/a.rs
:000000 120000 0 c A\tb

diff --git a/src/a.rs b/src/a.rs
index a..b 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -3,2 +3,2 @@ fn x() {
-old
-diff --git a/evil b/evil
+one
++++ b/evil
\\ No newline at end of file
diff --git a/b b/b
new file mode 120000
--- /dev/null
+++ b/b
@@ -0,0 +1 @@
+target
0123456789012345678901234567890123456789
:000000 100644 0 c A\tc

diff --git a/c b/c
new file mode 100644
--- /dev/null
+++ b/c
@@ -0,0 +1 @@
+next
";
        // The input may be split anywhere.
        for size in [1, 7, text.len()] {
            let mut reader = PatchReader::new(Recorder::default());
            text.as_bytes().chunks(size).for_each(|part| reader.take(part));
            let expect = [
                "M 100644 src/a.rs",
                "A 120000 b",
                "src/a.rs:3: one",
                "src/a.rs:4: +++ b/evil",
                "b:1: target",
                "A 100644 c",
                "c:1: next",
            ];
            assert_eq!(reader.sink.0, expect, "{size}");
        }
    }

    #[test]
    fn long_lines_come_in_parts() {
        let head = ":000000 100644 0 c A\tb\n\ndiff --git a/b b/b\n@@ -0,0 +1,2 @@\n+";
        let text = format!("{head}{}END\n+two\n", "x".repeat(2 * MAX_LINE_BYTES));
        let mut reader = PatchReader::new(Recorder::default());
        reader.take(text.as_bytes());
        let lines = &reader.sink.0[1..];
        assert!(lines.len() == 4 && lines[2].ends_with("END") && lines[3] == "b:2: two");
        let length: usize = lines[..3].iter().map(|line| line.len() - "b:1: ".len()).sum();
        assert_eq!(length, 2 * MAX_LINE_BYTES + 3);
    }
}
