//! A field of catalog entries in reports, which built-in tools do not have.

use std::borrow::Cow;
use std::fmt;

use brigade_core::Word;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The word for built-in tools.
const BUILTIN: &str = "builtin";

/// A value of an entry, or `builtin` for a built-in tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrBuiltin<T> {
    /// The value of the entry.
    Entry(T),
    /// The tool is part of Brigade.
    Builtin,
}

impl<T: Word> OrBuiltin<T> {
    /// Returns the word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            OrBuiltin::Entry(word) => word.as_str(),
            OrBuiltin::Builtin => BUILTIN,
        }
    }
}

impl<T: Word> fmt::Display for OrBuiltin<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<T: Word> Serialize for OrBuiltin<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: Word> Deserialize<'de> for OrBuiltin<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OrBuiltin<T>, D::Error> {
        match &*Cow::<str>::deserialize(deserializer)? {
            BUILTIN => Ok(OrBuiltin::Builtin),
            word => {
                T::from_word(word).map(OrBuiltin::Entry).ok_or_else(|| D::Error::custom("an unknown word"))
            }
        }
    }
}

#[cfg(feature = "schemas")]
impl<T: Word> schemars::JsonSchema for OrBuiltin<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OrBuiltin".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let words: Vec<&str> = T::ALL.iter().map(|word| word.as_str()).chain([BUILTIN]).collect();
        schemars::json_schema!({"type": "string", "enum": words})
    }
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;
    use brigade_core::json::{from_json, to_json};

    use super::OrBuiltin;
    use crate::Level;

    #[test]
    fn the_word_is_that_of_the_entry_or_builtin() {
        for (word, expect) in [("user", OrBuiltin::Entry(Level::User)), ("builtin", OrBuiltin::Builtin)] {
            assert_eq!(from_json::<OrBuiltin<Level>>(&Json::from(word)), Ok(expect));
            assert_eq!(to_json(&expect), Ok(Json::from(word)));
        }
        assert!(from_json::<OrBuiltin<Level>>(&Json::from("Builtin")).is_err());
    }
}
