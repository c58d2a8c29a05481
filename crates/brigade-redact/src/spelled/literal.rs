//! Finds what a value starts with, as it stands in a text before the first escape.

/// How far a text was searched for what a value starts with, and how many bytes of it stand before that place.
#[derive(Default)]
pub(super) struct Standing {
    searched: usize,
    length: usize,
}

impl Standing {
    /// Returns how many bytes of what a value starts with stand before a place, at most, and none of them before
    /// another place. Places come in order.
    pub(super) fn before(&mut self, literal: &Literal, text: &[u8], earliest: usize, at: usize) -> usize {
        let from = at.saturating_sub(literal.bytes.len()).max(earliest);
        if self.searched < from {
            (self.searched, self.length) = (from, 0);
        }
        for byte in &text[self.searched.min(at)..at] {
            self.length = literal.advance(self.length, *byte);
        }
        self.searched = self.searched.max(at);
        self.length
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

    pub(super) fn length(&self) -> usize {
        self.bytes.len()
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
