//! Characters of a log that is read in pieces.

/// Joins characters that are split between parts of a log. Invalid bytes are replaced.
#[derive(Default)]
pub(crate) struct Characters {
    waiting: Vec<u8>,
}

impl Characters {
    /// Adds a part and returns all complete characters.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> String {
        self.waiting.extend_from_slice(bytes);
        let complete = self.waiting.len() - incomplete(&self.waiting);
        let rest = self.waiting.split_off(complete);
        let text = String::from_utf8_lossy(&self.waiting).into_owned();
        self.waiting = rest;
        text
    }

    /// Returns the remaining incomplete bytes, replaced.
    pub(crate) fn rest(self) -> String {
        String::from_utf8_lossy(&self.waiting).into_owned()
    }
}

/// Returns the length of an incomplete character at the end.
fn incomplete(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last().map(|chunk| chunk.invalid()) {
        // An error that more bytes could complete has no `error_len`.
        Some(end) if std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none()) => end.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8]) {
        let whole = String::from_utf8_lossy(bytes);
        for size in 1..=bytes.len() {
            let mut characters = Characters::default();
            let mut shown: String = bytes.chunks(size).map(|piece| characters.take(piece)).collect();
            shown.push_str(&characters.rest());
            assert_eq!(shown, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn characters_are_whole_however_they_come() {
        check("aä€😀z".as_bytes());
        check(b"a\xff\xc3\xe2\x82z\xf0\x9f\x98");
        check(b"\x80\x80\x80\x80\x80");
    }
}
