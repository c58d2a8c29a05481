//! Keywords in records, which keep what they do not know.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::escape_terminal;

/// An enum of keywords, as [`words!`](crate::words!) makes it.
pub trait Word: Copy + 'static {
    /// All of them, in the documented order.
    const ALL: &'static [Self];

    /// The message for other words: `expected one of` and all keywords.
    const EXPECTED: &'static str;

    /// Returns the keyword in files and reports.
    fn as_str(self) -> &'static str;

    /// Reads a keyword, which must be spelled exactly so.
    fn from_word(word: &str) -> Option<Self>;
}

/// A keyword in a record. A word that this version does not know is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordedWord<T> {
    /// A keyword.
    Known(T),
    /// A word that this version does not know.
    Other(String),
}

impl<T: Word> RecordedWord<T> {
    /// Returns the word in files and reports.
    pub fn as_str(&self) -> &str {
        match self {
            RecordedWord::Known(word) => (*word).as_str(),
            RecordedWord::Other(word) => word,
        }
    }
}

impl<T: Word> From<T> for RecordedWord<T> {
    fn from(word: T) -> RecordedWord<T> {
        RecordedWord::Known(word)
    }
}

impl<T: PartialEq> PartialEq<T> for RecordedWord<T> {
    fn eq(&self, word: &T) -> bool {
        matches!(self, RecordedWord::Known(known) if known == word)
    }
}

/// No word, as where a record has none.
impl<T> Default for RecordedWord<T> {
    fn default() -> RecordedWord<T> {
        RecordedWord::Other(String::new())
    }
}

impl<T: Word> fmt::Display for RecordedWord<T> {
    /// Writes the word, without what could control a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_terminal(self.as_str()))
    }
}

impl<T: Word> Serialize for RecordedWord<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Word> Deserialize<'de> for RecordedWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordedWord<T>, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        Ok(T::from_word(&word).map_or_else(|| RecordedWord::Other(word.into_owned()), RecordedWord::Known))
    }
}

#[cfg(feature = "schemas")]
impl<T> schemars::JsonSchema for RecordedWord<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Recorded".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::RecordedWord;
    use crate::json::{from_json, to_json};
    use crate::{Json, Severity};

    #[test]
    fn a_record_keeps_words_that_are_not_known() {
        let other = RecordedWord::Other("fatal".to_owned());
        for (word, expect) in [("error", RecordedWord::Known(Severity::Error)), ("fatal", other)] {
            let read: RecordedWord<Severity> = from_json(&Json::from(word)).unwrap();
            assert_eq!((read.as_str(), to_json(&read)), (word, Ok(Json::from(word))));
            assert_eq!(read, expect);
        }
        assert_eq!(RecordedWord::<Severity>::default().as_str(), "");
        assert_eq!(RecordedWord::<Severity>::Other("a\u{1b}b".to_owned()).to_string(), "a\\u{1b}b");
    }
}
