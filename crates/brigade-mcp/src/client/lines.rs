//! Splits a server's standard output into lines. Keeps at most one line of bounded length.

/// A line of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A whole line, without its end.
    Whole(&'a [u8]),
    /// The beginning of a line that is longer than the limit. The rest of it is dropped.
    TooLong(&'a [u8]),
}

/// The line that is being read.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    held: Vec<u8>,
    dropping: bool,
}

/// How much of an overlong line is kept, in bytes.
const BEGINNING: usize = 4096;

impl Lines {
    /// Creates an empty splitter. Lines of more than `limit` bytes are too long.
    pub(super) fn new(limit: usize) -> Lines {
        Lines { limit, held: Vec::new(), dropping: false }
    }

    /// Adds bytes and returns every complete line.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            self.hold(piece, &mut take);
            let Some(end) = end else {
                return;
            };
            bytes = &bytes[end + 1..];
            self.end_line(&mut take);
        }
    }

    /// Returns the rest after the last line end, if any.
    pub(super) fn finish(&mut self, mut take: impl FnMut(Line<'_>)) {
        if !self.held.is_empty() {
            self.end_line(&mut take);
        }
    }

    fn hold(&mut self, piece: &[u8], take: &mut impl FnMut(Line<'_>)) {
        if self.dropping {
            return;
        }
        if self.limit < self.held.len().saturating_add(piece.len()) {
            let room = BEGINNING.saturating_sub(self.held.len()).min(piece.len());
            self.held.extend_from_slice(&piece[..room]);
            take(Line::TooLong(&self.held[..self.held.len().min(BEGINNING)]));
            self.held = Vec::new();
            self.dropping = true;
            return;
        }
        self.held.extend_from_slice(piece);
    }

    fn end_line(&mut self, take: &mut impl FnMut(Line<'_>)) {
        if !self.dropping {
            take(Line::Whole(self.held.strip_suffix(b"\r").unwrap_or(&self.held)));
        }
        self.held.clear();
        self.dropping = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        let mut take = |line: Line<'_>| {
            found.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong(line) => format!("too long: {}", String::from_utf8_lossy(line)),
            });
        };
        for piece in pieces {
            lines.push(piece, &mut take);
        }
        lines.finish(&mut take);
        found
    }

    #[test]
    fn lines_end_at_line_feeds_and_at_the_end() {
        assert_eq!(cut(99, &[b"a\nb", b"c\r\n\nd"]), ["a", "bc", "", "d"]);
        assert_eq!(cut(99, &[b""]), Vec::<String>::new());
    }

    #[test]
    fn an_overlong_line_is_reported_once_and_skipped() {
        assert_eq!(cut(4, &[b"abc", b"defg", b"hijk\nok\n"]), ["too long: abcdefg", "ok"]);
        assert_eq!(cut(4, &[b"abcd\nabcde"]), ["abcd", "too long: abcde"]);
    }

    proptest! {
        #[test]
        fn how_the_bytes_arrive_does_not_matter(text in "[ab\n]{0,60}", at in 0usize..60) {
            let at = at.min(text.len());
            let whole = cut(5, &[text.as_bytes()]);
            let (left, right) = text.as_bytes().split_at(at);
            // The kept part of an overlong line depends on the sizes of the reads.
            let name = |line: String| if line.starts_with("too long") { "too long".to_owned() } else { line };
            let whole: Vec<String> = whole.into_iter().map(name).collect();
            let split: Vec<String> = cut(5, &[left, right]).into_iter().map(name).collect();
            prop_assert_eq!(whole, split);
        }
    }
}
