//! Converts byte positions to lines and columns.

/// An estimate of the bytes per line, which is rarely too large.
const BYTES_PER_LINE: usize = 16;

/// The maximum number of bytes that one query has to scan.
const BLOCK: usize = 256;

/// Finds the line and column of positions in a text.
#[derive(Debug)]
pub struct Locator<'a> {
    text: &'a str,
    first_line: usize,
    line_starts: Vec<usize>,
    /// The number of characters before each block. Empty if the text is ASCII.
    characters: Vec<usize>,
}

impl<'a> Locator<'a> {
    /// Prepares a text whose first line has the given number in its file.
    pub fn new(text: &'a str, first_line: usize) -> Locator<'a> {
        let mut line_starts = Vec::with_capacity(1 + text.len() / BYTES_PER_LINE);
        line_starts.push(0);
        line_starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        let mut characters = Vec::new();
        if !text.is_ascii() {
            let mut before = 0;
            for block in text.as_bytes().chunks(BLOCK) {
                characters.push(before);
                before += count_characters(block);
            }
        }
        Locator { text, first_line, line_starts, characters }
    }

    /// Returns the line and the column in characters, both from 1. A position past the end is treated as the end.
    pub fn locate(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= at) - 1;
        let column = self.characters_before(at) - self.characters_before(self.line_starts[line]) + 1;
        (self.first_line + line, column)
    }

    fn characters_before(&self, at: usize) -> usize {
        match self.characters.get(at / BLOCK) {
            Some(before) => before + count_characters(&self.text.as_bytes()[at / BLOCK * BLOCK..at]),
            // Either the text is ASCII, or this is the end of a text that fills its last block.
            None if self.characters.is_empty() => at,
            None => count_characters(self.text.as_bytes()),
        }
    }
}

/// Counts the bytes that start a character.
fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, at: &[usize], expect: &[(usize, usize)]) {
        let locator = Locator::new(text, 10);
        assert_eq!(at.iter().map(|at| locator.locate(*at)).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn columns_count_characters() {
        check("ab\ncd", &[0, 2, 3, 4, 5, 99], &[(10, 1), (10, 3), (11, 1), (11, 2), (11, 3), (11, 3)]);
        check("äöü=1\n€x", &[0, 2, 6, 11, 2, 9], &[(10, 1), (10, 2), (10, 4), (11, 2), (10, 2), (11, 1)]);
        check("", &[0], &[(10, 1)]);
    }

    #[test]
    fn long_lines_are_located_too() {
        let text = "ä".repeat(BLOCK * 2);
        check(&text, &[BLOCK * 4, BLOCK * 2, BLOCK * 2 + 2], &[(10, 513), (10, 257), (10, 258)]);
    }
}
