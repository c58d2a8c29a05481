//! Finds where a token shape may be. The compiler computes all tables, so starting the program computes none.
//!
//! Each anchor is known by three of its bytes, the rarest ones: its key. Keys are in 64 groups, and a table says for
//! each byte and place in which groups a key has it there, so three lookups tell whether a key may begin at a position.

use super::shapes::SHAPES;

/// The rule that is applied where an anchor is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The shape with this index.
    Shape(usize),
    /// `scheme://user:password@host`
    Url,
    JsonWebToken,
    PrivateKey,
    /// A header with a scheme and a token.
    Authorization,
    /// `Bearer` with a token.
    Bearer,
}

/// A text that a kind of secret contains, and its rule.
#[derive(Clone, Copy)]
pub(crate) struct Anchor {
    pub(crate) text: &'static str,
    pub(crate) rule: Rule,
    /// The offset of the three bytes.
    key: usize,
}

const OTHERS: [(&str, Rule); 7] = [
    ("://", Rule::Url),
    ("eyJ", Rule::JsonWebToken),
    ("-----BEGIN ", Rule::PrivateKey),
    ("Authorization", Rule::Authorization),
    ("authorization", Rule::Authorization),
    ("AUTHORIZATION", Rule::Authorization),
    ("Bearer ", Rule::Bearer),
];

/// The number of bytes that identify an anchor.
const KEY: usize = 3;

/// The last offset of a key in its anchor.
pub(crate) const LAST_KEY: usize = 12;

pub(crate) static ANCHORS: [Anchor; SHAPES.len() + OTHERS.len()] = ALL;

const ALL: [Anchor; SHAPES.len() + OTHERS.len()] = {
    let mut anchors = [Anchor { text: "", rule: Rule::Url, key: 0 }; SHAPES.len() + OTHERS.len()];
    let mut at = 0;
    while at < anchors.len() {
        let (text, rule) =
            if at < SHAPES.len() { (SHAPES[at].prefix, Rule::Shape(at)) } else { OTHERS[at - SHAPES.len()] };
        anchors[at] = Anchor { text, rule, key: rarest(text.as_bytes()) };
        at += 1;
    }
    anchors
};

/// Returns the offset of the three rarest bytes of an anchor.
const fn rarest(text: &[u8]) -> usize {
    assert!(KEY <= text.len(), "a prefix has at least three bytes");
    let (mut best, mut least, mut at) = (0, usize::MAX, 0);
    while at + KEY <= text.len() && at <= LAST_KEY {
        let sum = commonness(text[at]) + commonness(text[at + 1]) + commonness(text[at + 2]);
        if sum < least {
            (best, least) = (at, sum);
        }
        at += 1;
    }
    best
}

const fn commonness(byte: u8) -> usize {
    match byte {
        b'a' | b'e' | b'i' | b'n' | b'o' | b'r' | b's' | b't' | b'-' | b' ' => 5,
        b'a'..=b'z' => 3,
        b'_' | b'.' | b'/' | b'=' => 2,
        _ => 1,
    }
}

/// For each byte and place in a key, the groups that have a key with this byte there. A key may be where one group has
/// all three bytes.
static GROUPS: [[u64; 256]; KEY] = {
    let (mut groups, mut order, mut at) = ([[0; 256]; KEY], [0; ALL.len()], 0);
    // Keys that end in the same way share a group, so that a group has few of the last bytes.
    while at < order.len() {
        let (mut to, rank) = (at, end_first(&ALL[at]));
        while 0 < to && rank < end_first(&ALL[order[to - 1]]) {
            order[to] = order[to - 1];
            to -= 1;
        }
        order[to] = at;
        at += 1;
    }
    at = 0;
    while at < order.len() {
        let (text, key) = (ALL[order[at]].text.as_bytes(), ALL[order[at]].key);
        let mut place = 0;
        while place < KEY {
            groups[place][text[key + place] as usize] |= 1 << (at * 64 / order.len());
            place += 1;
        }
        at += 1;
    }
    groups
};

/// Returns the bytes of a key as a number, the last byte first.
const fn end_first(anchor: &Anchor) -> u32 {
    let (text, key) = (anchor.text.as_bytes(), anchor.key);
    u32::from_be_bytes([0, text[key + 2], text[key + 1], text[key]])
}

const BUCKETS: usize = 1 << 12;

/// The first anchor of each bucket of keys, and for each anchor the next one of its bucket; both from 1.
static CHAINS: ([u16; BUCKETS], [u16; ALL.len()]) = {
    let (mut heads, mut next) = ([0; BUCKETS], [0; ALL.len()]);
    let mut at = ALL.len();
    while 0 < at {
        at -= 1;
        let (text, key) = (ALL[at].text.as_bytes(), ALL[at].key);
        let bucket = bucket(text[key], text[key + 1], text[key + 2]);
        next[at] = heads[bucket];
        heads[bucket] = at as u16 + 1;
    }
    (heads, next)
};

const fn bucket(first: u8, second: u8, third: u8) -> usize {
    (((first as usize) << 8) ^ ((second as usize) << 4) ^ (third as usize)) & (BUCKETS - 1)
}

/// How many positions are looked at together.
const BLOCK: usize = 16;

/// Returns the next position at which a key may be.
pub(crate) fn next(bytes: &[u8], from: usize) -> Option<usize> {
    let mut start = from;
    while let Some(block) = bytes.get(start..).and_then(<[u8]>::first_chunk::<{ BLOCK + KEY - 1 }>) {
        let (mut groups, mut at) = (0, 0);
        while at < BLOCK {
            groups |= groups_at(block[at], block[at + 1], block[at + 2]);
            at += 1;
        }
        if groups != 0
            && let Some(at) = first_key(block)
        {
            return Some(start + at);
        }
        start += BLOCK;
    }
    first_key(bytes.get(start..)?).map(|at| start + at)
}

fn first_key(bytes: &[u8]) -> Option<usize> {
    bytes.windows(KEY).position(|key| {
        groups_at(key[0], key[1], key[2]) != 0 && CHAINS.0[bucket(key[0], key[1], key[2])] != 0
    })
}

fn groups_at(first: u8, second: u8, third: u8) -> u64 {
    GROUPS[0][usize::from(first)] & GROUPS[1][usize::from(second)] & GROUPS[2][usize::from(third)]
}

/// Lists the anchors whose key is at a position, and where each begins. The rest of their texts is not compared yet.
pub(crate) fn at(bytes: &[u8], key: usize) -> impl Iterator<Item = (&'static Anchor, usize)> + '_ {
    let mut next = CHAINS.0[bucket(bytes[key], bytes[key + 1], bytes[key + 2])];
    std::iter::from_fn(move || {
        let index = usize::from(next).checked_sub(1)?;
        next = CHAINS.1[index];
        Some(&ANCHORS[index])
    })
    .filter_map(move |anchor| {
        let found = &bytes[key..key + KEY];
        let is_key = anchor.text.as_bytes()[anchor.key..].starts_with(found);
        is_key.then(|| key.checked_sub(anchor.key)).flatten().map(|start| (anchor, start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_found_at_any_distance() {
        for anchor in &ANCHORS {
            for before in 0..9 {
                let text = format!("{}{}", "~".repeat(before), anchor.text);
                let bytes = text.as_bytes();
                let places = std::iter::successors(next(bytes, 0), |place| next(bytes, place + 1));
                let mut found = places.flat_map(|place| at(bytes, place).collect::<Vec<_>>());
                assert!(found.any(|(one, start)| one.rule == anchor.rule && start == before), "{text}");
            }
        }
    }
}
