//! A fast search for the places where a secret may start.
//!
//! Every kind of secret has an anchor of four bytes (`pass`, `toke`, `?://`, `ghp_` …). The scan looks at pairs of
//! bytes and skips as far as a pair allows (the Wu-Manber algorithm), so it reads about every third byte. The rules run
//! only at anchors.

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
    /// The `fied` of `identified by`.
    Identified,
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
    (b"fied", Anchor::Identified),
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

/// An anchor that ends in some pair of bytes.
#[derive(Clone, Copy)]
struct Entry {
    mask: u32,
    value: u32,
    anchor: Anchor,
    /// The next entry of the same pair, counted from 1; 0 for none.
    next: u8,
}

/// More than all pairs that end an anchor.
const MOST_ENTRIES: usize = u8::MAX as usize - ANCHOR_LENGTH;

/// Made by the compiler: making it takes longer than most commands run.
struct Tables {
    /// What to do when the scan sees a pair at the end of its window. Below [`ANCHOR_LENGTH`]: how far it may move.
    /// From there on an anchor may be here, and this is the number of the first entry of the pair.
    steps: [u8; 1 << 16],
    entries: [Entry; MOST_ENTRIES],
    count: usize,
}

#[allow(long_running_const_eval, reason = "every anchor looks at every byte, which ends")]
static TABLES: Tables = Tables::build();

impl Tables {
    const fn build() -> Tables {
        let none = Entry { mask: 0, value: 0, anchor: Anchor::Name, next: 0 };
        let mut tables =
            Tables { steps: [(ANCHOR_LENGTH - 1) as u8; 1 << 16], entries: [none; MOST_ENTRIES], count: 0 };
        let mut index = 0;
        while index < FOLDED.len() {
            tables.add(*FOLDED[index].0, 0xdf, FOLDED[index].1);
            index += 1;
        }
        index = 0;
        while index < EXACT.len() {
            tables.add(*EXACT[index].0, 0xff, EXACT[index].1);
            index += 1;
        }
        index = 0;
        while index < PREFIXES.len() {
            tables.add(PREFIXES[index].anchor(), 0xff, Anchor::Prefix(index));
            index += 1;
        }
        tables
    }

    const fn add(&mut self, text: [u8; ANCHOR_LENGTH], letter_mask: u8, anchor: Anchor) {
        let mut masks = [0xff; ANCHOR_LENGTH];
        let mut at = 0;
        while at < ANCHOR_LENGTH {
            if text[at] == b'?' {
                masks[at] = 0;
            } else if text[at].is_ascii_alphabetic() {
                masks[at] = letter_mask;
            }
            at += 1;
        }
        let mask = u32::from_le_bytes(masks);
        let value = u32::from_le_bytes(text) & mask;
        at = 0;
        while at < ANCHOR_LENGTH - 1 {
            let distance = (ANCHOR_LENGTH - 2 - at) as u8;
            let mut first = 0;
            while first < 256 {
                let mut second = 0;
                // Few bytes match at a place, so most of the pairs are not even looked at.
                while second < 256 && first as u8 & masks[at] == text[at] & masks[at] {
                    let pair = first | second << 8;
                    if second as u8 & masks[at + 1] == text[at + 1] & masks[at + 1] {
                        if distance == 0 {
                            self.add_entry(pair, Entry { mask, value, anchor, next: 0 });
                        } else if distance < self.steps[pair] && self.steps[pair] < ANCHOR_LENGTH as u8 {
                            self.steps[pair] = distance;
                        }
                    }
                    second += 1;
                }
                first += 1;
            }
            at += 1;
        }
    }

    const fn add_entry(&mut self, pair: usize, entry: Entry) {
        self.entries[self.count] = entry;
        self.count += 1;
        let number = self.count as u8;
        let step = self.steps[pair];
        if step < ANCHOR_LENGTH as u8 {
            self.steps[pair] = ANCHOR_LENGTH as u8 - 1 + number;
            return;
        }
        let mut last = (step - ANCHOR_LENGTH as u8) as usize;
        while self.entries[last].next != 0 {
            last = self.entries[last].next as usize - 1;
        }
        self.entries[last].next = number;
    }

    /// Lists the entries whose chain begins at this one, counted from 0.
    fn chain(&self, first: u8) -> impl Iterator<Item = &Entry> {
        let entry = |number: u8| self.entries.get(usize::from(number).checked_sub(1)?);
        std::iter::successors(entry(first + 1), move |last| entry(last.next))
    }
}

/// The longest text that is looked at whether it is only a name.
const LONGEST_NAME: usize = 128;

/// Scans for anchors.
#[derive(Clone, Copy)]
pub(super) struct Anchors {
    tables: &'static Tables,
}

impl Anchors {
    /// Returns the scanner.
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
            let step = self.tables.steps[pair];
            if let Some(first) = step.checked_sub(ANCHOR_LENGTH as u8) {
                let word = u32::from_le_bytes([a, b, c, d]);
                if self.tables.chain(first).any(|entry| word & entry.mask == entry.value) {
                    return Some(position);
                }
                position += 1;
            } else {
                position += usize::from(step);
            }
        }
        None
    }

    /// Returns whether a complete text contains an anchor that can begin a secret there.
    pub(super) fn stand_in(&self, text: &[u8]) -> bool {
        self.is_anywhere(text) && !self.is_only_a_name(text)
    }

    /// Returns whether a text is a name alone, such as `API_KEY` or `${API_KEY}`: a value behind a name has something
    /// between, and a token has a prefix.
    fn is_only_a_name(&self, text: &[u8]) -> bool {
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_${}".contains(byte);
        text.len() <= LONGEST_NAME
            && text.iter().all(is_of_name)
            && !self.has_prefix(&beginning(text))
            && !self.has_prefix(text)
    }

    fn has_prefix(&self, bytes: &[u8]) -> bool {
        let is_prefix = |anchor: Anchor| matches!(anchor, Anchor::Prefix(_));
        let mut from = 0;
        while let Some(at) = self.next(bytes, from) {
            if self.at(bytes, at).any(is_prefix) {
                return true;
            }
            from = at + 1;
        }
        false
    }

    fn is_anywhere(&self, text: &[u8]) -> bool {
        self.next(text, 0).is_some() || self.next(&beginning(text), 0).is_some()
    }

    /// Lists the anchors at a position.
    pub(super) fn at(&self, bytes: &[u8], position: usize) -> impl Iterator<Item = Anchor> + use<> {
        let mut word = [0; ANCHOR_LENGTH];
        if let Some(found) = bytes.get(position..position + ANCHOR_LENGTH) {
            word.copy_from_slice(found);
        }
        let pair = usize::from(u16::from_le_bytes([word[2], word[3]]));
        let word = u32::from_le_bytes(word);
        let first = self.tables.steps[pair].checked_sub(ANCHOR_LENGTH as u8);
        let chain = first.into_iter().flat_map(|first| self.tables.chain(first));
        chain.filter(move |entry| word & entry.mask == entry.value).map(|entry| entry.anchor)
    }
}

/// Returns the beginning of a text behind another byte: some anchors start with any byte.
fn beginning(text: &[u8]) -> [u8; ANCHOR_LENGTH] {
    let mut beginning = [b'\n'; ANCHOR_LENGTH];
    for (to, byte) in beginning[1..].iter_mut().zip(text) {
        *to = *byte;
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_holds_no_secret() {
        let stand_in = |text: &str| Anchors::new().stand_in(text.as_bytes());
        for name in ["API_KEY", "${GITHUB_TOKEN}", "$PASSWORD", "bearer", "cookies"] {
            assert!(!stand_in(name), "{name}");
        }
        for text in ["API_KEY=x", "API_KEY: x", "{env:API_KEY}", "AKIAIOSFODNN7EXAMPLE", "${ghp_a}", "-BEG"] {
            assert!(stand_in(text), "{text}");
        }
        for prefix in PREFIXES {
            let anchor = prefix.anchor();
            let text = String::from_utf8_lossy(&anchor);
            let text = text.trim_start_matches('?');
            assert!(stand_in(text) && stand_in(&format!("{text}EXAMPLE")), "{text}");
            assert!(stand_in(&format!("api_key_{text}")), "{text}");
        }
    }

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
