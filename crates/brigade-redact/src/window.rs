//! The part of a stream that is in memory.

/// More input is needed to decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct More;

/// Bytes of a stream. Reading past them either finds the end of the stream or asks for [`More`].
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    /// The available bytes.
    pub(super) bytes: &'a [u8],
    /// Whether the stream ends with them.
    pub(super) extent: Extent,
}

/// Whether a stream continues after a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    GoesOn,
    Ended,
}

impl Window<'_> {
    /// Returns the byte at a position, or `None` after the end of the stream.
    pub(super) fn at(&self, position: usize) -> Result<Option<u8>, More> {
        match self.bytes.get(position) {
            Some(byte) => Ok(Some(*byte)),
            None if self.extent == Extent::Ended => Ok(None),
            None => Err(More),
        }
    }

    /// Returns whether a text is at a position.
    pub(super) fn has(&self, position: usize, text: &[u8]) -> Result<bool, More> {
        for (offset, expect) in text.iter().enumerate() {
            if self.at(position + offset)? != Some(*expect) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Skips at most `limit` bytes of a kind, and returns the position after them.
    pub(super) fn skip(&self, from: usize, limit: usize, kind: impl Fn(u8) -> bool) -> Result<usize, More> {
        let mut position = from;
        while position - from < limit && self.at(position)?.is_some_and(&kind) {
            position += 1;
        }
        Ok(position)
    }

    /// Returns whether a word may start at a position: after any byte except a letter or digit, or after an escape that
    /// ends in one (`
    /// `, `%20`, a color sequence).
    pub(super) fn begins_word(&self, position: usize) -> bool {
        let before = &self.bytes[..position];
        let Some(previous) = before.last() else { return true };
        !previous.is_ascii_alphanumeric() || self.escape_ends_at(position)
    }

    /// Returns whether an escape sequence that ends in a letter or digit ends at a position.
    fn escape_ends_at(&self, position: usize) -> bool {
        let before = &self.bytes[..position];
        match before {
            [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'0'] => true,
            [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
            [.., b'\\', b'u', b'0', b'0', high, low]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                true
            }
            [rest @ .., b'm' | b'K'] => {
                let digits =
                    rest.iter().rev().take(24).take_while(|b| b.is_ascii_digit() || **b == b';').count();
                rest[..rest.len() - digits].ends_with(b"\x1b[")
            }
            _ => false,
        }
    }
}
