//! Ids that are safe in file names and on command lines, and labels.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A string that is not a valid id or label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a {kind}: expected {expected}")]
pub struct InvalidId {
    kind: &'static str,
    expected: &'static str,
}

impl InvalidId {
    pub(crate) fn fingerprint() -> InvalidId {
        InvalidId { kind: "fingerprint", expected: "16 or 64 lower-case hex digits" }
    }
}

/// Deserializes a string through [`FromStr`].
pub(crate) fn parsed<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let text: Cow<'de, str> = Deserialize::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// The maximum length of an id in bytes. An id plus `.stdout.log` still fits in a file name.
const MAX_ID: usize = 200;

fn is_file_name_safe(text: &str, others: &[u8]) -> bool {
    let legal = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') || others.contains(&byte)
    };
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(legal) && !text.starts_with(['.', '-'])
}

macro_rules! file_safe_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $others:literal) => {
        $(#[$doc])*
        ///
        /// 1 to 200 ASCII letters, digits, `-`, `_` and `.`, not starting with `.` or `-`. Safe as a file name.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_file_name_safe(text, $others) {
                    Ok($name(text.to_owned()))
                } else {
                     Err(InvalidId {
                        kind: concat!($kind, " id"),
                        expected: "up to 200 letters, digits, `-`, `_` or `.`, the first one a letter, digit or `_`",
                    }) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                parsed(deserializer)
            }
        }
    };
}

file_safe_id!(
    /// Names one call in the queue. A run of 0.30.0 that resumed names its call and checkpoint, with `:` between.
    CallId,
    "call",
    b":"
);
file_safe_id!(
    /// Names one run, its receipt and its logs.
    RunId,
    "run",
    b""
);
file_safe_id!(
    /// Names one checkpoint and its file.
    CheckpointId,
    "checkpoint",
    b""
);

/// What precedes the own digits of a call that repeats another one.
const REPEAT: &str = "-queued-";

/// The number of digits that are kept of the repeated id, and of the own ones.
const KEPT_DIGITS: [usize; 2] = [4, 8];

/// Shortens the ids of repeated calls in a text for people: `call-830302d160997d94-queued-ce55e21e812fda38` is
/// `call-8303~ce55e21e`, which commands accept.
pub fn short_repeats(text: &str) -> Cow<'_, str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let mut short = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(REPEAT) {
        let (before, after) = (&rest[..at], &rest[at + REPEAT.len()..]);
        let first = before.bytes().rev().take_while(u8::is_ascii_hexdigit).count();
        let (name, own) = (&before[..at - first], digits(after));
        let is_call = name.ends_with("call-") && KEPT_DIGITS[0] <= first && KEPT_DIGITS[1] <= own;
        if is_call {
            short.push_str(&before[..at - first + KEPT_DIGITS[0]]);
            short.push('~');
            short.push_str(&after[..KEPT_DIGITS[1]]);
        } else {
            short.push_str(&rest[..at + REPEAT.len() + own]);
        }
        rest = &after[own..];
    }
    if short.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(short + rest) }
}

/// An id or the start of an id, as a user typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdPrefix(String);

/// The result of looking up an [`IdPrefix`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrefixMatch<T> {
    /// Exactly one id matches.
    One(T),
    /// No id matches.
    None,
    /// Several ids start with the prefix, and none equals it.
    Ambiguous(Vec<T>),
}

impl IdPrefix {
    /// Wraps a typed prefix. Leading and trailing whitespace is removed.
    pub fn new(text: &str) -> IdPrefix {
        IdPrefix(text.trim().to_owned())
    }

    /// Returns the prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the prefix is only the kind of ids or its start, such as `call` or `c`. With the dash, as in
    /// `call-`, it is the start of an id.
    pub fn is_start_of(&self, kind: &str) -> bool {
        kind.starts_with(&self.0)
    }

    /// Finds the id with this prefix. An exact match wins over longer ids. An empty prefix matches nothing.
    pub fn resolve<T: Clone>(
        &self,
        candidates: impl IntoIterator<Item = (impl AsRef<str>, T)>,
    ) -> PrefixMatch<T> {
        let mut found = Vec::new();
        if self.0.is_empty() {
            return PrefixMatch::None;
        }
        for (id, value) in candidates {
            if id.as_ref() == self.0 {
                return PrefixMatch::One(value);
            }
            if id.as_ref().starts_with(&self.0) {
                found.push(value);
            }
        }
        match found.len() {
            0 => PrefixMatch::None,
            1 => PrefixMatch::One(found.remove(0)),
            _ => PrefixMatch::Ambiguous(found),
        }
    }
}

impl FromStr for IdPrefix {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<IdPrefix, Self::Err> {
        Ok(IdPrefix::new(text))
    }
}

impl From<&str> for IdPrefix {
    fn from(text: &str) -> IdPrefix {
        IdPrefix::new(text)
    }
}

impl From<&IdPrefix> for IdPrefix {
    fn from(prefix: &IdPrefix) -> IdPrefix {
        prefix.clone()
    }
}

impl From<&CallId> for IdPrefix {
    fn from(id: &CallId) -> IdPrefix {
        IdPrefix::new(id.as_str())
    }
}

impl From<CallId> for IdPrefix {
    fn from(id: CallId) -> IdPrefix {
        IdPrefix::from(&id)
    }
}

impl fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of an environment binding: an identifier of ASCII letters, digits and `_` that does not start with a digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(String);

impl Label {
    /// Returns the label's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Label, InvalidId> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let starts_well = !text.starts_with(|first: char| first.is_ascii_digit());
        if (1..=MAX_ID).contains(&text.len()) && text.bytes().all(legal) && starts_well {
            Ok(Label(text.to_owned()))
        } else {
            Err(InvalidId { kind: "label", expected: "letters, digits and `_`, not starting with a digit" })
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Label, D::Error> {
        parsed(deserializer)
    }
}

/// The name of an agent: 1 to 64 ASCII letters, digits, `-` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(String);

impl AgentName {
    /// The name of the agent that exists without a gateway.toml.
    pub const LOCAL: &'static str = "local";

    /// Returns the agent [`AgentName::LOCAL`].
    pub fn local() -> AgentName {
        AgentName(AgentName::LOCAL.to_owned())
    }

    /// Returns the name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<AgentName, InvalidId> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=64).contains(&text.len()) && text.bytes().all(legal) {
            Ok(AgentName(text.to_owned()))
        } else {
            Err(InvalidId { kind: "name of an agent", expected: "at most 64 letters, digits, `-` and `_`" })
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for AgentName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AgentName, D::Error> {
        parsed(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_cannot_leave_their_directory() {
        for text in ["", "..", "../evil", "a/b", "a\\b", ".hidden", "-rf", "a\0b", "a b", "é"] {
            assert!(text.parse::<CheckpointId>().is_err(), "{text:?}");
        }
        assert_eq!("release-1.2_b".parse::<CheckpointId>().unwrap().as_str(), "release-1.2_b");
        assert!("a".repeat(201).parse::<RunId>().is_err());
    }

    #[test]
    fn an_equal_id_wins_over_a_longer_one() {
        let ids = ["call-1", "call-1-queued-2", "call-3"];
        let resolve = |typed: &str| IdPrefix::new(typed).resolve(ids.iter().map(|id| (*id, *id)));
        assert_eq!(resolve("call-1"), PrefixMatch::One("call-1"));
        assert_eq!(resolve("call-1-"), PrefixMatch::One("call-1-queued-2"));
        assert_eq!(resolve("call-"), PrefixMatch::Ambiguous(ids.to_vec()));
        assert_eq!(resolve("run-"), PrefixMatch::None);
        assert_eq!(resolve(" "), PrefixMatch::None);
    }

    #[test]
    fn a_bare_word_is_the_start_of_a_kind() {
        let is_start = |typed: &str| IdPrefix::new(typed).is_start_of("call");
        for text in ["c", "ca", "call"] {
            assert!(is_start(text), "{text}");
        }
        for text in ["call-", "call-1", "calls", "the", "ends", "1"] {
            assert!(!is_start(text), "{text}");
        }
    }

    #[test]
    fn names_of_agents_are_short_and_plain() {
        assert_eq!("codex-ci_2".parse::<AgentName>().unwrap().to_string(), "codex-ci_2");
        assert_eq!(AgentName::LOCAL.parse(), Ok(AgentName::local()));
        for text in ["", "a b", "a.b", "a/b", "ä", &"a".repeat(65)] {
            assert!(text.parse::<AgentName>().is_err(), "{text}");
        }
    }

    #[test]
    fn labels_are_identifiers() {
        assert!("GITHUB_TOKEN".parse::<Label>().is_ok());
        for text in ["", "1A", "A-B", "A=B", "A B"] {
            assert!(text.parse::<Label>().is_err(), "{text}");
        }
    }

    #[test]
    fn repeated_calls_are_short_for_people() {
        let check = |text: &str, expect: &str| assert_eq!(short_repeats(text), expect);
        check("call call-830302d160997d94 waits", "call call-830302d160997d94 waits");
        check("(call-830302d160997d94-queued-ce55e21e812fda38)", "(call-8303~ce55e21e)");
        let two = "call-8303aaaa-queued-ce55e21e81, call-8303aaaa-queued-0123456789";
        check(two, "call-8303~ce55e21e, call-8303~01234567");
        for other in ["-queued-", "a-queued-b", "é-queued-0123456789", "call-12-queued-0123456789"] {
            check(other, other);
        }
    }
}
