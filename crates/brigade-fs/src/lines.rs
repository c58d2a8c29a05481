//! Reads a file line by line, however long it is.

use memchr::memchr;

use crate::{FsError, ReadFile};

/// Reads a range of a file line by line, in constant memory plus the longest line.
pub struct Lines<'a> {
    file: &'a dyn ReadFile,
    /// The offset of the next read.
    next_read: u64,
    end: u64,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
}

/// A line and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// The content without the line feed.
    pub bytes: &'a [u8],
    /// Whether a line feed follows. Only the last line of a range can lack one.
    pub is_complete: bool,
}

const CHUNK: usize = 256 * 1024;

impl<'a> Lines<'a> {
    /// Reads the lines that begin in `offset..end`. `offset` must be the start of a line. If the range ends inside a
    /// line, that line is truncated there and is not complete.
    pub fn new(file: &'a dyn ReadFile, offset: u64, end: u64) -> Lines<'a> {
        Lines { file, next_read: offset, end, buffer: Vec::new(), start: 0, filled: 0 }
    }

    /// Returns the next line, or `None` at the end.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, FsError> {
        let mut searched = self.start;
        let (length, is_complete) = loop {
            if let Some(found) = memchr(b'\n', &self.buffer[searched..self.filled]) {
                break (searched + found - self.start, true);
            }
            searched = self.filled;
            if self.end <= self.next_read {
                break (self.filled - self.start, false);
            }
            // Make room: move the partial line to the front, and grow only if it fills the whole buffer.
            if 0 < self.start {
                self.buffer.copy_within(self.start..self.filled, 0);
                searched -= self.start;
                self.filled -= self.start;
                self.start = 0;
            }
            let left = usize::try_from(self.end - self.next_read).unwrap_or(usize::MAX);
            if self.buffer.len() < self.filled + left.min(CHUNK / 2) {
                let grown = (self.buffer.len() * 2).max(CHUNK).min(self.filled.saturating_add(left));
                self.buffer.resize(grown, 0);
            }
            let room = self.buffer.len() - self.filled;
            let wanted = room.min(left);
            let count =
                self.file.read_at(self.next_read, &mut self.buffer[self.filled..self.filled + wanted])?;
            if count == 0 {
                self.end = self.next_read;
            }
            self.filled += count;
            self.next_read += count as u64;
        };
        if length == 0 && !is_complete {
            return Ok(None);
        }
        let offset = self.next_read - (self.filled - self.start) as u64;
        let bytes = &self.buffer[self.start..self.start + length];
        self.start += length + usize::from(is_complete);
        Ok(Some(Line { offset, bytes, is_complete }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FileMode, Fs, MemoryFs, RelPath};

    fn lines_of(bytes: &[u8]) -> Vec<(u64, Vec<u8>, bool)> {
        let fs = MemoryFs::new();
        let path: RelPath = "f".parse().unwrap();
        fs.write_atomic(&path, bytes, FileMode::Private).unwrap();
        let file = fs.open(&path).unwrap();
        let mut lines = Lines::new(&*file, 0, bytes.len() as u64);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.offset, line.bytes.to_vec(), line.is_complete));
        }
        found
    }

    #[test]
    fn the_last_line_may_lack_its_end() {
        let expect = vec![(0, b"a".to_vec(), true), (2, vec![], true), (3, b"bc".to_vec(), false)];
        assert_eq!(lines_of(b"a\n\nbc"), expect);
    }

    #[test]
    fn a_line_may_be_longer_than_the_buffer() {
        let mut bytes = vec![b'x'; 3 * CHUNK + 7];
        bytes.extend_from_slice(b"\nend\n");
        let found = lines_of(&bytes);
        assert_eq!((found.len(), found[0].1.len(), found[1].0), (2, 3 * CHUNK + 7, 3 * CHUNK as u64 + 8));
    }

    proptest! {
        #[test]
        fn lines_and_line_feeds_add_up_to_the_file(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..300)) {
            let mut whole = Vec::new();
            for (offset, line, is_complete) in lines_of(&bytes) {
                prop_assert_eq!(offset, whole.len() as u64);
                whole.extend(line);
                whole.extend(is_complete.then_some(b'\n'));
            }
            prop_assert_eq!(whole, bytes);
        }
    }
}
