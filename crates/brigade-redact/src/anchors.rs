//! A fast search for the places where a secret may start.
//!
//! Every kind of secret has an anchor of four bytes (`pass`, `toke`, `?://`, `ghp_` …). The scan looks at pairs of
//! bytes and skips as far as a pair allows (the Wu-Manber algorithm), so it reads about every third byte. The rules run
//! only at anchors.

use std::sync::LazyLock;

use super::rules::PREFIXES;

/// The kind of secret that an anchor indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A field name.
    Name,
    /// A field name that starts at the second byte of the anchor.
    ShortName,
    /// `bearer` before a token.
    Bearer,
    /// `basic` before a name and password.
    Basic,
    /// The `uth` of a field `auth`.
    AuthField,
    /// A flag that is followed by a name and password.
    UserFlag,
    /// A URL, which may hold a name and password.
    Url,
    /// A JSON web token.
    JsonWebToken,
    /// The first line of a PEM block.
    Pem,
    /// The first line of an SSH2 key.
    Ssh2,
    /// A header with cookies.
    Cookie,
    /// The signature of a URL, which grants access.
    Signature,
    /// A well-known prefix, by its index in the list.
    Prefix(usize),
}

/// The length of an anchor in bytes.
pub(super) const ANCHOR_LENGTH: usize = 4;

/// `?` matches any byte. Letters match in either case.
const FOLDED: &[(&[u8; ANCHOR_LENGTH], Anchor)] = &[
    (b"pass", Anchor::Name),
    (b"?pwd", Anchor::ShortName),
    (b"secr", Anchor::Name),
    (b"cred", Anchor::Name),
    (b"toke", Anchor::Name),
    (b"?key", Anchor::ShortName),
    // Part of `authorization`, and rarer than its start.
    (b"riza", Anchor::Name),
    (b"bear", Anchor::Bearer),
    (b"basi", Anchor::Basic),
    (b"uth\"", Anchor::AuthField),
    (b"uth=", Anchor::AuthField),
    (b"uth:", Anchor::AuthField),
    (b"?://", Anchor::Url),
    (b"ooki", Anchor::Cookie),
    (b"?sig", Anchor::Signature),
];

/// As above, but case-sensitive.
const EXACT: &[(&[u8; ANCHOR_LENGTH], Anchor)] = &[
    (b"?eyJ", Anchor::JsonWebToken),
    (b"-BEG", Anchor::Pem),
    (b"SSH2", Anchor::Ssh2),
    (b" -u ", Anchor::UserFlag),
    (b"\"-u\"", Anchor::UserFlag),
    (b"-use", Anchor::UserFlag),
];

struct Entry {
    mask: u32,
    value: u32,
    anchor: Anchor,
}

struct Tables {
    /// How far the scan may skip after a pair at the end of its window. 0 means that an anchor may be here.
    moves: Box<[u8; 1 << 16]>,
    /// The anchors that end in a pair, for pairs that allow no skip.
    lists: Box<[u16; 1 << 16]>,
    entries: Vec<Vec<Entry>>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::build);

impl Tables {
    fn build() -> Tables {
        let mut tables = Tables {
            moves: Box::new([(ANCHOR_LENGTH - 1) as u8; 1 << 16]),
            lists: Box::new([0; 1 << 16]),
            entries: vec![Vec::new()],
        };
        for (text, anchor) in FOLDED {
            tables.add(**text, 0xdf, *anchor);
        }
        for (text, anchor) in EXACT {
            tables.add(**text, 0xff, *anchor);
        }
        for (index, prefix) in PREFIXES.iter().enumerate() {
            tables.add(prefix.anchor(), 0xff, Anchor::Prefix(index));
        }
        tables
    }

    fn add(&mut self, text: [u8; ANCHOR_LENGTH], letter_mask: u8, anchor: Anchor) {
        let masks = text.map(|b| match b {
            b'?' => 0,
            b if b.is_ascii_alphabetic() => letter_mask,
            _ => 0xff,
        });
        // Few bytes match at each place, so building the pairs is cheaper than testing all of them.
        let bytes = |at: usize| (0..=u8::MAX).filter(move |byte| byte & masks[at] == text[at] & masks[at]);
        for at in 0..ANCHOR_LENGTH - 1 {
            let distance = (ANCHOR_LENGTH - 2 - at) as u8;
            let seconds: Vec<u8> = bytes(at + 1).collect();
            for (first, second) in
                bytes(at).flat_map(|first| seconds.iter().map(move |second| (first, *second)))
            {
                let pair = u16::from_le_bytes([first, second]);
                let slot = &mut self.moves[usize::from(pair)];
                *slot = distance.min(*slot);
                if distance == 0 {
                    self.add_entry(
                        pair,
                        Entry {
                            mask: u32::from_le_bytes(masks),
                            value: u32::from_le_bytes(text) & u32::from_le_bytes(masks),
                            anchor,
                        },
                    );
                }
            }
        }
    }

    fn add_entry(&mut self, pair: u16, entry: Entry) {
        let list = &mut self.lists[usize::from(pair)];
        if *list == 0 {
            *list = u16::try_from(self.entries.len()).expect("there are fewer pairs than anchors times four");
            self.entries.push(Vec::new());
        }
        self.entries[usize::from(*list)].push(entry);
    }
}

/// Scans for anchors.
#[derive(Clone, Copy)]
pub(super) struct Anchors {
    tables: &'static Tables,
}

impl Anchors {
    /// Returns the scanner. Its tables are built on first use.
    pub(super) fn new() -> Anchors {
        Anchors { tables: &TABLES }
    }

    /// Finds the next anchor at or after `from`.
    ///
    /// A partial anchor at the end is not found, so the caller must pass the last [`ANCHOR_LENGTH`] - 1 bytes again.
    pub(super) fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut position = from;
        while let Some(&[a, b, c, d]) = bytes.get(position..position + ANCHOR_LENGTH) {
            let pair = usize::from(u16::from_le_bytes([c, d]));
            let distance = usize::from(self.tables.moves[pair]);
            if distance == 0 {
                let word = u32::from_le_bytes([a, b, c, d]);
                let list = &self.tables.entries[usize::from(self.tables.lists[pair])];
                if list.iter().any(|entry| word & entry.mask == entry.value) {
                    return Some(position);
                }
                position += 1;
            } else {
                position += distance;
            }
        }
        None
    }

    /// Returns whether a complete text contains an anchor.
    pub(super) fn stand_in(&self, text: &[u8]) -> bool {
        // Some anchors start with any byte, which is missing at the start of the text.
        let mut beginning = [b'\n'; ANCHOR_LENGTH];
        for (to, byte) in beginning[1..].iter_mut().zip(text) {
            *to = *byte;
        }
        self.next(text, 0).is_some() || self.next(&beginning, 0).is_some()
    }

    /// Lists the anchors at a position.
    pub(super) fn at(&self, bytes: &[u8], position: usize) -> impl Iterator<Item = Anchor> + use<> {
        let mut word = [0; ANCHOR_LENGTH];
        if let Some(found) = bytes.get(position..position + ANCHOR_LENGTH) {
            word.copy_from_slice(found);
        }
        let pair = usize::from(u16::from_le_bytes([word[2], word[3]]));
        let word = u32::from_le_bytes(word);
        let list = &self.tables.entries[usize::from(self.tables.lists[pair])];
        list.iter().filter(move |entry| word & entry.mask == entry.value).map(|entry| entry.anchor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_found_at_any_position() {
        for (text, anchor) in FOLDED.iter().chain(EXACT) {
            for padding in 0..9 {
                let mut bytes = vec![b'~'; padding];
                bytes.extend_from_slice(*text);
                bytes.extend_from_slice(b"~~");
                let found = Anchors::new().next(&bytes, 0).unwrap();
                assert_eq!(found, padding);
                assert!(Anchors::new().at(&bytes, found).any(|found| found == *anchor));
            }
        }
    }
}
