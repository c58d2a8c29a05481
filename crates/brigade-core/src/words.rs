//! Enums of keywords, as files and reports spell them.

use std::borrow::Cow;

#[cfg(feature = "schemas")]
#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

/// An unknown keyword. Does not contain the keyword itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected one of {expected}")]
pub struct UnknownWord {
    /// The known keywords, separated by commas.
    pub expected: &'static str,
}

/// Defines an enum of keywords, listing each keyword once, with `ALL`, `EXPECTED`, `as_str`, `of`, `Display` and
/// `FromStr`. In documents it is the keyword.
///
/// ```
/// brigade_core::words! {
///     /// How much a build prints.
///     Volume {
///         /// Errors alone.
///         Quiet = "quiet",
///         /// Everything.
///         Loud = "loud",
///     }
/// }
///
/// assert_eq!(Volume::from_word("loud"), Some(Volume::Loud));
/// assert_eq!(Volume::EXPECTED, "quiet, loud");
/// assert!("LOUD".parse::<Volume>().is_err());
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident {
            $(#[$first_doc:meta])* $first:ident = $first_word:literal
            $(, $(#[$variant_doc:meta])* $variant:ident = $word:literal)* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[$first_doc])* $first,
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the documented order.
            pub const ALL: &'static [$name] = &[$name::$first, $($name::$variant,)*];

            /// All keywords, separated by commas, for messages.
            pub const EXPECTED: &'static str = concat!($first_word $(, ", ", $word)*);

            /// Returns the keyword in files and reports.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $name::$first => $first_word,
                    $($name::$variant => $word,)*
                }
            }

            /// Reads a keyword, which must be spelled exactly so.
            pub fn from_word(word: &str) -> Option<$name> {
                match word {
                    $first_word => Some($name::$first),
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl $crate::Word for $name {
            const ALL: &'static [$name] = $name::ALL;
            const EXPECTED: &'static str = concat!("expected one of ", $first_word $(, ", ", $word)*);

            fn as_str(self) -> &'static str {
                self.as_str()
            }

            fn from_word(word: &str) -> ::core::option::Option<$name> {
                $name::from_word(word)
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::core::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> ::core::result::Result<Self, $crate::UnknownWord> {
                $name::from_word(word).ok_or($crate::UnknownWord { expected: $name::EXPECTED })
            }
        }

        $crate::word_document!($name, ::core::str::FromStr::from_str);
        $crate::word_schema!($name);
    };
}

/// Defines an enum of keywords as [`words!`](crate::words!) does, whose JSON Schema explains each keyword, and whose
/// binary form is the number of the keyword. The crate must have a feature `schemas`.
///
/// ```
/// # #![allow(unexpected_cfgs, reason = "an example has no features")]
/// brigade_core::explained_words! {
///     /// Who answered.
///     Answerer {
///         /// A person.
///         Person = "person",
///     }
/// }
///
/// assert_eq!(Answerer::Person.to_string(), "person");
/// ```
#[macro_export]
macro_rules! explained_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive($crate::words::serde::Serialize, $crate::words::serde::Deserialize)]
        #[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them, in the documented order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Returns the keyword in files and reports.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Defines an enum of the keywords that records on disk have, with `ALL`, `as_str`, `from_word` and the serde form. A
/// word that this version does not know is kept, in the variant `Other`.
///
/// ```
/// brigade_core::open_words! {
///     /// Who answered.
///     Answerer {
///         /// A person.
///         Person = "person",
///     }
/// }
///
/// assert_eq!(Answerer::from_word("person"), Answerer::Person);
/// assert_eq!(Answerer::from_word("robot").as_str(), "robot");
/// ```
#[macro_export]
macro_rules! open_words {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
            /// A word that this version does not know.
            Other(::std::string::String),
        }

        impl $name {
            /// Every word that this version knows, in the documented order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// Returns the word in files and reports.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                }
            }

            /// Reads a word; an unknown one is kept.
            pub fn from_word(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)+
                    other => $name::Other(other.to_owned()),
                }
            }
        }

        /// No word, as where a record has none.
        impl ::core::default::Default for $name {
            fn default() -> $name {
                $name::Other(::std::string::String::new())
            }
        }

        impl ::core::fmt::Display for $name {
            /// Writes the word, without what could control a terminal.
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(&$crate::text::escape_terminal(self.as_str()))
            }
        }

        $crate::word_document!($name, |word| ::core::result::Result::Ok($name::from_word(word)));
        $crate::word_schema!($name open);
    };
}

/// Implements the serde form of an enum of keywords: its word, which `$read` reads.
#[doc(hidden)]
#[macro_export]
macro_rules! word_document {
    ($name:ident, $read:expr) => {
        impl $crate::words::serde::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
            where
                S: $crate::words::serde::Serializer,
            {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::words::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> ::core::result::Result<$name, D::Error>
            where
                D: $crate::words::serde::Deserializer<'de>,
            {
                $crate::words::read(deserializer, $read)
            }
        }
    };
}

/// Implements the JSON Schema of an enum of keywords: its words, or any text if other words are kept.
#[cfg(feature = "schemas")]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($name:ident) => {
        $crate::word_schema!($name as {
            let words = $name::ALL.iter().map(|word| word.as_str()).collect::<::std::vec::Vec<_>>();
            $crate::words::schemars::json_schema!({"type": "string", "enum": words})
        });
    };
    ($name:ident open) => {
        $crate::word_schema!($name as { $crate::words::schemars::json_schema!({"type": "string"}) });
    };
    ($name:ident as $schema:block) => {
        impl $crate::words::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::core::stringify!($name).into()
            }

            fn json_schema(
                _: &mut $crate::words::schemars::SchemaGenerator,
            ) -> $crate::words::schemars::Schema {
                $schema
            }
        }
    };
}

/// Without schemas there is nothing to implement.
#[cfg(not(feature = "schemas"))]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($($ignored:tt)*) => {};
}

/// Reads a keyword with `from_word`.
#[doc(hidden)]
pub fn read<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    from_word: fn(&str) -> Result<T, UnknownWord>,
) -> Result<T, D::Error> {
    from_word(&Cow::<str>::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::UnknownWord;
    use crate::Json;
    use crate::json::{from_json, to_json};

    words! {
        /// One of a kind.
        Single {
            /// The only one.
            Only = "only-one",
        }
    }

    words! {
        /// Some of them.
        Colour {
            /// Red.
            Red = "red",
            /// Dark green.
            DarkGreen = "dark-green",
            /// Blue.
            Blue = "blue"
        }
    }

    #[test]
    fn every_word_reads_back_and_nothing_else_does() {
        for colour in Colour::ALL {
            assert_eq!(Colour::from_word(colour.as_str()), Some(*colour));
            assert_eq!(colour.to_string().parse(), Ok(*colour));
        }
        for other in ["", "Red", "red ", "only-one"] {
            assert_eq!(other.parse::<Colour>(), Err(UnknownWord { expected: Colour::EXPECTED }));
        }
    }

    #[test]
    fn the_expected_list_names_all_words_in_order() {
        assert_eq!(Colour::EXPECTED, "red, dark-green, blue");
        assert_eq!((Single::EXPECTED, Single::ALL.len()), ("only-one", 1));
        assert_eq!(
            UnknownWord { expected: Colour::EXPECTED }.to_string(),
            "expected one of red, dark-green, blue"
        );
    }
    open_words! {
        /// Who answered.
        Answerer {
            /// A person.
            Person = "person",
        }
    }

    #[test]
    fn documents_have_the_keyword() {
        let json = Json::parse("[\"red\", \"dark-green\"]").unwrap();
        let colours: Vec<Colour> = from_json(&json).unwrap();
        assert_eq!(colours, [Colour::Red, Colour::DarkGreen]);
        assert_eq!(to_json(&colours).unwrap(), json);
        assert!(from_json::<Colour>(&Json::from("Red")).is_err());
    }

    #[test]
    fn records_keep_words_that_are_not_known() {
        assert_eq!(Answerer::ALL, [Answerer::Person]);
        for (word, expect) in [("person", Answerer::Person), ("robot", Answerer::Other("robot".to_owned()))] {
            let json = Json::from(word);
            assert_eq!(from_json::<Answerer>(&json).unwrap(), expect);
            assert_eq!(to_json(&expect).unwrap(), json);
        }
        assert_eq!(Answerer::Other("a\u{1b}b".to_owned()).to_string(), "a\\u{1b}b");
    }
}
