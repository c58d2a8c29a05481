//! Fingerprints: sha256 over tagged, length-prefixed fields, so that different inputs never encode to the same bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::{InvalidId, Json};

/// A sha256, shown as 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Wraps a sha256 that was computed elsewhere.
    pub const fn from_sha256(sha256: [u8; 32]) -> Fingerprint {
        Fingerprint(sha256)
    }

    /// Returns the sha256 of bytes.
    pub fn of_bytes(bytes: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(bytes).into())
    }

    /// Starts a fingerprint of several fields in a domain, such as `brigade.contract.v1`.
    pub fn builder(domain: &str) -> FingerprintBuilder {
        let mut builder = FingerprintBuilder { hasher: Sha256::new() };
        builder.part(b'D', domain.as_bytes());
        builder
    }

    /// Returns the 64 hex digits.
    pub fn to_hex(self) -> String {
        std::str::from_utf8(&self.digits()).expect("hex digits are ASCII").to_owned()
    }

    fn digits(self) -> [u8; 64] {
        let mut hex = [0; 64];
        for (byte, digits) in self.0.iter().zip(hex.chunks_exact_mut(2)) {
            digits[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            digits[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        hex
    }

    /// Returns the first 16 hex digits, the form used in ids and in records written by v0.30.
    pub fn short(self) -> String {
        let mut hex = self.to_hex();
        hex.truncate(16);
        hex
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.digits()).expect("hex digits are ASCII"))
    }
}

impl FromStr for Fingerprint {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Fingerprint, InvalidId> {
        let bytes = text.as_bytes();
        let mut digest = [0; 32];
        if bytes.len() != 64 || !bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(InvalidId::fingerprint());
        }
        let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
        for (byte, digits) in digest.iter_mut().zip(bytes.chunks_exact(2)) {
            *byte = value(digits[0]) << 4 | value(digits[1]);
        }
        Ok(Fingerprint(digest))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fingerprint, D::Error> {
        crate::id::parsed(deserializer)
    }
}

/// Computes the sha256 of bytes that arrive in pieces.
#[derive(Clone, Debug, Default)]
pub struct FingerprintStream(Sha256);

impl FingerprintStream {
    /// Starts with no input.
    pub fn new() -> FingerprintStream {
        FingerprintStream::default()
    }

    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the sha256 of all pieces.
    pub fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
    }
}

/// Adds named fields to a fingerprint. The order of the calls matters.
#[derive(Clone, Debug)]
pub struct FingerprintBuilder {
    hasher: Sha256,
}

impl FingerprintBuilder {
    fn part(&mut self, kind: u8, bytes: &[u8]) {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.hasher.update(head);
        self.hasher.update(bytes);
    }

    /// Adds an optional string. `None` and the empty string give different fingerprints.
    #[must_use]
    pub fn text<'a>(mut self, name: &str, value: impl Into<Option<&'a str>>) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        match value.into() {
            Some(text) => self.part(b'T', text.as_bytes()),
            None => self.part(b'-', b""),
        }
        self
    }

    /// Adds a boolean.
    #[must_use]
    pub fn truth(mut self, name: &str, value: bool) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        self.part(b'B', &[u8::from(value)]);
        self
    }

    /// Adds a list of strings, in order.
    #[must_use]
    pub fn list<T: AsRef<str>>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = T>,
    ) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        self.part(b'[', b"");
        for value in values {
            self.part(b'T', value.as_ref().as_bytes());
        }
        self.part(b']', b"");
        self
    }

    /// Adds key-value pairs of strings, in the order given.
    #[must_use]
    pub fn table<K: AsRef<str>, V: AsRef<str>>(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = (K, V)>,
    ) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        self.part(b'{', b"");
        for (key, value) in values {
            self.part(b'N', key.as_ref().as_bytes());
            self.part(b'T', value.as_ref().as_bytes());
        }
        self.part(b'}', b"");
        self
    }

    /// Adds the key-value pairs that `fill` puts, as [`FingerprintBuilder::table`] does.
    #[must_use]
    pub fn table_of(
        mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn FnMut(&str, &str)),
    ) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        self.part(b'{', b"");
        fill(&mut |key, value| {
            self.part(b'N', key.as_bytes());
            self.part(b'T', value.as_bytes());
        });
        self.part(b'}', b"");
        self
    }

    /// Adds a JSON value. Numbers count as they are written, so `1` and `1.0` differ.
    #[must_use]
    pub fn json(mut self, name: &str, value: &Json) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        self.part(b'J', value.to_compact().as_bytes());
        self
    }

    /// Adds another fingerprint. `None` counts too.
    #[must_use]
    pub fn fingerprint(mut self, name: &str, value: impl Into<Option<Fingerprint>>) -> FingerprintBuilder {
        self.part(b'N', name.as_bytes());
        match value.into() {
            Some(Fingerprint(digest)) => self.part(b'F', &digest),
            None => self.part(b'-', b""),
        }
        self
    }

    /// Returns the fingerprint of all fields.
    pub fn finish(self) -> Fingerprint {
        Fingerprint(self.hasher.finalize().into())
    }
}

/// A fingerprint as stored in a record: 64 hex digits, or the first 16 of them in records written by v0.30.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredFingerprint(String);

impl StoredFingerprint {
    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether all 64 digits are present.
    pub fn is_full(&self) -> bool {
        self.0.len() == 64
    }

    /// Returns the fingerprint, if all 64 digits are present.
    pub fn full(&self) -> Option<Fingerprint> {
        self.0.parse().ok()
    }

    /// Returns whether the stored digits equal the fingerprint or are its first 16.
    pub fn matches(&self, fingerprint: Fingerprint) -> bool {
        fingerprint.to_hex().starts_with(&self.0)
    }
}

impl From<Fingerprint> for StoredFingerprint {
    fn from(fingerprint: Fingerprint) -> StoredFingerprint {
        StoredFingerprint(fingerprint.to_hex())
    }
}

impl FromStr for StoredFingerprint {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<StoredFingerprint, InvalidId> {
        let legal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if matches!(text.len(), 16 | 64) && text.bytes().all(legal) {
            Ok(StoredFingerprint(text.to_owned()))
        } else {
            Err(InvalidId::fingerprint())
        }
    }
}

impl fmt::Display for StoredFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for StoredFingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StoredFingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoredFingerprint, D::Error> {
        crate::id::parsed(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sha256_of_bytes_is_the_standard_one() {
        let expect = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Fingerprint::of_bytes(b"").to_hex(), expect);
        assert!("e3b0c44298fc1c14".parse::<StoredFingerprint>().unwrap().matches(Fingerprint::of_bytes(b"")));
    }

    #[test]
    fn hex_reads_back() {
        let fingerprint = Fingerprint::of_bytes(b"x");
        assert_eq!(fingerprint.to_hex().parse(), Ok(fingerprint));
        assert!("E3".parse::<Fingerprint>().is_err());
    }

    #[test]
    fn nothing_and_empty_differ() {
        let start = || Fingerprint::builder("test.v1");
        let marks = [
            start().text("a", None).finish(),
            start().text("a", "").finish(),
            start().list("a", [""; 0]).finish(),
            start().list("a", [""]).finish(),
            start().truth("a", false).finish(),
            start().fingerprint("a", None).text("b", None).finish(),
            Fingerprint::builder("test.v2").text("a", None).finish(),
        ];
        for (index, mark) in marks.iter().enumerate() {
            assert!(!marks[index + 1..].contains(mark), "{index}");
        }
    }

    proptest! {
        #[test]
        fn text_cannot_move_between_fields(left in ".{0,8}", right in ".{0,8}", other in ".{0,8}", last in ".{0,8}") {
            let mark = |a: &str, b: &str| Fingerprint::builder("test.v1").text("a", a).text("b", b).finish();
            let list = |a: &str, b: &str| Fingerprint::builder("test.v1").list("a", [a, b]).finish();
            prop_assert_eq!(mark(&left, &right) == mark(&other, &last), (&left, &right) == (&other, &last));
            prop_assert_eq!(list(&left, &right) == list(&other, &last), (&left, &right) == (&other, &last));
        }
    }
}
