//! Finds the places where a secret may be announced, fast.
//!
//! Every way in which a secret shows has an anchor of four bytes (`pass`, `toke`, `?://`, `ghp_` …). The scan looks
//! at pairs of bytes and skips as far as the pair allows (the algorithm of Wu and Manber), so it reads about every
//! third byte, and only at an anchor are the rules asked.

use std::sync::LazyLock;

use super::rules::PREFIXES;

/// What an anchor announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A field name.
    Name,
    /// A field name, from the second byte of the anchor on.
    ShortName,
    /// `bearer` before a token.
    Bearer,
    /// `basic` before a name and password.
    Basic,
    /// `uth` of a field `auth`.
    AuthField,
    /// A flag that is followed by a name and password.
    UserFlag,
    /// A URL, which may hold a name and password.
    Url,
    /// A JSON web token.
    JsonWebToken,
    /// The first line of a PEM block.
    Pem,
    /// The same of a key of SSH2.
    Ssh2,
    /// A header with cookies.
    Cookie,
    /// The signature of a URL, which lets whoever has it in.
    Signature,
    /// A well-known prefix, by its position in the list.
    Prefix(usize),
}

/// How many bytes an anchor has.
pub(super) const ANCHOR_LENGTH: usize = 4;

/// `?` stands for any byte; letters match in either case.
const FOLDED: &[(&[u8; ANCHOR_LENGTH], Anchor)] = &[
    (b"pass", Anchor::Name),
    (b"?pwd", Anchor::ShortName),
    (b"secr", Anchor::Name),
    (b"cred", Anchor::Name),
    (b"toke", Anchor::Name),
    (b"?key", Anchor::ShortName),
    // Of `authorization`: rarer than its beginning.
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

/// As above, but letters match as they are.
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
    /// How far the scan may move when it sees a pair at the end of its window; 0 means that an anchor may be here.
    moves: Box<[u8; 1 << 16]>,
    /// For a pair of no move, the list of anchors that end in it.
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
        // Few bytes match at a place, so the pairs are made of them and not looked for among all.
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
    /// Gives the scanner; its tables are built at the first use.
    pub(super) fn new() -> Anchors {
        Anchors { tables: &TABLES }
    }

    /// Finds the next position from `from` on where an anchor stands.
    ///
    /// An anchor that is not yet whole is not found; the last [`ANCHOR_LENGTH`] - 1 bytes must be seen again.
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

    /// Tells whether an anchor stands anywhere in a whole text.
    pub(super) fn stand_in(&self, text: &[u8]) -> bool {
        // Some have any byte before them, and the text may begin without one.
        let mut beginning = [b'\n'; ANCHOR_LENGTH];
        for (to, byte) in beginning[1..].iter_mut().zip(text) {
            *to = *byte;
        }
        self.next(text, 0).is_some() || self.next(&beginning, 0).is_some()
    }

    /// Lists the anchors that stand at a position.
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
    fn every_anchor_is_found_wherever_it_stands() {
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
