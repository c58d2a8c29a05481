//! Finds the first line of a text that holds a secret.

use crate::Redactor;

/// How much text is searched at a time.
const PIECE: usize = 64 << 10;

/// Finds the first secret in a text that arrives in pieces.
///
/// ```
/// use brigade_redact::{FirstSecret, Redactor, SecretValue};
///
/// let mut first = FirstSecret::new(&Redactor::new(&[SecretValue::from("hunter2EXAMPLE")]), 10);
/// first.push(b"one\ntwo hunter2");
/// first.push(b"EXAMPLE\n");
/// assert_eq!(first.finish(), Some(11));
/// ```
#[derive(Debug)]
pub struct FirstSecret {
    redactor: Redactor,
    /// Text that is not searched yet.
    piece: Vec<u8>,
    /// Text that the redactor holds back.
    held: Vec<u8>,
    /// The number of the line on which `held` begins.
    line: u64,
    found: Option<u64>,
}

impl FirstSecret {
    /// Starts a text whose first line has this number. Values too short to prove anything are not found.
    pub fn new(redactor: &Redactor, line: u64) -> FirstSecret {
        let redactor = redactor.for_refusals();
        FirstSecret { redactor, piece: Vec::new(), held: Vec::new(), line, found: None }
    }

    /// Takes the next bytes of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.found.is_none() {
            self.piece.extend_from_slice(bytes);
            if PIECE <= self.piece.len() {
                self.search(false);
            }
        }
    }

    /// Ends the text, and returns the number of the first line with a secret. The next text starts at line 1.
    pub fn finish(&mut self) -> Option<u64> {
        self.search(true);
        self.restart(1)
    }

    /// Forgets the text, and starts another one whose first line has this number. Returns what was found.
    pub fn restart(&mut self, line: u64) -> Option<u64> {
        self.redactor = self.redactor.clone();
        self.piece.clear();
        self.held.clear();
        self.line = line;
        self.found.take()
    }

    /// Compares what the redactor releases with what it was given.
    fn search(&mut self, is_end: bool) {
        if self.found.is_some() {
            return;
        }
        let mut released = Vec::with_capacity(self.piece.len());
        self.redactor.push(&self.piece, &mut released);
        if is_end {
            self.redactor.finish(&mut released);
        }
        self.held.append(&mut self.piece);
        let same = self.held.iter().zip(&released).take_while(|(held, released)| held == released).count();
        self.line += self.held[..same].iter().filter(|byte| **byte == b'\n').count() as u64;
        // A mark may be longer than what it replaces.
        if same < released.len() || (is_end && same < self.held.len()) {
            self.found = Some(self.line);
        }
        self.held.drain(..same);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretValue;

    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        let bound = [SecretValue::from("blue-whale-77"), SecretValue::from("abc")];
        for size in [1, 7, text.len().max(1)] {
            let mut first = FirstSecret::new(&Redactor::new(&bound), 1);
            text.as_bytes().chunks(size).for_each(|piece| first.push(piece));
            assert_eq!(first.finish(), expect, "{text:?} by {size}");
        }
    }

    #[test]
    fn the_line_of_the_first_secret_is_found() {
        check("", None);
        check("one\ntwo\n", None);
        check("one\ntwo blue-whale-77\nthree blue-whale-77\n", Some(2));
        check("abc\n", None);
        check("one\n\nkey = \"AKIAIOSFODNN7EXAMPLE\"\n", Some(3));
        check("password = \"hunter2\"\nthis.token = reply.accessToken\n[redacted]\n", None);
        let long = format!("{}blue-whale-77", "x\n".repeat(80_000));
        let mut first = FirstSecret::new(&Redactor::new(&[SecretValue::from("blue-whale-77")]), 1);
        first.push(long.as_bytes());
        assert_eq!(first.finish(), Some(80_001));
    }
}
