//! Finds where a token shape may be. The compiler computes all tables, so starting the program computes none.
//!
//! Each anchor is identified by its three rarest bytes. The scan examines about every second byte: a pair of bytes that
//! does not end such a triple tells how many bytes may be skipped (Wu and Manber, 1994).

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

const PAIRS: usize = 1 << 14;

/// How many bytes may be skipped after a pair of bytes; 0 where a key may end.
static SKIPS: [u8; PAIRS] = {
    let mut skips = [(KEY - 1) as u8; PAIRS];
    let mut at = 0;
    while at < ALL.len() {
        let (text, key) = (ALL[at].text.as_bytes(), ALL[at].key);
        let first = pair(text[key], text[key + 1]);
        if 1 < skips[first] {
            skips[first] = 1;
        }
        skips[pair(text[key + 1], text[key + 2])] = 0;
        at += 1;
    }
    skips
};

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

const fn pair(first: u8, second: u8) -> usize {
    (((first as usize) << 7) ^ (second as usize)) & (PAIRS - 1)
}

const fn bucket(first: u8, second: u8, third: u8) -> usize {
    (((first as usize) << 8) ^ ((second as usize) << 4) ^ (third as usize)) & (BUCKETS - 1)
}

/// Returns the next position at which a key may be.
pub(crate) fn next(bytes: &[u8], from: usize) -> Option<usize> {
    let mut last = from + KEY - 1;
    while last < bytes.len() {
        let skip = SKIPS[pair(bytes[last - 1], bytes[last])];
        if skip != 0 {
            last += usize::from(skip);
            continue;
        }
        if CHAINS.0[bucket(bytes[last - 2], bytes[last - 1], bytes[last])] != 0 {
            return Some(last - 2);
        }
        last += 1;
    }
    None
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
