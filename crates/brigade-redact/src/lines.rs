//! Masks values with a secret name in a stream, line by line.

use super::MARK;
use super::named::{Context, named_values};

/// The line of a stream that has not ended yet.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    context: Context,
    line: Vec<u8>,
    /// Whether the beginning of the line was already released because it is too long.
    is_long: bool,
}

impl Lines {
    /// The maximum length of a line whose names are read.
    pub(crate) const LONGEST: usize = 8 << 10;

    pub(crate) fn new(context: Context) -> Lines {
        Lines { context, line: Vec::new(), is_long: false }
    }

    /// Takes the next bytes, and releases the lines that ended.
    pub(crate) fn push(&mut self, input: &[u8], output: &mut Vec<u8>) {
        for piece in input.split_inclusive(|byte| *byte == b'\n') {
            if self.is_long {
                output.extend_from_slice(piece);
            } else if self.line.is_empty() && piece.ends_with(b"\n") && piece.len() <= Lines::LONGEST {
                release(piece, self.context, output);
            } else {
                // The result must not depend on how the bytes arrive.
                let left = (Lines::LONGEST - self.line.len()).min(piece.len());
                self.line.extend_from_slice(&piece[..left]);
                if left < piece.len() {
                    self.finish(output);
                    output.extend_from_slice(&piece[left..]);
                    self.is_long = true;
                } else if piece.ends_with(b"\n") {
                    self.finish(output);
                }
            }
            self.is_long &= !piece.ends_with(b"\n");
        }
    }

    /// Releases the rest.
    pub(crate) fn finish(&mut self, output: &mut Vec<u8>) {
        release(&self.line, self.context, output);
        self.line.clear();
        self.is_long = false;
    }
}

fn release(line: &[u8], context: Context, output: &mut Vec<u8>) {
    let mut at = 0;
    for value in named_values(line, context) {
        output.extend_from_slice(&line[at..value.start]);
        output.extend_from_slice(MARK.as_bytes());
        at = value.end;
    }
    output.extend_from_slice(&line[at..]);
}
