//! The stream of a redactor: finds the ranges to mask and releases the rest.

use std::ops::Range;

use super::MARK;
use super::bound::Bound;
use super::find::{self, BEFORE_ANCHOR, Ending, LOOKBEHIND};
use super::redactor::Layers;
use super::scan;
use super::window::{Extent, More, Window};

/// The bytes of a stream that are not released yet, and some released ones for context.
///
/// All positions are indexes into `buffer`.
#[derive(Clone)]
pub(super) struct Stream {
    /// Starts with a line feed that is not part of the stream, so that every byte has a predecessor.
    buffer: Vec<u8>,
    layers: Layers,
    /// The start of the bytes that are not released yet.
    passed: usize,
    /// Where the search for bound values continues.
    bound_from: usize,
    /// Where the search for anchors continues.
    rules_from: usize,
    /// The secret that extends past the search position.
    open: Option<Ending>,
    /// The ranges to mask from `passed` on, unordered.
    masks: Vec<Range<usize>>,
    /// The end of the last masked bytes, if nothing was released since. An adjacent secret needs no second mark.
    masked_to: Option<usize>,
}

/// Returns the earliest position at which a secret can begin whose anchor comes after these bytes, or is cut off by
/// their end. It is near the end and on the last line, because neither an anchor nor the text before it in a secret
/// contains a line feed.
fn earliest_secret(before: &[u8]) -> usize {
    let near = before.len().saturating_sub(BEFORE_ANCHOR + 2);
    memchr::memrchr(b'\n', &before[near..]).map_or(near, |at| near + at + 1)
}

/// How much input is processed at a time.
const PIECE: usize = 64 * 1024;

/// How many released bytes are kept.
const CONTEXT: usize = LOOKBEHIND + 256;

impl Stream {
    pub(super) fn new(layers: Layers) -> Stream {
        Stream {
            buffer: vec![b'\n'],
            layers,
            passed: 1,
            bound_from: 1,
            rules_from: 0,
            open: None,
            masks: Vec::new(),
            masked_to: None,
        }
    }

    /// Takes the next bytes, and releases those that are decided.
    pub(super) fn push(&mut self, bound: Option<&Bound>, input: &[u8], output: &mut Vec<u8>) {
        for piece in input.chunks(PIECE) {
            self.buffer.extend_from_slice(piece);
            self.run(bound, Extent::GoesOn, output);
            self.forget();
        }
    }

    /// Returns how many bytes are held back.
    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.buffer.len() - self.passed
    }

    /// Decides and releases all remaining bytes.
    pub(super) fn finish(&mut self, bound: Option<&Bound>, output: &mut Vec<u8>) {
        self.run(bound, Extent::Ended, output);
    }

    fn run(&mut self, bound: Option<&Bound>, extent: Extent, output: &mut Vec<u8>) {
        let mut decided = self.buffer.len();
        if self.layers != Layers::Bound {
            decided = decided.min(self.apply_rules(extent));
        }
        let undecided = self.buffer.len() - self.bound_from;
        let is_due = |bound: &&Bound| extent == Extent::Ended || bound.is_due(undecided);
        if let Some(bound) = bound.filter(is_due) {
            let window = Window { bytes: &self.buffer, extent };
            self.bound_from = bound.find(window, self.bound_from, &mut self.masks);
        }
        if bound.is_some() {
            decided = decided.min(self.bound_from);
        }
        self.pass(decided, output);
    }

    /// Searches for anchors and applies their rules. Returns the position before which everything is decided.
    fn apply_rules(&mut self, extent: Extent) -> usize {
        let Stream { buffer, rules_from, open, masks, .. } = self;
        let window = Window { bytes: buffer, extent };
        'search: loop {
            if let Some(ending) = open {
                let (end, has_ended) = ending.advance(window, *rules_from);
                if *rules_from < end {
                    masks.push(*rules_from..end);
                }
                *rules_from = end;
                if !has_ended {
                    return end;
                }
                *open = None;
            }
            let Some(at) = scan::next(buffer, *rules_from) else { break };
            for (anchor, start) in scan::at(buffer, at) {
                match find::find(anchor, window, start) {
                    Ok(None) => {}
                    Ok(Some(found)) => {
                        *rules_from = found.start;
                        *open = Some(found.ending);
                        continue 'search;
                    }
                    Err(More) => {
                        *rules_from = at;
                        return earliest_secret(&buffer[..at]);
                    }
                }
            }
            *rules_from = at + 1;
        }
        match extent {
            Extent::Ended => buffer.len(),
            Extent::GoesOn => {
                // An anchor may have started.
                *rules_from = (buffer.len().saturating_sub(2)).max(*rules_from);
                earliest_secret(buffer)
            }
        }
    }

    /// Releases the bytes before `decided`, masked.
    fn pass(&mut self, decided: usize, output: &mut Vec<u8>) {
        self.masks.sort_unstable_by_key(|mask| mask.start);
        let mut left = 0;
        for index in 0..self.masks.len() {
            let mask = self.masks[index].clone();
            let start = mask.start.max(self.passed);
            let end = mask.end.min(decided);
            if start < end {
                if self.passed < start {
                    output.extend_from_slice(&self.buffer[self.passed..start]);
                    self.masked_to = None;
                }
                if self.masked_to != Some(start) {
                    output.extend_from_slice(MARK.as_bytes());
                }
                self.passed = end;
                self.masked_to = Some(end);
            }
            if decided < mask.end {
                self.masks[left] = mask.start.max(decided)..mask.end;
                left += 1;
            }
        }
        self.masks.truncate(left);
        if self.passed < decided {
            output.extend_from_slice(&self.buffer[self.passed..decided]);
            self.passed = decided;
            self.masked_to = None;
        }
    }

    /// Drops bytes that no decision needs any more.
    fn forget(&mut self) {
        let mut needed = self.passed;
        if self.layers != Layers::Bound {
            needed = needed.min(self.rules_from);
        }
        let dropped = needed.saturating_sub(CONTEXT);
        if dropped == 0 {
            return;
        }
        self.buffer.drain(..dropped);
        self.passed -= dropped;
        self.bound_from = self.bound_from.saturating_sub(dropped);
        self.rules_from = self.rules_from.saturating_sub(dropped);
        self.masked_to = self.masked_to.map(|end| end - dropped);
        for mask in &mut self.masks {
            mask.start -= dropped;
            mask.end -= dropped;
        }
    }
}
