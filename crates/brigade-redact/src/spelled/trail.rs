//! Remembers what was matched of a value that repeats itself, so that overlapping beginnings are not matched anew.
//!
//! If a text spells the rest of a value from some position on, and the value has the same characters at an earlier
//! position, then the text spells these, too. So the next beginning goes on near the place where the last one ended.
//! This is the Z algorithm, with spelled characters in place of bytes.
//!
//! Characters are the same here if they are equal. A text does not tell all different ones apart: a name stands for any
//! character that is not ASCII, and eight backslashes for one to eight. A value that repeats different ones of these,
//! in a text that does so too, is still matched from each beginning.

/// How many characters after a step decide about it: whether the value itself has a number behind a backslash.
const AHEAD: usize = 13;

/// What was matched of a value from the beginning that came farthest.
#[derive(Default)]
pub(super) struct Trail {
    /// Places of the text, and the positions of the characters of the value that are expected there, plus `shift`.
    steps: Vec<(usize, usize)>,
    shift: usize,
    /// How far the text was searched for what the value starts with, and how many bytes of it stand before that place.
    searched: usize,
    standing: usize,
}

/// A place from which a beginning goes on.
pub(super) struct Known {
    pub(super) at: usize,
    pub(super) position: usize,
    /// Which step that is.
    step: usize,
    /// How much later in the value the trail is.
    offset: usize,
}

impl Trail {
    /// Returns how far the value is known to match from a character on.
    pub(super) fn known(&self, from: usize, position: usize, repeats: &[usize]) -> Option<Known> {
        let first = self.steps.binary_search_by_key(&from, |(at, _)| *at).ok()?;
        let offset = (self.steps[first].1 - self.shift).checked_sub(position)?;
        let alike = repeats.get(offset)?.checked_sub(AHEAD)?;
        let before = self.shift + offset;
        let known = self.steps[first..].partition_point(|(_, position)| position - before <= alike);
        let step = first + known.checked_sub(1)?;
        let (at, position) = self.steps[step];
        Some(Known { at, position: position - before, step, offset })
    }

    /// Notes what was matched, from the start or from a known place.
    pub(super) fn note(&mut self, known: Option<Known>, steps: Vec<(usize, usize)>) {
        if steps.len() < 2 || !self.is_farther(&steps) {
            return;
        }
        match known {
            Some(known) => {
                self.steps.truncate(known.step);
                self.shift += known.offset;
            }
            None => {
                self.steps.clear();
                self.shift = 0;
            }
        }
        self.steps.extend(steps.into_iter().map(|(at, position)| (at, position + self.shift)));
    }

    fn is_farther(&self, steps: &[(usize, usize)]) -> bool {
        self.steps.last().map(|(at, _)| *at) <= steps.last().map(|(at, _)| *at)
    }

    /// Returns how many bytes of what a value starts with stand before a place, at most. Places come in order.
    pub(super) fn standing_before(&mut self, literal: &Literal, text: &[u8], at: usize) -> usize {
        let from = at.saturating_sub(literal.bytes.len());
        if self.searched < from {
            (self.searched, self.standing) = (from, 0);
        }
        for byte in &text[self.searched.min(at)..at] {
            self.standing = literal.advance(self.standing, *byte);
        }
        self.searched = self.searched.max(at);
        self.standing
    }
}

/// What a value starts with, prepared for the search of Knuth, Morris and Pratt.
pub(super) struct Literal {
    bytes: Vec<u8>,
    /// For each length: the next shorter beginning that the beginning of this length ends with.
    shorter: Vec<usize>,
}

impl Literal {
    pub(super) fn new(bytes: Vec<u8>) -> Literal {
        let mut literal = Literal { shorter: vec![0; bytes.len() + 1], bytes };
        let mut length = 0;
        for at in 1..literal.bytes.len() {
            length = literal.advance(length, literal.bytes[at]);
            literal.shorter[at + 1] = length;
        }
        literal
    }

    pub(super) fn next_shorter(&self, length: usize) -> usize {
        self.shorter[length]
    }

    fn advance(&self, mut length: usize, byte: u8) -> usize {
        loop {
            if self.bytes.get(length) == Some(&byte) {
                return length + 1;
            }
            if length == 0 {
                return 0;
            }
            length = self.shorter[length];
        }
    }
}

/// Returns for each of these things how many from there on are those that all of them start with.
pub(super) fn repeats(length: usize, is_same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut repeats = vec![0; length];
    if let Some(all) = repeats.first_mut() {
        *all = length;
    }
    let (mut start, mut end) = (0, 0);
    for at in 1..length {
        let mut alike = if at < end { repeats[at - start].min(end - at) } else { 0 };
        while at + alike < length && is_same(alike, at + alike) {
            alike += 1;
        }
        repeats[at] = alike;
        if end < at + alike {
            (start, end) = (at, at + alike);
        }
    }
    repeats
}
