//! The slots of an entry: how values are stored in its fields.

use std::collections::BTreeMap;

use super::Slots;
use brigade_core::Word;

use crate::model::{Family, Seconds, ToolId, VersionRequirement};

/// A reference to a field, with the type of value it accepts.
pub(crate) enum Slot<'a> {
    Id(&'a mut ToolId),
    Required(&'a mut String),
    Text(&'a mut Option<String>),
    Family(&'a mut Option<Family>),
    /// One of a few words.
    Word(&'a mut dyn WordSlot),
    Boolean(&'a mut bool),
    Seconds(&'a mut Option<Seconds>),
    Port(&'a mut Option<u16>),
    List(&'a mut Vec<String>),
    /// A table of strings with arbitrary keys.
    Table(&'a mut BTreeMap<String, String>),
    Version(&'a mut Option<VersionRequirement>),
    Amount(&'a mut Option<f64>),
    /// One string, or a list of strings.
    Lines(&'a mut Vec<String>),
    /// A table of known fields.
    Group(&'a mut dyn Slots),
}

/// A field with one of the words of a type.
pub(crate) trait WordSlot {
    fn clear(&mut self);
    /// Stores a word, if it is one of them.
    fn choose(&mut self, word: &str) -> Result<(), ExpectedValue>;
    fn expected(&self) -> ExpectedValue;
    /// Returns a function that lists them.
    fn words(&self) -> fn() -> Vec<&'static str>;
}

impl<T: Word> WordSlot for Option<T> {
    fn clear(&mut self) {
        *self = None;
    }

    fn choose(&mut self, word: &str) -> Result<(), ExpectedValue> {
        *self = Some(T::from_word(word).ok_or(T::EXPECTED)?);
        Ok(())
    }

    fn expected(&self) -> ExpectedValue {
        T::EXPECTED
    }

    fn words(&self) -> fn() -> Vec<&'static str> {
        || T::ALL.iter().map(|word| word.as_str()).collect()
    }
}

/// A description of the expected value.
pub(crate) type ExpectedValue = &'static str;

impl Slot<'_> {
    /// Describes the value that the slot accepts.
    pub(crate) fn expected(&self) -> ExpectedValue {
        match self {
            Slot::Id(_) | Slot::Required(_) => "expected non-empty text",
            Slot::Text(_) => "expected text",
            Slot::Family(_) => {
                "expected one of skill, slash-command, superpower, mcp, openapi, graphql, script, custom"
            }
            Slot::Word(slot) => slot.expected(),
            Slot::Boolean(_) => "expected true or false",
            Slot::Seconds(_) => "expected a number of seconds greater than 0",
            Slot::Port(_) => "expected a port from 1 to 65535",
            Slot::List(_) => "expected a list of non-empty strings",
            Slot::Table(_) => "expected a table of strings",
            Slot::Version(_) => "expected a version such as `1.7`, or conditions such as `>=1.2, <2`",
            Slot::Amount(_) => "expected a number of at least 0",
            Slot::Lines(_) => "expected text, or a list of non-empty strings",
            Slot::Group(_) => "expected a table",
        }
    }

    /// Returns a function that lists the accepted words. Its list is empty if any text is accepted.
    pub(crate) fn words(&self) -> fn() -> Vec<&'static str> {
        match self {
            Slot::Family(_) => || Family::of_entries().map(Family::as_str).collect(),
            Slot::Word(slot) => slot.words(),
            _ => Vec::new,
        }
    }

    /// Stores a string.
    pub(crate) fn set_text(self, text: &str) -> Result<(), ExpectedValue> {
        let expected = self.expected();
        let text = text.trim();
        match self {
            Slot::Id(_) | Slot::Required(_) if text.is_empty() => return Err(expected),
            Slot::Id(slot) => *slot = text.parse().map_err(|_| "expected text without control characters")?,
            Slot::Required(slot) => text.clone_into(slot),
            Slot::Text(slot) => *slot = Some(text.to_owned()),
            Slot::Family(slot) => {
                let family = Family::of_entries().find(|family| family.as_str() == text);
                *slot = Some(family.ok_or(expected)?);
            }
            Slot::Word(slot) if text.is_empty() => slot.clear(),
            Slot::Word(slot) => slot.choose(text)?,
            Slot::Version(slot) if text.is_empty() => *slot = None,
            Slot::Version(slot) => *slot = Some(text.parse().map_err(|_| expected)?),
            Slot::Lines(slot) if text.is_empty() => slot.clear(),
            Slot::Lines(slot) => *slot = vec![text.to_owned()],
            Slot::Boolean(_)
            | Slot::Seconds(_)
            | Slot::Port(_)
            | Slot::List(_)
            | Slot::Table(_)
            | Slot::Amount(_)
            | Slot::Group(_) => return Err(expected),
        }
        Ok(())
    }

    /// Stores a boolean.
    pub(crate) fn set_boolean(self, value: bool) -> Result<(), ExpectedValue> {
        match self {
            Slot::Boolean(slot) => *slot = value,
            other => return Err(other.expected()),
        }
        Ok(())
    }

    /// Stores a number. `is_integer` is set if it was written as an integer.
    pub(crate) fn set_number(self, value: f64, is_integer: bool) -> Result<(), ExpectedValue> {
        let expected = self.expected();
        match self {
            Slot::Seconds(slot) => *slot = Some(Seconds::new(value).map_err(|_| expected)?),
            Slot::Amount(slot) if value.is_finite() && 0.0 <= value => *slot = Some(value),
            Slot::Port(slot) if is_integer && (1.0..=65535.0).contains(&value) => *slot = Some(value as u16),
            _ => return Err(expected),
        }
        Ok(())
    }
}
